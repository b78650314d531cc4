use crate::scalar::{Complex, Scalar, bf16};
use crate::{ArrayId, BinOp, Builder, Dtype, Elem, Expr, Func, Function, IndexKind, Ty, UnOp, Var};

/// A function with ints `a`, `b`, `c`, bools `p`, `q`, and an array `x`.
fn names() -> (Function, [Expr; 5], ArrayId) {
    let mut b = Builder::new("names");
    let ints = ["a", "b", "c"].map(|name| b.param(name, Ty::Int));
    let bools = ["p", "q"].map(|name| b.param(name, Ty::Bool));
    let x = b.array("x", Elem::Index(IndexKind::U8), false);
    let [a, bb, c] = ints;
    let [p, q] = bools;
    (b.finish(), [a, bb, c, p, q], x)
}

#[test]
fn a_kernel_reads_like_c() {
    let mut b = Builder::new("spmv");
    let m = b.param("m", Ty::Int);
    let pos = b.index_array("A2_pos", IndexKind::U32);
    let crd = b.index_array("A2_crd", IndexKind::U8);
    let values = b.array("A_val", Elem::Value(Dtype::F64), false);
    let x = b.array("x", Elem::Value(Dtype::F64), false);
    let y = b.array("y", Elem::Value(Dtype::F64), true);
    b.comment("rows\nin order");
    b.for_("i", 0.into(), m, |b, i| {
        let lo = b.bind("lo", b.load(pos, i.clone()));
        let hi = b.bind("hi", b.load(pos, i.clone() + 1));
        b.for_("p", lo, hi, |b, p| {
            let j = b.bind("j", b.load(crd, p.clone()));
            b.reduce(BinOp::Add, y, i, b.load(values, p) * b.load(x, j));
        });
    });
    let expected = "\
fn spmv(int m; u32 A2_pos[], u8 A2_crd[], f64 A_val[], f64 x[], mut f64 y[]) {
  // rows
  // in order
  for i in 0..m {
    let lo = A2_pos[i];
    let hi = A2_pos[i + 1];
    for p in lo..hi {
      let j = A2_crd[p];
      y[i] += A_val[p] * x[j];
    }
  }
}";
    assert_eq!(b.finish().to_string(), expected);
}

#[test]
fn every_statement_has_its_form() {
    let mut b = Builder::new("all");
    let flag = b.param("flag", Ty::Bool);
    let w = b.array("w", Elem::Index(IndexKind::I64), true);
    let at = b.var("at", 0.into());
    let at_again = b.var("at", Expr::Len(w));
    b.while_(Expr::from(at).lt(at_again), |b| {
        b.store(w, at.into(), 7.into());
        b.assign(at, Expr::from(at) + 1);
    });
    b.if_(flag.clone(), |b| b.reduce(BinOp::Max, w, 0.into(), 1.into()));
    b.if_else(
        flag.clone(),
        |b| b.reduce(BinOp::BitAnd, w, 0.into(), 2.into()),
        |b| {
            b.if_else(
                Expr::from(at).equals(3),
                |b| b.comment("three"),
                |b| {
                    b.reduce(BinOp::Mul, w, 0.into(), 3.into());
                    b.reduce(BinOp::Min, w, 0.into(), 4.into());
                },
            );
        },
    );
    b.for_("i", flag.select(1, 2), 9.into(), |_, _| {});
    let expected = "\
fn all(bool flag; mut i64 w[]) {
  let at = 0;
  let at_2 = len(w);
  while at < at_2 {
    w[at] = 7;
    at = at + 1;
  }
  if flag {
    w[0] max= 1;
  }
  if flag {
    w[0] &= 2;
  } else if at == 3 {
    // three
  } else {
    w[0] *= 3;
    w[0] min= 4;
  }
  for i in (flag ? 1 : 2)..9 {
  }
}";
    assert_eq!(b.finish().to_string(), expected);
}

#[test]
fn growth_sorts_functions_and_casts_have_their_form() {
    let mut b = Builder::new("new");
    let n = b.param("n", Ty::Int);
    let crd = b.growing("crd", Elem::Index(IndexKind::I64));
    let y = b.array("y", Elem::Value(Dtype::F16), true);
    b.reserve(crd, n.clone() + 1);
    b.sort(crd, 0.into(), n.clone());
    let power = Expr::call(Func::Pow, [b.load(y, 0.into()), (n.clone() + 1).cast(Dtype::F16)]);
    b.store(y, 0.into(), power);
    let int = Expr::call(Func::Floor, [n.clone().cast(Dtype::F64)]).to_int();
    b.store(crd, int + b.load(y, 1.into()).cast(Dtype::F32).to_int(), n);
    let expected = "\
fn new(int n; grow i64 crd[], mut f16 y[]) {
  reserve(crd, n + 1);
  sort(crd, 0, n);
  y[0] = pow(y[0], (f16)(n + 1));
  crd[(int)floor((f64)n) + (int)(f32)y[1]] = n;
}";
    assert_eq!(b.finish().to_string(), expected);
}

#[test]
fn parentheses_stand_only_where_they_are_needed() {
    use BinOp::{Add, And, BitAnd, Eq, FloorDiv, Lt, Max, Mod, Mul, Or, Shr, Sub};
    let (function, [a, b, c, p, q], x) = names();
    let two = |op, l: &Expr, r: &Expr| Expr::Binary(op, Box::new(l.clone()), Box::new(r.clone()));
    let one = |op, a: &Expr| Expr::Unary(op, Box::new(a.clone()));
    let neg = |a| one(UnOp::Neg, a);
    let sum = two(Add, &a, &b);
    let cases = [
        (two(Add, &sum, &c), "a + b + c"),
        (two(Add, &c, &sum), "c + (a + b)"),
        (two(Sub, &a, &two(Sub, &b, &c)), "a - (b - c)"),
        (two(Mul, &sum, &c), "(a + b) * c"),
        (two(Add, &two(Mul, &a, &b), &c), "a * b + c"),
        (two(Mod, &two(FloorDiv, &a, &b), &c), "a floordiv b mod c"),
        (two(FloorDiv, &a, &two(Mul, &b, &c)), "a floordiv (b * c)"),
        (two(BitAnd, &two(Shr, &sum, &b), &c), "a + b >> b & c"),
        (two(Shr, &two(BitAnd, &a, &b), &c), "(a & b) >> c"),
        (two(Eq, &two(BitAnd, &a, &b), &c), "a & b == c"),
        (two(Mul, &two(Max, &sum, &b), &c), "max(a + b, b) * c"),
        (two(Or, &two(And, &p, &q), &two(Lt, &a, &b)), "p && q || a < b"),
        (two(And, &p, &two(Or, &p, &q)), "p && (p || q)"),
        (one(UnOp::Not, &two(Lt, &a, &b)), "!(a < b)"),
        (one(UnOp::Not, &one(UnOp::Not, &p)), "!!p"),
        (neg(&neg(&a)), "-(-a)"),
        (two(Mul, &one(UnOp::CountOnes, &sum), &neg(&a)), "count_ones(a + b) * -a"),
        (neg(&one(UnOp::TrailingZeros, &a)), "-trailing_zeros(a)"),
        (neg(&Expr::Int(-3)), "-(-3)"),
        (two(Mul, &neg(&a), &neg(&sum)), "-a * -(a + b)"),
        (two(Sub, &a, &Expr::Int(-1)), "a - -1"),
        (Expr::Load(x, Box::new(sum.clone())), "x[a + b]"),
        (two(Add, &p.clone().select(a.clone(), b.clone()), &c), "(p ? a : b) + c"),
        (
            two(Or, &p, &q).select(p.clone().select(1, 2), q.clone().select(sum, 4)),
            "p || q ? (p ? 1 : 2) : q ? a + b : 4",
        ),
    ];
    for (expr, expected) in cases {
        assert_eq!(function.show_expr(&expr).to_string(), expected);
    }
}

#[test]
fn constants_say_their_type() {
    let (function, ..) = names();
    for (expr, expected) in [
        (Expr::Int(-4), "-4"),
        (Expr::Bool(true), "true"),
        (Expr::Const(Scalar::Bool(true)), "bool(true)"),
        (Expr::Const(Scalar::F64(0.5)), "f64(0.5)"),
        (Expr::Const(Scalar::Bf16(bf16::ONE)), "bf16(1)"),
        (Expr::Const(Scalar::Complex64(Complex::new(1.0, -2.0))), "complex64(1-2i)"),
    ] {
        assert_eq!(function.show_expr(&expr).to_string(), expected);
    }
}

#[test]
fn what_is_not_declared_prints_as_its_number() {
    let (function, ..) = names();
    let expr = Expr::Load(ArrayId(9), Box::new(Expr::Var(Var(77))));
    assert_eq!(function.show_expr(&expr).to_string(), "?a9[?v77]");
}
