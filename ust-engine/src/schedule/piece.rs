//! Pieces of rows: the code of a row for some of its entries, for rows so long that several threads share them.

use ust_level_api::Scalar;
use ust_level_api::ir::idiom::{By, Idiom, Index, Nest, Place, Range};
use ust_level_api::ir::{ArrayId, BinOp, Expr, Function, Stmt, Ty, Var};

use super::fresh;
use super::left::{Adding, Left, combines, indices};
use super::stored::{has_only, names, part};
use crate::provider::plan::{Array, Facts, Over};

/// Code for pieces of rows. Its arrays are those of the loops, and three more: the row of each piece, an `i64`; the
/// sums of each piece, as many as `block`; and the first entry of each piece and the end of its entries, two `i64`.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    /// Runs the piece whose number is the beginning of the part.
    pub(crate) function: Function,
    /// Stores the sums of rows, of which pieces have theirs. It runs in one part: all pieces. Pieces of a row are
    /// side by side. `None` if entries write elements of their own.
    pub(crate) adding: Option<Function>,
    /// Number of sums of a piece: an expression of parameters.
    pub(crate) block: Expr,
    /// The first entry of the row that is the beginning of the part, and the end of its entries.
    pub(crate) entries: [Expr; 2],
}

/// What a row does with products.
enum Does {
    /// Each entry writes elements of its own.
    Stores,
    /// They are added in a variable, which is stored to this element.
    Sums { start: Scalar, var: Var, index: Index },
    /// They are added to consecutive elements, whose variable and number are these.
    Adds { over: Var, block: Expr, index: Index },
}

/// The code for pieces of the rows of these loops. `None` if they are no loop over rows that are stored side by side,
/// of which an idiom tells what they compute. `rest`: the value of a sum of nothing.
pub(crate) fn pieces(plan: &Function, facts: &Facts, rest: Scalar) -> Option<Pieces> {
    let (nest, owns) = nest(plan, facts)?;
    let result = facts.arrays.iter().position(|array| *array == Array::Result)?;
    let result = ArrayId(result as u32);
    let (row, first) = (nest.loops[0].var, &nest.loops[1]);
    let does = does(plan, nest, result, owns)?;
    let op = nest.op.unwrap_or(BinOp::Add);
    let of_part = part(facts)?;
    let entries = match &first.range {
        Range::Between(lo, hi) => [lo.clone(), hi.clone()],
        Range::Segment { pos, at, begin } => {
            [at.expr(), at.expr() + 1].map(|at| Expr::Load(*pos, Box::new(at)) + begin.expr())
        }
    };
    let entries =
        entries.map(|bound| bound.replaced(&|var| (var == row).then(|| of_part[0].clone())));
    let mut function = plan.clone();
    let left = Left::declare(&mut function, result);
    let bounds = ArrayId(function.arrays.len() as u32);
    function.arrays.push(indices("piece"));
    let [number, lo, hi] =
        ["number", "lo", "hi"].map(|name| fresh(&mut function.vars, name, Ty::Int));
    let load = |array: ArrayId, at: Expr| Expr::Load(array, Box::new(at));
    let mut inner = nest.inner()?;
    inner.loops[0].range = Range::Between(lo.into(), hi.into());
    let (mut before, mut after) = (Vec::new(), Vec::new());
    match &does {
        Does::Stores => {}
        Does::Sums { start, var, .. } => {
            before.push(Stmt::Let(*var, Expr::Const(*start)));
            after.push(Stmt::Store(left.sums, number.into(), Expr::from(*var)));
        }
        Does::Adds { over, block, .. } => {
            let from = fresh(&mut function.vars, "from", Ty::Int);
            let at = fresh(&mut function.vars, "at", Ty::Int);
            before.push(Stmt::Let(from, Expr::from(number) * block.clone()));
            let place = Expr::from(from) + Expr::from(at);
            let body = vec![Stmt::Store(left.sums, place, Expr::Const(rest))];
            before.push(Stmt::For { var: at, lo: Expr::Int(0), hi: block.clone(), body });
            let Place::Element(_, index) = &mut inner.target else { return None };
            index.base = vec![from.into()];
            index.steps.retain(|step| step.by == By::Var(*over));
            inner.target = Place::Element(left.sums, index.clone());
        }
    }
    let code = inner.code(&mut function.vars);
    let names = names(plan, std::slice::from_ref(&code), &of_part)?;
    let twice = Expr::from(number) * 2;
    function.body = names;
    function.body.extend([
        Stmt::Let(number, of_part[0].clone()),
        Stmt::Let(row, load(left.rows, number.into())),
        Stmt::Let(lo, load(bounds, twice.clone())),
        Stmt::Let(hi, load(bounds, twice + 1)),
    ]);
    function.body.extend(before);
    function.body.push(code);
    function.body.extend(after);
    function.idioms = vec![Idiom::Nest(Box::new(inner))];
    let (elements, block, index) = match does {
        Does::Stores => {
            return Some(Pieces { function, adding: None, block: Expr::Int(0), entries });
        }
        Does::Sums { index, .. } => (None, Expr::Int(1), index),
        Does::Adds { over, block, index } => {
            (Some((over, [Expr::Int(0), block.clone()])), block, index)
        }
    };
    let mut adding = function.clone();
    adding.idioms.clear();
    let sums = Adding { op, result, left, part: of_part, elements, block: block.clone() };
    let index = index.expr();
    let of_row = |of: Var| index.replaced(&|var| (var == row).then(|| of.into()));
    adding.body = sums.storing(&mut adding, &of_row);
    Some(Pieces { function, adding: Some(adding), block, entries })
}

/// The nest that is all of a loop over rows and the loops inside, and whether entries own what they write.
fn nest<'a>(plan: &'a Function, facts: &Facts) -> Option<(&'a Nest, bool)> {
    let has_tables = facts.arrays.iter().any(|array| array.is_work());
    if facts.rows.is_some()
        || !facts.carried.is_empty()
        || !facts.outermost.owns
        || facts.outermost.range.is_none()
        || has_tables
    {
        return None;
    }
    let only = |depth: usize| {
        let mut all = facts.loops.iter().filter(|one| one.depth == depth);
        let one = all.next().filter(|one| !one.sequential && one.vars.len() == 1)?;
        all.next().is_none().then_some(one)
    };
    let (rows, entries) = (only(0)?, only(1)?);
    let are_rows = rows.owns && matches!(rows.over, Over::Cursor | Over::Coordinates);
    if !are_rows || entries.over != Over::Cursor || !entries.contiguous {
        return None;
    }
    let nest = plan.idioms.iter().find_map(|idiom| match idiom {
        Idiom::Nest(nest) if nest.loops[0].var == rows.vars[0] => Some(&**nest),
        _ => None,
    })?;
    let is_plain = nest.conditions.is_empty() && nest.list.is_none() && nest.hit.is_none();
    let is_inside = nest.loops.get(1).is_some_and(|one| one.var == entries.vars[0]);
    (is_plain && is_inside).then_some((nest, entries.owns && entries.sum.is_none()))
}

fn does(plan: &Function, nest: &Nest, result: ArrayId, owns: bool) -> Option<Does> {
    if owns {
        return Some(Does::Stores);
    }
    nest.op.filter(|op| combines(*op))?;
    match (&nest.target, &nest.sum) {
        (Place::Var(var), Some(sum)) if sum.inside == 1 && sum.op.is_none() => {
            let index = sum.index.clone();
            (sum.array == result).then_some(Does::Sums { start: sum.start, var: *var, index })
        }
        (Place::Element(array, index), None) if *array == result => {
            let row = nest.loops[0].var;
            let mut others = index.steps.iter().filter(|step| step.by.var() != row);
            let (Some(step), None) = (others.next(), others.next()) else { return None };
            let (By::Var(over), Expr::Int(1)) = (step.by, &step.stride) else { return None };
            let of = nest.loops[2..].iter().find(|one| one.var == over)?;
            let Range::Between(Expr::Int(0), block) = &of.range else { return None };
            has_only(plan, block, &[], false).then(|| Does::Adds {
                over,
                block: block.clone(),
                index: index.clone(),
            })
        }
        _ => None,
    }
}
