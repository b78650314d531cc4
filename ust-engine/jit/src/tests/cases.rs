//! Small functions with known results.

use ust_ir::idiom::{Leaf, Sum, Target};
use ust_ir::interp::{GrowValues, Memory, Param, RunError};
use ust_ir::testing::write_leaf;
use ust_ir::{BinOp, Builder, Dtype, Elem, Expr, IndexArray, IndexKind, Scalar, Ty};

use super::pattern_of;
use crate::pattern::Pattern;
use crate::{Kernel, Options};

const UNCHECKED: Options = Options { checked: false, strict: true };

fn both(write: impl Fn() -> ust_ir::Function, test: impl Fn(&Kernel)) {
    for options in [Options::default(), UNCHECKED, Options { checked: false, strict: false }] {
        test(&Kernel::compile(&write(), &options).unwrap());
    }
}

fn product() -> ust_ir::Function {
    let mut b = Builder::new("product");
    let rows = b.param("rows", Ty::Int);
    let pos = b.index_array("pos", IndexKind::U32);
    let crd = b.index_array("crd", IndexKind::I32);
    let [values, x] = ["values", "x"].map(|name| b.array(name, Elem::Value(Dtype::F64), false));
    let y = b.array("y", Elem::Value(Dtype::F64), true);
    b.for_("i", 0.into(), rows, |b, i| {
        let (inside, start) = (b.open_loops(), Scalar::F64(0.0));
        let sum = b.var("sum", Expr::Const(start));
        let (lo, hi) = (b.load(pos, i.clone()), b.load(pos, i.clone() + 1));
        b.for_("p", lo, hi, |b, p| {
            let at = b.load(crd, p.clone());
            let factors = vec![b.load(values, p), b.load(x, at)];
            let to = Sum { inside, start, array: y, index: i.clone(), op: None };
            write_leaf(b, Leaf { sum: Some(to), ..Leaf::product(Target::Var(sum), factors) });
        });
        b.store(y, i, sum.into());
    });
    b.finish()
}

#[test]
fn a_sparse_matrix_times_a_vector() {
    assert!(matches!(pattern_of(&product()), Some(Pattern::Rows { .. })));
    both(product, |kernel| {
        let pos = IndexArray::store(IndexKind::U32, &[0, 2, 2, 3], "", "").unwrap();
        let crd = IndexArray::store(IndexKind::I32, &[0, 3, 1], "", "").unwrap();
        let mut y = [f64::NAN; 3];
        let mut memory = [
            Memory::Index(&pos),
            Memory::Index(&crd),
            Memory::values(&[1.0, 2.0, 4.0]),
            Memory::values(&[1.0, 10.0, 100.0, 1000.0]),
            Memory::values_mut(&mut y),
        ];
        kernel.run(&[3.into()], &mut memory).unwrap();
        assert_eq!(y, [2001.0, 0.0, 40.0]);
        assert!(!kernel.code().is_empty() && !kernel.disassembly().is_empty());
    });
}

#[test]
fn what_does_not_fit_the_declarations_is_refused() {
    both(product, |kernel| {
        let none = kernel.run(&[], &mut []);
        assert!(matches!(none, Err(RunError::MemoryCount { expected: 5, given: 0, .. })));
        let indices = IndexArray::empty(IndexKind::U32);
        let crd = IndexArray::empty(IndexKind::I32);
        let mut memory = [
            Memory::Index(&indices),
            Memory::Index(&crd),
            Memory::values::<f64>(&[]),
            Memory::values::<f64>(&[]),
            Memory::values::<f64>(&[]),
        ];
        let read_only = kernel.run(&[0.into()], &mut memory);
        assert_eq!(read_only, Err(RunError::ReadOnly { array: "y".to_owned() }));
        let mut y = [0.0_f64];
        memory[4] = Memory::values_mut(&mut y);
        let count = kernel.run(&[], &mut memory);
        assert!(matches!(count, Err(RunError::ParamCount { .. })));
        let ty = kernel.run(&[true.into()], &mut memory);
        assert!(matches!(ty, Err(RunError::ParamType { .. })));
        memory[1] = Memory::Index(&indices);
        let kind = kernel.run(&[0.into()], &mut memory);
        assert!(matches!(kind, Err(RunError::MemoryKind { .. })));
    });
}

#[test]
fn a_checked_kernel_names_the_access_that_went_wrong() {
    let kernel = Kernel::compile(&product(), &Options::default()).unwrap();
    let pos = IndexArray::store(IndexKind::U32, &[0, 2], "", "").unwrap();
    let crd = IndexArray::store(IndexKind::I32, &[0, -1], "", "").unwrap();
    let mut y = [f64::NAN];
    let mut memory = [
        Memory::Index(&pos),
        Memory::Index(&crd),
        Memory::values(&[1.0, 2.0]),
        Memory::values(&[1.0]),
        Memory::values_mut(&mut y),
    ];
    let outside = kernel.run(&[1.into()], &mut memory);
    let expected = RunError::OutOfBounds { array: "x".to_owned(), index: -1, len: 1 };
    assert_eq!(outside, Err(expected));
}

#[test]
fn arrays_grow_and_are_sorted() {
    let write = || {
        let mut b = Builder::new("grow");
        let n = b.param("n", Ty::Int);
        let out = b.growing("out", Elem::Index(IndexKind::I64));
        let values = b.growing("values", Elem::Value(Dtype::F32));
        b.for_("i", 0.into(), n.clone(), |b, i| {
            b.reserve(out, i.clone() + 1);
            b.store(out, i.clone(), n.clone() - i.clone());
            b.reserve(values, i.clone() + 1);
            b.store(values, i.clone(), i.cast(Dtype::F32));
        });
        b.sort(out, 0.into(), n);
        b.finish()
    };
    both(write, |kernel| {
        let mut out: Vec<i64> = Vec::new();
        let mut values = GrowValues::new(Dtype::F32);
        kernel
            .run(&[1000.into()], &mut [Memory::Grow(&mut out), Memory::Grow(&mut values)])
            .unwrap();
        assert_eq!(out[..1000], (1..=1000).collect::<Vec<i64>>());
        let GrowValues::F32(values) = values else { panic!("of f32") };
        assert!(values[..1000].iter().enumerate().all(|(i, &v)| v == i as f32));
        let mut fixed = [0_i64];
        let mut more = GrowValues::new(Dtype::F32);
        let refused = kernel
            .run(&[1.into()], &mut [Memory::indices_mut(&mut fixed), Memory::Grow(&mut more)]);
        assert_eq!(refused, Err(RunError::FixedLength { array: "out".to_owned() }));
    });
}

#[test]
fn division_by_zero_is_an_error_however_compiled() {
    let write = || {
        let mut b = Builder::new("divide");
        let (n, m) = (b.param("n", Ty::Int), b.param("m", Ty::Int));
        let out = b.array("out", Elem::Index(IndexKind::I64), true);
        b.store(out, 0.into(), n.clone().floor_div(m.clone()));
        b.store(out, 1.into(), n.modulo(m));
        b.finish()
    };
    both(write, |kernel| {
        let mut out = [0_i64; 2];
        let mut run = |n: i64, m: i64| {
            let params: [Param; 2] = [n.into(), m.into()];
            kernel.run(&params, &mut [Memory::indices_mut(&mut out)]).map(|()| out)
        };
        for (n, m, expected) in [
            (7, 2, [3, 1]),
            (-7, 2, [-4, 1]),
            (7, -2, [-4, -1]),
            (-7, -2, [3, -1]),
            (i64::MIN, -1, [i64::MIN, 0]),
            (i64::MIN, i64::MAX, [-2, i64::MAX - 1]),
        ] {
            assert_eq!(run(n, m), Ok(expected), "{n} by {m}");
        }
        assert!(matches!(run(1, 0), Err(RunError::DivisionByZero { .. })));
    });
}

#[test]
fn minimum_and_maximum_know_nan_and_the_sign_of_zero() {
    let write = || {
        let mut b = Builder::new("extremes");
        let x = b.array("x", Elem::Value(Dtype::F64), false);
        let out = b.array("out", Elem::Value(Dtype::F64), true);
        let (a, c) = (b.load(x, 0.into()), b.load(x, 1.into()));
        b.store(out, 0.into(), Expr::binary(BinOp::Min, a.clone(), c.clone()));
        b.store(out, 1.into(), Expr::binary(BinOp::Max, a, c));
        b.finish()
    };
    both(write, |kernel| {
        let run = |x: [f64; 2]| {
            let mut out = [7.0; 2];
            kernel.run(&[], &mut [Memory::values(&x), Memory::values_mut(&mut out)]).unwrap();
            out
        };
        for pair in [[0.0, -0.0], [-0.0, 0.0]] {
            assert_eq!(run(pair).map(f64::to_bits), [-0.0_f64, 0.0].map(f64::to_bits));
        }
        for pair in [[f64::NAN, 1.0], [1.0, f64::NAN], [f64::NAN, f64::INFINITY]] {
            assert!(run(pair).iter().all(|v| v.is_nan()));
        }
        assert_eq!(run([3.0, 2.0]), [2.0, 3.0]);
    });
}
