//! The suite that every level type must pass, in every format it can stand in.
//!
//! The suite knows no level type. It enumerates what is linked, in the registry, with the sample
//! arguments that each level crate gives; so a level type is tried the moment it is linked.
//!
//! # For the author of a level type
//!
//! A test in the level's own crate, with this crate among its development dependencies:
//!
//! ```ignore
//! // A crate that nobody names is dropped by the linker.
//! use my_level_crate as _;
//!
//! #[test]
//! fn conforms() { ust_conformance::level("my_level").assert_passed(); }
//! ```
//!
//! The example crate `bitmap_level` has such a test.
//!
//! Neighbours are the level types that are linked. One that cannot stand alone needs another beside
//! it: `use ust_level_compressed as _;`. Operations are tried on named formats too, whose level types
//! come with `use ust as _;`.
//!
//! What the suite takes a description at its word for: only a level that is `bounded` may
//! refuse entries for want of room.
//!
//! # What is tried
//!
//! | group | what |
//! |---|---|
//! | `level/...` | the contract of [`LevelType`](ust_level_api::LevelType), one level alone: assemble, also from columns that cannot be fetched, check, walk, locate, properties, what `check` refuses, formats offered |
//! | `format/...` | the level type at each depth, with each neighbour, under plain, transposed, blocked, diagonal and linearised maps: build, take apart, unpack, read, walk, slice, convert, print |
//! | `corrupt/...` | spoilt arrays: refused, or harmless |
//! | `golden/...` | arrays and statements of other systems |
//! | `ops/...` | operations on tensors in the formats above and in named ones, on every back end |
//!
//! The contract comes first. Of a level type that does not keep it, nothing else is tried, and the
//! report says so; unless one group is asked for. A report of which a whole group is excluded has
//! not passed. Golden data need not be there.
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | [`run`](mod@run) | the suite as a whole: which cases, on how many tensors |
//! | [`report`] | cases, outcomes, the report as text and JSON |
//! | [`samples`] | what is linked |
//! | [`formats`] | which formats are tried |
//! | [`inputs`] | which tensors |
//! | [`oracle`] | the truth: a map from coordinates to values; random numbers |
//! | [`level`](mod@level) | the contract of one level |
//! | [`suite`] | what must hold of a format |
//! | [`corrupt`] | spoilt arrays |
//! | [`golden`] | golden data |
//! | [`ops`](mod@ops) | operations |
//!
//! *Invariant: nothing in this crate names a level type, but as golden data do.*
#![forbid(unsafe_code)]

pub mod corrupt;
pub mod formats;
pub mod golden;
pub mod inputs;
pub mod level;
pub mod meant;
pub mod ops;
pub mod oracle;
pub mod report;
pub mod run;
pub mod samples;
pub mod shuffled;
pub mod suite;

pub use report::{Case, Outcome, Report, Tally};
pub use run::{GROUPS, Options, run};

/// Tries one level type, by its registered name, with every level type that is linked as its
/// neighbour. Cost: seconds.
///
/// A name that nobody registered is a failed case, which says what is linked.
#[must_use]
pub fn level(name: &str) -> Report {
    let options = Options { level: Some(name.to_owned()), quick: true, ..Options::default() };
    run(&options, &|_, _| {})
}
