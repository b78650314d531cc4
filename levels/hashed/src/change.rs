//! Children that are inserted and removed in place.

use std::ops::Range;

use ust_level_api::{Arrays, Change, Crd, Move, Pos, Site};

use super::{CRD, POS, probes};

/// A search for an empty slot that takes so many steps asks how many slots are in use.
const LONG_SEARCH: usize = 128;

/// The slots of a parent.
fn table(arrays: &Arrays, parent: Pos) -> Option<Range<usize>> {
    let bound = |at: u64| usize::try_from(arrays.0[POS].get(usize::try_from(at).ok()?)?).ok();
    Some(bound(parent)?..bound(parent.checked_add(1)?)?)
}

/// Takes an empty slot. `None` if there is none, or if more than three quarters would be in use.
pub(super) fn insert(site: &Site, arrays: &mut Arrays, parent: Pos, crd: Crd) -> Option<Change> {
    let own = table(arrays, parent)?;
    let (slots, mark) = (own.len(), site.bounds().end);
    let stored = &arrays.0[CRD];
    let empty = |slot: usize| stored.get(own.start + slot) == Some(mark);
    let (steps, slot) = probes(slots, crd).enumerate().find(|&(_, slot)| empty(slot))?;
    if steps >= LONG_SEARCH.min(slots / 2) {
        let used = (0..slots).filter(|&slot| !empty(slot)).count();
        if (used + 1).div_ceil(3) > slots / 4 {
            return None;
        }
    }
    let (at, positions) = (own.start + slot, stored.len() as Pos);
    let taken = arrays.0[CRD].set(at, crd);
    taken.then(|| Change { pos: at as Pos, positions, ..Change::default() })
}

/// Empties a slot. The entries behind it move up, where a search for them would end at the empty slot otherwise.
pub(super) fn remove(site: &Site, arrays: &mut Arrays, parent: Pos, pos: Pos) -> Option<Change> {
    let own = table(arrays, parent)?;
    let (slots, mark) = (own.len(), site.bounds().end);
    let crd = &mut arrays.0[CRD];
    let mut empty = usize::try_from(pos).ok().filter(|at| own.contains(at))? - own.start;
    let ring = slots.checked_sub(1)?;
    let mut moves = Vec::new();
    for steps in 1..slots {
        let slot = (pos as usize - own.start + steps) & ring;
        let here = crd.get(own.start + slot)?;
        if here == mark {
            break;
        }
        let first = probes(slots, here).next()?;
        // How far the entry stands behind the slot where a search for it begins, and how far behind the empty one.
        if (slot.wrapping_sub(first) & ring) >= (slot.wrapping_sub(empty) & ring) {
            let (from, to) = (own.start + slot, own.start + empty);
            if !crd.set(to, here) {
                return None;
            }
            moves.push(Move { from: from as Pos..from as Pos + 1, to: to as Pos });
            empty = slot;
        }
    }
    let freed = (own.start + empty) as Pos;
    let emptied = crd.set(own.start + empty, mark);
    let positions = crd.len() as Pos;
    emptied.then_some(Change { pos, positions, moves, freed: freed..freed + 1 })
}
