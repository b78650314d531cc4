//! Scores of sparse attention: a product of queries and keys, sampled where a mask is stored
//! (SDDMM), then a softmax over each row, then a weighted sum of values.

use ust::einsum;
use ust::ndarray::Array2;
use ust_algorithms::{Outcome, given};

const WIDTH: usize = 16;

fn main() -> Outcome {
    let mask = given("gen:random(256x256, nnz=4000)", "CSR")?;
    let (rows, columns) = (mask.shape()[0], mask.shape()[1]);
    let numbers = |n: usize, seed: usize| {
        Array2::from_shape_fn((n, WIDTH), |(i, d)| (((i * 37 + d * 11 + seed) % 19) as f64) / 19.0)
    };
    let (q, k, v) = (numbers(rows, 1), numbers(columns, 5), numbers(columns, 9));
    let scores = einsum("S(i,j)<structure M(i,j)> = Q(i,d) * K(j,d) / scale")
        .arg("M", &mask)
        .arg("Q", &q)
        .arg("K", &k)
        .arg("scale", (WIDTH as f64).sqrt())
        .run()?;
    // What is not stored takes no part: it counts as minus infinity, not as zero.
    let weights = einsum("W(i,j) = exp[stored](S(i,j))").arg("S", &scores).run()?;
    let sums = einsum("z(i) = W(i,j)").arg("W", &weights).run()?;
    let out = einsum("O(i,d) = W(i,j) * V(j,d) / z(i)");
    let out = out.arg("W", &weights).arg("V", &v).arg("z", &sums).format("Dense").run()?;
    println!("{} scores in `{}`", scores.nse(), scores.format());
    println!("attention of shape {:?}, first row sums to {:.6}", out.shape(), first_row(&out)?);
    Ok(())
}

fn first_row(out: &ust::Tensor) -> Outcome<f64> {
    Ok(out.to_dense::<f64>()?.index_axis(ust::ndarray::Axis(0), 0).sum())
}
