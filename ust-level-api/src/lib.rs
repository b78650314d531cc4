//! The contract of a level type of the Universal Sparse Tensor (UST).
//!
//! A tensor is stored level by level. Only one crate knows how a *level* is stored, built, checked,
//! walked and searched: the crate of its level type. That crate depends on this one, which
//! re-exports the loop IR (`ust-ir`), and on no other crate of the project. It registers a
//! [`LevelFactory`]; every format text may then use its name.
//!
//! # The five questions
//!
//! A [`LevelType`] answers five questions, and no more:
//!
//! 1. **Describe** – [`LevelType::describe`]: name, properties, arrays, capabilities; and
//!    [`LevelType::fits`]: may it stand at this [`Place`]?
//! 2. **Assemble** – [`LevelType::assemble`]: from sorted coordinate columns, in bulk, its arrays.
//! 3. **Check** – [`LevelType::check`]: are arrays of unknown origin valid?
//! 4. **Walk** – [`LevelType::walk`]: a cursor over the children of an interval of parents, as
//!    loop IR.
//! 5. **Locate** – [`LevelType::locate`]: the position of a coordinate, as loop IR.
//!
//! A level type may also propose formats for a tensor with given statistics
//! ([`LevelType::candidates`]), estimate the memory of a level ([`LevelType::footprint`]), and take
//! children in and out, in place ([`LevelType::insert`], [`LevelType::remove`]). All have defaults.
//!
//! The engine derives everything else from these five answers: construction, conversion, drawing,
//! operations, files.
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`level`] | the trait, and its vocabulary: places, properties |
//! | [`mod@array`] | what the arrays of a level hold, and what their elements stand for |
//! | [`assemble`] | the input and output of assembly (sorted entries, positions), and helpers |
//! | [`batch`] | levels of which each item of a batch has its own |
//! | [`change`] | what becomes of positions when a child is inserted or removed in place |
//! | [`check`] | reachable positions, and checks whose errors name array, index and rule |
//! | [`walk`] | cursors, which the engine makes loops of |
//! | [`full`] | the answers that all full levels share |
//! | [`stats`] | statistics of a tensor, and estimates of memory |
//! | [`ir`] | the crate `ust-ir`: the loop IR, scalars, index arrays, columns, buffers |
//! | [`registry`] | registration of level types, and their arguments in format text |
//! | [`error`] | the errors of a level |
//!
//! *Invariant: nothing in this crate knows any level type.*
#![forbid(unsafe_code)]

pub mod array;
pub mod assemble;
pub mod batch;
pub mod change;
pub mod check;
pub mod error;
pub mod full;
pub mod level;
pub mod registry;
pub mod stats;
pub mod walk;

pub use array::{ArraySpec, Arrays, Per, Role};
pub use assemble::{Assembled, Entries};
pub use batch::{Batched, ItemSite};
pub use change::{Change, Move};
pub use check::Reach;
pub use error::LevelError;
pub use inventory;
pub use level::{Description, ExprShape, LevelType, LocateCost, Place, Props, Site};
pub use registry::{Alias, Arg, LevelArgs, LevelFactory};
pub use stats::{Footprint, Population, TensorStats};
pub use ust_ir as ir;
pub use ust_ir::{
    Buffer, Dtype, Element, GrowBuffer, IndexArray, IndexColumn, IndexKind, Packed, Scalar, buffer,
    column, debug_shows_message, for_each_dtype, index, scalar, with_column, with_dtype,
    with_indices,
};
pub use walk::{Interval, Located, Run, Step, Walk, WalkKind, WalkSite};

/// A coordinate: an index along a dimension or a level. Signed, because the offset of a diagonal
/// can be negative.
pub type Crd = i64;
/// A position: an offset into a level's storage.
pub type Pos = u64;
