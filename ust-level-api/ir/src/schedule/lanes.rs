//! Loops in lanes, written out as loops over lanes: what a machine does that runs all lanes at once.

use super::super::{BinOp, Expr, Function, Stmt, Ty, Var, VarDecl};
use super::{LANES, LaneSum, carried};

/// Declares a variable.
pub(super) fn fresh(function: &mut Function, name: &str, ty: Ty) -> Var {
    let number = function.vars.len();
    function.vars.push(VarDecl { name: format!("{name}_{number}"), ty });
    Var(number as u32)
}

/// A loop `for var in lo..hi` in lanes. `shift` decides the order of lanes, and `begin` is put at the
/// beginning of the code of each lane.
///
/// Each lane has its own copy of all variables. A sum is combined over all lanes after the loop. Any other
/// variable that is assigned has the value of the first lane then, as on a machine where nobody looks at
/// the others.
pub(super) fn in_lanes(
    function: &mut Function,
    (var, lo, hi): (Var, Expr, Expr),
    sums: &[LaneSum],
    body: Vec<Stmt>,
    shift: &Expr,
    begin: &dyn Fn(Expr) -> Vec<Stmt>,
) -> Vec<Stmt> {
    let [low, high, turn, lane, round] =
        ["low", "high", "turn", "lane", "round"].map(|name| fresh(function, name, Ty::Int));
    let mut made = vec![Stmt::Let(low, lo), Stmt::Let(high, hi)];
    let (mut before, mut after, mut at_end) = (Vec::new(), Vec::new(), Vec::new());
    for own in carried(&body) {
        let ty = function.vars[own.0 as usize].ty;
        let all = fresh(function, "all", ty);
        made.push(Stmt::Let(all, own.into()));
        match sums.iter().find(|sum| sum.var == own) {
            Some(LaneSum { op, start, .. }) => {
                before.push(Stmt::Assign(own, start.clone()));
                after.push(Stmt::Assign(all, Expr::binary(*op, all.into(), own.into())));
            }
            None => {
                let first = fresh(function, "first", ty);
                made.push(Stmt::Let(first, own.into()));
                before.push(Stmt::Assign(own, all.into()));
                after.push(Stmt::If {
                    cond: Expr::from(lane).equals(0),
                    then: vec![Stmt::Assign(first, own.into())],
                    otherwise: Vec::new(),
                });
                at_end.push(Stmt::Assign(own, first.into()));
                continue;
            }
        }
        at_end.push(Stmt::Assign(own, all.into()));
    }
    let count = Expr::Int(LANES);
    let order = (Expr::from(turn) * 3 + shift.clone()).modulo(LANES);
    let left = Expr::from(high) - Expr::from(low) - Expr::from(lane);
    let rounds = Expr::binary(BinOp::FloorDiv, left + (LANES - 1), count.clone());
    let here = Expr::from(low) + Expr::from(lane) + Expr::from(round) * count.clone();
    let iteration = std::iter::once(Stmt::Let(var, here)).chain(body).collect();
    let mut of_lane = vec![Stmt::Let(lane, order)];
    of_lane.extend(begin(lane.into()));
    of_lane.extend(before);
    of_lane.push(Stmt::For { var: round, lo: Expr::Int(0), hi: rounds, body: iteration });
    of_lane.extend(after);
    made.push(Stmt::For { var: turn, lo: Expr::Int(0), hi: count, body: of_lane });
    made.extend(at_end);
    made
}
