//! Memory for the rows that a part of the loops collects: growing columns and values, and the workspace.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use ust_format::Bound;
use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{GrowValues, Growable, Memory};
use ust_level_api::{GrowBuffer, IndexColumn, IndexKind, Scalar};

use super::order::Table;
use super::sink::{Sink, SinkKind};
use crate::convert::rows::Rows;
use crate::error::Error;
use crate::storage::memory::Budget;
use crate::storage::{Tensor, Values};

/// Rows of consecutive parts of the outermost loop.
pub(super) struct Part {
    /// For each level above the trailing dense block, the coordinate of each row. The first level has no
    /// column where the iteration of the outermost loop in which a row was appended gives it.
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

/// For each coordinate of a workspace, the number of the row that last wrote there.
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

/// A dense row in which values are added.
pub(super) struct Workspace {
    pub(super) values: Values,
    pub(super) mark: Mark,
    /// The coordinates that this row wrote.
    pub(super) list: Vec<i64>,
}

impl Workspace {
    pub(super) fn new(
        sink: &Sink,
        bound: &Bound,
        (tail, block): (usize, u64),
        rest: Scalar,
        budget: &Budget,
    ) -> Result<Option<Self>, Error> {
        let SinkKind::Workspace { .. } = sink.kind else { return Ok(None) };
        let slots = bound.levels()[tail - 1].size;
        let each = block.saturating_mul(rest.dtype().bytes() as u64).saturating_add(16);
        if slots.checked_mul(each).is_none_or(|bytes| !budget.take_all(bytes)) {
            return Err(Error::TooLarge(format!(
                "a dense row of {slots} coordinates for each thread, which the kernel was prepared to \
                 combine rows in, takes more than the limit of {} bytes: prepare it with tensors of \
                 about that size, or raise the memory limit",
                budget.limit()
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

/// The memory of a plan's tables: a region for each thread. A region has a number for each coordinate,
/// and then the last number that was assigned.
pub(super) struct Tables(Vec<Vec<i64>>);

impl Tables {
    /// # Errors
    /// [`Error::TooLarge`] beyond the limit.
    pub(super) fn new(
        tables: &[Table],
        tensors: &[&Tensor],
        budget: &Budget,
        regions: usize,
    ) -> Result<Self, Error> {
        let one = |of: &Table| {
            let size = tensors[of.at].bound().levels()[of.level].size;
            let length = size.checked_add(1).and_then(|n| n.checked_mul(regions as u64));
            match length.filter(|n| n.checked_mul(8).is_some_and(|bytes| budget.take_all(bytes))) {
                Some(length) => Ok(vec![0; length as usize]),
                None => Err(Error::TooLarge(format!(
                    "a table of {size} coordinates for each thread, which the kernel was prepared to \
                     look up, takes more than the limit of {} bytes: prepare it with tensors of about \
                     that size, or raise the memory limit",
                    budget.limit()
                ))),
            }
        };
        tables.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn memory(&mut self) -> impl Iterator<Item = Memory<'_>> {
        self.0.iter_mut().map(|table| Memory::indices_mut(&mut table[..]))
    }
}

/// The number of rows that a part has memory for. Loops ask for twice the rows that they need or more,
/// and get fewer if less is left of the budget that all parts share. All arrays of a part ask for the same
/// number of rows, one after another, and each gets the same number: the loops check the length of one
/// array only.
pub(super) struct Room {
    budget: Arc<Budget>,
    /// Bytes of a row, in all arrays.
    width: u64,
    /// Number of rows of the last request.
    asked: AtomicUsize,
    granted: AtomicUsize,
    /// Bytes taken from the budget.
    taken: AtomicU64,
}

impl Room {
    pub(super) fn new(budget: &Arc<Budget>, width: usize) -> Arc<Self> {
        Arc::new(Self {
            budget: Arc::clone(budget),
            width: width as u64,
            asked: AtomicUsize::new(0),
            granted: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
        })
    }

    /// Requests memory for `wanted` rows. Returns the number granted: at least half. `None` if there is no
    /// memory for half.
    fn rows(&self, wanted: usize) -> Option<usize> {
        // Only one thread at a time uses a part, so relaxed accesses suffice.
        let granted = self.granted.load(Relaxed);
        if wanted > granted && wanted != self.asked.load(Relaxed) {
            let bytes =
                |rows: usize| (rows.saturating_sub(granted) as u64).saturating_mul(self.width);
            let got = self.budget.take(bytes(wanted), bytes(wanted.div_ceil(2)))?;
            self.taken.fetch_add(got, Relaxed);
            self.granted.store(granted + (got / self.width.max(1)) as usize, Relaxed);
            self.asked.store(wanted, Relaxed);
        }
        Some(wanted.min(self.granted.load(Relaxed)))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.budget.give(self.taken.load(Relaxed));
    }
}

/// An array of a part, which grows as far as [`Room`] allows.
pub(super) struct Limited<G> {
    memory: G,
    /// Elements that fit.
    len: usize,
    /// Elements of a row.
    block: usize,
    room: Arc<Room>,
}

impl<G> Limited<G> {
    pub(super) fn new(memory: G, block: usize, room: &Arc<Room>) -> Self {
        Self { memory, len: 0, block, room: Arc::clone(room) }
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
        self.len
    }
    fn reserve(&mut self, len: usize) -> bool {
        if len <= self.len {
            return true;
        }
        // An empty block takes no memory.
        let Some(rows) = self.room.rows(len.checked_div(self.block).unwrap_or(0)) else {
            return false;
        };
        let len = rows.saturating_mul(self.block);
        let grows = self.memory.reserve(len);
        self.len = if grows { len } else { self.len };
        grows
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
    /// An empty column.
    pub(super) fn new(kind: IndexKind, room: &Arc<Room>) -> Self {
        match kind {
            IndexKind::U32 => Self::U32(Limited::new(GrowBuffer::default(), 1, room)),
            IndexKind::I32 => Self::I32(Limited::new(GrowBuffer::default(), 1, room)),
            _ => Self::I64(Limited::new(GrowBuffer::default(), 1, room)),
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

/// Joins the columns of all parts; each comes with its number of rows. All have one type. `None` if there
/// is not enough memory.
fn column(parts: Vec<(GrowColumn, usize)>) -> Option<IndexColumn> {
    macro_rules! of {
        ($($kind:ident),*) => {
            match parts.first() {
                $(Some((GrowColumn::$kind(_), _)) => {
                    let parts = parts.into_iter().map(|(part, rows)| match part {
                        GrowColumn::$kind(part) => (part.into_inner(), rows),
                        _ => unreachable!("one kind"),
                    });
                    Some(GrowBuffer::joined(parts.collect())?.into())
                })*
                None => Some(IndexColumn::Count(0)),
            }
        };
    }
    of!(U32, I32, I64)
}

/// Joins the rows of all parts, in order. `first` is the column of the first level where the parts have
/// none. `None` if there is not enough memory.
pub(super) fn rows_of(parts: Vec<Part>, block: usize, first: Option<IndexColumn>) -> Option<Rows> {
    let mut columns: Vec<Vec<(GrowColumn, usize)>> = Vec::new();
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        values.push((part.values.into_inner(), part.rows * block));
        columns.resize_with(part.columns.len(), Vec::new);
        for (all, more) in columns.iter_mut().zip(part.columns) {
            all.push((more, part.rows));
        }
    }
    let columns = first.into_iter().map(Some).chain(columns.into_iter().map(column));
    Some(Rows { columns: columns.collect::<Option<_>>()?, values: Values::joined(values)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(budget: &Arc<Budget>, block: usize) -> (GrowColumn, Limited<GrowValues>) {
        let room = Room::new(budget, 4 + 8 * block);
        let values = GrowValues::new(ust_level_api::Dtype::F64);
        (GrowColumn::new(IndexKind::U32, &room), Limited::new(values, block, &room))
    }

    #[test]
    fn arrays_of_a_part_have_room_for_as_many_rows_whatever_others_take() {
        let budget = Arc::new(Budget::new(12 * 1000));
        let (mut crd, mut values) = part(&budget, 1);
        assert!(crd.memory().reserve(600));
        // Another part takes most of the remaining budget.
        let (mut other, mut others) = part(&budget, 1);
        assert!(other.memory().reserve(400) && others.reserve(400));
        assert!(values.reserve(600));
        assert_eq!((crd.memory().len(), values.len()), (600, 600));
        // Less than half of the requested rows is left, so nothing changes.
        assert!(!crd.memory().reserve(1300));
        assert_eq!((crd.memory().len(), values.len()), (600, 600));
        drop((other, others));
        // Fewer rows than requested, but more than half.
        assert!(crd.memory().reserve(1300));
        let (mut other, _) = part(&budget, 1);
        assert!(!other.memory().reserve(10));
        assert!(values.reserve(1300));
        assert_eq!((crd.memory().len(), values.len()), (1000, 1000));
    }

    #[test]
    fn what_a_part_took_is_given_back() {
        let budget = Arc::new(Budget::new(28 * 100));
        for _ in 0..10 {
            let (mut crd, mut values) = part(&budget, 3);
            assert!(crd.memory().reserve(90) && values.reserve(270));
            assert_eq!((crd.memory().len(), values.len()), (90, 270));
        }
        assert!(budget.take_all(28 * 100));
    }
}
