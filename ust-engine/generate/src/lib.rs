//! Generated tensors: test problems, written as one line of text, the same on every machine.
//!
//! ```
//! use ust_generate::generate;
//! let laplacian = generate("gen:poisson2d(3)").unwrap();
//! assert_eq!(laplacian.shape, [9, 9]);
//! assert_eq!(laplacian.len(), 5 * 9 - 4 * 3);
//! ```
//!
//! Every generator gives `f64` entries sorted by row-major coordinates, without duplicates. Random
//! ones take a `seed`, and are defined number by number (see [`help`]): neither the machine, nor the
//! number of threads, nor the mathematics library of the platform changes a bit of the result.
//!
//! # Where what lives
//!
//! | file | what |
//! |---|---|
//! | `spec` | reads `name(argument, parameter = value, ...)` |
//! | `args` | the arguments of one generator, matched with its parameters |
//! | `error` | what can be wrong with such a line, with a caret under it |
//! | `table` | every generator with its parameters and exact definition; the help text |
//! | `stream` | random words, uniform and normal numbers by number |
//! | `sample` | cells chosen without replacement |
//! | `build` | columns of coordinates from cells or from rows, in parallel |
//! | `stencil` | `poisson2d`, `poisson3d`, `stencil27` |
//! | `scatter` | `random`, `blocks`, `rmat` |
//! | `pattern` | `banded`, `pruned24`, and the dense `steps`, `ones`, `uniform`, `normal` |

mod args;
mod build;
mod error;
mod pattern;
mod sample;
mod scatter;
mod spec;
mod stencil;
mod stream;
mod table;

#[cfg(test)]
mod tests;

pub use error::{GenerateError, GenerateErrorKind};
pub use table::{Generator, Parameter, ParameterKind, generators, help};

use ust_engine::coo::Coo;
use ust_level_api::ir::parallel;

/// What may stand before a generator's name, to tell it from a file's.
pub const PREFIX: &str = "gen:";

/// The most entries that a generator makes.
pub const MAX_ENTRIES: u64 = 1 << 31;

/// Makes the tensor that a line of text describes, such as `random(1000x2000, nnz=16000, seed=1)`,
/// with or without `gen:` before it.
///
/// Entries are sorted by row-major coordinates, without duplicates, of dtype `f64`. Cost: linear in
/// the entries, times the logarithm where positions are random; in parallel.
///
/// # Errors
/// [`GenerateError`] for text that cannot be read, unknown names, numbers that make no sense
/// together, and tensors of more than [`MAX_ENTRIES`] entries or beyond this machine's memory.
pub fn generate(spec: &str) -> Result<Coo, GenerateError> {
    let call = spec::parse(spec)?;
    let generator = table::find(spec, &call.name)?;
    let args = args::Args::new(spec, generator, call)?;
    parallel::entered(|| (generator.make)(&args))
}

/// Entries at random places of a tensor of this shape, a share `density` of all elements, with values from 0 to 1: the
/// generator `random`.
///
/// ```
/// use ust::{Tensor, generate::random};
/// let a = Tensor::from_coo(&random(&[1000, 2000], 0.01, 7)?, "CSR")?;
/// assert_eq!((a.shape(), a.nse()), (&[1000, 2000][..], 20_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`generate`].
pub fn random(shape: &[usize], density: f64, seed: u64) -> Result<Coo, GenerateError> {
    let elements: f64 = shape.iter().map(|&extent| extent as f64).product();
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let nnz = (density * elements).round();
    generate(&format!("random({}, nnz={nnz}, seed={seed})", extents.join("x")))
}
