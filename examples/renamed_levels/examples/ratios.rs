//! Times of operations on tensors in the formats of the copies, as multiples of those of the originals:
//! `cargo run --release -p renamed_levels --example ratios`. They are equal but for noise.

use std::time::Instant;

use renamed_levels::renamed;
use ust::generate::generate;
use ust::{Error, Format, Kernel, Tensor, einsum};

/// Measurements of each side, in turns.
const ROUNDS: usize = 15;
/// Seconds of a measurement, about.
const BATCH: f64 = 0.01;

const OPERATIONS: [(&str, &str); 7] = [
    ("spmv", "y(i) = A(i,j) * x(j)"),
    ("spmvt", "y(j) = A(i,j) * x(i)"),
    ("spmm", "Y(i,k) = A(i,j) * B(j,k)"),
    ("spgemm", "Y(i,k) = A(i,j) * A(j,k)"),
    ("spadd", "Y(i,j) = A(i,j) + A(j,i)"),
    ("sddmm", "Y(i,j) = A(i,j) * B(i,k) * B(j,k)"),
    ("exp", "Y(i,j) = exp(A(i,j)) - 1"),
];

fn matrix(format: &str) -> &'static str {
    match format {
        "2:4" => "gen:pruned24(1024x1024)",
        _ if format.starts_with("DIA") => "gen:banded(20000, diagonals=9)",
        _ if format.starts_with("BS") => "gen:blocks(8000x8000, block=4x4, nse=200000, seed=1)",
        _ => "gen:random(4000x4000, nnz=100000, seed=1)",
    }
}

fn kernel(operation: &str, a: &Tensor, x: &Tensor, b: &Tensor) -> Option<Kernel> {
    let mut expression = einsum(operation).threads(1);
    for (name, tensor) in [("A", a), ("x", x), ("B", b)] {
        if operation.contains(&format!("{name}(")) {
            expression = expression.arg(name, tensor);
        }
    }
    if operation.starts_with("Y(i,j)") || operation.contains("A(j,k)") {
        expression = expression.format(a.format());
    }
    expression.prepare().ok()
}

/// The median of the ratios of measurements in turns.
fn ratio(pair: [&mut dyn FnMut(); 2]) -> f64 {
    let [one, other] = pair;
    let time = |count: usize, work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..count).for_each(|_| work());
        start.elapsed().as_secs_f64()
    };
    time(2, other);
    let count = (BATCH / time(1, one).max(1e-7)).clamp(1.0, 10_000.0) as usize;
    let mut ratios: Vec<f64> = (0..ROUNDS).map(|_| time(count, other) / time(count, one)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ROUNDS / 2]
}

fn main() -> Result<(), Error> {
    for format in ["CSR", "CSC", "COO", "DCSR", "BSR(4,4)", "BSC(4,4)", "DIA-I", "DIA-J", "2:4"] {
        let original: Format = format.parse().expect("a named format");
        let other: Format = renamed(&original.to_string()).parse().expect("linked above");
        let entries = generate(matrix(format)).expect("a generator");
        let a = [&original, &other].map(|format| Tensor::from_coo(&entries, format));
        let [a, copy] = a.map(|tensor| tensor.expect("it fits"));
        let rows = a.shape()[0];
        let dense = |text: &str| {
            let made = generate(text).expect("a generator");
            Tensor::from_coo(&made, Format::full(made.shape.len()).expect("linked"))
        };
        let x = dense(&format!("gen:normal({rows})"))?;
        let b = dense(&format!("gen:normal({rows}x32)"))?;
        print!("{format:<9}");
        for (name, operation) in OPERATIONS {
            let kernels = [kernel(operation, &a, &x, &b), kernel(operation, &copy, &x, &b)];
            let [Some(one), Some(two)] = kernels else { continue };
            let run = |kernel: &Kernel, a: &Tensor| {
                let operands: Vec<&Tensor> = [("A", a), ("x", &x), ("B", &b)]
                    .into_iter()
                    .filter(|(name, _)| operation.contains(&format!("{name}(")))
                    .map(|(_, tensor)| tensor)
                    .collect();
                kernel.run(&operands).is_ok()
            };
            // Results need not fit 2:4.
            if !run(&one, &a) {
                continue;
            }
            let ratio = ratio([&mut || _ = run(&one, &a), &mut || _ = run(&two, &copy)]);
            print!("  {name} {ratio:.2}");
        }
        for (name, to) in [("to CSC", "CSC"), ("to COO", "COO"), ("to CSR", "CSR")] {
            let to: Format = to.parse().expect("a named format");
            let to_copy: Format = renamed(&to.to_string()).parse().expect("linked above");
            let ratio = ratio([&mut || drop(a.convert(&to)), &mut || drop(copy.convert(&to_copy))]);
            print!("  {name} {ratio:.2}");
        }
        println!();
    }
    Ok(())
}
