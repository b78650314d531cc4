//! Level types that no crate of the project knows run on a GPU: here on a virtual one, which looks at every access.

#[path = "strangers/mod.rs"]
mod levels;
#[path = "../../ust/tests/shared/runs.rs"]
mod runs;

use std::sync::OnceLock;

use ust::gpu::{Gpu, conversion_text, cuda, emulator, tally};
use ust::{Backend, Coo, Format, Tensor, einsum, tensor::Parts};
use ust_conformance::oracle::Random;
use ust_conformance::{Options, run};

/// Formats of matrices with the level type of this test, and with others whose loops are unusual.
const FORMATS: [&str; 12] = [
    "(i, j) -> (i : dense, j : band)",
    "(i, j) -> (i : band, j : compressed)",
    "(i, j) -> (i / 3 : dense, j / 2 : band, i % 3 : dense, j % 2 : dense)",
    "(i, j) -> (i : dense, j : ell(7))",
    "(i, j) -> (j : compressed, i : ell(7))",
    "(i, j) -> (i : dense, j : probed)",
    "(i, j) -> (j : probed, i : hashed)",
    "(i, j) -> (j - i : hashed, i : range)",
    "(i, j) -> (i : dense, j : bits)",
    "(i, j) -> (i : bits, j : delta(4))",
    "(i, j) -> (j : dense, i : delta(1))",
    "(i, j) -> (i : ell(30), j : band)",
];

/// Formats of others.
const KNOWN: [&str; 6] = ["CSR", "CSC", "COO", "Dense", "DIA", "BSR(2,3)"];

/// Where compiled kernels are kept.
const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// A virtual GPU; says so if there is none.
fn gpu() -> Option<Gpu> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: every test that uses it comes here first, and waits here for the first one.
        unsafe { std::env::set_var("UST_CACHE_DIR", CACHE) };
        emulator::install().inspect_err(|error| eprintln!("SKIPPED: {error}")).is_ok()
    });
    installed.then(|| Gpu::open(0).unwrap())
}

/// A matrix with at most 6 entries in a row or column.
fn matrix(format: &str, random: &mut Random) -> Tensor {
    let (rows, columns) = (20_u64, 24_u64);
    let (mut crd, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
    let steps: Vec<u64> = (0..6).map(|_| random.below(columns)).collect();
    for row in (0..rows).filter(|row| row % 5 != 3) {
        let mut own: Vec<u64> = steps.iter().map(|step| (row + step) % columns).collect();
        own.retain(|_| random.below(3) > 0);
        own.sort_unstable();
        own.dedup();
        for column in own {
            crd[0].push(row as i64);
            crd[1].push(column as i64);
            values.push(random.below(1000) as f64 - 499.5);
        }
    }
    let coo = Coo::new(vec![rows as usize, columns as usize], crd, values).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

#[test]
fn operations_pass() {
    if gpu().is_none() {
        return;
    }
    for name in levels::STRANGERS {
        let before = tally().launches;
        let options = Options {
            level: Some(name.to_owned()),
            group: Some("ops".to_owned()),
            quick: true,
            backend: Some(Backend::Named("cuda")),
            one_in: 40,
            ..Options::default()
        };
        let report = run(&options, &|_, _| {});
        println!("{name}: {} launches\n{report}", tally().launches - before);
        report.assert_passed();
        // What is refused counts as passed: most must have run.
        assert!(tally().launches - before > 20, "{name}");
    }
}

#[test]
fn tensors_are_converted_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random::new(1);
    let all = || FORMATS.iter().chain(&KNOWN);
    for from in all() {
        let tensor = matrix(from, &mut random);
        for to in all().filter(|to| FORMATS.contains(from) || FORMATS.contains(to)) {
            let format: Format = to.parse().unwrap();
            let there = gpu.upload(&tensor).unwrap();
            let text = conversion_text(&tensor, &format).unwrap();
            assert!(text.is_some(), "{from} to {to} begins on the host");
            let made = there.convert(&format).unwrap().download().unwrap();
            assert_eq!(made, tensor.convert(&format).unwrap(), "{from} to {to}");
        }
    }
}

/// Each value stands for several elements.
#[test]
fn runs_are_read_by_kernels_and_converted_on_the_host() {
    let Some(gpu) = gpu() else { return };
    let format: Format = "(i, j) -> (i : dense, j : runs)".parse().unwrap();
    let (pos, first, run) = (vec![0_u32, 2, 2, 3], vec![1_u64, 5, 0], vec![3_u64, 2, 9]);
    let own = vec![pos.into(), first.into(), run.into()];
    let parts = Parts::new(vec![Vec::new(), own], vec![2.0, -3.0, 0.5]);
    let a = Tensor::from_parts(&format, &[3, 9], parts).unwrap();
    let x = Tensor::from_array(ust::ndarray::Array1::from_iter((0..9).map(f64::from)).into_dyn());
    let x = x.unwrap();
    let (there_a, there_x) = (gpu.upload(&a).unwrap(), gpu.upload(&x).unwrap());
    for text in ["y(i) = A(i,j) * x(j)", "y(j) = A(i,j)"] {
        let with_x = text.contains('x');
        let call = gpu.einsum(text).arg("A", &there_a);
        let call = if with_x { call.arg("x", &there_x) } else { call };
        let found = call.run().unwrap().download().unwrap();
        let call = einsum(text).arg("A", &a).backend(Backend::INTERPRETER);
        let call = if with_x { call.arg("x", &x) } else { call };
        assert_eq!(found, call.run().unwrap(), "{text}");
    }
    let csr = "CSR".parse().unwrap();
    assert_eq!(conversion_text(&a, &csr).unwrap(), None);
    let made = there_a.convert(&csr).unwrap().download().unwrap();
    assert_eq!(made, a.convert(&csr).unwrap());
}

#[test]
fn the_compiler_takes_their_kernels() {
    if let Err(error) = cuda::compiler_version() {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let mut random = Random::new(2);
    for format in FORMATS {
        let (a, b) = (matrix(format, &mut random), matrix("CSR", &mut random));
        let mut texts = Vec::new();
        for text in ["y(i) = A(i,j) * B(i,j)", "C(i,j) = A(i,j) + B(i,j)", "y(j) = A(i,j) * A(i,j)"]
        {
            let call = einsum(text).arg("A", &a);
            let call = if text.contains('B') { call.arg("B", &b) } else { call };
            let call = if text.starts_with('C') { call.format("CSR") } else { call };
            let kernel = call.backend(Backend::Named("cuda-text")).prepare().unwrap();
            texts.push(kernel.machine_code().unwrap());
        }
        texts.extend(conversion_text(&a, b.format()).unwrap());
        for text in texts {
            let log = cuda::compiler_log(&text, &[], "sm_90");
            let log = log.unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
            assert!(!log.contains("warning"), "{format}: {log}\n{text}");
        }
    }
}
