//! What can go wrong before or while a system is solved. That a method does not converge is no error: see
//! [`Stop`](crate::Stop).

use ust_engine::ops::OpError;

/// An error of a solver.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A tensor could not be converted or read.
    #[error(transparent)]
    Tensor(#[from] ust_engine::Error),
    /// A product could not be planned or run.
    #[error(transparent)]
    Product(#[from] OpError),
    /// The tensor is no square matrix.
    #[error("a tensor of shape {shape:?} is no square matrix")]
    NotSquare {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Elements that are not stored have a value other than zero.
    #[error(
        "elements that are not stored are {fill}: only a matrix whose other elements are zero has a factorization"
    )]
    Fill {
        /// The value.
        fill: String,
    },
    /// A vector of another length than the matrix asks for.
    #[error("{what} has {found} elements, not {expected}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Elements that it should have.
        expected: usize,
        /// Elements that it has.
        found: usize,
    },
    /// A pivot or an element of the diagonal that is zero, not finite, or not stored.
    #[error(
        "the pivot of row {row} is zero or not finite: the matrix has no such factorization, or is singular"
    )]
    Singular {
        /// The row, from 0.
        row: usize,
    },
    /// A matrix that a direct method cannot factor.
    #[error("{0}")]
    Factorization(String),
    /// An option, or a number of pairs, that makes no sense.
    #[error("{0}")]
    Argument(String),
    /// An operator of the caller failed.
    #[error(transparent)]
    Operator(Box<dyn std::error::Error + Send + Sync>),
}

/// Fails where a vector has another length.
pub(crate) fn expect_length(
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), SolveError> {
    match expected == found {
        true => Ok(()),
        false => Err(SolveError::Length { what, expected, found }),
    }
}
