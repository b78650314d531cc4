//! Random valid functions, run by the interpreter and walked by the oracle: same results, same
//! errors, no panic.

use proptest::prelude::*;

use super::oracle::{Data, Walk};
use super::*;
use crate::ir::{ArrayId, BinOp, Builder, Elem, Expr, Function, Ty, UnOp, Var};
use crate::scalar::{Complex, Dtype, Element, Scalar};
use crate::{IndexArray, IndexKind, with_dtype};

const MAX_STEPS: u64 = 200;
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

/// Decisions, one number each; 0 when they run out, so that everything ends.
struct Choices {
    numbers: Vec<u32>,
    at: usize,
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

/// A function being written, with what its expressions may name.
struct Writer<'a> {
    choices: &'a mut Choices,
    dtype: Dtype,
    /// Read and written, of indices; read and written, of numbers.
    arrays: [ArrayId; 5],
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

    /// Mostly small, so that some accesses hit.
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
        match (self.choices.below(6), ty) {
            (0, _) => self.leaf(ty),
            (1, _) => Expr::Select(
                boxed(self.expr(Ty::Bool, depth)),
                boxed(self.expr(ty, depth)),
                boxed(self.expr(ty, depth)),
            ),
            (2, Ty::Bool) => Expr::Unary(UnOp::Not, boxed(self.expr(ty, depth))),
            (2, _) if UnOp::Neg.accepts(ty) => Expr::Unary(UnOp::Neg, boxed(self.expr(ty, depth))),
            (2 | 3, Ty::Int) => {
                let array = self.choices.of(&[0, 1, 2]);
                Expr::Load(self.arrays[array], boxed(self.index(depth)))
            }
            (2 | 3, Ty::Val(_)) => {
                let array = self.choices.of(&[3, 4]);
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
        match self.choices.below(if depth == 0 { 4 } else { 8 }) {
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
                let (array, ty) = self.choices.of(&[(2, Ty::Int), (4, Ty::Val(self.dtype))]);
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
            4 | 5 => {
                let (lo, hi) = (self.index(1), self.index(2));
                b.for_("i", lo, hi, |b, i| {
                    let Expr::Var(var) = i else { panic!("a loop gives its variable") };
                    self.scope.push((var, Ty::Int, false));
                    self.block(b, depth - 1);
                    self.scope.pop();
                });
            }
            6 => {
                let cond = self.expr(Ty::Bool, 3);
                b.while_(cond, |b| self.block(b, depth - 1));
            }
            _ => {
                let cond = self.expr(Ty::Bool, 3);
                // Written twice by one writer, one after the other.
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

/// A function, what its arrays hold, and its parameters.
fn random(choices: &mut Choices) -> (Function, Vec<Data>, (i64, bool, Scalar), Dtype) {
    let dtypes = [Dtype::ALL, &[Dtype::F64, Dtype::F64, Dtype::F32, Dtype::F32]].concat();
    let dtype = choices.of(&dtypes);
    let kinds = [choices.of(&KINDS), choices.of(&KINDS)];
    let mut b = Builder::new("random");
    let params = [("n", Ty::Int), ("flag", Ty::Bool), ("alpha", Ty::Val(dtype))];
    let scope = params.map(|(name, ty)| match b.param(name, ty) {
        Expr::Var(var) => (var, ty, true),
        other => panic!("{other:?} as a parameter"),
    });
    let arrays = [
        b.index_array("a", kinds[0]),
        b.index_array("b", kinds[1]),
        b.array("w", Elem::Index(IndexKind::I64), true),
        b.array("x", Elem::Value(dtype), false),
        b.array("y", Elem::Value(dtype), true),
    ];
    let mut data = Vec::new();
    for kind in [kinds[0], kinds[1], IndexKind::I64] {
        let index = |choices: &mut Choices| Some(choices.int()).filter(|&i| kind.holds(i));
        let len = choices.of(&[5, 5, 5, 5, 5, 4, 7, 0]);
        data.push(Data::Indices((0..len).map(|_| index(choices).unwrap_or(1)).collect()));
    }
    for _ in 0..2 {
        let len = choices.of(&[5, 5, 5, 5, 5, 4, 7, 0]);
        data.push(Data::Values((0..len).map(|_| choices.scalar(dtype)).collect()));
    }
    let given = (choices.int(), choices.below(2) == 1, choices.scalar(dtype));
    let mut writer = Writer { choices, dtype, arrays, scope: scope.to_vec() };
    for _ in 0..6 {
        writer.stmt(&mut b, 3);
    }
    (b.finish(), data, given, dtype)
}

/// Runs the program, and gives the arrays that it wrote.
fn run<T>(
    program: &Program,
    data: &[Data],
    (n, flag, alpha): (i64, bool, Scalar),
) -> (Result<(), RunError>, Vec<i64>, Vec<Scalar>)
where
    T: Element,
    for<'a> ValuesRef<'a>: From<&'a [T]>,
    for<'a> ValuesMut<'a>: From<&'a mut [T]>,
{
    let [Data::Indices(a), Data::Indices(b), Data::Indices(w), Data::Values(x), Data::Values(y)] =
        data
    else {
        panic!("five arrays")
    };
    let index = |at: usize, data: &[i64]| match program.arrays[at].elem {
        Elem::Index(kind) => IndexArray::store(kind, data, "", "").unwrap(),
        Elem::Value(dtype) => panic!("{dtype} as a kind of index"),
    };
    let typed =
        |data: &[Scalar]| -> Vec<T> { data.iter().map(|&v| T::from_scalar(v).unwrap()).collect() };
    let (a, b, mut w) = (index(0, a), index(1, b), w.clone());
    let (x, mut y) = (typed(x), typed(y));
    let mut memory = [
        Memory::Index(&a),
        Memory::Index(&b),
        Memory::IndicesMut(&mut w),
        Memory::values(&x),
        Memory::values_mut(&mut y),
    ];
    let params = [Param::Int(n), Param::Bool(flag), Param::Val(alpha)];
    let result = program.run_with(&params, &mut memory, Limits { max_steps: MAX_STEPS });
    (result, w, y.into_iter().map(Element::scalar).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_interpreter_does_what_the_tree_means(
        functions in prop::collection::vec(prop::collection::vec(any::<u32>(), 20..400), 100)
    ) {
        for numbers in functions {
            let (function, data, params, dtype) = random(&mut Choices { numbers, at: 0 });
            let program = match Program::compile(&function) {
                Ok(program) => program,
                Err(error) => panic!("{error}\n{function}"),
            };
            let mut walk = Walk::new(&function, data.clone(), params, MAX_STEPS);
            let expected = walk.block(&function.body);
            let (result, w, y) = with_dtype!(dtype, T => run::<T>(&program, &data, params));
            prop_assert_eq!(&result, &expected, "{}\n{:?} {:?}", function, data, params);
            // As text, NaN is NaN and zeros have a sign.
            let written = format!("{:?} {:?}", Data::Indices(w), Data::Values(y));
            let expected = format!("{:?} {:?}", walk.data[2], walk.data[4]);
            prop_assert_eq!(written, expected, "{}\n{:?} {:?}", function, data, params);
        }
    }
}
