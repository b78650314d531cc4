//! Which instructions this machine has, and the vectors of each set of them behind one trait.
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
    AHEAD, FIRST, LINE, NEAR, NOTHING, SECOND, prefetch, prefetch_ahead, prefetch_ahead_l2,
    prefetch_ahead_to, prefetch_lines,
};

/// A vector of `N` numbers.
///
/// # Safety
/// Every method is called only where the machine has the instructions of the vector, and pointers
/// are valid for `N` elements.
pub trait Vector: Copy {
    /// What it holds.
    type Lane: Real;
    /// As many.
    const N: usize;
    /// Four of these numbers.
    type Four: Four<Lane = Self::Lane>;
    /// For each number of a vector, which number of another it is to be.
    type Places: Copy;
    unsafe fn splat(value: Self::Lane) -> Self;
    unsafe fn load(from: *const Self::Lane) -> Self;
    unsafe fn store(self, to: *mut Self::Lane);
    /// The same, around the caches. `to` is a multiple of 16 bytes: that much is what allocators promise,
    /// and the machine puts the parts of a line together.
    unsafe fn stream(self, to: *mut Self::Lane);
    /// What was written around the caches comes before what is written next.
    unsafe fn settle();
    /// The first `C` numbers from `from` on, again and again. `C` divides `N`, and only so many are
    /// read.
    unsafe fn repeat<const C: usize>(from: *const Self::Lane) -> Self;
    /// `a * b + self`, rounded once where `FUSED` and the machine can.
    unsafe fn plus<const FUSED: bool>(self, a: Self, b: Self) -> Self;
    /// The first `n` numbers from `from` on, of which only so many are read, and zeros. `n` is at
    /// most `N`.
    unsafe fn first(from: *const Self::Lane, n: usize) -> Self;
    /// Stores as many, and nothing behind them.
    unsafe fn store_first(self, to: *mut Self::Lane, n: usize);
    /// Vector `k` of the `W` from there on; of the last, where it is `CUT`, the first `n` numbers.
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
    /// Stores as much, as the same.
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
    /// Of numbers below `N`, as many.
    unsafe fn places(of: [u8; 16]) -> Self::Places;
    unsafe fn pick(self, places: Self::Places) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The sums of neighbours: of the first and second number of `self`, the third and fourth, and
    /// so on, then those of `other`.
    unsafe fn pairs(self, other: Self) -> Self;
    unsafe fn times(self, other: Self) -> Self;
    /// Four numbers with the same sum.
    unsafe fn four(self) -> Self::Four;
}

/// Four numbers, for which others are loaded one by one, or together where they lie beside each other.
///
/// # Safety
/// As of [`Vector`].
pub trait Four: Copy {
    /// What it holds.
    type Lane: Real;
    /// Two of these numbers.
    type Two: Two<Lane = Self::Lane>;
    unsafe fn zero() -> Self;
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
    /// The first `n` of them, and zeros. `n` is at most four.
    unsafe fn first(self, n: usize) -> Self;
    unsafe fn halves(self) -> [Self::Two; 2];
    /// The sum.
    unsafe fn total(self) -> Self::Lane;
}

/// Two numbers, for which others are loaded one by one: what is left of a row.
///
/// # Safety
/// As of [`Vector`].
pub trait Two: Copy {
    /// What it holds.
    type Lane: Real;
    unsafe fn zero() -> Self;
    /// `self + a[k] * x[crd[k]]`, for both.
    unsafe fn plus_products<I: Index>(
        self,
        a: *const Self::Lane,
        crd: *const I,
        x: *const Self::Lane,
    ) -> Self;
    /// `self + a * x`, for the first.
    unsafe fn plus_product(self, a: Self::Lane, x: Self::Lane) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// The sum.
    unsafe fn total(self) -> Self::Lane;
}

#[cfg(not(target_arch = "x86_64"))]
pub trait Several: Sized {
    /// Whether four neighbours are numbers that follow each other.
    ///
    /// # Safety
    /// `from` is valid for reads of them.
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

/// As [`Several::follow`], for numbers below the largest one of 64 bits.
#[inline(always)]
unsafe fn follow<I: Index>(from: *const I) -> bool {
    // SAFETY: as the trait says.
    let [a, b, c, d] = unsafe { from.cast::<[I; 4]>().read() }.map(Index::get);
    (b == a.wrapping_add(1)) & (c == a.wrapping_add(2)) & (d == a.wrapping_add(3))
}

/// An index as arrays hold it.
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

/// A number that vectors hold.
pub trait Real: Copy + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    const ZERO: Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
}

impl Real for f64 {
    const ZERO: Self = 0.0;
}

/// A number, and its vectors.
pub trait Number: Real {
    /// A vector on any machine.
    type Portable: Vector<Lane = Self>;
    /// A vector of AVX2.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Vector<Lane = Self>;
    /// A vector of AVX-512.
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
