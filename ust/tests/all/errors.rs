//! `unwrap` shows the message that a person is to read.

use std::path::Path;

use ust::io::npz::{Member, Members, write_members};
use ust::io::{DenseArray, ReadOptions};
use ust::level_api::LevelError;
use ust::{Format, Tensor};

#[test]
fn errors_are_debugged_as_they_are_displayed() {
    let format = "(i) -> (i : compresed)".parse::<Format>().unwrap_err();
    assert!(format!("{format:?}").contains("did you mean `compressed`?"));
    let file = ust::io::read(Path::new("nosuch.mtx"), &ReadOptions::default()).unwrap_err();
    let generated = ust::generate::generate("randm(3, 3)").unwrap_err();
    let op = ust::einsum("C(i) = A(i").run().unwrap_err();
    let engine = Tensor::from_scalar(1.0_f64.into()).unwrap().to_dense::<i8>().unwrap_err();
    let level = LevelError::Length { array: "crd".into(), found: 1, expected: "2".into() };
    for (debug, display) in [
        (format!("{format:?}"), format.to_string()),
        (format!("{file:?}"), file.to_string()),
        (format!("{generated:?}"), generated.to_string()),
        (format!("{op:?}"), op.to_string()),
        (format!("{engine:?}"), engine.to_string()),
        (format!("{level:?}"), level.to_string()),
    ] {
        assert_eq!(debug, display);
    }
}

#[test]
fn a_file_whose_level_type_is_not_linked_says_how_it_would_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.ust.npz");
    let version = DenseArray { shape: Vec::new(), values: vec![1_i64].into() };
    let mut members = Members::new();
    members.insert("version", Member::Array(version));
    members.insert("format", "(i, j) -> (i : dense, j : lace)");
    write_members(&path, &members).unwrap();
    let error = ust::io::read(&path, &ReadOptions::default()).unwrap_err().to_string();
    for part in [
        "unknown level type `lace`",
        "\n  (i, j) -> (i : dense, j : lace)\n                            ^~~~\n",
        "If another crate has `lace`, link it: a dependency in Cargo.toml, and `use that_crate as _;`. If a shared library has it, load that: `ust --plugin LIBRARY`, or `ust::plugin::load`",
    ] {
        assert!(error.contains(part), "{error}");
    }
}
