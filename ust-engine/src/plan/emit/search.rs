//! Searches of levels whose coordinate is known.

use ust_level_api::Located;
use ust_level_api::ir::{Builder, Expr};

use super::{Emit, Origin, Pos, State};
use crate::walk::emit as index;
use crate::walk::find::{first_from, in_step};
use crate::walk::nest::Reach;

impl Emit<'_> {
    pub(super) fn search(
        &self,
        b: &mut Builder,
        depth: usize,
        list: &[(usize, usize)],
        mut state: State,
    ) {
        let Some((&(at, level), rest)) = list.split_first() else {
            return self.settle(b, depth, state);
        };
        let info = self.level((at, level));
        let (wanted, origin) = match state.keys.iter().find(|(key, _)| *key == info.key) {
            Some((_, known)) => (known.clone(), Origin::Elsewhere),
            None => {
                let known: Vec<Expr> =
                    state.index.iter().map(|e| e.clone().unwrap_or(Expr::Int(0))).collect();
                (b.bind("wanted", index(&info.expr, &known)), Origin::Computed)
            }
        };
        let parent = state.live[at].clone();
        let above = state.coordinates[at].clone();
        state.coordinates[at].push(wanted.clone());
        state.origins[at].push(origin);
        let Some(parent) = parent else {
            return self.after_search(b, depth, at, rest, state);
        };
        let operand = &self.operands[at];
        let sizes = &operand.sizes;
        if info.props.full {
            let offset = wanted - sizes.lowers[level].clone();
            let Pos::One(parent) = parent else { unreachable!("a full level has one parent") };
            let pos = b.bind("pos", parent * sizes.sizes[level].clone() + offset);
            state.live[at] = Some(Pos::One(pos));
            return self.after_search(b, depth, at, rest, state);
        }
        state.covers = false;
        let ty = &operand.format.levels()[level].ty;
        let site = operand.site(level, parent.interval(), &above, Reach::Inside);
        let located = match (&parent, info.props.unique) {
            (Pos::One(_), true) => self
                .look_up(b, (at, level), &wanted, &state)
                .or_else(|| ty.locate(&site, wanted.clone(), b)),
            _ => None,
        };
        let located = located.unwrap_or_else(|| {
            // Coordinates are distinct: at most one child has the wanted one.
            let walk = ty.walk(&site, b);
            // A binary search, if coordinates ascend and each can be read by itself.
            if info.cursor.is_searchable() {
                let hi = b.bind("end", walk.cursor.hi.clone());
                let at = first_from(b, &walk, walk.cursor.lo.clone(), hi.clone(), &wanted);
                let at = b.bind("at", at);
                let here = (walk.step)(b, at.clone());
                let found = at.lt(hi).select(here.crd.equals(wanted.clone()), Expr::Bool(false));
                return Located { pos: here.pos, found };
            }
            let found = b.var("found_at", Expr::Int(-1));
            b.for_("cursor", walk.cursor.lo.clone(), walk.cursor.hi.clone(), |b, cursor| {
                let mut step = (walk.step)(b, cursor.clone());
                step.crd = b.bind("first", step.crd);
                b.if_(step.guard.clone().unwrap_or(Expr::Bool(true)), |b| {
                    in_step(b, step, &wanted, |b, pos| b.assign(found, pos));
                });
                if let Some(advance) = &walk.advance {
                    advance(b, cursor);
                }
            });
            Located { pos: found.into(), found: Expr::Int(0).le(found) }
        });
        let absent = self.without(&state, &[at]);
        let (pos, mut state) = (located.pos, state);
        b.if_else(
            located.found,
            |b| {
                let pos = b.bind("pos", pos);
                state.live[at] = Some(Pos::One(pos));
                self.after_search(b, depth, at, rest, state);
            },
            |b| {
                if let Some(absent) = absent {
                    self.after_search(b, depth, at, rest, absent);
                }
            },
        );
    }

    fn after_search(
        &self,
        b: &mut Builder,
        depth: usize,
        at: usize,
        rest: &[(usize, usize)],
        state: State,
    ) {
        self.solve(b, &[at], state, &mut |b, state| self.search(b, depth, rest, state));
    }
}
