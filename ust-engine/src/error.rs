//! What can go wrong with a tensor, said so that a person can mend it.

use ust_format::FormatError;
use ust_level_api::ir::cancel::Cancelled;
use ust_level_api::{Dtype, LevelError, Scalar};

/// An error of the engine. Those of format texts are [`FormatError`]s.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The format text, or the format for this shape, is wrong.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A level refused its entries or its arrays.
    #[error("level {level} (`{text}`): {source}")]
    Level {
        /// Which level, from 0.
        level: usize,
        /// Its expression and type.
        text: String,
        /// What is wrong there.
        source: LevelError,
    },
    /// Values are of another dtype than asked for.
    #[error("the values are {found}, not {expected}: cast the tensor, or ask for {found}")]
    Dtype {
        /// Asked for.
        expected: Dtype,
        /// Stored.
        found: Dtype,
    },
    /// A number that the wanted dtype cannot hold.
    #[error("value {at} is {value}, which {to} cannot hold without loss")]
    Cast {
        /// The number.
        value: Scalar,
        /// Its place among the stored values.
        at: usize,
        /// The dtype that cannot hold it.
        to: Dtype,
    },
    /// Coordinate columns that do not belong together.
    #[error(
        "a tensor of rank {rank} with {values} values has coordinate columns of lengths {columns:?}"
    )]
    Columns {
        /// Number of dimensions.
        rank: usize,
        /// Number of values.
        values: usize,
        /// Lengths of the columns.
        columns: Vec<usize>,
    },
    /// A coordinate outside the shape.
    #[error("entry {entry}: coordinate {coordinate} of dimension {dim} lies outside 0..{extent}")]
    OutOfBounds {
        /// Which entry.
        entry: usize,
        /// Which dimension, from 0.
        dim: usize,
        /// The coordinate.
        coordinate: i64,
        /// Size of the dimension.
        extent: usize,
    },
    /// Coordinates outside the shape, asked for.
    #[error("coordinate {coordinate} of dimension {dim} lies outside 0..{extent}")]
    Coordinate {
        /// Which dimension, from 0.
        dim: usize,
        /// The coordinate.
        coordinate: usize,
        /// Size of the dimension.
        extent: usize,
    },
    /// Generated code failed: on arrays that nobody checked, or by a fault of a level type.
    #[error("running generated code: {0}")]
    Run(#[from] ust_level_api::ir::interp::RunError),
    /// Generated code is malformed: a fault of a level type.
    #[error("generated code is malformed: {0}")]
    Malformed(#[from] ust_level_api::ir::validate::ValidateError),
    /// The same coordinates twice, where that was to be refused.
    #[error(
        "two entries at {coordinates:?}: sum them (`Duplicates::Sum`), or use a nonunique format"
    )]
    Duplicate {
        /// The coordinates.
        coordinates: Vec<usize>,
    },
    /// An element that two parts of a composed tensor store.
    #[error("parts {} and {} both store the element at {coordinates:?}: a part has what no other has", parts[0], parts[1])]
    Overlap {
        /// Its coordinates.
        coordinates: Vec<usize>,
        /// The numbers of two such parts, from 0.
        parts: [usize; 2],
    },
    /// Duplicates whose sum an integer dtype cannot hold.
    #[error(
        "the entries at {coordinates:?} have a sum that {dtype} cannot hold: cast to a wider dtype first"
    )]
    Sum {
        /// The coordinates.
        coordinates: Vec<usize>,
        /// The dtype of the values.
        dtype: Dtype,
    },
    /// Entries out of order, where the format promises order.
    #[error(
        "the entry at {coordinates:?} stands out of order: sort the arrays, or use a `nonordered` format"
    )]
    Order {
        /// Its coordinates.
        coordinates: Vec<usize>,
    },
    /// Arrays that are not what their level type says of itself, though its own check accepted
    /// them.
    #[error("level {level} (`{text}`): {found}, and its level type claims `{claim}`: {rule}")]
    Claim {
        /// Which level, from 0.
        level: usize,
        /// Its expression and type.
        text: String,
        /// What was found, and where.
        found: String,
        /// The property of its description, or what every level type promises.
        claim: &'static str,
        /// What that means, and what to do.
        rule: String,
    },
    /// Arrays that do not belong to the format.
    #[error("{0}")]
    Parts(String),
    /// A shape that does not match.
    #[error("shape {found:?} does not match: {expected}")]
    Shape {
        /// The shape given.
        found: Vec<usize>,
        /// What it should be, and why.
        expected: String,
    },
    /// A tensor too large to address.
    #[error("too large: {0}")]
    TooLarge(String),
    /// A device failed, or has no memory left. Tensors are as they were.
    #[error(transparent)]
    Device(Box<dyn std::error::Error + Send + Sync>),
    /// The caller cancelled the work: see [`CancelToken`](crate::ops::CancelToken).
    #[error("cancelled")]
    Cancelled,
    /// Index notation that cannot be read: an [`OpError`](crate::ops::OpError) with the text and the place.
    #[error(transparent)]
    Expression(Box<dyn std::error::Error + Send + Sync>),
    /// Something that cannot be done, with what to do instead.
    #[error("{0}")]
    Unsupported(String),
    /// The back end that was asked for cannot run the plan.
    #[error("`{backend}` cannot run this plan: {reason}")]
    Refused {
        /// The name of the provider.
        backend: &'static str,
        /// What it says.
        reason: String,
    },
}

ust_level_api::debug_shows_message!(Error);

impl From<Cancelled> for Error {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}
