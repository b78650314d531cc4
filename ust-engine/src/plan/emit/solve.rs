//! Index variables that follow from level coordinates (`i` from `i / 4` and `i % 4`), and the tests that
//! they need.

use ust_format::IndexExpr;
use ust_level_api::ir::{Builder, Expr};

use super::{Emit, Origin, State};
use crate::plan::access::Access;
use crate::walk::emit as index;

impl Emit<'_> {
    /// Computes the index variables that follow from the last levels of some accesses. Emits tests that they
    /// lie inside the shape and agree with known values, except where that is certain; then the inner code.
    pub(super) fn solve(
        &self,
        b: &mut Builder,
        accesses: &[usize],
        mut state: State,
        then: &mut dyn FnMut(&mut Builder, State),
    ) {
        let mut inside = Expr::Bool(true);
        // The index variables computed here, with their values.
        let mut learned: Vec<(usize, Expr)> = Vec::new();
        let live_first = accesses.iter().filter(|&&at| state.live[at].is_some());
        let order: Vec<usize> = live_first
            .chain(accesses.iter().filter(|&&at| state.live[at].is_none()))
            .copied()
            .collect();
        for &at in &order {
            let operand = &self.operands[at];
            let access = &self.input.accesses[at];
            let level = state.coordinates[at].len() - 1;
            let known = known_levels(&state.coordinates[at], access.levels.len());
            let mut whole = vec![None; access.dims.len()];
            for (dim, inverse) in access.inverse.iter().enumerate() {
                if inverse.vars().into_iter().all(|l| l <= level) {
                    whole[dim] = Some(index(inverse, &known));
                }
            }
            let completed: Vec<usize> = operand.bounds.completed_at(level).collect();
            for dim in completed {
                let v = access.dims[dim];
                let value = whole[dim].clone().expect("complete");
                let inverse = &access.inverse[dim];
                let computed =
                    inverse.vars().into_iter().all(|l| state.origins[at][l] == Origin::Computed);
                match &state.index[v] {
                    Some(before) if *before == value || computed => {}
                    Some(_) if learned.contains(&(v, value.clone())) => {}
                    // Two loops gave the index variable. Unless both values are equal, no element is here.
                    Some(before) => inside = inside.and(value.equals(before.clone())),
                    None => {
                        learned.push((v, value.clone()));
                        let value = b.bind(&self.input.indices[v], value);
                        let plain = dim_of(access, dim);
                        // An index variable that follows from a stored coordinate is inside the shape.
                        let stored = |&at: &usize| {
                            let level = state.coordinates[at].len() - 1;
                            let dims = &self.input.accesses[at].dims;
                            state.live[at].is_some()
                                && !self.level((at, level)).props.full
                                && self.operands[at]
                                    .bounds
                                    .completed_at(level)
                                    .any(|d| dims[d] == v)
                        };
                        let trusted = order
                            .iter()
                            .any(|at| stored(at) && self.is_trusted(*at, plain, &state))
                            || order.iter().all(|&at| self.is_trusted(at, plain, &state));
                        let gaps = operand.bounds.needs_guard(dim);
                        if !trusted || gaps {
                            let extent = self.extents[v].clone();
                            inside = inside
                                .and(Expr::Int(0).le(value.clone()))
                                .and(value.clone().lt(extent));
                        }
                        if gaps {
                            let levels = &state.coordinates[at];
                            inside = inside.and(operand.maps_back(dim, levels, &whole));
                        }
                        state.index[v] = Some(value);
                    }
                }
            }
        }
        state.covers &= inside == Expr::Bool(true);
        b.if_(inside, |b| then(b, state));
    }

    /// Whether the coordinate at an access's last level so far is certainly inside the shape.
    fn is_trusted(&self, at: usize, plain: Option<usize>, state: &State) -> bool {
        let level = state.coordinates[at].len() - 1;
        let props = self.level((at, level)).props;
        let own = state.origins[at][level] == Origin::Own || plain == Some(level);
        // Stored coordinates were checked; those of padding may be outside, if the level says so. A full
        // level has every coordinate, so the bounds of the loop decide.
        match state.live[at].is_none() || props.full {
            true => own,
            false => !props.overhangs || state.origins[at][level] == Origin::Own,
        }
    }
}

/// The level whose coordinate equals that of a dimension, if there is one.
fn dim_of(access: &Access, dim: usize) -> Option<usize> {
    match access.inverse[dim] {
        IndexExpr::Var(level) => Some(level),
        _ => None,
    }
}

/// The level coordinates known so far, padded with zeros for the levels below, which are not used.
fn known_levels(levels: &[Expr], count: usize) -> Vec<Expr> {
    let mut all = levels.to_vec();
    all.resize(count, Expr::Int(0));
    all
}
