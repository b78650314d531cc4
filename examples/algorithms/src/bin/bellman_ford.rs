//! Shortest paths from one vertex: `d = min(d, d A)` over the semiring of minimum and sum.

use ust::ndarray::Array1;
use ust::{Tensor, einsum};
use ust_algorithms::{Outcome, given};

fn main() -> Outcome {
    let graph = given("gen:random(500x500, nnz=3000)", "CSR")?;
    let n = graph.shape()[0];
    // Lengths are not negative here, hence no cycle is.
    let lengths = einsum("L(i,j) = abs(A(i,j))").arg("A", &graph).run()?;
    let mut start = Array1::from_elem(n, f64::INFINITY);
    start[0] = 0.0;
    let mut distance = Tensor::from_array(start.into_dyn())?;
    let relax = einsum("e(j) min= d(i) * L(i,j)").semiring("min_plus").arg("d", &distance);
    let relax = relax.arg("L", &lengths).prepare_update(&distance)?;
    for step in 1..=n {
        let next = relax.run(&[&distance, &lengths, &distance])?;
        if next.values() == distance.values() {
            let known = distance.values().typed::<f64>()?.iter().filter(|d| d.is_finite());
            println!("{n} vertices, {} within reach, settled after {step} steps", known.count());
            return Ok(());
        }
        distance = next;
    }
    Err("the graph has a cycle of negative length".into())
}
