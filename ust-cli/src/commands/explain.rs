//! `ust explain`: what is planned for an expression.

use std::io::Write;
use std::time::Instant;

use serde_json::json;
use ust::ops::{Expression, Kernel};

use super::operands::Operands;
use crate::args::Explain;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(args: &Explain, out: &mut Output) -> Result<(), Failure> {
    let expression = Expression::parse(&args.asked.expression)?;
    let operands = Operands::read(&args.asked, &expression)?;
    let start = Instant::now();
    let call = args.running.apply(operands.einsum(&args.asked, args.asked.dtype));
    let kernel = match &operands.old {
        Some(old) => call.prepare_update(old)?,
        None => call.prepare()?,
    };
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        return out.json(&json!({
            "expression": args.asked.expression,
            "backend": kernel.backend().to_string(),
            "prepare_seconds": seconds,
            "plan": kernel.explain(),
            "machine_code": args.machine_code.then(|| kernel.machine_code()).flatten(),
        }));
    }
    write(&kernel, args.machine_code, out)?;
    Ok(writeln!(out, "\nprepared in {seconds:.6} s for the {}", kernel.backend())?)
}

/// A plan, and the machine code where it is asked for.
pub(super) fn write(kernel: &Kernel, machine_code: bool, out: &mut Output) -> Result<(), Failure> {
    write!(out, "{}", kernel.explain())?;
    if machine_code {
        let code = kernel.machine_code();
        writeln!(out, "{}", code.as_deref().unwrap_or("there is no machine code"))?;
    }
    Ok(())
}
