//! Tensors through files of every kind.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ust::io::npz::{self, Archive, Blocks, Compressed, Diagonals, Member, Members};
use ust::io::{self, DenseArray, FileError, ReadOptions};
use ust::level_api::scalar::{Complex, bf16};
use ust::lower::view::Window;
use ust::tensor::{BuildOptions, Parts};
use ust::{Coo, Dtype, Format, Scalar, Tensor, Values};

fn format(text: &str) -> Format {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Numbers that look random and are the same everywhere.
fn mix(n: u64) -> u64 {
    let z = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Some entries of a tensor of that shape, each place at most once.
fn sample(shape: &[usize], dtype: Dtype) -> Coo {
    let cells: usize = shape.iter().product();
    let places: Vec<usize> = (0..cells).filter(|&c| mix(c as u64 + 1).is_multiple_of(3)).collect();
    let crd = (0..shape.len())
        .map(|dim| {
            let stride: usize = shape[dim + 1..].iter().product();
            places.iter().map(|place| (place / stride % shape[dim]) as i64).collect()
        })
        .collect();
    let numbers: Vec<u8> = places.iter().map(|&c| 1 + (mix(c as u64 + 7) % 100) as u8).collect();
    let values = match dtype {
        Dtype::Bool => vec![true; places.len()].into(),
        _ => Values::from(numbers).cast(dtype).unwrap(),
    };
    Coo::new(shape.to_vec(), crd, values).unwrap()
}

fn tensor(shape: &[usize], dtype: Dtype, text: &str) -> Tensor {
    let format = Format::resolve(text, Some(shape.len())).unwrap_or_else(|e| panic!("{e}"));
    Tensor::from_coo(&sample(shape, dtype), &format).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Reads the file in the tensor's format and dtype.
fn back(path: &Path, like: &Tensor) -> Tensor {
    let options =
        ReadOptions::default().with_format(like.format().clone()).with_shape(like.shape());
    let found = io::read(path, &options).unwrap_or_else(|e| panic!("{e}"));
    found.cast(like.dtype()).unwrap_or_else(|e| panic!("{e}"))
}

const MATRIX_FORMATS: &[&str] = &[
    "Dense",
    "DenseCol",
    "CSR",
    "CSC",
    "DCSR",
    "DCSC",
    "CROW",
    "COO",
    "COO(col-major)",
    "DIA-I",
    "DIA-J",
    "ANTI-DIA-I",
    "BSR(2, 3)",
    "BSR(3, 2)",
    "BSC(2, 2)",
    "Strips(2)",
    "(i, j) -> (i : dense, j : compressed), posWidth = 64, crdWidth = 8",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))",
];

#[test]
fn a_matrix_in_any_format_survives_every_kind_of_file() {
    let folder = folder();
    for text in MATRIX_FORMATS {
        for shape in [[4, 6], [1, 1], [7, 5], [3, 0]] {
            let a = tensor(&shape, Dtype::F64, text);
            for name in ["a.mtx", "a.mtx.gz", "a.tns", "a.tns.gz", "a.npy", "a.npz", "a.ust.npz"] {
                let path = folder.path().join(name);
                io::write(&path, &a).unwrap_or_else(|e| panic!("{text}: {e}"));
                let b = back(&path, &a);
                assert_eq!(
                    b.to_dense::<f64>().unwrap(),
                    a.to_dense::<f64>().unwrap(),
                    "{text} {name}"
                );
                assert_eq!(b.format(), a.format());
            }
        }
    }
}

#[test]
fn tensors_of_any_rank_survive_the_files_that_hold_them() {
    let folder = folder();
    for (shape, text) in [
        (vec![], "Scalar"),
        (vec![9], "SparseVector"),
        (vec![9], "DenseVector"),
        (vec![3, 4, 5], "CSF"),
        (vec![3, 4, 5], "COO"),
        (vec![2, 3, 2, 3], "COO"),
    ] {
        let a = tensor(&shape, Dtype::I32, text);
        for name in ["a.tns", "a.npy", "a.npz", "a.ust.npz"] {
            if shape.is_empty() && name == "a.npz" {
                continue;
            }
            let path = folder.path().join(name);
            io::write(&path, &a).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(back(&path, &a), a, "{text} {name}");
        }
    }
}

#[test]
fn own_files_keep_everything() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    let keeps = |a: &Tensor| {
        io::write(&path, a).unwrap_or_else(|e| panic!("{e}"));
        let b = io::read(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(&b, a);
        assert_eq!(b.format().to_string(), a.format().to_string());
        for (x, y) in b.levels().iter().zip(a.levels()) {
            assert_eq!(x.0, y.0, "the same arrays in the same widths");
        }
    };
    for &dtype in Dtype::ALL {
        for text in ["CSR", "Dense", "BSR(2, 2)", "COO"] {
            keeps(&tensor(&[5, 4], dtype, text));
        }
    }
    for text in MATRIX_FORMATS {
        keeps(&tensor(&[6, 5], Dtype::F32, text));
    }
    for widths in ["posWidth = 8, crdWidth = 8", "posWidth = 16, crdWidth = 32", "crdWidth = 64"] {
        keeps(&tensor(
            &[6, 5],
            Dtype::F64,
            &format!("(i, j) -> (i : dense, j : compressed), {widths}"),
        ));
    }
    let pruned =
        Coo::new(vec![2, 8], vec![vec![0, 0, 1, 1], vec![1, 6, 0, 3]], vec![1.0, 2.0, 3.0, 4.0]);
    let packed = "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4)), crdWidth = 2";
    keeps(&Tensor::from_coo(&pruned.unwrap(), &format(packed)).unwrap());
    let twice = Coo::new(vec![2, 2], vec![vec![1, 1], vec![0, 0]], vec![1.0, 2.0]).unwrap();
    let uncoalesced = format("(i, j) -> (i : dense, j : compressed(nonunique))");
    keeps(&Tensor::from_coo(&twice, &uncoalesced).unwrap());
    let filled = BuildOptions { fill: Some(Scalar::F64(-1.5)), ..Default::default() };
    keeps(&Tensor::from_coo_with(&twice, &format("CSR"), &filled).unwrap());
    let special = vec![f64::NAN, f64::INFINITY, -0.0];
    let special = Coo::new(vec![3], vec![vec![0, 1, 2]], special).unwrap();
    keeps(&Tensor::from_coo(&special, &format("SparseVector")).unwrap());
    keeps(&Tensor::zeros(&[0, 7, 0], &format("CSF"), Dtype::Bf16).unwrap());
    keeps(&Tensor::from_scalar(Scalar::Complex64(Complex::new(1.0, -2.0))).unwrap());
}

#[test]
fn a_sliced_view_is_written_as_what_it_shows() {
    let folder = folder();
    let a = tensor(&[6, 8], Dtype::F64, "CSR");
    let windows =
        [Window { offset: 1, size: 2, stride: 3 }, Window { offset: 2, size: 6, stride: 1 }];
    let view = a.slice(&windows).unwrap();
    for name in ["a.mtx", "a.tns", "a.npy", "a.npz", "a.ust.npz"] {
        let path = folder.path().join(name);
        io::write(&path, &view).unwrap_or_else(|e| panic!("{e}"));
        let found = io::read(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(found.to_dense::<f64>().unwrap(), view.to_dense::<f64>().unwrap(), "{name}");
    }
}

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
fn through(archive: Archive, options: &ReadOptions) -> Result<Tensor, FileError> {
    let folder = folder();
    let path = folder.path().join("a.npz");
    npz::write(&path, archive).unwrap();
    io::read(&path, options)
}

fn csr(indptr: &[i32], indices: &[i32], data: &[f64]) -> Archive {
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
        Tensor::from_coo_with(&sample(&[2, 2], Dtype::F64), &format("CSR"), &filled).unwrap();
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
    let a = Tensor::from_coo(&coo, &format("COO")).unwrap();
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

fn own() -> Members {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    io::write(&path, &tensor(&[4, 6], Dtype::F64, "CSR")).unwrap();
    npz::read_members(&path, &ReadOptions::default()).unwrap()
}

fn read_own(members: &Members) -> Result<Tensor, FileError> {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    npz::write_members(&path, members).unwrap();
    io::read(&path, &ReadOptions::default())
}

#[test]
fn own_files_are_readable_from_numpy_by_their_members() {
    let names: Vec<String> = own().into_vec().into_iter().map(|(name, _)| name).collect();
    let expected =
        ["version", "format", "shape", "dtype", "fill", "values", "level1.pos", "level1.crd"];
    assert_eq!(names, expected);
    assert_eq!(own().get("format"), Some(&"(i, j) -> (i : dense, j : compressed)".into()));
}

#[test]
fn own_files_that_are_changed_are_refused() {
    for (name, _) in own().into_vec() {
        let mut members = own();
        members.remove(&name);
        let error = read_own(&members).unwrap_err().to_string();
        assert!(error.contains(&format!("member `{name}`: the archive lacks")), "{error}");
    }
    let single = |value: i64| DenseArray { shape: vec![], values: vec![value].into() };
    for (name, member, reason) in [
        ("version", single(2).into(), "newer program"),
        ("format", "(i, j) -> (i : dens, j : compressed)".into(), "dens"),
        ("format", single(0).into(), "a text was expected"),
        ("format", "(i, j) -> (i : dense, j : dense)".into(), "no place for this member"),
        (
            "format",
            "(i, j) -> (i : compressed, j : compressed)".into(),
            "`level0.pos`: the archive lacks",
        ),
        ("shape", Values::from(vec![4_i64, 2]).into(), "crd"),
        ("shape", Values::from(vec![4_i64]).into(), "dimensions"),
        ("shape", Values::from(vec![4_i64, -6]).into(), "sizes from 0"),
        ("shape", Values::from(vec![4.0, 6.0]).into(), "64-bit integers"),
        ("dtype", "f99".into(), "unknown dtype"),
        ("dtype", "f32".into(), "f64 values, where `dtype` says f32"),
        ("fill", Values::from(vec![0.0]).into(), "rank 0"),
        ("values", Values::from(vec![1.0]).into(), "1 values"),
        ("level1.pos", Values::from(vec![0_i32; 5]).into(), "expected 0 (the last of pos)"),
        ("level1.pos", Values::from(vec![0_i32, 1]).into(), "pos"),
        ("level1.crd", Values::from(vec![0.5]).into(), "integers were expected"),
        ("level1.crd", Values::from(vec![-1_i32]).into(), "crd"),
        ("level9.crd", Values::from(vec![0_i32]).into(), "no place for this member"),
        ("level1.crd.len", single(4).into(), "packed bytes were expected"),
    ] {
        let mut members = own();
        let member: Member = member;
        members.insert(name, member);
        let error = read_own(&members).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
}

#[test]
fn own_files_under_the_shorter_ending_say_so() {
    let folder = folder();
    let path = folder.path().join("a.npz");
    npz::write_members(&path, &own()).unwrap();
    let error = io::read(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("give the file that ending"), "{error}");
}

#[test]
fn bf16_is_stored_as_its_bits() {
    let folder = folder();
    let path = folder.path().join("a.ust.npz");
    let parts = Parts::new(vec![vec![]], vec![bf16::ONE, bf16::from_f32(-2.5)]);
    let a = Tensor::from_parts(&format("DenseVector"), &[2], parts).unwrap();
    io::write(&path, &a).unwrap();
    let members = npz::read_members(&path, &ReadOptions::default()).unwrap();
    assert_eq!(members.get("values"), Some(&Values::from(vec![0x3f80_u16, 0xc020]).into()));
    assert_eq!(io::read(&path, &ReadOptions::default()).unwrap(), a);
}

#[test]
fn real_matrices_survive_every_kind_of_file() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = folder();
    for name in ["pyamg_airfoil.mtx", "pyamg_helmholtz_2D.mtx.gz", "bcsstk13.mtx", "cryg2500.mtx"] {
        let path = data.join(name);
        if !path.exists() {
            eprintln!("skipped: {} is not at hand", path.display());
            continue;
        }
        for text in ["CSR", "CSC", "COO", "DIA-J"] {
            if text == "DIA-J" && name != "cryg2500.mtx" {
                continue;
            }
            let a = io::read(&path, &ReadOptions::default().with_format(format(text))).unwrap();
            for name in ["a.mtx.gz", "a.npz", "a.ust.npz"] {
                let path = folder.path().join(name);
                io::write(&path, &a).unwrap();
                assert_eq!(back(&path, &a), a, "{text} {name}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_level_array_makes_the_reader_panic(
        pos in prop::collection::vec(-1..12_i32, 0..7),
        crd in prop::collection::vec(-1..8_i32, 0..10),
        text in prop::sample::select(MATRIX_FORMATS.to_vec()),
    ) {
        let mut members = own();
        let text = Format::resolve(text, Some(2)).unwrap().to_string();
        members.insert("format", &text[..]);
        members.insert("values", Values::from(vec![1.0; crd.len()]));
        for level in 0..2 {
            members.insert(format!("level{level}.pos"), Values::from(pos.clone()));
            members.insert(format!("level{level}.crd"), Values::from(crd.clone()));
        }
        let _ = read_own(&members);
    }

    #[test]
    fn no_scipy_array_makes_the_reader_panic_or_lose_an_entry(
        indptr in prop::collection::vec(-1..5_i32, 0..5),
        indices in prop::collection::vec(-1..4_i32, 0..6),
    ) {
        let data = vec![1.0; indices.len()];
        let valid = indptr.len() == 3
            && indptr[0] == 0
            && indptr.is_sorted()
            && indptr[2] as usize <= indices.len()
            && indices[..indptr[2] as usize].iter().all(|c| (0..3).contains(c));
        match through(csr(&indptr, &indices, &data), &ReadOptions::default()) {
            Ok(found) => {
                prop_assert!(valid);
                let sum: f64 = found.values().typed::<f64>().unwrap().iter().sum();
                prop_assert_eq!(sum, f64::from(indptr[2]));
            }
            Err(error) => prop_assert!(!valid, "{}", error),
        }
    }
}
