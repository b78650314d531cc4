//! Loops that kernels exist for: recognised however they are written, with the results of the
//! interpreter at every length.

use ust_ir::interp::{IndicesMut, Memory, Param, Program};
use ust_ir::scalar::Complex;
use ust_ir::{
    ArrayId, BinOp, Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Scalar, Stmt, Ty,
    Var,
};

use crate::recognise::{Pattern, recognise};
use crate::{Kernel, Options};

/// The arrays `crd`, `a`, `b`, `y`, and the parameters `n`, `shift`, `factor`.
struct Parts {
    b: Builder,
    arrays: [ArrayId; 4],
    n: Expr,
    shift: Expr,
    factor: Expr,
}

impl Parts {
    fn new(kind: IndexKind) -> Self {
        let mut b = Builder::new("pattern");
        let (n, shift) = (b.param("n", Ty::Int), b.param("shift", Ty::Int));
        let factor = b.param("factor", Ty::Val(Dtype::F64));
        let number = Elem::Value(Dtype::F64);
        let crd = b.index_array("crd", kind);
        let arrays = [
            crd,
            b.array("a", number, false),
            b.array("b", number, false),
            b.array("y", number, true),
        ];
        Self { b, arrays, n, shift, factor }
    }
}

/// The pattern of the outermost loop that has one.
fn pattern_of(function: &Function) -> Pattern {
    let assigned: Vec<bool> = function.vars.iter().map(|v| v.name.starts_with("sum")).collect();
    fn find(body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
        body.iter().find_map(|stmt| match stmt {
            Stmt::For { var, body, .. } => {
                recognise(*var, body, assigned).or_else(|| find(body, assigned))
            }
            _ => None,
        })
    }
    find(&function.body, &assigned).unwrap_or_else(|| panic!("nothing recognised in\n{function}"))
}

/// Runs a function of [`Parts`] at many lengths.
fn same_as_interpreter(function: &Function, kind: IndexKind) {
    let program = Program::compile(function).unwrap();
    let mut state = 7_u64;
    let mut random = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for strict in [true, false] {
        let kernel = Kernel::compile(function, &Options { checked: false, strict }).unwrap();
        for n in (-2..40).chain([63, 64, 65, 100, 199]) {
            let shift = random(5) as i64;
            let size = n.max(0) as u64 + 8;
            let crd: Vec<i64> = (0..size).map(|_| random(size.min(100)) as i64).collect();
            let crd = IndexArray::store(kind, &crd, "", "").unwrap();
            let mut numbers = |len: u64| -> Vec<f64> {
                (0..len).map(|_| random(2001) as f64 / 1000.0 - 1.0).collect()
            };
            let (a, b, y) = (numbers(size), numbers(100 * 40 + size), numbers(4 * 40 + size));
            let params: [Param; 3] = [n.into(), shift.into(), Scalar::F64(0.75).into()];
            let (mut expected, mut found) = (y.clone(), y);
            let memory = |y| {
                [Memory::Index(&crd), Memory::values(&a), Memory::values(&b), Memory::values_mut(y)]
            };
            program.run(&params, &mut memory(&mut expected[..])).unwrap();
            kernel.run(&params, &mut memory(&mut found[..])).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                let exact = strict && (found.to_bits() == expected.to_bits());
                let close = !strict && (found - expected).abs() <= 1e-13 * (1.0 + n.abs() as f64);
                assert!(exact || close, "{n} {strict}: {found} {expected}\n{function}");
            }
        }
    }
}

fn sum_into_variable(mut p: Parts, term: impl Fn(&mut Builder, Expr) -> Expr) -> Function {
    let sum = p.b.var("sum", Expr::Const(Scalar::F64(0.5)));
    let (lo, hi) = (p.shift.clone(), p.shift.clone() + p.n.clone());
    p.b.for_("p", lo, hi, |b, at| {
        let term = term(b, at);
        b.assign(sum, Expr::from(sum) + term);
    });
    p.b.store(p.arrays[3], 0.into(), sum.into());
    p.b.finish()
}

#[test]
fn gathered_dot_products() {
    for kind in [IndexKind::U32, IndexKind::I32, IndexKind::U64, IndexKind::I64, IndexKind::U8] {
        for swapped in [false, true] {
            let p = Parts::new(kind);
            let ([crd, a, x, _], shift) = (p.arrays, p.shift.clone());
            let function = sum_into_variable(p, |b, at| {
                let place = b.load(crd, at.clone());
                let place = b.bind("place", place);
                let (a, x) = (b.load(a, at), b.load(x, shift.clone() + place));
                if swapped { x * a } else { a * x }
            });
            assert!(matches!(pattern_of(&function), Pattern::GatherDot { .. }));
            same_as_interpreter(&function, kind);
        }
        // Summed into memory.
        let mut p = Parts::new(kind);
        let [crd, a, x, y] = p.arrays;
        p.b.for_("p", 0.into(), p.n.clone(), |b, at| {
            let place = b.load(crd, at.clone());
            let term = b.load(a, at) * b.load(x, place);
            b.reduce(BinOp::Add, y, p.shift.clone(), term);
        });
        let function = p.b.finish();
        assert!(matches!(pattern_of(&function), Pattern::GatherDot { .. }));
        same_as_interpreter(&function, kind);
    }
}

#[test]
fn dense_dot_products() {
    let p = Parts::new(IndexKind::U32);
    let [_, a, x, _] = p.arrays;
    let function =
        sum_into_variable(p, |b, at| b.load(a, at.clone()) * b.load(x, at + Expr::from(3)));
    assert!(matches!(pattern_of(&function), Pattern::Dot { .. }));
    same_as_interpreter(&function, IndexKind::U32);
}

#[test]
fn sums_of_multiples_and_of_products() {
    for product in [false, true] {
        let mut p = Parts::new(IndexKind::U32);
        let [_, a, x, y] = p.arrays;
        p.b.for_("i", 0.into(), p.n.clone(), |b, at| {
            let first = if product { b.load(a, at.clone()) } else { p.factor.clone() };
            let term = first * b.load(x, at.clone() + p.shift.clone());
            b.reduce(BinOp::Add, y, p.shift.clone() + at, term);
        });
        let function = p.b.finish();
        let pattern = pattern_of(&function);
        assert_eq!(matches!(pattern, Pattern::MultiplyAdd { .. }), product);
        assert_eq!(matches!(pattern, Pattern::Axpy { .. }), !product);
        same_as_interpreter(&function, IndexKind::U32);
    }
}

#[test]
fn elements_that_are_all_alike() {
    for from_memory in [false, true] {
        let mut p = Parts::new(IndexKind::U32);
        let [_, a, _, y] = p.arrays;
        p.b.for_("i", 0.into(), p.n.clone(), |b, at| {
            let value = if from_memory { b.load(a, p.shift.clone()) } else { p.factor.clone() };
            b.store(y, p.shift.clone() + at, value);
        });
        let function = p.b.finish();
        assert!(matches!(pattern_of(&function), Pattern::Fill { .. }));
        same_as_interpreter(&function, IndexKind::U32);
    }
    // The stored value is read from the array that is written.
    let mut p = Parts::new(IndexKind::U32);
    let y = p.arrays[3];
    p.b.for_("i", 0.into(), p.n.clone(), |b, at| {
        let value = b.load(y, 2.into());
        b.store(y, at, value + Expr::Const(Scalar::F64(1.0)));
    });
    let Stmt::For { var, body, .. } = &p.b.finish().body[0] else { panic!("a loop") };
    assert_eq!(recognise(*var, body, &[false; 8]), None);
}

#[test]
fn rows_of_a_sparse_matrix_times_a_dense_one() {
    for columns in [1, 3, 8, 33, 40] {
        let mut p = Parts::new(IndexKind::I32);
        let [crd, a, x, y] = p.arrays;
        let width = p.b.bind("width", p.shift.clone() * Expr::from(0) + Expr::from(columns));
        p.b.for_("p", 1.into(), p.n.clone(), |b, at| {
            let factor = b.load(a, at.clone());
            let factor = b.bind("factor", factor);
            let k = b.load(crd, at);
            let k = b.bind("k", k);
            b.for_("j", 0.into(), width.clone(), |b, j| {
                let from = k.clone() * width.clone() + j.clone();
                let term = factor.clone() * b.load(x, from);
                b.reduce(BinOp::Add, y, p.shift.clone() + j, term);
            });
        });
        let function = p.b.finish();
        // One column is written without a loop: what is left gathers.
        assert_eq!(matches!(pattern_of(&function), Pattern::Row { .. }), columns > 1);
        same_as_interpreter(&function, IndexKind::I32);
    }
}

/// A loop over `p`, of one statement.
fn refused(p: Parts, stmt: impl FnOnce(&mut Builder, Expr)) {
    let Parts { mut b, n, .. } = p;
    b.for_("p", 0.into(), n, |b, at| stmt(b, at));
    let function = b.finish();
    let Stmt::For { var, body, .. } = &function.body[0] else { panic!("a loop") };
    assert_eq!(recognise(*var, body, &vec![false; function.vars.len()]), None, "{function}");
}

#[test]
fn loops_that_read_what_they_write_are_left_alone() {
    let p = Parts::new(IndexKind::U32);
    let [_, a, _, y] = p.arrays;
    refused(p, |b, at| {
        let term = b.load(a, at.clone()) * b.load(y, at.clone() + Expr::from(1));
        b.reduce(BinOp::Add, y, at, term);
    });
    let p = Parts::new(IndexKind::U32);
    let [_, a, _, y] = p.arrays;
    refused(p, |b, at| {
        // The factor is an element that an iteration may change.
        let term = b.load(y, 0.into()) * b.load(a, at.clone());
        b.reduce(BinOp::Add, y, at, term);
    });
    let p = Parts::new(IndexKind::U32);
    let [_, a, x, y] = p.arrays;
    refused(p, |b, at| {
        // Every other element.
        let term = b.load(a, at.clone() + at.clone()) * b.load(x, at.clone());
        b.reduce(BinOp::Add, y, at, term);
    });
}

#[test]
fn loops_of_few_rounds_are_written_out() {
    let mut p = Parts::new(IndexKind::U32);
    let [_, a, x, y] = p.arrays;
    p.b.for_("i", 0.into(), 3.into(), |b, i| {
        b.for_("j", 0.into(), 2.into(), |b, j| {
            let term = b.load(a, i.clone() * Expr::from(2) + j.clone()) * b.load(x, j);
            b.reduce(BinOp::Add, y, i.clone(), term);
        });
    });
    let function = p.b.finish();
    same_as_interpreter(&function, IndexKind::U32);
}

#[test]
fn halves_are_converted_as_the_reference_does() {
    use ust_ir::scalar::{bf16, f16};
    macro_rules! check {
        ($ty:ty, $dtype:expr) => {
            let mut b = Builder::new("widen");
            let n = b.param("n", Ty::Int);
            let half = b.array("half", Elem::Value($dtype), false);
            let single = b.array("single", Elem::Value(Dtype::F32), true);
            b.for_("i", 0.into(), n, |b, i| {
                let value = b.load(half, i.clone());
                b.store(single, i, value.cast(Dtype::F32));
            });
            let widen = Kernel::compile(&b.finish(), &Options::default()).unwrap();
            let mut b = Builder::new("narrow");
            let n = b.param("n", Ty::Int);
            let single = b.array("single", Elem::Value(Dtype::F32), false);
            let half = b.array("half", Elem::Value($dtype), true);
            b.for_("i", 0.into(), n, |b, i| {
                let value = b.load(single, i.clone());
                b.store(half, i, value.cast($dtype));
            });
            let narrow = Kernel::compile(&b.finish(), &Options::default()).unwrap();
            let all: Vec<$ty> = (0..=u16::MAX).map(<$ty>::from_bits).collect();
            let mut wide = vec![f32::NAN; all.len()];
            let n: Param = (all.len() as i64).into();
            widen.run(&[n], &mut [Memory::values(&all), Memory::values_mut(&mut wide)]).unwrap();
            for (half, wide) in all.iter().zip(&wide) {
                let same = half.to_f32().to_bits() == wide.to_bits();
                assert!(same || (half.is_nan() && wide.is_nan()), "{half:?} {wide}");
            }
            // Each, and what lies around it and half way to the next.
            let near: Vec<f32> = wide
                .iter()
                .flat_map(|w| {
                    [-0x1001_i32, -0x1000, -0xfff, -1, 0, 1, 0xfff, 0x1000, 0x1001, 0x8000]
                        .map(|d| f32::from_bits(w.to_bits().wrapping_add_signed(d)))
                })
                .collect();
            let mut found = vec![<$ty>::from_bits(0x1234); near.len()];
            let n: Param = (near.len() as i64).into();
            narrow.run(&[n], &mut [Memory::values(&near), Memory::values_mut(&mut found)]).unwrap();
            for (wide, found) in near.iter().zip(&found) {
                let expected = <$ty>::from_f32(*wide);
                let same = expected.to_bits() == found.to_bits();
                assert!(same || (expected.is_nan() && found.is_nan()), "{wide:e} {found:?}");
            }
        };
    }
    check!(f16, Dtype::F16);
    check!(bf16, Dtype::Bf16);
}

#[test]
fn rows_are_summed_wherever_they_and_their_sums_stand() {
    // Rows of the last begin at row 3 of `pos`, and read `x` from element 3 on.
    let cases = [(true, true, 0), (false, true, 0), (false, false, 0), (false, false, 3)];
    for (strict, named, skipped) in cases {
        let mut b = Builder::new("fibres");
        let (n, shift) = (b.param("n", Ty::Int), b.param("shift", Ty::Int));
        let [pos, crd, places] =
            ["pos", "crd", "places"].map(|name| b.index_array(name, IndexKind::U32));
        let [a, x] = ["a", "x"].map(|name| b.array(name, Elem::Value(Dtype::F64), false));
        let y = b.array("y", Elem::Value(Dtype::F64), true);
        b.for_("row", 0.into(), n, |b, row| {
            let place = match named {
                true => {
                    let place = b.load(places, row.clone());
                    b.bind("place", place)
                }
                false => row.clone(),
            };
            let row = match skipped {
                0 => row,
                _ => b.bind("below", shift.clone() + row),
            };
            let sum = b.var("sum", Expr::Const(Scalar::F64(0.0)));
            let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row + Expr::from(1)));
            b.for_("p", lo, hi, |b, p| {
                let crd = b.load(crd, p.clone());
                let at = if skipped == 0 { crd } else { shift.clone() + crd };
                let term = b.load(a, p) * b.load(x, at);
                b.assign(sum, Expr::from(sum) + term);
            });
            b.store(y, shift.clone() * Expr::from(2) + place, sum.into());
        });
        let function = b.finish();
        let pattern = pattern_of(&function);
        assert!(
            matches!(&pattern, Pattern::Rows { places, .. } if places.is_some() == named),
            "{pattern:?}\n{function}"
        );
        let kernel = Kernel::compile(&function, &Options { checked: false, strict }).unwrap();
        // Short rows, an empty one, a long one, and nothing behind the last to read.
        let lengths = [3, 0, 1, 4, 2, 5, 0, 70, 1, 2, 4, 3, 33, 1];
        for rows in 0..=lengths.len() {
            let mut ends = vec![0_u32; skipped + 1];
            lengths[..rows].iter().for_each(|n| ends.push(ends[ends.len() - 1] + n));
            let count = ends[skipped + rows] as usize;
            let columns: Vec<u32> = (0..count as u32).map(|p| p * 7 % 11).collect();
            let numbers: Vec<f64> = (0..count).map(|p| (p % 5) as f64 - 2.0).collect();
            let x: Vec<f64> = (0..11 + skipped).map(|j| j as f64 + 1.0).collect();
            let backwards: Vec<u32> = (0..rows as u32).rev().collect();
            let mut found = vec![f64::NAN; lengths.len() + 6];
            let [pos, crd, places] =
                [ends.clone(), columns.clone(), backwards].map(IndexArray::from);
            let mut memory = [
                Memory::Index(&pos),
                Memory::Index(&crd),
                Memory::Index(&places),
                Memory::values(&numbers),
                Memory::values(&x),
                Memory::values_mut(&mut found[..]),
            ];
            kernel.run(&[(rows as i64).into(), 3_i64.into()], &mut memory).unwrap();
            for row in 0..rows {
                let ends = &ends[skipped..];
                let terms = (ends[row] as usize..ends[row + 1] as usize)
                    .map(|p| numbers[p] * x[skipped + columns[p] as usize]);
                let place = 6 + if named { rows - 1 - row } else { row };
                // Small integers: sums are exact in any order.
                assert_eq!(found[place], terms.sum::<f64>(), "{rows} rows, row {row}, {named}");
            }
            let written = |at: usize| (6..6 + rows).contains(&at);
            assert!((0..found.len()).all(|at| written(at) != found[at].is_nan()), "{found:?}");
        }
    }
}

/// The number that is written for an entry that moves to its column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    /// The row, and something: all rows are one call.
    Row,
    /// Another number of the row: each is a call.
    ThreeTimesRow,
    /// The key, which no kernel writes.
    Key,
}

/// Rows whose entries move to the next free places of their columns.
fn scattering(kind: IndexKind, given: Given) -> Function {
    let mut b = Builder::new("scatter");
    let (n, base) = (b.param("n", Ty::Int), b.param("base", Ty::Int));
    let [pos, crd] = ["pos", "crd"].map(|name| b.index_array(name, kind));
    let values = b.array("values", Elem::Value(Dtype::Complex64), false);
    let next = b.array("next", Elem::Index(IndexKind::U32), true);
    let column = b.array("column", Elem::Index(kind), true);
    let out = b.array("out", Elem::Value(Dtype::Complex64), true);
    b.for_("row", 0.into(), n, |b, row| {
        let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row.clone() + Expr::from(1)));
        b.for_("p", lo, hi, |b, p| {
            let key = b.load(crd, p.clone());
            let key = b.bind("key", key);
            let slot = b.bind("slot", base.clone() + key.clone());
            let at = b.load(next, slot.clone());
            let at = b.bind("at", at);
            b.store(next, slot, at.clone() + 1);
            let number = match given {
                Given::Row => row.clone() + base.clone(),
                Given::ThreeTimesRow => row.clone() * Expr::from(3),
                Given::Key => key,
            };
            b.store(column, at.clone(), number);
            let value = b.load(values, p);
            b.store(out, at, value);
        });
    });
    b.finish()
}

fn check_scattering<I: Copy + Default + PartialEq + std::fmt::Debug>(kind: IndexKind)
where
    for<'a> IndicesMut<'a>: From<&'a mut [I]>,
{
    for given in [Given::Row, Given::ThreeTimesRow, Given::Key] {
        let function = scattering(kind, given);
        let recognised =
            |var: &Var, body: &[Stmt]| recognise(*var, body, &vec![false; function.vars.len()]);
        let Stmt::For { var, body, .. } = &function.body[0] else { panic!("a loop") };
        let rows = matches!(recognised(var, body), Some(Pattern::ScatterRows { .. }));
        assert_eq!(rows, given == Given::Row, "{function}");
        let Some(Stmt::For { var, body, .. }) = body.last() else { panic!("a loop") };
        let row = matches!(recognised(var, body), Some(Pattern::Scatter { .. }));
        assert_eq!(row, given != Given::Key, "{function}");
        let mut ends = vec![0_i64];
        [3, 40, 0, 8, 100, 7, 65, 1].iter().for_each(|n| ends.push(ends[ends.len() - 1] + n));
        let (rows, count) = (ends.len() - 1, ends[ends.len() - 1] as usize);
        let keys: Vec<i64> = (0..count as i64).map(|p| p * 31 % 11).collect();
        let numbers: Vec<_> = (0..count).map(|p| Complex::new(p as f32, -1.0)).collect();
        let [pos, crd] =
            [&ends, &keys].map(|numbers| IndexArray::store(kind, numbers, "", "").unwrap());
        let run = |run: &dyn Fn(&[Param], &mut [Memory<'_>])| {
            // Room for every entry at each of the 11 keys, behind 3 that are none.
            let mut next: Vec<u32> = (0..14).map(|k| k * count as u32).collect();
            let mut column = vec![I::default(); 14 * count];
            let mut out = vec![Complex::new(-1.0_f32, 0.0); 14 * count];
            let mut memory = [
                Memory::Index(&pos),
                Memory::Index(&crd),
                Memory::values(&numbers),
                Memory::IndicesMut(IndicesMut::U32(&mut next)),
                Memory::indices_mut(&mut column[..]),
                Memory::values_mut(&mut out[..]),
            ];
            run(&[(rows as i64).into(), 3_i64.into()], &mut memory);
            (next, column, out)
        };
        let program = Program::compile(&function).unwrap();
        let expected = run(&|params, memory| program.run(params, memory).unwrap());
        for checked in [true, false] {
            let kernel = Kernel::compile(&function, &Options { checked, strict: true }).unwrap();
            let found = run(&|params, memory| kernel.run(params, memory).unwrap());
            assert_eq!(found, expected, "{function}");
        }
    }
}

#[test]
fn entries_that_go_to_the_next_free_place() {
    check_scattering::<u32>(IndexKind::U32);
    check_scattering::<i32>(IndexKind::I32);
    check_scattering::<i64>(IndexKind::I64);
    // No kernel has these.
    check_scattering::<u16>(IndexKind::U16);
}
