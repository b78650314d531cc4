//! Integer expressions over dimensions (or, in an inverse map, over levels).

use std::collections::BTreeSet;

/// An integer expression: a level over dimensions or, in the inverse, a dimension over levels.
/// Division rounds towards minus infinity, as remainders of block indices need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IndexExpr {
    /// A number.
    Const(i64),
    /// The number of a dimension (in a level's expression) or of a level (in an inverse), from 0.
    Var(usize),
    /// Sum.
    Add(Box<IndexExpr>, Box<IndexExpr>),
    /// Difference.
    Sub(Box<IndexExpr>, Box<IndexExpr>),
    /// Product. A negation is a product with -1 on the left.
    Mul(Box<IndexExpr>, Box<IndexExpr>),
    /// Quotient, rounded down.
    FloorDiv(Box<IndexExpr>, Box<IndexExpr>),
    /// Remainder of the quotient rounded down: never negative for a positive divisor.
    Mod(Box<IndexExpr>, Box<IndexExpr>),
}

/// The two ways to write a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// `i / 2`, `i % 2`.
    Ust,
    /// `i floordiv 2`, `i mod 2`.
    Mlir,
}

impl IndexExpr {
    /// The value of the expression if variable `v` has the value `vars[v]`. `None` on overflow, on
    /// division by zero, or if `vars` is too short. Cost: O(size of the expression).
    #[must_use]
    pub fn eval(&self, vars: &[i64]) -> Option<i64> {
        let both = |a: &Self, b: &Self| Some((a.eval(vars)?, b.eval(vars)?));
        match self {
            Self::Const(value) => Some(*value),
            Self::Var(var) => vars.get(*var).copied(),
            Self::Add(a, b) => both(a, b).and_then(|(a, b)| a.checked_add(b)),
            Self::Sub(a, b) => both(a, b).and_then(|(a, b)| a.checked_sub(b)),
            Self::Mul(a, b) => both(a, b).and_then(|(a, b)| a.checked_mul(b)),
            Self::FloorDiv(a, b) => both(a, b).and_then(|(a, b)| floor_div(a, b)),
            Self::Mod(a, b) => both(a, b).and_then(|(a, b)| floor_mod(a, b)),
        }
    }

    /// The expression with variable `vars[v]` in place of each variable `v`.
    ///
    /// # Panics
    /// If `vars` is too short.
    #[must_use]
    pub fn renamed(&self, vars: &[usize]) -> Self {
        let of = |e: &Self| Box::new(e.renamed(vars));
        match self {
            Self::Const(value) => Self::Const(*value),
            Self::Var(var) => Self::Var(vars[*var]),
            Self::Add(a, b) => Self::Add(of(a), of(b)),
            Self::Sub(a, b) => Self::Sub(of(a), of(b)),
            Self::Mul(a, b) => Self::Mul(of(a), of(b)),
            Self::FloorDiv(a, b) => Self::FloorDiv(of(a), of(b)),
            Self::Mod(a, b) => Self::Mod(of(a), of(b)),
        }
    }

    /// The variables that occur. Cost: O(size of the expression).
    #[must_use]
    pub fn vars(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        self.collect(&mut found);
        found
    }

    fn collect(&self, found: &mut BTreeSet<usize>) {
        match self {
            Self::Const(_) => {}
            Self::Var(var) => {
                found.insert(*var);
            }
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::FloorDiv(a, b)
            | Self::Mod(a, b) => {
                a.collect(found);
                b.collect(found);
            }
        }
    }

    /// The expression as text, with the fewest parentheses. Variable `v` is printed as `names[v]`,
    /// or as `?v` if there is no such name.
    #[must_use]
    pub fn display<S: AsRef<str>>(&self, names: &[S], spelling: Spelling) -> String {
        let mut text = String::new();
        self.write(&mut text, names, spelling, 0);
        text
    }

    fn write<S: AsRef<str>>(&self, out: &mut String, names: &[S], spelling: Spelling, outer: u8) {
        let (a, operator, b, strength) = match self {
            Self::Const(value) => return out.push_str(&value.to_string()),
            Self::Var(var) => {
                return match names.get(*var) {
                    Some(name) => out.push_str(name.as_ref()),
                    None => out.push_str(&format!("?{var}")),
                };
            }
            Self::Mul(a, b) if **a == Self::Const(-1) => {
                out.push('-');
                return b.write(out, names, spelling, 3);
            }
            Self::Add(a, b) => (a, "+", b, 1),
            Self::Sub(a, b) => (a, "-", b, 1),
            Self::Mul(a, b) => (a, "*", b, 2),
            Self::FloorDiv(a, b) => {
                (a, if spelling == Spelling::Ust { "/" } else { "floordiv" }, b, 2)
            }
            Self::Mod(a, b) => (a, if spelling == Spelling::Ust { "%" } else { "mod" }, b, 2),
        };
        if strength < outer {
            out.push('(');
        }
        a.write(out, names, spelling, strength);
        out.push(' ');
        out.push_str(operator);
        out.push(' ');
        b.write(out, names, spelling, strength + 1);
        if strength < outer {
            out.push(')');
        }
    }

    /// `self + other`, without adding a zero.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Const(0), other) => other,
            (this, Self::Const(0)) => this,
            (this, other) => Self::Add(Box::new(this), Box::new(other)),
        }
    }

    /// `self - other`, without subtracting a zero.
    pub(super) fn minus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Const(0), other) => other.times(-1),
            (this, Self::Const(0)) => this,
            (this, other) => Self::Sub(Box::new(this), Box::new(other)),
        }
    }

    /// `self * factor`, without multiplying by 1.
    pub(super) fn times(self, factor: i64) -> Self {
        match factor {
            1 => self,
            -1 => Self::Mul(Box::new(Self::Const(-1)), Box::new(self)),
            _ => Self::Mul(Box::new(self), Box::new(Self::Const(factor))),
        }
    }

    /// `self / divisor`, without dividing by 1.
    pub fn over(self, divisor: i64) -> Self {
        match divisor {
            1 => self,
            _ => Self::FloorDiv(Box::new(self), Box::new(Self::Const(divisor))),
        }
    }

    /// `self % modulus`.
    pub fn modulo(self, modulus: i64) -> Self {
        Self::Mod(Box::new(self), Box::new(Self::Const(modulus)))
    }
}

/// The quotient rounded towards minus infinity; `None` on overflow or division by zero.
pub(super) fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    if a % b != 0 && (a < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

fn floor_mod(a: i64, b: i64) -> Option<i64> {
    let rest = a.checked_rem(b)?;
    if rest != 0 && (rest < 0) != (b < 0) { rest.checked_add(b) } else { Some(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(v: usize) -> IndexExpr {
        IndexExpr::Var(v)
    }

    #[test]
    fn division_rounds_down_and_remainders_take_the_sign_of_the_divisor() {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-8, 2, -4, 0)]
        {
            assert_eq!((floor_div(a, b), floor_mod(a, b)), (Some(quotient), Some(rest)), "{a} {b}");
        }
    }

    #[test]
    fn what_cannot_be_computed_is_none() {
        let max = IndexExpr::Const(i64::MAX);
        for expr in [
            max.clone().plus(IndexExpr::Const(1)),
            max.clone().times(2),
            IndexExpr::Const(-2).minus(max),
            var(0).modulo(0),
            IndexExpr::FloorDiv(Box::new(var(0)), Box::new(IndexExpr::Const(0))),
            IndexExpr::FloorDiv(
                Box::new(IndexExpr::Const(i64::MIN)),
                Box::new(IndexExpr::Const(-1)),
            ),
            var(1),
        ] {
            assert_eq!(expr.eval(&[5]), None, "{expr:?}");
        }
    }

    #[test]
    fn parentheses_stand_where_they_are_needed_and_nowhere_else() {
        let names = ["i", "j"];
        for (expr, ust, mlir) in [
            (var(0).times(9).plus(var(1)), "i * 9 + j", "i * 9 + j"),
            (var(0).plus(var(1)).over(4), "(i + j) / 4", "(i + j) floordiv 4"),
            (var(0).modulo(8).over(2), "i % 8 / 2", "i mod 8 floordiv 2"),
            (var(1).minus(var(0).minus(var(1))), "j - (i - j)", "j - (i - j)"),
            (var(0).times(-1).plus(var(1)), "-i + j", "-i + j"),
            (var(0).plus(var(1)).times(-1), "-(i + j)", "-(i + j)"),
        ] {
            assert_eq!(expr.display(&names, Spelling::Ust), ust);
            assert_eq!(expr.display(&names, Spelling::Mlir), mlir);
        }
    }
}
