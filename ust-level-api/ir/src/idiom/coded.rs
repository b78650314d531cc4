//! Loops over entries whose coordinates are in a code, and are decoded one after another.

use super::super::{ArrayId, BinOp, Expr, Stmt, Var};

/// The coordinates of entries that stand at consecutive positions, in a code. All but `first`, with which they
/// begin.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Code {
    /// An entry for each one among the lowest 32 bits of an int: its coordinate is `first` plus the place of the
    /// bit.
    Ones(Expr),
    /// Each entry has a number: how many coordinates are left out before its own, from the one behind the entry
    /// before on, or from `first`.
    Gaps {
        /// Number of entries.
        count: Expr,
        /// Their numbers.
        numbers: Numbers,
    },
}

/// A number for each position. Numbers of less than 8 bits lie side by side in a byte, the first in the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numbers {
    /// The array: an element for each number, or bytes.
    pub array: ArrayId,
    /// Bits of a number: a power of two, up to 32.
    pub bits: u32,
    /// What is added to a position, which gives the place of its number. `None` for 0.
    pub shift: Option<Var>,
}

impl Code {
    /// Number of entries.
    #[must_use]
    pub fn count(&self) -> Expr {
        match self {
            Self::Ones(mask) => mask.clone().count_ones(),
            Self::Gaps { count, .. } => count.clone(),
        }
    }

    /// The code with its expressions changed. `None` if one cannot be.
    pub(super) fn mapped(&self, with: &dyn Fn(&Expr) -> Option<Expr>) -> Option<Self> {
        Some(match self {
            Self::Ones(mask) => Self::Ones(with(mask)?),
            Self::Gaps { count, numbers } => Self::Gaps { count: with(count)?, numbers: *numbers },
        })
    }
}

impl Numbers {
    /// The number of a position.
    #[must_use]
    pub fn at(&self, position: Expr) -> Expr {
        let position = match self.shift {
            Some(shift) => position + Expr::from(shift),
            None => position,
        };
        let load = |index| Expr::Load(self.array, Box::new(index));
        if self.bits >= 8 {
            return load(position);
        }
        let each = i64::from(8 / self.bits);
        let element = load(position.clone().shifted(i64::from(each.ilog2())));
        let place = position.bit_and(each - 1) * i64::from(self.bits);
        Expr::binary(BinOp::Shr, element, place).bit_and((1 << self.bits) - 1)
    }
}

/// What a loop over positions decodes, see [`Builder::coded`](super::super::Builder::coded).
#[derive(Clone, Debug, PartialEq, Hash)]
#[non_exhaustive]
pub struct Coded {
    /// The coordinate, a variable that each iteration sets first.
    pub crd: Var,
    /// What is left of the code: its ones, or the coordinate itself.
    left: Var,
    /// The coordinate that the code begins with.
    pub first: Expr,
    /// The code.
    pub code: Code,
}

impl Coded {
    /// A loop with such a code. `fresh` declares variables.
    pub(in super::super) fn new(
        name: &str,
        first: Expr,
        code: Code,
        fresh: &mut dyn FnMut(&str) -> Var,
    ) -> Self {
        let crd = fresh(name);
        let left = if matches!(code, Code::Ones(_)) { fresh("left") } else { crd };
        Self { crd, left, first, code }
    }

    /// The statements before the loop.
    pub(in super::super) fn begin(&self) -> Vec<Stmt> {
        let crd = |value| Stmt::Let(self.crd, value);
        match &self.code {
            Code::Ones(mask) => vec![crd(self.first.clone()), Stmt::Let(self.left, mask.clone())],
            Code::Gaps { .. } => vec![crd(self.first.clone() - 1)],
        }
    }

    /// The first statements of an iteration.
    pub(in super::super) fn next(&self, position: Var) -> Vec<Stmt> {
        let crd = |value| Stmt::Assign(self.crd, value);
        match &self.code {
            Code::Ones(_) => {
                let left = || Expr::from(self.left);
                let others = left().bit_and(left() - 1);
                let place = self.first.clone() + left().trailing_zeros();
                vec![crd(place), Stmt::Assign(self.left, others)]
            }
            Code::Gaps { numbers, .. } => {
                vec![crd(Expr::from(self.crd) + 1 + numbers.at(position.into()))]
            }
        }
    }

    /// Whether a variable is set by the loop.
    pub(super) fn has(&self, var: Var) -> bool {
        self.crd == var || self.left == var
    }

    /// The same with other expressions. `None` if one cannot be changed.
    pub(super) fn mapped(&self, with: &dyn Fn(&Expr) -> Option<Expr>) -> Option<Self> {
        Some(Self { first: with(&self.first)?, code: self.code.mapped(with)?, ..self.clone() })
    }
}
