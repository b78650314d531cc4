//! Reading numbers from text, and writing them.

use std::borrow::Cow;
use std::io::{self, Write};
use std::num::IntErrorKind;
use std::str::FromStr;

use half::{bf16, f16};
use num_complex::Complex;

use super::text::{Fault, Token};

/// Reads a coordinate: a whole number from 1 to the extent. Returns it counted from 0.
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

/// Reads a size or a count: a whole number from 0 that fits 63 bits. `what` names it in messages.
pub(super) fn size(token: Token<'_>, what: &str) -> Result<usize, Fault> {
    let size = token.text().and_then(|text| text.parse::<i64>().ok());
    size.and_then(|size| usize::try_from(size).ok()).ok_or_else(|| {
        let whole = token.text().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
        token.fault(match whole {
            true => format!("the {what} {token} does not fit 63 bits"),
            false => format!("`{token}` is no {what}: a whole number was expected"),
        })
    })
}

/// Reads a whole number of 64 bits.
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

/// Reads a real number: decimal, possibly with an exponent after `e`, `E`, `d` or `D`; or `inf` or
/// `nan`.
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

/// Replaces the `D` that Fortran writes before the exponent of a double.
fn with_e(text: &str) -> Cow<'_, str> {
    match text.find(['d', 'D']) {
        Some(at) if text[..at].bytes().any(|b| b.is_ascii_digit()) => {
            format!("{}e{}", &text[..at], &text[at + 1..]).into()
        }
        _ => text.into(),
    }
}

/// Writing an element as the shortest text that reads back as the same number.
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
