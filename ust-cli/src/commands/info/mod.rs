//! `ust info`: tensors in a few lines, or the GPUs of this machine.

mod gpu;
mod header;
mod whole;

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::args::Info;
use crate::failure::Failure;
use crate::output::Output;
use crate::source;

/// Of larger files the header alone is read, unless somebody asks for more.
const LARGE: u64 = 8 << 20;

pub(crate) fn run(args: &Info, out: &mut Output) -> Result<(), Failure> {
    args.reading.is_for(&args.tensors)?;
    match &args.tensors[..] {
        [] => gpu::run(args.json, out),
        [one] if args.json => {
            let object = object(one, args)?;
            out.json(&object)
        }
        [one] => write(one, args, out),
        several => all(several, args, out),
    }
}

/// Several tensors, one after another. What cannot be read is told, and the others follow.
fn all(tensors: &[String], args: &Info, out: &mut Output) -> Result<(), Failure> {
    let mut failed: Option<Failure> = None;
    let mut objects = Vec::new();
    for (at, tensor) in tensors.iter().enumerate() {
        let done = match args.json {
            true => object(tensor, args).map(|mut object| {
                object["tensor"] = tensor.as_str().into();
                objects.push(object);
            }),
            false => {
                let space = if at == 0 { "" } else { "\n" };
                writeln!(out, "{space}{tensor}:")?;
                write(tensor, args, out)
            }
        };
        match done {
            Err(Failure::NobodyReads) => return Err(Failure::NobodyReads),
            Err(failure) => {
                // In the order in which they come.
                out.flush()?;
                objects.push(json!({ "tensor": tensor, "error": failure.object() }));
                failure.report(false);
                failed = Some(failure.reported());
            }
            Ok(()) => {}
        }
    }
    if args.json {
        out.json(&json!({ "tensors": objects }))?;
    }
    failed.map_or(Ok(()), Err)
}

fn write(tensor: &str, args: &Info, out: &mut Output) -> Result<(), Failure> {
    match has_header_alone(tensor, args) {
        true => header::write(&ust::io::about(Path::new(tensor))?, out),
        false => whole::write(
            &source::composed(tensor, args.shape.as_ref(), None, &args.reading)?,
            args.full,
            out,
        ),
    }
}

fn object(tensor: &str, args: &Info) -> Result<Value, Failure> {
    let (mut object, read) = match has_header_alone(tensor, args) {
        true => (header::object(&ust::io::about(Path::new(tensor))?), "header"),
        false => {
            let tensor = source::composed(tensor, args.shape.as_ref(), None, &args.reading)?;
            (whole::object(&tensor, args.full)?, "all")
        }
    };
    object["read"] = read.into();
    Ok(object)
}

/// Whether the header of a file is all that is read of it.
fn has_header_alone(tensor: &str, args: &Info) -> bool {
    let is_large =
        || std::fs::metadata(tensor).is_ok_and(|file| file.is_file() && file.len() > LARGE);
    !args.full
        && tensor != source::STANDARD
        && (args.header || is_large())
        && !source::is_generated(tensor)
}
