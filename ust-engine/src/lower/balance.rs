//! Where an outermost loop is cut, so that parts have about as many stored elements each.

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Ty, Var};
use ust_level_api::{IndexKind, Interval, Walk, WalkKind};

use super::nest::{Operand, Reach};
use crate::error::Error;
use crate::pool::threads;
use crate::tensor::Tensor;

/// A part may have so much more or less than its share: this part of it.
const SLACK: i64 = 64;

/// Emits code that writes `count + 1` bounds, the first and the last of which are those of the loop.
/// `weight` says what is to be done before a place; `begin` moves a variable on to the next place at
/// which a part may begin. Bounds ascend; parts may be empty. Each bound is searched for from as far as
/// the part before was long: where elements are spread evenly, `weight` is asked once for each.
pub(crate) fn bounds(
    b: &mut Builder,
    [lo, hi]: [&Expr; 2],
    count: &Expr,
    out: ArrayId,
    weight: impl Fn(&mut Builder, &Expr) -> Expr,
    begin: impl Fn(&mut Builder, Var),
) {
    let total = weight(b, hi);
    let share = b.bind("share", total.floor_div(count.clone()));
    let slack = b.bind("slack", share.clone().floor_div(SLACK));
    let step = (hi.clone() - lo.clone()).floor_div(count.clone());
    let (from, step) = (b.var("begin", lo.clone()), b.var("step", step));
    b.store(out, Expr::Int(0), lo.clone());
    b.for_("part", Expr::Int(1), count.clone(), |b, part| {
        let wanted = b.bind("wanted", share * part.clone());
        let (below, above) = (b.var("below", from.into()), b.var("above", hi.clone()));
        b.while_(Expr::from(below).lt(above), |b| {
            let half = (Expr::from(above) - Expr::from(below)).floor_div(2);
            let place = b.bind("place", Expr::from(below) + half.min(Expr::from(step)));
            let before = weight(b, &place);
            let before = b.bind("before", before);
            b.assign(step, place.clone() - Expr::from(from));
            b.if_else(
                before.clone().lt(wanted.clone()),
                |b| b.assign(below, place.clone() + 1),
                |b| b.assign(above, place.clone()),
            );
            let [least, most] = [wanted.clone() - slack.clone(), wanted + slack];
            b.if_(least.le(before.clone()).and(before.le(most)), |b| {
                b.assign(below, place.clone());
                b.assign(above, place);
            });
        });
        begin(b, below);
        b.assign(step, Expr::from(below) - Expr::from(from));
        b.assign(from, below.into());
        b.store(out, part, below.into());
    });
    b.store(out, count.clone(), hi.clone());
}

/// Stored elements below an interval of the first level's cursor, or of its positions where it is full:
/// down through the levels whose children lie side by side. Where the cursor tells no position, as many
/// as it has places.
pub(crate) fn below(
    b: &mut Builder,
    operand: &Operand,
    walk: &Walk<'_>,
    mut interval: Interval,
) -> Expr {
    let levels = operand.format.descriptions();
    if walk.kind == WalkKind::Position || levels[0].props.full {
        for (level, description) in levels.iter().enumerate().skip(1) {
            if description.props.full {
                let size = operand.sizes.sizes[level].clone();
                interval = Interval { lo: interval.lo * size.clone(), hi: interval.hi * size };
                continue;
            }
            if !description.props.contiguous || description.walk != WalkKind::Position {
                break;
            }
            let above = vec![Expr::Int(0); level];
            let site = operand.site(level, interval, &above, Reach::Everything);
            let cursor = operand.format.levels()[level].ty.walk(&site, b).cursor;
            interval =
                Interval { lo: b.bind("below_lo", cursor.lo), hi: b.bind("below_hi", cursor.hi) };
        }
    }
    interval.hi - interval.lo
}

/// The bounds of the cursor of a tensor's outermost loop. `None` where the loop is not to be cut.
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules.
pub(super) fn outermost(tensor: &Tensor, reach: Reach) -> Result<Option<[i64; 2]>, Error> {
    let mut b = Builder::new("outermost");
    let operand = Operand::declare(&mut b, "A", tensor);
    let ends = b.array("ends", Elem::Index(IndexKind::I64), true);
    let mut found = [0, 0];
    let cut = operand.outermost(&mut b, reach, ends);
    if cut {
        run(b, &operand, tensor, &[], &mut found)?;
    }
    Ok(cut.then_some(found))
}

/// Where a tensor's outermost loop is cut into pieces, so many for each thread, of about as many stored
/// elements each: bounds of its cursor, ascending. None where it is not to be cut.
///
/// # Errors
/// As [`outermost`].
pub(super) fn cuts(tensor: &Tensor, reach: Reach, each: usize) -> Result<Vec<i64>, Error> {
    let threads = threads(tensor.nse());
    let ends = if threads < 2 { None } else { outermost(tensor, reach)? };
    let Some([first, last]) = ends.filter(|[lo, hi]| hi - lo >= 2) else { return Ok(Vec::new()) };
    let pieces = ((last - first) as usize).min(threads * each);
    let mut b = Builder::new("cuts");
    let operand = Operand::declare(&mut b, "A", tensor);
    let [lo, hi, count] = ["lo", "hi", "count"].map(|name| b.param(name, Ty::Int));
    let out = b.array("cuts", Elem::Index(IndexKind::I64), true);
    let none = match operand.format.descriptions()[0].props.full {
        true => operand.sizes.lowers[0].clone(),
        false => Expr::Int(0),
    };
    let weight = |b: &mut Builder, place: &Expr| {
        let site = operand.root(reach);
        let walk = operand.format.levels()[0].ty.walk(&site, b);
        let [lo, hi] = [&lo, place].map(|place| place.clone() - none.clone());
        // To come to a child takes about as long as an entry.
        hi.clone() - lo.clone() + below(b, &operand, &walk, Interval { lo, hi })
    };
    bounds(&mut b, [&lo, &hi], &count, out, weight, |_, _| {});
    let mut cuts = vec![0; pieces + 1];
    run(b, &operand, tensor, &[first, last, pieces as i64], &mut cuts)?;
    cuts.dedup();
    Ok(cuts)
}

/// Runs a little code over a tensor's levels.
fn run(
    b: Builder,
    operand: &Operand,
    tensor: &Tensor,
    others: &[i64],
    out: &mut [i64],
) -> Result<(), Error> {
    let params = operand.size_arguments(tensor).into_iter().chain(others.iter().copied());
    let params: Vec<Param> = params.map(Param::Int).collect();
    let mut memory: Vec<Memory<'_>> =
        tensor.levels().iter().flat_map(|level| &level.0).map(Memory::Index).collect();
    memory.push(Memory::indices_mut(out));
    Program::compile(&b.finish())?.run(&params, &mut memory)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;
    // Its level types.
    use ust as _;

    use super::*;
    use crate::coo::Coo;
    use crate::format::Format;

    /// The row of each entry, and its column: few rows have most of the entries, one an eighth of them.
    fn skewed() -> [Vec<i64>; 2] {
        let each = (0..2_000).map(|row| (row, 10_000 / (row + 1)));
        let each: Vec<(i64, i64)> = each.collect();
        let rows = each.iter().flat_map(|&(row, count)| (0..count).map(move |_| 1_999 - row));
        let columns = each.iter().flat_map(|&(_, count)| (0..count).map(|at| at * 3));
        [rows.collect(), columns.collect()]
    }

    #[test]
    fn pieces_have_as_many_entries_each() {
        let [rows, columns] = skewed();
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let mut ordered = rows.clone();
        ordered.sort_unstable();
        // Entries that stand before each cursor: rows, all that were stored, or entries.
        let of_row = |row: i64| ordered.partition_point(|&other| other < row);
        let mut distinct = ordered.clone();
        distinct.dedup();
        let of_distinct =
            |at: i64| distinct.get(at as usize).map_or(rows.len(), |&row| of_row(row));
        let of_entry = |at: i64| at as usize;
        let before: [(&str, &dyn Fn(i64) -> usize); 3] =
            [("CSR", &of_row), ("DCSR", &of_distinct), ("COO", &of_entry)];
        for (name, before) in before {
            let format = Format::resolve(name, Some(2)).unwrap();
            let (crd, ones) = (vec![rows.clone(), columns.clone()], vec![1.0; rows.len()]);
            let coo = Coo::new(vec![2_000, 30_000], crd, ones).unwrap();
            let tensor = Tensor::from_coo(&coo, &format).unwrap();
            let cuts = pool.install(|| cuts(&tensor, Reach::Inside, 4)).unwrap();
            assert!(cuts.windows(2).all(|pair| pair[0] < pair[1]), "{name}: {cuts:?}");
            let all = pool.install(|| outermost(&tensor, Reach::Inside)).unwrap().unwrap();
            assert_eq!([cuts[0], cuts[cuts.len() - 1]], all, "{name}");
            let most = cuts.windows(2).map(|pair| before(pair[1]) - before(pair[0])).max().unwrap();
            // A row is not cut.
            let fair = rows.len() / 12 + 2_000;
            assert!(
                most <= fair + if name == "COO" { 0 } else { 10_000 },
                "{name}: {most}, {cuts:?}"
            );
            assert!(cuts.len() >= 8, "{name}: {cuts:?}");
        }
    }
}
