//! Sparse rows times a vector: `sum of a[p] * x[crd[p]]` for one row or for all.

use ust_ir::{Dtype, IndexKind};

use super::Loop;
use super::row_sample::{far, in_blocks, uneven};
use crate::tuning::{
    BLOCK_ROW_DISTANCE, GATHER_DISTANCE, GATHER_NEAR_BYTES, GATHER_PREDICTED_ROWS,
};
#[cfg(target_arch = "x86_64")]
use crate::vector::Gather;
use crate::vector::{Four, Index, NO_PREFETCH, Real, TO_L1, Two, Vector, prefetch, prefetch_to};

/// A method to sum a row, and the methods that replace it for some matrices.
trait Summed {
    /// The type of the sum.
    type Lane: Real;
    /// The method for rows whose elements of `x` lie far apart.
    type Far: Summed<Lane = Self::Lane>;
    /// Whether `Far` is another method.
    const HAS_FAR: bool = false;
    /// The method for rows of dense blocks.
    type Blocks: Summed<Lane = Self::Lane>;
    /// The method for rows of many lengths.
    type Uneven: Summed<Lane = Self::Lane>;
    /// Whether `Blocks` and `Uneven` are other methods.
    const HAS_KINDS: bool = false;

    /// The sum of `n` products. `a` and `crd` are valid for `room >= n` reads, `x` for a read at each
    /// `crd[p]`. Entries are prefetched into the cache `PREFETCH`; the caller has prefetched the first. With `ISO`, all
    /// values are equal, and `a` has [`COPIES`] of them.
    unsafe fn row<const PREFETCH: u8, const ISO: bool, I: Index>(
        a: *const Self::Lane,
        crd: *const I,
        x: *const Self::Lane,
        n: usize,
        room: usize,
    ) -> Self::Lane;
}

/// Values that are read at a time, at most.
const COPIES: usize = 8;

/// The address of the value of entry `p`, and of those behind it.
#[inline(always)]
fn value<const ISO: bool, T>(a: *const T, p: usize) -> *const T {
    if ISO { a } else { a.wrapping_add(p) }
}

/// One product after another.
struct InOrder<T>(T);

/// Four products at a time, whose elements of `x` are loaded one by one. `ROWS` is a kind of rows.
struct ByFours<V, const ROWS: u8>(V);

/// Rows of any kind.
const ANY: u8 = 0;
/// Rows of many lengths.
const UNEVEN: u8 = 1;
/// Rows of dense blocks: four entries mostly stand in adjacent columns.
const BLOCKS: u8 = 2;

/// Eight products at a time, whose elements of `x` one gather instruction loads.
#[cfg(target_arch = "x86_64")]
struct ByEights<T>(T);

/// As [`ByFours`], or as [`ByEights`] where elements of `x` lie far apart.
#[cfg(target_arch = "x86_64")]
struct ByFoursOrEights<V>(V);

impl<T: Real> Summed for InOrder<T> {
    type Lane = T;
    type Far = Self;
    type Blocks = Self;
    type Uneven = Self;

    #[inline(always)]
    unsafe fn row<const PREFETCH: u8, const ISO: bool, I: Index>(
        a: *const T,
        crd: *const I,
        x: *const T,
        n: usize,
        _: usize,
    ) -> T {
        // SAFETY: as said above.
        let product = |p| unsafe { *value::<ISO, _>(a, p) * *x.offset((*crd.add(p)).get()) };
        (0..n).fold(T::ZERO, |sum, p| sum + product(p))
    }
}

impl<V: Vector, const ROWS: u8> Summed for ByFours<V, ROWS> {
    type Lane = V::Lane;
    type Far = Self;
    type Blocks = ByFours<V, BLOCKS>;
    type Uneven = ByFours<V, UNEVEN>;
    const HAS_KINDS: bool = true;

    /// [`UNEVEN`] rows take no branch on the number of entries within each four: a row of three reads four
    /// products, the last from the next row, and masks it out. The last entries of a longer row are summed
    /// in the same manner.
    #[inline(always)]
    unsafe fn row<const PREFETCH: u8, const ISO: bool, I: Index>(
        a: *const V::Lane,
        crd: *const I,
        x: *const V::Lane,
        n: usize,
        room: usize,
    ) -> V::Lane {
        // SAFETY: every index is below `room`, and `x` is read at coordinates in `crd`.
        unsafe {
            let four = |sum: V::Four, p: usize| {
                if ROWS != BLOCKS {
                    return sum.plus_products(value::<ISO, _>(a, p), crd.add(p), x);
                }
                if PREFETCH != NO_PREFETCH && p + BLOCK_ROW_DISTANCE < room {
                    prefetch(x.wrapping_offset((*crd.add(p + BLOCK_ROW_DISTANCE)).get()));
                }
                match I::follow(crd.add(p)) {
                    true => {
                        sum.plus_neighbours(value::<ISO, _>(a, p), x.offset((*crd.add(p)).get()))
                    }
                    false => sum.plus_products(value::<ISO, _>(a, p), crd.add(p), x),
                }
            };
            if ROWS == UNEVEN && n <= 4 && room >= 4 {
                return four(V::Four::zero(), 0).first(n).total();
            }
            if ROWS == UNEVEN && n <= 8 && room >= 8 {
                let rest = four(V::Four::zero(), 4).first(n - 4);
                return four(V::Four::zero(), 0).add(rest).total();
            }
            let mut p = 0;
            let mut halves = [<V::Four as Four>::Two::zero(); 2];
            if n >= 8 || ROWS == BLOCKS {
                let mut sums = [V::Four::zero(); 2];
                while p + 8 <= n {
                    prefetch_following::<PREFETCH, ISO, _, _>(a, crd, p);
                    for (k, sum) in sums.iter_mut().enumerate() {
                        *sum = four(*sum, p + 4 * k);
                    }
                    p += 8;
                }
                // The last four products may be masked, if they can be read.
                let masked = ROWS == UNEVEN && room >= p + 8;
                if ROWS != ANY && p + 4 + usize::from(masked) <= n {
                    sums[0] = four(sums[0], p);
                    p += 4;
                }
                if masked {
                    let last = four(V::Four::zero(), p).first(n - p);
                    return sums[0].add(sums[1].add(last)).total();
                }
                halves = sums[0].add(sums[1]).halves();
            }
            let two = |sum: <V::Four as Four>::Two, p| {
                sum.plus_products(value::<ISO, _>(a, p), crd.add(p), x)
            };
            // By the bits of the remainder: the branch predictor learns each bit on its own.
            let rest = n - p;
            if rest & 4 != 0 {
                halves = [two(halves[0], p), two(halves[1], p + 2)];
                p += 4;
            }
            if rest & 2 != 0 {
                halves[0] = two(halves[0], p);
                p += 2;
            }
            if rest & 1 != 0 {
                halves[1] =
                    halves[1].plus_product(*value::<ISO, _>(a, p), *x.offset((*crd.add(p)).get()));
            }
            halves[0].add(halves[1]).total()
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl<T: Gather> Summed for ByEights<T> {
    type Lane = T;
    type Far = Self;
    type Blocks = Self;
    type Uneven = Self;

    /// The last entries are summed under a mask, without a branch on their number. Nothing behind them is
    /// read.
    #[inline(always)]
    unsafe fn row<const PREFETCH: u8, const ISO: bool, I: Index>(
        a: *const T,
        crd: *const I,
        x: *const T,
        n: usize,
        _: usize,
    ) -> T {
        // SAFETY: of eight entries, only those below `n` are read.
        unsafe {
            let mut sum = T::zeros();
            let mut p = 0;
            while p + 8 <= n {
                prefetch_following::<PREFETCH, ISO, _, _>(a, crd, p);
                sum = T::plus_products(sum, value::<ISO, _>(a, p), crd.add(p), x, u8::MAX);
                p += 8;
            }
            let rest = (1 << (n - p)) - 1;
            T::total(T::plus_products(sum, value::<ISO, _>(a, p), crd.add(p), x, rest))
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl<V: Vector<Lane: Gather>> Summed for ByFoursOrEights<V> {
    type Lane = V::Lane;
    type Far = ByEights<V::Lane>;
    const HAS_FAR: bool = true;
    type Blocks = ByFours<V, BLOCKS>;
    type Uneven = ByFours<V, UNEVEN>;
    const HAS_KINDS: bool = true;

    #[inline(always)]
    unsafe fn row<const PREFETCH: u8, const ISO: bool, I: Index>(
        a: *const V::Lane,
        crd: *const I,
        x: *const V::Lane,
        n: usize,
        room: usize,
    ) -> V::Lane {
        // SAFETY: as said above.
        unsafe { ByFours::<V, ANY>::row::<PREFETCH, ISO, I>(a, crd, x, n, room) }
    }
}

/// Prefetches the line at the prefetch distance behind an address, into the cache `CACHE`.
#[inline(always)]
fn prefetch_ahead<const CACHE: u8, T>(address: *const T) {
    prefetch_to::<CACHE, T>(address.wrapping_byte_add(GATHER_DISTANCE));
}

/// Prefetches the lines at the prefetch distance behind entries `p..p + 8`. Some lines are prefetched
/// twice, which costs less than to tell which.
#[inline(always)]
fn prefetch_following<const PREFETCH: u8, const ISO: bool, T, I>(
    a: *const T,
    crd: *const I,
    p: usize,
) {
    if !ISO {
        prefetch_ahead::<PREFETCH, _>(a.wrapping_add(p + 8));
    }
    prefetch_ahead::<PREFETCH, _>(crd.wrapping_add(p + 8));
}

/// One row. `a`, `crd` valid for `n` reads, `x` for a read at each `crd[p]`.
#[inline(always)]
unsafe fn gather_dot<S: Summed, I: Index>(
    a: *const S::Lane,
    crd: *const I,
    x: *const S::Lane,
    n: usize,
) -> S::Lane {
    prefetch_ahead::<TO_L1, _>(a);
    prefetch_ahead::<TO_L1, _>(crd);
    // SAFETY: as said above.
    unsafe { S::row::<TO_L1, false, I>(a, crd, x, n, n) }
}

/// The kind of the rows of a matrix, which decides how they are summed.
enum Kind {
    /// The second cache holds the entries.
    Close,
    /// Dense blocks.
    Blocks,
    /// Elements of `x` lie far apart.
    Far,
    /// Rows of many lengths.
    Uneven,
    /// None of these.
    Plain,
}

/// The kind of rows `lo..hi`. `pos` is valid for reads at `lo..=hi`, and ascending there, `crd` at
/// `pos[lo]..pos[hi]`.
#[inline(always)]
unsafe fn kind<S: Summed, const ISO: bool, P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    lo: isize,
    hi: isize,
) -> Kind {
    // SAFETY: as said above.
    unsafe {
        // Bytes from the first entry of the matrix, not of row `lo`: where one product takes several calls,
        // the branch predictor sees all rows in turn, and learns none.
        let bytes = if ISO { 0 } else { size_of::<S::Lane>() } + size_of::<I>();
        let close = (*pos.offset(hi)).get().saturating_mul(bytes as isize) <= GATHER_NEAR_BYTES;
        if close && hi - lo <= GATHER_PREDICTED_ROWS {
            Kind::Close
        } else if S::HAS_KINDS && in_blocks::<P, I>(pos, crd, lo, hi) {
            Kind::Blocks
        } else if S::HAS_FAR && far::<P, I>(pos, crd, size_of::<S::Lane>(), lo, hi) {
            Kind::Far
        } else if S::HAS_KINDS && uneven(pos, lo, hi) {
            Kind::Uneven
        } else if close {
            Kind::Close
        } else {
            Kind::Plain
        }
    }
}

/// Sums rows `lo..hi` and calls `put` with the number and the sum of each. `pos` is valid for reads at
/// `lo..=hi`, and ascending there, `a` and `crd` for reads at `pos[lo]..pos[hi]`, `x` for a read at each
/// `crd[p]`. `ISO` as of [`Summed::row`].
#[inline(always)]
unsafe fn each<S: Summed, const PREFETCH: u8, const ISO: bool, P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    a: *const S::Lane,
    x: *const S::Lane,
    lo: isize,
    hi: isize,
    put: impl Fn(isize, S::Lane),
) {
    // SAFETY: as said above.
    unsafe {
        let mut begin = (*pos.offset(lo)).get();
        let last = (*pos.offset(hi)).get();
        for i in lo..hi {
            let end = (*pos.offset(i + 1)).get();
            let n = end.saturating_sub(begin).max(0) as usize;
            let room = last.saturating_sub(begin).max(0) as usize;
            let (a, crd) = (if ISO { a } else { a.offset(begin) }, crd.offset(begin));
            if !ISO {
                prefetch_ahead::<PREFETCH, _>(a);
            }
            prefetch_ahead::<PREFETCH, _>(crd);
            put(i, S::row::<PREFETCH, ISO, I>(a, crd, x, n, room));
            begin = end;
        }
    }
}

/// The kernels of rows that are summed exactly.
pub(super) fn exact(wanted: Loop, dtype: Dtype) -> Option<usize> {
    match (wanted, dtype) {
        (Loop::Rows(..) | Loop::IsoRows(..), Dtype::F32) => {
            portable::address::<InOrder<f32>>(wanted)
        }
        (Loop::Rows(..) | Loop::IsoRows(..), Dtype::F64) => {
            portable::address::<InOrder<f64>>(wanted)
        }
        _ => None,
    }
}

/// Kernels for an instruction set. SAFETY of all: as said of the function that is called, and
/// the machine has the instructions.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            /// The kernels of rows.
            pub(in super::super) fn fast(wanted: Loop, dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => address::<$single>(wanted),
                    Dtype::F64 => address::<$double>(wanted),
                    _ => None,
                }
            }

            pub(super) fn address<S: Summed>(wanted: Loop) -> Option<usize> {
                use IndexKind::{I32, I64, U8, U16, U32, U64};
                Some(match wanted {
                    Loop::GatherDot(U8) => one::<S, u8> as *const () as usize,
                    Loop::GatherDot(U16) => one::<S, u16> as *const () as usize,
                    Loop::GatherDot(U32) => one::<S, u32> as *const () as usize,
                    Loop::GatherDot(I32) => one::<S, i32> as *const () as usize,
                    Loop::GatherDot(U64 | I64) => one::<S, i64> as *const () as usize,
                    Loop::Rows(U32, U8) => all::<S, u32, u8> as *const () as usize,
                    Loop::Rows(U32, U16) => all::<S, u32, u16> as *const () as usize,
                    Loop::Rows(U32, U32) => all::<S, u32, u32> as *const () as usize,
                    Loop::Rows(I32, I32) => all::<S, i32, i32> as *const () as usize,
                    Loop::Rows(U64 | I64, U64 | I64) => all::<S, i64, i64> as *const () as usize,
                    Loop::IsoRows(U32, U8) => iso::<S, u32, u8> as *const () as usize,
                    Loop::IsoRows(U32, U16) => iso::<S, u32, u16> as *const () as usize,
                    Loop::IsoRows(U32, U32) => iso::<S, u32, u32> as *const () as usize,
                    Loop::IsoRows(I32, I32) => iso::<S, i32, i32> as *const () as usize,
                    Loop::IsoRows(U64 | I64, U64 | I64) => iso::<S, i64, i64> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn one<S: Summed, I: Index>(
                a: *const S::Lane,
                crd: *const I,
                x: *const S::Lane,
                n: usize,
            ) -> S::Lane {
                // SAFETY: as said above.
                unsafe { gather_dot::<S, I>(a, crd, x, n) }
            }

            /// As of [`each`]. `places` is null, or valid for reads at `lo..hi`. `out` is valid for writes at
            /// `lo..hi`, or at each place. Nothing overlaps `out`.
            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn all<S: Summed, P: Index, I: Index>(
                pos: *const P,
                crd: *const I,
                a: *const S::Lane,
                x: *const S::Lane,
                out: *mut S::Lane,
                lo: isize,
                hi: isize,
                places: *const P,
            ) {
                // SAFETY: as said above.
                unsafe { by_kind::<S, false, P, I>(pos, crd, a, x, out, lo, hi, places) }
            }

            /// As [`all`], where all entries have the value `*a`.
            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn iso<S: Summed, P: Index, I: Index>(
                pos: *const P,
                crd: *const I,
                a: *const S::Lane,
                x: *const S::Lane,
                out: *mut S::Lane,
                lo: isize,
                hi: isize,
                places: *const P,
            ) {
                // SAFETY: as said above.
                unsafe {
                    let copies = [*a; COPIES];
                    by_kind::<S, true, P, I>(pos, crd, copies.as_ptr(), x, out, lo, hi, places);
                }
            }

            /// As [`all`], with the method for the kind of the rows.
            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe fn by_kind<S: Summed, const ISO: bool, P: Index, I: Index>(
                pos: *const P,
                crd: *const I,
                a: *const S::Lane,
                x: *const S::Lane,
                out: *mut S::Lane,
                lo: isize,
                hi: isize,
                places: *const P,
            ) {
                macro_rules! part {
                    ($method:ty, $prefetch:ident) => {
                        part::<$method, $prefetch, ISO, P, I>(pos, crd, a, x, out, lo, hi, places)
                    };
                }
                // SAFETY: as said above.
                unsafe {
                    match kind::<S, ISO, P, I>(pos, crd, lo, hi) {
                        Kind::Close => part!(S, NO_PREFETCH),
                        Kind::Blocks => part!(S::Blocks, TO_L1),
                        Kind::Far => part!(S::Far, TO_L1),
                        Kind::Uneven => part!(S::Uneven, TO_L1),
                        Kind::Plain => part!(S, TO_L1),
                    }
                }
            }

            /// As [`all`], with one method: a function of its own, whose loop has all registers. (It has the
            /// ABI of its caller, or the compiler would inline it all the same.)
            $(#[target_feature(enable = $features)])?
            #[inline(never)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn part<S: Summed, const PREFETCH: u8, const ISO: bool, P: Index, I: Index>(
                pos: *const P,
                crd: *const I,
                a: *const S::Lane,
                x: *const S::Lane,
                out: *mut S::Lane,
                lo: isize,
                hi: isize,
                places: *const P,
            ) {
                // SAFETY: as said above.
                unsafe {
                    if places.is_null() {
                        let put = |i, sum| *out.offset(i) = sum;
                        each::<S, PREFETCH, ISO, P, I>(pos, crd, a, x, lo, hi, put);
                    } else {
                        let put = |i, sum| *out.offset((*places.offset(i)).get()) = sum;
                        each::<S, PREFETCH, ISO, P, I>(pos, crd, a, x, lo, hi, put);
                    }
                }
            }
        }
    };
}
kernels!(portable, ByFours<[f32; 4], ANY>, ByFours<[f64; 2], ANY>);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, ByFours<std::arch::x86_64::__m256, ANY>, ByFours<std::arch::x86_64::__m256d, ANY>, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(
    far,
    ByFoursOrEights<std::arch::x86_64::__m256>,
    ByFoursOrEights<std::arch::x86_64::__m256d>,
    "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma"
);
#[cfg(target_arch = "x86_64")]
kernels!(always, ByEights<f32>, ByEights<f64>, "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma");
