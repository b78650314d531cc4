//! What parts of the loops collect: rows that grow, and the dense row that they are combined in.

use ust_level_api::assemble::fill;
use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{GrowValues, Growable, Memory};
use ust_level_api::{GrowBuffer, IndexColumn, IndexKind, Scalar};

use super::order::Table;
use super::sink::{Sink, SinkKind};
use crate::error::Error;
use crate::format::Bound;
use crate::tensor::rows::Rows;
use crate::tensor::{Tensor, Values};

/// What parts of the outermost loop that follow each other have collected.
pub(super) struct Part {
    /// For each level above the trailing full ones, the coordinates; but not for the first, where
    /// there are `starts`.
    pub(super) columns: Vec<GrowColumn>,
    /// For each round of the outermost loop, its first row.
    pub(super) starts: Option<Starts>,
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

/// Where the rows of each round of some parts of the outermost loop begin, which follow each other.
#[derive(Default)]
pub(super) struct Starts {
    /// The first round.
    first: Option<usize>,
    rows: Vec<i64>,
}

impl Starts {
    /// Those of the next part of a loop that runs so often.
    pub(super) fn of(&mut self, (lo, hi): (i64, i64), rounds: u64) -> &mut [i64] {
        let rounds = i64::try_from(rounds).unwrap_or(i64::MAX);
        let (lo, hi) = (lo.clamp(0, rounds), hi.clamp(0, rounds));
        let first = *self.first.get_or_insert(lo as usize);
        let before = (lo as usize).saturating_sub(first);
        self.rows.resize(before + (hi - lo).max(0) as usize, 0);
        &mut self.rows[before..]
    }
}

/// The round of each row. Parts follow each other.
fn rounds_of(parts: &[Part], rounds: u64) -> Option<IndexColumn> {
    parts.first()?.starts.as_ref()?;
    let total: usize = parts.iter().map(|part| part.rows).sum();
    let mut starts: Vec<i64> = Vec::with_capacity(rounds as usize + 1);
    let mut base = 0;
    for part in parts {
        let Starts { first, rows } = part.starts.as_ref()?;
        starts.resize(first.unwrap_or(0).max(starts.len()), base);
        starts.extend(rows.iter().map(|row| base + row));
        base += part.rows as i64;
    }
    starts.resize(rounds as usize + 1, base);
    Some(match u32::try_from(total) {
        Ok(_) => IndexColumn::Runs(fill(starts.len(), |at| starts[at] as u32)),
        Err(_) => {
            let each = starts.windows(2).enumerate();
            let each = each.flat_map(|(round, run)| (run[0]..run[1]).map(move |_| round as i64));
            each.collect::<Vec<i64>>().into()
        }
    })
}

/// The rows of all parts, in order. The outermost loop runs so many `rounds`.
pub(super) fn rows_of(parts: Vec<Part>, block: usize, rounds: u64) -> Rows {
    let first = rounds_of(&parts, rounds);
    let mut columns: Vec<Vec<(GrowColumn, usize)>> = Vec::new();
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        values.push((part.values, part.rows * block));
        columns.resize_with(part.columns.len(), Vec::new);
        for (all, more) in columns.iter_mut().zip(part.columns) {
            all.push((more, part.rows));
        }
    }
    let columns = first.into_iter().chain(columns.into_iter().map(column)).collect();
    Rows { columns, values: Values::joined(values) }
}
