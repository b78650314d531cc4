//! A product of two dense matrices at the entries of a sparse one (SDDMM).

use ust_ir::{Dtype, IndexKind};

use super::Loop;
use crate::tuning::{NEAR_BYTES, SDDMM_DISTANCE, SDDMM_FAR_BYTES, SDDMM_MAX_ROWS, SDDMM_MIN_ROWS};
use crate::vector::{Four, Index, Real, Vector, prefetch_lines};

/// Lanes of the widest vector.
pub(super) const MAX_LANES: usize = 16;

/// The rows of both dense matrices that each entry multiplies.
#[derive(Clone, Copy)]
struct Places<I> {
    /// The row of `a` of each entry; where null, the first row for all.
    rows: *const I,
    pitch: isize,
    /// The row of `b` of each entry.
    crd: *const I,
    stride: isize,
}

impl<I: Index> Places<I> {
    /// The addresses of the rows of entry `p`.
    ///
    /// SAFETY: `crd`, and `rows` if it is not null, are valid for a read at `p`.
    #[inline(always)]
    unsafe fn of<T>(&self, a: *const T, b: *const T, p: usize) -> [*const T; 2] {
        // SAFETY: as said above; the rows are not read here.
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
/// and `p` below `count`. Where `m` is null, nothing scales the sum.
///
/// SAFETY: `out` is valid for `count` writes, `m` and `rows` for `count` reads unless they are null, `crd` for
/// `room >= count` reads; `a` and `b` for `width` reads at each row. Nothing overlaps `out`. `b` lies in an
/// array of `reach` numbers.
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
    if count == 0 {
        // `a` may have no row, and its first row would be read before any entry.
        return;
    }
    let sampling = Sampling { out, m, places, count, room, reach };
    macro_rules! in_registers {
        ($($w:literal),*) => {
            match (width / V::N, width % V::N) {
                $(($w, 0) => sampling.each::<V>(InRegisters::<V, $w, false>::new(a, V::N), a, b),)*
                $((whole, cut) if whole + 1 == $w => {
                    sampling.each::<V>(InRegisters::<V, $w, true>::new(a, cut), a, b)
                })*
                _ => sampling.each::<V>(width, a, b),
            }
        };
    }
    // SAFETY: as said above; where `rows` is null, all entries multiply the first row of `a`.
    unsafe {
        match places.rows.is_null() {
            true => in_registers!(1, 2, 3, 4, 5, 6, 7, 8),
            false => sampling.each::<V>(width, a, b),
        }
    }
}

/// The row of `a` that all entries multiply, in `W` vectors. Where `CUT`, the last has `cut` numbers.
#[derive(Clone, Copy)]
struct InRegisters<V, const W: usize, const CUT: bool> {
    row: [V; W],
    cut: usize,
}

impl<V: Vector, const W: usize, const CUT: bool> InRegisters<V, W, CUT> {
    /// SAFETY: `a` is valid for a read of the row.
    #[inline(always)]
    unsafe fn new(a: *const V::Lane, cut: usize) -> Self {
        // SAFETY: as said above.
        unsafe {
            let mut row = [V::splat(V::Lane::ZERO); W];
            for (k, vector) in row.iter_mut().enumerate() {
                *vector = V::nth::<W, CUT>(a, k, cut);
            }
            Self { row, cut }
        }
    }
}

/// A dot product of two rows. A trait, not a closure: a closure with two callers is not inlined, and is then
/// compiled without the instruction set of the kernel.
trait Products<V: Vector>: Copy {
    /// Numbers of a row.
    fn width(self) -> usize;
    /// A vector whose lanes sum up to the dot product.
    ///
    /// SAFETY: both rows are valid for reads of `width` numbers.
    unsafe fn of(self, rows: [*const V::Lane; 2]) -> V;
}

impl<V: Vector, const W: usize, const CUT: bool> Products<V> for InRegisters<V, W, CUT> {
    #[inline(always)]
    fn width(self) -> usize {
        (W - 1) * V::N + self.cut
    }

    #[inline(always)]
    unsafe fn of(self, [_, b]: [*const V::Lane; 2]) -> V {
        // SAFETY: the row has `W` vectors.
        unsafe {
            let mut sum = self.row[0].times(V::nth::<W, CUT>(b, 0, self.cut));
            for k in 1..W {
                sum = sum.plus::<true>(self.row[k], V::nth::<W, CUT>(b, k, self.cut));
            }
            sum
        }
    }
}

/// Rows of any width, which is `self`.
impl<V: Vector> Products<V> for usize {
    #[inline(always)]
    fn width(self) -> usize {
        self
    }

    #[inline(always)]
    unsafe fn of(self, [a, b]: [*const V::Lane; 2]) -> V {
        // SAFETY: every index is below `width`.
        unsafe {
            let mut sums = [V::splat(V::Lane::ZERO); 2];
            let mut k = 0;
            while k + 2 * V::N <= self {
                for (j, sum) in sums.iter_mut().enumerate() {
                    let k = k + j * V::N;
                    *sum = sum.plus::<true>(V::load(a.add(k)), V::load(b.add(k)));
                }
                k += 2 * V::N;
            }
            while k < self {
                let some = V::N.min(self - k);
                sums[0] = sums[0].plus::<true>(V::first(a.add(k), some), V::first(b.add(k), some));
                k += some;
            }
            sums[0].add(sums[1])
        }
    }
}

/// The arguments of [`sampled`] but for the dense operands.
struct Sampling<T, I> {
    out: *mut T,
    m: *const T,
    places: Places<I>,
    count: usize,
    room: usize,
    reach: usize,
}

impl<T: Real, I: Index> Sampling<T, I> {
    /// SAFETY: as of [`sampled`].
    #[inline(always)]
    unsafe fn each<V: Vector<Lane = T>>(
        &self,
        products: impl Products<V>,
        a: *const T,
        b: *const T,
    ) {
        let &Self { out, m, places, count, room, reach } = self;
        let bytes = products.width().saturating_mul(size_of::<T>());
        let prefetch_row = |row: *const T| prefetch_lines(row, bytes);
        let reach = reach.saturating_mul(size_of::<T>());
        // The prefetch distance in entries.
        let ahead = match reach > NEAR_BYTES {
            true => (SDDMM_DISTANCE / bytes.max(1)).clamp(SDDMM_MIN_ROWS, SDDMM_MAX_ROWS),
            // Beyond all entries: no prefetch.
            false => room,
        };
        if reach > SDDMM_FAR_BYTES {
            // Consecutive calls mostly read consecutive rows of `a`.
            prefetch_row(a.wrapping_byte_add(SDDMM_DISTANCE / 2));
        }
        // SAFETY: entries are below `count`; entries whose row is prefetched are below `room`.
        unsafe {
            let mut p = 0;
            while p < count {
                let some = V::N.min(count - p);
                for q in p + ahead..(p + ahead + some).min(room) {
                    prefetch_row(
                        b.wrapping_offset((*places.crd.add(q)).get().wrapping_mul(places.stride)),
                    );
                }
                if some == V::N {
                    let mut vectors = [V::splat(T::ZERO); MAX_LANES];
                    for (q, vector) in vectors[..V::N].iter_mut().enumerate() {
                        *vector = products.of(places.of(a, b, p + q));
                    }
                    let sums = totals(vectors);
                    let scaled = if m.is_null() { sums } else { sums.times(V::load(m.add(p))) };
                    scaled.store(out.add(p));
                } else {
                    for p in p..count {
                        let sum = products.of(places.of(a, b, p)).four().total();
                        *out.add(p) = if m.is_null() { sum } else { sum * *m.add(p) };
                    }
                }
                p += some;
            }
        }
    }
}

/// A vector of `N` sums: those of the lanes of each of the first `N` vectors.
#[inline(always)]
pub(super) unsafe fn totals<V: Vector>(mut vectors: [V; MAX_LANES]) -> V {
    // SAFETY: as of all methods.
    unsafe {
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
