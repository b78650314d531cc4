//! The operations: a table of expressions. Nothing else says what is tried.

use ust_level_api::Dtype;

/// The dtypes that an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// All of them.
    Any,
    /// All but bools: there is a difference, or a number that is no bool.
    NoBool,
    /// Those with an order: all but complex ones.
    Ordered,
    /// Those with an order, without bools.
    Real,
    /// Those of at least 32 bits with an order, without bools: rounding of narrower ones depends on
    /// the order of a product or on the width that functions are computed in.
    Wide,
    /// Floating point of at least 32 bits, and complex.
    Fractions,
    /// Double precision alone: what is summed after functions of it is far from exact.
    Double,
}

impl Numbers {
    /// The dtypes.
    #[must_use]
    pub fn dtypes(self) -> Vec<Dtype> {
        let takes = |dtype: &Dtype| match self {
            Self::Any => true,
            Self::NoBool => *dtype != Dtype::Bool,
            Self::Ordered => !dtype.is_complex(),
            Self::Real => *dtype != Dtype::Bool && !dtype.is_complex(),
            Self::Wide => *dtype != Dtype::Bool && !dtype.is_complex() && dtype.bytes() >= 4,
            Self::Double => *dtype == Dtype::F64,
            Self::Fractions => (dtype.is_float() || dtype.is_complex()) && dtype.bytes() >= 4,
        };
        Dtype::ALL.iter().copied().filter(takes).collect()
    }
}

/// An expression to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The group of its cases: `ops/<family>`.
    pub family: &'static str,
    /// What it is called; unique.
    pub name: &'static str,
    /// The expression.
    pub text: &'static str,
    /// The dtypes that its operands may have.
    pub numbers: Numbers,
}

const fn op(
    family: &'static str,
    name: &'static str,
    text: &'static str,
    numbers: Numbers,
) -> Operation {
    Operation { family, name, text, numbers }
}

use Numbers::{Any, Fractions, NoBool, Ordered, Real, Wide};

/// Every operation.
///
/// Left out: division by what may be zero, and numbers that are not finite. Zero that is not stored
/// annihilates, and padding against such numbers is unspecified; the plain evaluation knows
/// neither.
#[rustfmt::skip]
pub const OPERATIONS: &[Operation] = &[
    op("elementwise", "copy", "C(i,j) = A(i,j)", Any),
    op("elementwise", "copy vector", "C(i) = a(i)", Any),
    op("elementwise", "copy 4-D", "C(i,j,k,l) = A(i,j,k,l)", Any),
    op("elementwise", "transpose", "C(i,j) = A(j,i)", Any),
    op("elementwise", "permute", "C(i,j,k) = A(k,i,j)", Any),
    op("elementwise", "negate", "C(i,j) = -A(i,j)", NoBool),
    op("elementwise", "scale", "C(i,j) = 2 * A(i,j)", NoBool),
    op("elementwise", "halve", "C(i,j) = A(i,j) / 2", Fractions),
    op("elementwise", "shift", "C(i,j) = A(i,j) + 1", NoBool),
    op("elementwise", "add vectors", "C(i) = a(i) + b(i)", Any),
    op("elementwise", "add", "C(i,j) = A(i,j) + B(i,j)", Any),
    op("elementwise", "add transposed", "C(i,j) = A(i,j) + B(j,i)", Any),
    op("elementwise", "add 3-D", "C(i,j,k) = A(i,j,k) + B(i,j,k)", Any),
    op("elementwise", "add 3-D permuted", "C(i,j,k) = A(i,j,k) + B(k,i,j)", Any),
    op("elementwise", "add 4-D", "C(i,j,k,l) = A(i,j,k,l) + B(i,j,k,l)", Any),
    op("elementwise", "multiply vectors", "C(i) = a(i) * b(i)", Any),
    op("elementwise", "multiply", "C(i,j) = A(i,j) * B(i,j)", Any),
    op("elementwise", "multiply transposed", "C(i,j) = A(i,j) * B(j,i)", Any),
    op("elementwise", "multiply 3-D", "C(i,j,k) = A(i,j,k) * B(i,j,k)", Any),
    op("elementwise", "multiply 4-D", "C(i,j,k,l) = A(i,j,k,l) * B(i,j,k,l)", Any),
    op("elementwise", "subtract", "C(i,j) = A(i,j) - B(i,j)", NoBool),
    op("elementwise", "subtract 3-D", "C(i,j,k) = A(i,j,k) - B(i,j,k)", NoBool),
    op("elementwise", "maximum", "C(i,j) = max(A(i,j), B(i,j))", Ordered),
    op("elementwise", "minimum of vectors", "C(i) = min(a(i), b(i))", Ordered),
    op("elementwise", "maximum with 1", "C(i,j) = max(A(i,j), 1)", Real),
    op("elementwise", "where", "C(i,j) = where(A(i,j), B(i,j), D(i,j))", Any),
    op("elementwise", "where compared", "C(i,j) = where(A(i,j) < B(i,j), A(i,j), 0)", Real),
    op("elementwise", "less", "C(i,j) = A(i,j) < B(i,j)", Ordered),
    op("elementwise", "less or equal", "C(i,j) = A(i,j) <= B(i,j)", Ordered),
    op("elementwise", "equal", "C(i,j) = A(i,j) == B(i,j)", Any),
    op("elementwise", "unequal", "C(i) = a(i) != b(i)", Any),
    op("elementwise", "positive", "C(i,j) = A(i,j) > 0", Real),
    op("elementwise", "and", "C(i,j) = A(i,j) & B(i,j)", Any),
    op("elementwise", "or not", "C(i,j) = A(i,j) | !B(i,j)", Any),
    op("elementwise", "divide", "C(i,j) = A(i,j) / (B(i,j) * B(i,j) + 1)", Fractions),
    op("broadcast", "outer product", "C(i,j) = a(i) * b(j)", Any),
    op("broadcast", "outer sum", "C(i,j) = a(i) + b(j)", Any),
    op("broadcast", "rows", "C(i,j) = A(i,j) * b(i)", Any),
    op("broadcast", "columns", "C(i,j) = A(i,j) + b(j)", Any),
    op("broadcast", "matrix over tensor", "C(i,j,k) = A(i,j,k) * B(j,k)", Any),
    op("broadcast", "absent index", "C(i,j) = a(i)", Any),
    op("broadcast", "scalar", "C(i,j) = s * A(i,j)", Any),
    op("broadcast", "scalar added", "C(i,j) = A(i,j) + s", Any),
    op("broadcast", "from a scalar", "C(i) = s", Any),
    op("product", "spmv", "y(i) = A(i,j) * x(j)", Any),
    op("product", "spmv transposed", "y(j) = A(i,j) * x(i)", Any),
    op("product", "spmv plus", "y(i) = A(i,j) * x(j) + b(i)", Any),
    op("product", "spmv scaled", "y(i) = 2 * A(i,j) * x(j) - b(i)", NoBool),
    op("product", "matmul", "C(i,j) = A(i,k) * B(k,j)", Any),
    op("product", "matmul by transposed", "C(i,j) = A(i,k) * B(j,k)", Any),
    op("product", "matmul of transposed", "C(i,j) = A(k,i) * B(k,j)", Any),
    op("product", "sddmm", "C(i,j) = S(i,j) * A(i,k) * B(k,j)", Any),
    op("product", "ttv", "C(i,j) = A(i,j,k) * x(k)", Any),
    op("product", "ttv first", "C(j,k) = A(i,j,k) * x(i)", Any),
    op("product", "ttm", "C(i,j,l) = A(i,j,k) * B(k,l)", Any),
    op("product", "mttkrp", "C(i,r) = A(i,j,k) * B(j,r) * D(k,r)", Any),
    op("product", "batched matmul", "C(b,i,j) = A(b,i,k) * B(b,k,j)", Any),
    op("product", "triple product", "C(i,l) = A(i,j) * B(j,k) * D(k,l)", Any),
    op("product", "bilinear form", "s = x(i) * A(i,j) * y(j)", Any),
    op("product", "inner product", "s = A(i,j) * B(i,j)", Any),
    op("product", "inner product of vectors", "s = a(i) * b(i)", Any),
    op("product", "inner product 3-D", "s = A(i,j,k) * B(i,j,k)", Any),
    op("product", "triangles", "s = A(i,j) * A(j,k) * A(i,k)", Any),
    op("repeated", "diagonal", "y(i) = A(i,i)", Any),
    op("repeated", "trace", "s = A(i,i)", Any),
    op("repeated", "diagonal product", "y(i) = A(i,i) * x(i)", Any),
    op("repeated", "diagonal plus", "y(i) = A(i,i) + x(i)", Any),
    op("repeated", "diagonal of 3-D", "C(i,j) = A(i,i,j)", Any),
    op("repeated", "square", "C(i,k) = A(i,j) * A(j,k)", Any),
    op("repeated", "gram", "C(i,j) = A(i,k) * A(j,k)", Any),
    op("repeated", "symmetric part", "C(i,j) = A(i,j) + A(j,i)", Any),
    op("repeated", "squares", "C(i,j) = A(i,j) * A(i,j)", Any),
    op("reduce", "sum", "s = A(i,j)", Any),
    op("reduce", "sum 4-D", "s = A(i,j,k,l)", Any),
    op("reduce", "row sums", "y(i) = A(i,j)", Any),
    op("reduce", "column sums", "y(j) = A(i,j)", Any),
    op("reduce", "middle sums", "C(i,k) = A(i,j,k)", Any),
    op("reduce", "product", "y(i) = prod(j, A(i,j))", Wide),
    op("reduce", "product of complex", "y(i) = prod(j, A(i,j))", Fractions),
    op("reduce", "minimum", "y(i) = min(j, A(i,j))", Ordered),
    op("reduce", "maximum of two", "y(j) = max(i, A(i,j))", Ordered),
    op("reduce", "maximum of all", "s = max((i,j), A(i,j))", Ordered),
    op("reduce", "any", "y(i) = any(j, A(i,j))", Any),
    op("reduce", "all", "y(i) = all(j, A(i,j))", Any),
    op("reduce", "any of all", "s = any((i,j), A(i,j))", Any),
    op("reduce", "sum of compared", "y(i) = sum(j, A(i,j) > 0)", Real),
    op("reduce", "sum of shifted", "y(i) = sum(j, A(i,j) + 1)", NoBool),
    op("reduce", "maximum of products", "y(i) = max(j, A(i,j) * x(j))", Ordered),
    op("coordinates", "lower triangle", "C(i,j) = A(i,j) * (i >= j)", Any),
    op("coordinates", "diagonal alone", "C(i,j) = where(i == j, A(i,j), 0)", Any),
    op("coordinates", "checkered 3-D", "C(i,j,k) = A(i,j,k) * (i + j - k)", Wide),
    op("coordinates", "added", "C(i,j) = A(i,j) + i - 2 * j", Wide),
    op("coordinates", "spmv of a triangle", "y(i) = A(i,j) * (i > j) * x(j)", Any),
    op("coordinates", "matmul of a triangle", "C(i,j) = where(k >= i, A(i,k) * B(k,j), 0)", NoBool),
    op("coordinates", "part of a triple product", "s = where(i < k, A(i,j) * B(j,k) * D(k,i), 0)", NoBool),
    op("coordinates", "first moment", "s = sum(i, i * a(i))", Wide),
    op("coordinates", "weighted maximum", "y(i) = max(j, j * A(i,j))", Wide),
    op("coordinates", "last of a row", "y(i) = max(j, where(A(i,j) != 0, j, -1))", NoBool),
    op("coordinates", "nested moments", "C(i,j) = A(i,j) * sum(k, k * B(k,j))", Wide),
    op("coordinates", "sum by rows", "y(i) = sum(j, where(i >= j, A(i,j), 1))", NoBool),
    op("coordinates", "of three", "C(i,j) = (A(i,j) + B(i,j) * i + D(i,j)) * (j - i)", Wide),
    op("coordinates", "under a mask", "C(i,j)<M(i,j)> = A(i,j) + i * j", Wide),
    op("coordinates", "added to", "C(i,j) += A(i,j) * (j - i)", Wide),
    op("coordinates", "stored alone", "C(i,j) = exp[stored](A(i,j) * (i < j))", Fractions),
    op("coordinates", "min-plus", "y(i) = A(i,j) * x(j) + i using min_plus", Wide),
    op("nested", "greatest row sum", "s = max(i, sum(j, abs(A(i,j))))", Real),
    op("nested", "sum of row maxima", "s = sum(i, max(j, A(i,j)))", Real),
    op("nested", "row norms", "y(i) = sqrt(sum(j, A(i,j) * A(i,j)))", Wide),
    op("nested", "centred", "C(i,j) = A(i,j) - sum(k, A(i,k))", NoBool),
    op("nested", "scaled by sums", "C(i,j) = A(i,j) * sum(k, B(k,i))", Any),
    op("nested", "product of a sum", "C(i,j) = sum(k, A(i,k) * B(k,j)) * D(i,j)", Any),
    op("nested", "variance", "y(i) = sum(j, A(i,j) * A(i,j)) - sum(j, A(i,j)) * sum(j, A(i,j))", NoBool),
    op("mixed", "sum of three", "C(i,j) = A(i,j) + B(i,j) + D(i,j)", Any),
    op("mixed", "sum of three vectors", "C(i) = a(i) + b(i) + d(i)", Any),
    op("mixed", "sum of three 3-D", "C(i,j,k) = A(i,j,k) + B(i,j,k) + D(i,j,k)", Any),
    op("mixed", "product of three", "C(i,j) = A(i,j) * B(i,j) * D(i,j)", Any),
    op("mixed", "product plus", "C(i,j) = A(i,j) * B(i,j) + D(i,j)", Any),
    op("mixed", "product with a sum", "C(i,j) = A(i,j) * (B(i,j) + D(i,j))", Any),
    op("mixed", "sums multiplied", "C(i,j) = (A(i,j) + B(i,j)) * (D(i,j) + E(i,j))", Any),
    op("mixed", "sum of four", "C(i,j) = A(i,j) + B(i,j) + D(i,j) + E(i,j)", Any),
    op("mixed", "sum of four vectors", "C(i) = a(i) + b(i) + d(i) - e(i)", NoBool),
    op("mixed", "four multiplied", "C(i,j) = A(i,j) * B(i,j) * D(i,j) * E(i,j)", Any),
    op("mixed", "sum of products", "C(i,j) = A(i,j) * B(i,j) + D(i,j) * E(i,j)", Any),
    op("mixed", "sum of matmuls", "C(i,j) = A(i,k) * B(k,j) + D(i,j)", Any),
    op("mixed", "sum multiplied by a vector", "y(i) = (A(i,j) + B(i,j)) * x(j)", Any),
    op("mixed", "row and column added", "C(i,j) = A(i,j) * B(i,j) + a(i) * b(j)", Any),
    op("mixed", "maximum of a sum", "C(i,j) = max(A(i,j) + B(i,j), D(i,j))", Ordered),
    op("mixed", "residual", "r(i) = b(i) - A(i,j) * x(j)", NoBool),
    op("mask", "mask", "C(i,j)<M(i,j)> = A(i,j) + B(i,j)", Any),
    op("mask", "masked product", "C(i,j)<M(i,j)> = A(i,k) * B(k,j)", Any),
    op("mask", "masked product, complement", "C(i,j)<!M(i,j)> = A(i,k) * B(k,j)", Any),
    op("mask", "masked product, structure", "C(i,j)<structure M(i,j)> = A(i,k) * B(k,j)", Any),
    op("mask", "masked product, no structure", "C(i,j)<!structure M(i,j)> = A(i,k) * B(k,j)", Any),
    op("mask", "masked spmv", "y(i)<!m(i)> = A(i,j) * x(j)", Any),
    op("mask", "masked rows", "C(i,j)<m(i)> = A(i,j)", Any),
    op("mask", "mask transposed", "C(i,j)<M(j,i)> = A(i,j)", Any),
    op("mask", "triangles of a graph", "C(i,j)<structure A(i,j)> = A(i,k) * A(k,j) using plus_pair", Any),
    op("semiring", "min-plus spmv", "y(i) = A(i,j) * x(j) using min_plus", Real),
    op("semiring", "min-plus matmul", "C(i,j) = A(i,k) * B(k,j) using min_plus", Real),
    op("semiring", "max-times", "y(i) = A(i,j) * x(j) using max_times", Real),
    op("semiring", "max-min matmul", "C(i,j) = A(i,k) * B(k,j) using max_min", Real),
    op("semiring", "or-and spmv", "y(i) = A(i,j) * x(j) using or_and", Any),
    op("semiring", "or-and matmul", "C(i,j) = A(i,k) * B(k,j) using or_and", Any),
    op("semiring", "any-pair", "C(i,j) = A(i,k) * B(k,j) using any_pair", Any),
    op("semiring", "plus-pair", "C(i,j) = A(i,k) * B(k,j) using plus_pair", Any),
    op("semiring", "plus-first", "y(i) = A(i,j) * x(j) using plus_first", Any),
    op("semiring", "shortest step", "y(i) = A(i,j) * x(j) + b(i) using min_plus", Real),
    op("functions", "exp", "C(i,j) = exp(A(i,j))", Fractions),
    op("functions", "exp of stored", "C(i,j) = exp[stored](A(i,j))", Fractions),
    op("functions", "exp of a sum", "C(i,j) = exp(A(i,j) + B(i,j))", Fractions),
    op("functions", "stored sum", "C(i,j) = exp[stored](A(i,j) + B(i,j))", Fractions),
    op("functions", "where stored", "C(i,j) = where(stored(A(i,j) * B(i,j)), A(i,j), 3)", Any),
    op("functions", "number of stored", "y(i) = sum(j, stored(A(i,j)))", Any),
    op("functions", "sum of exponentials", "y(i) = exp(A(i,j))", Fractions),
    op("functions", "exp of integers", "C(i) = exp(a(i))", Wide),
    op("functions", "sin", "C(i,j) = sin(A(i,j))", Fractions),
    op("functions", "tanh times", "C(i,j) = tanh(A(i,j)) * B(i,j)", Fractions),
    op("functions", "relu", "C(i,j) = relu(A(i,j))", Ordered),
    op("functions", "abs", "C(i,j) = abs(A(i,j))", NoBool),
    op("functions", "sgn", "C(i,j) = sgn(A(i,j))", Real),
    op("functions", "floor", "C(i,j) = floor(A(i,j))", Real),
    op("functions", "sqrt of squares", "C(i,j) = sqrt(A(i,j) * A(i,j))", Wide),
    op("functions", "cube", "C(i,j) = A(i,j)^3", Wide),
    op("functions", "sigmoid", "C(i,j) = sigmoid(A(i,j))", Wide),
    op("functions", "conjugate", "s = conj(A(i,j)) * A(i,j)", Fractions),
    op("functions", "converted", "C(i,j) = f64(A(i,j)) + 0.5", Real),
    op("functions", "truth", "C(i,j) = bool(A(i,j))", Any),
    op("scalars", "scalar sum", "s = a + b", Any),
    op("scalars", "scalar product", "s = a * b", Any),
    op("scalars", "scalar and sum", "s = a * A(i,j)", Any),
    op("scalars", "constant", "C(i,j) = A(i,j) * 0 + 3", NoBool),
    op("update", "add to", "C(i,j) += A(i,j)", Any),
    op("update", "add a product", "C(i,j) += A(i,k) * B(k,j)", Any),
    op("update", "add to a vector", "y(i) += A(i,j) * x(j)", Any),
    op("update", "add to a scalar", "s += A(i,j)", Any),
    op("update", "add under a mask", "C(i,j)<M(i,j)> += A(i,j)", Any),
    op("update", "take the greatest under a mask", "C(i,j)<M(i,j)> max= A(i,j)", Ordered),
    op("update", "multiply outside a mask", "C(i,j)<!structure M(i,j)> *= A(i,j)", Any),
    op("update", "take the least of some rows", "C(i,j)<m(i)> min= A(i,k) * B(k,j)", Ordered),
    op("update", "take the least", "C(i,j) min= A(i,j)", Ordered),
    op("update", "take the greatest", "y(i) max= A(i,j) * x(j)", Ordered),
    op("update", "multiply by", "C(i,j) *= A(i,j)", Any),
];

/// The operations of which every pair of named formats is tried, by their names.
pub const PAIRED: &[&str] =
    &["add vectors", "multiply vectors", "add", "multiply", "matmul", "add 3-D", "multiply 3-D"];

/// The operations that are tried with every dtype, by their names.
pub const EVERY_DTYPE: &[&str] = &["spmv", "add", "matmul"];

/// The operations that are tried with every pair of dtypes, by their names.
pub const PROMOTED: &[&str] = &["add", "spmv"];

/// The operations that are tried on tensors large enough for several threads, by their names.
pub const LARGE: &[&str] = &[
    "spmv",
    "spmv transposed",
    "matmul",
    "add",
    "multiply",
    "row sums",
    "column sums",
    "sum",
    "sddmm",
    "mttkrp",
    "add 3-D",
    "masked product",
    "min-plus spmv",
    "exp",
    "add a product",
];

/// An operation by its name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ust_engine::ops::Expression;

    use super::*;

    #[test]
    fn names_are_unique_and_expressions_read() {
        let names: BTreeSet<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        assert_eq!(names.len(), OPERATIONS.len());
        for operation in OPERATIONS {
            Expression::parse(operation.text).unwrap_or_else(|error| panic!("{error}"));
            assert!(!operation.numbers.dtypes().is_empty());
        }
        for name in PAIRED.iter().chain(EVERY_DTYPE).chain(PROMOTED).chain(LARGE) {
            assert!(named(name).is_some(), "{name}");
        }
    }
}
