//! Columns that are moved together, each from one slice to another, with elements of any width.

use std::marker::PhantomData;
use std::ops::Range;

use ust_ir::buffer::Plain;

use crate::vector::prefetch_ahead;

/// A column that is moved: its source and its destination.
///
/// Several threads write the destination, each element by one thread. The methods that write are unsafe:
/// their callers keep threads apart.
#[derive(Debug)]
pub struct Lane<'a> {
    from: *const u8,
    from_len: usize,
    /// The index in `from` of the element of each entry; without it, entry `at` has element `at`.
    places: Option<&'a [u32]>,
    to: *mut u8,
    len: usize,
    pub(super) width: usize,
    _slices: PhantomData<&'a mut [u8]>,
}

// SAFETY: a lane borrows the slices that it was made of, whose elements are `Send` and `Sync`.
unsafe impl Send for Lane<'_> {}
// SAFETY: through a shared lane only the unsafe methods write, whose callers keep writes apart.
unsafe impl Sync for Lane<'_> {}

/// Runs an expression with `$word` as an integer type of the lane's width.
macro_rules! with_width {
    ($lane:expr, $word:ident => $body:expr) => {
        match $lane.width {
            1 => {
                type $word = u8;
                $body
            }
            2 => {
                type $word = u16;
                $body
            }
            4 => {
                type $word = u32;
                $body
            }
            8 => {
                type $word = u64;
                $body
            }
            _ => {
                type $word = [u64; 2];
                $body
            }
        }
    };
}
pub(super) use with_width;

impl<'a> Lane<'a> {
    /// A lane from one slice to another of the same length.
    ///
    /// # Panics
    /// When lengths differ, or elements are not 1, 2, 4, 8 or 16 bytes wide.
    #[must_use]
    pub fn new<T: Plain>(from: &'a [T], to: &'a mut [T]) -> Self {
        assert_eq!(from.len(), to.len(), "a lane keeps every element");
        Self::unchecked(from, None, to)
    }

    /// A lane whose elements stay in one slice, which is source and destination: for
    /// [`Lane::permute`].
    ///
    /// # Panics
    /// When elements are not 1, 2, 4, 8 or 16 bytes wide.
    #[must_use]
    pub fn within<T: Plain>(slice: &'a mut [T]) -> Self {
        let width = size_of::<T>();
        assert!(matches!(width, 1 | 2 | 4 | 8 | 16), "elements of {width} bytes");
        let (to, len) = (slice.as_mut_ptr().cast::<u8>(), slice.len());
        Self { from: to, from_len: len, places: None, to, len, width, _slices: PhantomData }
    }

    /// A lane whose entry `at` has the element `places[at]` of the source, or element `at` without `places`.
    ///
    /// # Panics
    /// As [`Lane::new`], and when a place lies outside the source.
    #[must_use]
    pub fn gathering<T: Plain>(from: &'a [T], places: Option<&'a [u32]>, to: &'a mut [T]) -> Self {
        let Some(places) = places else { return Self::new(from, to) };
        assert_eq!(places.len(), to.len(), "a lane keeps every element");
        let most = places.iter().fold(0, |most, &place| most.max(place));
        assert!(places.is_empty() || (most as usize) < from.len(), "a place outside the source");
        Self::unchecked(from, Some(places), to)
    }

    fn unchecked<T: Plain>(from: &'a [T], places: Option<&'a [u32]>, to: &'a mut [T]) -> Self {
        let width = size_of::<T>();
        assert!(matches!(width, 1 | 2 | 4 | 8 | 16), "elements of {width} bytes");
        Self {
            from: from.as_ptr().cast(),
            from_len: from.len(),
            places,
            to: to.as_mut_ptr().cast(),
            len: to.len(),
            width,
            _slices: PhantomData,
        }
    }

    /// Number of elements.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The element of entry `at`, as a word.
    ///
    /// # Safety
    /// `W` is as wide as the elements, and `at` is below the length.
    #[inline]
    pub(super) unsafe fn element<W: Copy>(&self, at: usize) -> W {
        let place = match self.places {
            None => at,
            // SAFETY: there is a place for each element.
            Some(places) => unsafe { *places.get_unchecked(at) as usize },
        };
        debug_assert!(place < self.from_len);
        // SAFETY: places were checked to lie in the source.
        unsafe { self.from.cast::<W>().add(place).read_unaligned() }
    }

    /// Prefetches elements behind entry `at`, where they are read in order.
    #[inline]
    pub(super) fn prefetch_ahead(&self, at: usize) {
        if self.places.is_none() {
            prefetch_ahead(self.from.wrapping_add(at * self.width));
        }
    }

    /// Writes an element of the destination.
    ///
    /// # Safety
    /// `W` is as wide as the elements, `element` has the bits of one, `at` is below the length, and no other
    /// thread writes there.
    #[inline]
    pub(super) unsafe fn write<W: Copy>(&self, at: usize, element: W) {
        debug_assert!(at < self.len && size_of::<W>() == self.width);
        // SAFETY: promised by the caller.
        unsafe { self.to.cast::<W>().add(at).write_unaligned(element) };
    }

    /// Moves the entries `first..first + dest.len()` to the places `dest` of the destination.
    ///
    /// # Safety
    /// Entries and places are below the length, and no place is written by another thread.
    pub unsafe fn put(&self, first: usize, dest: &[usize]) {
        debug_assert!(first + dest.len() <= self.len && dest.iter().all(|&d| d < self.len));
        with_width!(self, Word => {
            let to = self.to.cast::<Word>();
            match self.places {
                None => {
                    // SAFETY: promised by the caller.
                    let from = unsafe { self.from.cast::<Word>().add(first) };
                    for (at, &place) in dest.iter().enumerate() {
                        // SAFETY: promised by the caller.
                        unsafe { to.add(place).write_unaligned(from.add(at).read_unaligned()) };
                    }
                }
                Some(_) => {
                    for (at, &place) in dest.iter().enumerate() {
                        // SAFETY: promised by the caller.
                        unsafe { to.add(place).write_unaligned(self.element(first + at)) };
                    }
                }
            }
        });
    }

    /// Moves a range of entries to the same range of the destination: entry `range.start + k` to
    /// `range.start + dest[k]`, or all in their order without `dest`.
    ///
    /// # Safety
    /// The range lies below the length, `dest` is a permutation of its places, and no other thread
    /// writes there.
    pub unsafe fn place(&self, range: Range<usize>, dest: Option<&[u32]>) {
        debug_assert!(range.end <= self.len && dest.is_none_or(|d| d.len() == range.len()));
        with_width!(self, Word => {
            // SAFETY: promised by the caller.
            let to = unsafe { self.to.cast::<Word>().add(range.start) };
            for (offset, at) in range.enumerate() {
                let place = dest.map_or(offset, |dest| dest[offset] as usize);
                // SAFETY: promised by the caller.
                unsafe { to.add(place).write_unaligned(self.element(at)) };
            }
        });
    }

    /// Permutes a range of the destination: the element at `range.start + k` goes to
    /// `range.start + dest[k]`. `scratch` is working memory.
    ///
    /// # Safety
    /// The range lies below the length and was written, `dest` is a permutation of its places, and
    /// no other thread writes there.
    pub unsafe fn permute(&self, range: Range<usize>, dest: &[u32], scratch: &mut Vec<u64>) {
        debug_assert!(range.end <= self.len && dest.len() == range.len());
        let words = (range.len() * self.width).div_ceil(8);
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        with_width!(self, Word => {
            // SAFETY: promised by the caller.
            let to = unsafe { self.to.cast::<Word>().add(range.start) };
            let copy = scratch.as_mut_ptr().cast::<Word>();
            // SAFETY: the scratch has room for the range, and overlaps nothing.
            unsafe { to.cast::<u8>().copy_to_nonoverlapping(copy.cast(), range.len() * self.width) };
            for (at, &place) in dest.iter().enumerate() {
                // SAFETY: promised by the caller.
                unsafe { to.add(place as usize).write_unaligned(copy.add(at).read_unaligned()) };
            }
        });
    }

    /// The elements of a range of the destination.
    ///
    /// # Safety
    /// `T` is the element type, the range lies below the length and was written, and no thread writes there
    /// while the slice lives.
    #[must_use]
    pub unsafe fn written<T: Copy>(&self, range: Range<usize>) -> &[T] {
        debug_assert!(range.end <= self.len && size_of::<T>() == self.width);
        // SAFETY: promised by the caller.
        unsafe {
            std::slice::from_raw_parts(
                self.to.cast::<T>().cast_const().add(range.start),
                range.len(),
            )
        }
    }
}
