//! Archives as SciPy writes and reads them.

use ust::io::npz::{self, Archive, Blocks, Compressed, Diagonals, Members};
use ust::io::{self, DenseArray, FileError, ReadOptions};
use ust::{Dtype, Scalar, Tensor, Values};

use crate::common::*;

#[test]
fn scipy_layouts_are_those_of_the_format() {
    for (text, layout) in [
        ("CSR", "csr"),
        ("CSC", "csc"),
        ("COO", "coo"),
        ("BSR(2, 3)", "bsr"),
        ("BSR(4, 4)", "coo"),
        ("DIA-J", "dia"),
        ("DIA-I", "dia"),
        ("DCSR", "coo"),
        ("Dense", "coo"),
        ("(i, j) -> (i : dense, j : compressed), posWidth = 8, crdWidth = 8", "csr"),
    ] {
        let folder = folder();
        let path = folder.path().join("a.npz");
        io::write(&path, &tensor(&[4, 6], Dtype::F64, text)).unwrap();
        let found = match npz::read(&path, &ReadOptions::default()).unwrap() {
            Archive::Csr(_) => "csr",
            Archive::Csc(_) => "csc",
            Archive::Coo(_) => "coo",
            Archive::Bsr(_) => "bsr",
            Archive::Dia(_) => "dia",
            other => panic!("{other:?}"),
        };
        assert_eq!(found, layout, "{text}");
    }
}

/// Writes an archive and reads it as a tensor.
pub(crate) fn through(archive: Archive, options: &ReadOptions) -> Result<Tensor, FileError> {
    let folder = folder();
    let path = folder.path().join("a.npz");
    npz::write(&path, archive).unwrap();
    io::read(&path, options)
}

pub(crate) fn csr(indptr: &[i32], indices: &[i32], data: &[f64]) -> Archive {
    Archive::Csr(Compressed {
        shape: [2, 3],
        indptr: indptr.to_vec().into(),
        indices: indices.to_vec().into(),
        data: data.to_vec().into(),
    })
}

/// The tensor's elements.
#[track_caller]
fn elements(found: Result<Tensor, FileError>, name: &str, expected: &[f64]) {
    let found = found.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.format().name().as_deref(), Some(name));
    let dense = found.to_dense::<f64>().unwrap();
    assert_eq!(dense.iter().copied().collect::<Vec<_>>(), expected);
}

#[test]
fn unsorted_rows_and_duplicates_are_sorted_and_summed() {
    let options = ReadOptions::default();
    for (indptr, indices, data) in [
        (&[0, 2, 3][..], &[0, 2, 1][..], &[1.0, 2.0, 3.0][..]),
        (&[0, 2, 3], &[2, 0, 1], &[2.0, 1.0, 3.0]),
        (&[0, 3, 4], &[2, 0, 2, 1], &[0.5, 1.0, 1.5, 3.0]),
        (&[0, 2, 3], &[0, 2, 1, 0, 0], &[1.0, 2.0, 3.0, 9.0, 9.0]),
    ] {
        elements(
            through(csr(indptr, indices, data), &options),
            "CSR",
            &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0],
        );
    }
    let Archive::Csr(matrix) = csr(&[0, 2, 3], &[2, 0, 1], &[2.0, 1.0, 3.0]) else { panic!() };
    let csc = Archive::Csc(Compressed { shape: [3, 2], ..matrix });
    elements(through(csc, &options), "CSC", &[1.0, 0.0, 0.0, 3.0, 2.0, 0.0]);
}

#[test]
fn a_format_that_allows_it_takes_the_arrays_as_they_are() {
    let as_is = format("(i, j) -> (i : dense, j : compressed(nonunique, nonordered))");
    let options = ReadOptions::default().with_format(as_is.clone());
    let found = through(csr(&[0, 3, 4], &[2, 0, 2, 1], &[0.5, 1.0, 1.5, 3.0]), &options).unwrap();
    assert_eq!(found.format(), &as_is);
    assert_eq!(found.crd(1).unwrap().to_vec(), [2, 0, 2, 1]);
    assert_eq!(found.values().typed::<f64>().unwrap(), [0.5, 1.0, 1.5, 3.0]);
    assert_eq!(found.get(&[0, 2]).unwrap(), Scalar::F64(2.0));
}

#[test]
fn blocks_are_read_in_any_order() {
    let blocks = |indices: &[i32], data: &[f64]| {
        Archive::Bsr(Blocks {
            shape: [2, 4],
            indptr: vec![0_i32, 2].into(),
            indices: indices.to_vec().into(),
            data: DenseArray { shape: vec![2, 2, 2], values: data.to_vec().into() },
        })
    };
    let options = ReadOptions::default();
    let expected = [1.0, 0.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0];
    let sorted = blocks(&[0, 1], &[1.0, 0.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    elements(through(sorted, &options), "BSR(2, 2)", &expected);
    let unsorted = blocks(&[1, 0], &[5.0, 6.0, 7.0, 8.0, 1.0, 0.0, 3.0, 4.0]);
    elements(through(unsorted, &options), "BSR(2, 2)", &expected);
    let twice = blocks(&[1, 1], &[5.0, 6.0, 7.0, 0.0, 0.0, 0.0, 0.0, 8.0]);
    elements(through(twice, &options), "BSR(2, 2)", &[0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0]);
}

#[test]
fn diagonals_are_read_in_any_order_and_length() {
    let diagonals = |offsets: &[i64], length: usize, data: &[f64]| {
        Archive::Dia(Diagonals {
            shape: [2, 3],
            offsets: offsets.to_vec().into(),
            data: DenseArray { shape: vec![offsets.len(), length], values: data.to_vec().into() },
        })
    };
    let options = ReadOptions::default();
    for (archive, expected) in [
        (diagonals(&[-1, 0], 3, &[4.0, 9.0, 9.0, 1.0, 5.0, 9.0]), [1.0, 0.0, 0.0, 4.0, 5.0, 0.0]),
        (diagonals(&[1, -1], 3, &[9.0, 2.0, 6.0, 4.0, 9.0, 9.0]), [0.0, 2.0, 0.0, 4.0, 0.0, 6.0]),
        (diagonals(&[0], 1, &[1.0]), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (diagonals(&[2], 5, &[9.0, 9.0, 3.0, 9.0, 9.0]), [0.0, 0.0, 3.0, 0.0, 0.0, 0.0]),
        (diagonals(&[7, i64::MIN, i64::MAX], 3, &[9.0; 9]), [0.0; 6]),
        (diagonals(&[], 3, &[]), [0.0; 6]),
    ] {
        elements(through(archive, &options), "DIA-J", &expected);
    }
}

#[test]
fn malformed_scipy_matrices_are_refused_with_the_member() {
    let bsr = |shape: [usize; 2], data: &[usize]| {
        let values = vec![1.0; data.iter().product()];
        Archive::Bsr(Blocks {
            shape,
            indptr: vec![0_i32, 1].into(),
            indices: vec![0_i32].into(),
            data: DenseArray { shape: data.to_vec(), values: values.into() },
        })
    };
    let dia = |offsets: Vec<i32>, data: [usize; 2]| {
        let values = vec![1.0; data.iter().product()];
        let data = DenseArray { shape: data.to_vec(), values: values.into() };
        Archive::Dia(Diagonals { shape: [2, 2], offsets: offsets.into(), data })
    };
    for (archive, member, reason) in [
        (csr(&[0, 2], &[0, 1], &[1.0, 2.0]), "indptr", "2 positions, 2 and one more"),
        (csr(&[], &[], &[]), "indptr", "0 positions"),
        (csr(&[1, 2, 2], &[0, 1], &[1.0, 2.0]), "indptr", "starts at 1"),
        (csr(&[0, 2, 1], &[0, 1], &[1.0, 2.0]), "indptr", "falls from 2 to 1 at 1"),
        (csr(&[0, -1, 2], &[0, 1], &[1.0, 2.0]), "indptr", "falls from 0 to -1"),
        (csr(&[0, 1, 5], &[0, 1], &[1.0, 2.0]), "indices", "2 elements, where `indptr` ends at 5"),
        (csr(&[0, 1, 2], &[0, 1], &[1.0]), "data", "1 elements, where `indptr` ends at 2"),
        (csr(&[0, 1, 2], &[0, 3], &[1.0, 2.0]), "indices", "[1] = 3 lies outside 0..3"),
        (csr(&[0, 1, 2], &[-1, 0], &[1.0, 2.0]), "indices", "[0] = -1 lies outside 0..3"),
        (bsr([2, 3], &[1, 2, 2]), "data", "2 x 2 do not divide 2 x 3"),
        (bsr([2, 2], &[1, 0, 2]), "data", "0 x 2 do not divide"),
        (bsr([4, 2], &[1, 2, 2]), "indptr", "2 positions, 2 and one more"),
        (dia(vec![0, 0], [2, 2]), "offsets", "0 stands there twice"),
        (dia(vec![0], [2, 2]), "offsets", "1 offsets of 2 diagonals"),
    ] {
        let error = through(archive, &ReadOptions::default()).unwrap_err();
        let FileError::Binary { member: found, reason: text, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(found.as_deref(), Some(member), "{error}");
        assert!(text.contains(reason), "{error}");
    }
}

#[test]
fn an_archive_of_one_array_is_dense_and_of_several_is_refused() {
    let mut members = Members::new();
    members.insert("x", DenseArray { shape: vec![2, 2], values: vec![1.0, 0.0, 0.0, 4.0].into() });
    let found = through(Archive::Plain(members.clone()), &ReadOptions::default()).unwrap();
    assert_eq!((found.nse(), found.nnz()), (4, 2));
    members.insert("y", Values::from(vec![1.0]));
    let error = through(Archive::Plain(members), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("[x, y]"), "{error}");
}
