//! Loops over entries whose coordinate repeats, cut anywhere: see [`stored`](super::stored).
//!
//! A row is a run of entries with the same coordinate. The part that has the last entry of a row combines the sum of
//! its entries with the result; the other parts of the row leave theirs.

use std::collections::HashMap;

use ust_format::IndexExpr;
use ust_level_api::Interval;
use ust_level_api::ir::schedule::LaneSum;
use ust_level_api::ir::{ArrayId, BinOp, Expr, Function, Stmt, Ty, UnOp, Var};

use super::fresh;
use super::left::{Adding, Left, NONE, combines};
use super::moved::Summing;
use super::stored::{Stored, has_only, longest, names, part, unless};
use crate::provider::Plan;
use crate::provider::plan::{Array, Facts, Over};

/// A copy of the loops of a plan whose parts are intervals of entries. `None` if its outermost loop does not run over
/// entries with ascending coordinates, those of each coordinate one after another, and sum them.
pub(super) fn by_runs(plan: &Plan<'_>, facts: &Facts) -> Option<Stored> {
    if plan.strict {
        return None;
    }
    let mut function = plan.function.clone();
    function.idioms.clear();
    let runs = Runs::of(plan, facts, &mut function)?;
    let left = Left::declare(&mut function, runs.result);
    let longest = longest(plan.function, |function, to| function.body = runs.longest(function, to));
    let adding = Adding {
        op: runs.op,
        result: runs.result,
        left,
        part: runs.part.clone(),
        elements: None,
        block: Expr::Int(1),
    };
    let carries = adding.carries(&function, &|row| runs.index(row));
    function.body = runs.parts(&mut function, left);
    let sum = LaneSum { var: runs.sum, op: runs.op, start: runs.start };
    let (range, shared) = (runs.range, Some((runs.entry, sum)));
    Some(Stored { function, range, carries: Some(carries), longest, shared })
}

/// A loop over entries.
struct Runs {
    /// All entries.
    range: Interval,
    entry: Var,
    /// The coordinate at `entry`.
    crd: Expr,
    names: Vec<Stmt>,
    /// The code of an entry, which adds to `sum`.
    body: Vec<Stmt>,
    sum: Var,
    op: BinOp,
    start: Expr,
    result: ArrayId,
    /// The element of the coordinate `row`.
    index: Expr,
    row: Var,
    part: [Expr; 2],
}

impl Runs {
    fn of(plan: &Plan<'_>, facts: &Facts, function: &mut Function) -> Option<Self> {
        if facts.rows.is_some() || !facts.carried.is_empty() || !facts.outermost.owns {
            return None;
        }
        let result = facts.arrays.iter().position(|array| *array == Array::Result)?;
        let mut outermost = facts.loops.iter().filter(|one| one.depth == 0);
        let (Some(over), None) = (outermost.next(), outermost.next()) else { return None };
        // Coordinates repeat if parts of entries with different coordinates own what they write, and entries do not.
        let repeats = over.over == Over::Cursor && !over.owns && !over.sequential;
        let (&[entry], true, IndexExpr::Var(_)) = (&over.vars[..], repeats, &over.expr) else {
            return None;
        };
        let crd = over.crd.clone().filter(|crd| has_only(plan.function, crd, &[entry], true))?;
        let mut block = plan.function.body.iter().filter_map(|stmt| match stmt {
            Stmt::For { var, body, .. } if *var == entry => Some(body),
            _ => None,
        });
        let block = block.next()?;
        let elem = function.arrays[result].elem;
        let (row, sum) = (
            fresh(&mut function.vars, "row", Ty::Int),
            fresh(&mut function.vars, "row_sum", elem.ty()),
        );
        let result = ArrayId(result as u32);
        let mut summing = Summing::new(result, sum);
        let body = summing.block(block)?;
        let op = summing.op().filter(|op| combines(*op))?;
        let mut known: HashMap<Var, Expr> = plan.function.first_names();
        for stmt in block {
            if let Stmt::Let(var, value) = stmt {
                let value = value.replaced(&|var| known.get(&var).cloned());
                known.insert(*var, value);
            }
        }
        let index = summing.index()?.replaced(&|var| known.get(&var).cloned());
        let index = index.mapped(&|part| (*part == crd).then(|| row.into()));
        let part = part(facts)?;
        if !has_only(plan.function, &index, &[row], false) {
            return None;
        }
        Some(Self {
            range: facts.outermost.range.clone()?,
            entry,
            crd,
            names: names(plan.function, &body, &part)?,
            body,
            sum,
            op,
            start: Expr::Const(plan.result.fill),
            result,
            index,
            row,
            part,
        })
    }

    fn index(&self, row: Var) -> Expr {
        self.index.replaced(&|var| (var == self.row).then(|| row.into()))
    }

    /// The coordinate of an entry.
    fn crd(&self, entry: impl Into<Expr>) -> Expr {
        let entry = entry.into();
        self.crd.replaced(&|var| (var == self.entry).then(|| entry.clone()))
    }

    /// Code that makes `stop` the end of the entries that have the coordinate `row` from `first` on, up to `end`.
    fn search(
        &self,
        function: &mut Function,
        (first, end): (Var, Expr),
        row: Var,
        stop: Var,
    ) -> Vec<Stmt> {
        let mut fresh = |name: &str| fresh(&mut function.vars, name, Ty::Int);
        let [to, middle] = ["to", "middle"].map(&mut fresh);
        let half = Expr::binary(BinOp::Shr, Expr::from(stop) + Expr::from(to), 1.into());
        let body = vec![
            Stmt::Let(middle, half),
            Stmt::If {
                cond: self.crd(middle).equals(row),
                then: vec![Stmt::Assign(stop, Expr::from(middle) + 1)],
                otherwise: vec![Stmt::Assign(to, middle.into())],
            },
        ];
        vec![
            Stmt::Let(stop, Expr::from(first) + 1),
            Stmt::Let(to, end),
            Stmt::While { cond: Expr::from(stop).lt(to), body },
        ]
    }

    /// The loops over a part of the entries.
    fn parts(&self, function: &mut Function, left: Left) -> Vec<Stmt> {
        let mut new = |name: &str, ty: Ty| fresh(&mut function.vars, name, ty);
        let [end, until, first, stop] =
            ["entries_hi", "until", "first_entry", "stop"].map(|name| new(name, Ty::Int));
        let ends = new("ends", Ty::Bool);
        let [part_lo, part_hi] = self.part.clone();
        let row = self.row;
        let mut of_row = vec![Stmt::Let(row, self.crd(first))];
        of_row.extend(self.search(function, (first, until.into()), row, stop));
        let same = self.crd(stop).equals(row);
        let differs = Expr::Unary(UnOp::Not, Box::new(same));
        of_row.extend([
            Stmt::Let(ends, Expr::from(stop).lt(end).select(differs, Expr::Bool(true))),
            Stmt::Let(self.sum, self.start.clone()),
            Stmt::For {
                var: self.entry,
                lo: first.into(),
                hi: stop.into(),
                body: self.body.clone(),
            },
            Stmt::If {
                cond: ends.into(),
                then: vec![Stmt::Reduce(self.op, self.result, self.index(row), self.sum.into())],
                otherwise: vec![
                    Stmt::Store(left.rows, 0.into(), row.into()),
                    Stmt::Store(left.sums, 0.into(), self.sum.into()),
                ],
            },
            Stmt::Assign(first, stop.into()),
        ]);
        let mut all = vec![Stmt::Store(left.rows, 0.into(), Expr::Int(NONE))];
        all.extend(self.names.iter().cloned());
        all.extend([
            Stmt::Let(end, self.range.hi.clone()),
            Stmt::Let(until, Expr::from(end).min(part_hi)),
            Stmt::Let(first, self.range.lo.clone().max(part_lo)),
            Stmt::While { cond: Expr::from(first).lt(until), body: of_row },
        ]);
        all
    }

    /// The largest number of entries of a row.
    fn longest(&self, function: &mut Function, to: ArrayId) -> Vec<Stmt> {
        let mut new = |name: &str| fresh(&mut function.vars, name, Ty::Int);
        let [row, stop] = ["row", "stop"].map(&mut new);
        let entry = Expr::from(self.entry);
        let above = self.crd(entry.clone() - 1).equals(self.crd(entry.clone()));
        let goes_on = self.range.lo.clone().lt(entry.clone()).select(above, Expr::Bool(false));
        let mut of_row = vec![Stmt::Let(row, self.crd(entry.clone()))];
        of_row.extend(self.search(function, (self.entry, self.range.hi.clone()), row, stop));
        of_row.push(Stmt::Reduce(BinOp::Max, to, 0.into(), Expr::from(stop) - entry));
        let body = vec![unless(goes_on, of_row)];
        let [lo, hi] = self.part.clone();
        vec![Stmt::For { var: self.entry, lo, hi, body }]
    }
}
