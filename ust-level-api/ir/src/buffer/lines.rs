//! Memory that begins with a line of the caches: vectors that are read from it lie in one line each.

use std::marker::PhantomData;

use super::{Owner, Plain};

/// Buffers of at least this many bytes begin with a line.
pub(super) const SEVERAL: usize = 1 << 10;

/// What caches move at a time.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Memory that holds numbers. They are not looked at when they are viewed, as pages that had another
/// user are: a truth value is read in O(1).
pub(super) struct Lines<T> {
    lines: Vec<Line>,
    bytes: usize,
    of: PhantomData<T>,
}

impl<T: Plain + bytemuck::Zeroable> Lines<T> {
    /// So many zeros; `None` where they cannot be counted.
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
        // SAFETY: the lines are as long, and aligned as any number is; they hold zeros, which are
        // numbers of the type, and what was written as such.
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
