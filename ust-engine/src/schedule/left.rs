//! Sums that parts leave for others, and how they are added to the result.

use ust_level_api::IndexKind;
use ust_level_api::ir::schedule::{LoopMarks, Marks, Scheduled, Sharing};
use ust_level_api::ir::{ArrayDecl, ArrayId, BinOp, Elem, Expr, Function, Stmt, Ty, UnOp, Var};

use super::fresh;
use super::stored::unless;

/// The row of a part that left nothing.
pub(super) const NONE: i64 = i64::MIN;

/// Sums that parts leave for others.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Carries {
    /// What each part leaves.
    pub left: Left,
    /// Number of sums of a row: an expression of parameters.
    pub block: Expr,
    /// Adds the sums of all parts to the result. Its arrays are those of the loops, and two more, of `next`; those of
    /// `left` have what all parts left. Parts of it are intervals of parts, from 0 to their number, which is the length
    /// of the array of rows. The sums of a row that goes on behind its part are left in turn, in `next`: they are
    /// added by the same function, until it has one part. No part of loops or of this function may be empty, unless
    /// there is one.
    pub adding: Scheduled,
    /// What each part of `adding` leaves.
    pub next: Left,
}

/// Where parts leave sums for others: two arrays of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// An `i64` of each part: the row whose sums it left, or the least `i64`.
    pub rows: ArrayId,
    /// Numbers of each part, as many as [`Carries::block`]: those sums.
    pub sums: ArrayId,
}

impl Left {
    pub(super) fn declare(function: &mut Function, result: ArrayId) -> Self {
        Self::named(function, result, ["carried_row", "carried_sum"])
    }

    fn named(function: &mut Function, result: ArrayId, [rows, sums]: [&str; 2]) -> Self {
        let elem = function.arrays[result.0 as usize].elem;
        let first = function.arrays.len() as u32;
        function.arrays.push(indices(rows));
        function.arrays.push(ArrayDecl { elem, ..indices(sums) });
        Self { rows: ArrayId(first), sums: ArrayId(first + 1) }
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
}

impl Adding {
    /// What adds sums that parts of these loops left to what other parts stored.
    pub(super) fn carries(self, function: &Function, index: &dyn Fn(Var) -> Expr) -> Carries {
        let (left, block) = (self.left, self.block.clone());
        let mut function = Function { idioms: Vec::new(), ..function.clone() };
        let next = Left::named(&mut function, self.result, ["next_row", "next_sum"]);
        let (body, shared) = self.body(&mut function, index, Some(next));
        function.body = body;
        let mut marks = Marks::default();
        marks.loops.insert(shared, LoopMarks { lanes: Some(Vec::new()), ..LoopMarks::default() });
        marks.arrays.extend([next.rows, next.sums].map(|array| (array, Sharing::Scratch)));
        Carries { left, block, adding: Scheduled { function, marks }, next }
    }

    /// Code that stores the sums of rows of which parts left all sums. It has to run in one part.
    pub(super) fn storing(self, function: &mut Function, index: &dyn Fn(Var) -> Expr) -> Vec<Stmt> {
        self.body(function, index, None).0
    }

    /// The first of the neighbours that left sums of a row adds those of all of them. `index`: the element of a row.
    /// `next`: where sums are left of rows that go on behind the part; without, all sums are there, and are stored.
    /// Also the loop whose iterations lanes may share.
    fn body(
        self,
        function: &mut Function,
        index: &dyn Fn(Var) -> Expr,
        next: Option<Left>,
    ) -> (Vec<Stmt>, Var) {
        let mut fresh = |name: &str, ty: Ty| fresh(&mut function.vars, name, ty);
        let [number, row, stop, other] =
            ["number", "row", "stop", "other"].map(|name| fresh(name, Ty::Int));
        let ends = fresh("ends", Ty::Bool);
        let sum = fresh("sum", function.arrays[self.result.0 as usize].elem.ty());
        let Left { rows, sums } = self.left;
        let [lo, hi] = self.part;
        let row_of = |part: Expr| Expr::Load(rows, Box::new(part));
        let same = |part: Expr| row_of(part).equals(Expr::from(row));
        let not = |cond: Expr| Expr::Unary(UnOp::Not, Box::new(cond));
        let before = lo.clone().lt(number).select(same(Expr::from(number) - 1), Expr::Bool(false));
        let some = Expr::binary(BinOp::Ne, row.into(), Expr::Int(NONE));
        let place = |of: Var| match &self.elements {
            Some((var, [lo, _])) => {
                Expr::from(of) * self.block.clone() + (Expr::from(*var) - lo.clone())
            }
            None => of.into(),
        };
        let added = |of: Var| Expr::Load(sums, Box::new(place(of)));
        let again = Expr::from(stop).lt(hi.clone()).select(same(stop.into()), Expr::Bool(false));
        let mut then = vec![
            Stmt::Let(stop, Expr::from(number) + 1),
            Stmt::While { cond: again, body: vec![Stmt::Assign(stop, Expr::from(stop) + 1)] },
        ];
        let stores = match next {
            None => Stmt::Store(self.result, index(row), sum.into()),
            Some(next) => {
                let behind = Expr::from(stop).lt(Expr::Len(rows));
                let ended = behind.select(not(same(stop.into())), Expr::Bool(true));
                then.push(Stmt::Let(ends, ended));
                then.push(unless(ends.into(), vec![Stmt::Store(next.rows, 0.into(), row.into())]));
                let place = match &self.elements {
                    Some((var, [lo, _])) => Expr::from(*var) - lo.clone(),
                    None => Expr::Int(0),
                };
                Stmt::If {
                    cond: ends.into(),
                    then: vec![Stmt::Reduce(self.op, self.result, index(row), sum.into())],
                    otherwise: vec![Stmt::Store(next.sums, place, sum.into())],
                }
            }
        };
        let all = vec![
            Stmt::Let(sum, added(number)),
            Stmt::For {
                var: other,
                lo: Expr::from(number) + 1,
                hi: stop.into(),
                body: vec![Stmt::Assign(sum, Expr::binary(self.op, sum.into(), added(other)))],
            },
            stores,
        ];
        let shared = match self.elements {
            Some((var, [lo, hi])) => {
                then.push(Stmt::For { var, lo, hi, body: all });
                var
            }
            None => {
                then.extend(all);
                number
            }
        };
        let body = vec![
            Stmt::Let(row, row_of(number.into())),
            Stmt::If { cond: some.and(not(before)), then, otherwise: Vec::new() },
        ];
        let none = next.map(|next| Stmt::Store(next.rows, 0.into(), Expr::Int(NONE)));
        let over = Stmt::For { var: number, lo, hi, body };
        (none.into_iter().chain([over]).collect(), shared)
    }
}
