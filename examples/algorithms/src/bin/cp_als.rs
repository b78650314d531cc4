//! A step of CP-ALS: the matricised tensor times Khatri-Rao product (MTTKRP) for each mode, and the
//! least-squares solution with it.

use ust::ndarray::{Array2, Axis};
use ust::{Tensor, einsum};
use ust_algorithms::{Outcome, given};

const RANK: usize = 4;
/// The MTTKRP of each mode.
const MTTKRP: [&str; 3] = [
    "M(i,r) = X(i,j,k) * B(j,r) * C(k,r)",
    "M(j,r) = X(i,j,k) * A(i,r) * C(k,r)",
    "M(k,r) = X(i,j,k) * A(i,r) * B(j,r)",
];

fn main() -> Outcome {
    let x = given("gen:random(40x30x20, nnz=2000)", "CSF")?;
    let mut factors: Vec<Array2<f64>> = x.shape().iter().enumerate().map(start).collect();
    let norm = einsum("n = X(i,j,k)^2").arg("X", &x).run()?.get_as::<f64>(&[])?.sqrt();
    for step in 1..=5 {
        for (mode, text) in MTTKRP.iter().enumerate() {
            let mut call = einsum(text).arg("X", &x).format("Dense");
            let mut gram = Array2::ones((RANK, RANK));
            for (other, name) in ["A", "B", "C"].iter().enumerate().filter(|o| o.0 != mode) {
                call = call.arg(name, &factors[other]);
                gram = gram * factors[other].t().dot(&factors[other]);
            }
            let right = call.run()?.to_dense::<f64>()?.into_dimensionality()?;
            factors[mode] = solve(&gram, &right);
        }
        println!("step {step}: relative error {:.6}", error(&x, &factors, norm)?);
    }
    Ok(())
}

/// Numbers to start with, the same each time.
fn start((mode, &extent): (usize, &usize)) -> Array2<f64> {
    Array2::from_shape_fn((extent, RANK), |(i, r)| {
        (((i * 31 + r * 17 + mode * 7) % 101) as f64) / 101.0 + 0.1
    })
}

/// `M * gram^-1`, by elimination on the small symmetric matrix.
fn solve(gram: &Array2<f64>, right: &Array2<f64>) -> Array2<f64> {
    let mut a = gram + &(Array2::<f64>::eye(RANK) * 1e-9);
    let mut b = right.t().to_owned();
    for k in 0..RANK {
        for i in k + 1..RANK {
            let factor = a[[i, k]] / a[[k, k]];
            let (ak, bk) = (a.row(k).to_owned(), b.row(k).to_owned());
            a.row_mut(i).scaled_add(-factor, &ak);
            b.row_mut(i).scaled_add(-factor, &bk);
        }
    }
    for k in (0..RANK).rev() {
        for j in k + 1..RANK {
            let (factor, bj) = (a[[k, j]], b.row(j).to_owned());
            b.row_mut(k).scaled_add(-factor, &bj);
        }
        let pivot = a[[k, k]];
        b.index_axis_mut(Axis(0), k).mapv_inplace(|v| v / pivot);
    }
    b.t().to_owned()
}

/// `|X - [A, B, C]| / |X|`, without forming the model.
fn error(x: &Tensor, factors: &[Array2<f64>], norm: f64) -> Outcome<f64> {
    let [a, b, c] = factors else { return Err("three modes".into()) };
    let inner = einsum("s = X(i,j,k) * A(i,r) * B(j,r) * C(k,r)");
    let inner = inner.arg("X", x).arg("A", a).arg("B", b).arg("C", c).run()?;
    let gram = a.t().dot(a) * b.t().dot(b) * c.t().dot(c);
    let square = norm * norm - 2.0 * inner.get_as::<f64>(&[])? + gram.sum();
    Ok(square.max(0.0).sqrt() / norm)
}
