//! Copies with non-temporal stores, which do not displace other data from the caches.

use super::Plain;

/// The least number of bytes that are copied with non-temporal stores.
#[cfg(target_arch = "x86_64")]
const FEW: usize = 32 << 10;
/// Bytes written at a time: a whole cache line. The processor would have to read a line that is
/// written in part.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Copies all elements. If there are many, and the processor has non-temporal stores, the copy
/// bypasses the caches: the target is not read before it is overwritten.
///
/// # Panics
/// If the two slices differ in length.
pub(crate) fn copy_around<T: Plain>(to: &mut [T], from: &[T]) {
    assert_eq!(to.len(), from.len(), "one element for another");
    #[cfg(target_arch = "x86_64")]
    if size_of_val(from) >= FEW {
        // SAFETY: both slices have this number of bytes, and do not overlap.
        return unsafe { stream(to.as_mut_ptr().cast(), from.as_ptr().cast(), size_of_val(from)) };
    }
    to.copy_from_slice(from);
}

/// SAFETY: `from` is valid for reads of `bytes` initialised bytes, and `to` for writes. They do not
/// overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(to: *mut u8, from: *const u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    use std::ptr::copy_nonoverlapping;

    let head = (to.addr().wrapping_neg() % LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: promised by the caller; the stores are aligned to a cache line.
    unsafe {
        copy_nonoverlapping(from, to, head);
        for at in (head..tail).step_by(LINE) {
            let (to, from) = (to.add(at).cast::<__m128i>(), from.add(at).cast::<__m128i>());
            for k in 0..LINE / size_of::<__m128i>() {
                _mm_stream_si128(to.add(k), _mm_loadu_si128(from.add(k)));
            }
        }
        // Non-temporal stores must be visible before later stores that publish the data.
        _mm_sfence();
        copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_copied_and_nothing_else() {
        let from: Vec<u32> = (1..=20_000).collect();
        for len in [0, 1, 100, 8191, 8192, 8193, 8207, 15_000] {
            for shift in 0..17 {
                let mut to = vec![0; 20_000];
                copy_around(&mut to[shift..shift + len], &from[3..3 + len]);
                assert_eq!(to[shift..shift + len], from[3..3 + len]);
                assert!(to[..shift].iter().chain(&to[shift + len..]).all(|&n| n == 0));
            }
        }
        let bools: Vec<bool> = (0..70_000).map(|n| n % 3 == 0).collect();
        let mut to = vec![true; 70_000];
        copy_around(&mut to, &bools);
        assert_eq!(to, bools);
    }
}
