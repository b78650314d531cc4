//! What remains of a term where some tensors have nothing stored.

use ust_level_api::Scalar;

use crate::expr::operator::Operator;
use crate::expr::term::Term;

/// The term where the uses that `fill` gives a value for are not stored.
///
/// An unstored zero annihilates whatever it is multiplied with (0 times infinity is 0).
pub(crate) fn simplify(term: &Term, fill: &dyn Fn(usize) -> Option<Scalar>) -> Term {
    match term {
        Term::Const(_) | Term::Places(..) => term.clone(),
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
