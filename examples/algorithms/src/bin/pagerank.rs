//! `PageRank` by power iteration: `r = d * P' r + (1 - d) / n`, where `P` spreads a page's rank over
//! its links, and pages without links spread theirs over all.

use ust::{Tensor, einsum};
use ust_algorithms::{Outcome, given};

fn main() -> Outcome {
    let links = given("gen:rmat(10, edges=8000)", "CSR")?;
    let n = links.shape()[0];
    let damping = 0.85;
    let out = einsum("out(i) = sum(j, where(A(i,j) != 0, 1.0, 0.0))").arg("A", &links).run()?;
    let mut rank = Tensor::from_array(ndarray_of(1.0 / n as f64, n))?;
    // A page passes on its rank over its links: the step is planned once and run many times.
    let share = einsum("s(i) = where(out(i) > 0, r(i) / out(i), 0.0)");
    let share = share.arg("r", &rank).arg("out", &out).prepare()?;
    let spread = einsum("q(j) = where(A(i,j) != 0, s(i), 0.0)");
    let spread = spread.arg("A", &links).arg("s", &rank).prepare()?;
    let mut steps = 0;
    loop {
        let passed = spread.run(&[&links, &share.run(&[&rank, &out])?])?;
        // What was not passed on comes back evenly, together with the jumps.
        let kept = einsum("k = sum(j, q(j))").arg("q", &passed).run()?.get_as::<f64>(&[])?;
        let base = (1.0 - damping * kept) / n as f64;
        let next = einsum("r(j) = damping * q(j) + base")
            .arg("q", &passed)
            .arg("damping", damping)
            .arg("base", base)
            .format("DenseVector")
            .run()?;
        let change = einsum("c = abs(a(i) - b(i))").arg("a", &next).arg("b", &rank).run()?;
        (rank, steps) = (next, steps + 1);
        if change.get_as::<f64>(&[])? < 1e-10 || steps == 200 {
            break;
        }
    }
    let ranks = rank.values().typed::<f64>()?;
    let mut best: Vec<usize> = (0..n).collect();
    best.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]));
    println!("{n} pages, {steps} steps, the ranks sum to {:.6}", ranks.iter().sum::<f64>());
    for &page in best.iter().take(5) {
        println!("page {page}: {:.6}", ranks[page]);
    }
    Ok(())
}

fn ndarray_of(value: f64, n: usize) -> ust::ndarray::ArrayD<f64> {
    ust::ndarray::Array1::from_elem(n, value).into_dyn()
}
