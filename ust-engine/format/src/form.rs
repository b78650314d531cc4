//! Affine forms over *atoms*: the normal form in which level expressions are inverted and compared.
//!
//! An atom is a variable, or a *digit* of another form: `form / divisor % modulus`. So
//! `i % 8 / 2` is the form `1 * digit(i, 2, 4)`, and `i / 2 * 5 + j` is
//! `5 * digit(i, 2, -) + 1 * j`.

use std::collections::BTreeMap;

use super::expr::IndexExpr;

/// The unknown in a term of a form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Atom {
    /// A dimension, or a level.
    Var(usize),
    /// `base / divisor % modulus`; divisor and modulus are at least 1.
    Digit { base: Box<Form>, divisor: i64, modulus: Option<i64> },
}

/// `constant + sum of coefficient * atom`. No coefficient is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Form {
    pub(super) terms: BTreeMap<Atom, i64>,
    pub(super) constant: i64,
}

/// Why an expression has no form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoForm {
    /// A coefficient beyond 64 bits.
    Overflow,
    /// The form has too many terms.
    TooLarge,
    /// A product of variables, or a divisor that is not a positive number.
    NotAffine,
}

impl NoForm {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Overflow => "the expression's numbers do not fit in 64 bits",
            Self::TooLarge => "the expression is too complicated to invert",
            Self::NotAffine => "the expression is not a sum of digits",
        }
    }
}

impl Form {
    pub(super) fn constant(constant: i64) -> Self {
        Self { terms: BTreeMap::new(), constant }
    }

    pub(super) fn atom(atom: Atom) -> Self {
        Self { terms: BTreeMap::from([(atom, 1)]), constant: 0 }
    }

    pub(super) fn var(var: usize) -> Self {
        Self::atom(Atom::Var(var))
    }

    pub(super) fn digit(base: Self, divisor: i64, modulus: Option<i64>) -> Self {
        Self::atom(Atom::Digit { base: Box::new(base), divisor, modulus })
    }

    /// `self + factor * other`.
    pub(super) fn plus(mut self, other: &Self, factor: i64) -> Result<Self, NoForm> {
        let add = |a: i64, b: i64| {
            b.checked_mul(factor).and_then(|b| a.checked_add(b)).ok_or(NoForm::Overflow)
        };
        self.constant = add(self.constant, other.constant)?;
        for (atom, &coefficient) in &other.terms {
            let sum = add(self.terms.get(atom).copied().unwrap_or(0), coefficient)?;
            if sum == 0 {
                self.terms.remove(atom);
            } else {
                self.terms.insert(atom.clone(), sum);
            }
        }
        Ok(self)
    }

    /// `self * factor`.
    pub(super) fn times(&self, factor: i64) -> Result<Self, NoForm> {
        Self::default().plus(self, factor)
    }

    /// The number, if the form is constant.
    pub(super) fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom, if the form is a single atom with coefficient 1.
    pub(super) fn as_atom(&self) -> Option<&Atom> {
        match self.terms.first_key_value() {
            Some((atom, 1)) if self.terms.len() == 1 && self.constant == 0 => Some(atom),
            _ => None,
        }
    }

    /// The variable, if the form is a single variable with coefficient 1.
    pub(super) fn as_var(&self) -> Option<usize> {
        match self.as_atom() {
            Some(Atom::Var(var)) => Some(*var),
            _ => None,
        }
    }

    /// The greatest common divisor of the coefficients (not of the constant) and `start`.
    pub(super) fn common(&self, start: i64) -> i64 {
        let gcd = self.terms.values().fold(start.unsigned_abs(), |a, b| {
            let (mut a, mut b) = (a, b.unsigned_abs());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        });
        i64::try_from(gcd).unwrap_or(1).max(1)
    }

    /// `self / divisor`, rounded down. Every coefficient must be a multiple of the divisor.
    pub(super) fn divided(&self, divisor: i64) -> Self {
        Self {
            terms: self.terms.iter().map(|(atom, c)| (atom.clone(), c / divisor)).collect(),
            constant: self.constant.div_euclid(divisor),
        }
    }

    /// Number of terms, those inside digits included.
    pub(super) fn size(&self) -> usize {
        self.terms.keys().fold(1, |sum, atom| match atom {
            Atom::Var(_) => sum + 1,
            Atom::Digit { base, .. } => sum + 1 + base.size(),
        })
    }

    /// The form as an expression, terms with positive coefficients first.
    pub(super) fn to_expr(&self) -> IndexExpr {
        let mut terms: Vec<(&Atom, i64)> = self.terms.iter().map(|(atom, &c)| (atom, c)).collect();
        terms.sort_by_key(|&(_, c)| (c < 0, std::cmp::Reverse(c)));
        let sum = terms.into_iter().fold(IndexExpr::Const(0), |sum, (atom, c)| match c {
            c if c < 0 && c != i64::MIN => sum.minus(atom.to_expr().times(-c)),
            c => sum.plus(atom.to_expr().times(c)),
        });
        match self.constant {
            c if c < 0 && c != i64::MIN => sum.minus(IndexExpr::Const(-c)),
            c => sum.plus(IndexExpr::Const(c)),
        }
    }
}

impl Atom {
    pub(super) fn to_expr(&self) -> IndexExpr {
        match self {
            Self::Var(var) => IndexExpr::Var(*var),
            Self::Digit { base, divisor, modulus } => {
                let quotient = base.to_expr().over(*divisor);
                match modulus {
                    Some(modulus) => quotient.modulo(*modulus),
                    None => quotient,
                }
            }
        }
    }
}

/// The form of an expression with its digits unreduced, from which the inverse is inferred.
pub(super) fn digits(expr: &IndexExpr) -> Result<Form, NoForm> {
    match expr {
        IndexExpr::Const(value) => Ok(Form::constant(*value)),
        IndexExpr::Var(var) => Ok(Form::var(*var)),
        IndexExpr::Add(a, b) => digits(a)?.plus(&digits(b)?, 1),
        IndexExpr::Sub(a, b) => digits(a)?.plus(&digits(b)?, -1),
        IndexExpr::Mul(a, b) => {
            let (a, b) = (digits(a)?, digits(b)?);
            match (a.as_constant(), b.as_constant()) {
                (Some(factor), _) => b.times(factor),
                (_, Some(factor)) => a.times(factor),
                _ => Err(NoForm::NotAffine),
            }
        }
        IndexExpr::FloorDiv(a, c) => quotient(digits(a)?, positive(c)?),
        IndexExpr::Mod(a, c) => remainder(digits(a)?, positive(c)?),
    }
}

/// The value of a divisor or modulus, which must be a positive number.
pub(super) fn positive(expr: &IndexExpr) -> Result<i64, NoForm> {
    if !expr.vars().is_empty() {
        return Err(NoForm::NotAffine);
    }
    match expr.eval(&[]) {
        None => Err(NoForm::Overflow),
        Some(value) if value < 1 => Err(NoForm::NotAffine),
        Some(value) => Ok(value),
    }
}

/// `form / c`, for `c` of at least 1.
pub(super) fn quotient(form: Form, c: i64) -> Result<Form, NoForm> {
    let common = form.common(c);
    if common > 1 {
        return quotient(form.divided(common), c / common);
    }
    if c == 1 {
        return Ok(form);
    }
    if let Some(Atom::Digit { base, divisor, modulus }) = form.as_atom() {
        match modulus {
            None => {
                let divisor = divisor.checked_mul(c).ok_or(NoForm::Overflow)?;
                return Ok(Form::digit((**base).clone(), divisor, None));
            }
            Some(m) if m % c == 0 => {
                let divisor = divisor.checked_mul(c).ok_or(NoForm::Overflow)?;
                return Ok(Form::digit((**base).clone(), divisor, Some(m / c)));
            }
            Some(_) => {}
        }
    }
    Ok(Form::digit(form, c, None))
}

/// `form % c`, for `c` of at least 1.
pub(super) fn remainder(form: Form, c: i64) -> Result<Form, NoForm> {
    if let Some(value) = form.as_constant() {
        return Ok(Form::constant(value.rem_euclid(c)));
    }
    let common = form.common(c);
    if common > 1 {
        let rest = Form::constant(form.constant.rem_euclid(common));
        return rest.plus(&remainder(form.divided(common), c / common)?, common);
    }
    if let Some(Atom::Digit { base, divisor, modulus }) = form.as_atom() {
        match modulus {
            Some(m) if c >= *m => return Ok(form),
            Some(m) if m % c != 0 => {}
            _ => return Ok(Form::digit((**base).clone(), *divisor, Some(c))),
        }
    }
    Ok(Form::digit(form, 1, Some(c)))
}

#[cfg(test)]
mod tests {
    use super::super::expr::Spelling;
    use super::*;

    fn var(v: usize) -> IndexExpr {
        IndexExpr::Var(v)
    }

    #[test]
    fn digits_have_one_form_however_they_are_written() {
        for (a, b) in [
            (var(0).modulo(8).over(2), var(0).over(2).modulo(4)),
            (var(0).over(2).over(4), var(0).over(8)),
            (var(0).modulo(8).modulo(2), var(0).modulo(2)),
            (var(0).modulo(4).modulo(8), var(0).modulo(4)),
            (var(0).times(4).over(2), var(0).times(2)),
            (var(0).times(2).over(4), var(0).over(2)),
            (var(0).times(2).plus(IndexExpr::Const(1)).modulo(4), {
                var(0).modulo(2).times(2).plus(IndexExpr::Const(1))
            }),
            (var(0).plus(var(1)), var(1).plus(var(0))),
        ] {
            assert_eq!(digits(&a), digits(&b), "{a:?}");
        }
    }

    #[test]
    fn a_form_has_the_values_of_its_expression() {
        let exprs = [
            var(1).minus(var(0)).over(3).modulo(4),
            var(0).times(6).minus(var(1).times(4)).plus(IndexExpr::Const(-3)).over(10),
            var(0).times(6).minus(var(1).times(4)).plus(IndexExpr::Const(5)).modulo(10),
            var(0).modulo(8).over(3).plus(var(1)),
        ];
        for expr in exprs {
            let form = digits(&expr).unwrap().to_expr();
            for x in 0..30 {
                for y in -7..7 {
                    let (a, b) = (expr.eval(&[x, y]), form.eval(&[x, y]));
                    assert_eq!(a, b, "{}", expr.display(&["x", "y"], Spelling::Ust));
                }
            }
        }
    }

    #[test]
    fn overflow_and_products_have_no_form() {
        assert_eq!(digits(&var(0).times(i64::MAX).times(2)), Err(NoForm::Overflow));
        let square = IndexExpr::Mul(Box::new(var(0)), Box::new(var(0)));
        assert_eq!(digits(&square), Err(NoForm::NotAffine));
        assert_eq!(digits(&var(0).over(0)), Err(NoForm::NotAffine));
    }
}
