//! `ust run`: an expression on tensors.

use std::collections::HashMap;
use std::io::Write;

use ust::Tensor;
use ust::ops::{Evaluation, Expression, evaluate};

use crate::args::{Named, Run};
use crate::failure::Failure;
use crate::output::Output;
use crate::{json, source, text};

/// What runs the loops.
const BACKEND: &str = "interpreter";

pub(crate) fn run(args: &Run, out: &mut Output) -> Result<(), Failure> {
    let expression = Expression::parse(&args.expression)?;
    if let Some(file) = &args.out {
        ust::io::Kind::of(file)?;
    }
    let tensors = operands(args, &expression)?;
    let Evaluation { mut result, prepared_in, run_in, .. } = evaluate(&expression, &tensors)?;
    drop(tensors);
    if let Some(format) = format_of(args, &expression.result.name) {
        result = result.convert(&source::resolve(format, result.rank())?)?;
    }
    if let Some(file) = &args.out {
        ust::io::write(file, &result)?;
    }
    let (seconds, compile_seconds) = (run_in.as_secs_f64(), prepared_in.as_secs_f64());
    let file = args.out.as_ref().map(|file| file.to_string_lossy());
    if !args.json {
        writeln!(
            out,
            "{} = {} {}, {seconds:.6} s by the {BACKEND}, {compile_seconds:.6} s to prepare",
            expression.result.name,
            text::shape(result.shape()),
            result.dtype(),
        )?;
        match file {
            Some(file) => writeln!(out, "wrote {file}")?,
            None => writeln!(out, "{result}")?,
        }
        return Ok(());
    }
    write!(
        out,
        r#"{{"seconds":[{seconds:?}],"compile_seconds":{compile_seconds:?},"backend":"{BACKEND}","result":"#
    )?;
    match file {
        Some(file) => write!(out, r#"{{"written":{}}}"#, serde_json::Value::from(file))?,
        None => json::tensor(out, &result)?,
    }
    Ok(writeln!(out, "}}")?)
}

/// The tensors of the expression, each in the shape and format asked for.
fn operands(args: &Run, expression: &Expression) -> Result<HashMap<String, Tensor>, Failure> {
    let mut factors: Vec<&str> = Vec::new();
    for factor in &expression.factors {
        if !factors.contains(&factor.name.as_str()) {
            factors.push(&factor.name);
        }
    }
    check_names(args, &factors, &expression.result.name)?;
    let mut tensors = HashMap::new();
    for &factor in &factors {
        let mut given = args.tensors.iter().filter(|given| given.name == factor);
        let Some(Named { text, .. }) = given.next() else {
            return Err(Failure::input(format!("the tensor `{factor}` is not given"))
                .help(format!("give it as `{factor}=FILE` or `{factor}=gen:...`")));
        };
        if given.next().is_some() {
            return Err(Failure::input(format!("the tensor `{factor}` is given twice")));
        }
        let mut shapes = args.shape.iter().rev();
        let shape = shapes.find(|s| s.name.as_deref().is_none_or(|name| name == factor));
        let format = format_of(args, factor);
        let tensor = source::tensor(text, shape.map(|named| &named.shape), format)?;
        tensors.insert(factor.to_owned(), tensor);
    }
    Ok(tensors)
}

/// Whether everything that is said about a tensor is said about one of the expression.
fn check_names(args: &Run, factors: &[&str], result: &str) -> Result<(), Failure> {
    let known: Vec<&str> = factors.iter().copied().chain([result]).collect();
    let tensors = args.tensors.iter().map(|named| (&*named.name, factors));
    let formats = args.format.iter().map(|named| (&*named.name, &known[..]));
    let shapes = args.shape.iter().filter_map(|s| Some((s.name.as_deref()?, factors)));
    for (name, known) in tensors.chain(formats).chain(shapes) {
        if !known.contains(&name) {
            let message = match name == result {
                true => format!("`{name}` is the result of `{}`, not a factor", args.expression),
                false => format!("`{}` has no tensor `{name}`", args.expression),
            };
            return Err(Failure::input(message).help(format!("it may be {}", known.join(", "))));
        }
    }
    if factors.len() > 1 && args.shape.iter().any(|shape| shape.name.is_none()) {
        let help = format!("write `--shape NAME=SHAPE` with one of {}", factors.join(", "));
        return Err(Failure::input("--shape does not say which tensor is meant").help(help));
    }
    Ok(())
}

/// The format asked for a tensor: what was said last.
fn format_of<'a>(args: &'a Run, name: &str) -> Option<&'a str> {
    let said = args.format.iter().rfind(|named| named.name == name);
    said.map(|named| named.text.as_str())
}
