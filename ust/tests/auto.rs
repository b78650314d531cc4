//! What `auto` chooses where there is a GPU: a virtual one, which says how fast it is.
#![cfg(feature = "gpu")]

use ust::gpu::{DeviceTensor, Gpu, emulator, tally};
use ust::{Backend, Error, Tensor, einsum};

const SPMV: &str = "y(i) = A(i,j) * x(j)";

fn matrix(format: &str, rows: usize, each: usize) -> Tensor {
    let text = format!("random({rows}x{rows}, nnz={}, seed=3)", rows * each);
    let coo = ust::generate::generate(&text).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

fn vector(length: usize) -> Tensor {
    let values: Vec<f64> = (0..length).map(|at| (at % 7) as f64 - 2.5).collect();
    Tensor::from_array(ust::ndarray::Array1::from(values).into_dyn()).unwrap()
}

/// The back end that `auto` takes, and the line in which `cuda` says what it offers.
fn auto(text: &str, a: &Tensor, x: &Tensor) -> (String, String) {
    let kernel = einsum(text).arg("A", a).arg("x", x).prepare().unwrap();
    let told = kernel.explain();
    let line = told.lines().find(|line| line.contains("asked       cuda: ")).unwrap();
    (kernel.backend().to_owned(), line.trim_start_matches("asked       cuda: ").to_owned())
}

/// In one test, as it begins in a process that has no GPU.
#[test]
fn auto_takes_a_gpu_where_that_is_quicker() {
    // SAFETY: no other test runs in this process.
    unsafe {
        std::env::set_var("UST_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/auto"));
    }
    let (a, x) = (matrix("CSR", 4000, 20), vector(4000));
    let (backend, said) = auto(SPMV, &a, &x);
    assert_eq!(
        (backend.as_str(), said.as_str()),
        ("jit", "on request only: this process has opened no GPU")
    );
    // Nobody looked for a driver: a virtual one can still take its place.
    let compiled = concat!(env!("CARGO_TARGET_TMPDIR"), "/auto/cuda");
    for file in std::fs::read_dir(compiled).into_iter().flatten().flatten() {
        if file.path().extension().is_some_and(|end| end == "cubin") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    if let Err(error) = emulator::install() {
        assert!(!error.to_string().contains("was asked for before"), "{error}");
        eprintln!("SKIPPED: {error}");
        return;
    }
    // What is in the memory of the host has a long way.
    let gpu = Gpu::open(0).unwrap();
    let (backend, said) = auto(SPMV, &a, &x);
    assert_eq!(backend, "jit", "{said}");
    assert!(said.contains("ms to copy 1008004 bytes to the device"), "{said}");

    // What is there has none, but a kernel that nobody compiled has.
    let [there_a, there_x] = [&a, &x].map(|tensor| gpu.upload(tensor).unwrap());
    let (backend, said) = auto("y(i) = A(i,j) * x(j) * 0.37", &a, &x);
    assert_eq!(backend, "jit", "{said}");
    assert!(
        said.contains("not compiled yet: that takes about 200 ms, and would pay after"),
        "{said}"
    );
    let run = || gpu.einsum(SPMV).arg("A", &there_a).arg("x", &there_x).run().unwrap();
    let y = run().download().unwrap();
    let before = tally();
    let (backend, said) = auto(SPMV, &a, &x);
    assert_eq!(backend, "cuda", "{said}");
    assert!(
        said.contains("operands are on the device") && said.ends_with("the least of all"),
        "{said}"
    );
    let found = einsum(SPMV).arg("A", &a).arg("x", &x).run().unwrap();
    assert_eq!(tally().uploads, before.uploads);
    assert!(tally().launches > before.launches);
    assert_eq!(found.values().typed::<f64>().unwrap(), y.values().typed::<f64>().unwrap());

    let here = einsum(SPMV).arg("A", &a).arg("x", &x).backend(Backend::Cpu).prepare().unwrap();
    assert_eq!(here.backend(), "jit");
    assert_eq!("cpu".parse::<Backend>().unwrap(), Backend::Cpu);

    // A result that nobody looked at stays there.
    let z = einsum(SPMV).arg("A", &a).arg("x", &x).run().unwrap();
    assert!(z.bytes_elsewhere() == 8 * 4000);
    let (backend, said) = auto(SPMV, &a, &z);
    assert_eq!(backend, "cuda", "{said}");
    assert!(z.bytes_elsewhere() == 8 * 4000, "planning fetches nothing");

    // Small tensors are the processor's wherever they are, and so is what is to have the bits of the loops.
    let (small, short) = (matrix("CSR", 40, 3), vector(40));
    let all: Vec<DeviceTensor> =
        [&small, &short].map(|tensor| gpu.upload(tensor).unwrap()).into_iter().collect();
    let (backend, said) = auto(SPMV, &small, &short);
    assert_eq!(backend, "jit", "{said}");
    drop(all);
    let strict = einsum(SPMV).arg("A", &a).arg("x", &x).strict().prepare().unwrap();
    assert_eq!(strict.backend(), "jit", "{}", strict.explain());

    // Where the device fails, what nobody asked it for is done by the processor; what somebody did is an error.
    let w = matrix("CSR", 4000, 19);
    let there_w = gpu.upload(&w).unwrap();
    let kernel = einsum(SPMV).arg("A", &w).arg("x", &x).prepare().unwrap();
    let asked =
        einsum(SPMV).arg("A", &w).arg("x", &x).backend(Backend::Named("cuda")).prepare().unwrap();
    assert_eq!(kernel.backend(), "cuda");
    let expected = kernel.run(&[&w, &x]).unwrap();
    let mut other = vector(4000);
    other.values_mut::<f64>().unwrap()[7] = 9.5;
    emulator::set_memory(1);
    // Copies that nobody uses are given up, and what the pool keeps.
    gpu.upload(&vector(1 << 20)).unwrap_err();
    let found = kernel.run(&[&w, &other]);
    let refused = asked.run(&[&w, &other]);
    emulator::set_memory(8 << 30);
    assert!(matches!(refused, Err(ust::ops::OpError::Tensor(Error::Device(_)))), "{refused:?}");
    let again = kernel.run(&[&w, &other]).unwrap();
    let numbers = |y: &Tensor| y.values().typed::<f64>().unwrap().to_vec();
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9);
    assert!(near(&numbers(&found.unwrap()), &numbers(&again)));
    assert!(!near(&numbers(&expected), &numbers(&again)));
    drop(there_w);

    // What recurs is copied after some runs, and has been copied then. What is new each time is not.
    let run = |a: &Tensor| einsum(SPMV).arg("A", a).arg("x", &x).run().unwrap();
    let (b, before) = (matrix("CSR", 4000, 18), tally().uploads);
    let expected = einsum(SPMV).arg("A", &b).arg("x", &x).backend(Backend::Cpu).run().unwrap();
    let mut runs = 0;
    while tally().uploads == before && runs < 100 {
        assert!(near(&numbers(&run(&b)), &numbers(&expected)));
        runs += 1;
    }
    assert!((8..50).contains(&runs), "{runs} runs");
    let (backend, said) = auto(SPMV, &b, &x);
    assert!(backend == "cuda" && said.contains("operands are on the device"), "{said}");
    let before = tally().uploads;
    assert!(near(&numbers(&run(&b)), &numbers(&expected)));
    for _ in 0..40 {
        run(&matrix("CSR", 4000, 18));
    }
    assert_eq!(tally().uploads, before);
}
