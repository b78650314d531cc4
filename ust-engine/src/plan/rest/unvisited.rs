//! A constant combined with itself many times, without a loop: the value of the unstored coordinates.
//!
//! `n` unstored coordinates of value `c` contribute `n * c` to a sum and `c` to the power of `n` to a
//! product. To a minimum, they contribute `c` once.
//!
//! `n` may exceed 64 bits, since each extent may have up to 63. Hence it is computed twice: modulo 2^64 as
//! a `u64`, which is exact for integers that wrap and for parity; and approximately, as an `f64`.

use ust_level_api::ir::Func;
use ust_level_api::scalar::Complex;
use ust_level_api::{Dtype, Scalar};

use super::choice;
use crate::expr::operator::Operator;
use crate::expr::operator::typing::is_integer;
use crate::expr::term::Term;
use crate::plan::stage::cast;

/// The value that the term has at every coordinate that no loop visits.
pub(super) struct Unvisited<'a> {
    /// The operator of the reduction.
    pub(super) op: &'a Operator,
    pub(super) value: Scalar,
    /// The dtype of the accumulator and of `value`.
    pub(super) wide: Dtype,
    /// The index variables that are reduced over.
    pub(super) indices: &'a [usize],
}

/// A number of coordinates, in both representations.
struct Number {
    /// Modulo 2^64, as a `u64`.
    wrapped: Term,
    /// As an `f64`, rounded from 2^53 on.
    near: Term,
}

impl Unvisited<'_> {
    /// Whether a formula for many equal values exists.
    pub(super) fn is_known(&self) -> bool {
        use Operator::{Add, And, Max, Min, Mul, Or};
        matches!(self.op, Add | Mul | Min | Max | And | Or)
    }

    /// Whether many equal values combine to the value itself.
    fn is_idempotent(&self) -> bool {
        match self.op {
            Operator::Add => self.wide == Dtype::Bool,
            Operator::Mul => {
                let is = |value: Scalar| self.value.same(&value);
                self.wide == Dtype::Bool || is(self.wide.zero()) || is(self.wide.one())
            }
            _ => true,
        }
    }

    /// The value combined with itself `number` times. `number` is at least 1.
    fn repeated(&self, number: Number) -> Term {
        if self.is_idempotent() {
            return Term::Const(self.value);
        }
        match self.op {
            Operator::Add => {
                let count = match is_integer(self.wide) {
                    true => cast(number.wrapped, Dtype::U64, self.wide),
                    false => cast(number.near, Dtype::F64, self.wide),
                };
                call(Operator::Mul, Term::Const(self.value), count, self.wide)
            }
            _ if is_integer(self.wide) => self.whole_power(number),
            _ => self.power(number),
        }
    }

    /// A power of an integer, modulo 2^64. A power of an odd number depends only on the exponent modulo
    /// 2^62. A power of an even number is 0 for exponents of 64 and more.
    fn whole_power(&self, number: Number) -> Term {
        let base = folded(&Operator::Cast, &[self.value], Dtype::U64);
        let power = call(Operator::Func(Func::Pow), Term::Const(base), number.wrapped, Dtype::U64);
        let power = match base {
            Scalar::U64(base) if base % 2 == 1 => power,
            _ => {
                let few = call(Operator::Lt, number.near, float(64.0), Dtype::Bool);
                choice(few, power, Term::Const(Dtype::U64.zero()), Dtype::U64)
            }
        };
        cast(power, Dtype::U64, self.wide)
    }

    /// A power of a floating-point or complex number. A number on an axis of the complex plane is a
    /// size times 1, i, -1 or -i. For the size, an approximate exponent is enough; for the second
    /// factor, the exponent modulo 4.
    fn power(&self, number: Number) -> Term {
        let pow = |base: Term, exponent: Term, dtype: Dtype| {
            call(Operator::Func(Func::Pow), base, exponent, dtype)
        };
        let Some((size, turns)) = on_an_axis(self.value) else {
            let exponent = cast(number.near, Dtype::F64, self.wide);
            return pow(Term::Const(self.value), exponent, self.wide);
        };
        let size = cast(pow(float(size), number.near, Dtype::F64), Dtype::F64, self.wide);
        if turns == 0 {
            return size;
        }
        let left = Term::Const(Scalar::U64(4));
        let left = call(Operator::Func(Func::Rem), number.wrapped, left, Dtype::U64);
        let sides = [1, 2, 3].map(|of| (of, turn(of * turns, self.wide)));
        let side = sides.into_iter().fold(Term::Const(self.wide.one()), |rest, (of, side)| {
            let is = call(Operator::Eq, left.clone(), Term::Const(Scalar::U64(of)), Dtype::Bool);
            choice(is, Term::Const(side), rest, self.wide)
        });
        call(Operator::Mul, side, size, self.wide)
    }

    /// The number of all coordinates that are reduced over.
    fn places(&self, dtype: Dtype) -> Term {
        Term::Places(self.indices.to_vec(), dtype)
    }

    /// The result of a row in which the loops visit no coordinate.
    pub(super) fn all_unvisited(&self) -> Term {
        let [wrapped, near] = [Dtype::U64, Dtype::F64].map(|dtype| self.places(dtype));
        self.repeated(Number { wrapped, near })
    }

    /// The result of a row in which the loops visit `count` coordinates (an `i64`) and combine their
    /// values to `combined`. `count` is below 2^53: more visits would take months.
    pub(super) fn with_visited(&self, combined: Term, count: &Term) -> Term {
        let left = |dtype: Dtype| {
            let visited = cast(count.clone(), Dtype::I64, dtype);
            call(Operator::Sub, self.places(dtype), visited, dtype)
        };
        let some = call(Operator::Lt, float(0.0), left(Dtype::F64), Dtype::Bool);
        let rest = self.repeated(Number { wrapped: left(Dtype::U64), near: left(Dtype::F64) });
        let all = call(self.op.clone(), combined.clone(), rest, self.wide);
        choice(some, all, combined, self.wide)
    }
}

fn call(op: Operator, a: Term, b: Term, dtype: Dtype) -> Term {
    Term::Call { op, args: vec![a, b], dtype }
}

fn float(value: f64) -> Term {
    Term::Const(Scalar::F64(value))
}

fn folded(op: &Operator, args: &[Scalar], dtype: Dtype) -> Scalar {
    op.eval(args, dtype).expect("a number is cast to any dtype")
}

/// The absolute value and the number of quarter turns of a number on an axis of the complex plane: `-2`
/// is 2 and two quarter turns.
fn on_an_axis(value: Scalar) -> Option<(f64, u64)> {
    let Ok(Scalar::Complex128(Complex { re, im })) = value.cast(Dtype::Complex128) else {
        return None;
    };
    match (re, im) {
        (size, 0.0) if size >= 0.0 => Some((size, 0)),
        (0.0, size) if size >= 0.0 => Some((size, 1)),
        (size, 0.0) if size < 0.0 => Some((-size, 2)),
        (0.0, size) if size < 0.0 => Some((-size, 3)),
        _ => None,
    }
}

/// 1, turned by a number of quarter turns.
fn turn(quarters: u64, dtype: Dtype) -> Scalar {
    let (re, im) = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][quarters as usize % 4];
    folded(&Operator::Cast, &[Scalar::Complex128(Complex::new(re, im))], dtype)
}
