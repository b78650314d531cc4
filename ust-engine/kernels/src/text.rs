//! The bytes of a text: digits and the numbers that they form, blanks, decimal points.

#![cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]

use super::vector::prefetch;

/// Operations on text, for one instruction set.
pub trait Instructions: Copy {
    /// The number that the last `digits` bytes form, at most sixteen. `None` where one of them is no digit.
    fn number(self, bytes: &[u8; 16], digits: usize) -> Option<u64>;

    /// For each of two words, the number that its last `digits` bytes form, at most eight. `None` where one
    /// of these bytes is no digit.
    fn two(self, bytes: [[u8; 8]; 2], digits: [usize; 2]) -> Option<[u64; 2]>;
}

/// Work on a text, compiled for each instruction set. The functions that it calls must be inlined.
pub trait Reading {
    /// The result.
    type Read;

    /// Reads with the operations of an instruction set.
    fn read(self, with: impl Instructions) -> Self::Read;
}

/// Reads with the best instruction set of this machine.
pub fn with_best<R: Reading>(reading: R) -> R::Read {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the machine has the instructions.
        return unsafe { with_avx2(reading) };
    }
    reading.read(Portable)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx2<R: Reading>(reading: R) -> R::Read {
    reading.read(Avx2(()))
}

/// Operations for any machine.
#[derive(Clone, Copy)]
struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn number(self, bytes: &[u8; 16], digits: usize) -> Option<u64> {
        let (halves, _) = bytes.as_chunks::<8>();
        // Digits `0` before the first digit: no branch on the number of digits.
        let part = |at: usize| {
            let unused = 8 - digits.saturating_sub(8 * (1 - at)).min(8);
            let bytes = u64::from_le_bytes(halves[at]) ^ ZEROS;
            bytes >> (4 * unused) >> (4 * unused) << (4 * unused) << (4 * unused)
        };
        let (high, low) = (part(0), part(1));
        let value = eight(high) * 100_000_000 + eight(low);
        (others(high) | others(low) == 0).then_some(value)
    }

    #[inline(always)]
    fn two(self, bytes: [[u8; 8]; 2], digits: [usize; 2]) -> Option<[u64; 2]> {
        let last = |at: usize| {
            let unused = 4 * (8 - digits[at].min(8));
            let bytes = u64::from_le_bytes(bytes[at]) ^ ZEROS;
            bytes >> unused >> unused << unused << unused
        };
        let both = [last(0), last(1)];
        (others(both[0]) | others(both[1]) == 0).then(|| both.map(eight))
    }
}

/// Operations with AVX2. A value of this type exists only where the machine has it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    #[inline(always)]
    fn number(self, bytes: &[u8; 16], digits: usize) -> Option<u64> {
        use std::arch::x86_64::*;
        // SAFETY: the machine has AVX2, as this value says.
        unsafe {
            let places = _mm_setr_epi8(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
            let used = _mm_cmpgt_epi8(_mm_set1_epi8(digits as i8 + 1), places);
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            let [high, low] = eights(bytes, used)?;
            Some(high * 100_000_000 + low)
        }
    }

    #[inline(always)]
    fn two(self, bytes: [[u8; 8]; 2], digits: [usize; 2]) -> Option<[u64; 2]> {
        use std::arch::x86_64::*;
        // SAFETY: the machine has AVX2, as this value says.
        unsafe {
            let [first, second] = bytes.map(|bytes| u64::from_le_bytes(bytes).cast_signed());
            let unused = digits.map(|digits| 64 - 8 * digits as i64);
            let used = _mm_sllv_epi64(_mm_set1_epi8(-1), _mm_set_epi64x(unused[1], unused[0]));
            eights(_mm_set_epi64x(second, first), used)
        }
    }
}

/// The two numbers that eight bytes each form. Unused bytes, 0 in `used`, count as digits `0`. `None` where
/// a used byte is no digit.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn eights(bytes: std::arch::x86_64::__m128i, used: std::arch::x86_64::__m128i) -> Option<[u64; 2]> {
    use std::arch::x86_64::*;
    let each = _mm_and_si128(_mm_sub_epi8(bytes, _mm_set1_epi8(b'0' as i8)), used);
    let fits = _mm_cmpeq_epi8(_mm_min_epu8(each, _mm_set1_epi8(9)), each);
    // Adjacent digits are joined to pairs, these to fours, and fours to eights of 32 bits.
    let pairs = _mm_maddubs_epi16(each, _mm_set1_epi16(0x010a));
    let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x0001_0064));
    let fours = _mm_packus_epi32(fours, fours);
    let eights = _mm_madd_epi16(fours, _mm_set1_epi32(0x0001_2710));
    let both = _mm_cvtsi128_si64(eights).cast_unsigned();
    (_mm_movemask_epi8(fits) == 0xffff).then_some([both & 0xffff_ffff, both >> 32])
}

/// Eight digits `0`.
pub const ZEROS: u64 = 0x3030_3030_3030_3030;
const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Sets the high bit of each byte that is no digit, in eight bytes of text XOR [`ZEROS`].
#[inline(always)]
pub fn others(word: u64) -> u64 {
    (((word & LOW) + 0x7676_7676_7676_7676) | word) & !LOW
}

/// Sets the high bit of each byte that is a decimal point, in eight bytes of text XOR [`ZEROS`].
#[inline(always)]
pub fn points(word: u64) -> u64 {
    let differ = word ^ 0x1e1e_1e1e_1e1e_1e1e;
    !(((differ & LOW) + LOW) | differ) & !LOW
}

/// The number that eight digits form, given as text XOR [`ZEROS`]. Adjacent digits are joined to pairs, pairs
/// to fours, fours to eight.
#[inline(always)]
pub fn eight(word: u64) -> u64 {
    let pairs = (word.wrapping_mul(10) + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

/// Bytes that [`gaps`] tests together.
pub const PART: usize = 64;

/// Prefetches the line `ahead` bytes behind the start of `part`: a text is mostly in memory, not in a cache,
/// and the hardware prefetcher stops at the end of a page.
#[inline(always)]
pub fn prefetch_after(part: &[u8], ahead: usize) {
    prefetch(part.as_ptr().wrapping_add(ahead));
}

/// A bit for each byte: 1 for blanks, line ends and control characters.
#[inline(always)]
pub fn gaps(part: &[u8; PART]) -> u64 {
    let (words, _) = part.as_chunks::<8>();
    let word = |at: usize| u64::from_le_bytes(words[at]);
    let bits = |at: usize| sixteen([word(2 * at), word(2 * at + 1)]) << (16 * at);
    bits(0) | bits(1) | bits(2) | bits(3)
}

/// As [`gaps`], of sixteen bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sixteen(words: [u64; 2]) -> u64 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
    };
    let [low, high] = words.map(u64::cast_signed);
    // SAFETY: every processor of this architecture has SSE2, which is all that these need.
    unsafe {
        let bytes = _mm_set_epi64x(high, low);
        let gaps = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(b' '.cast_signed())), bytes);
        u64::from(_mm_movemask_epi8(gaps).cast_unsigned())
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn sixteen([low, high]: [u64; 2]) -> u64 {
    eight_gaps(low) | eight_gaps(high) << 8
}

/// As [`gaps`], of eight bytes, on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn eight_gaps(word: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of each byte that is greater than a blank.
    let more = ((word & !HIGH) + 0x5f5f_5f5f_5f5f_5f5f) | word;
    // The eight high bits, side by side.
    ((!more & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the last bytes form, for each number of digits.
    struct Numbers([u8; 16]);

    /// The numbers that the last bytes of each half form, for each number of digits of both.
    struct Halves([u8; 16]);

    impl Reading for Halves {
        type Read = Vec<Option<[u64; 2]>>;

        fn read(self, with: impl Instructions) -> Self::Read {
            let halves = [0, 1].map(|at| self.0.as_chunks().0[at]);
            (0..81).map(|both| with.two(halves, [both / 9, both % 9])).collect()
        }
    }

    /// The expected result of [`Halves`].
    fn halves(bytes: [u8; 16]) -> Vec<Option<[u64; 2]>> {
        let number = |end: usize, digits: usize| {
            let digits = std::str::from_utf8(&bytes[end - digits..end]).unwrap_or("x");
            if digits.is_empty() { Some(0) } else { digits.parse().ok() }
        };
        (0..81).map(|both| Some([number(8, both / 9)?, number(16, both % 9)?])).collect()
    }

    impl Reading for Numbers {
        type Read = Vec<Option<u64>>;

        fn read(self, with: impl Instructions) -> Self::Read {
            (0..=16).map(|digits| with.number(&self.0, digits)).collect()
        }
    }

    #[test]
    fn digits_make_numbers_and_nothing_else_does() {
        let mut bytes = *b"7093184650271839";
        for round in 0..16 {
            bytes.rotate_left(1);
            let text = std::str::from_utf8(&bytes).unwrap();
            let expected: Vec<Option<u64>> =
                (0..=16).map(|digits| Some(text[16 - digits..].parse().unwrap_or(0))).collect();
            assert_eq!(with_best(Numbers(bytes)), expected);
            assert_eq!(Numbers(bytes).read(Portable), expected);
            assert_eq!(with_best(Halves(bytes)), halves(bytes));
            assert_eq!(Halves(bytes).read(Portable), halves(bytes));
            for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                let mut bytes = bytes;
                bytes[round] = byte;
                let expected: Vec<Option<u64>> = (0..=16)
                    .map(|digits| expected[digits].filter(|_| round < 16 - digits))
                    .collect();
                assert_eq!(with_best(Numbers(bytes)), expected);
                assert_eq!(Numbers(bytes).read(Portable), expected);
                // The standard library accepts a sign before digits.
                if byte != b'+' {
                    assert_eq!(with_best(Halves(bytes)), halves(bytes));
                    assert_eq!(Halves(bytes).read(Portable), halves(bytes));
                }
            }
        }
    }

    #[test]
    fn gaps_are_blanks_and_what_is_less() {
        for byte in 0..=u8::MAX {
            for at in 0..PART {
                let mut part = [b'.'; PART];
                part[at] = byte;
                let expected = u64::from(byte <= b' ') << at;
                assert_eq!(gaps(&part), expected);
                let word = |at: usize| u64::from_le_bytes(part.as_chunks().0[at]);
                let eights = (0..8).map(|at| eight_gaps(word(at)) << (8 * at));
                assert_eq!(eights.fold(0, std::ops::BitOr::bitor), expected);
            }
        }
    }
}
