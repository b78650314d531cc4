//! A 2:4 structured matrix times a vector or a dense matrix: of each group of four adjacent columns in a
//! row, two values are stored. A vector register holds the values of several groups, and a permutation puts
//! the element of `x` for each of them beside it.

use std::arch::x86_64::*;
use std::array::from_fn;
use std::fmt::Debug;
use std::ops::{Add, Mul, Range};

use bytemuck::NoUninit;

use super::panel::{self, Columns, Dense, Rows, add_to};
use super::tuning::{GROUPS_NEAR_BYTES, GROUPS_ROWS, PREFETCH_DISTANCE};
use super::vector::{self, Vector, instruction_set, prefetch, prefetch_ahead_l2};

/// A matrix of groups, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a, T, C> {
    /// The column of each value within its group, `0..4`.
    pub crd: &'a [C],
    /// Two values for each group.
    pub values: &'a [T],
}

/// Four coordinates in a byte, the first in the lowest bits.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Packed(u8);

impl Packed {
    /// Views bytes as packed coordinates.
    pub fn of(bytes: &[u8]) -> &[Self] {
        bytemuck::cast_slice(bytes)
    }
}

/// An element of a coordinate array, which holds one or more coordinates.
///
/// # Safety
/// Unsafe methods are called only where the machine has AVX2, with pointers that are valid for reads of
/// as many coordinates as the result has.
// The trait states the safety of all methods.
#[allow(clippy::missing_safety_doc)]
pub trait Coordinates: NoUninit + Debug {
    /// Coordinates in an element.
    const HELD: usize;
    /// Coordinate `at` of an element.
    fn one(self, at: usize) -> usize;
    /// Eight coordinates, each in 32 bits.
    unsafe fn eight(from: *const Self) -> __m256i;
    /// Four coordinates `c` as pairs of 32-bit lanes `2 c`, `2 c + 1`: a permutation of 64-bit numbers in
    /// terms of 32-bit lanes.
    unsafe fn four(from: *const Self) -> __m256i;
}

/// The pairs of 32-bit lanes `2 c`, `2 c + 1`, for coordinates `c` of 64 bits.
#[inline(always)]
unsafe fn words(within: __m256i) -> __m256i {
    // SAFETY: as the trait says, here and below.
    unsafe {
        let word = _mm256_add_epi64(within, within);
        let both = _mm256_or_si256(word, _mm256_slli_epi64::<32>(word));
        _mm256_add_epi64(both, _mm256_set1_epi64x(1 << 32))
    }
}

impl Coordinates for Packed {
    const HELD: usize = 4;

    #[inline(always)]
    fn one(self, at: usize) -> usize {
        usize::from(self.0 >> (at * 2) & 3)
    }

    #[inline(always)]
    unsafe fn eight(from: *const Self) -> __m256i {
        unsafe {
            let both = i32::from(from.cast::<u16>().read_unaligned().to_le());
            let each = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
            let moved = _mm256_srlv_epi32(_mm256_set1_epi32(both), each);
            _mm256_and_si256(moved, _mm256_set1_epi32(3))
        }
    }

    #[inline(always)]
    unsafe fn four(from: *const Self) -> __m256i {
        unsafe { _mm256_load_si256(WORDS.0[usize::from((*from).0)].as_ptr().cast()) }
    }
}

macro_rules! whole {
    ($($ty:ty: $eight:expr, $four:expr;)*) => {$(
        impl Coordinates for $ty {
            const HELD: usize = 1;

            #[inline(always)]
            fn one(self, _: usize) -> usize {
                self as usize
            }

            #[inline(always)]
            unsafe fn eight(from: *const Self) -> __m256i {
                unsafe { ($eight)(from) }
            }

            #[inline(always)]
            unsafe fn four(from: *const Self) -> __m256i {
                unsafe { words(($four)(from)) }
            }
        }
    )*};
}

whole! {
    u8: |from: *const u8| _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast())),
        |from: *const u8| _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(from.cast::<i32>().read_unaligned()));
    u16: |from: *const u16| _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast())),
        |from: *const u16| _mm256_cvtepu16_epi64(_mm_loadl_epi64(from.cast()));
    u32: |from: *const u32| _mm256_loadu_si256(from.cast()),
        |from: *const u32| _mm256_cvtepu32_epi64(_mm_loadu_si128(from.cast()));
    u64: |from: *const u64| {
            let low = |at: usize| {
                let all = _mm256_loadu_si256(from.add(at).cast());
                _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6))
            };
            _mm256_blend_epi32::<0b1111_0000>(low(0), low(4))
        },
        |from: *const u64| _mm256_loadu_si256(from.cast());
}

/// Whether this machine has the instructions for [`Groups::times`].
pub fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// The type of the values of groups.
///
/// # Safety
/// Methods are called only where the machine has AVX2 and FMA.
// The trait states the safety of all methods.
#[allow(clippy::missing_safety_doc)]
pub trait Number: Copy + Default + Add<Output = Self> + Mul<Output = Self> {
    /// A vector of sums.
    type Sums: Copy;
    /// Groups whose values fill a vector.
    const GROUPS: usize;
    /// A vector of zeros.
    unsafe fn zero() -> Self::Sums;
    /// Adds the products of a vector of `values` with the elements of `x` at `crd`. All three are valid for
    /// reads of [`Number::GROUPS`] groups.
    unsafe fn plus<C: Coordinates>(
        sums: Self::Sums,
        crd: *const C,
        values: *const Self,
        x: *const Self,
    ) -> Self::Sums;
    /// The sum of all lanes of two vectors.
    unsafe fn total(first: Self::Sums, second: Self::Sums) -> Self;
}

impl Number for f32 {
    type Sums = __m256;
    const GROUPS: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> __m256 {
        unsafe { _mm256_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn plus<C: Coordinates>(
        sums: __m256,
        crd: *const C,
        values: *const f32,
        x: *const f32,
    ) -> __m256 {
        unsafe {
            // The second group of each vector of `x` begins at its fifth number.
            let at = _mm256_add_epi32(C::eight(crd), _mm256_setr_epi32(0, 0, 4, 4, 0, 0, 4, 4));
            let low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(x), at);
            let high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(x.add(8)), at);
            let x = _mm256_blend_ps::<0b1111_0000>(low, high);
            _mm256_fmadd_ps(_mm256_loadu_ps(values), x, sums)
        }
    }

    #[inline(always)]
    unsafe fn total(first: __m256, second: __m256) -> f32 {
        unsafe {
            let all = _mm256_add_ps(first, second);
            let four = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps::<1>(all));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
}

/// For each byte of packed coordinates, the result of [`Coordinates::four`].
#[repr(align(32))]
struct Words([[u32; 8]; 256]);

static WORDS: Words = {
    let mut words = [[0; 8]; 256];
    let mut at = 0;
    while at < 256 * 8 {
        let (byte, word) = (at / 8, at % 8);
        words[byte][word] = ((byte >> (word / 2 * 2)) & 3) as u32 * 2 + (word % 2) as u32;
        at += 1;
    }
    Words(words)
};

impl Number for f64 {
    type Sums = __m256d;
    const GROUPS: usize = 2;

    #[inline(always)]
    unsafe fn zero() -> __m256d {
        unsafe { _mm256_setzero_pd() }
    }

    #[inline(always)]
    unsafe fn plus<C: Coordinates>(
        sums: __m256d,
        crd: *const C,
        values: *const f64,
        x: *const f64,
    ) -> __m256d {
        unsafe {
            let at = C::four(crd);
            let taken = |x: *const f64| {
                let x = _mm256_castpd_ps(_mm256_loadu_pd(x));
                _mm256_castps_pd(_mm256_permutevar8x32_ps(x, at))
            };
            let x = _mm256_blend_pd::<0b1100>(taken(x), taken(x.add(4)));
            _mm256_fmadd_pd(_mm256_loadu_pd(values), x, sums)
        }
    }

    #[inline(always)]
    unsafe fn total(first: __m256d, second: __m256d) -> f64 {
        unsafe {
            let all = _mm256_add_pd(first, second);
            let two = _mm_add_pd(_mm256_castpd256_pd128(all), _mm256_extractf128_pd::<1>(all));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        }
    }
}

impl<T: Number, C: Coordinates> Groups<'_, T, C> {
    /// Adds the products of `rows` with `x` to `y`, whose first element belongs to the first of these rows.
    ///
    /// # Panics
    /// Where the machine lacks the instructions, or there are fewer values or coordinates than the
    /// rows have.
    pub fn times(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        assert!(available(), "offered only where the machine has the instructions");
        let stored = rows.end * 2 * x.len().div_ceil(4);
        let held = self.crd.len() * C::HELD;
        assert!(stored <= held && stored <= self.values.len(), "two for each group");
        // SAFETY: the machine has the instructions; the arrays hold the rows.
        unsafe { self.rows(rows, x, y) }
    }

    /// # Safety
    /// The machine has the instructions, and `crd` and the values hold all of these rows.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn rows(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        let mut row = rows.start;
        let aligned = (2 * x.len().div_ceil(4)).is_multiple_of(C::HELD);
        let (many, few) = match aligned && size_of_val(x) > GROUPS_NEAR_BYTES {
            true => y.as_chunks_mut::<GROUPS_ROWS>(),
            false => (&mut [][..], y),
        };
        // SAFETY: as the caller says; where several rows are processed together, each begins with an
        // element of `crd`.
        unsafe {
            for y in many {
                self.together(row, x, y);
                row += GROUPS_ROWS;
            }
            for y in few {
                self.together(row, x, std::array::from_mut(y));
                row += 1;
            }
        }
    }

    /// Adds the products of `N` rows from `row` on, for which `x` is read once.
    ///
    /// # Safety
    /// As of [`Groups::rows`]. If `N` is not 1, each row begins with an element of `crd`.
    #[inline(always)]
    unsafe fn together<const N: usize>(&self, row: usize, x: &[T], y: &mut [T; N]) {
        let (groups, whole) = (x.len().div_ceil(4), x.len() / 4);
        let one = |p: usize| self.crd[p / C::HELD].one(p % C::HELD);
        let firsts: [usize; N] = from_fn(|at| 2 * groups * (row + at));
        let single = |group: usize, y: &mut [T; N]| {
            for (first, y) in firsts.iter().zip(y) {
                for p in first + 2 * group..first + 2 * group + 2 {
                    // In a cut group, padding may stand behind the last column.
                    if let Some(&x) = x.get(4 * group + one(p)) {
                        *y = *y + self.values[p] * x;
                    }
                }
            }
        };
        let mut group = 0;
        // A vector of packed coordinates begins with an element of `crd`.
        if !firsts[0].is_multiple_of(C::HELD) && group < groups {
            single(group, y);
            group += 1;
        }
        // SAFETY: as the caller says; `x` holds four numbers for each whole group.
        unsafe {
            let mut sums = [[T::zero(); 2]; N];
            while group + 2 * T::GROUPS <= whole {
                for half in 0..2 {
                    let group = group + half * T::GROUPS;
                    let x = x.as_ptr().add(4 * group);
                    for (first, sums) in firsts.iter().zip(&mut sums) {
                        let p = first + 2 * group;
                        let crd = self.crd.as_ptr().add(p / C::HELD);
                        let values = self.values.as_ptr().add(p);
                        prefetch_ahead_l2(values);
                        prefetch(crd.wrapping_add(PREFETCH_DISTANCE / size_of::<T>() / C::HELD));
                        sums[half] = T::plus(sums[half], crd, values, x);
                    }
                }
                group += 2 * T::GROUPS;
            }
            (group..groups).for_each(|group| single(group, y));
            for (y, sums) in y.iter_mut().zip(sums) {
                *y = *y + T::total(sums[0], sums[1]);
            }
        }
    }
}

/// Coordinates within groups, read one by one: packed, or the first bytes of integers of any width, so that
/// rows times a dense matrix are compiled for two types, not for five.
#[derive(Clone, Copy)]
struct Bytes<'a, const PACKED: bool> {
    bytes: &'a [u8],
    /// The logarithm of the bytes of an integer.
    width: u32,
}

impl<const PACKED: bool> Bytes<'_, PACKED> {
    /// Coordinate `p`, `0..4`.
    ///
    /// # Safety
    /// There is a coordinate `p`.
    #[inline(always)]
    unsafe fn get(&self, p: usize) -> usize {
        // SAFETY: as the caller says.
        let byte = |at: usize| unsafe { *self.bytes.get_unchecked(at) };
        usize::from(match PACKED {
            true => byte(p / 4) >> (2 * (p % 4)) & 3,
            // The first byte is the lowest one.
            false => byte(p << self.width) & 3,
        })
    }
}

/// Rows of groups, from row `first` on.
#[derive(Clone, Copy)]
struct Below<'a, T, const PACKED: bool> {
    crd: Bytes<'a, PACKED>,
    values: &'a [T],
    first: usize,
    columns: usize,
}

impl<T: vector::Number, const PACKED: bool> Rows<T> for Below<'_, T, PACKED> {
    #[inline(always)]
    unsafe fn add<V: Vector<Lane = T>, const R: usize, const W: usize, const CUT: bool>(
        self,
        row: usize,
        b: &Columns<'_, T>,
        sums: &mut [[V; W]; R],
    ) {
        let Self { crd, values, first, columns } = self;
        let groups = columns.div_ceil(4);
        let row = first + row;
        for group in 0..groups {
            for (r, sums) in sums.iter_mut().enumerate() {
                let p = 2 * ((row + r) * groups + group);
                for p in p..p + 2 {
                    // SAFETY: as the caller says; each group has two values. In a cut group, padding may
                    // stand behind the last column.
                    unsafe {
                        let column = 4 * group + crd.get(p);
                        if column < columns {
                            add_to(sums, *values.get_unchecked(p), &b.row::<V, W, CUT>(column));
                        }
                    }
                }
            }
        }
    }
}

impl<T: vector::Number, C: Coordinates> Groups<'_, T, C> {
    /// Adds the products of `rows` with `b` to `c`, whose first row belongs to the first of these.
    ///
    /// # Panics
    /// Where there are fewer values or coordinates than the rows have, or `c` has more rows.
    pub fn times_dense(&self, rows: Range<usize>, b: Dense<'_, T>, c: &mut [T]) {
        let (columns, first) = (b.rows(), rows.start);
        let stored = rows.end * 2 * columns.div_ceil(4);
        let held = self.crd.len() * C::HELD;
        assert!(stored <= held && stored <= self.values.len(), "two for each group");
        assert!(c.len() <= rows.len() * b.width, "the result has these rows alone");
        let (values, set) = (self.values, instruction_set());
        let (bytes, width) = (bytemuck::cast_slice(self.crd), size_of::<C>().ilog2());
        match C::HELD {
            1 => {
                let crd = Bytes::<false> { bytes, width };
                panel::times(set, Below { crd, values, first, columns }, b, c);
            }
            _ => {
                let crd = Bytes::<true> { bytes, width };
                panel::times(set, Below { crd, values, first, columns }, b, c);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! case {
        ($name:ident, $ty:ty) => {
            #[test]
            fn $name() {
                if !available() {
                    println!("skipped: this machine has no AVX2");
                    return;
                }
                // The last ones are too wide for the first cache, with even and odd numbers of groups.
                for columns in (0..75_usize).chain(7004..7009) {
                    let (rows, groups) = (2 + GROUPS_ROWS + 1, columns.div_ceil(4));
                    let stored = 2 * groups * rows;
                    // Ascending pairs, in an order that repeats after 7.
                    let pairs = [[0, 1], [2, 3], [1, 2], [0, 3], [1, 3], [0, 2], [2, 3]];
                    let bytes: Vec<u8> =
                        (0..stored).map(|p| pairs[p / 2 % pairs.len()][p % 2]).collect();
                    let packed = bytes
                        .chunks(4)
                        .map(|four| Packed(four.iter().rev().fold(0, |byte, c| byte << 2 | c)));
                    let values: Vec<$ty> = (0..stored).map(|p| (p % 13) as $ty - 4.0).collect();
                    let x: Vec<$ty> = (0..columns).map(|at| (at % 7) as $ty + 1.0).collect();
                    let mut expected = vec![0.5; rows];
                    for p in 0..stored {
                        let group = p / 2;
                        let j = group % groups * 4 + usize::from(bytes[p]);
                        if j < columns {
                            expected[group / groups] += values[p] * x[j];
                        }
                    }
                    fn agrees<C: Coordinates>(
                        crd: impl IntoIterator<Item = C>,
                        (values, x, expected): (&[$ty], &[$ty], &[$ty]),
                    ) {
                        let crd: Vec<C> = crd.into_iter().collect();
                        let matrix = Groups { crd: &crd[..], values };
                        let mut y = vec![0.5; expected.len()];
                        let (above, below) = y.split_at_mut(2);
                        matrix.times(0..2, x, above);
                        matrix.times(2..expected.len(), x, below);
                        // Small integers and a half: sums are exact in any order.
                        assert_eq!(y, expected, "{} columns, {crd:?}", x.len());
                    }
                    let case = (&values[..], &x[..], &expected[..]);
                    agrees(packed, case);
                    agrees(bytes.iter().copied(), case);
                    agrees(bytes.iter().map(|&crd| u16::from(crd)), case);
                    agrees(bytes.iter().map(|&crd| u32::from(crd)), case);
                    agrees(bytes.iter().map(|&crd| u64::from(crd)), case);
                }
            }
        };
    }
    case!(single_numbers, f32);
    case!(double_numbers, f64);
}
