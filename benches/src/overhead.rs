//! What a call costs beside the loops: planning and compiling, looking up a kernel, starting one.

use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use ust::{Kernel, Tensor, einsum};

use crate::contenders::loops::Rowwise;
use crate::report::table::time;

/// Times planning, compiling and calling.
#[derive(Args)]
pub(crate) struct Overhead {
    /// Rounds; the median is told.
    #[arg(long, default_value_t = 201)]
    rounds: usize,
    /// One JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

type Failed = Box<dyn std::error::Error>;

/// The expressions, with two stored operands or one.
const EXPRESSIONS: [(&str, &str); 5] = [
    ("y(i) = A(i,j) * x(j)", "spmv"),
    ("C(i,j) = A(i,j) + B(i,j)", "spadd"),
    ("C(i,j) = A(i,j) * B(i,j)", "product"),
    ("C(i,k) = A(i,j) * B(j,k)", "spgemm"),
    ("s() = A(i,j) * B(i,j)", "dot"),
];

/// Runs the command.
pub(crate) fn run(args: &Overhead) -> Result<(), Failed> {
    let tiny = ust::generate::generate("banded(16, diagonals=3)")?;
    let a = Tensor::from_coo(&tiny, "CSR")?;
    let x = Tensor::from_array(ust::ndarray::ArrayD::from_elem(vec![16], 1.0_f64))?;
    let mut found: Vec<(String, f64)> = Vec::new();
    for (text, name) in EXPRESSIONS {
        for format in ["CSR", "DCSR", "COO", "DIA-I", "BSR(4,4)"] {
            let operand = a.convert(format)?;
            let prepare = || made(text, &operand, &x);
            let cold = median(args.rounds.min(31), || {
                ust::ops::clear_kernels();
                prepare().map(drop)
            })?;
            found.push((format!("cold plan and compile, {name} {format}"), cold));
        }
    }
    let text = EXPRESSIONS[0].0;
    let kernel = made(text, &a, &x)?;
    let mut y = [0.0_f64; 16];
    let held = median(args.rounds, || Ok(kernel.run_into(&[&a, &x], &mut y)?))?;
    let held_new = median(args.rounds, || {
        kernel.run(&[&a, &x])?;
        Ok(())
    })?;
    let cached = median(args.rounds, || {
        einsum(text).threads(1).arg("A", &a).arg("x", &x).run()?;
        Ok(())
    })?;
    let bare = bare(args.rounds, &a)?;
    found.push(("loop by hand, 16 rows".to_owned(), bare));
    found.push(("held kernel into memory at hand".to_owned(), held));
    found.push(("held kernel, result made".to_owned(), held_new));
    found.push(("cached einsum, result made".to_owned(), cached));
    found.push(("held kernel over the loop".to_owned(), held - bare));
    found.push(("cached einsum over the held kernel".to_owned(), cached - held_new));
    if args.json {
        let object: serde_json::Map<_, _> =
            found.into_iter().map(|(name, seconds)| (name, json!(seconds))).collect();
        println!("{}", serde_json::Value::Object(object));
    } else {
        for (name, seconds) in &found {
            println!("{name:<42}{:>12}", time(seconds.max(0.0)));
        }
    }
    Ok(())
}

/// The kernel of an expression over one matrix, or a matrix and a vector.
fn made(text: &str, a: &Tensor, x: &Tensor) -> Result<Kernel, Failed> {
    let expression = einsum(text).threads(1).arg("A", a);
    let second = if text.contains('x') { ("x", x) } else { ("B", a) };
    Ok(expression.arg(second.0, second.1).prepare()?)
}

/// The same product without a kernel.
fn bare(rounds: usize, a: &Tensor) -> Result<f64, Failed> {
    let a = Rowwise::<f64>::of(a).ok_or("compressed rows have arrays")?;
    let (x, mut y) = ([1.0; 16], [0.0; 16]);
    median(rounds, || {
        for (i, y) in y.iter_mut().enumerate() {
            let (from, to) = (a.pos[i] as usize, a.pos[i + 1] as usize);
            let row = a.crd[from..to].iter().zip(&a.values[from..to]);
            *y = row.map(|(&j, value)| value * x[j as usize]).sum();
        }
        black_box(&mut y);
        Ok(())
    })
}

/// The median seconds of a call; quick ones are repeated within a round.
fn median(rounds: usize, mut work: impl FnMut() -> Result<(), Failed>) -> Result<f64, Failed> {
    let start = Instant::now();
    work()?;
    let calls = (2e-5 / start.elapsed().as_secs_f64()).clamp(1.0, 1000.0) as u32;
    let mut seconds = Vec::with_capacity(rounds);
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        for _ in 0..calls {
            work()?;
        }
        seconds.push(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}
