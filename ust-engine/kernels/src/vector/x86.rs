//! Vectors of AVX2 and AVX-512.

use std::arch::x86_64::*;

use super::{Four, Index, Two, Vector};

/// Masks of 64-bit lanes: `FIRST[4 - n..]` begins with `n` lanes of all ones, then zeros.
static FIRST: [u64; 8] = [!0, !0, !0, !0, 0, 0, 0, 0];
/// The same of 32-bit lanes: `FIRST_OF_SINGLE[8 - n..]` begins with `n` lanes of all ones.
static FIRST_OF_SINGLE: [u32; 16] = [!0, !0, !0, !0, !0, !0, !0, !0, 0, 0, 0, 0, 0, 0, 0, 0];

impl Two for __m128d {
    type Lane = f64;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_setzero_pd() }
    }
    #[inline(always)]
    unsafe fn plus_products<I: Index>(self, a: *const f64, crd: *const I, x: *const f64) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_fmadd_pd(_mm_loadu_pd(a), two(crd, x), self) }
    }
    #[inline(always)]
    unsafe fn plus_product(self, a: f64, x: f64) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_fmadd_pd(_mm_set_sd(a), _mm_set_sd(x), self) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_add_pd(self, other) }
    }
    #[inline(always)]
    unsafe fn total(self) -> f64 {
        // SAFETY: as the trait says.
        unsafe { _mm_cvtsd_f64(_mm_add_sd(self, _mm_unpackhi_pd(self, self))) }
    }
}

/// The elements of `x` at two coordinates.
#[inline(always)]
unsafe fn two<I: Index>(crd: *const I, x: *const f64) -> __m128d {
    // SAFETY: as of `Two::plus_products`.
    unsafe {
        let [first, second] = I::two(crd);
        _mm_loadh_pd(_mm_load_sd(x.offset(first)), x.offset(second))
    }
}

/// Two numbers in the lower lanes; the upper lanes are ignored.
impl Two for __m128 {
    type Lane = f32;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn plus_products<I: Index>(self, a: *const f32, crd: *const I, x: *const f32) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let [x0, x1] = I::two(crd).map(|at| *x.offset(at));
            let a = _mm_castpd_ps(_mm_load_sd(a.cast()));
            _mm_fmadd_ps(a, _mm_setr_ps(x0, x1, 0.0, 0.0), self)
        }
    }
    #[inline(always)]
    unsafe fn plus_product(self, a: f32, x: f32) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_fmadd_ps(_mm_set_ss(a), _mm_set_ss(x), self) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_add_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn total(self) -> f32 {
        // SAFETY: as the trait says.
        unsafe { _mm_cvtss_f32(_mm_add_ss(self, _mm_shuffle_ps::<1>(self, self))) }
    }
}

impl Four for __m256d {
    type Lane = f64;
    type Two = __m128d;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm256_setzero_pd() }
    }
    #[inline(always)]
    unsafe fn read(from: *const f64) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm256_loadu_pd(from) }
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut f64) {
        // SAFETY: as the trait says.
        unsafe { _mm256_storeu_pd(to, self) }
    }
    #[inline(always)]
    unsafe fn plus_products<I: Index>(self, a: *const f64, crd: *const I, x: *const f64) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let (low, high) = (two(crd, x), two(crd.add(2), x));
            _mm256_fmadd_pd(_mm256_loadu_pd(a), _mm256_set_m128d(high, low), self)
        }
    }
    #[inline(always)]
    unsafe fn plus_neighbours(self, a: *const f64, x: *const f64) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm256_fmadd_pd(_mm256_loadu_pd(a), _mm256_loadu_pd(x), self) }
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
    unsafe fn halves(self) -> [__m128d; 2] {
        // SAFETY: as the trait says.
        unsafe { [_mm256_castpd256_pd128(self), _mm256_extractf128_pd::<1>(self)] }
    }
    #[inline(always)]
    unsafe fn total(self) -> f64 {
        // SAFETY: as the trait says.
        unsafe {
            let [low, high] = self.halves();
            low.add(high).total()
        }
    }
}

impl Four for __m128 {
    type Lane = f32;
    type Two = Self;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn read(from: *const f32) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut f32) {
        // SAFETY: as the trait says.
        unsafe { _mm_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn plus_products<I: Index>(self, a: *const f32, crd: *const I, x: *const f32) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let two = |k: usize| I::two(crd.add(k)).map(|at| *x.offset(at));
            let ([a0, a1], [a2, a3]) = (two(0), two(2));
            _mm_fmadd_ps(_mm_loadu_ps(a), _mm_setr_ps(a0, a1, a2, a3), self)
        }
    }
    #[inline(always)]
    unsafe fn plus_neighbours(self, a: *const f32, x: *const f32) -> Self {
        // SAFETY: as the trait says.
        unsafe { _mm_fmadd_ps(_mm_loadu_ps(a), _mm_loadu_ps(x), self) }
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
    unsafe fn halves(self) -> [Self; 2] {
        // SAFETY: as the trait says.
        unsafe { [self, _mm_movehl_ps(self, self)] }
    }
    #[inline(always)]
    unsafe fn total(self) -> f32 {
        // SAFETY: as the trait says.
        unsafe {
            let [low, high] = self.halves();
            Two::total(Two::add(low, high))
        }
    }
}

/// The identity, where a vector has the required type already; unsafe as the conversions in its place.
#[inline(always)]
unsafe fn same<T>(vector: T) -> T {
    vector
}

/// The sums of the lower and the upper half.
#[inline(always)]
unsafe fn halves(vector: __m256) -> __m128 {
    // SAFETY: the machine has AVX2.
    unsafe { _mm_add_ps(_mm256_castps256_ps128(vector), _mm256_extractf128_ps::<1>(vector)) }
}

/// The upper half.
#[inline(always)]
unsafe fn upper(vector: __m512) -> __m256 {
    // SAFETY: the machine has AVX-512.
    unsafe { _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(vector))) }
}

/// `to` is valid for a write of the vector, and aligned to 16 bytes.
#[inline(always)]
unsafe fn stream_256(vector: __m256, to: *mut f32) {
    // SAFETY: as said above.
    unsafe {
        _mm_stream_ps(to, _mm256_castps256_ps128(vector));
        _mm_stream_ps(to.add(4), _mm256_extractf128_ps::<1>(vector));
    }
}

/// As [`stream_256`].
#[inline(always)]
unsafe fn stream_512(vector: __m512, to: *mut f32) {
    // SAFETY: as said above.
    unsafe {
        _mm_stream_ps(to, _mm512_castps512_ps128(vector));
        _mm_stream_ps(to.add(4), _mm512_extractf32x4_ps::<1>(vector));
        _mm_stream_ps(to.add(8), _mm512_extractf32x4_ps::<2>(vector));
        _mm_stream_ps(to.add(12), _mm512_extractf32x4_ps::<3>(vector));
    }
}

macro_rules! vector {
    ($vector:ty, $four:ty, $ty:ty, $n:literal, $splat:ident, $load:ident, $store:ident, [$single:ident, $part:ident], $fused:ident, $mul:ident, $add:ident, [$cast:ident, $ones:ident, $twos:ident, $fours:ident, $eights:expr], $pairs:expr, $halves:expr, [$places:ty, $place:expr, $pick:expr, $mask:expr, $first:expr, $store_first:expr] $(, $below:expr)?) => {
        // SAFETY in all methods: as the trait says.
        impl Vector for $vector {
            type Lane = $ty;
            const N: usize = $n;
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
            unsafe fn stream(self, to: *mut $ty) {
                unsafe { $part($single(self), to.cast()) }
            }
            #[inline(always)]
            unsafe fn settle() {
                unsafe { _mm_sfence() }
            }
            #[inline(always)]
            unsafe fn repeat<const C: usize>(from: *const $ty) -> Self {
                unsafe {
                    // The bytes are repeated, whatever number they encode.
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
                unsafe { $first(from, $mask(n)) }
            }
            $(#[inline(always)]
            unsafe fn below(from: *const $ty, at: usize, n: usize) -> Self {
                unsafe { $below(from, at, n) }
            })?
            #[inline(always)]
            unsafe fn store_first(self, to: *mut $ty, n: usize) {
                unsafe { $store_first(to, $mask(n), self) }
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
            unsafe fn four(self) -> $four {
                unsafe { $halves(self) }
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
    [_mm256_castpd_ps, stream_256],
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
    // `hadd` leaves the sums in the order of 128-bit halves.
    |a, b| _mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_hadd_pd(a, b)),
    same,
    [
        __m256i,
        |of| {
            // Each number is two words of 32 bits.
            let word = _mm256_slli_epi64::<1>(_mm256_cvtepu8_epi64(of));
            let both = _mm256_or_si256(word, _mm256_slli_epi64::<32>(word));
            _mm256_add_epi64(both, _mm256_set1_epi64x(1 << 32))
        },
        |a, places| _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(a), places)),
        |n: usize| _mm256_loadu_si256(FIRST.as_ptr().add(4 - n).cast()),
        |from, mask| _mm256_maskload_pd(from, mask),
        |to, mask, vector| _mm256_maskstore_pd(to, mask, vector)
    ],
    |from, at: usize, n: usize| {
        let lanes = _mm256_setr_epi64x(0, 1, 2, 3);
        let lanes = _mm256_add_epi64(lanes, _mm256_set1_epi64x(at as i64));
        _mm256_maskload_pd(from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), lanes))
    }
);
vector!(
    __m256,
    __m128,
    f32,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    [same, stream_256],
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
    |a| halves(a),
    [
        __m256i,
        |of| _mm256_cvtepu8_epi32(of),
        |a, places| _mm256_permutevar8x32_ps(a, places),
        |n: usize| _mm256_loadu_si256(FIRST_OF_SINGLE.as_ptr().add(8 - n).cast()),
        |from, mask| _mm256_maskload_ps(from, mask),
        |to, mask, vector| _mm256_maskstore_ps(to, mask, vector)
    ],
    |from, at: usize, n: usize| {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let lanes = _mm256_add_epi32(lanes, _mm256_set1_epi32(at as i32));
        _mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), lanes))
    }
);
vector!(
    __m512d,
    __m256d,
    f64,
    8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    [_mm512_castpd_ps, stream_512],
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
    |a| _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd::<1>(a)),
    [
        __m512i,
        |of| _mm512_cvtepu8_epi64(of),
        |a, places| _mm512_permutexvar_pd(places, a),
        |n: usize| ((1_u32 << n) - 1) as u8,
        |from, mask| _mm512_maskz_loadu_pd(mask, from),
        |to, mask, vector| _mm512_mask_storeu_pd(to, mask, vector)
    ]
);
vector!(
    __m512,
    __m128,
    f32,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    [same, stream_512],
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
    |a| halves(_mm256_add_ps(_mm512_castps512_ps256(a), upper(a))),
    [
        __m512i,
        |of| _mm512_cvtepu8_epi32(of),
        |a, places| _mm512_permutexvar_ps(places, a),
        |n: usize| ((1_u32 << n) - 1) as u16,
        |from, mask| _mm512_maskz_loadu_ps(mask, from),
        |to, mask, vector| _mm512_mask_storeu_ps(to, mask, vector)
    ]
);
