//! Several indices at a time, and eight numbers at eight places by one instruction.

use std::arch::x86_64::*;

use super::{Four, Index, Real, follow};

/// Indices that are loaded several at a time.
pub trait Several: Sized {
    /// Two neighbours.
    ///
    /// # Safety
    /// `from` is valid for reads of them.
    unsafe fn two(from: *const Self) -> [isize; 2];

    /// Whether four neighbours are numbers that follow each other.
    ///
    /// # Safety
    /// `from` is valid for reads of them.
    unsafe fn follow(from: *const Self) -> bool;

    /// Eight neighbours. A bit of `first` is set for each that is read, from the lowest on; the others
    /// are zero.
    ///
    /// # Safety
    /// The machine has AVX-512 with its extensions BW, DQ and VL; `from` is valid for those reads.
    unsafe fn eight(from: *const Self, first: u8) -> __m512i;
}

macro_rules! several {
    ($($ty:ty: $load:ident, $wide:expr, $two:expr, $follow:expr;)*) => {
        $(impl Several for $ty {
            #[inline(always)]
            unsafe fn two(from: *const Self) -> [isize; 2] {
                // SAFETY: as the trait says.
                unsafe { ($two)(from) }
            }

            #[inline(always)]
            unsafe fn follow(from: *const Self) -> bool {
                // SAFETY: as the trait says.
                unsafe { ($follow)(from) }
            }

            #[inline(always)]
            unsafe fn eight(from: *const Self, first: u8) -> __m512i {
                // SAFETY: as the trait says.
                unsafe { $wide($load(first.into(), from.cast())) }
            }
        })*
    };
}

/// One after the other.
#[inline(always)]
unsafe fn each<I: Index>(from: *const I) -> [isize; 2] {
    // SAFETY: as of `two`.
    unsafe { [(*from).get(), (*from.add(1)).get()] }
}

/// Two numbers of 32 bits by one load: how many there are is what bounds products with sparse rows.
macro_rules! halves {
    ($wide:ty, $narrow:ty) => {
        |from: *const $narrow| {
            let both = from.cast::<$wide>().read_unaligned();
            [both as $narrow as isize, (both >> 32) as isize]
        }
    };
}

/// Four numbers of 32 bits compared at once; none of the sums goes round.
macro_rules! four {
    ($ty:ty) => {
        |from: *const $ty| {
            let four = _mm_loadu_si128(from.cast());
            let first = _mm_shuffle_epi32::<0>(four);
            let steps = _mm_cmpeq_epi32(_mm_sub_epi32(four, first), _mm_setr_epi32(0, 1, 2, 3));
            _mm_movemask_epi8(steps) == 0xffff && *from <= <$ty>::MAX - 3
        }
    };
}

several!(
    u8: _mm_maskz_loadu_epi8, |eight| _mm512_cvtepu8_epi64(eight), each, follow;
    u16: _mm_maskz_loadu_epi16, |eight| _mm512_cvtepu16_epi64(eight), each, follow;
    u32: _mm256_maskz_loadu_epi32, |eight| _mm512_cvtepu32_epi64(eight), halves!(u64, u32), four!(u32);
    i32: _mm256_maskz_loadu_epi32, |eight| _mm512_cvtepi32_epi64(eight), halves!(i64, i32), four!(i32);
    i64: _mm512_maskz_loadu_epi64, |eight| eight, each, follow;
);

/// Numbers that are gathered by eights.
///
/// # Safety
/// As of [`Several::eight`]; `a` is valid for a read of each number that `first` has a bit for, `x` at the
/// index of each.
pub(crate) trait Gather: Real {
    /// Eight of them.
    type Sums: Copy;
    unsafe fn zeros() -> Self::Sums;
    /// `sums[k] + a[k] * x[crd[k]]`, for those of the eight that `first` says.
    unsafe fn plus_products<I: Several>(
        sums: Self::Sums,
        a: *const Self,
        crd: *const I,
        x: *const Self,
        first: u8,
    ) -> Self::Sums;
    unsafe fn total(sums: Self::Sums) -> Self;
}

impl Gather for f64 {
    type Sums = __m512d;
    #[inline(always)]
    unsafe fn zeros() -> __m512d {
        // SAFETY: as the trait says.
        unsafe { _mm512_setzero_pd() }
    }
    #[inline(always)]
    unsafe fn plus_products<I: Several>(
        sums: __m512d,
        a: *const Self,
        crd: *const I,
        x: *const Self,
        first: u8,
    ) -> __m512d {
        // SAFETY: as the trait says.
        unsafe {
            let at = I::eight(crd, first);
            let x = _mm512_mask_i64gather_pd::<8>(_mm512_setzero_pd(), first, at, x);
            _mm512_fmadd_pd(_mm512_maskz_loadu_pd(first, a), x, sums)
        }
    }
    #[inline(always)]
    unsafe fn total(sums: __m512d) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let high = _mm512_extractf64x4_pd::<1>(sums);
            _mm256_add_pd(_mm512_castpd512_pd256(sums), high).total()
        }
    }
}

impl Gather for f32 {
    type Sums = __m256;
    #[inline(always)]
    unsafe fn zeros() -> __m256 {
        // SAFETY: as the trait says.
        unsafe { _mm256_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn plus_products<I: Several>(
        sums: __m256,
        a: *const Self,
        crd: *const I,
        x: *const Self,
        first: u8,
    ) -> __m256 {
        // SAFETY: as the trait says.
        unsafe {
            let at = I::eight(crd, first);
            let x = _mm512_mask_i64gather_ps::<4>(_mm256_setzero_ps(), first, at, x);
            _mm256_fmadd_ps(_mm256_maskz_loadu_ps(first, a), x, sums)
        }
    }
    #[inline(always)]
    unsafe fn total(sums: __m256) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let high = _mm256_extractf128_ps::<1>(sums);
            _mm_add_ps(_mm256_castps256_ps128(sums), high).total()
        }
    }
}
