//! What stands in a text, and that it adds up.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ust::draw::{Text, TextOptions};

use super::common::*;

#[test]
fn stored_padded_and_empty_cells_make_up_the_tensor() {
    for (name, tensor) in samples() {
        assert_counts(&name, &tensor);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn so_they_do_for_any_entries(
        rows in 1_usize..9,
        columns in 1_usize..10,
        seed in prop::collection::btree_set((0_usize..9, 0_usize..10), 0..30),
        text in prop::sample::select(MATRICES),
    ) {
        let entries: BTreeSet<Vec<usize>> = seed
            .into_iter()
            .map(|(i, j)| vec![i % rows, j % columns])
            .filter(|c| text != "2:4" || fits24(c))
            .collect();
        let fits = !text.contains("* 9") || columns <= 9;
        prop_assume!(fits);
        assert_counts(text, &tensor(&[rows, columns], &entries, text));
    }
}

/// The numbers behind a name in a line of text, without the marks around them.
fn numbers(line: &str) -> Vec<String> {
    let plain = line.replace(['(', ')', '[', ']', '{', '}', '<', '>'], " ");
    plain.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn every_array_element_and_value_is_in_the_text() {
    for (name, tensor) in samples() {
        let text = wide(&tensor);
        let mut level = None;
        let mut arrays: BTreeMap<(usize, String), Vec<String>> = BTreeMap::new();
        let mut values = None;
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let starts = |word: &str| line.find(word).map(|at| &line[at + word.len()..]);
            if starts("A[").is_some() {
                break;
            }
            if let Some(rest) = starts("level ") {
                level = rest.split_whitespace().next().and_then(|n| n.parse::<usize>().ok());
            }
            for array in ["pos", "crd"] {
                if let (Some(rest), Some(level)) = (starts(&format!("  {array} ")), level) {
                    arrays.insert((level, array.to_owned()), numbers(rest));
                }
            }
            if let Some(column) = line.find("values  ") {
                let line: String =
                    lines[at + 2].chars().skip(line[..column].chars().count()).collect();
                values = Some(numbers(&line));
            }
        }
        let expected: Vec<String> = tensor.values().iter().map(|v| v.to_string()).collect();
        assert_eq!(values, Some(expected), "{name}:\n{text}");
        for level in 0..tensor.format().level_count() {
            for array in ["pos", "crd"] {
                let stored = tensor.level_array(level, array);
                let expected =
                    stored.map(|a| a.to_vec().iter().map(ToString::to_string).collect::<Vec<_>>());
                let drawn = arrays.get(&(level, array.to_owned())).cloned();
                assert_eq!(drawn, expected, "{name}: level {level} {array}\n{text}");
            }
        }
    }
}

#[test]
fn a_small_matrix_is_drawn_as_a_person_would() {
    let entries = [[0, 0], [0, 2], [1, 1], [2, 3]].map(|c| c.to_vec());
    let banded = tensor(&[3, 4], &BTreeSet::from(entries), "DIA-I");
    let trace = Some(vec![2, 3]);
    let options = TextOptions { width: 60, trace, ..TextOptions::default() };
    let text = Text::new(&banded, &options).unwrap().to_string();
    let expected = "\
DIA-I   (i, j) -> (j - i : compressed, i : range)
3 x 4 f64, 9 stored: 4 entries, 4 padding inside, 1 padding outside, 4 not stored

i\\j  0  1  2  3  4
  0  1 (0) 2  .
  1  .  3 (0)(0)
  2  .  . (0)>4<[0]

level 0  j - i : compressed   size 6, 3 positions
         0  1
  pos   >0<>3<
         0  1  2
  crd    0 >1< 2
level 1  i : range   size 3, 9 positions
values  f64
         0  1  2  3  4  5  6  7  8
         1  3 (0)(0)(0)>4< 2 (0)[0]

A[2, 3] = 4
  level 0   j - i = 1, position 1   pos[0] = 0, pos[1] = 3, crd[1] = 1
  level 1   i = 2, position 5
  values[5] = 4

. not stored   ( ) padding   [ ] padding outside the shape   > < traced   one colour for each j - i";
    assert_eq!(text, expected);
}
