//! `ust show`: everything that a tensor stores.

use std::io::Write;

use crate::args::Show;
use crate::failure::Failure;
use crate::output::Output;
use crate::{json, source};

pub(crate) fn run(args: &Show, out: &mut Output) -> Result<(), Failure> {
    let tensor = source::tensor(&args.tensor, args.shape.as_ref(), args.format.as_deref())?;
    if args.json {
        json::tensor(out, &tensor)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{tensor}")?;
    }
    Ok(())
}
