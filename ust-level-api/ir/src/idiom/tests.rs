//! Idioms: how indices are taken apart, which loops have one, and that it says what the loops compute.

mod index;
mod meaning;
mod settle;

use super::{Idiom, Nest};
use crate::{ArrayId, Builder, Dtype, Elem, Expr, Function, IndexKind, Ty};

/// A function over compressed rows, and vectors.
struct Parts {
    b: Builder,
    /// Number of rows, number of columns of dense arrays, and another.
    n: Expr,
    width: Expr,
    m: Expr,
    pos: ArrayId,
    crd: ArrayId,
    a: ArrayId,
    x: ArrayId,
    y: ArrayId,
    z: ArrayId,
}

impl Parts {
    fn new() -> Self {
        let mut b = Builder::new("idiom");
        let [n, width, m] = ["n", "width", "m"].map(|name| b.param(name, Ty::Int));
        let [pos, crd] = ["pos", "crd"].map(|name| b.index_array(name, IndexKind::I64));
        let [a, x, y, z] = [("a", false), ("x", false), ("y", true), ("z", true)]
            .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
        Self { b, n, width, m, pos, crd, a, x, y, z }
    }
}

/// The bounds of a compressed row.
fn row(b: &Builder, pos: ArrayId, at: &Expr) -> (Expr, Expr) {
    (b.load(pos, at.clone()), b.load(pos, at.clone() + Expr::from(1)))
}

/// The nest that is the only idiom of a function.
fn nest(function: &Function) -> &Nest {
    match &function.idioms[..] {
        [Idiom::Nest(nest)] => nest,
        others => panic!("{others:?}\n{function}"),
    }
}
