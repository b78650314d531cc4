//! What the example programs share: the matrix that they work on.
//!
//! Each program takes a file or a generator, and a format, on its command line:
//!
//! ```text
//! cargo run --release -p ust-algorithms --bin pagerank -- "gen:rmat(12, edges=40000)" CSR
//! ```
#![forbid(unsafe_code)]

use std::error::Error;

use ust::{Format, Tensor};

/// What a program may end with.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The tensor named by the first argument, else by `default`, in the format named by the second,
/// else in `format`.
///
/// # Errors
/// A file that cannot be read, a generator or format that is not understood.
pub fn given(default: &str, format: &str) -> Outcome<Tensor> {
    let mut args = std::env::args().skip(1);
    let source = args.next().unwrap_or_else(|| default.to_owned());
    let format = args.next().unwrap_or_else(|| format.to_owned());
    let tensor = match source.starts_with("gen:") {
        true => {
            let coo = ust::generate::generate(&source)?;
            let format = Format::resolve(&format, Some(coo.shape.len()))?;
            return Ok(Tensor::from_coo(&coo, &format)?);
        }
        false => ust::io::read(source.as_ref(), &ust::io::ReadOptions::default())?,
    };
    let format = Format::resolve(&format, Some(tensor.rank()))?;
    Ok(tensor.convert(&format)?)
}
