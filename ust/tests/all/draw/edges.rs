//! Large, empty, sliced and strange tensors.

use std::collections::BTreeSet;

use ust::draw::picture::Body;
use ust::draw::{SvgOptions, Text, TextOptions, svg};
use ust::level_api::scalar::{Complex, f16};
use ust::tensor::{Parts, Window};
use ust::{Coo, Dtype, Tensor, Values};

use super::common::*;
use super::vector::*;

#[test]
fn large_tensors_become_maps_of_bounded_size() {
    let diagonal: BTreeSet<Vec<usize>> = (0..3000).map(|i| vec![i, i * 7 % 3000]).collect();
    let cube: BTreeSet<Vec<usize>> = (0..3000).map(|i| vec![i % 9, i * 7 % 300, i % 41]).collect();
    let line: BTreeSet<Vec<usize>> = (0..3000).map(|i| vec![i * 300]).collect();
    let far: BTreeSet<Vec<usize>> = (0..3000).map(|i| vec![i, i % 3, i % 5, i % 2]).collect();
    let narrow: BTreeSet<Vec<usize>> = (0..3000).map(|i| vec![i * 30, i % 2]).collect();
    let full: BTreeSet<Vec<usize>> = (0..1200).map(|i| vec![i / 40, i % 40]).collect();
    for (shape, entries, text) in [
        (&[3000, 3000][..], &diagonal, "CSR"),
        (&[3000, 3000], &diagonal, "COO"),
        (&[9, 300, 41], &cube, "CSF"),
        (&[1_000_000], &line, "SparseVector"),
        (&[3000, 3, 5, 2], &far, "CSF(4)"),
        (&[100_000, 2], &narrow, "CSR"),
        (&[1 << 40, 1 << 41], &diagonal, "COO"),
        (&[30, 40], &full, "BSR(2, 2)"),
    ] {
        let tensor = tensor(shape, entries, text);
        let name = format!("{shape:?} {text}");
        assert_svg(&name, &svg(&tensor, &SvgOptions::default()).unwrap());
        for width in [60, 100, 160] {
            let options = TextOptions { width, ..TextOptions::default() };
            let drawn = Text::new(&tensor, &options).unwrap().to_string();
            let lines = drawn.lines().skip(2);
            let array = lines.filter(|line| line.contains('|') || line.contains("  crd "));
            let widest = array.map(|line| line.chars().count()).max().unwrap_or(0);
            // What is left out of an array is said at its end.
            assert!(widest <= width + 16, "{name} in {width} columns: {widest}\n{drawn}");
        }
    }
}

#[test]
fn density_maps_count_every_entry() {
    let entries: BTreeSet<Vec<usize>> = (0..2000).map(|i| vec![i % 700, i * 13 % 900]).collect();
    let tensor = tensor(&[700, 900], &entries, "CSR");
    let picture = picture(&tensor);
    let Body::Density(density) = &picture.body else { panic!("drawn cell by cell") };
    assert_eq!(density.counts.iter().sum::<u64>(), entries.len() as u64);
    assert_eq!(picture.counts.empty, Some((700 * 900 - entries.len()) as u128));
}

#[test]
fn tensors_without_elements_or_entries_are_drawn() {
    for shape in [&[0][..], &[0, 4], &[4, 0], &[0, 0], &[2, 0, 3], &[3, 4], &[0, 1, 2, 3]] {
        let text = match shape.len() {
            1 => "SparseVector",
            2 => "CSR",
            3 => "CSF",
            _ => "CSF(4)",
        };
        let tensor = Tensor::zeros(shape, format(text), Dtype::F32).unwrap();
        let name = format!("{shape:?}");
        assert_svg(&name, &svg(&tensor, &SvgOptions::default()).unwrap());
        assert!(wide(&tensor).contains("0 entries stored"), "{name}");
    }
}

#[test]
fn values_of_every_dtype_are_drawn() {
    let wanted = |dtype: Dtype| Values::filled(dtype.one(), 3).cast(dtype).unwrap();
    let mut all: Vec<Values> = Dtype::ALL.iter().map(|&dtype| wanted(dtype)).collect();
    all.extend([
        Values::from(vec![f64::NAN, f64::INFINITY, 1.0 / 3.0]),
        Values::from(vec![f64::MAX, f64::MIN_POSITIVE, -0.0]),
        Values::from(vec![f16::NAN, f16::MAX, f16::NEG_INFINITY]),
        Values::from(vec![i64::MIN, i64::MAX, 0]),
        Values::from(vec![
            Complex::new(f64::NAN, -1e300),
            Complex::new(0.0, 1.0),
            Complex::default(),
        ]),
    ]);
    for values in all {
        let name = format!("{values:?}");
        let crd = vec![vec![0, 1, 2], vec![2, 0, 1]];
        let coo = Coo::new(vec![3, 3], crd, values).unwrap();
        let tensor = Tensor::from_coo(&coo, format("CSR")).unwrap();
        assert_svg(&name, &svg(&tensor, &SvgOptions::default()).unwrap());
        let text = wide(&tensor);
        assert!(text.contains("3 entries stored"), "{name}\n{text}");
    }
}

#[test]
fn gaps_are_told_apart() {
    let arrays =
        vec![vec![], vec![vec![4_i32, 6, 0, 2, 3, 3].into(), vec![0_i32, 2, 99, 77, 1, 3].into()]];
    let parts = Parts::new(arrays, vec![1.0, 2.0, -9.0, -7.0, 3.0, 4.0]);
    let loose = format("(i, j) -> (i : dense, j : loose_compressed)");
    let tensor = Tensor::from_parts(&loose, &[3, 4], parts).unwrap();
    assert_eq!(picture(&tensor).counts.gaps, 2);
    let text = wide(&tensor);
    for gap in ["{99}", "{77}", "{-9}", "{-7}", "{ } in a gap"] {
        assert!(text.contains(gap), "{gap}\n{text}");
    }
    let drawn = svg(&tensor, &SvgOptions::default()).unwrap();
    let document = roxmltree::Document::parse(&drawn).unwrap();
    let gaps = document.descendants().filter(|node| node.attribute("class") == Some("gap")).count();
    // Two coordinates, two values, and the legend.
    assert_eq!(gaps, 5);
}

#[test]
fn a_slice_shows_its_own_shape() {
    let whole = tensor(&[6, 8], &some(&[6, 8]), "DIA-I");
    let window = |offset, size, stride| Window { offset, size, stride };
    let slice = whole.slice([window(1, 4, 1), window(0, 3, 2)]).unwrap();
    let picture = picture(&slice);
    assert_eq!(picture.counts.entries, slice.to_coo().unwrap().len());
    assert_eq!(picture.cells().unwrap().window, [(0, 4), (0, 3)]);
    let text = wide(&slice);
    assert!(text.contains("hidden by the slice") && text.contains("4 x 3 f64"), "{text}");
    assert_svg("slice", &svg(&slice, &SvgOptions::default()).unwrap());
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, tensor) in samples() {
        let draw = |color| {
            let options = TextOptions { color, ..TextOptions::default() };
            Text::new(&tensor, &options).unwrap().to_string()
        };
        let (plain, colored) = (draw(false), draw(true));
        assert!(!plain.contains('\x1b') && colored.contains('\x1b'), "{name}");
        let mut stripped = String::new();
        let mut rest = colored.as_str();
        while let Some(at) = rest.find('\x1b') {
            stripped.push_str(&rest[..at]);
            rest = &rest[at..];
            rest = &rest[rest.find('m').unwrap() + 1..];
        }
        stripped.push_str(rest);
        let lines = |text: &str| text.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(lines(&stripped), lines(&plain), "{name}");
    }
}
