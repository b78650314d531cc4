//! Loops over elements of the result, moved out of loops that sum: each element is formed in a variable.
//!
//! ```text
//! for p {                          for k {
//!     for k {                          sum = start
//!         out[k] += ..      becomes    for p { sum += .. }
//!     }                                out[k] = sum
//! }                                }
//! ```
//!
//! The products of an element are added in the same order. Where the range of the inner loop depends on the outer
//! ones (diagonals), it becomes a condition.

use std::collections::HashSet;

use ust_format::IndexExpr;
use ust_level_api::Interval;
use ust_level_api::ir::{ArrayId, BinOp, Expr, Function, Stmt, Ty, Var, VarDecl};

use super::fresh;
use super::stored::Summed;
use crate::provider::Plan;
use crate::provider::plan::{Array, Facts, Loop, Over, Parameter};

/// Loops with a loop moved outwards.
pub(super) struct Moved {
    pub(super) function: Function,
    /// The sum that each element is, if the IR has an operator for it.
    pub(super) sum: Option<Summed>,
    /// If it is the outermost loop now: its range, which parts cut.
    pub(super) range: Option<Interval>,
}

/// The loops of a plan with the innermost loop over elements moved out of all loops that sum. With `outermost`, only
/// where it becomes the outermost loop; otherwise, only where it does not.
pub(super) fn moved(plan: &Plan<'_>, facts: &Facts, outermost: bool) -> Option<Moved> {
    if facts.rows.is_some() || !facts.carried.is_empty() {
        return None;
    }
    let result = facts.arrays.iter().position(|array| *array == Array::Result)?;
    let mut function = plan.function.clone();
    let mut moving = Moving {
        facts,
        result: ArrayId(result as u32),
        begin: Expr::Const(plan.result.fill),
        element: function.arrays[result].elem.ty(),
        vars: &mut function.vars,
        range: None,
        sum: None,
    };
    let body = moving.body(&plan.function.body, outermost)?;
    let Moving { range, sum, .. } = moving;
    function.body = body;
    function.idioms.clear();
    Some(Moved { function, sum, range })
}

struct Moving<'a> {
    facts: &'a Facts,
    result: ArrayId,
    /// The value of elements before the loops run.
    begin: Expr,
    /// The type of elements.
    element: Ty,
    vars: &'a mut Vec<VarDecl>,
    range: Option<Interval>,
    sum: Option<Summed>,
}

/// A loop that sums, and the names that are given in it.
struct Outer<'a> {
    var: Var,
    bounds: [Expr; 2],
    names: Vec<&'a Stmt>,
}

impl Moving<'_> {
    fn fact(&self, var: Var) -> Option<&Loop> {
        self.facts.loops.iter().find(|one| one.vars == [var])
    }

    /// Whether a loop sets elements to the value that they have before the loops run.
    fn clears(&self, stmt: &Stmt) -> bool {
        let Stmt::For { body, .. } = stmt else { return false };
        matches!(&body[..], [Stmt::Store(array, _, value)]
            if *array == self.result && *value == self.begin)
    }

    /// The statements of a block with the loop moved, which is in the only loop of the block.
    fn body(&mut self, block: &[Stmt], outermost: bool) -> Option<Vec<Stmt>> {
        let mut made = Vec::new();
        let mut found = false;
        for stmt in block {
            match stmt {
                Stmt::Let(..) | Stmt::Comment(_) => made.push(stmt.clone()),
                stmt if self.clears(stmt) => {}
                Stmt::For { var, lo, hi, body } if !found => {
                    found = true;
                    let fact = self.fact(*var)?;
                    if self.sums(fact) {
                        if (fact.depth == 0) != outermost {
                            return None;
                        }
                        made.push(self.exchanged(stmt, outermost)?);
                    } else {
                        // The loop owns its elements.
                        let body = self.body(body, outermost)?;
                        made.push(Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body });
                    }
                }
                _ => return None,
            }
        }
        found.then_some(made)
    }

    fn sums(&self, fact: &Loop) -> bool {
        !fact.owns
            && !fact.sequential
            && fact.sum.is_none()
            && matches!(fact.over, Over::Cursor | Over::Coordinates)
    }

    /// A loop that sums, with the loop over elements moved out of it.
    fn exchanged(&mut self, top: &Stmt, outermost: bool) -> Option<Stmt> {
        // The loops down to the one over elements.
        let mut outer: Vec<Outer<'_>> = Vec::new();
        let mut inside: HashSet<Var> = HashSet::new();
        let mut at = top;
        let (var, bounds, body, extent) = loop {
            let Stmt::For { var, lo, hi, body } = at else { return None };
            let fact = self.fact(*var)?;
            if !self.sums(fact) {
                let IndexExpr::Var(v) = fact.expr else { return None };
                let fine = fact.owns && fact.over == Over::Coordinates && !fact.sequential;
                if !fine || fact.sum.is_some() {
                    return None;
                }
                break (*var, [lo.clone(), hi.clone()], body, self.parameter(Parameter::Extent(v)));
            }
            inside.insert(*var);
            let mut names = Vec::new();
            let mut next = None;
            for stmt in body {
                match stmt {
                    Stmt::Let(name, _) if next.is_none() => {
                        inside.insert(*name);
                        names.push(stmt);
                    }
                    Stmt::Comment(_) => {}
                    stmt if self.clears(stmt) => {}
                    Stmt::For { .. } if next.is_none() => next = Some(stmt),
                    _ => return None,
                }
            }
            outer.push(Outer { var: *var, bounds: [lo.clone(), hi.clone()], names });
            at = next?;
        };
        Stmt::visit_all(body, &mut |stmt| {
            if let Stmt::Let(var, _) | Stmt::For { var, .. } = stmt {
                inside.insert(*var);
            }
        });
        let depends = |expr: &Expr| {
            let mut found = false;
            expr.visit(&mut |part| {
                found |= matches!(part, Expr::Var(var) if inside.contains(var));
            });
            found
        };
        let ty = self.element;
        let sum = fresh(self.vars, "sum", ty);
        let mut summing = Summing::new(self.result, sum);
        let mut body = summing.block(body)?;
        self.sum = summing.op().map(|op| Summed { var: sum, op });
        let index = summing.index.filter(|index| !depends(index))?;
        let mut range = bounds.clone();
        if bounds.iter().any(depends) {
            let [lo, hi] = bounds;
            let cond = lo.le(var).and(Expr::from(var).lt(hi));
            body = vec![Stmt::If { cond, then: body, otherwise: Vec::new() }];
            range = [Expr::Int(0), extent?];
        }
        let first = outer.first()?.var;
        for Outer { var, bounds: [mut lo, mut hi], names } in outer.into_iter().rev() {
            if outermost && var == first {
                // The whole loop, not a part.
                Interval { lo, hi } = self.facts.outermost.range.clone()?;
            }
            let inner = names.into_iter().cloned().chain(body).collect();
            body = vec![Stmt::For { var, lo, hi, body: inner }];
        }
        let mut element = vec![Stmt::Let(sum, self.begin.clone())];
        element.extend(body);
        element.push(Stmt::Store(self.result, index, sum.into()));
        let [mut lo, mut hi] = range;
        if outermost {
            let [part_lo, part_hi] =
                [Parameter::PartLo, Parameter::PartHi].map(|of| self.parameter(of));
            self.range = Some(Interval { lo: lo.clone(), hi: hi.clone() });
            (lo, hi) = (lo.max(part_lo?), hi.min(part_hi?));
        }
        Some(Stmt::For { var, lo, hi, body: element })
    }

    fn parameter(&self, wanted: Parameter) -> Option<Expr> {
        let at = self.facts.parameters.iter().position(|one| *one == wanted)?;
        Some(Var(at as u32).into())
    }
}

/// Code that adds to an element of the result, changed into code that adds to a variable.
pub(super) struct Summing {
    result: ArrayId,
    sum: Var,
    /// The element: always the same.
    index: Option<Expr>,
    /// The operators that combine values with it. `None` for what is no operator of the IR.
    ops: Vec<Option<BinOp>>,
}

impl Summing {
    pub(super) fn new(result: ArrayId, sum: Var) -> Self {
        Self { result, sum, index: None, ops: Vec::new() }
    }

    /// The element.
    pub(super) fn index(&self) -> Option<&Expr> {
        self.index.as_ref()
    }

    /// The operator that combines values with the element.
    pub(super) fn op(&self) -> Option<BinOp> {
        let (first, others) = self.ops.split_first()?;
        first.filter(|_| others.iter().all(|op| op == first))
    }

    pub(super) fn block(&mut self, block: &[Stmt]) -> Option<Vec<Stmt>> {
        block.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let reads = |expr: &Expr| expr.loads(self.result);
        Some(match stmt {
            Stmt::Reduce(op, array, index, value) if *array == self.result => {
                if reads(value) {
                    return None;
                }
                self.same(index)?;
                self.ops.push(Some(*op));
                Stmt::Assign(self.sum, Expr::binary(*op, self.sum.into(), value.clone()))
            }
            Stmt::Store(array, index, value) if *array == self.result => {
                let own = Expr::Load(self.result, Box::new(index.clone()));
                let combined = value.mapped(&|part| (*part == own).then(|| self.sum.into()));
                // Another store would not combine, or would read other elements.
                if combined == *value || combined.loads(self.result) {
                    return None;
                }
                self.same(index)?;
                self.ops.push(None);
                Stmt::Assign(self.sum, combined)
            }
            Stmt::Store(..) | Stmt::Reduce(..) | Stmt::Reserve(..) | Stmt::Sort(..) => return None,
            stmt if stmt.exprs().into_iter().any(reads) => return None,
            Stmt::For { var, lo, hi, body } => {
                let (lo, hi) = (lo.clone(), hi.clone());
                Stmt::For { var: *var, lo, hi, body: self.block(body)? }
            }
            Stmt::While { cond, body } => {
                Stmt::While { cond: cond.clone(), body: self.block(body)? }
            }
            Stmt::If { cond, then, otherwise } => Stmt::If {
                cond: cond.clone(),
                then: self.block(then)?,
                otherwise: self.block(otherwise)?,
            },
            Stmt::Let(..) | Stmt::Assign(..) | Stmt::Comment(_) => stmt.clone(),
        })
    }

    /// `None` if this is another element than before.
    fn same(&mut self, index: &Expr) -> Option<()> {
        (self.index.get_or_insert_with(|| index.clone()) == index).then_some(())
    }
}
