//! The search for one element: levels that can locate a coordinate do so, other levels are walked.

use ust_level_api::ir::{ArrayId, BinOp, Builder, Elem, Expr, Function, Ty};
use ust_level_api::{IndexKind, Interval, Located, Run, Scalar, Step, Walk};

use super::nest::{Operand, Reach};
use crate::storage::Tensor;

/// Emits a binary search for the first cursor in `lo .. hi` whose coordinate is at least `crd`.
/// Coordinates ascend along the cursor.
pub(crate) fn first_from(b: &mut Builder, walk: &Walk<'_>, lo: Expr, hi: Expr, crd: &Expr) -> Expr {
    let (from, to) = (b.var("from", lo), b.var("to", hi));
    b.while_(Expr::from(from).lt(to), |b| {
        let between = Expr::binary(BinOp::Shr, Expr::from(from) + Expr::from(to), 1.into());
        let middle = b.bind("middle", between);
        let below = (walk.step)(b, middle.clone()).crd.lt(crd.clone());
        b.if_else(below, |b| b.assign(from, middle.clone() + 1), |b| b.assign(to, middle.clone()));
    });
    from.into()
}

/// A function that sums the entries at given level coordinates.
///
/// Parameters: the tensor's sizes, then a coordinate for each level. Arrays: the tensor's, then
/// `values`, `sum` (one element, starting at zero) and `found`: the number of entries, starting at zero; the place of
/// the last value that is one; and, from `PATH` on, for each level the parent that the search came to, and below
/// the last level the position of the value.
#[must_use]
pub fn find(tensor: &Tensor) -> (Function, Operand) {
    let dtype = tensor.dtype();
    let mut b = Builder::new("find");
    let operand = Operand::declare(&mut b, "A", &tensor.outline());
    let wanted: Vec<Expr> =
        (0..operand.format.level_count()).map(|l| b.param(&format!("c{l}"), Ty::Int)).collect();
    let arrays = Arrays {
        values: b.array("values", Elem::Value(dtype), false),
        sum: b.array("sum", Elem::Value(dtype), true),
        found: b.array("found", Elem::Index(IndexKind::I64), true),
        is_iso: tensor.is_iso(),
        padding: tensor.has_padding().then(|| tensor.fill()),
    };
    descend(&mut b, &operand, &wanted, 0, Expr::Int(0), &arrays);
    (b.finish(), operand)
}

/// Where `found` has the number of entries.
pub(crate) const COUNT: usize = 0;
/// Where it has the place of the last one.
pub(crate) const PLACE: usize = 1;
/// Where the positions begin that the search came to.
pub(crate) const PATH: usize = 2;

struct Arrays {
    values: ArrayId,
    sum: ArrayId,
    found: ArrayId,
    /// Whether there is one value for all positions.
    is_iso: bool,
    /// The value of padding, where there is padding.
    padding: Option<Scalar>,
}

/// Whether a value is an entry: it differs from `padding`, the fill value of a tensor with padding.
pub(super) fn is_entry(value: Expr, padding: Option<Scalar>) -> Expr {
    let Some(fill) = padding else { return Expr::Bool(true) };
    // Only NaN differs from itself.
    let is_nan = Some(fill) != padding;
    match is_nan {
        true => value.clone().equals(value),
        false => Expr::binary(BinOp::Ne, value, Expr::Const(fill)),
    }
}

fn descend(
    b: &mut Builder,
    operand: &Operand,
    wanted: &[Expr],
    level: usize,
    parent: Expr,
    out: &Arrays,
) {
    b.store(out.found, Expr::Int((PATH + level) as i64), parent.clone());
    if level == wanted.len() {
        let at = if out.is_iso { Expr::Int(0) } else { parent.clone() };
        let value = b.load(out.values, at);
        let value = b.bind("value", value);
        return b.if_(is_entry(value.clone(), out.padding), |b| {
            b.reduce(BinOp::Add, out.sum, Expr::Int(0), value);
            b.reduce(BinOp::Add, out.found, Expr::Int(COUNT as i64), Expr::Int(1));
            b.store(out.found, Expr::Int(PLACE as i64), parent);
        });
    }
    let ty = &operand.format.levels()[level].ty;
    let site = operand.site(level, Interval::one(parent), &wanted[..level], Reach::Inside);
    // A nonunique level may store a coordinate several times, and a search finds one position only.
    let located = match operand.format.descriptions()[level].props.unique {
        true => ty.locate(&site, wanted[level].clone(), b),
        false => None,
    };
    if let Some(located) = located {
        let pos = located.pos;
        return b.if_(located.found, |b| {
            let pos = b.bind("at", pos);
            descend(b, operand, wanted, level + 1, pos, out);
        });
    }
    let walk = ty.walk(&site, b);
    b.for_("cursor", walk.cursor.lo.clone(), walk.cursor.hi.clone(), |b, cursor| {
        let mut step = (walk.step)(b, cursor.clone());
        step.crd = b.bind("crd", step.crd);
        let guard = step.guard.clone().unwrap_or(Expr::Bool(true));
        b.if_(guard, |b| {
            in_step(b, step, &wanted[level], |b, pos| {
                let pos = b.bind("at", pos);
                descend(b, operand, wanted, level + 1, pos, out);
            });
        });
        if let Some(advance) = &walk.advance {
            advance(b, cursor);
        }
    });
}

/// Emits code for the child of a step that has the coordinate `wanted`, if there is one. The body gets its position.
pub(crate) fn in_step(
    b: &mut Builder,
    step: Step,
    wanted: &Expr,
    body: impl FnOnce(&mut Builder, Expr),
) {
    match (step.locate(wanted.clone()), step.run) {
        (Some(Located { pos, found }), _) => b.if_(found, |b| body(b, pos)),
        (None, Some(Run::Coded(code))) => {
            b.coded("here", (step.crd, step.pos), code, |b, crd, pos| {
                b.if_(crd.equals(wanted.clone()), |b| body(b, pos));
            });
        }
        (None, _) => unreachable!("only what has to be decoded cannot be located"),
    }
}
