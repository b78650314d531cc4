//! The level types of `examples/c_plugin`, which are written in C, are as good as any.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ust::level_api::registry::factories;
use ust::{Coo, Format, Tensor, einsum, io};
use ust_conformance::{Options, run};
use ust_plugin::load;

mod shared;

/// The library, if there is a C compiler: made and loaded once.
fn loaded() -> bool {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/c_plugin/levels.c");
    let library = LIBRARY.get_or_init(|| shared::library(&source, "levels", &[]));
    // Whoever loads it again gets the same names.
    library.as_ref().is_some_and(|library| load(library).unwrap() == ["gap", "counted"])
}

fn format(level: &str) -> Format {
    format!("(i, j) -> (i : dense, j : {level})").parse().unwrap()
}

#[test]
fn they_conform() {
    if !loaded() {
        return;
    }
    for level in ["gap", "counted"] {
        // Of operations, which take longest, some.
        let level = Some(level.to_owned());
        let options = Options { level, quick: true, one_in: 8, ..Options::default() };
        run(&options, &|_, _| {}).assert_passed();
    }
}

#[test]
fn they_store_what_their_drawings_show() {
    if !loaded() {
        return;
    }
    let crd = vec![vec![0, 0, 1, 1], vec![0, 3, 1, 7]];
    let coo = Coo::new(vec![2, 8], crd, vec![1.0, 2.0, 4.0, 5.0]).unwrap();
    let arrays = |level: &str, names: &[&str]| {
        let tensor = Tensor::from_coo(&coo, format(level)).unwrap();
        assert_eq!(tensor.to_coo().unwrap(), coo);
        names.iter().map(|name| tensor.level_array(1, name).unwrap().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(arrays("gap(3)", &["pos", "gap"]), [vec![0, 2, 5], vec![0, 2, 1, 3, 1]]);
    let counted = arrays("counted", &["start", "count", "crd"]);
    assert_eq!(counted, [vec![0, 2], vec![2, 2], vec![0, 3, 1, 7]]);
}

#[test]
fn entries_are_inserted_into_gaps_and_removed_in_place() {
    if !loaded() {
        return;
    }
    let crd = vec![vec![0, 0, 1, 1], vec![0, 3, 1, 7]];
    let coo = Coo::new(vec![2, 8], crd, vec![1.0, 2.0, 4.0, 5.0]).unwrap();
    let mut a = Tensor::from_coo(&coo, format("counted")).unwrap();
    let array = |a: &Tensor, name: &str| a.level_array(1, name).unwrap().to_vec();
    // There is no gap: built anew, with room.
    a.insert(&[0, 2], 6.0).unwrap();
    assert_eq!((array(&a, "start"), array(&a, "count")), (vec![0, 8], vec![3, 2]));
    assert_eq!(array(&a, "crd")[..3], [0, 2, 3]);
    // In place: a clone has the same arrays before.
    let before = a.clone();
    a.insert(&[0, 1], 7.0).unwrap();
    a.insert(&[1, 0], 8.0).unwrap();
    a.remove(&[0, 2]).unwrap();
    assert_eq!((array(&a, "start"), array(&a, "count")), (vec![0, 8], vec![3, 3]));
    assert_eq!(
        (&array(&a, "crd")[..3], &array(&a, "crd")[8..11]),
        (&[0, 1, 3][..], &[0, 1, 7][..])
    );
    let crd = vec![vec![0, 0, 0, 1, 1, 1], vec![0, 1, 3, 0, 1, 7]];
    let values = vec![1.0, 7.0, 2.0, 8.0, 4.0, 5.0];
    assert_eq!(a.to_coo().unwrap(), Coo::new(vec![2, 8], crd, values).unwrap());
    assert_eq!(before.nse(), a.nse());
    assert_eq!(before.get_as::<f64>(&[0, 2]).unwrap(), 6.0);
}

#[test]
fn places_between_far_coordinates_hold_padding() {
    if !loaded() {
        return;
    }
    let crd = vec![vec![0, 0, 0], vec![255, 256, 2000]];
    let coo = Coo::new(vec![1, 2001], crd, vec![1.0, 2.0, 3.0]).unwrap();
    let tensor = Tensor::from_coo(&coo, format("gap(255)")).unwrap();
    let gaps = tensor.level_array(1, "gap").unwrap().to_vec();
    assert_eq!(gaps, [255, 0, 255, 255, 255, 255, 255, 255, 207]);
    assert_eq!(tensor.to_coo().unwrap(), coo);
    assert_eq!(tensor.convert("CSC").unwrap().to_coo().unwrap().len(), 3);
}

#[test]
fn every_back_end_multiplies_them() {
    if !loaded() {
        return;
    }
    let coo = ust::generate::generate("random(60x700, nnz=2000)").unwrap();
    let csr = Tensor::from_coo(&coo, "CSR").unwrap();
    let x = ndarray::Array1::from_iter((0..700).map(|at| f64::from(at % 17) - 8.0));
    let product = |a: &Tensor, backend: &str| {
        let product = einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x);
        product.backend(backend.parse().unwrap()).run().unwrap().to_dense::<f64>().unwrap()
    };
    let expected = product(&csr, "interp");
    for level in ["gap(255)", "counted"] {
        let tensor = csr.convert(format(level)).unwrap();
        for backend in ["interp", "jit", "auto"] {
            let error = (product(&tensor, backend) - &expected).mapv(f64::abs).sum();
            assert!(error <= 1e-12 * expected.mapv(f64::abs).sum(), "{level} {backend}: {error}");
        }
    }
}

#[test]
fn files_and_pictures_have_them() {
    if !loaded() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ust.npz");
    let coo = ust::generate::generate("poisson2d(4)").unwrap();
    for level in ["gap(255)", "counted"] {
        let tensor = Tensor::from_coo(&coo, format(level)).unwrap();
        io::write(&path, &tensor).unwrap();
        let read = io::read(&path, &io::ReadOptions::default()).unwrap();
        assert_eq!((read.format(), read.to_coo().unwrap()), (tensor.format(), coo.clone()));
        let picture = ust::draw::svg(&tensor, &ust::draw::SvgOptions::default()).unwrap();
        assert!(picture.contains(level), "{picture}");
    }
}

#[test]
fn they_are_registered_and_refuse_arguments() {
    if !loaded() {
        return;
    }
    let known = factories();
    let gap = known.iter().find(|factory| factory.name == "gap").unwrap();
    assert_eq!(gap.summary, "how many coordinates are left out before each, in a byte");
    for (level, told) in [
        ("gap(0)", "it takes the largest gap, from 1 to 255"),
        ("gap", "it takes the largest gap"),
        ("gap(wide)", "it takes the largest gap"),
        ("counted(1)", "it takes no arguments"),
    ] {
        let error = format!("(i, j) -> (i : dense, j : {level})").parse::<Format>().unwrap_err();
        assert!(error.to_string().contains(told), "{level}: {error}");
    }
}

#[test]
fn they_compete_where_they_say_so() {
    if !loaded() {
        return;
    }
    let tensor =
        |text: &str| Tensor::from_coo(&ust::generate::generate(text).unwrap(), "CSR").unwrap();
    let proposes = |text: &str| {
        let (candidates, _) = ust::advise::catalogue(&ust::advise::stats(&tensor(text)).unwrap());
        candidates.iter().any(|c| c.origin == ust::advise::Origin::Level("gap"))
    };
    assert!(proposes("random(40x40, nnz=400)"));
    assert!(!proposes("random(2x4000, nnz=8)"));
}
