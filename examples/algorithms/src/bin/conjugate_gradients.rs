//! Conjugate gradients for `A x = b`, with `A` symmetric and positive definite.

use ust::ndarray::Array1;
use ust::{Tensor, einsum};
use ust_algorithms::{Outcome, given};

fn main() -> Outcome {
    let a = given("gen:poisson2d(40)", "CSR")?;
    let n = a.shape()[0];
    let b = Array1::from_shape_fn(n, |i| ((i % 7) as f64) - 3.0);
    let (mut x, mut r, mut p) = (Array1::zeros(n), b.clone(), b.clone());
    let p0 = Tensor::from_array(p.clone().into_dyn())?;
    let product = einsum("q(i) = A(i,j) * p(j)").arg("A", &a).arg("p", &p0).prepare()?;
    let mut q = vec![0.0; n];
    let mut rr = r.dot(&r);
    let (target, mut steps) = (rr * 1e-20, 0);
    while rr > target && steps < 10 * n {
        let direction = Tensor::from_array(p.clone().into_dyn())?;
        product.run_into(&[&a, &direction], &mut q)?;
        let q = Array1::from_vec(q.clone());
        let step = rr / p.dot(&q);
        x.scaled_add(step, &p);
        r.scaled_add(-step, &q);
        let next = r.dot(&r);
        p = &r + &(p * (next / rr));
        (rr, steps) = (next, steps + 1);
    }
    // The residual, formed anew in one expression.
    let rest =
        einsum("e = (b(i) - sum(j, A(i,j) * x(j)))^2").arg("A", &a).arg("b", &b).arg("x", &x);
    let rest = rest.run()?.get_as::<f64>(&[])?.sqrt();
    println!("{n} unknowns, {steps} steps, |b - A x| = {rest:.3e}");
    Ok(())
}
