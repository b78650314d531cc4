//! Innermost merges without branches that depend on data.
//!
//! An innermost merge that appends to the result spends most of its time on mispredicted branches. Two
//! kinds of merges need no branch:
//!
//! * *any*: the result has a row wherever one of the tensors stores an entry, as in `A + B`. A tensor
//!   without an entry at the coordinate contributes its fill value.
//! * *all*: the result has a row only where all tensors store an entry, as in `A * B`. The loop writes a
//!   row in every iteration. Unless the coordinates were equal, the next iteration overwrites it.

use ust_format::IndexExpr;
use ust_level_api::Walk;
use ust_level_api::ir::idiom::{Merged, Segments};
use ust_level_api::ir::{Builder, Expr};

use super::{Emit, Pos, State};
use crate::expr::operator::Operator;
use crate::expr::term::Term;
use crate::plan::order::Step;
use crate::provider::plan::Over;
use crate::tuning::ZIP_MAX_TENSORS;
use crate::walk::nest::Reach;
use crate::walk::shape::{Children, Shape};

/// The cursors of a merge.
struct Cursors<'a> {
    /// The index variable of the loop.
    index: usize,
    /// Whether this is a merge of kind *any*; else it is of kind *all*.
    any: bool,
    accesses: Vec<usize>,
    walks: Vec<Walk<'a>>,
    at: Vec<Expr>,
    set: &'a dyn Fn(&mut Builder, usize, Expr),
    ends: Vec<Expr>,
}

/// An iteration of the merge.
struct Here {
    /// The coordinate of the row: the least of the cursors' coordinates.
    crd: Expr,
    /// For each cursor, whether it has that coordinate.
    mine: Vec<Expr>,
    /// For each cursor, the value at its position.
    raw: Vec<Expr>,
}

impl Emit<'_> {
    /// Emits the merge if it is of one of the two kinds. Else emits nothing, and returns false.
    pub(super) fn zip(
        &self,
        b: &mut Builder,
        depth: usize,
        step: &Step,
        walkers: &[(usize, usize)],
        state: &State,
    ) -> bool {
        let IndexExpr::Var(v) = step.expr else { return false };
        let simple = |&(at, level): &(usize, usize)| {
            let access = &self.input.accesses[at];
            let levels = access.levels.iter().all(|l| matches!(l.expr, IndexExpr::Var(_)));
            let own = &access.levels[level];
            let single = own.props.unique && own.cursor.is_searchable();
            levels && level + 1 == access.levels.len() && single
        };
        let full = step.walkers.iter().filter(|w| !walkers.contains(w));
        let innermost = depth + 1 == self.steps().len() && step.searches.is_empty();
        if !innermost
            || walkers.len() > ZIP_MAX_TENSORS
            || !walkers.iter().all(simple)
            || full.clone().any(|w| !self.input.accesses[w.0].full)
            || !self.output.appends_at(depth + 1)
        {
            return false;
        }
        let accesses: Vec<usize> = walkers.iter().map(|w| w.0).collect();
        let all = (1_u32 << accesses.len()) - 1;
        let others = |set: u32| -> Vec<usize> {
            (0..accesses.len()).filter(|bit| set >> bit & 1 == 0).map(|bit| accesses[bit]).collect()
        };
        let worth: Vec<bool> =
            (1..=all).map(|set| self.worth_without(&state.term, &others(set))).collect();
        let any = worth.iter().all(|&worth| worth) && is_sum(&state.term);
        let every = worth.iter().enumerate().all(|(at, &worth)| worth == (at as u32 + 1 == all));
        let wanted = any || (every && is_cheap(&state.term));
        if !wanted {
            return false;
        }
        let sites: Vec<_> = walkers
            .iter()
            .map(|&(at, level)| {
                let parent = state.live[at].as_ref().expect("a walker is live").interval();
                self.operands[at].site(level, parent, &state.coordinates[at], Reach::Inside)
            })
            .collect();
        let walks: Vec<Walk<'_>> = walkers
            .iter()
            .zip(&sites)
            .map(|(&(at, level), site)| self.operands[at].format.levels()[level].ty.walk(site, b))
            .collect();
        self.note_range(depth, &self.coordinates_of(walkers[0]));
        let (vars, ends) = self.cursors(b, depth, &self.loop_name(step), &walks, state);
        let cursors = Cursors {
            index: v,
            any,
            accesses: accesses.clone(),
            at: vars.iter().map(|&var| var.into()).collect(),
            set: &|b, bit, to| b.assign(vars[bit], to),
            walks,
            ends,
        };
        let left = |bit: usize| (cursors.ends[bit].clone() - cursors.at[bit].clone()).max(0);
        let most = (0..accesses.len()).map(left).reduce(|a, b| a + b).expect("a walker");
        self.output.reserve(b, most);
        let mut sets: Vec<u32> = (1..=all).collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        for set in sets.into_iter().filter(|&set| any || set == all) {
            let Some(state) = self.without(state, &others(set)) else { continue };
            let members: Vec<usize> =
                (0..accesses.len()).filter(|bit| set >> bit & 1 == 1).collect();
            let more = |&bit: &usize| cursors.at[bit].clone().lt(cursors.ends[bit].clone());
            let go = members.iter().map(more).reduce(Expr::and).expect("a member");
            let (over, at): (Over, Vec<&Expr>) = match members[..] {
                [bit] => (Over::Cursor, vec![&cursors.at[bit]]),
                _ => (Over::Merge, members.iter().map(|&bit| &cursors.at[bit]).collect()),
            };
            let own: Vec<_> = members.iter().map(|&bit| walkers[bit]).collect();
            self.note(&at, depth, step, over, &own, &state);
            b.while_(go, |b| self.zipped(b, &cursors, &members, state));
        }
        if let (true, [x, y]) = (any, walkers) {
            self.declare_union(b, v, [*x, *y], state);
        }
        true
    }

    /// Says that a merge adds two compressed rows, if it does.
    fn declare_union(
        &self,
        b: &mut Builder,
        v: usize,
        walkers: [(usize, usize); 2],
        state: &State,
    ) -> Option<()> {
        let Term::Call { op: Operator::Add, args, dtype } = &state.term else { return None };
        let of = [Term::Element(walkers[0].0), Term::Element(walkers[1].0)];
        let zero = |at: usize| self.input.fills[at].same(&dtype.zero());
        let by_last = self.input.sink.levels.last() == Some(&IndexExpr::Var(v));
        if args[..] != of || !walkers.iter().all(|&(at, _)| zero(at)) || !by_last {
            return None;
        }
        let operand = |(at, level): (usize, usize)| {
            if self.input.tensors[at].is_iso() {
                return None;
            }
            let Pos::One(row) = state.live[at].clone()? else { return None };
            let operand = &self.operands[at];
            let Shape::Listed { crd, children: Children::Segment(pos) } =
                Shape::of(&operand.format, level)
            else {
                return None;
            };
            let [pos, crd] = [pos, crd].map(|array| operand.arrays[level][array]);
            Some((Segments { pos, crd, values: self.values[at] }, row))
        };
        let operands = [operand(walkers[0])?, operand(walkers[1])?];
        let (row, crd, values, starts) = self.output.rows_of_one_column()?;
        let starts = match starts {
            Some(starts) => Some((starts, state.begin.clone()?)),
            None => None,
        };
        b.declare(Merged { operands, row, crd, values, starts });
        Some(())
    }

    /// Emits an iteration of the loop over these members. The loop ends when one of them is exhausted.
    fn zipped(&self, b: &mut Builder, cursors: &Cursors<'_>, members: &[usize], state: State) {
        let mut coordinates = Vec::new();
        let mut raw = Vec::new();
        for &bit in members {
            let here = (cursors.walks[bit].step)(b, cursors.at[bit].clone());
            coordinates.push(b.bind("crd", here.crd));
            raw.push(self.load(b, cursors.accesses[bit], &Pos::One(here.pos)));
        }
        let least = || coordinates.iter().cloned().reduce(Expr::min).expect("a member");
        match &coordinates[..] {
            [_] => {
                let here = Here { crd: least(), mine: vec![Expr::Bool(true)], raw };
                self.push_zipped(b, cursors, members, here, state);
            }
            // If two patterns are alike, the branch is predicted, and no instruction waits for the compare.
            // If they are not, each cursor advances by its own compare, without waiting for the minimum.
            [first, second] if cursors.any => b.if_else(
                first.clone().equals(second.clone()),
                |b| {
                    let mine = vec![Expr::Bool(true); 2];
                    let here = Here { crd: first.clone(), mine, raw: raw.clone() };
                    self.push_zipped(b, cursors, members, here, state.clone());
                },
                |b| {
                    let mine = [(first, second), (second, first)]
                        .map(|(own, other)| b.bind("mine", own.clone().lt(other.clone())));
                    let crd = b.bind(&self.input.indices[cursors.index], least());
                    let here = Here { crd, mine: mine.to_vec(), raw: raw.clone() };
                    self.push_zipped(b, cursors, members, here, state.clone());
                },
            ),
            _ => {
                let crd = b.bind(&self.input.indices[cursors.index], least());
                let mine: Vec<Expr> = match &coordinates[..] {
                    [a, z] => vec![a.clone().le(z.clone()), z.clone().le(a.clone())],
                    all => all.iter().map(|own| own.clone().equals(crd.clone())).collect(),
                };
                let mine = mine.into_iter().map(|mine| b.bind("mine", mine)).collect();
                let here = Here { crd, mine, raw };
                self.push_zipped(b, cursors, members, here, state);
            }
        }
    }

    /// Writes a row, and advances the cursors that have its coordinate.
    fn push_zipped(
        &self,
        b: &mut Builder,
        cursors: &Cursors<'_>,
        members: &[usize],
        here: Here,
        mut state: State,
    ) {
        let Here { crd, mine, raw } = here;
        for ((&bit, value), mine) in members.iter().zip(raw).zip(&mine) {
            let at = cursors.accesses[bit];
            let value = match mine {
                Expr::Bool(true) => value,
                mine if cursors.any => {
                    let fill = Expr::Const(self.input.fills[at]);
                    b.bind("element", mine.clone().select(value, fill))
                }
                _ => value,
            };
            state.elements[at] = Some(value);
        }
        state.index[cursors.index] = Some(crd);
        self.load_known(b, &mut state);
        let value = self.value(b, &state.term.clone(), &state);
        let coordinates = self.row_coordinates(&state, self.output.columns());
        let hit = match cursors.any {
            true => Expr::Bool(true),
            false => mine.iter().cloned().fold(Expr::Bool(true), Expr::and),
        };
        self.push_when(b, coordinates, value, &hit);
        for (&bit, mine) in members.iter().zip(&mine) {
            let one = match mine {
                Expr::Bool(true) => Expr::Int(1),
                mine => mine.clone().select(1, 0),
            };
            (cursors.set)(b, bit, cursors.at[bit].clone() + one);
        }
    }
}

/// Whether a term may be evaluated with the fill value in place of an unstored element. Not for products:
/// the product of an unstored zero and infinity is 0, that of the numbers is not.
fn is_sum(term: &Term) -> bool {
    match term {
        Term::Const(_) | Term::Element(_) => true,
        Term::Call { op, args, .. } => {
            matches!(
                op,
                Operator::Add | Operator::Sub | Operator::Neg | Operator::Min | Operator::Max
            ) && args.iter().all(is_sum)
        }
        _ => false,
    }
}

/// Whether a term is cheap enough to be evaluated in iterations whose row is overwritten.
fn is_cheap(term: &Term) -> bool {
    match term {
        Term::Const(_) | Term::Element(_) => true,
        Term::Call { op, args, .. } => {
            let cheap = matches!(
                op,
                Operator::Add
                    | Operator::Sub
                    | Operator::Neg
                    | Operator::Min
                    | Operator::Max
                    | Operator::Mul
            );
            cheap && args.iter().all(is_cheap)
        }
        _ => false,
    }
}
