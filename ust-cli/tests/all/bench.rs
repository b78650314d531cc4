//! `ust bench` and `ust explain`.

use super::common::{parse, ust};

const MATRIX: &str = "gen:poisson2d(9)";

#[test]
fn formats_stand_beside_each_other_in_every_operation() {
    let said = ust(&["bench", MATRIX, "--budget", "0.1"]).done();
    for part in [
        "[1] y(i) = A(i,j) * x(j)",
        "[2] C(i,k)",
        "[3] MEDIAN",
        "/ CSR",
        "BSR(",
        "CSC",
        "COO",
        "rounds",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let said = ust(&["bench", MATRIX, "--budget", "0.1", "--json"]).json();
    assert_eq!(said["reference"], "CSR");
    let formats = said["formats"].as_array().unwrap();
    assert!(formats.len() >= 6, "{formats:?}");
    let operations = said["operations"].as_array().unwrap().len();
    assert_eq!(operations, 3);
    for format in formats {
        let timings = format["timings"].as_array().unwrap();
        assert_eq!(timings.len(), operations);
        for (at, timing) in timings.iter().enumerate() {
            let (seconds, ratio) =
                (timing["seconds"].as_f64().unwrap(), timing["ratio"].as_f64().unwrap());
            let reference = formats[0]["timings"][at]["seconds"].as_f64().unwrap();
            assert!(
                seconds > 0.0 && (ratio - seconds / reference).abs() < 1e-9 * ratio,
                "{timing}"
            );
            assert!(timing["rounds"].as_u64().unwrap() >= 5);
        }
    }
}

#[test]
fn formats_and_operations_are_taken_and_what_does_not_fit_is_left_out() {
    let args = [
        "bench", MATRIX, "--budget", "0.05", "--format", "DIA", "--format", "2:4", "--format",
        "CSR",
    ];
    let op =
        ["--op", "s = A(i,j)", "--op", "C(i,k) = A(i,j) * B(j,k)", "B=gen:ones(81x3)", "--json"];
    // The operand belongs to one of the operations.
    let ran = ust(&[&args[..], &op].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let said =
        ust(&[&args[..], &["--op", "s = A(i,j)", "--op", "C(i,k) = A(i,j) * B(j,k)", "--json"]]
            .concat());
    let said = said.json();
    let texts: Vec<&str> =
        said["formats"].as_array().unwrap().iter().map(|f| f["text"].as_str().unwrap()).collect();
    assert_eq!((texts, &said["reference"]), (vec!["DIA", "CSR"], &"DIA".into()));
    assert_eq!(said["left_out"][0]["text"], "2:4");
    assert!(said["left_out"][0]["reason"].as_str().unwrap().contains("at most 2"));
    let tensor = ust(&["bench", "gen:random(5x6x7, nnz=20)", "--budget", "0.05", "--json"]).json();
    assert_eq!(tensor["operations"].as_array().unwrap().len(), 1);
    for (args, part) in [
        (&["bench", MATRIX, "--format", "CSRR"][..], "did you mean `CSR`?"),
        (&["bench", MATRIX, "--op", "y(i) = A(i"], "ends"),
    ] {
        let ran = ust(args);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn a_plan_is_explained_without_being_run() {
    let asked =
        ["y(i) = A(i,j) * x(j)", &format!("A={MATRIX}"), "x=gen:ones(81)", "--format", "A=CSC"];
    let text = ust(&[&["explain"][..], &asked].concat()).done();
    for part in [
        "result      y(i)",
        "operand     A(i,j)",
        "loop 1",
        "estimate",
        "asked       interp",
        "fn kernel",
        "prepared in",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // `run --explain` says the same.
    let ran = ust(&[&["run", "--explain"][..], &asked].concat()).done();
    let plan = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("back end"));
        lines.take_while(|line| *line != "}").map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(plan(&text), plan(&ran));
    let object = parse(&ust(&[&["explain", "--json"][..], &asked].concat()).done());
    assert!(object["plan"].as_str().unwrap().contains("loop 1"));
    assert!(object["prepare_seconds"].as_f64().unwrap() > 0.0);
    let interpreted =
        ust(&[&["explain", "--backend", "interp", "--json"][..], &asked].concat()).json();
    assert_ne!(interpreted["backend"], object["backend"]);
}
