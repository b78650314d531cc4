//! How results are collected.
//!
//! | kind | when | how |
//! |---|---|---|
//! | full | every level of the result is full | combined into place |
//! | shared | the result stores what one operand stores, in the same format | in that operand's positions; levels are shared |
//! | sorted | loops visit the result's rows in its own order, each once | appended |
//! | workspace | the same, but for loops of a sum around the innermost coordinate | combined in a dense row, which is emptied when the loops of the sum are done |
//! | unsorted | else | appended as it comes, sorted and combined afterwards |
//!
//! A *row* is a position of the result's last level that is not full; what the full levels below
//! hold is a block of values.

use ust_format::{Bound, ExprKey, Format, IndexExpr, LevelDomain, LevelSpec};
use ust_level_api::IndexKind;
use ust_level_api::column::column_kind;

use super::order::Step;
use crate::walk::nest::can_be_negative;

/// What a result is like.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The index variable of each dimension.
    pub(crate) dims: Vec<usize>,
    /// The format asked for.
    pub(crate) format: Format,
    /// The level expressions of that format, over index variables.
    pub(crate) levels: Vec<(IndexExpr, ExprKey)>,
    /// Whether a row, stored in full, has more places than are worth it.
    wide: bool,
}

/// A row of more places is not stored in full: results are sorted instead.
const WIDEST: f64 = (1_u64 << 28) as f64;

/// How results are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinkKind {
    /// Every level of the result is full: combined into place.
    Full,
    /// The result stores what this use stores, and shares its levels: put where that stands.
    Shared {
        /// The use.
        at: usize,
    },
    /// Rows are appended when so many loops are open.
    Sorted {
        /// Number of loops.
        depth: usize,
    },
    /// A dense row is opened when `open` loops are, and its place is known inside `depth` loops.
    Workspace {
        /// Number of loops around the row.
        open: usize,
        /// Number of loops around an element.
        depth: usize,
    },
    /// Appended, sorted and combined afterwards.
    Unsorted,
}

impl SinkKind {
    /// Whether every value has its place before the loops run.
    pub(crate) fn is_in_place(self) -> bool {
        matches!(self, Self::Full | Self::Shared { .. })
    }
}

/// How results are collected, and where.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    pub(crate) kind: SinkKind,
    /// The format collected into: the one asked for, or one that is converted into it afterwards.
    pub(crate) format: Format,
    /// The level expressions of that format.
    pub(crate) levels: Vec<IndexExpr>,
    /// For each level above the trailing full ones, what its coordinates are written as.
    pub(crate) columns: Vec<IndexKind>,
}

impl Sink {
    /// How a workspace counts the rows that it is used for: no more than the coordinates of a
    /// column are they where only one is above.
    pub(crate) fn mark(&self) -> IndexKind {
        match self.columns[..] {
            [IndexKind::U32] | [IndexKind::U32, IndexKind::U32] => IndexKind::U32,
            _ => IndexKind::I64,
        }
    }
}

/// The narrowest columns that hold all coordinates of each level above the trailing full ones.
/// Differences are signed, whatever the shape.
pub(crate) fn columns(bound: &Bound) -> Vec<IndexKind> {
    let format = bound.format();
    let levels = format.levels()[..format.tail()].iter().zip(bound.levels());
    let kind = |(level, domain): (&LevelSpec, &LevelDomain)| {
        let signed = can_be_negative(&level.expr);
        let first = if signed { domain.lower.min(-1) } else { domain.lower };
        let last = domain.lower.saturating_add_unsigned(domain.size.saturating_sub(1));
        column_kind(first, last)
    };
    levels.map(kind).collect()
}

impl Shape {
    /// `extents` are those of all index variables.
    pub(crate) fn new(dims: Vec<usize>, format: Format, extents: &[f64]) -> Self {
        let levels = format.levels().iter().map(|level| {
            let expr = level.expr.renamed(&dims);
            (expr.clone(), ExprKey::new(&expr))
        });
        let levels = levels.collect();
        let wide = dims.iter().any(|&v| extents[v] > WIDEST);
        Self { dims, format, levels, wide }
    }

    /// Whether every level of the format asked for is full.
    pub(crate) fn is_full(&self) -> bool {
        self.format.is_full()
    }

    /// Number of places.
    pub(crate) fn domain(&self, extents: &[f64]) -> f64 {
        self.dims.iter().map(|&v| extents[v]).product()
    }

    /// Whether a loop over an index variable runs along neighbours of the result, or not along it.
    pub(crate) fn streams(&self, v: usize) -> bool {
        !self.is_full()
            || !self.dims.contains(&v)
            || self.levels.last().is_some_and(|(last, _)| *last == IndexExpr::Var(v))
    }

    /// How results are collected under these loops, and whether in the format asked for.
    pub(crate) fn kind(&self, steps: &[Step]) -> (SinkKind, bool) {
        if self.is_full() {
            return (SinkKind::Full, true);
        }
        let asked: Vec<&(IndexExpr, ExprKey)> = self.levels[..self.format.tail()].iter().collect();
        if let Some(kind) = self.matched(steps, &asked) {
            return (kind, true);
        }
        let plain: Vec<(IndexExpr, ExprKey)> = self
            .loop_order(steps)
            .into_iter()
            .map(|v| (IndexExpr::Var(v), ExprKey::new(&IndexExpr::Var(v))))
            .collect();
        match self.matched(steps, &plain.iter().collect::<Vec<_>>()) {
            Some(kind) => (kind, false),
            None => (SinkKind::Unsorted, false),
        }
    }

    /// How results are collected, and in which format.
    ///
    /// # Errors
    /// The level types of the format in between are not linked.
    pub(crate) fn sink(&self, steps: &[Step]) -> Result<Sink, crate::error::Error> {
        let (kind, exact) = self.kind(steps);
        if exact {
            let levels = self.levels.iter().map(|(expr, _)| expr.clone()).collect();
            return Ok(Sink { kind, format: self.format.clone(), levels, columns: Vec::new() });
        }
        if kind == SinkKind::Unsorted {
            return self.unsorted();
        }
        let place = |v| self.dims.iter().position(|&d| d == v);
        let order: Vec<usize> = self.loop_order(steps).into_iter().filter_map(place).collect();
        let levels = order.iter().map(|&dim| IndexExpr::Var(self.dims[dim])).collect();
        Ok(Sink { kind, format: super::access::tree(&order)?, levels, columns: Vec::new() })
    }

    /// Collects in whatever order results come.
    ///
    /// # Errors
    /// As [`Shape::sink`].
    pub(crate) fn unsorted(&self) -> Result<Sink, crate::error::Error> {
        let order: Vec<usize> = (0..self.dims.len()).collect();
        let levels = self.dims.iter().map(|&v| IndexExpr::Var(v)).collect();
        let format = super::access::tree(&order)?;
        Ok(Sink { kind: SinkKind::Unsorted, format, levels, columns: Vec::new() })
    }

    /// The result's index variables in the order in which loops give them.
    fn loop_order(&self, steps: &[Step]) -> Vec<usize> {
        let solved = steps.iter().flat_map(|step| &step.solved);
        solved.copied().filter(|v| self.dims.contains(v)).collect()
    }

    /// Whether the loops visit rows with these coordinates in order.
    fn matched(&self, steps: &[Step], rows: &[&(IndexExpr, ExprKey)]) -> Option<SinkKind> {
        let (last, above) = rows.split_last()?;
        let mut depth = 0;
        let known = |expr: &IndexExpr, depth: usize| {
            let solved = |v: usize| steps[..depth].iter().any(|step| step.solved.contains(&v));
            expr.vars().into_iter().all(solved)
        };
        for (expr, key) in above {
            if steps.get(depth).is_some_and(|step| step.key == *key) {
                depth += 1;
            } else if !known(expr, depth) {
                return None;
            }
        }
        if steps.get(depth).is_some_and(|step| step.key == last.1) {
            return Some(SinkKind::Sorted { depth: depth + 1 });
        }
        if known(&last.0, depth) {
            return Some(SinkKind::Sorted { depth });
        }
        let found = depth + steps[depth..].iter().position(|step| step.key == last.1)?;
        let foreign = |step: &Step| step.expr.vars().iter().all(|v| !self.dims.contains(v));
        let reduced = steps[depth..found].iter().all(foreign);
        let dense = reduced && !self.wide;
        dense.then_some(SinkKind::Workspace { open: depth, depth: found + 1 })
    }
}
