//! Which microkernel each innermost loop became, or why it stayed a scalar loop: for people and for tests
//! that watch the choice.

use std::fmt;

use ust_ir::{Elem, Expr, Function, Stmt, Var};

use super::pattern::Pattern;

/// An innermost loop, or a nest of loops that one microkernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopCode {
    /// The name of the loop's variable; `while` for a loop that has none.
    pub var: String,
    /// What runs it.
    pub code: CodeOf,
}

/// What runs a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeOf {
    /// A call of this microkernel, where the loop is long enough for a call.
    Microkernel(&'static str),
    /// Its body, once for each of its few iterations.
    Unrolled,
    /// Scalar code.
    Scalar(Reason),
}

/// Why a loop stays scalar code. Of several reasons, the first in this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// Several operands are advanced together.
    Merge,
    /// The result grows in the loop.
    Grows,
    /// A condition compares coordinates or positions: the shape, or a search.
    TestsCoordinates,
    /// A condition depends on values: padding, or the expression.
    TestsValues,
    /// A variable is carried from one iteration to the next, and it is no sum.
    Carries,
    /// There are several effects in an iteration.
    Several,
    /// No microkernel computes this.
    Operation,
    /// There is a microkernel, but not for these dtypes or index widths, or not in the order of the sums
    /// that was asked for.
    Types,
    /// Code that checks every access calls no microkernel.
    Checked,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "operands are merged",
            Self::Grows => "the result grows",
            Self::TestsCoordinates => "a test of coordinates",
            Self::TestsValues => "a test of values",
            Self::Carries => "carried state",
            Self::Several => "several effects",
            Self::Operation => "no kernel for the operation",
            Self::Types => "no kernel for the types",
            Self::Checked => "checked code",
        })
    }
}

impl fmt::Display for LoopCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            CodeOf::Microkernel(name) => write!(f, "{}: {name}", self.var),
            CodeOf::Unrolled => write!(f, "{}: unrolled", self.var),
            CodeOf::Scalar(reason) => write!(f, "{}: scalar ({reason})", self.var),
        }
    }
}

impl Pattern {
    /// The name of the microkernel.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::GatherDot { .. } => "gather-dot",
            Self::Dot { .. } => "dot",
            Self::Total { .. } => "total",
            Self::Fill { .. } => "fill",
            Self::Axpy { .. } => "axpy",
            Self::MultiplyAdd { .. } => "multiply-add",
            Self::Rows { .. } => "rows-of-gather-dots",
            Self::RunDots { .. } => "run-dots",
            Self::SharedDots { .. } => "shared-dots",
            Self::SharedRows { .. } => "rows-of-shared-runs",
            Self::Runs { .. } => "rows-of-runs",
            Self::OneDots { .. } => "one-dots",
            Self::GapDots { .. } => "gap-dots",
            Self::Row { .. } => "row-of-products",
            Self::Added { .. } => "rows-added",
            Self::Products { .. } => "rows-of-products",
            Self::Slots { .. } => "slots-of-rows",
            Self::Slices { .. } => "slices-of-rows",
            Self::Spread { .. } => "rows-spread",
            Self::Combined { .. } => "rows-combined",
            Self::Sampled { .. } => "sampled-dots",
            Self::Entries { .. } => "entries",
            Self::Scatter { .. } => "scatter",
            Self::ScatterRows { .. } => "rows-scattered",
            Self::Count { .. } => "count",
        }
    }
}

/// Whether there is a loop in a body.
pub(super) fn has_loop(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::For { .. } | Stmt::While { .. } => true,
        Stmt::If { then, otherwise, .. } => has_loop(then) || has_loop(otherwise),
        _ => false,
    })
}

/// Whether a loop with this body only looks for an index: it writes no array, and computes with no numbers.
pub(super) fn searches(function: &Function, body: &[Stmt]) -> bool {
    let mut only = true;
    Stmt::visit_all(body, &mut |stmt| match stmt {
        Stmt::Assign(var, _) => {
            only &= !matches!(function.vars[var.0 as usize].ty, ust_ir::Ty::Val(_));
        }
        Stmt::Store(..) | Stmt::Reduce(..) | Stmt::Reserve(..) | Stmt::Sort(..) => only = false,
        _ => {}
    });
    only
}

/// Why an innermost loop that has no pattern stays scalar code.
pub(super) fn reason(function: &Function, body: &[Stmt]) -> Reason {
    let mut found = Found { function, body, own: Vec::new(), first: Reason::Operation, effects: 0 };
    found.look_at(body);
    if found.effects > 1 {
        found.add(Reason::Several);
    }
    found.first
}

struct Found<'a> {
    function: &'a Function,
    /// The body of the loop.
    body: &'a [Stmt],
    /// Variables that the body declares.
    own: Vec<Var>,
    /// The first reason so far, in the order of [`Reason`].
    first: Reason,
    effects: usize,
}

impl Found<'_> {
    fn add(&mut self, reason: Reason) {
        self.first = self.first.min(reason);
    }

    /// Whether the loop reads a sum while it is formed.
    fn is_read_besides(&self, sum: Var) -> bool {
        let mut found = false;
        Stmt::visit_all(self.body, &mut |stmt| {
            let is_own = matches!(stmt, Stmt::Assign(var, _) if *var == sum);
            for expr in stmt.exprs().into_iter().filter(|_| !is_own) {
                expr.visit(&mut |part| found |= *part == Expr::Var(sum));
            }
        });
        found
    }

    fn look_at(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let(var, _) => self.own.push(*var),
                Stmt::Assign(var, _) if self.own.contains(var) => {}
                Stmt::Assign(_, Expr::Bool(_)) => {}
                Stmt::Assign(var, value) => {
                    self.effects += 1;
                    let is_sum = matches!(value, Expr::Binary(_, a, b)
                        if [a, b].iter().any(|part| ***part == Expr::Var(*var)));
                    if !is_sum || self.is_read_besides(*var) {
                        self.add(Reason::Carries);
                    }
                }
                Stmt::Store(..) | Stmt::Reduce(..) => self.effects += 1,
                Stmt::If { cond, then, otherwise } => {
                    self.add(match self.reads_values(cond) {
                        true => Reason::TestsValues,
                        false => Reason::TestsCoordinates,
                    });
                    self.look_at(then);
                    self.look_at(otherwise);
                }
                Stmt::Reserve(..) | Stmt::Sort(..) => self.add(Reason::Grows),
                Stmt::For { body, .. } | Stmt::While { body, .. } => self.look_at(body),
                Stmt::Comment(_) => {}
            }
        }
    }

    /// Whether an expression depends on numbers of the dtype.
    fn reads_values(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.visit(&mut |part| {
            found |= match part {
                Expr::Load(array, _) => {
                    matches!(self.function.arrays[array.0 as usize].elem, Elem::Value(_))
                }
                Expr::Var(var) => {
                    matches!(self.function.vars[var.0 as usize].ty, ust_ir::Ty::Val(_))
                }
                Expr::Const(_) => true,
                _ => false,
            };
        });
        found
    }
}
