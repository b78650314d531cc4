//! Level types from shared libraries, loaded while a program runs.
//!
//! [`load`] opens a library, and registers its level types; every format text may then use their names. A library
//! speaks a C ABI, which `include/ust_plugin.h` declares. It is written in any language; one of Rust exports what it
//! links by one line, [`export!`].
//!
//! A level type answers as one that is linked does. Walk and search are code, and come as text: loop IR as
//! pseudo-C. The host reads it once for each level, validates it, and emits it wherever the engine asks. Arrays that a
//! library assembles are checked as those of strangers are.
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | [`abi`] | the C ABI, as Rust sees it |
//! | `form` | walk and search as text |
//! | `host` | the side of the program: loading, and calls into the library |
//! | [`mod@export`] | the side of a library of Rust |
//! | `error` | why a library was not loaded |
//!
//! `unsafe` stands where the two sides meet: in `host/table.rs`, `host/door.rs`, `host/change.rs` and
//! `export/entry.rs`.
//!
//! *Invariant: nothing in this crate knows any level type.*
#![deny(unsafe_code)]

pub mod abi;
mod error;
pub mod export;
mod form;
mod host;
mod words;

pub use error::PluginError;
pub use host::load;
