//! Innermost loops over several tensors together, without a branch that depends on the data.
//!
//! Where what is stored of several tensors is appended to a result, in the last loop of all, most
//! of the time of a merge with branches goes into guessing them wrongly. Two cases do without:
//!
//! * *any*: the term is worth something wherever one of the tensors has something stored, as in
//!   `A + B`. A tensor that has nothing at a coordinate gives its fill value.
//! * *all*: only where all of them do, as in `A * B`. Every row is written, and the next one over
//!   it unless the coordinates were equal.

use ust_format::IndexExpr;
use ust_level_api::Walk;
use ust_level_api::ir::{Builder, Expr};

use super::{Emit, Pos, State};
use crate::expr::operator::Operator;
use crate::expr::term::Term;
use crate::plan::order::Step;
use crate::walk::nest::Reach;

/// More tensors than this take the general way: there is a loop for each set of them.
const MOST: usize = 3;

/// Cursors over the tensors.
struct Cursors<'a> {
    /// The index variable that they run along.
    index: usize,
    /// Whether a row is written where any of them stands, not all.
    any: bool,
    uses: Vec<usize>,
    walks: Vec<Walk<'a>>,
    at: Vec<Expr>,
    set: &'a dyn Fn(&mut Builder, usize, Expr),
    ends: Vec<Expr>,
}

/// Where the cursors stand.
struct Here {
    /// The coordinate that is written.
    crd: Expr,
    /// For each cursor, whether it stands there.
    mine: Vec<Expr>,
    /// For each cursor, the value where it stands.
    raw: Vec<Expr>,
}

impl Emit<'_> {
    /// Writes the loops where they can be written so; else does nothing, and gives false.
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
            levels && level + 1 == access.levels.len() && access.levels[level].props.unique
        };
        let full = step.walkers.iter().filter(|w| !walkers.contains(w));
        let innermost = depth + 1 == self.steps().len() && step.searches.is_empty();
        if !innermost
            || walkers.len() > MOST
            || !walkers.iter().all(simple)
            || full.clone().any(|w| !self.input.accesses[w.0].full)
            || !self.output.appends_at(depth + 1)
        {
            return false;
        }
        let uses: Vec<usize> = walkers.iter().map(|w| w.0).collect();
        let all = (1_u32 << uses.len()) - 1;
        let others = |set: u32| -> Vec<usize> {
            (0..uses.len()).filter(|bit| set >> bit & 1 == 0).map(|bit| uses[bit]).collect()
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
        if walks.iter().any(|walk| walk.advance.is_some()) {
            return false;
        }
        let (vars, ends) = self.cursors(b, depth, &self.loop_name(step), &walks);
        let cursors = Cursors {
            index: v,
            any,
            uses: uses.clone(),
            at: vars.iter().map(|&var| var.into()).collect(),
            set: &|b, bit, to| b.assign(vars[bit], to),
            walks,
            ends,
        };
        let left = |bit: usize| (cursors.ends[bit].clone() - cursors.at[bit].clone()).max(0);
        let most = (0..uses.len()).map(left).reduce(|a, b| a + b).expect("a walker");
        self.output.reserve(b, most);
        let mut sets: Vec<u32> = (1..=all).collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        for set in sets.into_iter().filter(|&set| any || set == all) {
            let Some(state) = self.without(state, &others(set)) else { continue };
            let members: Vec<usize> = (0..uses.len()).filter(|bit| set >> bit & 1 == 1).collect();
            let more = |&bit: &usize| cursors.at[bit].clone().lt(cursors.ends[bit].clone());
            let go = members.iter().map(more).reduce(Expr::and).expect("a member");
            b.while_(go, |b| self.zipped(b, &cursors, &members, state));
        }
        true
    }

    fn zipped(&self, b: &mut Builder, cursors: &Cursors<'_>, members: &[usize], state: State) {
        let mut coordinates = Vec::new();
        let mut raw = Vec::new();
        for &bit in members {
            let here = (cursors.walks[bit].step)(b, cursors.at[bit].clone());
            coordinates.push(b.bind("crd", here.crd));
            raw.push(self.load(b, cursors.uses[bit], &Pos::One(here.pos)));
        }
        let least = || coordinates.iter().cloned().reduce(Expr::min).expect("a member");
        match &coordinates[..] {
            [_] => {
                let here = Here { crd: least(), mine: vec![Expr::Bool(true)], raw };
                self.push_zipped(b, cursors, members, here, state);
            }
            // Where two patterns are alike, a branch is foreseen and nothing waits for it; where they
            // are not, neither cursor waits for the least.
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

    /// Writes a row, and moves on.
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
            let at = cursors.uses[bit];
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
        self.output.push(b, coordinates, value, &hit);
        for (&bit, mine) in members.iter().zip(&mine) {
            let one = match mine {
                Expr::Bool(true) => Expr::Int(1),
                mine => mine.clone().select(1, 0),
            };
            (cursors.set)(b, bit, cursors.at[bit].clone() + one);
        }
    }
}

/// Whether a term has the value that it should have where what is not stored is taken as a number:
/// a product of an unstored zero and infinity is 0.
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

/// Whether a term may be evaluated where it is not wanted.
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
