//! Where rows go that threads collect: those of each part of the outermost loop behind those of the
//! part before.
//!
//! A thread collects the rows of a small part in memory that stays in its caches, and moves them to
//! their place as soon as it is known how many rows there are before: they go to memory once.

use std::sync::Mutex;

use smallvec::SmallVec;
use ust_kernels::pool::locked;
use ust_level_api::ir::interp::{Growable, Memory};

use super::starts::StartsOf;
use crate::plan::collect::Part;

/// The places of all rows: of each part, those behind the part before.
pub(super) struct Places<'a> {
    state: Mutex<State<'a>>,
    /// Whether there is more than caches hold.
    around: bool,
}

/// Rows of so many bytes, in all, leave the caches before they are read.
const MUCH: usize = 8 << 20;

struct State<'a> {
    /// How many rows each part has, as far as known.
    rows: Vec<Option<usize>>,
    /// Rows before each of the first parts, and behind the last of these.
    before: Vec<usize>,
    /// The places of these parts, as far as there is room.
    places: Vec<Option<Place<'a>>>,
    rest: Place<'a>,
    /// Whether there was no room for one: nothing behind it has a place.
    full: bool,
    /// Elements of a row in each column, and of its values.
    widths: SmallVec<[usize; 4]>,
}

/// For each column and the values, where rows go.
type Place<'a> = SmallVec<[Memory<'a>; 4]>;

impl<'a> Places<'a> {
    /// Those of so many parts, whose rows take about so many bytes in all.
    pub(super) fn new(all: &'a mut Part, block: usize, parts: usize, bytes: usize) -> Self {
        let rest: Place<'a> = all.memory().map(Growable::memory).collect();
        let width = |memory: &Memory<'_>| match memory {
            Memory::ValuesMut(_) => block,
            _ => 1,
        };
        let widths = rest.iter().map(width).collect();
        let (rows, places) = (vec![None; parts], Vec::with_capacity(parts));
        let full = false;
        let around = bytes >= MUCH;
        Self {
            state: Mutex::new(State { rows, before: vec![0], places, rest, full, widths }),
            around,
        }
    }

    /// Says how many rows a part has.
    pub(super) fn count(&self, part: usize, rows: usize) {
        let State { rows: all, before, places, rest, full, widths } = &mut *locked(&self.state);
        all[part] = Some(rows);
        while let Some(&Some(rows)) = all.get(before.len() - 1) {
            before.push(before[before.len() - 1] + rows);
            let mut columns = rest.iter().zip(&*widths);
            *full |= !columns.all(|(rest, width)| rest.len() / (*width).max(1) >= rows);
            let cut =
                rest.iter_mut().zip(&*widths).map(|(rest, width)| rest.split_off(rows * width));
            places.push(if *full { None } else { cut.collect() });
        }
    }

    /// How many rows there are before a part, once that is known.
    pub(super) fn before(&self, part: usize) -> Option<usize> {
        locked(&self.state).before.get(part).copied()
    }

    /// Moves the rows of a part to their place. Says no where it is not known, or where there is no
    /// room for them.
    fn put(&self, at: usize, part: &mut Part) -> bool {
        let place = locked(&self.state).places.get_mut(at).and_then(Option::take);
        let Some(mut place) = place else { return false };
        for (to, from) in place.iter_mut().zip(part.memory()) {
            to.copy_from(&from.memory(), self.around)
                .expect("loops append rows that there is room for");
        }
        true
    }
}

/// A part that was collected, by number.
pub(super) struct Found<'a> {
    pub(super) at: usize,
    pub(super) part: Part,
    /// For each of its rounds, its first row.
    pub(super) rows: Vec<i64>,
    /// Where it is to be told where its rounds begin, until that was done.
    pub(super) starts: Option<StartsOf<'a>>,
}

impl Found<'_> {
    /// Moves it to its place. Says no where that is not known, or where there is no room.
    pub(super) fn put(&mut self, places: &Places<'_>) -> bool {
        let Some(before) = places.before(self.at) else { return false };
        if let Some(mut starts) = self.starts.take() {
            starts.set(&self.rows, before);
        }
        places.put(self.at, &mut self.part)
    }
}

#[cfg(test)]
mod tests {
    use ust_level_api::IndexKind;
    use ust_level_api::ir::interp::GrowValues;

    use std::sync::Arc;

    use super::*;
    use crate::plan::collect::{GrowColumn, Limited, Part, Room};
    use crate::storage::memory::Budget;

    fn part(rows: &[u32], block: usize) -> Part {
        let room = Room::new(&Arc::new(Budget::new(1 << 20)), 4 + 8 * block);
        let mut column = GrowColumn::new(IndexKind::U32, &room);
        assert!(column.memory().reserve(rows.len()));
        if let GrowColumn::U32(column) = &mut column {
            column.inner_mut().as_mut_slice()[..rows.len()].copy_from_slice(rows);
        }
        let values = rows.iter().flat_map(|&row| vec![f64::from(row); block]).collect::<Vec<_>>();
        let values = Limited::new(GrowValues::from(values), block, &room);
        Part { columns: vec![column], values, rows: rows.len() }
    }

    #[test]
    fn parts_stand_in_order_whichever_is_first() {
        for block in [1, 3] {
            let mut parts = [part(&[5, 6], block), part(&[], block), part(&[7], block)];
            let mut more = part(&[8, 9], block);
            let mut all = part(&[0; 4], block);
            let places = Places::new(&mut all, block, 4, [0, MUCH][block / 3]);
            assert_eq!((places.before(0), places.before(1)), (Some(0), None));
            assert!(!places.put(0, &mut parts[0]));
            places.count(2, 1);
            places.count(0, 2);
            assert!(places.put(0, &mut parts[0]) && !places.put(2, &mut parts[2]));
            places.count(1, 0);
            places.count(3, 2);
            let before = [0, 1, 2, 3, 4].map(|at| places.before(at));
            assert_eq!(before, [0, 2, 2, 3, 5].map(Some));
            assert!([2, 1].into_iter().all(|at| places.put(at, &mut parts[at])));
            assert!(!places.put(3, &mut more), "there is no room");
            drop(places);
            all.rows = 3;
            let want = part(&[5, 6, 7], block);
            let rows = [all, want]
                .map(|part| crate::plan::collect::rows_of(vec![part], block, None).unwrap());
            assert_eq!(rows[0].columns, rows[1].columns);
            assert_eq!(rows[0].values, rows[1].values);
        }
    }
}
