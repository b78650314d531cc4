//! Arrays of indices in a device's memory.

use ust_cuda::{CudaError, Memory, Stream};
use ust_level_api::IndexKind;

use super::{Primitives, Result, has, refusal};

/// Indices that somebody else owns.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    pub(super) memory: &'a Memory,
    pub(super) kind: IndexKind,
    pub(super) length: usize,
}

impl<'a> Column<'a> {
    /// The first `length` indices of a memory.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if the memory is shorter, or if indices are not whole bytes.
    pub fn new(memory: &'a Memory, kind: IndexKind, length: usize) -> Result<Self> {
        if kind.bits() < 8 {
            return Err(refusal(format!("indices of {} bits", kind.bits())));
        }
        has(memory, length, kind.bytes(1))?;
        Ok(Self { memory, kind, length })
    }

    /// Their kind.
    #[must_use]
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes of an index.
    pub(super) fn width(&self) -> usize {
        self.kind.bytes(1)
    }

    /// Their type in CUDA C++.
    pub(super) fn ty(&self) -> String {
        self.kind.to_string()
    }
}

/// Indices with their memory.
#[derive(Debug)]
pub struct Indices {
    memory: Memory,
    kind: IndexKind,
    length: usize,
}

impl Indices {
    /// Room for indices. Their kind has whole bytes.
    pub(super) fn room(primitives: &Primitives, kind: IndexKind, length: usize) -> Result<Self> {
        if kind.bits() < 8 {
            return Err(refusal(format!("indices of {} bits", kind.bits())));
        }
        let memory = primitives.stream().alloc(super::bytes(length, kind.bytes(1))?)?;
        Ok(Self { memory, kind, length })
    }

    /// They, for somebody who reads them.
    #[must_use]
    pub fn column(&self) -> Column<'_> {
        Column { memory: &self.memory, kind: self.kind, length: self.length }
    }

    /// Where they are.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Their memory alone.
    #[must_use]
    pub fn into_memory(self) -> Memory {
        self.memory
    }

    /// Their kind.
    #[must_use]
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// The first element that did not fit where it should go: an index too large for its kind, or a place outside
/// of an array. Several primitives may note theirs in one.
#[derive(Debug)]
pub struct Misfit(pub(super) Memory);

impl Misfit {
    /// Whether all has fitted so far: the number of the first element that did not. It waits.
    ///
    /// # Errors
    ///
    /// [`CudaError::KernelFailed`] if a kernel has failed; those of the driver.
    pub fn first(&self, stream: &Stream) -> std::result::Result<Option<u64>, CudaError> {
        let mut word = [0; 8];
        stream.read(&self.0, 0, &mut word)?;
        Ok(Some(u64::from_ne_bytes(word)).filter(|&first| first != u64::MAX))
    }
}

impl Primitives {
    /// A note that all fits.
    ///
    /// # Errors
    ///
    /// [`CudaError::OutOfMemory`], or those of the driver.
    pub fn misfit(&self) -> Result<Misfit> {
        Ok(Misfit(self.stream().upload(&u64::MAX.to_ne_bytes())?))
    }
}
