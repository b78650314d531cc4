//! Indices, taken apart into strides.

use super::super::{ArrayId, BinOp, Expr, Var};

/// An index: a sum of terms without loop variables, and of strides.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
#[non_exhaustive]
pub struct Index {
    /// Terms without variables of the loops. None is the number 0.
    pub base: Vec<Expr>,
    /// What each loop adds. No two steps are by the same, and none is by nothing.
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
    /// The element behind that one: an end, where the array has the beginnings of intervals.
    Next(ArrayId, Var),
    /// The coordinate that the loop [decodes](super::Coded), and the loop variable.
    Decoded(Var, Var),
}

impl By {
    /// The loop variable.
    #[must_use]
    pub fn var(self) -> Var {
        match self {
            Self::Var(var) | Self::Read(_, var) | Self::Next(_, var) | Self::Decoded(_, var) => var,
        }
    }

    /// Whether this is a variable, and an expression has it.
    pub(super) fn is_in(self, expr: &Expr) -> bool {
        match self {
            Self::Var(var) | Self::Decoded(var, _) => has_any(expr, &[var]),
            Self::Read(..) | Self::Next(..) => false,
        }
    }
}

impl From<By> for Expr {
    fn from(by: By) -> Self {
        match by {
            By::Var(var) | By::Decoded(var, _) => var.into(),
            By::Read(array, var) => Expr::Load(array, Box::new(var.into())),
            By::Next(array, var) => Expr::Load(array, Box::new(Expr::Var(var) + 1)),
        }
    }
}

impl Index {
    /// Takes an expression apart. `None` if it is no sum of strides of these variables, which change in loops.
    pub(super) fn of(expr: &Expr, moving: &[By]) -> Option<Self> {
        let mut index = Self::default();
        index.add(expr, &Expr::Int(1), moving)?;
        Some(index)
    }

    fn add(&mut self, expr: &Expr, times: &Expr, moving: &[By]) -> Option<()> {
        let is_fixed = |expr: &Expr| !moving.iter().any(|by| by.is_in(expr));
        let is_loop = |var: &Var| moving.contains(&By::Var(*var));
        if is_fixed(expr) {
            if *expr != Expr::Int(0) {
                self.base.push(expr.clone() * times.clone());
            }
            return Some(());
        }
        match expr {
            Expr::Var(var) => {
                let by = moving.iter().find(|by| Expr::from(**by) == Expr::Var(*var))?;
                self.step(*by, times);
            }
            Expr::Load(array, index) => match &**index {
                Expr::Var(var) if is_loop(var) => self.step(By::Read(*array, *var), times),
                Expr::Binary(BinOp::Add, a, b) => match (&**a, &**b) {
                    (Expr::Var(var), Expr::Int(1)) | (Expr::Int(1), Expr::Var(var))
                        if is_loop(var) =>
                    {
                        self.step(By::Next(*array, *var), times);
                    }
                    _ => return None,
                },
                _ => return None,
            },
            Expr::Binary(BinOp::Add, a, b) => {
                self.add(a, times, moving)?;
                self.add(b, times, moving)?;
            }
            Expr::Binary(BinOp::Sub, a, b) => {
                self.add(a, times, moving)?;
                self.add(b, &(Expr::Int(0) - times.clone()), moving)?;
            }
            Expr::Binary(BinOp::Mul, a, b) | Expr::Binary(BinOp::Mul, b, a) if is_fixed(b) => {
                self.add(a, &((**b).clone() * times.clone()), moving)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds a step. Its stride is added to that of the step by the same, if there is one.
    fn step(&mut self, by: By, stride: &Expr) {
        match self.steps.iter().position(|step| step.by == by) {
            None => self.steps.push(Step { by, stride: stride.clone() }),
            Some(at) => {
                let sum = self.steps[at].stride.clone() + stride.clone();
                match sum {
                    Expr::Int(0) => drop(self.steps.remove(at)),
                    sum => self.steps[at].stride = sum,
                }
            }
        }
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
