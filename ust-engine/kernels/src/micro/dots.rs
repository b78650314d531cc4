//! SDDMM on a small block: dot products of rows of two dense matrices, for all elements of the block.

use ust_ir::Dtype;

use super::sampled::{MAX_LANES, totals};
use crate::tuning::{DOTS_FAR_BYTES, DOTS_LONG_ROW, DOTS_SHORT_ROW};
use crate::vector::{LINE, Real, Vector, prefetch_lines};

/// The arguments of [`dots`].
#[derive(Clone, Copy)]
struct Dots<T> {
    out: *mut T,
    m: *const T,
    a: *const T,
    b: *const T,
    /// The strides of `out` and `m`: from row to row, and from column to column.
    strides: [isize; 2],
    /// The strides from row to row: of `a`, and of `b`.
    rows: [isize; 2],
    width: usize,
}

impl<T: Real> Dots<T> {
    /// The part of the block from row `i` and column `j` on.
    #[inline(always)]
    fn at(self, i: usize, j: usize) -> Self {
        let [i, j] = [i, j].map(|at| at as isize);
        let place = i * self.strides[0] + j * self.strides[1];
        Self {
            out: self.out.wrapping_offset(place),
            m: self.m.wrapping_offset(place),
            a: self.a.wrapping_offset(i * self.rows[0]),
            b: self.b.wrapping_offset(j * self.rows[1]),
            ..self
        }
    }

    /// Computes the first `R` rows and `S` columns of the block.
    ///
    /// SAFETY: as of [`dots`], for these elements.
    #[inline(always)]
    unsafe fn some<V: Vector<Lane = T>, const R: usize, const S: usize>(self) {
        // SAFETY: as said above; `k` is below `width`.
        unsafe {
            let mut sums = [V::splat(T::ZERO); MAX_LANES];
            let mut k = 0;
            while k + V::N <= self.width {
                self.add::<V, R, S, false>(&mut sums, k, V::N);
                k += V::N;
            }
            if k < self.width {
                self.add::<V, R, S, true>(&mut sums, k, self.width - k);
            }
            let mut lanes = [T::ZERO; MAX_LANES];
            for first in (0..R * S).step_by(V::N) {
                let mut vectors = [V::splat(T::ZERO); MAX_LANES];
                vectors[..V::N].copy_from_slice(&sums[first..first + V::N]);
                totals(vectors).store(lanes[first..].as_mut_ptr());
            }
            for i in 0..R {
                for j in 0..S {
                    let place = i as isize * self.strides[0] + j as isize * self.strides[1];
                    *self.out.offset(place) = lanes[i * S + j] * *self.m.offset(place);
                }
            }
        }
    }

    /// Adds the products of the vectors at column `k` of the rows. Where `CUT`, they have `numbers` numbers.
    ///
    /// SAFETY: as of `some`, for columns from `k` on.
    #[inline(always)]
    unsafe fn add<V: Vector<Lane = T>, const R: usize, const S: usize, const CUT: bool>(
        self,
        sums: &mut [V; MAX_LANES],
        k: usize,
        numbers: usize,
    ) {
        // SAFETY: as said above.
        unsafe {
            let mut b = [V::splat(T::ZERO); S];
            for (j, b) in b.iter_mut().enumerate() {
                let row = self.b.offset(j as isize * self.rows[1]).add(k);
                *b = V::nth::<1, CUT>(row, 0, numbers);
            }
            for i in 0..R {
                let row = self.a.offset(i as isize * self.rows[0]).add(k);
                let a = V::nth::<1, CUT>(row, 0, numbers);
                for (sum, &b) in sums[i * S..(i + 1) * S].iter_mut().zip(&b) {
                    *sum = sum.plus::<true>(a, b);
                }
            }
        }
    }
}

/// `out[p] = m[p] * sum of a[i * rows[0] + k] * b[j * rows[1] + k]` for `k` below `width`, at `p = i *
/// strides[0] + j * strides[1]`, for `i` and `j` below `counts`.
///
/// `b` lies in an array of `reach` numbers. `next` is null, or the rows of `b` of the next block, which
/// may be prefetched.
///
/// SAFETY: `out` is valid for these writes; `m`, `a` and `b` for these reads. Nothing overlaps `out`.
#[inline(always)]
unsafe fn dots<V: Vector>(
    of: Dots<V::Lane>,
    counts: [usize; 2],
    next: *const V::Lane,
    reach: usize,
) {
    // Machines with wide vectors have twice as many registers.
    let most = if size_of::<V>() >= LINE { 4 } else { 2 };
    let size = size_of::<V::Lane>();
    let bytes = of.width.saturating_mul(size);
    let prefetch_rows = |b: *const V::Lane| {
        (0..counts[1] as isize)
            .for_each(|j| prefetch_lines(b.wrapping_offset(j * of.rows[1]), bytes));
    };
    if !next.is_null() && bytes <= DOTS_LONG_ROW && reach.saturating_mul(size) > DOTS_FAR_BYTES {
        prefetch_rows(next);
    } else if bytes > DOTS_SHORT_ROW {
        prefetch_rows(of.b);
    }
    let mut i = 0;
    while i < counts[0] {
        let rest = counts[0] - i;
        let rows = if rest >= 4 { 4 } else { rest.min(2) };
        let mut j = 0;
        while j < counts[1] {
            let rest = counts[1] - j;
            let columns = if most >= 4 && rest >= 4 { 4 } else { rest.min(2) };
            let of = of.at(i, j);
            // SAFETY: as said above; the block has these rows and columns.
            unsafe {
                match (rows, columns) {
                    (4, 4) => of.some::<V, 4, 4>(),
                    (4, 2) => of.some::<V, 4, 2>(),
                    (4, _) => of.some::<V, 4, 1>(),
                    (2, 4) => of.some::<V, 2, 4>(),
                    (2, 2) => of.some::<V, 2, 2>(),
                    (2, _) => of.some::<V, 2, 1>(),
                    (_, 4) => of.some::<V, 1, 4>(),
                    (_, 2) => of.some::<V, 1, 2>(),
                    _ => of.some::<V, 1, 1>(),
                }
            }
            j += columns;
        }
        i += rows;
    }
}

/// Kernels for an instruction set. SAFETY of all: as of [`dots`], and the machine has the instructions.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn address(dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => Some(all::<$single> as *const () as usize),
                    Dtype::F64 => Some(all::<$double> as *const () as usize),
                    _ => None,
                }
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn all<V: Vector>(
                out: *mut V::Lane,
                m: *const V::Lane,
                a: *const V::Lane,
                b: *const V::Lane,
                down: isize,
                right: isize,
                of_a: isize,
                of_b: isize,
                rows: usize,
                columns: usize,
                width: usize,
                next: *const V::Lane,
                reach: usize,
            ) {
                let (strides, of) = ([down, right], [of_a, of_b]);
                let all = Dots { out, m, a, b, strides, rows: of, width };
                // SAFETY: as said above.
                unsafe { dots::<V>(all, [rows, columns], next, reach) }
            }
        }
    };
}
kernels!(portable, [f32; 4], [f64; 2]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, std::arch::x86_64::__m256, std::arch::x86_64::__m256d, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(avx512, std::arch::x86_64::__m512, std::arch::x86_64::__m512d, "avx512f,avx2,fma");
