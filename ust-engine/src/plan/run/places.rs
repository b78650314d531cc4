//! The places of rows that threads collect: the rows of each part of the outermost loop stand after those
//! of the previous part.
//!
//! A thread collects the rows of a small part in memory that stays in its caches. It moves them to their
//! place when the number of rows of all earlier parts is known. So rows are written to main memory once.

use std::sync::Mutex;

use smallvec::SmallVec;
use ust_kernels::pool::locked;
use ust_level_api::ir::interp::{Growable, Memory};

use super::starts::StartsOf;
use crate::plan::collect::Part;
use crate::tuning::ROWS_STREAM_BYTES;

/// The places of the rows of all parts.
pub(super) struct Places<'a> {
    state: Mutex<State<'a>>,
    /// Whether rows are written around the caches, since these do not hold them.
    around: bool,
}

struct State<'a> {
    /// Number of rows of each part that is collected.
    rows: Vec<Option<usize>>,
    /// Running sums of `rows`, up to the first part that is not collected.
    before: Vec<usize>,
    /// The places of the parts that `before` covers, if there is room for them.
    places: Vec<Option<Place<'a>>>,
    /// The memory after these places.
    rest: Place<'a>,
    /// Whether a part did not fit. No later part has a place then.
    full: bool,
    /// Elements of a row in each column, and in the values.
    widths: SmallVec<[usize; 4]>,
}

/// The memory for some rows: a slice of each column, and of the values.
type Place<'a> = SmallVec<[Memory<'a>; 4]>;

impl<'a> Places<'a> {
    /// The places of a number of parts, whose rows have about `bytes` bytes together.
    pub(super) fn new(all: &'a mut Part, block: usize, parts: usize, bytes: usize) -> Self {
        let rest: Place<'a> = all.memory().map(Growable::memory).collect();
        let width = |memory: &Memory<'_>| match memory {
            Memory::ValuesMut(_) => block,
            _ => 1,
        };
        let widths = rest.iter().map(width).collect();
        let (rows, places) = (vec![None; parts], Vec::with_capacity(parts));
        let full = false;
        let around = bytes >= ROWS_STREAM_BYTES;
        Self {
            state: Mutex::new(State { rows, before: vec![0], places, rest, full, widths }),
            around,
        }
    }

    /// Sets the number of rows of a part.
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

    /// Number of rows before a part, if it is known.
    pub(super) fn before(&self, part: usize) -> Option<usize> {
        locked(&self.state).before.get(part).copied()
    }

    /// Moves the rows of a part to their place. Returns false if the place is not known or has no room.
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

/// A collected part.
pub(super) struct Found<'a> {
    pub(super) at: usize,
    pub(super) part: Part,
    /// For each of its iterations, the number of the first row, within the part.
    pub(super) rows: Vec<i64>,
    /// The slice of all first rows for its iterations, until they are written there.
    pub(super) starts: Option<StartsOf<'a>>,
}

impl Found<'_> {
    /// Moves the part to its place. Returns false if the place is not known or has no room.
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
            let places = Places::new(&mut all, block, 4, [0, ROWS_STREAM_BYTES][block / 3]);
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
