//! Storage to columns, each with an element for each stored value, at its position. Where [`unpack`](super::unpack)
//! appends one row after another, here every value is written apart from all others, in any order: for parallel
//! machines.

use ust_format::IndexExpr;
use ust_level_api::ir::{ArrayId, BinOp, Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Dtype, IndexKind, Scalar};

use super::emit;
use super::nest::{Leaf, Noted, Operand, Reach, Walked};
use crate::storage::Tensor;

/// Code that writes columns.
#[derive(Clone, Debug)]
pub(crate) struct AtPositions {
    /// The code. Parameters: the sizes of the tensor, and the interval of the outermost loop's cursor. Arrays: those of
    /// all levels, the values, a column for each expression, and the mask.
    pub(crate) function: Function,
    pub(crate) operand: Operand,
    pub(crate) walked: Walked,
    pub(crate) noted: Noted,
}

impl AtPositions {
    /// Emits code that writes, for each stored value inside the shape, the values of expressions over dimensions.
    /// `mask`: whether it writes 1 for each of them to a mask of bytes, except for those that equal one of `padding`.
    pub(crate) fn new(
        tensor: &Tensor,
        columns: &[(IndexExpr, IndexKind)],
        mask: bool,
        padding: &[Scalar],
    ) -> Self {
        let mut b = Builder::new("columns");
        let operand = Operand::declare(&mut b, "A", &tensor.outline());
        let piece = (b.param("from", Ty::Int), b.param("to", Ty::Int));
        let values = b.array("A_val", Elem::Value(tensor.dtype()), false);
        let outputs: Vec<ArrayId> = columns
            .iter()
            .enumerate()
            .map(|(at, (_, kind))| b.array(&format!("column{at}"), Elem::Index(*kind), true))
            .collect();
        let mask = mask.then(|| b.array("kept", Elem::Index(IndexKind::U8), true));
        let mut write = |b: &mut Builder, leaf: &Leaf| {
            let at = b.bind("at", leaf.value());
            for (&output, (expr, _)) in outputs.iter().zip(columns) {
                b.store(output, at.clone(), emit(expr, &leaf.dims));
            }
            let Some(mask) = mask else { return };
            if padding.is_empty() {
                return b.store(mask, at, Expr::Int(1));
            }
            let value = b.load(values, at.clone());
            let value = b.bind("value", value);
            let kept = padding.iter().map(|padding| differs(&value, *padding));
            let kept = kept.reduce(Expr::and).expect("there is padding");
            b.store(mask, at, kept.select(1, 0));
        };
        let (walked, noted) = operand.walk_noting(&mut b, Reach::Inside, piece, &mut write);
        Self { function: b.finish(), operand, walked, noted }
    }
}

/// Whether a value is not the [same](Scalar::same) as another.
fn differs(value: &Expr, other: Scalar) -> Expr {
    match is_nan(other) {
        // All numbers but NaN equal themselves.
        true => Expr::binary(BinOp::Eq, value.clone(), value.clone()),
        false => Expr::binary(BinOp::Ne, value.clone(), Expr::Const(other)),
    }
}

/// Whether a number is NaN, or a part of it.
fn is_nan(number: Scalar) -> bool {
    PartialEq::ne(&number, &number)
}

/// Whether [`differs`] can tell a value from this one: not where one part of a complex number is NaN.
pub(crate) fn is_told_apart(fill: Scalar) -> bool {
    let complex = matches!(fill.dtype(), Dtype::Complex64 | Dtype::Complex128);
    !(complex && is_nan(fill))
}
