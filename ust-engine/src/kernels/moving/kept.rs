//! What stands among padding: places and values of the entries, found in one reading.

use bytemuck::Zeroable;
use rayon::prelude::*;
use ust_level_api::{Buffer, Element, IndexArray};

/// Values that a thread looks through at a time.
const PART: usize = 1 << 18;
/// Values compared at a time: as many as a word has bits.
const WORD: usize = 64;

/// The values that differ from the fill value, and where they stand: ascending, and behind them
/// one more place, larger than any.
pub(crate) struct Kept<T: ust_level_api::buffer::Plain> {
    pub(crate) places: IndexArray,
    pub(crate) values: Buffer<T>,
}

/// Finds them. Parallel. Cost: one reading of the values, and a writing of what is kept.
pub(crate) fn kept<T: Element + Zeroable>(values: &[T], fill: T) -> Kept<T> {
    let parts: Vec<(Vec<u32>, Vec<T>)> =
        values.par_chunks(PART).map(|part| kept_of_part(part, fill)).collect();
    let count = parts.iter().map(|part| part.0.len()).sum::<usize>();
    let mut found = Buffer::<T>::unspecified(count);
    let mut rest = found.make_mut();
    for (_, part) in &parts {
        let (to, others) = rest.split_at_mut(part.len());
        to.copy_from_slice(part);
        rest = others;
    }
    macro_rules! places {
        ($int:ty) => {{
            let mut places = Buffer::<$int>::unspecified(count + 1);
            let mut rest = places.make_mut();
            for (number, (part, _)) in parts.into_iter().enumerate() {
                let (to, others) = rest.split_at_mut(part.len());
                let first = (number * PART) as $int;
                to.iter_mut().zip(part).for_each(|(to, at)| *to = first + <$int>::from(at));
                rest = others;
            }
            rest[0] = <$int>::MAX;
            IndexArray::from(places)
        }};
    }
    let places = if u32::try_from(values.len()).is_ok() { places!(u32) } else { places!(i64) };
    Kept { places, values: found }
}

fn kept_of_part<T: Element + Zeroable>(part: &[T], fill: T) -> (Vec<u32>, Vec<T>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        #[target_feature(enable = "avx2,bmi1")]
        fn wide<T: Element + Zeroable>(part: &[T], fill: T) -> (Vec<u32>, Vec<T>) {
            find(part, fill)
        }
        // SAFETY: this processor has what the function was compiled for.
        return unsafe { wide(part, fill) };
    }
    find(part, fill)
}

#[inline(always)]
fn find<T: Element + Zeroable>(part: &[T], fill: T) -> (Vec<u32>, Vec<T>) {
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (number, word) in part.chunks(WORD).enumerate() {
        // A plain loop over two arrays, which the compiler makes wide.
        let mut differ = [0_u8; WORD];
        for (differ, &value) in differ.iter_mut().zip(word) {
            *differ = u8::from(!fill.same(value));
        }
        let first = (number * WORD) as u32;
        let mut left = bits(&differ);
        if left == u64::MAX {
            places.extend(first..first + WORD as u32);
            values.extend_from_slice(word);
            continue;
        }
        let (mut at, mut found, mut n) = ([0; WORD], [T::zeroed(); WORD], 0);
        while left != 0 {
            let bit = left.trailing_zeros();
            (at[n], found[n]) = (first + bit, word[bit as usize]);
            left &= left - 1;
            n += 1;
        }
        places.extend_from_slice(&at[..n]);
        values.extend_from_slice(&found[..n]);
    }
    (places, values)
}

/// A word with a bit for each byte, which is 0 or 1.
#[inline]
fn bits(bytes: &[u8; WORD]) -> u64 {
    // Multiplying brings the lowest bits of eight bytes side by side at the top; none meets another.
    let eight =
        |bytes: &[u8; 8]| u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, word| bits << 8 | eight(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_differs() {
        for n in [0, 1, 63, 64, 65, 130, PART - 1, PART, PART + 70] {
            for every in [1, 2, 3, 64, 100, n + 1] {
                let value = |at: usize| if at % every == every - 1 { at as f64 + 1.0 } else { 0.5 };
                let values: Vec<f64> = (0..n).map(value).collect();
                let kept = kept(&values, 0.5);
                let expected: Vec<usize> = (0..n).filter(|&at| values[at] != 0.5).collect();
                assert_eq!(kept.places.len(), expected.len() + 1);
                assert_eq!(kept.values.len(), expected.len());
                for (k, &at) in expected.iter().enumerate() {
                    assert_eq!((kept.places.get(k), kept.values[k]), (Some(at as i64), values[at]));
                }
                assert!(kept.places.get(expected.len()).is_some_and(|last| last > n as i64));
            }
        }
    }

    #[test]
    fn zeros_of_both_signs_and_numbers_that_are_none_are_told_apart_as_elsewhere() {
        let values = [0.0, -0.0, f64::NAN, 1.0];
        for fill in values {
            let expected: Vec<usize> = (0..4).filter(|&at| !fill.same(values[at])).collect();
            let places = kept(&values, fill).places;
            let found: Vec<usize> = (0..expected.len())
                .map(|k| places.get(k).and_then(|at| usize::try_from(at).ok()).unwrap())
                .collect();
            assert_eq!(found, expected);
        }
    }
}
