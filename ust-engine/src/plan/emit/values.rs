//! Loads of elements whose position is known, and terms as IR.

use ust_level_api::ir::{BinOp, Builder, Expr, UnOp};
use ust_level_api::{Dtype, Scalar};

use super::{Emit, Pos, State};
use crate::expr::operator::Operator;
use crate::expr::term::Term;
use crate::walk::emit as index;

impl Emit<'_> {
    /// Loads the elements whose positions are known, and emits the result's code at this depth.
    pub(super) fn settle(&self, b: &mut Builder, depth: usize, mut state: State) {
        let before = state.elements.clone();
        self.load_known(b, &mut state);
        let stored = self.is_stored(depth, &before, &state);
        b.if_(stored, |b| self.open(b, depth, state));
    }

    /// A condition: whether the elements loaded here are entries, not padding. It keeps padding out of a
    /// result that stores single elements. It is true where padding does no harm.
    fn is_stored(&self, depth: usize, before: &[Option<Expr>], state: &State) -> Expr {
        if !self.output.stores_elements() {
            return Expr::Bool(true);
        }
        let padded = |at: &usize| {
            let tensor = &self.input.tensors[*at];
            tensor.has_padding() && !self.input.accesses[*at].full && state.elements[*at].is_some()
        };
        let accesses: Vec<usize> = state.term.uses().into_iter().filter(padded).collect();
        let differs = |at: &usize| {
            let element = state.elements[*at].clone().expect("looked at above");
            Expr::Unary(UnOp::Not, Box::new(is(element, self.input.fills[*at])))
        };
        let (needed, others): (Vec<usize>, Vec<usize>) =
            accesses.into_iter().partition(|&at| !self.worth_without(&state.term, &[at]));
        let fresh = needed.iter().filter(|&&at| before[at].is_none());
        let all = fresh.map(differs).fold(Expr::Bool(true), Expr::and);
        let last = depth == self.input.order.steps.len();
        if !last || others.is_empty() || self.worth_without(&state.term, &others) {
            return all;
        }
        let any = others.iter().map(differs).reduce(|a, b| Expr::binary(BinOp::Or, a, b));
        all.and(any.expect("there are some"))
    }

    /// Loads the elements whose positions are known.
    pub(super) fn load_known(&self, b: &mut Builder, state: &mut State) {
        let wanted = state.term.uses();
        for at in wanted {
            if state.elements[at].is_some() {
                continue;
            }
            if let Some(pos) = self.position(at, state) {
                state.elements[at] = Some(self.load(b, at, &pos));
            }
        }
    }

    /// The position of an access's element, if it is known.
    pub(in crate::plan) fn position(&self, at: usize, state: &State) -> Option<Pos> {
        let access = &self.input.accesses[at];
        if !access.full {
            let complete = state.coordinates[at].len() == access.levels.len();
            return state.live[at].clone().filter(|_| complete);
        }
        let known: Option<Vec<Expr>> =
            access.dims.iter().map(|&v| state.index[v].clone()).collect();
        let known = known?;
        let sizes = &self.operands[at].sizes;
        let mut pos = Expr::Int(0);
        for (level, spec) in self.operands[at].format.levels().iter().enumerate() {
            let crd = index(&spec.expr, &known) - sizes.lowers[level].clone();
            pos = pos * sizes.sizes[level].clone() + crd;
        }
        Some(Pos::One(pos))
    }

    /// The stored value at a position.
    fn stored(&self, b: &mut Builder, at: usize, pos: Expr) -> Expr {
        let pos = if self.input.tensors[at].is_iso() { Expr::Int(0) } else { pos };
        b.load(self.values[at], pos)
    }

    pub(super) fn load(&self, b: &mut Builder, at: usize, pos: &Pos) -> Expr {
        let tensor = &self.input.tensors[at];
        let dtype = tensor.dtype();
        let name = format!("{}_at", self.input.names[at]);
        let value = match pos {
            Pos::One(pos) => {
                let value = self.stored(b, at, pos.clone());
                b.bind(&name, value)
            }
            Pos::Run(run) => {
                let first = self.stored(b, at, run.lo.clone());
                let sum = b.var(&name, first);
                b.for_("same", run.lo.clone() + 1, run.hi.clone(), |b, same| {
                    let value = self.stored(b, at, same);
                    b.assign(sum, Operator::Add.emit(vec![sum.into(), value], dtype, dtype));
                });
                sum.into()
            }
        };
        let (fill, meant) = (tensor.fill(), self.input.fills[at]);
        if tensor.has_padding() && !fill.same(&meant) {
            let padding = is(value.clone(), fill);
            return b.bind(&name, padding.select(Expr::Const(meant), value));
        }
        value
    }

    fn dtype(&self, term: &Term) -> Dtype {
        match term {
            Term::Const(value) => value.dtype(),
            Term::Element(at) => self.input.tensors[*at].dtype(),
            Term::Present(_) => Dtype::Bool,
            Term::Index(_) => Dtype::I64,
            Term::Places(_, dtype) => *dtype,
            Term::Call { dtype, .. } | Term::Stored { dtype, .. } => *dtype,
            Term::Reduce { body, .. } => self.dtype(body),
        }
    }

    /// A term as IR.
    pub(in crate::plan) fn value(&self, b: &mut Builder, term: &Term, state: &State) -> Expr {
        match term {
            Term::Const(value) => Expr::Const(*value),
            Term::Element(at) => state.elements[*at].clone().expect("loaded once it is known"),
            Term::Present(at) => {
                let tensor = &self.input.tensors[*at];
                match tensor.has_padding() {
                    false => Expr::Const(Scalar::Bool(true)),
                    true => {
                        let element = state.elements[*at].clone().expect("loaded");
                        is(element, self.input.fills[*at]).select(
                            Expr::Const(Scalar::Bool(false)),
                            Expr::Const(Scalar::Bool(true)),
                        )
                    }
                }
            }
            Term::Index(v) => {
                let coordinate = state.index[*v].clone().expect("the loops give every index");
                coordinate.cast(Dtype::I64)
            }
            Term::Places(indices, dtype) => {
                let each = indices.iter().map(|&v| self.extents[v].clone().cast(*dtype));
                let all = each.reduce(|a, b| a * b);
                all.unwrap_or(Expr::Const(dtype.one()))
            }
            Term::Call { op, args, dtype } => {
                let of = args.last().map_or(*dtype, |last| self.dtype(last));
                let args = args.iter().enumerate().map(|(at, arg)| {
                    let value = self.value(b, arg, state);
                    if op.repeats(at, of) { b.bind("arg", value) } else { value }
                });
                let args: Vec<Expr> = args.collect();
                folded(op, &args, *dtype).unwrap_or_else(|| op.emit(args, of, *dtype))
            }
            Term::Stored { .. } => unreachable!("a choice in a stage"),
            Term::Reduce { .. } => unreachable!("a reduction inside a term is a stage of its own"),
        }
    }
}

/// The result of an operator on constants.
fn folded(op: &Operator, args: &[Expr], dtype: Dtype) -> Option<Expr> {
    let constant = |arg: &Expr| match arg {
        Expr::Const(value) => Some(*value),
        _ => None,
    };
    if *op == Operator::Where {
        let side = op.picks(0, constant(&args[0])?, dtype)?;
        return Some(args[side].clone());
    }
    let all: Option<Vec<Scalar>> = args.iter().map(constant).collect();
    op.eval(&all?, dtype).map(Expr::Const)
}

/// Whether a value is this constant. NaN equals NaN.
pub(crate) fn is(value: Expr, constant: Scalar) -> Expr {
    // Only NaN is unequal to itself.
    let is_nan = Some(constant) != constant.cast(constant.dtype()).ok();
    if !is_nan {
        return value.equals(Expr::Const(constant));
    }
    Expr::binary(BinOp::Ne, value.clone(), value)
}
