//! What the emitter knows of the loops that it emits.

use ust_level_api::ir::{Builder, Expr, Function, Var};
use ust_level_api::{Interval, Walk, WalkSite};

use super::{Emit, State};
use crate::plan::order::Step;
use crate::plan::output::Target;
use crate::provider::plan::{Cut, Facts, Loop, Outermost, Over, Sum, continues, from_start};

/// Facts that are collected while loops are emitted.
#[derive(Debug, Default)]
pub(super) struct Collected {
    loops: Vec<Loop>,
    /// The range of the outermost loop, before it is cut.
    range: Option<Interval>,
    /// The cursors that follow the coordinates of the outermost loop, and the state of its levels.
    carried: Vec<Var>,
    /// See [`Facts::borders`].
    borders: Vec<[Var; 2]>,
}

impl Emit<'_> {
    /// Notes a loop that is about to be emitted. `walks` are the levels whose cursors its variables are.
    pub(super) fn note(
        &self,
        vars: &[&Expr],
        depth: usize,
        step: &Step,
        over: Over,
        walks: &[(usize, usize)],
        state: &State,
    ) {
        let single = || walks.iter().all(|&walk| self.level(walk).props.unique);
        let owns = self.has_own(step) && (over != Over::Cursor || single());
        let sum = match state.target {
            Target::Sum { var, hit } => {
                let dtype = self.input.rest.dtype();
                let op = self.input.reduce.and_then(|op| op.reduction(dtype));
                Some(Sum { var, op, start: self.input.rest, hit })
            }
            Target::None | Target::Block { .. } => None,
        };
        let has_state = || walks.iter().any(|&walk| self.level(walk).cursor.carries);
        let appends = !self.input.sink.kind.is_in_place() && sum.is_none();
        let fills = || self.input.order.tables.iter().any(|table| table.depth > depth);
        let sequential = match over {
            Over::Runs | Over::Followed | Over::Merge => true,
            Over::Run if walks.iter().any(|&walk| self.level(walk).cursor.decodes()) => true,
            Over::Coordinates | Over::Cursor | Over::Run => appends || has_state() || fills(),
        };
        let vars = vars.iter().filter_map(|var| match var {
            Expr::Var(var) => Some(*var),
            _ => None,
        });
        let vars = vars.collect();
        let mut collected = self.collected.borrow_mut();
        let around = collected.loops.iter().rev().find(|one| one.depth + 1 == depth);
        let contiguous = match walks {
            [walk] if matches!(over, Over::Cursor | Over::Runs) => {
                around.is_some_and(|around| self.continues(*walk, around))
            }
            _ => false,
        };
        let is_walked =
            |walk: &&(usize, usize)| walks.contains(walk) || self.level(**walk).props.full;
        let walks = step.walkers.iter().filter(is_walked).copied().collect();
        let expr = step.expr.clone();
        let crd = None;
        collected.loops.push(Loop {
            vars,
            depth,
            expr,
            over,
            crd,
            walks,
            once: false,
            contiguous,
            owns,
            sum,
            sequential,
        });
    }

    /// Notes the coordinate at the cursor of the loop that was noted last.
    pub(super) fn note_coordinate(&self, crd: &Expr) {
        if let Some(last) = self.collected.borrow_mut().loops.last_mut() {
            last.crd = Some(crd.clone());
        }
    }

    /// Notes that the loop that was noted last has one iteration, and stands for the code inside it.
    pub(super) fn note_once(&self) {
        if let Some(last) = self.collected.borrow_mut().loops.last_mut() {
            last.once = true;
        }
    }

    /// Notes variables whose values pass from one iteration of a loop to the next.
    pub(super) fn note_carried(&self, depth: usize, vars: impl IntoIterator<Item = Var>) {
        if depth == 0 {
            self.collected.borrow_mut().carried.extend(vars);
        }
    }

    /// Emits the walk of a level by a loop.
    pub(super) fn walk<'w>(
        &'w self,
        b: &mut Builder,
        depth: usize,
        (at, level): (usize, usize),
        site: &'w WalkSite,
    ) -> Walk<'w> {
        let first = b.variable_count();
        let walk = self.operands[at].format.levels()[level].ty.walk(site, b);
        if walk.advance.is_some() {
            // The level's state is in variables of its own.
            self.note_carried(depth, (first..b.variable_count()).map(Var));
        }
        walk
    }

    /// Notes the range of a loop, before it is cut.
    pub(super) fn note_range(&self, depth: usize, range: &Interval) {
        let mut collected = self.collected.borrow_mut();
        // Items are noted before the loops.
        if depth == 0 && (self.bounds.is_none() || collected.range.is_none()) {
            collected.range = Some(range.clone());
        }
    }

    /// Notes loops over a block, for those that are whole and for those at the border.
    pub(super) fn note_border(&self, vars: [Option<Var>; 2]) {
        if let [Some(whole), Some(border)] = vars {
            self.collected.borrow_mut().borders.push([whole, border]);
        }
    }

    /// The coordinates that merged first levels have.
    pub(super) fn coordinates_of(&self, (at, level): (usize, usize)) -> Interval {
        let sizes = &self.operands[at].sizes;
        let lo = sizes.lowers[level].clone();
        Interval { hi: lo.clone() + sizes.sizes[level].clone(), lo }
    }

    /// Whether coordinates of the loop are those of the result, which is written at known positions.
    fn has_own(&self, step: &Step) -> bool {
        let own = |v: &usize| self.input.result.contains(v);
        self.input.sink.kind.is_in_place() && step.expr.vars().iter().all(own)
    }

    /// Whether the cursors of a level continue from one iteration of a loop to the next.
    fn continues(&self, (at, level): (usize, usize), around: &Loop) -> bool {
        let descriptions = self.operands[at].format.descriptions();
        level.checked_sub(1).is_some_and(|above| {
            around.walks.contains(&(at, above))
                && continues(&descriptions[level], around.over, &descriptions[above])
        })
    }

    /// Whether parts write different elements, if each has iterations of the first `depth` loops of its own.
    pub(super) fn parts_own(&self, depth: usize) -> bool {
        let steps = &self.steps()[..depth.min(self.steps().len())];
        // Parts that begin where a coordinate does are apart, too.
        let distinct = |&walk: &(usize, usize)| {
            let props = self.level(walk).props;
            props.unique || props.ordered
        };
        let own = |step: &Step| self.has_own(step) && step.walkers.iter().all(distinct);
        !steps.is_empty() && steps.iter().all(own)
    }

    /// The facts of the loops of a function.
    pub(super) fn facts(self, cut: Result<Cut, &'static str>, function: &Function) -> Facts {
        let owns = self.parts_own(1 + self.cut_depth());
        let Collected { loops: all, range, mut carried, borders } = self.collected.take();
        let assigned = function.assigned();
        carried.retain(|var| assigned[var.0 as usize]);
        carried.extend(self.table_numbers());
        let range = range.filter(|_| cut.is_ok()).and_then(|range| from_start(range, function));
        let walks = self.input.order.steps.first().map_or(Vec::new(), |step| step.walkers.clone());
        let rows = self.output.rows(self.input, self.speculative.get());
        let sets_all = self.sets_all.get();
        let outermost = Outermost { cut, range, owns, walks };
        let (parameters, arrays) = (self.parameters, self.arrays);
        Facts { parameters, arrays, outermost, loops: all, rows, carried, sets_all, borders }
    }
}
