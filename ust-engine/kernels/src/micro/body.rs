//! Loops over contiguous vectors, written once over [`Vector`] and compiled for each instruction set; and the
//! kernels made of [`super::tiles`].

use super::tiles::{added, products, row, times_row};
use crate::vector::{Four, Real, Vector, prefetch_ahead};

/// `a`, `b` valid for `n` reads.
#[inline(always)]
unsafe fn dot<V: Vector>(a: *const V::Lane, b: *const V::Lane, n: usize) -> V::Lane {
    // SAFETY: every index is below `n`.
    unsafe {
        let (mut sum, mut p) = (V::splat(V::Lane::ZERO), 0);
        if 4 * V::N <= n {
            let mut sums = [sum; 4];
            while p + 4 * V::N <= n {
                for (k, sum) in sums.iter_mut().enumerate() {
                    let q = p + k * V::N;
                    *sum = sum.plus::<true>(V::load(a.add(q)), V::load(b.add(q)));
                }
                p += 4 * V::N;
            }
            sum = sums[0].add(sums[1]).add(sums[2].add(sums[3]));
        }
        while p + V::N <= n {
            sum = sum.plus::<true>(V::load(a.add(p)), V::load(b.add(p)));
            p += V::N;
        }
        if p < n {
            sum = sum.plus::<true>(V::first(a.add(p), n - p), V::first(b.add(p), n - p));
        }
        sum.four().total()
    }
}

/// `x` valid for `n` reads.
#[inline(always)]
unsafe fn total<V: Vector>(x: *const V::Lane, n: usize) -> V::Lane {
    // SAFETY: every index is below `n`.
    unsafe {
        let (mut sums, mut p) = ([V::splat(V::Lane::ZERO); 4], 0);
        while p + 4 * V::N <= n {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.add(V::load(x.add(p + k * V::N)));
            }
            p += 4 * V::N;
        }
        // Without a branch on the number of the last ones.
        for (k, sum) in sums.iter_mut().enumerate() {
            let at = k * V::N;
            *sum = sum.add(V::below(x.wrapping_add(p + at), at, n - p));
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3])).four().total()
    }
}

/// `y` valid for `n` writes.
#[inline(always)]
unsafe fn fill<V: Vector>(y: *mut V::Lane, n: usize, s: V::Lane) {
    // SAFETY: every index is below `n`.
    unsafe {
        let all = V::splat(s);
        let mut p = 0;
        while p + V::N <= n {
            all.store(y.add(p));
            p += V::N;
        }
        while p < n {
            *y.add(p) = s;
            p += 1;
        }
    }
}

/// `y` valid for `n` reads and writes, `x` for `n` reads; they do not overlap.
#[inline(always)]
unsafe fn axpy<V: Vector, const FUSED: bool>(
    y: *mut V::Lane,
    x: *const V::Lane,
    n: usize,
    s: V::Lane,
) {
    // SAFETY: every index is below `n`.
    unsafe {
        let factor = V::splat(s);
        let mut p = 0;
        while p + V::N <= n {
            V::load(y.add(p)).plus::<FUSED>(factor, V::load(x.add(p))).store(y.add(p));
            p += V::N;
        }
        while p < n {
            *y.add(p) = *y.add(p) + s * *x.add(p);
            p += 1;
        }
    }
}

/// `y` valid for `n` reads and writes, `a`, `x` for `n` reads; neither overlaps `y`.
#[inline(always)]
unsafe fn multiply_add<V: Vector, const FUSED: bool>(
    y: *mut V::Lane,
    a: *const V::Lane,
    x: *const V::Lane,
    n: usize,
) {
    // SAFETY: every index is below `n`.
    unsafe {
        let mut p = 0;
        while p + V::N <= n {
            let sum = V::load(y.add(p));
            prefetch_ahead(a.wrapping_add(p));
            sum.plus::<FUSED>(V::load(a.add(p)), V::load(x.add(p))).store(y.add(p));
            p += V::N;
        }
        while p < n {
            *y.add(p) = *y.add(p) + *a.add(p) * *x.add(p);
            p += 1;
        }
    }
}

/// As [`multiply_add`], each product times `s`.
#[inline(always)]
unsafe fn scaled_multiply_add<V: Vector>(
    y: *mut V::Lane,
    a: *const V::Lane,
    x: *const V::Lane,
    n: usize,
    s: V::Lane,
) {
    // SAFETY: every index is below `n`.
    unsafe {
        let factor = V::splat(s);
        let mut p = 0;
        while p + V::N <= n {
            let a = factor.times(V::load(a.add(p)));
            V::load(y.add(p)).plus::<true>(a, V::load(x.add(p))).store(y.add(p));
            p += V::N;
        }
        while p < n {
            *y.add(p) = *y.add(p) + s * *a.add(p) * *x.add(p);
            p += 1;
        }
    }
}

macro_rules! kernels {
    ($ty:ident, $vector:ty $(, $features:literal)?) => {
        /// SAFETY of all: as said of the function that is called, and the machine has the instructions
        /// that this module is compiled for.
        pub(crate) mod $ty {
            use super::super::*;
            type T = $ty;
            type V = $vector;

            kernels!(@row row_u32_exact, u32, false $(, $features)?);
            kernels!(@row row_i32_exact, i32, false $(, $features)?);
            kernels!(@row row_i64_exact, i64, false $(, $features)?);
            kernels!(@row row_u32_fused, u32, true $(, $features)?);
            kernels!(@row row_i32_fused, i32, true $(, $features)?);
            kernels!(@row row_i64_fused, i64, true $(, $features)?);
            kernels!(@added added_u32_exact, u32, false $(, $features)?);
            kernels!(@added added_i32_exact, i32, false $(, $features)?);
            kernels!(@added added_i64_exact, i64, false $(, $features)?);
            kernels!(@added added_u32_fused, u32, true $(, $features)?);
            kernels!(@added added_i32_fused, i32, true $(, $features)?);
            kernels!(@added added_i64_fused, i64, true $(, $features)?);
            kernels!(@products products_u32_exact, u32, false $(, $features)?);
            kernels!(@products products_i32_exact, i32, false $(, $features)?);
            kernels!(@products products_i64_exact, i64, false $(, $features)?);
            kernels!(@products products_u32_fused, u32, true $(, $features)?);
            kernels!(@products products_i32_fused, i32, true $(, $features)?);
            kernels!(@products products_i64_fused, i64, true $(, $features)?);
            kernels!(@times times_row_u32, u32 $(, $features)?);
            kernels!(@times times_row_i32, i32 $(, $features)?);
            kernels!(@times times_row_i64, i64 $(, $features)?);

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe extern "C" fn scaled_multiply_add(
                y: *mut T,
                a: *const T,
                x: *const T,
                n: usize,
                s: T,
            ) {
                unsafe { super::super::scaled_multiply_add::<V>(y, a, x, n, s) }
            }

            kernels!(@two axpy_exact, multiply_add_exact, false $(, $features)?);
            kernels!(@two axpy_fused, multiply_add_fused, true $(, $features)?);

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe extern "C" fn fill(y: *mut T, n: usize, s: T) {
                unsafe { super::super::fill::<V>(y, n, s) }
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe extern "C" fn total(x: *const T, n: usize) -> T {
                unsafe { super::super::total::<V>(x, n) }
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe extern "C" fn dot(
                a: *const T,
                b: *const T,
                n: usize,
            ) -> T {
                unsafe { super::super::dot::<V>(a, b, n) }
            }
        }
    };
    (@times $name:ident, $index:ty $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        pub(crate) unsafe extern "C" fn $name(
            c: *mut T,
            a: *const T,
            crd: *const $index,
            b: *const T,
            count: usize,
            width: usize,
            stride: isize,
            m: *const T,
        ) {
            unsafe { times_row::<V, $index>(c, a, crd, b, count, width, stride, m) }
        }
    };
    (@products $name:ident, $index:ty, $fused:literal $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        pub(crate) unsafe extern "C" fn $name(
            pos: *const $index,
            crd: *const $index,
            a: *const T,
            b: *const T,
            c: *mut T,
            lo: isize,
            hi: isize,
            width: usize,
            stride: isize,
            pitch: isize,
            clear: usize,
            total: usize,
            reach: usize,
        ) {
            unsafe {
                products::<V, $index, $fused>(
                    pos, crd, a, b, c, lo, hi, width, stride, pitch, clear, total, reach,
                )
            }
        }
    };
    (@added $name:ident, $index:ty, $fused:literal $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        pub(crate) unsafe extern "C" fn $name(
            c: *mut T,
            rows: *const $index,
            a: *const T,
            crd: *const $index,
            b: *const T,
            count: usize,
            width: usize,
            stride: isize,
            pitch: isize,
            total: usize,
            reach: usize,
        ) {
            unsafe {
                added::<V, $index, $fused>(
                    c, rows, a, crd, b, count, width, stride, pitch, total, reach,
                )
            }
        }
    };
    (@row $name:ident, $index:ty, $fused:literal $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        pub(crate) unsafe extern "C" fn $name(
            c: *mut T,
            a: *const T,
            crd: *const $index,
            b: *const T,
            count: usize,
            width: usize,
            stride: isize,
        ) {
            unsafe { row::<V, $index, $fused>(c, a, crd, b, count, width, stride) }
        }
    };
    (@two $axpy:ident, $multiply_add:ident, $fused:literal $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        pub(crate) unsafe extern "C" fn $axpy(
            y: *mut T,
            x: *const T,
            n: usize,
            s: T,
        ) {
            unsafe { axpy::<V, $fused>(y, x, n, s) }
        }

        $(#[target_feature(enable = $features)])?
        pub(crate) unsafe extern "C" fn $multiply_add(
            y: *mut T,
            a: *const T,
            x: *const T,
            n: usize,
        ) {
            unsafe { multiply_add::<V, $fused>(y, a, x, n) }
        }
    };
}

pub(super) mod portable {
    kernels!(f32, [f32; 4]);
    kernels!(f64, [f64; 2]);
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    kernels!(f32, std::arch::x86_64::__m256, "avx2,fma");
    kernels!(f64, std::arch::x86_64::__m256d, "avx2,fma");
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    kernels!(f32, std::arch::x86_64::__m512, "avx512f,avx2,fma");
    kernels!(f64, std::arch::x86_64::__m512d, "avx512f,avx2,fma");
}
