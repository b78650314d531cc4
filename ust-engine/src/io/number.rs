//! How numbers are read from text and written to it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::num::IntErrorKind;
use std::ops::Range;
use std::str::FromStr;

use half::{bf16, f16};
use num_complex::Complex;

use super::text::{Fault, Token};
use crate::kernels::text::{Instructions, ZEROS, eight, others, points};

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
const POWERS: [f64; 8] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// The number that digits make, and nothing else, where they are few enough.
#[inline]
pub(super) fn plain_whole(text: &[u8], word: Range<usize>) -> Option<u64> {
    if let Some(digits) = eight_of(text, &word) {
        return (others(digits) == 0).then(|| eight(digits));
    }
    let digits = text.get(word)?;
    // More may be more than 64 bits.
    let few = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let joined = |value, digit: &u8| value * 10 + u64::from(digit - b'0');
    few.then(|| digits.iter().fold(0, joined))
}

/// The bytes of a short word, less [`ZEROS`], the last one highest, with zeros before the first. `None`
/// for a word that is empty or long, or too close to the beginning of the text.
#[inline]
fn eight_of(text: &[u8], word: &Range<usize>) -> Option<u64> {
    let unused = 8_usize.checked_sub(word.end.checked_sub(word.start)?)?;
    let &bytes = text.get(..word.end)?.last_chunk()?;
    let bytes = u64::from_le_bytes(bytes) ^ ZEROS;
    (unused < 8).then(|| bytes >> (8 * unused) << (8 * unused))
}

/// The real number that a word is, where it is finite and spelled as Rust spells numbers.
#[inline(always)]
pub(super) fn plain_real(with: impl Instructions, text: &[u8], word: Range<usize>) -> Option<f64> {
    let negative = text.get(word.start) == Some(&b'-');
    let unsigned = word.start + usize::from(negative)..word.end;
    let single = unsigned.len() == 1;
    let signed = |value: f64| f64::from_bits(value.to_bits() | u64::from(negative) << 63);
    let Some(bytes) = eight_of(text, &unsigned) else {
        return match long_real(with, text, unsigned) {
            Some(value) => Some(signed(value)),
            None => any_real(text, word),
        };
    };
    let point = points(bytes);
    let (digits, decimals) = match point {
        0 => (bytes, 0),
        // Bits below the point, which is left out, and above it.
        point => {
            let at = point.trailing_zeros() - 7;
            let below = bytes & ((1 << at) - 1);
            (below << 8 | bytes >> at >> 8 << at << 8, 7 - at as usize / 8)
        }
    };
    if others(digits) != 0 || (single && point != 0) {
        return any_real(text, word);
    }
    // Both numbers are exact, hence their quotient is rounded once.
    Some(signed(eight(digits) as i64 as f64 / POWERS[decimals]))
}

/// Digits of which each number fits 64 bits.
const MOST: usize = 19;

/// The number that a word of more than eight bytes is, of one to seven digits, a point, and digits.
/// `None` for any other, and where rounding takes a closer look.
#[inline(always)]
fn long_real(with: impl Instructions, text: &[u8], word: Range<usize>) -> Option<f64> {
    let first = u64::from_le_bytes(*text.get(word.clone())?.first_chunk()?) ^ ZEROS;
    // Digits before the point: eight where there is none.
    let before = points(first).trailing_zeros() as usize / 8;
    let decimals = word.len() - before - 1;
    if before == 0 || before == 8 || before + decimals > MOST {
        return None;
    }
    let whole = first << (8 * (8 - before));
    let behind = text[..word.end].last_chunk::<32>()?;
    let (high, low) = (behind.first_chunk()?, behind.last_chunk()?);
    let low = with.number(low, decimals.min(16))?;
    let high = with.number(high, decimals.saturating_sub(16))?;
    if others(whole) != 0 {
        return None;
    }
    over_ten(eight(whole) * TENS[decimals] + high * TENS[16] + low, decimals)
}

/// Powers of ten, as far as 64 bits hold them.
const TENS: [u64; MOST + 1] = {
    let mut powers = [1; MOST + 1];
    let mut at = 1;
    while at <= MOST {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// For each power of ten, how many halvings bring it below 1, and its inverse, cut off to 64 bits of
/// which the highest is set, after that many doublings more than 63.
const INVERSES: [(u32, u64); MOST + 1] = {
    let mut inverses = [(0, 1 << 63); MOST + 1];
    let mut at = 1;
    while at <= MOST {
        let halvings = 64 - TENS[at].leading_zeros();
        inverses[at] = (halvings, ((1_u128 << (63 + halvings)) / TENS[at] as u128) as u64);
        at += 1;
    }
    inverses
};

/// A whole number over a power of ten, rounded to the nearest number, by a product with the inverse
/// (after Eisel and Lemire). `None` where what was cut off can decide.
#[inline(always)]
fn over_ten(whole: u64, power: usize) -> Option<f64> {
    if whole == 0 {
        return Some(0.0);
    }
    let (halvings, inverse) = INVERSES[power];
    let unused = whole.leading_zeros();
    // What was cut off, in whole and inverse, is less than 2 here.
    let high = ((u128::from(whole << unused) * u128::from(inverse)) >> 64) as u64;
    // Bits behind the 53 that a number has.
    let behind = 11 - high.leading_zeros();
    let (kept, rest, half) = (high >> behind, high & ((1 << behind) - 1), 1 << (behind - 1));
    if rest == half || rest + 1 == half {
        return None;
    }
    let exponent = 1023 + 52 + 64 + behind as i32 - (unused + 63 + halvings) as i32;
    // The highest bit of those kept adds one to the exponent, as does rounding beyond the last.
    let bits = ((exponent as u64 - 1) << 52) + kept + u64::from(rest > half);
    Some(f64::from_bits(bits))
}

#[inline(never)]
fn any_real(text: &[u8], word: Range<usize>) -> Option<f64> {
    let value = fast_float2::parse::<f64, _>(text.get(word)?).ok()?;
    value.is_finite().then_some(value)
}

/// The whole number that a word is, where it is spelled plainly.
#[inline]
pub(super) fn plain_integer(text: &[u8], word: Range<usize>) -> Option<i64> {
    let negative = text.get(word.start) == Some(&b'-');
    let value = plain_whole(text, word.start + usize::from(negative)..word.end)? as i64;
    Some(if negative { -value } else { value })
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
    use crate::kernels::text::{Reading, with_best};

    fn token(text: &str) -> Token<'_> {
        Token { at: 0, bytes: text.as_bytes() }
    }

    /// A word of a text, read plainly.
    struct Real<'a>(&'a [u8], Range<usize>);

    impl Reading for Real<'_> {
        type Read = Option<f64>;

        fn read(self, with: impl Instructions) -> Option<f64> {
            plain_real(with, self.0, self.1)
        }
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
            // Few digits before the point, many behind it.
            let decimals = (next() % 22) as usize;
            let many = next() as f64 / (1_u64 << 53) as f64 * POWERS[(next() % 8) as usize];
            texts.extend([format!("{many}"), format!("-{many:.decimals$}")]);
        }
        for text in texts.iter().filter(|text| !text.contains(['N', 'f'])) {
            let expected = real(token(text)).unwrap().to_bits();
            for before in ["", "12345678", "1.5 - .", "1.2345678901 2345678901 23"] {
                let (all, start) = (format!("{before}{text}9.9"), before.len());
                let word = start..start + text.len();
                let found = with_best(Real(all.as_bytes(), word));
                assert_eq!(found.unwrap().to_bits(), expected, "{text}");
            }
        }
        let refused =
            ["", "-", "x", "+", ".", "-.", "e5", "nan", "inf", "1e999", "1d5", "1 2", "1,5"];
        for text in refused.into_iter().chain(["1.0.0", "1.0x", "..1", "1..", "--1", "1-", "- 1"]) {
            for before in ["", "12345678"] {
                let (all, start) = (format!("{before}{text}9.9"), before.len());
                let word = start..start + text.len();
                assert!(with_best(Real(all.as_bytes(), word.clone())).is_none(), "{text}");
                assert!(plain_integer(all.as_bytes(), word).is_none(), "{text}");
            }
        }
        for len in 0..20 {
            let text = "abcdefgh12345678901234567890";
            let expected = text[8..8 + len].parse().ok().filter(|_| len < 19);
            assert_eq!(plain_whole(text.as_bytes(), 8..8 + len), expected);
            assert_eq!(plain_whole(&text.as_bytes()[8..], 0..len), expected);
        }
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            for len in 1..=8 {
                for at in 0..len {
                    let mut text = *b"1234567812345678";
                    text[8 + at] = byte;
                    assert_eq!(plain_whole(&text, 8..8 + len), None, "{byte} at {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn decimals_are_rounded_to_the_nearest_number() {
        let mut state = 5_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 5
        };
        let halfway = [(1 << 53) + 1, (1 << 54) + 2, (1 << 54) + 6];
        let (mut found, mut tried) = (0, 0);
        for (power, &ten) in TENS.iter().enumerate() {
            let random = (0..5000).map(|_| (next() << 5 | next() & 31) >> (next() % 64));
            let edges = [0, 1, 9, 10, ten, ten - 1, TENS[MOST], u64::MAX];
            for whole in random.chain(edges).chain(halfway).collect::<Vec<_>>() {
                tried += 1;
                if let Some(value) = over_ten(whole, power) {
                    let expected: f64 = format!("{whole}e-{power}").parse().unwrap();
                    assert_eq!(value.to_bits(), expected.to_bits(), "{whole}e-{power}");
                    found += 1;
                }
            }
        }
        // But for whole numbers that end in zeros, what was cut off decides one time in five hundred.
        assert!(found * 100 > tried * 98, "{found} of {tried}");
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
