//! Runs of equal coordinates, and elements chosen by flags.

use ust_cuda::Memory;
use ust_level_api::IndexKind;

use super::copy::{holds_below, numbers};
use super::{Column, Indices, NONE, Primitives, Result, Text, bytes, has, moved, refusal, types};
use crate::prelude::Sections;

pub(super) const TEXT: Text = Text {
    sections: Sections::TYPES,
    body: concat!(include_str!("grid.cuh"), "\n", include_str!("select.cuh")),
};

/// Some of a number of entries: those that begin a run, or others.
#[derive(Debug)]
pub struct Selection {
    /// A byte for each entry, 0 or 1.
    pub(super) flags: Memory,
    /// How many chosen entries there are before each, and in all.
    pub(super) places: Indices,
    pub(super) length: usize,
    pub(super) count: usize,
}

impl Selection {
    /// How many entries are chosen.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many chosen entries there are before each entry, and in all.
    #[must_use]
    pub fn places(&self) -> Column<'_> {
        self.places.column()
    }
}

impl Primitives {
    /// The entries that begin a run: those that differ from the one before in a column, and the first one.
    /// It waits, to tell how many there are.
    ///
    /// Of each entry it moves the coordinates, two bytes for each column, and then twice a byte and a place of 4
    /// or 8 bytes.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if columns have different lengths, or if there is none;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn runs(&self, columns: &[Column<'_>]) -> Result<Selection> {
        let Some(n) = columns.first().map(Column::len) else {
            return Err(refusal("no column says how many entries there are"));
        };
        if columns.iter().any(|column| column.length != n) {
            return Err(refusal("columns of different lengths"));
        }
        let flags = self.stream().alloc(n)?;
        for (at, column) in columns.iter().enumerate().filter(|_| n > 0) {
            let first = u64::from(at == 0).into();
            let arguments = [column.memory.into(), n.into(), first, (&flags).into()];
            self.run((TEXT, types([("From", &column.ty())]), "heads"), self.spread(n), &arguments)?;
        }
        self.selection(flags, n)
    }

    /// The entries whose flag is not 0. It waits, to tell how many there are.
    ///
    /// It moves the flags once, and then as much as [`Primitives::runs`].
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn select(&self, chosen: Column<'_>) -> Result<Selection> {
        let n = chosen.length;
        let flags = self.stream().alloc(n)?;
        if n > 0 {
            let arguments = [chosen.memory.into(), n.into(), (&flags).into()];
            self.run((TEXT, types([("From", &chosen.ty())]), "marks"), self.spread(n), &arguments)?;
        }
        self.selection(flags, n)
    }

    fn selection(&self, flags: Memory, length: usize) -> Result<Selection> {
        let column = Column::new(&flags, IndexKind::U8, length)?;
        let places = self.scan_noting(column, numbers(length + 1), NONE)?;
        let width = places.column().width();
        let mut count = [0; 8];
        self.stream().read(places.memory(), length * width, &mut count[..width])?;
        let count = u64::from_le_bytes(count) as usize;
        Ok(Selection { flags, places, length, count })
    }

    /// The numbers of the chosen entries, and, behind them, of all entries. Of runs, this is the `pos` array.
    ///
    /// It moves a byte and a place for each entry, and each number once.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if the kind does not have all numbers;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn starts(&self, selection: &Selection, kind: IndexKind) -> Result<Indices> {
        let n = selection.length;
        holds_below(kind, n + 1)?;
        let to = Indices::room(self, kind, selection.count + 1)?;
        let head = types([("Place", &selection.places().ty()), ("To", &kind.to_string())]);
        let (flags, places) = ((&selection.flags).into(), selection.places.memory().into());
        let arguments = [flags, places, n.into(), to.memory().into()];
        self.run((TEXT, head, "starts"), self.spread(n + 1), &arguments)?;
        Ok(to)
    }

    /// The chosen ones of elements of 1, 2, 4, 8 or 16 bytes, in their order.
    ///
    /// It moves a byte, a place and at most two elements for each entry.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if there are fewer elements than entries, or elements of another
    /// width; [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn compact(&self, selection: &Selection, from: &Memory, width: usize) -> Result<Memory> {
        let n = selection.length;
        let head = types([("Place", &selection.places().ty()), ("Element", moved(width)?)]);
        has(from, n, width)?;
        let to = self.stream().alloc(bytes(selection.count, width)?)?;
        if selection.count > 0 {
            let (flags, places) = ((&selection.flags).into(), selection.places.memory().into());
            let arguments = [flags, places, n.into(), from.into(), (&to).into()];
            self.run((TEXT, head, "compact"), self.spread(n), &arguments)?;
        }
        Ok(to)
    }
}
