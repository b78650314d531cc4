//! Every text is compiled by NVRTC, for several architectures. No device is needed.

use std::sync::atomic::{AtomicUsize, Ordering};

use ust::gpu::cuda::{CudaError, compiler_log, compiler_version};

use crate::cases::CASES;

const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

/// Kernels that must keep all their variables in registers begin so.
const IN_REGISTERS: [&str; 4] = ["spmv", "spmm", "sddmm", "spgemm"];

#[test]
fn each_text_compiles() {
    match compiler_version() {
        Ok(_) => {}
        Err(error @ CudaError::NoCompiler) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    }
    // Two at a time.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
            for architecture in ARCHITECTURES {
                let options = ["--ptxas-options=-v".to_owned()];
                let log = compiler_log(&case.text(), &options, architecture)
                    .unwrap_or_else(|error| panic!("{}, {architecture}: {error}", case.name));
                looks_well(case.name, architecture, &log);
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        other.join().unwrap();
    });
}

/// No warnings, and no spills where there should be none.
fn looks_well(name: &str, architecture: &str, log: &str) {
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("warning")).collect();
    assert!(warnings.is_empty(), "{name}, {architecture}: {warnings:#?}");
    let spills: Vec<&str> = log.lines().filter(|line| line.contains("bytes spill")).collect();
    assert!(!spills.is_empty(), "{name}, {architecture}: nothing is said of spills: {log}");
    if IN_REGISTERS.iter().any(|begin| name.starts_with(begin)) {
        let none = |line: &&&str| !line.contains(" 0 bytes spill stores, 0 bytes spill loads");
        let spilled: Vec<_> = spills.iter().filter(none).collect();
        assert!(spilled.is_empty(), "{name}, {architecture}: {spilled:#?}");
    }
}
