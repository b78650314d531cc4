//! Loops of a counting sort that are an operation of a microkernel.

use ust_ir::idiom::{By, Index, Placed, Range};
use ust_ir::{BinOp, Expr, Var};

use super::pattern::{Pattern, Stream};

/// The operation of the loops of a counting sort from one on.
pub(super) fn placed(placed: &Placed, from: usize) -> Option<Pattern> {
    let entries = placed.loops.len().checked_sub(1)?;
    let [outer @ .., q] = &placed.loops[..] else { return None };
    // What the key is read from, and the terms that are the same for all entries.
    let mut crd = None;
    let mut at = placed.key.base.clone();
    for step in &placed.key.steps {
        match step.by {
            By::Read(array, var) if var == q.var && step.stride == Expr::Int(1) => {
                crd = Some(array);
            }
            by if from == entries && by.var() != q.var => {
                at.push(Expr::from(by) * step.stride.clone());
            }
            _ => return None,
        }
    }
    let (crd, next) = (crd?, Stream { array: placed.next, at });
    // Rows: the loop around that over entries.
    let pos = match (&q.range, outer) {
        _ if from == entries => None,
        (Range::Segment { pos, at, begin }, [.., row]) if from + 1 == entries => {
            let is_row = *begin == Index::default()
                && at.base.is_empty()
                && matches!(&at.steps[..], [step]
                    if step.by == By::Var(row.var) && step.stride == Expr::Int(1));
            Some((is_row.then_some(*pos)?, row.var))
        }
        _ => return None,
    };
    let [(column, number), (out, value)] = &placed.moves[..] else {
        let (pos, _) = pos?;
        return placed.moves.is_empty().then_some(Pattern::Count { pos, crd, counts: next });
    };
    let (column, out) = (*column, *out);
    let (from, index) = value.element.as_ref()?;
    let along = |index: &Index| {
        let [step] = &index.steps[..] else { return None };
        let is_along = step.by == By::Var(q.var) && step.stride == Expr::Int(1);
        is_along.then(|| index.base.clone())
    };
    let from = Stream { array: *from, at: along(index)? };
    let reads = |expr: &Expr, var: Var| {
        let mut found = false;
        expr.visit(&mut |part| found |= *part == Expr::Var(var));
        found
    };
    let number = number.value.clone();
    match pos {
        None if !reads(&number, q.var) => {
            Some(Pattern::Scatter { crd, next, column, number, from, out })
        }
        Some((pos, row)) if from.at.is_empty() => {
            // The number of the row, plus terms that are the same for all rows.
            let rest = match number {
                Expr::Var(var) if var == row => Vec::new(),
                Expr::Binary(BinOp::Add, a, b) => match (*a, *b) {
                    (Expr::Var(var), rest) | (rest, Expr::Var(var))
                        if var == row && !reads(&rest, row) && !reads(&rest, q.var) =>
                    {
                        vec![rest]
                    }
                    _ => return None,
                },
                _ => return None,
            };
            let from = from.array;
            Some(Pattern::ScatterRows { pos, crd, next, column, number: rest, from, out })
        }
        _ => None,
    }
}
