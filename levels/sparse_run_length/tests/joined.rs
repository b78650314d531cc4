//! Which entries share a value, and that no operation writes one value for several elements.

use ust::{Coo, Format, Tensor, einsum};
use ust_level_sparse_run_length as _;

const RUNS: &str = "(i, j) -> (i : dense, j : sparse_run_length)";

fn format(text: &str) -> Format {
    Format::resolve(text, Some(2)).unwrap()
}

/// Values that are equal in runs of up to four neighbours, with gaps.
fn coo() -> Coo {
    let cells = (0..7 * 30).filter(|cell| cell % 11 != 3 && cell % 5 != 1);
    let cells: Vec<i64> = cells.collect();
    let crd = vec![
        cells.iter().map(|cell| cell / 30).collect(),
        cells.iter().map(|cell| cell % 30).collect(),
    ];
    let values: Vec<i32> = cells.iter().map(|cell| 1 + (cell / 4 % 3) as i32).collect();
    Coo::new(vec![7, 30], crd, values).unwrap()
}

#[test]
fn neighbours_share_a_value_where_its_bits_are_the_same() {
    let values = vec![0.0, -0.0, f64::NAN, f64::NAN, 1.0, 1.0, 1.0, 1.0];
    let crd = vec![vec![0, 0, 0, 0, 0, 0, 0, 1], vec![0, 1, 2, 3, 4, 5, 7, 0]];
    let a = Tensor::from_coo(&Coo::new(vec![2, 8], crd, values).unwrap(), format(RUNS)).unwrap();
    let array = |name| a.level_array(1, name).unwrap().to_vec();
    assert_eq!(array("pos"), [0, 5, 6]);
    assert_eq!((array("begin"), array("end")), (vec![0, 1, 2, 4, 7, 0], vec![1, 2, 4, 6, 8, 1]));
    let stored = a.values().typed::<f64>().unwrap();
    assert_eq!(stored.len(), 6);
    assert!(stored[0].is_sign_positive() && stored[1].is_sign_negative() && stored[2].is_nan());
}

#[test]
fn runs_are_the_same_whatever_they_are_made_of() {
    let built = Tensor::from_coo(&coo(), format(RUNS)).unwrap();
    assert!(built.nse() < coo().len() * 2 / 3, "{} of {}", built.nse(), coo().len());
    assert_eq!(built.to_coo().unwrap(), coo());
    for from in [
        "CSR",
        "COO",
        "CSC",
        "Dense",
        "BSR(3,4)",
        "DIA",
        RUNS,
        "(i, j) -> (i : hashed, j : hashed)",
    ] {
        let tensor = Tensor::from_coo(&coo(), format(from)).unwrap();
        assert_eq!(tensor.convert(format(RUNS)).unwrap(), built, "{from}");
        let call = einsum("C(i,j) = A(i,j)").arg("A", &tensor).format(RUNS);
        assert_eq!(call.run().unwrap(), built, "{from}");
    }
}

#[test]
fn unjoined_neighbours_have_values_of_their_own() {
    let unjoined = "(i, j) -> (i : dense, j : sparse_run_length(unjoined))";
    let built = Tensor::from_coo(&coo(), format(unjoined)).unwrap();
    assert_eq!(built.nse(), coo().len());
    let joined = Tensor::from_coo(&coo(), format(RUNS)).unwrap();
    assert_eq!(joined.convert(format(unjoined)).unwrap(), built);
    // Runs that somebody else joined are taken in as they are.
    let (_, shape, parts) = joined.clone().into_parts();
    let taken = Tensor::from_parts(format(unjoined), &shape, parts).unwrap();
    assert_eq!((taken.nse(), taken.to_coo().unwrap()), (joined.nse(), coo()));
}

#[test]
fn results_at_the_entries_of_runs_have_values_of_their_own() {
    let a = Tensor::from_coo(&coo(), format(RUNS)).unwrap();
    let csr = Tensor::from_coo(&coo(), format("CSR")).unwrap();
    let x = Tensor::from_array(ust::ndarray::Array1::from_iter(1..31).into_dyn()).unwrap();
    let result = |a: &Tensor, format: &str| {
        let call = einsum("C(i,j) = A(i,j) * x(j)").arg("A", a).arg("x", &x).format(format);
        call.run().unwrap().to_coo().unwrap()
    };
    assert_eq!(result(&a, RUNS), result(&csr, "CSR"));
}
