//! The matrix on tiny inputs, with every contender in this process.

use clap::Parser;

use crate::matrix::case::Case;
use crate::matrix::contender::{Contender, Prepared, Surroundings, runner};
use crate::matrix::{self, Matrix, Measured};
use crate::report::{self, Record};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    matrix: Matrix,
}

fn measured(arguments: &[&str]) -> Measured {
    let common = ["matrix", "--quick", "--rounds", "1", "--seconds", "0.01"];
    let line = Line::parse_from(common.iter().chain(arguments));
    matrix::records(&line.matrix, &mut |_, _| Ok(())).unwrap()
}

fn records(arguments: &[&str]) -> Vec<Record> {
    let Measured { records, failed } = measured(arguments);
    assert!(failed.is_empty(), "{failed:#?}");
    records
}

#[test]
fn what_cannot_be_measured_is_said_and_the_rest_is_measured() {
    let inputs = ["--input", "no such file", "--input", TINY[1]];
    let ops = ["--op", "spmv", "--contender", "ust"];
    let Measured { records, failed } = measured(&[&inputs[..], &ops].concat());
    assert!(failed.len() == 1 && failed[0].starts_with("no such file: no input "), "{failed:#?}");
    assert!(records.iter().any(|record| record.input == TINY[1]), "{}", records.len());
}

const TINY: [&str; 4] = ["--input", "banded(32, diagonals=5)", "--input", "random(8x9x10, nnz=60)"];

#[test]
fn contenders_agree_on_every_operation_and_reports_parse() {
    let records = records(&TINY);
    let differing: Vec<String> = records
        .iter()
        .filter(|r| r.entry.failed.as_ref().is_some_and(|reason| reason.contains("differs")))
        .map(Record::key)
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
    for op in ["spmv", "spmvt", "spmm32", "spgemm", "spadd", "sddmm", "ttv", "mttkrp", "csr-csc"] {
        for who in ["ust", "loop"] {
            let timed = |r: &&Record| r.op == op && r.entry.contender == who;
            let record = records.iter().filter(timed).find(|r| r.entry.median().is_some());
            assert!(record.is_some(), "{who} did no {op}");
        }
    }
    for line in report::json::lines(&records).lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    let page = report::page::page(&report::json::lines(&records)).unwrap();
    let drawn = page.matches("<td class=\"bar\">").count();
    let timed = records.iter().filter(|record| record.entry.median().is_some()).count();
    assert!(drawn > 20 && drawn == timed, "{drawn} bars, {timed} times");
    let medians = report::baseline::read(&report::baseline::text(&records)).unwrap();
    assert!(report::baseline::slower(&medians, &medians, 1.1).is_empty());
}

inventory::submit! { Contender {
    name: "panics", about: "panics before it is ready",
    prepare: |case, _| if case.input.name == EMPTY { panic!("at once") } else { Ok(None) },
}}
inventory::submit! { Contender {
    name: "panics-late", about: "panics while it is timed", prepare: panics_late,
}}

/// Only here somebody panics.
const EMPTY: &str = "random(8x8, nnz=0)";

fn panics_late(case: &Case<'_>, _: &Surroundings) -> Prepared {
    if case.input.name != EMPTY {
        return Ok(None);
    }
    let work = |calls: &mut usize| {
        *calls += 1;
        assert!(*calls < 3, "call {calls}");
        Ok(())
    };
    runner(0, work, |_| Ok(vec![0.0; 8]))
}

#[test]
fn who_panics_has_failed_and_the_others_are_timed() {
    let records = records(&["--input", EMPTY, "--op", "spmv", "--format", "CSR"]);
    let told = |who: &str| {
        let record = records.iter().find(|record| record.entry.contender == who);
        record.unwrap_or_else(|| panic!("{who} is missing")).entry.failed.clone()
    };
    assert_eq!(told("panics"), Some("it panicked: at once".to_owned()));
    assert_eq!(told("panics-late"), Some("it panicked: call 3".to_owned()));
    assert_eq!(told("ust"), None);
}

#[test]
fn a_virtual_gpu_is_right_and_is_not_timed() {
    if let Err(error) = ust::gpu::emulator::install() {
        assert!(matches!(error, ust::gpu::cuda::CudaError::NoEmulator(_)), "{error}");
        eprintln!("SKIPPED: {error}");
        return;
    }
    let arguments = ["--emulate", "--contender", "ust,ust-cuda", "--format", "CSR"];
    let records = records(&[&arguments, &TINY[..2], &["--op", "spmv,spgemm"]].concat());
    for record in records {
        let Record { entry, .. } = &record;
        match entry.contender {
            "ust" => assert!(entry.median().is_some(), "{}", record.key()),
            // It was compared before it was to be timed.
            who => {
                assert_eq!(
                    (who, entry.failed.as_deref()),
                    ("ust-cuda", Some(crate::contenders::cuda::VIRTUAL))
                );
                assert!(entry.median().is_none() && entry.error < 1e-10, "{}", record.key());
            }
        }
    }
}
