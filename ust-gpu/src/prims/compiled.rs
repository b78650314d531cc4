//! NVRTC itself takes every text, without warnings and spills, where it is installed: it needs no device.

use ust_cuda::{CudaError, compiler_log, compiler_version};
use ust_level_api::Dtype;

use super::combine::{Combination, comparing, rounding, text};
use super::{Text, assemble, bins, copy, moved, scan, segments, select, sort, types, whole};

/// Texts with the types that they are used with, each type once at least.
fn texts() -> Vec<(Text, String)> {
    let mut all = Vec::new();
    for (from, to) in [("u8", "u32"), ("u32", "i64"), ("i64", "u32"), ("u64", "i64")] {
        all.push((scan::TEXT, types([("From", from), ("To", to)])));
        all.push((bins::TEXT, types([("From", from), ("Element", to)])));
        all.push((segments::TEXT, types([("From", from), ("To", to)])));
    }
    for (bytes, place) in [(1, "u32"), (2, "i32"), (4, "u64"), (8, "i64"), (16, "u32")] {
        let element = moved(bytes).unwrap();
        let named = [("Element", element), ("Place", place), ("From", "i64"), ("To", "u32")];
        all.push((copy::TEXT, types(named)));
        all.push((select::TEXT, types(named)));
    }
    for (key, carried) in [("u8", "u32"), ("u32", "u32"), ("u64", "u32"), ("u64", "u64")] {
        let named =
            [("From", key), ("Element", carried), ("Coordinate", "i64"), ("Place", carried)];
        all.push((sort::TEXT, types(named)));
        let named = [("From", key), ("Coordinate", "i64"), ("To", carried)];
        all.push((assemble::TEXT, types(named)));
    }
    all.extend([rounding(Dtype::F16), rounding(Dtype::Bf16)]);
    for &dtype in Dtype::ALL {
        all.push(comparing(dtype));
        for operator in [Combination::Add, Combination::Mul, Combination::Min, Combination::Or] {
            all.extend(text(&operator, dtype, "u32").ok());
        }
    }
    all
}

#[test]
fn nvrtc_takes_every_text_without_warnings_and_spills() {
    match compiler_version() {
        Err(CudaError::NoCompiler) => return eprintln!("SKIPPED: NVRTC is not installed"),
        version => println!("NVRTC {:?}", version.unwrap()),
    }
    // One after another: compiling takes a while.
    let architectures = ["sm_80", "sm_90", "sm_100"].into_iter().cycle();
    for ((text, head), architecture) in texts().into_iter().zip(architectures) {
        let options = ["--ptxas-options=-v".to_owned()];
        let log = compiler_log(&whole(text, &head), &options, architecture)
            .unwrap_or_else(|error| panic!("{architecture}: {error}\n{head}"));
        let is_spill = |line: &&str| {
            line.contains("bytes spill")
                && !line.contains(" 0 bytes spill stores, 0 bytes spill loads")
        };
        assert!(log.contains("bytes spill"), "nothing is said of spills: {log}");
        let bad: Vec<&str> =
            log.lines().filter(|line| line.contains("warning") || is_spill(line)).collect();
        assert!(bad.is_empty(), "{architecture}: {bad:#?}\n{head}");
    }
}
