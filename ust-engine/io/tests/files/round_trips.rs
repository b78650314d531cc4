//! Tensors survive the files that hold them.

use std::path::Path;

use proptest::prelude::*;
use ust::io::{self, ReadOptions};
use ust::tensor::Window;
use ust::{Dtype, Format, Values};

use crate::common::*;
use crate::own::{own, read_own};
use crate::scipy::{csr, through};

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
fn a_sliced_view_is_written_as_what_it_shows() {
    let folder = folder();
    let a = tensor(&[6, 8], Dtype::F64, "CSR");
    let windows =
        [Window { offset: 1, size: 2, stride: 3 }, Window { offset: 2, size: 6, stride: 1 }];
    let view = a.slice(windows).unwrap();
    for name in ["a.mtx", "a.tns", "a.npy", "a.npz", "a.ust.npz"] {
        let path = folder.path().join(name);
        io::write(&path, &view).unwrap_or_else(|e| panic!("{e}"));
        let found = io::read(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(found.to_dense::<f64>().unwrap(), view.to_dense::<f64>().unwrap(), "{name}");
    }
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
