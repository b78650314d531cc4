//! How many different coordinates there are: the one pass that every estimate stands on.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use rayon::prelude::*;
use ust_format::IndexExpr;
use ust_level_api::ir::parallel;

/// Entries handled at a time.
const BLOCK: usize = 4096;
/// Up to so many different keys are counted exactly.
const EXACT: usize = 1 << 16;

/// For each list of expressions over dimensions, how many different tuples of their values the
/// entries have. Exact up to 65,536, and within about one percent beyond: of more keys a part is
/// kept that their hashes choose (Wegman's adaptive sampling). One pass, parallel.
pub(super) fn distinct(columns: &[impl AsRef<[i64]> + Sync], lists: &[Vec<IndexExpr>]) -> Vec<f64> {
    let len = columns.first().map_or(0, |column| column.as_ref().len());
    let mut exprs: Vec<&IndexExpr> = Vec::new();
    let mut place = |expr| {
        exprs.iter().position(|&known| known == expr).unwrap_or_else(|| {
            exprs.push(expr);
            exprs.len() - 1
        })
    };
    let lists: Vec<Vec<usize>> =
        lists.iter().map(|list| list.iter().map(&mut place).collect()).collect();
    let none = || vec![Sample::default(); lists.len()];
    let count = |mut samples: Vec<Sample>, block: usize| {
        let range = block * BLOCK..len.min((block + 1) * BLOCK);
        let part: Vec<&[i64]> =
            columns.iter().map(|column| &column.as_ref()[range.clone()]).collect();
        let hashes: Vec<Vec<i64>> = exprs.iter().map(|expr| values(expr, &part)).collect();
        let mut keys = vec![0; range.len()];
        for (list, sample) in lists.iter().zip(&mut samples) {
            keys.fill(0);
            for &at in list {
                keys.iter_mut().zip(&hashes[at]).for_each(|(key, &v)| *key = mix(*key, v));
            }
            keys.iter().for_each(|&key| sample.add(key));
        }
        samples
    };
    let blocks = (0..len.div_ceil(BLOCK)).into_par_iter().with_min_len(64);
    let merge = |mut all: Vec<Sample>, more: Vec<Sample>| {
        all.iter_mut().zip(more).for_each(|(a, b)| a.merge(b));
        all
    };
    let all = parallel::entered(|| blocks.fold(none, count).reduce(none, merge));
    all.iter().map(Sample::estimate).collect()
}

/// The values of an expression for a block of entries. Numbers beyond 64 bits wrap: no format can
/// have them.
fn values(expr: &IndexExpr, columns: &[&[i64]]) -> Vec<i64> {
    let len = columns.first().map_or(0, |column| column.len());
    let both = |a, b, f: fn(i64, i64) -> i64| -> Vec<i64> {
        let (mut a, b) = (values(a, columns), values(b, columns));
        a.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, b));
        a
    };
    match expr {
        IndexExpr::Const(value) => vec![*value; len],
        IndexExpr::Var(at) => columns[*at].to_vec(),
        IndexExpr::Add(a, b) => both(a, b, i64::wrapping_add),
        IndexExpr::Sub(a, b) => both(a, b, i64::wrapping_sub),
        IndexExpr::Mul(a, b) => both(a, b, i64::wrapping_mul),
        IndexExpr::FloorDiv(a, b) => match **b {
            IndexExpr::Const(by) if by > 0 && by.count_ones() == 1 => {
                let shift = by.trailing_zeros();
                values(a, columns).into_iter().map(|v| v >> shift).collect()
            }
            _ => both(a, b, |a, b| a.checked_div_euclid(b).unwrap_or(0)),
        },
        IndexExpr::Mod(a, b) => both(a, b, |a, b| a.checked_rem_euclid(b).unwrap_or(0)),
    }
}

/// A hash of a key and one more number.
pub(super) fn mix(key: u64, value: i64) -> u64 {
    let mut z = (key.rotate_left(23) ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z ^= z >> 29;
    z = z.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 32)
}

/// Keys seen, or those of them whose hash ends in so many zeros.
#[derive(Clone, Default)]
struct Sample {
    zeros: u32,
    kept: HashSet<u64, BuildHasherDefault<Hashed>>,
    last: Option<u64>,
}

impl Sample {
    fn add(&mut self, key: u64) {
        // Neighbours are often alike.
        if self.last == Some(key) || key.trailing_zeros() < self.zeros {
            return;
        }
        self.last = Some(key);
        self.kept.insert(key);
        self.thin();
    }

    fn merge(&mut self, other: Self) {
        self.zeros = self.zeros.max(other.zeros);
        self.kept.extend(other.kept);
        let zeros = self.zeros;
        self.kept.retain(|key| key.trailing_zeros() >= zeros);
        self.thin();
    }

    fn thin(&mut self) {
        while self.kept.len() > EXACT {
            self.zeros += 1;
            let zeros = self.zeros;
            self.kept.retain(|key| key.trailing_zeros() >= zeros);
        }
    }

    fn estimate(&self) -> f64 {
        self.kept.len() as f64 * f64::from(self.zeros).exp2()
    }
}

/// Keys are hashes already; their low bits are alike in a sample, so the high ones lead.
#[derive(Clone, Copy, Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = mix(self.0, byte.into()));
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key.rotate_left(32) ^ key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(by: i64) -> Vec<IndexExpr> {
        let part =
            |at| IndexExpr::FloorDiv(Box::new(IndexExpr::Var(at)), Box::new(IndexExpr::Const(by)));
        vec![part(0), part(1)]
    }

    #[test]
    fn few_keys_are_counted_exactly_and_many_nearly_so() {
        let side = 1000;
        let rows: Vec<i64> = (0..side * side).map(|n| n / side).collect();
        let columns: Vec<i64> = (0..side * side).map(|n| n % side).collect();
        let found = distinct(&[rows, columns], &[blocks(10), blocks(7), blocks(1), vec![]]);
        assert_eq!(found[..2], [100.0 * 100.0, 143.0 * 143.0]);
        assert!((found[2] / 1e6 - 1.0).abs() < 0.03, "{}", found[2]);
        assert_eq!(found[3], 1.0);
        assert_eq!(distinct(&[Vec::new(), Vec::new()], &[blocks(2)]), [0.0]);
    }
}
