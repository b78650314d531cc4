//! Drawing: what is drawn is what is stored.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ust::draw::picture::{Body, Trace};
use ust::draw::{Picture, PictureOptions, State, SvgOptions, Text, TextOptions, svg};
use ust::level_api::scalar::{Complex, f16};
use ust::lower::view::Window;
use ust::tensor::Parts;
use ust::{Coo, Dtype, Error, Format, Tensor, Values};

/// Formats of matrices, with padding, gaps, blocks, groups and whatever else there is.
const MATRICES: &[&str] = &[
    "CSR",
    "CSC",
    "DCSR",
    "COO",
    "Dense",
    "DIA-I",
    "DIA-J",
    "ANTI-DIA-I",
    "ANTI-DIA-J",
    "BSR(2, 3)",
    "BSC(3, 2)",
    "CROW",
    "2:4",
    "(i, j) -> (i * 9 + j : compressed)",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i / 2 : dense, j : compressed, i % 2 : dense)",
    "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
];

/// Every other rank.
const OTHERS: &[(&[usize], &str)] = &[
    (&[], "Scalar"),
    (&[11], "DenseVector"),
    (&[11], "SparseVector"),
    (&[11], "BlockedVector(4)"),
    (&[4, 3, 5], "CSF"),
    (&[4, 3, 5], "(i, j, k) -> (i : dense, k - j : compressed, j : range)"),
    (&[4, 3, 5], "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : dense)"),
    (&[2, 3, 2, 3], "CSF(4)"),
    (&[2, 2, 2, 2, 2, 2], "COO(6)"),
];

fn format(text: &str) -> Format {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// A tensor with the given entries and the values 1, 2, ... in the order of coordinates.
fn tensor(shape: &[usize], coordinates: &BTreeSet<Vec<usize>>, text: &str) -> Tensor {
    let column = |d: usize| coordinates.iter().map(|c| c[d] as i64).collect();
    let crd = (0..shape.len()).map(column).collect();
    let values: Vec<f64> = (1..=coordinates.len()).map(|v| v as f64).collect();
    let coo = Coo::new(shape.to_vec(), crd, values).unwrap();
    Tensor::from_coo(&coo, &format(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Every third element or so, the same everywhere; at most two of four neighbours in a row.
fn some(shape: &[usize]) -> BTreeSet<Vec<usize>> {
    let cells: usize = shape.iter().product();
    let coordinates = |mut cell: usize| {
        let mut at = vec![0; shape.len()];
        for (c, n) in at.iter_mut().zip(shape).rev() {
            (*c, cell) = (cell % n, cell / n);
        }
        at
    };
    (0..cells).filter(|cell| cell * 7 % 11 < 4).map(coordinates).filter(|c| fits24(c)).collect()
}

fn fits24(coordinates: &[usize]) -> bool {
    coordinates.last().is_none_or(|c| c % 4 != 1 && c % 4 != 2)
}

/// Every sample tensor, with its format.
fn samples() -> Vec<(String, Tensor)> {
    let matrices = MATRICES.iter().map(|text| (&[5, 7][..], *text));
    matrices
        .chain(OTHERS.iter().copied())
        .map(|(shape, text)| (format!("{shape:?} {text}"), tensor(shape, &some(shape), text)))
        .collect()
}

fn picture(tensor: &Tensor) -> Picture<'_> {
    Picture::new(tensor, &PictureOptions::default()).unwrap()
}

/// Text with everything on one line, however long.
fn wide(tensor: &Tensor) -> String {
    let options = TextOptions { width: 100_000, max_elements: 10_000, ..TextOptions::default() };
    Text::new(tensor, &options).unwrap().to_string()
}

/// The counts of a picture are those of the tensor, and every cell holds its element.
fn assert_counts(name: &str, tensor: &Tensor) {
    let picture = picture(tensor);
    let counts = picture.counts;
    assert_eq!(counts.entries, tensor.to_coo().unwrap().len(), "{name}: entries");
    let all = counts.entries + counts.padding + counts.outside + counts.gaps;
    assert_eq!(all, tensor.nse(), "{name}: stored");
    let Body::Cells(cells) = &picture.body else { panic!("{name}: not drawn cell by cell") };
    let mut sums: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for place in &cells.places {
        let inside = place.dims.iter().zip(tensor.shape()).all(|(&c, &n)| 0 <= c && c < n as i64);
        assert_eq!(inside, place.state != State::Outside, "{name}: {place:?}");
        let levels = tensor.format().dim2lvl(&place.dims).unwrap();
        assert_eq!(levels, place.crd, "{name}: {place:?}");
        if inside {
            let dims = place.dims.iter().map(|&c| c as usize).collect();
            let value = tensor.values().typed::<f64>().unwrap()[place.value];
            *sums.entry(dims).or_default() += value;
        }
    }
    for (dims, sum) in &sums {
        assert_eq!(tensor.get_as::<f64>(dims).unwrap(), *sum, "{name}: {dims:?}");
    }
    let elements: usize = tensor.shape().iter().product();
    assert_eq!(counts.empty, Some((elements - sums.len()) as u128), "{name}: not stored");
}

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
    assert_eq!(absent.trace, Some(Trace::Absent(vec![1, 1])));
    assert!(matches!(Picture::new(&csr, &trace(&[2, 0])), Err(Error::Coordinate { .. })));
    assert!(matches!(Picture::new(&csr, &trace(&[1])), Err(Error::Shape { .. })));
    let said = "A[1, 1] is not stored: it is the fill value 0";
    let options = TextOptions { trace: Some(vec![1, 1]), ..TextOptions::default() };
    assert!(Text::new(&csr, &options).unwrap().to_string().contains(said));
    let options = SvgOptions { trace: Some(vec![1, 1]), ..SvgOptions::default() };
    assert!(svg(&csr, &options).unwrap().contains(said));
}

/// A picture is XML, is not too large, and stands inside its own borders.
fn assert_svg(name: &str, text: &str) {
    let document = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(text.len() < 1_000_000, "{name}: {} bytes", text.len());
    let root = document.root_element();
    let side = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (side("width"), side("height"));
    for node in
        document.descendants().filter(|node| !node.ancestors().any(|n| n.has_tag_name("defs")))
    {
        for (from, size, limit) in [
            ("x", "width", width),
            ("y", "height", height),
            ("cx", "r", width),
            ("cy", "r", height),
        ] {
            let number = |name: &str| node.attribute(name).map(|n| n.parse::<f64>().unwrap());
            if let Some(at) = number(from) {
                let end = at + number(size).unwrap_or(0.0);
                assert!(0.0 <= at && end <= limit, "{name}: {node:?}");
            }
        }
    }
}

#[test]
fn an_svg_is_well_formed_and_every_place_stands_in_it_twice() {
    for (name, tensor) in samples() {
        let text = svg(&tensor, &SvgOptions::default()).unwrap();
        assert_svg(&name, &text);
        let document = roxmltree::Document::parse(&text).unwrap();
        let titles: Vec<&str> = document
            .descendants()
            .filter(|n| n.has_tag_name("title"))
            .filter_map(|n| n.text())
            .collect();
        let picture = picture(&tensor);
        for place in &picture.cells().unwrap().places {
            let end = format!("values[{}]", place.value);
            // Once in its cell, once among the values.
            let parts = titles.iter().flat_map(|title| title.split("\n\n"));
            let shown = parts.filter(|part| part.lines().last() == Some(&end)).count();
            assert_eq!(shown, 2, "{name}: {end}");
        }
        for level in &picture.levels {
            for array in &level.arrays {
                for (at, element) in array.array.to_vec().iter().enumerate() {
                    let end = format!("{}[{at}] = {element}", array.name);
                    assert!(titles.iter().any(|title| title.ends_with(&end)), "{name}: {end}");
                }
            }
        }
    }
}

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
        let tensor = Tensor::zeros(shape, &format(text), Dtype::F32).unwrap();
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
        let tensor = Tensor::from_coo(&coo, &format("CSR")).unwrap();
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
    let slice = whole.slice(&[window(1, 4, 1), window(0, 3, 2)]).unwrap();
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

#[test]
fn titles_are_escaped() {
    let title = "<script>&\"\u{7}";
    let options = SvgOptions { title: Some(title.to_owned()), ..SvgOptions::default() };
    let drawn = svg(&tensor(&[1], &BTreeSet::new(), "SparseVector"), &options).unwrap();
    assert_svg("title", &drawn);
    let document = roxmltree::Document::parse(&drawn).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"<script>&\"\u{fffd}"), "{texts:?}");
}
