//! Indices, taken apart.

use super::super::{By, Index, Leaf, Step, Target};
use super::{Parts, nest};
use crate::testing::write_leaf;
use crate::{ArrayId, BinOp, Expr, Var};

const I: Var = Var(0);
const P: Var = Var(1);
/// A variable from outside.
const N: Var = Var(2);
const CRD: ArrayId = ArrayId(0);
const END: ArrayId = ArrayId(1);

fn of(expr: &Expr) -> Option<Index> {
    Index::of(expr, &[By::Var(I), By::Var(P)])
}

fn index<const B: usize, const S: usize>(base: [Expr; B], steps: [(By, Expr); S]) -> Option<Index> {
    let steps = steps.map(|(by, stride)| Step { by, stride });
    Some(Index { base: base.into(), steps: steps.into() })
}

fn read(at: impl Into<Expr>) -> Expr {
    Expr::Load(CRD, Box::new(at.into()))
}

fn end(at: Expr) -> Expr {
    Expr::Load(END, Box::new(at))
}

/// The value of an index where `crd[k]` is `100 - k * k`, and `end[k]` is `3 * k`.
fn value(expr: &Expr, vars: [i64; 3]) -> i64 {
    match expr {
        Expr::Int(value) => *value,
        Expr::Var(var) => vars[var.0 as usize],
        Expr::Load(CRD, at) => 100 - value(at, vars).pow(2),
        Expr::Load(END, at) => 3 * value(at, vars),
        Expr::Binary(BinOp::Add, a, b) => value(a, vars) + value(b, vars),
        Expr::Binary(BinOp::Sub, a, b) => value(a, vars) - value(b, vars),
        Expr::Binary(BinOp::Mul, a, b) => value(a, vars) * value(b, vars),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sums_differences_and_products_by_what_is_constant() {
    let [i, p, n] = [I, P, N].map(Expr::Var);
    let (by_i, by_p, int) = (By::Var(I), By::Var(P), Expr::Int);
    let minus = |expr: Expr| int(0) - expr;
    let twice = read(n.clone()) * 2;
    let cases = [
        (int(0), index([], [])),
        (int(7), index([int(7)], [])),
        (n.clone() * n.clone(), index([n.clone() * n.clone()], [])),
        (i.clone() * 8 + p.clone(), index([], [(by_i, int(8)), (by_p, int(1))])),
        (p.clone() - n.clone(), index([n.clone() * -1], [(by_p, int(1))])),
        (n.clone() - i.clone(), index([n.clone()], [(by_i, int(-1))])),
        (i.clone() - n.clone() * p.clone(), index([], [(by_i, int(1)), (by_p, n.clone() * -1)])),
        (
            (i.clone() * n.clone() + n.clone()) * 3 + p.clone(),
            index([n.clone() * 3], [(by_i, n.clone() * 3), (by_p, int(1))]),
        ),
        (
            n.clone() - (i.clone() - p.clone()) * n.clone(),
            index([n.clone()], [(by_i, minus(n.clone())), (by_p, minus(minus(n.clone())))]),
        ),
        // Coordinates.
        (
            read(p.clone()) * n.clone() + p.clone(),
            index([], [(By::Read(CRD, P), n.clone()), (by_p, int(1))]),
        ),
        (twice.clone() + i.clone(), index([twice], [(by_i, int(1))])),
        (
            read(p.clone() + int(1)) - int(1) + read(p.clone()),
            index([int(-1)], [(By::Next(CRD, P), int(1)), (By::Read(CRD, P), int(1))]),
        ),
        // The same several times, and nothing.
        (p.clone() + p.clone(), index([], [(by_p, int(2))])),
        (p.clone() - p.clone(), index([], [])),
        (i.clone() * 2 + p.clone() + i.clone(), index([], [(by_i, int(3)), (by_p, int(1))])),
        (p.clone() * n.clone() + p.clone(), index([], [(by_p, n.clone() + int(1))])),
        (read(p.clone()) - read(p.clone()), index([], [])),
        // The position of `i` in the run of coordinates that ends at `end[p]`.
        (
            i.clone() + read(p.clone())
                - (end(p.clone()) - (read(p.clone() + int(1)) - read(p.clone()))),
            index([], [(by_i, int(1)), (By::Read(END, P), int(-1)), (By::Next(CRD, P), int(1))]),
        ),
    ];
    for (expr, expected) in cases {
        let found = of(&expr);
        if let (Some(found), Some(expected)) = (&found, &expected) {
            // Products of constants may stand in another order.
            let by = |of: &Index| of.steps.iter().map(|step| step.by).collect::<Vec<By>>();
            assert_eq!(by(found), by(expected), "{expr:?}");
            assert_eq!(found.base.len(), expected.base.len(), "{expr:?}");
            for vars in [[0, 0, 0], [1, 2, 3], [-5, 7, -2], [11, -3, 40]] {
                let same = |a: &Expr, b: &Expr| assert_eq!(value(a, vars), value(b, vars));
                same(&found.expr(), &expr);
                same(&expected.expr(), &expr);
                let steps = found.steps.iter().zip(&expected.steps);
                steps.for_each(|(a, b)| same(&a.stride, &b.stride));
            }
        }
        assert_eq!(found.is_some(), expected.is_some(), "{expr:?}");
    }
}

#[test]
fn what_is_no_sum_of_strides_is_no_index() {
    let [i, p, n] = [I, P, N].map(Expr::Var);
    let int = Expr::Int;
    for expr in [
        i.clone() * p.clone(),
        i.clone().modulo(4),
        i.clone().floor_div(n.clone()),
        i.clone().min(n.clone()),
        read(p.clone() + n.clone()),
        read(p.clone() + int(2)),
        read(p.clone() - int(1)),
        read(i.clone() + p.clone()),
        read(read(p.clone())),
        read(p.clone()) * p,
    ] {
        assert_eq!(of(&expr), None, "{expr:?}");
    }
}

#[test]
fn names_from_inside_are_replaced_and_names_from_outside_stay() {
    let Parts { mut b, n, width, m, crd, a, x, y, .. } = Parts::new();
    let around = b.bind("around", width.clone() * m);
    b.for_("i", 0.into(), n, |b, i| {
        let first = b.bind("first", i.clone() * width.clone());
        let base = b.bind("base", first + around.clone());
        b.for_("p", 0.into(), width.clone(), |b, p| {
            let j = b.load(crd, p.clone());
            let j = b.bind("j", j);
            let at = b.bind("at", j * width.clone() + base.clone());
            let value = b.load(a, at.clone());
            let value = b.bind("value", value);
            let factors = vec![value, b.load(x, p)];
            write_leaf(b, Leaf::product(Target::Element(y, at), factors));
        });
    });
    let function = b.finish();
    let found = nest(&function);
    let [i, p] = &found.loops[..] else { panic!("two loops\n{function}") };
    let read = (By::Read(crd, p.var), width.clone());
    let place = index([around], [read, (By::Var(i.var), width)]).unwrap();
    assert_eq!(found.target, super::super::Place::Element(y, place.clone()));
    let [of_a, of_x] = &found.factors[..] else { panic!("two factors") };
    assert_eq!((of_a.element.clone(), of_a.depth), (Some((a, place)), 2));
    let along = index([], [(By::Var(p.var), Expr::Int(1))]).unwrap();
    assert_eq!((of_x.element.clone(), of_x.depth), (Some((x, along)), 2));
}

#[test]
fn a_variable_that_is_assigned_later_is_no_name() {
    let mut b = crate::Builder::new("f");
    let n = b.param("n", crate::Ty::Int);
    let name = b.bind("name", n.clone() + 1);
    let at = b.var("at", name.clone());
    let same = b.bind("same", name.clone());
    b.while_(Expr::from(at).lt(9), |b| b.assign(at, Expr::from(at) + 1));
    let names = b.finish().first_names();
    let named = [name, same].map(|expr| match expr {
        Expr::Var(var) => names.get(&var).cloned(),
        other => panic!("{other:?}"),
    });
    assert_eq!((named, names.get(&at)), ([Some(n.clone() + 1), Some(n + 1)], None));
}
