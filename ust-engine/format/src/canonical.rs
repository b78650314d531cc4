//! Canonical forms of expressions, and proofs of equality by them.
//!
//! A remainder is written as `a - m * (a / m)`, so that only quotients are left, and quotients are
//! reduced as far as possible. Expressions with equal forms have equal values for all coordinates.
//! The converse holds for the expressions that formats use, but not in general: a failed proof
//! means "not shown".

use std::cell::Cell;

use super::expr::IndexExpr;
use super::form::{Atom, Form, NoForm, positive};

/// The largest number of terms of a form.
const MAX_SIZE: usize = 1 << 11;
/// The most work for one proof: the sum of the sizes of its forms, in terms.
const MAX_WORK: usize = 1 << 20;

/// A key that equivalent expressions share, for comparison and hashing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExprKey(Key);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Form(Form),
    /// An expression without a form is compared as it is written.
    Written(IndexExpr),
}

impl ExprKey {
    /// The key of an expression over nonnegative variables.
    pub fn new(expr: &IndexExpr) -> Self {
        match Canonical::new(&[]).of(expr) {
            Ok(form) => Self(Key::Form(form)),
            Err(_) => Self(Key::Written(expr.clone())),
        }
    }
}

/// Makes canonical forms over nonnegative variables. Variable `v` is less than `limits[v]`, if that
/// is given.
pub(super) struct Canonical<'a> {
    limits: &'a [Option<u64>],
    work: Cell<usize>,
}

impl<'a> Canonical<'a> {
    pub(super) fn new(limits: &'a [Option<u64>]) -> Self {
        Self { limits, work: Cell::new(0) }
    }

    /// The canonical form of an expression over the variables.
    pub(super) fn of(&self, expr: &IndexExpr) -> Result<Form, NoForm> {
        self.substituted(expr, &|var| Ok(Form::var(var)))
    }

    /// The canonical form of an expression whose variables stand for forms over the variables.
    pub(super) fn substituted(
        &self,
        expr: &IndexExpr,
        of: &dyn Fn(usize) -> Result<Form, NoForm>,
    ) -> Result<Form, NoForm> {
        let form = match expr {
            IndexExpr::Const(value) => Form::constant(*value),
            IndexExpr::Var(var) => of(*var)?,
            IndexExpr::Add(a, b) => self.substituted(a, of)?.plus(&self.substituted(b, of)?, 1)?,
            IndexExpr::Sub(a, b) => self.substituted(a, of)?.plus(&self.substituted(b, of)?, -1)?,
            IndexExpr::Mul(a, b) => {
                let (a, b) = (self.substituted(a, of)?, self.substituted(b, of)?);
                match (a.as_constant(), b.as_constant()) {
                    (Some(factor), _) => b.times(factor)?,
                    (_, Some(factor)) => a.times(factor)?,
                    _ => return Err(NoForm::NotAffine),
                }
            }
            IndexExpr::FloorDiv(a, c) => self.quotient(&self.substituted(a, of)?, positive(c)?)?,
            IndexExpr::Mod(a, c) => {
                let (a, c) = (self.substituted(a, of)?, positive(c)?);
                let quotient = self.quotient(&a, c)?;
                a.plus(&quotient, c.checked_neg().ok_or(NoForm::Overflow)?)?
            }
        };
        self.spend(&form)?;
        Ok(form)
    }

    /// `form / c`, reduced.
    fn quotient(&self, form: &Form, c: i64) -> Result<Form, NoForm> {
        // The multiple of the divisor in each coefficient leaves the quotient.
        let mut whole = Form::constant(form.constant.div_euclid(c));
        let mut rest = Form::constant(form.constant.rem_euclid(c));
        for (atom, &coefficient) in &form.terms {
            let (q, r) = (coefficient.div_euclid(c), coefficient.rem_euclid(c));
            if q != 0 {
                whole.terms.insert(atom.clone(), q);
            }
            if r != 0 {
                rest.terms.insert(atom.clone(), r);
            }
        }
        self.spend(&rest)?;
        if rest.terms.is_empty() {
            return Ok(whole);
        }
        let common = rest.common(c);
        if common > 1 {
            return whole.plus(&self.quotient(&rest.divided(common), c / common)?, 1);
        }
        if let (0, Some(hi)) = self.range(&rest)
            && hi < i128::from(c)
        {
            return Ok(whole);
        }
        if let Some((Atom::Digit { base, divisor, .. }, 1)) =
            rest.terms.first_key_value().map(|(atom, &c)| (atom, c))
            && rest.terms.len() == 1
        {
            // (a / d + r) / c = (a + r * d) / (d * c)
            let shift = rest.constant.checked_mul(*divisor).ok_or(NoForm::Overflow)?;
            let joined = divisor.checked_mul(c).ok_or(NoForm::Overflow)?;
            let inner = (**base).clone().plus(&Form::constant(shift), 1)?;
            return whole.plus(&self.quotient(&inner, joined)?, 1);
        }
        whole.plus(&Form::digit(rest, c, None), 1)
    }

    /// A lower bound and, if known, the largest value of a form. The lower bound is -1 (unknown) or
    /// 0.
    fn range(&self, form: &Form) -> (i128, Option<i128>) {
        let mut lo = i128::from(form.constant);
        let mut hi = Some(lo);
        for (atom, &coefficient) in &form.terms {
            let (low, high) = match atom {
                Atom::Var(var) => {
                    let limit = self.limits.get(*var).copied().flatten();
                    (0, limit.map(|n| i128::from(n) - 1))
                }
                Atom::Digit { base, divisor, .. } => {
                    let (low, high) = self.range(base);
                    let divisor = i128::from(*divisor);
                    (low.div_euclid(divisor), high.map(|high| high.div_euclid(divisor)))
                }
            };
            let coefficient = i128::from(coefficient);
            if coefficient < 0 || low < 0 {
                return (-1, None);
            }
            let term = |bound: i128| bound.checked_mul(coefficient);
            lo = term(low).and_then(|low| lo.checked_add(low)).unwrap_or(i128::MAX);
            hi = hi.zip(high.and_then(term)).and_then(|(hi, high)| hi.checked_add(high));
        }
        // The caller asks only whether the lower bound is 0.
        (if lo < 0 { -1 } else { 0 }, hi)
    }

    fn spend(&self, form: &Form) -> Result<(), NoForm> {
        let size = form.size();
        self.work.set(self.work.get() + size);
        if size > MAX_SIZE || self.work.get() > MAX_WORK { Err(NoForm::TooLarge) } else { Ok(()) }
    }
}

/// Proves inverses of one forward map, for all coordinates within the limits.
pub(super) struct Proof<'a> {
    canonical: Canonical<'a>,
    forward: Vec<Form>,
}

impl<'a> Proof<'a> {
    /// Proofs for the map whose level `l` has the expression `forward[l]`.
    pub(super) fn new(forward: &[&IndexExpr], limits: &'a [Option<u64>]) -> Result<Self, NoForm> {
        let canonical = Canonical::new(limits);
        let forward = forward.iter().map(|expr| canonical.of(expr)).collect::<Result<_, _>>()?;
        Ok(Self { canonical, forward })
    }

    /// Whether `inverse`, an expression over the levels, provably equals variable `var`.
    pub(super) fn recovers(&self, inverse: &IndexExpr, var: usize) -> Result<bool, NoForm> {
        let level = |l: usize| self.forward.get(l).cloned().ok_or(NoForm::NotAffine);
        Ok(self.canonical.substituted(inverse, &level)?.as_var() == Some(var))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn var(v: usize) -> IndexExpr {
        IndexExpr::Var(v)
    }

    #[test]
    fn expressions_with_the_same_values_have_the_same_form() {
        let canonical = Canonical::new(&[]);
        for (a, b) in [
            (var(0).over(2).times(2).plus(var(0).modulo(2)), var(0)),
            (var(0).minus(var(0).over(9).times(9)), var(0).modulo(9)),
            (var(0).modulo(8).over(2), var(0).over(2).modulo(4)),
            (var(0).times(8).plus(var(1)).over(4), var(0).times(2).plus(var(1).over(4))),
            (var(0).over(2).plus(IndexExpr::Const(1)).over(3), {
                var(0).plus(IndexExpr::Const(2)).over(6)
            }),
        ] {
            assert_eq!(canonical.of(&a), canonical.of(&b), "{a:?}");
        }
    }

    #[test]
    fn a_limit_settles_what_is_open_without_it() {
        let linear = var(0).times(9).plus(var(1));
        let shown = |inverse: &IndexExpr, dim, limit| {
            Proof::new(&[&linear], &[None, limit]).and_then(|proof| proof.recovers(inverse, dim))
        };
        let (row, column) = (var(0).over(9), var(0).modulo(9));
        assert_eq!(shown(&row, 0, None), Ok(false));
        assert_eq!(shown(&row, 0, Some(10)), Ok(false));
        assert_eq!(shown(&row, 0, Some(9)), Ok(true));
        assert_eq!(shown(&column, 1, Some(9)), Ok(true));
    }

    #[test]
    fn remainders_of_remainders_do_not_explode() {
        let nested = (2..60).rev().fold(var(0), IndexExpr::modulo);
        assert!(Canonical::new(&[]).of(&nested).map_or(true, |form| form.size() <= MAX_SIZE));
    }

    /// Expressions over two variables.
    fn any_expr() -> impl Strategy<Value = IndexExpr> {
        let leaf = prop_oneof![(0..2_usize).prop_map(var), (-9..9_i64).prop_map(IndexExpr::Const)];
        leaf.prop_recursive(4, 16, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| a.plus(b)),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| a.minus(b)),
                (inner.clone(), -4..4_i64).prop_map(|(a, c)| a.times(c)),
                (inner.clone(), 1..9_i64).prop_map(|(a, c)| a.over(c)),
                (inner, 1..9_i64).prop_map(|(a, c)| a.modulo(c)),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_canonical_form_has_the_values_of_its_expression(
            expr in any_expr(), limit in 1..9_u64, x in 0..40_i64, y in 0..9_i64,
        ) {
            let y = y.min(limit as i64 - 1);
            let form = Canonical::new(&[None, Some(limit)]).of(&expr).unwrap();
            prop_assert_eq!(form.to_expr().eval(&[x, y]), expr.eval(&[x, y]));
        }
    }
}
