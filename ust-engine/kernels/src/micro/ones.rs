//! Words whose ones are entries, times a vector: entry by entry, or as vectors that are spread to the places of
//! the ones.

use ust_ir::{Dtype, IndexKind};

use super::Loop;
use crate::tuning::ONES_DISTANCE;
use crate::vector::{Index, LINE, Real, prefetch};

/// Coordinates of a word.
const WORD: isize = u32::BITS as isize;

/// A method to sum the products of words.
trait Summed {
    /// The type of the sum.
    type Lane: Real;
    /// The sum of the words before.
    type Sums: Copy;

    unsafe fn zero() -> Self::Sums;
    /// `sums` and the sum of `a[k] * x[place of the k-th one]`. `a` is valid for a read of each one, and with `ROOMY`
    /// for [`WORD`] reads; nothing else is read.
    unsafe fn plus<const ROOMY: bool>(
        sums: Self::Sums,
        ones: u32,
        a: *const Self::Lane,
        x: *const Self::Lane,
    ) -> Self::Sums;
    unsafe fn total(sums: Self::Sums) -> Self::Lane;
}

/// One entry after another, in four sums.
struct OneByOne<T>(T);

/// Vectors of values, spread to the places of the ones.
#[cfg(target_arch = "x86_64")]
struct Spread<T>(T);

impl<T: Real> Summed for OneByOne<T> {
    type Lane = T;
    type Sums = [T; 4];

    #[inline(always)]
    unsafe fn zero() -> [T; 4] {
        [T::ZERO; 4]
    }
    #[inline(always)]
    unsafe fn plus<const ROOMY: bool>(
        mut sums: [T; 4],
        mut ones: u32,
        a: *const T,
        x: *const T,
    ) -> [T; 4] {
        let (mut p, n) = (0, ones.count_ones() as usize);
        // SAFETY: each one is at a place of its own, and has a value.
        unsafe {
            let mut product = |p: usize| {
                let place = ones.trailing_zeros() as usize;
                ones &= ones.wrapping_sub(1);
                *a.add(p) * *x.add(place)
            };
            while p + 4 <= n {
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum = *sum + product(p + k);
                }
                p += 4;
            }
            while p < n {
                sums[0] = sums[0] + product(p);
                p += 1;
            }
            sums
        }
    }
    #[inline(always)]
    unsafe fn total([a, b, c, d]: [T; 4]) -> T {
        (a + b) + (c + d)
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! spread {
    ($ty:ident, $vector:ident, $mask:ty, $word:ty, $parts:literal, $whole:ident, $mov:literal, $zero:ident, $words:ident, $test:ident, $spread:ident, $load:ident, $plus:ident, $add:ident, $total:ident) => {
        /// A whole vector, by an instruction of its own: of an operand in memory, spreading takes twice the time.
        #[target_feature(enable = "avx512f")]
        #[inline]
        unsafe fn $whole(from: *const $ty) -> std::arch::x86_64::$vector {
            let to;
            // SAFETY: it reads a vector.
            unsafe {
                std::arch::asm!(
                    $mov,
                    to = lateout(zmm_reg) to,
                    from = in(reg) from,
                    options(pure, readonly, nostack, preserves_flags)
                );
            }
            to
        }

        impl Summed for Spread<$ty> {
            type Lane = $ty;
            type Sums = [std::arch::x86_64::$vector; $parts];

            #[inline(always)]
            unsafe fn zero() -> Self::Sums {
                // SAFETY: as said of the kernels.
                unsafe { [std::arch::x86_64::$zero(); $parts] }
            }
            #[inline(always)]
            unsafe fn plus<const ROOMY: bool>(
                mut sums: Self::Sums,
                ones: u32,
                a: *const $ty,
                x: *const $ty,
            ) -> Self::Sums {
                use std::arch::x86_64::{$load, $plus, $spread, $test, $words, _mm512_set1_epi32};
                const N: usize = WORD as usize / $parts;
                // SAFETY: what masks leave out is not read.
                unsafe {
                    let word = _mm512_set1_epi32(ones.cast_signed());
                    for (part, sum) in sums.iter_mut().enumerate() {
                        let places: [$word; N] = std::array::from_fn(|k| 1 << (part * N + k));
                        let before = ones & ((1 << (part * N)) - 1);
                        let a = a.wrapping_add(before.count_ones() as usize);
                        let (mask, values) = if ROOMY {
                            // A vector tests the bits: masks come from other registers one at a time.
                            ($test(word, $words(places.as_ptr())), $whole(a))
                        } else {
                            let mask = (ones >> (part * N)) as $mask;
                            (mask, $load(((1_u32 << mask.count_ones()) - 1) as $mask, a))
                        };
                        let x = $load(mask, x.wrapping_add(part * N));
                        // What stands beside ones does not count: not even a product of zero and infinity.
                        *sum = $plus($spread(mask, values), x, *sum, mask);
                    }
                    sums
                }
            }
            #[inline(always)]
            unsafe fn total(sums: Self::Sums) -> $ty {
                use std::arch::x86_64::{$add, $total};
                // SAFETY: as said of the kernels.
                unsafe {
                    let [first, others @ ..] = sums;
                    $total(others.into_iter().fold(first, |a, b| $add(a, b)))
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
spread!(
    f64,
    __m512d,
    u8,
    i64,
    4,
    whole_f64,
    "vmovupd {to}, [{from}]",
    _mm512_setzero_pd,
    _mm512_loadu_epi64,
    _mm512_test_epi64_mask,
    _mm512_maskz_expand_pd,
    _mm512_maskz_loadu_pd,
    _mm512_mask3_fmadd_pd,
    _mm512_add_pd,
    _mm512_reduce_add_pd
);
#[cfg(target_arch = "x86_64")]
spread!(
    f32,
    __m512,
    u16,
    i32,
    2,
    whole_f32,
    "vmovups {to}, [{from}]",
    _mm512_setzero_ps,
    _mm512_loadu_epi32,
    _mm512_test_epi32_mask,
    _mm512_maskz_expand_ps,
    _mm512_maskz_loadu_ps,
    _mm512_mask3_fmadd_ps,
    _mm512_add_ps,
    _mm512_reduce_add_ps
);

/// The sum of words `lo..hi`.
///
/// SAFETY: `bits` and `ofs` are valid for reads at `lo..hi`; `a` for `room` reads, and from `ofs[w]` on for as many as
/// `bits[w]` has ones, for each word `w`; `x` at the places of these ones, from `32 * w` on.
#[inline(always)]
unsafe fn sum<S: Summed, P: Index>(
    bits: *const u32,
    ofs: *const P,
    a: *const S::Lane,
    x: *const S::Lane,
    lo: isize,
    hi: isize,
    room: isize,
) -> S::Lane {
    // SAFETY: as said above.
    unsafe {
        let mut sums = S::zero();
        let last = room.saturating_sub(WORD);
        for w in lo..hi {
            let begin = (*ofs.offset(w)).get();
            let (a, x) = (a.wrapping_offset(begin), x.wrapping_offset(w.wrapping_mul(WORD)));
            for line in 0..2 {
                prefetch(a.wrapping_byte_add(ONES_DISTANCE + line * LINE));
            }
            sums = match begin <= last {
                true => S::plus::<true>(sums, *bits.offset(w), a, x),
                false => S::plus::<false>(sums, *bits.offset(w), a, x),
            };
        }
        S::total(sums)
    }
}

/// Kernels for an instruction set. SAFETY of all: as of [`sum`], and the machine has the instructions.
macro_rules! kernels {
    ($name:ident, $method:ident $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn address(wanted: Loop, dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => of::<$method<f32>>(wanted),
                    Dtype::F64 => of::<$method<f64>>(wanted),
                    _ => None,
                }
            }

            fn of<S: Summed>(wanted: Loop) -> Option<usize> {
                use IndexKind::{I32, I64, U8, U16, U32, U64};
                let Loop::OneDots(kind) = wanted else { return None };
                Some(match kind {
                    U8 => all::<S, u8> as *const () as usize,
                    U16 => all::<S, u16> as *const () as usize,
                    U32 => all::<S, u32> as *const () as usize,
                    I32 => all::<S, i32> as *const () as usize,
                    U64 | I64 => all::<S, i64> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn all<S: Summed, P: Index>(
                bits: *const u32,
                ofs: *const P,
                a: *const S::Lane,
                x: *const S::Lane,
                lo: isize,
                hi: isize,
                room: isize,
            ) -> S::Lane {
                // SAFETY: as said above.
                unsafe { sum::<S, P>(bits, ofs, a, x, lo, hi, room) }
            }
        }
    };
}
kernels!(portable, OneByOne);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, OneByOne, "avx2,fma,bmi1,popcnt");
#[cfg(target_arch = "x86_64")]
kernels!(avx512, Spread, "avx512f,avx2,fma,bmi1,popcnt");
