//! Workspaces that may be kept as hash tables: lanes share the loops that add to a row.
//!
//! ```text
//!                                       for k { mark[k] = 0; value[k] = start }    in lanes
//! for p {                               for p {                                    in lanes
//!     if mark[k] != stamp {                 mark[k] = 1
//!         mark[k] = stamp                   value[k] += ..
//!         list[touched] = k   becomes   }
//!         touched += 1                  for k {
//!     }                                     if mark[k] != 0 { list[touched] = k; touched += 1 }
//!     value[k] += ..                    }
//! }                                     sort list
//! sort list                             for t in 0..touched { .. }                 in lanes
//! for t in 0..touched { .. }
//! ```
//!
//! The products of a coordinate are added in any order.

use ust_level_api::ir::schedule::{
    LaneSum, LoopMarks, Marks, Scheduled, Sharing, Table, counting, filling,
};
use ust_level_api::ir::{ArrayId, BinOp, Expr, Function, Stmt, Ty, Var};

use super::fresh;
use crate::provider::Plan;
use crate::provider::plan::{Array, Facts};

/// The loops of a plan with a workspace that may be kept as a table.
pub(super) struct Tabled {
    pub(super) scheduled: Scheduled,
    pub(super) counting: Function,
    pub(super) bounding: Scheduled,
}

/// The loops of a plan with its workspace as a table. `None` if the plan has no workspace of single values for each
/// row, or if lanes cannot share what adds to it.
pub(super) fn tabled(plan: &Plan<'_>, facts: &Facts) -> Option<Tabled> {
    let mut function = filling(plan.function);
    function.idioms.clear();
    let workspace = Workspace::of(plan, facts, &mut function)?;
    function.body = workspace.block(&function.body);
    let mut scheduled = Scheduled { function, marks: workspace.marks(facts) };
    let body = scheduled.function.body.clone();
    workspace.share(&body, false, &mut scheduled);
    let shared = |var: &Var| scheduled.marks.loops.contains_key(var);
    if !workspace.notes_in(&body, &shared) {
        return None;
    }
    let is_row = |id: ArrayId| {
        let Table { values, list, .. } = workspace.table;
        id == values || id == list || plan.function.arrays[id.0 as usize].grows
    };
    let counting = without(&scheduled.function, &is_row);
    let is_start = |id: ArrayId| facts.arrays[id.0 as usize] == Array::RowStarts;
    let added = Function { body: workspace.added(&body), ..scheduled.function.clone() };
    let mut function = without(&added, &|id| is_row(id) || is_start(id));
    function.body = workspace.closed(&function.body);
    let mut bounding = Scheduled { function, marks: Marks::default() };
    let sum = LaneSum { var: workspace.row, op: BinOp::Add, start: Expr::Int(0) };
    for var in scheduled.marks.loops.keys() {
        // Of loops inside one another, one has lanes; some are gone.
        try_lanes(&mut bounding, &[*var], std::slice::from_ref(&sum));
    }
    Some(Tabled { scheduled, counting, bounding })
}

/// The function without stores to some arrays.
fn without(function: &Function, dropped: &dyn Fn(ArrayId) -> bool) -> Function {
    let mut function = function.clone();
    for (at, array) in function.arrays.iter_mut().enumerate() {
        // Those to arrays that grow are left out.
        array.grows = dropped(ArrayId(at as u32));
    }
    counting(&function)
}

/// A workspace of a value for each coordinate of a row.
struct Workspace {
    table: Table,
    /// The number of times that it was opened.
    opened: Var,
    /// The number of rows.
    row: Var,
    /// The value of an empty sum.
    start: Expr,
}

impl Workspace {
    fn of(plan: &Plan<'_>, facts: &Facts, function: &mut Function) -> Option<Self> {
        let rows = facts.rows.as_ref()?;
        let array = |wanted: Array| {
            let at = facts.arrays.iter().position(|array| *array == wanted)?;
            Some(ArrayId(at as u32))
        };
        let has_tables = facts.arrays.iter().any(|array| matches!(array, Array::Table { .. }));
        let fine = rows.block == Expr::Int(1) && rows.sorted && !rows.around_all && !has_tables;
        if !fine || plan.strict {
            return None;
        }
        let table = Table {
            marks: array(Array::WorkMarks)?,
            values: array(Array::WorkValues)?,
            list: array(Array::WorkList)?,
            listed: rows.listed?,
            clearing: fresh(&mut function.vars, "cleared", Ty::Int),
            listing: fresh(&mut function.vars, "found", Ty::Int),
        };
        let start = Expr::Const(plan.result.fill);
        Some(Self { table, opened: rows.opened?, row: rows.row, start })
    }

    fn marks(&self, facts: &Facts) -> Marks {
        let mut marks = Marks { table: Some(self.table), ..Marks::default() };
        for (at, array) in facts.arrays.iter().enumerate() {
            let sharing = match array {
                array if array.is_work() => Sharing::Workspace,
                Array::RowCounts | Array::RowStarts => Sharing::Scratch,
                _ => continue,
            };
            marks.arrays.insert(ArrayId(at as u32), sharing);
        }
        marks
    }

    fn block(&self, body: &[Stmt]) -> Vec<Stmt> {
        body.iter().flat_map(|stmt| self.stmt(stmt)).collect()
    }

    /// What stands in the place of a statement of the plan.
    fn stmt(&self, stmt: &Stmt) -> Vec<Stmt> {
        match stmt {
            Stmt::Let(var, _) | Stmt::Assign(var, _) if *var == self.opened => Vec::new(),
            Stmt::Store(_, _, value) if *value == Expr::Var(self.opened) => Vec::new(),
            Stmt::Assign(var, _) if *var == self.table.listed => {
                vec![stmt.clone(), self.clearing()]
            }
            Stmt::Sort(..) => vec![self.listing(), stmt.clone()],
            Stmt::If { then, .. } if self.noted(then).is_some() => {
                self.noted(then).into_iter().map(|at| self.note(at)).collect()
            }
            Stmt::For { var, lo, hi, body } => {
                let mut body = self.block(body);
                if *hi == Expr::Var(self.table.listed) {
                    // Values are cleared at the beginning of a row.
                    body.retain(
                        |stmt| !matches!(stmt, Stmt::Store(to, ..) if *to == self.table.values),
                    );
                }
                vec![Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body }]
            }
            Stmt::While { cond, body } => {
                vec![Stmt::While { cond: cond.clone(), body: self.block(body) }]
            }
            Stmt::If { cond, then, otherwise } => {
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                vec![Stmt::If { cond: cond.clone(), then, otherwise }]
            }
            other => vec![other.clone()],
        }
    }

    /// The coordinate that code notes, if it sets a mark.
    fn noted(&self, body: &[Stmt]) -> Option<Expr> {
        body.iter().find_map(|stmt| match stmt {
            Stmt::Store(array, at, _) if *array == self.table.marks => Some(at.clone()),
            _ => None,
        })
    }

    fn note(&self, at: Expr) -> Stmt {
        Stmt::Store(self.table.marks, at, 1.into())
    }

    fn over_all(&self, var: Var, body: Vec<Stmt>) -> Stmt {
        Stmt::For { var, lo: Expr::Int(0), hi: Expr::Len(self.table.marks), body }
    }

    fn clearing(&self) -> Stmt {
        let Table { marks, values, clearing, .. } = self.table;
        let body = vec![
            Stmt::Store(marks, clearing.into(), 0.into()),
            Stmt::Store(values, clearing.into(), self.start.clone()),
        ];
        self.over_all(clearing, body)
    }

    fn listing(&self) -> Stmt {
        let Table { marks, list, listed, listing, .. } = self.table;
        let mark = Expr::Load(marks, Box::new(listing.into()));
        let then = vec![
            Stmt::Store(list, listed.into(), listing.into()),
            Stmt::Assign(listed, Expr::from(listed) + 1),
        ];
        let cond = Expr::binary(BinOp::Ne, mark, 0.into());
        self.over_all(listing, vec![Stmt::If { cond, then, otherwise: Vec::new() }])
    }

    /// Whether a statement is a loop over all coordinates, or over those that are listed.
    fn is_own(&self, stmt: &Stmt) -> bool {
        let Stmt::For { var, hi, .. } = stmt else { return false };
        *var == self.table.clearing || *var == self.table.listing || self.is_listed(hi)
    }

    fn is_listed(&self, end: &Expr) -> bool {
        *end == Expr::Var(self.table.listed)
    }

    /// Marks loops whose iterations lanes can share. `open` says whether the code adds to a row.
    fn share(&self, body: &[Stmt], mut open: bool, to: &mut Scheduled) {
        for stmt in body {
            match stmt {
                Stmt::For { var, hi, .. } if self.is_own(stmt) => {
                    open |= *var == self.table.clearing;
                    if *var == self.table.clearing || self.is_listed(hi) {
                        try_lanes(to, &[*var], &[]);
                    }
                }
                Stmt::For { var, body, .. } if open && self.share_both(*var, body, to) => {}
                Stmt::For { body, .. } => self.share(body, open, to),
                Stmt::While { body, .. } => self.share(body, open, to),
                Stmt::If { then, otherwise, .. } => {
                    self.share(then, open, to);
                    self.share(otherwise, open, to);
                }
                _ => {}
            }
        }
    }

    /// Marks a loop that adds to a row, and those inside that note coordinates. Returns whether lanes can share it.
    fn share_both(&self, var: Var, body: &[Stmt], to: &mut Scheduled) -> bool {
        let mut inside = Vec::new();
        let notes = self.noting(var, body, &mut inside);
        let both = [&inside[..], &[var]].concat();
        notes && (try_lanes(to, &both, &[]) || try_lanes(to, &[var], &[]))
    }

    /// The innermost loops that note coordinates, in the body of a loop. Returns whether there is one, the loop itself
    /// included.
    fn noting(&self, of: Var, body: &[Stmt], found: &mut Vec<Var>) -> bool {
        let mut some = self.noted(body).is_some();
        if some && !found.contains(&of) {
            found.push(of);
        }
        for stmt in body {
            some |= match stmt {
                Stmt::For { var, body, .. } => self.noting(*var, body, found),
                Stmt::While { body, .. } => self.noting(of, body, found),
                Stmt::If { then, otherwise, .. } => {
                    let then = self.noting(of, then, found);
                    self.noting(of, otherwise, found) || then
                }
                _ => false,
            };
        }
        some
    }

    /// Whether all code that notes coordinates is in loops that are `shared`.
    fn notes_in(&self, body: &[Stmt], shared: &dyn Fn(&Var) -> bool) -> bool {
        body.iter().all(|stmt| match stmt {
            Stmt::Store(array, ..) => *array != self.table.marks,
            Stmt::For { var, body, .. } => shared(var) || self.notes_in(body, shared),
            Stmt::While { body, .. } => self.notes_in(body, shared),
            Stmt::If { then, otherwise, .. } => {
                self.notes_in(then, shared) && self.notes_in(otherwise, shared)
            }
            _ => true,
        })
    }

    /// The code with the number of additions in the place of the number of rows.
    fn added(&self, body: &[Stmt]) -> Vec<Stmt> {
        let keep = |stmt: &&Stmt| match stmt {
            Stmt::Assign(var, _) => *var != self.row,
            Stmt::Sort(..) => false,
            stmt => !self.is_own(stmt),
        };
        let of = |stmt: &Stmt| match stmt.clone() {
            Stmt::Store(array, ..) if array == self.table.marks => self.more(1.into()),
            Stmt::For { var, lo, hi, body } => Stmt::For { var, lo, hi, body: self.added(&body) },
            Stmt::While { cond, body } => Stmt::While { cond, body: self.added(&body) },
            Stmt::If { cond, then, otherwise } => {
                Stmt::If { cond, then: self.added(&then), otherwise: self.added(&otherwise) }
            }
            other => other,
        };
        body.iter().filter(keep).map(of).collect()
    }

    /// `more` rows.
    fn more(&self, more: Expr) -> Stmt {
        Stmt::Assign(self.row, Expr::from(self.row) + more)
    }

    /// The code without loops that count their iterations.
    fn closed(&self, body: &[Stmt]) -> Vec<Stmt> {
        let of = |stmt: &Stmt| match stmt.clone() {
            Stmt::For { var, lo, hi, body } => {
                let body = self.closed(&body);
                match body[..] == [self.more(1.into())] {
                    true => self.more((hi - lo).max(0)),
                    false => Stmt::For { var, lo, hi, body },
                }
            }
            Stmt::While { cond, body } => Stmt::While { cond, body: self.closed(&body) },
            Stmt::If { cond, then, otherwise } => {
                Stmt::If { cond, then: self.closed(&then), otherwise: self.closed(&otherwise) }
            }
            other => other,
        };
        body.iter().map(of).collect()
    }
}

/// Lets lanes share loops, if they can, and form these sums.
fn try_lanes(to: &mut Scheduled, vars: &[Var], sums: &[LaneSum]) -> bool {
    let before = to.marks.loops.clone();
    let lanes = LoopMarks { lanes: Some(sums.to_vec()), ..LoopMarks::default() };
    to.marks.loops.extend(vars.iter().map(|var| (*var, lanes.clone())));
    let fine = to.check().is_ok();
    if !fine {
        to.marks.loops = before;
    }
    fine
}
