//! Triangles of a graph: the masked product `C<L> = L * L` of its lower triangle, summed.

use ust::{Coo, Tensor, einsum};
use ust_algorithms::{Outcome, given};

fn main() -> Outcome {
    let graph = given("gen:rmat(10, edges=8000)", "CSR")?;
    // Each edge once, from the higher vertex to the lower.
    let coo = graph.to_coo()?;
    let edges = coo.crd[0].iter().zip(&coo.crd[1]).filter(|(i, j)| i != j);
    let mut lower: Vec<(i64, i64)> = edges.map(|(&i, &j)| (i.max(j), i.min(j))).collect();
    lower.sort_unstable();
    lower.dedup();
    let (rows, columns): (Vec<i64>, Vec<i64>) = lower.into_iter().unzip();
    let ones = vec![1_i64; rows.len()];
    let lower = Coo::new(coo.shape.clone(), vec![rows, columns], ones)?;
    let lower = Tensor::from_coo(&lower, graph.format())?;
    let paths = einsum("C(i,j)<structure L(i,j)> = L(i,k) * L(k,j)").arg("L", &lower).run()?;
    let count = einsum("t = C(i,j)").arg("C", &paths).run()?.get_as::<i64>(&[])?;
    let at_once = einsum("t = L(i,j) * L(i,k) * L(k,j)").arg("L", &lower).run()?;
    println!("{} vertices, {} edges, {count} triangles", graph.shape()[0], lower.nse());
    assert_eq!(at_once.get_as::<i64>(&[])?, count, "both ways count alike");
    Ok(())
}
