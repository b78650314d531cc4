//! `ust convert`: another format, dtype or kind of file.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use ust::tensor::Way;
use ust::{Composed, Format, Tensor};

use crate::args::Convert;
use crate::failure::Failure;
use crate::output::Output;
use crate::target::Target;
use crate::{source, text};

pub(crate) fn run(args: &Convert, out: &mut Output) -> Result<(), Failure> {
    // An extension that nobody can write is told before the input is read.
    let target = Target::new(&args.output, args.to.as_deref(), args.json)?;
    if args.explain && target.is_standard_output() {
        return Err(Failure::input(
            "standard output can have the tensor, or what --explain says: not both",
        ));
    }
    args.reading.is_for(std::slice::from_ref(&args.input))?;
    // Entries of a file go straight into the format, unless the way there is asked for.
    let format = args.format.as_deref().filter(|_| !args.explain);
    let splits = args.format.as_deref().map(source::composition).transpose()?.unwrap_or(false);
    if splits && args.explain {
        let text = "--explain tells the way to one format";
        return Err(Failure::input(text).help("leave it out to split the tensor"));
    }
    let made = source::composed(&args.input, args.shape.as_ref(), format, &args.reading)?;
    if made.parts().len() > 1 && args.format.is_none() || splits {
        return written(args, &made, &target, out);
    }
    let mut tensor = made.parts()[0].clone();
    let mut ways = Vec::new();
    if let Some(text) = args.format.as_deref().filter(|_| args.explain) {
        let format = Format::resolve(text, Some(tensor.rank()))?;
        (tensor, ways) = explained(tensor, &format, args.reading.limit())?;
    }
    tensor = match args.dtype {
        Some(dtype) if args.lossy => tensor.cast_lossy(dtype),
        Some(dtype) => tensor.cast(dtype)?,
        None => tensor,
    };
    target.write(out, |file| ust::io::write(file, &tensor))?;
    if target.is_standard_output() {
        return Ok(());
    }
    let (held, nse) = held(&args.output, &tensor)?;
    if args.json {
        return out.json(&json!({
            "written": args.output.to_string_lossy(),
            "shape": tensor.shape(),
            "dtype": tensor.dtype().name(),
            "format": held.to_string(),
            "nse": nse,
            "ways": ways,
        }));
    }
    for way in ways {
        writeln!(out, "{way}")?;
    }
    writeln!(
        out,
        "wrote {}: {} {}, {} stored elements",
        args.output.display(),
        text::shape(tensor.shape()),
        tensor.dtype(),
        text::grouped(nse.into()),
    )?;
    match args.format.as_deref().filter(|_| &held != tensor.format()) {
        None => Ok(()),
        Some(asked) => {
            let name = held.name().unwrap_or_else(|| held.to_string());
            Ok(writeln!(
                out,
                "note: it is stored as {name}, as this kind of file cannot say `{asked}`; .ust.npz holds any format"
            )?)
        }
    }
}

/// The format in which a file that was written holds a tensor, and how many stored elements it has.
fn held(file: &Path, tensor: &Tensor) -> Result<(Format, u64), Failure> {
    let own = (tensor.format().clone(), tensor.nse() as u64);
    // A pipe cannot be read again.
    if ust::io::Kind::of(file)? == ust::io::Kind::Ust || !file.is_file() {
        return Ok(own);
    }
    let about = ust::io::about(file)?;
    let format = about.format.and_then(|text| Format::resolve(&text, Some(tensor.rank())).ok());
    // A symmetry implies elements that the file leaves out.
    let stored = about.stored.filter(|_| about.symmetry.is_none());
    Ok((format.unwrap_or(own.0), stored.unwrap_or(own.1)))
}

/// Writes a tensor part by part.
fn written(
    args: &Convert,
    made: &Composed,
    target: &Target<'_>,
    out: &mut Output,
) -> Result<(), Failure> {
    let made = match args.dtype {
        Some(dtype) if args.lossy => made.cast_lossy(dtype),
        Some(dtype) => made.cast(dtype)?,
        None => made.clone(),
    };
    target.write(out, |file| ust::io::write_composed(file, &made))?;
    if target.is_standard_output() {
        return Ok(());
    }
    if args.json {
        let nse: Vec<usize> = made.parts().iter().map(Tensor::nse).collect();
        return out.json(&json!({
            "written": args.output.to_string_lossy(),
            "shape": made.shape(),
            "dtype": made.dtype().name(),
            "formats": made.formats(),
            "nse": nse,
        }));
    }
    Ok(writeln!(
        out,
        "wrote {}: {} {}, {} stored elements in {}",
        args.output.display(),
        text::shape(made.shape()),
        made.dtype(),
        text::grouped(made.nse() as u128),
        made.formats(),
    )?)
}

/// The tensor in a format, step by step, and which way each step took.
fn explained(
    tensor: Tensor,
    format: &Format,
    limit: u64,
) -> Result<(Tensor, Vec<String>), Failure> {
    let (mut tensor, mut ways) = (tensor, Vec::new());
    loop {
        let way = tensor.way(format)?;
        ways.push(format!("`{}` -> `{format}`: {way}", tensor.format()));
        let to = match way {
            Way::Between { format: between, .. } => {
                let step = tensor.way(&between)?;
                ways.push(format!("`{}` -> `{between}`: {step}", tensor.format()));
                between
            }
            _ => format.clone(),
        };
        tensor = tensor.convert_within(&to, limit)?;
        if tensor.format() == format {
            return Ok((tensor, ways));
        }
    }
}
