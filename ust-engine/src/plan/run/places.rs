//! Where rows go that threads collect: those of each part of the outermost loop behind those of the
//! part before.
//!
//! A thread collects the rows of a small part in memory that stays in its caches, and moves them to
//! their place as soon as it is known how many rows there are before: they go to memory once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use ust_level_api::assemble::fill;
use ust_level_api::ir::interp::{Growable, Memory};
use ust_level_api::{Buffer, IndexColumn};

use crate::plan::collect::Part;

/// What is inside, also after somebody panicked: nothing in here is half done then.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    pub(super) fn put(&self, at: usize, part: &mut Part) -> bool {
        let place = locked(&self.state).places.get_mut(at).and_then(Option::take);
        let Some(mut place) = place else { return false };
        for (to, from) in place.iter_mut().zip(part.memory()) {
            to.copy_from(&from.memory(), self.around)
                .expect("loops append rows that there is room for");
        }
        true
    }
}

/// For each round of the outermost loop, its first row; and at the end, how many rows there are.
pub(super) enum Starts {
    /// Where there cannot be more.
    U32(Buffer<u32>),
    I64(Buffer<i64>),
}

/// Those of a part of the loop.
pub(super) enum StartsOf<'a> {
    U32(&'a mut [u32]),
    I64(&'a mut [i64]),
}

impl Starts {
    /// Of so many rounds, and `most` rows.
    pub(super) fn new(rounds: usize, most: usize) -> Self {
        match u32::try_from(most) {
            Ok(_) => Self::U32(Buffer::unspecified(rounds + 1)),
            Err(_) => Self::I64(Buffer::unspecified(rounds + 1)),
        }
    }

    /// Those of parts of the loop that follow each other, of so many rounds each.
    pub(super) fn split(&mut self, rounds: impl Iterator<Item = usize>) -> Vec<StartsOf<'_>> {
        fn cut<T>(mut rest: &mut [T], rounds: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
            rounds.map(|rounds| rest.split_off_mut(..rounds).unwrap_or_default()).collect()
        }
        match self {
            Self::U32(all) => cut(all.make_mut(), rounds).into_iter().map(StartsOf::U32).collect(),
            Self::I64(all) => cut(all.make_mut(), rounds).into_iter().map(StartsOf::I64).collect(),
        }
    }

    /// The round of each of so many rows, once those of all parts are set, of so many rounds. Others, and
    /// the end, are behind all rows.
    pub(super) fn column(self, rows: usize, set: usize) -> IndexColumn {
        match self {
            Self::U32(mut starts) => {
                starts.make_mut()[set..].fill(rows as u32);
                IndexColumn::Runs(starts)
            }
            Self::I64(mut starts) => {
                starts.make_mut()[set..].fill(rows as i64);
                if u32::try_from(rows).is_ok() {
                    return IndexColumn::Runs(fill(starts.len(), |at| starts[at] as u32));
                }
                let each = starts.windows(2).enumerate();
                let each =
                    each.flat_map(|(round, run)| (run[0]..run[1]).map(move |_| round as i64));
                each.collect::<Vec<i64>>().into()
            }
        }
    }
}

impl StartsOf<'_> {
    /// How many rounds there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::U32(starts) => starts.len(),
            Self::I64(starts) => starts.len(),
        }
    }

    /// Sets them to so many more.
    pub(super) fn set(&mut self, rows: &[i64], more: usize) {
        match self {
            Self::U32(starts) => {
                let more = more as u32;
                starts.iter_mut().zip(rows).for_each(|(to, &row)| *to = more + row as u32);
            }
            Self::I64(starts) => {
                let more = more as i64;
                starts.iter_mut().zip(rows).for_each(|(to, &row)| *to = more + row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ust_level_api::IndexKind;
    use ust_level_api::ir::interp::GrowValues;

    use super::*;
    use crate::plan::collect::{GrowColumn, Limited, Part};

    fn part(rows: &[u32], block: usize) -> Part {
        let mut column = GrowColumn::new(IndexKind::U32, 100);
        assert!(column.memory().reserve(rows.len()));
        if let GrowColumn::U32(column) = &mut column {
            column.inner_mut().as_mut_slice()[..rows.len()].copy_from_slice(rows);
        }
        let values = rows.iter().flat_map(|&row| vec![f64::from(row); block]).collect::<Vec<_>>();
        let values = Limited::new(GrowValues::from(values), 100);
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
            let rows =
                [all, want].map(|part| crate::plan::collect::rows_of(vec![part], block, None));
            assert_eq!(rows[0].columns, rows[1].columns);
            assert_eq!(rows[0].values, rows[1].values);
        }
    }

    #[test]
    fn starts_of_all_parts() {
        for most in [1 << 20, 1 << 40] {
            let mut starts = Starts::new(5, most);
            let mut of = starts.split([2, 0, 3].into_iter());
            of[2].set(&[0, 1, 1], 4);
            of[0].set(&[0, 4], 0);
            drop(of);
            let runs: Vec<u32> = vec![0, 4, 4, 5, 5, 7];
            assert_eq!(starts.column(7, 5), IndexColumn::Runs(runs.into()));
        }
    }
}
