//! Simplification of a term where some tensors store nothing: `A + B` becomes `B` where `A` stores
//! nothing, and `A * B` becomes 0.

use ust_level_api::Scalar;

use crate::expr::operator::Operator;
use crate::expr::term::Term;

/// The term where the accesses for which `fill` returns a value store nothing.
///
/// The product of an unstored zero and any value is zero, infinity included.
pub(crate) fn simplify(term: &Term, fill: &dyn Fn(usize) -> Option<Scalar>) -> Term {
    match term {
        Term::Const(_) | Term::Index(_) | Term::Places(..) => term.clone(),
        Term::Element(at) => fill(*at).map_or_else(|| term.clone(), Term::Const),
        Term::Present(at) => match fill(*at) {
            Some(_) => Term::Const(Scalar::Bool(false)),
            None => term.clone(),
        },
        Term::Reduce { op, indices, body } => Term::Reduce {
            op: op.clone(),
            indices: indices.clone(),
            body: Box::new(simplify(body, fill)),
        },
        Term::Stored { .. } => unreachable!("a choice in a stage"),
        Term::Call { op, args, dtype } => {
            let args: Vec<Term> = args.iter().map(|arg| simplify(arg, fill)).collect();
            call(op, args, *dtype)
        }
    }
}

fn call(op: &Operator, mut args: Vec<Term>, dtype: ust_level_api::Dtype) -> Term {
    for (at, arg) in args.iter().enumerate() {
        if let Term::Const(value) = arg
            && let Some(result) = op.annihilates(at, *value, dtype)
        {
            return Term::Const(result);
        }
    }
    for at in 0..args.len() {
        let Term::Const(value) = &args[at] else { continue };
        if let Some(side) = op.picks(at, *value, dtype) {
            return args.swap_remove(side);
        }
    }
    if *op == Operator::Where && args[1] == args[2] && matches!(args[1], Term::Const(_)) {
        return args.swap_remove(1);
    }
    let constants: Option<Vec<Scalar>> = args
        .iter()
        .map(|arg| match arg {
            Term::Const(value) => Some(*value),
            _ => None,
        })
        .collect();
    if let Some(value) = constants.and_then(|constants| op.eval(&constants, dtype)) {
        return Term::Const(value);
    }
    Term::Call { op: op.clone(), args, dtype }
}
