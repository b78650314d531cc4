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
//! ones (diagonals), it becomes a condition. Of several loops over elements, such as those over rows of a block and over
//! columns of the result, all are moved. Blocks at the border and others run the same loops then.

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
    let body = moving.body(&uncut(&plan.function.body, facts), outermost)?;
    let Moving { range, sum, .. } = moving;
    function.body = body;
    function.idioms.clear();
    Some(Moved { function, sum, range })
}

/// The loops without a difference between blocks at the border and others.
fn uncut(body: &[Stmt], facts: &Facts) -> Vec<Stmt> {
    let of = |stmt: &Stmt| match stmt {
        Stmt::If { cond, then, otherwise } => {
            if let [Stmt::For { var: whole, hi: end, .. }] = &then[..]
                && let [Stmt::For { var, lo, hi, body }] = &otherwise[..]
                && facts.borders.contains(&[*whole, *var])
            {
                let hi = end.clone().min(hi.clone());
                return Stmt::For { var: *var, lo: lo.clone(), hi, body: uncut(body, facts) };
            }
            let [then, otherwise] = [then, otherwise].map(|branch| uncut(branch, facts));
            Stmt::If { cond: cond.clone(), then, otherwise }
        }
        Stmt::For { var, lo, hi, body } => {
            let (lo, hi) = (lo.clone(), hi.clone());
            Stmt::For { var: *var, lo, hi, body: uncut(body, facts) }
        }
        Stmt::While { cond, body } => Stmt::While { cond: cond.clone(), body: uncut(body, facts) },
        other => other.clone(),
    };
    body.iter().map(of).collect()
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

/// A loop of a nest, and the names that are given in it.
struct Nested {
    var: Var,
    bounds: [Expr; 2],
    names: Vec<Stmt>,
}

impl Nested {
    fn around(self, body: Vec<Stmt>) -> Vec<Stmt> {
        let [lo, hi] = self.bounds;
        let body = self.names.into_iter().chain(body).collect();
        vec![Stmt::For { var: self.var, lo, hi, body }]
    }
}

fn depends(expr: &Expr, on: &HashSet<Var>) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= matches!(part, Expr::Var(var) if on.contains(var)));
    found
}

/// Whether the value of a name may be computed where the loop around it has no iterations.
fn is_free(expr: &Expr) -> bool {
    let mut free = true;
    expr.visit(&mut |part| {
        free &= match part {
            Expr::Load(..) | Expr::Call(..) | Expr::Binary(BinOp::Div, ..) => false,
            Expr::Binary(BinOp::FloorDiv | BinOp::Mod, _, by) => matches!(**by, Expr::Int(_)),
            _ => true,
        };
    });
    free
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
                        made.extend(self.exchanged(stmt, outermost)?);
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

    fn is_over_elements(fact: &Loop) -> bool {
        fact.owns && fact.over == Over::Coordinates && !fact.sequential && fact.sum.is_none()
    }

    /// The names of a block, and the loop in it, if there is nothing else.
    fn nested<'a>(&self, block: &'a [Stmt]) -> Option<(Vec<&'a Stmt>, &'a Stmt)> {
        let (mut names, mut next) = (Vec::new(), None);
        for stmt in block {
            match stmt {
                Stmt::Let(..) if next.is_none() => names.push(stmt),
                Stmt::Comment(_) => {}
                stmt if self.clears(stmt) => {}
                Stmt::For { var, .. } if next.is_none() => {
                    let fact = self.fact(*var)?;
                    if !self.sums(fact) && !Self::is_over_elements(fact) {
                        return None;
                    }
                    next = Some(stmt);
                }
                _ => return None,
            }
        }
        Some((names, next?))
    }

    /// A loop that sums, with the loops over elements moved out of it.
    fn exchanged(&mut self, top: &Stmt, outermost: bool) -> Option<Vec<Stmt>> {
        // The loops of the nest, and what depends on those that sum.
        let (mut summing, mut elements): (Vec<Nested>, Vec<Nested>) = (Vec::new(), Vec::new());
        let mut extent = None;
        let (mut before, mut inside) = (Vec::new(), HashSet::new());
        let mut at = top;
        let body = loop {
            let Stmt::For { var, lo, hi, body } = at else { return None };
            let fact = self.fact(*var)?;
            let sums = self.sums(fact);
            if !sums && !Self::is_over_elements(fact) {
                return None;
            }
            let nested = Nested { var: *var, bounds: [lo.clone(), hi.clone()], names: Vec::new() };
            match sums {
                true => {
                    inside.insert(*var);
                    summing.push(nested);
                }
                false => {
                    elements.push(nested);
                    extent = match fact.expr {
                        IndexExpr::Var(v) => self.parameter(Parameter::Extent(v)),
                        _ => None,
                    };
                }
            }
            let further = self.nested(body).filter(|_| !outermost || sums);
            let Some((names, next)) = further else {
                // The innermost loop of all is over elements, or sums have a loop of their own.
                break body;
            };
            for name in names {
                let Stmt::Let(var, value) = name else { return None };
                let free = is_free(value) && !depends(value, &inside);
                let to = match (free, elements.last_mut()) {
                    (true, Some(last)) => &mut last.names,
                    (true, None) => &mut before,
                    (false, _) => {
                        inside.insert(*var);
                        &mut summing.last_mut()?.names
                    }
                };
                to.push(name.clone());
            }
            at = next;
        };
        Stmt::visit_all(body, &mut |stmt| {
            if let Stmt::Let(var, _) | Stmt::For { var, .. } = stmt {
                inside.insert(*var);
            }
        });
        let sum = fresh(self.vars, "sum", self.element);
        let mut made = Summing::new(self.result, sum);
        let mut body = made.block(body)?;
        self.sum = made.op().map(|op| Summed { var: sum, op });
        let index = made.index.filter(|index| !depends(index, &inside))?;
        let last = elements.last_mut()?;
        if last.bounds.iter().any(|bound| depends(bound, &inside)) {
            let [lo, hi] = std::mem::replace(&mut last.bounds, [Expr::Int(0), extent?]);
            let cond = lo.le(last.var).and(Expr::from(last.var).lt(hi));
            body = vec![Stmt::If { cond, then: body, otherwise: Vec::new() }];
        }
        if elements.iter().flat_map(|one| &one.bounds).any(|bound| depends(bound, &inside)) {
            return None;
        }
        if outermost {
            // The whole loop, not a part.
            let Interval { lo, hi } = self.facts.outermost.range.clone()?;
            summing.first_mut()?.bounds = [lo, hi];
            let [part_lo, part_hi] =
                [Parameter::PartLo, Parameter::PartHi].map(|of| self.parameter(of));
            let bounds = &mut elements.last_mut()?.bounds;
            let [lo, hi] = bounds.clone();
            *bounds = [lo.clone().max(part_lo?), hi.clone().min(part_hi?)];
            self.range = Some(Interval { lo, hi });
        }
        let all = summing.into_iter().rev().fold(body, |body, one| one.around(body));
        let mut element = vec![Stmt::Let(sum, self.begin.clone())];
        element.extend(all);
        element.push(Stmt::Store(self.result, index, sum.into()));
        let all = elements.into_iter().rev().fold(element, |body, one| one.around(body));
        Some(before.into_iter().chain(all).collect())
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
