//! Rows whose coordinates are running sums of narrow numbers, times a vector.

use ust_ir::Dtype;

use super::Loop;
use crate::tuning::GAPS_DISTANCE;
use crate::vector::{Four, Real, Vector, prefetch_l2};

/// Entries that are summed at a time.
const EIGHT: usize = 8;

/// The running sums of the numbers in a word, each increased by one, and how many bits of them each has.
#[inline(always)]
fn sums<const BITS: usize>(word: u32) -> (u64, usize) {
    let mut lanes = u64::from(u32::from_le(word));
    lanes = (lanes | lanes << 16) & 0x0000_FFFF_0000_FFFF;
    lanes = (lanes | lanes << 8) & 0x00FF_00FF_00FF_00FF;
    let mut each: u64 = 0x0001_0001_0001_0001;
    if BITS == 4 {
        lanes = (lanes | lanes << 4) & 0x0F0F_0F0F_0F0F_0F0F;
        each = 0x0101_0101_0101_0101;
    }
    // The product adds to each number all those below. No sum is longer than a lane: eight of 16, four of 256.
    ((lanes + each).wrapping_mul(each), 2 * BITS)
}

/// The sum of `n` products. The first number is that of position `at`.
///
/// SAFETY: `a` is valid for `n` reads, `numbers` for those of positions `at..at + n`, each of `BITS` bits and those of
/// less than 8 side by side in a byte, `x` at each coordinate. The first coordinate is the first number.
#[inline(always)]
unsafe fn sum<V: Vector, const BITS: usize>(
    a: *const V::Lane,
    numbers: *const u8,
    x: *const V::Lane,
    at: usize,
    n: usize,
) -> V::Lane {
    const { assert!(BITS == 4 || BITS == 8) };
    // Each entry is behind the one before by its number and one more.
    let (mut x, mut p) = (x.wrapping_sub(1), 0);
    let mut single = V::Lane::ZERO;
    // SAFETY: as said above.
    unsafe {
        let mut next = |x: &mut *const V::Lane, p: usize| {
            let byte = *numbers.add((at + p) * BITS / 8);
            let number = byte >> ((at + p) * BITS % 8) & (u8::MAX >> (8 - BITS));
            *x = x.wrapping_add(usize::from(number) + 1);
            single = single + *a.add(p) * **x;
        };
        // Words begin with a byte.
        if BITS == 4 && at % 2 == 1 && n > 0 {
            next(&mut x, 0);
            p = 1;
        }
        let mut fours = [V::Four::zero(); 2];
        while p + EIGHT <= n {
            prefetch_l2(a.wrapping_add(p).wrapping_byte_add(GAPS_DISTANCE));
            let words = numbers.add((at + p) * BITS / 8).cast::<u32>();
            let mut word = (0, 0);
            for (half, four) in fours.iter_mut().enumerate() {
                let from = if BITS == 4 { 4 * half } else { 0 };
                if from == 0 {
                    x = x.wrapping_add(if half == 1 { last(word) } else { 0 });
                    word = sums::<BITS>(words.add(half).read_unaligned());
                }
                let (all, bits) = word;
                let place = |k: usize| (all >> (bits * (from + k)) & ((1 << bits) - 1)) as i64;
                let places: [i64; 4] = std::array::from_fn(place);
                *four = four.plus_products(a.add(p + 4 * half), places.as_ptr(), x);
            }
            x = x.wrapping_add(last(word));
            p += EIGHT;
        }
        for p in p..n {
            next(&mut x, p);
        }
        single + fours[0].add(fours[1]).total()
    }
}

/// The last of the sums in a word.
#[inline(always)]
fn last((sums, bits): (u64, usize)) -> usize {
    (sums >> (64 - bits)) as usize
}

/// Kernels for an instruction set. SAFETY of all: as of [`sum`], and the machine has the instructions.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn address(wanted: Loop, dtype: Dtype) -> Option<usize> {
                Some(match (wanted, dtype) {
                    (Loop::GapDots(4), Dtype::F32) => row::<$single, 4> as *const () as usize,
                    (Loop::GapDots(8), Dtype::F32) => row::<$single, 8> as *const () as usize,
                    (Loop::GapDots(4), Dtype::F64) => row::<$double, 4> as *const () as usize,
                    (Loop::GapDots(8), Dtype::F64) => row::<$double, 8> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn row<V: Vector, const BITS: usize>(
                a: *const V::Lane,
                numbers: *const u8,
                x: *const V::Lane,
                at: usize,
                n: usize,
            ) -> V::Lane {
                // SAFETY: as said above.
                unsafe { sum::<V, BITS>(a, numbers, x, at, n) }
            }
        }
    };
}
kernels!(portable, [f32; 4], [f64; 2]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, std::arch::x86_64::__m256, std::arch::x86_64::__m256d, "avx2,fma");
