//! Derivatives: from an expression to the expression of a gradient.
//!
//! A *gradient* is meant as in reverse-mode differentiation. For a scalar function of the result, whose derivatives with
//! respect to the elements of the result are the *seed*, it has the derivatives with respect to the elements of one
//! operand. The seed is a tensor with the indices of the result.
//!
//! | of the result `y(i) = A(i,j) * x(j)`, the gradient | is |
//! |---|---|
//! | with respect to `A`, for a seed `g(i)` | `dA(i,j) = g(i) * x(j)` |
//! | with respect to `x` | `dx(j) = g(i) * A(i,j)` |
//!
//! It is an expression as any other, for any back end and any format. A gradient has an element for every element of
//! the operand, stored or not. [`Einsum::aligned_with`](crate::einsum::Einsum::aligned_with) computes it at those that
//! the operand stores, and at no others.
//!
//! # Rules
//!
//! | of | the derivative |
//! |---|---|
//! | functions with steps (`floor`, `sgn`, comparisons, `any`, conversions to integers) | is zero |
//! | `min`, `max` | is that of the argument which is the result, or shared by those that are |
//! | `abs`, `relu` at 0 | is 0 |
//! | `where(mask, a, b)` | is that of the side which is taken |
//! | `exp[stored](a)` | is that of `exp` where an operand of `a` stores an element, else that of `a` |
//! | `prod(k, a)` | is the product of the other factors: a product for each factor |
//! | an operator of the user | is that of its definition; a reduction by it has none |
//! | an element outside of the mask | is zero; for `+=` and its kin, that of the old value |
//! | semirings other than that of sums and products | is not known |
//!
//! For complex numbers, it is the product of the seed and the complex derivative, without conjugation. `abs`, `real`,
//! `imag`, `conj` and `angle` have no complex derivative: theirs is that for real numbers.
//!
//! # Literature
//!
//! A. Griewank and A. Walther, *Evaluating Derivatives*, 2nd ed., SIAM 2008, chapter 3.
//!
//! | module | what |
//! |---|---|
//! | this one | what users call |
//! | `adjoint` | the way from the result down to each access of the operand |
//! | `terms` | the terms that it leads to, in the index variables of the operand |
//! | `rules` | the derivatives of functions, as text |
//! | `rewrite` | index variables renamed, nodes copied |

mod adjoint;
mod rewrite;
mod rules;
mod terms;
#[cfg(test)]
mod tests;

use adjoint::Adjoint;
use ust_format::suggest::nearest;

use super::OpError;
use super::operator::UserOperator;
use super::syntax::{Assign, Expression};

/// The expression of the gradient with respect to the tensor `wrt`. See [this module](self).
///
/// `seed` is a name for the seed. The result is called as `wrt`, with a `d` before it; its dimensions are those of
/// `wrt`. The operands are among those of the expression, and the seed. `wrt` may be the result of an update such as
/// `+=`: the gradient is that with respect to its old value.
///
/// ```
/// use ust::ops::{Expression, derivative};
/// use ust::{Tensor, einsum};
///
/// let forward: Expression = "y(i) = tanh(A(i,j)) * x(j)".parse()?;
/// let backward = derivative(&forward, "x", "g")?;
/// assert_eq!(backward.to_string(), "dx(j) = g(i) * tanh(A(i,j))");
/// let backward = derivative(&forward, "A", "g")?;
/// assert_eq!(backward.to_string(), "dA(i,j) = g(i) * x(j) * (1 - tanh(A(i,j))^2)");
///
/// let a = Tensor::from_dense(&ndarray::array![[0.0, 0.5], [1.0, 0.0]], "CSR")?;
/// let (x, g) = ([1.0, 2.0], [1.0, -1.0]);
/// let gradient = einsum(&backward.to_string()).arg("A", &a).arg("x", x).arg("g", g).run()?;
/// assert_eq!(gradient.get_as::<f64>(&[0, 0])?, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cost: that of the text, which grows with the number of accesses to `wrt`.
///
/// # Errors
/// [`OpError::Text`] points at what has no derivative, or says that the expression has no such operand, or that the seed
/// is not a new name.
pub fn derivative(expression: &Expression, wrt: &str, seed: &str) -> Result<Expression, OpError> {
    derivative_with(expression, wrt, seed, &[])
}

/// As [`derivative`], of an expression with operators that a user declared.
///
/// ```
/// use ust::ops::{Expression, UserOperator, derivative_with};
///
/// let swish = UserOperator::unary("swish", |x| x.clone() * x.sigmoid());
/// let forward: Expression = "y(i) = swish(x(i))".parse()?;
/// let backward = derivative_with(&forward, "x", "g", &[swish])?;
/// assert_eq!(
///     backward.to_string(),
///     "dx(i) = g(i) * sigmoid(x(i)) + g(i) * x(i) * (sigmoid(x(i)) * sigmoid(-x(i)))"
/// );
/// # Ok::<(), ust::ops::OpError>(())
/// ```
///
/// # Errors
/// As [`derivative`].
pub fn derivative_with(
    expression: &Expression,
    wrt: &str,
    seed: &str,
    operators: &[UserOperator],
) -> Result<Expression, OpError> {
    let declared = |name: &str| operators.iter().any(|op| op.name() == name);
    let accesses = expression.accesses_with(&declared);
    let updated = expression.is_update() && wrt == expression.result.name;
    if !updated && !accesses.iter().any(|access| access.name == wrt) {
        let message = format!("the expression has no operand `{wrt}`");
        let mut names: Vec<&str> = accesses.iter().map(|access| access.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let help = match nearest(wrt, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its operands are: {}", names.join(", ")),
        };
        return Err(expression.error(&expression.body.span, message, Some(help)));
    }
    if let Some((name, span)) = &expression.semiring
        && name != "plus_times"
    {
        let message = format!("no derivative is known in the semiring `{name}`");
        let help = "write out what it means, such as `y(i) = min(j, A(i,j) + x(j))`".to_owned();
        return Err(expression.error(span, message, Some(help)));
    }
    if matches!(expression.assign, Assign::Or | Assign::And) {
        let message = format!("`{}` has no derivative", expression.assign);
        return Err(expression.error(&expression.result.span, message, None));
    }
    let mut adjoint = Adjoint::new(expression, wrt, seed, operators)?;
    adjoint.differentiate()?;
    Expression::parse(&adjoint.text())
}
