//! Loop IR for whole formats: the walks and searches of all levels, composed into loop nests.
//!
//! A level type emits the loop over the children of one parent. This module nests these loops: each
//! level gets its parent, and the interval in which its coordinate can be valid, given the
//! coordinates of the levels above.
//!
//! | module | what |
//! |---|---|
//! | [`bounds`] | the interval of valid coordinates of a level |
//! | [`nest`] | the loop nest over everything that a tensor stores |
//! | [`find`] | the search for one element |
//! | [`access`] | single elements and all entries, as methods of a tensor |
//! | [`unpack`] | storage to columns of coordinates |
//! | [`shape`] | how a level stores its children, read off its walk |
//! | `stored` | columns of coordinates that level arrays hold already |
//! | `pieces` | columns of coordinates, a piece of the outermost loop at a time |
//! | `scatter`, `sweep` | storage to columns that are sorted by a key |
//! | `cells` | values written straight to computed positions |
//! | `balance` | cuts of the outermost loop into parts of equal work |
//! | `claims` | comparison of all children with the claims of their levels |
//! | [`native`] | runs the emitted code, compiled or interpreted |

pub mod access;
pub(crate) mod balance;
pub mod bounds;
pub(crate) mod cells;
pub(crate) mod claims;
pub mod find;
pub mod native;
pub mod nest;
pub mod operand;
pub(crate) mod pieces;
pub(crate) mod positions;
pub(crate) mod scatter;
pub mod shape;
pub(crate) mod stored;
pub(crate) mod sweep;
pub mod unpack;

use ust_format::IndexExpr;
use ust_level_api::ir::Expr;

/// Emits an index expression. `vars` are the values of its variables.
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
