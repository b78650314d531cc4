//! Growing arrays, narrow indices, sorts: results and errors.

use super::*;
use crate::scalar::{Complex, Dtype, Scalar};
use crate::{BinOp, Builder, Elem, Expr, Func, IndexKind, Ty};

/// `len(out)` before and after `reserve(out, n)`, stored into `out[0]` and `out[1]`.
fn grow(elem: Elem) -> Program {
    let mut b = Builder::new("grow");
    let n = b.param("n", Ty::Int);
    let out = b.growing("out", elem);
    let before = b.bind("before", Expr::Len(out));
    b.reserve(out, n);
    let number = |int: Expr| match elem {
        Elem::Index(_) => int,
        Elem::Value(dtype) => int.cast(dtype),
    };
    b.store(out, 0.into(), number(before));
    b.store(out, 1.into(), number(Expr::Len(out)));
    Program::compile(&b.finish()).unwrap()
}

#[test]
fn what_grows_at_least_doubles_and_says_how_long_it_is() {
    let program = grow(Elem::Index(IndexKind::U16));
    for (start, n, expected) in [(0, 3, 3), (4, 5, 8), (4, 100, 100), (4, 2, 4), (4, -7, 4)] {
        let mut out = vec![9_u16; start];
        program.run(&[n.into()], &mut [Memory::Grow(&mut out)]).unwrap();
        assert_eq!((out.len(), out[0], out[1]), (expected, start as u16, expected as u16), "{n}");
        assert!(out[start.max(2)..].iter().all(|&new| new == 0));
    }
    let mut values = GrowValues::new(Dtype::Complex64);
    let program = grow(Elem::Value(Dtype::Complex64));
    program.run(&[2.into()], &mut [Memory::Grow(&mut values)]).unwrap();
    assert_eq!(values, vec![Complex::new(0.0_f32, 0.0), Complex::new(2.0, 0.0)].into());
}

#[test]
fn what_cannot_grow_is_refused_by_name() {
    let program = grow(Elem::Index(IndexKind::I64));
    let message = |n: i64, memory: Memory<'_>| {
        program.run(&[n.into()], &mut [memory]).map_err(|error| error.to_string())
    };
    let (mut fixed, mut grows, mut other) = ([0_i64; 4], vec![0_i64; 4], vec![0_u32; 4]);
    let expected = "`out` grows, but the memory given for it does not";
    assert_eq!(message(4, Memory::indices_mut(&mut fixed)), Err(expected.to_owned()));
    let expected = "`out` is declared to hold indices (i64), given was memory of indices (u32)";
    assert_eq!(message(4, Memory::Grow(&mut other)), Err(expected.to_owned()));
    let expected = format!("there is no memory for {} elements of `out`", i64::MAX);
    assert_eq!(message(i64::MAX, Memory::Grow(&mut grows)), Err(expected));
    assert_eq!(grows, [0; 4]);
    // An index beyond the end of the grown array.
    let mut empty: Vec<i64> = Vec::new();
    let expected = "`out[1]` is out of bounds: `out` has 1 elements";
    assert_eq!(message(1, Memory::Grow(&mut empty)), Err(expected.to_owned()));
}

#[test]
fn what_can_grow_need_not() {
    let mut b = Builder::new("copy");
    let from = b.array("from", Elem::Value(Dtype::F32), false);
    let to = b.array("to", Elem::Value(Dtype::F32), true);
    let value = b.load(from, 1.into());
    b.store(to, 0.into(), value);
    let program = Program::compile(&b.finish()).unwrap();
    let (mut from, mut to) =
        (GrowValues::from(vec![1.0_f32, 2.0]), GrowValues::from(vec![f32::NAN]));
    program.run(&[], &mut [Memory::Grow(&mut from), Memory::Grow(&mut to)]).unwrap();
    assert_eq!(to, GrowValues::from(vec![2.0_f32]));
}

#[test]
fn the_bound_of_a_loop_is_the_length_that_was() {
    let mut b = Builder::new("once");
    let out = b.growing("out", Elem::Index(IndexKind::I64));
    b.for_("i", 0.into(), Expr::Len(out), |b, _| {
        b.reserve(out, Expr::Len(out) + 1);
        b.reduce(BinOp::Add, out, 0.into(), 1.into());
    });
    let mut out = vec![0_i64; 2];
    let program = Program::compile(&b.finish()).unwrap();
    program.run(&[], &mut [Memory::Grow(&mut out)]).unwrap();
    assert_eq!((out.len(), out[0]), (8, 2));
}

#[test]
fn an_index_that_does_not_fit_is_an_error() {
    for bits in [8, 16, 32, 64] {
        for signed in [false, true] {
            let kind = IndexKind::new(bits, signed).unwrap();
            let mut b = Builder::new("store");
            let value = b.param("value", Ty::Int);
            let more = b.param("more", Ty::Int);
            let out = b.growing("out", Elem::Index(kind));
            b.reserve(out, 1.into());
            b.store(out, 0.into(), value);
            b.reduce(BinOp::Add, out, 0.into(), more);
            let program = Program::compile(&b.finish()).unwrap();
            let run = |value: i64, more: i64| {
                let params = &[value.into(), more.into()];
                macro_rules! run {
                    ($($variant:ident($ty:ty)),*) => {
                        match kind {
                            $(IndexKind::$variant => {
                                let mut out: Vec<$ty> = Vec::new();
                                let result = program.run(params, &mut [Memory::Grow(&mut out)]);
                                result.map(|()| i64::try_from(out[0]).unwrap())
                            })*
                            IndexKind::U2 => panic!("packed"),
                        }
                    };
                }
                run!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64))
            };
            let (lo, hi) = kind.range();
            assert_eq!((run(lo, 0), run(hi, 0), run(hi, -1)), (Ok(lo), Ok(hi), Ok(hi - 1)));
            let refused = |value| {
                Err(RunError::DoesNotFit { array: "out".to_owned(), index: 0, value, kind })
            };
            if bits < 64 {
                assert_eq!(run(hi + 1, 0), refused(hi + 1));
                assert_eq!(run(hi, 1), refused(hi + 1));
                assert_eq!(run(lo, -1), refused(lo - 1));
            } else if !signed {
                assert_eq!(run(-1, 0), refused(-1));
            }
        }
    }
    let error =
        RunError::DoesNotFit { array: "crd".to_owned(), index: 3, value: 256, kind: IndexKind::U8 };
    assert_eq!(error.to_string(), "256 does not fit `crd[3]`, which holds u8");
}

#[test]
fn a_part_is_sorted_and_its_ends_are_guarded() {
    let mut b = Builder::new("sort");
    let [lo, hi] = ["lo", "hi"].map(|name| b.param(name, Ty::Int));
    let w = b.array("w", Elem::Index(IndexKind::I64), true);
    b.sort(w, lo, hi);
    let program = Program::compile(&b.finish()).unwrap();
    let start = [5_i64, -1, 3, i64::MIN, 2];
    for (lo, hi, expected) in [
        (1, 4, Ok([5, i64::MIN, -1, 3, 2])),
        (0, 5, Ok([i64::MIN, -1, 2, 3, 5])),
        (2, 2, Ok(start)),
        (9, -9, Ok(start)),
        (0, 6, Err(5)),
        (-1, 3, Err(-1)),
        (7, 9, Err(8)),
    ] {
        let mut w = start;
        let result = program.run(&[lo.into(), hi.into()], &mut [Memory::indices_mut(&mut w)]);
        let given = match result {
            Ok(()) => Ok(w),
            Err(RunError::OutOfBounds { index, len: 5, .. }) => Err(index),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(given, expected, "{lo}..{hi}");
    }
}

#[test]
fn functions_and_casts_are_those_of_their_reference() {
    let mut b = Builder::new("calls");
    let z = b.param("z", Ty::Val(Dtype::Complex64));
    let n = b.param("n", Ty::Int);
    let half = b.array("half", Elem::Value(Dtype::F16), true);
    let size = Expr::call(Func::Abs, [z]);
    b.store(half, 0.into(), size.clone().cast(Dtype::F16));
    let whole = Expr::call(Func::Rem, [size.clone().cast(Dtype::I8), n.cast(Dtype::I8)]);
    b.store(half, 1.into(), whole.cast(Dtype::F16));
    let negative = Expr::call(Func::Signbit, [Expr::call(Func::Sin, [size])]);
    b.store(half, 2.into(), negative.cast(Dtype::F16));
    let program = Program::compile(&b.finish()).unwrap();
    let mut half = [crate::scalar::f16::NAN; 3];
    let mut run = |n: i64| {
        let z = Scalar::Complex64(Complex::new(3.0, -4.0));
        program.run(&[z.into(), n.into()], &mut [Memory::values_mut(&mut half)])
    };
    let zero = run(256).map_err(|error| error.to_string());
    assert_eq!(zero, Err("division by zero in `rem((i8)abs(z), (i8)n)`".to_owned()));
    assert_eq!(run(3), Ok(()));
    assert_eq!(half.map(f32::from), [5.0, 2.0, 1.0]);
}
