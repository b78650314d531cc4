//! `ust emit`: the source stands alone. C++ is compiled and run here; CUDA says what it is called with.
#![cfg(feature = "gpu")]

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::common::{parse, ust_in};

const SPMV: &str = "y(i) = A(i,j) * x(j)";
const SPGEMM: &str = "C(i,k) = A(i,j) * B(j,k)";
const A: &str = "A=gen:random(37x23, nnz=150, seed=1)";
const B: &str = "B=gen:random(23x19, nnz=90, seed=2)";
const X: &str = "x=gen:random(23, nnz=23, seed=3)";

fn emit(folder: &Path, language: &str, args: &[&str]) -> String {
    let args = [&["emit"], args, &["--lang", language]].concat();
    ust_in(folder, &args).done()
}

/// What a C++ program prints. `None` without a compiler, told aloud.
fn printed(folder: &Path, source: &str, main: &str) -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        eprintln!("skipped: there is no C++ compiler `{compiler}`; set $CXX to one");
        return None;
    }
    let text = format!("{source}\n{main}");
    std::fs::write(folder.join("main.cpp"), text).unwrap();
    let made = Command::new(&compiler)
        .args([
            "-std=c++17",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-variable",
            "main.cpp",
            "-o",
            "main",
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = Command::new(folder.join("main")).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    Some(String::from_utf8(ran.stdout).unwrap())
}

/// Tensors by name: as `ust show` prints them, and their levels as `ust format` does.
type Tensors = HashMap<String, (Value, Value)>;

/// What a comment says of parameters, each by its name.
fn explained(comment: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in comment.lines() {
        if let Some(more) = line.strip_prefix("//     ") {
            let (_, said) = all.last_mut().expect("a line before");
            *said += &format!(" {more}");
        } else if let Some((name, said)) =
            line.strip_prefix("//   ").and_then(|l| l.split_once(": "))
        {
            all.push((name.to_owned(), said.to_owned()));
        }
    }
    all
}

/// A number that stands behind a word.
fn number_behind(text: &str, word: &str) -> usize {
    let rest = &text[text.find(word).expect(word) + word.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// The tensor that a text names, `Y` for the result.
fn tensor_of<'a>(text: &str, tensors: &'a Tensors) -> &'a (Value, Value) {
    let rest = text.rsplit_once(" of ").expect("a tensor").1;
    let name = rest.split([' ', ':']).next().unwrap();
    &tensors[if name == "the" { "Y" } else { name }]
}

/// C++ that calls a function with what the comment says of its parameters, and prints what it writes.
fn call(function: &str, comment: &str, tensors: &Tensors, rows: &mut bool) -> String {
    let (mut declared, mut given, mut printed) = (String::new(), Vec::new(), String::new());
    for (name, said) in explained(comment) {
        let level = |said: &str| {
            let said = said.split(" (`").next().unwrap();
            let (shown, format) = tensor_of(said, tensors);
            let level = number_behind(said, "level ");
            (shown["levels"][level].clone(), format["levels"][level].clone())
        };
        let Some((kind, said)) = said.split_once(", ") else {
            let value = match said.as_str() {
                said if said.starts_with("extent") => {
                    tensor_of(said, tensors).0["shape"][number_behind(said, "dimension ")].clone()
                }
                said if said.starts_with("number of coordinates") => level(said).1["size"].clone(),
                said if said.starts_with("lowest coordinate") => level(said).1["lower"].clone(),
                said => panic!("{name}: {said}"),
            };
            given.push(value.to_string());
            continue;
        };
        let ty = if kind == "f64" { "double" } else { kind };
        given.push(format!("{name}.data()"));
        let mut array = |numbers: String| {
            declared += &format!("  std::vector<{ty}> {name}({numbers});\n");
        };
        let copied = |numbers: &Value| {
            let numbers = numbers.to_string();
            format!("{{{}}}", numbers.trim_matches(['[', ']']))
        };
        let length = |numbers: &Value| numbers.as_array().unwrap().len();
        let result = &tensors["Y"].0;
        let before = said.split(" before").next().unwrap().rsplit(' ').next().unwrap();
        match said {
            // Padding in the place of numbers shows what is not set.
            _ if said.starts_with("values of the result") => {
                let before = if said.contains("all are set") { "77" } else { before };
                array(format!("{}, {before}", length(&result["values"])));
                printed += &format!("  print(\"values\", {name});\n");
            }
            _ if said.starts_with("values of the rows") => {
                *rows = true;
                array(format!("rows, {before}"));
                printed += &format!("  print(\"values\", {name});\n");
            }
            _ if said.starts_with("values of") => {
                let of = said.split(':').next().unwrap();
                array(copied(&tensor_of(of, tensors).0["values"]));
            }
            _ if said.starts_with("coordinates at level ") => {
                array("rows".to_owned());
                let level = number_behind(said, "level ");
                printed += &format!("  print(\"crd{level}\", {name});\n");
            }
            _ if said.starts_with("number of the first row") => {
                array(tensors["Y"].1["levels"][0]["size"].to_string());
                printed += &format!("  {name}.push_back(rows);\n  print(\"starts\", {name});\n");
            }
            _ if said.starts_with("working memory: one for each") => {
                let begins = if said.ends_with("of any values") { "77" } else { before };
                let size = level(said.split_once(": ").unwrap().1).1["size"].clone();
                array(format!("{size}, {begins}"));
            }
            _ if said.starts_with('`') => {
                let array_name = said.split('`').nth(1).unwrap();
                array(copied(&level(said).0[array_name]));
            }
            said => panic!("{name}: {said}"),
        }
    }
    let gives = if function == "count" { "rows = " } else { "" };
    format!("  {{\n{declared}  {gives}{function}({});\n{printed}  }}\n", given.join(", "))
}

/// The coordinate of each row, given the coordinates, all of them if none are stored, and where their rows begin.
fn of_rows(crd: &[f64], pos: &[f64]) -> Vec<f64> {
    let each = pos.windows(2).enumerate();
    let rows = each.map(|(at, ends)| (*crd.get(at).unwrap_or(&(at as f64)), ends[1] - ends[0]));
    rows.flat_map(|(crd, count)| vec![crd; count as usize]).collect()
}

/// Compares what C++ makes of the comments with what the program computes.
fn agrees(expression: &str, operands: &[&str], formats: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut args = vec![expression];
    args.extend(operands);
    args.extend(formats.iter().flat_map(|format| ["--format", format]));
    let source = emit(folder, "c++", &args);
    let result =
        ust_in(folder, &[&["run"], &args[..], &["--json"]].concat()).json()["result"].clone();
    let explained = |shown: &Value| {
        let shape: Vec<String> =
            shown["shape"].as_array().unwrap().iter().map(ToString::to_string).collect();
        let format = shown["format"].as_str().unwrap();
        ust_in(folder, &["format", format, "--shape", &shape.join("x"), "--json"]).json()
    };
    let mut tensors: Tensors = HashMap::new();
    for (operand, format) in operands.iter().zip(formats) {
        let (name, tensor) = operand.split_once('=').unwrap();
        let format = format.split_once('=').unwrap().1;
        let shown = ust_in(folder, &["show", tensor, "--format", format, "--json"]).json();
        tensors.insert(name.to_owned(), (shown.clone(), explained(&shown)));
    }
    tensors.insert("Y".to_owned(), (result.clone(), explained(&result)));
    let mut has_rows = false;
    let mut main = String::from(
        "#include <stdio.h>\n#include <vector>\n\
         template <class T> void print(const char* name, const std::vector<T>& values) {\n  \
         printf(\"%s\", name);\n  for (T value : values) printf(\" %.17g\", (double)value);\n  \
         printf(\"\\n\");\n}\nint main() {\n  i64 rows = 0;\n",
    );
    for (comment, head) in functions(&source) {
        main += &call(&head[0], &comment, &tensors, &mut has_rows);
    }
    main += "  return rows < 0;\n}\n";
    let Some(printed) = printed(folder, &source, &main) else { return };
    let told = format!("{expression} {formats:?}");
    let mut compared = 0;
    for line in printed.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let numbers = |value: &Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        let wanted = match name {
            "values" => numbers(&result["values"]),
            "starts" => numbers(&result["levels"][1]["pos"]),
            crd => {
                let at = number_behind(crd, "crd");
                let crd = numbers(&result["levels"][at]["crd"]);
                // Rows have their own, where the result stores one for several of them.
                match result["levels"].get(at + 1).map(|below| numbers(&below["pos"])) {
                    Some(pos) if !pos.is_empty() => of_rows(&crd, &pos),
                    _ => crd,
                }
            }
        };
        let found: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        assert_eq!(found.len(), wanted.len(), "{name}: {told}");
        for (a, b) in found.iter().zip(&wanted) {
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{name}: {a} is not {b}: {told}");
        }
        compared += 1;
    }
    assert!(compared >= if has_rows { 2 } else { 1 }, "{told}");
}

#[test]
fn what_comments_say_is_enough_to_call_cpp() {
    for format in [
        "CSR",
        "CSC",
        "COO",
        "DCSR",
        "DIA-I",
        "DIA-J",
        "BSR(2,3)",
        "Dense",
        "(i, j) -> (i : dense, j : loose_compressed)",
    ] {
        agrees(SPMV, &[A, X], &[&format!("A={format}"), "x=Dense"]);
    }
    for (a, b) in [("CSR", "CSR"), ("COO", "CSR"), ("CSR", "Dense")] {
        agrees(SPGEMM, &[A, B], &[&format!("A={a}"), &format!("B={b}"), "C=CSR"]);
    }
    for format in ["CSR", "COO", "DCSR"] {
        let formats = ["A", "B", "C"].map(|name| format!("{name}={format}"));
        let formats = formats.each_ref().map(String::as_str);
        agrees("C(i,j) = A(i,j) + B(i,j)", &[A, "B=gen:random(37x23, nnz=90, seed=2)"], &formats);
    }
    let tensors = [
        "A=gen:random(7x8x9, nnz=60, seed=1)",
        "B=gen:ones(8x3)",
        "D=gen:random(9x3, nnz=27, seed=2)",
    ];
    let formats = ["A=CSF", "B=Dense", "D=Dense"];
    agrees("C(i,r) = A(i,k,l) * B(k,r) * D(l,r)", &tensors, &formats);
    // The result shares the levels of an operand.
    let tensors = ["M=gen:random(37x23, nnz=90, seed=1)", "A=gen:ones(37x4)", "B=gen:ones(23x4)"];
    agrees(
        "C(i,j) = M(i,j) * A(i,k) * B(j,k)",
        &tensors,
        &["M=CSR", "A=Dense", "B=Dense", "C=CSR"],
    );
}

/// The comment before each function, and the names of the function and its parameters.
fn functions(source: &str) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    let (mut comment, mut head) = (String::new(), None::<Vec<String>>);
    for line in source.lines() {
        match &mut head {
            Some(names) => {
                let name = line.trim_end_matches([',', ')']).rsplit([' ', '*']).next().unwrap();
                names.push(name.to_owned());
                if line.ends_with(')') {
                    all.push((std::mem::take(&mut comment), head.take().unwrap()));
                }
            }
            None if line.starts_with("//") => comment += &format!("{line}\n"),
            None if line.starts_with("extern \"C\"") => {
                let name = line.trim_end_matches('(').rsplit(' ').next().unwrap();
                head = Some(vec![name.to_owned()]);
            }
            None => comment.clear(),
        }
    }
    all
}

#[test]
fn each_parameter_of_each_function_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for args in [
        &[SPMV, A, X, "--format", "A=CSR", "--format", "x=Dense"][..],
        &[SPMV, A, X, "--format", "A=COO", "--format", "x=Dense"],
        &[SPMV, A, X, "--format", "A=DIA-I", "--format", "x=Dense"],
        &[SPGEMM, A, B, "--format", "A=CSR", "--format", "B=CSR", "--format", "C=CSR"],
        &["y(i) = max(j, A(i,j)) / sum(j, A(i,j))", A, "--stage", "2"],
    ] {
        for language in ["cuda", "c++"] {
            let source = emit(folder, language, args);
            let found = functions(&source);
            assert_eq!(found.len(), source.matches("extern \"C\" ").count(), "{source}");
            assert!(!found.is_empty(), "{source}");
            for (comment, names) in found {
                assert!(names.len() > 1, "{source}");
                for name in &names[1..] {
                    let told = format!("//   {name}: ");
                    assert_eq!(comment.matches(&told).count(), 1, "{name}\n{comment}");
                }
            }
        }
    }
}

#[test]
fn kernels_say_how_they_are_launched() {
    let folder = tempfile::tempdir().unwrap();
    let source =
        emit(folder.path(), "cuda", &[SPMV, A, X, "--format", "A=CSR", "--format", "x=Dense"]);
    for part in [
        "// y(i) = A(i,j) * x(j)",
        "A in `(i, j) -> (i : dense, j : compressed)`, f64",
        "A worker is 32 threads side by side, and runs every `workers`-th part",
        "range_hi: end of the range that parts cut: n_i",
        "parts: number of parts: (range_hi - range_lo) / grain, rounded up",
        "A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and\n//     one more",
        "extern \"C\" __global__ void run(",
    ] {
        assert!(source.contains(part), "{part}\n{source}");
    }
}

#[test]
fn a_source_is_written_into_a_file_or_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = [SPMV, A, X, "--format", "A=CSR", "--format", "x=Dense"];
    let source = emit(folder, "cuda", &args);
    let object = ust_in(folder, &[&["emit"], &args[..], &["--json"]].concat()).json();
    assert_eq!((&object["source"], &object["language"]), (&source.clone().into(), &"cuda".into()));
    let file = [&["emit"], &args[..], &["--out", "spmv.cu", "--json"]].concat();
    assert_eq!(ust_in(folder, &file).json()["written"], "spmv.cu");
    assert_eq!(std::fs::read_to_string(folder.join("spmv.cu")).unwrap(), source);
}

#[test]
fn what_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (args, code, part) in [
        (&["emit", "y(i) = x(i)", X, "--lang", "c"][..], 2, "--lang c++"),
        (&["emit", "y(i) = x(i)", X, "--lang", "ptx"], 2, "`cuda` or `c++`"),
        (&["emit", "y(i) = x(i)", X, "--out", "absent/y.cu"], 1, "cannot write"),
        (&["emit", "y(i) = exp(sum(j, A(i,j)))", A], 2, "computed in 2 stages"),
        (&["emit", "y(i) = exp(sum(j, A(i,j)))", A, "--stage", "3"], 2, "1 to 2"),
        (&["emit", "y(i) = x(i)", X, "--stage", "2"], 2, "in 1 stage\n"),
        (&["run", "y(i) = x(i)", X, "--backend", "cuda-text"], 1, "`ust emit` writes"),
    ] {
        let ran = ust_in(folder, args);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_plan_for_cuda_is_explained_with_its_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", SPMV, A, X, "--format", "A=CSR", "--format", "x=Dense"];
    let more = ["--backend", "cuda-text", "--explain", "--machine-code"];
    // It is explained, and then not run.
    let ran = ust_in(folder.path(), &[&args[..], &more].concat());
    assert_eq!(ran.code, Some(1));
    for part in [
        "lines of CUDA C++: parts of the outermost loop, lanes share inner loops (32 threads together)",
        "extern \"C\" __global__ void run(",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
}

#[test]
fn gpus_are_listed_or_what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let found = ust_in(folder, &["info", "--gpu", "--json"]).json();
    let text = ust_in(folder, &["info", "--gpu"]).done();
    let devices = found["devices"].as_array().unwrap();
    assert!(text.contains("driver") && text.contains("NVRTC"), "{text}");
    for device in devices {
        assert!(text.contains(device["name"].as_str().unwrap()), "{text}");
        assert!(device["memory"].as_u64().unwrap() > 0, "{device}");
    }
    let ran = ust_in(folder, &["run", "y(i) = x(i)", X, "--backend", "cuda", "--json"]);
    match found["missing"].as_str() {
        Some(missing) => {
            assert!(text.contains(missing), "{text}");
            // The driver and a device are asked for first.
            if devices.is_empty() {
                assert_eq!(ran.code, Some(1));
                let error = &parse(&ran.stdout)["error"];
                let message = error["message"].as_str().unwrap();
                let reason = message.split_once("this plan: ").expect("a refusal").1;
                assert!(missing.starts_with(reason), "{message}; {missing}");
                assert!(error["help"].as_str().unwrap().contains("ust info --gpu"), "{error}");
            }
        }
        None => assert_eq!(ran.code, Some(0), "{}", ran.stderr),
    }
    let refused = ust_in(folder, &["info", "--gpu", "gen:ones(3)"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}
