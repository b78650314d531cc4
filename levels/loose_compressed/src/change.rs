//! Children that are inserted and removed in place.
//!
//! A place in a gap holds a number that is no coordinate of the level, if this crate left it: so a segment whose end
//! is followed by such a number can grow. A coordinate there may belong to another segment.

use std::ops::Range;

use ust_level_api::{Arrays, Change, Crd, IndexArray, Move, Pos, Site};

use super::{CRD, POS};

/// The least room that is left behind a segment that has to move.
const LEAST_ROOM: usize = 4;

/// The segment of a parent.
fn segment(arrays: &Arrays, parent: usize) -> Option<Range<usize>> {
    let bound = |at: usize| usize::try_from(arrays.0[POS].get(at)?).ok();
    Some(bound(parent.checked_mul(2)?)?..bound(parent.checked_mul(2)?.checked_add(1)?)?)
}

/// A number for the places of gaps, which is no coordinate.
fn mark(site: &Site, crd: &IndexArray) -> Option<i64> {
    let bounds = site.bounds();
    let around = [Some(bounds.end), bounds.start.checked_sub(1)];
    around.into_iter().flatten().find(|&mark| crd.kind().holds(mark) && !bounds.contains(&mark))
}

/// A range of positions.
fn positions(range: Range<usize>) -> Range<Pos> {
    range.start as Pos..range.end as Pos
}

/// Puts a coordinate into the segment of a parent: into the gap behind it, or else the segment moves to the end,
/// with as much room as it is long. `None` where the widths of the arrays do not suffice.
pub(super) fn insert(
    site: &Site,
    arrays: &mut Arrays,
    (parent, crd): (Pos, Crd),
    ordered: bool,
) -> Option<Change> {
    let parent = usize::try_from(parent).ok()?;
    let (own, stored) = (segment(arrays, parent)?, &arrays.0[CRD]);
    let (len, mark) = (stored.len(), mark(site, stored)?);
    let before = |at: usize| !ordered || stored.get(at).is_some_and(|here| here < crd);
    let (mut from, mut to) = (own.start, own.end);
    while from < to && ordered {
        let middle = from + (to - from) / 2;
        if before(middle) { from = middle + 1 } else { to = middle }
    }
    let at = if ordered { from } else { own.end };
    let free = own.end < len && stored.get(own.end).is_some_and(|c| !site.bounds().contains(&c));
    // Where the segment stands afterwards, and the places that the array needs more.
    let (start, more) = match (free, own.end == len) {
        (true, _) => (own.start, 0),
        (false, true) => (own.start, own.len().max(LEAST_ROOM)),
        (false, false) => (len, own.len() + own.len().max(LEAST_ROOM)),
    };
    let pos = start + (at - own.start);
    let end = start + own.len() + 1;
    let fits = [crd, mark].iter().all(|&number| stored.kind().holds(number))
        && arrays.0[POS].kind().holds(end as i64)
        && (len + more) as Pos <= site.max_positions;
    if !fits {
        return None;
    }
    let stored = &mut arrays.0[CRD];
    let mut moves = vec![(at..own.end, pos + 1)];
    let mut done = stored.extend(more, mark);
    if start != own.start {
        moves.push((own.start..at, start));
    }
    for (from, to) in &moves {
        done &= stored.move_within(from.clone(), *to);
    }
    done &= stored.set(pos, crd);
    let mut freed = 0..0;
    if start != own.start {
        done &= own.clone().all(|at| stored.set(at, mark));
        freed = own;
    }
    let positions_then = stored.len() as Pos;
    done &= arrays.0[POS].set(2 * parent, start as i64);
    done &= arrays.0[POS].set(2 * parent + 1, end as i64);
    let moves = moves.into_iter().filter(|(from, _)| !from.is_empty());
    let moves = moves.map(|(from, to)| Move { from: positions(from), to: to as Pos }).collect();
    let change =
        Change { pos: pos as Pos, positions: positions_then, moves, freed: positions(freed) };
    done.then_some(change)
}

/// Takes a coordinate out of the segment of a parent. The place behind the segment is free then.
pub(super) fn remove(site: &Site, arrays: &mut Arrays, parent: Pos, pos: Pos) -> Option<Change> {
    let parent = usize::try_from(parent).ok()?;
    let own = segment(arrays, parent)?;
    let at = usize::try_from(pos).ok().filter(|at| own.contains(at))?;
    let stored = &mut arrays.0[CRD];
    let moved = at + 1..own.end;
    let mut done = stored.move_within(moved.clone(), at);
    if let Some(mark) = mark(site, stored) {
        done &= stored.set(own.end - 1, mark);
    }
    let count = stored.len() as Pos;
    done &= arrays.0[POS].set(2 * parent + 1, own.end as i64 - 1);
    let moves = match moved.is_empty() {
        true => Vec::new(),
        false => vec![Move { from: positions(moved), to: pos }],
    };
    let freed = positions(own.end - 1..own.end);
    done.then_some(Change { pos, positions: count, moves, freed })
}
