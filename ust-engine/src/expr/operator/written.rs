//! Bodies of users' operators as syntax.

use num_complex::Complex;
use ust_level_api::ir::Func;
use ust_level_api::{Dtype, Scalar};

use super::sym::{Sym, Tree};
use super::{Operator, UserOperator};
use crate::expr::functions;
use crate::expr::syntax::{Kind, Literal, Node, Sign};

impl UserOperator {
    /// The body for these arguments. `None` if it is larger than the [limit](super::sym::MAX_SIZE), or has an operator
    /// that has no name in text.
    pub(crate) fn written(&self, args: &[Node]) -> Option<Node> {
        written(&self.body, args)
    }
}

fn written(sym: &Sym, args: &[Node]) -> Option<Node> {
    match &*sym.tree {
        Tree::Arg(at) => args.get(*at).cloned(),
        Tree::Number(value) => number(*value),
        Tree::Call(op, inner) => {
            let inner = inner.iter().map(|arg| written(arg, args)).collect::<Option<Vec<_>>>()?;
            call(op, inner)
        }
        Tree::Cast(dtype, arg) => Some(Node::apply(dtype.name(), vec![written(arg, args)?])),
        Tree::TooLarge => None,
    }
}

fn call(op: &Operator, args: Vec<Node>) -> Option<Node> {
    let sign = match op {
        Operator::Add => Sign::Add,
        Operator::Sub | Operator::Neg => Sign::Sub,
        Operator::Mul => Sign::Mul,
        Operator::Div => Sign::Div,
        Operator::And => Sign::And,
        Operator::Or => Sign::Or,
        Operator::Not => Sign::Not,
        Operator::Eq => Sign::Eq,
        Operator::Ne => Sign::Ne,
        Operator::Lt => Sign::Lt,
        Operator::Le => Sign::Le,
        Operator::Func(Func::Pow) => Sign::Pow,
        Operator::User(user) => return user.written(&args),
        op => return Some(Node::apply(functions::name(op)?, args)),
    };
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(a), None) => Some(Node::unary(sign, a)),
        (Some(a), Some(b)) => Some(Node::binary(sign, a, b)),
        _ => None,
    }
}

fn number(value: Scalar) -> Option<Node> {
    let literal = |literal| Node::new(Kind::Literal(literal));
    let signed = |negative: bool, size: Literal| match negative {
        true => Node::unary(Sign::Sub, literal(size)),
        false => literal(size),
    };
    let float = |value: f64| signed(value.is_sign_negative(), Literal::Float(value.abs()));
    match (value, value.cast(Dtype::Complex128).ok()?) {
        (Scalar::Bool(value), _) => Some(literal(Literal::Bool(value))),
        (Scalar::I64(value), _) => Some(signed(value < 0, Literal::Int(value.unsigned_abs()))),
        (Scalar::Complex128(_), Scalar::Complex128(Complex { re, im })) => {
            let (re, im) = (float(re), signed(im.is_sign_negative(), Literal::Imaginary(im.abs())));
            Some(Node::binary(Sign::Add, re, im))
        }
        (_, Scalar::Complex128(Complex { re, .. })) => Some(float(re)),
        _ => None,
    }
}
