//! `ust info`: what is told of headers, and of entries.

use serde_json::{Value, json};

use super::common::{parse, ust, ust_in};

const KINDS: [&str; 7] = ["mtx", "mtx.gz", "tns", "tns.gz", "npy", "npz", "ust.npz"];

#[test]
fn the_header_says_what_the_entries_say() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        for format in ["CSR", "CSC", "BSR(2,3)", "DIA-J", "COO", "Dense"] {
            let file = format!("a.{kind}");
            let made = ["convert", "gen:random(6x9, nnz=11)", &file, "--format", format];
            ust_in(folder.path(), &made).done();
            let header = ust_in(folder.path(), &["info", &file, "--header", "--json"]).json();
            let whole = ust_in(folder.path(), &["info", &file, "--json"]).json();
            assert_eq!((&header["read"], &whole["read"]), (&json!("header"), &json!("all")));
            for key in ["shape", "dtype"] {
                assert_eq!(header[key], whole[key], "{kind} {format} {key}");
            }
            // Plain FROSTT does not state how many entries follow.
            match kind.starts_with("tns") {
                true => assert_eq!(header["stored"], Value::Null),
                false => assert_eq!(header["stored"], whole["nse"], "{kind} {format}"),
            }
            let resolved = |text: &Value| {
                ust(&["format", text.as_str().unwrap(), "--json"]).json()["format"].clone()
            };
            assert_eq!(resolved(&header["format"]), resolved(&whole["format"]), "{kind} {format}");
        }
    }
}

#[test]
fn no_more_than_the_header_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "%%MatrixMarket matrix coordinate integer symmetric\n% c\n\n9 9 5\nno entry at all\n";
    std::fs::write(folder.path().join("a.mtx"), text).unwrap();
    let header = ust_in(folder.path(), &["info", "a.mtx", "--header", "--json"]).json();
    assert_eq!(header["shape"], json!([9, 9]));
    assert_eq!((&header["stored"], &header["symmetry"]), (&json!(5), &json!("symmetric")));
    assert_eq!(ust_in(folder.path(), &["info", "a.mtx"]).code, Some(2));
    let said = ust_in(folder.path(), &["info", "a.mtx", "--header"]).done();
    assert!(
        said.contains("5, one side of a symmetric matrix") && said.contains("--full"),
        "{said}"
    );
    // Nor is more read of a large file, unless it is asked for.
    let large = format!("{text}{}", "x".repeat(9 << 20));
    std::fs::write(folder.path().join("large.mtx"), large).unwrap();
    assert_eq!(ust_in(folder.path(), &["info", "large.mtx", "--json"]).json()["read"], "header");
    assert_eq!(ust_in(folder.path(), &["info", "large.mtx", "--full"]).code, Some(2));
    std::fs::write(folder.path().join("b.tns"), "# shape 4x5x6\n1 1 1 2\nnot an entry\n").unwrap();
    let header = ust_in(folder.path(), &["info", "b.tns", "--header", "--json"]).json();
    assert_eq!(header["shape"], json!([4, 5, 6]));
    std::fs::write(folder.path().join("c.tns"), "1 1 1 2\n").unwrap();
    let said = ust_in(folder.path(), &["info", "c.tns", "--header"]).done();
    assert!(said.contains("not stated"), "{said}");
}

#[test]
fn the_parts_of_a_composed_tensor_stand_in_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let split = "DIA where fill(j - i) >= 0.6 + COO";
    let made = ["convert", "gen:poisson2d(4)", "a.ust.npz", "--format", split];
    ust_in(folder.path(), &made).done();
    let header = ust_in(folder.path(), &["info", "a.ust.npz", "--header", "--json"]).json();
    let whole = ust_in(folder.path(), &["info", "a.ust.npz", "--json"]).json();
    assert_eq!((&header["stored"], &header["shape"]), (&whole["nse"], &whole["shape"]));
    assert_eq!(header["format"], "DIA-I + COO");
}

#[test]
fn a_matrix_is_looked_at() {
    let matrix = ust(&["info", "gen:poisson2d(3)", "--json"]).json();
    let structure = &matrix["structure"];
    let row = json!({ "min": 3, "median": 4, "max": 5, "empty": 0 });
    assert_eq!(structure["dims"], json!([row, row]));
    let looks =
        json!({ "symmetry": "symmetric", "bandwidth": [3, 3], "diagonal": 9, "dominant": 9 });
    assert_eq!(structure["matrix"], looks);
    let said = ust(&["info", "gen:poisson2d(3)"]).done();
    for part in ["3 to 5 entries, median 4", "symmetric", "3 below", "dominant in every row"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let vector = ust(&["info", "gen:ones(9)", "--json"]).json();
    assert_eq!(vector["structure"]["matrix"], Value::Null);
    // More is looked at where it is asked for.
    let many = "gen:ones(2100x2100)";
    assert_eq!(ust(&["info", many, "--json"]).json()["structure"], Value::Null);
    assert!(ust(&["info", many, "--full", "--json"]).json()["structure"].is_object());
}

#[test]
fn several_tensors_are_told_one_after_another_whatever_becomes_of_one() {
    let said = ust(&["info", "gen:ones(2)", "gen:ones(3x4)"]).done();
    assert!(
        said.contains("gen:ones(2):\nshape") && said.contains("\n\ngen:ones(3x4):\nshape"),
        "{said}"
    );
    let ran = ust(&["info", "gen:ones(2)", "absent.mtx", "gen:ones(3x4)"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("absent.mtx: cannot read") && ran.stdout.contains("3 x 4"));
    let ran = ust(&["info", "gen:ones(2)", "absent.mtx", "gen:ones(3x4)", "--json"]);
    assert_eq!(ran.code, Some(2));
    let object = parse(&ran.stdout);
    let tensors = object["tensors"].as_array().unwrap();
    let shapes: Vec<&Value> = tensors.iter().map(|one| &one["shape"]).collect();
    assert_eq!(shapes, [&json!([2]), &Value::Null, &json!([3, 4])]);
    assert_eq!(tensors[1]["tensor"], "absent.mtx");
    assert!(tensors[1]["error"]["message"].as_str().unwrap().contains("cannot read"));
}
