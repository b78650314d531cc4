//! A builder holds what a map from coordinates to values holds, and freezes it into any format.

use std::collections::HashMap;

use proptest::prelude::*;
use ust::{Builder, Dtype, Error, Format, Tensor};

type Map<T> = HashMap<Vec<usize>, T>;

/// Formats of rank 0 to 3.
const FORMATS: [&[&str]; 4] = [
    &["() -> ()"],
    &[
        "(i) -> (i : compressed)",
        "(i) -> (i : hashed)",
        "(i) -> (i / 3 : compressed, i % 3 : dense)",
    ],
    &[
        "CSR",
        "CSC",
        "COO",
        "DIA-I",
        "ELL",
        "BSR(2, 3)",
        "(i, j) -> (i : dense, j : hashed)",
        "(i, j) -> (j : hashed, i : loose_compressed)",
        "(i, j) -> (i : compressed, j : sparse_run_length)",
    ],
    &["CSF(3)", "COO(3)", "(i, j, k) -> (k : hashed, i : hashed, j : dense)"],
];

/// What is stored, by coordinates. Padding and duplicates have no place here.
fn stored(tensor: &Tensor) -> Map<f64> {
    let entries = tensor.entries().unwrap();
    let pairs = entries.map(|e| (e.coordinates, e.value.cast(Dtype::F64).unwrap()));
    let mut found = Map::new();
    for (coordinates, value) in pairs {
        let ust::Scalar::F64(value) = value else { panic!("cast") };
        assert!(found.insert(coordinates, value).is_none(), "twice");
    }
    found
}

/// Stands for a map: the same after `from_parts`, which checks all arrays.
fn assert_holds(tensor: &Tensor, map: &Map<f64>, fill: f64) {
    let (format, shape, parts) = tensor.clone().into_parts();
    Tensor::from_parts(&format, &shape, parts).unwrap();
    let mut expected = map.clone();
    if tensor.has_padding() {
        expected.retain(|_, value| *value != fill);
    }
    assert_eq!(stored(tensor), expected, "{format}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_builder_does_what_a_map_does(
        shape in proptest::collection::vec(1_usize..7, 0..4),
        wide in any::<bool>(),
        steps in proptest::collection::vec((0_u8..5, any::<[usize; 3]>(), -2_i8..4), 0..120),
        (fill, format) in (prop_oneof![3 => Just(0.0), 1 => Just(1.0)], any::<usize>()),
    ) {
        // Coordinates that 64 bits do not number are few among many.
        let extents: Vec<usize> = shape.iter().map(|&n| if wide { 1 << 40 } else { n }).collect();
        let mut builder = Builder::<f64>::new(&extents).with_fill(fill);
        let mut map = Map::new();
        for (what, numbers, value) in steps {
            let at: Vec<usize> = shape.iter().zip(numbers).map(|(n, number)| number % n).collect();
            let value = f64::from(value);
            match what {
                0 => assert_eq!(builder.insert(&at, value).unwrap(), map.insert(at, value)),
                1 | 2 => {
                    builder.add(&at, value).unwrap();
                    *map.entry(at).or_insert(0.0) += value;
                }
                3 => assert_eq!(builder.remove(&at).unwrap(), map.remove(&at)),
                _ => {
                    assert_eq!(builder.get(&at).unwrap(), map.get(&at).copied());
                    assert_eq!(builder.contains(&at).unwrap(), map.contains_key(&at));
                }
            }
            assert_eq!(builder.len(), map.len());
        }
        assert_eq!(builder.iter().collect::<Map<f64>>(), map);
        let formats = FORMATS[shape.len()];
        let text = if wide && shape.len() > 1 { formats[0] } else { formats[format % formats.len()] };
        let text = if wide && shape.len() == 2 { "DCSR" } else { text };
        let frozen = builder.freeze(text.parse::<Format>().unwrap()).unwrap();
        assert_eq!(frozen.fill(), fill.into());
        assert_holds(&frozen, &map, fill);
        let thawed = Builder::<f64>::from_tensor(&frozen).unwrap();
        assert_eq!((thawed.shape(), thawed.fill()), (&extents[..], fill));
        assert_eq!(thawed.iter().collect::<Map<f64>>(), stored(&frozen));
    }
}

#[test]
fn duplicates_of_a_tensor_are_summed() {
    let format: Format = "(i) -> (i : compressed(nonunique))".parse().unwrap();
    let coo = |values: Vec<i8>| ust::Coo::new(vec![9], vec![vec![4, 2, 4]], values).unwrap();
    let a = Tensor::from_coo(&coo(vec![7, 1, 20]), &format).unwrap();
    assert_eq!(a.nse(), 3);
    let thawed = Builder::<i8>::from_tensor(&a).unwrap();
    assert_eq!((thawed.len(), thawed.get(&[4]).unwrap()), (2, Some(27)));
    let a = Tensor::from_coo(&coo(vec![100, 1, 100]), &format).unwrap();
    let error = Builder::<i8>::from_tensor(&a).unwrap_err();
    assert!(matches!(&error, Error::Sum { coordinates, .. } if *coordinates == [4]), "{error}");
}

#[test]
fn entries_that_do_not_fit_are_told_and_change_nothing() {
    let mut builder = Builder::<u8>::new(&[3, 4]);
    builder.insert(&[2, 3], 200).unwrap();
    let outside = builder.insert(&[2, 4], 1).unwrap_err();
    assert!(matches!(outside, Error::Coordinate { dim: 1, coordinate: 4, extent: 4 }), "{outside}");
    for coordinates in [&[0][..], &[0, 0, 0]] {
        for error in [
            builder.insert(coordinates, 1).unwrap_err(),
            builder.add(coordinates, 1).unwrap_err(),
            builder.get(coordinates).unwrap_err(),
            builder.remove(coordinates).unwrap_err(),
        ] {
            assert!(
                matches!(&error, Error::Shape { found, .. } if found == coordinates),
                "{error}"
            );
        }
    }
    let overflow = builder.add(&[2, 3], 100).unwrap_err();
    assert!(matches!(overflow, Error::Sum { dtype: Dtype::U8, .. }), "{overflow}");
    let partly = builder.try_extend([([0, 0], 1), ([0, 9], 2), ([1, 0], 3)]).unwrap_err();
    assert!(matches!(partly, Error::Coordinate { coordinate: 9, .. }), "{partly}");
    let mut entries: Vec<_> = builder.iter().collect();
    entries.sort();
    assert_eq!(entries, [(vec![0, 0], 1), (vec![2, 3], 200)]);
    let frozen = builder.freeze("CSR").unwrap();
    let dtype = Builder::<i8>::from_tensor(&frozen).unwrap_err();
    assert!(matches!(dtype, Error::Dtype { expected: Dtype::I8, found: Dtype::U8 }), "{dtype}");
    let rank = builder.freeze("CSF(3)").unwrap_err();
    assert!(matches!(rank, Error::Format(_)), "{rank}");
}

#[test]
fn a_builder_keeps_within_its_memory_limit() {
    for shape in [vec![1 << 20, 1 << 20], vec![1 << 40; 3]] {
        let at = |n: usize| vec![n; shape.len()];
        let mut builder = Builder::<f64>::new(&shape).with_memory_limit(100_000);
        let first = (0..10_000).find(|&n| builder.insert(&at(n), 1.0).is_err()).unwrap();
        assert!(first > 500 && builder.bytes() <= 100_000, "{first}, {} bytes", builder.bytes());
        assert_eq!(builder.len(), first);
        let error = builder.add(&at(first), 1.0).unwrap_err();
        assert!(matches!(error, Error::TooLarge(_)), "{error}");
        assert!(matches!(builder.reserve(usize::MAX), Err(Error::TooLarge(_))));
        // What is stored already needs no room.
        builder.add(&at(0), 1.0).unwrap();
        assert_eq!(builder.insert(&at(0), 5.0).unwrap(), Some(2.0));
        // Where many were removed, others have room: as long as half of the table is free.
        for n in 0..first - first / 4 {
            builder.remove(&at(n)).unwrap();
        }
        for n in first..first + first / 4 {
            builder.insert(&at(n), 2.0).unwrap();
        }
        assert!(builder.bytes() <= 100_000);
        let dense = builder.freeze(Format::resolve("Dense", Some(shape.len())).unwrap());
        assert!(matches!(dense, Err(Error::TooLarge(_) | Error::Level { .. })), "{dense:?}");
    }
}

#[test]
fn a_shape_without_elements_freezes() {
    for shape in [[0, 1 << 40, 1 << 40], [1 << 40, 0, 3]] {
        let mut builder = Builder::<f64>::new(&shape);
        assert!(matches!(builder.insert(&[0, 0, 0], 1.0), Err(Error::Coordinate { .. })));
        assert_eq!(builder.freeze("COO(3)").unwrap().nse(), 0);
    }
}

#[test]
fn builders_are_sent_shared_and_shown() {
    fn thread_safe<T: Send + Sync + Clone>(_: &T) {}
    let builder: Builder<f32> = [([1, 2], 3.0), ([4, 0], 5.0), ([1, 2], 7.0)].into_iter().collect();
    thread_safe(&builder);
    assert_eq!(format!("{builder:?}"), "Builder(f32 [5, 3], 2 entries)");
    assert_eq!(builder.get(&[1, 2]).unwrap(), Some(7.0));
    let mut other = builder.clone();
    other.clear();
    assert_eq!((builder.len(), other.len(), other.is_empty()), (2, 0, true));
}

#[test]
#[should_panic = "coordinate 5 of dimension 0 lies outside 0..5"]
fn extending_panics_outside_the_shape() {
    Builder::<f32>::new(&[5]).extend([([5], 1.0)]);
}
