//! Advice: what a tensor looks like, which formats compete, and a table that is whole.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use ust::advise::{
    Advice, AdviseError, Options, Origin, advise, catalogue, default_operation, stats,
};
use ust::{Coo, Tensor, generate};

fn tensor(shape: &[usize], cells: &[Vec<i64>], format: &str) -> Tensor {
    let column = |dim: usize| cells.iter().map(|cell| cell[dim]).collect();
    let crd = (0..shape.len()).map(column).collect();
    let coo = Coo::new(shape.to_vec(), crd, vec![1.0; cells.len()]).unwrap();
    Tensor::from_coo(&coo, ust::Format::resolve(format, Some(shape.len())).unwrap()).unwrap()
}

fn generated(text: &str, format: &str) -> Tensor {
    Tensor::from_coo(&generate::generate(text).unwrap(), format).unwrap()
}

fn quick() -> Options<'static> {
    Options { budget: Duration::from_millis(20), ..Options::default() }
}

#[test]
fn a_tridiagonal_matrix_is_seen_as_three_diagonals() {
    let stats = stats(&generated("banded(100, diagonals=3)", "CSC")).unwrap();
    assert_eq!(stats.entries, 298);
    let diagonals = stats.diagonals.unwrap();
    assert_eq!((diagonals.count, diagonals.fill), (3, 1.0));
    assert_eq!((diagonals.band, diagonals.symmetric), ((-1, 1), true));
    let rows = stats.dims[0];
    assert_eq!((rows.min, rows.max, rows.empty), (2, 3, 0));
    assert_eq!(stats.prefixes, [100, 298]);
    assert_eq!(stats.obeys(2, 4), Some(false));
}

#[test]
fn full_blocks_and_pruned_groups_are_seen() {
    let looks = stats(&generated("blocks(64x64, block=4x4, nse=256)", "COO")).unwrap();
    let fill = |m, n| {
        let blocks = looks.blocks.iter().find(|blocks| blocks.extents == [m, n]).unwrap();
        (blocks.count, blocks.fill)
    };
    assert_eq!(fill(4, 4), (16, 1.0));
    assert_eq!(fill(2, 2), (64, 1.0));
    assert!(fill(8, 8).1 < 1.0);
    let pruned = stats(&generated("pruned24(32x32)", "CSR")).unwrap();
    assert_eq!(pruned.obeys(2, 4), Some(true));
    assert_eq!(pruned.density(), 0.5);
}

#[test]
fn level_types_are_proposed_where_they_suit_and_not_elsewhere() {
    for (text, expected) in [
        ("random(60x400, nnz=8000)", &["bits", "delta"][..]),
        ("random(60x400, nnz=2000)", &["bits"]),
        ("random(60x4000, nnz=2000)", &[]),
        ("banded(200, diagonals=5)", &["band", "blocks", "ell"]),
    ] {
        let (candidates, left_out) = catalogue(&stats(&generated(text, "CSR")).unwrap());
        assert!(left_out.is_empty(), "{text}: {left_out:?}");
        let offered = candidates.iter().filter_map(|candidate| match candidate.origin {
            Origin::Level(name) => Some(name),
            _ => None,
        });
        assert_eq!(offered.collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn tensors_without_entries_are_looked_at() {
    for shape in [&[0, 0][..], &[5], &[3, 0, 2], &[1 << 40, 1 << 40]] {
        let stats = stats(&tensor(shape, &[], "COO")).unwrap();
        assert_eq!(stats.entries, 0, "{shape:?}");
        assert_eq!(stats.dims.len(), shape.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn stats_are_what_a_plain_count_gives(
        rows in 1_usize..20,
        columns in 1_usize..20,
        draws in prop::collection::vec((0_i64..20, 0_i64..20), 0..120),
    ) {
        let inside = |&(i, j): &(i64, i64)| i < rows as i64 && j < columns as i64;
        let cells: BTreeSet<(i64, i64)> = draws.into_iter().filter(inside).collect();
        let listed: Vec<Vec<i64>> = cells.iter().map(|&(i, j)| vec![i, j]).collect();
        let stats = stats(&tensor(&[rows, columns], &listed, "CSC")).unwrap();
        prop_assert_eq!(stats.entries, cells.len() as u64);
        for dim in 0..2 {
            let extent = [rows, columns][dim];
            let count = |c: usize| listed.iter().filter(|cell| cell[dim] == c as i64).count() as u64;
            let counts: Vec<u64> = (0..extent).map(count).collect();
            prop_assert_eq!(stats.dims[dim].min, *counts.iter().min().unwrap());
            prop_assert_eq!(stats.dims[dim].max, *counts.iter().max().unwrap());
            let empty = counts.iter().filter(|count| **count == 0).count() as u64;
            prop_assert_eq!(stats.dims[dim].empty, empty);
        }
        for blocks in &stats.blocks {
            let [m, n] = [blocks.extents[0] as i64, blocks.extents[1] as i64];
            let found: BTreeSet<_> = cells.iter().map(|(i, j)| (i / m, j / n)).collect();
            prop_assert_eq!(blocks.count, found.len() as u64);
        }
        for &(m, most) in &stats.groups {
            let in_group = |a: &(i64, i64)| {
                cells.iter().filter(|b| b.0 == a.0 && b.1 / m as i64 == a.1 / m as i64).count()
            };
            prop_assert_eq!(most, cells.iter().map(in_group).max().unwrap_or(0) as u64);
        }
        let found = stats.diagonals.unwrap();
        let offsets: BTreeSet<i64> = cells.iter().map(|(i, j)| j - i).collect();
        prop_assert_eq!(found.count, offsets.len() as u64);
        let anti: BTreeSet<i64> = cells.iter().map(|(i, j)| i + j).collect();
        prop_assert_eq!(found.anti_count, anti.len() as u64);
        let on = |o: i64| (0..rows as i64).filter(|i| (0..columns as i64).contains(&(i + o))).count();
        let elements: usize = offsets.iter().map(|&o| on(o)).sum();
        let fill = if elements > 0 { cells.len() as f64 / elements as f64 } else { 0.0 };
        prop_assert!((found.fill - fill).abs() < 1e-12);
        let mirrored = rows == columns && cells.iter().all(|&(i, j)| cells.contains(&(j, i)));
        prop_assert_eq!(found.symmetric, mirrored);
    }
}

#[test]
fn every_candidate_reads_back_and_holds_the_tensor() {
    for (shape, cells) in [
        (vec![9], vec![vec![1], vec![8]]),
        (vec![6, 9], vec![vec![0, 1], vec![3, 3], vec![5, 8]]),
        (vec![8, 8], (0..32).map(|n| vec![n / 4, n % 4 / 2 * 4 + n % 2]).collect()),
        (vec![3, 4, 5], vec![vec![0, 0, 0], vec![2, 3, 4]]),
        (vec![2, 2, 2, 2], vec![vec![0, 1, 0, 1]]),
    ] {
        let source = tensor(&shape, &cells, "COO");
        let (candidates, left_out) = catalogue(&stats(&source).unwrap());
        assert!(candidates.len() >= 3, "{shape:?}");
        assert_eq!(left_out, []);
        for candidate in candidates {
            let read = ust::Format::resolve(&candidate.text, Some(shape.len())).unwrap();
            assert_eq!(read, candidate.format, "{}", candidate.text);
            let stored = source.convert(&read).unwrap();
            assert_eq!(stored.nnz(), cells.len(), "{}", candidate.text);
        }
    }
}

/// What holds for every table.
fn check(advice: &Advice) {
    assert!(advice.best().measured.is_some());
    assert_eq!(advice.rows.iter().filter(|row| row.origin == Origin::Now).count(), 1);
    let measured: Vec<bool> = advice.rows.iter().map(|row| row.measured.is_some()).collect();
    assert!(measured.is_sorted_by(|a, b| a >= b), "those that were measured come first");
    let mut formats = Vec::new();
    for row in &advice.rows {
        assert!(!formats.contains(&&row.format), "{} twice", row.text);
        formats.push(&row.format);
        assert!(!row.reason.is_empty() && row.prediction.bytes >= 0.0, "{}", row.text);
        assert!(row.break_even.is_none_or(|uses| uses >= 0.0));
        if let Some(measured) = row.measured {
            assert!(measured.seconds > 0.0 && measured.rounds > 0, "{}", row.text);
        }
    }
    assert!(advice.left_out.iter().all(|left_out| !left_out.reason.is_empty()));
    assert!(!advice.summary().is_empty());
}

#[test]
fn tables_are_whole_for_every_rank() {
    for (text, format) in [
        ("random(100, nnz=10)", "(i) -> (i : compressed)"),
        ("banded(50, diagonals=3)", "CSR"),
        ("random(9x8x7, nnz=20)", "COO(3)"),
        ("random(5x4x3x6, nnz=20)", "CSF(4)"),
    ] {
        let advice = advise(&generated(text, format), &quick()).unwrap();
        check(&advice);
        assert_eq!(advice.now().format, format.parse().unwrap());
        assert_eq!(advice.operation, default_operation(advice.stats.shape.len()));
    }
}

#[test]
fn predicted_bytes_are_those_that_are_measured() {
    let options = Options { budget: Duration::from_secs(5), ..Options::default() };
    for input in ["pruned24(24x16)", "banded(40, diagonals=5)"] {
        let advice = advise(&generated(input, "CSR"), &options).unwrap();
        for row in &advice.rows {
            if let Some(measured) = row.measured {
                assert_eq!(row.prediction.stored, measured.stored as f64, "{input}, {}", row.text);
                assert_eq!(row.prediction.bytes, measured.bytes as f64, "{input}, {}", row.text);
            }
        }
    }
}

#[test]
fn what_most_libraries_have_is_measured_in_any_case() {
    for (text, format, expected) in [
        ("random(300x200, nnz=900)", "ELL", &["COO", "CSR", "CSC"][..]),
        ("random(9x8x7, nnz=20)", "Dense(3)", &["COO", "CSF"]),
    ] {
        let options = Options { budget: Duration::ZERO, ..Options::default() };
        let advice = advise(&generated(text, format), &options).unwrap();
        check(&advice);
        let usual = advice.rows.iter().filter(|row| row.usual && row.measured.is_some());
        let texts: Vec<&str> = usual.map(|row| &*row.text).collect();
        for name in expected {
            assert!(texts.contains(name), "{texts:?}");
        }
        let blocks = texts.iter().filter(|text| text.starts_with("BSR(")).count();
        assert_eq!(
            blocks,
            usize::from(expected.contains(&"CSR")),
            "of blocks, one size: {texts:?}"
        );
        assert!(advice.rows.iter().any(|row| row.out_of_time), "others have no time");
        assert!(advice.rows.iter().all(|row| !row.out_of_time || row.measured.is_none()));
    }
}

#[test]
fn what_is_as_fast_as_the_best_is_told() {
    let options = Options { budget: Duration::from_millis(500), ..Options::default() };
    let advice = advise(&generated("random(300x300, nnz=3000)", "CSR"), &options).unwrap();
    check(&advice);
    let leads = |row: &&ust::advise::Row| row.measured.is_some_and(|measured| measured.leads);
    let seconds = |row: &ust::advise::Row| row.measured.unwrap().seconds;
    let least = advice.rows.iter().filter(leads).map(seconds).fold(f64::INFINITY, f64::min);
    assert!(advice.best().tied && leads(&advice.best()));
    for row in advice.rows.iter().filter(leads) {
        let Some(measured) = row.measured else { continue };
        assert!(measured.off >= 0.0 && measured.spread >= 0.0, "{}", row.text);
        let near = measured.seconds <= 1.1 * least;
        let unsure = measured.seconds - 2.0 * measured.off <= 1.05 * least;
        assert_eq!(row.tied, near || unsure, "{}", row.text);
    }
    let ties: Vec<&str> = advice.ties().map(|row| &*row.text).collect();
    assert!(!ties.contains(&&*advice.best().text), "{ties:?}");
}

#[test]
fn duplicates_are_summed_first() {
    let format = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))";
    let twice = tensor(&[4, 4], &[vec![1, 1], vec![1, 1], vec![2, 0]], format);
    let advice = advise(&twice, &quick()).unwrap();
    assert_eq!((advice.stats.entries, advice.stats.duplicates), (2, 1));
    check(&advice);
}

#[test]
fn operands_are_made_or_taken() {
    let a = generated("random(20x30, nnz=50)", "CSR");
    let with = |operation: &str, operands| Options {
        operation: Some(operation.to_owned()),
        operands,
        ..quick()
    };
    check(&advise(&a, &with("C(i,k) = A(i,j) * B(j,k)", vec![])).unwrap());
    let given = vec![("B".to_owned(), generated("random(30x5, nnz=9)", "CSR"))];
    check(&advise(&a, &with("C(i,k) = A(i,j) * B(j,k)", given.clone())).unwrap());
    let advice = advise(&a, &with("C(i,k) = M(i,j) * B(j,k)", given.clone())).unwrap();
    assert_eq!(advice.operand, "M");
    let error = |operation, operands| advise(&a, &with(operation, operands)).unwrap_err();
    assert!(matches!(error("y(i) = x(i)", vec![]), AdviseError::NoPlace { rank: 2, .. }));
    assert!(matches!(error("y(i) += A(i,j)", vec![]), AdviseError::Update { .. }));
    assert!(matches!(error("y(i) = A(i,j)", given), AdviseError::Stranger { .. }));
    assert!(matches!(error("y(i) = A(i,j", vec![]), AdviseError::Operation(_)));
    let scalar = Tensor::from_scalar(1.0.into()).unwrap();
    assert!(matches!(advise(&scalar, &quick()), Err(AdviseError::Scalar)));
}

#[test]
fn formats_beyond_the_memory_limit_are_left_out() {
    let a = generated("random(1000x1000, nnz=500)", "CSR");
    let advice = advise(&a, &Options { memory_limit: 1 << 20, ..quick() }).unwrap();
    check(&advice);
    let dense = advice.left_out.iter().find(|left_out| left_out.text == "Dense").unwrap();
    assert!(dense.reason.contains("7.6 MiB"), "{}", dense.reason);
    assert!(advice.rows.iter().all(|row| row.text != "Dense"));
}

#[test]
fn narrow_widths_compete() {
    let advice = advise(&generated("random(200x200, nnz=2000)", "CSR"), &quick()).unwrap();
    let texts: Vec<&str> = advice.rows.iter().map(|row| &*row.text).collect();
    assert!(texts.contains(&"CSR, crdWidth = 8"), "{texts:?}");
    assert!(texts.contains(&"CSR, posWidth = 16, crdWidth = 8"), "{texts:?}");
}

#[test]
fn formats_that_count_are_predicted_as_they_are_built() {
    for input in ["poisson2d(12)", "random(50x70, nnz=300)", "banded(40x40, diagonals=3)"] {
        let a = generated(input, "CSR");
        let advice = advise(&a, &quick()).unwrap();
        for text in ["ELL", "SELL(2)", "SELL(8)"] {
            let row = advice.rows.iter().find(|row| row.text == text).unwrap();
            let built = a.convert(&row.format).unwrap();
            assert_eq!(row.prediction.stored, built.nse() as f64, "{input}, {text}");
            let levels = built.levels().iter().map(ust::level_api::Arrays::bytes);
            let bytes = levels.sum::<usize>() + 8 * built.nse();
            assert_eq!(row.prediction.bytes, bytes as f64, "{input}, {text}");
        }
    }
}
