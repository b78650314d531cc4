//! `ust emit`: the loops of an expression as source code.

use std::fs;
use std::io::Write;

use serde_json::json;
use ust::Backend;
use ust::ops::Expression;

use super::operands::Operands;
use crate::args::{Emit, Language};
use crate::failure::{Failure, NO_GPU};
use crate::output::Output;

pub(crate) fn run(args: &Emit, out: &mut Output) -> Result<(), Failure> {
    let expression = Expression::parse(&args.asked.expression)?;
    let (backend, language) = match args.lang {
        Language::Cuda => ("cuda-text", "cuda"),
        Language::Cpp => ("cpp-text", "c++"),
    };
    let backend: Backend = backend
        .parse()
        .map_err(|_| Failure::failed(format!("this program writes no source: {NO_GPU}")))?;
    let operands = Operands::read(&args.asked, &expression)?;
    let mut call = operands.einsum(&args.asked, args.asked.dtype).backend(backend);
    if args.strict {
        call = call.strict();
    }
    let kernel = match &operands.old {
        Some(old) => call.prepare_update(old)?,
        None => call.prepare()?,
    };
    let codes = kernel.codes().ok_or_else(|| Failure::failed("there is no source"))?;
    let stages = codes.len();
    let stage = stage(args, stages)?;
    let source = headed(&args.asked.expression, stage, stages, &codes[stage - 1]);
    let mut told = json!({
        "expression": args.asked.expression, "language": language, "stage": stage, "stages": stages,
    });
    match &args.out {
        None if args.json => {
            told["source"] = source.into();
            out.json(&told)
        }
        None => Ok(out.write_all(source.as_bytes())?),
        Some(file) => {
            let shown = file.to_string_lossy();
            fs::write(file, &source)
                .map_err(|error| Failure::failed(format!("{shown}: cannot write: {error}")))?;
            if args.json {
                told["written"] = shown.into();
                return out.json(&told);
            }
            Ok(writeln!(out, "wrote {shown}: {} lines", source.lines().count())?)
        }
    }
}

/// The stage to write, from 1.
fn stage(args: &Emit, stages: usize) -> Result<usize, Failure> {
    let asked = args.stage.map(usize::from);
    match asked.or((stages == 1).then_some(1)) {
        Some(stage) if stage <= stages => Ok(stage),
        _ => {
            let many = if stages == 1 { "" } else { "s" };
            let message =
                format!("`{}` is computed in {stages} stage{many}", args.asked.expression);
            let help = format!(
                "`--stage` takes 1 to {stages}; `ust run ... --explain` shows what each computes"
            );
            Err(Failure::input(message).help(help))
        }
    }
}

/// The source, below what it is.
fn headed(expression: &str, stage: usize, stages: usize, code: &str) -> String {
    let expression: Vec<&str> = expression.split_whitespace().collect();
    let stage = match stages {
        1 => String::new(),
        _ if stage == stages => format!("// Stage {stage} of {stages}.\n"),
        _ => {
            format!("// Stage {stage} of {stages}. Later stages call its result t{}.\n", stage - 1)
        }
    };
    format!(
        "// {}\n{stage}// Written by ust {}. The functions to call stand at the end, behind what they use.\n\n{code}",
        expression.join(" "),
        env!("CARGO_PKG_VERSION")
    )
}
