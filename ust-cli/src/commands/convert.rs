//! `ust convert`: another format, dtype or kind of file.

use std::io::Write;

use serde_json::json;

use crate::args::Convert;
use crate::failure::Failure;
use crate::output::Output;
use crate::{source, text};

pub(crate) fn run(args: &Convert, out: &mut Output) -> Result<(), Failure> {
    // An extension that nobody can write is told before the input is read.
    ust::io::Kind::of(&args.output)?;
    let mut tensor = source::tensor(
        &args.input,
        args.shape.as_ref(),
        args.format.as_deref(),
        args.memory_limit,
    )?;
    tensor = match args.dtype {
        Some(dtype) if args.lossy => tensor.cast_lossy(dtype),
        Some(dtype) => tensor.cast(dtype)?,
        None => tensor,
    };
    ust::io::write(&args.output, &tensor)?;
    if args.json {
        return out.json(&json!({
            "written": args.output.to_string_lossy(),
            "shape": tensor.shape(),
            "dtype": tensor.dtype().name(),
            "format": tensor.format().to_string(),
            "nse": tensor.nse(),
        }));
    }
    Ok(writeln!(
        out,
        "wrote {}: {} {}, {} stored elements",
        args.output.display(),
        text::shape(tensor.shape()),
        tensor.dtype(),
        text::grouped(tensor.nse() as u128),
    )?)
}
