//! A product of two dense matrices, where a sparse one has entries.

use super::Loop;
use crate::kernels::vector::{Index, Real, Vector, prefetch};
use ust_level_api::{Dtype, IndexKind};

/// Bytes of operands that are asked for ahead of their use.
const AHEAD: usize = 4096;
/// Operands of so many bytes are in a cache that is near enough.
const NEAR: usize = 1 << 20;
/// Numbers of the widest vector.
const MOST: usize = 16;

/// Which rows of the operands an entry wants.
#[derive(Clone, Copy)]
struct Places<I> {
    /// Of `a`; all the first where it is null.
    rows: *const I,
    pitch: isize,
    /// Of `b`.
    crd: *const I,
    stride: isize,
}

impl<I: Index> Places<I> {
    /// SAFETY: what is not null is valid for a read at `p`.
    #[inline(always)]
    unsafe fn of<T>(&self, a: *const T, b: *const T, p: usize) -> [*const T; 2] {
        // SAFETY: as said above; the addresses are not read here.
        unsafe {
            let column = (*self.crd.add(p)).get().wrapping_mul(self.stride);
            let row = match self.rows.is_null() {
                true => 0,
                false => (*self.rows.add(p)).get().wrapping_mul(self.pitch),
            };
            [a.wrapping_offset(row), b.wrapping_offset(column)]
        }
    }
}

/// `out[p] = m[p] * sum of a[rows[p] * pitch + k] * b[crd[p] * stride + k]`, for `k` below `width`
/// and `p` below `count`.
///
/// SAFETY: `out` valid for `count` writes, `m` and `rows` (or null) for as many reads, `crd` for
/// `room`, which is no less; `a` and `b` for `width` reads at each row. Nothing overlaps `out`. `b`
/// lies in an array of `reach` numbers.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn sampled<V: Vector, I: Index>(
    out: *mut V::Lane,
    m: *const V::Lane,
    a: *const V::Lane,
    b: *const V::Lane,
    places: Places<I>,
    count: usize,
    width: usize,
    room: usize,
    reach: usize,
) {
    let bytes = width.saturating_mul(size_of::<V::Lane>());
    let ahead = match reach.saturating_mul(size_of::<V::Lane>()) > NEAR {
        true => (AHEAD / bytes.max(1)).clamp(4, 32),
        // Further than anything.
        false => room,
    };
    // SAFETY: every entry is below `count`, every other one whose row is asked for below `room`.
    unsafe {
        let mut p = 0;
        while p < count {
            let some = V::N.min(count - p);
            for q in p + ahead..(p + ahead + some).min(room) {
                let far = (*places.crd.add(q)).get().wrapping_mul(places.stride);
                let far = b.wrapping_offset(far);
                (0..bytes).step_by(64).for_each(|line| prefetch(far.wrapping_byte_add(line)));
            }
            // Those beyond the last are the last again.
            let of = |q: usize| places.of(a, b, p + q.min(some - 1));
            let sums = match (width / V::N, width % V::N, places.rows.is_null()) {
                (2, 0, true) => in_registers::<V, 2>(a, of),
                (4, 0, true) => in_registers::<V, 4>(a, of),
                _ => totals(|q| products::<V>(of(q), width)),
            };
            if some == V::N {
                sums.times(V::load(m.add(p))).store(out.add(p));
            } else {
                let mut lanes = [V::Lane::ZERO; MOST];
                sums.store(lanes.as_mut_ptr());
                (0..some).for_each(|q| *out.add(p + q) = lanes[q] * *m.add(p + q));
            }
            p += some;
        }
    }
}

/// Products of two rows of `width` numbers, summed as far as vectors do that.
#[inline(always)]
unsafe fn products<V: Vector>([a, b]: [*const V::Lane; 2], width: usize) -> V {
    // SAFETY: every index is below `width`.
    unsafe {
        let mut sums = [V::splat(V::Lane::ZERO); 2];
        let mut k = 0;
        while k + 2 * V::N <= width {
            for (j, sum) in sums.iter_mut().enumerate() {
                let k = k + j * V::N;
                *sum = sum.plus::<true>(V::load(a.add(k)), V::load(b.add(k)));
            }
            k += 2 * V::N;
        }
        while k < width {
            let some = V::N.min(width - k);
            sums[0] = sums[0].plus::<true>(V::first(a.add(k), some), V::first(b.add(k), some));
            k += some;
        }
        sums[0].add(sums[1])
    }
}

/// Products of the row `a`, which has `W` vectors, with each of the rows that the second of `of` is.
#[inline(always)]
unsafe fn in_registers<V: Vector, const W: usize>(
    a: *const V::Lane,
    of: impl Fn(usize) -> [*const V::Lane; 2],
) -> V {
    // SAFETY: every index is below `W * N`.
    unsafe {
        let row: [V; W] = std::array::from_fn(|k| V::load(a.add(k * V::N)));
        totals(|q| {
            let [_, b] = of(q);
            let zero = V::splat(V::Lane::ZERO);
            (0..W).fold(zero, |sum, k| sum.plus::<true>(row[k], V::load(b.add(k * V::N))))
        })
    }
}

/// The sum of each of `N` vectors.
#[inline(always)]
unsafe fn totals<V: Vector>(vector: impl Fn(usize) -> V) -> V {
    // SAFETY: as of all methods.
    unsafe {
        let mut vectors = [V::splat(V::Lane::ZERO); MOST];
        for (q, one) in vectors[..V::N].iter_mut().enumerate() {
            *one = vector(q);
        }
        let mut left = V::N;
        while left > 1 {
            left /= 2;
            for at in 0..left {
                vectors[at] = vectors[2 * at].pairs(vectors[2 * at + 1]);
            }
        }
        vectors[0]
    }
}

/// Kernels for an instruction set. SAFETY of all: as of [`sampled`], and the machine has the
/// instructions.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn address(wanted: Loop, dtype: Dtype) -> Option<usize> {
                let Loop::Sampled(kind) = wanted else { return None };
                match dtype {
                    Dtype::F32 => of::<$single>(kind),
                    Dtype::F64 => of::<$double>(kind),
                    _ => None,
                }
            }

            fn of<V: Vector>(kind: IndexKind) -> Option<usize> {
                Some(match kind {
                    IndexKind::U32 => all::<V, u32> as *const () as usize,
                    IndexKind::I32 => all::<V, i32> as *const () as usize,
                    IndexKind::U64 | IndexKind::I64 => all::<V, i64> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn all<V: Vector, I: Index>(
                out: *mut V::Lane,
                m: *const V::Lane,
                a: *const V::Lane,
                b: *const V::Lane,
                rows: *const I,
                pitch: isize,
                crd: *const I,
                stride: isize,
                count: usize,
                width: usize,
                room: usize,
                reach: usize,
            ) {
                let places = Places { rows, pitch, crd, stride };
                // SAFETY: as said above.
                unsafe { sampled::<V, I>(out, m, a, b, places, count, width, room, reach) }
            }
        }
    };
}
kernels!(portable, [f32; 4], [f64; 2]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, std::arch::x86_64::__m256, std::arch::x86_64::__m256d, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(avx512, std::arch::x86_64::__m512, std::arch::x86_64::__m512d, "avx512f,avx2,fma");
