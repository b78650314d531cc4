//! What parts of the loops collect: rows that grow, and the dense row that they are combined in.

use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{GrowValues, Growable, Memory};
use ust_level_api::{GrowBuffer, IndexColumn, IndexKind, Scalar};

use super::order::Table;
use super::sink::{Sink, SinkKind};
use crate::error::Error;
use crate::format::Bound;
use crate::tensor::rows::Rows;
use crate::tensor::{Tensor, Values};

/// Rows of parts of the outermost loop that follow each other.
pub(super) struct Part {
    /// For each level above the trailing full ones, the coordinates; but not for the first, where
    /// it is known in which round of the loop each row was appended.
    pub(super) columns: Vec<GrowColumn>,
    pub(super) values: Limited<GrowValues>,
    /// Number of rows.
    pub(super) rows: usize,
}

impl Part {
    /// The memory of the columns and of the values.
    pub(super) fn memory(&mut self) -> impl Iterator<Item = &mut (dyn Growable + 'static)> {
        let Self { columns, values, .. } = self;
        columns.iter_mut().map(GrowColumn::memory).chain([values as &mut (dyn Growable + 'static)])
    }
}

/// For each place of a dense row, the row that touched it last.
pub(super) enum Mark {
    U32(Vec<u32>),
    I64(Vec<i64>),
}

impl Mark {
    pub(super) fn memory(&mut self) -> Memory<'_> {
        match self {
            Self::U32(mark) => Memory::indices_mut(&mut mark[..]),
            Self::I64(mark) => Memory::indices_mut(&mut mark[..]),
        }
    }
}

/// A dense row.
pub(super) struct Workspace {
    pub(super) values: Values,
    pub(super) mark: Mark,
    /// The places touched in this row.
    pub(super) list: Vec<i64>,
}

impl Workspace {
    pub(super) fn new(
        sink: &Sink,
        bound: &Bound,
        (tail, block): (usize, u64),
        rest: Scalar,
        limit: u64,
    ) -> Result<Option<Self>, Error> {
        let SinkKind::Workspace { .. } = sink.kind else { return Ok(None) };
        let slots = bound.levels()[tail - 1].size;
        let each = block.saturating_mul(rest.dtype().bytes() as u64).saturating_add(16);
        if slots.checked_mul(each).is_none_or(|bytes| bytes > limit) {
            return Err(Error::TooLarge(format!(
                "a dense row of {slots} coordinates, which the kernel was prepared to combine rows in, \
                 takes more than {limit} bytes: prepare it with tensors of about that size, or raise the \
                 memory limit"
            )));
        }
        let slots = slots as usize;
        Ok(Some(Self {
            values: Values::filled(rest, slots * block as usize),
            mark: match sink.mark() {
                IndexKind::U32 => Mark::U32(vec![0; slots]),
                _ => Mark::I64(vec![0; slots]),
            },
            list: vec![0; slots],
        }))
    }
}

/// The memory of a plan's tables: a region for each thread, and in each a number for each coordinate
/// and the last one given.
pub(super) struct Tables(Vec<Vec<i64>>);

impl Tables {
    /// # Errors
    /// [`Error::TooLarge`] beyond the limit.
    pub(super) fn new(
        tables: &[Table],
        tensors: &[&Tensor],
        limit: u64,
        regions: usize,
    ) -> Result<Self, Error> {
        let one = |of: &Table| {
            let size = tensors[of.at].bound().levels()[of.level].size;
            let length = size.checked_add(1).and_then(|n| n.checked_mul(regions as u64));
            match length.filter(|n| n.checked_mul(8).is_some_and(|bytes| bytes <= limit)) {
                Some(length) => Ok(vec![0; length as usize]),
                None => Err(Error::TooLarge(format!(
                    "a table of {size} coordinates, which the kernel was prepared to look up, takes \
                     more than {limit} bytes: prepare it with tensors of about that size, or raise \
                     the memory limit"
                ))),
            }
        };
        tables.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn memory(&mut self) -> impl Iterator<Item = Memory<'_>> {
        self.0.iter_mut().map(|table| Memory::indices_mut(&mut table[..]))
    }
}

/// Memory that grows up to a limit, for loops that ask for twice what they need, or more: where that is
/// beyond the limit, they get as much as the limit allows.
pub(super) struct Limited<G> {
    memory: G,
    /// Most elements.
    most: usize,
}

impl<G> Limited<G> {
    pub(super) fn new(memory: G, most: usize) -> Self {
        Self { memory, most }
    }

    #[cfg(test)]
    pub(super) fn inner_mut(&mut self) -> &mut G {
        &mut self.memory
    }

    pub(super) fn into_inner(self) -> G {
        self.memory
    }
}

impl<G: Growable> Growable for Limited<G> {
    fn elem(&self) -> Elem {
        self.memory.elem()
    }
    fn len(&self) -> usize {
        self.memory.len().min(self.most)
    }
    fn reserve(&mut self, len: usize) -> bool {
        len.div_ceil(2) <= self.most && self.memory.reserve(len.min(self.most))
    }
    fn memory(&mut self) -> Memory<'_> {
        self.memory.memory()
    }
    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr()
    }
}

/// A column of coordinates that grows.
pub(super) enum GrowColumn {
    U32(Limited<GrowBuffer<u32>>),
    I32(Limited<GrowBuffer<i32>>),
    I64(Limited<GrowBuffer<i64>>),
}

impl GrowColumn {
    /// None yet, and `most` at the end.
    pub(super) fn new(kind: IndexKind, most: usize) -> Self {
        match kind {
            IndexKind::U32 => Self::U32(Limited::new(GrowBuffer::default(), most)),
            IndexKind::I32 => Self::I32(Limited::new(GrowBuffer::default(), most)),
            _ => Self::I64(Limited::new(GrowBuffer::default(), most)),
        }
    }

    pub(super) fn memory(&mut self) -> &mut (dyn Growable + 'static) {
        match self {
            Self::U32(column) => column,
            Self::I32(column) => column,
            Self::I64(column) => column,
        }
    }
}

/// The columns of all parts, one after another, so many rows of each. All have one kind.
fn column(parts: Vec<(GrowColumn, usize)>) -> IndexColumn {
    macro_rules! of {
        ($($kind:ident),*) => {
            match parts.first() {
                $(Some((GrowColumn::$kind(_), _)) => {
                    let parts = parts.into_iter().map(|(part, rows)| match part {
                        GrowColumn::$kind(part) => (part.into_inner(), rows),
                        _ => unreachable!("one kind"),
                    });
                    GrowBuffer::joined(parts.collect()).into()
                })*
                None => IndexColumn::Count(0),
            }
        };
    }
    of!(U32, I32, I64)
}

/// The rows of all parts, in order, behind the column of the first level where that is known.
pub(super) fn rows_of(parts: Vec<Part>, block: usize, first: Option<IndexColumn>) -> Rows {
    let mut columns: Vec<Vec<(GrowColumn, usize)>> = Vec::new();
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        values.push((part.values.into_inner(), part.rows * block));
        columns.resize_with(part.columns.len(), Vec::new);
        for (all, more) in columns.iter_mut().zip(part.columns) {
            all.push((more, part.rows));
        }
    }
    let columns = first.into_iter().chain(columns.into_iter().map(column)).collect();
    Rows { columns, values: Values::joined(values) }
}
