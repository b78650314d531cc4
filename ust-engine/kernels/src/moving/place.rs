//! Values written to arbitrary places of a destination.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use ust_ir::buffer::Plain;
use ust_ir::column::{BLOCK, chunk_len};
use ust_ir::parallel;

/// Writes `from[at]` to `to[place of at]`, for all entries, in parallel. `places` fills in the places
/// of the entries that begin at its first argument. Where two entries have one place, either stays.
///
/// # Panics
/// When a place lies outside the destination.
pub fn place<T: Plain>(from: &[T], to: &mut [T], places: &(dyn Fn(usize, &mut [usize]) + Sync)) {
    let chunk = chunk_len(from.len());
    let to = Shared(to.as_mut_ptr().cast::<u8>(), to.len());
    parallel::items(from.chunks(chunk), |number, values| {
        let to = &to;
        let mut dest = [0; BLOCK];
        for (block, values) in values.chunks(BLOCK).enumerate() {
            let dest = &mut dest[..values.len()];
            places(number * chunk + block * BLOCK, dest);
            // All places of the block are checked at once.
            let most = dest.iter().fold(0, |most, &place| most.max(place));
            assert!(most < to.1, "place {most} of {}", to.1);
            for (&value, &place) in values.iter().zip(&*dest) {
                // SAFETY: the place is inside, and every thread writes whole words, atomically.
                unsafe { store(to.0, place, value) };
            }
        }
    });
}

/// A destination that several threads write.
struct Shared(*mut u8, usize);

// SAFETY: it is written through atomic stores alone, and read when all threads are done.
unsafe impl Sync for Shared {}

/// Stores a value of any width in atomic words. If two threads write one place, one of them wins.
///
/// # Safety
/// `to` points to more than `place` elements, aligned as `T`, and meanwhile they are accessed through this
/// function alone.
#[inline]
unsafe fn store<T: Plain>(to: *mut u8, place: usize, value: T) {
    macro_rules! words {
        ($atomic:ty, $word:ty, $count:expr) => {{
            // SAFETY: `T` is as wide as `$count` words, and as aligned as one.
            unsafe {
                let words: [$word; $count] = std::mem::transmute_copy(&value);
                let at = to.cast::<$word>().add(place * $count);
                for (k, word) in words.into_iter().enumerate() {
                    <$atomic>::from_ptr(at.add(k)).store(word, Ordering::Relaxed);
                }
            }
        }};
    }
    match (size_of::<T>(), align_of::<T>()) {
        (1, _) => words!(AtomicU8, u8, 1),
        (2, 2) => words!(AtomicU16, u16, 1),
        (4, 4) => words!(AtomicU32, u32, 1),
        (8, 8) => words!(AtomicU64, u64, 1),
        (8, 4) => words!(AtomicU32, u32, 2),
        (16, 8) => words!(AtomicU64, u64, 2),
        (width, align) => unreachable!("no dtype has {width} bytes aligned to {align}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ust_ir::scalar::Complex;

    fn check<T: Plain + PartialEq + std::fmt::Debug>(value: impl Fn(u32) -> T) {
        let n = 3000_u32;
        let from: Vec<T> = (0..n).map(&value).collect();
        let mut to = vec![value(200); 7 * n as usize];
        // 3 does not divide the length: every place is another one.
        let place_of = |at: usize| (at * 3 + 1) % (7 * n as usize);
        place(&from, &mut to, &|first, dest| {
            for (k, dest) in dest.iter_mut().enumerate() {
                *dest = place_of(first + k);
            }
        });
        let mut expected = vec![value(200); to.len()];
        for (at, &v) in from.iter().enumerate() {
            expected[place_of(at)] = v;
        }
        assert_eq!(to, expected);
    }

    #[test]
    fn values_of_every_width_go_to_their_places() {
        check(|v| v as u8);
        check(|v| v % 3 == 0);
        check(|v| v as i16);
        check(|v| v as f32);
        check(f64::from);
        check(|v| Complex::new(v as f32, 1.0));
        check(|v| Complex::new(f64::from(v), -2.0));
    }

    #[test]
    #[should_panic(expected = "place 4 of 4")]
    fn places_outside_are_refused() {
        place(&[1.0], &mut [0.0; 4], &|_, dest| dest[0] = 4);
    }
}
