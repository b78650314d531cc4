//! Sums that parts leave for others, and how they are added to the result.

use ust_level_api::IndexKind;
use ust_level_api::ir::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, UnOp, Var};

use super::fresh;

/// The row of a part that left nothing.
pub(super) const NONE: i64 = i64::MIN;

/// Sums that parts leave for others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Carries {
    /// An `i64` of each part: the row whose sums it left, or the least `i64`.
    pub rows: ArrayId,
    /// Numbers of each part, as many as `block`: those sums.
    pub sums: ArrayId,
    /// Number of sums of a row: an expression of parameters.
    pub block: Expr,
    /// Adds the sums of all parts to the result. Its arrays are those of the loops; `rows` has an element for each
    /// part, and `sums` has `block`. Parts of it are intervals of parts, from 0 to their number, which is the length
    /// of `rows`.
    pub adding: Function,
}

/// The arrays of [`Carries`], declared.
#[derive(Clone, Copy)]
pub(super) struct Left {
    pub(super) rows: ArrayId,
    pub(super) sums: ArrayId,
}

impl Left {
    pub(super) fn declare(function: &mut Function, result: ArrayId) -> Self {
        let rows = ArrayId(function.arrays.len() as u32);
        function.arrays.push(indices("carried_row"));
        let sums = ArrayId(function.arrays.len() as u32);
        let elem = function.arrays[result.0 as usize].elem;
        function.arrays.push(ArrayDecl { elem, ..indices("carried_sum") });
        Self { rows, sums }
    }
}

pub(super) fn indices(name: &str) -> ArrayDecl {
    let elem = Elem::Index(IndexKind::I64);
    ArrayDecl { name: name.to_owned(), elem, written: true, grows: false }
}

/// The operators by which sums of parts can be combined.
pub(super) fn combines(op: BinOp) -> bool {
    matches!(op, BinOp::Add | BinOp::Mul | BinOp::Min | BinOp::Max)
}

/// How sums that parts left are added to the result.
pub(super) struct Adding {
    pub(super) op: BinOp,
    pub(super) result: ArrayId,
    pub(super) left: Left,
    pub(super) part: [Expr; 2],
    /// The loop over the elements of a row.
    pub(super) elements: Option<(Var, [Expr; 2])>,
    /// Their number.
    pub(super) block: Expr,
    /// Whether parts left all sums of a row: they are stored then.
    pub(super) stores: bool,
}

impl Adding {
    /// The first part of a row adds the sums of all. `index`: the element of a row.
    pub(super) fn body(self, function: &mut Function, index: &dyn Fn(Var) -> Expr) -> Vec<Stmt> {
        let mut fresh = |name: &str, ty: Ty| fresh(&mut function.vars, name, ty);
        let [number, row, other] = ["number", "row", "other"].map(|name| fresh(name, Ty::Int));
        let sum = fresh("sum", function.arrays[self.result.0 as usize].elem.ty());
        let Left { rows, sums } = self.left;
        let row_of = |part: Expr| Expr::Load(rows, Box::new(part));
        let same = |part: Expr| row_of(part).equals(Expr::from(row));
        let before =
            Expr::Int(0).lt(number).select(same(Expr::from(number) - 1), Expr::Bool(false));
        let some = Expr::binary(BinOp::Ne, row.into(), Expr::Int(NONE));
        let is_first = some.and(Expr::Unary(UnOp::Not, Box::new(before)));
        let place = match &self.elements {
            Some((var, [lo, _])) => {
                Expr::from(other) * self.block + (Expr::from(*var) - lo.clone())
            }
            None => other.into(),
        };
        let added = Expr::Load(sums, Box::new(place));
        let again =
            Expr::from(other).lt(Expr::Len(rows)).select(same(other.into()), Expr::Bool(false));
        let next = Stmt::Assign(other, Expr::from(other) + 1);
        let then = vec![
            Stmt::Let(other, number.into()),
            Stmt::Let(sum, added.clone()),
            next.clone(),
            Stmt::While {
                cond: again,
                body: vec![Stmt::Assign(sum, Expr::binary(self.op, sum.into(), added)), next],
            },
            match self.stores {
                true => Stmt::Store(self.result, index(row), sum.into()),
                false => Stmt::Reduce(self.op, self.result, index(row), sum.into()),
            },
        ];
        let then = match self.elements {
            Some((var, [lo, hi])) => vec![Stmt::For { var, lo, hi, body: then }],
            None => then,
        };
        let [lo, hi] = self.part;
        let body = vec![
            Stmt::Let(row, row_of(number.into())),
            Stmt::If { cond: is_first, then, otherwise: Vec::new() },
        ];
        vec![Stmt::For { var: number, lo, hi, body }]
    }
}
