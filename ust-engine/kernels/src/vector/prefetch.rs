//! Prefetches: lines of memory that are loaded into a cache before they are accessed.
//!
//! A prefetch never faults: any address will do.

use crate::tuning::PREFETCH_DISTANCE;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Values of `CACHE`: no prefetch; into the first cache; into the second.
pub(crate) const NO_PREFETCH: u8 = 0;
pub(crate) const TO_L1: u8 = 1;
pub(crate) const TO_L2: u8 = 2;

/// Prefetches the line of an address into the cache `CACHE`.
#[inline(always)]
pub(crate) fn prefetch_to<const CACHE: u8, T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match CACHE {
            NO_PREFETCH => {}
            TO_L1 => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
            _ => _mm_prefetch::<_MM_HINT_T1>(address.cast()),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches the line of an address into the first cache.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    prefetch_to::<TO_L1, T>(address);
}

/// Prefetches the line of an address into the second cache.
#[inline(always)]
pub(crate) fn prefetch_l2<T>(address: *const T) {
    prefetch_to::<TO_L2, T>(address);
}

/// Prefetches the lines of `bytes` bytes from an address on.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(from: *const T, bytes: usize) {
    (0..bytes).step_by(LINE).for_each(|line| prefetch(from.wrapping_byte_add(line)));
}

/// Prefetches `n` elements of a slice from index `at` on, which may lie beyond its end.
#[inline(always)]
pub fn prefetch_elements<T>(from: &[T], at: usize, n: usize) {
    prefetch_lines(from.as_ptr().wrapping_add(at), n * size_of::<T>());
}

/// Prefetches the line [`PREFETCH_DISTANCE`] behind an address into the first cache, in memory that is read in order.
#[inline(always)]
pub(crate) fn prefetch_ahead<T>(address: *const T) {
    prefetch(address.wrapping_byte_add(PREFETCH_DISTANCE));
}

/// As [`prefetch_ahead`], into the second cache: more prefetches are under way at a time, which pays
/// where the machine waits for nothing else.
#[inline(always)]
pub(crate) fn prefetch_ahead_l2<T>(address: *const T) {
    prefetch_l2(address.wrapping_byte_add(PREFETCH_DISTANCE));
}
