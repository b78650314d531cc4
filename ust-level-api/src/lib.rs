//! The contract of a level type of the Universal Sparse Tensor (UST).
//!
//! A tensor is stored level by level. What a *level* stores, how it is built, checked, walked and
//! searched is known to one crate alone: the crate of its level type. That crate depends on this
//! one, which brings the loop IR (`ust-ir`), and on nothing else of the project; it registers a [`LevelFactory`] and from then on every
//! format text may use it.
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
//! A level may also offer formats for a tensor that looks like it ([`LevelType::candidates`]), and
//! say what room it would take ([`LevelType::footprint`]); it need not.
//!
//! Everything else (construction, conversion, drawing, operations, files) is the engine's work and
//! follows from those five.
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | [`level`] | the trait, and the words it speaks: places, properties, arrays |
//! | [`assemble`] | sorted entries in, positions out; helpers for bulk assembly |
//! | [`check`] | which positions are reachable, and errors that name array, index and rule |
//! | [`walk`] | cursors: what a level hands to the engine's loops |
//! | [`full`] | what every full level does alike |
//! | [`stats`] | what a tensor looks like, for levels that offer formats for it |
//! | [`ir`] | the crate `ust-ir`: the loop IR, scalars, index arrays, columns, buffers |
//! | [`registry`] | how a level type becomes known, and how its arguments are written |
//! | [`error`] | what can go wrong in a level |
//!
//! *Invariant: nothing in this crate knows any level type.*
#![forbid(unsafe_code)]

pub mod assemble;
pub mod check;
pub mod error;
pub mod full;
pub mod level;
pub mod registry;
pub mod stats;
pub mod walk;

pub use assemble::{Assembled, Entries};
pub use check::Reach;
pub use error::LevelError;
pub use inventory;
pub use level::{
    ArraySpec, Arrays, Description, ExprShape, LevelType, LocateCost, Place, Props, Role, Site,
};
pub use registry::{Alias, Arg, LevelArgs, LevelFactory};
pub use stats::{Footprint, TensorStats};
pub use ust_ir as ir;
pub use ust_ir::{
    Buffer, Dtype, Element, GrowBuffer, IndexArray, IndexColumn, IndexKind, Packed, Scalar, buffer,
    column, debug_shows_message, for_each_dtype, index, scalar, with_column, with_dtype,
    with_indices,
};
pub use walk::{Interval, Located, Step, Walk, WalkKind, WalkSite};

/// A coordinate: an index along a dimension or a level. Signed, because a diagonal's offset is one.
pub type Crd = i64;
/// A position: an offset into a level's storage.
pub type Pos = u64;
