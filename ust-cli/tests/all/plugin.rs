//! `--plugin` loads level types from shared libraries.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::process::Command;

use super::common::{ust, ust_in};

/// Makes the library of `examples/c_plugin`. `None`, said aloud, where there is no C compiler.
fn library(folder: &Path) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library = folder.join(format!("{DLL_PREFIX}levels{DLL_SUFFIX}"));
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&cc);
    command.args(["-shared", "-fPIC", "-I"]).arg(root.join("ust-plugin/include"));
    let ran = command.arg("-o").arg(&library).arg(root.join("examples/c_plugin/levels.c")).output();
    match ran {
        Err(error) => {
            eprintln!("skipped: `{cc}` does not start ({error}); plug-ins are not tried");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(library.to_str().unwrap().to_owned())
        }
    }
}

#[test]
fn level_types_of_a_library_are_known_to_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = library(folder.path()) else { return };
    let plugin = ["--plugin", &library];
    let with = |args: &[&str]| ust_in(folder.path(), &[&plugin[..], args].concat());
    let format = "(i, j) -> (i : dense, j : gap(255))";

    assert!(with(&["levels"]).done().contains("\ngap: how many coordinates are left out"));
    assert!(with(&["format", format]).done().contains(format));
    let shown = with(&["show", "gen:poisson2d(2)", "--format", format]).done();
    assert!(shown.contains("gap") && shown.contains("j : gap(255)"), "{shown}");
    with(&["convert", "gen:poisson2d(3)", "a.ust.npz", "--format", format]).done();
    let told = with(&["info", "a.ust.npz"]).done();
    assert!(told.contains(format), "{told}");
    let product = ["run", "y(i) = A(i,j) * x(j)", "A=a.ust.npz", "x=gen:ones(9)", "--check"];
    with(&product).done();
    // Without the library, nobody knows the level type.
    let alone = ust_in(folder.path(), &["info", "a.ust.npz"]);
    assert_eq!(alone.code, Some(2));
    assert!(alone.stderr.contains("unknown level type `gap`"), "{}", alone.stderr);
}

#[test]
fn a_library_that_cannot_be_loaded_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text.so"), "no library").unwrap();
    for file in ["./missing.so", "./text.so"] {
        let ran = ust_in(folder.path(), &["--plugin", file, "levels"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
        assert!(ran.stderr.contains(&format!("cannot load {file}")), "{}", ran.stderr);
        let ran = ust_in(folder.path(), &["--plugin", file, "levels", "--json"]);
        assert!(ran.stdout.contains("\"error\""), "{}", ran.stdout);
    }
}

#[test]
fn libraries_stand_before_the_command() {
    let ran = ust(&["--plugin", "./first.so", "--plugin", "./second.so", "levels"]);
    assert!(ran.stderr.contains("cannot load ./first.so"), "{}", ran.stderr);
    let ran = ust(&["levels", "--plugin", "./first.so"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("unexpected argument '--plugin'"), "{}", ran.stderr);
}
