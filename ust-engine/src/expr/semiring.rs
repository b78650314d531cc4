//! Semirings: the meaning of `+` and `*`.

use ust_level_api::{Dtype, Scalar};

use super::operator::Operator;
use crate::error::Error;
use crate::storage::Tensor;

/// A pair of operators: `plus` for `+` and for implicit sums, `times` for `*`.
///
/// The semiring's *zero* is the identity of `plus`: infinity for `min_plus`. It is the value of unstored
/// elements of operands, and it annihilates: `zero * a = zero`, always. A stored zero of the semiring has
/// the same effect as an unstored one. For integers, the zero of `min` is the largest number, and the zero
/// of `max` the lowest, which is 0 for unsigned integers.
///
/// A full format, such as `Dense`, stores every element: in `min_plus`, a 0 in an array is a distance of 0.
/// A conversion of a sparse tensor to such a format would write 0 between the entries. So call
/// [`operand`](Self::operand) before the conversion: it gives unstored elements the semiring's zero. Then
/// the result does not depend on the format.
///
/// ```
/// use ust::ops::{Operator, Semiring, UserOperator};
/// let tropical = Semiring::named("min_plus").unwrap();
/// assert_eq!(tropical.plus(), &Operator::Min);
/// let norm = UserOperator::new("hypot2", |x, y| (x.clone() * x + y.clone() * y).sqrt());
/// let own = Semiring::new(norm.identity(0.0), Operator::Mul);
/// assert!(Semiring::named("min_pluss").is_none());
/// # let _ = own;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Semiring {
    plus: Operator,
    times: Operator,
}

const PLUS: [(&str, Operator); 4] = [
    ("plus", Operator::Add),
    ("times", Operator::Mul),
    ("min", Operator::Min),
    ("max", Operator::Max),
];

const TIMES: [(&str, Operator); 7] = [
    ("times", Operator::Mul),
    ("plus", Operator::Add),
    ("min", Operator::Min),
    ("max", Operator::Max),
    ("first", Operator::First),
    ("second", Operator::Second),
    ("pair", Operator::Pair),
];

/// Semirings on truth values: a nonzero number is true. `any_pair` is true where both elements are stored.
const LOGICAL: [(&str, Operator, Operator); 3] = [
    ("or_and", Operator::Or, Operator::And),
    ("and_or", Operator::And, Operator::Or),
    ("any_pair", Operator::Or, Operator::And),
];

impl Semiring {
    /// A semiring of two binary operators. `plus` needs an identity. The caller ensures the laws of a
    /// semiring.
    #[must_use]
    pub fn new(plus: impl Into<Operator>, times: impl Into<Operator>) -> Self {
        let (plus, op) = (plus.into(), times.into());
        let times = match (&op, &plus) {
            // In these pairs, the zero of `plus` annihilates without further code.
            (Operator::Mul, Operator::Add)
            | (Operator::And, Operator::Or)
            | (Operator::Or, Operator::And)
            | (Operator::Min, Operator::Max)
            | (Operator::Max, Operator::Min) => op,
            _ => Operator::Times { op: Box::new(op), plus: Box::new(plus.clone()) },
        };
        Self { plus, times }
    }

    /// A semiring by name: `or_and`, `and_or`, `any_pair`, or `plus`, `min`, `max` or `times`, `_`,
    /// and `times`, `plus`, `min`, `max`, `first`, `second` or `pair`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if let Some((_, plus, times)) = LOGICAL.iter().find(|(known, ..)| *known == name) {
            return Some(Self::new(plus.clone(), times.clone()));
        }
        let (plus, times) = name.split_once('_')?;
        let find = |list: &[(&str, Operator)], name: &str| {
            list.iter().find(|(known, _)| *known == name).map(|(_, op)| op.clone())
        };
        Some(Self::new(find(&PLUS, plus)?, find(&TIMES, times)?))
    }

    /// Every name that [`named`](Self::named) knows.
    #[must_use]
    pub fn names() -> Vec<String> {
        let logical = LOGICAL.iter().map(|(name, ..)| (*name).to_owned());
        let pairs = PLUS
            .iter()
            .flat_map(|(plus, _)| TIMES.iter().map(move |(times, _)| format!("{plus}_{times}")));
        pairs.chain(logical).collect()
    }

    /// The semiring's zero: the identity of `plus`, if it has one in this dtype.
    #[must_use]
    pub fn zero(&self, dtype: Dtype) -> Option<Scalar> {
        self.plus.identity(dtype)
    }

    /// The tensor as an operand of the semiring, which can be converted to any format. Its unstored elements
    /// and its padding have the semiring's [zero](Self::zero). A tensor in a full format is unchanged.
    ///
    /// ```
    /// use ust::ops::Semiring;
    /// use ust::{Coo, Tensor, einsum};
    /// let edges = Coo::new(vec![2, 2], vec![vec![0], vec![1]], vec![0.0])?;
    /// let graph = Tensor::from_coo(&edges, "CSR")?;
    /// let tropical = Semiring::named("min_plus").unwrap();
    /// let full = tropical.operand(&graph)?.convert("Dense(2)")?;
    /// assert_eq!(full.values().typed::<f64>()?, [f64::INFINITY, 0.0, f64::INFINITY, f64::INFINITY]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cost: O(nse) if the format has padding, else none.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the semiring has no zero in the tensor's dtype; the errors of a
    /// conversion.
    pub fn operand(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        let dtype = tensor.dtype();
        let zero = self.zero(dtype).ok_or_else(|| {
            let name = self.plus.name();
            Error::Unsupported(format!("`{name}` has no identity in {dtype}: there is no zero"))
        })?;
        tensor.meaning(zero)
    }

    /// The operator of `+`.
    #[must_use]
    pub fn plus(&self) -> &Operator {
        &self.plus
    }

    /// The operator of `*`; an [`Operator::Times`] if the zero does not annihilate by itself.
    #[must_use]
    pub fn times(&self) -> &Operator {
        &self.times
    }
}
