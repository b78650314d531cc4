//! Loops that kernels exist for: found however they are written, with the results of the
//! interpreter at every length.

use ust_ir::idiom::{Leaf, Sum, Target};
use ust_ir::interp::{Memory, Param};
use ust_ir::testing::write_leaf;
use ust_ir::{
    ArrayId, BinOp, Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Scalar, Ty,
};

use super::{Run, Ways, all_near, pattern_of};
use crate::pattern::Pattern;
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

/// Runs a function of [`Parts`] at many lengths.
fn same_as_interpreter(function: Function, kind: IndexKind) {
    let ways = Ways::of(function);
    let mut state = 7_u64;
    let mut random = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
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
        // As bits: the sign of a zero counts.
        let run = |run: Run<'_>| {
            let mut y = y.clone();
            let mut memory = [
                Memory::Index(&crd),
                Memory::values(&a),
                Memory::values(&b),
                Memory::values_mut(&mut y[..]),
            ];
            run(&params, &mut memory);
            y.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        };
        ways.near(n, run, |found, expected| {
            let numbers = |of: &[u64]| of.iter().map(|&bits| f64::from_bits(bits)).collect();
            let (found, expected): (Vec<f64>, Vec<f64>) = (numbers(found), numbers(expected));
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-13 * (1.0 + n.abs() as f64);
            all_near(&found, &expected, near)
        });
    }
}

fn sum_into_variable(mut p: Parts, factors: impl Fn(&mut Builder, Expr) -> Vec<Expr>) -> Function {
    let start = Scalar::F64(0.5);
    let sum = p.b.var("sum", Expr::Const(start));
    let (lo, hi) = (p.shift.clone(), p.shift.clone() + p.n.clone());
    let to = Sum { inside: 0, start, array: p.arrays[3], index: 0.into(), op: None };
    p.b.for_("p", lo, hi, |b, at| {
        let factors = factors(b, at);
        write_leaf(b, Leaf { sum: Some(to), ..Leaf::product(Target::Var(sum), factors) });
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
                if swapped { vec![x, a] } else { vec![a, x] }
            });
            assert!(matches!(pattern_of(&function), Some(Pattern::GatherDot { .. })));
            same_as_interpreter(function, kind);
        }
        // Summed into memory.
        let mut p = Parts::new(kind);
        let [crd, a, x, y] = p.arrays;
        p.b.for_("p", 0.into(), p.n.clone(), |b, at| {
            let place = b.load(crd, at.clone());
            let factors = vec![b.load(a, at), b.load(x, place)];
            write_leaf(b, Leaf::product(Target::Element(y, p.shift.clone()), factors));
        });
        let function = p.b.finish();
        assert!(matches!(pattern_of(&function), Some(Pattern::GatherDot { .. })));
        same_as_interpreter(function, kind);
    }
}

#[test]
fn dense_dot_products() {
    let p = Parts::new(IndexKind::U32);
    let [_, a, x, _] = p.arrays;
    let function =
        sum_into_variable(p, |b, at| vec![b.load(a, at.clone()), b.load(x, at + Expr::from(3))]);
    assert!(matches!(pattern_of(&function), Some(Pattern::Dot { .. })));
    same_as_interpreter(function, IndexKind::U32);
}

/// A coordinate beside that of the entry, and one of a coordinate: there is no kernel.
#[test]
fn coordinates_from_elsewhere() {
    for of_coordinate in [false, true] {
        let p = Parts::new(IndexKind::U32);
        let ([crd, a, x, _], shift) = (p.arrays, p.shift.clone());
        let function = sum_into_variable(p, |b, at| {
            let place = match of_coordinate {
                false => b.load(crd, at.clone() - shift.clone()),
                true => b.load(crd, b.load(crd, at.clone())),
            };
            vec![b.load(a, at), b.load(x, place)]
        });
        assert_eq!(pattern_of(&function), None, "{function}");
        same_as_interpreter(function, IndexKind::U32);
    }
}

#[test]
fn sums_of_multiples_and_of_products() {
    for product in [false, true] {
        let mut p = Parts::new(IndexKind::U32);
        let [_, a, x, y] = p.arrays;
        p.b.for_("i", 0.into(), p.n.clone(), |b, at| {
            let first = if product { b.load(a, at.clone()) } else { p.factor.clone() };
            let factors = vec![first, b.load(x, at.clone() + p.shift.clone())];
            write_leaf(b, Leaf::product(Target::Element(y, p.shift.clone() + at), factors));
        });
        let function = p.b.finish();
        let pattern = pattern_of(&function);
        assert_eq!(matches!(pattern, Some(Pattern::MultiplyAdd { .. })), product);
        assert_eq!(matches!(pattern, Some(Pattern::Axpy { .. })), !product);
        same_as_interpreter(function, IndexKind::U32);
    }
}

#[test]
fn elements_that_are_all_alike() {
    // Of a number, an element, and a sum of both.
    for case in 0..3 {
        let mut p = Parts::new(IndexKind::U32);
        let [_, a, _, y] = p.arrays;
        p.b.for_("i", 0.into(), p.n.clone(), |b, at| {
            let (number, element) = (p.factor.clone(), b.load(a, p.shift.clone()));
            let factors = [vec![number.clone()], vec![element.clone()], vec![number, element]];
            let place = Target::Element(y, p.shift.clone() + at);
            let leaf = Leaf::product(place, factors[case].clone());
            write_leaf(b, Leaf { op: None, times: BinOp::Add, ..leaf });
        });
        let function = p.b.finish();
        assert!(matches!(pattern_of(&function), Some(Pattern::Fill { .. })));
        same_as_interpreter(function, IndexKind::U32);
    }
    // The stored value is read from the array that is written.
    let mut p = Parts::new(IndexKind::U32);
    let y = p.arrays[3];
    p.b.for_("i", 0.into(), p.n.clone(), |b, at| {
        let value = b.load(y, 2.into()) + Expr::Const(Scalar::F64(1.0));
        let leaf = Leaf::product(Target::Element(y, at), vec![value]);
        write_leaf(b, Leaf { op: None, ..leaf });
    });
    let function = p.b.finish();
    assert_eq!(function.idioms, []);
    same_as_interpreter(function, IndexKind::U32);
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
                let factors = vec![factor.clone(), b.load(x, from)];
                write_leaf(b, Leaf::product(Target::Element(y, p.shift.clone() + j), factors));
            });
        });
        let function = p.b.finish();
        // One column is written without a loop: what is left gathers.
        assert_eq!(matches!(pattern_of(&function), Some(Pattern::Row { .. })), columns > 1);
        same_as_interpreter(function, IndexKind::I32);
    }
}

/// A loop over `p` that adds a product to `y[p]`.
fn refused(p: Parts, factors: impl FnOnce(&mut Builder, Expr) -> Vec<Expr>) -> Function {
    let Parts { mut b, n, arrays: [_, _, _, y], .. } = p;
    b.for_("p", 0.into(), n, |b, at| {
        let factors = factors(b, at.clone());
        write_leaf(b, Leaf::product(Target::Element(y, at), factors));
    });
    let function = b.finish();
    assert_eq!(pattern_of(&function), None, "{function}");
    function
}

#[test]
fn loops_that_read_what_they_write_are_left_alone() {
    let p = Parts::new(IndexKind::U32);
    let [_, a, _, y] = p.arrays;
    let function =
        refused(p, |b, at| vec![b.load(a, at.clone()), b.load(y, at.clone() + Expr::from(1))]);
    assert_eq!(function.idioms, []);
    same_as_interpreter(function, IndexKind::U32);
    let p = Parts::new(IndexKind::U32);
    let [_, a, _, y] = p.arrays;
    // The factor is an element that an iteration may change.
    let function = refused(p, |b, at| vec![b.load(y, 0.into()), b.load(a, at.clone())]);
    assert_eq!(function.idioms, []);
    same_as_interpreter(function, IndexKind::U32);
    let p = Parts::new(IndexKind::U32);
    let [_, a, x, _] = p.arrays;
    // Every other element.
    let function =
        refused(p, |b, at| vec![b.load(x, at.clone() + at.clone()), b.load(a, at.clone())]);
    same_as_interpreter(function, IndexKind::U32);
    // The sum is a factor.
    let p = Parts::new(IndexKind::U32);
    let ([_, a, _, y], mut b, n) = (p.arrays, p.b, p.n);
    let sum = b.var("sum", Expr::Const(Scalar::F64(0.5)));
    b.for_("p", 0.into(), n, |b, at| {
        let factors = vec![b.load(a, at.clone()), b.load(a, at), sum.into()];
        write_leaf(b, Leaf::product(Target::Var(sum), factors));
    });
    b.store(y, 0.into(), sum.into());
    let function = b.finish();
    assert_eq!(function.idioms, []);
    same_as_interpreter(function, IndexKind::U32);
}

#[test]
fn loops_of_few_rounds_are_written_out() {
    let mut p = Parts::new(IndexKind::U32);
    let [_, a, x, y] = p.arrays;
    p.b.for_("i", 0.into(), 3.into(), |b, i| {
        b.for_("j", 0.into(), 2.into(), |b, j| {
            let one = b.load(a, i.clone() * Expr::from(2) + j.clone());
            let factors = vec![one, b.load(x, j)];
            write_leaf(b, Leaf::product(Target::Element(y, i.clone()), factors));
        });
    });
    same_as_interpreter(p.b.finish(), IndexKind::U32);
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
    // Rows of the last ones begin at row 3 of `pos`, and read `x` from element 3 on. Bounds may be counted from entry 3.
    let cases = [(true, 0, 0), (false, 0, 0), (false, 3, 0), (true, 0, 3), (false, 3, 3)];
    for (named, skipped, begin) in cases {
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
            let place = shift.clone() * Expr::from(2) + place;
            let (inside, start) = (b.open_loops(), Scalar::F64(0.0));
            let to = Sum { inside, start, array: y, index: place.clone(), op: None };
            let sum = b.var("sum", Expr::Const(start));
            let from = if begin == 0 { Expr::Int(0) } else { shift.clone() };
            let [lo, hi] =
                [row.clone(), row + Expr::from(1)].map(|row| b.load(pos, row) + from.clone());
            b.for_("p", lo, hi, |b, p| {
                let crd = b.load(crd, p.clone());
                let at = if skipped == 0 { crd } else { shift.clone() + crd };
                let factors = vec![b.load(a, p), b.load(x, at)];
                write_leaf(b, Leaf { sum: Some(to), ..Leaf::product(Target::Var(sum), factors) });
            });
            b.store(y, place, sum.into());
        });
        let function = b.finish();
        let pattern = pattern_of(&function);
        assert!(
            matches!(&pattern, Some(Pattern::Rows { places, .. }) if places.is_some() == named),
            "{pattern:?}\n{function}"
        );
        let ways = Ways::of(function);
        // Short rows, an empty one, a long one, and nothing behind the last to read.
        let lengths = [3, 0, 1, 4, 2, 5, 0, 70, 1, 2, 4, 3, 33, 1];
        for rows in 0..=lengths.len() {
            let mut ends = vec![0_u32; skipped + 1];
            lengths[..rows].iter().for_each(|n| ends.push(ends[ends.len() - 1] + n));
            let count = begin + ends[skipped + rows] as usize;
            let columns: Vec<u32> = (0..count as u32).map(|p| p * 7 % 11).collect();
            let numbers: Vec<f64> = (0..count).map(|p| (p % 5) as f64 - 2.0).collect();
            let x: Vec<f64> = (0..11 + skipped).map(|j| j as f64 + 1.0).collect();
            let backwards: Vec<u32> = (0..rows as u32).rev().collect();
            let [pos, crd, places] =
                [ends.clone(), columns.clone(), backwards].map(IndexArray::from);
            // As bits: NaN is NaN.
            let found = ways.same((rows, named, begin), |run: Run<'_>| {
                let mut found = vec![f64::NAN; lengths.len() + 6];
                let mut memory = [
                    Memory::Index(&pos),
                    Memory::Index(&crd),
                    Memory::Index(&places),
                    Memory::values(&numbers),
                    Memory::values(&x),
                    Memory::values_mut(&mut found[..]),
                ];
                run(&[(rows as i64).into(), 3_i64.into()], &mut memory);
                found.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
            });
            let found: Vec<f64> = found.into_iter().map(f64::from_bits).collect();
            for row in 0..rows {
                let ends = &ends[skipped..];
                let terms = (ends[row] as usize..ends[row + 1] as usize)
                    .map(|p| numbers[begin + p] * x[skipped + columns[begin + p] as usize]);
                let place = 6 + if named { rows - 1 - row } else { row };
                // Small integers: sums are exact in any order.
                assert_eq!(found[place], terms.sum::<f64>(), "{rows} rows, row {row}, {named}");
            }
            let written = |at: usize| (6..6 + rows).contains(&at);
            assert!((0..found.len()).all(|at| written(at) != found[at].is_nan()), "{found:?}");
        }
    }
}
