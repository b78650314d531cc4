//! Groups, colours and traces.

use std::collections::BTreeSet;

use ust::Error;
use ust::draw::picture::Trace;
use ust::draw::{Picture, PictureOptions, SvgOptions, Text, TextOptions, svg};

use super::common::*;

#[test]
fn groups_are_diagonals_blocks_rows_slices_and_padded_groups() {
    let entries: BTreeSet<Vec<usize>> =
        [[0, 0], [0, 1], [1, 1], [2, 5], [4, 6]].map(|c| c.to_vec()).into();
    let number = |of: &dyn Fn(&[usize]) -> Vec<i64>| {
        entries.iter().map(|c| of(c)).collect::<BTreeSet<_>>().len()
    };
    let minus = |c: &[usize]| vec![c[1] as i64 - c[0] as i64];
    let block = |c: &[usize]| vec![c[0] as i64 / 2, c[1] as i64 / 3];
    let row = |c: &[usize]| vec![c[0] as i64];
    for (text, expected) in [
        ("DIA-I", number(&minus)),
        ("BSR(2, 3)", number(&block)),
        ("CSR", number(&row)),
        ("COO", number(&row)),
    ] {
        let tensor = tensor(&[5, 7], &entries, text);
        let picture = picture(&tensor);
        let groups = picture.cells().map(ust::draw::picture::Cells::groups);
        assert_eq!(groups, Some(expected), "{text}");
    }
    for (text, by) in [
        ("DIA-I", "j - i"),
        ("BSR(2, 3)", "(i / 2, j / 3)"),
        ("CSR", "i"),
        ("CSC", "j"),
        ("2:4", "(i, j / 4)"),
    ] {
        assert_eq!(
            picture(&tensor(&[5, 7], &entries, text)).group_by.as_deref(),
            Some(by),
            "{text}"
        );
    }
    let slices = tensor(&[4, 3, 5], &some(&[4, 3, 5]), "CSF");
    assert_eq!(picture(&slices).group_by.as_deref(), Some("i"));
    let alone = tensor(&[11], &some(&[11]), "SparseVector");
    assert_eq!(picture(&alone).group_by, None);
}

#[test]
fn groups_that_touch_have_different_colours() {
    for text in ["BSR(2, 2)", "BSC(3, 2)", "DIA-I", "CSR", "CSC"] {
        let tensor = tensor(&[12, 20], &some(&[12, 20]), text);
        let picture = picture(&tensor);
        let cells = picture.cells().unwrap();
        for place in &cells.places {
            for (down, right) in [(0, 1), (1, 0), (1, 1), (1, -1)] {
                for &other in cells.at(&[place.dims[0] + down, place.dims[1] + right]) {
                    let other = &cells.places[other];
                    let same = cells.color(place) == cells.color(other);
                    assert_eq!(same, place.group == other.group, "{text}: {place:?} {other:?}");
                }
            }
        }
    }
}

#[test]
fn the_traced_element_is_found_through_every_array() {
    for (name, tensor) in samples() {
        for entry in tensor.entries().unwrap() {
            let options =
                PictureOptions { trace: Some(entry.coordinates.clone()), ..Default::default() };
            let picture = Picture::new(&tensor, &options).unwrap();
            let place = picture.traced().unwrap_or_else(|| panic!("{name}: {entry:?}"));
            assert!(place.dims.iter().zip(&entry.coordinates).all(|(&a, &b)| a == b as i64));
            for (level, shown) in picture.levels.iter().enumerate() {
                let leading = picture.leading(level, place);
                for (array, elements) in shown.arrays.iter().zip(leading) {
                    let stored: Vec<i64> =
                        elements.iter().map(|&at| array.array.get(at).unwrap()).collect();
                    match (array.name, &stored[..]) {
                        ("crd", [crd]) => assert_eq!(*crd, place.crd[level], "{name}"),
                        ("pos", [lo, hi]) => {
                            assert!((*lo..*hi).contains(&(place.pos[level] as i64)), "{name}");
                        }
                        other => panic!("{name}: level {level}: {other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_not_stored_is_said_and_what_does_not_exist_is_refused() {
    let csr = tensor(&[2, 3], &BTreeSet::from([vec![0, 1]]), "CSR");
    let trace = |coordinates: &[usize]| PictureOptions {
        trace: Some(coordinates.to_vec()),
        ..PictureOptions::default()
    };
    let absent = Picture::new(&csr, &trace(&[1, 1])).unwrap();
    let ends = |search| Some(Trace::Absent { element: vec![1, 1], search });
    assert_eq!(absent.trace, ends(vec![1, 1]), "the second level does not have it");
    let dcsr = csr.convert("DCSR").unwrap();
    let absent = Picture::new(&dcsr, &trace(&[1, 1])).unwrap();
    assert_eq!(absent.trace, ends(vec![1]), "nor has the first one");
    assert!(matches!(Picture::new(&csr, &trace(&[2, 0])), Err(Error::Coordinate { .. })));
    assert!(matches!(Picture::new(&csr, &trace(&[1])), Err(Error::Shape { .. })));
    let said = "A[1, 1] is not stored: it is the fill value 0";
    let options = TextOptions { trace: Some(vec![1, 1]), ..TextOptions::default() };
    assert!(Text::new(&csr, &options).unwrap().to_string().contains(said));
    let options = SvgOptions { trace: Some(vec![1, 1]), ..SvgOptions::default() };
    assert!(svg(&csr, &options).unwrap().contains(said));
}
