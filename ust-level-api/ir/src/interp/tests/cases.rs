//! Errors before a run, errors that end a run, and corner cases of arithmetic.

use std::thread;

use super::kernels::spmv;
use super::*;
use crate::scalar::{Complex, Dtype, Scalar, bf16, f16};
use crate::validate::{MAX_DEPTH, ValidateError};
use crate::{ArrayId, BinOp, Builder, Elem, Expr, Function, IndexArray, IndexKind, Stmt, Ty, UnOp};

/// `y[0] = expr`, for an expression over an array `x` of the same dtype.
fn stores(dtype: Dtype, expr: impl FnOnce(&Builder, ArrayId) -> Expr) -> Function {
    let mut b = Builder::new("stores");
    let x = b.array("x", Elem::Value(dtype), false);
    let y = b.array("y", Elem::Value(dtype), true);
    let value = expr(&b, x);
    b.store(y, 0.into(), value);
    b.finish()
}

/// `x[0] op x[1]`, stored.
fn combine<T: Default + Copy>(dtype: Dtype, op: BinOp, x: [T; 2]) -> Result<T, RunError>
where
    for<'a> ValuesRef<'a>: From<&'a [T]>,
    for<'a> ValuesMut<'a>: From<&'a mut [T]>,
{
    let function = stores(dtype, |b, x| Expr::binary(op, b.load(x, 0.into()), b.load(x, 1.into())));
    let mut y = [T::default()];
    let mut memory = [Memory::values(&x), Memory::values_mut(&mut y)];
    Program::compile(&function).unwrap().run(&[], &mut memory)?;
    Ok(y[0])
}

/// `w[0] = index`, and then `w[1] = a[index]`, for a parameter `index`.
fn gather(kind: IndexKind) -> Program {
    let mut b = Builder::new("gather");
    let index = b.param("index", Ty::Int);
    let a = b.index_array("a", kind);
    let w = b.array("w", Elem::Index(IndexKind::I64), true);
    b.store(w, 0.into(), index.clone());
    let loaded = b.load(a, index - 1);
    b.store(w, 1.into(), loaded);
    Program::compile(&b.finish()).unwrap()
}

#[test]
fn what_does_not_fit_the_declarations_is_refused_by_name() {
    let program = Program::compile(&spmv()).unwrap();
    let indices = IndexArray::from(vec![0_u32, 0]);
    let narrow = IndexArray::from(vec![0_u8, 0]);
    let (numbers, single, wide) = ([1.0_f64], [1.0_f32], [0_i64]);
    let mut y = [0.0_f64];
    let message = |params: &[Param], memory: &mut [Memory<'_>]| {
        program.run(params, memory).map_err(|error| error.to_string())
    };
    let mut memory = |at: usize, memory| {
        let mut all = [
            Memory::Index(&indices),
            Memory::Index(&indices),
            Memory::values(&numbers),
            Memory::values(&numbers),
            Memory::values_mut(&mut y),
        ];
        if let Some(memory) = memory {
            all[at] = memory;
        }
        message(&[Param::Int(1)], &mut all)
    };
    assert_eq!(memory(0, None), Ok(()));
    for (at, given, expected) in [
        (
            0,
            Memory::Index(&narrow),
            "`A2_pos` is declared to hold indices (u32), given was memory of indices (u8)",
        ),
        (
            1,
            Memory::Indices(&wide),
            "`A2_crd` is declared to hold indices (u32), given was memory of indices (i64)",
        ),
        (
            2,
            Memory::values(&single),
            "`A_val` is declared to hold values (f64), given was memory of values (f32)",
        ),
        (
            3,
            Memory::Index(&indices),
            "`x` is declared to hold values (f64), given was memory of indices (u32)",
        ),
        (4, Memory::values(&numbers), "`y` is written, but the memory given for it is read-only"),
    ] {
        assert_eq!(memory(at, Some(given)), Err(expected.to_owned()));
    }
    assert_eq!(message(&[], &mut []), Err("`spmv` works on 5 arrays, 0 were given".to_owned()));

    let gather = gather(IndexKind::I64);
    let mut w = [0_i64; 2];
    let mut message = |params: &[Param]| {
        let mut memory = [Memory::Indices(&wide), Memory::indices_mut(&mut w)];
        gather.run(params, &mut memory).map_err(|error| error.to_string())
    };
    assert_eq!(message(&[1.into()]), Ok(()));
    for (params, expected) in [
        (&[][..], "`gather` takes 1 parameters, 0 were given"),
        (&[true.into()], "the parameter `index` is declared int, given was bool"),
        (&[Scalar::F32(1.0).into()], "the parameter `index` is declared int, given was f32"),
    ] {
        assert_eq!(message(params), Err(expected.to_owned()));
    }
}

#[test]
fn memory_that_can_be_written_may_be_read_only_by_declaration() {
    let function = stores(Dtype::I8, |b, x| b.load(x, 1.into()));
    let (mut x, mut y) = ([3_i8, 4], [0_i8]);
    let mut memory = [Memory::values_mut(&mut x), Memory::values_mut(&mut y)];
    Program::compile(&function).unwrap().run(&[], &mut memory).unwrap();
    assert_eq!(y, [4]);
    let (mut a, mut w) = ([5_i64, 6], [0_i64; 2]);
    let mut memory = [Memory::indices_mut(&mut a), Memory::indices_mut(&mut w)];
    gather(IndexKind::I64).run(&[2.into()], &mut memory).unwrap();
    assert_eq!(w, [2, 6]);
}

#[test]
fn every_kind_of_index_is_read_and_its_ends_are_guarded() {
    for bits in [2, 8, 16, 32, 64] {
        for signed in [false, true] {
            let Some(kind) = IndexKind::new(bits, signed) else { continue };
            let (lo, hi) = kind.range();
            let array = IndexArray::store(kind, &[lo, 1, hi], "a", "crdWidth").unwrap();
            for index in [i64::MIN, -1, 0, 1, 2, 3, 4, 5, i64::MAX] {
                let mut w = [0_i64; 2];
                let mut memory = [Memory::Index(&array), Memory::indices_mut(&mut w)];
                let result = gather(kind).run(&[index.into()], &mut memory);
                let at = index.wrapping_sub(1);
                match [lo, 1, hi].get(at as usize) {
                    Some(&element) => assert_eq!((result, w), (Ok(()), [index, element])),
                    None => {
                        let array = "a".to_owned();
                        let error = RunError::OutOfBounds { array, index: at, len: 3 };
                        assert_eq!((result, w), (Err(error), [index, 0]), "{kind}");
                    }
                }
            }
        }
    }
}

#[test]
fn packed_indices_end_where_they_say_not_where_their_last_byte_does() {
    let packed = IndexArray::store(IndexKind::U2, &[3, 2, 1, 0, 3], "crd", "crdWidth").unwrap();
    let mut w = [0_i64; 2];
    for (index, expected) in [(5, true), (6, false), (100, false)] {
        let mut memory = [Memory::Index(&packed), Memory::indices_mut(&mut w)];
        let result = gather(IndexKind::U2).run(&[index.into()], &mut memory);
        assert_eq!(result.is_ok(), expected, "{index}");
    }
}

#[test]
fn an_error_says_where_and_what() {
    let result = combine(Dtype::F64, BinOp::Add, [1.0, 2.0]);
    assert_eq!(result, Ok(3.0));
    let function = stores(Dtype::U16, |b, x| b.load(x, Expr::Len(x) + 2));
    let mut y = [0_u16];
    let mut memory = [Memory::values(&[1_u16, 2]), Memory::values_mut(&mut y)];
    let error = Program::compile(&function).unwrap().run(&[], &mut memory).unwrap_err();
    assert_eq!(error.to_string(), "`x[4]` is out of bounds: `x` has 2 elements");

    let result = combine(Dtype::I32, BinOp::Div, [1, 0]);
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), "division by zero in `x[0] / x[1]`");

    let mut b = Builder::new("divide");
    let n = b.param("n", Ty::Int);
    b.var("ignored", Expr::from(12).floor_div(n.clone()) + Expr::from(12).modulo(n));
    let program = Program::compile(&b.finish()).unwrap();
    assert_eq!(program.run(&[5.into()], &mut []), Ok(()));
    let error = program.run(&[0.into()], &mut []).unwrap_err();
    assert_eq!(error.to_string(), "division by zero in `12 floordiv n`");
}

#[test]
fn loops_that_do_not_end_are_stopped() {
    let mut b = Builder::new("endless");
    let rounds = b.array("rounds", Elem::Index(IndexKind::I64), true);
    b.while_(Expr::Bool(true), |b| {
        b.for_("i", 0.into(), 3.into(), |b, _| {
            b.reduce(BinOp::Add, rounds, 0.into(), 1.into());
        });
    });
    let program = Program::compile(&b.finish()).unwrap();
    let mut rounds = [0_i64];
    let limits = Limits { max_steps: 4 * 25 };
    let result = program.run_with(&[], &mut [Memory::indices_mut(&mut rounds)], limits);
    let error = RunError::StepLimit { function: "endless".to_owned(), max_steps: 100 };
    assert_eq!(result, Err(error));
    assert_eq!(rounds, [3 * 25], "a round of `while` is one step, and has three of `for` within");
}

#[test]
fn the_bound_of_a_loop_is_evaluated_once() {
    let mut b = Builder::new("once");
    let rounds = b.array("rounds", Elem::Index(IndexKind::I64), true);
    let n = b.var("n", 3.into());
    b.for_("i", 0.into(), n.into(), |b, _| {
        b.assign(n, Expr::from(n) + 1);
        b.reduce(BinOp::Add, rounds, 0.into(), 1.into());
    });
    let mut rounds = [0_i64];
    let memory = &mut [Memory::indices_mut(&mut rounds)];
    Program::compile(&b.finish()).unwrap().run(&[], memory).unwrap();
    assert_eq!(rounds, [3]);
}

#[test]
fn and_evaluates_both_sides_and_a_conditional_one() {
    let outcome = |guard: fn(Expr, Expr) -> Expr| {
        let mut b = Builder::new("guard");
        let no = b.param("no", Ty::Bool);
        let a = b.index_array("a", IndexKind::I64);
        let fails = b.load(a, 0.into()).equals(0);
        b.if_(guard(no, fails), |_| {});
        Program::compile(&b.finish()).unwrap().run(&[false.into()], &mut [Memory::Indices(&[])])
    };
    let out = || Err(RunError::OutOfBounds { array: "a".to_owned(), index: 0, len: 0 });
    assert_eq!(outcome(|no, fails| Expr::binary(BinOp::And, no, fails)), out());
    assert_eq!(outcome(|no, fails| Expr::binary(BinOp::And, fails, no)), out());
    assert_eq!(outcome(|no, fails| no.select(fails, Expr::Bool(false))), Ok(()));
    // Both sides can fail, and neither may be jumped over.
    let both = |no: Expr, fails: Expr| {
        let other = no.select(fails.clone(), Expr::Bool(false));
        Expr::binary(BinOp::And, other, fails)
    };
    assert_eq!(outcome(both), out());
}

#[test]
fn numbers_keep_to_their_dtype() {
    use BinOp::{Add, Div, Max, Min, Mul, Sub};
    assert_eq!(combine(Dtype::Bool, Add, [true, false]), Ok(true));
    assert_eq!(combine(Dtype::Bool, Mul, [true, false]), Ok(false));
    assert_eq!(combine(Dtype::I8, Add, [127_i8, 1]), Ok(-128));
    assert_eq!(combine(Dtype::U8, Sub, [0_u8, 1]), Ok(255));
    assert_eq!(combine(Dtype::I8, Div, [-128_i8, -1]), Ok(-128));
    assert_eq!(combine(Dtype::I8, Div, [-7_i8, 2]), Ok(-3));
    assert_eq!(combine(Dtype::U64, Max, [u64::MAX, 1]), Ok(u64::MAX));
    assert_eq!(combine(Dtype::I64, Max, [-1_i64, 1]), Ok(1));
    let i = Complex::new(0.0_f32, 1.0);
    assert_eq!(combine(Dtype::Complex64, Mul, [i, i]), Ok(Complex::new(-1.0, 0.0)));
    for (op, a, b, expected) in [
        (Min, f64::NAN, 1.0, f64::NAN),
        (Max, 1.0, f64::NAN, f64::NAN),
        (Min, 0.0, -0.0, -0.0),
        (Min, -0.0, 0.0, -0.0),
        (Max, -0.0, 0.0, 0.0),
        (Max, 0.0, -0.0, 0.0),
        (Min, f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY),
        (Div, 1.0, 0.0, f64::INFINITY),
    ] {
        let given = combine(Dtype::F64, op, [a, b]).unwrap();
        // In text, NaN equals NaN, and zeros have a sign.
        assert_eq!(format!("{given:?}"), format!("{expected:?}"), "{op} {a} {b}");
    }
}

#[test]
fn half_precision_is_rounded_when_stored_and_not_before() {
    // 2048 + 1 rounds to 2048 in f16, and 256 + 1 to 256 in bf16; their differences are 1 in f32.
    let function = |dtype| {
        stores(dtype, |b, x| (b.load(x, 0.into()) + b.load(x, 1.into())) - b.load(x, 0.into()))
    };
    let mut y = [f16::ZERO];
    let x = [f16::from_f32(2048.0), f16::ONE];
    assert_eq!(x[0] + x[1], x[0]);
    let mut memory = [Memory::values(&x), Memory::values_mut(&mut y)];
    Program::compile(&function(Dtype::F16)).unwrap().run(&[], &mut memory).unwrap();
    assert_eq!(y, [f16::ONE]);
    let mut y = [bf16::ZERO];
    let x = [bf16::from_f32(256.0), bf16::ONE];
    assert_eq!(x[0] + x[1], x[0]);
    let mut memory = [Memory::values(&x), Memory::values_mut(&mut y)];
    Program::compile(&function(Dtype::Bf16)).unwrap().run(&[], &mut memory).unwrap();
    assert_eq!(y, [bf16::ONE]);
}

#[test]
fn one_program_runs_on_many_threads() {
    let program = gather(IndexKind::U32);
    let a = IndexArray::from((0..64_u32).map(|i| i * i).collect::<Vec<_>>());
    thread::scope(|scope| {
        let threads: Vec<_> = (1..=64_i64)
            .map(|index| {
                let (program, a) = (&program, &a);
                scope.spawn(move || {
                    let mut w = [0_i64; 2];
                    let mut memory = [Memory::Index(a), Memory::indices_mut(&mut w)];
                    program.run(&[index.into()], &mut memory).map(|()| w)
                })
            })
            .collect();
        for (thread, index) in threads.into_iter().zip(1_i64..) {
            assert_eq!(thread.join().unwrap(), Ok([index, (index - 1) * (index - 1)]));
        }
    });
}

#[test]
fn the_deepest_valid_function_compiles_and_runs() {
    let mut b = Builder::new("deep");
    let flag = b.param("flag", Ty::Bool);
    let w = b.array("w", Elem::Index(IndexKind::I64), true);
    let deep = |step: fn(Expr, Expr) -> Expr| {
        (0..MAX_DEPTH - 3).fold(flag.clone(), |expr, _| step(expr, flag.clone()))
    };
    let exprs = [
        deep(|a, _| Expr::Unary(UnOp::Not, Box::new(a))),
        deep(|a, flag| Expr::binary(BinOp::And, flag, a)),
        deep(|a, flag| flag.select(Expr::Bool(false), a)),
        deep(|a, flag| a.select(flag.clone(), flag)),
    ];
    for expr in exprs {
        b.if_(expr, |b| b.reduce(BinOp::Add, w, 0.into(), 1.into()));
    }
    let blocks = (0..MAX_DEPTH - 1).fold(Stmt::Comment("deep".to_owned()), |stmt, _| Stmt::If {
        cond: Expr::Bool(true),
        then: vec![stmt],
        otherwise: Vec::new(),
    });
    let mut function = b.finish();
    function.body.push(blocks);
    assert!(function.to_string().contains("// deep"));
    let mut w = [0_i64];
    let memory = &mut [Memory::indices_mut(&mut w)];
    Program::compile(&function).unwrap().run(&[true.into()], memory).unwrap();
    let nots = i64::from((MAX_DEPTH - 3).is_multiple_of(2));
    assert_eq!(w, [nots + 2], "a conditional whose first side is taken gives false");
}

#[test]
fn more_constants_than_registers_are_refused() {
    let mut b = Builder::new("large");
    let w = b.array("w", Elem::Index(IndexKind::I64), true);
    for i in 0..70_000 {
        b.store(w, 0.into(), i.into());
    }
    let error = Program::compile(&b.finish()).unwrap_err();
    assert!(matches!(error, ValidateError::TooLarge { limit: 65536, .. }), "{error}");
}
