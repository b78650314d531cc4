//! Which instructions this machine has, and the vectors of each set of them behind one trait.
//!
//! Methods are always inlined into functions that enable the instruction set, so that no vector is
//! ever passed in memory.

/// The sets of instructions that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The best set that this machine has. Cost after the first call: a few loads.
pub(super) fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
            return Level::Avx512;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Level::Avx2;
        }
    }
    Level::Portable
}

/// All sets that this machine has.
#[cfg(test)]
pub(super) fn levels() -> Vec<Level> {
    let mut levels = vec![Level::Portable];
    #[cfg(target_arch = "x86_64")]
    {
        if level() != Level::Portable {
            levels.push(Level::Avx2);
        }
        if level() == Level::Avx512 {
            levels.push(Level::Avx512);
        }
    }
    assert!(levels.contains(&level()));
    levels
}

/// A vector of `N` numbers.
///
/// # Safety
/// Every method is called only where the machine has the instructions of the vector, and pointers
/// are valid for `N` elements.
pub(crate) trait Vector: Copy {
    /// What it holds.
    type Lane: Real;
    /// As many.
    const N: usize;
    /// Whether [`Vector::gather`] is worth it for numbers in a large cache. Narrow ones lose to
    /// single loads everywhere.
    const GATHERS: bool;
    /// Four of these numbers.
    type Four: Four<Lane = Self::Lane>;
    /// For each number of a vector, which number of another it is to be.
    type Places: Copy;
    unsafe fn splat(value: Self::Lane) -> Self;
    unsafe fn load(from: *const Self::Lane) -> Self;
    unsafe fn store(self, to: *mut Self::Lane);
    /// The first `C` numbers from `from` on, again and again. `C` divides `N`, and only so many are
    /// read.
    unsafe fn repeat<const C: usize>(from: *const Self::Lane) -> Self;
    /// `a * b + self`, rounded once where `FUSED` and the machine can.
    unsafe fn plus<const FUSED: bool>(self, a: Self, b: Self) -> Self;
    /// The first `n` numbers from `from` on, of which only so many are read, and zeros. `n` is at
    /// most `N`.
    unsafe fn first(from: *const Self::Lane, n: usize) -> Self;
    /// Of numbers below `N`, as many.
    unsafe fn places(of: [u8; 16]) -> Self::Places;
    unsafe fn pick(self, places: Self::Places) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The sums of neighbours: of the first and second number of `self`, the third and fourth, and
    /// so on, then those of `other`.
    unsafe fn pairs(self, other: Self) -> Self;
    unsafe fn times(self, other: Self) -> Self;
    /// The numbers of `from` at the `N` indices from `crd` on, by an instruction for it where the
    /// machine has one.
    unsafe fn gather<I: Index>(from: *const Self::Lane, crd: *const I) -> Self;
}

/// Four numbers, for which others are loaded one by one.
///
/// # Safety
/// As of [`Vector`].
pub(crate) trait Four: Copy {
    /// What it holds.
    type Lane: Real;
    unsafe fn zero() -> Self;
    /// `self + a[k] * x[crd[k]]`, for each of the four.
    unsafe fn plus_products<I: Index>(
        self,
        a: *const Self::Lane,
        crd: *const I,
        x: *const Self::Lane,
    ) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The first `n` of them, and zeros. `n` is at most four.
    unsafe fn first(self, n: usize) -> Self;
    /// The sum.
    unsafe fn total(self) -> Self::Lane;
}

/// An index as arrays hold it.
///
/// # Safety
/// As of [`Vector`].
pub(crate) trait Index: Copy {
    fn get(self) -> isize;
    /// Four indices, widened.
    #[cfg(target_arch = "x86_64")]
    unsafe fn four(crd: *const Self) -> std::arch::x86_64::__m256i;
    /// Eight indices, widened.
    #[cfg(target_arch = "x86_64")]
    unsafe fn eight(crd: *const Self) -> std::arch::x86_64::__m512i;
}

macro_rules! index {
    ($ty:ty, $four:expr, $eight:expr) => {
        impl Index for $ty {
            #[inline(always)]
            fn get(self) -> isize {
                self as isize
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn four(crd: *const Self) -> std::arch::x86_64::__m256i {
                use std::arch::x86_64::*;
                // SAFETY: as the trait says.
                unsafe { $four(crd.cast()) }
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn eight(crd: *const Self) -> std::arch::x86_64::__m512i {
                use std::arch::x86_64::*;
                // SAFETY: as the trait says.
                unsafe { $eight(crd.cast()) }
            }
        }
    };
}
index!(u32, |crd| _mm256_cvtepu32_epi64(_mm_loadu_si128(crd)), |crd| _mm512_cvtepu32_epi64(
    _mm256_loadu_si256(crd)
));
index!(i32, |crd| _mm256_cvtepi32_epi64(_mm_loadu_si128(crd)), |crd| _mm512_cvtepi32_epi64(
    _mm256_loadu_si256(crd)
));
index!(i64, |crd| _mm256_loadu_si256(crd), |crd| _mm512_loadu_si512(crd));

/// A number that vectors hold.
pub(crate) trait Real:
    Copy + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self>
{
    const ZERO: Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
}

impl Real for f64 {
    const ZERO: Self = 0.0;
}

macro_rules! array {
    ($ty:ty, $n:literal) => {
        impl Vector for [$ty; $n] {
            type Lane = $ty;
            const N: usize = $n;
            const GATHERS: bool = false;
            type Four = [$ty; 4];
            type Places = [u8; $n];
            #[inline(always)]
            unsafe fn splat(value: $ty) -> Self {
                [value; $n]
            }
            #[inline(always)]
            unsafe fn load(from: *const $ty) -> Self {
                // SAFETY: as the trait says.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $ty) {
                // SAFETY: as the trait says.
                unsafe { to.cast::<Self>().write_unaligned(self) }
            }
            #[inline(always)]
            unsafe fn repeat<const C: usize>(from: *const $ty) -> Self {
                // SAFETY: as the trait says.
                std::array::from_fn(|at| unsafe { *from.add(at % C) })
            }
            #[inline(always)]
            unsafe fn plus<const FUSED: bool>(mut self, a: Self, b: Self) -> Self {
                for at in 0..$n {
                    self[at] += a[at] * b[at];
                }
                self
            }
            #[inline(always)]
            unsafe fn add(mut self, other: Self) -> Self {
                for at in 0..$n {
                    self[at] += other[at];
                }
                self
            }
            #[inline(always)]
            unsafe fn first(from: *const $ty, n: usize) -> Self {
                // SAFETY: as the trait says.
                std::array::from_fn(|at| if at < n { unsafe { *from.add(at) } } else { 0.0 })
            }
            #[inline(always)]
            unsafe fn places(of: [u8; 16]) -> [u8; $n] {
                std::array::from_fn(|at| of[at])
            }
            #[inline(always)]
            unsafe fn pick(self, places: [u8; $n]) -> Self {
                places.map(|at| self[usize::from(at)])
            }
            #[inline(always)]
            unsafe fn pairs(self, other: Self) -> Self {
                let both = [self, other];
                let both = both.as_flattened();
                std::array::from_fn(|at| both[2 * at] + both[2 * at + 1])
            }
            #[inline(always)]
            unsafe fn times(mut self, other: Self) -> Self {
                for at in 0..$n {
                    self[at] *= other[at];
                }
                self
            }
            #[inline(always)]
            unsafe fn gather<I: Index>(from: *const $ty, crd: *const I) -> Self {
                // SAFETY: as the trait says.
                std::array::from_fn(|at| unsafe { *from.offset((*crd.add(at)).get()) })
            }
        }
    };
}
array!(f32, 4);
array!(f64, 2);

impl<T: Real> Four for [T; 4] {
    type Lane = T;
    #[inline(always)]
    unsafe fn zero() -> Self {
        [T::ZERO; 4]
    }
    #[inline(always)]
    unsafe fn plus_products<I: Index>(self, a: *const T, crd: *const I, x: *const T) -> Self {
        // SAFETY: as the trait says.
        let product = |k| unsafe { *a.add(k) * *x.offset((*crd.add(k)).get()) };
        std::array::from_fn(|k| self[k] + product(k))
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|k| self[k] + other[k])
    }
    #[inline(always)]
    unsafe fn first(self, n: usize) -> Self {
        std::array::from_fn(|k| if k < n { self[k] } else { T::ZERO })
    }
    #[inline(always)]
    unsafe fn total(self) -> T {
        let [a, b, c, d] = self;
        (a + c) + (b + d)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Four, Index, Vector};

    /// From the n-th number on, the first `4 - n` are all ones.
    static FIRST: [u64; 8] = [!0, !0, !0, !0, 0, 0, 0, 0];
    /// From the n-th number on, the first `8 - n` are all ones.
    static FIRST_OF_SINGLE: [u32; 16] = [!0, !0, !0, !0, !0, !0, !0, !0, 0, 0, 0, 0, 0, 0, 0, 0];

    impl Four for __m256d {
        type Lane = f64;
        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: as the trait says.
            unsafe { _mm256_setzero_pd() }
        }
        #[inline(always)]
        unsafe fn plus_products<I: Index>(
            self,
            a: *const f64,
            crd: *const I,
            x: *const f64,
        ) -> Self {
            // SAFETY: as the trait says.
            unsafe {
                let at = |k: usize| x.offset((*crd.add(k)).get());
                let low = _mm_loadh_pd(_mm_load_sd(at(0)), at(1));
                let high = _mm_loadh_pd(_mm_load_sd(at(2)), at(3));
                _mm256_fmadd_pd(_mm256_loadu_pd(a), _mm256_set_m128d(high, low), self)
            }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: as the trait says.
            unsafe { _mm256_add_pd(self, other) }
        }
        #[inline(always)]
        unsafe fn first(self, n: usize) -> Self {
            // SAFETY: as the trait says; `n` is at most four.
            unsafe { _mm256_and_pd(self, _mm256_loadu_pd(FIRST.as_ptr().add(4 - n).cast())) }
        }
        #[inline(always)]
        unsafe fn total(self) -> f64 {
            // SAFETY: as the trait says.
            unsafe {
                let high = _mm256_extractf128_pd::<1>(self);
                let pair = _mm_add_pd(_mm256_castpd256_pd128(self), high);
                _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
            }
        }
    }

    impl Four for __m128 {
        type Lane = f32;
        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: as the trait says.
            unsafe { _mm_setzero_ps() }
        }
        #[inline(always)]
        unsafe fn plus_products<I: Index>(
            self,
            a: *const f32,
            crd: *const I,
            x: *const f32,
        ) -> Self {
            // SAFETY: as the trait says.
            unsafe {
                let at = |k: usize| *x.offset((*crd.add(k)).get());
                _mm_fmadd_ps(_mm_loadu_ps(a), _mm_setr_ps(at(0), at(1), at(2), at(3)), self)
            }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: as the trait says.
            unsafe { _mm_add_ps(self, other) }
        }
        #[inline(always)]
        unsafe fn first(self, n: usize) -> Self {
            // SAFETY: as the trait says; `n` is at most four.
            unsafe { _mm_and_ps(self, _mm_loadu_ps(FIRST_OF_SINGLE.as_ptr().add(8 - n).cast())) }
        }
        #[inline(always)]
        unsafe fn total(self) -> f32 {
            // SAFETY: as the trait says.
            unsafe {
                let pair = _mm_add_ps(self, _mm_movehl_ps(self, self));
                _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps::<1>(pair, pair)))
            }
        }
    }

    macro_rules! vector {
        ($vector:ty, $four:ty, $ty:ty, $n:literal, $splat:ident, $load:ident, $store:ident, $fused:ident, $mul:ident, $add:ident, [$cast:ident, $ones:ident, $twos:ident, $fours:ident, $eights:expr], $pairs:expr, [$places:ty, $place:expr, $pick:expr, $first:expr], $gather:expr) => {
            // SAFETY in all methods: as the trait says.
            impl Vector for $vector {
                type Lane = $ty;
                const N: usize = $n;
                const GATHERS: bool = size_of::<Self>() == 64;
                type Four = $four;
                type Places = $places;
                #[inline(always)]
                unsafe fn splat(value: $ty) -> Self {
                    unsafe { $splat(value) }
                }
                #[inline(always)]
                unsafe fn load(from: *const $ty) -> Self {
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $ty) {
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn repeat<const C: usize>(from: *const $ty) -> Self {
                    unsafe {
                        // By its bytes, whatever they mean.
                        match C * size_of::<$ty>() {
                            4 => $cast($ones(from.cast::<i32>().read_unaligned())),
                            8 => $cast($twos(from.cast::<i64>().read_unaligned())),
                            16 => $cast($fours(_mm_loadu_si128(from.cast()))),
                            32 => $cast($eights(_mm256_loadu_si256(from.cast()))),
                            _ => $load(from),
                        }
                    }
                }
                #[inline(always)]
                unsafe fn plus<const FUSED: bool>(self, a: Self, b: Self) -> Self {
                    unsafe { if FUSED { $fused(a, b, self) } else { $add(self, $mul(a, b)) } }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn first(from: *const $ty, n: usize) -> Self {
                    unsafe { $first(from, n) }
                }
                #[inline(always)]
                unsafe fn places(of: [u8; 16]) -> $places {
                    unsafe {
                        let of = _mm_loadu_si128(of.as_ptr().cast());
                        $place(of)
                    }
                }
                #[inline(always)]
                unsafe fn pick(self, places: $places) -> Self {
                    unsafe { $pick(self, places) }
                }
                #[inline(always)]
                unsafe fn pairs(self, other: Self) -> Self {
                    unsafe { $pairs(self, other) }
                }
                #[inline(always)]
                unsafe fn times(self, other: Self) -> Self {
                    unsafe { $mul(self, other) }
                }
                #[inline(always)]
                unsafe fn gather<I: Index>(from: *const $ty, crd: *const I) -> Self {
                    unsafe { $gather(from, crd) }
                }
            }
        };
    }
    vector!(
        __m256d,
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_mul_pd,
        _mm256_add_pd,
        [
            _mm256_castsi256_pd,
            _mm256_set1_epi32,
            _mm256_set1_epi64x,
            _mm256_broadcastsi128_si256,
            |all| all
        ],
        // Sums stand in the order of the halves of both.
        |a, b| _mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_hadd_pd(a, b)),
        [
            __m256i,
            |of| {
                // Each number is two words of 32 bits.
                let word = _mm256_slli_epi64::<1>(_mm256_cvtepu8_epi64(of));
                let both = _mm256_or_si256(word, _mm256_slli_epi64::<32>(word));
                _mm256_add_epi64(both, _mm256_set1_epi64x(1 << 32))
            },
            |a, places| _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(a), places)),
            |from, n: usize| {
                let mask = _mm256_loadu_si256(FIRST.as_ptr().add(4 - n).cast());
                _mm256_maskload_pd(from, mask)
            }
        ],
        |from, crd| _mm256_i64gather_pd::<8>(from, I::four(crd))
    );
    vector!(
        __m256,
        __m128,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        _mm256_mul_ps,
        _mm256_add_ps,
        [
            _mm256_castsi256_ps,
            _mm256_set1_epi32,
            _mm256_set1_epi64x,
            _mm256_broadcastsi128_si256,
            |all| all
        ],
        |a, b| {
            let mixed = _mm256_castps_pd(_mm256_hadd_ps(a, b));
            _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(mixed))
        },
        [
            __m256i,
            |of| _mm256_cvtepu8_epi32(of),
            |a, places| _mm256_permutevar8x32_ps(a, places),
            |from, n: usize| {
                let mask = _mm256_loadu_si256(FIRST_OF_SINGLE.as_ptr().add(8 - n).cast());
                _mm256_maskload_ps(from, mask)
            }
        ],
        |from, crd: *const I| _mm256_set_m128(
            _mm256_i64gather_ps::<4>(from, I::four(crd.add(4))),
            _mm256_i64gather_ps::<4>(from, I::four(crd))
        )
    );
    vector!(
        __m512d,
        __m256d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_mul_pd,
        _mm512_add_pd,
        [
            _mm512_castsi512_pd,
            _mm512_set1_epi32,
            _mm512_set1_epi64,
            _mm512_broadcast_i32x4,
            _mm512_broadcast_i64x4
        ],
        |a, b| {
            let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            _mm512_add_pd(_mm512_permutex2var_pd(a, even, b), _mm512_permutex2var_pd(a, odd, b))
        },
        [
            __m512i,
            |of| _mm512_cvtepu8_epi64(of),
            |a, places| _mm512_permutexvar_pd(places, a),
            |from, n: usize| _mm512_maskz_loadu_pd(((1_u32 << n) - 1) as u8, from)
        ],
        |from, crd| _mm512_i64gather_pd::<8>(I::eight(crd), from)
    );
    vector!(
        __m512,
        __m128,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_mul_ps,
        _mm512_add_ps,
        [
            _mm512_castsi512_ps,
            _mm512_set1_epi32,
            _mm512_set1_epi64,
            _mm512_broadcast_i32x4,
            _mm512_broadcast_i64x4
        ],
        |a, b| {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            _mm512_add_ps(_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b))
        },
        [
            __m512i,
            |of| _mm512_cvtepu8_epi32(of),
            |a, places| _mm512_permutexvar_ps(places, a),
            |from, n: usize| _mm512_maskz_loadu_ps(((1_u32 << n) - 1) as u16, from)
        ],
        |from, crd: *const I| {
            let low = _mm512_i64gather_ps::<4>(I::eight(crd), from);
            let high = _mm512_i64gather_ps::<4>(I::eight(crd.add(8)), from);
            let low = _mm512_castps_pd(_mm512_castps256_ps512(low));
            _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(high)))
        }
    );
}

/// Asks for memory ahead of its use. Any address will do.
#[inline(always)]
pub(super) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
