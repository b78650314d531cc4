//! Loops over several tensors, in parts that begin and end inside rows.

use std::ops::Range;

use proptest::prelude::*;
use ust::ops::OpError;
use ust::{Backend, Coo, Dtype, Error, Tensor, einsum};
// The provider that runs schedules in shuffled order.
use ust_conformance as _;

const ROWS: usize = 9;
const COLUMNS: usize = 60;

/// Entries of which any row may have very many.
fn entries(rows: usize) -> impl Strategy<Value = Vec<Vec<i64>>> {
    let columns = 0..COLUMNS as i64;
    let row = |count: Range<usize>| proptest::collection::btree_set(columns.clone(), count);
    let row = prop_oneof![4 => row(0..4), 1 => row(20..COLUMNS)];
    proptest::collection::vec(row, rows).prop_map(|rows| {
        let each = (0..).zip(rows);
        each.flat_map(|(i, row)| row.into_iter().map(move |j| vec![i, j])).collect()
    })
}

/// A tensor with these entries; of rank 3, the last coordinates are made up.
fn tensor(entries: &[Vec<i64>], rank: usize, format: &str, dtype: Dtype) -> Tensor {
    let value = |at: usize| ((at * 7 + rank) % 11) as f64 - 4.5;
    let (extents, crd) = match rank {
        1 => (vec![COLUMNS], vec![entries.iter().map(|crd| crd[1]).collect()]),
        2 => (
            vec![ROWS, COLUMNS],
            [0, 1].map(|dim| entries.iter().map(|crd| crd[dim]).collect()).into(),
        ),
        _ => {
            let twice = || entries.iter().flat_map(|crd| [(crd, 0), (crd, 2)]);
            let crd = vec![
                twice().map(|(crd, _)| crd[0]).collect::<Vec<i64>>(),
                twice().map(|(crd, _)| crd[1]).collect(),
                twice().map(|(crd, last)| (crd[1] + last) % 5).collect(),
            ];
            (vec![ROWS, COLUMNS, 5], crd)
        }
    };
    let values: Vec<f64> = (0..crd[0].len()).map(value).collect();
    let coo = Coo::new(extents, crd, values).unwrap();
    Tensor::from_coo(&coo, format).unwrap().cast_lossy(dtype)
}

/// The expression, the rank of `A` and `B`, formats of both, and formats of the result.
type Case = (&'static str, usize, &'static [&'static str], &'static [&'static str]);

const MATRICES: &[&str] = &[
    "CSR",
    "DCSR",
    "COO",
    "(i, j) -> (i - 2 : dense, j : compressed)",
    "(i, j) -> (i : dense, j - i : compressed)",
];

const CASES: &[Case] = &[
    ("C(i,j) = A(i,j) + B(i,j)", 2, MATRICES, &["CSR", "COO", "DCSR", "Dense"]),
    ("C(i,j) = A(i,j) - 2 * B(i,j)", 2, MATRICES, &["CSR", "COO"]),
    ("C(i,j) = A(i,j) * B(i,j)", 2, MATRICES, &["CSR", "DCSR", "Dense"]),
    ("C(i,j) = A(i,j) * B(i,j) + A(i,j)", 2, MATRICES, &["CSR"]),
    ("C(i,j) = max(A(i,j), 0) + B(i,j)", 2, MATRICES, &["CSR"]),
    ("y(i) = A(i,j) * B(i,j)", 2, MATRICES, &["(i) -> (i : dense)"]),
    ("y(i) = A(i,j) + B(i,j)", 2, MATRICES, &["(i) -> (i : dense)"]),
    ("y(j) = A(i,j) * B(i,j)", 2, MATRICES, &["(j) -> (j : dense)"]),
    ("s = A(i,j) * B(i,j)", 2, MATRICES, &["Scalar"]),
    ("C(i,j,k) = A(i,j,k) + B(i,j,k)", 3, &["CSF", "COO(3)"], &["CSF", "COO(3)"]),
    ("s = A(i) * B(i)", 1, &["(i) -> (i : compressed)"], &["Scalar"]),
    ("C(i) = A(i) + B(i)", 1, &["(i) -> (i : compressed)"], &["(i) -> (i : compressed)"]),
    ("C(i) = A(i) * B(i)", 1, &["(i) -> (i : compressed)"], &["(i) -> (i : compressed)"]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn parts_that_begin_inside_rows_give_what_the_interpreter_gives(
        a in entries(ROWS),
        b in entries(ROWS),
        case in 0..CASES.len(),
        formats in [0_usize..10, 0..10, 0..10],
        is_integer in any::<bool>(),
    ) {
        let (text, rank, operands, results) = CASES[case];
        let dtype = if is_integer { Dtype::I32 } else { Dtype::F64 };
        let [of_a, of_b] = [formats[0], formats[1]].map(|at| operands[at % operands.len()]);
        let result = results[formats[2] % results.len()];
        let own = |entries: &[Vec<i64>], format| match rank {
            1 => {
                let mut columns: Vec<Vec<i64>> = entries.iter().map(|crd| vec![0, crd[1]]).collect();
                columns.sort_unstable();
                columns.dedup();
                tensor(&columns, rank, format, dtype)
            }
            _ => tensor(entries, rank, format, dtype),
        };
        let (a, b) = (own(&a, of_a), own(&b, of_b));
        let call = |backend| {
            einsum(text).arg("A", &a).arg("B", &b).format(result).backend(backend).run()
        };
        let expected = call(Backend::INTERPRETER).unwrap();
        let found = match call(Backend::Named("shuffled-by-stored")) {
            Err(OpError::Tensor(Error::Refused { .. })) => return Ok(()),
            found => found.unwrap_or_else(|error| panic!("{text}: {error}")),
        };
        let entries = |y: &Tensor| {
            let y = y.cast_lossy(Dtype::F64);
            let coo = y.to_coo().unwrap();
            let values: Vec<f64> = coo.values.typed::<f64>().unwrap().to_vec();
            (coo.crd, values)
        };
        let ((crd, values), (expected_crd, expected)) = (entries(&found), entries(&expected));
        prop_assert_eq!(crd, expected_crd, "{}, {} and {}, {}", text, of_a, of_b, result);
        let near = values.iter().zip(&expected).all(|(a, z)| (a - z).abs() <= 1e-12 * (1.0 + z.abs()));
        prop_assert!(near, "{}, {} and {}, {}: {:?} {:?}", text, of_a, of_b, result, values, expected);
    }
}

#[test]
fn merges_of_the_usual_formats_are_cut_inside_rows() {
    let rows: Vec<Vec<i64>> = (0..40).map(|j| vec![3, j]).collect();
    for format in MATRICES {
        let [a, b] = [0, 10].map(|from| tensor(&rows[from..], 2, format, Dtype::F64));
        for (text, result) in [
            ("C(i,j) = A(i,j) + B(i,j)", "CSR"),
            ("C(i,j) = A(i,j) * B(i,j)", "CSR"),
            ("C(i,j) = A(i,j) + B(i,j)", "Dense"),
            ("s = A(i,j) * B(i,j)", "Scalar"),
        ] {
            let call = einsum(text).arg("A", &a).arg("B", &b).format(result);
            let made = call.backend(Backend::Named("shuffled-by-stored")).prepare();
            assert!(made.is_ok(), "{text}, {format}: {made:?}");
        }
    }
}

#[test]
fn entries_beside_those_that_are_counted_are_visited() {
    let some: Vec<Vec<i64>> = vec![vec![2, 5], vec![2, 7], vec![6, 1]];
    // Of a level with gaps, entries are not counted.
    let gaps = "(i, j) -> (i : compressed, j : loose_compressed)";
    for (a, b) in [(&[][..], &some[..]), (&some[..1], &some[1..]), (&some[2..], &some[..2])] {
        let [a, b] = [(a, "DCSR"), (b, gaps)]
            .map(|(entries, format)| tensor(entries, 2, format, Dtype::F64));
        let call = |backend| {
            let call = einsum("C(i,j) = A(i,j) + B(i,j)").arg("A", &a).arg("B", &b);
            call.format("CSR").backend(backend).run().unwrap()
        };
        let [found, expected] =
            ["shuffled-by-stored", "interp"].map(|name| call(Backend::Named(name)));
        assert_eq!(found, expected);
    }
}
