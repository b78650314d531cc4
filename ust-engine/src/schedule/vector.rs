//! Loops in lanes whose iterations work on several elements side by side, so that a machine may access these at once.
//!
//! ```text
//! for k in 0..n {                              for k in 0..n / 2 {
//!     sum = start                                  sum = start; sum_1 = start
//!     for p {                                      for p {
//!         b = B[j * n + k]             becomes         b = B[j * n + k * 2]; b_1 = B[j * n + k * 2 + 1]
//!         sum += a[p] * b                              sum += a[p] * b; sum_1 += a[p] * b_1
//!     }                                            }
//!     out[i * n + k] = sum                         out[i * n + k * 2] = sum; out[i * n + k * 2 + 1] = sum_1
//! }                                            }
//! ```
//!
//! What does not depend on `k` is done once for all. Iterations of a loop in lanes do not depend on each other, so that
//! their statements may run in any order. The loops are right if `n` is a multiple of the number of elements.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ust_level_api::IndexKind;
use ust_level_api::ir::schedule::{LaneSum, Marks, Sharing, Vector};
use ust_level_api::ir::{ArrayId, BinOp, Elem, Expr, Function, Stmt, Var, VarDecl};

use super::fresh;

/// The loops with so many elements for each iteration of loops in lanes, where elements are side by side. `None` if
/// there are no such loops.
pub(super) fn in_vectors(
    function: &Function,
    marks: &Marks,
    count: u32,
) -> Option<(Function, Marks)> {
    let mut made = Making {
        function,
        names: names(function),
        count,
        vars: function.vars.clone(),
        marks: marks.clone(),
    };
    let body = made.block(&function.body);
    let Making { vars, marks, .. } = made;
    let found = marks.loops.values().any(|marks| marks.vector.is_some());
    let function = Function { body, vars, idioms: Vec::new(), ..function.clone() };
    found.then_some((function, marks))
}

/// The values of names that do not change.
fn names(function: &Function) -> HashMap<Var, Expr> {
    let assigned = function.assigned();
    let mut names: HashMap<Var, Expr> = HashMap::new();
    Stmt::visit_all(&function.body, &mut |stmt| {
        if let Stmt::Let(var, value) = stmt
            && !assigned[var.0 as usize]
        {
            let value = value.replaced(&|var| names.get(&var).cloned());
            names.insert(*var, value);
        }
    });
    names
}

struct Making<'a> {
    function: &'a Function,
    names: HashMap<Var, Expr>,
    count: u32,
    vars: Vec<VarDecl>,
    marks: Marks,
}

impl Making<'_> {
    fn block(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        body.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::For { var, lo, hi, body } => {
                let made = self.in_vectors(*var, lo, hi, body);
                made.unwrap_or_else(|| {
                    let body = self.block(body);
                    Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body }
                })
            }
            Stmt::While { cond, body } => {
                Stmt::While { cond: cond.clone(), body: self.block(body) }
            }
            Stmt::If { cond, then, otherwise } => {
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                Stmt::If { cond: cond.clone(), then, otherwise }
            }
            other => other.clone(),
        }
    }

    /// A loop with several elements for each iteration.
    fn in_vectors(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) -> Option<Stmt> {
        let sums = self.marks.loops.get(&var)?.lanes.clone()?;
        let (Expr::Int(0), Expr::Var(extent)) = (lo, hi) else { return None };
        if extent.0 as usize >= self.function.params {
            return None;
        }
        let vars = self.vars.len();
        let mut side = SideBySide {
            function: self.function,
            names: &self.names,
            vars: &mut self.vars,
            count: self.count,
            var,
            extent: *extent,
            copies: HashMap::new(),
            sums: &sums,
            sharing: &self.marks.arrays,
            arrays: BTreeSet::new(),
            others: HashSet::new(),
        };
        side.copy_vars(body);
        let made = side.block(body);
        let SideBySide { arrays, others, .. } = side;
        let is_mixed = arrays.iter().any(|array| others.contains(array));
        let Some(body) = made.filter(|_| !arrays.is_empty() && !is_mixed) else {
            self.vars.truncate(vars);
            return None;
        };
        let arrays = arrays.into_iter().collect();
        let vector = Some(Vector { count: self.count, arrays, extent: *extent });
        self.marks.loops.entry(var).or_default().vector = vector;
        let hi = hi.clone().floor_div(i64::from(self.count));
        Some(Stmt::For { var, lo: lo.clone(), hi, body })
    }
}

/// Code for one element, as it is made into code for several elements.
struct SideBySide<'a> {
    function: &'a Function,
    names: &'a HashMap<Var, Expr>,
    vars: &'a mut Vec<VarDecl>,
    count: u32,
    /// The loop's variable.
    var: Var,
    /// The parameter up to which it runs.
    extent: Var,
    /// The variables that differ between elements, with that of each element.
    copies: HashMap<Var, Vec<Var>>,
    sums: &'a [LaneSum],
    /// How parts share arrays.
    sharing: &'a BTreeMap<ArrayId, Sharing>,
    /// The arrays that have elements side by side.
    arrays: BTreeSet<ArrayId>,
    /// The arrays of which elements are accessed that are the same for all.
    others: HashSet<ArrayId>,
}

impl SideBySide<'_> {
    fn is_sum(&self, var: Var) -> bool {
        self.sums.iter().any(|sum| sum.var == var)
    }

    /// Whether an expression differs between elements.
    fn differs(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.visit(&mut |part| {
            found |=
                matches!(part, Expr::Var(var) if *var == self.var || self.copies.contains_key(var));
        });
        found
    }

    /// Declares variables for those that differ between elements.
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

    /// An expression, of element number `at`.
    fn of(&self, at: u32, expr: &Expr) -> Expr {
        expr.replaced(&|var| match self.copies.get(&var) {
            Some(copies) => Some(copies[at as usize].into()),
            None if var == self.var => {
                Some(Expr::from(var) * i64::from(self.count) + i64::from(at))
            }
            None => None,
        })
    }

    /// Notes what an expression reads. `None` if that differs between elements.
    fn reads_same(&mut self, expr: &Expr) -> Option<()> {
        let mut fine = true;
        expr.visit(&mut |part| {
            if let Expr::Load(array, index) = part {
                fine &= !self.differs(index);
                self.others.insert(*array);
            }
        });
        fine.then_some(())
    }

    /// The index of the first of several elements side by side. `None` if they are not, or begin anywhere.
    fn first(&mut self, array: ArrayId, index: &Expr) -> Option<Expr> {
        let elem = self.function.arrays[array.0 as usize].elem;
        self.reads_same(index)?;
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
            && rest.into_iter().all(|term| !self.depends(term) && self.is_multiple(term));
        self.arrays.insert(array);
        fine.then(|| self.of(0, index))
    }

    fn depends(&self, expr: &Expr) -> bool {
        let mut found = false;
        expr.visit(&mut |part| found |= *part == Expr::Var(self.var));
        found || self.differs(expr)
    }

    /// Whether an expression is a multiple of the number of elements, if the extent is.
    fn is_multiple(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Int(value) => value % i64::from(self.count) == 0,
            Expr::Var(var) => *var == self.extent,
            Expr::Binary(BinOp::Mul, a, b) => self.is_multiple(a) || self.is_multiple(b),
            Expr::Binary(BinOp::Add | BinOp::Sub, a, b) => {
                self.is_multiple(a) && self.is_multiple(b)
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

    /// A statement that is made once for each element.
    fn each(&self, make: impl Fn(u32) -> Stmt) -> Vec<Stmt> {
        (0..self.count).map(make).collect()
    }

    /// The statements for several elements. `None` if there are none.
    fn stmt(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        Some(match stmt {
            Stmt::Comment(_) => vec![stmt.clone()],
            Stmt::Let(var, Expr::Load(array, index)) if self.differs(index) => {
                let first = self.first(*array, index)?;
                let copies = &self.copies[var];
                self.each(|at| {
                    let index = first.clone() + i64::from(at);
                    Stmt::Let(copies[at as usize], Expr::Load(*array, Box::new(index)))
                })
            }
            Stmt::Store(array, index, value) if self.differs(index) => {
                self.reads_same(value)?;
                let first = self.first(*array, index)?;
                self.each(|at| {
                    Stmt::Store(*array, first.clone() + i64::from(at), self.of(at, value))
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
                    None if self.is_sum(*var) => self.each(|at| make(*var, self.of(at, value))),
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
            // Elements that several combine values into are better written one beside another by lanes.
            Stmt::Store(..) | Stmt::Reduce(..) | Stmt::Sort(..) | Stmt::Reserve(..) => return None,
        })
    }

    /// Notes what expressions read that are the same for all elements. `None` if one is not.
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
