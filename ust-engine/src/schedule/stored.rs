//! Loops whose parts are intervals of stored elements, so that long rows do not make some parts longer than others.
//!
//! A row and each of its entries are an item: the items of a row are its entries, and then its end. A part is an
//! interval of items. It finds its first row by a binary search. Where entries write elements of their own, that is
//! all. Where a row forms a sum, the part that has the end of the row stores it; the other parts of the row leave
//! theirs, which are added afterwards (`left.rs`), grouped by the numbers of parts alone, so that the result has the
//! same bits on every run. (Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016.)

use std::collections::{HashMap, HashSet};

use ust_level_api::Interval;
use ust_level_api::ir::schedule::LaneSum;
use ust_level_api::ir::{ArrayDecl, ArrayId, BinOp, Expr, Function, Stmt, Ty, UnOp, Var};

use super::fresh;
use super::left::{Adding, Carries, Left, NONE, combines, indices};
use crate::provider::plan::{Array, Facts, Loop, Over, Parameter};

/// Loops by stored elements.
pub(super) struct Stored {
    pub(super) function: Function,
    pub(super) range: Interval,
    pub(super) carries: Option<Carries>,
    /// See [`Schedule::longest`](super::Schedule::longest).
    pub(super) longest: Function,
    /// A loop whose iterations lanes may share, and the sum that it forms, beside those that the facts tell.
    pub(super) shared: Option<(Var, LaneSum)>,
}

/// A sum in a variable, and how sums are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summed {
    pub(super) var: Var,
    pub(super) op: BinOp,
}

/// A function of the arrays of operands, and one more, whose only element becomes the maximum that `body` finds.
pub(super) fn longest(function: &Function, body: impl FnOnce(&mut Function, ArrayId)) -> Function {
    let operands = function.arrays.iter().take_while(|array| !array.written);
    let mut arrays: Vec<ArrayDecl> = operands.cloned().collect();
    let to = ArrayId(arrays.len() as u32);
    arrays.push(indices("longest"));
    let mut made = Function { arrays, idioms: Vec::new(), body: Vec::new(), ..function.clone() };
    body(&mut made, to);
    made
}

/// The parameters that bound a part.
pub(super) fn part(facts: &Facts) -> Option<[Expr; 2]> {
    let parameter = |wanted: Parameter| {
        let at = facts.parameters.iter().position(|one| *one == wanted)?;
        Some(Expr::from(Var(at as u32)))
    };
    Some([parameter(Parameter::PartLo)?, parameter(Parameter::PartHi)?])
}

/// The names that a function gives before its first loop, and that `body` uses. `None` if one depends on the part.
pub(super) fn names(function: &Function, body: &[Stmt], part: &[Expr; 2]) -> Option<Vec<Stmt>> {
    let mut used = HashSet::new();
    let mut note = |expr: &Expr| {
        expr.visit(&mut |part| {
            if let Expr::Var(var) = part {
                used.insert(*var);
            }
        });
    };
    Stmt::visit_all(body, &mut |stmt| stmt.exprs().into_iter().for_each(&mut note));
    let known = function.first_names();
    let given = function.body.iter().map_while(|stmt| match stmt {
        Stmt::Let(var, _) => Some(Some(*var)),
        Stmt::Comment(_) => Some(None),
        _ => None,
    });
    let wanted = given.flatten().filter(|var| used.contains(var));
    wanted
        .map(|var| {
            let value = known.get(&var)?;
            let mut depends = false;
            value.visit(&mut |expr| depends |= part.contains(expr));
            (!depends).then(|| Stmt::Let(var, value.clone()))
        })
        .collect()
}

/// Whether an expression has no variables but parameters and these. `reads`: whether it may read operands.
pub(super) fn has_only(function: &Function, expr: &Expr, vars: &[Var], reads: bool) -> bool {
    let mut fine = true;
    expr.visit(&mut |part| match part {
        Expr::Var(var) => fine &= (var.0 as usize) < function.params || vars.contains(var),
        Expr::Load(array, _) | Expr::Len(array) => {
            fine &= reads && !function.arrays[array.0 as usize].written;
        }
        _ => {}
    });
    fine
}

/// Code that runs if a condition does not hold.
pub(super) fn unless(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If { cond: Expr::Unary(UnOp::Not, Box::new(cond)), then, otherwise: Vec::new() }
}

/// A copy of loops whose parts are intervals of stored elements. `None` if they are no loops over rows that are stored
/// side by side, each of which forms a sum, or whose entries write elements of their own. `moved`: the sum, if loops
/// that sum were moved into loops over elements.
pub(super) fn stored(
    plan: &Function,
    facts: &Facts,
    strict: bool,
    moved: Option<Summed>,
) -> Option<Stored> {
    let rows = Rows::of(plan, facts, moved)?;
    let mut function = plan.clone();
    function.idioms.clear();
    let longest = longest(plan, |function, to| function.body = rows.longest(to));
    let range = rows.items();
    let Some(sum) = &rows.sum else {
        function.body = rows.parts(&mut function, None);
        return Some(Stored { function, range, carries: None, longest, shared: None });
    };
    if strict {
        return None;
    }
    let left = Left::declare(&mut function, rows.result);
    let carries = rows.carries(sum, &function, left);
    function.body = rows.parts(&mut function, Some(left));
    Some(Stored { function, range, carries: Some(carries), longest, shared: None })
}

/// A loop over rows.
struct Rows<'a> {
    /// The range of the outermost loop.
    range: Interval,
    var: Var,
    /// The names that are given before the loop and used in it.
    names: Vec<Stmt>,
    body: &'a [Stmt],
    /// The loops over the entries of a row, of which one runs.
    entries: Vec<Var>,
    /// Their bounds.
    bounds: [Expr; 2],
    /// The sums of a row, if it forms some.
    sum: Option<Stores>,
    /// A loop over elements of a row, around that over entries, with its bounds.
    elements: Option<(Var, [Expr; 2])>,
    result: ArrayId,
    part: [Expr; 2],
}

/// Where a row stores its sums.
#[derive(Clone, PartialEq)]
struct Stores {
    sum: Summed,
    index: Expr,
}

/// What is found in the code of a row.
struct Found<'a> {
    plan: &'a Function,
    entries: Vec<Var>,
    moved: Option<Summed>,
    sum: Option<Summed>,
    result: ArrayId,
    assigned: Vec<bool>,
    /// The names so far, with their values.
    known: HashMap<Var, Expr>,
    bounds: Option<[Expr; 2]>,
    stores: Option<Expr>,
    elements: Option<(Var, [Expr; 2])>,
}

impl Found<'_> {
    fn expand(&self, expr: &Expr) -> Expr {
        expr.replaced(&|var| self.known.get(&var).cloned())
    }

    /// Reads the code of a row. `None` if it does anything else than to form and store sums, or to run entries.
    fn block(&mut self, block: &[Stmt]) -> Option<()> {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let(var, _) if self.sum.is_some_and(|sum| sum.var == *var) => {}
            Stmt::Let(var, value) if !self.assigned[var.0 as usize] => {
                let value = self.expand(value);
                self.known.insert(*var, value);
            }
            Stmt::If { then, otherwise, .. } => {
                self.block(then)?;
                self.block(otherwise)?;
            }
            Stmt::For { var, lo, hi, .. } if self.entries.contains(var) => {
                let bounds = [self.expand(lo), self.expand(hi)];
                if *self.bounds.get_or_insert_with(|| bounds.clone()) != bounds {
                    return None;
                }
            }
            Stmt::For { var, lo, hi, body } if self.moved.is_some() && self.elements.is_none() => {
                let bounds = [self.expand(lo), self.expand(hi)];
                if !bounds.iter().all(|bound| has_only(self.plan, bound, &[], false)) {
                    return None;
                }
                self.elements = Some((*var, bounds));
                self.block(body)?;
            }
            Stmt::Store(array, index, value) => self.stores(*array, index, value, None)?,
            Stmt::Reduce(op, array, index, value) => {
                self.stores(*array, index, value, Some(*op))?;
            }
            _ => return None,
        }
        Some(())
    }

    fn stores(
        &mut self,
        array: ArrayId,
        index: &Expr,
        value: &Expr,
        op: Option<BinOp>,
    ) -> Option<()> {
        let sum = self.sum?;
        let fits = array == self.result && *value == Expr::Var(sum.var);
        let index = self.expand(index);
        let same = *self.stores.get_or_insert_with(|| index.clone()) == index;
        (fits && same && op.is_none_or(|op| op == sum.op)).then_some(())
    }
}

impl<'a> Rows<'a> {
    fn of(plan: &'a Function, facts: &'a Facts, moved: Option<Summed>) -> Option<Self> {
        if facts.rows.is_some() || !facts.carried.is_empty() || !facts.outermost.owns {
            return None;
        }
        let mut of_rows = facts.loops.iter().filter(|one| one.depth == 0);
        let (Some(of_rows), None) = (of_rows.next(), of_rows.next()) else { return None };
        let ([row], true) = (&of_rows.vars[..], of_rows.owns) else { return None };
        if of_rows.sequential || of_rows.sum.is_some() {
            return None;
        }
        let of_entries = || facts.loops.iter().filter(|one| one.depth == 1);
        let is_fine = |one: &Loop| {
            one.contiguous
                && !one.sequential
                && one.over == Over::Cursor
                && one.vars.len() == 1
                && (one.owns || one.sum.is_some() || moved.is_some())
        };
        if !of_entries().all(is_fine) {
            return None;
        }
        let mut sums = of_entries().map(|one| match &one.sum {
            Some(sum) => {
                let op = sum.op.filter(|op| sum.hit.is_none() && combines(*op))?;
                Some(Some(Summed { var: sum.var, op }))
            }
            None => Some(moved.filter(|_| !one.owns)),
        });
        let sum = sums.next()??;
        if !sums.all(|other| other == Some(sum)) {
            return None;
        }
        let is_loop = |stmt: &&Stmt| !matches!(stmt, Stmt::Let(..) | Stmt::Comment(_));
        let mut loops = plan.body.iter().filter(is_loop);
        let (Some(Stmt::For { var, body, .. }), None) = (loops.next(), loops.next()) else {
            return None;
        };
        if var != row {
            return None;
        }
        let places = || facts.arrays.iter().position(|array| *array == Array::Result);
        let mut found = Found {
            plan,
            entries: of_entries().map(|one| one.vars[0]).collect(),
            moved,
            sum,
            // Loops without sums may write other arrays.
            result: ArrayId(match sum {
                Some(_) => places()?,
                None => places().unwrap_or(0),
            } as u32),
            assigned: plan.assigned(),
            known: plan.first_names(),
            bounds: None,
            stores: None,
            elements: None,
        };
        found.block(body)?;
        let bounds = found.bounds.take()?;
        if !bounds.iter().all(|bound| has_only(plan, bound, &[*var], true)) {
            return None;
        }
        let of_row = [Some(*var), found.elements.as_ref().map(|(var, _)| *var)];
        let of_row: Vec<Var> = of_row.into_iter().flatten().collect();
        if found.stores.as_ref().is_some_and(|index| !has_only(plan, index, &of_row, true)) {
            return None;
        }
        let Found { entries, stores, elements, result, .. } = found;
        let sum = match (sum, stores) {
            (Some(sum), Some(index)) => Some(Stores { sum, index }),
            (None, None) => None,
            _ => return None,
        };
        let range = facts.outermost.range.clone()?;
        let part = part(facts)?;
        let names = names(plan, body, &part)?;
        Some(Self { range, var: *var, names, body, entries, bounds, sum, elements, result, part })
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

    /// Number of sums of a row.
    fn block(&self) -> Expr {
        match &self.elements {
            Some((_, [lo, hi])) => hi.clone() - lo.clone(),
            None => Expr::Int(1),
        }
    }

    /// The loops over a part of the items.
    fn parts(&self, function: &mut Function, left: Option<Left>) -> Vec<Stmt> {
        let mut fresh = |name: &str, ty: Ty| fresh(&mut function.vars, name, ty);
        let [lo, hi, first] =
            ["rows_lo", "rows_hi", "first_entry"].map(|name| fresh(name, Ty::Int));
        let [from, to, middle, row, begin, stop] =
            ["from", "to", "middle", "row", "begin", "stop"].map(|name| fresh(name, Ty::Int));
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
        let [row_begin, row_end] = self.entries(&row.into());
        let more = item(row, row_begin.clone()).lt(part_hi.clone());
        let mut of_row = vec![Stmt::Let(self.var, row.into())];
        if left.is_some() {
            of_row.push(Stmt::Let(ends, item(row, row_end.clone()).lt(part_hi.clone())));
        }
        let cutting = Cutting { rows: self, begin, stop, ends, row, left };
        of_row.extend([
            Stmt::Let(begin, row_begin.max(entry(&part_lo))),
            Stmt::Let(stop, row_end.min(entry(&part_hi))),
        ]);
        of_row.extend(cutting.block(self.body));
        of_row.push(Stmt::Assign(row, Expr::from(row) + 1));
        let some = Expr::from(lo).lt(hi);
        let [first_of_all, _] = self.entries(&lo.into());
        let none = left.map(|left| Stmt::Store(left.rows, 0.into(), Expr::Int(NONE)));
        let mut all: Vec<Stmt> = none.into_iter().chain(self.names.iter().cloned()).collect();
        all.extend([
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
        ]);
        all
    }

    /// How what parts left is added.
    fn carries(&self, stores: &Stores, function: &Function, left: Left) -> Carries {
        let adding = Adding {
            op: stores.sum.op,
            result: self.result,
            left,
            part: self.part.clone(),
            elements: self.elements.clone(),
            block: self.block(),
        };
        adding.carries(function, &|row| {
            stores.index.replaced(&|var| (var == self.var).then(|| row.into()))
        })
    }

    /// The largest number of entries of a row.
    fn longest(&self, to: ArrayId) -> Vec<Stmt> {
        let [lo, hi] = self.entries(&self.var.into());
        let body = vec![Stmt::Reduce(BinOp::Max, to, 0.into(), hi - lo)];
        let [from, until] = self.part.clone();
        vec![Stmt::For { var: self.var, lo: from, hi: until, body }]
    }
}

/// The code of a row, for some of its entries.
struct Cutting<'a> {
    rows: &'a Rows<'a>,
    /// The first entry of a row that the part has, and the end of its entries.
    begin: Var,
    stop: Var,
    /// Whether the part has the end of the row.
    ends: Var,
    row: Var,
    left: Option<Left>,
}

impl Cutting<'_> {
    fn block(&self, block: &[Stmt]) -> Vec<Stmt> {
        block.iter().flat_map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&self, stmt: &Stmt) -> Vec<Stmt> {
        let elements = self.rows.elements.as_ref();
        vec![match (stmt, self.left) {
            (Stmt::For { var, body, .. }, _) if self.rows.entries.contains(var) => {
                let (lo, hi) = (self.begin.into(), self.stop.into());
                Stmt::For { var: *var, lo, hi, body: body.clone() }
            }
            (Stmt::For { var, lo, hi, body }, Some(left)) => {
                let (lo, hi) = (lo.clone(), hi.clone());
                let of_all = Stmt::For { var: *var, lo, hi, body: self.block(body) };
                return vec![of_all, unless(self.ends.into(), vec![self.leaves(left)])];
            }
            (Stmt::If { cond, then, otherwise }, _) => Stmt::If {
                cond: cond.clone(),
                then: self.block(then),
                otherwise: self.block(otherwise),
            },
            (Stmt::Store(.., value) | Stmt::Reduce(.., value), Some(left)) => {
                let place = match elements {
                    Some((var, [lo, _])) => Expr::from(*var) - lo.clone(),
                    None => Expr::Int(0),
                };
                let mut otherwise = vec![Stmt::Store(left.sums, place, value.clone())];
                if elements.is_none() {
                    otherwise.insert(0, self.leaves(left));
                }
                Stmt::If { cond: self.ends.into(), then: vec![stmt.clone()], otherwise }
            }
            (stmt, _) => stmt.clone(),
        }]
    }

    fn leaves(&self, left: Left) -> Stmt {
        Stmt::Store(left.rows, 0.into(), self.row.into())
    }
}
