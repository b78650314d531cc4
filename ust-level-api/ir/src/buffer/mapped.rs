//! Pages of memory, kept for the next user: huge ones for large buffers, where the system grants
//! them.
//!
//! First touch of fresh pages costs more than most of what is then done with them: the system clears
//! each. Pages of a buffer that is gone are therefore kept, within a limit, and the next buffer of
//! about that size gets them. Some more are kept where the system can take them when it is short of
//! memory: what it has not taken until they are asked for again need not be cleared either.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::MmapMut;

use super::{Owner, Plain};
use crate::parallel;
use crate::process::Guarded;

/// Buffers of at least this many bytes are mapped.
pub(super) const MAPPED: usize = 64 << 10;
/// Buffers of at least this many bytes are mapped in huge pages.
pub(super) const HUGE: usize = 4 << 20;
/// What smaller ones are rounded up to.
const PAGES: usize = 16 << 10;
/// The size of a huge page, of most systems.
const HUGE_PAGE: usize = 2 << 20;
/// Bytes by which a buffer begins later in its page than the one that was mapped before it: where
/// all begin alike, a processor that compares the last bits of addresses takes what is read of one
/// for what has just been written of another.
const SHIFT: usize = 13 * 64;
/// What those bits tell apart.
const SMALL_PAGE: usize = 4 << 10;
/// Bytes that may stand unused behind as many that are used.
#[cfg(target_os = "linux")]
const FAR_BEYOND: usize = 8 << 20;
/// Buffers whose pages are kept, at most.
const KEPT: usize = 256;
/// How many times as much is kept at most, with what the system may take.
const WITH_LENT: usize = 4;
/// Bytes that one thread clears at a time.
const CLEARED: usize = 1 << 20;

/// Pages of memory, and how much of them may hold something.
struct Pages {
    map: MmapMut,
    /// Bytes before those that are used.
    start: usize,
    /// Bytes from there on that may have been written.
    touched: usize,
    /// Whether the system may take them; what they hold is zero then.
    lent: bool,
}

/// Pages that nobody uses.
struct Idle {
    /// Those that were used last at the end.
    pages: Vec<Pages>,
    /// Most bytes that may be kept from the system.
    limit: usize,
}

/// A child that was forked keeps the pages, which it shares with its parent until one of them writes.
static IDLE: Guarded<Idle> = Guarded::inherited(|| Idle { pages: Vec::new(), limit: 512 << 20 });

/// The sum of all shifts so far: modulo a small page, where the next buffer begins.
static NEXT_SHIFT: AtomicUsize = AtomicUsize::new(0);

impl Idle {
    fn with<R>(run: impl FnOnce(&mut Self) -> R) -> R {
        run(&mut IDLE.lock())
    }

    fn bytes(&self) -> usize {
        self.pages.iter().map(|pages| pages.touched).sum()
    }

    /// Takes the pages that fit best, neither too few nor far too many; of equal ones those that were
    /// used last, which may be in the caches still.
    fn take(&mut self, bytes: usize) -> Option<Pages> {
        let more = if bytes < HUGE { PAGES } else { 8 << 20 };
        let most = bytes.saturating_mul(2).max(bytes.saturating_add(more));
        let fits = |pages: &Pages| (bytes..=most).contains(&pages.room());
        let best = (0..self.pages.len()).rev().filter(|&at| fits(&self.pages[at]));
        let best = best.min_by_key(|&at| self.pages[at].room())?;
        Some(self.pages.remove(best))
    }

    /// Keeps pages, and gives back the oldest to make room for them.
    fn put(&mut self, pages: Pages) {
        if pages.touched == 0 || pages.touched > self.limit.saturating_mul(WITH_LENT) {
            return;
        }
        self.pages.push(pages);
        self.shrink();
    }

    /// Gives back those that were used last, so many bytes at least.
    fn release(&mut self, bytes: usize) -> usize {
        let mut released = 0;
        while released < bytes
            && let Some(pages) = self.pages.pop()
        {
            released += pages.touched;
        }
        released
    }

    /// Lends the oldest pages to the system, or gives them back, as far as limits ask for it.
    fn shrink(&mut self) {
        let own = self.pages.iter().filter(|pages| !pages.lent).map(|pages| pages.touched);
        let mut own: usize = own.sum();
        let limit = self.limit;
        self.pages.retain_mut(|pages| {
            if pages.lent || own <= limit {
                return true;
            }
            own -= pages.touched;
            pages.lend()
        });
        let (mut bytes, mut count) = (self.bytes(), self.pages.len());
        self.pages.retain(|pages| {
            let over = bytes > limit.saturating_mul(WITH_LENT) || count > KEPT;
            if over {
                (bytes, count) = (bytes - pages.touched, count - 1);
            }
            !over
        });
    }
}

/// Bytes of memory that large buffers left behind and that are kept for the next ones. What the system
/// may have taken meanwhile is counted, too.
#[must_use]
pub fn retained_bytes() -> usize {
    Idle::with(|idle| idle.bytes())
}

/// How many bytes may be kept so: 512 MiB unless this says otherwise. On Linux, up to four times as many
/// are kept where the system takes what is beyond when it is short of memory; elsewhere, that is given
/// back at once. 0 gives back everything now, and keeps nothing. Gives the limit that was set before.
pub fn set_retained_limit(bytes: usize) -> usize {
    Idle::with(|idle| {
        let before = std::mem::replace(&mut idle.limit, bytes);
        idle.shrink();
        before
    })
}

/// Gives back so many of these bytes at least, if there are as many: those first that were left behind
/// last. For work in steps, where what one needed is of no use for the next. Gives how many these were.
pub fn release_retained(bytes: usize) -> usize {
    Idle::with(|idle| idle.release(bytes))
}

impl Pages {
    fn fresh(bytes: usize) -> Option<Self> {
        let shift = NEXT_SHIFT.fetch_add(SHIFT, Ordering::Relaxed) % SMALL_PAGE;
        let bytes = bytes.checked_add(shift)?;
        if bytes < HUGE {
            let map = MmapMut::map_anon(bytes.next_multiple_of(PAGES)).ok()?;
            return Some(Self { map, start: shift, touched: 0, lent: false });
        }
        // Room to begin and to end with a whole huge page. What is not touched takes no memory.
        let room = bytes.checked_next_multiple_of(HUGE_PAGE)?.checked_add(HUGE_PAGE)?;
        let map = MmapMut::map_anon(room).ok()?;
        #[cfg(target_os = "linux")]
        // Advice: a refusal costs speed, nothing else.
        let _ = map.advise(memmap2::Advice::HugePage);
        let start = map.as_ptr().addr().next_multiple_of(HUGE_PAGE) - map.as_ptr().addr();
        Some(Self { map, start: start + shift, touched: 0, lent: false })
    }

    /// Lets the system take the memory when it is short of it. Says whether it does so.
    #[cfg(target_os = "linux")]
    fn lend(&mut self) -> bool {
        // SAFETY: nobody looks at pages that are idle before they are taken back.
        self.lent = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::Free) }.is_ok();
        self.lent
    }

    #[cfg(not(target_os = "linux"))]
    fn lend(&mut self) -> bool {
        false
    }

    /// Takes the memory back: what is written to stays.
    fn reclaim(mut self) -> Self {
        if std::mem::take(&mut self.lent) {
            let end = self.start + self.touched;
            for page in self.map[..end].chunks_mut(SMALL_PAGE) {
                // SAFETY: it is a byte. The compiler must not think that nobody needs it.
                unsafe { std::ptr::from_mut(&mut page[0]).write_volatile(0) };
            }
        }
        self
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

    /// Makes it shorter; what is cut off may have been written. Pages far beyond the end are given back.
    pub(super) fn truncate(&mut self, len: usize) {
        let bytes = self.bytes;
        let pages = self.pages_mut();
        pages.touched = pages.touched.max(bytes);
        self.bytes = bytes.min(len.saturating_mul(size_of::<T>()));
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
        Some(Self::of(Self::kept(bytes).or_else(|| Pages::fresh(bytes))?, bytes))
    }

    /// Pages that another buffer has left.
    fn kept(bytes: usize) -> Option<Pages> {
        // What was written as another type may be no bool.
        let any = TypeId::of::<T::Bits>() == TypeId::of::<T>();
        if any { Idle::with(|idle| idle.take(bytes)).map(Pages::reclaim) } else { None }
    }

    /// So many zeros.
    pub(super) fn zeroed(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let kept = Self::kept(bytes);
        let written = kept.as_ref().map_or(0, |pages| pages.touched.min(bytes));
        let mut made = Self::of(kept.or_else(|| Pages::fresh(bytes))?, bytes);
        parallel::chunks(&mut made.memory_mut()[..written], CLEARED, |_, part| part.fill(0));
        // Where somebody wrote more than was counted, the next words hold it.
        debug_assert!(made.memory()[written..].iter().take(PAGES).all(|&byte| byte == 0));
        Some(made)
    }

    /// Makes it so long; what is new is any number. Gives false, and changes nothing, where there is
    /// no memory for it.
    pub(super) fn grow(&mut self, len: usize) -> bool {
        let Some(bytes) = len.checked_mul(size_of::<T>()) else { return false };
        let Some(end) = bytes.checked_add(self.pages().start) else { return false };
        if end > self.pages().map.len() {
            // Pages of the usual size do not become huge ones.
            let small = self.pages().map.len() < HUGE && bytes >= HUGE;
            if !(if small { self.replace(len) } else { self.extend(len, end) }) {
                return false;
            }
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
        self.replace(len)
    }

    /// Moves what there is to other pages, which are enough for so many elements.
    fn replace(&mut self, len: usize) -> bool {
        let Some(mut longer) = Self::unspecified(len) else { return false };
        longer.memory_mut()[..self.bytes].copy_from_slice(self.memory());
        *self = longer;
        true
    }
}

// SAFETY: an anonymous, private map belongs to the buffer alone.
unsafe impl<T: Plain> Owner<T> for Mapped<T> {
    fn slice(&self) -> &[T] {
        let memory = self.memory();
        // SAFETY: pages begin where any number may. They hold zeros, what was written as such a
        // number, or, where all bits make one, what others wrote.
        unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), self.len()) }
    }
    fn slice_mut(&mut self) -> Option<&mut [T]> {
        let (len, memory) = (self.len(), self.memory_mut());
        // SAFETY: as above.
        Some(unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), len) })
    }
    fn truncate(&mut self, len: usize) -> bool {
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
        let own =
            |idle: &Idle| idle.pages.iter().filter(|p| !p.lent).map(|p| p.touched >> 20).sum();
        for mib in [20, 12, 10] {
            idle.put(pages(mib << 20));
        }
        assert_eq!((idle.bytes() >> 20, own(&idle)), (42, 42));
        assert!(idle.take(1 << 20).is_none(), "far too large");
        assert!(idle.take(64 << 20).is_none(), "too small");
        assert_eq!(idle.take(6 << 20).unwrap().touched, 10 << 20);
        idle.put(pages(3 << 20));
        assert_eq!((idle.release(0), idle.release(1 << 20)), (0, 3 << 20), "what was used last");
        idle.put(pages(20 << 20));
        let lends = cfg!(target_os = "linux");
        assert_eq!(own(&idle), 32, "the oldest went");
        assert_eq!(idle.bytes() >> 20, if lends { 52 } else { 32 });
        idle.put(pages(51 << 20));
        assert_eq!(own(&idle), 0, "what is beyond the limit is not kept from the system");
        idle.put(pages(201 << 20));
        idle.put(pages(90 << 20));
        assert!(idle.bytes() <= 200 << 20, "more than is lent at most");
        if lends {
            assert!(idle.pages.iter().all(|pages| pages.lent));
            let taken = idle.take(80 << 20).unwrap().reclaim();
            assert!(!taken.lent);
        }
        idle.limit = 0;
        idle.shrink();
        assert!(idle.pages.is_empty());
    }

    #[test]
    fn what_is_cut_off_counts_as_written() {
        let bytes = 6 * HUGE;
        for len in [0, 9, HUGE / 8, bytes / 8 - 1] {
            let mut cut = Mapped::<u64>::of(Pages::fresh(bytes).unwrap(), bytes);
            cut.slice_mut().unwrap().fill(u64::MAX);
            cut.truncate(len);
            let pages = cut.pages();
            let end = pages.start + pages.touched;
            assert!(pages.map[end..].iter().all(|&byte| byte == 0), "{len}");
        }
    }

    #[test]
    fn kept_pages_are_cleared_where_zeros_are_asked_for() {
        for len in [HUGE, MAPPED / 8, HUGE / 8 - 1, MAPPED].repeat(4) {
            let mut dirty = Mapped::<u64>::unspecified(len).unwrap();
            dirty.slice_mut().unwrap().fill(u64::MAX);
            drop(dirty);
            let zeros = Mapped::<u64>::zeroed(len).unwrap();
            assert!(zeros.slice().iter().all(|&v| v == 0));
            drop(zeros);
            let mut dirty = Mapped::<u64>::unspecified(len).unwrap();
            dirty.slice_mut().unwrap().fill(u64::MAX);
            drop(dirty);
            // Whatever others wrote, these are bools: however they came about, and longer, too.
            for mut bools in
                [Mapped::<bool>::unspecified(8 * len), Mapped::zeroed(7 * len)].map(Option::unwrap)
            {
                assert!(bools.grow(9 * len));
                assert!(bools.memory().iter().all(|&byte| byte == 0));
            }
        }
    }

    #[test]
    fn what_grows_keeps_what_it_has() {
        for len in [MAPPED, HUGE / 2, HUGE - 1, HUGE] {
            let mut grows = Mapped::<u8>::unspecified(len).unwrap();
            grows.slice_mut().unwrap().fill(7);
            for more in [len + 1, 3 * len, 3 * HUGE] {
                assert!(grows.grow(more));
                assert_eq!(grows.len(), more);
                assert!(grows.slice()[..len].iter().all(|&v| v == 7));
                grows.slice_mut().unwrap()[more - 1] = 9;
            }
        }
    }

    #[test]
    fn not_too_many_pages_are_kept() {
        let mut idle = Idle { pages: Vec::new(), limit: usize::MAX };
        for _ in 0..=KEPT {
            idle.put(pages(MAPPED));
        }
        assert_eq!(idle.pages.len(), KEPT);
        assert!(idle.take(MAPPED / 4).is_none(), "far too large");
        assert!(idle.take(MAPPED - 1).is_some());
    }
}
