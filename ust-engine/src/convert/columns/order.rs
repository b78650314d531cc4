//! The order of entries: whether columns are sorted, and where neighbouring entries are equal.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;
use ust_level_api::column::IndexRead;
use ust_level_api::ir::parallel::entered;
use ust_level_api::{Buffer, IndexColumn, with_column};

use crate::tuning::COMPARED_ENTRIES;

/// Compares each entry of a range with its predecessor, lexicographically by several columns: -1
/// where the entry is greater, 0 where both are equal, 1 where the entry is smaller. The range does
/// not contain entry 0.
fn compare(columns: &[&IndexColumn], range: Range<usize>, order: &mut Vec<i8>) {
    order.clear();
    order.resize(range.len(), 0);
    let mut block = [0; COMPARED_ENTRIES + 1];
    for (number, column) in columns.iter().enumerate() {
        let set = |order: &mut i8, before: i64, here: i64| {
            let this = i8::from(before > here) - i8::from(before < here);
            *order = if number == 0 || *order == 0 { this } else { *order };
        };
        if let IndexColumn::Runs(_) = column {
            let block = &mut block[..=range.len()];
            column.read(range.start - 1, block);
            let pairs = order.iter_mut().zip(block.windows(2));
            pairs.for_each(|(order, pair)| set(order, pair[0], pair[1]));
            continue;
        }
        with_column!(column, read => {
            for (order, at) in order.iter_mut().zip(range.clone()) {
                set(order, read.at(at - 1), read.at(at));
            }
        });
    }
}

/// Ranges of entries that are compared at a time. Entry 0 is left out.
fn blocks(n: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    let count = n.saturating_sub(1).div_ceil(COMPARED_ENTRIES);
    (0..count).into_par_iter().map(move |block| {
        let first = 1 + block * COMPARED_ENTRIES;
        first..(first + COMPARED_ENTRIES).min(n)
    })
}

/// How entries ascend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ascent {
    /// No entry is smaller than its predecessor.
    Weak,
    /// Each entry is greater than its predecessor.
    Strict,
}

/// Whether entries ascend, lexicographically by several columns.
pub(super) fn is_sorted(columns: &[&IndexColumn]) -> bool {
    ascent(columns).is_some()
}

/// How entries ascend, lexicographically by several columns; `None` where they do not. Parallel;
/// stops early where they do not.
pub(super) fn ascent(columns: &[&IndexColumn]) -> Option<Ascent> {
    let Some(first) = columns.first() else { return Some(Ascent::Weak) };
    let ruled = |c: &&IndexColumn| matches!(c, IndexColumn::Count(_) | IndexColumn::Same(..));
    if columns.iter().all(ruled) {
        return Some(Ascent::Weak);
    }
    let narrow = |column: &&IndexColumn| match column {
        IndexColumn::U32(words) => Some(words.clone()),
        _ => None,
    };
    let narrow: Option<Vec<Buffer<u32>>> = columns.iter().map(narrow).collect();
    let of_block = |order: &mut Vec<i8>, range: Range<usize>| {
        if let Some(columns) = &narrow {
            return ascent_of_words(columns, range);
        }
        compare(columns, range, order);
        let most = order.iter().fold(-1, |most, &order| order.max(most));
        [Some(Ascent::Strict), Some(Ascent::Weak), None][(most + 1) as usize]
    };
    let both = |a: Ascent, b: Ascent| if a == b { a } else { Ascent::Weak };
    entered(|| {
        blocks(first.len())
            .map_init(Vec::new, of_block)
            .try_fold(|| Ascent::Strict, |all, block| Some(both(all, block?)))
            .try_reduce(|| Ascent::Strict, |a, b| Some(both(a, b)))
    })
}

/// As [`ascent`], of columns of 32 bits, in a range that does not contain entry 0.
fn ascent_of_words(columns: &[Buffer<u32>], range: Range<usize>) -> Option<Ascent> {
    let parts: Vec<&[u32]> =
        columns.iter().map(|column| &column[range.start - 1..range.end]).collect();
    let (first, second) = (parts[0], parts.get(1).copied().unwrap_or(parts[0]));
    let mut all = Ascent::Strict;
    let mut before = 0;
    for (at, (&first, &second)) in first.iter().zip(second).enumerate() {
        // One comparison for the first two columns. Further columns are compared only where these
        // are equal.
        let here = u64::from(first) << 32 | u64::from(second);
        if here <= before && at > 0 {
            let rest = parts.iter().skip(2).map(|part| part[at].cmp(&part[at - 1]));
            match here.cmp(&before).then(rest.fold(Ordering::Equal, Ordering::then)) {
                Ordering::Less => return None,
                Ordering::Equal => all = Ascent::Weak,
                Ordering::Greater => {}
            }
        }
        before = here;
    }
    Some(all)
}

/// The first entry that equals its predecessor in all columns.
pub(super) fn first_equal(columns: &[&IndexColumn], n: usize) -> Option<usize> {
    if columns.is_empty() {
        return (n > 1).then_some(1);
    }
    let find = |order: &mut Vec<i8>, range: Range<usize>| {
        compare(columns, range.clone(), order);
        order.iter().position(|&order| order == 0).map(|at| range.start + at)
    };
    entered(|| blocks(n).map_init(Vec::new, find).find_first(Option::is_some)).flatten()
}

/// The entries that differ from their predecessor in some column, and entry 0: the first entry of
/// each run of equal entries.
pub(super) fn run_starts(columns: &[&IndexColumn], n: usize) -> Vec<usize> {
    if n == 0 {
        return Vec::new();
    }
    if columns.is_empty() {
        return vec![0];
    }
    let starts = |order: &mut Vec<i8>, range: Range<usize>| {
        compare(columns, range.clone(), order);
        let differ = order.iter().enumerate().filter(|(_, order)| **order != 0);
        differ.map(|(at, _)| range.start + at).collect()
    };
    let parts: Vec<Vec<usize>> = entered(|| blocks(n).map_init(Vec::new, starts).collect());
    let mut run_starts = Vec::with_capacity(1 + parts.iter().map(Vec::len).sum::<usize>());
    run_starts.push(0);
    run_starts.extend(parts.into_iter().flatten());
    run_starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_the_first_column_that_differs() {
        let n = 3 * COMPARED_ENTRIES + 5;
        let high: IndexColumn = (0..n as i64).map(|v| v / 7).collect::<Vec<_>>().into();
        let low: IndexColumn = (0..n as u32).map(|v| v % 7).collect::<Vec<_>>().into();
        assert!(is_sorted(&[&high, &low]) && is_sorted(&[&high]));
        assert!(!is_sorted(&[&low, &high]));
        assert_eq!(first_equal(&[&high], n), Some(1));
        assert_eq!(first_equal(&[&high, &low], n), None);
        assert_eq!(run_starts(&[&high], n).len(), n.div_ceil(7));
        assert!(run_starts(&[&high], n).iter().all(|head| head % 7 == 0));
        assert_eq!(run_starts(&[&high, &low], n).len(), n);
    }

    #[test]
    fn how_entries_ascend_does_not_depend_on_how_columns_are_kept() {
        let n = 2 * COMPARED_ENTRIES + 9;
        let narrow =
            |of: &dyn Fn(u32) -> u32| IndexColumn::from((0..n as u32).map(of).collect::<Vec<_>>());
        let wide = |column: &IndexColumn| IndexColumn::from(column.to_vec());
        let columns = [
            narrow(&|v| v / 1000),
            narrow(&|v| v % 1000 / 10),
            narrow(&|v| v % 10),
            narrow(&|v| v % 10 / 2),
            narrow(&|v| 5 + u32::from(v == COMPARED_ENTRIES as u32)),
        ];
        let wide: Vec<IndexColumn> = columns.iter().map(wide).collect();
        let (strict, weak) = (Some(Ascent::Strict), Some(Ascent::Weak));
        let cases: [(&[usize], _); 8] = [
            (&[0], weak),
            (&[0, 1], weak),
            (&[0, 1, 2], strict),
            (&[0, 1, 3], weak),
            (&[0, 1, 3, 2], strict),
            (&[1, 0], None),
            (&[0, 2, 1], None),
            (&[4, 0, 1, 2], None),
        ];
        for (which, expected) in cases {
            for kept in [&columns[..], &wide] {
                let some: Vec<&IndexColumn> = which.iter().map(|&at| &kept[at]).collect();
                assert_eq!(ascent(&some), expected, "{which:?}");
            }
        }
    }

    #[test]
    fn without_columns_all_entries_are_equal() {
        assert_eq!((first_equal(&[], 1), first_equal(&[], 2)), (None, Some(1)));
        assert_eq!((run_starts(&[], 0), run_starts(&[], 3)), (vec![], vec![0]));
        assert!(is_sorted(&[]));
    }
}
