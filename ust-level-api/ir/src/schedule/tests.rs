//! Right marks run and give the results of the function; wrong ones are refused, or found by a run.

use super::*;
use crate::interp::{Memory, Param, Program, RunError};
use crate::{Builder, Dtype, Elem, IndexKind, Ty};

const F64: Elem = Elem::Value(Dtype::F64);
const INDEX: Elem = Elem::Index(IndexKind::I64);

/// Rows of CSR times a vector, for rows `part_lo..part_hi`, and its loops and sum.
struct Rows {
    function: Function,
    row: Var,
    entry: Var,
    sum: Var,
}

fn var(expr: &Expr) -> Var {
    match expr {
        Expr::Var(var) => *var,
        other => panic!("{other:?}"),
    }
}

fn rows() -> Rows {
    let mut b = Builder::new("spmv");
    let [lo, hi] = ["part_lo", "part_hi"].map(|name| b.param(name, Ty::Int));
    let [pos, crd] = ["pos", "crd"].map(|name| b.array(name, INDEX, false));
    let [a, x] = ["a", "x"].map(|name| b.array(name, F64, false));
    let y = b.array("y", F64, true);
    let mut seen = Vec::new();
    b.for_("i", lo, hi, |b, i| {
        seen.push(var(&i));
        let sum = b.var("sum", Expr::Const(0.0.into()));
        let [from, to] = [0, 1].map(|more| b.load(pos, i.clone() + more));
        b.for_("p", from, to, |b, p| {
            seen.extend([var(&p), sum]);
            let at = b.load(crd, p.clone());
            let product = b.load(a, p) * b.load(x, at);
            b.assign(sum, Expr::from(sum) + product);
        });
        b.store(y, i, sum.into());
    });
    let [row, entry, sum] = seen[..] else { panic!("{seen:?}") };
    Rows { function: b.finish(), row, entry, sum }
}

fn lanes(var: Var, sums: Vec<LaneSum>) -> Marks {
    let marks = LoopMarks { lanes: Some(sums), ..LoopMarks::default() };
    Marks { loops: [(var, marks)].into(), ..Marks::default() }
}

fn part(lo: i64, hi: i64) -> [Param; 2] {
    [lo.into(), hi.into()]
}

const POS: [i64; 5] = [0, 7, 7, 9, 12];
const CRD: [i64; 12] = [0, 1, 2, 3, 4, 5, 6, 1, 3, 0, 2, 6];

/// The product by a watched run.
fn product(scheduled: &Scheduled, seed: u64) -> Result<[f64; 4], RunError> {
    let a: Vec<f64> = (0..12).map(|at| f64::from(at) - 3.0).collect();
    let x: Vec<f64> = (0..7).map(|at| f64::from(at * at)).collect();
    let mut y = [f64::NAN; 4];
    let mut memory = [
        Memory::Indices(&POS),
        Memory::Indices(&CRD),
        Memory::values(&a),
        Memory::values(&x),
        Memory::values_mut(&mut y),
    ];
    let parts = [part(0, 1), part(1, 3), part(3, 4)];
    Watched::new(scheduled).unwrap().run(&parts, &mut memory, seed)?;
    Ok(y)
}

fn expected() -> [f64; 4] {
    let dot = |i: usize| {
        let segment = POS[i] as usize..POS[i + 1] as usize;
        segment.map(|p| (p as f64 - 3.0) * (CRD[p] * CRD[p]) as f64).sum()
    };
    [0, 1, 2, 3].map(dot)
}

fn sum_of(var: Var) -> LaneSum {
    LaneSum { var, op: BinOp::Add, start: Expr::Const(0.0.into()) }
}

#[test]
fn lanes_and_parts_in_any_order_give_the_product() {
    let Rows { function, row, entry, sum } = rows();
    let marks = [Marks::default(), lanes(entry, vec![sum_of(sum)]), lanes(row, Vec::new())];
    for marks in marks {
        let scheduled = Scheduled { function: function.clone(), marks };
        scheduled.check().unwrap();
        for seed in 0..8 {
            assert_eq!(product(&scheduled, seed), Ok(expected()));
        }
    }
}

#[test]
fn a_lane_without_its_sum_is_refused_and_gives_another_result() {
    let Rows { function, entry, sum, .. } = rows();
    let scheduled = Scheduled { function: function.clone(), marks: lanes(entry, Vec::new()) };
    assert!(matches!(scheduled.check(), Err(MarkError::Carried { var, .. }) if var == "sum"));
    assert_ne!(product(&scheduled, 3).unwrap(), expected());
    // A sum of another kind.
    let wrong = LaneSum { op: BinOp::Mul, start: Expr::Const(1.0.into()), ..sum_of(sum) };
    let scheduled = Scheduled { function, marks: lanes(entry, vec![wrong]) };
    assert!(matches!(scheduled.check(), Err(MarkError::NoSum { var, .. }) if var == "sum"));
    assert_ne!(product(&scheduled, 3).unwrap(), expected());
}

#[test]
fn marks_of_no_loop_are_refused() {
    let Rows { function, sum, .. } = rows();
    let scheduled = Scheduled { function, marks: lanes(sum, Vec::new()) };
    assert!(matches!(scheduled.check(), Err(MarkError::NoLoop { .. })));
}

#[test]
fn nested_loops_in_lanes_have_no_sums_and_no_stores_between_them() {
    let Rows { function, row, entry, sum } = rows();
    let mut marks = lanes(entry, vec![sum_of(sum)]);
    marks.loops.extend(lanes(row, Vec::new()).loops);
    let error = Scheduled { function, marks }.check().unwrap_err();
    assert!(matches!(error, MarkError::Contains { .. }), "{error}");
    // `y[0] += q` for each `q < p`, for each `p` of a part.
    let mut b = Builder::new("nested");
    let [lo, hi] = ["part_lo", "part_hi"].map(|name| b.param(name, Ty::Int));
    let y = b.array("y", INDEX, true);
    let mut vars = Vec::new();
    b.for_("p", lo, hi, |b, p| {
        vars.push(var(&p));
        b.for_("q", 0.into(), p, |b, q| {
            vars.push(var(&q));
            b.reduce(BinOp::Add, y, 0.into(), q);
        });
    });
    let mut marks = Marks::default();
    vars.iter().for_each(|var| marks.loops.extend(lanes(*var, Vec::new()).loops));
    let mut scheduled = Scheduled { function: b.finish(), marks };
    let run = |scheduled: &Scheduled| {
        scheduled.check().unwrap();
        let mut y = [0_i64];
        let mut memory = [Memory::indices_mut(&mut y[..])];
        let parts = [part(0, 4), part(4, 6)];
        Watched::new(scheduled).unwrap().run(&parts, &mut memory, 1).map(|()| y)
    };
    assert!(matches!(run(&scheduled), Err(RunError::Race { .. })));
    // Each part has its own: lanes combine values as a whole.
    scheduled.marks.arrays.insert(y, Sharing::Workspace);
    assert_eq!(run(&scheduled), Ok([20]));
}

#[test]
fn lanes_may_set_an_element_of_a_workspace_to_the_same_constant() {
    for (value, is_race) in [(Expr::Int(1), false), (Expr::Var(Var(2)), true)] {
        let mut b = Builder::new("mark");
        let [lo, hi] = ["part_lo", "part_hi"].map(|name| b.param(name, Ty::Int));
        let y = b.array("y", INDEX, true);
        b.for_("p", lo, hi, |b, p| {
            assert_eq!(var(&p), Var(2));
            b.store(y, 0.into(), value);
        });
        let marks = Marks { arrays: [(y, Sharing::Workspace)].into(), ..lanes(Var(2), Vec::new()) };
        let scheduled = Scheduled { function: b.finish(), marks };
        let mut element = [0_i64];
        let mut memory = [Memory::indices_mut(&mut element[..])];
        let run = Watched::new(&scheduled).unwrap().run(&[part(0, 6)], &mut memory, 5);
        assert_eq!(matches!(run, Err(RunError::Race { .. })), is_race, "{run:?}");
    }
}

/// `y[crd[p]] += a[p]` for each `p` of a part.
fn scatter() -> (Function, ArrayId, Var) {
    let mut b = Builder::new("scatter");
    let [lo, hi] = ["part_lo", "part_hi"].map(|name| b.param(name, Ty::Int));
    let crd = b.array("crd", INDEX, false);
    let y = b.array("y", INDEX, true);
    let mut loop_var = None;
    b.for_("p", lo, hi, |b, p| {
        loop_var = Some(var(&p));
        let at = b.load(crd, p);
        b.reduce(BinOp::Add, y, at, 1.into());
    });
    (b.finish(), y, loop_var.unwrap())
}

fn scattered(scheduled: &Scheduled, parts: &[[Param; 2]]) -> Result<[i64; 3], RunError> {
    let (crd, mut y) = ([0, 2, 1, 2, 1, 1], [0; 3]);
    let mut memory = [Memory::Indices(&crd), Memory::indices_mut(&mut y[..])];
    Watched::new(scheduled).unwrap().run(parts, &mut memory, 5)?;
    Ok(y)
}

#[test]
fn scattered_sums_are_atomic_or_a_race() {
    let (function, y, p) = scatter();
    let halves = [part(0, 3), part(3, 6)];
    for (marks, parts) in [(Marks::default(), &halves[..]), (lanes(p, Vec::new()), &[part(0, 6)])] {
        let mut scheduled = Scheduled { function: function.clone(), marks };
        let race = scattered(&scheduled, parts).unwrap_err();
        assert!(
            matches!(&race, RunError::Race { array, index: 1 | 2, .. } if array == "y"),
            "{race}"
        );
        scheduled.marks.arrays.insert(y, Sharing::Atomic);
        assert_eq!(scattered(&scheduled, parts), Ok([1, 3, 2]));
    }
    // One after another, lanes of different runs of a loop may meet.
    let scheduled = Scheduled { function, marks: Marks::default() };
    assert_eq!(scattered(&scheduled, &[part(0, 6)]), Ok([1, 3, 2]));
}

/// Each iteration reads the element that the next one writes.
#[test]
fn a_read_of_what_another_part_writes_is_a_race() {
    let mut b = Builder::new("shift");
    let [lo, hi] = ["part_lo", "part_hi"].map(|name| b.param(name, Ty::Int));
    let y = b.array("y", INDEX, true);
    b.for_("p", lo, hi, |b, p| {
        let next = b.load(y, p.clone() + 1);
        b.store(y, p, next);
    });
    let scheduled = Scheduled { function: b.finish(), marks: Marks::default() };
    let run = |parts: &[[Param; 2]], seed| {
        let mut y = [1_i64, 2, 3, 4, 5];
        let mut memory = [Memory::indices_mut(&mut y[..])];
        Watched::new(&scheduled).unwrap().run(parts, &mut memory, seed).map(|()| y)
    };
    assert_eq!(run(&[part(0, 4)], 0), Ok([2, 3, 4, 5, 5]));
    for seed in 0..6 {
        let race = run(&[part(0, 2), part(2, 4)], seed);
        assert!(matches!(race, Err(RunError::Race { index: 2, .. })), "{race:?}");
    }
}

/// A function that appends even numbers of a range: counted, then filled.
#[test]
fn what_grows_is_counted_and_then_filled() {
    let mut b = Builder::new("even");
    let [lo, hi] = ["part_lo", "part_hi"].map(|name| b.param(name, Ty::Int));
    let out = b.growing("out", INDEX);
    let counts = b.array("counts", INDEX, true);
    let begin = b.load(counts, 0.into());
    let row = b.var("row", begin);
    b.for_("p", lo, hi, |b, p| {
        b.if_(p.clone().modulo(2).equals(0), |b| {
            b.if_(Expr::Len(out).le(row), |b| b.reserve(out, Expr::from(row) + 1));
            b.store(out, row.into(), p);
            b.assign(row, Expr::from(row) + 1);
        });
    });
    b.store(counts, 0.into(), row.into());
    let function = b.finish();
    let (counting, filling) = (counting(&function), filling(&function));
    let parts = [part(0, 5), part(5, 6), part(6, 11)];
    let mut starts = vec![0_i64];
    for params in &parts {
        let mut counts = [0_i64];
        let memory =
            &mut [Memory::indices_mut(&mut [] as &mut [i64]), Memory::indices_mut(&mut counts[..])];
        Program::compile(&counting).unwrap().run(params, memory).unwrap();
        starts.push(starts[starts.len() - 1] + counts[0]);
    }
    assert_eq!(starts, [0, 3, 3, 6]);
    let marks = Marks { arrays: [(counts, Sharing::Scratch)].into(), ..Marks::default() };
    let watched = Watched::new(&Scheduled { function: filling, marks }).unwrap();
    let mut out = [-1_i64; 6];
    let mut run = watched.begin(&[Memory::indices_mut(&mut out[..]), Memory::Indices(&[])], 0);
    for part in [2, 0, 1] {
        let mut counts: [i64; 1] = [starts[part]];
        let mut memory = [Memory::indices_mut(&mut out[..]), Memory::indices_mut(&mut counts[..])];
        run.part(part, &parts[part], &mut memory).unwrap();
    }
    drop(run);
    assert_eq!(out, [0, 2, 4, 6, 8, 10]);
}

/// A loop that copies pairs of elements from `x` to `y`, and then whatever is added.
fn pairs(more: impl Fn(&mut Builder, [ArrayId; 2], Expr)) -> (Function, Marks) {
    let mut b = Builder::new("pairs");
    let n = b.param("n", Ty::Int);
    let (x, y) = (b.array("x", F64, false), b.array("y", F64, true));
    let extent = var(&n);
    let mut seen = Vec::new();
    b.for_("k", 0.into(), n.floor_div(2), |b, k| {
        seen.push(var(&k));
        let first = k.clone() * 2;
        let elements = [0, 1].map(|at| {
            let element = b.load(x, first.clone() + at);
            b.bind("element", element)
        });
        for (at, element) in elements.into_iter().enumerate() {
            b.store(y, first.clone() + at as i64, element);
        }
        more(b, [x, y], k);
    });
    let vector = Some(Vector { count: 2, arrays: vec![x, y], extent, apart: false });
    let marks = LoopMarks { lanes: Some(Vec::new()), vector, ..LoopMarks::default() };
    let marks = Marks { loops: [(seen[0], marks)].into(), ..Marks::default() };
    (b.finish(), marks)
}

#[test]
fn elements_side_by_side_are_accessed_in_groups() {
    let (function, marks) = pairs(|_, _, _| {});
    let Stmt::For { body, .. } = &function.body[0] else { panic!("{function:?}") };
    let vector = marks.loops.values().next().unwrap().vector.clone().unwrap();
    assert!(matches!(vector.group(body), Some(Group::Load { vars, .. }) if vars.len() == 2));
    assert!(
        matches!(vector.group(&body[2..]), Some(Group::Store { values, .. }) if values.len() == 2)
    );
    assert_eq!(vector.group(&body[1..]), None);
    Scheduled { function: function.clone(), marks: marks.clone() }.check().unwrap();
    let wider = Vector { count: 3, ..vector.clone() };
    assert_eq!(wider.group(body), None);
    // One element alone is read, or written.
    let alone = |(function, marks)| Scheduled { function, marks }.check();
    let reads = pairs(|b, [x, _], k| {
        let element = b.load(x, k);
        b.bind("alone", element);
    });
    let writes = pairs(|b, [_, y], k| b.store(y, k, Expr::Const(1.0.into())));
    for broken in [reads, writes] {
        assert!(matches!(alone(broken), Err(MarkError::Alone { of }) if of == "k"));
    }
}
