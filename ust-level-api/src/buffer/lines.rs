//! Memory that begins with a line of the caches: vectors that are read from it lie in one line each.

use std::marker::PhantomData;

use super::{Owner, Plain};

/// Buffers of at least this many bytes begin with a line.
pub(super) const SEVERAL: usize = 1 << 10;

/// What caches move at a time.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// SAFETY: bytes, all of which may be zero.
unsafe impl bytemuck::Zeroable for Line {}
// SAFETY: bytes without gaps, that may be any.
unsafe impl bytemuck::Pod for Line {}

/// Memory that holds numbers.
pub(super) struct Lines<T> {
    lines: Vec<Line>,
    bytes: usize,
    of: PhantomData<T>,
}

impl<T: Plain + bytemuck::Zeroable> Lines<T> {
    /// So many zeros; `None` where they cannot be counted.
    pub(super) fn zeroed(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let lines = vec![Line([0; 64]); bytes.div_ceil(64)];
        Some(Self { lines, bytes, of: PhantomData })
    }
}

// SAFETY: nobody else can change a vector that the buffer owns.
unsafe impl<T: Plain> Owner<T> for Lines<T> {
    fn slice(&self) -> &[T] {
        let memory: &[u8] = bytemuck::cast_slice(&self.lines);
        bytemuck::checked::cast_slice(&memory[..self.bytes])
    }
    fn slice_mut(&mut self) -> Option<&mut [T]> {
        let memory: &mut [u8] = bytemuck::cast_slice_mut(&mut self.lines);
        Some(bytemuck::checked::cast_slice_mut(&mut memory[..self.bytes]))
    }
    fn truncate(&mut self, len: usize) -> bool {
        self.bytes = self.bytes.min(len.saturating_mul(size_of::<T>()));
        self.lines.truncate(self.bytes.div_ceil(64));
        self.lines.shrink_to_fit();
        true
    }
}
