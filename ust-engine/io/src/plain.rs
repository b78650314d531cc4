//! The fast path for numbers in ordinary spelling, such as `12` or `-0.5`. A number that is refused
//! here is read by [`number`](super::number), which knows all spellings and reports faults.

use std::ops::Range;

use ust_kernels::text::{Instructions, ZEROS, eight, others, points};

/// The fast path for the value of an entry.
pub(super) trait Plainly<T>: Sync {
    /// Whether the line has a token for the value.
    const WORD: bool = true;

    /// The value of the token at `word`; `None` if the slow path must read it.
    fn value(&self, with: impl Instructions, text: &[u8], word: Range<usize>) -> Option<T>;
}

/// Real numbers.
pub(super) struct Reals;

impl Plainly<f64> for Reals {
    #[inline(always)]
    fn value(&self, with: impl Instructions, text: &[u8], word: Range<usize>) -> Option<f64> {
        plain_real(with, text, word)
    }
}

/// Whole numbers.
pub(super) struct Integers;

impl Plainly<i64> for Integers {
    #[inline(always)]
    fn value(&self, _: impl Instructions, text: &[u8], word: Range<usize>) -> Option<i64> {
        plain_integer(text, word)
    }
}

/// The value of entries without a token for it, such as those of a pattern matrix.
pub(super) struct Always<T>(pub(super) T);

impl<T: Copy + Sync> Plainly<T> for Always<T> {
    const WORD: bool = false;

    #[inline(always)]
    fn value(&self, _: impl Instructions, _: &[u8], _: Range<usize>) -> Option<T> {
        Some(self.0)
    }
}

/// Values without a fast path.
pub(super) struct NoFastPath;

impl<T> Plainly<T> for NoFastPath {
    #[inline(always)]
    fn value(&self, _: impl Instructions, _: &[u8], _: Range<usize>) -> Option<T> {
        None
    }
}

/// Powers of ten, all exact.
const POWERS_F64: [f64; 8] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// The number that a token of up to 18 digits forms. `None` for any other token.
#[inline]
pub(super) fn plain_whole(text: &[u8], word: Range<usize>) -> Option<u64> {
    if let Some(digits) = short_token(text, &word) {
        return (others(digits) == 0).then(|| eight(digits));
    }
    let digits = text.get(word)?;
    // A number of 19 digits may exceed an `i64`.
    let few = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let joined = |value, digit: &u8| value * 10 + u64::from(digit - b'0');
    few.then(|| digits.iter().fold(0, joined))
}

/// The numbers that two tokens of up to eight digits form. `None` for other tokens.
#[inline(always)]
pub(super) fn two_whole(
    with: impl Instructions,
    text: &[u8],
    words: &[Range<usize>; 2],
) -> Option<[u64; 2]> {
    let digits = [0, 1].map(|at| words[at].end.wrapping_sub(words[at].start));
    let bytes = |at: usize| text.get(..words[at].end)?.last_chunk().copied();
    let short = digits.iter().all(|&digits| digits.wrapping_sub(1) < 8);
    with.two([bytes(0)?, bytes(1)?], digits).filter(|_| short)
}

/// The bytes of a token of one to eight bytes, XOR [`ZEROS`]. The last byte is the highest; unused
/// lower bytes are 0. `None` for a token of another length, or one that ends before byte 8 of the text.
#[inline]
fn short_token(text: &[u8], word: &Range<usize>) -> Option<u64> {
    let unused = 8_usize.checked_sub(word.end.checked_sub(word.start)?)?;
    let &bytes = text.get(..word.end)?.last_chunk()?;
    let bytes = u64::from_le_bytes(bytes) ^ ZEROS;
    (unused < 8).then(|| bytes >> (8 * unused) << (8 * unused))
}

/// The real number that a token spells, if it is finite and spelled as in Rust.
#[inline(always)]
fn plain_real(with: impl Instructions, text: &[u8], word: Range<usize>) -> Option<f64> {
    let negative = text.get(word.start) == Some(&b'-');
    let unsigned = word.start + usize::from(negative)..word.end;
    let single = unsigned.len() == 1;
    let signed = |value: f64| f64::from_bits(value.to_bits() | u64::from(negative) << 63);
    let Some(bytes) = short_token(text, &unsigned) else {
        return match long_real(with, text, unsigned) {
            Some(value) => Some(signed(value)),
            None => any_real(text, word),
        };
    };
    let point = points(bytes);
    let (digits, decimals) = match point {
        0 => (bytes, 0),
        // The point is cut out: the bytes before it move up by one.
        point => {
            let at = point.trailing_zeros() - 7;
            let below = bytes & ((1 << at) - 1);
            (below << 8 | bytes >> at >> 8 << at << 8, 7 - at as usize / 8)
        }
    };
    if others(digits) != 0 || (single && point != 0) {
        return any_real(text, word);
    }
    // Both numbers are exact, so only the quotient is rounded.
    Some(signed(eight(digits) as i64 as f64 / POWERS_F64[decimals]))
}

/// Every number of this many digits fits 64 bits.
const MAX_DIGITS: usize = 19;

/// The number that a token of more than eight bytes spells: one to seven digits, a point, and digits.
/// `None` for any other token, and if `divided` cannot round the number.
#[inline(always)]
fn long_real(with: impl Instructions, text: &[u8], word: Range<usize>) -> Option<f64> {
    let first = u64::from_le_bytes(*text.get(word.clone())?.first_chunk()?) ^ ZEROS;
    // The number of digits before the point; 8 if the first eight bytes have no point.
    let before = points(first).trailing_zeros() as usize / 8;
    let decimals = word.len() - before - 1;
    if before == 0 || before == 8 || before + decimals > MAX_DIGITS {
        return None;
    }
    let whole = first << (8 * (8 - before));
    let tail = text[..word.end].last_chunk::<32>()?;
    let (high, low) = (tail.first_chunk()?, tail.last_chunk()?);
    let low = with.number(low, decimals.min(16))?;
    let high = with.number(high, decimals.saturating_sub(16))?;
    if others(whole) != 0 {
        return None;
    }
    divided(eight(whole) * POWERS_U64[decimals] + high * POWERS_U64[16] + low, decimals)
}

/// Powers of ten, as far as 64 bits hold them.
const POWERS_U64: [u64; MAX_DIGITS + 1] = {
    let mut powers = [1; MAX_DIGITS + 1];
    let mut at = 1;
    while at <= MAX_DIGITS {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// For each power of ten `t`, the least `n` with `t <= 2^n`, and the inverse `2^(63 + n) / t` without
/// its fraction: 64 bits, of which the highest is set.
const INVERSES: [(u32, u64); MAX_DIGITS + 1] = {
    let mut inverses = [(0, 1 << 63); MAX_DIGITS + 1];
    let mut at = 1;
    while at <= MAX_DIGITS {
        let shift = 64 - POWERS_U64[at].leading_zeros();
        inverses[at] = (shift, ((1_u128 << (63 + shift)) / POWERS_U64[at] as u128) as u64);
        at += 1;
    }
    inverses
};

/// `whole / 10^power`, rounded to the nearest `f64`, by a product with the inverse (after Eisel and
/// Lemire). `None` if the truncated bits can decide the rounding.
#[inline(always)]
fn divided(whole: u64, power: usize) -> Option<f64> {
    if whole == 0 {
        return Some(0.0);
    }
    let (shift, inverse) = INVERSES[power];
    let unused = whole.leading_zeros();
    // The bits truncated from the product and from the inverse are worth less than 2 here.
    let high = ((u128::from(whole << unused) * u128::from(inverse)) >> 64) as u64;
    // The number of bits after the 53 of the significand.
    let extra = 11 - high.leading_zeros();
    let (kept, rest, half) = (high >> extra, high & ((1 << extra) - 1), 1 << (extra - 1));
    if rest == half || rest + 1 == half {
        return None;
    }
    let exponent = 1023 + 52 + 64 + extra as i32 - (unused + 63 + shift) as i32;
    // The highest bit of `kept` adds one to the exponent, as does a carry from rounding.
    let bits = ((exponent as u64 - 1) << 52) + kept + u64::from(rest > half);
    Some(f64::from_bits(bits))
}

#[inline(never)]
fn any_real(text: &[u8], word: Range<usize>) -> Option<f64> {
    let value = fast_float2::parse::<f64, _>(text.get(word)?).ok()?;
    value.is_finite().then_some(value)
}

/// The whole number that a token spells: digits, possibly after a `-`.
#[inline]
fn plain_integer(text: &[u8], word: Range<usize>) -> Option<i64> {
    let negative = text.get(word.start) == Some(&b'-');
    let value = plain_whole(text, word.start + usize::from(negative)..word.end)? as i64;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::super::number::real;
    use super::super::text::Token;
    use super::*;
    use ust_kernels::text::{Reading, with_best};

    fn token(text: &str) -> Token<'_> {
        Token { at: 0, bytes: text.as_bytes() }
    }

    /// A token of a text, read on the fast path.
    struct Real<'a>(&'a [u8], Range<usize>);

    impl Reading for Real<'_> {
        type Read = Option<f64>;

        fn read(self, with: impl Instructions) -> Option<f64> {
            plain_real(with, self.0, self.1)
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
            "-5.00",
            "100.000",
            ".0",
            ".0000000",
            "1234567.",
            "0.30",
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
            // Few digits before the point, many after it.
            let decimals = (next() % 22) as usize;
            let many = next() as f64 / (1_u64 << 53) as f64 * POWERS_F64[(next() % 8) as usize];
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
        for (power, &ten) in POWERS_U64.iter().enumerate() {
            let random = (0..5000).map(|_| (next() << 5 | next() & 31) >> (next() % 64));
            let edges = [0, 1, 9, 10, ten, ten - 1, POWERS_U64[MAX_DIGITS], u64::MAX];
            for whole in random.chain(edges).chain(halfway).collect::<Vec<_>>() {
                tried += 1;
                if let Some(value) = divided(whole, power) {
                    let expected: f64 = format!("{whole}e-{power}").parse().unwrap();
                    assert_eq!(value.to_bits(), expected.to_bits(), "{whole}e-{power}");
                    found += 1;
                }
            }
        }
        // Except for numbers that end in zeros, the truncated bits can decide one rounding in five
        // hundred.
        assert!(found * 100 > tried * 98, "{found} of {tried}");
    }
}
