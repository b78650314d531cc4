//! CUDA C++ of some expressions: a change of what is generated shows here. Each text is compiled by NVRTC for
//! several architectures where it can be had, in `compiled.rs`.
//!
//! With `UST_WRITE_TEXTS=1` in the environment, the files in `texts/` are written anew: look at the difference.
#![cfg(feature = "gpu")]

mod cases;
mod compiled;

use std::fs;
use std::path::PathBuf;

use ust::gpu::prelude;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/texts")
}

#[test]
fn each_expression_has_its_text() {
    let writes = std::env::var_os("UST_WRITE_TEXTS").is_some();
    let mut wrong = Vec::new();
    for case in cases::CASES {
        let text = case.text();
        let end = text.find(prelude::END).expect("a prelude") + prelude::END.len();
        let own = text[end..].trim_start();
        let file = folder().join(format!("{}.cu", case.name));
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if own == expected {
            continue;
        }
        match writes {
            true => fs::write(&file, own).unwrap(),
            false => wrong.push(format!("{}.cu is now\n{own}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_other_text_is_kept() {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let names = files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned());
    for name in names {
        assert!(cases::CASES.iter().any(|case| case.name == name), "{name}.cu is of no case");
    }
}
