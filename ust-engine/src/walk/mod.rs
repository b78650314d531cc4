//! From a format to loop IR: how the levels of a tensor are walked and searched together.
//!
//! A level type knows its own level. Here the levels are put one under another: each is told its
//! parent, and the interval in which its coordinate can be valid, given the coordinates already
//! fixed ([`bounds`]). [`nest`] walks a whole tensor, [`find`] searches for one element,
//! [`unpack`] turns storage into columns of coordinates, of which `stored` finds those that are there
//! already; `scatter` and `sweep` turn it into columns sorted by a key, `cells` into places that are
//! known before. `claims` compares what a walk meets with what levels say of themselves. [`native`] runs
//! what was emitted.

pub mod access;
pub(crate) mod balance;
pub mod bounds;
pub(crate) mod cells;
pub(crate) mod claims;
pub mod find;
pub mod native;
pub mod nest;
pub(crate) mod pieces;
pub(crate) mod scatter;
pub(crate) mod stored;
pub(crate) mod sweep;
pub mod unpack;

use ust_format::IndexExpr;
use ust_level_api::ir::Expr;

/// An index expression as IR, with IR in place of its variables.
#[must_use]
pub fn emit(expr: &IndexExpr, vars: &[Expr]) -> Expr {
    let of = |e: &IndexExpr| emit(e, vars);
    match expr {
        IndexExpr::Const(value) => Expr::Int(*value),
        IndexExpr::Var(at) => vars[*at].clone(),
        IndexExpr::Add(a, b) => of(a) + of(b),
        IndexExpr::Sub(a, b) => of(a) - of(b),
        IndexExpr::Mul(a, b) => of(a) * of(b),
        IndexExpr::FloorDiv(a, b) => of(a).floor_div(of(b)),
        IndexExpr::Mod(a, b) => of(a).modulo(of(b)),
    }
}
