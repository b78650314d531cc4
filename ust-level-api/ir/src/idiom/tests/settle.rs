//! Which loops have an idiom.

use super::super::{By, Declared, Leaf, List, Merged, Place, Range};
use super::super::{Segments, Sum, Target};
use super::{Parts, nest, row};
use crate::testing::write_leaf;
use crate::{BinOp, Builder, Elem, Expr, Function, IndexKind, Scalar, Stmt};

/// Where something else happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    Nothing,
    /// A statement in the outer loop, before the inner one.
    Before,
    /// The same behind it.
    Behind,
    /// A variable that something else assigns is declared in the outer loop.
    Declares,
    /// The inner loop repeats.
    Repeats,
    /// The inner loop is the other side of a condition.
    Else,
    /// The outer loop has another inner loop.
    Loop,
    /// A statement in the inner loop.
    Inside,
    /// The statement stands twice.
    Twice,
    /// The other side of a condition in the inner loop does something.
    EitherWay,
}

/// `y[i * width + j] += a[i] * x[j]`.
fn product(other: Other) -> Function {
    let Parts { mut b, n, width, a, x, y, z, m, .. } = Parts::new();
    let count = b.var("count", 0.into());
    b.for_("i", 0.into(), n, |b, i| {
        let value = b.load(a, i.clone());
        let value = b.bind("value", value);
        if other == Other::Before {
            b.store(z, i.clone(), value.clone());
        }
        let own = (other == Other::Declares).then(|| b.var("own", 0.into()));
        let inner = |b: &mut Builder| {
            b.for_("j", 0.into(), width.clone(), |b, j| {
                let factors = vec![value.clone(), b.load(x, j.clone())];
                let place = i.clone() * width.clone() + j.clone();
                let leaf = Leaf::product(Target::Element(y, place), factors);
                match other {
                    Other::Inside => b.store(z, j, value.clone()),
                    Other::Twice => write_leaf(b, leaf.clone()),
                    Other::EitherWay => {
                        let (leaf, wanted) = (leaf.clone(), j.clone().lt(m.clone()));
                        let then = |b: &mut Builder| write_leaf(b, leaf);
                        return b.if_else(wanted, then, |b| b.store(z, j, value.clone()));
                    }
                    _ => {}
                }
                write_leaf(b, leaf);
            });
        };
        match other {
            Other::Repeats => b.while_(Expr::from(count).lt(3), |b| {
                inner(b);
                b.assign(count, Expr::from(count) + 1);
            }),
            Other::Else => b.if_else(i.clone().lt(m.clone()), |_| {}, inner),
            _ => inner(b),
        }
        if let Some(own) = own {
            b.while_(Expr::from(own).lt(2), |b| b.assign(own, Expr::from(own) + 1));
        }
        match other {
            Other::Behind => b.store(z, i, value),
            Other::Loop => b.for_("k", 0.into(), 5.into(), |b, k| b.store(z, k, value)),
            _ => {}
        }
    });
    b.finish()
}

#[test]
fn loops_with_other_effects_are_left_out() {
    let function = product(Other::Nothing);
    assert_eq!(nest(&function).loops.len(), 2, "{function}");
    assert!(matches!(nest(&function).factors[0].value, Expr::Load(..)));
    use Other::{Before, Behind, Declares, EitherWay, Else, Inside, Loop, Repeats, Twice};
    for other in [Before, Behind, Declares, Repeats, Else, Loop] {
        let function = product(other);
        let found = nest(&function);
        let [one] = &found.loops[..] else { panic!("{other:?}: one loop\n{function}") };
        let Stmt::For { var, .. } = function.body[1] else { panic!("a loop\n{function}") };
        assert!(one.var > var && found.conditions.is_empty(), "{function}");
        // Names and variables from outside stay.
        assert!(matches!(found.factors[0].value, Expr::Var(_)), "{function}");
        assert_eq!(found.factors[0].depth, 0);
        let Place::Element(_, place) = &found.target else { panic!("an element") };
        assert_eq!(place.base, [Expr::Var(var) * Expr::Var(crate::Var(1))], "{function}");
    }
    for other in [Inside, Twice, EitherWay] {
        assert_eq!(product(other).idioms, [], "{other:?}");
    }
}

#[test]
fn conditions_are_noted_with_the_loops_around_them() {
    // With `squared` rows, the outer loop is left out, and so is its condition.
    for (at, squared) in (0..4).flat_map(|at| [false, true].map(|squared| (at, squared))) {
        let Parts { mut b, n, width, a, x, y, m, .. } = Parts::new();
        let wanted = |b: &mut Builder, around: usize, then: &mut dyn FnMut(&mut Builder)| {
            if around == at { b.if_(n.clone().lt(m.clone()), then) } else { then(b) }
        };
        wanted(&mut b, 0, &mut |b| {
            b.for_("i", 0.into(), n.clone(), |b, i| {
                wanted(b, 1, &mut |b| {
                    b.for_("j", 0.into(), width.clone(), |b, j| {
                        wanted(b, 2, &mut |b| {
                            let factors = vec![b.load(a, i.clone()), b.load(x, j.clone())];
                            let row = if squared { i.clone() * i.clone() } else { i.clone() };
                            let place = Target::Element(y, row * width.clone() + j.clone());
                            write_leaf(b, Leaf::product(place, factors));
                        });
                    });
                });
            });
        });
        let function = b.finish();
        let found = nest(&function);
        let outer = usize::from(squared);
        assert_eq!(found.loops.len(), 2 - outer, "{function}");
        let expected = match at.checked_sub(outer) {
            Some(around @ 1..=2) if at < 3 => vec![(around, n.clone().lt(m.clone()))],
            _ => Vec::new(),
        };
        assert_eq!(found.conditions, expected, "{function}");
        // Loops with conditions stay.
        if !expected.is_empty() {
            assert_eq!(function.meant().body, function.body);
        }
    }
}

#[test]
fn an_index_of_the_inner_loops_only_leaves_the_outer_one_out() {
    // Of the result, and of a factor.
    for of_factor in [false, true] {
        let Parts { mut b, n, width, a, x, y, .. } = Parts::new();
        b.for_("i", 0.into(), n, |b, i| {
            let block = b.bind("block", i.clone().floor_div(4));
            b.for_("j", 0.into(), width.clone(), |b, j| {
                let at = block.clone() * width.clone() + j.clone();
                let [place, from] = if of_factor { [j.clone(), at] } else { [at, j.clone()] };
                let factors = vec![b.load(a, i.clone()), b.load(x, from)];
                write_leaf(b, Leaf::product(Target::Element(y, place), factors));
            });
        });
        let function = b.finish();
        let found = nest(&function);
        let [one] = &found.loops[..] else { panic!("one loop\n{function}") };
        let index = match (&found.target, of_factor) {
            (Place::Element(_, index), false) => index.clone(),
            _ => found.factors[1].element.clone().unwrap().1,
        };
        assert_eq!(index.steps[0].by, By::Var(one.var));
        assert_eq!((index.steps.len(), index.base.len()), (1, 1), "{function}");
        assert_eq!(found.factors[0].depth, 0);
    }
}

#[test]
fn segments_are_known_by_their_bounds() {
    type Bounds = fn(Expr) -> (Expr, Expr);
    let bounds: [(bool, Bounds, [i64; 2]); 6] = [
        (true, |i| (i.clone(), i + 1), [0, 0]),
        (true, |i| (i.clone() * 2 + 3, i * 2 + 3 + 1), [0, 0]),
        (true, |i| (i.clone(), i + 1), [5, 5]),
        (false, |i| (i.clone(), i + 2), [0, 0]),
        (false, |i| (i.clone(), i * 2 + 1), [0, 0]),
        (false, |i| (i.clone(), i + 1), [5, 6]),
    ];
    for (is_segment, bounds, [first, second]) in bounds {
        let Parts { mut b, n, m, pos, a, x, y, .. } = Parts::new();
        b.for_("i", 0.into(), n, |b, i| {
            let (lo, hi) = bounds(i.clone());
            let lo = b.load(pos, lo) + m.clone() * first;
            let hi = b.load(pos, hi) + m.clone() * second;
            let hi = b.bind("end", hi);
            b.for_("p", lo, hi, |b, p| {
                let factors = vec![b.load(a, p.clone()), b.load(x, p)];
                write_leaf(b, Leaf::product(Target::Element(y, i), factors));
            });
        });
        let function = b.finish();
        let range = &nest(&function).loops[1].range;
        let found = match range {
            Range::Segment { begin, .. } => Some(begin.expr()),
            Range::Between(..) => None,
        };
        let expected = is_segment.then(|| m.clone() * first);
        assert_eq!(found, expected, "{range:?}\n{function}");
    }
}

#[test]
fn loops_that_read_what_they_write_have_no_idiom() {
    // Rows whose sum is stored, or combined in `y`; each reads `y`, or the sum, at another place.
    for case in 0..7 {
        let Parts { mut b, n, m, pos, crd, a, x, y, .. } = Parts::new();
        let (inside, start) = (1, Scalar::F64(0.0));
        b.for_("i", 0.into(), n, |b, i| {
            let of_y = b.load(y, 0.into());
            let named = b.bind("named", of_y);
            let to = Sum { inside, start, array: y, index: i.clone(), op: None };
            let sum = b.var("sum", Expr::Const(start));
            let (lo, mut hi) = row(b, pos, &i);
            if case == 1 {
                hi = hi + b.load(y, 0.into()).to_int();
            }
            b.for_("p", lo, hi, |b, p| {
                let j = b.load(crd, p.clone());
                let mut factors = vec![b.load(a, p.clone()), b.load(x, j)];
                match case {
                    2 => factors[0] = b.load(y, p.clone()),
                    3 => factors[1] = named.clone(),
                    4 => factors.push(sum.into()),
                    5 => factors[1] = b.load(x, Expr::from(sum).to_int()),
                    _ => {}
                }
                let leaf = Leaf { sum: Some(to), ..Leaf::product(Target::Var(sum), factors) };
                match case {
                    6 => {
                        let wanted = b.load(y, m.clone()).lt(Expr::Const(start));
                        b.if_(wanted, |b| write_leaf(b, leaf));
                    }
                    _ => write_leaf(b, leaf),
                }
            });
            b.store(y, i, sum.into());
        });
        let function = b.finish();
        // Not of the inner loop either: what it sums goes to `y`.
        assert_eq!(function.idioms.len(), usize::from(case == 0), "{case}\n{function}");
    }
}

#[test]
fn lists_that_are_read_and_stamps_that_change_are_no_notes() {
    // A stamp that is the same in all iterations; one that is not; the length of the list.
    for (case, expected) in [(0, true), (1, false), (2, false), (3, false)] {
        let Parts { mut b, width, m, crd, a, y, .. } = Parts::new();
        let [mark, list] =
            ["mark", "list"].map(|name| b.array(name, Elem::Index(IndexKind::I64), true));
        let length = b.var("length", 0.into());
        b.for_("p", 0.into(), width, |b, p| {
            let stamp = match case {
                0 => b.bind("stamp", m.clone() + 1),
                1 => b.bind("stamp", p.clone() + 1),
                2 => b.bind("stamp", Expr::from(length) + 1),
                _ => m.clone(),
            };
            let place = b.load(crd, p.clone());
            let other = Expr::binary(BinOp::Ne, b.load(mark, place.clone()), stamp.clone());
            b.if_(other, |b| {
                b.store(mark, place.clone(), stamp.clone());
                b.store(list, length.into(), place.clone());
                b.assign(length, Expr::from(length) + 1);
            });
            let from = if case == 3 { b.load(list, 0.into()) } else { p };
            let leaf = Leaf::product(Target::Element(y, place), vec![b.load(a, from)]);
            write_leaf(b, Leaf { list: Some(List { mark, stamp, list, length }), ..leaf });
        });
        let function = b.finish();
        assert_eq!(function.idioms.len(), usize::from(expected), "{case}\n{function}");
        if expected {
            // The name of the stamp is not known outside.
            assert_eq!(nest(&function).list.as_ref().unwrap().stamp, m + 1);
        }
    }
}

#[test]
fn a_sum_of_one_product_is_a_combination_with_the_element() {
    let (zero, one) = (Scalar::F64(0.0), Scalar::F64(1.0));
    let (add, mul, max) = (Some(BinOp::Add), Some(BinOp::Mul), Some(BinOp::Max));
    // How products are summed, the start, how the sum goes to the element, and whether the start is of no effect.
    for (op, start, to, is_neutral) in [
        (add, zero, add, true),
        (add, zero, None, true),
        (add, zero, max, true),
        (add, one, add, false),
        (add, one, None, false),
        (mul, one, add, true),
        (mul, zero, add, false),
        (max, zero, max, false),
        (None, one, add, true),
    ] {
        let Parts { mut b, n, crd, a, x, y, .. } = Parts::new();
        b.for_("p", 0.into(), n, |b, p| {
            let inside = b.open_loops();
            let sum = b.var("sum", Expr::Const(start));
            let place = b.load(crd, p.clone());
            let factors = vec![b.load(a, p.clone()), b.load(x, p.clone())];
            let goes = Sum { inside, start, array: y, index: place.clone(), op: to };
            let leaf = Leaf::product(Target::Var(sum), factors);
            write_leaf(b, Leaf { op, sum: Some(goes), ..leaf });
            match to {
                Some(op) => b.reduce(op, y, place, sum.into()),
                None => b.store(y, place, sum.into()),
            }
        });
        let function = b.finish();
        let found = nest(&function);
        assert_eq!(matches!(found.target, Place::Element(..)), is_neutral, "{found:?}");
        assert_eq!(found.sum.as_ref().map(|sum| sum.inside), (!is_neutral).then_some(1));
        assert_eq!(found.op, if is_neutral { to } else { op });
        super::meaning::proved(&function);
    }
}

#[test]
fn a_sum_that_goes_nowhere_is_that_of_the_inner_loop() {
    let Parts { mut b, n, width, a, x, .. } = Parts::new();
    b.for_("i", 0.into(), n, |b, i| {
        let sum = b.var("sum", Expr::Const(0.0.into()));
        b.for_("j", 0.into(), width, |b, j| {
            let factors = vec![b.load(a, i), b.load(x, j)];
            write_leaf(b, Leaf::product(Target::Var(sum), factors));
        });
    });
    let function = b.finish();
    assert_eq!(nest(&function).loops.len(), 1, "{function}");
    super::meaning::proved(&function);
}

/// Names that double would be a tree of more nodes than there is memory.
#[test]
fn long_names_are_not_replaced() {
    for (doublings, is_short) in [(3, true), (70, false)] {
        let Parts { mut b, n, width, a, x, y, .. } = Parts::new();
        b.for_("i", 0.into(), n, |b, i| {
            let mut name = b.load(a, i.clone());
            for _ in 0..doublings {
                name = b.bind("name", name.clone() + name);
            }
            b.for_("j", 0.into(), width, |b, j| {
                let factors = vec![name, b.load(x, j.clone())];
                write_leaf(b, Leaf::product(Target::Element(y, j), factors));
            });
        });
        let function = b.finish();
        assert_eq!(!function.idioms.is_empty(), is_short, "{doublings}");
    }
}

#[test]
fn merges_and_moves_that_read_what_they_write_have_no_idiom() {
    for case in 0..5 {
        let Parts { mut b, n, m, pos, crd, a, x, y, .. } = Parts::new();
        let out = b.array("out", Elem::Index(IndexKind::I64), true);
        let count = b.var("count", 0.into());
        b.for_("i", 0.into(), n, |b, i| {
            // A merge in name only: what happens in its loop is not looked at.
            b.while_(Expr::from(count).lt(0), |b| b.assign(count, 0.into()));
            let of = |values| Segments { pos, crd, values };
            let (mut one, mut other) = ((of(a), i.clone()), (of(x), i.clone()));
            match case {
                1 => one.0 = of(y),
                2 => other.0.crd = out,
                3 => other.1 = i + 1,
                _ => {}
            }
            let first = if case == 4 { count.into() } else { m };
            let starts = Some((out, first));
            b.declare(Merged { operands: [one, other], row: count, crd: out, values: y, starts });
        });
        let function = b.finish();
        assert_eq!(function.idioms.len(), usize::from(case == 0), "{case}\n{function}");
    }
    for case in 0..4 {
        let Parts { mut b, n, crd, a, y, .. } = Parts::new();
        let [next, column] =
            ["next", "column"].map(|name| b.array(name, Elem::Index(IndexKind::I64), true));
        b.for_("p", 0.into(), n, |b, p| {
            let key = b.load(if case == 1 { column } else { crd }, p.clone());
            let key = b.bind("key", key);
            let at = b.load(next, key.clone());
            let at = b.bind("at", at);
            b.store(next, key.clone(), at.clone() + 1);
            let number = if case == 2 { at.clone() } else { p.clone() };
            let value = b.load(if case == 3 { y } else { a }, p);
            let moves = vec![(column, number), (y, value)];
            for (to, value) in &moves {
                b.store(*to, at.clone(), value.clone());
            }
            b.declare(Declared::Placed(next, key, moves));
        });
        let function = b.finish();
        assert_eq!(function.idioms.len(), usize::from(case == 0), "{case}\n{function}");
    }
}
