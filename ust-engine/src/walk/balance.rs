//! Cuts of an outermost loop into parts with about the same number of stored elements.

use ust_kernels::pool::threads;
use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Ty};
use ust_level_api::{IndexKind, Interval, Walk, WalkKind};

use super::find::first_from;
use super::nest::{Operand, Reach};
use crate::error::Error;
use crate::storage::{Outline, Tensor};
use crate::tuning::{CUT_SLACK_DIVISOR, ENTRIES_PER_LOOK};

/// The variable of an outermost loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Along {
    /// Coordinates of first levels, which are full in all tensors.
    Coordinates,
    /// The cursor of the first level of a single tensor.
    Cursor,
    /// Coordinates at the first levels of several tensors. At the start of a part, the cursor of
    /// each tensor is found by a search.
    Merge {
        /// Whether every coordinate is visited.
        every: bool,
    },
}

/// Code that cuts the outermost loop over tensors.
#[derive(Clone, Debug)]
pub(crate) struct Cutter {
    program: Program,
    operands: Vec<Operand>,
}

impl Cutter {
    /// Emits the code for tensors with the formats of the given tensors. `None` where the loop
    /// cannot be cut.
    ///
    /// # Errors
    /// [`Error::Malformed`] where a level type emits invalid code.
    pub(crate) fn new(
        along: Along,
        tensors: &[&Outline],
        reach: Reach,
    ) -> Result<Option<Self>, Error> {
        let mut b = Builder::new("cut");
        let operands: Vec<Operand> =
            tensors.iter().map(|tensor| Operand::declare(&mut b, "A", tensor)).collect();
        let [from, extent, count] = ["from", "extent", "count"].map(|name| b.param(name, Ty::Int));
        let out = b.array("bounds", Elem::Index(IndexKind::I64), true);
        let Some(emit) = Emit::new(&mut b, along, &operands, reach, (from, extent)) else {
            return Ok(None);
        };
        emit.bounds(&mut b, &count, out);
        Ok(Some(Self { program: Program::compile(&b.finish())?, operands }))
    }

    /// Cuts the loop into `count` parts with about the same number of stored elements. Gives the
    /// start of each part, and the end of the loop, in ascending order. Parts may be empty.
    /// `from` is the lowest coordinate and `extent` the number of coordinates, where the loop runs along coordinates.
    ///
    /// # Errors
    /// [`Error::Run`] for invalid arrays, which were not checked.
    pub(crate) fn cut(
        &self,
        tensors: &[&Tensor],
        (from, extent): (i64, i64),
        count: usize,
    ) -> Result<Vec<i64>, Error> {
        let (mut params, mut memory) = (Vec::new(), Vec::new());
        for (operand, tensor) in self.operands.iter().zip(tensors) {
            params.extend(operand.size_arguments(tensor));
            memory.extend(tensor.index_arrays().map(Memory::Index));
        }
        params.extend([from, extent, count as i64]);
        let params: Vec<Param> = params.into_iter().map(Param::Int).collect();
        let mut bounds = vec![0_i64; count + 1];
        memory.push(Memory::indices_mut(&mut bounds));
        self.program.run(&params, &mut memory)?;
        drop(memory);
        Ok(bounds)
    }
}

/// The emitter of code that cuts a loop.
struct Emit<'a> {
    along: Along,
    operands: &'a [Operand],
    reach: Reach,
    lo: Expr,
    hi: Expr,
}

impl<'a> Emit<'a> {
    /// Emits the start and the end of the loop. `None` where the loop cannot be cut.
    fn new(
        b: &mut Builder,
        along: Along,
        operands: &'a [Operand],
        reach: Reach,
        (from, extent): (Expr, Expr),
    ) -> Option<Self> {
        let [lo, hi] = match (along, operands) {
            (Along::Cursor, [operand, ..]) => {
                let site = operand.root(reach);
                let walk = operand.format.levels().first()?.ty.walk(&site, b);
                if walk.advance.is_some() {
                    return None;
                }
                [walk.cursor.lo.clone(), walk.cursor.hi.clone()]
            }
            _ => [from.clone(), from + extent],
        };
        let lo = b.bind("lo", lo);
        let hi = b.bind("hi", hi.max(lo.clone()));
        Some(Self { along, operands, reach, lo, hi })
    }

    /// Emits code that writes `count + 1` bounds. The search for the end of a part first tries the
    /// length of the part before: where elements are spread evenly, it evaluates
    /// [`weight`](Self::weight) once for each part.
    fn bounds(&self, b: &mut Builder, count: &Expr, out: ArrayId) {
        let [lo, hi] = [&self.lo, &self.hi];
        let total = self.weight(b, hi);
        let share = b.bind("share", total.floor_div(count.clone()));
        let slack = b.bind("slack", share.clone().floor_div(CUT_SLACK_DIVISOR));
        let step = (hi.clone() - lo.clone()).floor_div(count.clone());
        let (from, step) = (b.var("begin", lo.clone()), b.var("step", step));
        b.store(out, Expr::Int(0), lo.clone());
        b.for_("part", Expr::Int(1), count.clone(), |b, part| {
            let wanted = b.bind("wanted", share * part.clone());
            let (below, above) = (b.var("below", from.into()), b.var("above", hi.clone()));
            b.while_(Expr::from(below).lt(above), |b| {
                let half = (Expr::from(above) - Expr::from(below)).floor_div(2);
                let place = b.bind("place", Expr::from(below) + half.min(Expr::from(step)));
                let before = self.weight(b, &place);
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
            b.assign(step, Expr::from(below) - Expr::from(from));
            b.assign(from, below.into());
            b.store(out, part, below.into());
        });
        b.store(out, count.clone(), hi.clone());
    }

    /// The work before a cursor or coordinate `place`: the number of stored elements, plus the
    /// number of iterations of the outermost loop.
    fn weight(&self, b: &mut Builder, place: &Expr) -> Expr {
        let mut weight = match self.along {
            // Only coordinates that some tensor stores are visited.
            Along::Merge { every: false } => Expr::Int(0),
            _ => place.clone() - self.lo.clone(),
        };
        for operand in self.operands {
            let site = operand.root(self.reach);
            let walk = operand.format.levels()[0].ty.walk(&site, b);
            let full = operand.format.descriptions()[0].props.full;
            let before = match self.along {
                // Positions of a full first level.
                Along::Coordinates => {
                    Interval { lo: Expr::Int(0), hi: place.clone() - self.lo.clone() }
                }
                Along::Merge { .. } if !full => {
                    let Interval { lo, hi } = walk.cursor.clone();
                    let lo = b.bind("below_lo", lo);
                    Interval { hi: first_from(b, &walk, lo.clone(), hi, place), lo }
                }
                Along::Merge { .. } | Along::Cursor => {
                    let before = Interval { lo: self.lo.clone(), hi: place.clone() };
                    match full && walk.kind == WalkKind::Coordinate {
                        // The position at a full first level is `crd - lower`.
                        true => {
                            let lower = &operand.sizes.lowers[0];
                            Interval {
                                lo: before.lo - lower.clone(),
                                hi: before.hi - lower.clone(),
                            }
                        }
                        false => before,
                    }
                }
            };
            weight = weight + below(b, operand, &walk, before);
        }
        weight
    }
}

/// Number of stored elements under an interval of the first level's cursor, or of its positions
/// where the level is full. Goes down through the levels that store the children of neighbouring
/// parents side by side. An estimate where a level does not: then the number of its positions, or
/// of cursors, is returned.
fn below(b: &mut Builder, operand: &Operand, walk: &Walk<'_>, mut interval: Interval) -> Expr {
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

/// Cuts a tensor's outermost loop along its cursor, as [`Cutter::cut`]. `None` where the loop
/// cannot be cut.
fn along_cursor(tensor: &Tensor, reach: Reach, count: usize) -> Result<Option<Vec<i64>>, Error> {
    let cutter = Cutter::new(Along::Cursor, &[&tensor.outline()], reach)?;
    cutter.map(|cutter| cutter.cut(&[tensor], (0, 0), count)).transpose()
}

/// The interval of the cursor of a tensor's outermost loop. `None` where the loop cannot be cut.
///
/// # Errors
/// As [`Cutter::new`] and [`Cutter::cut`].
pub(super) fn outermost(tensor: &Tensor, reach: Reach) -> Result<Option<[i64; 2]>, Error> {
    Ok(along_cursor(tensor, reach, 1)?.map(|bounds| [bounds[0], bounds[1]]))
}

/// Cuts a tensor's outermost loop into groups for threads, and each group into pieces of so many stored elements that
/// the work can end early between them. Pieces are given as cursors. One piece where the loop cannot be cut.
///
/// # Errors
/// As [`outermost`].
pub(super) fn groups(
    tensor: &Tensor,
    reach: Reach,
    groups: usize,
) -> Result<Vec<Vec<[i64; 2]>>, Error> {
    let each = tensor.nse().div_ceil(groups * ENTRIES_PER_LOOK).max(1);
    let cuts = match groups * each {
        1 => None,
        pieces => along_cursor(tensor, reach, pieces)?,
    };
    let cuts = cuts.unwrap_or_else(|| vec![i64::MIN, i64::MAX]);
    let pieces: Vec<[i64; 2]> = cuts.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    let some = pieces
        .chunks(each)
        .map(|group| group.iter().copied().filter(|[from, to]| from < to).collect::<Vec<_>>());
    let some: Vec<_> = some.filter(|group| !group.is_empty()).collect();
    Ok(if some.is_empty() { vec![vec![[i64::MIN, i64::MAX]]] } else { some })
}

/// Cuts a tensor's outermost loop into `each` pieces for each thread, with about the same number of
/// stored elements. Gives the start of each piece, and the end of the loop, as cursors. Empty where
/// the loop cannot be cut, or there is one thread.
///
/// # Errors
/// As [`outermost`].
pub(super) fn cuts(tensor: &Tensor, reach: Reach, each: usize) -> Result<Vec<i64>, Error> {
    let threads = threads(tensor.nse());
    if threads < 2 {
        return Ok(Vec::new());
    }
    let mut cuts = along_cursor(tensor, reach, threads * each)?.unwrap_or_default();
    cuts.dedup();
    Ok(cuts)
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;
    // Registers the level types.
    use ust as _;

    use super::*;
    use crate::storage::coo::Coo;
    use ust_format::Format;

    /// The row and the column of each entry: few rows have most of the entries, one row has an
    /// eighth of them.
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
        // The number of entries before each cursor, which is a row, a stored row, or an entry.
        let of_row = |row: i64| ordered.partition_point(|&other| other < row);
        let mut distinct = ordered.clone();
        distinct.dedup();
        let of_distinct =
            |at: i64| distinct.get(at as usize).map_or(rows.len(), |&row| of_row(row));
        let of_entry = |at: i64| at as usize;
        let mut diagonals: Vec<i64> = rows.iter().zip(&columns).map(|(i, j)| i - j).collect();
        diagonals.sort_unstable();
        let of_diagonal = |crd: i64| diagonals.partition_point(|&other| other < crd);
        let by_diagonals = "(i, j) -> (i - j : dense, i : compressed)";
        let before: [(&str, &dyn Fn(i64) -> usize); 4] = [
            ("CSR", &of_row),
            ("DCSR", &of_distinct),
            ("COO", &of_entry),
            (by_diagonals, &of_diagonal),
        ];
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
            // A row cannot be cut.
            let fair = rows.len() / 12 + 2_000;
            assert!(
                most <= fair + if name == "COO" { 0 } else { 10_000 },
                "{name}: {most}, {cuts:?}"
            );
            assert!(cuts.len() >= 8, "{name}: {cuts:?}");
        }
    }
}
