//! Rows of runs: entries with consecutive coordinates, whatever a run is described by.

use ust_ir::idiom::{Leaf, Sum, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{BinOp, Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Scalar, Ty};

use super::{Run, Ways, all_near, pattern_of};
use crate::loops::{CodeOf, Reason};
use crate::pattern::Pattern;
use crate::{Kernel, Options};

/// How the rows of a function are made.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Whether a row has one run, instead of some.
    is_one: bool,
    /// Whether `bounds` are ends.
    is_end: bool,
    /// Whether sums go to named places.
    named: bool,
    /// Elements of `x` and of `a` before those of coordinate 0 and position 0.
    skipped: i64,
    kind: IndexKind,
    dtype: Dtype,
    /// Whether a row does something else, too: its sum is added to what is there, times a number.
    adds: bool,
    change: Change,
}

/// What makes loops that are no rows of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    None,
    /// The last entry of a run is left out.
    Count,
    /// All entries of a run have one value.
    Shared,
    /// Every other element of `x`.
    Strided,
    /// Elements of `x` of another run.
    Elsewhere,
}

impl Form {
    fn function(self) -> Function {
        let mut b = Builder::new("runs");
        let (n, shift) = (b.param("n", Ty::Int), b.param("shift", Ty::Int));
        let [pos, bounds, ofs, places] =
            ["pos", "bounds", "ofs", "places"].map(|name| b.index_array(name, self.kind));
        let [a, x] = ["a", "x"].map(|name| b.array(name, Elem::Value(self.dtype), false));
        let y = b.array("y", Elem::Value(self.dtype), true);
        let [zero, one] = [self.dtype.zero(), self.dtype.one()];
        b.for_("row", 0.into(), n, |b, row| {
            let place = if self.named { b.load(places, row.clone()) } else { row.clone() };
            let sum = b.var("sum", Expr::Const(zero));
            let number = b.bind("number", Expr::Const(one) + Expr::Const(one));
            let to = Sum { inside: 1, start: zero, array: y, index: place.clone(), op: None };
            let runs = match self.is_one {
                true => (row.clone(), row.clone() + 1),
                false => (b.load(pos, row.clone()), b.load(pos, row + 1)),
            };
            b.for_("run", runs.0, runs.1, |b, run| {
                let first = b.load(ofs, run.clone());
                let at = b.bind("at", first);
                let next = b.load(ofs, run.clone() + 1);
                let count = match self.change {
                    Change::Count => next - at.clone() - 1,
                    _ => next - at.clone(),
                };
                let bound = match self.change {
                    Change::Elsewhere => b.load(bounds, Expr::Int(0)),
                    _ => b.load(bounds, run.clone()),
                };
                let lo = if self.is_end { bound - count.clone() } else { bound };
                let lo = b.bind("lo", lo);
                b.for_("j", lo.clone(), lo.clone() + count, |b, j| {
                    let place = match self.change {
                        Change::Shared => run.clone(),
                        _ => j.clone() + (at.clone() - lo.clone()) + shift.clone(),
                    };
                    let column = match self.change {
                        Change::Strided => j.clone() * 2,
                        _ => j.clone() + shift.clone(),
                    };
                    let factors = vec![b.load(a, place), b.load(x, column)];
                    if self.adds {
                        let twice = [factors, vec![number.clone()]].concat();
                        return write_leaf(b, Leaf::product(Target::Var(sum), twice));
                    }
                    let leaf = Leaf::product(Target::Var(sum), factors);
                    write_leaf(b, Leaf { sum: Some(to.clone()), ..leaf });
                });
            });
            match self.adds {
                true => {
                    b.reduce(BinOp::Add, y, place, sum.into());
                    b.reduce(BinOp::Add, y, 0.into(), Expr::Const(one));
                }
                false => b.store(y, place, sum.into()),
            }
        });
        b.finish()
    }

    /// Runs a function with rows of random runs.
    fn same_as_interpreter(self, function: Function) {
        const COLUMNS: u64 = 90;
        let ways = Ways::of(function);
        let mut state = 11_u64;
        let mut random = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for rows in (0..20).chain([40, 100]) {
            let (mut pos, mut ofs, mut bounds) = (vec![0], vec![0], Vec::new());
            for _ in 0..rows {
                for _ in 0..if self.is_one { 1 } else { random(4) } {
                    let least = u64::from(self.change == Change::Elsewhere);
                    let longest = [2, 9, 20, COLUMNS][random(4) as usize];
                    let n = least + random(longest);
                    let first = [0, COLUMNS - n, random(COLUMNS - n + 1)][random(3) as usize];
                    ofs.push(ofs[ofs.len() - 1] + n as i64);
                    // Elsewhere, all runs have the bound of the first.
                    let bound = if self.is_end { first + n } else { first };
                    bounds.push(if self.change == Change::Elsewhere { COLUMNS } else { bound } as i64);
                }
                pos.push(bounds.len() as i64);
            }
            let places: Vec<i64> = (0..rows).rev().collect();
            let indices = [pos, bounds, ofs.clone(), places]
                .map(|of| IndexArray::store(self.kind, &of, "", "").unwrap());
            let mut numbers = |len: i64| -> Vec<f64> {
                (0..len).map(|_| random(2001) as f64 / 1000.0 - 1.0).collect()
            };
            // Nothing behind what is read, unless loops read other elements than those of runs.
            let more = if self.change == Change::None { 0 } else { 2 * COLUMNS as i64 };
            let a = numbers(self.skipped + ofs[ofs.len() - 1] + more);
            let x = numbers(self.skipped + COLUMNS as i64 + more);
            let run = |run: Run<'_>| {
                let mut y = vec![if self.adds { 0.5 } else { f64::NAN }; rows as usize];
                macro_rules! run {
                    ($ty:ty) => {{
                        let narrow =
                            |of: &[f64]| of.iter().map(|&v| v as $ty).collect::<Vec<$ty>>();
                        let (a, x, mut out) = (narrow(&a), narrow(&x), narrow(&y));
                        let [pos, bounds, ofs, places] = &indices;
                        let mut memory = [
                            Memory::Index(pos),
                            Memory::Index(bounds),
                            Memory::Index(ofs),
                            Memory::Index(places),
                            Memory::values(&a),
                            Memory::values(&x),
                            Memory::values_mut(&mut out[..]),
                        ];
                        run(&[rows.into(), self.skipped.into()], &mut memory);
                        y = out.into_iter().map(f64::from).collect();
                    }};
                }
                match self.dtype {
                    Dtype::F32 => run!(f32),
                    _ => run!(f64),
                }
                y
            };
            let tolerance = if self.dtype == Dtype::F32 { 1e-4 } else { 1e-12 };
            let near = |a: f64, b: f64| (a - b).abs() <= tolerance;
            ways.near((self, rows), run, |found, expected| all_near(found, expected, near));
        }
    }
}

const PLAIN: Form = Form {
    is_one: false,
    is_end: false,
    named: false,
    skipped: 0,
    kind: IndexKind::U32,
    dtype: Dtype::F64,
    adds: false,
    change: Change::None,
};

#[test]
fn rows_of_runs_are_one_call() {
    let forms = (0..16).map(|way| {
        let [is_one, is_end, named, skips] = [1, 2, 4, 8].map(|bit| way & bit != 0);
        Form { is_one, is_end, named, skipped: if skips { 3 } else { 0 }, ..PLAIN }
    });
    let kinds = [IndexKind::U64, IndexKind::I64, IndexKind::I32];
    let others = kinds.map(|kind| Form { kind, ..PLAIN });
    let single = Form { dtype: Dtype::F32, ..PLAIN };
    for form in forms.chain(others).chain([single, Form { is_one: true, is_end: true, ..single }]) {
        let function = form.function();
        let Some(Pattern::Runs { pos, runs, places, .. }) = pattern_of(&function) else {
            panic!("{form:?}\n{function}")
        };
        let found = (pos.is_none(), runs.is_end, places.is_some());
        assert_eq!(found, (form.is_one, form.is_end, form.named), "{form:?}");
        for strict in [false, true] {
            let kernel = Kernel::compile(&function, &Options { checked: false, strict }).unwrap();
            let [loops] = kernel.loops() else { panic!("{:?}", kernel.loops()) };
            assert_eq!(loops.code, CodeOf::Microkernel("rows-of-runs"), "{form:?}");
        }
        form.same_as_interpreter(function);
    }
}

#[test]
fn runs_of_a_row_that_does_more_are_one_call() {
    for (is_end, dtype) in [(false, Dtype::F64), (true, Dtype::F64), (true, Dtype::F32)] {
        let form = Form { is_end, dtype, adds: true, skipped: 3, ..PLAIN };
        let function = form.function();
        let found = pattern_of(&function);
        let Some(Pattern::RunDots { runs, factor: Some(_), .. }) = found else {
            panic!("{found:?}\n{function}")
        };
        assert_eq!(runs.is_end, is_end);
        // A strict sum begins with what was summed before.
        for (strict, expected) in
            [(false, CodeOf::Microkernel("run-dots")), (true, CodeOf::Scalar(Reason::Types))]
        {
            let kernel = Kernel::compile(&function, &Options { checked: false, strict }).unwrap();
            assert_eq!(kernel.loops()[0].code, expected, "{:?}", kernel.loops());
        }
        form.same_as_interpreter(function);
    }
}

#[test]
fn other_rows_are_no_rows_of_runs() {
    // From a bound on, entries elsewhere would leave `x`.
    let cases = [
        (Change::Count, &[false, true][..]),
        (Change::Shared, &[false, true]),
        (Change::Strided, &[false, true]),
        (Change::Elsewhere, &[true]),
    ];
    for (change, ends) in cases {
        for &is_end in ends {
            let form = Form { change, is_end, ..PLAIN };
            let function = form.function();
            let found = pattern_of(&function);
            let are_runs = matches!(found, Some(Pattern::Runs { .. } | Pattern::RunDots { .. }));
            assert!(!are_runs, "{form:?}\n{function}");
            form.same_as_interpreter(function);
        }
    }
}

#[test]
fn rows_of_other_types_are_loops() {
    let form = Form { kind: IndexKind::U16, ..PLAIN };
    let function = form.function();
    assert!(matches!(pattern_of(&function), Some(Pattern::Runs { .. })));
    let kernel = Kernel::compile(&function, &Options { checked: false, strict: true }).unwrap();
    let scalar = CodeOf::Scalar(Reason::Types);
    assert!(kernel.loops().iter().all(|found| found.code == scalar), "{:?}", kernel.loops());
    form.same_as_interpreter(function);
    // A sum that begins with another number.
    let mut function = PLAIN.function();
    let ust_ir::idiom::Idiom::Nest(nest) = &mut function.idioms[0] else { panic!("a nest") };
    nest.sum.as_mut().unwrap().start = Scalar::F64(1.0);
    assert!(!matches!(pattern_of(&function), Some(Pattern::Runs { .. })));
}
