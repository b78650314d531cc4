//! A level type that stores runs: one position, and one value, for many coordinates.

#[path = "shared/runs.rs"]
mod runs;

use ust::{Error, Format, Tensor, tensor::Parts};

fn vector(shape: usize, first: Vec<u64>, run: Vec<u64>, values: Vec<i32>) -> Result<Tensor, Error> {
    let format: Format = "(i) -> (i : runs)".parse()?;
    let pos = vec![0_u32, first.len() as u32];
    let parts = Parts::new(vec![vec![pos.into(), first.into(), run.into()]], values);
    Tensor::from_parts(&format, &[shape], parts)
}

#[test]
fn a_run_is_an_entry_at_each_of_its_coordinates() {
    let tensor = vector(9, vec![1, 6], vec![3, 2], vec![5, 7]).unwrap();
    assert_eq!((tensor.nse(), tensor.nnz()), (2, 5));
    let dense = ndarray::array![0, 5, 5, 5, 0, 0, 7, 7, 0];
    assert_eq!(tensor.to_dense::<i32>().unwrap(), dense.into_dyn());
    assert_eq!(tensor.get_as::<i32>(&[3]).unwrap(), 5);
    assert_eq!(tensor.get_as::<i32>(&[4]).unwrap(), 0);
    let sparse = tensor.convert("SparseVector").unwrap();
    assert_eq!(sparse.crd(0).unwrap().to_vec(), [1, 2, 3, 6, 7]);
    assert_eq!(sparse.convert(tensor.format()).unwrap().nse(), 5, "runs are built one by one");
}

#[test]
fn runs_that_stand_for_more_than_memory_holds_are_refused() {
    let error = vector(1 << 50, vec![0], vec![1 << 50], vec![1]).unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error}");
}

/// Each coordinate of a run takes part in a merge by itself.
#[test]
fn runs_are_merged_with_entries() {
    let runs = vector(9, vec![1, 6], vec![3, 2], vec![5, 7]).unwrap();
    let other = ust::Coo::new(vec![9], vec![vec![0, 2, 6, 8]], vec![1, 2, 3, 4]).unwrap();
    let other = Tensor::from_coo(&other, "SparseVector").unwrap();
    for (text, expected) in [
        ("c(i) = a(i) + b(i)", [1, 5, 7, 5, 0, 0, 10, 7, 4]),
        ("c(i) = a(i) * b(i)", [0, 0, 10, 0, 0, 0, 21, 0, 0]),
        ("c(i) = a(i) + a(i) * b(i)", [0, 5, 15, 5, 0, 0, 28, 7, 0]),
    ] {
        for backend in ["jit", "interp"] {
            let call = ust::einsum(text)
                .arg("a", &runs)
                .arg("b", &other)
                .backend(ust::Backend::Named(backend));
            let found = call.run().unwrap().to_dense::<i32>().unwrap();
            assert_eq!(found, ndarray::arr1(&expected).into_dyn(), "{text}");
        }
    }
}

/// A sum over the array of values would count each run once.
#[test]
fn a_run_is_summed_once_for_each_coordinate() {
    let runs = vector(9, vec![1, 6], vec![3, 2], vec![5, 7]).unwrap();
    let joined = runs.convert("(i) -> (i : sparse_run_length)").unwrap();
    assert_eq!(joined.nse(), 2);
    for tensor in [&runs, &joined] {
        for (text, expected) in [("s = a(i)", 29), ("s = a(i) * a(i)", 173), ("s = -a(i)", -29)] {
            for backend in ["jit", "interp"] {
                let call = ust::einsum(text).arg("a", tensor).backend(ust::Backend::Named(backend));
                let found = call.run().unwrap().get_as::<i32>(&[]).unwrap();
                assert_eq!(found, expected, "{text}, {}, {backend}", tensor.format());
            }
        }
    }
}

#[test]
fn rows_of_runs_with_one_value_are_summed_by_a_kernel() {
    let image = ust::generate::generate("steps(40x97, run=12, seed=7)").unwrap();
    let dense = Tensor::from_coo(&image, "Dense").unwrap();
    let x = Tensor::from_coo(
        &ust::generate::generate("random(97, nnz=97, seed=8)").unwrap(),
        "Dense(1)",
    )
    .unwrap();
    let product = |a: &Tensor, backend: ust::Backend| {
        let call = ust::einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).backend(backend);
        call.prepare().unwrap()
    };
    let expected = product(&dense, ust::Backend::Named("interp")).run(&[&dense, &x]).unwrap();
    for level in ["run_length", "sparse_run_length"] {
        let format: Format = format!("(i, j) -> (i : dense, j : {level})").parse().unwrap();
        let runs = dense.convert(&format).unwrap();
        assert!(runs.nse() < 40 * 97 / 4);
        let kernel = product(&runs, ust::Backend::Named("jit"));
        assert!(kernel.stages()[0].contains("rows-of-shared-runs"), "{:?}", kernel.stages());
        let found = kernel.run(&[&runs, &x]).unwrap();
        for (found, expected) in
            found.to_dense::<f64>().unwrap().iter().zip(&expected.to_dense::<f64>().unwrap())
        {
            assert!(
                (found - expected).abs() <= 1e-12 * expected.abs(),
                "{level}: {found} {expected}"
            );
        }
    }
}
