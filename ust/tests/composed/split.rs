//! Tensors split by rules, and put together again.

use std::collections::HashMap;

use proptest::prelude::*;
use ust::format::{IndexExpr, Measure};
use ust::{Composed, Coo, Dtype, Error, Format, Scalar, Tensor};

use crate::shared::{composition, csr, matrix, read};

/// For each part, its entries, found one by one: of each entry that is left, the measure is computed anew.
fn by_hand(coo: &Coo, text: &str) -> Vec<Vec<(i64, i64)>> {
    let mut left: Vec<(i64, i64)> =
        (0..coo.len()).map(|at| (coo.crd[0][at], coo.crd[1][at])).collect();
    left.sort_unstable();
    let (rows, columns) = (coo.shape[0] as i64, coo.shape[1] as i64);
    let key = |exprs: &[IndexExpr], (i, j): (i64, i64)| -> Vec<i64> {
        exprs.iter().map(|expr| expr.eval(&[i, j]).unwrap()).collect()
    };
    let mut parts = Vec::new();
    for (_, rule) in read(text).parts() {
        let Some(rule) = rule else {
            parts.push(std::mem::take(&mut left));
            continue;
        };
        let group = |exprs: &[IndexExpr]| {
            let mut counts: HashMap<Vec<i64>, f64> = HashMap::new();
            left.iter().for_each(|&at| *counts.entry(key(exprs, at)).or_default() += 1.0);
            counts
        };
        let measures: Vec<f64> = match &rule.measure {
            Measure::Number(counter) => {
                let dims: Vec<IndexExpr> =
                    counter.of.iter().map(|&dim| IndexExpr::Var(dim)).collect();
                let mut next: HashMap<Vec<i64>, f64> = HashMap::new();
                let numbers = left.iter().map(|&at| {
                    let next = next.entry(key(&dims, at)).or_default();
                    *next += 1.0;
                    *next - 1.0
                });
                numbers.collect()
            }
            Measure::Count(exprs) => {
                let counts = group(exprs);
                left.iter().map(|&at| counts[&key(exprs, at)]).collect()
            }
            Measure::Fill(exprs) => {
                let counts = group(exprs);
                let mut all: HashMap<Vec<i64>, f64> = HashMap::new();
                let every = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
                every.for_each(|at| *all.entry(key(exprs, at)).or_default() += 1.0);
                left.iter().map(|&at| counts[&key(exprs, at)] / all[&key(exprs, at)]).collect()
            }
        };
        let (mut taken, mut rest) = (Vec::new(), Vec::new());
        for (&at, measure) in left.iter().zip(measures) {
            if rule.compare.holds(measure, rule.number) { taken.push(at) } else { rest.push(at) }
        }
        parts.push(taken);
        left = rest;
    }
    parts
}

/// The coordinates of entries, sorted.
fn entries(tensor: &Tensor) -> Vec<(i64, i64)> {
    let coo = tensor.to_coo().unwrap();
    let mut all: Vec<(i64, i64)> =
        (0..coo.len()).map(|at| (coo.crd[0][at], coo.crd[1][at])).collect();
    all.sort_unstable();
    all
}

proptest! {
    #[test]
    fn each_part_has_what_its_rule_says(coo in matrix(), text in composition()) {
        let given = csr(&coo);
        let made = Composed::split(&given, &read(text)).unwrap();
        let formats: Vec<&Format> = made.parts().iter().map(Tensor::format).collect();
        let composition = read(text);
        let wanted: Vec<&Format> = composition.parts().iter().map(|(format, _)| format).collect();
        prop_assert_eq!(formats, wanted);
        let found: Vec<_> = made.parts().iter().map(entries).collect();
        prop_assert_eq!(found, by_hand(&coo, text));
        prop_assert_eq!(made.convert(given.format()).unwrap(), given.clone());
        made.check().unwrap();
        prop_assert_eq!((made.nnz(), made.shape(), made.dtype()), (coo.len(), given.shape(), Dtype::F64));
        for (at, entry) in given.entries().unwrap().enumerate().filter(|(at, _)| at % 7 == 0) {
            prop_assert_eq!(made.get(&entry.coordinates).unwrap(), entry.value, "entry {}", at);
        }
        let mut all: Vec<_> = made.entries().unwrap().map(|entry| entry.coordinates).collect();
        all.sort_unstable();
        let sorted: Vec<_> = given.entries().unwrap().map(|entry| entry.coordinates).collect();
        prop_assert_eq!(all, sorted);
    }
}

#[test]
fn elements_of_large_shapes_are_counted_without_looking_at_each() {
    // The main diagonal and one above of a matrix of 10^5 x 2 * 10^5, and the first half of one below.
    let n = 100_000;
    let at = |offset: i64, rows: std::ops::Range<i64>| rows.map(move |i| (i, i + offset));
    let all: Vec<(i64, i64)> =
        at(0, 0..n).chain(at(n + 3, 0..n - 3)).chain(at(-4, 4..n / 2)).collect();
    let crd = vec![all.iter().map(|e| e.0).collect(), all.iter().map(|e| e.1).collect()];
    let coo = Coo::new(vec![n as usize, 2 * n as usize], crd, vec![1.0; all.len()]).unwrap();
    let given = csr(&coo);
    for (text, taken) in [
        ("DIA where fill(j - i) >= 1 + CSR", 2 * n - 3),
        ("DIA where fill(j - i) < 1 + CSR", n / 2 - 4),
        ("DIA where fill(i - j + 7) >= 0.49 + CSR", all.len() as i64),
        // Of a block of 1000 x 1000, three diagonals at most are stored.
        ("CSR where fill(i / 1000, j / 1000) > 0.001 + COO", all.len() as i64 - n / 2 + 4),
    ] {
        let split = Composed::split(&given, &read(text)).unwrap();
        let found = split.parts()[0].nnz() as i64;
        if text.contains("/ 1000") {
            // The diagonal below shares its blocks with the main one.
            assert!(found > 0 && split.nnz() == all.len(), "{text}: {found}");
        } else {
            assert_eq!(found, taken, "{text}");
        }
    }
    let unknown = Composed::split(&given, &read("DIA where fill(i % 7 * 2 + j / 3) > 0 + CSR"));
    assert!(unknown.is_err() || unknown.unwrap().nnz() == all.len());
    let unknown =
        Composed::split(&given, &read("DIA where fill((i + j) % 7) > 0 + CSR")).unwrap_err();
    assert!(unknown.to_string().contains("use `count`"), "{unknown}");
}

#[test]
fn parts_of_one_tensor_store_no_element_twice() {
    let of = |crd: [Vec<i64>; 2], format: &str| {
        let values = vec![1.0; crd[0].len()];
        Tensor::from_coo(&Coo::new(vec![3, 4], crd.to_vec(), values).unwrap(), format).unwrap()
    };
    let first = of([vec![0, 1], vec![1, 2]], "CSR");
    let apart = of([vec![0, 2], vec![2, 3]], "DIA");
    let meets = of([vec![1, 2], vec![2, 3]], "COO");
    let made = Composed::from_parts(vec![first.clone(), apart.clone()]).unwrap();
    assert_eq!((made.nnz(), made.formats().as_str()), (4, "CSR + DIA-I"));
    assert_eq!(made.bytes(), first.bytes() + apart.bytes());
    let error =
        Composed::from_parts(vec![apart.clone(), first.clone(), meets.clone()]).unwrap_err();
    assert!(
        matches!(&error, Error::Overlap { coordinates, parts: [0, 2] } if *coordinates == [2, 3])
            || matches!(&error, Error::Overlap { coordinates, parts: [1, 2] } if *coordinates == [1, 2]),
        "{error}"
    );
    let error = Composed::from_parts(vec![first.clone(), meets]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parts 0 and 1 both store the element at [1, 2]: a part has what no other has"
    );
    let narrow = first.cast(Dtype::F32).unwrap();
    assert!(matches!(Composed::from_parts(vec![first.clone(), narrow]), Err(Error::Dtype { .. })));
    let other = Tensor::zeros(&[3, 3], "CSR", Dtype::F64).unwrap();
    assert!(matches!(Composed::from_parts(vec![first.clone(), other]), Err(Error::Shape { .. })));
    let filled = first.with_fill(Scalar::F64(2.0)).unwrap();
    assert!(matches!(Composed::from_parts(vec![filled]), Err(Error::Unsupported(_))));
    assert!(matches!(Composed::from_parts(Vec::new()), Err(Error::Unsupported(_))));
    assert!(matches!(made.get(&[3, 0]), Err(Error::Coordinate { .. })));
}

#[test]
fn duplicates_are_summed_and_other_ranks_are_refused() {
    let coo = Coo::new(vec![4], vec![vec![1, 3, 1]], vec![1.0, 2.0, 4.0]).unwrap();
    let nonunique = "(i) -> (i : compressed(nonunique))";
    let vector = Tensor::from_coo(&coo, nonunique).unwrap();
    let split = Composed::split(
        &vector,
        &read("(i) -> (i : compressed) where count(i / 2) > 1 + SparseVector"),
    );
    assert_eq!(split.unwrap().nnz(), 2);
    let error = Composed::split(&vector, &read("ELL where #i < 2 + COO")).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
    let cube =
        Coo::new(vec![2, 3, 4], vec![vec![0, 1], vec![2, 0], vec![3, 3]], vec![1.0, 2.0]).unwrap();
    let cube = Tensor::from_coo(&cube, "CSF").unwrap();
    let split = Composed::split(&cube, &read("COO(3) where fill(k - j) >= 0.2 + CSF")).unwrap();
    assert_eq!((split.parts()[0].nnz(), split.nnz()), (1, 2));
}

#[test]
fn composed_tensors_are_shared_among_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Composed>();
    let made =
        Composed::from(csr(&Coo::new(vec![2, 2], vec![vec![1], vec![0]], vec![3.0]).unwrap()));
    let text = made.to_string();
    assert!(
        text.starts_with("1 parts, 1 stored\n\npart 0  (i, j) -> (i : dense, j : compressed)\n"),
        "{text}"
    );
    assert!(format!("{made:?}").contains("nse: 1"));
}
