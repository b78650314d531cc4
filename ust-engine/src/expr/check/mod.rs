//! From the syntax tree to an assignment: [`Expression::check`].
//!
//! | module | what |
//! |---|---|
//! | this one | given tensors and options, and the check of a whole line |
//! | `scope` | names: tensors, indices, extents |
//! | `term` | the right-hand side |
//! | `reduce` | explicit and implicit sums |
//! | `typed` | dtypes, and casts between them |

mod reduce;
mod scope;
mod term;
#[cfg(test)]
mod tests;
pub(crate) mod typed;

use std::ops::Range;

use scope::Scope;
use typed::{TypeError, Typed};
use ust_format::suggest::nearest;
use ust_level_api::{Dtype, Scalar};

use super::OpError;
use super::operator::typing::holds;
use super::operator::{Operator, UserOperator};
use super::semiring::Semiring;
use super::syntax::{Assign, Expression};
use super::term::{Assignment, Mask, Output};

/// The properties of a given tensor.
#[derive(Clone, Copy, Debug)]
pub struct GivenInput<'a> {
    /// Its name in the expression.
    pub name: &'a str,
    /// Its extents.
    pub shape: &'a [usize],
    /// The dtype of its values.
    pub dtype: Dtype,
    /// The fill value, of that dtype.
    pub fill: Scalar,
    /// Whether every element is stored. Then a semiring's zero does not replace the fill value.
    pub full: bool,
}

/// Options of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The meaning of `+` and `*`, as `using` in the text.
    pub semiring: Option<Semiring>,
    /// The dtype of the result; by default that of the right-hand side.
    pub dtype: Option<Dtype>,
    /// Extents of indices that no operand has.
    pub extents: Vec<(String, usize)>,
    /// Functions and reductions beside the predefined ones. They take precedence over predefined ones of
    /// the same name.
    pub operators: Vec<UserOperator>,
}

impl Expression {
    /// Checks the expression against these tensors.
    ///
    /// ```
    /// use ust::ops::{CheckOptions, Expression, GivenInput};
    /// use ust::{Dtype, Scalar};
    ///
    /// let matrix = GivenInput {
    ///     name: "A",
    ///     shape: &[3, 4],
    ///     dtype: Dtype::F32,
    ///     fill: Scalar::F32(0.0),
    ///     full: false,
    /// };
    /// let expression = Expression::parse("y(i) = 2 * A(i,j)")?;
    /// let checked = expression.check(&[matrix], &CheckOptions::default())?;
    /// assert_eq!(checked.result.dtype, Dtype::F32);
    /// assert_eq!((checked.indices[0].extent, checked.indices[1].extent), (3, 4));
    /// # Ok::<(), ust::ops::OpError>(())
    /// ```
    ///
    /// Cost: O(size of the text); each constant is folded by a run of the interpreter.
    ///
    /// # Errors
    /// [`OpError::Text`] points at an unknown name, a tensor of another rank, extents that contradict each
    /// other, an index without an extent, a function with the wrong number or dtype of arguments, a sum over
    /// an index that does not occur or that the result has, or a result that does not fit the dtype asked
    /// for.
    pub fn check(
        &self,
        inputs: &[GivenInput<'_>],
        options: &CheckOptions,
    ) -> Result<Assignment, OpError> {
        let mut checker = Checker::new(self, inputs, options)?;
        let body = checker.side(&self.body)?;
        let (update, body) = checker.update(body)?;
        let mask = checker.mask()?;
        checker.scope.check_extents()?;
        let body = checker.result(body)?;
        let dtype = body.ty.dtype();
        let zero = checker.semiring.as_ref().and_then(|semiring| semiring.zero(dtype));
        let Scope { indices, operands, uses, .. } = checker.scope;
        let result = Output {
            name: self.result.name.clone(),
            indices: (0..self.result.indices.len()).collect(),
            dtype,
            zero,
        };
        Ok(Assignment { indices, operands, uses, result, update, mask, body: body.term })
    }
}

/// The state of a check.
struct Checker<'a> {
    expression: &'a Expression,
    options: &'a CheckOptions,
    semiring: Option<Semiring>,
    scope: Scope<'a>,
}

impl<'a> Checker<'a> {
    fn new(
        expression: &'a Expression,
        inputs: &'a [GivenInput<'a>],
        options: &'a CheckOptions,
    ) -> Result<Self, OpError> {
        let semiring = semiring(expression, options)?;
        let scope = Scope::new(expression, inputs, options)?;
        Ok(Self { expression, options, semiring, scope })
    }

    fn error<T>(
        &self,
        span: &Range<usize>,
        message: String,
        help: Option<String>,
    ) -> Result<T, OpError> {
        Err(self.expression.error(span, message, help))
    }

    /// The operator of `+`.
    fn plus(&self) -> Operator {
        self.semiring.as_ref().map_or(Operator::Add, |semiring| semiring.plus().clone())
    }

    /// The operator of `*`.
    fn times(&self) -> Operator {
        self.semiring.as_ref().map_or(Operator::Mul, |semiring| semiring.times().clone())
    }

    /// The `plus` of the semiring, if there is one: casts keep its zero.
    fn zero_of(&self) -> Option<&Operator> {
        self.semiring.as_ref().map(Semiring::plus)
    }

    /// The operator of an update such as `+=`, and the body in the dtype in which it combines.
    fn update(&self, body: Typed) -> Result<(Option<Operator>, Typed), OpError> {
        let op = match self.expression.assign {
            Assign::Set => return Ok((None, body)),
            Assign::Add => self.plus(),
            Assign::Mul => self.times(),
            Assign::Min => Operator::Min,
            Assign::Max => Operator::Max,
            Assign::Or => Operator::Or,
            Assign::And => Operator::And,
        };
        let wanted = self.options.dtype.unwrap_or(body.ty.dtype());
        let combined = typed::combined(&op, wanted);
        let dtype =
            combined.or_else(|error| self.refuse(&op, &error, &self.expression.body.span))?;
        if self.options.dtype.is_some_and(|asked| asked != dtype) {
            let message = format!("`{}` combines {dtype}, not {wanted}", self.expression.assign);
            return self.error(&self.expression.result.span, message, None);
        }
        // As a truth value, a nonzero number is true.
        let body = match dtype {
            Dtype::Bool => typed::cast(body, dtype, self.zero_of()),
            _ => body,
        };
        Ok((Some(op), body))
    }

    /// The body in the dtype of the result.
    fn result(&self, body: Typed) -> Result<Typed, OpError> {
        let (found, span) = (body.ty.dtype(), &self.expression.body.span);
        let Some(asked) = self.options.dtype else { return Ok(body) };
        let is_number = matches!(body.ty, typed::Ty::Weak(_));
        if !is_number && !holds(found, asked) {
            let message = format!("this is {found}, and the result is to be {asked}");
            let help = format!("`{asked}(...)` converts, and loses what does not fit");
            return self.error(span, message, Some(help));
        }
        match typed::coerce(body, asked, self.zero_of()) {
            Ok(term) => Ok(Typed { term, ty: typed::Ty::Strong(asked) }),
            Err(error) => self.refuse(&Operator::Cast, &error, span),
        }
    }

    fn mask(&mut self) -> Result<Option<Mask>, OpError> {
        let Some(mask) = &self.expression.mask else { return Ok(None) };
        let result = &self.expression.result.indices;
        if let Some(index) = mask.access.indices.iter().find(|index| !result.contains(index)) {
            let message = format!("the mask has the index `{index}`, which the result lacks");
            let help = Some(format!("mask by what is computed: `any({index}, ...)`"));
            return self.error(&mask.access.span, message, help);
        }
        let at = self.scope.element(&mask.access, None)?;
        Ok(Some(Mask { at, structural: mask.structural, complement: mask.complement }))
    }

    /// The error for an operator that does not take its arguments.
    fn refuse<T>(
        &self,
        op: &Operator,
        error: &TypeError,
        span: &Range<usize>,
    ) -> Result<T, OpError> {
        let name = op.name();
        let (message, help) = match error {
            TypeError::Refused(dtype) => (format!("`{name}` takes no {dtype}"), None),
            TypeError::Number(value, dtype) => (
                format!("the number {value} is no {dtype}"),
                Some(format!("`{}(...)` of what it meets makes room", value.dtype())),
            ),
            TypeError::Unstable(from, to) => {
                (format!("`{name}` of {from} is {to}, and cannot be combined further"), None)
            }
            TypeError::NoIdentity(dtype) => (
                format!("`{name}` has no identity in {dtype}, and combines nothing"),
                Some("declare it: `UserOperator::new(...).identity(...)`".to_owned()),
            ),
        };
        self.error(span, message, help)
    }
}

/// The semiring that the text or the caller names.
fn semiring(expression: &Expression, options: &CheckOptions) -> Result<Option<Semiring>, OpError> {
    let Some((name, span)) = &expression.semiring else { return Ok(options.semiring.clone()) };
    let Some(named) = Semiring::named(name) else {
        let names = Semiring::names();
        let near = nearest(name, names.iter().map(String::as_str));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "such as `plus_times`, `min_plus`, `or_and`, `plus_pair`".to_owned(),
        };
        let message = format!("there is no semiring `{name}`");
        return Err(expression.error(span, message, Some(help)));
    };
    if options.semiring.as_ref().is_some_and(|given| *given != named) {
        let message = "another semiring was given with the expression".to_owned();
        return Err(expression.error(span, message, None));
    }
    Ok(Some(named))
}
