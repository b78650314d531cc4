//! Large pieces of memory: huge pages where the system grants them, kept for the next user.
//!
//! First touch of fresh pages costs more than most of what is then done with them: the system clears
//! each. Pages of a buffer that is gone are therefore kept, within a limit, and the next buffer of
//! about that size gets them.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use memmap2::MmapMut;
use rayon::prelude::*;

use super::{Owner, Plain};

/// Buffers of at least this many bytes are mapped in huge pages.
pub(super) const HUGE: usize = 4 << 20;
/// The size of a huge page, of most systems.
const HUGE_PAGE: usize = 2 << 20;
/// Bytes that may stand unused behind as many that are used.
#[cfg(target_os = "linux")]
const FAR_BEYOND: usize = 8 << 20;
/// Bytes that one thread clears at a time.
const CLEARED: usize = 1 << 20;

/// Pages of memory, and how much of them may hold something.
struct Pages {
    map: MmapMut,
    /// Bytes before the first huge page.
    start: usize,
    /// Bytes from there on that may have been written.
    touched: usize,
}

/// Pages that nobody uses.
struct Idle {
    pages: Vec<Pages>,
    /// Most bytes that may be kept.
    limit: usize,
}

static IDLE: Mutex<Idle> = Mutex::new(Idle { pages: Vec::new(), limit: 512 << 20 });

impl Idle {
    fn with<R>(run: impl FnOnce(&mut Self) -> R) -> R {
        // Whoever panicked left a list of pages: there is nothing half done in one.
        run(&mut IDLE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn bytes(&self) -> usize {
        self.pages.iter().map(|pages| pages.touched).sum()
    }

    /// Takes the pages that fit best, neither too few nor far too many.
    fn take(&mut self, bytes: usize) -> Option<Pages> {
        let most = bytes.saturating_mul(2).max(bytes.saturating_add(8 << 20));
        let fits = |pages: &Pages| (bytes..=most).contains(&pages.room());
        let best = (0..self.pages.len()).filter(|&at| fits(&self.pages[at]));
        let best = best.min_by_key(|&at| self.pages[at].room())?;
        Some(self.pages.remove(best))
    }

    /// Keeps pages, and gives back the oldest to make room for them.
    fn put(&mut self, pages: Pages) {
        if pages.touched == 0 || pages.touched > self.limit {
            return;
        }
        self.pages.push(pages);
        self.shrink();
    }

    fn shrink(&mut self) {
        let mut bytes = self.bytes();
        let gone = self.pages.iter().take_while(|pages| {
            let over = bytes > self.limit;
            bytes -= if over { pages.touched } else { 0 };
            over
        });
        let gone = gone.count();
        self.pages.drain(..gone);
    }
}

/// Bytes of memory that large buffers left behind and that are kept for the next ones.
#[must_use]
pub fn retained_bytes() -> usize {
    Idle::with(|idle| idle.bytes())
}

/// How many bytes may be kept so: 512 MiB unless this says otherwise. What is beyond is given back
/// to the system now; 0 gives back everything, and keeps nothing.
pub fn set_retained_limit(bytes: usize) {
    Idle::with(|idle| {
        idle.limit = bytes;
        idle.shrink();
    });
}

impl Pages {
    fn fresh(bytes: usize) -> Option<Self> {
        // Room to begin and to end with a whole huge page. What is not touched takes no memory.
        let room = bytes.checked_next_multiple_of(HUGE_PAGE)?.checked_add(HUGE_PAGE)?;
        let map = MmapMut::map_anon(room).ok()?;
        #[cfg(target_os = "linux")]
        // Advice: a refusal costs speed, nothing else.
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = map.as_ptr().addr().next_multiple_of(HUGE_PAGE) - map.as_ptr().addr();
        Some(Self { map, start, touched: 0 })
    }

    /// Bytes that there are.
    fn room(&self) -> usize {
        self.map.len() - self.start
    }
}

/// Anonymous memory that holds numbers.
pub(super) struct Mapped<T> {
    /// None when dropped.
    pages: Option<Pages>,
    bytes: usize,
    of: PhantomData<T>,
}

impl<T> Mapped<T> {
    fn of(pages: Pages, bytes: usize) -> Self {
        Self { pages: Some(pages), bytes, of: PhantomData }
    }

    fn pages(&self) -> &Pages {
        self.pages.as_ref().expect("there until dropped")
    }

    fn pages_mut(&mut self) -> &mut Pages {
        self.pages.as_mut().expect("there until dropped")
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.bytes / size_of::<T>()
    }

    pub(super) fn memory(&self) -> &[u8] {
        let pages = self.pages();
        &pages.map[pages.start..pages.start + self.bytes]
    }

    pub(super) fn memory_mut(&mut self) -> &mut [u8] {
        let bytes = self.bytes;
        let pages = self.pages_mut();
        &mut pages.map[pages.start..pages.start + bytes]
    }

    /// Makes it shorter; what is cut off was not written. Pages far beyond the end are given back.
    pub(super) fn truncate(&mut self, len: usize) {
        self.bytes = self.bytes.min(len.saturating_mul(size_of::<T>()));
        #[cfg(target_os = "linux")]
        self.shrink();
    }

    #[cfg(target_os = "linux")]
    fn shrink(&mut self) {
        let bytes = self.bytes;
        let pages = self.pages_mut();
        if pages.room() / 2 <= bytes + FAR_BEYOND {
            return;
        }
        let end = pages.start + bytes.next_multiple_of(HUGE_PAGE);
        let options = memmap2::RemapOptions::new().may_move(false);
        // SAFETY: the map is of no file; it becomes shorter where it stands. A refusal changes
        // nothing.
        if unsafe { pages.map.remap(end, options) }.is_ok() {
            pages.touched = pages.touched.min(pages.room());
        }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        if let Some(mut pages) = self.pages.take() {
            pages.touched = pages.touched.max(self.bytes);
            Idle::with(|idle| idle.put(pages));
        }
    }
}

impl<T: Plain> Mapped<T> {
    /// So many elements, each of them any number. Nothing is touched.
    pub(super) fn unspecified(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        // What was written as another type may be no bool.
        let any = TypeId::of::<T::Bits>() == TypeId::of::<T>();
        let kept = if any { Idle::with(|idle| idle.take(bytes)) } else { None };
        Some(Self::of(kept.or_else(|| Pages::fresh(bytes))?, bytes))
    }

    /// So many zeros.
    pub(super) fn zeroed(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let kept = Idle::with(|idle| idle.take(bytes));
        let written = kept.as_ref().map_or(0, |pages| pages.touched.min(bytes));
        let mut made = Self::of(kept.or_else(|| Pages::fresh(bytes))?, bytes);
        made.memory_mut()[..written].par_chunks_mut(CLEARED).for_each(|part| part.fill(0));
        Some(made)
    }

    /// Makes it so long; what is new is any number. Gives false, and changes nothing, where there is
    /// no memory for it.
    pub(super) fn grow(&mut self, len: usize) -> bool {
        let Some(bytes) = len.checked_mul(size_of::<T>()) else { return false };
        let Some(end) = bytes.checked_add(self.pages().start) else { return false };
        if end > self.pages().map.len() && !self.extend(len, end) {
            return false;
        }
        self.bytes = bytes;
        true
    }

    #[cfg(target_os = "linux")]
    fn extend(&mut self, _len: usize, end: usize) -> bool {
        let options = memmap2::RemapOptions::new().may_move(true);
        // SAFETY: the map is of no file; it ends where its memory ends.
        unsafe { self.pages_mut().map.remap(end, options) }.is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn extend(&mut self, len: usize, _end: usize) -> bool {
        let Some(mut longer) = Self::unspecified(len) else { return false };
        longer.memory_mut()[..self.bytes].copy_from_slice(self.memory());
        *self = longer;
        true
    }
}

// SAFETY: an anonymous, private map belongs to the buffer alone.
unsafe impl<T: Plain> Owner<T> for Mapped<T> {
    fn slice(&self) -> &[T] {
        bytemuck::checked::cast_slice(self.memory())
    }
    fn slice_mut(&mut self) -> Option<&mut [T]> {
        Some(bytemuck::checked::cast_slice_mut(self.memory_mut()))
    }
    fn truncate(&mut self, len: usize) -> bool {
        // Unlike memory that grew, what is cut off may have been written.
        let bytes = self.bytes;
        let pages = self.pages_mut();
        pages.touched = pages.touched.max(bytes);
        Mapped::truncate(self, len);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(bytes: usize) -> Pages {
        let mut pages = Pages::fresh(bytes).unwrap();
        pages.touched = bytes;
        pages
    }

    #[test]
    fn pages_are_kept_within_the_limit_and_the_best_are_taken() {
        let mut idle = Idle { pages: Vec::new(), limit: 50 << 20 };
        for mib in [20, 12, 10] {
            idle.put(pages(mib << 20));
        }
        assert_eq!(idle.bytes(), 42 << 20);
        assert!(idle.take(1 << 20).is_none(), "far too large");
        assert!(idle.take(64 << 20).is_none(), "too small");
        assert_eq!(idle.take(5 << 20).unwrap().touched, 10 << 20);
        idle.put(pages(20 << 20));
        assert_eq!(idle.bytes(), 32 << 20, "the oldest went");
        idle.put(pages(51 << 20));
        assert_eq!(idle.bytes(), 32 << 20, "what is beyond the limit is not kept");
        idle.limit = 0;
        idle.shrink();
        assert!(idle.pages.is_empty());
    }

    #[test]
    fn kept_pages_are_cleared_where_zeros_are_asked_for() {
        for _ in 0..4 {
            let mut dirty = Mapped::<u64>::unspecified(HUGE).unwrap();
            dirty.slice_mut().unwrap().fill(u64::MAX);
            drop(dirty);
            let zeros = Mapped::<u64>::zeroed(HUGE).unwrap();
            assert!(zeros.slice().iter().all(|&v| v == 0));
            // Whatever stands there, these are bools.
            let bools = Mapped::<bool>::unspecified(8 * HUGE).unwrap();
            assert_eq!(bools.slice().len(), 8 * HUGE);
        }
    }
}
