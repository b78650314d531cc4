//! Terms with their dtypes, and the casts that bring arguments to one dtype.

use std::collections::BTreeSet;

use ust_level_api::{Dtype, Scalar};

use crate::expr::operator::Operator;
use crate::expr::operator::typing::promote;
use crate::expr::term::Term;

/// A term with its dtype.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) term: Term,
    pub(crate) ty: Ty,
}

/// The dtype of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    /// This dtype.
    Strong(Dtype),
    /// The dtype of a literal, which adapts to other arguments: this dtype if there are none.
    Weak(Dtype),
}

impl Ty {
    pub(crate) fn dtype(self) -> Dtype {
        match self {
            Ty::Strong(dtype) | Ty::Weak(dtype) => dtype,
        }
    }
}

/// Arguments that an operator does not take.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypeError {
    /// The operator does not take this dtype.
    Refused(Dtype),
    /// A literal does not fit this dtype.
    Number(Scalar, Dtype),
    /// The operator's result for arguments of this dtype has another dtype, so it cannot reduce them.
    Unstable(Dtype, Dtype),
    /// The operator has no known identity.
    NoIdentity(Dtype),
}

/// A literal.
pub(crate) fn literal(value: Scalar) -> Typed {
    let ty = match value.dtype() {
        Dtype::Bool => Ty::Strong(Dtype::Bool),
        dtype => Ty::Weak(dtype),
    };
    Typed { term: Term::Const(value), ty }
}

/// The common type of several arguments.
fn meet(types: impl Iterator<Item = Ty> + Clone) -> Ty {
    let strong = types.clone().filter_map(|ty| match ty {
        Ty::Strong(dtype) => Some(dtype),
        Ty::Weak(_) => None,
    });
    let weak = types.filter_map(|ty| match ty {
        Ty::Weak(dtype) => Some(dtype),
        Ty::Strong(_) => None,
    });
    match (strong.reduce(promote), weak.reduce(promote)) {
        (Some(strong), None) => Ty::Strong(strong),
        (Some(strong), Some(weak)) => Ty::Strong(adapt(strong, weak)),
        (None, weak) => Ty::Weak(weak.unwrap_or(Dtype::F64)),
    }
}

/// The common dtype of a literal and a dtype. Only the kind of the literal counts (integer, float, complex).
fn adapt(strong: Dtype, weak: Dtype) -> Dtype {
    let whole = !strong.is_float() && !strong.is_complex();
    match weak {
        Dtype::Complex128 if strong.is_complex() => strong,
        Dtype::Complex128 if strong.is_float() && strong != Dtype::F64 => Dtype::Complex64,
        Dtype::Complex128 => Dtype::Complex128,
        Dtype::F64 if whole => Dtype::F64,
        integer if strong == Dtype::Bool => integer,
        _ => strong,
    }
}

/// A term in another dtype. In a semiring with this `plus`, its zero becomes the zero of the new dtype.
pub(crate) fn coerce(typed: Typed, to: Dtype, plus: Option<&Operator>) -> Result<Term, TypeError> {
    let from = typed.ty.dtype();
    match (&typed.term, typed.ty) {
        _ if from == to => Ok(typed.term),
        (Term::Const(value), Ty::Weak(_)) if to != Dtype::Bool => {
            value.cast(to).map(Term::Const).map_err(|_| TypeError::Number(*value, to))
        }
        _ => Ok(cast(typed, to, plus).term),
    }
}

/// A term converted as by Rust's `as`. In a semiring, its zero becomes the zero of the new dtype.
pub(crate) fn cast(typed: Typed, to: Dtype, plus: Option<&Operator>) -> Typed {
    let (from, ty) = (typed.ty.dtype(), Ty::Strong(to));
    if from == to {
        return Typed { term: typed.term, ty };
    }
    // Only if a plain cast does not convert the zero of one dtype to the zero of the other.
    let lift = plus.filter(|plus| match (plus.identity(from), plus.identity(to)) {
        (Some(zero), Some(wanted)) => !zero.cast(to).is_ok_and(|zero| zero.same(&wanted)),
        _ => false,
    });
    let op = match lift {
        Some(plus) if typed.ty == Ty::Strong(from) => {
            Operator::Lift { plus: Box::new(plus.clone()) }
        }
        _ => Operator::Cast,
    };
    Typed { term: fold(op, vec![typed.term], to), ty }
}

/// A call, or its value if all arguments are constants.
fn fold(op: Operator, args: Vec<Term>, dtype: Dtype) -> Term {
    let constants = args.iter().map(|arg| match arg {
        Term::Const(value) => Some(*value),
        _ => None,
    });
    let constants: Option<Vec<Scalar>> = constants.collect();
    match constants.and_then(|args| op.eval(&args, dtype)) {
        Some(value) => Term::Const(value),
        None => Term::Call { op, args, dtype },
    }
}

/// An operator on its arguments.
pub(crate) fn call(
    op: &Operator,
    mut args: Vec<Typed>,
    plus: Option<&Operator>,
) -> Result<Typed, TypeError> {
    let mut terms = Vec::with_capacity(args.len());
    if *op == Operator::Where {
        let sides = args.split_off(1);
        terms.extend(args.into_iter().map(|mask| cast(mask, Dtype::Bool, plus).term));
        args = sides;
    }
    let met = meet(args.iter().map(|arg| arg.ty));
    let of = met.dtype();
    let (arg, to) = op.signature(of).ok_or(TypeError::Refused(of))?;
    for typed in args {
        terms.push(coerce(typed, arg, plus)?);
    }
    let term = fold(op.clone(), terms, to);
    let ty = match (met, &term) {
        (Ty::Weak(_), Term::Const(_)) if to != Dtype::Bool => Ty::Weak(to),
        _ => Ty::Strong(to),
    };
    Ok(Typed { term, ty })
}

/// A function of stored elements, of one argument.
pub(crate) fn stored(
    op: &Operator,
    typed: Typed,
    plus: Option<&Operator>,
) -> Result<Typed, TypeError> {
    let of = typed.ty.dtype();
    let (arg, dtype) = op.signature(of).ok_or(TypeError::Refused(of))?;
    let arg = Box::new(coerce(typed, arg, plus)?);
    Ok(Typed { term: Term::Stored { op: op.clone(), arg, dtype }, ty: Ty::Strong(dtype) })
}

/// Whether an element is stored below a term: a truth value. As for [`stored`], the results of reductions are.
pub(crate) fn present(below: &Term) -> Typed {
    let either = |a, b| Term::Call { op: Operator::Or, args: vec![a, b], dtype: Dtype::Bool };
    let accesses: BTreeSet<usize> = below.uses().into_iter().collect();
    let term = match below.reduces() {
        true => None,
        false => accesses.into_iter().map(Term::Present).reduce(either),
    };
    let term = term.unwrap_or(Term::Const(Scalar::Bool(below.reduces())));
    Typed { term, ty: Ty::Strong(Dtype::Bool) }
}

/// A reduction over some indices.
pub(crate) fn reduce(
    op: &Operator,
    indices: Vec<usize>,
    body: Typed,
    plus: Option<&Operator>,
) -> Result<Typed, TypeError> {
    let dtype = combined(op, body.ty.dtype())?;
    if op.identity(dtype).is_none() {
        return Err(TypeError::NoIdentity(dtype));
    }
    let body = Box::new(coerce(body, dtype, plus)?);
    let term = Term::Reduce { op: op.clone(), indices, body };
    Ok(Typed { term, ty: Ty::Strong(dtype) })
}

/// The dtype in which an operator reduces numbers of dtype `of`.
pub(crate) fn combined(op: &Operator, of: Dtype) -> Result<Dtype, TypeError> {
    let result = |of| op.signature(of).map(|(_, to)| to).ok_or(TypeError::Refused(of));
    let once = result(of)?;
    match result(once)? {
        again if again == once && op.signature(once) == Some((once, once)) => Ok(once),
        again => Err(TypeError::Unstable(once, again)),
    }
}
