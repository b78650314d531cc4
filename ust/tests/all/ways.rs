//! Which way each conversion takes: a change of the choice shows here.

use ust::generate::generate;
use ust::{Format, Tensor};

use crate::tables_of::{WAYS_FORMATS as FORMATS, letter};

fn table(tensor: &Tensor) -> String {
    let known: Vec<Format> = FORMATS.iter().map(|name| name.parse().unwrap()).collect();
    let row = |name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:<14} ")).collect();
        format!("{}\n", format!("{name:<15}{cells}").trim_end())
    };
    let mut table = row("from, to", &FORMATS.map(ToOwned::to_owned));
    for (name, format) in FORMATS.iter().zip(&known) {
        let source = tensor.convert(format).unwrap();
        let cells = known.iter().map(|to| letter(&source.way(to).unwrap()));
        table += &row(name, &cells.collect::<Vec<_>>());
    }
    table
}

/// `ways.txt` is the table: `=` shared, `W` whole blocks, `P` and `p` blocks piece by piece (with and
/// without stored rows), `E` elements to their places, `M` blocks marked first, `S` swept, `C` and `B`
/// counted (without and with buckets), `o` columns in order, `b` in order above, `s` sorted, `>X`
/// through the format X.
#[test]
fn each_pair_of_formats_has_its_way() {
    let coo = generate("gen:banded(1000, diagonals=41)").unwrap();
    let tensor = Tensor::from_coo(&coo, "CSR").unwrap();
    let found = table(&tensor);
    let expected = include_str!("ways.txt");
    assert!(found == expected, "now the table is\n{found}");
}

/// Small tensors, slices, and values that are no entries elsewhere go other ways.
#[test]
fn the_way_depends_on_what_is_stored() {
    let way = |tensor: &Tensor, to: &str| letter(&tensor.way(to).unwrap());
    let small = Tensor::from_coo(&generate("gen:poisson2d(9)").unwrap(), "CSR");
    let small = small.unwrap();
    assert_eq!(["CSC", "BSR(3,3)", "CSR"].map(|to| way(&small, to)), ["s", "P", "="]);
    let none = Tensor::zeros(&[9, 9], "CSR", ust::Dtype::F64).unwrap();
    assert_eq!(way(&none, "CSC"), "0");
    let window = ust::tensor::Window { offset: 1, size: 40, stride: 2 };
    let slice = small.slice([window, window]).unwrap();
    assert_eq!(["CSR", "CSC", "BSR(4,4)"].map(|to| way(&slice, to)), ["s", "s", "M"]);
    // A stored zero is no entry of a block.
    let zeros = small.with_values(vec![0.0; small.nse()]).unwrap();
    assert_eq!(["CSC", "BSR(3,3)"].map(|to| way(&zeros, to)), ["s", "M"]);
    for to in ["CSC", "BSR(3,3)", "DIA-I", "Dense"] {
        let there = zeros.convert(to).unwrap().to_dense::<f64>().unwrap();
        assert_eq!(there, zeros.to_dense::<f64>().unwrap());
    }
}
