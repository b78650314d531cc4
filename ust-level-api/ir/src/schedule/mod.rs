//! Schedules: functions for parallel machines, and a run that finds races.
//!
//! A schedule is an ordinary function with [`Marks`] beside it. The function stays sequential and valid,
//! so every back end can run it; the marks say what a parallel machine may do at the same time: parts of the
//! outermost loop, the iterations of some loops in *lanes*, and what it has to know of each array. A back
//! end prints or compiles the marks. [`Watched`] runs the same function in the interpreter, with parts and
//! lanes in shuffled order, and notes who accessed each element: it finds marks that are wrong.
//!
//! ```
//! use ust_ir::interp::{Memory, RunError};
//! use ust_ir::schedule::{Marks, Scheduled, Sharing, Watched};
//! use ust_ir::{BinOp, Builder, Dtype, Elem, IndexKind, Ty};
//!
//! // Adds x[p] to y[crd[p]], for a part of all p.
//! let mut b = Builder::new("scatter");
//! let [lo, hi] = ["lo", "hi"].map(|name| b.param(name, Ty::Int));
//! let crd = b.array("crd", Elem::Index(IndexKind::I64), false);
//! let x = b.array("x", Elem::Value(Dtype::F64), false);
//! let y = b.array("y", Elem::Value(Dtype::F64), true);
//! b.for_("p", lo, hi, |b, p| {
//!     let (at, value) = (b.load(crd, p.clone()), b.load(x, p));
//!     b.reduce(BinOp::Add, y, at, value);
//! });
//! let function = b.finish();
//!
//! let run = |sharing| {
//!     let marks = Marks { arrays: [(y, sharing)].into(), ..Marks::default() };
//!     let watched = Watched::new(&Scheduled { function: function.clone(), marks }).unwrap();
//!     let (crd, x, mut y) = ([0, 1, 1, 0], [1.0, 2.0, 4.0, 8.0], [0.0, 0.0]);
//!     let memory = &mut [Memory::Indices(&crd), Memory::values(&x), Memory::values_mut(&mut y)];
//!     let parts = [[0.into(), 2.into()], [2.into(), 4.into()]];
//!     watched.run(&parts, memory, 1).map(|()| y)
//! };
//! assert_eq!(run(Sharing::Atomic), Ok([9.0, 6.0]));
//! assert!(matches!(run(Sharing::Own), Err(RunError::Race { array, .. }) if array == "y"));
//! ```

mod lanes;
mod passes;
#[cfg(test)]
mod tests;
mod vector;
mod watched;

use std::collections::{BTreeMap, HashSet};

pub use passes::{counting, filling};
pub use vector::{Group, Vector};
pub use watched::{LANES, Watched};

use super::validate::{ValidateError, validate};
use super::{ArrayId, BinOp, Expr, Function, Stmt, Var};

/// A function, and what a parallel machine may do with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// The code, valid as it stands.
    pub function: Function,
    /// What may happen at the same time.
    pub marks: Marks,
}

/// What may happen at the same time, and what a back end is advised to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    /// Marks of `for` loops, by their variables.
    pub loops: BTreeMap<Var, LoopMarks>,
    /// How parts and lanes share arrays that the function writes. [`Sharing::Own`] if nothing is said.
    pub arrays: BTreeMap<ArrayId, Sharing>,
    /// The workspace of each part, if a machine may keep it as a hash table.
    pub table: Option<Table>,
}

/// A workspace: arrays with an element for each coordinate, of which loops use a few. A machine may keep only those
/// that are used, in a hash table. All arrays are [`Sharing::Workspace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// For each coordinate, 1 if it is used, or 0. Loops set it before they combine values.
    pub marks: ArrayId,
    /// The value of each coordinate.
    pub values: ArrayId,
    /// The coordinates that are used.
    pub list: ArrayId,
    /// The number of elements of `list`.
    pub listed: Var,
    /// The loop over all coordinates that sets marks to 0, and values to that of an empty sum. Lanes share it.
    pub clearing: Var,
    /// The loop over all coordinates that appends those that are used to `list`.
    pub listing: Var,
}

/// Marks of a loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopMarks {
    /// If given, lanes share the iterations, and each lane forms its own part of these sums. Of a loop in lanes inside
    /// another, lanes share the iterations of both: several may run the same iteration of the outer one, each for
    /// other iterations of the inner one.
    pub lanes: Option<Vec<LaneSum>>,
    /// Number of iterations that are best written one after another.
    pub unroll: Option<u32>,
    /// The elements that each iteration accesses, if these are several.
    pub vector: Option<Vector>,
}

/// A variable to which the iterations of a loop add, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneSum {
    /// The variable, declared outside the loop.
    pub var: Var,
    /// The operation: `var = var op value`.
    pub op: BinOp,
    /// The value of an empty sum, a constant.
    pub start: Expr,
}

/// How parts and lanes share an array that a function writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// No element that one of them writes is accessed by another.
    #[default]
    Own,
    /// Several may combine values into the same element, each combination as a whole. Nobody reads it.
    Atomic,
    /// Each part has memory of its own, which the caller gives. Lanes do not write it.
    Scratch,
    /// Each part has memory of its own, which the caller gives. Lanes combine values into the same element, each
    /// combination as a whole, or set it to the same constant.
    Workspace,
}

/// Why marks contradict their function.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MarkError {
    /// The function is not valid.
    #[error(transparent)]
    Invalid(#[from] ValidateError),
    /// There is no `for` loop over a variable.
    #[error("no loop of `{function}` runs over variable number {var}")]
    NoLoop {
        /// The function.
        function: String,
        /// The variable.
        var: u32,
    },
    /// A variable passes from one iteration to the next, and is no sum.
    #[error(
        "lanes cannot share the loop over `{of}`: `{var}` passes from one iteration to the next, and \
         is not marked as a sum"
    )]
    Carried {
        /// The loop's variable.
        of: String,
        /// The variable.
        var: String,
    },
    /// A variable that is marked as a sum is read, or gets other values.
    #[error(
        "lanes cannot share the loop over `{of}`: `{var}` is no sum by the operation that is marked"
    )]
    NoSum {
        /// The loop's variable.
        of: String,
        /// The variable.
        var: String,
    },
    /// A loop in lanes has something inside that lanes cannot do.
    #[error("lanes cannot share the loop over `{of}`: it contains {what}")]
    Contains {
        /// The loop's variable.
        of: String,
        /// What it contains.
        what: &'static str,
    },
    /// A loop accesses an element alone that is marked as one of several.
    #[error(
        "the loop over `{of}` accesses an element alone of an array that is marked as a vector"
    )]
    Alone {
        /// The loop's variable.
        of: String,
    },
}

impl std::fmt::Debug for MarkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Scheduled {
    /// Checks that the function is valid, and that each mark belongs to a loop that it can hold for.
    ///
    /// # Errors
    /// [`MarkError`].
    pub fn check(&self) -> Result<(), MarkError> {
        validate(&self.function)?;
        let mut left: HashSet<Var> = self.marks.loops.keys().copied().collect();
        let mut result = Ok(());
        Stmt::visit_all(&self.function.body, &mut |stmt| {
            let Stmt::For { var, body, .. } = stmt else { return };
            left.remove(var);
            if let (Ok(()), Some(sums)) = (&result, self.lanes(*var)) {
                result = self.check_lanes(*var, sums, body);
            }
            let vector = self.marks.loops.get(var).and_then(|marks| marks.vector.as_ref());
            if result.is_ok() && vector.is_some_and(|vector| vector.is_broken(body)) {
                result = Err(MarkError::Alone { of: self.name(*var) });
            }
        });
        result?;
        match left.into_iter().next() {
            Some(Var(var)) => Err(MarkError::NoLoop { function: self.function.name.clone(), var }),
            None => Ok(()),
        }
    }

    /// The sums of a loop in lanes.
    fn lanes(&self, var: Var) -> Option<&[LaneSum]> {
        self.marks.loops.get(&var)?.lanes.as_deref()
    }

    /// How parts share an array.
    fn sharing(&self, array: ArrayId) -> Sharing {
        self.marks.arrays.get(&array).copied().unwrap_or_default()
    }

    fn name(&self, var: Var) -> String {
        self.function.vars[var.0 as usize].name.clone()
    }

    fn check_lanes(&self, of: Var, sums: &[LaneSum], body: &[Stmt]) -> Result<(), MarkError> {
        let mut result = Ok(());
        let contains = |what| Err(MarkError::Contains { of: self.name(of), what });
        let no_sum = |var| Err(MarkError::NoSum { of: self.name(of), var: self.name(var) });
        let mut inside = false;
        Stmt::visit_all(body, &mut |stmt| match stmt {
            Stmt::For { var, .. } if self.lanes(*var).is_some() => inside = true,
            Stmt::Reserve(..) => result = contains("an array that grows"),
            Stmt::Sort(..) => result = contains("a sort"),
            _ => {}
        });
        if inside && self.stores_beside(body) {
            result = contains("a loop in lanes, and stores beside it");
        }
        for var in carried(body) {
            match sums.iter().find(|sum| sum.var == var) {
                Some(_) if inside => result = contains("a loop in lanes, and a sum"),
                Some(sum) if !is_sum(sum, body) => result = no_sum(var),
                Some(_) => {}
                None => {
                    result = Err(MarkError::Carried { of: self.name(of), var: self.name(var) });
                }
            }
        }
        result
    }

    /// Whether code stores outside of loops in lanes.
    fn stores_beside(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Store(..) | Stmt::Reduce(..) => true,
            Stmt::For { var, body, .. } => self.lanes(*var).is_none() && self.stores_beside(body),
            Stmt::While { body, .. } => self.stores_beside(body),
            Stmt::If { then, otherwise, .. } => {
                self.stores_beside(then) || self.stores_beside(otherwise)
            }
            _ => false,
        })
    }
}

/// The variables that a body assigns and does not declare.
#[must_use]
pub fn carried(body: &[Stmt]) -> Vec<Var> {
    let (mut own, mut assigned) = (HashSet::new(), Vec::new());
    Stmt::visit_all(body, &mut |stmt| match stmt {
        Stmt::Let(var, _) | Stmt::For { var, .. } => {
            own.insert(*var);
        }
        Stmt::Assign(var, _) if !assigned.contains(var) => assigned.push(*var),
        _ => {}
    });
    assigned.retain(|var| !own.contains(var));
    assigned
}

/// Whether a body only adds to a variable.
fn is_sum(sum: &LaneSum, body: &[Stmt]) -> bool {
    let own = Expr::Var(sum.var);
    let reads = |expr: &Expr| {
        let mut found = false;
        expr.visit(&mut |part| found |= *part == own);
        found
    };
    let mut fine = true;
    Stmt::visit_all(body, &mut |stmt| {
        fine &= match stmt {
            Stmt::Assign(var, value) if *var == sum.var => match value {
                Expr::Binary(op, a, b) if *op == sum.op && **a == own => !reads(b),
                Expr::Binary(op, a, b) if *op == sum.op && **b == own => !reads(a),
                Expr::Bool(value) => {
                    matches!((sum.op, value), (BinOp::Or, true) | (BinOp::And, false))
                }
                _ => false,
            },
            stmt => !stmt.exprs().into_iter().any(reads),
        };
    });
    fine
}
