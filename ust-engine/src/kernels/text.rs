//! What bytes of a text are.

use super::vector::prefetch;

/// Bytes looked at together.
pub(crate) const PART: usize = 64;

/// Asks for the bytes so far behind these: a text that is read for the first time lies far away, and what
/// asks for it unbidden stops where a page ends.
#[inline(always)]
pub(crate) fn ask_for(part: &[u8], ahead: usize) {
    prefetch(part.as_ptr().wrapping_add(ahead));
}

/// A bit for each byte: 1 for blanks, line ends and control characters.
#[inline(always)]
pub(crate) fn gaps(part: &[u8; PART]) -> u64 {
    let (words, _) = part.as_chunks::<8>();
    let word = |at: usize| u64::from_le_bytes(words[at]);
    let bits = |at: usize| sixteen([word(2 * at), word(2 * at + 1)]) << (16 * at);
    bits(0) | bits(1) | bits(2) | bits(3)
}

/// Those of sixteen bytes.
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
    eight(low) | eight(high) << 8
}

/// Those of eight bytes, on any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn eight(word: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of each byte that is more than a blank.
    let more = ((word & !HIGH) + 0x5f5f_5f5f_5f5f_5f5f) | word;
    // The eight high bits, side by side.
    ((!more & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_blanks_and_what_is_less() {
        for byte in 0..=u8::MAX {
            for at in 0..PART {
                let mut part = [b'.'; PART];
                part[at] = byte;
                let expected = u64::from(byte <= b' ') << at;
                assert_eq!(gaps(&part), expected);
                let word = |at: usize| u64::from_le_bytes(part.as_chunks().0[at]);
                let eights = (0..8).map(|at| eight(word(at)) << (8 * at));
                assert_eq!(eights.fold(0, std::ops::BitOr::bitor), expected);
            }
        }
    }
}
