//! What another crate registers takes part like what stands in the library: this test is such a crate.

use std::process::ExitCode;

use serde_json::Value;
use ust_benches::{
    Case, Contender, Conversions, NamedInput, Operation, Prepared, Rows, Surroundings, Task,
    inventory, runner,
};

/// A format that has no name, and that no level type offers.
const OWN: &str = "(i, j) -> (j : dense, i : sparse_run_length)";

inventory::submit! { NamedInput {
    name: "mine", text: "banded(64, diagonals=3)", quick: true, formats: &[OWN],
} }

inventory::submit! { Operation {
    name: "row-sums",
    rank: 2,
    task: Task::Expression { text: "y(i) = A(i,j)", stored: &["A"], sparse: false },
    extents: &[],
    flops: |a| a.nse() as f64,
}}

inventory::submit! { Contender { name: "right", about: "sums of entries", prepare: right } }
inventory::submit! { Contender { name: "wrong", about: "ones", prepare: wrong } }

inventory::submit! { Conversions {
    name: "tiny", input: |_| "banded(8, diagonals=3)".to_owned(), formats: &["CSR", "CSC"],
}}

fn right(case: &Case<'_>, _: &Surroundings) -> Prepared {
    if case.op.name != "row-sums" {
        return Ok(None);
    }
    let entries = case.first().to_coo().map_err(|error| error.to_string())?;
    let values = entries.values.typed::<f64>().map_err(|error| error.to_string())?.to_vec();
    let (rows, shape) = (entries.crd[0].clone(), case.shape.clone());
    let work = move |out: &mut Vec<f64>| {
        out.fill(0.0);
        rows.iter().zip(&values).for_each(|(&row, value)| out[row as usize] += value);
        Ok(())
    };
    runner(vec![0.0; shape[0]], work, move |out| Ok(Rows::of_dense(&shape, out)))
}

fn wrong(case: &Case<'_>, _: &Surroundings) -> Prepared {
    let shape = case.shape.clone();
    runner(vec![1.0; shape[0]], |_| Ok(()), move |out: &Vec<f64>| Ok(Rows::of_dense(&shape, out)))
}

const SHORT: [&str; 4] = ["--rounds", "1", "--seconds", "0.01"];

/// The records of a run of the matrix.
fn matrix(arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("records.json");
    let line = ["ust-benches", "matrix", "--json", file.to_str().unwrap()];
    let code = ust_benches::run([&line[..], &SHORT, arguments].concat());
    assert!(succeeded(code), "{arguments:?}");
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (run, records): (Vec<Value>, Vec<Value>) = lines.partition(|line| !line["run"].is_null());
    assert_eq!(run.len(), 1, "{run:#?}");
    records
}

fn succeeded(code: ExitCode) -> bool {
    format!("{code:?}") == format!("{:?}", ExitCode::SUCCESS)
}

#[test]
fn inputs_operations_and_contenders_of_another_crate_take_part() {
    let found = matrix(&["--op", "row-sums", "--input", "mine", "--format", "CSR"]);
    let of = |who: &str| {
        let mut records = found.iter().filter(|record| record["contender"] == who);
        records.next().unwrap_or_else(|| panic!("no record of {who}: {found:#?}"))
    };
    for who in ["ust", "right"] {
        let record = of(who);
        assert_eq!((&record["op"], &record["input"]), (&"row-sums".into(), &"mine".into()));
        assert!(record["median"].is_f64() && record["error"].as_f64() < Some(1e-10), "{record}");
    }
    let reason = of("wrong")["failed"].as_str().unwrap();
    assert!(reason.contains("its result differs"), "{reason}");
}

#[test]
fn conversions_of_another_crate_are_timed() {
    let line = ["ust-benches", "convert", "--only", "tiny", "--rounds", "1", "--json"];
    assert!(succeeded(ust_benches::run(line)));
}

#[test]
fn formats_that_level_types_offer_and_those_of_the_input_are_timed_unasked() {
    // Every row of a banded matrix is an interval.
    let found = matrix(&["--op", "spmv", "--input", "mine", "--contender", "ust"]);
    let formats: Vec<&str> =
        found.iter().map(|record| record["format"].as_str().unwrap()).collect();
    assert!(formats.contains(&"CSR"), "{formats:?}");
    assert!(formats.iter().any(|format| format.contains("band")), "{formats:?}");
    assert!(formats.contains(&OWN), "{formats:?}");
}

#[test]
fn formats_that_are_asked_for_and_cannot_be_timed_are_told() {
    for format in
        ["(i, j) -> (i : dense, j : lace)", "(i, j) -> (i : dense, j % 2 : dense, j / 2 : dense)"]
    {
        let line = ["ust-benches", "matrix", "--op", "spmv", "--format", "CSR", "--format", format];
        // So many elements are more than there is memory.
        let line = [&line[..], &["--input", "random(9000000x9000000, nnz=9)"], &SHORT].concat();
        assert!(!succeeded(ust_benches::run(line)), "{format}");
    }
}

#[test]
fn names_that_nobody_registered_are_refused() {
    for arguments in [
        ["matrix", "--op", "nothing"],
        ["matrix", "--contender", "nobody"],
        ["convert", "--only", "nothing"],
    ] {
        // Little, in case that it is done.
        let short = [&["--input", "mine", "--format", "CSR"][..], &SHORT].concat();
        let short = if arguments[0] == "matrix" { &short[..] } else { &[] };
        let line = [&["ust-benches"][..], &arguments, short].concat();
        assert!(!succeeded(ust_benches::run(line)), "{arguments:?}");
    }
}
