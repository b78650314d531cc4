//! How numbers are read from text and written to it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::num::IntErrorKind;
use std::str::FromStr;

use half::{bf16, f16};
use num_complex::Complex;

use super::text::{Fault, Token};

/// A coordinate as files write it: a whole number from 1 to the extent. Returned from 0.
pub(super) fn coordinate(token: Token<'_>, dim: usize, extent: u64) -> Result<i64, Fault> {
    let digits = token.bytes;
    let mut value: u64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let reason = format!("`{token}` is no coordinate: a whole number from 1 was expected");
            return Err(token.fault(reason));
        }
        value = value.saturating_mul(10).saturating_add(digit.into());
    }
    if value == 0 {
        return Err(token.fault("coordinate 0: coordinates start at 1".to_owned()));
    }
    if value > extent {
        let reason = if extent == i64::MAX as u64 {
            format!("coordinate {token} does not fit 64 bits")
        } else {
            format!("coordinate {token} of dimension {} lies outside 1..={extent}", dim + 1)
        };
        return Err(token.fault(reason));
    }
    Ok(value as i64 - 1)
}

/// A size or a count: a whole number from 0 that fits 63 bits.
pub(super) fn size(token: Token<'_>, what: &str) -> Result<usize, Fault> {
    let size = token.text().and_then(|text| text.parse::<i64>().ok());
    size.and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| token.fault(format!("`{token}` is no {what}: a whole number was expected")))
}

/// A whole number of 64 bits.
pub(super) fn integer<T>(token: Token<'_>) -> Result<T, Fault>
where
    T: FromStr<Err = std::num::ParseIntError>,
{
    let Some(text) = token.text() else {
        return Err(token.fault(format!("`{token}` is no integer")));
    };
    text.parse().map_err(|e: std::num::ParseIntError| {
        token.fault(match e.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                format!("{token} does not fit 64 bits")
            }
            _ => format!("`{token}` is no integer"),
        })
    })
}

/// A real number: decimal, with an exponent after `e`, `E`, `d` or `D`; `inf` and `nan`.
pub(super) fn real(token: Token<'_>) -> Result<f64, Fault> {
    let refused = || token.fault(format!("`{token}` is no real number"));
    let text = token.text().ok_or_else(refused)?;
    let value = match text.parse::<f64>() {
        Ok(value) => value,
        Err(_) => with_e(text).parse::<f64>().map_err(|_| refused())?,
    };
    if value.is_infinite() && text.bytes().any(|b| b.is_ascii_digit()) {
        return Err(token.fault(format!("{token} does not fit 64-bit floating point")));
    }
    Ok(value)
}

/// Powers of ten.
const POWERS: [u32; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The number that the leading digits make, if they are few enough, and how many they are.
#[inline]
pub(super) fn digits(bytes: &[u8]) -> (u64, usize) {
    let (mut value, mut len) = bytes.first_chunk().map_or((0, 0), |&word| leading_digits(word));
    if len == 8 || bytes.len() < 8 {
        while let Some(digit) =
            bytes.get(len).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10)
        {
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            len += 1;
        }
    }
    (value, len)
}

/// The number that the leading digits of eight bytes make, and how many they are. No branch: their
/// number differs from line to line, which no processor foresees.
#[inline]
fn leading_digits(bytes: [u8; 8]) -> (u64, usize) {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // Each byte less '0': what is ten or more is no digit.
    let word = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    let others = (((word & LOW) + 0x7676_7676_7676_7676) | word) & !LOW;
    let len = others.trailing_zeros() / 8;
    // Zeros in front, so that there are eight; then neighbours are joined to pairs, fours, eight.
    let word = if len == 0 { 0 } else { word << (64 - 8 * len) };
    let pairs = (word.wrapping_mul(10) + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let eight = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
    (eight, len as usize)
}

/// The real number that bytes begin with, and its length, where it is finite and spelled as Rust spells
/// numbers; what follows it is the caller's to look at.
#[inline]
pub(super) fn plain_real(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (whole, count) = digits(&bytes[start..]);
    let mut end = start + count;
    let (mut mantissa, mut decimals) = (whole, 0);
    if bytes.get(end) == Some(&b'.') {
        let digits = bytes[end + 1..].first_chunk().map_or((0, 8), |&word| leading_digits(word));
        let Some(&power) = POWERS.get(digits.1) else { return any_real(bytes) };
        mantissa = mantissa.wrapping_mul(power.into()).wrapping_add(digits.0);
        decimals = digits.1;
        end += 1 + decimals;
    }
    // What is long or has an exponent is left to those who can.
    if count == 0 || count + decimals > 15 || !bytes.get(end).is_none_or(u8::is_ascii_whitespace) {
        return any_real(bytes);
    }
    // Both numbers are exact, hence their quotient is rounded once.
    let value = mantissa as f64 / f64::from(POWERS[decimals]);
    Some((if negative { -value } else { value }, end))
}

#[inline(never)]
fn any_real(bytes: &[u8]) -> Option<(f64, usize)> {
    let found = fast_float2::parse_partial::<f64, _>(bytes).ok()?;
    found.0.is_finite().then_some(found)
}

/// The whole number that bytes begin with, and its length, where it is spelled plainly.
#[inline]
pub(super) fn plain_integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (value, len) = digits(&bytes[start..]);
    if !(1..=18).contains(&len) {
        return None;
    }
    let value = value as i64;
    Some((if negative { -value } else { value }, start + len))
}

/// Fortran writes the exponent of a double after a `D`.
fn with_e(text: &str) -> Cow<'_, str> {
    match text.find(['d', 'D']) {
        Some(at) if text[..at].bytes().any(|b| b.is_ascii_digit()) => {
            format!("{}e{}", &text[..at], &text[at + 1..]).into()
        }
        _ => text.into(),
    }
}

/// How an element is written as text: the shortest that reads back as the same number.
pub(super) trait WriteNumber: Copy + Sync {
    /// Appends the number.
    fn write(self, out: &mut Vec<u8>) -> io::Result<()>;
}

macro_rules! whole {
    ($($ty:ty),*) => {$(
        impl WriteNumber for $ty {
            fn write(self, out: &mut Vec<u8>) -> io::Result<()> { write!(out, "{self}") }
        }
    )*};
}
whole!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float {
    ($($ty:ty),*) => {$(
        impl WriteNumber for $ty {
            fn write(self, out: &mut Vec<u8>) -> io::Result<()> {
                if self.is_nan() {
                    out.write_all(b"nan")
                } else {
                    write!(out, "{self:?}")
                }
            }
        }
    )*};
}
float!(f32, f64);

impl WriteNumber for bool {
    fn write(self, out: &mut Vec<u8>) -> io::Result<()> {
        u8::from(self).write(out)
    }
}

impl WriteNumber for f16 {
    fn write(self, out: &mut Vec<u8>) -> io::Result<()> {
        self.to_f32().write(out)
    }
}

impl WriteNumber for bf16 {
    fn write(self, out: &mut Vec<u8>) -> io::Result<()> {
        self.to_f32().write(out)
    }
}

impl<T: WriteNumber> WriteNumber for Complex<T> {
    fn write(self, out: &mut Vec<u8>) -> io::Result<()> {
        self.re.write(out)?;
        out.push(b' ');
        self.im.write(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Token<'_> {
        Token { at: 0, bytes: text.as_bytes() }
    }

    #[test]
    fn reals_are_read_in_every_customary_spelling() {
        for (text, expected) in [
            ("1", 1.0),
            ("+1.5", 1.5),
            ("-.5", -0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("1D3", 1000.0),
            ("-2.5d-1", -0.25),
            ("inf", f64::INFINITY),
            ("-Inf", f64::NEG_INFINITY),
            ("Infinity", f64::INFINITY),
            ("1e-999", 0.0),
        ] {
            assert_eq!(real(token(text)).unwrap(), expected, "{text}");
        }
        for text in ["nan", "-nan", "NaN"] {
            assert!(real(token(text)).unwrap().is_nan(), "{text}");
        }
    }

    #[test]
    fn plain_numbers_are_those_that_a_closer_look_finds() {
        let mut state = 3_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        let mut texts: Vec<String> = [
            "0",
            "-0",
            "-0.0",
            "1",
            "12.",
            "007",
            "0.1",
            "9007199254740993",
            "9007199254740993.5",
            "123456789012345678901234567890",
            "1e5",
            "2.5E-3",
            "-1.7976931348623157e308",
            "4.9e-324",
            "0.000000000000000000000001",
            "3.14159265358979323846",
        ]
        .map(str::to_owned)
        .to_vec();
        for _ in 0..2000 {
            let number = f64::from_bits(next() << 11 | next());
            let small = next() as f64 / 1e4;
            texts.extend([format!("{number:?}"), format!("{small}"), format!("{:.9}", -small)]);
        }
        for text in texts.iter().filter(|text| !text.contains(['N', 'f'])) {
            let (value, len) = plain_real(text.as_bytes()).unwrap();
            let expected = real(token(text)).unwrap();
            assert_eq!((value.to_bits(), len), (expected.to_bits(), text.len()), "{text}");
        }
        for text in ["", "-", "x", "+", ".", "e5", "nan", "inf", "1e999"] {
            assert!(plain_real(text.as_bytes()).is_none(), "{text}");
        }
        // Where a number ends, and whether it may, is the caller's to say.
        for text in ["1d5", "1 2", "1,5", "1.0.0", "1.0x"] {
            assert!(plain_real(text.as_bytes()).unwrap().1 < text.len(), "{text}");
        }
        for len in 0..20 {
            let text = "12345678901234567890";
            let (value, found) = digits(&text.as_bytes()[..len]);
            assert_eq!((value, found), (text[..len].parse().unwrap_or(0), len));
        }
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            for len in 0..8 {
                let mut text = *b"98765432";
                text[len] = byte;
                let expected = std::str::from_utf8(&text[..len]).unwrap().parse().unwrap_or(0);
                assert_eq!(digits(&text), (expected, len), "byte {byte} at {len}");
            }
        }
        assert_eq!(plain_integer(b"-12 "), Some((-12, 3)));
        assert_eq!(plain_integer(b"1234567890123456789"), None);
    }

    #[test]
    fn what_is_no_number_or_does_not_fit_is_refused() {
        for text in
            ["", "x", "1.2.3", "1e", "e5", "0x10", "1,5", "d", "1D", "dan", "1_000", "1e999"]
        {
            assert!(real(token(text)).is_err(), "{text}");
        }
        for text in ["1.0", "", "-", "9223372036854775808", "1e3"] {
            assert!(integer::<i64>(token(text)).is_err(), "{text}");
        }
        for text in ["0", "-1", "+1", "6", "1.0", "18446744073709551617"] {
            assert!(coordinate(token(text), 0, 5).is_err(), "{text}");
        }
        for text in ["-1", "9223372036854775808", "1.0", "x"] {
            assert!(size(token(text), "size").is_err(), "{text}");
        }
    }

    #[test]
    fn written_floats_read_back_as_the_same_bits() {
        let mut values = vec![0.0, -0.0, 0.1, 1e300, 5e-324, f64::MAX, 1.0 / 3.0, -1e16, 1e-7];
        values.extend([f64::INFINITY, f64::NEG_INFINITY]);
        for value in values {
            let mut out = Vec::new();
            value.write(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(real(token(&text)).unwrap().to_bits(), value.to_bits(), "{text}");
        }
    }
}
