//! Shared, typed memory for level arrays and values.
//!
//! A [`Buffer<T>`] is a slice with shared ownership. Cloning it is cheap and copies no element.
//! Writing goes through [`Buffer::make_mut`], which copies the elements first if the memory is
//! shared or foreign (copy on write).
//!
//! Large buffers ask the operating system for huge pages, which make the first touch of fresh
//! memory several times faster. When a buffer of 64 KiB or more is dropped, its memory is kept for
//! later buffers, up to a [limit](set_retained_limit). All but the smallest buffers are aligned to
//! 64 bytes.

// The only module of this crate that takes foreign memory.
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::{CheckedBitPattern, NoUninit};

use crate::Elsewhere;

mod around;
mod copied;
mod deferred;
mod grow;
mod iso;
mod lines;
mod mapped;
mod part;

pub(crate) use around::copy_around;
pub use copied::NoElements;
pub use grow::GrowBuffer;
use lines::{Lines, SEVERAL};
use mapped::{MAPPED, Mapped};
pub use mapped::{release_retained, retained_bytes, set_retained_limit};

/// Why the elements of a [deferred](Buffer::deferred) buffer cannot be fetched.
pub type FetchError = Box<dyn std::error::Error + Send + Sync>;

/// Plain data that a buffer can hold: every dtype and every index type.
pub trait Plain: NoUninit + CheckedBitPattern + Copy + Send + Sync + 'static {}
impl<T: NoUninit + CheckedBitPattern + Copy + Send + Sync + 'static> Plain for T {}

/// An owner of memory that does not change while it is shared.
///
/// Vectors and shared slices are owners. Other owners (memory maps, foreign libraries) implement
/// this trait where their safety argument is. For a plain pointer there is [`Buffer::from_raw`].
///
/// # Safety
/// [`Owner::slice`] returns the same elements at the same address at every call, until
/// [`Owner::slice_mut`] or [`Owner::take_vec`] is called through an exclusive reference. Kernels
/// rely on it: they run on arrays that were checked once, and do not check again.
pub unsafe trait Owner<T>: Send + Sync {
    /// The elements: the same slice at every call, until `slice_mut` is used.
    fn slice(&self) -> &[T];
    /// The number of elements.
    fn len(&self) -> usize {
        self.slice().len()
    }
    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The elements for writing, or `None` if the memory is read-only and must be copied first.
    fn slice_mut(&mut self) -> Option<&mut [T]> {
        None
    }
    /// Keeps the first `len` elements, and may release the memory of the others. Returns false, and
    /// does nothing, if that would need a copy.
    fn truncate(&mut self, _len: usize) -> bool {
        false
    }
    /// Where the elements are that were not fetched yet, see [`Buffer::elsewhere`].
    fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        None
    }
    /// The elements as a vector without a copy, if this owner is a vector.
    fn take_vec(&mut self) -> Option<Vec<T>> {
        None
    }
    /// The element that all others equal, of an owner that stores it alone: see [`Buffer::iso`].
    fn iso(&self) -> Option<&T> {
        None
    }
    /// Bytes that the elements take.
    fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }
    /// Bytes of the elements that a look at them made, where one is stored.
    fn expanded_bytes(&self) -> usize {
        0
    }
    /// Whether [`slice`](Self::slice) has nothing to fetch first.
    fn is_here(&self) -> bool {
        true
    }
    /// Fetches the elements, if they are elsewhere.
    ///
    /// # Errors
    /// Why they cannot be fetched.
    fn fetch(&self) -> Result<(), FetchError> {
        Ok(())
    }
}

// SAFETY: nobody else can change a vector that the buffer owns.
unsafe impl<T: Plain> Owner<T> for Vec<T> {
    fn slice(&self) -> &[T] {
        self
    }
    fn slice_mut(&mut self) -> Option<&mut [T]> {
        Some(self)
    }
    fn truncate(&mut self, len: usize) -> bool {
        Vec::truncate(self, len);
        self.shrink_to_fit();
        true
    }
    fn take_vec(&mut self) -> Option<Vec<T>> {
        Some(std::mem::take(self))
    }
}

// SAFETY: a shared slice of plain data has no interior mutability.
unsafe impl<T: Plain> Owner<T> for Arc<[T]> {
    fn slice(&self) -> &[T] {
        self
    }
}

/// Memory behind a plain pointer, and the object that keeps it alive.
struct Raw<T> {
    pointer: *const T,
    len: usize,
    _keep: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory is only read, and the caller of `Buffer::from_raw` promised that nobody writes
// it.
unsafe impl<T: Plain> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Raw<T> {}

// SAFETY: promised by the caller of `Buffer::from_raw`.
unsafe impl<T: Plain> Owner<T> for Raw<T> {
    fn slice(&self) -> &[T] {
        // SAFETY: promised by the caller of `Buffer::from_raw`.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }
}

/// A slice of plain data with shared ownership and copy-on-write.
pub struct Buffer<T: Plain>(Arc<dyn Owner<T>>);

impl<T: Plain> Buffer<T> {
    /// A buffer over the memory of an owner, without a copy. Cost: O(1).
    #[must_use]
    pub fn from_owner(owner: impl Owner<T> + 'static) -> Self {
        Self(Arc::new(owner))
    }

    /// Views foreign memory, without a copy. `keep` is dropped with the last handle to the buffer.
    /// Writing copies first. Where nobody can promise what is asked for below, see [`Buffer::copied`].
    ///
    /// # Safety
    /// `pointer` is aligned and points to `len` initialised elements with valid bit patterns. They
    /// stay there, and nobody changes them, until `keep` is dropped.
    #[must_use]
    pub unsafe fn from_raw(pointer: *const T, len: usize, keep: impl Any + Send + Sync) -> Self {
        Self(Arc::new(Raw { pointer, len, _keep: Box::new(keep) }))
    }

    /// Number of elements. Does not fetch those of a [deferred](Self::deferred) buffer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements for writing. Cost: O(1) if this is the only handle, and the memory is not
    /// foreign; else one copy.
    pub fn make_mut(&mut self) -> &mut [T] {
        let writable = Arc::get_mut(&mut self.0).is_some_and(|owner| owner.slice_mut().is_some());
        if !writable {
            self.0 = Arc::new(self.own());
        }
        Arc::get_mut(&mut self.0)
            .and_then(|owner| owner.slice_mut())
            .expect("a fresh or unshared writable owner")
    }

    /// A copy of the elements.
    fn own(&self) -> Vec<T> {
        match self.0.iso() {
            Some(&element) => vec![element; self.len()],
            None => self.0.slice().to_vec(),
        }
    }

    /// Keeps the first `len` elements, or all if there are fewer. Cost: O(1) if this is the only
    /// handle to a large buffer that is not foreign; else one copy.
    pub fn truncate(&mut self, len: usize) {
        if let Some(&element) = self.0.iso() {
            *self = Self::iso(element, len.min(self.len()));
        } else if len < self.len()
            && !Arc::get_mut(&mut self.0).is_some_and(|owner| owner.truncate(len))
        {
            self.0 = Arc::new(self.0.slice()[..len].to_vec());
        }
    }

    /// Appends so many copies of an element. Cost: constant for each element on average, if the buffer is a vector
    /// that nobody shares; else one copy, after which it is.
    pub fn extend(&mut self, count: usize, element: T) {
        let mut vec = std::mem::take(self).into_vec();
        vec.resize(vec.len() + count, element);
        *self = vec.into();
    }

    /// The elements as a vector. Cost: O(1) for an unshared vector, else one copy.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<T> {
        match Arc::get_mut(&mut self.0).and_then(Owner::take_vec) {
            Some(vec) => vec,
            None => self.own(),
        }
    }

    /// Whether both are handles to the same buffer. Looks at no element.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether both handles view the same memory.
    #[must_use]
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        let iso = self.0.iso().is_some() || other.0.iso().is_some();
        if iso { self.is_same(other) } else { std::ptr::eq(self.0.slice(), other.0.slice()) }
    }
}

impl<T: Plain + bytemuck::Zeroable> Buffer<T> {
    /// `len` zeros, in huge pages if the buffer is large. Cost of a large buffer: O(1) until first
    /// touch, or O(length) if it gets the memory of an earlier buffer.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        if len.saturating_mul(size_of::<T>()) >= MAPPED
            && let Some(mapped) = Mapped::zeroed(len)
        {
            return Self(Arc::new(mapped));
        }
        Self::short(len)
    }

    /// Zeros, not in huge pages.
    fn short(len: usize) -> Self {
        if len.saturating_mul(size_of::<T>()) >= SEVERAL
            && let Some(lines) = Lines::zeroed(len)
        {
            return Self(Arc::new(lines));
        }
        Self(Arc::new(vec![T::zeroed(); len]))
    }

    /// `len` elements with unspecified contents, for memory that is written before it is read. A
    /// large buffer gets the memory of an earlier buffer without clearing it, if there is one. Cost
    /// of a large buffer: O(1).
    #[must_use]
    pub fn unspecified(len: usize) -> Self {
        if len.saturating_mul(size_of::<T>()) >= MAPPED
            && let Some(mapped) = Mapped::unspecified(len)
        {
            return Self(Arc::new(mapped));
        }
        Self::short(len)
    }
}

impl<T: Plain> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.0.slice()
    }
}

impl<T: Plain> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Plain> Default for Buffer<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T: Plain> From<Vec<T>> for Buffer<T> {
    fn from(vec: Vec<T>) -> Self {
        Self(Arc::new(vec))
    }
}

impl<T: Plain> From<Arc<[T]>> for Buffer<T> {
    fn from(shared: Arc<[T]>) -> Self {
        Self(Arc::new(shared))
    }
}

impl<T: Plain> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Self::from(iter.into_iter().collect::<Vec<T>>())
    }
}

impl<T: Plain + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0.iso(), other.0.iso()) {
            (Some(own), Some(other_one)) => {
                self.len() == other.len() && (own == other_one || self.is_empty())
            }
            (Some(one), None) => {
                self.len() == other.len() && other.iter().all(|other| other == one)
            }
            (None, Some(one)) => self.len() == other.len() && self.iter().all(|own| own == one),
            (None, None) => **self == **other,
        }
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iso() {
            Some(element) => {
                f.debug_list().entries(std::iter::repeat_n(element, self.len())).finish()
            }
            None => f.debug_list().entries(self.iter()).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mapped::HUGE;
    use super::*;

    #[test]
    fn writing_copies_what_is_shared_and_only_that() {
        let mut a = Buffer::from(vec![1, 2, 3]);
        let b = a.clone();
        assert!(a.shares_memory_with(&b));
        a.make_mut()[0] = 9;
        assert_eq!((&a[..], &b[..]), (&[9, 2, 3][..], &[1, 2, 3][..]));
        let at = a.as_ptr();
        a.make_mut()[1] = 8;
        assert_eq!(a.as_ptr(), at, "an unshared buffer is written in place");
        let back = a.into_vec();
        assert_eq!(back.as_ptr(), at, "and given back without a copy");
    }

    #[test]
    fn what_is_shortened_leaves_no_numbers_where_zeros_are_asked_for() {
        let mut long = Buffer::<u64>::unspecified(8 * HUGE);
        long.make_mut().fill(u64::MAX);
        let shared = long.clone();
        long.truncate(9);
        assert_eq!((long.len(), shared.len(), long[8]), (9, 8 * HUGE, u64::MAX));
        drop((long, shared));
        for len in [9, HUGE, 7 * HUGE] {
            let mut long = Buffer::<u64>::unspecified(8 * HUGE);
            long.make_mut().fill(u64::MAX);
            let at = long.as_ptr();
            long.truncate(len);
            long.truncate(len + 1);
            assert_eq!((long.len(), long.as_ptr(), long[len - 1]), (len, at, u64::MAX));
            drop(long);
            assert!(Buffer::<u64>::zeroed(8 * HUGE).iter().all(|&v| v == 0));
        }
        let mut short = Buffer::from(vec![1_u8, 2, 3]);
        short.truncate(2);
        assert_eq!(short[..], [1, 2]);
    }

    #[test]
    fn shared_slices_are_viewed_and_copied_on_write() {
        let shared: Arc<[f64]> = vec![1.0, 2.0].into();
        let mut view = Buffer::from(Arc::clone(&shared));
        assert_eq!(view.as_ptr(), shared.as_ptr());
        view.make_mut()[0] = 5.0;
        assert_eq!(shared[0], 1.0);
    }

    #[test]
    fn raw_memory_is_viewed_kept_alive_and_copied_on_write() {
        let owner: Arc<Vec<u16>> = Arc::new(vec![4, 5, 6]);
        // SAFETY: the vector is kept alive by the handle given along, and never written.
        let view = unsafe { Buffer::from_raw(owner.as_ptr(), owner.len(), Arc::clone(&owner)) };
        assert_eq!((&view[..], view.as_ptr()), (&[4, 5, 6][..], owner.as_ptr()));
        let mut copy = view.clone();
        copy.make_mut()[0] = 9;
        assert_eq!((view[0], copy[0]), (4, 9));
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(view);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn what_grows_keeps_what_it_holds_and_becomes_a_buffer() {
        let mut grows = GrowBuffer::from(vec![7_u32, 8]);
        for len in [3, HUGE / 4 + 5, HUGE] {
            assert!(grows.reserve(len));
            assert!(grows.len() >= len);
            assert_eq!(grows[..2], [7, 8]);
        }
        assert!(!grows.reserve(usize::MAX));
        let end = grows.len() - 1;
        grows.as_mut_slice()[end] = 5;
        let at = grows.as_mut_ptr().cast_const();
        let buffer = grows.freeze(HUGE - 1);
        assert_eq!((buffer.as_ptr(), buffer.len(), buffer[1]), (at, HUGE - 1, 8));
        let short = GrowBuffer::from(vec![1_i8, 2, 3]).freeze(2);
        assert_eq!(short[..], [1, 2]);
        assert_eq!(GrowBuffer::from(vec![true]).freeze(9).len(), 1);
    }

    #[test]
    fn large_buffers_are_zeroed_and_aligned() {
        let mut large = Buffer::<bool>::zeroed(HUGE + 1);
        assert!(large.iter().all(|v| !v));
        assert_eq!(large.as_ptr() as usize % 64, 0);
        large.make_mut()[HUGE] = true;
        assert!(large[HUGE]);
    }

    #[test]
    fn buffers_of_several_lines_are_aligned_and_shortened() {
        for len in [SEVERAL / 8 - 1, SEVERAL / 8, 1000] {
            let mut buffer = Buffer::<f64>::zeroed(len);
            assert_eq!(buffer[..], vec![0.0; len]);
            assert!(len * 8 < SEVERAL || buffer.as_ptr().addr().is_multiple_of(64));
            buffer.make_mut()[len - 1] = 1.0;
            let mut copy = buffer.clone();
            copy.make_mut()[0] = 2.0;
            copy.truncate(3);
            assert_eq!((&copy[..], buffer[0]), (&[2.0, 0.0, 0.0][..], 0.0));
            buffer.truncate(len - 1);
            assert_eq!(buffer.into_vec(), vec![0.0; len - 1]);
        }
        assert!(Buffer::<bool>::unspecified(5000).len() == 5000);
    }
}
