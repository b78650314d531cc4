//! What files that others write become, and what their faults are said to be.

use std::path::{Path, PathBuf};

use ust::io::npz::{self, Member, Members};
use ust::io::{FileError, ReadOptions, read, write};
use ust::{Coo, Dtype, Format, Tensor, Values};

use crate::common::*;

/// A small file that was reported, or `None` (with a note) where it is not at hand.
fn reported(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/reported").join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not at hand", path.display());
        return None;
    }
    Some(path)
}

fn load(path: &Path) -> Result<Tensor, FileError> {
    read(path, &ReadOptions::default())
}

fn entries(tensor: &Tensor) -> Vec<(Vec<i64>, f64)> {
    let coo = tensor.to_coo().unwrap();
    let values = coo.values.typed::<f64>().unwrap().iter();
    let at = |entry: usize| coo.crd.iter().map(|column| column[entry]).collect();
    values.enumerate().map(|(entry, &value)| (at(entry), value)).collect()
}

#[test]
fn reported_files_are_read_or_refused_at_the_place() {
    for (name, expected) in [
        ("bom.tns", vec![(vec![0, 0], 2.0)]),
        ("inline_comment.tns", vec![(vec![0, 0, 0], 1.5), (vec![1, 2, 0], -2.0)]),
    ] {
        let Some(path) = reported(name) else { return };
        assert_eq!(entries(&load(&path).unwrap()), expected, "{name}");
    }
    let Some(path) = reported("array_in_rows.mtx") else { return };
    let error = load(&path).unwrap_err().to_string();
    assert!(error.contains("array_in_rows.mtx:3:3: `2` is one word too many"), "{error}");
    let Some(path) = reported("scipy_csr_1d.npz") else { return };
    let vector = load(&path).unwrap();
    assert_eq!(
        (vector.shape(), vector.format().name().as_deref()),
        (&[4][..], Some("SparseVector"))
    );
    assert!(vector.nse() > 0);
}

#[test]
fn a_csr_of_rank_1_is_a_sparse_vector_in_any_format() {
    let folder = folder();
    let path = folder.path().join("v.npz");
    let mut members = Members::new();
    let ints = |values: &[i32]| Member::from(Values::from(values.to_vec()));
    members.insert("indices", ints(&[3, 1, 3]));
    members.insert("indptr", ints(&[0, 3]));
    members.insert("format", "csr");
    members.insert("shape", ints(&[4]));
    members.insert("data", Values::from(vec![2.0, 1.5, 1.0]));
    npz::write_members(&path, &members).unwrap();
    let vector = load(&path).unwrap();
    assert_eq!(vector.format(), &format("SparseVector"));
    assert_eq!(entries(&vector), [(vec![1], 1.5), (vec![3], 3.0)]);
    let dense = ReadOptions::default().with_format(format("DenseVector"));
    let dense = read(&path, &dense).unwrap();
    assert_eq!(dense.values().typed::<f64>().unwrap(), [0.0, 1.5, 0.0, 3.0]);
}

/// Whatever the shape of a tensor without elements, it is written and read back, or the kind of file is
/// said not to hold it.
#[test]
fn empty_tensors_of_any_shape_are_written_and_read_back() {
    let folder = folder();
    let wide = 1 << 32;
    for shape in [
        vec![0],
        vec![0, 5],
        vec![5, 0],
        vec![0, 0],
        vec![wide, 0],
        vec![0, wide],
        vec![0, 3, 0],
        vec![0, wide, wide],
        vec![wide, 0, wide],
        vec![wide, wide, 0],
    ] {
        let none = Coo::new(shape.clone(), vec![Vec::<i64>::new(); shape.len()], Vec::<f64>::new())
            .unwrap();
        let coordinates = Format::resolve("COO", Some(shape.len())).unwrap();
        let tensor = Tensor::from_coo(&none, &coordinates).unwrap();
        for kind in ["mtx", "mtx.gz", "tns", "npy", "npz", "ust.npz"] {
            let path = folder.path().join(format!("empty.{kind}"));
            match write(&path, &tensor) {
                Ok(()) => {}
                Err(FileError::Unsupported { reason, .. }) => {
                    let huge = shape.len() == 3 && shape.contains(&wide) && kind == "npy";
                    let cube = shape.len() == 3 && kind.starts_with("mtx");
                    assert!(huge || cube, "{shape:?} as {kind}: {reason}");
                    continue;
                }
                Err(error) => panic!("{shape:?} as {kind}: {error}"),
            }
            let back = load(&path).unwrap();
            // Matrix Market has columns for vectors.
            let column = kind.starts_with("mtx") && shape.len() == 1;
            let expected = if column { vec![shape[0], 1] } else { shape.clone() };
            assert_eq!((back.shape(), back.nse()), (&expected[..], 0), "{shape:?} as {kind}");
        }
    }
}

#[test]
fn a_missing_folder_is_told_by_its_name() {
    let folder = folder();
    let tensor = tensor(&[4], Dtype::F64, "SparseVector");
    for kind in ["mtx", "mtx.gz", "tns", "npy", "npz", "ust.npz"] {
        let path = folder.path().join("nosuch").join(format!("a.{kind}"));
        let error = write(&path, &tensor).unwrap_err();
        assert!(matches!(error, FileError::Io { action: "write", .. }), "{error}");
        let missing = format!("there is no folder `{}`", folder.path().join("nosuch").display());
        assert!(error.to_string().contains(&missing), "{error}");
    }
}
