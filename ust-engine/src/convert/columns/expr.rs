//! Level expressions, evaluated on whole columns.

use ust_format::{IndexExpr, LevelDomain};
use ust_level_api::column::{IndexWord, chunk_len, column_kind};
use ust_level_api::ir::parallel;
use ust_level_api::{Buffer, IndexColumn, IndexKind};

use crate::tuning::EVALUATED_ENTRIES;

/// The coordinates of all entries in a dimension.
#[derive(Clone, Copy)]
pub(in crate::convert) enum Source<'a> {
    Wide(&'a [i64]),
    Column(&'a IndexColumn),
}

impl Source<'_> {
    fn read(self, first: usize, out: &mut [i64]) {
        match self {
            Self::Wide(words) => out.copy_from_slice(&words[first..first + out.len()]),
            Self::Column(column) => column.read(first, out),
        }
    }
}

/// The values of an expression over columns, as narrow as the domain allows. `None` where an
/// intermediate result overflows 64 bits. Parallel.
pub(in crate::convert) fn evaluate(
    expr: &IndexExpr,
    columns: &[Source<'_>],
    len: usize,
    domain: LevelDomain,
) -> Option<IndexColumn> {
    let last = domain.lower.saturating_add_unsigned(domain.size.saturating_sub(1));
    let kind = column_kind(domain.lower, last);
    if let IndexExpr::Var(at) = expr
        && let Source::Column(column @ IndexColumn::U32(_)) = columns[*at]
        && kind == IndexKind::U32
    {
        return Some(column.clone());
    }
    match kind {
        IndexKind::U32 => collect::<u32>(expr, columns, len),
        IndexKind::I32 => collect::<i32>(expr, columns, len),
        _ => collect::<i64>(expr, columns, len),
    }
}

fn collect<T: IndexWord>(
    expr: &IndexExpr,
    columns: &[Source<'_>],
    len: usize,
) -> Option<IndexColumn> {
    let mut made = Buffer::<T>::unspecified(len);
    let chunk = chunk_len(len).next_multiple_of(EVALUATED_ENTRIES);
    let fit = parallel::map_items(made.make_mut().chunks_mut(chunk), |number, out| {
        let mut stack = Stack::default();
        out.chunks_mut(EVALUATED_ENTRIES).enumerate().all(|(block, out)| {
            let first = number * chunk + block * EVALUATED_ENTRIES;
            let fits = stack.evaluate(expr, columns, first, out.len(), 0);
            for (to, &from) in out.iter_mut().zip(&stack.0[0]) {
                *to = T::truncated(from);
            }
            fits
        })
    });
    fit.into_iter().all(|fits| fits).then(|| T::column(made))
}

/// Intermediate results: a block of numbers for each depth of the expression.
#[derive(Default)]
struct Stack(Vec<Vec<i64>>);

impl Stack {
    /// Evaluates an expression into the block at a depth. Returns false where a number overflows.
    fn evaluate(
        &mut self,
        expr: &IndexExpr,
        columns: &[Source<'_>],
        first: usize,
        len: usize,
        depth: usize,
    ) -> bool {
        if self.0.len() == depth {
            self.0.push(Vec::new());
        }
        let (a, b) = match expr {
            IndexExpr::Const(value) => {
                self.0[depth].clear();
                self.0[depth].resize(len, *value);
                return true;
            }
            IndexExpr::Var(at) => {
                self.0[depth].resize(len, 0);
                columns[*at].read(first, &mut self.0[depth]);
                return true;
            }
            IndexExpr::Add(a, b)
            | IndexExpr::Sub(a, b)
            | IndexExpr::Mul(a, b)
            | IndexExpr::FloorDiv(a, b)
            | IndexExpr::Mod(a, b) => (a, b),
        };
        if !self.evaluate(a, columns, first, len, depth) {
            return false;
        }
        if let (IndexExpr::FloorDiv(..) | IndexExpr::Mod(..), IndexExpr::Const(by)) = (expr, &**b) {
            return divide(&mut self.0[depth], *by, matches!(expr, IndexExpr::Mod(..)));
        }
        if !self.evaluate(b, columns, first, len, depth + 1) {
            return false;
        }
        let (low, high) = self.0.split_at_mut(depth + 1);
        let pairs = low[depth].iter_mut().zip(&high[0]);
        let mut over = false;
        match expr {
            IndexExpr::Add(..) => pairs.for_each(|(a, &b)| over |= set(a, a.overflowing_add(b))),
            IndexExpr::Sub(..) => pairs.for_each(|(a, &b)| over |= set(a, a.overflowing_sub(b))),
            IndexExpr::Mul(..) => pairs.for_each(|(a, &b)| over |= set(a, a.overflowing_mul(b))),
            _ => {
                let vars = [IndexExpr::Var(0), IndexExpr::Var(1)].map(Box::new);
                let [x, y] = vars;
                let one = match expr {
                    IndexExpr::Mod(..) => IndexExpr::Mod(x, y),
                    _ => IndexExpr::FloorDiv(x, y),
                };
                pairs.for_each(|(a, &b)| match one.eval(&[*a, b]) {
                    Some(value) => *a = value,
                    None => over = true,
                });
            }
        }
        !over
    }
}

fn set(to: &mut i64, (value, over): (i64, bool)) -> bool {
    *to = value;
    over
}

/// Quotients or remainders by one number, rounded down. Returns false for a divisor below 1.
fn divide(numbers: &mut [i64], by: i64, remainder: bool) -> bool {
    if by < 1 {
        return false;
    }
    let (shift, mask) = (by.trailing_zeros(), by - 1);
    let narrow = u32::try_from(by).ok().filter(|_| {
        numbers.iter().fold(0, |bits, &number| bits | number as u64) <= u64::from(u32::MAX)
    });
    match (by.count_ones() == 1, narrow, remainder) {
        (true, _, false) => numbers.iter_mut().for_each(|n| *n >>= shift),
        (true, _, true) => numbers.iter_mut().for_each(|n| *n &= mask),
        (_, Some(by), false) => numbers.iter_mut().for_each(|n| *n = i64::from(*n as u32 / by)),
        (_, Some(by), true) => numbers.iter_mut().for_each(|n| *n = i64::from(*n as u32 % by)),
        (_, _, false) => numbers.iter_mut().for_each(|n| *n = n.div_euclid(by)),
        (_, _, true) => numbers.iter_mut().for_each(|n| *n = n.rem_euclid(by)),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_evaluated_as_single_entries_are() {
        let var = |at| Box::new(IndexExpr::Var(at));
        let int = |value| Box::new(IndexExpr::Const(value));
        let sum = |a, b| Box::new(IndexExpr::Add(a, b));
        let far = i64::from(u32::MAX) + 77;
        let exprs = [
            IndexExpr::Sub(var(0), var(1)),
            IndexExpr::FloorDiv(var(0), int(4)),
            IndexExpr::Mod(Box::new(IndexExpr::Sub(var(0), var(1))), int(7)),
            IndexExpr::FloorDiv(Box::new(IndexExpr::Sub(var(1), int(5))), int(3)),
            IndexExpr::Mod(sum(var(0), int(far)), int(1 << 33)),
            IndexExpr::Add(Box::new(IndexExpr::Mul(var(0), int(9))), var(1)),
            IndexExpr::FloorDiv(var(0), sum(var(1), int(1))),
            IndexExpr::Var(1),
        ];
        let columns: Vec<Vec<i64>> =
            vec![(0..3000).map(|v| v * 11 % 701).collect(), (0..3000).map(|v| v % 13).collect()];
        let slices: Vec<Source<'_>> = columns.iter().map(|c| Source::Wide(c)).collect();
        let narrow = columns.iter().map(|c| c.iter().map(|&v| v as u32).collect::<Vec<_>>().into());
        let narrow: Vec<IndexColumn> = narrow.collect();
        let narrow: Vec<Source<'_>> = narrow.iter().map(Source::Column).collect();
        for expr in exprs {
            let expected: Vec<i64> =
                (0..3000).map(|at| expr.eval(&[columns[0][at], columns[1][at]]).unwrap()).collect();
            let (lo, hi) = (*expected.iter().min().unwrap(), *expected.iter().max().unwrap());
            let domain = LevelDomain { lower: lo, size: (hi - lo) as u64 + 1 };
            let made = evaluate(&expr, &slices, 3000, domain).unwrap();
            assert_eq!(made.to_vec(), expected, "{expr:?}");
            assert_eq!(evaluate(&expr, &narrow, 3000, domain).unwrap(), made, "{expr:?}");
        }
        let wide = LevelDomain { lower: 0, size: i64::MAX as u64 };
        let over = IndexExpr::Mul(sum(var(0), int(2)), int(i64::MAX));
        assert!(evaluate(&over, &slices, 3000, wide).is_none());
    }
}
