//! A product of two small blocks.

use ust_ir::Dtype;

use crate::vector::Real;

/// A number type with a fused multiply-add.
trait Fused: Real {
    /// `a * b + self`, rounded once.
    fn fused(self, a: Self, b: Self) -> Self;
}

impl Fused for f32 {
    #[inline(always)]
    fn fused(self, a: Self, b: Self) -> Self {
        a.mul_add(b, self)
    }
}

impl Fused for f64 {
    #[inline(always)]
    fn fused(self, a: Self, b: Self) -> Self {
        a.mul_add(b, self)
    }
}

/// `c[i * of_c + k] += a[i * of_a[0] + j * of_a[1]] * b[j * of_b + k]`, for `i` below `rows`, `j` below
/// `sums` and `k` below `W`.
///
/// SAFETY: `c` valid for reads and writes of these elements, `a` and `b` for reads. Neither overlaps
/// `c`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn product<T: Fused, const W: usize, const FUSED: bool>(
    c: *mut T,
    a: *const T,
    b: *const T,
    of_c: isize,
    of_a: [isize; 2],
    of_b: isize,
    rows: isize,
    sums: isize,
) {
    for i in 0..rows {
        // SAFETY: as said above. A row of `W` numbers is read and written as an array.
        unsafe {
            let place = c.offset(i * of_c).cast::<[T; W]>();
            let mut row = place.read_unaligned();
            for j in 0..sums {
                let factor = *a.offset(i * of_a[0] + j * of_a[1]);
                let other = b.offset(j * of_b).cast::<[T; W]>().read_unaligned();
                for (sum, other) in row.iter_mut().zip(other) {
                    *sum = if FUSED { sum.fused(factor, other) } else { *sum + factor * other };
                }
            }
            place.write_unaligned(row);
        }
    }
}

/// `$some` with `$width` as the constant `$constant`, or `None` where no kernel has that width.
macro_rules! each_width {
    ($width:ident, $constant:ident => $some:expr) => {
        each_width!($width, $constant => $some; 2 3 4 5 6 7 8 9 10 12 16)
    };
    ($width:ident, $constant:ident => $some:expr; $($number:literal)*) => {
        match $width {
            $($number => {
                const $constant: usize = $number;
                Some($some)
            })*
            _ => None,
        }
    };
}

/// Kernels for an instruction set. SAFETY of all: as of [`product`], and the machine has the
/// instructions.
macro_rules! kernels {
    ($name:ident, $fuses:literal $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn address(
                width: u8,
                dtype: Dtype,
                exact: bool,
            ) -> Option<usize> {
                match (dtype, exact || !$fuses) {
                    (Dtype::F32, true) => of::<f32, false>(width),
                    (Dtype::F64, true) => of::<f64, false>(width),
                    (Dtype::F32, false) => of::<f32, $fuses>(width),
                    (Dtype::F64, false) => of::<f64, $fuses>(width),
                    _ => None,
                }
            }

            fn of<T: Fused, const FUSED: bool>(width: u8) -> Option<usize> {
                each_width!(width, W => all::<T, W, FUSED> as *const () as usize)
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn all<T: Fused, const W: usize, const FUSED: bool>(
                c: *mut T,
                a: *const T,
                b: *const T,
                of_c: isize,
                down: isize,
                right: isize,
                of_b: isize,
                rows: isize,
                sums: isize,
            ) {
                // SAFETY: as said above.
                unsafe { product::<T, W, FUSED>(c, a, b, of_c, [down, right], of_b, rows, sums) }
            }
        }
    };
}
kernels!(portable, false);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, true, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(avx512, true, "avx512f,avx512vl,avx2,fma");
