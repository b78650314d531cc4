//! Entries counted by the values of expressions: how many have the same values, or the number of each among these.

use ust_format::{IndexExpr, LevelDomain};
use ust_kernels::pool;
use ust_level_api::ir::cancel::{PIECE, pieces, poll};
use ust_level_api::{Buffer, IndexColumn, with_column};

use super::columns::{Source, evaluate};
use crate::error::Error;
use crate::tuning::{TALLY_FEW_GROUPS, TALLY_GROUPS_PER_ENTRY};

/// What is said about each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tally {
    /// The number of entries in front of it with the same values.
    Number,
    /// The number of all entries with the same values.
    Count,
}

/// The values of an expression over coordinates, for `len` entries. Parallel.
///
/// # Errors
/// [`Error::TooLarge`] where a number does not fit 64 bits; [`Error::Device`] where a column cannot be fetched.
pub(crate) fn evaluated(
    expr: &IndexExpr,
    columns: &[IndexColumn],
    len: usize,
) -> Result<IndexColumn, Error> {
    let each = columns.iter().map(|column| column.extremes().map(|found| found.unwrap_or((0, 0))));
    let bounds = each.collect::<Result<Vec<_>, _>>().map_err(Error::Device)?;
    let (lo, hi) = range(expr, &bounds).unwrap_or((i64::MIN / 4, i64::MAX / 4));
    let domain = LevelDomain { lower: lo, size: hi.abs_diff(lo).saturating_add(1) };
    let sources: Vec<Source<'_>> = columns.iter().map(Source::Column).collect();
    evaluate(expr, &sources, len, domain)
        .ok_or_else(|| Error::TooLarge(format!("a value of an expression over {len} entries")))
}

/// Bounds of an expression, if its variables have these. `None` if they are not known, or do not fit 64 bits.
fn range(expr: &IndexExpr, bounds: &[(i64, i64)]) -> Option<(i64, i64)> {
    let both = |a: &IndexExpr, b: &IndexExpr| Some((range(a, bounds)?, range(b, bounds)?));
    match expr {
        IndexExpr::Const(value) => Some((*value, *value)),
        IndexExpr::Var(at) => bounds.get(*at).copied(),
        IndexExpr::Add(a, b) => {
            let ((lo, hi), (more, most)) = both(a, b)?;
            Some((lo.checked_add(more)?, hi.checked_add(most)?))
        }
        IndexExpr::Sub(a, b) => {
            let ((lo, hi), (less, least)) = both(a, b)?;
            Some((lo.checked_sub(least)?, hi.checked_sub(less)?))
        }
        IndexExpr::Mul(a, b) => {
            let (a, b) = both(a, b)?;
            let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
            let ends = ends.map(|(a, b)| a.checked_mul(b));
            let ends = ends.into_iter().collect::<Option<Vec<i64>>>()?;
            Some((*ends.iter().min()?, *ends.iter().max()?))
        }
        IndexExpr::FloorDiv(a, b) => match both(a, b)? {
            ((lo, hi), (by, same)) if by == same && by > 0 => {
                Some((lo.div_euclid(by), hi.div_euclid(by)))
            }
            _ => None,
        },
        IndexExpr::Mod(a, b) => match both(a, b)? {
            (_, (by, same)) if by == same && by > 0 => Some((0, by - 1)),
            _ => None,
        },
    }
}

/// For each of `len` entries, a number of those with the same value in every column. If one column ascends, entries
/// are counted run by run. Counts are kept in an array where there are few groups; else entries are sorted. Parallel
/// over runs.
///
/// # Errors
/// [`Error::TooLarge`] from 2^32 entries on; [`Error::Device`] where a column cannot be fetched.
pub(crate) fn tally(
    columns: &[IndexColumn],
    len: usize,
    what: Tally,
) -> Result<Buffer<u32>, Error> {
    if u32::try_from(len).is_err() {
        return Err(Error::TooLarge(format!("{len} entries to count; at most 2^32 - 1")));
    }
    let runs_of = columns.iter().position(ascends);
    let starts = match runs_of {
        Some(at) => starts(&columns[at]),
        None => vec![0],
    };
    let others = columns.iter().enumerate().filter(|(at, _)| Some(*at) != runs_of);
    let others: Vec<&IndexColumn> = others.map(|(_, column)| column).collect();
    let keys = Keys::of(&others, len)?;
    let mut numbers = Buffer::zeroed(len);
    let threads = if starts.len() > 1 { pool::threads(len) } else { 1 };
    // Parts of whole runs, of about as many entries.
    let mut parts = Vec::new();
    let (mut rest, mut first) = (numbers.make_mut(), 0);
    for part in 1..=threads {
        let until = (len as u128 * part as u128 / threads as u128) as usize;
        let last = match part == threads {
            true => starts.len(),
            false => starts.partition_point(|&start| start < until).max(first),
        };
        let of = |at: usize| starts.get(at).copied().unwrap_or(len);
        let (mine, others) = std::mem::take(&mut rest).split_at_mut(of(last) - of(first));
        parts.push((&starts[first..last], of(last), mine));
        (rest, first) = (others, last);
    }
    pool::apart(parts, |(starts, end, numbers)| -> Result<(), Error> {
        let mut counts = vec![0_u32; keys.array_len(len)];
        let from = starts.first().copied().unwrap_or(end);
        for (at, &start) in starts.iter().enumerate() {
            if at % PIECE == 0 {
                poll();
            }
            let stop = starts.get(at + 1).copied().unwrap_or(end);
            keys.tally(start..stop, &mut counts, what, &mut numbers[start - from..stop - from]);
        }
        Ok(())
    })?;
    Ok(numbers)
}

/// Whether no number is smaller than the one before.
fn ascends(column: &IndexColumn) -> bool {
    if let IndexColumn::Runs(_) = column {
        return true;
    }
    with_column!(column, read => {
        use ust_level_api::column::IndexRead;
        let below = |at: usize| at == 0 || read.at(at - 1) <= read.at(at);
        pieces(column.len()).all(|mut piece| piece.all(below))
    })
}

/// The first entries of runs of equal numbers.
fn starts(column: &IndexColumn) -> Vec<usize> {
    if let IndexColumn::Runs(starts) = column {
        let filled = starts.windows(2).filter(|ends| ends[0] < ends[1]);
        return filled.map(|ends| ends[0] as usize).collect();
    }
    with_column!(column, read => {
        use ust_level_api::column::IndexRead;
        let begins = |&at: &usize| at == 0 || read.at(at - 1) != read.at(at);
        pieces(column.len()).flatten().filter(begins).collect()
    })
}

/// One number for each entry, equal where all columns are.
enum Keys {
    /// All alike.
    Same,
    Few(Vec<u32>, usize),
    Many(Vec<u64>),
}

impl Keys {
    fn of(columns: &[&IndexColumn], len: usize) -> Result<Self, Error> {
        let mut keys: Option<(Vec<u64>, u64)> = None;
        for column in columns {
            let extremes = column.extremes().map_err(Error::Device)?;
            let Some((lo, hi)) = extremes.filter(|(lo, hi)| lo < hi) else { continue };
            let size = hi.abs_diff(lo).saturating_add(1);
            let own = |at: usize| column.at(at).abs_diff(lo);
            keys = Some(match keys {
                None => ((0..len).map(own).collect(), size),
                Some((mut keys, groups)) => {
                    let (groups, size) = match groups.checked_mul(size) {
                        Some(_) => (groups, size),
                        None => (rank(&mut keys), size),
                    };
                    let all = groups.checked_mul(size);
                    let mut own: Vec<u64> = (0..len).map(own).collect();
                    let size = if all.is_some() { size } else { rank(&mut own) };
                    keys.iter_mut().zip(own).for_each(|(key, own)| *key = *key * size + own);
                    // Ranks are below 2^32.
                    (keys, groups.saturating_mul(size))
                }
            });
        }
        let few = (TALLY_GROUPS_PER_ENTRY * len as u64).max(TALLY_FEW_GROUPS);
        Ok(match keys {
            None => Self::Same,
            Some((keys, groups)) if groups <= few && u32::try_from(groups).is_ok() => {
                Self::Few(keys.into_iter().map(|key| key as u32).collect(), groups as usize)
            }
            Some((keys, _)) => Self::Many(keys),
        })
    }

    /// Number of counts.
    fn array_len(&self, len: usize) -> usize {
        match self {
            Self::Few(_, groups) if len > 0 => *groups,
            _ => 0,
        }
    }

    /// Counts the entries of a run. `counts` are zero before and afterwards.
    fn tally(
        &self,
        run: std::ops::Range<usize>,
        counts: &mut [u32],
        what: Tally,
        numbers: &mut [u32],
    ) {
        match self {
            Self::Same => {
                let count = run.len() as u32;
                let each = numbers.iter_mut().enumerate();
                each.for_each(|(at, number)| {
                    *number = if what == Tally::Number { at as u32 } else { count };
                });
            }
            Self::Few(keys, _) => {
                let keys = &keys[run];
                for (&key, number) in keys.iter().zip(&mut *numbers) {
                    *number = counts[key as usize];
                    counts[key as usize] += 1;
                }
                if what == Tally::Count {
                    let each = keys.iter().zip(numbers);
                    each.for_each(|(&key, number)| *number = counts[key as usize]);
                }
                keys.iter().for_each(|&key| counts[key as usize] = 0);
            }
            Self::Many(keys) => {
                let keys = &keys[run];
                let mut order: Vec<u32> = (0..keys.len() as u32).collect();
                order.sort_unstable_by_key(|&at| (keys[at as usize], at));
                for group in order.chunk_by(|&a, &z| keys[a as usize] == keys[z as usize]) {
                    for (before, &at) in group.iter().enumerate() {
                        let number = if what == Tally::Number { before } else { group.len() };
                        numbers[at as usize] = number as u32;
                    }
                }
            }
        }
    }
}

/// Replaces numbers by their ranks among the different ones, and returns how many these are.
fn rank(numbers: &mut [u64]) -> u64 {
    let mut different = numbers.to_vec();
    different.sort_unstable();
    different.dedup();
    for number in numbers {
        *number = different.partition_point(|other| *other < *number) as u64;
    }
    different.len() as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Numbers below `size`, different for each seed.
    fn random(len: usize, size: u64, seed: u64) -> Vec<i64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % size) as i64 - 3
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    fn plain(columns: &[Vec<i64>], len: usize, what: Tally) -> Vec<u32> {
        let key = |at: usize| -> Vec<i64> { columns.iter().map(|column| column[at]).collect() };
        let mut counts: HashMap<Vec<i64>, u32> = HashMap::new();
        let numbers: Vec<u32> = (0..len)
            .map(|at| {
                let count = counts.entry(key(at)).or_default();
                *count += 1;
                *count - 1
            })
            .collect();
        match what {
            Tally::Number => numbers,
            Tally::Count => (0..len).map(|at| counts[&key(at)]).collect(),
        }
    }

    #[test]
    fn entries_are_counted_as_by_a_map() {
        let far = i64::MAX as u64;
        for (len, sizes, sorted) in [
            (0, &[5][..], false),
            (900, &[][..], false),
            (900, &[7], false),
            (900, &[7], true),
            (900, &[40, 30], false),
            (900, &[40, 30], true),
            (900, &[40, far], true),
            (900, &[far, 3, far], false),
            (900, &[1, far, 2], true),
            (400_000, &[1000, 900], true),
        ] {
            let each = sizes.iter().enumerate();
            let mut columns: Vec<Vec<i64>> =
                each.map(|(at, &size)| random(len, size, at as u64 + 5)).collect();
            // Repeats of large numbers.
            for column in &mut columns {
                (0..len / 2).for_each(|at| column[at * 2] = column[at]);
            }
            if sorted {
                columns[0].sort_unstable();
            }
            let given: Vec<IndexColumn> = columns.iter().map(|c| c.clone().into()).collect();
            for what in [Tally::Number, Tally::Count] {
                let found = tally(&given, len, what).unwrap();
                assert_eq!(
                    found[..],
                    plain(&columns, len, what),
                    "{len} {sizes:?} {sorted} {what:?}"
                );
            }
        }
    }

    #[test]
    fn values_lie_within_the_range_of_their_expression() {
        let var = |at| Box::new(IndexExpr::Var(at));
        let int = |value| Box::new(IndexExpr::Const(value));
        for expr in [
            IndexExpr::Sub(var(1), var(0)),
            IndexExpr::Mul(int(-3), Box::new(IndexExpr::Add(var(0), var(1)))),
            IndexExpr::FloorDiv(Box::new(IndexExpr::Sub(var(0), int(40))), int(7)),
            IndexExpr::Mod(Box::new(IndexExpr::Sub(var(0), var(1))), int(5)),
        ] {
            let columns = [random(500, 90, 1), random(500, 20, 2)];
            let given: Vec<IndexColumn> = columns.iter().map(|c| c.clone().into()).collect();
            let found = evaluated(&expr, &given, 500).unwrap().to_vec();
            let single = |at: usize| expr.eval(&[columns[0][at], columns[1][at]]).unwrap();
            assert_eq!(found, (0..500).map(single).collect::<Vec<_>>(), "{expr:?}");
        }
    }
}
