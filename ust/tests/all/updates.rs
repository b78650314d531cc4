//! A tensor whose entries are inserted, changed and removed holds what a map holds, and its clones what they held.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ust::tensor::{BuildOptions, Duplicates, Window};
use ust::{Coo, Dtype, Error, Format, Scalar, Tensor, einsum};

type Map = BTreeMap<Vec<usize>, f64>;

/// Formats of rank 1 to 3. Some take all entries in place, some certain ones, some none.
const FORMATS: [&[&str]; 3] = [
    &[
        "(i) -> (i : hashed)",
        "(i) -> (i : loose_compressed)",
        "(i) -> (i / 3 : hashed, i % 3 : dense)",
        "(i) -> (i / 3 : loose_compressed, i % 3 : dense)",
        "(i) -> (i : compressed)",
        "(i) -> (i : dense)",
        "(i) -> (i : loose_compressed(nonunique))",
    ],
    &[
        "(i, j) -> (i : dense, j : hashed)",
        "(i, j) -> (i : dense, j : loose_compressed)",
        "(i, j) -> (i : dense, j : loose_compressed(nonordered))",
        "(i, j) -> (i : dense, j : loose_compressed), posWidth = 8, crdWidth = 8",
        "(i, j) -> (i : hashed, j : dense)",
        "(i, j) -> (j : hashed, i : loose_compressed)",
        "(i, j) -> (j : loose_compressed, i : hashed)",
        "(i, j) -> (j - i : hashed, i : range)",
        "(i, j) -> (i / 2 : dense, j / 3 : loose_compressed, i % 2 : dense, j % 3 : dense)",
        "(i, j) -> (i : dense, j : sparse_run_length)",
        "(i, j) -> (i : dense, j : bits)",
        "CSR",
        "COO",
        "COO(col-major)",
        "ELL",
        "DIA-I",
        "BSR(2, 2)",
    ],
    &[
        "(i, j, k) -> (i : dense, j : hashed, k : dense)",
        "(i, j, k) -> (k : dense, j : dense, i : loose_compressed)",
        "(i, j, k) -> (i : compressed, j : compressed, k : hashed)",
        "CSF(3)",
    ],
];

/// Stands for a map: the arrays pass the check of foreign ones, and the entries are those of the map.
fn assert_holds(a: &Tensor, map: &Map) {
    let (format, shape, parts) = a.clone().into_parts();
    Tensor::from_parts(&format, &shape, parts).unwrap_or_else(|error| panic!("{format}: {error}"));
    let mut stored = Map::new();
    for entry in a.entries().unwrap() {
        let Scalar::F64(value) = entry.value else { panic!("{:?}", entry.value) };
        *stored.entry(entry.coordinates).or_insert(0.0) += value;
    }
    assert_eq!(stored, *map, "{format}");
}

/// What is stored of entries.
fn kept(map: &Map, a: &Tensor) -> Map {
    let padding = |value: &f64| a.has_padding() && Scalar::F64(*value) == a.fill();
    map.iter().filter(|(_, value)| !padding(value)).map(|(c, v)| (c.clone(), *v)).collect()
}

fn tensor(shape: &[usize], entries: &[(Vec<usize>, f64)], format: &Format, fill: f64) -> Tensor {
    let column = |dim: usize| entries.iter().map(|(c, _)| c[dim] as i64).collect();
    let crd = (0..shape.len()).map(column).collect();
    let values: Vec<f64> = entries.iter().map(|(_, value)| *value).collect();
    let coo = Coo::new(shape.to_vec(), crd, values).unwrap();
    let options = BuildOptions {
        fill: Some(fill.into()),
        duplicates: Duplicates::AsFormat,
        ..Default::default()
    };
    Tensor::from_coo_with(&coo, format, &options).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_tensor_that_is_changed_does_what_a_map_does(
        shape in proptest::collection::vec(1_usize..12, 1..4),
        first in proptest::collection::vec((any::<[usize; 3]>(), 1_i8..4), 0..12),
        steps in proptest::collection::vec((0_u8..6, any::<[usize; 3]>(), -1_i8..4), 0..40),
        (fill, format) in (prop_oneof![2 => Just(0.0), 1 => Just(1.0)], any::<usize>()),
    ) {
        let formats = FORMATS[shape.len() - 1];
        let format: Format = formats[format % formats.len()].parse().unwrap();
        let place = |numbers: [usize; 3]| -> Vec<usize> {
            shape.iter().zip(numbers).map(|(n, number)| number % n).collect()
        };
        let entries: Vec<_> = first.iter().map(|&(at, v)| (place(at), f64::from(v))).collect();
        let entries = match format.is_unique() {
            // The sum of duplicates may be the fill value, which is no entry of some formats.
            true => entries.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect(),
            false => entries,
        };
        let mut a = tensor(&shape, &entries, &format, fill);
        let mut map = Map::new();
        for (at, value) in &entries {
            *map.entry(at.clone()).or_insert(0.0) += value;
        }
        let mut map = kept(&map, &a);
        let mut before: Option<(Tensor, Map)> = None;
        for (what, numbers, value) in steps {
            let (at, value) = (place(numbers), f64::from(value));
            let was = map.get(&at).copied();
            let scalar = was.map(Scalar::F64);
            let arrays = a.kept_of_levels().id();
            let found = match what {
                0 | 1 => {
                    map.insert(at.clone(), value);
                    a.insert(&at, value)
                }
                2 => {
                    map.insert(at.clone(), was.unwrap_or(0.0) + value);
                    a.update(&at, |stored| {
                        assert_eq!(stored, scalar);
                        Some(Scalar::F64(was.unwrap_or(0.0) + value))
                    })
                }
                3 | 4 => {
                    map.remove(&at);
                    a.remove(&at)
                }
                _ => {
                    // What stands in the way of changes in place: a clone.
                    if let Some((tensor, map)) = before.replace((a.clone(), map.clone())) {
                        assert_holds(&tensor, &map);
                    }
                    a.update(&at, |stored| stored)
                }
            };
            assert_eq!(found.unwrap(), scalar, "{format}");
            map = kept(&map, &a);
            assert_eq!(a.get(&at).unwrap(), map.get(&at).copied().unwrap_or(fill).into());
            assert_holds(&a, &map);
            assert!(what > 2 || was.is_some() || a.has_padding() || arrays != a.kept_of_levels().id());
        }
        // Positions that no coordinate reaches are known to hold the fill value.
        let dense = a.convert(Format::resolve("Dense", Some(shape.len())).unwrap()).unwrap();
        let expected = map.values().filter(|value| **value != fill).count();
        assert_eq!(dense.nnz(), expected, "{format}");
        // Duplicates are several.
        assert!(a.nnz() == expected || !format.is_unique(), "{}: {}", format, a.nnz());
        if let Some((tensor, map)) = before {
            assert_holds(&tensor, &map);
        }
    }
}

/// Inserts so many entries at random places, and tells how often the values moved to other memory.
fn moves(shape: &[usize], format: &str, entries: usize) -> usize {
    let mut a = Tensor::zeros(shape, format, Dtype::F64).unwrap();
    let (mut map, mut moves, mut place) = (Map::new(), 0, 1_u64);
    for value in (1..=entries).map(|number| number as f64) {
        let at: Vec<usize> = shape
            .iter()
            .map(|&n| {
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (place >> 33) as usize % n
            })
            .collect();
        let memory = a.values().typed::<f64>().unwrap().as_ptr();
        a.insert(&at, value).unwrap();
        map.insert(at, value);
        moves += usize::from(memory != a.values().typed::<f64>().unwrap().as_ptr());
    }
    assert_holds(&a, &map);
    moves
}

#[test]
fn most_entries_find_a_place_without_the_tensor_being_built_anew() {
    for (shape, format) in [
        (&[100_000][..], "(i) -> (i : hashed)"),
        (&[100_000], "(i) -> (i / 4 : hashed, i % 4 : dense)"),
        (&[10_000], "(i) -> (i : loose_compressed)"),
        (&[10, 1000], "(i, j) -> (i : dense, j : hashed)"),
        (&[100, 1000], "(i, j) -> (i : dense, j : loose_compressed)"),
        (&[100, 1000], "(i, j) -> (i : dense, j : loose_compressed(nonordered))"),
    ] {
        let found = moves(shape, format, 3000);
        assert!(found < 60, "{format}: {found}");
    }
    // A level that cannot: the tensor is built anew for each.
    assert!(moves(&[1000], "(i) -> (i : compressed)", 100) > 90);
}

#[test]
fn what_was_computed_before_a_change_is_not_taken_for_what_is_computed_after_it() {
    for format in FORMATS[1] {
        let mut a = tensor(&[4, 5], &[(vec![1, 2], 3.0)], &format.parse().unwrap(), 0.0);
        let x = ust::ndarray::array![1.0, 10.0, 100.0, 1000.0, 10000.0];
        let product = |a: &Tensor| {
            let y = einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).run().unwrap();
            y.values().typed::<f64>().unwrap().to_vec()
        };
        assert_eq!(product(&a), [0.0, 300.0, 0.0, 0.0], "{format}");
        a.insert(&[1, 4], 2.0).unwrap();
        a.insert(&[3, 0], 1.0).unwrap();
        assert_eq!(product(&a), [0.0, 20300.0, 0.0, 1.0], "{format}");
        a.insert(&[1, 2], 5.0).unwrap();
        assert_eq!(product(&a), [0.0, 20500.0, 0.0, 1.0], "{format}");
        a.remove(&[1, 4]).unwrap();
        assert_eq!(product(&a), [0.0, 500.0, 0.0, 1.0], "{format}");
    }
}

#[test]
fn changes_that_cannot_be_are_told_and_leave_the_tensor_as_it_was() {
    let format: Format = "(i, j) -> (i : dense, j : hashed)".parse().unwrap();
    let coo = Coo::new(vec![3, 4], vec![vec![1], vec![2]], vec![7_u8]).unwrap();
    let mut a = Tensor::from_coo(&coo, &format).unwrap();
    let before = a.clone();
    let error = a.insert(&[3, 0], 1_u8).unwrap_err();
    assert!(matches!(error, Error::Coordinate { dim: 0, coordinate: 3, extent: 3 }), "{error}");
    let error = a.remove(&[1]).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
    let error = a.insert(&[0, 0], 256_i64).unwrap_err();
    assert!(matches!(error, Error::Cast { to: Dtype::U8, .. }), "{error}");
    assert_eq!(a.insert(&[0, 0], 4.0).unwrap(), None, "a number that the dtype holds is one");
    assert_eq!(a.remove(&[0, 0]).unwrap(), Some(Scalar::U8(4)));
    assert_eq!(
        a.entries().unwrap().collect::<Vec<_>>(),
        before.entries().unwrap().collect::<Vec<_>>()
    );
    let window = Window { offset: 0, size: 2, stride: 1 };
    let error = a.slice([window; 2]).unwrap().insert(&[0, 0], 1_u8).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    // A third value of four.
    let coo = Coo::new(vec![1, 4], vec![vec![0, 0], vec![0, 1]], vec![1.0, 2.0]).unwrap();
    let mut a = Tensor::from_coo(&coo, "2:4").unwrap();
    let before = a.clone();
    let error = a.insert(&[0, 2], 1.0).unwrap_err();
    assert!(matches!(error, Error::Level { .. }), "{error}");
    assert_eq!(a, before);
}
