//! Memory that is asked for ahead of its use.

/// Asks for memory ahead of its use, into the first cache or the second: `CACHE` is [`FIRST`] or
/// [`SECOND`]. Any address will do.
#[inline(always)]
fn fetch<const CACHE: u8, T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match CACHE {
            FIRST => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
            _ => _mm_prefetch::<_MM_HINT_T1>(address.cast()),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for memory ahead of its use. Any address will do.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    fetch::<FIRST, T>(address);
}

/// Bytes of a line of the caches.
pub(crate) const LINE: usize = 64;

/// Operands of so many bytes are in a cache that is near enough.
pub(crate) const NEAR: usize = 1 << 19;

/// Asks for so many bytes from an address on, line by line.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(from: *const T, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|line| prefetch(from.wrapping_byte_add(line)));
}

/// Asks for `n` elements of a slice from a place on, which may lie beyond its end.
#[inline(always)]
pub fn prefetch_elements<T>(from: &[T], at: usize, n: usize) {
    prefetch_lines(from.as_ptr().wrapping_add(at), n * size_of::<T>());
}

/// Bytes that memory is asked for ahead of its use. Where other accesses keep the machine busy, what
/// is read in order comes too late unless it is asked for.
pub(crate) const AHEAD: usize = 4096;

/// Asks for what lies [`AHEAD`] of an address, in memory that is read in order.
#[inline(always)]
pub(crate) fn prefetch_ahead<T>(from: *const T) {
    prefetch(from.wrapping_byte_add(AHEAD));
}

/// As [`ask`], into the second cache: where nothing else keeps the machine waiting, more of it is under
/// way at a time.
#[inline(always)]
pub(crate) fn prefetch_ahead_l2<T>(from: *const T) {
    fetch::<SECOND, T>(from.wrapping_byte_add(AHEAD));
}

/// What is asked for ahead of its use: nothing; or what is read in order, [at once](ask) or
/// [into the second cache](prefetch_ahead_l2).
pub(crate) const NOTHING: u8 = 0;
pub(crate) const FIRST: u8 = 1;
pub(crate) const SECOND: u8 = 2;

/// Asks so.
#[inline(always)]
pub(crate) fn prefetch_ahead_to<const PREFETCH: u8, T>(from: *const T) {
    match PREFETCH {
        NOTHING => {}
        FIRST => prefetch_ahead(from),
        _ => prefetch_ahead_l2(from),
    }
}
