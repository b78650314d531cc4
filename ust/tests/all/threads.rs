//! Sparse results that several threads collect, of matrices in which some rows have far more to do
//! than others, against what one thread collects.

use ust::ops::CancelToken;
use ust::{Backend, Format, Tensor, einsum, generate};

/// A graph in which the first vertices have most edges, with small integers: sums are exact.
fn graph(edges: usize, format: &Format) -> Tensor {
    let mut entries =
        generate::generate(&format!("rmat(scale=11, edges={edges}, seed=5)")).unwrap();
    let values = (0..entries.len()).map(|at| (at % 5) as f64 - 1.0);
    entries.values = values.collect::<Vec<f64>>().into();
    Tensor::from_coo(&entries, format).unwrap()
}

#[test]
fn threads_collect_what_one_would() {
    let sums = "C(i,k) = A(i,j) * A(j,k)";
    // Enough to do for several threads.
    let few = |(text, stored, result)| (text, 30_000, stored, result);
    let many = |(text, stored, result)| (text, 200_000, stored, result);
    let cases = [
        few((sums, "CSR", "CSR")),
        few((sums, "CSR", "COO")),
        few((sums, "DCSR", "DCSR")),
        few((sums, "COO", "CSR")),
        few((sums, "CSC", "CSC")),
        few((sums, "CSR", "BSR(2, 4)")),
        few((sums, "BSR(4, 4)", "BSR(4, 4)")),
        few((sums, "DCSC", "CSR")),
        many(("C(i,k) = A(i,k) + A(k,i)", "CSR", "CSR")),
        many(("C(i,k) = A(i,k) + A(i,k) * A(k,i)", "CSR", "COO")),
        few(("C(k) = A(i,j) * A(j,k)", "CSR", "(i) -> (i : compressed)")),
    ];
    for (text, edges, stored, result) in cases {
        let a = graph(edges, &stored.parse().unwrap());
        let call = || einsum(text).arg("A", &a).format(result);
        let one = call().threads(1).run().unwrap();
        assert!(one.nse() > 1000, "{text}: {}", one.nse());
        for threads in [2, 3, 7] {
            let kernel = call().threads(threads).prepare().unwrap();
            // Again, once it is known how much there is.
            for _ in 0..2 {
                assert_eq!(kernel.run(&[&a]).unwrap(), one, "{text}, {stored}, {threads}");
            }
        }
        for threads in [1, 3] {
            let parts = call().threads(threads).cancel(&CancelToken::new()).run().unwrap();
            assert_eq!(parts, one, "{text}, {stored}, {threads}, in parts");
        }
        let checked = call().threads(2).backend(Backend::CHECKED_JIT).run().unwrap();
        assert_eq!(checked, one, "{text}, {stored}, checked");
    }
}
