//! Which instructions this machine has, and the vectors of each set of them behind one trait.
//!
//! Methods are always inlined into functions that enable the instruction set, so that no vector is
//! ever passed in memory.

#[cfg(target_arch = "x86_64")]
mod gather;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(all(target_arch = "x86_64", feature = "jit"))]
pub(crate) use gather::Gather;
#[cfg(target_arch = "x86_64")]
pub(crate) use gather::Several;

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

/// When one instruction that gathers eight numbers beats eight loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gathering {
    /// Never, or the machine has none.
    Never,
    /// Where numbers lie far apart in the last cache: more of them are under way at a time. From the
    /// nearer caches it is slower than loads, from memory, too.
    #[cfg(target_arch = "x86_64")]
    Far,
    /// Always. So it is on processors that compute in half precision: products with sparse rows take
    /// half of the time there.
    #[cfg(target_arch = "x86_64")]
    Always,
}

/// When this machine gathers.
pub(super) fn gathering() -> Gathering {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
    {
        return match is_x86_feature_detected!("avx512fp16") {
            true => Gathering::Always,
            false => Gathering::Far,
        };
    }
    Gathering::Never
}

/// Something that is done with vectors, whichever the machine has.
pub(super) trait Task<T: Number> {
    /// Does it, always inlined into a function that enables the instructions.
    ///
    /// # Safety
    /// As of [`Vector`].
    unsafe fn run<V: Vector<Lane = T>>(self);
}

/// Does something with the instructions of a level, which the machine has.
pub(super) fn perform<T: Number>(level: Level, task: impl Task<T>) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx2,fma")]
    fn avx512<T: Number>(task: impl Task<T>) {
        // SAFETY: the machine has the instructions.
        unsafe { task.run::<T::Avx512>() }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<T: Number>(task: impl Task<T>) {
        // SAFETY: the machine has the instructions.
        unsafe { task.run::<T::Avx2>() }
    }
    match level {
        // SAFETY, of both: the machine has the instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(task) },
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(task) },
        // SAFETY: every machine has it.
        Level::Portable => unsafe { task.run::<T::Portable>() },
    }
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
pub(crate) trait Four: Copy {
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
pub(crate) trait Two: Copy {
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
pub(crate) trait Several: Sized {
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
pub(crate) trait Index: Copy + Several {
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

/// A number, and its vectors.
pub(crate) trait Number: Real {
    type Portable: Vector<Lane = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Vector<Lane = Self>;
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

/// Bytes of a line of the caches.
const LINE: usize = 64;

/// Asks for `n` elements of a slice from a place on, which may lie beyond its end.
#[inline(always)]
pub(crate) fn ask_for<T>(from: &[T], at: usize, n: usize) {
    let from = from.as_ptr().wrapping_add(at);
    (0..n * size_of::<T>()).step_by(LINE).for_each(|line| prefetch(from.wrapping_byte_add(line)));
}

/// Bytes that memory is asked for ahead of its use. Where other accesses keep the machine busy, what
/// is read in order comes too late unless it is asked for.
pub(super) const AHEAD: usize = 4096;

/// Asks for what lies [`AHEAD`] of an address, in memory that is read in order.
#[inline(always)]
pub(super) fn ask<T>(from: *const T) {
    prefetch(from.wrapping_byte_add(AHEAD));
}

/// As [`ask`], into the second cache: where nothing else keeps the machine waiting, more of it is under
/// way at a time.
#[inline(always)]
pub(super) fn ask_second<T>(from: *const T) {
    let address = from.wrapping_byte_add(AHEAD);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// What is asked for ahead of its use: nothing; or what is read in order, [at once](ask) or
/// [into the second cache](ask_second).
pub(super) const NOTHING: u8 = 0;
pub(super) const FIRST: u8 = 1;
pub(super) const SECOND: u8 = 2;

/// Asks so.
#[inline(always)]
pub(super) fn ask_so<const ASK: u8, T>(from: *const T) {
    match ASK {
        NOTHING => {}
        FIRST => ask(from),
        _ => ask_second(from),
    }
}
