//! Tensors through the program: shown, converted, multiplied.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{parse, ust, ust_in};

/// A folder with the matrix of the tests in `F.tns`:
///
/// ```text
/// . 5 . .
/// . . . .
/// 7 . . 2.5
/// ```
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("F.tns"), "1 2 5\n3 1 7\n3 4 2.5\n").unwrap();
    folder
}

fn show(folder: &Path, tensor: &str, more: &[&str]) -> Value {
    ust_in(folder, &[&["show", tensor, "--json"], more].concat()).json()
}

#[test]
fn what_is_stored_is_shown_as_one_object() {
    let folder = folder();
    assert_eq!(
        show(folder.path(), "F.tns", &["--format", "CSR"]),
        json!({
            "shape": [3, 4],
            "dtype": "f64",
            "format": "(i, j) -> (i : dense, j : compressed)",
            "fill": 0,
            "nse": 3,
            "levels": [
                { "type": "dense", "size": 3, "pos": [], "crd": [] },
                { "type": "compressed", "size": 4, "pos": [0, 1, 1, 3], "crd": [1, 0, 3] },
            ],
            "values": [5, 7, 2.5],
        })
    );
}

#[test]
fn every_format_shows_its_own_arrays() {
    let folder = folder();
    // For each level, `pos` and `crd`; then the values.
    let cases = [
        ("CSC", json!([[[], []], [[0, 1, 2, 2, 3], [2, 0, 2]]]), json!([7, 5, 2.5])),
        ("DCSR", json!([[[0, 2], [0, 2]], [[0, 1, 3], [1, 0, 3]]]), json!([5, 7, 2.5])),
        ("COO", json!([[[0, 3], [0, 2, 2]], [[], [1, 0, 3]]]), json!([5, 7, 2.5])),
        ("Dense", json!([[[], []], [[], []]]), json!([0, 5, 0, 0, 0, 0, 0, 0, 7, 0, 0, 2.5])),
        (
            "(i, j) -> (j - i : compressed, i : range), crdWidth = 8",
            json!([[[0, 2], [-2, 1]], [[], []]]),
            json!([0, 0, 7, 5, 0, 2.5]),
        ),
        (
            "2:4, crdWidth = 2",
            json!([[[], []], [[], []], [[], [0, 1, 0, 1, 0, 3]]]),
            json!([0, 5, 0, 0, 7, 2.5]),
        ),
    ];
    for (format, levels, values) in cases {
        let shown = show(folder.path(), "F.tns", &["--format", format]);
        let found: Vec<Value> = shown["levels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|level| json!([level["pos"], level["crd"]]))
            .collect();
        assert_eq!((Value::from(found), &shown["values"]), (levels, &values), "{format}");
        assert_eq!(shown["nse"], values.as_array().unwrap().len(), "{format}");
    }
}

#[test]
fn people_see_a_picture_and_the_arrays() {
    let folder = folder();
    let args = ["show", "F.tns", "--format", "BSR(2,3)"];
    let text = ust_in(folder.path(), &args).done();
    for part in ["BSR(2, 3)", "3 x 4 f64", "pos", "crd", "A[2, 3] = 2.5", "[0]", "(0)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours where nothing shows them");
    let wrote = ust_in(folder.path(), &[&args[..], &["--svg", "f.svg"]].concat()).done();
    assert_eq!(wrote, "wrote f.svg\n");
    let svg = std::fs::read_to_string(folder.path().join("f.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("A[2, 3] = 2.5"));
    let both = [&args[..], &["--svg", "g.svg", "--json"]].concat();
    assert_eq!(ust_in(folder.path(), &both).json()["nse"], 18);
    assert_eq!(std::fs::read_to_string(folder.path().join("g.svg")).unwrap(), svg);
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 3, "the two pictures and the tensor");
}

#[test]
fn duplicates_in_a_file_are_kept_by_a_nonunique_format_and_summed_by_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("d.tns"), "2 1 5\n1 2 3\n2 1 7\n").unwrap();
    let kept = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))";
    for (format, values) in [
        (kept, json!([3, 5, 7])),
        ("COO", json!([3, 12])),
        ("CSR", json!([3, 12])),
        ("(i, j) -> (i : dense, j : compressed(nonunique))", json!([3, 5, 7])),
        ("Dense", json!([0, 3, 12, 0])),
    ] {
        let shown = show(folder.path(), "d.tns", &["--format", format]);
        assert_eq!(shown["values"], values, "{format}");
        let shaped = show(folder.path(), "d.tns", &["--format", format, "--shape", "2x2"]);
        assert_eq!(shaped, shown, "{format}");
    }
}

#[test]
fn a_name_may_stand_for_a_format_of_every_rank() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text, rank) in
        [("a.tns", "3 5\n", 1), ("b.tns", "3 2 5\n", 2), ("c.tns", "3 2 4 5\n", 3)]
    {
        std::fs::write(folder.path().join(file), text).unwrap();
        for name in ["COO", "CSF", "Dense", "DenseCol"] {
            let shown = show(folder.path(), file, &["--format", name]);
            assert_eq!(shown["levels"].as_array().unwrap().len(), rank, "{file} {name}");
        }
    }
}

#[test]
fn a_shape_on_the_command_line_is_the_tensors() {
    let folder = folder();
    let shown = show(folder.path(), "F.tns", &["--shape", "4x6", "--format", "CSR"]);
    assert_eq!(shown["shape"], json!([4, 6]));
    assert_eq!(shown["levels"][1]["pos"], json!([0, 1, 1, 3, 3]));
}

#[test]
fn values_of_every_kind_are_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let head = "%%MatrixMarket matrix array";
    std::fs::write(path("c.mtx"), format!("{head} complex general\n1 2\n1.5 -2\n0 1e300\n"))
        .unwrap();
    std::fs::write(path("i.mtx"), format!("{head} integer general\n1 2\n9007199254740993\n-1\n"))
        .unwrap();
    std::fs::write(path("r.tns"), "1 nan\n2 -inf\n3 inf\n4 0.1\n").unwrap();
    let values = |name: &str, more: &[&str]| show(folder.path(), name, more)["values"].clone();
    assert_eq!(values("c.mtx", &[]), json!([[1.5, -2], [0, 1e300]]));
    assert_eq!(values("i.mtx", &[]), json!([9_007_199_254_740_993_i64, -1]));
    assert_eq!(values("r.tns", &[]), json!(["NaN", "-inf", "inf", 0.1]));
    ust_in(folder.path(), &["convert", "r.tns", "half.ust.npz", "--dtype", "f16"]).done();
    assert_eq!(values("half.ust.npz", &[]), json!(["NaN", "-inf", "inf", 0.0999755859375]));
    ust_in(folder.path(), &["convert", "gen:ones(2)", "b.ust.npz", "--dtype", "bool"]).done();
    assert_eq!(values("b.ust.npz", &[]), json!([true, true]));
}

#[test]
fn a_tensor_survives_every_kind_of_file() {
    let folder = tempfile::tempdir().unwrap();
    let source = "gen:random(13x9, nnz=30, seed=4)";
    let original = show(folder.path(), source, &["--format", "CSR"]);
    for file in ["a.tns", "a.tns.gz", "a.mtx", "a.mtx.gz", "a.npy", "a.npz", "a.ust.npz"] {
        let wrote = ust_in(folder.path(), &["convert", source, file]).done();
        assert!(wrote.contains(file) && wrote.contains("13 x 9"), "{wrote}");
        let more = ["--format", "CSR", "--shape", "13x9"];
        let more = if file.contains("tns") { &more[..] } else { &more[..2] };
        assert_eq!(show(folder.path(), file, more), original, "{file}");
    }
}

#[test]
fn conversion_keeps_the_format_in_the_projects_own_files() {
    let folder = folder();
    let args =
        ["convert", "F.tns", "f.ust.npz", "--format", "BSR(2,3)", "--dtype", "f32", "--json"];
    let told = ust_in(folder.path(), &args).json();
    assert_eq!((&told["written"], &told["dtype"]), (&json!("f.ust.npz"), &json!("f32")));
    let shown = show(folder.path(), "f.ust.npz", &[]);
    for key in ["shape", "dtype", "format", "nse"] {
        assert_eq!(told[key], shown[key], "{key}");
    }
    let direct = show(folder.path(), "F.tns", &["--format", "BSR(2,3)"]);
    assert_eq!(shown["values"], direct["values"]);
    assert_eq!(shown["format"], direct["format"]);
}

#[test]
fn what_a_file_holds_in_place_of_what_was_asked_for_is_told() {
    let folder = folder();
    for (file, format, held, nse) in [
        ("a.npz", "ELL", "COO", 33),
        ("b.npz", "DIA-I", "DIA-J", 45),
        ("c.mtx", "CSR", "COO", 33),
        ("d.npy", "CSR", "Dense", 81),
        ("e.npz", "CSR", "", 33),
        ("f.ust.npz", "ELL", "", 45),
    ] {
        let args = ["convert", "gen:poisson2d(3)", file, "--format", format];
        let told = ust_in(folder.path(), &args).done();
        assert!(told.contains(&format!(", {nse} stored elements\n")), "{told}");
        let note =
            format!("note: it is stored as {held}, as this kind of file cannot say `{format}`");
        assert_eq!(told.contains("note:"), !held.is_empty(), "{told}");
        assert!(held.is_empty() || told.contains(&note), "{told}");
        let read = ust_in(folder.path(), &["info", file, "--json"]).json();
        let json = ust_in(folder.path(), &[&args[..], &["--json"]].concat()).json();
        assert_eq!((&json["format"], &json["nse"]), (&read["format"], &read["nse"]), "{file}");
    }
}

#[test]
fn info_counts_what_is_stored() {
    let folder = folder();
    let info = ust_in(folder.path(), &["info", "F.tns", "--json"]).json();
    assert_eq!(
        (&info["nse"], &info["nnz"], &info["density"]),
        (&json!(3), &json!(3), &json!(0.25))
    );
    let stored: u64 = info["levels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|level| level["arrays"].as_array().unwrap())
        .map(|array| array["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(info["bytes"].as_u64().unwrap(), stored + 3 * 8);
    let text = ust_in(folder.path(), &["info", "F.tns"]).done();
    for part in ["3 x 4", "f64", "25.0 % of all cells", "COO"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let blocked = folder.path().join("b.ust.npz");
    let blocked = blocked.to_str().unwrap();
    ust_in(folder.path(), &["convert", "F.tns", blocked, "--format", "BSR(3,2)"]).done();
    let info = ust(&["info", blocked, "--json"]).json();
    assert_eq!((&info["nse"], &info["nnz"]), (&json!(12), &json!(3)), "padding is no nonzero");
}

#[test]
fn one_value_for_all_entries_is_told() {
    let folder = folder();
    let here = folder.path();
    let text = "%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 1\n2 3\n3 4\n";
    std::fs::write(here.join("p.mtx"), text).unwrap();
    let info = ust_in(here, &["info", "p.mtx", "--json"]).json();
    assert_eq!((&info["nse"], &info["iso"]), (&json!(3), &json!(1)));
    let told = ust_in(here, &["info", "p.mtx"]).done();
    assert!(told.contains("one value for all entries: 1"), "{told}");
    let plain = ust_in(here, &["info", "F.tns", "--json"]).json();
    assert_eq!(plain["iso"], json!(null));
    assert!(!ust_in(here, &["info", "F.tns"]).done().contains("one value"));
    let drawn = ust_in(here, &["show", "p.mtx"]).done();
    assert!(drawn.contains("f64, one for all"), "{drawn}");
    assert_eq!(show(here, "p.mtx", &[])["values"], json!([1, 1, 1]));
}

/// A dense vector of small integers as a `.tns` file, so that sums are exact.
fn write_vector(folder: &Path, name: &str, length: usize) -> Vec<f64> {
    let values: Vec<f64> = (0..length).map(|at| (at % 7) as f64 - 3.0).collect();
    let lines = values.iter().enumerate().map(|(at, v)| format!("{} {v}\n", at + 1));
    std::fs::write(folder.join(name), lines.collect::<String>()).unwrap();
    values
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_matrix_times_a_vector_is_the_dense_product() {
    let folder = tempfile::tempdir().unwrap();
    let x = write_vector(folder.path(), "x.tns", 20);
    let matrix = show(folder.path(), "gen:poisson2d(4x5)", &["--format", "Dense"]);
    let cells = numbers(&matrix["values"]);
    let expected: Vec<f64> =
        cells.chunks(20).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
    let formats = ["COO", "CSR", "CSC", "DIA-I", "DIA-J", "BSR(3,2)", "Dense", "DCSC"];
    for format in formats.map(|format| format!("A={format}")) {
        for x_format in ["x=Dense", "x=SparseVector"] {
            let ran = ust_in(
                folder.path(),
                &[
                    "run",
                    "y(i) = A(i,j) * x(j)",
                    "A=gen:poisson2d(4x5)",
                    "x=x.tns",
                    "--format",
                    &format,
                    "--format",
                    x_format,
                    "--json",
                ],
            );
            let told = ran.json();
            assert_eq!(numbers(&told["result"]["values"]), expected, "{format} {x_format}");
            assert_eq!(told["result"]["shape"], json!([20]));
            assert!(told["seconds"].as_array().unwrap().iter().all(Value::is_number));
            assert!(told["compile_seconds"].is_number() && told["backend"].is_string());
        }
    }
}

#[test]
fn indices_that_the_result_lacks_are_summed_over() {
    let folder = folder();
    for (expression, tensors, expected) in [
        ("s() = A(i,j)", &["A=F.tns"][..], vec![14.5]),
        ("s() = A(i,j) * A(i,j)", &["A=F.tns"], vec![25.0 + 49.0 + 6.25]),
        (
            "t(j,i) = A(i,j)",
            &["A=F.tns", "--format", "t=Dense"],
            vec![0., 0., 7., 5., 0., 0., 0., 0., 0., 0., 0., 2.5],
        ),
        ("r(i,k) = x(i)", &["x=gen:ones(2)", "--extent", "k=2"], vec![1.0; 4]),
        ("s() = sum(k, k)", &["--extent", "k=4"], vec![6.0]),
        ("d(i) = A(i,i)", &["A=gen:poisson2d(2)"], vec![4.0; 4]),
        ("c(i) = x(i) * y(i)", &["x=gen:ones(2)", "y=gen:ones(2)"], vec![1.0; 2]),
    ] {
        let told =
            ust_in(folder.path(), &[&["run", expression, "--json"], tensors].concat()).json();
        assert_eq!(numbers(&told["result"]["values"]), expected, "{expression}");
    }
}

#[test]
fn a_result_is_stored_and_written_as_asked() {
    let folder = folder();
    let run = ["run", "y(i) = A(i,j) * x(j)", "A=F.tns", "x=gen:ones(4)"];
    let with = |more: &[&str]| ust_in(folder.path(), &[&run[..], more].concat());
    let told = with(&["--format", "y=SparseVector", "--json"]).json();
    assert_eq!(told["result"]["values"], json!([5, 9.5]));
    assert_eq!(told["result"]["levels"][0]["crd"], json!([0, 2]));
    let told = with(&["--out", "y.npy", "--json"]).json();
    assert_eq!(told["result"], json!({ "written": "y.npy" }));
    assert_eq!(show(folder.path(), "y.npy", &[])["values"], json!([5, 0, 9.5]));
    let text = with(&[]).done();
    assert!(text.contains("[5 0 9.5]"), "{text}");
    let text = with(&["--shape", "A=3x4", "--out", "y.tns"]).done();
    assert!(text.contains("wrote y.tns"), "{text}");
}

#[test]
fn the_same_text_generates_the_same_tensor() {
    let shown =
        |seed: &str| ust(&["show", &format!("gen:normal(5x5, seed={seed})"), "--json"]).done();
    assert_eq!(shown("1"), shown("1"));
    assert_ne!(shown("1"), shown("2"));
    parse(&shown("3"));
}

#[test]
fn tensors_are_split_written_described_shown_and_multiplied() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let text = "DIA where fill(j - i) >= 0.6 + CSR";
    let out = ust_in(here, &["convert", "gen:poisson2d(4)", "a.ust.npz", "--format", text]);
    let told = out.done();
    assert!(told.contains("16 x 16 f64") && told.contains("in DIA-I + CSR"), "{told}");
    let info = ust_in(here, &["info", "a.ust.npz", "--json"]).json();
    assert_eq!(info["formats"], json!("DIA-I + CSR"));
    assert_eq!(info["nnz"], json!(64));
    assert_eq!(info["parts"].as_array().unwrap().len(), 2);
    let told = ust_in(here, &["info", "a.ust.npz"]).done();
    assert!(told.contains("part 0") && told.contains("part 1"), "{told}");
    let shown = ust_in(here, &["show", "a.ust.npz", "--svg", "a.svg"]).done();
    assert!(shown.contains("a.svg"), "{shown}");
    let svg = std::fs::read_to_string(here.join("a.svg")).unwrap();
    assert_eq!(svg.matches("<svg").count(), 3, "the whole and two parts");
    let shown = ust_in(
        here,
        &["show", "gen:poisson2d(2)", "--format", "DIA where fill(j - i) > 0.9 + COO"],
    );
    let shown = shown.done();
    assert!(shown.contains("0 1 0 .") || shown.contains("0 0 0 ."), "{shown}");
    assert!(shown.contains("0 = DIA-I") && shown.contains("1 = COO"), "{shown}");
    let asked = ["y(i) = A(i,j) * x(j)", "A=a.ust.npz", "x=gen:ones(16)", "--check", "--json"];
    let split = ust_in(here, &[&["run"], &asked[..]].concat()).json();
    let mut plain = asked;
    plain[1] = "A=gen:poisson2d(4)";
    let one = ust_in(here, &[&["run"], &plain[..]].concat()).json();
    assert_eq!(split["result"]["values"], one["result"]["values"]);
    let told = ust_in(
        here,
        &[
            "run",
            asked[0],
            "A=gen:poisson2d(4)",
            asked[2],
            "--explain",
            "--format",
            &format!("A={text}"),
        ],
    );
    let told = told.done();
    assert!(told.contains("A: each of 2 parts by itself"), "{told}");
    let back = ust_in(here, &["convert", "a.ust.npz", "b.ust.npz", "--format", "CSR"]).done();
    assert!(back.contains("64 stored elements"), "{back}");
    let wrong = ust_in(
        here,
        &["convert", "a.ust.npz", "b.ust.npz", "--format", "DIA where fil(j) > 1 + CSR"],
    );
    assert!(wrong.stderr.contains("expected a measure"), "{}", wrong.stderr);
}
