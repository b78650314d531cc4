//! Loops whose parts are intervals of stored elements, so that long rows do not make some parts longer than others.
//!
//! A row and each of its entries are an item: the items of a row are its entries, and then its end. A part is an
//! interval of items. It finds its first row by a binary search. The part that has the end of a row stores its sum;
//! the other parts of the row leave theirs, which are added in their order afterwards, so that the result has the
//! same bits on every run. (Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016.)

use std::collections::HashMap;

use ust_level_api::ir::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, UnOp, Var};
use ust_level_api::{IndexKind, Interval};

use super::fresh;
use crate::provider::Plan;
use crate::provider::plan::{Array, Facts, Loop, Over, Parameter, Sum};

/// Sums that parts leave for others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Carries {
    /// An `i64` of each part: the iteration of the outermost loop whose sum it left, or -1.
    pub rows: ArrayId,
    /// A number of each part: that sum.
    pub sums: ArrayId,
    /// Adds the sums of all parts to the result. Its arrays are those of the loops; `rows` and `sums` have an element
    /// for each part. Parts of it are intervals of parts, from 0 to their number, which is the length of `rows`.
    pub adding: Function,
    /// Stores the largest number of items of a row: its arrays are those of the operands, and one more, of indices of
    /// kind i64, whose element becomes the maximum. Parts of it are intervals of the plan's outermost loop.
    pub longest: Function,
}

/// The loops of a plan, by stored elements.
pub(super) struct Stored {
    pub(super) function: Function,
    pub(super) range: Interval,
    pub(super) carries: Carries,
}

/// A copy of the loops of a plan whose parts are intervals of stored elements. `None` if the plan is not a loop over
/// rows that are stored side by side, each of which forms a sum.
pub(super) fn stored(plan: &Plan<'_>, facts: &Facts) -> Option<Stored> {
    let rows = Rows::of(plan, facts)?;
    let mut function = plan.function.clone();
    let index = |name: &str| ArrayDecl {
        name: name.to_owned(),
        elem: Elem::Index(IndexKind::I64),
        written: true,
        grows: false,
    };
    let id = |function: &Function| ArrayId(function.arrays.len() as u32);
    let carried_rows = id(&function);
    function.arrays.push(index("carried_row"));
    let carried_sums = id(&function);
    let elem = function.arrays[rows.result.0 as usize].elem;
    function.arrays.push(ArrayDecl { elem, ..index("carried_sum") });
    function.idioms.clear();
    let mut longest = plan.function.clone();
    let operands = longest.arrays.iter().take_while(|array| !array.written).count();
    longest.arrays.truncate(operands);
    let to = id(&longest);
    longest.arrays.push(index("longest"));
    longest.idioms.clear();
    longest.body = rows.longest(to);
    let mut adding = function.clone();
    adding.body = rows.adding(&mut adding, carried_rows, carried_sums);
    let range = rows.items();
    function.body = rows.parts(&mut function, carried_rows, carried_sums);
    let carries = Carries { rows: carried_rows, sums: carried_sums, adding, longest };
    Some(Stored { function, range, carries })
}

/// A loop over rows, each of which forms a sum of its entries.
struct Rows<'a> {
    /// The range of the outermost loop.
    range: Interval,
    var: Var,
    /// The names that are given in a row, before its sum.
    names: Vec<&'a Stmt>,
    sum: &'a Sum,
    op: BinOp,
    /// The loop over entries.
    entry: Var,
    bounds: [Expr; 2],
    body: &'a [Stmt],
    /// What follows, with the element that it stores.
    result: ArrayId,
    index: Expr,
    part: [Expr; 2],
}

impl<'a> Rows<'a> {
    fn of(plan: &'a Plan<'_>, facts: &'a Facts) -> Option<Self> {
        if facts.rows.is_some() || !facts.carried.is_empty() || !facts.outermost.owns || plan.strict
        {
            return None;
        }
        let result = facts.arrays.iter().position(|array| *array == Array::Result)?;
        let result = ArrayId(result as u32);
        let is_row = |one: &&Loop| one.depth == 0 && one.vars.len() == 1 && !one.sequential;
        let of_rows = facts.loops.iter().find(is_row)?;
        if facts.loops.iter().filter(|one| one.depth < 2).count() != 2 {
            return None;
        }
        let of_entries = facts.loops.iter().find(|one| one.depth == 1)?;
        let sum = of_entries.sum.as_ref()?;
        let fine = of_entries.contiguous
            && !of_entries.sequential
            && of_entries.over == Over::Cursor
            && sum.hit.is_none();
        let (op, [entry]) = (sum.op?, &of_entries.vars[..]) else { return None };
        let combines = matches!(op, BinOp::Add | BinOp::Mul | BinOp::Min | BinOp::Max);
        if !fine || !combines || of_rows.sum.is_some() {
            return None;
        }
        let mut loops = plan.function.body.iter().filter(|stmt| !is_name(stmt));
        let (Some(Stmt::For { var, body, .. }), None) = (loops.next(), loops.next()) else {
            return None;
        };
        let mut names = Vec::new();
        let mut rest = body.iter().filter(|stmt| !matches!(stmt, Stmt::Comment(_))).peekable();
        while let Some(stmt) = rest.next_if(|stmt| is_name(stmt)) {
            names.push(stmt);
        }
        let Some(Stmt::Let(first, start)) = names.pop() else { return None };
        if *first != sum.var || *start != Expr::Const(sum.start) || *var != of_rows.vars[0] {
            return None;
        }
        let Some(Stmt::For { var: inner, lo, hi, body: entries }) = rest.next() else {
            return None;
        };
        let Some(Stmt::Store(array, index, value)) = rest.next() else { return None };
        let stores = *array == result && *value == Expr::Var(sum.var);
        if inner != entry || !stores || rest.next().is_some() {
            return None;
        }
        let parameter = |wanted: Parameter| {
            let at = facts.parameters.iter().position(|one| *one == wanted)?;
            Some(Expr::from(Var(at as u32)))
        };
        let range = facts.outermost.range.clone()?;
        let mut known: HashMap<Var, Expr> = plan.function.first_names();
        for stmt in &names {
            if let Stmt::Let(name, value) = stmt {
                let value = value.replaced(&|var| known.get(&var).cloned());
                known.insert(*name, value);
            }
        }
        let expand = |expr: &Expr| expr.replaced(&|var| known.get(&var).cloned());
        let bounds = [expand(lo), expand(hi)];
        let index = expand(index);
        let part = [parameter(Parameter::PartLo)?, parameter(Parameter::PartHi)?];
        let (var, entry) = (*var, *entry);
        Some(Self { range, var, names, sum, op, entry, bounds, body: entries, result, index, part })
    }

    /// The first entry of a row, and the end of its entries.
    fn entries(&self, row: &Expr) -> [Expr; 2] {
        self.bounds
            .each_ref()
            .map(|bound| bound.replaced(&|var| (var == self.var).then(|| row.clone())))
    }

    /// All items.
    fn items(&self) -> Interval {
        let Interval { lo, hi } = self.range.clone();
        let ([first, _], [_, end]) = (self.entries(&lo), self.entries(&(hi.clone() - 1)));
        let all = (hi.clone() - lo.clone()) + (end - first);
        Interval { lo: Expr::Int(0), hi: lo.lt(hi).select(all, Expr::Int(0)) }
    }

    /// The loops over a part of the items.
    fn parts(&self, function: &mut Function, rows: ArrayId, sums: ArrayId) -> Vec<Stmt> {
        let mut fresh = |name: &str, ty: Ty| fresh(&mut function.vars, name, ty);
        let [lo, hi, first] =
            ["rows_lo", "rows_hi", "first_entry"].map(|name| fresh(name, Ty::Int));
        let [from, to, middle, row, stop] =
            ["from", "to", "middle", "row", "stop"].map(|name| fresh(name, Ty::Int));
        let ends = fresh("ends", Ty::Bool);
        let [part_lo, part_hi] = self.part.clone();
        // The number of an item: of an entry of a row, or of the row's end if it is that of its entries.
        let item = |row: Var, entry: Expr| {
            (Expr::from(row) - Expr::from(lo)) + (entry - Expr::from(first))
        };
        // The entry that has this number, in a row.
        let entry =
            |item: &Expr| item.clone() - (Expr::from(row) - Expr::from(lo)) + Expr::from(first);
        let [_, end_of_middle] = self.entries(&middle.into());
        let half = Expr::binary(BinOp::Shr, Expr::from(from) + Expr::from(to), 1.into());
        let search = vec![
            Stmt::Let(middle, half),
            Stmt::If {
                cond: item(middle, end_of_middle).lt(part_lo.clone()),
                then: vec![Stmt::Assign(from, Expr::from(middle) + 1)],
                otherwise: vec![Stmt::Assign(to, middle.into())],
            },
        ];
        let [begin, end] = self.entries(&row.into());
        let more = item(row, begin.clone()).lt(part_hi.clone());
        let leave = vec![
            Stmt::Store(rows, 0.into(), row.into()),
            Stmt::Store(sums, 0.into(), self.sum.var.into()),
        ];
        let mut of_row = vec![Stmt::Let(self.var, row.into())];
        of_row.extend(self.names.iter().copied().cloned());
        of_row.extend([
            Stmt::Let(ends, item(row, end.clone()).lt(part_hi.clone())),
            Stmt::Let(stop, Expr::from(ends).select(end.clone(), end.min(entry(&part_hi)))),
            Stmt::Let(self.sum.var, Expr::Const(self.sum.start)),
            Stmt::For {
                var: self.entry,
                lo: begin.max(entry(&part_lo)),
                hi: stop.into(),
                body: self.body.to_vec(),
            },
            Stmt::If {
                cond: ends.into(),
                then: vec![Stmt::Store(self.result, self.index_at(row), self.sum.var.into())],
                otherwise: leave,
            },
            Stmt::Assign(row, Expr::from(row) + 1),
        ]);
        let some = Expr::from(lo).lt(hi);
        let [first_of_all, _] = self.entries(&lo.into());
        vec![
            Stmt::Store(rows, 0.into(), Expr::Int(-1)),
            Stmt::Let(lo, self.range.lo.clone()),
            Stmt::Let(hi, self.range.hi.clone()),
            Stmt::Let(first, some.select(first_of_all, Expr::Int(0))),
            Stmt::Let(from, lo.into()),
            Stmt::Let(to, hi.into()),
            Stmt::While { cond: Expr::from(from).lt(to), body: search },
            Stmt::Let(row, from.into()),
            Stmt::While {
                cond: Expr::from(row).lt(hi).select(more, Expr::Bool(false)),
                body: of_row,
            },
        ]
    }

    fn index_at(&self, row: Var) -> Expr {
        self.index.replaced(&|var| (var == self.var).then(|| row.into()))
    }

    /// Adds what parts left: the first part of a row adds those of all.
    fn adding(&self, function: &mut Function, rows: ArrayId, sums: ArrayId) -> Vec<Stmt> {
        let mut fresh = |name: &str| fresh(&mut function.vars, name, Ty::Int);
        let [part, row, other] = ["number", "row", "other"].map(&mut fresh);
        let row_of = |part: Expr| Expr::Load(rows, Box::new(part));
        let same = |part: Expr| row_of(part).equals(Expr::from(row));
        let before = Expr::Int(0).lt(part).select(same(Expr::from(part) - 1), Expr::Bool(false));
        let is_first = Expr::Int(0).le(row).and(Expr::Unary(UnOp::Not, Box::new(before)));
        let sum = Expr::Load(sums, Box::new(other.into()));
        let add = Stmt::While {
            cond: Expr::from(other)
                .lt(Expr::Len(rows))
                .select(same(other.into()), Expr::Bool(false)),
            body: vec![
                Stmt::Reduce(self.op, self.result, self.index_at(row), sum),
                Stmt::Assign(other, Expr::from(other) + 1),
            ],
        };
        let then = vec![Stmt::Let(other, part.into()), add];
        let [lo, hi] = self.part.clone();
        let body = vec![
            Stmt::Let(row, row_of(part.into())),
            Stmt::If { cond: is_first, then, otherwise: Vec::new() },
        ];
        vec![Stmt::For { var: part, lo, hi, body }]
    }

    /// The largest number of entries of a row.
    fn longest(&self, to: ArrayId) -> Vec<Stmt> {
        let [lo, hi] = self.entries(&self.var.into());
        let body = vec![Stmt::Reduce(BinOp::Max, to, 0.into(), hi - lo)];
        let [from, until] = self.part.clone();
        vec![Stmt::For { var: self.var, lo: from, hi: until, body }]
    }
}

fn is_name(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let(..) | Stmt::Comment(_))
}
