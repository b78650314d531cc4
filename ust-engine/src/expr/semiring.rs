//! Semirings: what `+` and `*` mean.

use ust_level_api::{Dtype, Scalar};

use super::operator::Operator;
use crate::error::Error;
use crate::storage::Tensor;

/// A pair of operators that `+` and `*` of an expression are read as. Sums that are not written
/// out are formed by `plus`.
///
/// The semiring's *zero* is the identity of `plus`: infinity for `min_plus`. It is what operands
/// have where nothing is stored, and it annihilates: `zero * a = zero`, always. A stored zero of
/// the semiring is as good as none. For integers the zero of `min` is the largest number, and that
/// of `max` the lowest: 0, where they have no sign.
///
/// A format that is full, such as `Dense`, stores every element, and each is a value: in `min_plus`
/// a 0 in an array is a distance of 0. So [`operand`](Self::operand) comes before a conversion of a
/// sparse tensor to such a format: it gives the places between entries the semiring's zero, where
/// the conversion alone would write 0. The answer then does not depend on the format.
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

/// On truth values: what is not zero is true. `any_pair` asks whether there is anything at all.
const LOGICAL: [(&str, Operator, Operator); 3] = [
    ("or_and", Operator::Or, Operator::And),
    ("and_or", Operator::And, Operator::Or),
    ("any_pair", Operator::Or, Operator::And),
];

impl Semiring {
    /// A semiring of two operators of two arguments. `plus` needs an identity; whether the laws of
    /// a semiring hold is the caller's to know.
    #[must_use]
    pub fn new(plus: impl Into<Operator>, times: impl Into<Operator>) -> Self {
        let (plus, op) = (plus.into(), times.into());
        let times = match (&op, &plus) {
            // These have the zero as their annihilator by themselves.
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

    /// What operands have where nothing is stored: the identity of what adds, if it has one in this
    /// dtype.
    #[must_use]
    pub fn zero(&self, dtype: Dtype) -> Option<Scalar> {
        self.plus.identity(dtype)
    }

    /// The tensor as an operand of the semiring, which can be converted to any format: where
    /// nothing is stored it has the semiring's [zero](Self::zero), and so has padding. Of a tensor
    /// in a full format every element is a value, and is kept.
    ///
    /// ```
    /// use ust::ops::Semiring;
    /// use ust::{Coo, Tensor, einsum};
    /// let edges = Coo::new(vec![2, 2], vec![vec![0], vec![1]], vec![0.0])?;
    /// let graph = Tensor::from_coo(&edges, &"CSR".parse()?)?;
    /// let tropical = Semiring::named("min_plus").unwrap();
    /// let full = tropical.operand(&graph)?.convert(&"Dense(2)".parse()?)?;
    /// assert_eq!(full.values().typed::<f64>()?, [f64::INFINITY, 0.0, f64::INFINITY, f64::INFINITY]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cost: O(nse) where the format has padding, else none.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the semiring has no zero in the tensor's dtype; what a
    /// conversion gives.
    pub fn operand(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        let dtype = tensor.dtype();
        let zero = self.zero(dtype).ok_or_else(|| {
            let name = self.plus.name();
            Error::Unsupported(format!("`{name}` has no identity in {dtype}: there is no zero"))
        })?;
        tensor.meaning(zero)
    }

    /// What adds.
    #[must_use]
    pub fn plus(&self) -> &Operator {
        &self.plus
    }

    /// What multiplies; [`Operator::Times`] where the zero needs a word.
    #[must_use]
    pub fn times(&self) -> &Operator {
        &self.times
    }
}
