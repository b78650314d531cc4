//! The code of an iteration of a loop, made into code of several iterations, statement by statement.
//!
//! Iterations that do not depend on each other may run their statements in any order. What is the same for all
//! iterations is done once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ust_level_api::IndexKind;
use ust_level_api::ir::schedule::{LaneSum, Sharing};
use ust_level_api::ir::{ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, Var, VarDecl};

use super::fresh;

/// Which iterations are made one.
pub(super) enum Layout {
    /// Neighbours. Their loop runs from 0 up to this parameter, a multiple of their number.
    SideBySide(Var),
    /// As far from one another as this variable says, up to an end. What is behind the end reads what the last
    /// iteration reads, and writes nothing.
    Apart { step: Var, end: Expr },
}

/// Code of one iteration, as it is made into code of several.
pub(super) struct Several<'a> {
    pub(super) function: &'a Function,
    /// The values of names that do not change.
    pub(super) names: &'a HashMap<Var, Expr>,
    pub(super) vars: &'a mut Vec<VarDecl>,
    pub(super) count: u32,
    /// The loop's variable.
    pub(super) var: Var,
    pub(super) layout: Layout,
    /// The variables to which lanes add.
    pub(super) sums: &'a [LaneSum],
    /// How parts share arrays.
    pub(super) sharing: &'a BTreeMap<ArrayId, Sharing>,
    /// The variables that differ between iterations, with that of each.
    pub(super) copies: HashMap<Var, Vec<Var>>,
    /// Of iterations apart, for each but the first: whether there is one.
    pub(super) exist: Vec<Var>,
    /// The arrays of which iterations access elements of their own.
    pub(super) arrays: BTreeSet<ArrayId>,
    /// The arrays of which they access the same elements.
    pub(super) others: HashSet<ArrayId>,
}

impl Several<'_> {
    /// The code of an iteration with this body. `None` if iterations cannot be made one.
    pub(super) fn iteration(&mut self, body: &[Stmt]) -> Option<Vec<Stmt>> {
        let mut made = Vec::new();
        if let Layout::Apart { step, end } = &self.layout {
            let (step, end, var) = (*step, end.clone(), self.var);
            let name = self.vars[var.0 as usize].name.clone();
            let mut places = vec![var];
            for at in 1..self.count {
                let place = fresh(self.vars, &format!("{name}_{at}"), Ty::Int);
                let exists = fresh(self.vars, &format!("has_{name}_{at}"), Ty::Bool);
                let own = Self::apart(var, step, at);
                made.push(Stmt::Let(exists, own.clone().lt(end.clone())));
                made.push(Stmt::Let(place, own.min(end.clone() - 1)));
                places.push(place);
                self.exist.push(exists);
            }
            self.copies.insert(var, places);
        }
        self.copy_vars(body);
        made.extend(self.block(body)?);
        let is_side_by_side = matches!(self.layout, Layout::SideBySide(_));
        let is_mixed =
            is_side_by_side && self.arrays.iter().any(|array| self.others.contains(array));
        (!self.arrays.is_empty() && !is_mixed).then_some(made)
    }

    fn apart(var: Var, step: Var, at: u32) -> Expr {
        match at {
            0 => var.into(),
            1 => Expr::from(var) + Expr::from(step),
            at => Expr::from(var) + Expr::from(step) * i64::from(at),
        }
    }

    fn is_sum(&self, var: Var) -> bool {
        self.sums.iter().any(|sum| sum.var == var)
    }

    /// Whether an expression differs between iterations.
    fn differs(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.visit(&mut |part| {
            found |=
                matches!(part, Expr::Var(var) if *var == self.var || self.copies.contains_key(var));
        });
        found
    }

    /// Declares variables for those that differ between iterations.
    fn copy_vars(&mut self, body: &[Stmt]) {
        loop {
            let mut more = Vec::new();
            Stmt::visit_all(body, &mut |stmt| {
                if let Stmt::Let(var, value) | Stmt::Assign(var, value) = stmt
                    && !self.is_sum(*var)
                    && !self.copies.contains_key(var)
                    && !more.contains(var)
                    && self.differs(value)
                {
                    more.push(*var);
                }
            });
            if more.is_empty() {
                return;
            }
            for var in more {
                let VarDecl { name, ty } = self.vars[var.0 as usize].clone();
                let rest = 1..self.count;
                let rest = rest.map(|at| fresh(self.vars, &format!("{name}_{at}"), ty));
                let all = std::iter::once(var).chain(rest).collect();
                self.copies.insert(var, all);
            }
        }
    }

    /// An expression, of iteration number `at`.
    fn of(&self, at: u32, expr: &Expr) -> Expr {
        expr.replaced(&|var| match self.copies.get(&var) {
            Some(copies) => Some(copies[at as usize].into()),
            None if var == self.var => {
                Some(Expr::from(var) * i64::from(self.count) + i64::from(at))
            }
            None => None,
        })
    }

    /// The index of an element that iteration number `at` reads.
    fn read(&self, at: u32, index: &Expr) -> Expr {
        match &self.layout {
            Layout::SideBySide(_) => self.of(0, index) + i64::from(at),
            Layout::Apart { .. } => self.of(at, index),
        }
    }

    /// The index of an element that iteration number `at` writes, if there is such an iteration.
    fn written(&self, at: u32, index: &Expr) -> Expr {
        match &self.layout {
            Layout::SideBySide(_) => self.read(at, index),
            Layout::Apart { step, .. } => {
                let own = index
                    .replaced(&|var| (var == self.var).then(|| Self::apart(self.var, *step, at)));
                own.replaced(&|var| match self.copies.get(&var) {
                    Some(copies) if var != self.var => Some(copies[at as usize].into()),
                    _ => None,
                })
            }
        }
    }

    /// A statement that is run only if there is an iteration number `at`.
    fn guarded(&self, at: u32, stmt: Stmt) -> Stmt {
        match at.checked_sub(1).and_then(|at| self.exist.get(at as usize)) {
            Some(exists) => {
                Stmt::If { cond: (*exists).into(), then: vec![stmt], otherwise: Vec::new() }
            }
            None => stmt,
        }
    }

    /// Notes what an expression reads. `None` if iterations cannot read that as one.
    fn reads_same(&mut self, expr: &Expr) -> Option<()> {
        let mut fine = true;
        let is_apart = matches!(self.layout, Layout::Apart { .. });
        expr.visit(&mut |part| {
            if let Expr::Load(array, index) = part {
                let differs = self.differs(index);
                fine &= is_apart || !differs;
                match differs {
                    true => self.arrays.insert(*array),
                    false => self.others.insert(*array),
                };
            }
        });
        fine.then_some(())
    }

    /// Notes an access to an element of each iteration. `None` if the elements are to be side by side and are not, or
    /// begin anywhere.
    fn accesses(&mut self, array: ArrayId, index: &Expr) -> Option<()> {
        self.reads_same(index)?;
        self.arrays.insert(array);
        let Layout::SideBySide(extent) = self.layout else { return Some(()) };
        let elem = self.function.arrays[array.0 as usize].elem;
        let whole = index.replaced(&|var| self.names.get(&var).cloned());
        let mut terms = Vec::new();
        summands(&whole, &mut terms);
        let (own, rest): (Vec<_>, Vec<_>) =
            terms.into_iter().partition(|term| **term == Expr::Var(self.var));
        // Memory of each part may begin anywhere.
        let is_shared =
            !matches!(self.sharing.get(&array), Some(Sharing::Scratch | Sharing::Workspace));
        let fine = own.len() == 1
            && is_shared
            && elem != Elem::Index(IndexKind::U2)
            && rest.into_iter().all(|term| !self.depends(term) && self.is_multiple(term, extent));
        fine.then_some(())
    }

    fn depends(&self, expr: &Expr) -> bool {
        mentions(expr, self.var) || self.differs(expr)
    }

    /// Whether an expression is a multiple of the number of elements, if the extent is.
    fn is_multiple(&self, expr: &Expr, extent: Var) -> bool {
        match expr {
            Expr::Int(value) => value % i64::from(self.count) == 0,
            Expr::Var(var) => *var == extent,
            Expr::Binary(BinOp::Mul, a, b) => {
                self.is_multiple(a, extent) || self.is_multiple(b, extent)
            }
            Expr::Binary(BinOp::Add | BinOp::Sub, a, b) => {
                self.is_multiple(a, extent) && self.is_multiple(b, extent)
            }
            _ => false,
        }
    }

    fn block(&mut self, body: &[Stmt]) -> Option<Vec<Stmt>> {
        let mut made = Vec::new();
        for stmt in body {
            made.extend(self.stmt(stmt)?);
        }
        Some(made)
    }

    /// A statement that is made once for each iteration.
    fn each(&self, make: impl Fn(u32) -> Stmt) -> Vec<Stmt> {
        (0..self.count).map(make).collect()
    }

    /// The statements for several iterations. `None` if there are none.
    fn stmt(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        Some(match stmt {
            Stmt::Comment(_) => vec![stmt.clone()],
            Stmt::Let(var, Expr::Load(array, index)) if self.differs(index) => {
                self.accesses(*array, index)?;
                let copies = &self.copies[var];
                self.each(|at| {
                    let index = self.read(at, index);
                    Stmt::Let(copies[at as usize], Expr::Load(*array, Box::new(index)))
                })
            }
            Stmt::Store(array, index, value) if self.differs(index) => {
                // What combines is better written one element beside another, by lanes.
                if value.loads(*array) {
                    return None;
                }
                self.reads_same(value)?;
                self.accesses(*array, index)?;
                self.each(|at| {
                    let value = self.of(at, value);
                    self.guarded(at, Stmt::Store(*array, self.written(at, index), value))
                })
            }
            Stmt::Let(var, value) | Stmt::Assign(var, value) => {
                self.reads_same(value)?;
                let is_let = matches!(stmt, Stmt::Let(..));
                let make = |var, value| {
                    if is_let { Stmt::Let(var, value) } else { Stmt::Assign(var, value) }
                };
                match self.copies.get(var) {
                    Some(copies) => self.each(|at| make(copies[at as usize], self.of(at, value))),
                    // All set it to the same.
                    None if !self.differs(value) && !mentions(value, *var) => vec![stmt.clone()],
                    None if self.is_sum(*var) => {
                        self.each(|at| self.guarded(at, make(*var, self.of(at, value))))
                    }
                    None => vec![stmt.clone()],
                }
            }
            Stmt::For { var, lo, hi, body } => {
                self.same(&[lo, hi])?;
                let (lo, hi) = (lo.clone(), hi.clone());
                vec![Stmt::For { var: *var, lo, hi, body: self.block(body)? }]
            }
            Stmt::While { cond, body } => {
                self.same(&[cond])?;
                vec![Stmt::While { cond: cond.clone(), body: self.block(body)? }]
            }
            Stmt::If { cond, then, otherwise } => {
                self.same(&[cond])?;
                let (then, otherwise) = (self.block(then)?, self.block(otherwise)?);
                vec![Stmt::If { cond: cond.clone(), then, otherwise }]
            }
            Stmt::Store(..) | Stmt::Reduce(..) | Stmt::Sort(..) | Stmt::Reserve(..) => return None,
        })
    }

    /// Notes what expressions read that are the same for all iterations. `None` if one is not.
    fn same(&mut self, exprs: &[&Expr]) -> Option<()> {
        exprs.iter().try_for_each(|expr| {
            self.reads_same(expr)?;
            (!self.differs(expr)).then_some(())
        })
    }
}

fn mentions(expr: &Expr, var: Var) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= *part == Expr::Var(var));
    found
}

/// The terms of a sum.
fn summands<'a>(expr: &'a Expr, to: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Binary(BinOp::Add, a, b) => {
            summands(a, to);
            summands(b, to);
        }
        term => to.push(term),
    }
}
