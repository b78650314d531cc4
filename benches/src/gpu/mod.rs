//! `gpu`: the suite's operations as `cuda`, and then times of operations on a GPU: one program for a bare machine.
//!
//! Times are those of the device, between two events, with operands there. Each row says which part of the
//! bandwidth of a copy, measured in the same run, moves every array once.

pub(crate) mod operation;

use std::error::Error;
use std::path::PathBuf;

use serde_json::{Value, json};
use ust::gpu::{DeviceTensor, Einsum, Gpu, Kernel};
use ust::{Backend, Coo, Dtype, Format, Tensor, generate};
use ust_conformance::Options;

use crate::names::unknown;
use crate::report;
use crate::report::row::Time;
use crate::report::table::time;
use operation::{DeviceOperation, STENCILS};

/// Tries operations on a GPU, and times them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Small inputs, and a part of the suite: to see whether everything runs.
    #[arg(long)]
    quick: bool,
    /// Only times: nothing is tried before.
    #[arg(long)]
    no_suite: bool,
    /// Only this operation, such as `spmv`.
    #[arg(long, value_name = "NAME")]
    op: Option<String>,
    /// Other back ends to time beside `cuda`, such as `cusparse`, where they are linked.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "cusparse,cublaslt,cusparselt"
    )]
    beside: Vec<String>,
    /// On a virtual GPU, which checks every access; its times mean nothing.
    #[arg(long)]
    emulate: bool,
    /// Write a JSON object a line into this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page with verdicts and bars into this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Rounds after one to warm up.
const ROUNDS: usize = 15;
/// What conversions are called, for `--op`.
const CONVERT: &str = "convert";
/// Formats that a matrix is converted between.
const CONVERSIONS: [(&str, &str); 7] = [
    ("CSR", "CSC"),
    ("COO", "CSR"),
    ("CSR", "COO"),
    ("CSR", "BSR(4,4)"),
    ("BSR(4,4)", "CSR"),
    ("CSR", "DIA-I"),
    ("DIA-I", "CSR"),
];

pub(crate) type Fallible<T> = Result<T, Box<dyn Error>>;

/// Returns whether everything passed.
pub(crate) fn run(args: &Args) -> Fallible<bool> {
    if args.emulate {
        ust::gpu::emulator::install()?;
    }
    let wanted = |name: &str| args.op.as_deref().is_none_or(|only| name.starts_with(only));
    let operations = operation::operations();
    let known = operations.iter().map(|operation| operation.name).chain([CONVERT]);
    if let (Some(only), false) = (&args.op, known.clone().any(wanted)) {
        return Err(unknown("operation", only, known).into());
    }
    let operations = operations.into_iter().filter(|operation| wanted(operation.name));
    let gpu = Gpu::open(0)?;
    let info = gpu.device().info();
    println!(
        "{}, {}, {} MiB, {} multiprocessors, driver {}, NVRTC {:?}",
        info.name,
        info.architecture(),
        info.memory >> 20,
        info.multiprocessors,
        info.driver,
        info.compiler
    );
    let passed = args.no_suite || suite(args);
    let bandwidth = bandwidth(&gpu, if args.quick { 1 << 20 } else { 1 << 30 })?;
    println!("\na copy moves {:.0} GB/s, read and written", bandwidth / 1e9);
    let run = report::run::of_gpu(info, args.emulate, ROUNDS, bandwidth);
    let mut lines = vec![json!({"device": info.name, "copy": bandwidth, "run": run}).to_string()];
    let mut failed = false;
    for operation in operations {
        let inputs = if args.quick { operation.quick_inputs } else { operation.inputs };
        for input in inputs {
            println!("\n{} on {input}: {}", operation.name, operation.text);
            for format in operation.formats {
                for row in rows(args, &gpu, operation, input, format) {
                    // Others need not have every format.
                    failed |= row.backend == "cuda" && row.outcome.is_err();
                    row.print(bandwidth);
                    let mut line = row.json(operation.name, input, bandwidth);
                    line["expression"] = json!(operation.text);
                    line["dtype"] = json!(operation.dtype.to_string());
                    lines.push(line.to_string());
                }
            }
        }
    }
    let converts = wanted(CONVERT);
    for input in if args.quick { &["poisson2d(12)"] } else { STENCILS }.iter().filter(|_| converts)
    {
        println!("\nconversions of {input}");
        for (from, to) in CONVERSIONS {
            let outcome = converted(&gpu, input, from, to).map_err(|error| error.to_string());
            let row =
                Row { format: format!("{from} -> {to}"), backend: "cuda".to_owned(), outcome };
            failed |= row.outcome.is_err();
            row.print(bandwidth);
            let mut line = row.json(CONVERT, input, bandwidth);
            line["dtype"] = json!(Dtype::F64.to_string());
            lines.push(line.to_string());
        }
    }
    let lines = lines.join("\n") + "\n";
    if let Some(file) = &args.json {
        std::fs::write(file, &lines)?;
    }
    if let Some(file) = &args.html {
        std::fs::write(file, report::page::page(&lines)?)?;
    }
    Ok(passed && !failed)
}

/// The suite's operations as `cuda`.
fn suite(args: &Args) -> bool {
    let options = Options {
        group: Some("ops".to_owned()),
        quick: args.quick,
        backend: Some(Backend::Named("cuda")),
        one_in: if args.quick { 50 } else { 1 },
        ..Options::default()
    };
    let report = ust_conformance::run(&options, &|_, _| {});
    println!("{report}");
    let tally = ust::gpu::tally();
    println!("{} kernels of {} programs launched", tally.launches, tally.programs);
    report.passed()
}

/// The bytes a second that a copy within the device reads and writes.
fn bandwidth(gpu: &Gpu, bytes: usize) -> Fallible<f64> {
    let stream = gpu.stream();
    let (from, to) = (stream.alloc(bytes)?, stream.alloc(bytes)?);
    stream.zero(&from)?;
    let copy = || Ok(stream.copy(&from, 0, &to, 0, bytes)?);
    Ok(2.0 * bytes as f64 / time_of(gpu, &copy)?.median)
}

/// The seconds that work takes on the device: median and quartiles of some rounds.
fn time_of(gpu: &Gpu, work: &dyn Fn() -> Fallible<()>) -> Fallible<Time> {
    work()?;
    gpu.synchronize()?;
    let mut seconds = Vec::new();
    for _ in 0..ROUNDS {
        seconds.push(elapsed(gpu, work)?);
    }
    seconds.sort_by(f64::total_cmp);
    let [low, median, high] =
        [ROUNDS / 4, ROUNDS / 2, ROUNDS - 1 - ROUNDS / 4].map(|at| seconds[at]);
    Ok(Time { low, median, high })
}

/// The seconds that work takes on the device, between two events.
pub(crate) fn elapsed(gpu: &Gpu, mut work: impl FnMut() -> Fallible<()>) -> Fallible<f64> {
    let begin = gpu.stream().record()?;
    work()?;
    let end = gpu.stream().record()?;
    end.synchronize()?;
    Ok(f64::from(begin.elapsed(&end)?) / 1e3)
}

/// A kernel for operands on the device, and these in its order.
pub(crate) fn prepared(
    mut call: Einsum,
    operands: &[(impl AsRef<str>, DeviceTensor)],
) -> Fallible<(Kernel, Vec<DeviceTensor>)> {
    for (name, tensor) in operands {
        call = call.arg(name.as_ref(), tensor);
    }
    let kernel = call.prepare()?;
    let find = |name: &str| operands.iter().find(|(own, _)| own.as_ref() == name);
    let tensors = kernel.operands().into_iter().filter_map(find);
    let tensors = tensors.map(|(_, tensor)| tensor.clone()).collect();
    Ok((kernel, tensors))
}

/// Seconds, bytes that must move, and seconds until the first result was there.
type Timed = (Time, usize, f64);

/// A time.
struct Row {
    format: String,
    backend: String,
    outcome: Result<Timed, String>,
}

impl Row {
    fn print(&self, bandwidth: f64) {
        let Self { format, backend, outcome } = self;
        match outcome {
            Ok((Time { median: seconds, .. }, bytes, first)) => println!(
                "  {format:<16} {backend:<10} {:>9}  {:>6.0} GB/s  {:>4.0} % of a copy   first {}",
                time(*seconds),
                *bytes as f64 / seconds / 1e9,
                100.0 * *bytes as f64 / seconds / bandwidth,
                time(*first)
            ),
            Err(why) => {
                println!("  {format:<16} {backend:<10}  - {}", why.lines().next().unwrap_or(""));
            }
        }
    }

    fn json(&self, operation: &str, input: &str, bandwidth: f64) -> Value {
        let Self { format, backend, outcome } = self;
        let mut line =
            json!({"op": operation, "input": input, "format": format, "backend": backend});
        match outcome {
            Ok((Time { low, median, high }, bytes, first)) => {
                let share = *bytes as f64 / median / bandwidth;
                line["seconds"] = json!(median);
                line["q1"] = json!(low);
                line["q3"] = json!(high);
                line["bytes"] = json!(bytes);
                line["of_copy"] = json!(share);
                line["first"] = json!(first);
            }
            Err(why) => line["failed"] = json!(why),
        }
        line
    }
}

/// The times of all back ends in a format.
fn rows(
    args: &Args,
    gpu: &Gpu,
    operation: &DeviceOperation,
    input: &str,
    format: &str,
) -> Vec<Row> {
    let row = |backend: &str, outcome: Fallible<Timed>| Row {
        format: format.to_owned(),
        backend: backend.to_owned(),
        outcome: outcome.map_err(|error| error.to_string()),
    };
    let operands = match operands(gpu, operation, input, format) {
        Ok(operands) => operands,
        Err(error) => return vec![row("cuda", Err(error))],
    };
    let linked = ust::provider::names();
    let beside = args.beside.iter().map(String::as_str).filter(|name| linked.contains(name));
    std::iter::once("cuda")
        .chain(beside)
        .map(|backend| row(backend, timed(gpu, operation, format, backend, &operands)))
        .collect()
}

type Operands = Vec<(&'static str, DeviceTensor)>;

fn operands(
    gpu: &Gpu,
    operation: &DeviceOperation,
    input: &str,
    format: &str,
) -> Fallible<Operands> {
    let coo: Coo = generate::generate(input)?;
    let shape = coo.shape.clone();
    let a = Tensor::from_coo(&coo, &Format::resolve(format, Some(shape.len()))?)?;
    drop(coo);
    let mut operands = vec![("A", gpu.upload(&a.cast_lossy(operation.dtype))?)];
    for (name, dims) in operation.others {
        let extents = dims.iter().map(|dim| dim.map_or(operation.columns, |dim| shape[dim]));
        let extents: Vec<usize> = extents.collect();
        let length: usize = extents.iter().product();
        let values = (0..length).map(|at| (at % 11) as f64 / 8.0 - 0.6).collect::<Vec<f64>>();
        let array = ust::ndarray::ArrayD::from_shape_vec(extents, values)?;
        let dense = Tensor::from_array(array)?.cast_lossy(operation.dtype);
        operands.push((name, gpu.upload(&dense)?));
    }
    Ok(operands)
}

fn timed(
    gpu: &Gpu,
    operation: &DeviceOperation,
    format: &str,
    backend: &str,
    operands: &Operands,
) -> Fallible<Timed> {
    let begin = std::time::Instant::now();
    let mut call = gpu.einsum(operation.text).backend(backend.parse()?);
    match operation.result {
        "" => {}
        "same" => call = call.format(format),
        result => call = call.format(result),
    }
    let (kernel, tensors) = prepared(call, operands)?;
    let tensors: Vec<&DeviceTensor> = tensors.iter().collect();
    let result = kernel.run(&tensors)?;
    gpu.synchronize()?;
    let first = begin.elapsed().as_secs_f64();
    let bytes = operands.iter().map(|(_, tensor)| tensor.bytes()).sum::<usize>() + result.bytes();
    drop(result);
    let seconds = time_of(gpu, &|| {
        kernel.run(&tensors)?;
        Ok(())
    })?;
    Ok((seconds, bytes, first))
}

/// As [`timed`], of a conversion, whose result has to be that of the processor.
fn converted(gpu: &Gpu, input: &str, from: &str, to: &str) -> Fallible<Timed> {
    let (from, to): (Format, Format) = (from.parse()?, to.parse()?);
    let a = Tensor::from_coo(&generate::generate(input)?, &from)?;
    let there = gpu.upload(&a)?;
    let begin = std::time::Instant::now();
    let made = there.convert(&to)?;
    gpu.synchronize()?;
    let first = begin.elapsed().as_secs_f64();
    let bytes = there.bytes() + made.bytes();
    if made.download()? != a.convert(&to)? {
        return Err("the result is not that of the processor".into());
    }
    drop((made, a));
    let seconds = time_of(gpu, &|| {
        there.convert(&to)?;
        Ok(())
    })?;
    Ok((seconds, bytes, first))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ust::gpu::cuda;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn every_operation_runs_on_a_virtual_gpu() {
        if let Err(error) = ust::gpu::emulator::install() {
            assert!(matches!(error, cuda::CudaError::NoEmulator(_)), "{error}");
            eprintln!("SKIPPED: {error}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (file, line) =
            (folder.path().join("page.html"), ["gpu", "--quick", "--no-suite", "--emulate"]);
        let page = ["--html", file.to_str().unwrap()];
        let args = Line::parse_from(line.iter().chain(&page)).args;
        assert!(run(&args).unwrap());
        let page = std::fs::read_to_string(file).unwrap();
        for part in [
            "<dt>Memory bandwidth</dt>",
            "Times are those of the device",
            "its times mean nothing",
            "<b>ust</b> <span>CSR",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let args = Line::parse_from(["gpu", "--op", "smpv"]).args;
        assert!(run(&args).unwrap_err().to_string().contains("did you mean `spmv`?"));
    }
}
