//! The meaning of operators, as IR.
//!
//! Numbers of dtype bool are `val`s, and conditions of the IR are `bool`s. `truth` and `number` convert
//! between the two, and are inverse to each other.

use ust_level_api::ir::interp::{Memory, Program};
use ust_level_api::ir::{BinOp, Builder, Elem, Expr, Func, UnOp};
use ust_level_api::{Dtype, Scalar, with_dtype};

use super::Operator;
use super::typing::is_integer;
use crate::storage::Values;

impl Operator {
    /// IR for the operator on arguments of dtype `of` (the mask of [`Operator::Where`] is a bool), with a
    /// result of dtype `to`.
    ///
    /// Arguments that the code [repeats](Self::repeats) should be variables or constants.
    ///
    /// # Panics
    /// When there are fewer arguments than the [arity](Self::arity).
    #[must_use]
    pub fn emit(&self, args: Vec<Expr>, of: Dtype, to: Dtype) -> Expr {
        let arity = self.arity();
        assert!(args.len() >= arity, "`{}` takes {arity} arguments", self.name());
        let mut args = args.into_iter();
        let mut next = || args.next().expect("as many arguments as the arity");
        if let Operator::User(user) = self {
            let args: Vec<Expr> = (0..arity).map(|_| next()).collect();
            return user.emit(&args, of);
        }
        let a = next();
        match arity {
            1 => self.emit_unary(a, of, to),
            2 => self.emit_binary(a, next(), of, to),
            _ => truth(a).select(next(), next()),
        }
    }

    fn emit_unary(&self, a: Expr, of: Dtype, to: Dtype) -> Expr {
        let infinity = |sign: f64| Expr::Const(constant(sign * f64::INFINITY, of));
        match self {
            Operator::Neg => Expr::Unary(UnOp::Neg, Box::new(a)),
            Operator::Not => number(Expr::Unary(UnOp::Not, Box::new(truth(a)))),
            Operator::Cast => cast(a, of, to),
            Operator::Func(func) => emit_func(*func, a, of, to),
            Operator::IsInf | Operator::IsNan | Operator::IsPosInf | Operator::IsNegInf
                if of == Dtype::Bool || is_integer(of) =>
            {
                Expr::Const(Scalar::Bool(false))
            }
            Operator::IsInf if of.is_complex() => {
                let part = real(of);
                let [re, im] = [Func::Real, Func::Imag].map(|func| {
                    let magnitude = call(Func::Abs, vec![call(func, vec![a.clone()])]);
                    magnitude.equals(Expr::Const(constant(f64::INFINITY, part)))
                });
                number(Expr::binary(BinOp::Or, re, im))
            }
            Operator::IsInf => number(call(Func::Abs, vec![a]).equals(infinity(1.0))),
            Operator::IsNan if of.is_complex() => {
                number(Expr::Binary(BinOp::Ne, Box::new(a.clone()), Box::new(a)))
            }
            Operator::IsNan => {
                let is_number = call(Func::Abs, vec![a]).le(infinity(1.0));
                number(Expr::Unary(UnOp::Not, Box::new(is_number)))
            }
            Operator::IsPosInf => number(a.equals(infinity(1.0))),
            Operator::IsNegInf => number(a.equals(infinity(-1.0))),
            Operator::Relu => a.max(Expr::Const(of.zero())),
            Operator::Sigmoid => {
                let one = || Expr::Const(of.one());
                let exp = call(Func::Exp, vec![Expr::Unary(UnOp::Neg, Box::new(a))]);
                Expr::binary(BinOp::Div, one(), one() + exp)
            }
            Operator::Lift { plus } => match (plus.identity(of), plus.identity(to)) {
                (Some(from), Some(zero)) => {
                    a.clone().equals(Expr::Const(from)).select(Expr::Const(zero), cast(a, of, to))
                }
                _ => cast(a, of, to),
            },
            _ => unreachable!("`{}` takes more than one argument", self.name()),
        }
    }

    fn emit_binary(&self, a: Expr, b: Expr, of: Dtype, to: Dtype) -> Expr {
        match self {
            Operator::Add => Expr::binary(BinOp::Add, a, b),
            Operator::Sub => Expr::binary(BinOp::Sub, a, b),
            Operator::Mul => Expr::binary(BinOp::Mul, a, b),
            Operator::Div => Expr::binary(BinOp::Div, a, b),
            Operator::Min => Expr::binary(BinOp::Min, a, b),
            Operator::Max => Expr::binary(BinOp::Max, a, b),
            Operator::And if is_number(&a) || is_number(&b) => number(truth(a).and(truth(b))),
            Operator::And => Expr::binary(BinOp::Mul, a, b),
            Operator::Or if is_number(&a) || is_number(&b) => {
                number(Expr::binary(BinOp::Or, truth(a), truth(b)))
            }
            Operator::Or => Expr::binary(BinOp::Add, a, b),
            Operator::Eq => number(a.equals(b)),
            Operator::Ne => number(Expr::binary(BinOp::Ne, a, b)),
            Operator::Lt => number(a.lt(b)),
            Operator::Le => number(a.le(b)),
            Operator::Func(func) => call(*func, vec![a, b]),
            Operator::First => a,
            Operator::Second => b,
            Operator::Pair => Expr::Const(to.one()),
            Operator::Times { op, plus } => {
                match (self.needs_guard(of), plus.identity(of), plus.identity(to)) {
                    (true, Some(from), Some(zero)) => {
                        let is_zero = |x: &Expr| x.clone().equals(Expr::Const(from));
                        let either = Expr::binary(BinOp::Or, is_zero(&a), is_zero(&b));
                        either.select(Expr::Const(zero), op.emit(vec![a, b], of, to))
                    }
                    _ => op.emit(vec![a, b], of, to),
                }
            }
            _ => unreachable!("`{}` does not take two arguments", self.name()),
        }
    }

    /// Whether a semiring's multiplication needs code so that the zero annihilates. In `min_plus`, infinity
    /// plus any number is infinity, but `i32::MAX` plus a number wraps.
    fn needs_guard(&self, of: Dtype) -> bool {
        let Operator::Times { op, plus } = self else { return false };
        match (&**op, &**plus) {
            (Operator::Add, Operator::Min | Operator::Max) => !of.is_float(),
            (op, plus) => {
                let zero = plus.identity(of);
                !zero.is_some_and(|z| (0..2).all(|at| op.annihilates(at, z, of).is_some()))
            }
        }
    }

    /// Whether the code for arguments of dtype `of` has argument `at` more than once.
    #[must_use]
    pub fn repeats(&self, at: usize, of: Dtype) -> bool {
        match self {
            Operator::IsInf | Operator::IsNan => of.is_complex(),
            Operator::Lift { .. } => true,
            Operator::Times { .. } => self.needs_guard(of),
            Operator::User(user) => user.repeats(at, of),
            _ => false,
        }
    }

    /// The operator's value on constants. `dtype` is the result's.
    #[must_use]
    pub fn eval(&self, args: &[Scalar], dtype: Dtype) -> Option<Scalar> {
        let of = args.last()?.dtype();
        let mut b = Builder::new("constant");
        let out = b.array("out", Elem::Value(dtype), true);
        let value = self.emit(args.iter().map(|&a| Expr::Const(a)).collect(), of, dtype);
        b.store(out, Expr::Int(0), value);
        let program = Program::compile(&b.finish()).ok()?;
        let mut out = Values::filled(dtype.zero(), 1);
        with_dtype!(dtype, T => {
            let out = out.typed_mut::<T>().ok()?;
            program.run(&[], &mut [Memory::values_mut(out)]).ok()?;
        });
        out.get(0)
    }
}

fn emit_func(func: Func, a: Expr, of: Dtype, to: Dtype) -> Expr {
    let is_whole = of == Dtype::Bool || is_integer(of);
    match func {
        Func::Real | Func::Conj if !of.is_complex() => a,
        Func::Imag if !of.is_complex() => Expr::Const(to.zero()),
        Func::Floor | Func::Ceil | Func::Round | Func::Trunc if is_whole => a,
        Func::Abs | Func::Sgn if of == Dtype::Bool => a,
        Func::Signbit if of == Dtype::Bool => Expr::Const(Scalar::Bool(false)),
        Func::Signbit => number(call(func, vec![a])),
        // 0 or pi. Adding 0 turns -0 into 0.
        Func::Angle if of.is_float() => {
            let zero = || Expr::Const(of.zero());
            call(Func::Atan2, vec![zero(), a + zero()])
        }
        _ => call(func, vec![a]),
    }
}

fn call(func: Func, args: Vec<Expr>) -> Expr {
    Expr::Call(func, args)
}

fn cast(a: Expr, of: Dtype, to: Dtype) -> Expr {
    if of == to { a } else { Expr::Cast(to, Box::new(a)) }
}

/// The dtype of the real part of a number.
pub(super) fn real(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Complex64 => Dtype::F32,
        Dtype::Complex128 => Dtype::F64,
        other => other,
    }
}

fn constant(value: f64, dtype: Dtype) -> Scalar {
    Scalar::F64(value).cast(dtype).expect("floating-point types have infinities")
}

/// A condition as a number of dtype bool.
fn number(condition: Expr) -> Expr {
    match condition {
        Expr::Bool(value) => Expr::Const(Scalar::Bool(value)),
        condition => Expr::Cast(Dtype::Bool, Box::new(condition)),
    }
}

/// Whether an expression comes from [`number`], so that [`truth`] needs no comparison.
fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) => true,
        Expr::Cast(Dtype::Bool, inner) => is_condition(inner),
        _ => false,
    }
}

/// A number of dtype bool as a condition.
fn truth(number: Expr) -> Expr {
    match number {
        Expr::Const(Scalar::Bool(value)) => Expr::Bool(value),
        Expr::Cast(Dtype::Bool, inner) if is_condition(&inner) => *inner,
        number => Expr::binary(BinOp::Ne, number, Expr::Const(Scalar::Bool(false))),
    }
}

fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Bool(_) | Expr::Unary(UnOp::Not, _) | Expr::Call(Func::Signbit, _) => true,
        Expr::Binary(op, ..) => op.is_truth(),
        _ => false,
    }
}
