//! Rows of runs with one value each, times a vector: the value times a sum of neighbours.

use ust_ir::{Dtype, IndexKind};

use super::Loop;

use crate::vector::{Four, Index, Real, Vector};

/// Vectors of a run that are added without a branch on its length: the last ones are masked.
const MASKED: usize = 8;

/// The sum of `a[s] * x[j]` for the coordinates `j` of each run `s` in `lo..hi`: up to `end[s]`, from `begin[s]` on.
/// Without `begin`, the first run begins at `first`, and each other one where the one before ends.
///
/// SAFETY: `a`, `end` and `begin`, unless it is null, are valid for reads at `lo..hi`; `x` at the coordinates.
#[inline(always)]
unsafe fn sum<V: Vector<Lane: Wide>, C: Index>(
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
        sums[0]
            .add(sums[1])
            .add(sums[2].add(sums[3]))
            .add(sums[4].add(sums[5]).add(sums[6].add(sums[7])))
            .four()
            .total()
            + rest
    }
}

/// A number with sums of 64 bits.
trait Wide: Real + PartialEq {
    fn wide(self) -> f64;
    fn narrow(sum: f64) -> Self;
}

impl Wide for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn narrow(sum: f64) -> Self {
        sum as Self
    }
}

impl Wide for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(sum: f64) -> Self {
        sum
    }
}

/// For each `k` up to `n`, the sum of the numbers in front of `k`, as two numbers: the second is what rounding leaves of
/// the first, so that differences of sums are as exact as sums (Ogita, Rump and Oishi, "Accurate Sum and Dot Product",
/// 2005). `None` if a sum is no finite number.
///
/// SAFETY: `x` is valid for `n` reads.
#[inline(always)]
unsafe fn sums_before<T: Wide>(x: *const T, n: usize) -> Option<Vec<[f64; 2]>> {
    let (mut sum, mut left) = (0.0, 0.0);
    let mut sums = Vec::with_capacity(n + 1);
    sums.push([sum, left]);
    for k in 0..n {
        // SAFETY: as said above.
        let value = unsafe { (*x.add(k)).wide() };
        let next = sum + value;
        let rounded = next - sum;
        left += (sum - (next - rounded)) + (value - rounded);
        sum = next;
        sums.push([sum, left]);
    }
    (sum.is_finite() && left.is_finite()).then_some(sums)
}

/// As [`sum`], by sums of `x`: each run takes the same time, however long it is. Runs outside of what was summed, and
/// values that are not finite, are left to [`sum`].
///
/// SAFETY: as of [`sum`].
#[inline(always)]
unsafe fn differences<V: Vector<Lane: Wide>, C: Index>(
    sums: &[[f64; 2]],
    (begin, end): (*const C, *const C),
    a: *const V::Lane,
    x: *const V::Lane,
    (lo, hi): (isize, isize),
    first: isize,
) -> V::Lane {
    // SAFETY: as said above.
    unsafe {
        let (mut total, mut from) = (0.0, first);
        for s in lo..hi {
            if !begin.is_null() {
                from = (*begin.offset(s)).get();
            }
            let to = (*end.offset(s)).get().max(from);
            let value = (*a.offset(s)).wide();
            let at = |of: isize| sums.get(usize::try_from(of).ok()?);
            total += match (at(from), at(to)) {
                (Some(before), Some(after)) if value.is_finite() => {
                    value * ((after[0] - before[0]) + (after[1] - before[1]))
                }
                _ => sum::<V, C>(begin, end, a, x, s, s + 1, from).wide(),
            };
            from = to;
        }
        V::Lane::narrow(total)
    }
}

/// Kernels for an instruction set. SAFETY of all: as of [`sum`], and the machine has the instructions. `pos` is valid for
/// reads at `lo..=hi` and ascends there, `x` for `reach` reads. `places` is null, or valid for reads at `lo..hi`. `out`
/// is valid for writes at `lo..hi`, or at each place. Nothing overlaps `out`.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn address(wanted: Loop, dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => of::<$single>(wanted),
                    Dtype::F64 => of::<$double>(wanted),
                    _ => None,
                }
            }

            fn of<V: Vector<Lane: Wide>>(wanted: Loop) -> Option<usize> {
                use IndexKind::{I32, I64, U8, U16, U32, U64};
                Some(match wanted {
                    Loop::SharedDots(U8) => row::<V, u8> as *const () as usize,
                    Loop::SharedDots(U16) => row::<V, u16> as *const () as usize,
                    Loop::SharedDots(U32) => row::<V, u32> as *const () as usize,
                    Loop::SharedDots(I32) => row::<V, i32> as *const () as usize,
                    Loop::SharedDots(U64 | I64) => row::<V, i64> as *const () as usize,
                    Loop::SharedRows(U32, U8) => rows::<V, u32, u8> as *const () as usize,
                    Loop::SharedRows(U32, U16) => rows::<V, u32, u16> as *const () as usize,
                    Loop::SharedRows(U32, U32) => rows::<V, u32, u32> as *const () as usize,
                    Loop::SharedRows(I32, I32) => rows::<V, i32, i32> as *const () as usize,
                    Loop::SharedRows(U64 | I64, U64 | I64) => rows::<V, i64, i64> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn rows<V: Vector<Lane: Wide>, P: Index, C: Index>(
                pos: *const P,
                begin: *const C,
                end: *const C,
                a: *const V::Lane,
                x: *const V::Lane,
                out: *mut V::Lane,
                lo: isize,
                hi: isize,
                places: *const P,
                first: isize,
                reach: isize,
            ) {
                // SAFETY: as said above.
                unsafe {
                    if lo >= hi {
                        return;
                    }
                    let mut from = (*pos.offset(lo)).get();
                    // Sums of `x` take about as long as runs.
                    let runs = (*pos.offset(hi)).get().saturating_sub(from);
                    let reach = usize::try_from(reach).unwrap_or(0);
                    let many = usize::try_from(runs).is_ok_and(|runs| runs >= reach);
                    let sums = if many { sums_before(x, reach) } else { None };
                    for i in lo..hi {
                        let to = (*pos.offset(i + 1)).get();
                        let total = match &sums {
                            Some(sums) => differences::<V, C>(sums, (begin, end), a, x, (from, to), first),
                            None => sum::<V, C>(begin, end, a, x, from, to, first),
                        };
                        let place = if places.is_null() { i } else { (*places.offset(i)).get() };
                        *out.offset(place) = total;
                        from = to;
                    }
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn row<V: Vector<Lane: Wide>, C: Index>(
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
