//! Random valid functions, for tests of back ends. `random` makes a function and the contents of
//! its arrays; `with_memory` runs one. `write_leaf` is for loops with idioms. Not part of the interface.

mod leaf;
mod memory;

pub use leaf::write_leaf;
pub use memory::{Data, MAX_LEN, with_memory};

use crate::IndexKind;
use crate::scalar::{Complex, Dtype, Scalar};
use crate::{ArrayId, BinOp, Builder, Elem, Expr, Func, Function, Ty, UnOp, Var};

const KINDS: [IndexKind; 9] = [
    IndexKind::U2,
    IndexKind::U8,
    IndexKind::U16,
    IndexKind::U32,
    IndexKind::U64,
    IndexKind::I8,
    IndexKind::I16,
    IndexKind::I32,
    IndexKind::I64,
];

/// Kinds of written arrays. `I64`, the only kind that can be sorted, is drawn more often.
const WRITTEN: [IndexKind; 10] = [
    IndexKind::I64,
    IndexKind::U8,
    IndexKind::I64,
    IndexKind::U16,
    IndexKind::U32,
    IndexKind::U64,
    IndexKind::I8,
    IndexKind::I16,
    IndexKind::I32,
    IndexKind::I64,
];
/// The functions that the oracle computes for every dtype that they accept.
const FUNCS: [Func; 8] =
    [Func::Abs, Func::Conj, Func::Real, Func::Imag, Func::Floor, Func::Round, Func::Rem, Func::Pow];

/// Random decisions, one number each. When they run out, further decisions are 0, so that
/// generation ends.
pub struct Choices {
    /// The decisions.
    pub numbers: Vec<u32>,
    /// The number of decisions taken.
    pub at: usize,
}

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.at += 1;
        self.numbers.get(self.at - 1).map_or(0, |&n| n as usize % bound)
    }

    fn of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    fn int(&mut self) -> i64 {
        self.of(&[0, 1, 2, 3, -1, -7, 5, 8, i64::MIN, i64::MAX, 1 << 40, -4])
    }

    fn scalar(&mut self, dtype: Dtype) -> Scalar {
        let candidates = [
            Scalar::F64(0.0),
            Scalar::F64(1.0),
            Scalar::F64(-1.0),
            Scalar::F64(2.5),
            Scalar::F64(-0.0),
            Scalar::F64(f64::NAN),
            Scalar::F64(f64::INFINITY),
            Scalar::F64(1000.25),
            Scalar::F64(f64::from(f32::MAX)),
            Scalar::I64(i64::MIN),
            Scalar::I64(i64::MAX),
            Scalar::I64(i32::MIN.into()),
            Scalar::I64(i16::MIN.into()),
            Scalar::I64(-128),
            Scalar::I64(127),
            Scalar::I64(3),
            Scalar::U64(u64::MAX),
            Scalar::Complex64(Complex::new(0.5, -2.0)),
            Scalar::Complex64(Complex::new(0.0, f32::NAN)),
        ];
        self.of(&candidates).cast(dtype).unwrap_or_else(|_| dtype.one())
    }
}

/// The generator of a function, with the variables and arrays that its expressions may name.
struct Writer<'a> {
    choices: &'a mut Choices,
    dtype: Dtype,
    /// Index arrays: two read, one written. Values: one read, one written. One growing array of
    /// each.
    arrays: [ArrayId; 7],
    /// The index arrays that can be sorted.
    sortable: Vec<ArrayId>,
    /// Variables in scope, and whether they can be assigned.
    scope: Vec<(Var, Ty, bool)>,
}

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

impl Writer<'_> {
    fn var(&mut self, ty: Ty) -> Option<Expr> {
        let fitting: Vec<Var> =
            self.scope.iter().filter(|(_, t, _)| *t == ty).map(|(var, ..)| *var).collect();
        (!fitting.is_empty()).then(|| Expr::Var(self.choices.of(&fitting)))
    }

    fn leaf(&mut self, ty: Ty) -> Expr {
        let var = self.var(ty);
        match (self.choices.below(3), var, ty) {
            (0 | 1, Some(var), _) => var,
            (_, _, Ty::Bool) => Expr::Bool(self.choices.below(2) == 1),
            (_, _, Ty::Val(dtype)) => Expr::Const(self.choices.scalar(dtype)),
            (1, _, Ty::Int) => Expr::Len(self.choices.of(&self.arrays)),
            (_, _, Ty::Int) => Expr::Int(self.choices.int()),
        }
    }

    /// An index, mostly a small one, so that some accesses are in bounds.
    fn index(&mut self, depth: usize) -> Expr {
        let rounded = |w: &mut Self| {
            Expr::Binary(BinOp::Mod, boxed(w.expr(Ty::Int, depth)), boxed(Expr::Int(4)))
        };
        match self.choices.below(24) {
            0 => self.expr(Ty::Int, depth),
            1 => Expr::Binary(
                self.choices.of(&[BinOp::Add, BinOp::Sub]),
                boxed(rounded(self)),
                boxed(Expr::Int(self.choices.int())),
            ),
            2..8 => Expr::Binary(
                BinOp::Add,
                boxed(rounded(self)),
                boxed(Expr::Int(self.choices.below(2) as i64)),
            ),
            8..16 => rounded(self),
            _ => Expr::Int(self.choices.below(4) as i64),
        }
    }

    fn expr(&mut self, ty: Ty, depth: usize) -> Expr {
        use BinOp::{
            Add, And, BitAnd, Div, Eq, FloorDiv, Le, Lt, Max, Min, Mod, Mul, Ne, Or, Shr, Sub,
        };
        if depth == 0 {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        let both = |w: &mut Self, op, ty| {
            Expr::Binary(op, boxed(w.expr(ty, depth)), boxed(w.expr(ty, depth)))
        };
        let other = |w: &mut Self| w.choices.of(&[Ty::Int, Ty::Bool, Ty::Val(w.dtype)]);
        match (self.choices.below(8), ty) {
            (0, _) => self.leaf(ty),
            (6, Ty::Int) => self.expr(Ty::Val(self.dtype), depth).to_int(),
            (6, Ty::Val(dtype)) => {
                let from = other(self);
                let middle = self.choices.of(Dtype::ALL);
                self.expr(from, depth).cast(middle).cast(dtype)
            }
            (7, Ty::Val(dtype)) => {
                let funcs: Vec<Func> = FUNCS
                    .into_iter()
                    .filter(|&func| func.accepts(dtype))
                    // The oracle has no complex powers; a table of known values tests them.
                    .filter(|&func| func != Func::Pow || !dtype.is_complex())
                    .collect();
                if funcs.is_empty() {
                    return self.leaf(ty);
                }
                let func = self.choices.of(&funcs);
                let args: Vec<Expr> = (0..func.arity()).map(|_| self.expr(ty, depth)).collect();
                let call = Expr::call(func, args);
                // The real part of a complex number is of another dtype.
                if func.result(dtype) == ty { call } else { call.cast(dtype) }
            }
            (7, Ty::Bool) if Func::Signbit.accepts(self.dtype) => {
                // The sign of NaN is not specified, so NaN is replaced.
                let value = self.expr(Ty::Val(self.dtype), depth);
                let number = Expr::binary(BinOp::Eq, value.clone(), value.clone());
                let number = number.select(value, Expr::Const(self.dtype.one()));
                Expr::call(Func::Signbit, [number])
            }
            (1, _) => Expr::Select(
                boxed(self.expr(Ty::Bool, depth)),
                boxed(self.expr(ty, depth)),
                boxed(self.expr(ty, depth)),
            ),
            (2, Ty::Bool) => Expr::Unary(UnOp::Not, boxed(self.expr(ty, depth))),
            (2, Ty::Int) => {
                let op = self.choices.of(&[UnOp::Neg, UnOp::CountOnes, UnOp::TrailingZeros]);
                Expr::Unary(op, boxed(self.expr(ty, depth)))
            }
            (2, _) if UnOp::Neg.accepts(ty) => Expr::Unary(UnOp::Neg, boxed(self.expr(ty, depth))),
            (3, Ty::Int) => {
                let array = self.choices.of(&[0, 1, 2, 5]);
                Expr::Load(self.arrays[array], boxed(self.index(depth)))
            }
            (2 | 3, Ty::Val(_)) => {
                let array = self.choices.of(&[3, 4, 6]);
                Expr::Load(self.arrays[array], boxed(self.index(depth)))
            }
            (3, Ty::Bool) => {
                let op = self.choices.of(&[And, Or]);
                both(self, op, Ty::Bool)
            }
            (_, Ty::Bool) => {
                let of = self.choices.of(&[Ty::Int, Ty::Val(self.dtype)]);
                let op = self.choices.of(&[Eq, Ne, Lt, Le]);
                both(self, if op.accepts(of) { op } else { Eq }, of)
            }
            (_, _) => {
                let op = self
                    .choices
                    .of(&[Add, Sub, Mul, Min, Max, FloorDiv, Mod, BitAnd, Shr, Div, Add, Div]);
                both(self, if op.accepts(ty) { op } else { Mul }, ty)
            }
        }
    }

    fn block(&mut self, b: &mut Builder, depth: usize) {
        let outer = self.scope.len();
        for _ in 0..=self.choices.below(4) {
            self.stmt(b, depth);
        }
        self.scope.truncate(outer);
    }

    fn stmt(&mut self, b: &mut Builder, depth: usize) {
        let types = [Ty::Int, Ty::Bool, Ty::Val(self.dtype)];
        match self.choices.below(if depth == 0 { 6 } else { 10 }) {
            0 => {
                let ty = self.choices.of(&types);
                let init = self.expr(ty, 3);
                let var = b.var("v", init);
                self.scope.push((var, ty, true));
            }
            1 => {
                let assignable: Vec<_> = self.scope.iter().filter(|v| v.2).copied().collect();
                let (var, ty, _) = self.choices.of(&assignable);
                let value = self.expr(ty, 3);
                b.assign(var, value);
            }
            at @ (2 | 3) => {
                let (array, ty) = self.choices.of(&[
                    (2, Ty::Int),
                    (4, Ty::Val(self.dtype)),
                    (5, Ty::Int),
                    (6, Ty::Val(self.dtype)),
                ]);
                let (index, value) = (self.index(2), self.expr(ty, 3));
                let ops = [BinOp::Add, BinOp::Mul, BinOp::Min, BinOp::Max, BinOp::BitAnd];
                let op = self.choices.of(&ops);
                if at == 2 {
                    b.store(self.arrays[array], index, value);
                } else {
                    let op = if op.accepts(ty) { op } else { BinOp::Add };
                    b.reduce(op, self.arrays[array], index, value);
                }
            }
            4 => {
                let array = self.arrays[self.choices.of(&[5, 6])];
                let len = self.index(2);
                b.reserve(array, if self.choices.below(4) == 0 { len * 11 } else { len });
            }
            5 => {
                if let [array, ..] = self.sortable[..] {
                    let (lo, hi) = (self.index(1), self.index(1));
                    b.sort(array, lo, hi);
                }
            }
            6 | 7 => {
                let (lo, hi) = (self.index(1), self.index(2));
                b.for_("i", lo, hi, |b, i| {
                    let Expr::Var(var) = i else { panic!("a loop gives its variable") };
                    self.scope.push((var, Ty::Int, false));
                    self.block(b, depth - 1);
                    self.scope.pop();
                });
            }
            8 => {
                let cond = self.expr(Ty::Bool, 3);
                b.while_(cond, |b| self.block(b, depth - 1));
            }
            _ => {
                let cond = self.expr(Ty::Bool, 3);
                // Both closures use the writer, one after the other.
                let writer = std::cell::RefCell::new(self);
                b.if_else(
                    cond,
                    |b| writer.borrow_mut().block(b, depth - 1),
                    |b| writer.borrow_mut().block(b, depth - 1),
                );
            }
        }
    }
}

/// A function, the contents of its arrays, and its parameters.
pub fn random(choices: &mut Choices) -> (Function, Vec<Data>, (i64, bool, Scalar)) {
    let dtypes = [Dtype::ALL, &[Dtype::F64, Dtype::F64, Dtype::F32, Dtype::F32]].concat();
    let dtype = choices.of(&dtypes);
    let kinds = [choices.of(&KINDS), choices.of(&KINDS)];
    let written = [choices.of(&WRITTEN), choices.of(&WRITTEN)];
    let mut b = Builder::new("random");
    let params = [("n", Ty::Int), ("flag", Ty::Bool), ("alpha", Ty::Val(dtype))];
    let scope = params.map(|(name, ty)| match b.param(name, ty) {
        Expr::Var(var) => (var, ty, true),
        other => panic!("{other:?} as a parameter"),
    });
    let arrays = [
        b.index_array("a", kinds[0]),
        b.index_array("b", kinds[1]),
        b.array("w", Elem::Index(written[0]), true),
        b.array("x", Elem::Value(dtype), false),
        b.array("y", Elem::Value(dtype), true),
        b.growing("g", Elem::Index(written[1])),
        b.growing("h", Elem::Value(dtype)),
    ];
    let sorts = [(arrays[5], written[1]), (arrays[2], written[0])];
    let sorts = sorts.into_iter().filter(|(_, kind)| *kind == IndexKind::I64);
    let sortable = sorts.map(|(array, _)| array).collect();
    let mut data = Vec::new();
    for &array in &arrays {
        let len = choices.of(&[5, 5, 5, 5, 5, 4, 7, 0]);
        let index = |choices: &mut Choices, kind: IndexKind| {
            Some(choices.int()).filter(|&i| kind.holds(i)).unwrap_or(1)
        };
        data.push(match b.array_decl(array).elem {
            Elem::Index(kind) => Data::Indices((0..len).map(|_| index(choices, kind)).collect()),
            Elem::Value(dtype) => Data::Values((0..len).map(|_| choices.scalar(dtype)).collect()),
        });
    }
    let given = (choices.int(), choices.below(2) == 1, choices.scalar(dtype));
    let mut writer = Writer { choices, dtype, arrays, sortable, scope: scope.to_vec() };
    for _ in 0..6 {
        writer.stmt(&mut b, 3);
    }
    (b.finish(), data, given)
}
