//! Rows of runs with one value each, times a vector: the value times a sum of neighbours.

use ust_ir::{Dtype, IndexKind};

use crate::vector::{Four, Index, Real, Vector};

/// Vectors of a run that are added without a branch on its length: the last ones are masked.
const MASKED: usize = 4;

/// The sum of `a[s] * x[j]` for the coordinates `j` of each run `s` in `lo..hi`: up to `end[s]`, from `begin[s]` on.
/// Without `begin`, the first run begins at `first`, and each other one where the one before ends.
///
/// SAFETY: `a`, `end` and `begin`, unless it is null, are valid for reads at `lo..hi`; `x` at the coordinates.
#[inline(always)]
unsafe fn sum<V: Vector<Lane: PartialEq>, C: Index>(
    begin: *const C,
    end: *const C,
    a: *const V::Lane,
    x: *const V::Lane,
    lo: isize,
    hi: isize,
    first: isize,
) -> V::Lane {
    // SAFETY: as said above; of the masked vectors, numbers below `n` are read.
    unsafe {
        let (mut sums, mut from) = ([V::splat(V::Lane::ZERO); MASKED], first);
        let mut rest = V::Lane::ZERO;
        for s in lo..hi {
            if !begin.is_null() {
                from = (*begin.offset(s)).get();
            }
            let to = (*end.offset(s)).get();
            let (value, mut x) = (*a.offset(s), x.wrapping_offset(from));
            let mut n = to.saturating_sub(from).max(0) as usize;
            from = to;
            // Masked lanes are multiplied with zero, which is no number for what is not finite.
            if value * V::Lane::ZERO != V::Lane::ZERO {
                let single = (0..n).fold(V::Lane::ZERO, |sum, k| sum + value * *x.add(k));
                rest = rest + single;
                continue;
            }
            let value = V::splat(value);
            while n > MASKED * V::N {
                for (k, sum) in sums[..2].iter_mut().enumerate() {
                    *sum = sum.plus::<true>(value, V::load(x.add(k * V::N)));
                }
                (x, n) = (x.add(2 * V::N), n - 2 * V::N);
            }
            for (k, sum) in sums.iter_mut().enumerate() {
                let at = k * V::N;
                *sum = sum.plus::<true>(value, V::below(x.wrapping_add(at), at, n));
            }
        }
        sums[0].add(sums[1]).add(sums[2].add(sums[3])).four().total() + rest
    }
}

/// Kernels for an instruction set. SAFETY of all: as of [`sum`], and the machine has the instructions.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn address(kind: IndexKind, dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => of::<$single>(kind),
                    Dtype::F64 => of::<$double>(kind),
                    _ => None,
                }
            }

            fn of<V: Vector<Lane: PartialEq>>(kind: IndexKind) -> Option<usize> {
                Some(match kind {
                    IndexKind::U8 => row::<V, u8> as *const () as usize,
                    IndexKind::U16 => row::<V, u16> as *const () as usize,
                    IndexKind::U32 => row::<V, u32> as *const () as usize,
                    IndexKind::I32 => row::<V, i32> as *const () as usize,
                    IndexKind::U64 | IndexKind::I64 => row::<V, i64> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn row<V: Vector<Lane: PartialEq>, C: Index>(
                begin: *const C,
                end: *const C,
                a: *const V::Lane,
                x: *const V::Lane,
                lo: isize,
                hi: isize,
                first: isize,
            ) -> V::Lane {
                // SAFETY: as said above.
                unsafe { sum::<V, C>(begin, end, a, x, lo, hi, first) }
            }
        }
    };
}
kernels!(portable, [f32; 4], [f64; 2]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, std::arch::x86_64::__m256, std::arch::x86_64::__m256d, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(avx512, std::arch::x86_64::__m512, std::arch::x86_64::__m512d, "avx512f,avx2,fma");
