//! Copies of memory that others may write meanwhile.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use bytemuck::{Zeroable, bytes_of, bytes_of_mut, checked::try_cast_slice};

use super::{Buffer, Plain};
use crate::parallel;

/// Bytes that one thread copies at a time.
const CHUNK: usize = 1 << 20;
/// Bytes that are looked at before they are elements.
const BLOCK: usize = 4 << 10;
/// Bytes that are read at once.
const WORD: usize = size_of::<usize>();

/// Memory that was copied holds bytes that are no element, such as a truth value that is neither 0 nor 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("memory does not hold {len} elements of type {of}")]
pub struct NoElements {
    /// How many there should be.
    pub len: usize,
    /// Their type.
    pub of: &'static str,
}

/// Where to read. Shared by the threads that copy.
#[derive(Clone, Copy)]
struct From(*const u8);
// SAFETY: reading is `read`'s business, which any number of threads may do.
unsafe impl Send for From {}
// SAFETY: as above.
unsafe impl Sync for From {}

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Block([usize; BLOCK / WORD]);

impl<T: Plain + Zeroable> Buffer<T> {
    /// Copies memory that others may write at the same time: an array of an interpreter with several threads, memory that
    /// processes share. Nobody else has the copy, so what is checked of it stays true; the memory itself is not needed
    /// any more.
    ///
    /// Each byte is read once. An element that is written meanwhile may have some bytes of before and some of after.
    /// `pointer` need not be aligned. Cost: one pass, by all threads.
    ///
    /// ```
    /// use ust_ir::Buffer;
    /// let foreign = vec![3_u32, 1, 4];
    /// // SAFETY: the vector has three elements, and nobody writes them.
    /// let copy = unsafe { Buffer::copied(foreign.as_ptr(), foreign.len()) }?;
    /// assert_eq!(copy[..], [3, 1, 4]);
    /// # Ok::<(), ust_ir::buffer::NoElements>(())
    /// ```
    ///
    /// # Errors
    /// [`NoElements`] if bytes are none of an element: of the dtypes, `bool` alone has such bytes. And if `len` elements
    /// are more than an address tells apart.
    ///
    /// # Safety
    /// Until this returns, the bytes of `len` elements from `pointer` on can be read, and are initialised. Until then,
    /// nobody writes them in Rust. Code of other languages, other processes and devices may write them.
    pub unsafe fn copied(pointer: *const T, len: usize) -> Result<Self, NoElements> {
        let none = NoElements { len, of: std::any::type_name::<T>() };
        let size = size_of::<T>().max(1);
        if len.checked_mul(size).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(none);
        }
        let from = From(pointer.cast());
        let mut copy = Self::unspecified(len);
        let (chunk, block) = ((CHUNK / size).max(1), (BLOCK / size).max(1));
        let chunks: Vec<&mut [T]> = copy.make_mut().chunks_mut(chunk).collect();
        let copied = parallel::map_items(chunks, |number, to| {
            // The whole, not its field, is what threads may share.
            let From(start) = { from };
            let mut bytes = Block([0; BLOCK / WORD]);
            for (at, to) in to.chunks_mut(block).enumerate() {
                let bytes = bytes_of_mut(&mut bytes.0).get_mut(..size_of_val(to))?;
                // SAFETY: an element of this chunk; the rest is the duty of the caller.
                unsafe { read(start.add((number * chunk + at * block) * size), bytes) };
                to.copy_from_slice(try_cast_slice(bytes).ok()?);
            }
            Some(())
        });
        if copied.iter().all(Option::is_some) { Ok(copy) } else { Err(none) }
    }
}

/// Reads bytes that others may write, each of them once.
///
/// # Safety
/// That of [`Buffer::copied`].
unsafe fn read(from: *const u8, to: &mut [u8]) {
    let (head, rest) = to.split_at_mut(from.align_offset(WORD).min(to.len()));
    let (words, tail) = rest.split_at_mut(rest.len() / WORD * WORD);
    let byte = |at: usize| {
        // SAFETY: a byte that the caller lets be read.
        unsafe { &*from.add(at).cast::<AtomicU8>() }.load(Relaxed)
    };
    let (begin, end) = (head.len(), head.len() + words.len());
    for (at, to) in head.iter_mut().enumerate() {
        *to = byte(at);
    }
    for (at, to) in words.chunks_exact_mut(WORD).enumerate() {
        // SAFETY: bytes that the caller lets be read, aligned to a word.
        let word = unsafe { &*from.add(begin + at * WORD).cast::<AtomicUsize>() };
        to.copy_from_slice(bytes_of(&word.load(Relaxed)));
    }
    for (at, to) in tail.iter_mut().enumerate() {
        *to = byte(end + at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_copied_wherever_it_begins() {
        let from: Vec<u8> = (0..3 * CHUNK + 77).map(|at| (at * 31 + at / 251) as u8).collect();
        let lengths = [0, 1, 7, 8, 9, 100, BLOCK - 1, BLOCK, CHUNK + 3, 3 * CHUNK + 9];
        for (shift, len) in (0..11).flat_map(|shift| lengths.map(|len| (shift, len))) {
            let pointer = from[shift..].as_ptr();
            // SAFETY: bytes of a vector that nobody writes.
            let bytes = unsafe { Buffer::copied(pointer, len) }.unwrap();
            assert!(bytes[..] == from[shift..shift + len], "{shift} {len}");
            // SAFETY: as above.
            let wide = unsafe { Buffer::copied(pointer.cast::<u32>(), len / 4) }.unwrap();
            let number =
                |at: usize| u32::from_ne_bytes(std::array::from_fn(|k| from[shift + 4 * at + k]));
            assert!((0..len / 4).all(|at| wide[at] == number(at)), "{shift} {len}");
        }
    }

    #[test]
    fn bytes_that_are_no_truth_values_are_refused() {
        for wrong in [0, 5, BLOCK, CHUNK + 1] {
            let mut from = vec![1_u8; CHUNK + 2];
            let copied = |from: &[u8]| {
                // SAFETY: bytes of a vector that nobody writes.
                unsafe { Buffer::<bool>::copied(from.as_ptr().cast(), from.len()) }
            };
            assert!(copied(&from).unwrap().iter().all(|&truth| truth));
            from[wrong] = 2;
            let refused = copied(&from).err().unwrap();
            assert_eq!(refused.to_string(), "memory does not hold 1048578 elements of type bool");
        }
        // SAFETY: refused before anything is read.
        assert!(unsafe { Buffer::copied(std::ptr::null::<u64>(), usize::MAX / 4) }.is_err());
    }
}
