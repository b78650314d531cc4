//! Matrix Market as specification.

use std::path::Path;

use num_complex::Complex;
use proptest::prelude::*;
use ust_engine::Values;
use ust_level_api::{Dtype, Scalar};

use super::super::tests::{compressed_text, data, temporary};
use super::*;

fn coordinate(text: &str) -> Coo {
    match parse(text.as_bytes(), Path::new("m.mtx")) {
        Ok(Matrix::Coordinate(coo)) => coo,
        other => panic!("{text}: {other:?}"),
    }
}

fn array(text: &str) -> DenseArray {
    match parse(text.as_bytes(), Path::new("m.mtx")) {
        Ok(Matrix::Array(array)) => array,
        other => panic!("{text}: {other:?}"),
    }
}

/// Asserts that the text is refused at this line and column, for this reason.
#[track_caller]
fn refused(text: &str, place: (usize, usize), reason: &str) {
    let error = parse(text.as_bytes(), Path::new("m.mtx")).expect_err(text);
    let FileError::Text { line, column, reason: found, .. } = &error else { panic!("{error}") };
    assert_eq!((*line, *column), place, "{text}: {error}");
    assert!(found.contains(reason), "{text}: {error}");
}

fn general(rest: &str) -> String {
    format!("%%MatrixMarket matrix coordinate real general\n{rest}")
}

#[test]
fn every_field_has_its_dtype() {
    let c = |re, im| Complex { re, im };
    for (field, line, values) in [
        ("real", "2 3 -1.5e2", Values::from(vec![-150.0])),
        ("double", "2 3 1D2", vec![100.0].into()),
        ("integer", "2 3 -7", vec![-7_i64].into()),
        ("unsigned-integer", "2 3 18446744073709551615", vec![u64::MAX].into()),
        ("complex", "2 3 1 -2.5", vec![c(1.0, -2.5)].into()),
        ("pattern", "2 3", vec![1.0].into()),
    ] {
        let coo = coordinate(&format!(
            "%%MatrixMarket matrix coordinate {field} general\n2 3 1\n{line}\n"
        ));
        assert_eq!(coo, Coo::new(vec![2, 3], vec![vec![1], vec![2]], values).unwrap(), "{field}");
    }
}

#[test]
fn letters_comments_blanks_and_line_ends_are_free() {
    let plain = coordinate(&general("2 2 2\n1 1 1\n2 2 2\n"));
    for text in [
        "%%matrixmarket MATRIX Coordinate REAL General\n2 2 2\n1 1 1\n2 2 2",
        "%%MatrixMarket matrix coordinate real general\r\n%\r\n\r\n2 2 2\r\n1 1 1\r\n2 2 2\r\n",
        "%%MatrixMarket\tmatrix coordinate real general  \n% c\n  % d\n\n 2\t2 2 \n\n1 1 +1.0\n%\n 2 2 2.\n\n",
        "\u{feff}%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 2\n",
    ] {
        assert_eq!(coordinate(text), plain, "{text:?}");
    }
}

#[test]
fn order_duplicates_and_zeros_are_kept() {
    let coo = coordinate(&general("3 3 4\n3 1 1\n1 1 0\n3 1 2\n1 3 -0.0\n"));
    assert_eq!(coo.crd, [[2, 0, 2, 0], [0, 0, 0, 2]]);
    let values: &[f64] = coo.values.typed().unwrap();
    assert_eq!(values, [1.0, 0.0, 2.0, 0.0]);
    assert!(values[3].is_sign_negative());
}

#[test]
fn empty_matrices_are_matrices() {
    for (sizes, shape) in [("0 0 0", [0, 0]), ("0 5 0", [0, 5]), ("4 4 0", [4, 4])] {
        let coo = coordinate(&general(sizes));
        assert_eq!((&coo.shape[..], coo.len()), (&shape[..], 0));
    }
    let empty = array("%%MatrixMarket matrix array real general\n0 3\n");
    assert_eq!((empty.shape, empty.values.len()), (vec![0, 3], 0));
}

#[test]
fn symmetries_are_expanded_with_the_diagonal_once() {
    let complex = |v: &[(f64, f64)]| {
        Values::from(v.iter().map(|&(re, im)| Complex { re, im }).collect::<Vec<_>>())
    };
    for (header, entries, crd, values) in [
        (
            "real symmetric",
            "1 1 5\n2 1 3\n",
            [vec![0, 1, 0], vec![0, 0, 1]],
            Values::from(vec![5.0, 3.0, 3.0]),
        ),
        (
            "real symmetric",
            "1 1 5\n1 2 3\n",
            [vec![0, 0, 1], vec![0, 1, 0]],
            vec![5.0, 3.0, 3.0].into(),
        ),
        (
            "integer skew-symmetric",
            "2 1 3\n2 2 0\n",
            [vec![1, 1, 0], vec![0, 1, 1]],
            vec![3_i64, 0, -3].into(),
        ),
        (
            "real skew-symmetric",
            "2 1 3\n2 1 4\n",
            [vec![1, 1, 0, 0], vec![0, 0, 1, 1]],
            vec![3.0, 4.0, -3.0, -4.0].into(),
        ),
        (
            "complex hermitian",
            "1 1 5 0\n2 1 3 1\n",
            [vec![0, 1, 0], vec![0, 0, 1]],
            complex(&[(5.0, 0.0), (3.0, 1.0), (3.0, -1.0)]),
        ),
        (
            "complex skew-symmetric",
            "2 1 3 1\n2 1 0 1\n",
            [vec![1, 1, 0, 0], vec![0, 0, 1, 1]],
            complex(&[(3.0, 1.0), (0.0, 1.0), (-3.0, -1.0), (-0.0, -1.0)]),
        ),
        (
            "pattern symmetric",
            "2 1\n2 2\n",
            [vec![1, 1, 0], vec![0, 1, 1]],
            vec![1.0, 1.0, 1.0].into(),
        ),
    ] {
        let coo =
            coordinate(&format!("%%MatrixMarket matrix coordinate {header}\n2 2 2\n{entries}"));
        assert_eq!(coo, Coo::new(vec![2, 2], crd.to_vec(), values).unwrap(), "{header}");
    }
}

#[test]
fn arrays_are_read_column_by_column() {
    for (header, sizes, values, expected) in [
        ("real general", "2 3", "1 2 3 4 5 6", vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
        ("real symmetric", "2 2", "1 2 3", vec![1.0, 2.0, 2.0, 3.0]),
        (
            "real skew-symmetric",
            "3 3",
            "1 2 3",
            vec![0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0],
        ),
        ("real skew-symmetric", "1 1", "", vec![0.0]),
    ] {
        let values = values.replace(' ', "\n");
        let array = array(&format!("%%MatrixMarket matrix array {header}\n{sizes}\n{values}\n"));
        assert_eq!(array.values, Values::from(expected), "{header}");
    }
    let hermitian = array("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n");
    assert_eq!(hermitian.values.get(1), Some(Scalar::Complex128(Complex { re: 2.0, im: -3.0 })));
}

#[test]
fn malformed_headers_are_refused_with_their_place() {
    for (text, place, reason) in [
        ("", (1, 1), "empty"),
        ("\n\n", (1, 1), "empty"),
        ("hello world\n", (1, 1), "does not start with `%%MatrixMarket`"),
        ("%%%MatrixMarket matrix coordinate real general\n", (1, 1), "does not start"),
        ("MatrixMarket matrix coordinate real general\n", (1, 1), "does not start"),
        ("%% MatrixMarket matrix coordinate real general\n", (1, 1), "does not start"),
        ("%%MatrixMarket", (1, 15), "ends before its object: `matrix`"),
        ("%%MatrixMarket tensor coordinate real general\n", (1, 16), "unknown object `tensor`"),
        (
            "%%MatrixMarket matrix sparse real general\n",
            (1, 23),
            "unknown layout `sparse`; known: `coordinate`, `array`",
        ),
        ("%%MatrixMarket matrix coordinate float general\n", (1, 34), "unknown field `float`"),
        (
            "%%MatrixMarket matrix coordinate real diagonal\n",
            (1, 39),
            "unknown symmetry `diagonal`",
        ),
        ("%%MatrixMarket matrix coordinate real\n1 1 0\n", (1, 38), "ends before its symmetry"),
        ("%%MatrixMarket matrix coordinate real general x\n", (1, 47), "one word too many"),
        ("%%MatrixMarket matrix array pattern general\n", (1, 29), "`pattern` needs `coordinate`"),
        ("%%MatrixMarket matrix coordinate real hermitian\n", (1, 39), "needs the field `complex`"),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n", (1, 42), "no negative"),
        (
            "%%MatrixMarket matrix coordinate real general\n% c\n",
            (3, 1),
            "ends before the line with the numbers of rows, columns and entries",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2\n",
            (2, 4),
            "ends before its number of entries",
        ),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1 1\n", (2, 7), "one word too many"),
        (
            "%%MatrixMarket matrix coordinate real general\n2 -2 1\n",
            (2, 3),
            "`-2` is no number of columns",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n2 2.0 1\n",
            (2, 3),
            "`2.0` is no number of columns",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n2 99999999999999999999 1\n",
            (2, 3),
            "the number of columns 99999999999999999999 does not fit 63 bits",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n  2 3 0\n",
            (2, 3),
            "2 x 3 is not square",
        ),
        (
            "%%MatrixMarket matrix array real general\n4000000000000000000 4000000000000000000\n",
            (3, 1),
            "cannot be addressed",
        ),
    ] {
        refused(text, place, reason);
    }
}

#[test]
fn malformed_entries_are_refused_with_their_place() {
    for (rest, place, reason) in [
        ("2 2 1\n1 1\n", (3, 4), "ends before its value: it has 2 words, an entry has 3"),
        // `1.5` is no coordinate; the report is that a token is missing.
        ("2 2 1\n1 1.5\n", (3, 6), "ends before its value: it has 2 words, an entry has 3"),
        ("2 2 2\n1 1 1 2 2 2\n", (3, 7), "`2` is one word too many in this line: it has 6 words"),
        ("2 2 3\n1 1\n1\n2 1 1\n", (3, 4), "ends before its value"),
        ("2 2 1\n1 1 % 1\n", (3, 4), "ends before its value"),
        ("2 2 1\n1\n", (3, 2), "ends before its coordinates"),
        ("2 2 1\n1 1 1 1\n", (3, 7), "one word too many"),
        ("2 2 1\n1 1 x\n", (3, 5), "`x` is no real number"),
        ("2 2 1\n1 1 1e999\n", (3, 5), "does not fit 64-bit floating point"),
        ("2 2 1\n\n% c\n 0 1 1\n", (5, 2), "coordinates start at 1"),
        ("2 2 1\n3 1 1\n", (3, 1), "coordinate 3 of dimension 1 lies outside 1..=2"),
        ("2 2 1\n1 9 1\n", (3, 3), "coordinate 9 of dimension 2 lies outside 1..=2"),
        ("2 2 1\n-1 1 1\n", (3, 1), "`-1` is no coordinate"),
        ("2 2 1\n1.0 1 1\n", (3, 1), "`1.0` is no coordinate"),
        ("2 2 1\n1 99999999999999999999999 1\n", (3, 3), "outside"),
        ("2 2 2\n1 1 1\n", (4, 1), "ends after 1 of the 2 entries"),
        ("2 2 2\n1 1 1", (3, 6), "ends after 1 of the 2 entries"),
        ("2 2 1\n1 1 1\n% c\n\n 2 2 2\n", (6, 2), "more entries than the 1"),
        ("2 2 0\n1 1 1\n", (3, 1), "more entries than the 0"),
        ("9 9 1000000000000000000\n1 1 1\n", (4, 1), "ends after 1 of the 1000000000000000000"),
        ("2 2 1\n1 1 \u{1b}[31m\n", (3, 5), "`\\u{1b}[31m` is no real number"),
        ("2 2 1\n1 é 1\n", (3, 3), "is no coordinate"),
    ] {
        refused(&general(rest), place, reason);
    }
}

#[test]
fn rows_of_an_array_in_a_line_each_are_refused_where_the_first_goes_on() {
    for (field, values, place, reason) in [
        ("real", "1 2 3\n4 5 6\n", (3, 3), "`2` is one word too many in this line"),
        ("real", "1 2 3\n4 5 6\n", (3, 3), "it has 3 words, a line of an array has 1"),
        ("integer", "1\n2\n3\n4\n5 6\n", (7, 3), "`6` is one word too many"),
        ("complex", "1\n0\n", (3, 2), "ends before its imaginary part"),
    ] {
        let text = format!("%%MatrixMarket matrix array {field} general\n2 3\n{values}");
        refused(&text, place, reason);
    }
}

#[test]
fn header_variants_that_other_readers_take_are_read() {
    let entry = Coo::new(vec![2, 2], vec![vec![0], vec![1]], vec![5.0]).unwrap();
    for text in [
        "%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n",
        "\u{feff}%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n",
        " %%MatrixMarket   matrix\tcoordinate  Real   GENERAL  \n2 2 1\n1 2 5\n",
        "%%MATRIXMARKET MATRIX COORDINATE REAL GENERAL\r\n\r\n 2\t2 1 \r\n1 2 5\r\n",
        "%%MatrixMarket matrix coordinate real general\n\n  \n % x\n%\n\n2 2 1\n\n1 2 5\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1 % sizes\n1 2 5 % entry\n% end\n",
    ] {
        let found = parse(text.as_bytes(), Path::new("t.mtx")).unwrap();
        assert_eq!(found, Matrix::Coordinate(entry.clone()), "{text}");
    }
}

#[test]
fn contradicted_symmetries_are_refused_with_their_place() {
    for (header, entries, place, reason) in [
        ("real skew-symmetric", "2 1 1\n2 2 1\n", (4, 1), "skew-symmetric matrix is zero"),
        ("complex hermitian", "2 1 1 1\n2 2 1 1\n", (4, 1), "Hermitian matrix is real"),
        ("real symmetric", "2 1 1\n1 2 1\n", (4, 1), "holds one side"),
        ("real symmetric", "1 2 1\n2 1 1\n", (4, 1), "holds one side"),
        ("integer skew-symmetric", "2 1 1\n2 1 -9223372036854775808\n", (4, 1), "does not fit"),
        ("integer symmetric", "2 1 1\n2 1 1.5\n", (4, 5), "`1.5` is no integer"),
    ] {
        refused(
            &format!("%%MatrixMarket matrix coordinate {header}\n2 2 2\n{entries}"),
            place,
            reason,
        );
    }
    let array = "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 5\n";
    refused(array, (5, 1), "Hermitian matrix is real");
}

#[test]
fn a_text_cut_anywhere_is_refused_until_its_last_value_begins() {
    let text = "%%MatrixMarket matrix coordinate complex general\n%c\n3 3 2\n1 1 1 2\n3 3 5 7\n";
    let last = text.rfind('7').unwrap();
    for end in 0..=text.len() {
        let cut = parse(&text.as_bytes()[..end], Path::new("m.mtx"));
        assert_eq!(cut.is_ok(), end > last, "{:?}", &text[..end]);
    }
}

#[test]
fn files_are_written_and_read_back_plain_and_compressed() {
    let folder = temporary();
    let coo = Coo::new(vec![5], vec![vec![4, 0]], vec![0.1, f64::NEG_INFINITY]).unwrap();
    let column = Coo::new(vec![5, 1], vec![vec![4, 0], vec![0, 0]], coo.values.clone()).unwrap();
    for name in ["v.mtx", "v.mtx.gz", "v.MTX.GZ"] {
        let path = folder.path().join(name);
        write(&path, &coo).unwrap();
        assert_eq!(
            read(&path, &ReadOptions::default()).unwrap(),
            Matrix::Coordinate(column.clone())
        );
    }
    let plain = std::fs::read_to_string(folder.path().join("v.mtx")).unwrap();
    assert_eq!(plain, "%%MatrixMarket matrix coordinate real general\n5 1 2\n5 1 0.1\n1 1 -inf\n");
    assert_eq!(compressed_text(&folder.path().join("v.mtx.gz")), plain);
}

#[test]
fn every_dtype_is_written_under_the_field_that_holds_it() {
    for &dtype in Dtype::ALL {
        let values = Values::from(vec![0_u8, 1]).cast(dtype).unwrap();
        let coo = Coo::new(vec![2, 2], vec![vec![0, 1], vec![0, 1]], values).unwrap();
        let mut text = Vec::new();
        write_to(&mut text, &coo).unwrap();
        let back = coordinate(std::str::from_utf8(&text).unwrap());
        assert_eq!(back.crd, coo.crd, "{dtype}");
        assert_eq!(back.values.cast(dtype).unwrap(), coo.values, "{dtype}");
    }
    let large = Coo::new(vec![1, 1], vec![vec![0], vec![0]], vec![u64::MAX]).unwrap();
    let mut text = Vec::new();
    write_to(&mut text, &large).unwrap();
    assert_eq!(coordinate(std::str::from_utf8(&text).unwrap()), large);
}

#[test]
fn only_matrices_and_vectors_are_written() {
    let folder = temporary();
    let path = folder.path().join("t.mtx");
    for rank in [0, 3] {
        let coo =
            Coo::new(vec![2; rank], vec![Vec::<i64>::new(); rank], Vec::<f64>::new()).unwrap();
        let error = write(&path, &coo).unwrap_err();
        assert!(matches!(error, FileError::Unsupported { .. }), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn real_files_agree_with_what_is_known_about_them() {
    for (name, rows, columns, entries) in [
        ("Franz6_id1959_aug.mtx", 10592, 3016, 48472),
        ("rajat01.mtx", 6833, 6833, 43250),
        ("bcsstk13.mtx", 2003, 2003, 83883),
        ("cryg2500.mtx", 2500, 2500, 12349),
        ("olm1000.mtx", 1000, 1000, 3996),
        ("radixnet_n1024_l1.mtx", 1024, 1024, 32768),
        ("mnist_sparse_1024.mtx", 1200, 1024, 122713),
        ("polblogs.mtx", 1490, 1490, 33430),
        ("pyamg_helmholtz_2D.mtx.gz", 2880, 2880, 52016),
        ("pyamg_bar.mtx", 600, 600, 23402),
        ("pyamg_airfoil.mtx", 260, 260, 1682),
        ("debian_deps.mtx.gz", 63666, 63666, 300_371),
    ] {
        let Some(path) = data(name) else { continue };
        let Matrix::Coordinate(coo) = read(&path, &ReadOptions::default()).unwrap() else {
            panic!("{name} is no coordinate file")
        };
        assert_eq!((&coo.shape[..], coo.len()), (&[rows, columns][..], entries), "{name}");
        let mut text = Vec::new();
        write_to(&mut text, &coo).unwrap();
        assert_eq!(parse(&text, &path).unwrap(), Matrix::Coordinate(coo), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_reads_back_the_same(
        entries in prop::collection::vec((0..50_i64, 0..70_i64, prop::num::f64::ANY), 0..100),
    ) {
        let rows = entries.iter().map(|e| e.0).collect();
        let columns = entries.iter().map(|e| e.1).collect();
        let values: Vec<f64> = entries.iter().map(|e| e.2).collect();
        let coo = Coo::new(vec![50, 70], vec![rows, columns], values).unwrap();
        let mut text = Vec::new();
        write_to(&mut text, &coo).unwrap();
        let back = coordinate(std::str::from_utf8(&text).unwrap());
        prop_assert_eq!(&back.crd, &coo.crd);
        for (a, b) in back.values.iter().zip(coo.values.iter()) {
            prop_assert!(a.same(&b), "{} and {}", a, b);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut text = general("3 3 2\n").into_bytes();
        text.extend(&tail);
        let _ = parse(&text, Path::new("m.mtx"));
        let _ = parse(&tail, Path::new("m.mtx"));
    }
}
