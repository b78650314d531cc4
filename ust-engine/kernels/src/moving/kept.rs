//! The entries among padding: their places and values, found in one pass.

use std::alloc::{Layout, handle_alloc_error};

use bytemuck::Zeroable;
use ust_ir::buffer::Plain;
use ust_ir::{Buffer, Element, GrowBuffer, IndexArray, parallel};

use crate::pool::threads;
use crate::tuning::{KEPT_BLOCK, KEPT_SAMPLED_WORDS, PREFETCH_DISTANCE};
use crate::vector::prefetch_elements;

/// Values compared at a time: one for each bit of a word.
const WORD: usize = 64;

/// The values that differ from the fill value, and their places, ascending.
pub struct Kept<T: Plain> {
    /// The place of each value, then one more place, larger than any.
    pub places: IndexArray,
    /// The values.
    pub values: Buffer<T>,
}

/// Finds the values that differ from `fill`. Parallel. Cost: the values are read once, and those kept are
/// written once.
pub fn kept<T: Element + Zeroable>(values: &[T], fill: T) -> Kept<T> {
    match u32::try_from(values.len()) {
        Ok(_) => kept_at::<u32, T>(values, fill),
        Err(_) => kept_at::<i64, T>(values, fill),
    }
}

/// The type of a place.
trait Place: Plain + Zeroable {
    const LAST: Self;
    fn of(at: usize) -> Self;
}

macro_rules! place {
    ($($int:ty)*) => {$(
        impl Place for $int {
            const LAST: Self = Self::MAX;
            fn of(at: usize) -> Self {
                at as Self
            }
        }
    )*};
}
place!(u32 i64);

fn kept_at<I: Place, T: Element + Zeroable>(values: &[T], fill: T) -> Kept<T>
where
    IndexArray: From<Buffer<I>>,
{
    let each = values.len().div_ceil(threads(values.len())).next_multiple_of(WORD).max(1);
    let count = values.len().div_ceil(each);
    // The first part has room for all: the values of the others are moved behind its own.
    let parts: Vec<Found<I, T>> = parallel::map_items(values.chunks(each), |n, part| {
        Found::of(part, n * each, fill, if n == 0 { count } else { 1 })
    });
    let counts: Vec<usize> = parts.iter().map(|part| part.count).collect();
    let (places, values): (Vec<_>, Vec<_>) =
        parts.into_iter().map(|part| (part.places, part.values)).unzip();
    let last = (GrowBuffer::from(vec![I::LAST]), 1);
    let places = places.into_iter().zip(counts.iter().copied()).chain([last]).collect();
    let values = GrowBuffer::joined(values.into_iter().zip(counts).collect());
    let room = "the first has room for all";
    Kept { places: GrowBuffer::joined(places).expect(room).into(), values: values.expect(room) }
}

/// The values kept of one part.
struct Found<I: Plain, T: Plain> {
    places: GrowBuffer<I>,
    values: GrowBuffer<T>,
    count: usize,
}

impl<I: Place, T: Element + Zeroable> Found<I, T> {
    /// Finds the values of a part that begins at place `first`, with room for `times` as many values as are
    /// expected.
    fn of(part: &[T], first: usize, fill: T, times: usize) -> Self {
        let mut found =
            Self { places: GrowBuffer::default(), values: GrowBuffer::default(), count: 0 };
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
            #[target_feature(enable = "avx2,bmi1")]
            fn wide<I: Place, T: Element + Zeroable>(
                found: &mut Found<I, T>,
                part: &[T],
                first: usize,
                fill: T,
                times: usize,
            ) {
                found.find(part, first, fill, times);
            }
            // SAFETY: this machine has the instructions.
            unsafe { wide(&mut found, part, first, fill, times) };
            return found;
        }
        found.find(part, first, fill, times);
        found
    }

    #[inline(always)]
    fn find(&mut self, part: &[T], first: usize, fill: T, times: usize) {
        // The number of values to keep, estimated from a sample of the words.
        let step = (part.len() / WORD / KEPT_SAMPLED_WORDS).max(1);
        let sample = part.chunks(WORD).step_by(step).map(|word| differing(word, fill).count_ones());
        let estimate = sample.map(|count| count as usize).sum::<usize>() * step;
        self.reserve(times * (estimate + estimate / 16).min(part.len()));
        for (number, block) in part.chunks(KEPT_BLOCK).enumerate() {
            let all = self.count + block.len();
            self.reserve(all);
            let places = &mut self.places.as_mut_slice()[self.count..all];
            let values = &mut self.values.as_mut_slice()[self.count..all];
            let mut count = 0;
            for (at, word) in block.chunks(WORD).enumerate() {
                prefetch_elements(word, PREFETCH_DISTANCE / size_of::<T>(), word.len());
                let mut left = differing(word, fill);
                let more = left.count_ones() as usize;
                let first = first + number * KEPT_BLOCK + at * WORD;
                let places = places[count..][..more].iter_mut();
                let values = &mut values[count..][..more];
                count += more;
                if more == word.len() {
                    places.enumerate().for_each(|(at, place)| *place = I::of(first + at));
                    values.copy_from_slice(word);
                    continue;
                }
                for (place, value) in places.zip(values) {
                    let bit = left.trailing_zeros() as usize;
                    (*place, *value) = (I::of(first + bit), word[bit]);
                    left &= left - 1;
                }
            }
            self.count += count;
        }
    }

    /// Makes room for `all` values.
    fn reserve(&mut self, all: usize) {
        if !(self.places.reserve(all) && self.values.reserve(all)) {
            handle_alloc_error(Layout::array::<T>(all).unwrap_or(Layout::new::<T>()));
        }
    }
}

/// A bit for each value, at most [`WORD`]: whether it differs from the fill value.
#[inline(always)]
fn differing<T: Element>(word: &[T], fill: T) -> u64 {
    // A plain loop over two arrays, which the compiler vectorises.
    let mut differ = [0_u8; WORD];
    for (differ, &value) in differ.iter_mut().zip(word) {
        *differ = u8::from(!fill.same(value));
    }
    bits(&differ)
}

/// The bytes, each 0 or 1, as the bits of a word.
#[inline]
fn bits(bytes: &[u8; WORD]) -> u64 {
    // The multiplication moves the lowest bits of eight bytes side by side into the top byte, without carries.
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
        for n in [0, 1, 63, 64, 65, 130, 70_000, 1 << 18] {
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
