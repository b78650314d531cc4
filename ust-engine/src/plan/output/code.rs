//! The code around and inside the loops that writes the result: rows, workspaces, and sums in variables.

use ust_format::IndexExpr;
use ust_level_api::ir::idiom::{self, Clear, Leaf, List, Sum};
use ust_level_api::ir::{ArrayId, BinOp, Builder, Expr};

use super::Target;
use crate::expr::operator::Operator;
use crate::plan::emit::{Emit, Pos, State};
use crate::plan::sink::SinkKind;
use crate::walk::emit as index;

impl Emit<'_> {
    /// Emits the code of the result inside `depth` loops, around the inner loops: it opens a row, a
    /// workspace or a sum, emits the inner loops, and closes it.
    pub(in crate::plan) fn open(&self, b: &mut Builder, depth: usize, state: State) {
        let output = &self.output;
        match output.kind {
            SinkKind::Sorted { depth: at } if at == depth => self.open_row(b, depth, state),
            SinkKind::Workspace { open, .. } if open == depth => {
                self.open_workspace(b, depth, state);
            }
            SinkKind::Workspace { depth: at, .. } if at == depth => self.open_slot(b, depth, state),
            SinkKind::Full if matches!(state.target, Target::None) => {
                let mut state = state;
                let known = self.input.result.iter().all(|&v| state.index[v].is_some());
                if known {
                    state.target = Target::Block { array: output.values, base: Expr::Int(0) };
                } else {
                    state.clear = self.set_part(b, depth, &state).or(state.clear);
                }
                self.sum(b, depth, state);
            }
            SinkKind::Shared { at } if matches!(state.target, Target::None) => {
                let mut state = state;
                if let Some(Pos::One(base)) = self.position(at, &state) {
                    state.target = Target::Block { array: output.values, base };
                }
                self.sum(b, depth, state);
            }
            _ => self.sum(b, depth, state),
        }
    }

    /// Sums in a variable if the position in the result is known and loops of a reduction follow.
    fn sum(&self, b: &mut Builder, depth: usize, mut state: State) {
        let known = self.input.result.iter().all(|&v| state.index[v].is_some());
        let follow = depth < self.input.order.steps.len();
        let Target::Block { array, base } = state.target.clone() else {
            return self.inner(b, depth, state);
        };
        let (true, true, Some(op)) = (known, follow, self.input.reduce) else {
            return self.inner(b, depth, state);
        };
        let var = b.var("sum", Expr::Const(self.input.rest));
        let place = base + self.offset(&state);
        let covers = state.covers && self.covers_result();
        let is_once = self.is_once(depth);
        let combined = op.reduction(self.input.rest.dtype());
        state.target = Target::Sum { var, hit: None };
        state.sum = (is_once || combined.is_some()).then(|| Sum {
            inside: b.open_loops(),
            start: self.input.rest,
            array,
            index: place.clone(),
            op: combined.filter(|_| !is_once),
        });
        self.inner(b, depth, state);
        match is_once {
            true => {
                self.sets_all.set(self.sets_all.get() || covers);
                b.store(array, place, var.into());
            }
            false => self.combine(b, op, array, place, var.into()),
        }
    }

    /// Sets the slice of a full result that the outer loops select to the unstored value, if they select
    /// each slice once and the slice is contiguous. In row-wise `C(i,k) = A(i,j) * B(j,k)`: row `i` of
    /// `C`.
    fn set_part(&self, b: &mut Builder, depth: usize, state: &State) -> Option<Clear<Expr>> {
        let levels = &self.input.sink.levels;
        let chosen = |expr: &IndexExpr| state.key(expr).is_some();
        let together = levels[..depth.min(levels.len())].iter().all(chosen);
        if self.input.onto
            || depth <= self.cut_depth()
            || !together
            || !state.covers
            || !self.covers_result()
        {
            return None;
        }
        // The next loop selects a smaller contiguous slice.
        let next = self.input.order.steps.get(depth).map(|step| &step.expr);
        if next == levels.get(depth) {
            return None;
        }
        let sizes = || self.output.domains.iter().map(|(size, _)| size.clone());
        let size = sizes().skip(depth).fold(Expr::Int(1), |all, size| all * size);
        let part = levels[..depth].iter().zip(sizes()).fold(Expr::Int(0), |part, (expr, size)| {
            part * size + state.key(expr).expect("chosen")
        });
        let base = b.bind("base", part * size.clone());
        self.fill(b, self.output.values, &base, size.clone());
        self.sets_all.set(true);
        let (inside, array) = (b.open_loops(), self.output.values);
        Some(Clear { inside, array, from: base, count: size, value: self.input.rest })
    }

    /// Whether every level of a full result is one index variable, so that every stored element has
    /// coordinates. Blocks at the border (`i / 4`, `i % 4`) have elements outside the shape.
    fn covers_result(&self) -> bool {
        let plain = |expr: &IndexExpr| matches!(expr, IndexExpr::Var(_));
        self.output.kind == SinkKind::Full && self.input.sink.levels.iter().all(plain)
    }

    /// Whether these loops visit each element of the result once, so that no earlier value is there.
    fn is_once(&self, depth: usize) -> bool {
        if let SinkKind::Shared { .. } = self.output.kind {
            return true;
        }
        if self.input.onto {
            return false;
        }
        let order = self.input.order;
        // Code around the loops that are cut runs once for each part.
        let whole = depth > self.cut_depth() || self.part.is_none();
        whole
            && order.steps[..depth].iter().all(|step| {
                let own = step.expr.vars().iter().all(|v| self.input.result.contains(v));
                let unique = |&(at, level): &(usize, usize)| {
                    order.converted[at].is_some()
                        || self.input.accesses[at].levels[level].props.unique
                };
                own && step.walkers.iter().all(unique)
            })
    }

    /// The offset of an element in the trailing dense block.
    fn offset(&self, state: &State) -> Expr {
        let output = &self.output;
        let from = match output.kind {
            SinkKind::Full => 0,
            SinkKind::Shared { .. } => output.domains.len(),
            _ => output.tail,
        };
        let mut offset = Expr::Int(0);
        for (level, expr) in self.input.sink.levels.iter().enumerate().skip(from) {
            let (size, lower) = &output.domains[level];
            offset = offset * size.clone() + (self.coordinate(expr, state) - lower.clone());
        }
        offset
    }

    fn coordinate(&self, expr: &IndexExpr, state: &State) -> Expr {
        if let Some(known) = state.key(expr) {
            return known;
        }
        let known: Vec<Expr> =
            state.index.iter().map(|e| e.clone().unwrap_or(Expr::Int(0))).collect();
        index(expr, &known)
    }

    fn combine(&self, b: &mut Builder, op: &Operator, array: ArrayId, place: Expr, value: Expr) {
        self.in_memory.set(true);
        match op.reduction(self.input.rest.dtype()) {
            Some(op) => b.reduce(op, array, place, value),
            None => {
                let place = b.bind("place", place);
                let before = b.load(array, place.clone());
                let dtype = self.input.rest.dtype();
                b.store(array, place, op.emit(vec![before, value], dtype, dtype));
            }
        }
    }

    /// The coordinates of a row.
    pub(in crate::plan) fn row_coordinates(&self, state: &State, count: usize) -> Vec<Expr> {
        let levels = &self.input.sink.levels[..count];
        levels.iter().map(|expr| self.coordinate(expr, state)).collect()
    }

    fn append(&self, b: &mut Builder, coordinates: Vec<Expr>, value: Expr) {
        self.output.reserve(b, Expr::Int(1));
        self.output.push(b, coordinates, value);
    }

    /// Appends a row if `when` holds. Without a branch: a row that is not kept is written, and overwritten by
    /// the next.
    pub(in crate::plan) fn push_when(
        &self,
        b: &mut Builder,
        coordinates: Vec<Expr>,
        value: Expr,
        when: &Expr,
    ) {
        if matches!(when, Expr::Bool(true)) {
            return self.output.push(b, coordinates, value);
        }
        self.speculative.set(true);
        if self.guarded {
            return b.if_(when.clone(), |b| self.output.push(b, coordinates, value));
        }
        let row = self.output.store(b, coordinates, value);
        b.assign(row, Expr::from(row) + when.clone().select(1, 0));
    }

    fn fill(&self, b: &mut Builder, array: ArrayId, base: &Expr, block: Expr) {
        let rest = Expr::Const(self.input.rest);
        match block {
            Expr::Int(1) => b.store(array, base.clone(), rest),
            block => b.for_("in_block", Expr::Int(0), block, |b, at| {
                let place = base.clone() + at;
                let target = idiom::Target::Element(array, place.clone());
                b.declare(Leaf { op: None, ..Leaf::product(target, vec![rest.clone()]) });
                b.store(array, place, rest);
            }),
        }
    }

    fn open_row(&self, b: &mut Builder, depth: usize, mut state: State) {
        let output = &self.output;
        let coordinates = self.row_coordinates(&state, output.tail);
        if output.tail < output.domains.len() {
            // A block of values.
            let row = output.row.expect("rows are counted");
            output.reserve(b, Expr::Int(1));
            let base = b.bind("base", Expr::from(row) * output.block());
            self.fill(b, output.values, &base, output.block());
            state.target = Target::Block { array: output.values, base };
            self.sum(b, depth, state);
            output.store_row(b, &row.into(), coordinates);
            return b.assign(row, Expr::from(row) + 1);
        }
        if depth == self.input.order.steps.len() {
            let value = self.value(b, &state.term.clone(), &state);
            return self.append(b, coordinates, value);
        }
        if self.input.reduce.is_none() {
            // The inner loops only find the one element; there is no sum.
            return self.inner(b, depth, state);
        }
        let var = b.var("sum", Expr::Const(self.input.rest));
        let hit = b.var("hit", Expr::Bool(false));
        state.target = Target::Sum { var, hit: Some(hit) };
        self.inner(b, depth, state);
        b.if_(hit.into(), |b| self.append(b, coordinates, var.into()));
    }

    fn open_workspace(&self, b: &mut Builder, depth: usize, state: State) {
        let output = &self.output;
        let work = output.workspace.as_ref().expect("declared for this kind");
        let stamp = output.stamp.expect("declared for this kind");
        b.assign(stamp, Expr::from(stamp) + 1);
        let touched = output.touched.expect("declared for this kind");
        b.assign(touched, Expr::Int(0));
        let coordinates = self.row_coordinates(&state, output.tail - 1);
        self.inner(b, depth, state);
        let count = Expr::from(touched);
        b.sort(work.list, Expr::Int(0), count.clone());
        output.reserve(b, count.clone());
        let row = output.row.expect("rows are counted");
        let lower = output.domains[output.tail - 1].1.clone();
        let rest = Expr::Const(self.input.rest);
        b.for_("t", Expr::Int(0), count.clone(), |b, t| {
            let slot = b.load(work.list, t.clone());
            let slot = b.bind("slot", slot);
            let at = b.bind("at", Expr::from(row) + t);
            let own = coordinates.iter().cloned().chain([slot.clone() + lower.clone()]);
            output.store_row(b, &at, own);
            let block = output.block();
            match block {
                Expr::Int(1) => {
                    let value = b.load(work.values, slot.clone());
                    b.store(output.values, at, value);
                    b.store(work.values, slot, rest.clone());
                }
                block => b.for_("in_block", Expr::Int(0), block.clone(), |b, e| {
                    let from = b.bind("from", slot.clone() * block.clone() + e.clone());
                    let value = b.load(work.values, from.clone());
                    b.store(output.values, at.clone() * block.clone() + e, value);
                    b.store(work.values, from, rest.clone());
                }),
            }
        });
        b.assign(row, Expr::from(row) + count);
    }

    fn open_slot(&self, b: &mut Builder, depth: usize, mut state: State) {
        let output = &self.output;
        let work = output.workspace.as_ref().expect("declared for this kind");
        let stamp = Expr::from(output.stamp.expect("declared for this kind"));
        let last = output.tail - 1;
        let crd = self.coordinate(&self.input.sink.levels[last], &state);
        let slot = b.bind("slot", crd - output.domains[last].1.clone());
        let base = b.bind("base", slot.clone() * output.block());
        let fresh = Expr::binary(BinOp::Ne, b.load(work.mark, slot.clone()), stamp.clone());
        // A branch: in stencils the pattern repeats, the branch is predicted, and no instruction waits.
        b.if_(fresh, |b| {
            let touched = output.touched.expect("declared for this kind");
            b.store(work.mark, slot.clone(), stamp.clone());
            b.store(work.list, touched.into(), slot);
            b.assign(touched, Expr::from(touched) + 1);
        });
        // The notes are of elements, if a row has one for each coordinate.
        let single = output.block() == Expr::Int(1);
        let (mark, list) = (work.mark, work.list);
        state.list = output.touched.filter(|_| single).map(|length| {
            let list = List { mark, stamp, list, length };
            (b.open_loops(), list)
        });
        state.target = Target::Block { array: work.values, base };
        self.sum(b, depth, state);
    }

    /// The innermost code: evaluates the term, and adds or stores the value.
    pub(in crate::plan) fn leaf(&self, b: &mut Builder, state: &State) {
        let value = self.value(b, &state.term, state);
        self.declare(b, state, &value);
        match &state.target {
            Target::Sum { var, hit } => {
                let op = self.input.reduce.expect("sums are formed where something is reduced");
                let dtype = self.input.rest.dtype();
                let value = if op.repeats(1, dtype) { b.bind("value", value) } else { value };
                let sum = match op.reduction(dtype) {
                    Some(op) => Expr::binary(op, (*var).into(), value),
                    None => op.emit(vec![(*var).into(), value], dtype, dtype),
                };
                b.assign(*var, sum);
                if let Some(hit) = hit {
                    b.assign(*hit, Expr::Bool(true));
                }
            }
            Target::Block { array, base } => {
                let place = base.clone() + self.offset(state);
                match self.input.reduce {
                    Some(op) => self.combine(b, op, *array, place, value),
                    None => {
                        let all = state.covers && self.covers_result();
                        self.sets_all.set(self.sets_all.get() || all);
                        b.store(*array, place, value);
                    }
                }
            }
            Target::None => {
                let coordinates = self.row_coordinates(state, self.output.tail);
                self.in_memory.set(self.in_memory.get() || self.input.reduce.is_some());
                self.append(b, coordinates, value);
            }
        }
    }

    /// Says what the innermost code computes.
    fn declare(&self, b: &mut Builder, state: &State, value: &Expr) {
        let (target, hit) = match &state.target {
            Target::Sum { var, hit } => (idiom::Target::Var(*var), *hit),
            Target::Block { array, base } => {
                (idiom::Target::Element(*array, base.clone() + self.offset(state)), None)
            }
            Target::None => return,
        };
        let op = self.input.reduce.map(|op| op.reduction(self.input.rest.dtype()));
        // The IR has no operator for other reductions.
        if op == Some(None) {
            return;
        }
        let (times, factors) = factors(value);
        let (sum, clear) = (state.sum.clone(), state.clear.clone());
        // Further out, the notes are not of the innermost code.
        let list = state.list.clone().filter(|(inside, _)| *inside == b.open_loops());
        let list = list.map(|(_, list)| list);
        b.declare(Leaf { target, op: op.flatten(), times, factors, sum, clear, list, hit });
    }
}

/// The factors of a product, or the operands of another operator.
fn factors(value: &Expr) -> (BinOp, Vec<Expr>) {
    fn add(op: BinOp, expr: &Expr, into: &mut Vec<Expr>) {
        match expr {
            Expr::Binary(of, a, b) if *of == op => {
                add(op, a, into);
                // Sums are rounded in the order in which they are written.
                match op {
                    BinOp::Mul => add(op, b, into),
                    _ => into.push((**b).clone()),
                }
            }
            _ => into.push(expr.clone()),
        }
    }
    let op = match value {
        Expr::Binary(op, ..) if op.is_reduction() => *op,
        _ => BinOp::Mul,
    };
    let mut all = Vec::new();
    add(op, value, &mut all);
    (op, all)
}
