//! FROSTT as specification.

use std::path::Path;

use proptest::prelude::*;
use ust_engine::Values;
use ust_level_api::Dtype;

use super::super::tests::{compressed_text, data, temporary};
use super::*;

fn read_text(text: &str) -> Result<Coo, FileError> {
    parse(text.as_bytes(), Path::new("t.tns"), &ReadOptions::default())
}

fn shaped(text: &str, shape: &[usize]) -> Result<Coo, FileError> {
    parse(text.as_bytes(), Path::new("t.tns"), &ReadOptions::default().with_shape(shape))
}

/// Asserts that the error is at this line and column, for this reason.
#[track_caller]
fn at(result: Result<Coo, FileError>, place: (usize, usize), reason: &str) {
    let error = result.unwrap_err();
    let FileError::Text { line, column, reason: found, .. } = &error else { panic!("{error}") };
    assert_eq!((*line, *column), place, "{error}");
    assert!(found.contains(reason), "{error}");
}

#[test]
fn plain_files_have_the_shape_of_their_largest_coordinates() {
    for (text, shape, crd, values) in [
        ("1 1.5\n3 2\n", vec![3], vec![vec![0, 2]], vec![1.5, 2.0]),
        (
            "# c\n\n; d\n2 1 7\n1 4 -inf\n",
            vec![2, 4],
            vec![vec![1, 0], vec![0, 3]],
            vec![7.0, f64::NEG_INFINITY],
        ),
        (
            "1 2 3 0.5\r\n1 2 3 4e-1\r\n",
            vec![1, 2, 3],
            vec![vec![0, 0], vec![1, 1], vec![2, 2]],
            vec![0.5, 0.4],
        ),
        (
            "5 6 7 8 9 1",
            vec![5, 6, 7, 8, 9],
            vec![vec![4], vec![5], vec![6], vec![7], vec![8]],
            vec![1.0],
        ),
        // A byte order mark, and comments after entries.
        (
            "\u{feff}1 1 1 1.5 # first\n2 3 1 -2#second\n1 1 1 4 ; third # 5 6\n",
            vec![2, 3, 1],
            vec![vec![0, 1, 0], vec![0, 2, 0], vec![0, 0, 0]],
            vec![1.5, -2.0, 4.0],
        ),
        // Two plain entries, though they look like a header without entries.
        ("2 0\n4 5\n", vec![4], vec![vec![1, 3]], vec![0.0, 5.0]),
        ("2 5\n4 5\n3 1\n", vec![4], vec![vec![1, 3, 2]], vec![5.0, 5.0, 1.0]),
    ] {
        assert_eq!(read_text(text).unwrap(), Coo::new(shape, crd, values).unwrap(), "{text}");
    }
}

#[test]
fn the_extended_header_is_known_by_its_comment_or_its_form() {
    let entry = |shape: &[usize], crd: &[i64]| {
        let crd = crd.iter().map(|&c| vec![c]).collect();
        Coo::new(shape.to_vec(), crd, vec![1.5]).unwrap()
    };
    for (text, shape, crd) in [
        ("# extended FROSTT format\n3 1\n4 5 6\n1 2 3 1.5\n", vec![4, 5, 6], vec![0, 1, 2]),
        ("; extended FROSTT format\n1 1\n7\n3 1.5\n", vec![7], vec![2]),
        (
            "# Extended FROSTT tensor with\n# more\n2 1\n300 1\n300 1 1.5\n",
            vec![300, 1],
            vec![299, 0],
        ),
        ("# Any comment.\n2 1\n3 4\n1 1 1.5\n", vec![3, 4], vec![0, 0]),
        ("1 1\n7\n3 1.5\n", vec![7], vec![2]),
        ("3 1\n4 5 6\n# c\n1 2 3 1.5\n", vec![4, 5, 6], vec![0, 1, 2]),
        ("# extended FROSTT format\n0 1\n1.5\n", vec![], vec![]),
    ] {
        assert_eq!(read_text(text).unwrap(), entry(&shape, &crd), "{text}");
    }
    for (text, shape) in [
        ("# extended FROSTT format\n2 0\n4 5\n", vec![4, 5]),
        ("3 0\n4 5 6\n", vec![4, 5, 6]),
        ("1 0\n4\n", vec![4]),
    ] {
        let coo = read_text(text).unwrap();
        assert_eq!((coo.shape, coo.values.len()), (shape, 0), "{text}");
    }
}

#[test]
fn a_shape_comes_from_the_comment_or_the_options_and_they_agree() {
    let text = "# shape 4x6x8\n1 2 3 0.5\n";
    assert_eq!(read_text(text).unwrap().shape, [4, 6, 8]);
    assert_eq!(shaped(text, &[4, 6, 8]).unwrap().shape, [4, 6, 8]);
    let error = shaped(text, &[4, 6, 9]).unwrap_err();
    let FileError::Tensor { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(**source, Error::Shape { .. }), "{error}");
    assert_eq!(shaped("1 2 3 0.5\n", &[4, 6, 9]).unwrap().shape, [4, 6, 9]);
    assert_eq!(read_text("# shape of things\n1 2 1\n").unwrap().shape, [1, 2]);
    assert_eq!(
        shaped("# nothing\n", &[2, 3]).unwrap(),
        Coo::new(vec![2, 3], vec![Vec::<i64>::new(); 2], Vec::<f64>::new()).unwrap()
    );
    assert_eq!(
        read_text("# shape\n2.5\n").unwrap(),
        Coo::new(vec![], Vec::<Vec<i64>>::new(), vec![2.5]).unwrap()
    );
    assert_eq!(
        shaped("2.5", &[]).unwrap(),
        Coo::new(vec![], Vec::<Vec<i64>>::new(), vec![2.5]).unwrap()
    );
}

#[test]
fn malformed_texts_are_refused_with_their_place() {
    for (text, place, reason) in [
        ("", (1, 1), "no entry, hence no shape"),
        ("# c\n\n", (3, 1), "no entry, hence no shape"),
        ("5\n", (1, 1), "at least one coordinate"),
        ("1 1 2\n1 1\n", (2, 4), "ends before its value: it has 2 words, the first entry has 3"),
        ("1 1 2\n1 1.5\n", (2, 6), "ends before its value: it has 2 words, the first entry has 3"),
        ("1 2\n1 1 1.5\n", (2, 5), "`1.5` is one word too many in this line: it has 3 words"),
        ("1 2\n1 1 1.5 # 3\n", (2, 5), "the first entry has 2"),
        ("1 1 2 # 3\n1 1 # 2\n", (2, 4), "ends before its value"),
        ("# shape 4x4\n1 1 1\n1 1.5\n", (3, 6), "an entry has 3"),
        ("# extended FROSTT format\n2 2\n4 4\n1 1 1 2\n", (4, 1), "an entry of 4 words"),
        ("# extended FROSTT format\n2 3\n4 4\n1 1 1\n2 2\n", (5, 4), "ends before its value"),
        ("\u{feff}x 2\n", (1, 1), "`x` is no coordinate"),
        ("1 1 2\n1 1 2 2\n", (2, 7), "one word too many"),
        ("1 1 2\n0 1 2\n", (2, 1), "coordinates start at 1"),
        ("1 1 2\n1 -4 2\n", (2, 3), "`-4` is no coordinate"),
        ("1 1 2\n1 1.5 2\n", (2, 3), "`1.5` is no coordinate"),
        ("1 1 2\n18446744073709551616 1 2\n", (2, 1), "does not fit 64 bits"),
        ("1 1 2\n1 1 two\n", (2, 5), "`two` is no real number"),
        ("# extended FROSTT format\n", (2, 1), "ends before the line with the rank"),
        ("# extended FROSTT format\n2\n", (2, 2), "ends before its number of entries"),
        ("# extended FROSTT format\n2 1 1\n", (2, 5), "one word too many"),
        ("# extended FROSTT format\n-2 1\n", (2, 1), "`-2` is no rank"),
        ("# extended FROSTT format\n2 1\n", (3, 1), "ends before the line with the sizes"),
        ("# extended FROSTT format\n2 1\n4\n1 1 1\n", (3, 2), "ends before its sizes"),
        ("# extended FROSTT format\n2 1\n4 4 4\n1 1 1\n", (3, 5), "one word too many"),
        (
            "# extended FROSTT format\n2 1\n4 4\n5 1 1\n",
            (4, 1),
            "coordinate 5 of dimension 1 lies outside 1..=4",
        ),
        ("# extended FROSTT format\n2 2\n4 4\n1 1 1\n", (5, 1), "ends after 1 of the 2 entries"),
        ("# extended FROSTT format\n2 1\n4 4\n1 1 1\n2 2 2\n", (5, 1), "more entries than the 1"),
        (
            "# extended FROSTT format\n2 1\n4 4\n1 1 1 1\n",
            (4, 1),
            "an entry of 4 words in a tensor of rank 2",
        ),
        ("# extended FROSTT format\n999999999999 1\n4 4\n1 1 1\n", (3, 4), "ends before its sizes"),
        ("# shape 4x4\n1 5 1\n", (2, 3), "coordinate 5 of dimension 2 lies outside 1..=4"),
        ("# shape 4x4x4\n1 3 1\n", (2, 1), "an entry of 3 words in a tensor of rank 3"),
    ] {
        at(read_text(text), place, reason);
    }
    at(shaped("1 2 3 1\n", &[2, 2]), (1, 1), "an entry of 4 words in a tensor of rank 2");
    at(shaped("1 3 1\n", &[2, 2]), (1, 3), "lies outside 1..=2");
    at(shaped("1 1 1\n", &[0, 2]), (1, 1), "lies outside 1..=0");
}

#[test]
fn a_text_cut_anywhere_is_refused_until_its_last_value_begins() {
    let text = "# extended FROSTT format\n3 2\n4 5 6\n1 2 3 0.5\n4 5 6 7\n";
    let last = text.rfind('7').unwrap();
    for end in 25..=text.len() {
        assert_eq!(read_text(&text[..end]).is_ok(), end > last, "{:?}", &text[..end]);
    }
}

#[test]
fn files_keep_their_shape_plain_and_compressed() {
    let folder = temporary();
    let coo = Coo::new(vec![4, 6, 8], vec![vec![0], vec![1], vec![2]], vec![0.1]).unwrap();
    for name in ["t.tns", "t.tns.gz"] {
        let path = folder.path().join(name);
        write(&path, &coo).unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap(), coo);
    }
    let plain = std::fs::read_to_string(folder.path().join("t.tns")).unwrap();
    assert_eq!(plain, "# shape 4x6x8\n1 2 3 0.1\n");
    assert_eq!(compressed_text(&folder.path().join("t.tns.gz")), plain);
}

#[test]
fn every_real_dtype_is_written_and_complex_ones_are_refused() {
    let folder = temporary();
    for &dtype in Dtype::ALL {
        let path = folder.path().join("t.tns");
        let values = Values::from(vec![0_u8, 1]).cast(dtype).unwrap();
        let coo = Coo::new(vec![3], vec![vec![0, 2]], values).unwrap();
        if dtype.is_complex() {
            assert!(matches!(write(&path, &coo), Err(FileError::Unsupported { .. })), "{dtype}");
            continue;
        }
        write(&path, &coo).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(back.values.cast(dtype).unwrap(), coo.values, "{dtype}");
    }
}

#[test]
fn a_real_file_agrees_with_what_is_known_about_it() {
    let Some(path) = data("splatt_med.tns.gz") else { return };
    let coo = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((coo.shape.len(), coo.len()), (3, 100_000));
    let mut text = Vec::new();
    write_to(&mut text, &coo).unwrap();
    assert_eq!(parse(&text, &path, &ReadOptions::default()).unwrap(), coo);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_reads_back_the_same(
        shape in prop::collection::vec(1..9_usize, 0..5),
        places in prop::collection::vec(any::<u64>(), 0..30),
        value in prop::num::f64::NORMAL,
    ) {
        let crd = shape
            .iter()
            .enumerate()
            .map(|(dim, &n)| places.iter().map(|p| ((p >> (8 * dim)) % n as u64) as i64).collect())
            .collect();
        let values: Vec<f64> = places.iter().map(|&p| value * p as f64).collect();
        let coo = Coo::new(shape, crd, values).unwrap();
        let mut text = Vec::new();
        write_to(&mut text, &coo).unwrap();
        prop_assert_eq!(read_text(std::str::from_utf8(&text).unwrap()).unwrap(), coo);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(
        head in prop::sample::select(vec!["", "# extended FROSTT format\n", "2 1\n3 3\n", "# shape 2x2\n"]),
        tail in prop::collection::vec(prop::sample::select(b"0123 9.x-\n#\xff".to_vec()), 0..200),
    ) {
        let text = [head.as_bytes(), &tail].concat();
        let _ = parse(&text, Path::new("t.tns"), &ReadOptions::default());
    }
}
