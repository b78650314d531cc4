//! Memory aligned to a cache line, so that an aligned SIMD load touches one line only.

use std::marker::PhantomData;

use super::{Owner, Plain};

/// Buffers of at least this many bytes are aligned to a cache line.
pub(super) const SEVERAL: usize = 1 << 10;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Numbers of type `T` in memory aligned to a cache line. It never held another type, so a view
/// need not check bit patterns, such as those of `bool`: it costs O(1).
pub(super) struct Lines<T> {
    lines: Vec<Line>,
    bytes: usize,
    of: PhantomData<T>,
}

impl<T: Plain + bytemuck::Zeroable> Lines<T> {
    /// `len` zeros; `None` if the number of bytes overflows.
    pub(super) fn zeroed(len: usize) -> Option<Self> {
        const { assert!(align_of::<T>() <= align_of::<Line>() && size_of::<T>() > 0) };
        let bytes = len.checked_mul(size_of::<T>())?;
        let lines = vec![Line([0; 64]); bytes.div_ceil(64)];
        Some(Self { lines, bytes, of: PhantomData })
    }
}

// SAFETY: nobody else can change a vector that the buffer owns.
unsafe impl<T: Plain> Owner<T> for Lines<T> {
    fn slice(&self) -> &[T] {
        let len = self.bytes / size_of::<T>();
        // SAFETY: the lines are long enough, and aligned for every `T`. They hold zeros, which are
        // valid for every `T`, or elements that were written as `T`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), len) }
    }
    fn slice_mut(&mut self) -> Option<&mut [T]> {
        let len = self.bytes / size_of::<T>();
        // SAFETY: as above.
        Some(unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), len) })
    }
    fn truncate(&mut self, len: usize) -> bool {
        self.bytes = self.bytes.min(len.saturating_mul(size_of::<T>()));
        self.lines.truncate(self.bytes.div_ceil(64));
        self.lines.shrink_to_fit();
        true
    }
}
