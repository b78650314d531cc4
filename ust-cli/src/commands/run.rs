//! `ust run`: an expression on tensors.

use std::collections::HashMap;
use std::io::Write;
use std::time::Instant;

use ust::ops::{Einsum, Expression, Kernel, Semiring, Timing};
use ust::tensor::memory::default_limit;
use ust::{Format, Tensor, einsum};

use crate::args::{Named, NamedFormat, Run};
use crate::failure::Failure;
use crate::output::Output;
use crate::{json, source, text};

pub(crate) fn run(args: &Run, out: &mut Output) -> Result<(), Failure> {
    let expression = Expression::parse(&args.expression)?;
    if let Some(file) = &args.out {
        ust::io::Kind::of(file)?;
    }
    let formats = formats(args, &expression)?;
    let operands = operands(args, &expression, formats)?;
    let updates = operands.old.is_some();
    let start = Instant::now();
    let mut timing = Timing::default();
    let (kernel, first) = match &operands.old {
        // A plan is shown before it is run: that may take long, or fail.
        None if args.explain => (einsum_of(args, &operands).prepare()?, None),
        Some(old) => (einsum_of(args, &operands).prepare_update(old)?, None),
        None => {
            let (kernel, result) = einsum_of(args, &operands).run_timed(&mut timing)?;
            (kernel, Some(result))
        }
    };
    let mut prepare_seconds = match first {
        None => start.elapsed().as_secs_f64(),
        Some(_) => 0.0,
    };
    if args.explain {
        write!(out, "{}", kernel.explain())?;
        if args.machine_code {
            let code = kernel.machine_code();
            writeln!(out, "{}", code.as_deref().unwrap_or("there is no machine code"))?;
        }
    }
    let mut tensors: Vec<&Tensor> = operands.tensors.iter().map(|(_, tensor)| tensor).collect();
    tensors.extend(&operands.old);
    let first = match first {
        Some(first) => first,
        None => kernel.run_timed(&tensors, &mut timing)?,
    };
    prepare_seconds += timing.prepared_in.as_secs_f64();
    let (mut result, seconds) = repeated(args, &kernel, &tensors, first, timing)?;
    if args.check {
        super::check::check(args, &operands, &result, updates)?;
    }
    if let Some(dtype) = args.dtype.filter(|_| args.lossy) {
        result = result.cast_lossy(dtype);
    }
    if let Some(file) = &args.out {
        ust::io::write(file, &result)?;
    }
    report(args, &expression, &kernel, &result, &seconds, prepare_seconds, out)
}

/// Runs the kernel as often as asked, after a first time that counts if it is the only one.
fn repeated(
    args: &Run,
    kernel: &Kernel,
    tensors: &[&Tensor],
    first: Tensor,
    mut timing: Timing,
) -> Result<(Tensor, Vec<f64>), Failure> {
    if args.repeat == 1 {
        return Ok((first, vec![timing.run_in.as_secs_f64()]));
    }
    let mut seconds = Vec::with_capacity(args.repeat as usize);
    let all = || {
        let mut last = Some(first);
        for _ in 0..args.repeat {
            drop(last.take());
            let start = Instant::now();
            last = Some(kernel.run_timed(tensors, &mut timing)?);
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok::<_, Failure>(last.expect("it is run once at least"))
    };
    // Among the threads that do the work, as in a program that keeps them: nobody is woken up first.
    let threads = args.threads.map_or(0, |threads| threads.max(1).into());
    let result = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(all)?,
        Err(_) => all()?,
    };
    Ok((result, seconds))
}

fn report(
    args: &Run,
    expression: &Expression,
    kernel: &Kernel,
    result: &Tensor,
    seconds: &[f64],
    prepare_seconds: f64,
    out: &mut Output,
) -> Result<(), Failure> {
    let backend = kernel.backend();
    let file = args.out.as_ref().map(|file| file.to_string_lossy());
    if args.json {
        let list: Vec<String> = seconds.iter().map(|s| format!("{s:?}")).collect();
        write!(
            out,
            r#"{{"seconds":[{}],"compile_seconds":{prepare_seconds:?},"backend":"{backend}","result":"#,
            list.join(",")
        )?;
        match file {
            Some(file) => write!(out, r#"{{"written":{}}}"#, serde_json::Value::from(file))?,
            None => json::tensor(out, result)?,
        }
        return Ok(writeln!(out, "}}")?);
    }
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let times = match seconds.len() {
        1 => format!("{median:.9} s"),
        n => format!("{median:.9} s (median of {n})"),
    };
    writeln!(
        out,
        "{} = {} {}, {times} by the {backend}, {prepare_seconds:.6} s to prepare",
        expression.result.name,
        text::shape(result.shape()),
        result.dtype(),
    )?;
    match file {
        Some(file) => writeln!(out, "wrote {file}")?,
        None => writeln!(out, "{result}")?,
    }
    Ok(())
}

/// The expression with its tensors and what was asked for beside them.
pub(super) fn einsum_of(args: &Run, operands: &Operands) -> Einsum {
    let mut call = einsum(&args.expression);
    for (name, tensor) in &operands.tensors {
        call = call.arg(name, tensor);
    }
    let result = &operands.result;
    if let Some(format) = operands.formats.get(result) {
        call = call.format(format);
    }
    // What does not fit is converted afterwards.
    if let Some(dtype) = args.dtype.filter(|_| !args.lossy) {
        call = call.dtype(dtype);
    }
    if let Some(semiring) = &args.semiring {
        call = call.semiring(semiring);
    }
    for (index, extent) in &args.extent {
        call = call.extent(index, *extent);
    }
    if let Some(limit) = args.memory_limit {
        call = call.memory_limit(limit);
    }
    if let Some(threads) = args.threads {
        call = call.threads(threads.into());
    }
    call.backend(args.backend)
}

/// The tensors of an expression.
pub(super) struct Operands {
    /// Those on the right.
    pub(super) tensors: Vec<(String, Tensor)>,
    /// For an update, what is there already.
    pub(super) old: Option<Tensor>,
    /// The name of the result.
    pub(super) result: String,
    /// The formats asked for, by the names of tensors.
    formats: HashMap<String, String>,
}

/// The formats asked for, by the names of tensors.
fn formats(args: &Run, expression: &Expression) -> Result<HashMap<String, String>, Failure> {
    let all = expression.accesses().into_iter().chain([expression.result.clone()]);
    let mut ranks: Vec<(String, usize)> = Vec::new();
    for access in all {
        if !ranks.iter().any(|(name, _)| *name == access.name) {
            ranks.push((access.name, access.indices.len()));
        }
    }
    let mut formats = HashMap::new();
    for NamedFormat { name, text } in &args.format {
        let name = match name {
            Some(name) => name.clone(),
            None => {
                let fits = |rank: usize| Format::resolve(text, Some(rank)).is_ok();
                let mut fitting = ranks.iter().filter(|(_, rank)| fits(*rank));
                match (fitting.next(), fitting.next()) {
                    (Some((name, _)), None) => name.clone(),
                    (None, _) => {
                        // Says what is wrong with the text, if anything is.
                        Format::resolve(text, None)?;
                        let message =
                            format!("no tensor of `{}` can be in `{text}`", args.expression);
                        return Err(Failure::input(message));
                    }
                    (Some((name, _)), Some(_)) => {
                        let message =
                            format!("`--format {text}` does not say which tensor is meant");
                        let help = format!("write `--format \"{name}={text}\"`, for one");
                        return Err(Failure::input(message).help(help));
                    }
                }
            }
        };
        if let Some(before) = formats.insert(name.clone(), text.clone()) {
            let message = format!("the format of `{name}` is given twice: `{before}` and `{text}`");
            return Err(Failure::input(message));
        }
    }
    Ok(formats)
}

/// The tensors of the expression, each in the shape and format asked for.
fn operands(
    args: &Run,
    expression: &Expression,
    formats: HashMap<String, String>,
) -> Result<Operands, Failure> {
    let names = expression.operands();
    let result = expression.result.name.clone();
    let updates = expression.is_update();
    let mut wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    if updates {
        wanted.push(&result);
    }
    check_names(args, expression, &formats, &wanted)?;
    let named = expression.semiring.as_ref().map(|(name, _)| name).or(args.semiring.as_ref());
    let semiring = named.and_then(|name| Semiring::named(name));
    let read = |wanted: &str| -> Result<Tensor, Failure> {
        let mut given = args.tensors.iter().filter(|given| given.name == wanted);
        let Some(Named { text, .. }) = given.next() else {
            return Err(Failure::input(format!("the tensor `{wanted}` is not given"))
                .help(format!("give it as `{wanted}=FILE` or `{wanted}=gen:...`")));
        };
        if given.next().is_some() {
            return Err(Failure::input(format!("the tensor `{wanted}` is given twice")));
        }
        let mut shapes = args.shape.iter().rev();
        let shape = shapes.find(|s| s.name.as_deref().is_none_or(|name| name == wanted));
        let (shape, format) = (shape.map(|named| &named.shape), formats.get(wanted));
        let (Some(semiring), Some(format)) = (&semiring, format) else {
            let format = format.map(String::as_str);
            return source::tensor(text, shape, format, args.memory_limit);
        };
        // Stored as it is meant: a format may have a place for what is not stored.
        let tensor = source::tensor(text, shape, None, args.memory_limit)?;
        let format = source::resolve(format, tensor.rank())?;
        let meant = semiring.zero(tensor.dtype()).map(|_| semiring.operand(&tensor)).transpose()?;
        let limit = args.memory_limit.unwrap_or_else(default_limit);
        Ok(meant.unwrap_or(tensor).convert_within(&format, limit)?)
    };
    let mut tensors = Vec::new();
    for name in &names {
        tensors.push((name.clone(), read(name)?));
    }
    let old = if updates { Some(read(&result)?) } else { None };
    Ok(Operands { tensors, old, result, formats })
}

/// Whether everything that is said about a tensor is said about one of the expression.
fn check_names(
    args: &Run,
    expression: &Expression,
    formats: &HashMap<String, String>,
    wanted: &[&str],
) -> Result<(), Failure> {
    let result = &*expression.result.name;
    let known: Vec<&str> = wanted.iter().copied().chain([result]).collect();
    let tensors = args.tensors.iter().map(|named| (&*named.name, wanted));
    let formats = formats.keys().map(|name| (&**name, &known[..]));
    let shapes = args.shape.iter().filter_map(|s| Some((s.name.as_deref()?, wanted)));
    for (name, known) in tensors.chain(formats).chain(shapes) {
        if known.contains(&name) {
            continue;
        }
        if let Some(wrong) = expression.misused(name) {
            return Err(wrong.into());
        }
        let message = match name == result {
            true => format!("`{name}` is the result of `{}`, not an operand", args.expression),
            false => format!("`{}` has no tensor `{name}`", args.expression),
        };
        let help = match known {
            [] => format!("nothing is given to it; a scalar is named bare, as `s = 2 * {name}`"),
            _ => format!("it may be {}", known.join(", ")),
        };
        return Err(Failure::input(message).help(help));
    }
    if wanted.len() > 1 && args.shape.iter().any(|shape| shape.name.is_none()) {
        let help = format!("write `--shape NAME=SHAPE` with one of {}", wanted.join(", "));
        return Err(Failure::input("--shape does not say which tensor is meant").help(help));
    }
    Ok(())
}
