//! Rows of runs times a vector. A run is a sequence of entries with consecutive coordinates: a product of
//! contiguous memory. A row has several runs, or one.

use ust_ir::{Dtype, IndexKind};

use super::Loop;
use crate::tuning::{RUN_DISTANCE, RUNS_AHEAD};
use crate::vector::{Four, Index, Real, Vector, prefetch};

/// A method to sum the products of a row.
trait Summed {
    /// The type of the sum.
    type Lane: Real;
    /// The sum of the runs before.
    type Sums: Copy;

    unsafe fn zero() -> Self::Sums;
    /// `sums` and the sum of `a[k] * x[k]` for `k` below `n`. `a` and `x` are valid for `n` reads.
    unsafe fn plus(
        sums: Self::Sums,
        a: *const Self::Lane,
        x: *const Self::Lane,
        n: usize,
    ) -> Self::Sums;
    unsafe fn total(sums: Self::Sums) -> Self::Lane;
}

/// One product after another.
struct InOrder<T>(T);

/// Vectors of products, the last `W` of a run masked: a run that fits in them takes no branch on its length.
/// Vectors of 256 bits are the fastest: wider ones mostly lie in two cache lines.
struct Masked<V, const W: usize>(V);

impl<T: Real> Summed for InOrder<T> {
    type Lane = T;
    type Sums = T;

    #[inline(always)]
    unsafe fn zero() -> T {
        T::ZERO
    }
    #[inline(always)]
    unsafe fn plus(sum: T, a: *const T, x: *const T, n: usize) -> T {
        // SAFETY: every index is below `n`.
        (0..n).fold(sum, |sum, k| unsafe { sum + *a.add(k) * *x.add(k) })
    }
    #[inline(always)]
    unsafe fn total(sum: T) -> T {
        sum
    }
}

impl<V: Vector, const W: usize> Summed for Masked<V, W> {
    type Lane = V::Lane;
    type Sums = [V; 2];

    #[inline(always)]
    unsafe fn zero() -> [V; 2] {
        // SAFETY: as the trait says.
        unsafe { [V::splat(V::Lane::ZERO); 2] }
    }
    #[inline(always)]
    unsafe fn plus(
        mut sums: [V; 2],
        mut a: *const V::Lane,
        mut x: *const V::Lane,
        mut n: usize,
    ) -> [V; 2] {
        const { assert!(W >= 2, "a loop of two vectors is before") };
        // SAFETY: whole vectors end below `n`; of the others, numbers below `n` are read.
        unsafe {
            while n > W * V::N {
                prefetch(a.wrapping_byte_add(RUN_DISTANCE));
                for (k, sum) in sums.iter_mut().enumerate() {
                    let at = k * V::N;
                    *sum = sum.plus::<true>(V::load(a.add(at)), V::load(x.add(at)));
                }
                (a, x, n) = (a.add(2 * V::N), x.add(2 * V::N), n - 2 * V::N);
            }
            prefetch(a.wrapping_byte_add(RUN_DISTANCE));
            for k in 0..W {
                let at = k * V::N;
                let last = |from: *const V::Lane| V::below(from.wrapping_add(at), at, n);
                sums[k % 2] = sums[k % 2].plus::<true>(last(a), last(x));
            }
            sums
        }
    }
    #[inline(always)]
    unsafe fn total([first, second]: [V; 2]) -> V::Lane {
        // SAFETY: as the trait says.
        unsafe { first.add(second).four().total() }
    }
}

/// Runs: run `s` has the values from `a[ofs[s]]` up to `a[ofs[s + 1]]`, and coordinates that begin at
/// `bounds[s]`, or end there.
#[derive(Clone, Copy)]
struct Runs<T, P, C> {
    bounds: *const C,
    ofs: *const P,
    a: *const T,
    x: *const T,
    /// All bits where coordinates end at `bounds`, else none.
    end: isize,
}

impl<T: Real, P: Index, C: Index> Runs<T, P, C> {
    /// The sum of products of runs `from..to`. Coordinates of runs before `last` are prefetched.
    ///
    /// SAFETY: `ofs` is valid for reads at `from..=to`, `bounds` at `from..to` and `from..last`, `a` at the positions
    /// of these runs, `x` at their coordinates.
    #[inline(always)]
    unsafe fn sum<S: Summed<Lane = T>>(self, from: isize, to: isize, last: isize) -> T {
        // SAFETY: as said above.
        unsafe {
            let mut sums = S::zero();
            for s in from..to {
                if s + RUNS_AHEAD < last {
                    let bound = (*self.bounds.offset(s + RUNS_AHEAD)).get();
                    prefetch(self.x.wrapping_offset(bound.wrapping_add(self.end)));
                }
                let begin = (*self.ofs.offset(s)).get();
                let n = (*self.ofs.offset(s + 1)).get().saturating_sub(begin).max(0);
                let crd = (*self.bounds.offset(s)).get().wrapping_sub(n & self.end);
                let (a, x) = (self.a.wrapping_offset(begin), self.x.wrapping_offset(crd));
                sums = S::plus(sums, a, x, n as usize);
            }
            S::total(sums)
        }
    }

    /// Calls `put` with the number and the sum of each of the rows `lo..hi`. Row `i` has the runs from
    /// `pos[i]` up to `pos[i + 1]`, or run `i` where `pos` is null.
    ///
    /// SAFETY: as of [`sum`](Self::sum), for all runs of these rows. `pos` is null, or valid for reads at
    /// `lo..=hi`, and ascending there.
    #[inline(always)]
    unsafe fn each<S: Summed<Lane = T>>(
        self,
        pos: *const P,
        lo: isize,
        hi: isize,
        put: impl Fn(isize, T),
    ) {
        // SAFETY: as said above.
        unsafe {
            if pos.is_null() {
                for i in lo..hi {
                    // Coordinates of the next row are mostly near.
                    put(i, self.sum::<S>(i, i + 1, i));
                }
                return;
            }
            let mut from = (*pos.offset(lo)).get();
            let last = (*pos.offset(hi)).get();
            for i in lo..hi {
                let to = (*pos.offset(i + 1)).get();
                put(i, self.sum::<S>(from, to, last));
                from = to;
            }
        }
    }
}

/// The kernels of rows that are summed exactly.
pub(super) fn exact(wanted: Loop, dtype: Dtype) -> Option<usize> {
    match (wanted, dtype) {
        (Loop::Runs(..), Dtype::F32) => portable::address::<InOrder<f32>>(wanted),
        (Loop::Runs(..), Dtype::F64) => portable::address::<InOrder<f64>>(wanted),
        _ => None,
    }
}

/// Kernels for an instruction set. SAFETY of all: as of [`Runs::sum`] and [`Runs::each`], and the machine has the
/// instructions.
/// `places` is null, or valid for reads at `lo..hi`. `out` is valid for writes at `lo..hi`, or at each place.
/// Nothing overlaps `out`.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn fast(wanted: Loop, dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => address::<Masked<$single, 2>>(wanted),
                    Dtype::F64 => address::<Masked<$double, 3>>(wanted),
                    _ => None,
                }
            }

            pub(super) fn address<S: Summed>(wanted: Loop) -> Option<usize> {
                use IndexKind::{I32, I64, U8, U16, U32, U64};
                Some(match wanted {
                    Loop::RunDots(U32, U8) => one::<S, u32, u8> as *const () as usize,
                    Loop::RunDots(U32, U16) => one::<S, u32, u16> as *const () as usize,
                    Loop::RunDots(U32, U32) => one::<S, u32, u32> as *const () as usize,
                    Loop::RunDots(I32, I32) => one::<S, i32, i32> as *const () as usize,
                    Loop::RunDots(U64 | I64, U64 | I64) => one::<S, i64, i64> as *const () as usize,
                    Loop::Runs(U32, U8) => all::<S, u32, u8> as *const () as usize,
                    Loop::Runs(U32, U16) => all::<S, u32, u16> as *const () as usize,
                    Loop::Runs(U32, U32) => all::<S, u32, u32> as *const () as usize,
                    Loop::Runs(I32, I32) => all::<S, i32, i32> as *const () as usize,
                    Loop::Runs(U64 | I64, U64 | I64) => all::<S, i64, i64> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn one<S: Summed, P: Index, C: Index>(
                bounds: *const C,
                ofs: *const P,
                a: *const S::Lane,
                x: *const S::Lane,
                lo: isize,
                hi: isize,
                is_end: isize,
            ) -> S::Lane {
                let runs = Runs { bounds, ofs, a, x, end: -is_end };
                // SAFETY: as said above.
                unsafe { runs.sum::<S>(lo, hi, hi) }
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn all<S: Summed, P: Index, C: Index>(
                pos: *const P,
                bounds: *const C,
                ofs: *const P,
                a: *const S::Lane,
                x: *const S::Lane,
                out: *mut S::Lane,
                lo: isize,
                hi: isize,
                places: *const P,
                is_end: isize,
            ) {
                let runs = Runs { bounds, ofs, a, x, end: -is_end };
                // SAFETY: as said above.
                unsafe {
                    if places.is_null() {
                        runs.each::<S>(pos, lo, hi, |i, sum| *out.offset(i) = sum);
                    } else {
                        let put = |i, sum| *out.offset((*places.offset(i)).get()) = sum;
                        runs.each::<S>(pos, lo, hi, put);
                    }
                }
            }
        }
    };
}
kernels!(portable, [f32; 4], [f64; 2]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, std::arch::x86_64::__m256, std::arch::x86_64::__m256d, "avx2,fma");
