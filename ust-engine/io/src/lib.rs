//! Files: Matrix Market, FROSTT, NumPy, SciPy and the project's own `.ust.npz`.
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`load`] | [`read`]: from any file to a tensor |
//! | [`store`] | [`write`](fn@write): from a tensor to any file |
//! | [`mtx`] | Matrix Market `.mtx`: coordinate and array, expanded on reading |
//! | [`tns`] | FROSTT `.tns`, plain and with the extended header |
//! | [`npy`] | NumPy `.npy`: one dense array |
//! | [`npz`] | NumPy `.npz` archives and the layout of SciPy's sparse matrices |
//! | [`ust_npz`] | `.ust.npz`: any format without loss |
//! | [`dense`] | a dense array, as files store it |
//! | `about` | [`about`]: what a file says before its entries |
//! | [`kind`] | the kind of a file, by its extension |
//! | [`options`] | options for reading |
//! | [`error`] | errors, with the file and the place in it |
//!
//! Private modules:
//! * `text` has lines and tokens; `tokens` finds the ends of tokens ahead; `words` knows how many
//!   tokens a line must have.
//! * `body` reads entries in parallel; `write_entries` writes them.
//! * `number` reads and writes numbers; `plain` is the fast path for reading them.
//! * `source` and `sink` read and write files, with gzip and atomic replacement; `progress` is a
//!   progress bar.
//!
//! *Invariant: no size that a file declares is trusted.* It is compared with the most that the file can
//! hold, before memory is allocated for it.

mod about;
mod body;
pub mod dense;
pub mod error;
pub mod kind;
pub mod load;
pub mod mtx;
pub mod npy;
pub mod npz;
mod number;
pub mod options;
mod plain;
mod polled;
mod progress;
mod sink;
mod source;
pub mod store;
mod text;
pub mod tns;
mod tokens;
pub mod ust_npz;
mod words;
mod write_entries;

pub use about::{About, ArrayHeader, about};
pub use dense::DenseArray;
pub use error::FileError;
pub use kind::Kind;
pub use load::{read, read_composed};
pub use options::ReadOptions;
pub use store::{write, write_composed};

#[cfg(test)]
mod tests;
