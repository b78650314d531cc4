//! Vectors of each instruction set behind one trait, the choice of the instruction set, and prefetches.
//!
//! Methods are always inlined into functions that enable the instruction set, so that no vector is
//! ever passed in memory.

#[cfg(target_arch = "x86_64")]
mod gather;
mod instruction_set;
mod prefetch;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(all(target_arch = "x86_64", feature = "micro"))]
pub(crate) use gather::Gather;
#[cfg(target_arch = "x86_64")]
pub(crate) use gather::Several;
#[cfg(test)]
pub(super) use instruction_set::instruction_sets;
pub(super) use instruction_set::{
    Gathering, InstructionSet, Task, gathering, instruction_set, perform,
};
pub use prefetch::prefetch_elements;
pub(super) use prefetch::{
    LINE, NO_PREFETCH, TO_L1, prefetch, prefetch_ahead, prefetch_ahead_l2, prefetch_l2,
    prefetch_lines, prefetch_to,
};

/// A vector of `N` numbers.
///
/// # Safety
/// Every method is called only where the machine has the instructions of the vector, and pointers
/// are valid for `N` elements.
pub trait Vector: Copy {
    /// The type of a lane.
    type Lane: Real;
    /// The number of lanes.
    const N: usize;
    /// A vector of four lanes.
    type Four: Four<Lane = Self::Lane>;
    /// A permutation: for each lane of the result, the lane that it is taken from.
    type Places: Copy;
    unsafe fn splat(value: Self::Lane) -> Self;
    unsafe fn load(from: *const Self::Lane) -> Self;
    unsafe fn store(self, to: *mut Self::Lane);
    /// A store around the caches. `to` is aligned to 16 bytes, which is what allocators promise; the machine
    /// combines the stores of a line.
    unsafe fn stream(self, to: *mut Self::Lane);
    /// A fence: earlier [`stream`](Self::stream) stores are visible before later stores.
    unsafe fn settle();
    /// The numbers `from[0..C]`, repeated in all lanes. `C` divides `N`. Nothing else is read.
    unsafe fn repeat<const C: usize>(from: *const Self::Lane) -> Self;
    /// `a * b + self`, rounded once where `FUSED` and the machine has the instruction.
    unsafe fn plus<const FUSED: bool>(self, a: Self, b: Self) -> Self;
    /// The numbers `from[0..n]`, then zeros. `n` is at most `N`. Nothing else is read.
    unsafe fn first(from: *const Self::Lane, n: usize) -> Self;
    /// The numbers `from[k]` where `at + k` is below `n`, and zeros. Nothing else is read. `at` and `n` have 31
    /// bits. Several vectors that `n` numbers end in are loaded without a branch.
    #[inline(always)]
    unsafe fn below(from: *const Self::Lane, at: usize, n: usize) -> Self {
        // SAFETY: as the trait says.
        unsafe { Self::first(from, n.saturating_sub(at).min(Self::N)) }
    }
    /// Stores the first `n` lanes, and nothing behind them.
    unsafe fn store_first(self, to: *mut Self::Lane, n: usize);
    /// Loads vector `k` of `W` vectors that begin at `from`. Where `CUT`, the last of them has `n` numbers.
    #[inline(always)]
    unsafe fn nth<const W: usize, const CUT: bool>(
        from: *const Self::Lane,
        k: usize,
        n: usize,
    ) -> Self {
        // SAFETY: as the trait says.
        unsafe {
            let from = from.add(k * Self::N);
            if CUT && k + 1 == W { Self::first(from, n) } else { Self::load(from) }
        }
    }
    /// Stores vector `k` of `W` vectors that begin at `to`. Where `CUT`, the last of them has `n` numbers.
    #[inline(always)]
    unsafe fn store_nth<const W: usize, const CUT: bool>(
        self,
        to: *mut Self::Lane,
        k: usize,
        n: usize,
    ) {
        // SAFETY: as the trait says.
        unsafe {
            let to = to.add(k * Self::N);
            if CUT && k + 1 == W { self.store_first(to, n) } else { self.store(to) }
        }
    }
    /// A permutation from the first `N` elements of `of`, each below `N`.
    unsafe fn places(of: [u8; 16]) -> Self::Places;
    /// The permuted lanes.
    unsafe fn pick(self, places: Self::Places) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The sums of adjacent lanes: `self[0] + self[1]`, `self[2] + self[3]`, and so on, then those of
    /// `other`.
    unsafe fn pairs(self, other: Self) -> Self;
    unsafe fn times(self, other: Self) -> Self;
    /// Four numbers whose sum is that of all lanes.
    unsafe fn four(self) -> Self::Four;
}

/// Four sums. The elements that they are multiplied with are loaded one by one, or together where they are
/// adjacent.
///
/// # Safety
/// As of [`Vector`].
pub trait Four: Copy {
    /// The type of a lane.
    type Lane: Real;
    /// A vector of two lanes.
    type Two: Two<Lane = Self::Lane>;
    unsafe fn zero() -> Self;
    unsafe fn read(from: *const Self::Lane) -> Self;
    unsafe fn write(self, to: *mut Self::Lane);
    /// `self + a[k] * x[crd[k]]`, for each of the four.
    unsafe fn plus_products<I: Index>(
        self,
        a: *const Self::Lane,
        crd: *const I,
        x: *const Self::Lane,
    ) -> Self;
    /// `self + a[k] * x[k]`, for each of the four.
    unsafe fn plus_neighbours(self, a: *const Self::Lane, x: *const Self::Lane) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The first `n` lanes, then zeros. `n` is at most four.
    unsafe fn first(self, n: usize) -> Self;
    unsafe fn halves(self) -> [Self::Two; 2];
    /// The sum of the lanes.
    unsafe fn total(self) -> Self::Lane;
}

/// Two sums, for the last entries of a row. The elements that they are multiplied with are loaded one by one.
///
/// # Safety
/// As of [`Vector`].
pub trait Two: Copy {
    /// The type of a lane.
    type Lane: Real;
    unsafe fn zero() -> Self;
    /// `self + a[k] * x[crd[k]]`, for both lanes.
    unsafe fn plus_products<I: Index>(
        self,
        a: *const Self::Lane,
        crd: *const I,
        x: *const Self::Lane,
    ) -> Self;
    /// `self + a * x`, for the first lane.
    unsafe fn plus_product(self, a: Self::Lane, x: Self::Lane) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The sum of both lanes.
    unsafe fn total(self) -> Self::Lane;
}

#[cfg(not(target_arch = "x86_64"))]
pub trait Several: Sized {
    /// Whether `from[0..4]` are four consecutive numbers, as 5, 6, 7, 8.
    ///
    /// # Safety
    /// `from` is valid for four reads.
    unsafe fn follow(from: *const Self) -> bool;
}
#[cfg(not(target_arch = "x86_64"))]
impl<T: Index> Several for T {
    #[inline(always)]
    unsafe fn follow(from: *const Self) -> bool {
        // SAFETY: as the trait says.
        unsafe { follow(from) }
    }
}

/// As [`Several::follow`], for any index type. The largest numbers of 64 bits wrap around.
#[inline(always)]
unsafe fn follow<I: Index>(from: *const I) -> bool {
    // SAFETY: as the trait says.
    let [a, b, c, d] = unsafe { from.cast::<[I; 4]>().read() }.map(Index::get);
    (b == a.wrapping_add(1)) & (c == a.wrapping_add(2)) & (d == a.wrapping_add(3))
}

/// An index type of stored arrays.
pub trait Index: Copy + Several {
    fn get(self) -> isize;
}

macro_rules! index {
    ($($ty:ty),*) => {
        $(impl Index for $ty {
            #[inline(always)]
            fn get(self) -> isize {
                self as isize
            }
        })*
    };
}
index!(u8, u16, u32, i32, i64);

/// The type of a vector lane.
pub trait Real: Copy + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    const ZERO: Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
}

impl Real for f64 {
    const ZERO: Self = 0.0;
}

/// A number type and its vector of each instruction set.
pub trait Number: Real {
    /// The vector for any machine.
    type Portable: Vector<Lane = Self>;
    /// The vector of AVX2.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Vector<Lane = Self>;
    /// The vector of AVX-512.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Vector<Lane = Self>;
}

impl Number for f32 {
    type Portable = [Self; 4];
    #[cfg(target_arch = "x86_64")]
    type Avx2 = std::arch::x86_64::__m256;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = std::arch::x86_64::__m512;
}

impl Number for f64 {
    type Portable = [Self; 2];
    #[cfg(target_arch = "x86_64")]
    type Avx2 = std::arch::x86_64::__m256d;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = std::arch::x86_64::__m512d;
}

macro_rules! array {
    ($ty:ty, $n:literal) => {
        impl Vector for [$ty; $n] {
            type Lane = $ty;
            const N: usize = $n;
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
            unsafe fn stream(self, to: *mut $ty) {
                // SAFETY: as the trait says.
                unsafe { self.store(to) }
            }
            #[inline(always)]
            unsafe fn settle() {}
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
            unsafe fn store_first(self, to: *mut $ty, n: usize) {
                for (at, number) in self.into_iter().enumerate().take(n) {
                    // SAFETY: as the trait says.
                    unsafe { *to.add(at) = number };
                }
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
            unsafe fn four(self) -> [$ty; 4] {
                std::array::from_fn(|at| if at < $n { self[at] } else { 0.0 })
            }
        }
    };
}
array!(f32, 4);
array!(f64, 2);

impl<T: Real> Two for [T; 2] {
    type Lane = T;
    #[inline(always)]
    unsafe fn zero() -> Self {
        [T::ZERO; 2]
    }
    #[inline(always)]
    unsafe fn plus_products<I: Index>(self, a: *const T, crd: *const I, x: *const T) -> Self {
        // SAFETY: as the trait says.
        let product = |k| unsafe { *a.add(k) * *x.offset((*crd.add(k)).get()) };
        std::array::from_fn(|k| self[k] + product(k))
    }
    #[inline(always)]
    unsafe fn plus_product(self, a: T, x: T) -> Self {
        [self[0] + a * x, self[1]]
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|k| self[k] + other[k])
    }
    #[inline(always)]
    unsafe fn total(self) -> T {
        self[0] + self[1]
    }
}

impl<T: Real> Four for [T; 4] {
    type Lane = T;
    type Two = [T; 2];
    #[inline(always)]
    unsafe fn zero() -> Self {
        [T::ZERO; 4]
    }
    #[inline(always)]
    unsafe fn read(from: *const T) -> Self {
        // SAFETY: as the trait says.
        unsafe { from.cast::<Self>().read() }
    }
    #[inline(always)]
    unsafe fn write(self, to: *mut T) {
        // SAFETY: as the trait says.
        unsafe { to.cast::<Self>().write(self) }
    }
    #[inline(always)]
    unsafe fn plus_products<I: Index>(self, a: *const T, crd: *const I, x: *const T) -> Self {
        // SAFETY: as the trait says.
        let product = |k| unsafe { *a.add(k) * *x.offset((*crd.add(k)).get()) };
        std::array::from_fn(|k| self[k] + product(k))
    }
    #[inline(always)]
    unsafe fn plus_neighbours(self, a: *const T, x: *const T) -> Self {
        // SAFETY: as the trait says.
        std::array::from_fn(|k| self[k] + unsafe { *a.add(k) * *x.add(k) })
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
    unsafe fn halves(self) -> [[T; 2]; 2] {
        let [a, b, c, d] = self;
        [[a, b], [c, d]]
    }
    #[inline(always)]
    unsafe fn total(self) -> T {
        let [a, b, c, d] = self;
        (a + c) + (b + d)
    }
}
