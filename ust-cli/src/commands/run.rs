//! `ust run`: an expression on tensors.

use std::io::Write;
use std::time::Instant;

use ust::Tensor;
use ust::ops::{Einsum, Expression, Kernel, Operand, Timing};

use super::operands::Operands;
use crate::args::{Run, Running};
use crate::failure::Failure;
use crate::output::Output;
use crate::target::Target;
use crate::{json, text};

pub(crate) fn run(args: &Run, out: &mut Output) -> Result<(), Failure> {
    let expression = Expression::parse(&args.asked.expression)?;
    let target = args.out.as_deref();
    let target = target.map(|file| Target::new(file, args.to.as_deref(), args.json)).transpose()?;
    let silent = target.as_ref().is_some_and(Target::is_standard_output);
    if args.explain && silent {
        return Err(Failure::input(
            "standard output can have the result, or what --explain says: not both",
        ));
    }
    let operands = Operands::read(&args.asked, &expression)?;
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
        super::explain::write(&kernel, args.machine_code, out)?;
    }
    let mut tensors: Vec<Operand<'_>> = operands
        .tensors
        .iter()
        .map(|(_, given)| match given.parts() {
            [one] => one.into(),
            _ => given.into(),
        })
        .collect();
    tensors.extend(operands.old.iter().map(Operand::from));
    let first = match first {
        Some(first) => first,
        None => kernel.run_with_timed(&tensors, &mut timing)?,
    };
    prepare_seconds += timing.prepared_in.as_secs_f64();
    let (mut result, seconds) = repeated(args, &kernel, &tensors, first, timing)?;
    if args.check {
        super::check::check(args, &operands, &result, updates)?;
    }
    if let Some(dtype) = args.asked.dtype.filter(|_| args.lossy) {
        result = result.cast_lossy(dtype);
    }
    if let Some(target) = target {
        target.write(out, |file| ust::io::write(file, &result))?;
    }
    if silent {
        return Ok(());
    }
    report(args, &expression, &kernel, &result, &seconds, prepare_seconds, out)
}

/// Runs the kernel as often as asked, after a first time that counts if it is the only one.
fn repeated(
    args: &Run,
    kernel: &Kernel,
    tensors: &[Operand<'_>],
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
            last = Some(kernel.run_with_timed(tensors, &mut timing)?);
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok::<_, Failure>(last.expect("it is run once at least"))
    };
    // Among the threads that do the work, as in a program that keeps them: nobody is woken up first.
    let threads = args.running.threads.map_or(0, |threads| threads.max(1).into());
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
    // What does not fit is converted afterwards.
    let dtype = args.asked.dtype.filter(|_| !args.lossy);
    args.running.apply(operands.einsum(&args.asked, dtype))
}

impl Running {
    /// The expression, run as asked.
    pub(super) fn apply(&self, call: Einsum) -> Einsum {
        let call = call.backend(self.backend);
        match self.threads {
            Some(threads) => call.threads(threads.into()),
            None => call,
        }
    }
}
