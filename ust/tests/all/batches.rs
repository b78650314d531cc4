//! Batches: each item is stored as it is stored alone.

use proptest::prelude::*;
use ust::level_api::registry::{self, LevelArgs};
use ust::level_api::{Arrays, Batched, Reach, Site};
use ust::ops::{einsum, oracle};
use ust::tensor::{Parts, Window};
use ust::{Backend, Coo, Error, Format, IndexArray, Tensor};

/// What stands below the batch, for a matrix.
const ITEMS: &[&str] = &[
    "CSR",
    "CSC",
    "DCSR",
    "COO",
    "BSR(2, 2)",
    "BSC(2, 3)",
    "DIA-I",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i : dense, j : hashed)",
    "(i, j) -> (i : dense, j : bits)",
    "(i, j) -> (i : dense, j : delta(4))",
    "(i, j) -> (i : dense, j : blocks)",
    "(i, j) -> (i : dense, j : band)",
    "(i, j) -> (i : dense, j : run_length)",
    "(i, j) -> (i : ell(6), j : compressed)",
    "(i, j) -> (i : bits, j : compressed)",
];

type Item = Vec<(usize, usize, f64)>;

/// A tensor of rank 3 of matrices.
fn stacked(shape: [usize; 2], items: &[Item]) -> Coo {
    let mut crd = vec![Vec::new(); 3];
    let mut values = Vec::new();
    for (b, item) in items.iter().enumerate() {
        for &(i, j, value) in item {
            [b, i, j].into_iter().zip(&mut crd).for_each(|(c, column)| column.push(c as i64));
            values.push(value);
        }
    }
    Coo::new(vec![items.len(), shape[0], shape[1]], crd, values).unwrap()
}

fn alone([rows, columns]: [usize; 2], item: &Item, format: &Format) -> Tensor {
    let column =
        |of: fn(&(usize, usize, f64)) -> usize| item.iter().map(|e| of(e) as i64).collect();
    let values: Vec<f64> = item.iter().map(|entry| entry.2).collect();
    let coo =
        Coo::new(vec![rows, columns], vec![column(|e| e.0), column(|e| e.1)], values).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

/// The format of a batch of matrices in this format.
fn batch_of(item: &Format) -> Format {
    let text = item.to_string();
    let text = text.replacen('(', "(b, ", 1).replacen("-> (", "-> (b : batch, ", 1);
    text.parse().unwrap()
}

/// The arrays of all levels below the batch, and the values, as numbers.
fn arrays(tensor: &Tensor, from: usize) -> (Vec<Vec<i64>>, Vec<f64>) {
    let levels = tensor.levels()[from..].iter().flat_map(|level| &level.0);
    let arrays = levels.map(IndexArray::to_vec).collect();
    (arrays, tensor.values().typed::<f64>().unwrap().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn each_item_is_stored_as_it_is_alone(
        shape in (1_usize..7, 1_usize..7),
        picks in proptest::collection::vec((any::<u32>(), 1_i8..100), 0..24),
        count in 0_usize..4,
        turns in any::<bool>(),
        at in 0..ITEMS.len(),
    ) {
        let shape: [usize; 2] = shape.into();
        let places: std::collections::BTreeMap<(usize, usize), i8> = picks
            .iter()
            .map(|&(pick, value)| {
                let place = pick as usize % (shape[0] * shape[1]);
                ((place / shape[1], place % shape[1]), value)
            })
            .collect();
        let items: Vec<Item> = (0..count)
            .map(|b| {
                let turn = if turns { b } else { 0 };
                let entry = |(&(i, j), &value): (&(usize, usize), &i8)| {
                    (i, (j + turn) % shape[1], f64::from(value) + b as f64 / 8.0)
                };
                places.iter().map(entry).collect()
            })
            .collect();
        let own: Format = ITEMS[at].parse().unwrap();
        let (coo, format) = (stacked(shape, &items), batch_of(&own));
        let each: Vec<_> = items.iter().map(|item| arrays(&alone(shape, item, &own), 0)).collect();
        let lengths = |of: &(Vec<Vec<i64>>, Vec<f64>)| {
            (of.0.iter().map(Vec::len).collect::<Vec<_>>(), of.1.len())
        };
        let even = each.iter().all(|item| lengths(item) == lengths(&each[0]));
        let tensor = match Tensor::from_coo(&coo, &format) {
            Ok(tensor) => tensor,
            Err(error) => {
                prop_assert!(!even, "{format}: {error}");
                prop_assert!(error.to_string().contains("each item has as many"), "{}", error);
                return Ok(());
            }
        };
        prop_assert!(even, "{} is stored with items of several lengths", format);
        if let Some((first, _)) = each.first() {
            let joined: Vec<Vec<i64>> = (0..first.len())
                .map(|array| each.iter().flat_map(|item| item.0[array].clone()).collect())
                .collect();
            let values: Vec<f64> = each.iter().flat_map(|item| item.1.clone()).collect();
            prop_assert_eq!((joined, values), arrays(&tensor, 1));
        }
        // The arrays are accepted as they are, and hold the same.
        let (_, dims, parts) = tensor.clone().into_parts();
        prop_assert!(Tensor::from_parts(&format, &dims, parts).unwrap() == tensor);
        let back = tensor.convert("COO(3)").unwrap();
        prop_assert!(back == Tensor::from_coo(&coo, back.format()).unwrap());
        prop_assert!(back.convert(&format).unwrap() == tensor);
        for item in items.iter().enumerate().flat_map(|(b, item)| item.iter().map(move |e| (b, e))) {
            let (b, &(i, j, value)) = item;
            prop_assert_eq!(tensor.get_as::<f64>(&[b, i, j]).unwrap(), value);
        }
        let x = ndarray::Array2::from_shape_fn((count, shape[1]), |(b, j)| 1.0 + (b * 7 + j) as f64);
        let x = Tensor::from_array(x.into_dyn()).unwrap();
        let call = || einsum("y(b,i) = A(b,i,j) * x(b,j)").arg("A", &tensor).arg("x", &x);
        let expected = oracle::evaluate(&call()).unwrap();
        for backend in [Backend::CHECKED_JIT, Backend::INTERPRETER] {
            let found = call().format("Dense").threads(2).backend(backend).run().unwrap();
            prop_assert_eq!(found.to_coo().unwrap().values, {
                let dense = expected.convert(found.format()).unwrap();
                dense.to_coo().unwrap().values
            });
        }
        // One loop over all entries, whatever item they are of.
        let call = || einsum("s = 2 * A(b,i,j)").arg("A", &tensor);
        let expected = oracle::evaluate(&call()).unwrap().get(&[]).unwrap();
        for backend in [Backend::CHECKED_JIT, Backend::INTERPRETER] {
            let found = call().threads(2).backend(backend).run().unwrap().get(&[]).unwrap();
            prop_assert!(oracle::close(found, expected), "{}: {} {}", format, found, expected);
        }
        if count > 1 {
            let [rows, columns] = shape.map(|extent| Window { offset: 0, size: extent as u64, stride: 1 });
            let last = Window { offset: count as u64 - 1, size: 1, stride: 1 };
            let item = tensor.slice([last, rows, columns]).unwrap();
            let alone = Tensor::from_coo(&stacked(shape, &items[count - 1..]), "COO(3)");
            prop_assert!(item.convert("COO(3)").unwrap() == alone.unwrap());
        }
    }
}

#[test]
fn a_kernel_takes_batches_of_one_shape_with_other_numbers_of_entries() {
    let format: Format = "CSR-b1".parse().unwrap();
    let batch = |count: usize| {
        let item =
            |b: usize| (0..count).map(|at| (at % 3, at / 3, (1 + b * 10 + at) as f64)).collect();
        let items: Vec<Item> = (0..3).map(item).collect();
        Tensor::from_coo(&stacked([3, 4], &items), &format).unwrap()
    };
    let batches: Vec<Tensor> = [12, 5, 1, 0, 9].map(batch).into();
    let call = |a: &Tensor| einsum("s(b,i) = A(b,i,j)").arg("A", a).format("Dense").threads(1);
    let kernel = call(&batches[0]).prepare().unwrap();
    for batch in &batches {
        let expected = oracle::evaluate(&call(batch)).unwrap();
        for found in [kernel.run(&[batch]).unwrap(), call(batch).run().unwrap()] {
            let dense = |tensor: &Tensor| tensor.to_dense::<f64>().unwrap();
            assert_eq!(dense(&found), dense(&expected));
        }
    }
}

/// Two matrices in CSR as PyTorch keeps them, with arrays that the test changes.
fn parts(pos: [i64; 6], crd: [i64; 6]) -> Result<Tensor, Error> {
    let arrays = vec![vec![], vec![], vec![pos.to_vec().into(), crd.to_vec().into()]];
    let values: Vec<f64> = (1..=6).map(f64::from).collect();
    Tensor::from_parts("CSR-b1", &[2, 2, 3], Parts::new(arrays, values))
}

#[test]
fn foreign_arrays_are_checked_item_by_item() {
    let batch = parts([0, 1, 3, 0, 2, 3], [2, 0, 1, 0, 1, 2]).unwrap();
    assert_eq!(batch.get_as::<f64>(&[0, 0, 2]).unwrap(), 1.0);
    assert_eq!(batch.get_as::<f64>(&[1, 0, 1]).unwrap(), 5.0);
    assert_eq!(batch.get_as::<f64>(&[1, 1, 2]).unwrap(), 6.0);
    for (pos, crd, told) in [
        ([0, 1, 3, 0, 2, 3], [2, 0, 1, 0, 1, 3], "crd[5] = 3"),
        ([0, 1, 3, 0, 2, 3], [2, 1, 0, 0, 1, 2], "crd[2] = 0"),
        ([0, 1, 3, 1, 2, 3], [2, 0, 1, 0, 1, 2], "pos[3] = 1"),
        ([0, 1, 3, 0, 2, 2], [2, 0, 1, 0, 1, 2], "for item 1 of the batch"),
    ] {
        let error = parts(pos, crd).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let arrays = vec![vec![], vec![], vec![vec![0_i64, 1, 3, 0, 3].into(), vec![0_i64; 6].into()]];
    let taken = Tensor::from_parts("CSR-b1", &[2, 2, 3], Parts::new(arrays, vec![1.0; 6]));
    let error = taken.unwrap_err().to_string();
    assert!(error.contains("a multiple of 2"), "{error}");
}

#[test]
fn a_batch_leads_and_has_something_below() {
    for (text, told) in [
        ("(i, j) -> (i : dense, j : batch)", "another level stands above it"),
        ("(i, j, k) -> (i : dense, j : batch, k : dense)", "another level stands above it"),
        ("(i) -> (i : batch)", "nothing stands below it"),
        ("(i, j) -> (i / 2 : batch, i % 2 : dense, j : compressed)", "it stores no dimension"),
    ] {
        let error = text.parse::<Format>().unwrap_err().to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

#[test]
fn named_formats_take_axes() {
    for (name, text) in [
        ("CSR-b1", "(b, i, j) -> (b : batch, i : dense, j : compressed)"),
        (
            "csr-b2-d1",
            "(b0, b1, i, j, d) -> (b0 : batch, b1 : batch, i : dense, j : compressed, d : dense)",
        ),
        ("CSC-d2", "(i, j, d0, d1) -> (j : dense, i : compressed, d0 : dense, d1 : dense)"),
        (
            "BSR-b1(2, 3)",
            "(b, i, j) -> (b : batch, i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)",
        ),
        ("COO-d1", "(i, j, d) -> (i : compressed(nonunique), j : singleton, d : dense)"),
    ] {
        let format: Format = name.parse().unwrap();
        assert_eq!(format.to_string(), text, "{name}");
        assert_eq!(text.parse::<Format>().unwrap(), format, "{name}");
    }
    for name in ["CSX-b1", "CSR-b0", "ELL-b1", "CSR-e1"] {
        let error = name.parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("unknown format"), "{error}");
    }
}

#[test]
fn items_that_differ_in_an_array_alone_are_told_apart_by_it() {
    // As many entries, in one run and in two.
    let items = [vec![(0, 0, 1.0), (0, 1, 2.0)], vec![(0, 0, 1.0), (0, 2, 2.0)]];
    let format = batch_of(&"(i, j) -> (i : dense, j : blocks)".parse().unwrap());
    let error = Tensor::from_coo(&stacked([1, 3], &items), &format).unwrap_err().to_string();
    assert!(
        error.contains("elements of `") && error.contains("item 0 has 1, item 1 has 2"),
        "{error}"
    );
}

#[test]
fn what_is_in_reach_may_go_on_in_the_next_item() {
    let level = Batched::of(registry::make(&LevelArgs::simple("compressed")).unwrap());
    let site = Site { size: 3, items: 2, ..Site::default() };
    let arrays = [vec![0_i64, 1, 3, 0, 2, 3], vec![2_i64, 0, 1, 0, 1, 2]].map(IndexArray::from);
    type Bounds = &'static [(u64, u64)];
    let reach = |positions: u64, intervals: Bounds| {
        let intervals = intervals.iter().map(|&(lo, hi)| lo..hi).collect();
        Reach { positions, intervals: Some(intervals) }
    };
    let check = |parents: &Reach| level.check(&site, &Arrays(arrays.to_vec()), parents).unwrap();
    assert_eq!(check(&Reach::all(4)), Reach::all(6));
    let cases: [(Bounds, Bounds); 4] = [
        (&[(1, 3)], &[(1, 3), (3, 5)]),
        (&[(0, 4)], &[(0, 3), (3, 6)]),
        (&[(0, 1), (3, 4)], &[(0, 1), (5, 6)]),
        (&[], &[]),
    ];
    for (parents, expected) in cases {
        assert_eq!(check(&reach(4, parents)), reach(6, expected));
    }
}
