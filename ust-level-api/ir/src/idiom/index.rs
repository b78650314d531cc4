//! Indices, taken apart into strides.

use super::super::{ArrayId, BinOp, Expr, Var};

/// An index: a sum of terms without loop variables, and of strides.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
#[non_exhaustive]
pub struct Index {
    /// Terms without variables of the loops. None is the number 0.
    pub base: Vec<Expr>,
    /// What each loop adds. No two steps are by the same.
    pub steps: Vec<Step>,
}

/// A term `by * stride` of an index.
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub struct Step {
    /// The number that changes.
    pub by: By,
    /// Its factor, without variables of the loops.
    pub stride: Expr,
}

/// A number that changes in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// The loop variable.
    Var(Var),
    /// The element of an array whose index is the loop variable: a coordinate.
    Read(ArrayId, Var),
}

impl By {
    /// The loop variable.
    #[must_use]
    pub fn var(self) -> Var {
        match self {
            Self::Var(var) | Self::Read(_, var) => var,
        }
    }
}

impl From<By> for Expr {
    fn from(by: By) -> Self {
        match by {
            By::Var(var) => var.into(),
            By::Read(array, var) => Expr::Load(array, Box::new(var.into())),
        }
    }
}

impl Index {
    /// Takes an expression apart. `None` if it is no sum of strides of these loop variables.
    pub(super) fn of(expr: &Expr, loops: &[Var]) -> Option<Self> {
        let mut index = Self::default();
        index.add(expr, &Expr::Int(1), loops)?;
        Some(index)
    }

    fn add(&mut self, expr: &Expr, times: &Expr, loops: &[Var]) -> Option<()> {
        let is_fixed = |expr: &Expr| !has_any(expr, loops);
        if is_fixed(expr) {
            if *expr != Expr::Int(0) {
                self.base.push(expr.clone() * times.clone());
            }
            return Some(());
        }
        match expr {
            Expr::Var(var) => self.step(By::Var(*var), times),
            Expr::Load(array, index) => match **index {
                Expr::Var(var) => self.step(By::Read(*array, var), times),
                _ => None,
            },
            Expr::Binary(BinOp::Add, a, b) => {
                self.add(a, times, loops)?;
                self.add(b, times, loops)
            }
            Expr::Binary(BinOp::Sub, a, b) => {
                self.add(a, times, loops)?;
                self.add(b, &(Expr::Int(0) - times.clone()), loops)
            }
            Expr::Binary(BinOp::Mul, a, b) | Expr::Binary(BinOp::Mul, b, a) if is_fixed(b) => {
                self.add(a, &((**b).clone() * times.clone()), loops)
            }
            _ => None,
        }
    }

    fn step(&mut self, by: By, stride: &Expr) -> Option<()> {
        let first = self.steps.iter().all(|step| step.by != by);
        self.steps.push(Step { by, stride: stride.clone() });
        first.then_some(())
    }

    /// The index as an expression.
    #[must_use]
    pub fn expr(&self) -> Expr {
        let steps = self.steps.iter().map(|step| Expr::from(step.by) * step.stride.clone());
        steps.chain(self.base.iter().cloned()).reduce(|a, b| a + b).unwrap_or(Expr::Int(0))
    }
}

/// Whether an expression has any of these variables.
pub(super) fn has_any(expr: &Expr, vars: &[Var]) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= matches!(part, Expr::Var(var) if vars.contains(var)));
    found
}
