//! From what was declared to idioms: names are replaced, indices taken apart, and outer loops with other
//! effects left out.

use std::collections::HashMap;

use super::super::{ArrayId, BinOp, Expr, Scalar, Stmt, Var};
use super::effects::Effects;
use super::index::has_any;
use super::{
    By, Clear, Coded, Declared, Factor, Idiom, Index, Leaf, List, Loop, Merged, Nest, Place,
    Placed, Range, Sum, Target, Union,
};

/// Nodes of an expression of an idiom, at most. Without a limit, names that double at each step would expand to
/// a tree of any size.
const MAX_NODES: usize = 64;

/// The loops around something, and what they decode.
pub(in super::super) struct Path<'a> {
    /// The variables of the loops, from the outermost.
    pub(in super::super) vars: &'a [Var],
    /// Loops that decode coordinates, by their variables.
    pub(in super::super) coded: &'a HashMap<Var, Coded>,
}

/// The idiom of what was declared inside the loops over `path`. `None` if no loop does that alone.
pub(in super::super) fn settle(
    body: &[Stmt],
    assigned: &[bool],
    path: &Path<'_>,
    declared: Declared,
) -> Option<Idiom> {
    match declared {
        Declared::Leaf(leaf) => {
            let mut loops = Loops::find(body, assigned, path, &Effects::of_leaf(&leaf))?;
            // Where an index is no sum of strides of all loops, it may be one of the inner loops.
            loop {
                let nest = loops.nest(&leaf);
                let is_known = |nest: &Nest| nest.factors.iter().all(Factor::is_known);
                if loops.vars.len() == 1 || nest.as_ref().is_some_and(is_known) {
                    return nest.map(|nest| Idiom::Nest(Box::new(nest)));
                }
                loops.leave_outermost();
            }
        }
        Declared::Merged(merged) => {
            Loops::find(body, assigned, path, &Effects::of_merge(&merged))?.union(merged)
        }
        Declared::Placed(next, key, moves) => {
            Loops::find(body, assigned, path, &Effects::of_moves(next, &moves))?
                .placed(next, &key, &moves)
        }
    }
}

/// The loops that do nothing but what was declared.
struct Loops<'a> {
    /// Number of loops around them.
    outer: usize,
    vars: Vec<Var>,
    bounds: Vec<(&'a Expr, &'a Expr)>,
    coded: Vec<Option<&'a Coded>>,
    /// Conditions, each with the number of these loops around it.
    conditions: Vec<(usize, &'a Expr)>,
    /// The values of names given inside, without such names. `None` where one is too long.
    names: HashMap<Var, Option<Expr>>,
    /// The arrays that the loops write.
    written: Vec<ArrayId>,
    /// The variables that the loops assign.
    assigned: Vec<Var>,
}

impl<'a> Loops<'a> {
    /// The loops of a path that have these effects and no others: from some loop of the path to the innermost.
    fn find(
        mut body: &'a [Stmt],
        assigned: &[bool],
        path: &Path<'a>,
        effects: &Effects<'_>,
    ) -> Option<Self> {
        let new = |outer| Self {
            outer,
            vars: Vec::new(),
            bounds: Vec::new(),
            coded: Vec::new(),
            conditions: Vec::new(),
            names: HashMap::new(),
            written: effects.arrays.clone(),
            assigned: effects.vars.clone(),
        };
        let is_assigned = |var: Var| assigned[var.0 as usize];
        // What the loop around decodes, or the next one.
        let decodes = |near: Option<&Var>, var: Var| {
            near.and_then(|near| path.coded.get(near)).is_some_and(|coded| coded.has(var))
        };
        let is_next = |around: Option<&Var>, stmt: &Stmt| matches!(stmt, Stmt::Assign(var, _) if decodes(around, *var));
        let mut found = new(0);
        for (around, &next) in path.vars.iter().enumerate() {
            let outer = around.checked_sub(1).map(|at| &path.vars[at]);
            // Down through the blocks to the one with the loop.
            loop {
                let (mut others, mut seen) = (false, Vec::new());
                let mut inner = None;
                for stmt in body {
                    match stmt {
                        Stmt::Comment(_) => {}
                        Stmt::Let(var, value) if !is_assigned(*var) => found.name(*var, value),
                        Stmt::Let(var, _) if decodes(Some(&next), *var) => {}
                        stmt if is_next(outer, stmt) => {}
                        // The variable is not there around the loop.
                        Stmt::Let(var, _) => others |= !effects.has_variable(*var, around, false),
                        stmt if has_loop(stmt, next) => inner = Some(stmt),
                        stmt => others |= !effects.is_part(stmt, around, false, &mut seen),
                    }
                }
                if others {
                    found = new(around);
                }
                match inner? {
                    Stmt::For { var, lo, hi, body: inside } if *var == next => {
                        found.vars.push(next);
                        found.bounds.push((lo, hi));
                        found.coded.push(path.coded.get(var));
                        body = inside;
                        break;
                    }
                    Stmt::If { cond, then, .. } if then.iter().any(|stmt| has_loop(stmt, next)) => {
                        found.conditions.push((found.vars.len(), cond));
                        body = then;
                    }
                    // A loop that is not of the path, or the other side of a condition.
                    Stmt::While { body: inside, .. }
                    | Stmt::For { body: inside, .. }
                    | Stmt::If { otherwise: inside, .. } => {
                        found = new(around);
                        body = inside;
                    }
                    _ => return None,
                }
            }
        }
        // Down to the block with the operation.
        loop {
            let (mut seen, mut inner) = (Vec::new(), None);
            for stmt in body {
                match stmt {
                    Stmt::Comment(_) => {}
                    Stmt::Let(var, value) if !is_assigned(*var) => found.name(*var, value),
                    Stmt::Let(var, _) if effects.has_variable(*var, path.vars.len(), true) => {}
                    stmt if is_next(path.vars.last(), stmt) => {}
                    stmt if effects.is_part(stmt, path.vars.len(), true, &mut seen) => {}
                    Stmt::If { cond, then, otherwise }
                        if otherwise.is_empty() && inner.is_none() =>
                    {
                        inner = Some((cond, then));
                    }
                    _ => return None,
                }
            }
            match inner {
                None if !seen.is_empty() => break,
                Some((cond, then)) if seen.is_empty() => {
                    found.conditions.push((found.vars.len(), cond));
                    body = then;
                }
                _ => return None,
            }
        }
        // Conditions around all loops are not of the nest.
        found.conditions.retain(|(around, _)| *around > 0);
        (!found.vars.is_empty()).then_some(found)
    }

    fn name(&mut self, var: Var, value: &Expr) {
        // Names from outside the loops stay.
        if !self.vars.is_empty() {
            let value = self.expand(value);
            self.names.insert(var, value);
        }
    }

    /// Leaves the outermost loop to what is around.
    fn leave_outermost(&mut self) {
        self.outer += 1;
        self.vars.remove(0);
        self.bounds.remove(0);
        self.coded.remove(0);
        self.conditions.retain(|(around, _)| *around > 1);
        self.conditions.iter_mut().for_each(|(around, _)| *around -= 1);
    }

    /// An expression without names of the loops. `None` if it is too long.
    fn expand(&self, expr: &Expr) -> Option<Expr> {
        let mut is_short = true;
        expr.visit(&mut |part| {
            is_short &= !matches!(part, Expr::Var(var) if self.names.get(var) == Some(&None));
        });
        let expr = is_short.then(|| expr.replaced(&|var| self.names.get(&var).cloned()?))?;
        let mut nodes = 0;
        expr.visit(&mut |_| nodes += 1);
        (nodes <= MAX_NODES).then_some(expr)
    }

    /// An expression without names of the loops. `None` if it is too long, or reads what the loops write.
    fn known(&self, expr: &Expr) -> Option<Expr> {
        let expr = self.expand(expr)?;
        let apart = self.written.iter().all(|&array| !expr.loads(array));
        (apart && !has_any(&expr, &self.assigned)).then_some(expr)
    }

    /// The variables that change in the loops from one on.
    fn moving(&self, from: usize) -> Vec<By> {
        let each = self.vars.iter().zip(&self.coded).skip(from);
        let both = each.map(|(&var, coded)| {
            [Some(By::Var(var)), coded.map(|coded| By::Decoded(coded.crd, var))]
        });
        both.flatten().flatten().collect()
    }

    /// Whether an expression changes in the loops from one on.
    fn is_moved(&self, expr: &Expr, from: usize) -> bool {
        self.moving(from).iter().any(|by| by.is_in(expr))
    }

    fn index(&self, expr: &Expr) -> Option<Index> {
        Index::of(&self.known(expr)?, &self.moving(0))
    }

    fn factor(&self, expr: &Expr) -> Option<Factor> {
        let value = self.known(expr)?;
        let depth = (0..self.vars.len()).rev().find(|&at| self.is_moved(&value, at));
        let (mut element, mut gathered) = (None, None);
        if let Expr::Load(array, index) = &value {
            element = Index::of(index, &self.moving(0)).map(|index| (*array, index));
            if let (None, Expr::Load(crd, index)) = (&element, &**index) {
                gathered = Index::of(index, &self.moving(0)).map(|index| (*array, *crd, index));
            }
        }
        Some(Factor { value, element, gathered, depth: depth.map_or(0, |at| at + 1) })
    }

    fn loops(&self) -> Option<Vec<Loop>> {
        let each = self.vars.iter().zip(&self.bounds).zip(&self.coded);
        let each = each.map(|((&var, &(lo, hi)), coded)| {
            let (lo, hi) = (self.known(lo)?, self.known(hi)?);
            let range = self.segment(&lo, &hi).unwrap_or(Range::Between(lo, hi));
            let coded = match coded {
                None => None,
                Some(coded) => Some(coded.mapped(&|expr| self.known(expr))?),
            };
            Some(Loop { var, range, coded })
        });
        each.collect()
    }

    fn segment(&self, lo: &Expr, hi: &Expr) -> Option<Range> {
        // Bounds may be counted from elsewhere than the beginning.
        let zero = Expr::Int(0);
        let (lo, hi, begin) = match (lo, hi) {
            (Expr::Binary(BinOp::Add, lo, from), Expr::Binary(BinOp::Add, hi, same))
                if from == same =>
            {
                (&**lo, &**hi, &**from)
            }
            _ => (lo, hi, &zero),
        };
        let (Expr::Load(pos, first), Expr::Load(next, second)) = (lo, hi) else { return None };
        let moving = self.moving(0);
        let begin = Index::of(begin, &moving)?;
        let (at, mut beside) = (Index::of(first, &moving)?, Index::of(second, &moving)?);
        let one = beside.base.iter().position(|term| *term == Expr::Int(1))?;
        beside.base.remove(one);
        let is_segment = pos == next && at == beside && !at.steps.is_empty();
        is_segment.then_some(Range::Segment { pos: *pos, at, begin })
    }

    fn nest(&self, leaf: &Leaf) -> Option<Nest> {
        let count = self.vars.len();
        let (mut op, mut sum) = (leaf.op, None);
        let mut target = match &leaf.target {
            Target::Var(var) => Place::Var(*var),
            Target::Element(array, index) => Place::Element(*array, self.index(index)?),
        };
        // A sum outside the loops is a variable like another.
        if let Some(own) = leaf.sum.as_ref().filter(|sum| sum.inside > self.outer) {
            let index = self.index(&own.index)?;
            let inside = own.inside - self.outer;
            let is_product = inside == count && leaf.op.is_none_or(|op| is_neutral(op, &own.start));
            if is_product {
                // A sum of one product.
                (target, op) = (Place::Element(own.array, index), own.op);
            } else {
                let Sum { start, array, op, .. } = *own;
                sum = Some(Sum { inside, start, array, index, op });
            }
        }
        let clear = match leaf.clear.as_ref().filter(|clear| clear.inside > self.outer) {
            None => None,
            Some(Clear { inside, array, from, count, value }) => Some(Clear {
                inside: inside - self.outer,
                array: *array,
                from: self.index(from)?,
                count: self.known(count)?,
                value: *value,
            }),
        };
        let list = match &leaf.list {
            None => None,
            Some(list) => {
                let stamp = self.known(&list.stamp).filter(|stamp| !self.is_moved(stamp, 0))?;
                Some(List { stamp, ..list.clone() })
            }
        };
        let conditions = self.conditions.iter();
        let conditions: Option<Vec<(usize, Expr)>> =
            conditions.map(|(around, cond)| Some((*around, self.known(cond)?))).collect();
        let factors: Option<Vec<Factor>> =
            leaf.factors.iter().map(|factor| self.factor(factor)).collect();
        Some(Nest {
            loops: self.loops()?,
            conditions: conditions?,
            target,
            op,
            times: leaf.times,
            factors: factors?,
            sum,
            clear,
            list,
            hit: leaf.hit,
        })
    }

    fn union(self, merged: Merged) -> Option<Idiom> {
        let (&[var], true) = (&self.vars[..], self.conditions.is_empty()) else { return None };
        let of_row = |row: &Expr| self.known(row).is_some_and(|row| row == Expr::Var(var));
        let [(a, of_a), (b, of_b)] = merged.operands;
        let read = [a, b].into_iter().flat_map(|of| [of.pos, of.crd, of.values]);
        if read.into_iter().any(|array| self.written.contains(&array)) {
            return None;
        }
        let starts = match merged.starts {
            None => None,
            Some((starts, first)) => {
                let first = self.known(&first).filter(|first| !self.is_moved(first, 0))?;
                Some((starts, first))
            }
        };
        let Merged { row, crd, values, .. } = merged;
        (of_row(&of_a) && of_row(&of_b)).then_some(Idiom::Union(Union {
            var,
            a,
            b,
            row,
            crd,
            values,
            starts,
        }))
    }

    fn placed(self, next: ArrayId, key: &Expr, moves: &[(ArrayId, Expr)]) -> Option<Idiom> {
        let moves: Option<Vec<(ArrayId, Factor)>> =
            moves.iter().map(|(to, value)| Some((*to, self.factor(value)?))).collect();
        let key = self.index(key)?;
        let loops = self.loops()?;
        self.conditions.is_empty().then_some(Idiom::Placed(Placed {
            loops,
            next,
            key,
            moves: moves?,
        }))
    }
}

/// Whether an operator leaves the other operand as it is.
fn is_neutral(op: BinOp, start: &Scalar) -> bool {
    match op {
        BinOp::Add => start.same(&start.dtype().zero()),
        BinOp::Mul => start.same(&start.dtype().one()),
        _ => false,
    }
}

/// Whether a statement is the loop over a variable, or has it inside.
fn has_loop(stmt: &Stmt, wanted: Var) -> bool {
    let mut found = false;
    Stmt::visit_all(std::slice::from_ref(stmt), &mut |stmt| {
        found |= matches!(stmt, Stmt::For { var, .. } if *var == wanted);
    });
    found
}
