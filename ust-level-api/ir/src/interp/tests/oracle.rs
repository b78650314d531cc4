//! The oracle of the IR, a tree walk: slow, plain, and without code of the interpreter.

use std::collections::HashMap;

use super::RunError;
use super::oracle_func::{cast, of_one, of_two};
use crate::scalar::{Complex, Dtype, Scalar, bf16, f16};
use crate::testing::{Data, MAX_LEN};
use crate::{ArrayId, BinOp, Elem, Expr, Function, Stmt, UnOp, Var};

/// A number in the form in which it is computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Bool(bool),
    /// An integer that wraps to this number of bits, signed or not.
    Int(i128, u32, bool),
    F32(f32),
    F64(f64),
    C32(Complex<f32>),
    C64(Complex<f64>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Int(i64),
    Bool(bool),
    Val(Number),
}

pub(super) fn wrap(value: i128, bits: u32, signed: bool) -> Number {
    let shift = 128 - bits;
    let wrapped =
        if signed { value << shift >> shift } else { ((value as u128) << shift >> shift) as i128 };
    Number::Int(wrapped, bits, signed)
}

fn held(scalar: Scalar) -> Number {
    match scalar {
        Scalar::Bool(v) => Number::Bool(v),
        Scalar::I8(v) => Number::Int(v.into(), 8, true),
        Scalar::I16(v) => Number::Int(v.into(), 16, true),
        Scalar::I32(v) => Number::Int(v.into(), 32, true),
        Scalar::I64(v) => Number::Int(v.into(), 64, true),
        Scalar::U8(v) => Number::Int(v.into(), 8, false),
        Scalar::U16(v) => Number::Int(v.into(), 16, false),
        Scalar::U32(v) => Number::Int(v.into(), 32, false),
        Scalar::U64(v) => Number::Int(v.into(), 64, false),
        Scalar::F16(v) => Number::F32(v.to_f32()),
        Scalar::Bf16(v) => Number::F32(v.to_f32()),
        Scalar::F32(v) => Number::F32(v),
        Scalar::F64(v) => Number::F64(v),
        Scalar::Complex64(v) => Number::C32(v),
        Scalar::Complex128(v) => Number::C64(v),
    }
}

fn stored(number: Number, dtype: Dtype) -> Scalar {
    match (number, dtype) {
        (Number::Bool(v), _) => Scalar::Bool(v),
        (Number::Int(v, 8, true), _) => Scalar::I8(v as i8),
        (Number::Int(v, 16, true), _) => Scalar::I16(v as i16),
        (Number::Int(v, 32, true), _) => Scalar::I32(v as i32),
        (Number::Int(v, _, true), _) => Scalar::I64(v as i64),
        (Number::Int(v, 8, false), _) => Scalar::U8(v as u8),
        (Number::Int(v, 16, false), _) => Scalar::U16(v as u16),
        (Number::Int(v, 32, false), _) => Scalar::U32(v as u32),
        (Number::Int(v, _, false), _) => Scalar::U64(v as u64),
        (Number::F32(v), Dtype::F16) => Scalar::F16(f16::from_f32(v)),
        (Number::F32(v), Dtype::Bf16) => Scalar::Bf16(bf16::from_f32(v)),
        (Number::F32(v), _) => Scalar::F32(v),
        (Number::F64(v), _) => Scalar::F64(v),
        (Number::C32(v), _) => Scalar::Complex64(v),
        (Number::C64(v), _) => Scalar::Complex128(v),
    }
}

/// Division by zero.
pub(super) struct Zero;

fn real(op: BinOp, a: f64, b: f64) -> f64 {
    let ordered = |first: bool| {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if a == b {
            // The only equal numbers that differ are zeros of two signs.
            if first == a.is_sign_negative() { a } else { b }
        } else if first == (a < b) {
            a
        } else {
            b
        }
    };
    match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Min => ordered(true),
        BinOp::Max => ordered(false),
        _ => panic!("{op} on numbers"),
    }
}

fn number(op: BinOp, a: Number, b: Number) -> Result<Number, Zero> {
    Ok(match (a, b) {
        (Number::Bool(a), Number::Bool(b)) => Number::Bool(match op {
            BinOp::Add | BinOp::Max => a || b,
            BinOp::Mul | BinOp::Min => a && b,
            _ => panic!("{op} on truth values"),
        }),
        (Number::Int(a, bits, signed), Number::Int(b, ..)) => {
            let exact = match op {
                BinOp::Add => a + b,
                BinOp::Sub => a - b,
                BinOp::Mul => a.wrapping_mul(b),
                BinOp::Div if b == 0 => return Err(Zero),
                BinOp::Div => a / b,
                BinOp::Min => a.min(b),
                BinOp::Max => a.max(b),
                _ => panic!("{op} on numbers"),
            };
            wrap(exact, bits, signed)
        }
        // A sum, product or quotient of two f32, computed in f64 and rounded, is correctly rounded.
        (Number::F32(a), Number::F32(b)) => Number::F32(real(op, a.into(), b.into()) as f32),
        (Number::F64(a), Number::F64(b)) => Number::F64(real(op, a, b)),
        (Number::C32(a), Number::C32(b)) => Number::C32(complex(op, a, b)),
        (Number::C64(a), Number::C64(b)) => Number::C64(complex(op, a, b)),
        (a, b) => panic!("{a:?} {op} {b:?}"),
    })
}

fn complex<T: num_traits::Float>(op: BinOp, a: Complex<T>, b: Complex<T>) -> Complex<T> {
    let (re, im) = match op {
        BinOp::Add => (a.re + b.re, a.im + b.im),
        BinOp::Sub => (a.re - b.re, a.im - b.im),
        BinOp::Mul => (a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re),
        BinOp::Div => {
            let norm = b.re * b.re + b.im * b.im;
            ((a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm)
        }
        _ => panic!("{op} on complex numbers"),
    };
    Complex::new(re, im)
}

/// Whether `a` and `b` are equal, and whether `a` is less.
fn compare(a: Number, b: Number) -> (bool, bool) {
    match (a, b) {
        (Number::Bool(a), Number::Bool(b)) => (a == b, !a && b),
        (Number::Int(a, ..), Number::Int(b, ..)) => (a == b, a < b),
        (Number::F32(a), Number::F32(b)) => (a == b, a < b),
        (Number::F64(a), Number::F64(b)) => (a == b, a < b),
        (Number::C32(a), Number::C32(b)) => (a == b, false),
        (Number::C64(a), Number::C64(b)) => (a == b, false),
        (a, b) => panic!("{a:?} compared with {b:?}"),
    }
}

fn int(op: BinOp, a: i64, b: i64) -> Result<Value, Zero> {
    let (wide_a, wide_b) = (i128::from(a), i128::from(b));
    let floor = |a: i128, b: i128| a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0);
    let exact = match op {
        BinOp::Add => wide_a + wide_b,
        BinOp::Sub => wide_a - wide_b,
        BinOp::Mul => wide_a * wide_b,
        BinOp::FloorDiv | BinOp::Mod if b == 0 => return Err(Zero),
        BinOp::FloorDiv => floor(wide_a, wide_b),
        BinOp::Mod => wide_a - wide_b * floor(wide_a, wide_b),
        BinOp::Min => wide_a.min(wide_b),
        BinOp::Max => wide_a.max(wide_b),
        BinOp::BitAnd => wide_a & wide_b,
        BinOp::Shr => wide_a >> (wide_b & 63),
        BinOp::Eq => return Ok(Value::Bool(a == b)),
        BinOp::Ne => return Ok(Value::Bool(a != b)),
        BinOp::Lt => return Ok(Value::Bool(a < b)),
        BinOp::Le => return Ok(Value::Bool(a <= b)),
        _ => panic!("{op} on int"),
    };
    Ok(Value::Int(exact as i64))
}

pub(super) struct Walk<'a> {
    pub(super) function: &'a Function,
    pub(super) data: Vec<Data>,
    vars: HashMap<u32, Value>,
    steps: u64,
    max_steps: u64,
}

type Result<T, E = RunError> = std::result::Result<T, E>;

impl<'a> Walk<'a> {
    pub(super) fn new(
        function: &'a Function,
        data: Vec<Data>,
        params: (i64, bool, Scalar),
        max_steps: u64,
    ) -> Self {
        let params = [Value::Int(params.0), Value::Bool(params.1), Value::Val(held(params.2))];
        let vars = params.into_iter().enumerate().map(|(at, v)| (at as u32, v)).collect();
        Self { function, data, vars, steps: 0, max_steps }
    }

    pub(super) fn block(&mut self, body: &[Stmt]) -> Result<()> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn round(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps <= self.max_steps {
            return Ok(());
        }
        let (function, max_steps) = (self.function.name.clone(), self.max_steps);
        Err(RunError::StepLimit { function, max_steps })
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::Let(var, value) | Stmt::Assign(var, value) => {
                let value = self.eval(value)?;
                self.vars.insert(var.0, value);
            }
            Stmt::Store(array, index, value) => {
                let (index, value) = (self.int(index)?, self.eval(value)?);
                let at = self.place(*array, index)?;
                self.set(*array, at, value)?;
            }
            Stmt::Reduce(op, array, index, value) => {
                let (index, value) = (self.int(index)?, self.eval(value)?);
                let at = self.place(*array, index)?;
                let combined = self.binary(*op, self.get(*array, at), value);
                let combined = combined.unwrap_or_else(|Zero| panic!("no reduction fails"));
                self.set(*array, at, combined)?;
            }
            Stmt::For { var, lo, hi, body } => {
                for at in self.int(lo)?..self.int(hi)? {
                    self.vars.insert(var.0, Value::Int(at));
                    self.block(body)?;
                    self.round()?;
                }
            }
            Stmt::While { cond, body } => {
                while self.bool(cond)? {
                    self.round()?;
                    self.block(body)?;
                }
            }
            Stmt::If { cond, then, otherwise } => {
                let body = if self.bool(cond)? { then } else { otherwise };
                self.block(body)?;
            }
            Stmt::Reserve(array, len) => {
                let len = self.int(len)?;
                let name = self.function.arrays[array.0 as usize].name.clone();
                let there = self.data[array.0 as usize].len() as i64;
                if len > there && len > MAX_LEN as i64 {
                    return Err(RunError::OutOfMemory { array: name, len });
                }
                let decl = &self.function.arrays[array.0 as usize];
                let data = &mut self.data[array.0 as usize];
                if len > data.len() as i64 {
                    let len = (len as usize).max(2 * data.len());
                    match (data, decl.elem) {
                        (Data::Indices(data), _) => data.resize(len, 0),
                        (Data::Values(data), Elem::Value(dtype)) => data.resize(len, dtype.zero()),
                        (_, elem) => panic!("values in an array of {elem}"),
                    }
                }
            }
            Stmt::Sort(array, lo, hi) => {
                let (lo, hi) = (self.int(lo)?, self.int(hi)?);
                if lo < hi {
                    for end in [if lo < 0 { lo } else { hi - 1 }, hi - 1] {
                        self.place(*array, end)?;
                    }
                    let Data::Indices(data) = &mut self.data[array.0 as usize] else {
                        panic!("numbers sorted")
                    };
                    // Insertion sort.
                    for at in lo as usize + 1..hi as usize {
                        let mut at = at;
                        while at > lo as usize && data[at - 1] > data[at] {
                            data.swap(at - 1, at);
                            at -= 1;
                        }
                    }
                }
            }
            Stmt::Comment(_) => {}
        }
        Ok(())
    }

    fn place(&self, array: ArrayId, index: i64) -> Result<usize> {
        let (array, len) = (array.0 as usize, self.data[array.0 as usize].len());
        let name = || self.function.arrays[array].name.clone();
        let inside = usize::try_from(index).ok().filter(|&at| at < len);
        inside.ok_or_else(|| RunError::OutOfBounds { array: name(), index, len })
    }

    fn get(&self, array: ArrayId, at: usize) -> Value {
        match &self.data[array.0 as usize] {
            Data::Indices(data) => Value::Int(data[at]),
            Data::Values(data) => Value::Val(held(data[at])),
        }
    }

    fn set(&mut self, array: ArrayId, at: usize, value: Value) -> Result<()> {
        let elem = self.function.arrays[array.0 as usize].elem;
        match (&mut self.data[array.0 as usize], value, elem) {
            (Data::Indices(data), Value::Int(value), Elem::Index(kind)) => {
                if !kind.holds(value) {
                    let array = self.function.arrays[array.0 as usize].name.clone();
                    return Err(RunError::DoesNotFit { array, index: at as i64, value, kind });
                }
                data[at] = value;
            }
            (Data::Values(data), Value::Val(value), Elem::Value(dtype)) => {
                data[at] = stored(value, dtype);
            }
            (_, value, elem) => panic!("{value:?} stored as {elem}"),
        }
        Ok(())
    }

    fn int(&self, expr: &Expr) -> Result<i64> {
        match self.eval(expr)? {
            Value::Int(value) => Ok(value),
            other => panic!("{other:?} as int"),
        }
    }

    fn bool(&self, expr: &Expr) -> Result<bool> {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(value),
            other => panic!("{other:?} as bool"),
        }
    }

    fn binary(&self, op: BinOp, a: Value, b: Value) -> Result<Value, Zero> {
        Ok(match (op, a, b) {
            (BinOp::And, Value::Bool(a), Value::Bool(b)) => Value::Bool(a && b),
            (BinOp::Or, Value::Bool(a), Value::Bool(b)) => Value::Bool(a || b),
            (_, Value::Int(a), Value::Int(b)) => return int(op, a, b),
            (_, Value::Val(a), Value::Val(b)) => {
                let (equal, less) = compare(a, b);
                match op {
                    BinOp::Eq => Value::Bool(equal),
                    BinOp::Ne => Value::Bool(!equal),
                    BinOp::Lt => Value::Bool(less),
                    BinOp::Le => Value::Bool(less || equal),
                    _ => Value::Val(number(op, a, b)?),
                }
            }
            _ => panic!("{a:?} {op} {b:?}"),
        })
    }

    fn eval(&self, expr: &Expr) -> Result<Value> {
        Ok(match expr {
            Expr::Int(value) => Value::Int(*value),
            Expr::Bool(value) => Value::Bool(*value),
            Expr::Const(scalar) => Value::Val(held(*scalar)),
            Expr::Var(Var(at)) => self.vars[at],
            Expr::Len(array) => Value::Int(self.data[array.0 as usize].len() as i64),
            Expr::Load(array, index) => self.get(*array, self.place(*array, self.int(index)?)?),
            Expr::Unary(op, a) => match (op, self.eval(a)?) {
                (UnOp::Not, Value::Bool(a)) => Value::Bool(!a),
                (UnOp::Neg, Value::Int(a)) => Value::Int((-i128::from(a)) as i64),
                (UnOp::CountOnes, Value::Int(a)) => {
                    Value::Int((0..64).map(|bit| a >> bit & 1).sum())
                }
                (UnOp::TrailingZeros, Value::Int(a)) => {
                    Value::Int((0..64).find(|bit| a >> bit & 1 == 1).unwrap_or(64))
                }
                (UnOp::Neg, Value::Val(a)) => Value::Val(match a {
                    Number::Int(a, bits, signed) => wrap(-a, bits, signed),
                    Number::F32(a) => Number::F32(-a),
                    Number::F64(a) => Number::F64(-a),
                    Number::C32(a) => Number::C32(Complex::new(-a.re, -a.im)),
                    Number::C64(a) => Number::C64(Complex::new(-a.re, -a.im)),
                    Number::Bool(_) => panic!("a truth value negated"),
                }),
                (op, a) => panic!("{op}{a:?}"),
            },
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                let zero = |Zero| RunError::DivisionByZero {
                    expr: self.function.show_expr(expr).to_string(),
                };
                self.binary(*op, a, b).map_err(zero)?
            }
            Expr::Call(func, args) => {
                let args = args.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>>>()?;
                let zero = |Zero| RunError::DivisionByZero {
                    expr: self.function.show_expr(expr).to_string(),
                };
                match args[..] {
                    [Value::Val(a)] => of_one(*func, a),
                    [Value::Val(a), Value::Val(b)] => {
                        Value::Val(of_two(*func, a, b).map_err(zero)?)
                    }
                    _ => panic!("{func} of {args:?}"),
                }
            }
            Expr::Cast(dtype, a) => Value::Val(cast(self.eval(a)?, *dtype)),
            Expr::ToInt(a) => match cast(self.eval(a)?, Dtype::I64) {
                Number::Int(value, ..) => Value::Int(value as i64),
                other => panic!("{other:?} as int"),
            },
            Expr::Select(cond, a, b) => {
                if self.bool(cond)? {
                    self.eval(a)?
                } else {
                    self.eval(b)?
                }
            }
        })
    }
}
