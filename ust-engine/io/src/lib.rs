//! Files: Matrix Market, FROSTT, NumPy, SciPy and the project's own `.ust.npz`.
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | [`load`] | [`read`]: from any file to a tensor |
//! | [`store`] | [`write`](fn@write): from a tensor to any file |
//! | [`mtx`] | Matrix Market `.mtx`: coordinate and array, expanded on reading |
//! | [`tns`] | FROSTT `.tns`, plain and with the extended header |
//! | [`npy`] | NumPy `.npy`: one dense array |
//! | [`npz`] | NumPy `.npz` archives and the layout of SciPy's sparse matrices |
//! | [`ust_npz`] | `.ust.npz`: any format without loss |
//! | [`dense`] | a dense array as files hold it |
//! | [`kind`] | which kind of file a name means |
//! | [`options`] | what a reader may be told |
//! | [`error`] | what can go wrong with a file |
//!
//! Inside: `text` (lines and words), `words` (how many of them), `body` (entries in parallel), `number` (how numbers are read and
//! written), `source` and `sink` (bytes in and out, gzip, atomic replacement), `progress`.
//!
//! *Invariant: nothing that a file declares is believed before the bytes of the file bear it out.*
//! Sizes are compared with what the file can hold before memory is taken for them.

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

pub use dense::DenseArray;
pub use error::FileError;
pub use kind::Kind;
pub use load::read;
pub use options::ReadOptions;
pub use store::write;

#[cfg(test)]
mod tests;
