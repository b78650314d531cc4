//! Where loops put their results.
//!
//! | kind | when | how |
//! |---|---|---|
//! | full | every level of the result is full | values are combined at their final positions |
//! | shared | the result has the entries and the format of one operand | values are written at that operand's positions; the result shares its levels |
//! | sorted | the loops visit the rows of the result in its order, each row once | rows are appended |
//! | workspace | as sorted, but loops of a sum are around the innermost coordinate | values are added in a dense workspace, which is appended and cleared after the loops of the sum |
//! | unsorted | in all other cases | rows are appended in the order of the loops, then sorted and combined |
//!
//! A *row* is a position of the result's last level that is not full, with its trailing dense block
//! of values. In CSR, a row is one entry.

use ust_format::{Bound, ExprKey, Format, IndexExpr, LevelDomain, LevelSpec};
use ust_level_api::IndexKind;
use ust_level_api::column::column_kind;

use super::order::Step;
use crate::tuning::WORKSPACE_MAX_ELEMENTS;
use crate::walk::operand::can_be_negative;

/// The result of a stage: its index variables, and the format asked for.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// The index variable of each dimension.
    pub(crate) dims: Vec<usize>,
    /// The format asked for.
    pub(crate) format: Format,
    /// The level expressions of that format, over index variables.
    pub(crate) levels: Vec<(IndexExpr, ExprKey)>,
    /// Whether the result is too wide for a workspace.
    wide: bool,
}

/// How results are collected: see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinkKind {
    /// Every level of the result is full: values are combined at their final positions.
    Full,
    /// The result shares the levels of one operand: values are written at its positions.
    Shared {
        /// The access to that operand.
        at: usize,
    },
    /// Rows are appended.
    Sorted {
        /// Number of loops around the append.
        depth: usize,
    },
    /// Values are added in a workspace, which is then appended.
    Workspace {
        /// Number of loops around the workspace.
        open: usize,
        /// Number of loops around the addition of one value.
        depth: usize,
    },
    /// Rows are appended, then sorted and combined.
    Unsorted,
}

impl SinkKind {
    /// Whether the position of every value is known before the loops run.
    pub(crate) fn is_in_place(self) -> bool {
        matches!(self, Self::Full | Self::Shared { .. })
    }
}

/// How results are collected, and in which format.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    pub(crate) kind: SinkKind,
    /// The format that the loops write: the one asked for, or one that is converted to it afterwards.
    pub(crate) format: Format,
    /// The level expressions of that format.
    pub(crate) levels: Vec<IndexExpr>,
    /// For each level above the trailing dense block, the type of its coordinates while collected.
    pub(crate) columns: Vec<IndexKind>,
}

impl Sink {
    /// The type of the marks of a workspace: the number of times that it was opened. With at most one
    /// level above, that is at most the number of that level's coordinates.
    pub(crate) fn mark(&self) -> IndexKind {
        match self.columns[..] {
            [IndexKind::U32] | [IndexKind::U32, IndexKind::U32] => IndexKind::U32,
            _ => IndexKind::I64,
        }
    }
}

/// For each level above the trailing dense block, the narrowest type that holds its coordinates. Levels
/// of differences, as `j - i`, always get a signed type.
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
    /// `extents` has the extent of each index variable.
    pub(crate) fn new(dims: Vec<usize>, format: Format, extents: &[f64]) -> Self {
        let levels = format.levels().iter().map(|level| {
            let expr = level.expr.renamed(&dims);
            (expr.clone(), ExprKey::new(&expr))
        });
        let levels = levels.collect();
        let wide = dims.iter().any(|&v| extents[v] > WORKSPACE_MAX_ELEMENTS);
        Self { dims, format, levels, wide }
    }

    /// Whether every level of the format asked for is full.
    pub(crate) fn is_full(&self) -> bool {
        self.format.is_full()
    }

    /// Number of elements, stored or not.
    pub(crate) fn domain(&self, extents: &[f64]) -> f64 {
        self.dims.iter().map(|&v| extents[v]).product()
    }

    /// Whether a loop over an index variable writes neighbouring values of the result, or stays at one.
    pub(crate) fn streams(&self, v: usize) -> bool {
        !self.is_full()
            || !self.dims.contains(&v)
            || self.levels.last().is_some_and(|(last, _)| *last == IndexExpr::Var(v))
    }

    /// How results of these loops are collected, and whether in the format asked for.
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
    /// The level types of the intermediate format are not linked.
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

    /// A sink for rows in any order.
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

    /// How rows with these level expressions are collected if the loops visit them in order; `None` if
    /// they do not.
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
