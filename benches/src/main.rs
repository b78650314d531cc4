//! Benchmarks: building, converting and multiplying generated tensors.
//!
//! `cargo run --release -p ust-benches` prints a table of medians; `--json` one object a line.
//! Every format is a line of text, so a row is added by writing one. `convert` times every pair of
//! named formats on inputs that suit them; `python/convert.py` times SciPy on the same inputs.
#![forbid(unsafe_code)]

mod convert;
mod timing;

use std::process::ExitCode;

use clap::Parser;
use serde_json::json;
use timing::Sample;
use ust::{Coo, Format, Tensor, einsum};

/// Formats that any matrix can be stored in.
const GENERAL: [&str; 6] = ["CSR", "CSC", "DCSR", "COO", "BSR(4,4)", "COO(col-major)"];
/// Formats for banded matrices.
const BANDED: [&str; 2] = ["DIA-I", "DIA-J"];

/// Times building, conversion and matrix-vector products.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// Rounds after one to warm up.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Generated matrices.
    #[arg(long, default_values_t = ["poisson2d(400)".to_owned(), "random(100000x100000, nnz=1600000, seed=1)".to_owned()])]
    input: Vec<String>,
}

/// Other benchmarks.
#[derive(clap::Subcommand)]
enum Command {
    /// Every pair of named formats.
    Convert(convert::Convert),
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(Command::Convert(args)) = &args.command {
        return convert::run(args);
    }
    for input in &args.input {
        let coo = ust::generate::generate(input)?;
        let mut formats: Vec<&str> = GENERAL.to_vec();
        if input.starts_with("poisson") || input.starts_with("banded") {
            formats.extend(BANDED);
        }
        if !args.json {
            println!("\n{input}: {} entries", coo.len());
            println!("{:<34}{:>12}{:>12}{:>14}", "what", "median ms", "min ms", "ns / entry");
        }
        for sample in measure(&coo, &formats, args.rounds)? {
            report(args, input, coo.len(), &sample);
        }
    }
    Ok(())
}

fn measure(
    coo: &Coo,
    formats: &[&str],
    rounds: usize,
) -> Result<Vec<Sample>, Box<dyn std::error::Error>> {
    let mut samples = Vec::new();
    let csr = Tensor::from_coo(coo, &"CSR".parse()?)?;
    for text in formats {
        let format: Format = text.parse()?;
        samples.push(timing::time(&format!("entries -> {text}"), rounds, || {
            Tensor::from_coo(coo, &format)
        })?);
        let tensor = csr.convert(&format)?;
        samples.push(timing::time(&format!("CSR -> {text}"), rounds, || csr.convert(&format))?);
        let ones = format!("ones({})", coo.shape[1]);
        let x = Tensor::from_coo(&ust::generate::generate(&ones)?, &"DenseVector".parse()?)?;
        let product = einsum("y(i) = A(i,j) * x(j)").arg("A", &tensor).arg("x", &x);
        let product = product.threads(1).prepare()?;
        samples
            .push(timing::time(&format!("SpMV {text}"), rounds, || product.run(&[&tensor, &x]))?);
    }
    Ok(samples)
}

fn report(args: &Args, input: &str, entries: usize, sample: &Sample) {
    let (median, min) = (sample.median() * 1e3, sample.min() * 1e3);
    let per_entry = sample.median() * 1e9 / entries.max(1) as f64;
    if args.json {
        let row = json!({
            "input": input,
            "what": sample.name,
            "median_seconds": sample.median(),
            "seconds": sample.seconds,
        });
        println!("{row}");
    } else {
        println!("{:<34}{median:>12.3}{min:>12.3}{per_entry:>14.2}", sample.name);
    }
}
