//! Loads of several indices at a time, and the gather instruction for eight numbers.

use std::arch::x86_64::*;

use super::{Four, Index, Real, follow};

/// Indices that are loaded several at a time.
pub trait Several: Sized {
    /// The indices `from[0..2]`.
    ///
    /// # Safety
    /// `from` is valid for two reads.
    unsafe fn two(from: *const Self) -> [isize; 2];

    /// Whether `from[0..4]` are four consecutive numbers, as 5, 6, 7, 8.
    ///
    /// # Safety
    /// `from` is valid for four reads.
    unsafe fn follow(from: *const Self) -> bool;

    /// The indices `from[k]` for each bit `k` of `mask`, whose set bits are the lowest; the other lanes are
    /// zero and not read.
    ///
    /// # Safety
    /// The machine has AVX-512 with its extensions BW, DQ and VL; `from` is valid for these reads.
    unsafe fn eight(from: *const Self, mask: u8) -> __m512i;
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
            unsafe fn eight(from: *const Self, mask: u8) -> __m512i {
                // SAFETY: as the trait says.
                unsafe { $wide($load(mask.into(), from.cast())) }
            }
        })*
    };
}

/// Two indices by two loads.
#[inline(always)]
unsafe fn each<I: Index>(from: *const I) -> [isize; 2] {
    // SAFETY: as of `two`.
    unsafe { [(*from).get(), (*from.add(1)).get()] }
}

/// Two indices of 32 bits by one load: the number of loads bounds products with sparse rows.
macro_rules! halves {
    ($wide:ty, $narrow:ty) => {
        |from: *const $narrow| {
            let both = from.cast::<$wide>().read_unaligned();
            [both as $narrow as isize, (both >> 32) as isize]
        }
    };
}

/// Four indices of 32 bits compared at once. The last test rejects numbers that wrap around.
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

/// Numbers that one instruction gathers by eights.
///
/// # Safety
/// As of [`Several::eight`]; for each bit `k` of `mask`, `a[k]` and `x[crd[k]]` are valid for reads.
pub(crate) trait Gather: Real {
    /// A vector of eight sums.
    type Sums: Copy;
    unsafe fn zeros() -> Self::Sums;
    /// `sums[k] + a[k] * x[crd[k]]`, for each bit `k` of `mask`.
    unsafe fn plus_products<I: Several>(
        sums: Self::Sums,
        a: *const Self,
        crd: *const I,
        x: *const Self,
        mask: u8,
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
        mask: u8,
    ) -> __m512d {
        // SAFETY: as the trait says.
        unsafe {
            let at = I::eight(crd, mask);
            let x = _mm512_mask_i64gather_pd::<8>(_mm512_setzero_pd(), mask, at, x);
            _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, a), x, sums)
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
        mask: u8,
    ) -> __m256 {
        // SAFETY: as the trait says.
        unsafe {
            let at = I::eight(crd, mask);
            let x = _mm512_mask_i64gather_ps::<4>(_mm256_setzero_ps(), mask, at, x);
            _mm256_fmadd_ps(_mm256_maskz_loadu_ps(mask, a), x, sums)
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
