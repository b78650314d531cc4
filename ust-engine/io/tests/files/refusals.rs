//! What cannot be read or written is refused, and nothing is lost.

use std::path::{Path, PathBuf};

use ust::io::{self, FileError, ReadOptions};
use ust::tensor::BuildOptions;
use ust::{Coo, Dtype, Scalar, Tensor};

use crate::common::*;

#[test]
fn a_column_is_a_vector_where_the_shape_says_so() {
    let folder = folder();
    let path = folder.path().join("x.mtx");
    let x = tensor(&[9], Dtype::F64, "SparseVector");
    io::write(&path, &x).unwrap();
    assert_eq!(io::read(&path, &ReadOptions::default()).unwrap().shape(), [9, 1]);
    assert_eq!(back(&path, &x), x);
    std::fs::write(&path, "%%MatrixMarket matrix array real general\n3 1\n1\n0\n3\n").unwrap();
    let found = io::read(&path, &ReadOptions::default().with_shape([3])).unwrap();
    assert_eq!((found.shape(), found.nse()), (&[3][..], 3));
    let error = io::read(&path, &ReadOptions::default().with_shape([4])).unwrap_err();
    assert!(error.to_string().contains("the file holds a tensor of shape [3, 1]"), "{error}");
}

#[test]
fn what_a_file_cannot_hold_is_refused_and_leaves_the_old_one() {
    let folder = folder();
    let filled = BuildOptions { fill: Some(Scalar::F64(1.0)), ..Default::default() };
    let filled =
        Tensor::from_coo_with(&sample(&[2, 2], Dtype::F64), format("CSR"), &filled).unwrap();
    let complex = tensor(&[2, 2], Dtype::Complex128, "CSR");
    let bf16s = tensor(&[2, 2], Dtype::Bf16, "CSR");
    let cube = tensor(&[2, 2, 2], Dtype::F64, "CSF");
    let scalar = tensor(&[], Dtype::F64, "Scalar");
    for (a, name, reason) in [
        (&filled, "a.mtx", "write .npy or .ust.npz"),
        (&filled, "a.tns", "write .npy or .ust.npz"),
        (&filled, "a.npz", "write .npy or .ust.npz"),
        (&complex, "a.tns", "complex"),
        (&bf16s, "a.npy", "cast to f32"),
        (&bf16s, "a.npz", "cast to f32"),
        (&cube, "a.mtx", "rank 3"),
        (&scalar, "a.npz", "rank 0"),
        (&cube, "a.csv", "known are .mtx"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, "old").unwrap();
        let error = io::write(&path, a).unwrap_err();
        assert!(error.to_string().contains(reason), "{name}: {error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old", "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5, "nothing else is left behind");
}

#[test]
fn an_implausibly_large_dense_array_is_refused() {
    let folder = folder();
    let coo = Coo::new(vec![10_000_000, 10_000_000], vec![vec![0], vec![0]], vec![1.0]).unwrap();
    let a = Tensor::from_coo(&coo, format("COO")).unwrap();
    let path = folder.path().join("a.npy");
    assert!(matches!(io::write(&path, &a), Err(FileError::Tensor { .. })));
    assert!(!path.exists());
}

#[test]
fn files_that_are_not_there_or_have_no_known_name_say_so() {
    let error = io::read(Path::new("no/such.mtx"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, FileError::Io { .. }) && error.to_string().contains("no/such.mtx"));
    let error = io::read(Path::new("a.csv"), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains(".ust.npz"), "{error}");
    let error = io::write(Path::new("no/such/a.npy"), &tensor(&[2], Dtype::F64, "DenseVector"));
    assert!(matches!(error, Err(FileError::Io { .. })));
}

#[test]
fn a_written_file_may_be_read_by_whom_any_new_file_may_be() {
    let folder = folder();
    let (ours, theirs) = (folder.path().join("a.tns"), folder.path().join("b"));
    io::write(&ours, &tensor(&[2], Dtype::F64, "DenseVector")).unwrap();
    std::fs::write(&theirs, "").unwrap();
    let permissions = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions();
    assert_eq!(permissions(&ours), permissions(&theirs));
}
