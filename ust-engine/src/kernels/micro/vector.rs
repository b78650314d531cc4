//! Vectors of each instruction set behind one trait.
//!
//! Methods are always inlined into functions that enable the instruction set, so that no vector is
//! ever passed in memory.

/// A vector of `N` numbers.
///
/// # Safety
/// Every method is called only where the machine has the instructions of the vector, and pointers
/// are valid for `N` elements.
pub(super) trait Vector: Copy {
    /// What it holds.
    type Lane: Real;
    /// As many.
    const N: usize;
    unsafe fn splat(value: Self::Lane) -> Self;
    unsafe fn load(from: *const Self::Lane) -> Self;
    unsafe fn store(self, to: *mut Self::Lane);
    /// `a * b + self`, rounded once where `FUSED` and the machine can.
    unsafe fn plus<const FUSED: bool>(self, a: Self, b: Self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn times(self, other: Self) -> Self;
    /// The numbers of `from` at the `N` indices from `crd` on, by an instruction for it where the
    /// machine has one.
    unsafe fn gather<I: Index>(from: *const Self::Lane, crd: *const I) -> Self;
}

/// An index as arrays hold it.
///
/// # Safety
/// As of [`Vector`].
pub(super) trait Index: Copy {
    fn get(self) -> isize;
    /// Four indices, widened.
    #[cfg(target_arch = "x86_64")]
    unsafe fn four(crd: *const Self) -> std::arch::x86_64::__m256i;
    /// Eight indices, widened.
    #[cfg(target_arch = "x86_64")]
    unsafe fn eight(crd: *const Self) -> std::arch::x86_64::__m512i;
}

macro_rules! index {
    ($ty:ty, $four:expr, $eight:expr) => {
        impl Index for $ty {
            #[inline(always)]
            fn get(self) -> isize {
                self as isize
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn four(crd: *const Self) -> std::arch::x86_64::__m256i {
                use std::arch::x86_64::*;
                // SAFETY: as the trait says.
                unsafe { $four(crd.cast()) }
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn eight(crd: *const Self) -> std::arch::x86_64::__m512i {
                use std::arch::x86_64::*;
                // SAFETY: as the trait says.
                unsafe { $eight(crd.cast()) }
            }
        }
    };
}
index!(u32, |crd| _mm256_cvtepu32_epi64(_mm_loadu_si128(crd)), |crd| _mm512_cvtepu32_epi64(
    _mm256_loadu_si256(crd)
));
index!(i32, |crd| _mm256_cvtepi32_epi64(_mm_loadu_si128(crd)), |crd| _mm512_cvtepi32_epi64(
    _mm256_loadu_si256(crd)
));
index!(i64, |crd| _mm256_loadu_si256(crd), |crd| _mm512_loadu_si512(crd));

/// A number that vectors hold.
pub(super) trait Real:
    Copy + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    const ZERO: Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
}

impl Real for f64 {
    const ZERO: Self = 0.0;
}

macro_rules! array {
    ($ty:ty, $n:literal) => {
        impl Vector for [$ty; $n] {
            type Lane = $ty;
            const N: usize = $n;
            #[inline(always)]
            unsafe fn splat(value: $ty) -> Self {
                [value; $n]
            }
            #[inline(always)]
            unsafe fn load(from: *const $ty) -> Self {
                // SAFETY: as the trait says.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $ty) {
                // SAFETY: as the trait says.
                unsafe { to.cast::<Self>().write_unaligned(self) }
            }
            #[inline(always)]
            unsafe fn plus<const FUSED: bool>(mut self, a: Self, b: Self) -> Self {
                for at in 0..$n {
                    self[at] += a[at] * b[at];
                }
                self
            }
            #[inline(always)]
            unsafe fn add(mut self, other: Self) -> Self {
                for at in 0..$n {
                    self[at] += other[at];
                }
                self
            }
            #[inline(always)]
            unsafe fn times(mut self, other: Self) -> Self {
                for at in 0..$n {
                    self[at] *= other[at];
                }
                self
            }
            #[inline(always)]
            unsafe fn gather<I: Index>(from: *const $ty, crd: *const I) -> Self {
                // SAFETY: as the trait says.
                std::array::from_fn(|at| unsafe { *from.offset((*crd.add(at)).get()) })
            }
        }
    };
}
array!(f32, 4);
array!(f64, 2);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Index, Vector};

    macro_rules! vector {
        ($vector:ty, $ty:ty, $n:literal, $splat:ident, $load:ident, $store:ident, $fused:ident, $mul:ident, $add:ident, $gather:expr) => {
            // SAFETY in all methods: as the trait says.
            impl Vector for $vector {
                type Lane = $ty;
                const N: usize = $n;
                #[inline(always)]
                unsafe fn splat(value: $ty) -> Self {
                    unsafe { $splat(value) }
                }
                #[inline(always)]
                unsafe fn load(from: *const $ty) -> Self {
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $ty) {
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn plus<const FUSED: bool>(self, a: Self, b: Self) -> Self {
                    unsafe { if FUSED { $fused(a, b, self) } else { $add(self, $mul(a, b)) } }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn times(self, other: Self) -> Self {
                    unsafe { $mul(self, other) }
                }
                #[inline(always)]
                unsafe fn gather<I: Index>(from: *const $ty, crd: *const I) -> Self {
                    unsafe { $gather(from, crd) }
                }
            }
        };
    }
    vector!(
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_mul_pd,
        _mm256_add_pd,
        |from, crd| _mm256_i64gather_pd::<8>(from, I::four(crd))
    );
    vector!(
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        _mm256_mul_ps,
        _mm256_add_ps,
        |from, crd: *const I| _mm256_set_m128(
            _mm256_i64gather_ps::<4>(from, I::four(crd.add(4))),
            _mm256_i64gather_ps::<4>(from, I::four(crd))
        )
    );
    vector!(
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_mul_pd,
        _mm512_add_pd,
        |from, crd| _mm512_i64gather_pd::<8>(I::eight(crd), from)
    );
    vector!(
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_mul_ps,
        _mm512_add_ps,
        |from, crd: *const I| {
            let low = _mm512_i64gather_ps::<4>(I::eight(crd), from);
            let high = _mm512_i64gather_ps::<4>(I::eight(crd.add(8)), from);
            let low = _mm512_castps_pd(_mm512_castps256_ps512(low));
            _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(high)))
        }
    );
}

/// Asks for memory ahead of its use. Any address will do.
#[inline(always)]
pub(super) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
