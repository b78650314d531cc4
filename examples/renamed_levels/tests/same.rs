//! Under other names, level types take the same ways and get the same kernels.

#[path = "../../../ust/tests/tables/mod.rs"]
mod tables;

use renamed_levels::NAMES;
use tables::{EXPRESSIONS, LOOPS_FORMATS, Operands, WAYS_FORMATS, letter, stages};
use ust::generate::generate;
use ust::{Format, Tensor};

/// A format with the level types of this crate.
fn renamed(format: &Format) -> Format {
    renamed_levels::renamed(&format.to_string()).parse().unwrap()
}

#[test]
fn names_are_replaced() {
    let csr = renamed(&"CSR".parse().unwrap());
    assert_eq!(csr, "(i, j) -> (i : dense, j : segments)".parse().unwrap());
    let loose: Format = "(i, j) -> (i : dense, j : loose_compressed)".parse().unwrap();
    assert_eq!(renamed(&loose), loose);
    for name in ["2:4", "DIA-I", "BSR(4,4)"] {
        let format: Format = name.parse().unwrap();
        assert_ne!(renamed(&format), format);
    }
}

#[test]
fn conversions_take_the_same_ways() {
    let coo = generate("gen:banded(1000, diagonals=41)").unwrap();
    let formats: Vec<Format> = WAYS_FORMATS.iter().map(|name| name.parse().unwrap()).collect();
    for from in &formats {
        let original = Tensor::from_coo(&coo, from).unwrap();
        let copy = Tensor::from_coo(&coo, renamed(from)).unwrap();
        for to in &formats {
            let way = |of: &Tensor, to: &Format| match &letter(&of.way(to).unwrap())[..] {
                // The intermediate format has another name.
                between if between.starts_with('>') => ">".to_owned(),
                letter => letter.to_owned(),
            };
            assert_eq!(way(&copy, &renamed(to)), way(&original, to), "{from} to {to}");
        }
        let back = copy.convert(from).unwrap();
        assert_eq!(back, original, "{from}");
    }
}

#[test]
fn kernels_are_the_same() {
    let operands = Operands::new();
    let more = ["2:4", "BSR-Col(4,4)", "BSC(4,4)", "DIA-J"];
    for expression in EXPRESSIONS {
        for format in LOOPS_FORMATS.into_iter().chain(more) {
            let format: Format = format.parse().unwrap();
            if format.rank() != 2 {
                continue;
            }
            let found = stages(expression, &operands, &renamed(&format));
            let found = NAMES.iter().fold(found, |text, (of, name)| text.replace(name, of));
            assert_eq!(found, stages(expression, &operands, &format), "{expression} in {format}");
        }
    }
}

#[test]
fn two_of_four_have_their_kernel() {
    let coo = generate("gen:pruned24(64x64)").unwrap();
    let x = ust::ndarray::Array1::<f64>::ones(64);
    let format: Format = "2:4".parse().unwrap();
    let stages = |format: &Format| {
        let a = Tensor::from_coo(&coo, format).unwrap();
        let call = ust::einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x);
        call.prepare().unwrap().stages()
    };
    assert_eq!(stages(&renamed(&format)), stages(&format));
}
