//! Level types from a shared library run on a GPU: here on a virtual one, which looks at every access.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use ust::gpu::{Gpu, conversion_text, emulator, tally};
use ust::{Backend, Format, Tensor};
use ust_conformance::{Options, run};

/// Where compiled kernels are kept.
const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// The library of `examples/c_plugin`; says so if there is no C compiler.
fn library() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{DLL_PREFIX}levels{DLL_SUFFIX}"));
    let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    cc.args(["-shared", "-fPIC", "-I"]).arg(root.join("ust-plugin/include"));
    cc.arg("-o").arg(&library).arg(root.join("examples/c_plugin/levels.c"));
    match cc.output() {
        Err(error) => {
            eprintln!("SKIPPED: no C compiler ({error})");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(library)
        }
    }
}

#[test]
fn they_run_on_a_gpu_and_are_converted_there_and_back() {
    let Some(library) = library() else { return };
    // SAFETY: this is the only test of its process.
    unsafe { std::env::set_var("UST_CACHE_DIR", CACHE) };
    if let Err(error) = emulator::install() {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let gpu = Gpu::open(0).unwrap();
    let names = ust::plugin::load(&library).unwrap();
    for name in &names {
        let before = tally().launches;
        let options = Options {
            level: Some((*name).to_owned()),
            group: Some("ops".to_owned()),
            quick: true,
            backend: Some(Backend::Named("cuda")),
            one_in: 40,
            ..Options::default()
        };
        run(&options, &|_, _| {}).assert_passed();
        // What is refused counts as passed: most must have run.
        assert!(tally().launches - before > 10, "{name}: {}", tally().launches - before);
    }
    let coo = ust::generate::generate("random(20x24, nnz=90)").unwrap();
    let csr: Format = "CSR".parse().unwrap();
    for level in ["gap(3)", "counted"] {
        let format: Format = format!("(i, j) -> (i : dense, j : {level})").parse().unwrap();
        let tensor = Tensor::from_coo(&coo, &format).unwrap();
        let plain = tensor.convert(&csr).unwrap();
        // From the level type: on the device. To it: here, where what is assembled is checked.
        assert!(conversion_text(&tensor, &csr).unwrap().is_some());
        assert_eq!(conversion_text(&plain, &format).unwrap(), None);
        let made = gpu.upload(&tensor).unwrap().convert(&csr).unwrap().download().unwrap();
        assert_eq!(made, plain, "{level}");
        let made = gpu.upload(&plain).unwrap().convert(&format).unwrap().download().unwrap();
        assert_eq!(made, tensor, "{level}");
    }
}
