//! Format text is read in every spelling and printed canonically; names stand for formats.

use std::collections::HashSet;
use std::path::Path;

use ust::format::named::named;
use ust::format::{FormatError, Slice};
use ust::{Coo, Format, Tensor};

fn read(text: &str) -> Format {
    text.parse().unwrap_or_else(|error: FormatError| panic!("{error}"))
}

/// What a format prints must read back as the same format, in both spellings.
fn assert_prints_back(format: &Format) {
    let (ust, mlir) = (format.to_string(), format.to_mlir());
    for text in [&ust, &mlir] {
        let again = read(text);
        assert_eq!(again, *format, "{text}");
        assert_eq!((again.to_string(), again.to_mlir()), (ust.clone(), mlir.clone()));
    }
}

#[test]
fn every_line_of_the_golden_file_reads_and_prints_back() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/formats.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let cases: serde_json::Value = serde_json::from_str(&text).expect("the file is JSON");
    let cases = cases.as_array().expect("the file is a list");
    assert!(cases.len() > 30);
    for case in cases {
        assert_prints_back(&read(case["text"].as_str().unwrap()));
    }
}

#[test]
fn both_spellings_print_canonically() {
    for (text, ust, mlir) in [
        ("()->()", "() -> ()", "() -> ()"),
        ("(i,j)->(j-i:compressed,i:range)", "(i, j) -> (j - i : compressed, i : range)", ""),
        (
            "(i,j) -> (i//2:dense,j mod 3:dense,j floordiv 3 : row,i%2:dense)",
            "(i, j) -> (i / 2 : dense, j % 3 : dense, j / 3 : dense, i % 2 : dense)",
            "(i, j) -> (i floordiv 2 : dense, j mod 3 : dense, j floordiv 3 : dense, i mod 2 : dense)",
        ),
        (
            "(i, j, k) -> (i : dense, j : compressed(nonunique, high), k : singleton)",
            "(i, j, k) -> (i : dense, j : loose_compressed(nonunique), k : singleton)",
            "",
        ),
        (
            "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4))",
            "(i, j) -> (i : dense, j / 4 : dense, j % 4 : block2_4)",
            "(i, j) -> (i : dense, j floordiv 4 : dense, j mod 4 : structured[2, 4])",
        ),
        ("(i) -> (i : compressed(unique, ordered))", "(i) -> (i : compressed)", ""),
        (
            "(i, j) -> (i : compressed(nonordered, nonunique), j : singleton(soa))",
            "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(soa))",
            "",
        ),
        (
            "# rows\n( i ,\tj )\n->\n(i : dense, # every row\n j : compressed)",
            "(i, j) -> (i : dense, j : compressed)",
            "",
        ),
        (
            "#MINE = #sparse_tensor.encoding<{ crdWidth = 8, map = (a) -> (a : compressed), // note\n posWidth = 16 }>",
            "(a) -> (a : compressed), posWidth = 16, crdWidth = 8",
            "(a) -> (a : compressed), posWidth = 16, crdWidth = 8",
        ),
        (
            "(λ, Zeile) -> (λ : dense, Zeile : compressed)",
            "(λ, Zeile) -> (λ : dense, Zeile : compressed)",
            "",
        ),
        ("(i) -> (i : dense), posWidth = 0", "(i) -> (i : dense)", ""),
        (
            "#sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed), }>",
            "(d0, d1) -> (d0 : dense, d1 : compressed)",
            "",
        ),
        (
            "#sparse_tensor.encoding<{ map = (i) -> (i : compressed), crdWidth = 8, }>",
            "(i) -> (i : compressed), crdWidth = 8",
            "",
        ),
        // Singletons above singletons repeat coordinates.
        (
            "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : singleton)",
            "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton)",
            "",
        ),
        (
            "#sparse_tensor.encoding<{ map = (i, j, k, l) -> (i : loose_compressed(nonunique), \
             j : singleton(soa), k : singleton(nonordered, soa), l : singleton(soa)) }>",
            "(i, j, k, l) -> (i : loose_compressed(nonunique), j : singleton(nonunique, soa), \
             k : singleton(nonunique, nonordered, soa), l : singleton(soa))",
            "",
        ),
        (
            "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : compressed)",
            "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : compressed)",
            "",
        ),
        (
            "(i) -> (i : compressed), implicitVal = -1.5e3 : f32, explicitVal = #complex.number<:f32 1.0, 2.0>",
            "(i) -> (i : compressed), explicitVal = #complex.number<:f32 1.0, 2.0>, implicitVal = -1.5e3 : f32",
            "",
        ),
        (
            "(i : slice(1, ?, 2), j : #sparse_tensor<slice(?, 4, 1)>) -> (i : dense, j : compressed)",
            "(i : slice(1, ?, 2), j : slice(?, 4, 1)) -> (i : dense, j : compressed)",
            "(i : #sparse_tensor<slice(1, ?, 2)>, j : #sparse_tensor<slice(?, 4, 1)>) -> (i : dense, j : compressed)",
        ),
        ("(i, j) -> ((i)*(9)+(j) : dense)", "(i, j) -> (i * 9 + j : dense)", ""),
        (
            "(i, j) -> (-i + j : compressed, (j) : range)",
            "(i, j) -> (-i + j : compressed, j : range)",
            "",
        ),
        (
            "(i) -> ((i + 1) / 2 : dense, (i + 1) % 2 : dense)",
            "(i) -> ((i + 1) / 2 : dense, (i + 1) % 2 : dense)",
            "(i) -> ((i + 1) floordiv 2 : dense, (i + 1) mod 2 : dense)",
        ),
    ] {
        let format = read(text);
        assert_eq!(format.to_string(), ust);
        let mlir = if mlir.is_empty() { ust } else { mlir };
        assert_eq!(format.to_mlir(), format!("#sparse_tensor.encoding<{{ map = {mlir} }}>"));
        assert_prints_back(&format);
    }
}

#[test]
fn coordinates_with_plain_singletons_are_built_and_converted() {
    let plain = read("(i, j, k) -> (i : compressed(nonunique), j : singleton, k : singleton)");
    assert_eq!(plain, read("COO(3)"));
    let crd = vec![vec![0, 0, 0, 2], vec![1, 1, 2, 0], vec![0, 2, 2, 1]];
    let entries = Coo::new(vec![3, 3, 3], crd, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let tensor = Tensor::from_coo(&entries, &plain).unwrap();
    assert_eq!(tensor.crd(1).unwrap().to_vec(), [1, 1, 2, 0]);
    let there = tensor.convert(read("CSF(3)")).unwrap();
    assert_eq!(there.convert(&plain).unwrap().to_coo().unwrap(), entries);
}

#[test]
fn names_spellings_and_the_way_an_expression_is_written_make_no_difference() {
    let hashed = |texts: &[&str]| texts.iter().map(|text| read(text)).collect::<HashSet<Format>>();
    for same in [
        &[
            "(i, j) -> (i : dense, j : compressed)",
            "(row, col) -> (row : dense, col : compressed)",
            "CSR",
        ][..],
        &["(i, j) -> (i + j : compressed, i : range)", "(j, i) -> (i + j : compressed, j : range)"],
        &[
            "(i) -> (i / 8 : dense, i % 8 / 2 : dense, i % 2 : dense)",
            "(i) -> (i / 2 / 4 : dense, i / 2 % 4 : dense, i % 8 % 2 : dense)",
        ],
        &[
            "(i) -> (ib = i / 2 : compressed, ii = i % 2 : dense)",
            "(i = a * 2 + b) -> (a = i / 2 : compressed, b = i % 2 : dense)",
            "BlockedVector(2)",
        ],
    ] {
        assert_eq!(hashed(same).len(), 1, "{same:?}");
    }
    for different in [
        &["CSR", "CSC", "CSR, posWidth = 32", "CSR, crdWidth = 32", "CSR, implicitVal = 0 : i8"][..],
        &[
            "(i) -> (i : compressed)",
            "(i) -> (i : compressed(nonunique))",
            "(i : slice(0, 1, 1)) -> (i : compressed)",
        ],
        &[
            "(i, j) -> (i / 2 : dense, i % 2 : dense, j : dense)",
            "(i, j) -> (i / 3 : dense, i % 3 : dense, j : dense)",
        ],
    ] {
        assert_eq!(hashed(different).len(), different.len(), "{different:?}");
    }
}

#[test]
fn every_dense_or_compressed_format_up_to_rank_six_reads_and_prints_back() {
    fn permutations(rank: usize) -> Vec<Vec<usize>> {
        let Some(last) = rank.checked_sub(1) else { return vec![Vec::new()] };
        let place = |smaller: Vec<usize>| {
            (0..rank).map(move |at| {
                let mut order = smaller.clone();
                order.insert(at, last);
                order
            })
        };
        permutations(last).into_iter().flat_map(place).collect()
    }
    let mut count = 0;
    for rank in 0..=6 {
        let names = &["i", "j", "k", "l", "m", "n"][..rank];
        for order in permutations(rank) {
            for kinds in 0..1 << rank {
                let ty =
                    |level: usize| if kinds >> level & 1 == 0 { "dense" } else { "compressed" };
                let levels: Vec<String> = order
                    .iter()
                    .enumerate()
                    .map(|(level, &dim)| format!("{} : {}", names[dim], ty(level)))
                    .collect();
                let text = format!("({}) -> ({})", names.join(", "), levels.join(", "));
                let format = read(&text);
                assert_eq!(format.to_string(), text);
                for (dim, inverse) in format.inverse().iter().enumerate() {
                    let level = order.iter().position(|&d| d == dim).unwrap();
                    assert_eq!(*inverse, ust::format::IndexExpr::Var(level), "{text}");
                }
                count += 1;
            }
        }
    }
    assert_eq!(count, 1 + 2 + 8 + 48 + 384 + 3840 + 46080);
}

#[test]
fn every_named_format_reads_prints_back_and_knows_its_name() {
    for entry in named() {
        let format = read(entry.example);
        assert_prints_back(&format);
        let name = format.name().unwrap_or_else(|| panic!("{}: no name", entry.example));
        assert_eq!(name, entry.example);
        assert_eq!(read(&name), format);
        for alias in entry.aliases {
            let arguments = entry.example.trim_start_matches(entry.name);
            let text = if entry.name.contains([':', '(']) {
                continue;
            } else {
                format!("{alias}{arguments}")
            };
            if !alias.contains('(') {
                assert_eq!(read(&text), format, "{text}");
            }
        }
    }
}

#[test]
fn names_stand_for_these_formats() {
    for (name, text) in [
        ("Scalar", "() -> ()"),
        ("DenseVector", "(i) -> (i : dense)"),
        ("SparseVector", "(i) -> (i : compressed)"),
        ("BlockedVector(4)", "(i) -> (i / 4 : compressed, i % 4 : dense)"),
        ("Dense", "(i, j) -> (i : dense, j : dense)"),
        ("Dense(3)", "(i, j, k) -> (i : dense, j : dense, k : dense)"),
        ("DenseCol", "(i, j) -> (j : dense, i : dense)"),
        ("CSR", "(i, j) -> (i : dense, j : compressed)"),
        ("CSC", "(i, j) -> (j : dense, i : compressed)"),
        ("DCSR", "(i, j) -> (i : compressed, j : compressed)"),
        ("DCSC", "(i, j) -> (j : compressed, i : compressed)"),
        ("CROW", "(i, j) -> (i : compressed, j : row)"),
        ("CCOL", "(i, j) -> (j : compressed, i : row)"),
        ("COO", "(i, j) -> (i : compressed(nonunique), j : singleton)"),
        ("COO(1)", "(i) -> (i : compressed)"),
        (
            "COO(4)",
            "(i, j, k, l) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton(nonunique), l : singleton)",
        ),
        ("COO(col-major)", "(i, j) -> (j : compressed(nonunique), i : singleton)"),
        (
            "COO(3, col-major)",
            "(i, j, k) -> (k : compressed(nonunique), j : singleton(nonunique), i : singleton)",
        ),
        ("DIA-I", "(i, j) -> (j - i : compressed, i : range)"),
        ("DIA-J", "(i, j) -> (j - i : compressed, j : range)"),
        ("ANTI-DIA-I", "(i, j) -> (i + j : compressed, i : range)"),
        ("ANTI-DIA-J", "(i, j) -> (i + j : compressed, j : range)"),
        ("BSR(2,3)", "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)"),
        (
            "BSR-Row(2,3)",
            "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)",
        ),
        (
            "BSR-Col(2,3)",
            "(i, j) -> (i / 2 : dense, j / 3 : compressed, j % 3 : dense, i % 2 : dense)",
        ),
        ("BSC(2,3)", "(i, j) -> (j / 3 : dense, i / 2 : compressed, i % 2 : dense, j % 3 : dense)"),
        (
            "BSC-Row(2,3)",
            "(i, j) -> (j / 3 : dense, i / 2 : compressed, i % 2 : dense, j % 3 : dense)",
        ),
        (
            "BSC-Col(2,3)",
            "(i, j) -> (j / 3 : dense, i / 2 : compressed, j % 3 : dense, i % 2 : dense)",
        ),
        (
            "BSR(1, 1)",
            "(i, j) -> (i / 1 : dense, j / 1 : compressed, i % 1 : dense, j % 1 : dense)",
        ),
        ("CSF", "(i, j, k) -> (i : compressed, j : compressed, k : compressed)"),
        ("CSF(2)", "DCSR"),
        ("BCSR", "(b, i, j) -> (b : dense, i : dense, j : compressed)"),
        ("BCOO", "(i, j, k) -> (i : dense, j : compressed(nonunique, high), k : singleton)"),
        ("DCOO", "(i, j, k) -> (i : dense, j : compressed(nonunique), k : singleton)"),
        ("Batched-DIA", "(i, j, k) -> (i : dense, k-j : compressed, j : range)"),
        ("Batched-DIA-Uniform", "(i, j, k) -> (k-j : compressed, i : dense, j : range)"),
        ("2:4", "(i, j) -> (i : dense, j / 4 : dense, j % 4 : block2_4)"),
        ("3:8", "(i, j) -> (i : dense, j / 8 : dense, j % 8 : structured[3, 8])"),
        // However it is written.
        ("  dia_i  # diagonals", "DIA-I"),
        ("bsr ( 2 , 3 ), posWidth = 8", "BSR(2, 3), posWidth = 8"),
        ("coo(Col-Major)", "COO(col-major)"),
        ("DenseMatrixRight", "Dense"),
        ("2 : 4", "2:4"),
    ] {
        assert_eq!(read(name), read(text), "{name}");
    }
}

#[test]
fn a_family_takes_the_rank_of_the_tensor_unless_it_says_its_own() {
    for (text, rank, expected) in [
        ("COO", Some(3), Ok("COO(3)")),
        ("COO", Some(1), Ok("SparseVector")),
        ("COO", None, Ok("COO(2)")),
        ("CSF", Some(2), Ok("DCSR")),
        ("Dense", Some(5), Ok("Dense(5)")),
        ("CSR", Some(2), Ok("CSR")),
        ("COO(2)", Some(3), Err("a format of 2 dimensions for a tensor of rank 3")),
        ("(i) -> (i : dense)", Some(2), Err("a format of 1 dimensions for a tensor of rank 2")),
        ("Dense", Some(65), Err("an order beyond 64")),
    ] {
        let found = Format::resolve(text, rank);
        match expected {
            Ok(same) => assert_eq!(found.unwrap_or_else(|e| panic!("{e}")), read(same), "{text}"),
            Err(message) => assert_eq!(found.unwrap_err().message(), message),
        }
    }
}

#[test]
fn formats_without_a_name_have_none_and_widths_do_not_matter() {
    for (text, name) in [
        ("(i, j) -> (i / 2 : compressed, j / 3 : dense, i % 2 : dense, j % 3 : dense)", None),
        ("(i : slice(0, 1, 1)) -> (i : dense)", None),
        ("(a, b) -> (b : dense, a : compressed), crdWidth = 64", Some("CSC")),
        ("(i, j) -> (j + i : compressed, j : range)", Some("ANTI-DIA-J")),
        (
            "(i, j) -> (i / 3 : dense, j / 2 : compressed, i % 3 : dense, j % 2 : dense)",
            Some("BSR(3, 2)"),
        ),
        ("(i, j) -> (i : dense, j / 16 : dense, j % 16 : structured(5, 16))", Some("5:16")),
    ] {
        assert_eq!(read(text).name().as_deref(), name, "{text}");
    }
}

#[test]
fn properties_of_the_whole_follow_from_the_levels() {
    for (text, unique, ordered, tail) in [
        ("Scalar", true, true, 0),
        ("Dense(3)", true, true, 0),
        ("CSR", true, true, 2),
        ("COO(3)", true, true, 3),
        ("HybridCOO", true, true, 2),
        ("BSR(2, 2)", true, true, 2),
        ("(i) -> (i : compressed(nonunique))", false, true, 1),
        ("(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))", false, true, 2),
        ("(i, j) -> (i : compressed(nonunique), j : dense)", false, true, 1),
        ("(i, j) -> (i : dense, j : compressed(nonordered))", true, false, 2),
    ] {
        let format = read(text);
        let found = (format.is_unique(), format.is_ordered(), format.tail());
        assert_eq!(found, (unique, ordered, tail), "{text}");
    }
}

#[test]
fn widths_can_be_changed_and_are_checked() {
    let csr = read("CSR");
    assert_eq!(csr.with_widths(32, 8), Ok(read("CSR, posWidth = 32, crdWidth = 8")));
    assert_eq!(read("2:4").with_widths(0, 2), Ok(read("2:4, crdWidth = 2")));
    for (format, pos, crd, place) in [
        ("CSR", 33, 0, "33"),
        ("CSR", 2, 0, "2"),
        ("CSR", 0, 4, "4"),
        ("CSR", 0, 2, "2"),
        ("Dense", 0, 2, "2"),
        ("(i, j) -> (i : compressed, j / 4 : dense, j % 4 : block2_4)", 0, 2, "2"),
    ] {
        let error = read(format).with_widths(pos, crd).expect_err(format);
        assert!(error.excerpt().ends_with(&format!("= {place}")), "{error}");
    }
}

#[test]
fn slices_are_kept_and_can_be_taken_off() {
    let sliced = read("(i : slice(2, ?, 3), j) -> (i : dense, j : compressed)");
    let slice = Slice { offset: Some(2), size: None, stride: Some(3) };
    assert_eq!((sliced.dims()[0].slice, sliced.dims()[1].slice), (Some(slice), None));
    assert!(sliced.has_slices() && !sliced.without_slices().has_slices());
    assert_eq!(sliced.without_slices(), read("CSR"));
}

#[test]
fn a_format_is_small_shared_and_sendable() {
    fn assert_sendable<T: Send + Sync + Clone>(_: &T) {}
    assert_sendable(&read("CSR"));
    assert_eq!(size_of::<Format>(), size_of::<usize>());
    assert_eq!(size_of::<FormatError>(), size_of::<usize>());
}
