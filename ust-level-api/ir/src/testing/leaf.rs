//! The innermost statement of loops, with its declaration.

use crate::idiom::{Leaf, Target};
use crate::{Builder, Expr};

/// Writes the statement that combines a product, and says so.
pub fn write_leaf(b: &mut Builder, leaf: Leaf) {
    b.declare(leaf.clone());
    let product = leaf.factors.into_iter().reduce(|a, b| Expr::binary(leaf.times, a, b));
    let product = product.expect("a factor");
    match (leaf.target, leaf.op) {
        (Target::Var(var), Some(op)) => b.assign(var, Expr::binary(op, var.into(), product)),
        (Target::Var(var), None) => b.assign(var, product),
        (Target::Element(array, index), Some(op)) => b.reduce(op, array, index, product),
        (Target::Element(array, index), None) => b.store(array, index, product),
    }
}
