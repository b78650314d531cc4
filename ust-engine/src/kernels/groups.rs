//! Groups of four neighbours in a row, of which two are stored, times a vector: what is stored of
//! several groups is multiplied at once with what a permutation takes from `x`.

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Range};

use super::vector::{AHEAD, ask, prefetch};

/// A matrix of groups, row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a, T> {
    /// Where in its group each value stands, `0..4`.
    pub(crate) crd: Coordinates<'a>,
    /// Two for each group.
    pub(crate) values: &'a [T],
}

/// Coordinates in two widths.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coordinates<'a> {
    /// Four to a byte, the first in the lowest bits.
    Packed(&'a [u8]),
    /// One to a byte.
    Bytes(&'a [u8]),
}

/// Whether this machine has the instructions.
pub(crate) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// A number that groups hold.
///
/// # Safety
/// Methods are called only where the machine has AVX2 and FMA.
pub(crate) trait Number: Copy + Default + Add<Output = Self> + Mul<Output = Self> {
    /// A vector of them.
    type Sums: Copy;
    /// Groups whose values are a vector.
    const GROUPS: usize;
    unsafe fn zero() -> Self::Sums;
    /// Adds the products of a vector of `values` with what `crd` names in `x`, which are valid for
    /// reads of [`Number::GROUPS`] groups.
    unsafe fn plus<const PACKED: bool>(
        sums: Self::Sums,
        crd: *const u8,
        values: *const Self,
        x: *const Self,
    ) -> Self::Sums;
    unsafe fn total(first: Self::Sums, second: Self::Sums) -> Self;
}

impl Number for f32 {
    type Sums = __m256;
    const GROUPS: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> __m256 {
        // SAFETY: as the trait says, here and below.
        unsafe { _mm256_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn plus<const PACKED: bool>(
        sums: __m256,
        crd: *const u8,
        values: *const f32,
        x: *const f32,
    ) -> __m256 {
        unsafe {
            let within = if PACKED {
                let both = i32::from(crd.cast::<u16>().read_unaligned().to_le());
                let each = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
                let moved = _mm256_srlv_epi32(_mm256_set1_epi32(both), each);
                _mm256_and_si256(moved, _mm256_set1_epi32(3))
            } else {
                _mm256_cvtepu8_epi32(_mm_loadl_epi64(crd.cast()))
            };
            // The second group of each vector of `x` begins at its fifth number.
            let at = _mm256_add_epi32(within, _mm256_setr_epi32(0, 0, 4, 4, 0, 0, 4, 4));
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

/// For each byte of packed coordinates, the words of 32 bits that the four numbers are.
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
    unsafe fn plus<const PACKED: bool>(
        sums: __m256d,
        crd: *const u8,
        values: *const f64,
        x: *const f64,
    ) -> __m256d {
        unsafe {
            let at = if PACKED {
                _mm256_load_si256(WORDS.0[usize::from(*crd)].as_ptr().cast())
            } else {
                let crd = _mm_cvtsi32_si128(crd.cast::<i32>().read_unaligned());
                let within = _mm256_cvtepu8_epi64(crd);
                // Each number is two words of 32 bits.
                let word = _mm256_add_epi64(within, within);
                let both = _mm256_or_si256(word, _mm256_slli_epi64::<32>(word));
                _mm256_add_epi64(both, _mm256_set1_epi64x(1 << 32))
            };
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

impl<T: Number> Groups<'_, T> {
    /// Adds the products of some rows with `x` to `y`, which begins with the first of them.
    ///
    /// # Panics
    /// Where the machine lacks the instructions, or there are fewer values or coordinates than the
    /// rows have.
    pub(crate) fn times(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        assert!(available(), "offered only where the machine has the instructions");
        let stored = rows.end * 2 * x.len().div_ceil(4);
        let held = match self.crd {
            Coordinates::Packed(bytes) => 4 * bytes.len(),
            Coordinates::Bytes(bytes) => bytes.len(),
        };
        assert!(stored <= held && stored <= self.values.len(), "two for each group");
        // SAFETY: the machine has the instructions; the arrays hold the rows.
        unsafe {
            match self.crd {
                Coordinates::Packed(crd) => self.rows::<true>(crd, rows, x, y),
                Coordinates::Bytes(crd) => self.rows::<false>(crd, rows, x, y),
            }
        }
    }

    /// # Safety
    /// The machine has the instructions, and `crd` and the values hold all of these rows.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn rows<const PACKED: bool>(
        &self,
        crd: &[u8],
        rows: Range<usize>,
        x: &[T],
        y: &mut [T],
    ) {
        let (groups, whole) = (x.len().div_ceil(4), x.len() / 4);
        let one = |p: usize| match PACKED {
            true => usize::from(crd[p / 4] >> (p % 4 * 2) & 3),
            false => usize::from(crd[p]),
        };
        for (row, y) in rows.zip(y) {
            let mut sum = T::default();
            let first = 2 * groups * row;
            let mut single = |group: usize| {
                for p in first + 2 * group..first + 2 * group + 2 {
                    // At the border, padding may stand outside.
                    if let Some(&x) = x.get(4 * group + one(p)) {
                        sum = sum + self.values[p] * x;
                    }
                }
            };
            let mut group = 0;
            // Vectors of packed coordinates begin with a byte.
            if PACKED && !first.is_multiple_of(4) && group < groups {
                single(group);
                group += 1;
            }
            // SAFETY: as the caller says; `x` holds four numbers for each whole group.
            unsafe {
                let mut sums = [T::zero(); 2];
                let step = |group: usize, sums: T::Sums| {
                    let p = first + 2 * group;
                    let crd = crd.as_ptr().add(if PACKED { p / 4 } else { p });
                    let (values, x) = (self.values.as_ptr().add(p), x.as_ptr().add(4 * group));
                    ask(values);
                    prefetch(crd.wrapping_add(AHEAD / size_of::<T>()));
                    T::plus::<PACKED>(sums, crd, values, x)
                };
                while group + 2 * T::GROUPS <= whole {
                    sums[0] = step(group, sums[0]);
                    sums[1] = step(group + T::GROUPS, sums[1]);
                    group += 2 * T::GROUPS;
                }
                (group..groups).for_each(&mut single);
                *y = *y + sum + T::total(sums[0], sums[1]);
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
                for columns in 0..75_usize {
                    let (rows, groups) = (5, columns.div_ceil(4));
                    let stored = 2 * groups * rows;
                    // Ascending pairs, in an order that repeats after 7.
                    let pairs = [[0, 1], [2, 3], [1, 2], [0, 3], [1, 3], [0, 2], [2, 3]];
                    let bytes: Vec<u8> =
                        (0..stored).map(|p| pairs[p / 2 % pairs.len()][p % 2]).collect();
                    let packed: Vec<u8> = bytes
                        .chunks(4)
                        .map(|four| four.iter().rev().fold(0, |byte, c| byte << 2 | c))
                        .collect();
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
                    for crd in [Coordinates::Packed(&packed), Coordinates::Bytes(&bytes)] {
                        let matrix = Groups { crd, values: &values };
                        let mut y = vec![0.5; rows];
                        let (above, below) = y.split_at_mut(2);
                        matrix.times(0..2, &x, above);
                        matrix.times(2..rows, &x, below);
                        // Small integers and a half: sums are exact in any order.
                        assert_eq!(y, expected, "{columns} columns, {crd:?}");
                    }
                }
            }
        };
    }
    case!(single_numbers, f32);
    case!(double_numbers, f64);
}
