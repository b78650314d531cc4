//! What users of other libraries met: right values, and messages that say what is wrong.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{Ran, parse, ust, ust_in};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn values(folder: &Path, args: &[&str]) -> Value {
    let all = [&["run"], args, &["--json", "--check"]].concat();
    ust_in(folder, &all).json()["result"]["values"].clone()
}

/// The message and the help of a run that has failed because of its input.
fn refused(ran: &Ran) -> (String, String) {
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let error = &parse(&ran.stdout)["error"];
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    (text("message"), text("help"))
}

#[test]
fn places_are_counted_exactly() {
    let matrix = |kind: &str, last: &str| {
        format!(
            "%%MatrixMarket matrix coordinate {kind} general\n100000001 100000003 2\n1 1 7\n5 5 {last}\n"
        )
    };
    let folder = folder(&[("A.mtx", &matrix("integer", "1")), ("R.mtx", &matrix("real", "3"))]);
    let with = |backend: &str| {
        for format in ["COO", "DCSR", "BSR(2,2)", "CSC"] {
            for (text, file, expected) in [
                ("s = sum((i,j), A(i,j) == 0)", "A=A.mtx", json!(10_000_000_400_000_001_i64)),
                ("s = sum((i,j), A(i,j) + 1)", "A=A.mtx", json!(10_000_000_400_000_011_i64)),
                ("s = sum((i,j), 3*A(i,j) + 2)", "A=A.mtx", json!(20_000_000_800_000_030_i64)),
                ("s = prod((i,j), A(i,j) - 1)", "A=R.mtx", json!(-12)),
            ] {
                let format = format!("A={format}");
                let args = [text, file, "--format", &format, "--backend", backend];
                assert_eq!(values(folder.path(), &args), json!([expected]), "{text} {format}");
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| with("jit"));
        with("interp");
    });
}

#[test]
fn formats_do_not_change_what_a_semiring_means() {
    let text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 5\n2 3 4\n3 1 2\n";
    let folder = folder(&[("A.mtx", text)]);
    for format in ["COO", "CSR", "Dense", "DenseCol", "(i, j) -> (j - i : dense, i : range)"] {
        let format = format!("A={format}");
        let product = "C(i,j) = A(i,k) * A(k,j) using min_plus";
        let args = [product, "A=A.mtx", "--format", &format, "--format", "C=Dense"];
        let found = values(folder.path(), &args);
        assert_eq!(found, json!(["inf", "inf", 9, 6, "inf", "inf", "inf", 7, "inf"]), "{format}");
    }
    let advice = ust_in(
        folder.path(),
        &[
            "advise",
            "A.mtx",
            "--op",
            "y(i) = A(i,j) * x(j) using min_plus",
            "--budget",
            "0.2",
            "--json",
        ],
    );
    let best = advice.json()["best"].as_str().unwrap().to_owned();
    std::fs::write(folder.path().join("x.tns"), "1 1\n2 2\n3 3\n").unwrap();
    let of = |format: &str| {
        let format = format!("A={format}");
        let args = [
            "y(i) = A(i,j) * x(j) using min_plus",
            "A=A.mtx",
            "x=x.tns",
            "--format",
            &format,
            "--format",
            "y=Dense",
        ];
        values(folder.path(), &args)
    };
    assert_eq!(of(&best), of("COO"), "{best}");
}

#[test]
fn an_order_of_loops_is_always_found() {
    let matrix =
        |entries: &str| format!("%%MatrixMarket matrix coordinate real general\n2 2 3\n{entries}");
    let folder = folder(&[
        ("A.tns", "1 1\n2 2\n"),
        ("B.mtx", &matrix("1 1 1\n2 1 2\n2 2 3\n")),
        ("G.mtx", &matrix("1 2 4\n2 1 1\n2 2 1\n")),
        ("D.mtx", &matrix("1 1 2\n1 2 1\n2 2 1\n")),
    ]);
    let a = "A=(i) -> (i / 4 : compressed, i % 4 / 2 : compressed, i % 2 : compressed(nonordered))";
    let args = [
        "R(j,k,i) = (A(j) + B(l,k)) * G(l,k) * D(l,k)",
        "A=A.tns",
        "B=B.mtx",
        "G=G.mtx",
        "D=D.mtx",
        "--extent",
        "i=2",
        "--format",
        a,
        "--format",
        "B=BSC(4,2)",
        "--format",
        "D=Strips(3)",
        "--format",
        "G=ANTI-DIA-I",
    ];
    assert_eq!(values(folder.path(), &args), json!([0, 0, 8, 8, 0, 0, 13, 13]));
}

#[test]
fn empty_tensors_cost_nothing() {
    let folder = folder(&[
        ("A.mtx", "%%MatrixMarket matrix coordinate real general\n4294967296 0 0\n"),
        ("B.tns", "# shape 4294967296x0x4294967296\n"),
        (
            "P.mtx",
            "%%MatrixMarket matrix coordinate integer general\n5000000000 4 2\n1 1 7\n5000000000 4 1\n",
        ),
    ]);
    let ran = |args: &[&str]| ust_in(folder.path(), args);
    assert_eq!(ran(&["show", "A.mtx", "--format", "Dense", "--json"]).json()["nse"], json!(0));
    assert_eq!(ran(&["show", "B.tns", "--format", "Dense", "--json"]).json()["nse"], json!(0));
    assert!(ran(&["show", "B.tns", "--format", "Dense"]).done().contains("(empty)"));
    assert!(ran(&["convert", "A.mtx", "A.ust.npz", "--format", "DIA-I"]).done().contains("wrote"));
    for (text, file, format, expected) in [
        ("s = sum((i,j), A(i,j))", "A=A.mtx", "A=Dense", json!([0])),
        ("s = max((i,j), A(i,j))", "A=A.mtx", "A=Dense", json!(["-inf"])),
        ("C(i,j) = A(i,j) + 1", "A=A.mtx", "A=Dense", json!([])),
        ("C(j,k) = B(i,j,k)", "B=B.tns", "B=Dense", json!([])),
        ("C(k,j) = sum(i, B(i,j,k) + 1)", "B=B.tns", "B=Dense", json!([])),
        (
            "s = prod((i,j), P(i,j) + 3)",
            "P=P.mtx",
            "P=DCSR",
            json!([5_491_588_719_849_715_944_i64]),
        ),
    ] {
        let args = [text, file, "--format", format];
        let all = [&["run"], &args[..], &["--json"]].concat();
        assert_eq!(ran(&all).json()["result"]["values"], expected, "{text}");
    }
}

#[test]
fn what_is_no_index_is_named() {
    let folder = folder(&[("A.tns", "1 1 2\n2 3 4\n")]);
    for (text, wrong, part) in [
        ("y(i) = A(i,0)", "0", "`0` is no name"),
        ("y(i) = A(i+1,j)", "i+1", "`i+1` is no name"),
        ("y(i) = A(i,2*j)", "2*j", "`2*j` is no name"),
        ("y = A x", "x", "expected an operator"),
        ("y(i) = 2 A(i,j)", "A", "expected an operator"),
        ("s = A * 2", "A", "2 dimensions"),
        ("y[i] = A[i,j]", "[", "found `[`"),
        ("C(i,j) = A(i,j) @ A(i,j)", "@", "no sign"),
    ] {
        let ran = ust_in(folder.path(), &["run", text, "A=A.tns", "--json"]);
        let (message, help) = refused(&ran);
        assert!(message.contains(part) && !help.is_empty(), "{text}: {message}; {help}");
        let span = &parse(&ran.stdout)["error"]["span"];
        let at = |n: usize| span[n].as_u64().unwrap() as usize;
        assert_eq!(&text[at(0)..at(1)], wrong, "{text}");
    }
    let (message, help) = refused(&ust_in(folder.path(), &["run", "s = 2", "A=A.tns", "--json"]));
    assert!(message.contains("has no tensor `A`") && help.contains("2 * A"), "{message}; {help}");
}

#[test]
fn formats_are_said_once_and_for_whom_they_are() {
    let folder = folder(&[("A.tns", "1 1 2\n2 3 4\n"), ("x.tns", "1 1\n3 1\n")]);
    let ran = |args: &[&str]| ust_in(folder.path(), args);
    let product = ["run", "y(i) = A(i,j) * x(j)", "A=A.tns", "x=x.tns", "--json"];
    // The one matrix.
    assert_eq!(
        ran(&[&product[..], &["--format", "DCSR"]].concat()).json()["result"]["nse"],
        json!(2)
    );
    let ambiguous = ran(&[&product[..], &["--format", "Dense"]].concat());
    assert!(refused(&ambiguous).0.contains("does not say which tensor"));
    let nobody = ran(&[&product[..], &["--format", "CSF(3)"]].concat());
    assert!(refused(&nobody).0.contains("no tensor"));
    let twice = ran(&[&product[..], &["--format", "A=CSR", "--format", "A=CSC"]].concat());
    assert!(refused(&twice).0.contains("given twice: `CSR` and `CSC`"));
    let twice = ran(&[&product[..], &["--format", "CSR", "--format", "A=CSC"]].concat());
    assert!(refused(&twice).0.contains("given twice"));
    assert_eq!(ran(&["show", "A.tns", "--format", "A=CSR", "--json"]).json()["nse"], json!(2));
}

#[test]
fn a_picture_is_called_what_it_is() {
    let folder = folder(&[("A.tns", "1 1 2\n2 3 4\n")]);
    let ran = ust_in(folder.path(), &["show", "A.tns", "--svg", "x.pdf", "--json"]);
    let (message, help) = refused(&ran);
    assert!(message.contains("x.pdf") && help.contains("x.svg"), "{message}; {help}");
    assert!(!folder.path().join("x.pdf").exists());
    ust_in(folder.path(), &["show", "A.tns", "--svg", "x.svg"]).done();
}

#[test]
fn numbers_that_do_not_fit_are_converted_on_demand() {
    let folder = folder(&[("A.tns", "1 1 2.75\n2 3 300\n")]);
    let ran = |args: &[&str]| ust_in(folder.path(), args);
    for args in [
        &["convert", "A.tns", "B.ust.npz", "--dtype", "u8"][..],
        &["run", "B(i,j) = A(i,j)", "A=A.tns", "--out", "B.ust.npz", "--dtype", "u8"],
    ] {
        let refused = ran(args);
        assert!(refused.code != Some(0) && refused.stderr.contains("u8"), "{}", refused.stderr);
        ran(&[args, &["--lossy"]].concat()).done();
        let made = ran(&["show", "B.ust.npz", "--json"]).json();
        assert_eq!((&made["dtype"], &made["values"]), (&json!("u8"), &json!([2, 255])));
    }
    let (message, _) = refused(&ran(&["convert", "A.tns", "B.npy", "--lossy", "--json"]));
    assert!(message.contains("--dtype"), "{message}");
}

/// A matrix with a full first row, first column and diagonal.
fn arrow(n: usize) -> String {
    use std::fmt::Write as _;
    let mut text =
        format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n", 3 * n - 2);
    (1..=n).for_each(|i| writeln!(text, "{i} {i} 2").unwrap());
    (2..=n).for_each(|i| writeln!(text, "1 {i} 1\n{i} 1 1").unwrap());
    text
}

#[test]
fn memory_is_limited_as_asked() {
    let folder = folder(&[("A.mtx", &arrow(1500))]);
    let square = ["run", "C(i,k) = A(i,j) * A(j,k)", "A=A.mtx", "--out", "C.ust.npz"];
    for format in ["C=CSR", "C=COO", "C=Dense"] {
        let ran = |limit: &str| {
            let more = ["--format", format, "--memory-limit", limit];
            ust_in(folder.path(), &[&square[..], &more].concat())
        };
        // 2,250,000 entries of 12 bytes, or of 8.
        ran("500M").done();
        let ran = ran("10M");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("--memory-limit"), "{}", ran.stderr);
    }
    let ran =
        ust_in(folder.path(), &["show", "A.mtx", "--format", "Dense", "--memory-limit", "10M"]);
    assert!(ran.stderr.contains("--memory-limit"), "{}", ran.stderr);
    let ran = ["show", "A.mtx", "--format", "BSR(100,100)", "--memory-limit", "1M"];
    let ran = ust_in(folder.path(), &ran);
    assert!(ran.stderr.contains("--memory-limit"), "{}", ran.stderr);
    let ran = ust(&["show", "gen:poisson2d(30)", "--format", "Dense", "--memory-limit", "1M"]);
    assert!(ran.stderr.contains("--memory-limit"), "{}", ran.stderr);
}

/// Where the system gives no more, as `ulimit -v` says, that is told as well.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_system_does_not_give_is_told() {
    let folder = folder(&[("A.mtx", &arrow(7000))]);
    let program = env!("CARGO_BIN_EXE_ust");
    // A result of 590 MB.
    for (format, limit) in [("CSR", ""), ("COO", ""), ("CSR", "--memory-limit 4G")] {
        let command = format!(
            "ulimit -v 600000; exec {program} run 'C(i,k) = A(i,j) * A(j,k)' A=A.mtx \
             --format C={format} {limit} --out C.ust.npz"
        );
        let ran = std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{format} {limit}: {told}");
        assert!(told.contains("too large") && told.contains("--memory-limit"), "{told}");
    }
}

/// What padding decides is told, and is no failure.
#[test]
fn a_check_says_where_padding_decides() {
    let matrix =
        |entries: &str| format!("%%MatrixMarket matrix coordinate real general\n2 3 {entries}");
    let folder =
        folder(&[("A.mtx", &matrix("2\n1 1 1\n2 3 4\n")), ("B.mtx", &matrix("1\n1 1 2\n"))]);
    let ran = |text: &str, format: &str| {
        let (a, b) = (format!("A={format}"), format!("B={format}"));
        let args = ["run", text, "A=A.mtx", "B=B.mtx", "--format", &a, "--format", &b, "--check"];
        ust_in(folder.path(), &args)
    };
    for format in ["CSR", "COO", "Dense", "BSR(2,3)", "DIA-I"] {
        let divided = ran("C(i,j) = A(i,j) / B(i,j)", format);
        assert_eq!(divided.code, Some(0), "{format}: {}", divided.stderr);
        assert!(divided.stderr.contains("note: 4 elements"), "{format}: {}", divided.stderr);
        assert!(divided.stderr.contains("at [0, 1] it is 0"), "{format}: {}", divided.stderr);
        ran("C(i,j) = A(i,j) * B(i,j) + 1", format).done();
    }
}
