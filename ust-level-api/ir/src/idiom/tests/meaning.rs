//! The meaning of an idiom computes what the loops do, and that of another idiom does not.

use super::super::{
    Clear, Code, Coded, Declared, Idiom, Leaf, List, Merged, Nest, Numbers, Place, Segments, Sum,
    Target,
};
use super::{Parts, nest, row};
use crate::interp::{GrowValues, Memory, Param, Program};
use crate::testing::write_leaf;
use crate::{ArrayId, BinOp, Builder, Dtype, Elem, Expr, Function, IndexKind, Scalar, Ty};

/// Rows, columns of dense arrays, and another number.
const PARAMS: [i64; 3] = [7, 5, 3];
/// Columns of compressed rows.
const COLUMNS: i64 = 9;
/// Length of other arrays.
const LEN: usize = 100;

/// The contents of an array.
#[derive(Clone, Debug, PartialEq)]
enum Data {
    Indices(Vec<i64>),
    Values(Vec<f64>),
}

/// Random contents for the arrays of a function: bounds of rows where a name ends in `pos`; coordinates of rows
/// where it ends in `crd`.
fn data(function: &Function) -> Vec<Data> {
    let mut state = 3_u64;
    let mut random = |bound: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as i64 % bound
    };
    let mut crd = Vec::new();
    let arrays = function.arrays.iter().map(|array| match array.elem {
        Elem::Index(_) if array.name.ends_with("pos") => {
            let mut ends = vec![0];
            crd.clear();
            // As many rows as a coordinate may name.
            for _ in 0..COLUMNS {
                crd.extend((0..COLUMNS).filter(|_| random(3) > 0));
                ends.push(crd.len() as i64);
            }
            Data::Indices(ends)
        }
        Elem::Index(_) if array.grows => Data::Indices(Vec::new()),
        Elem::Index(_) if array.name.ends_with("crd") => Data::Indices(crd.clone()),
        // Places far enough from each other.
        Elem::Index(_) if array.name == "next" => {
            Data::Indices((0..=COLUMNS).map(|key| key * COLUMNS).collect())
        }
        // Ones for columns; numbers of four bits in bytes.
        Elem::Index(_) if array.name == "bits" => {
            Data::Indices((0..=LEN).map(|_| random(1 << COLUMNS)).collect())
        }
        Elem::Index(_) if array.name == "gaps" => {
            Data::Indices((0..=LEN).map(|_| random(2) + 16 * random(3)).collect())
        }
        Elem::Index(_) => Data::Indices(vec![0; LEN + 1]),
        Elem::Value(_) if array.grows => Data::Values(Vec::new()),
        Elem::Value(_) => {
            Data::Values((0..=LEN).map(|_| random(2001) as f64 / 997.0 - 1.0).collect())
        }
    });
    arrays.collect()
}

/// The arrays after a function ran.
fn run(function: &Function) -> Vec<Data> {
    let program = Program::compile(function).unwrap_or_else(|e| panic!("{e}\n{function}"));
    let mut data = data(function);
    let mut grown: Vec<GrowValues> = data
        .iter_mut()
        .map(|data| match data {
            Data::Values(values) => GrowValues::from(values.clone()),
            Data::Indices(_) => GrowValues::new(Dtype::F64),
        })
        .collect();
    let arrays = function.arrays.iter().zip(&mut data).zip(&mut grown);
    let mut memory: Vec<Memory<'_>> = arrays
        .map(|((array, data), grown)| match (data, array.grows, array.written) {
            (Data::Indices(indices), true, _) => Memory::Grow(indices),
            (Data::Indices(indices), false, true) => Memory::indices_mut(&mut indices[..]),
            (Data::Indices(indices), false, false) => Memory::Indices(indices),
            (Data::Values(_), true, _) => Memory::Grow(grown),
            (Data::Values(values), false, _) => Memory::values_mut(&mut values[..]),
        })
        .collect();
    let params: Vec<Param> = PARAMS[..function.params].iter().map(|&n| n.into()).collect();
    program.run(&params, &mut memory).unwrap_or_else(|e| panic!("{e}\n{function}"));
    drop(memory);
    for ((array, data), grown) in function.arrays.iter().zip(&mut data).zip(grown) {
        if let (true, Data::Values(values), GrowValues::F64(grown)) = (array.grows, data, grown) {
            *values = grown.to_vec();
        }
    }
    data
}

/// Checks that the idioms of a function mean what it does.
pub(super) fn proved(function: &Function) {
    let meant = function.meant();
    assert!(!function.idioms.is_empty() && meant.idioms.is_empty(), "{function}");
    assert_eq!(run(&meant), run(function), "{meant}\n{function}");
}

/// Checks that a function with another idiom means something else.
fn refuted(function: &Function, change: impl FnOnce(&mut Idiom)) {
    let mut other = function.clone();
    let [idiom] = &mut other.idioms[..] else { panic!("one idiom\n{function}") };
    change(idiom);
    assert_ne!(run(&other.meant()), run(function), "{}\n{function}", other.meant());
}

fn refuted_nest(function: &Function, change: impl FnOnce(&mut Nest)) {
    refuted(function, |idiom| match idiom {
        Idiom::Nest(nest) => change(nest),
        other => panic!("{other:?}"),
    });
}

/// Another element of the same array.
fn moved(place: &mut Place) {
    let Place::Element(_, index) = place else { panic!("an element") };
    index.base.push(1.into());
}

/// `y[i] = start + sum of a[p] * x[crd[p]]`, or added to `y[i]`. With `told`, an array says whether there was an
/// entry.
fn rows(start: f64, op: Option<BinOp>, told: bool) -> Function {
    let Parts { mut b, n, pos, crd, a, x, y, .. } = Parts::new();
    let any = told.then(|| b.array("any", Elem::Index(IndexKind::I64), true));
    let hit = told.then(|| b.var("hit", Expr::Bool(false)));
    b.for_("i", 0.into(), n, |b, i| {
        let (inside, start) = (b.open_loops(), Scalar::F64(start));
        let sum = b.var("sum", Expr::Const(start));
        let to = Sum { inside, start, array: y, index: i.clone(), op };
        let (lo, hi) = row(b, pos, &i);
        b.for_("p", lo, hi, |b, p| {
            let j = b.load(crd, p.clone());
            let j = b.bind("j", j);
            let factors = vec![b.load(a, p), b.load(x, j)];
            write_leaf(b, Leaf { sum: Some(to), hit, ..Leaf::product(Target::Var(sum), factors) });
            if let Some(hit) = hit {
                b.assign(hit, Expr::Bool(true));
            }
        });
        match op {
            Some(op) => b.reduce(op, y, i, sum.into()),
            None => b.store(y, i, sum.into()),
        }
    });
    if let (Some(any), Some(hit)) = (any, hit) {
        b.store(any, 0.into(), Expr::from(hit).select(1, 0));
    }
    b.finish()
}

#[test]
fn a_nest_with_a_sum() {
    for (start, op) in [(0.0, None), (1.5, None), (0.0, Some(BinOp::Add)), (0.5, Some(BinOp::Max))]
    {
        let function = rows(start, op, false);
        assert_eq!(nest(&function).loops.len(), 2);
        proved(&function);
        refuted_nest(&function, |nest| nest.sum.as_mut().unwrap().start = Scalar::F64(start + 1.0));
        refuted_nest(&function, |nest| nest.sum.as_mut().unwrap().index.steps[0].stride = 2.into());
        refuted_nest(&function, |nest| nest.sum.as_mut().unwrap().op = Some(BinOp::Mul));
        refuted_nest(&function, |nest| {
            let sum = nest.sum.as_mut().unwrap();
            sum.array = ArrayId(sum.array.0 + 1);
        });
        refuted_nest(&function, |nest| nest.factors.truncate(1));
        refuted_nest(&function, |nest| nest.factors[1].value = nest.factors[0].value.clone());
        refuted_nest(&function, |nest| nest.times = BinOp::Add);
        refuted_nest(&function, |nest| nest.op = Some(BinOp::Max));
    }
}

#[test]
fn a_nest_that_tells_whether_there_was_an_entry() {
    let function = rows(0.0, None, true);
    assert_eq!(nest(&function).loops.len(), 2);
    proved(&function);
    refuted_nest(&function, |nest| nest.hit = None);
}

#[test]
fn a_nest_that_clears_its_row() {
    let Parts { mut b, n, width, pos, crd, a, x, y, .. } = Parts::new();
    b.for_("i", 0.into(), n, |b, i| {
        let base = b.bind("base", i.clone() * width.clone());
        let (inside, count, value) = (b.open_loops(), width.clone(), Scalar::F64(0.25));
        let clear = Some(Clear { inside, array: y, from: base.clone(), count, value });
        b.for_("k", 0.into(), width.clone(), |b, k| {
            b.store(y, base.clone() + k, Expr::Const(value));
        });
        let (lo, hi) = row(b, pos, &i);
        b.for_("p", lo, hi, |b, p| {
            let j = b.load(crd, p.clone());
            let value = b.load(a, p);
            let value = b.bind("value", value);
            b.for_("k", 0.into(), width.clone(), |b, k| {
                let factors = vec![value, b.load(x, j * width.clone() + k.clone())];
                let place = Target::Element(y, base.clone() + k);
                write_leaf(b, Leaf { clear, ..Leaf::product(place, factors) });
            });
        });
    });
    let function = b.finish();
    assert_eq!(nest(&function).loops.len(), 3, "{function}");
    proved(&function);
    refuted_nest(&function, |nest| nest.clear = None);
    refuted_nest(&function, |nest| nest.clear.as_mut().unwrap().count = 2.into());
    refuted_nest(&function, |nest| nest.clear.as_mut().unwrap().value = Scalar::F64(0.0));
    refuted_nest(&function, |nest| nest.clear.as_mut().unwrap().inside = 2);
    refuted_nest(&function, |nest| {
        nest.clear.as_mut().unwrap().from.base.push(1.into());
    });
    refuted_nest(&function, |nest| moved(&mut nest.target));
}

#[test]
fn a_nest_that_notes_the_elements_it_combines() {
    let Parts { mut b, n, m, pos, crd, a, x, y, .. } = Parts::new();
    let [mark, list, lengths] =
        ["mark", "list", "lengths"].map(|name| b.array(name, Elem::Index(IndexKind::I64), true));
    let length = b.var("length", 0.into());
    b.for_("i", 0.into(), n, |b, i| {
        let (lo, hi) = row(b, pos, &i);
        b.for_("q", lo, hi, |b, q| {
            let j = b.load(crd, q.clone());
            let stamp = b.bind("stamp", i.clone() + m.clone());
            let (lo, hi) = row(b, pos, &j);
            b.for_("p", lo, hi, |b, p| {
                let place = b.load(crd, p.clone());
                let other = Expr::binary(BinOp::Ne, b.load(mark, place.clone()), stamp.clone());
                b.if_(other, |b| {
                    b.store(mark, place.clone(), stamp.clone());
                    b.store(list, length.into(), place.clone());
                    b.assign(length, Expr::from(length) + 1);
                });
                let factors = vec![b.load(a, q), b.load(x, p)];
                let leaf = Leaf::product(Target::Element(y, place), factors);
                write_leaf(b, Leaf { list: Some(List { mark, stamp, list, length }), ..leaf });
            });
        });
        b.store(lengths, i, length.into());
    });
    let function = b.finish();
    assert_eq!(nest(&function).loops.len(), 2, "{function}");
    proved(&function);
    refuted_nest(&function, |nest| nest.list = None);
    refuted_nest(&function, |nest| nest.list.as_mut().unwrap().stamp = 1.into());
    refuted_nest(&function, |nest| moved(&mut nest.target));
}

/// `y[i] += a[p] * x[j]` at the coordinates of a code.
fn coded(numbers: bool) -> Function {
    let Parts { mut b, n, m, pos, a, x, y, .. } = Parts::new();
    let array = b.index_array(if numbers { "gaps" } else { "bits" }, IndexKind::I64);
    b.for_("i", 0.into(), n, |b, i| {
        let (inside, start) = (b.open_loops(), Scalar::F64(0.0));
        let sum = b.var("sum", Expr::Const(start));
        let to = Sum { inside, start, array: y, index: i.clone(), op: None };
        let first = b.load(pos, i.clone());
        let code = match numbers {
            true => {
                Code::Gaps { count: m.clone(), numbers: Numbers { array, bits: 4, shift: None } }
            }
            false => Code::Ones(b.load(array, i.clone())),
        };
        b.coded("j", (i.clone() + 2, first), code, |b, j, p| {
            let factors = vec![b.load(a, p), b.load(x, j)];
            write_leaf(b, Leaf { sum: Some(to), ..Leaf::product(Target::Var(sum), factors) });
        });
        b.store(y, i, sum.into());
    });
    b.finish()
}

#[test]
fn a_nest_that_decodes_coordinates() {
    for numbers in [false, true] {
        let function = coded(numbers);
        let [rows, entries] = &nest(&function).loops[..] else { panic!("{function}") };
        assert!(rows.coded.is_none() && entries.coded.is_some(), "{function}");
        let (_, index) = nest(&function).factors[1].element.as_ref().unwrap();
        assert_eq!(index.steps.iter().map(|step| step.by.var()).collect::<Vec<_>>(), [entries.var]);
        proved(&function);
        let changed = |change: &dyn Fn(&mut Coded)| {
            refuted_nest(&function, |nest| change(nest.loops[1].coded.as_mut().unwrap()));
        };
        changed(&|coded| coded.first = 1.into());
        changed(&|coded| match &mut coded.code {
            Code::Ones(mask) => *mask = 0b1_0001_0001.into(),
            Code::Gaps { numbers, .. } => numbers.bits = 2,
        });
        refuted_nest(&function, |nest| nest.factors.truncate(1));
        // The entries alone, where the rows do something else as well.
        let mut alone = function.clone();
        let Idiom::Nest(nest) = &mut alone.idioms[0] else { panic!("a nest") };
        **nest = nest.inner().unwrap();
        proved(&alone);
    }
}

#[test]
fn a_nest_that_stores() {
    let Parts { mut b, n, width, a, x, y, .. } = Parts::new();
    b.for_("i", 0.into(), n, |b, i| {
        b.for_("j", 2.into(), width.clone(), |b, j| {
            let factors = vec![b.load(a, i.clone()), b.load(x, j.clone()), b.load(x, i.clone())];
            let place = Target::Element(y, i * width + j);
            let leaf = Leaf::product(place, factors);
            write_leaf(b, Leaf { op: None, times: BinOp::Max, ..leaf });
        });
    });
    let function = b.finish();
    proved(&function);
    refuted_nest(&function, |nest| nest.times = BinOp::Mul);
    refuted_nest(&function, |nest| nest.op = Some(BinOp::Add));
    refuted_nest(&function, |nest| moved(&mut nest.target));
}

/// The sum of sparse rows. `grows` says whether the result does.
fn united(grows: bool) -> Function {
    let mut b = Builder::new("union");
    let [n, _, first] = ["n", "width", "first"].map(|name| b.param(name, Ty::Int));
    let mut operand = |name: &str| {
        let [pos, crd] =
            ["pos", "crd"].map(|part| b.index_array(&format!("{name}_{part}"), IndexKind::I64));
        Segments { pos, crd, values: b.array(name, Elem::Value(Dtype::F64), false) }
    };
    let [one, other] = ["a", "b"].map(&mut operand);
    let starts = b.array("starts", Elem::Index(IndexKind::I64), true);
    let mut result = |name: &str, elem: Elem| match grows {
        true => b.growing(name, elem),
        false => b.array(name, elem, true),
    };
    let crd = result("list", Elem::Index(IndexKind::I64));
    let values = result("sum", Elem::Value(Dtype::F64));
    let row = b.var("row", 0.into());
    b.for_("i", first.clone(), n, |b, i| {
        let at = b.bind("at", i.clone());
        b.store(starts, i.clone() - first.clone(), row.into());
        let cursors = [one, other].map(|of| {
            let next = b.load(of.pos, at.clone() + Expr::from(1));
            let end = b.bind("end", next);
            (of, b.var("p", b.load(of.pos, at.clone())), end)
        });
        let append = |b: &mut Builder, j: Expr, value: Expr| {
            for (array, value) in [(crd, j), (values, value)] {
                if grows {
                    let room = Expr::from(row) + 1;
                    let full = Expr::Len(array).lt(room.clone());
                    b.if_(full, |b| b.reserve(array, room));
                }
                b.store(array, row.into(), value);
            }
            b.assign(row, Expr::from(row) + 1);
        };
        let goes_on = |(_, p, end): &(Segments, crate::Var, Expr)| Expr::from(*p).lt(end.clone());
        b.while_(goes_on(&cursors[0]).and(goes_on(&cursors[1])), |b| {
            let crds = cursors.each_ref().map(|(of, p, _)| b.load(of.crd, (*p).into()));
            let values = cursors.each_ref().map(|(of, p, _)| b.load(of.values, (*p).into()));
            let least = b.bind("j", crds[0].clone().min(crds[1].clone()));
            let mine = crds.map(|j| b.bind("mine", j.equals(least.clone())));
            let zero = || Expr::Const(0.0.into());
            let [x, y] = [0, 1].map(|at| mine[at].clone().select(values[at].clone(), zero()));
            let sum = b.bind("value", x + y);
            append(b, least, sum);
            for ((_, p, _), mine) in cursors.iter().zip(mine) {
                b.assign(*p, Expr::from(*p) + mine.select(1, 0));
            }
        });
        for cursor in &cursors {
            b.while_(goes_on(cursor), |b| {
                let (of, p, _) = cursor;
                let (j, value) = (b.load(of.crd, (*p).into()), b.load(of.values, (*p).into()));
                append(b, j, value);
                b.assign(*p, Expr::from(*p) + 1);
            });
        }
        let operands = [(one, at.clone()), (other, at)];
        let starts = Some((starts, first.clone()));
        b.declare(Merged { operands, row, crd, values, starts });
    });
    // How far the result goes: what lies behind it is not part of it.
    b.store(starts, (LEN as i64).into(), row.into());
    b.finish()
}

#[test]
fn a_union_of_rows() {
    // To arrays that grow, and to arrays that have room.
    for grows in [false, true] {
        let function = united(grows);
        let [Idiom::Union(found)] = &function.idioms[..] else { panic!("a union\n{function}") };
        let data = |function: &Function| {
            let data = run(function);
            let Data::Indices(starts) = &data[6] else { panic!("starts") };
            let [Data::Indices(crd), Data::Values(values)] = &data[7..] else { panic!("results") };
            let end = starts[LEN] as usize;
            assert!(end > 20, "some entries");
            (starts.clone(), crd[..end].to_vec(), values[..end].to_vec())
        };
        let meant = function.meant();
        assert_eq!(data(&meant), data(&function), "{meant}\n{function}");
        let changed = |change: &dyn Fn(&mut super::super::Union)| {
            let mut changed = found.clone();
            change(&mut changed);
            let other = Function { idioms: vec![Idiom::Union(changed)], ..function.clone() };
            assert_ne!(data(&other.meant()), data(&function), "{other}");
        };
        changed(&|union| union.a.values = union.b.values);
        changed(&|union| union.b.pos = union.a.pos);
        changed(&|union| union.b = union.a);
        changed(&|union| union.starts = None);
        changed(&|union| union.starts.as_mut().unwrap().1 = 0.into());
    }
}

#[test]
fn entries_that_move_to_the_places_of_their_keys() {
    // In one loop, and in two.
    for by_rows in [false, true] {
        let Parts { mut b, n, m, pos, crd, a, y, .. } = Parts::new();
        let [next, column] =
            ["next", "column"].map(|name| b.array(name, Elem::Index(IndexKind::I64), true));
        let entry = |b: &mut Builder, p: Expr, number: Expr| {
            let key = b.load(crd, p.clone());
            let key = b.bind("key", key);
            let at = b.load(next, key.clone());
            let at = b.bind("at", at);
            b.store(next, key.clone(), at.clone() + 1);
            let moves = vec![(column, number), (y, b.load(a, p))];
            for (to, value) in &moves {
                b.store(*to, at.clone(), value.clone());
            }
            b.declare(Declared::Placed(next, key, moves));
        };
        match by_rows {
            true => b.for_("i", 0.into(), n, |b, i| {
                let (lo, hi) = row(b, pos, &i);
                b.for_("p", lo, hi, |b, p| entry(b, p, i + m));
            }),
            false => b.for_("p", 0.into(), n, |b, p| entry(b, p.clone(), p + m)),
        }
        let function = b.finish();
        proved(&function);
        let changed = |change: &dyn Fn(&mut super::super::Placed)| {
            refuted(&function, |idiom| match idiom {
                Idiom::Placed(placed) => change(placed),
                other => panic!("{other:?}"),
            });
        };
        changed(&|placed| placed.key.base.push(1.into()));
        changed(&|placed| {
            placed.moves.pop();
        });
        changed(&|placed| placed.moves[0].1.value = 1.into());
        changed(&|placed| placed.moves[1].1.value = Expr::Const(0.5.into()));
    }
}
