//! Prepared kernels on tensors that they were not prepared with, and evaluations that are stopped.

use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use ust::ops::{CancelToken, OpError, einsum, oracle};
use ust::{Backend, Coo, Error, Format, Scalar, Tensor};

/// What is multiplied: expression, format of `A`, of `B` and of the result.
const CASES: &[(&str, &str, &str, Option<&str>)] = &[
    ("C(i,j) = A(i,k) * B(k,j)", "CSR", "CSR", Some("CSR")),
    ("C(i,j) = A(i,k) * B(k,j)", "CSC", "DCSR", Some("COO")),
    ("C(i,j) = A(i,k) * B(k,j)", "BSR(2,2)", "CSR", None),
    ("C(i,k) = A(i,k) + B(i,k)", "CSR", "CSR", Some("CSR")),
    ("C(i,k) = A(i,k) + B(i,k)", "CSR", "CSC", Some("CSC")),
    ("C(i,k) = A(i,k) * B(i,k)", "DCSR", "CSR", Some("DCSR")),
    ("C(i,k) = A(i,k) - B(i,k)", "DIA-I", "DIA-I", None),
];

/// A matrix of a shape, with distinct entries.
fn matrix(shape: [usize; 2], format: &str, picks: &[u32]) -> Tensor {
    let places = shape[0] * shape[1];
    let mut cells: Vec<usize> = match places {
        0 => Vec::new(),
        _ => picks.iter().map(|&pick| pick as usize % places).collect(),
    };
    cells.sort_unstable();
    cells.dedup();
    let crd = vec![
        cells.iter().map(|cell| (cell / shape[1]) as i64).collect(),
        cells.iter().map(|cell| (cell % shape[1]) as i64).collect(),
    ];
    let values: Vec<f64> = cells.iter().map(|&cell| (cell % 7) as f64 - 2.5).collect();
    let coo = Coo::new(shape.to_vec(), crd, values).expect("coordinates inside the shape");
    let format: Format = format.parse().expect("a named format");
    Tensor::from_coo(&coo, &format).expect("any matrix fits")
}

fn close(a: &Tensor, b: &Tensor) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.shape(), b.shape());
    let (a, b) = (a.to_dense::<f64>().expect("f64"), b.to_dense::<f64>().expect("f64"));
    for (x, y) in a.iter().zip(b.iter()) {
        prop_assert!(oracle::close(Scalar::F64(*x), Scalar::F64(*y)), "{} {}", x, y);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_kernel_runs_on_other_shapes_and_numbers(
        case in 0..CASES.len(),
        shapes in proptest::collection::vec((0_usize..9, 0_usize..9, 0_usize..9), 3),
        picks in proptest::collection::vec(any::<u32>(), 60),
        threads in 1_usize..3,
    ) {
        let (text, a_format, b_format, result) = CASES[case];
        let product = text.contains("(k,j)");
        let operands = |(i, j, k): (usize, usize, usize), picks: &[u32]| {
            let (i, j, k) = (i + 1, j + 1, k + 1);
            let b = if product { [k, j] } else { [i, k] };
            let half = picks.len() / 2;
            (matrix([i, k], a_format, &picks[..half]), matrix(b, b_format, &picks[half..]))
        };
        let call = |a: &Tensor, b: &Tensor| {
            let call = einsum(text).arg("A", a).arg("B", b).threads(threads);
            match result {
                Some(format) => call.format(format),
                None => call,
            }
        };
        let (a, b) = operands(shapes[0], &picks);
        let kernel = call(&a, &b).prepare().expect("it can be planned");
        // How wide stored indices are: differences between few columns may all be positive.
        let kinds = |a: &Tensor, b: &Tensor| -> Vec<_> {
            let arrays = a.levels().iter().chain(b.levels()).flat_map(|level| &level.0);
            arrays.map(ust::IndexArray::kind).collect()
        };
        let prepared_for = kinds(&a, &b);
        for (at, &shape) in shapes.iter().enumerate() {
            let (a, b) = operands(shape, &picks[at * 10..]);
            if kinds(&a, &b) != prepared_for {
                prop_assert!(kernel.run(&[&a, &b]).is_err());
                continue;
            }
            let found = kernel.run(&[&a, &b]).expect("a kernel takes any shapes that agree");
            let expected = oracle::evaluate(&call(&a, &b)).expect("plain evaluation");
            close(&found, &expected)?;
        }
    }
}

#[test]
fn a_kernel_refuses_what_it_was_not_prepared_for() {
    let a = matrix([4, 4], "CSR", &[1, 5, 9]);
    let kernel = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).prepare().unwrap();
    let other = matrix([4, 4], "CSC", &[1, 5, 9]);
    let refused = kernel.run(&[&other]).unwrap_err().to_string();
    assert!(refused.contains("prepared for `A` in"), "{refused}");
    let oblong = matrix([4, 3], "CSR", &[1, 5, 9]);
    assert!(kernel.run(&[&oblong]).is_err(), "`k` has two extents");
    assert!(kernel.run(&[]).unwrap_err().to_string().contains("takes 1 tensors"));
}

#[test]
fn rows_that_are_wanted_one_by_one_are_searched_not_merged() {
    let picks: Vec<u32> = (0..4000).map(|at: u32| at.wrapping_mul(2_654_435_761) >> 8).collect();
    let plain = matrix([900, 900], "CSR", &picks);
    let expected = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &plain).run().unwrap();
    for format in ["DCSR", "COO", "DIA-I", "(i, j) -> (i : dense, j : compressed)"] {
        let a = plain.convert(format).unwrap();
        let call = || einsum("C(i,j) = A(i,k) * B(k,j)").arg("A", &a).arg("B", &a).format("CSR");
        let said = call().prepare().unwrap().explain();
        let row_wise = said.contains("combined in a dense row");
        let led = said.contains("; then searched: B level 0") || said.contains(", B level 0\n");
        assert!(row_wise && led && !said.contains("sorted and combined afterwards"), "{said}");
        assert_eq!(call().run().unwrap(), expected.convert("CSR").unwrap());
    }
    // A few rows of one decide which of the other are looked at.
    let few = matrix([900, 900], "DCSR", &[17, 40_000, 700_000]);
    let all = plain.convert("DCSR").unwrap();
    let call = einsum("C(i,j) = A(i,j) * B(i,j)").arg("A", &few).arg("B", &all);
    let said = call.prepare().unwrap().explain();
    assert!(said.contains("i: A level 0; then searched: B level 0"), "{said}");
}

#[test]
fn a_list_of_coordinates_is_no_worse_than_a_tree() {
    let picks: Vec<u32> = (0..6000).map(|at: u32| at.wrapping_mul(2_654_435_761) >> 7).collect();
    let (rows, list) = (matrix([300, 300], "CSR", &picks), matrix([300, 300], "COO", &picks));
    let by_columns = matrix([300, 300], "COO(col-major)", &picks);
    let product = "C(i,k) = A(i,j) * B(j,k)";
    let planned = |a: &Tensor, b: &Tensor| {
        einsum(product).arg("A", a).arg("B", b).format("CSR").prepare().expect("it can be planned")
    };
    let expected = planned(&rows, &rows).run(&[&rows, &rows]).expect("a product");
    for (a, b) in [(&rows, &list), (&list, &list), (&by_columns, &rows), (&list, &by_columns)] {
        let kernel = planned(a, b);
        // Rows of the result are not written in any order and sorted afterwards.
        let text = kernel.explain();
        assert!(text.contains("combined in a dense row"), "{text}");
        close(&kernel.run(&[a, b]).expect("a product"), &expected).expect("the same product");
    }
}

#[test]
fn padding_leaves_nothing_in_a_result_that_has_none() {
    let a = [1, 5, 9, 38, 71, 75, 100, 119, 140, 141].map(|at| at * 5);
    let b = [5, 9, 10, 71, 74, 75, 119, 139, 140, 143].map(|at| at * 5);
    for text in [
        "C(i,j) = A(i,j) * B(i,j)",
        "C(i,j) = A(i,j) + B(i,j)",
        "C(i,k) = A(i,j) * B(j,k)",
        "C(i,k) = A(i,j) * B(k,j)",
        "C(i,j) = min(A(i,j), B(i,j))",
        "C(i,j) = A(i,j) * (B(i,j) + A(j,i))",
    ] {
        for result in ["CSR", "COO", "DCSC"] {
            let run = |formats: [&str; 2]| {
                let a = matrix([30, 30], formats[0], &a);
                let b = matrix([30, 30], formats[1], &b);
                let call = einsum(text).arg("A", &a).arg("B", &b).format(result);
                call.run().expect("it can be run")
            };
            let expected = run(["CSR", "CSR"]);
            for formats in [["BSR(4,4)", "BSR(4,4)"], ["BSR(2,3)", "CSR"], ["COO", "DIA-I"]] {
                let found = run(formats);
                let text = format!("{text} in {result} of {formats:?}");
                assert_eq!(found.nse(), expected.nse(), "{text}");
                close(&found, &expected).expect(&text);
            }
        }
    }
}

#[test]
fn results_may_need_wider_coordinates_than_those_before() {
    let sum = |columns: usize| {
        let (a, b) = (
            matrix([3, columns], "DCSR", &[1, 5, 9]),
            matrix([3, columns], "DCSR", &[u32::MAX, 5, 7]),
        );
        let call = || einsum("C(i,j) = A(i,j) + B(i,j)").arg("A", &a).arg("B", &b);
        let kernel = call().prepare().unwrap();
        (call().format("DCSR").run().unwrap(), kernel, a, b)
    };
    let (narrow, kernel, _, _) = sum(10);
    assert_eq!(narrow.shape(), [3, 10]);
    let (wide, _, a, b) = sum(1 << 40);
    assert_eq!(wide.get_as::<f64>(&[0, 5]).unwrap(), 5.0);
    assert_eq!(wide.get_as::<f64>(&[0, u32::MAX as usize]).unwrap(), 0.5);
    let refused = kernel.run(&[&a, &b]).unwrap_err().to_string();
    assert!(refused.contains("coordinates of another width"), "{refused}");
}

fn is_cancelled(result: &Result<Tensor, OpError>) -> bool {
    matches!(result, Err(OpError::Tensor(Error::Cancelled)))
}

#[test]
fn an_evaluation_ends_when_its_token_is_cancelled() {
    let a = matrix(
        [300, 300],
        "CSR",
        &(0..40_000).map(|v: u32| v.wrapping_mul(97)).collect::<Vec<_>>(),
    );
    let token = CancelToken::new();
    for format in ["CSR", "Dense"] {
        let call = || einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).format(format);
        let whole = call().run().unwrap();
        let cut_into_parts = call().cancel(&CancelToken::new()).run().unwrap();
        assert_eq!(whole, cut_into_parts, "in parts, in {format}");
    }
    // From another thread: at the latest, the run after it is not begun.
    let stopper = token.clone();
    let stop = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        stopper.cancel();
    });
    let call = || einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).cancel(&token).run();
    let ended = (0..1_000_000).map(|_| call()).find(Result::is_err);
    stop.join().unwrap();
    assert!(ended.is_some_and(|result| is_cancelled(&result)));
    assert!(is_cancelled(&call()));
}

#[test]
fn an_old_value_in_another_format_is_refused() {
    let a = matrix([3, 4], "CSR", &[1, 5, 6, 11]);
    let x = Tensor::from_array(ndarray::array![1.0, 2.0, 3.0, 4.0].into_dyn()).unwrap();
    let old = Tensor::from_array(ndarray::array![1.0, 1.0, 1.0].into_dyn()).unwrap();
    let mut target = old.clone();
    let call = einsum("y(i) += A(i,j) * x(j)").arg("A", &a).arg("x", &x);
    call.update(&mut target).unwrap();
    let sparse = old.convert("(i) -> (i : compressed)").unwrap();
    let kernel = einsum("y(i) += A(i,j) * x(j)").arg("A", &a).arg("x", &x).prepare_update(&old);
    let kernel = kernel.unwrap();
    assert_eq!(kernel.run(&[&a, &x, &old]).unwrap(), target);
    let error = kernel.run(&[&a, &x, &sparse]).unwrap_err().to_string();
    assert!(error.contains("prepared for `y` in"), "{error}");
}

#[test]
fn a_view_is_said_to_be_copied() {
    let a = matrix([6, 4], "CSR", &[1, 5, 6, 11, 20, 23]);
    let rows = ust::tensor::Window { offset: 1, size: 3, stride: 2 };
    let all = ust::tensor::Window { offset: 0, size: 4, stride: 1 };
    let view = a.slice([rows, all]).unwrap();
    let x = Tensor::from_array(ndarray::array![1.0, 2.0, 3.0, 4.0].into_dyn()).unwrap();
    let told = |a: &Tensor| {
        let kernel = einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).prepare().unwrap();
        kernel.explain()
    };
    assert!(told(&view).contains("operand     A(i,j) copied first; in `"));
    assert!(!told(&a).contains("a view"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Rows like the ones before them, as those of a stencil, but for some.
    #[test]
    fn rows_that_are_alike_are_added_as_any_are(
        own in proptest::collection::btree_set(0_u32..20, 0..9),
        other in proptest::collection::btree_set(0_u32..20, 0..9),
        strays in proptest::collection::vec(any::<u32>(), 0..200),
        threads in 1_usize..3,
    ) {
        let (rows, columns) = (2_000, 40);
        let stencil = |of: &std::collections::BTreeSet<u32>, strays: &[u32]| {
            let row = |i: u32| of.iter().map(move |j| i * columns + (i % 20) + j);
            let cells: Vec<u32> = (0..rows).flat_map(row).chain(strays.iter().copied()).collect();
            matrix([rows as usize, columns as usize], "CSR", &cells)
        };
        let half = strays.len() / 2;
        let (a, b) = (stencil(&own, &strays[..half]), stencil(&other, &strays[half..]));
        let sum = einsum("C(i,j) = A(i,j) + B(i,j)").arg("A", &a).arg("B", &b).threads(threads);
        // Stored as whoever takes arrays in checks it.
        let (format, shape, parts) = sum.run().unwrap().into_parts();
        let sum = Tensor::from_parts(&format, &shape, parts).unwrap();
        let [a, b] = [a, b].map(|one| one.to_dense::<f64>().unwrap());
        let expected = Tensor::from_array((a + b).into_dyn()).unwrap();
        close(&sum, &expected)?;
    }
}

/// The loops that the planner writes are those that the compiler of kernels knows.
#[cfg(target_arch = "x86_64")]
#[test]
fn rows_of_a_sum_are_merged_by_a_kernel() {
    let (a, b) = (matrix([4, 9], "CSR", &[1, 5, 20, 33]), matrix([4, 9], "CSR", &[2, 5, 30]));
    let calls = |text: &str| {
        let call = einsum(text).arg("A", &a).arg("B", &b).format("CSR").backend(Backend::JIT);
        let code = call.prepare().expect("it can be planned").machine_code().expect("machine code");
        code.lines().filter(|line| line.contains("call")).count()
    };
    assert_eq!(calls("C(i,j) = A(i,j) + B(i,j)"), calls("C(i,j) = A(i,j) - B(i,j)") + 1);
}
