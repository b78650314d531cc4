//! What parts of the loops collect: rows that grow, and the dense row that they are combined in.

use ust_level_api::ir::interp::{GrowValues, Growable, Memory};
use ust_level_api::{GrowBuffer, IndexColumn, IndexKind, Scalar};

use super::sink::{Sink, SinkKind};
use crate::format::Bound;
use crate::tensor::rows::Rows;
use crate::tensor::{Values, joined};

/// What one part of the outermost loop has collected.
pub(super) struct Part {
    /// For each level above the trailing full ones, the coordinates.
    pub(super) columns: Vec<GrowColumn>,
    pub(super) values: GrowValues,
    /// Number of rows.
    pub(super) rows: usize,
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
        tail: usize,
        block: u64,
        rest: Scalar,
    ) -> Option<Self> {
        let SinkKind::Workspace { .. } = sink.kind else { return None };
        let slots = bound.levels()[tail - 1].size as usize;
        Some(Self {
            values: Values::filled(rest, slots * block as usize),
            mark: match sink.mark() {
                IndexKind::U32 => Mark::U32(vec![0; slots]),
                _ => Mark::I64(vec![0; slots]),
            },
            list: vec![0; slots],
        })
    }
}

/// A column of coordinates that grows.
pub(super) enum GrowColumn {
    U32(GrowBuffer<u32>),
    I32(GrowBuffer<i32>),
    I64(GrowBuffer<i64>),
}

impl GrowColumn {
    pub(super) fn new(kind: IndexKind) -> Self {
        match kind {
            IndexKind::U32 => Self::U32(GrowBuffer::default()),
            IndexKind::I32 => Self::I32(GrowBuffer::default()),
            _ => Self::I64(GrowBuffer::default()),
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
                        GrowColumn::$kind(part) => (part, rows),
                        _ => unreachable!("one kind"),
                    });
                    joined(parts.collect()).into()
                })*
                None => IndexColumn::Count(0),
            }
        };
    }
    of!(U32, I32, I64)
}

/// The rows of all parts, in order.
pub(super) fn rows_of(parts: Vec<Part>, block: usize) -> Rows {
    let mut columns: Vec<Vec<(GrowColumn, usize)>> = Vec::new();
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        values.push((part.values, part.rows * block));
        columns.resize_with(part.columns.len(), Vec::new);
        for (all, more) in columns.iter_mut().zip(part.columns) {
            all.push((more, part.rows));
        }
    }
    Rows { columns: columns.into_iter().map(column).collect(), values: Values::joined(values) }
}
