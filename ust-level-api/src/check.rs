//! Reachable positions, and helpers with which a level checks foreign arrays.

mod sound;

use std::ops::Range;

use crate::error::LevelError;
use crate::ir::parallel;
use crate::{IndexArray, Pos};

/// The positions of a level that can be reached from the root.
///
/// In most levels, all positions are reachable. A level with gaps between its segments lists the
/// reachable ones; the contents of the gaps are then not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Number of positions, reachable or not. The lengths of the next level's arrays follow from
    /// it.
    pub positions: Pos,
    /// The reachable positions as disjoint intervals, or `None` if all are reachable.
    pub intervals: Option<Vec<Range<Pos>>>,
}

impl Reach {
    /// A reach of `positions` positions, all of them reachable.
    #[must_use]
    pub fn all(positions: Pos) -> Self {
        Self { positions, intervals: None }
    }

    /// The reachable intervals, in the order of the parents.
    pub fn intervals(&self) -> impl Iterator<Item = Range<Pos>> + '_ {
        let all = self.intervals.is_none().then_some(0..self.positions);
        all.into_iter().chain(self.intervals.iter().flatten().cloned())
    }

    /// Every reachable position.
    pub fn iter(&self) -> impl Iterator<Item = Pos> + '_ {
        self.intervals().flatten()
    }

    /// The reach of a level in which each parent position has `factor` children.
    ///
    /// # Errors
    /// [`LevelError::Overflow`] if there are more than [`MAX_POSITIONS`].
    pub fn times(&self, factor: u64) -> Result<Self, LevelError> {
        let scale = |n: Pos| {
            n.checked_mul(factor).filter(|&m| m <= MAX_POSITIONS).ok_or_else(|| {
                LevelError::Overflow {
                    what: "the number of positions".to_owned(),
                    detail: format!("{n} parents with {factor} children each"),
                }
            })
        };
        let intervals = self
            .intervals
            .as_ref()
            .map(|intervals| intervals.iter().map(|i| i.start * factor..i.end * factor).collect());
        Ok(Self { positions: scale(self.positions)?, intervals })
    }

    /// The reach of a level in which the children of parent `p` are `pos[p] .. pos[p + 1]`. The array has been
    /// checked: see [`offsets`].
    #[must_use]
    pub fn through(&self, pos: &IndexArray) -> Self {
        let start = |parent: Pos| at(pos, parent as usize) as Pos;
        let intervals = self.intervals.as_ref().map(|intervals| {
            let each = intervals.iter().map(|i| start(i.start)..start(i.end));
            each.filter(|i| !i.is_empty()).collect()
        });
        Self { positions: start(pos.len() as Pos - 1), intervals }
    }
}

/// One number of an array.
///
/// # Panics
/// Beyond the end.
#[must_use]
pub fn at(array: &IndexArray, at: usize) -> i64 {
    array.get(at).expect("the length was checked")
}

/// Checks each reachable position. Parallel. Cost: O(reachable positions).
///
/// # Errors
/// The first error, in the order of the positions.
pub fn each(
    reach: &Reach,
    check: &(dyn Fn(Pos) -> Result<(), LevelError> + Sync),
) -> Result<(), LevelError> {
    reached(reach, &|positions, _| positions.into_iter().try_for_each(check)).map(drop)
}

/// Checks a range of parents, and appends positions.
pub type Checks<'a> =
    dyn Fn(Range<Pos>, &mut Vec<Range<Pos>>) -> Result<(), LevelError> + Sync + 'a;

/// Calls `check` with intervals of reachable parents, which one thread handles together. Gives the positions that it
/// appends, in the order of the parents; those of two calls that are adjacent become one. Parallel.
///
/// # Errors
/// The first error, in the order of the parents.
pub fn reached(parents: &Reach, check: &Checks<'_>) -> Result<Vec<Range<Pos>>, LevelError> {
    let checked = parallel::map_items(parts(parents), |_, part| {
        let mut own = Vec::new();
        part.into_iter().try_for_each(|parents| check(parents, &mut own)).map(|()| own)
    });
    let mut all: Vec<Range<Pos>> = Vec::new();
    for own in checked {
        let mut own = own?.into_iter();
        if let (Some(last), Some(first)) = (all.last_mut(), own.as_slice().first())
            && last.end == first.start
        {
            last.end = first.end;
            own.next();
        }
        all.extend(own);
    }
    Ok(all)
}

/// The largest number of positions that can be addressed.
pub const MAX_POSITIONS: u64 = i64::MAX as u64 / 2;

/// Checks the length of an array.
///
/// # Errors
/// [`LevelError::Length`] unless the length is `expected`. `why` explains that number.
pub fn length(array: &str, found: usize, expected: u64, why: &str) -> Result<(), LevelError> {
    if found as u64 == expected {
        return Ok(());
    }
    Err(LevelError::Length {
        array: array.to_owned(),
        found: found as u64,
        expected: format!("{expected} ({why})"),
    })
}

/// Checks that one element obeys a rule.
///
/// # Errors
/// [`LevelError::Invalid`] if `holds` is false.
pub fn rule(
    holds: bool,
    array: &str,
    index: u64,
    found: i64,
    rule: impl FnOnce() -> String,
) -> Result<(), LevelError> {
    if holds {
        return Ok(());
    }
    Err(LevelError::Invalid { array: array.to_owned(), index, found, rule: rule() })
}

/// The rules for the coordinates under one parent.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Where all coordinates lie.
    pub bounds: Range<i64>,
    /// Whether they do not descend.
    pub ordered: bool,
    /// Whether they are distinct.
    pub unique: bool,
}

/// Appends, for each parent of a range, the positions of its children.
pub type Children<'a> = dyn Fn(Range<Pos>, &mut Vec<Range<Pos>>) + Sync + 'a;

/// Parents whose children are checked together, by one thread.
const PARENTS: u64 = 1 << 12;
/// Coordinates that are read at a time, unless one parent has more.
const READ: u64 = 1 << 14;

/// Checks the coordinates `crd` of all reachable parents, those of an array with this name. `segments` gives the
/// positions of their children, which lie within the array. Parallel. Cost: O(coordinates).
///
/// ```
/// use ust_level_api::check::{self, Reach, Rules};
/// use ust_level_api::{IndexArray, LevelError};
///
/// // The second of two parents has the coordinates 3 and 1.
/// let (pos, crd) = (IndexArray::from(vec![0, 1, 3]), IndexArray::from(vec![2, 3, 1]));
/// let rules = Rules { bounds: 0..5, ordered: true, unique: true };
/// let checked = check::segments("crd", &crd, &Reach::all(2), &rules, &|parents, out| {
///     check::between(&pos, parents, out);
/// });
/// assert!(matches!(checked, Err(LevelError::Invalid { index: 2, found: 1, .. })));
/// ```
///
/// # Errors
/// [`LevelError::Invalid`] with the first coordinate that breaks a rule.
pub fn segments(
    array: &str,
    crd: &IndexArray,
    parents: &Reach,
    rules: &Rules,
    segments: &Children<'_>,
) -> Result<(), LevelError> {
    let checked = parallel::map_items(parts(parents), |_, part| {
        let mut of_part = Vec::new();
        part.into_iter().for_each(|parents| segments(parents, &mut of_part));
        match sound::obey(crd, rules, &of_part) {
            Some(true) => Ok(()),
            _ => in_turn(array, crd, rules, &of_part),
        }
    });
    checked.into_iter().collect()
}

/// Consecutive parts of a reach, each with about [`PARENTS`] parents.
fn parts(parents: &Reach) -> Vec<Vec<Range<Pos>>> {
    let mut parts: Vec<Vec<Range<Pos>>> = Vec::new();
    let mut room = 0;
    for mut interval in parents.intervals() {
        while interval.start < interval.end {
            if room == 0 {
                room = PARENTS;
                parts.push(Vec::new());
            }
            let end = interval.end.min(interval.start + room);
            room -= end - interval.start;
            parts.last_mut().expect("a part was begun").push(interval.start..end);
            interval.start = end;
        }
    }
    parts
}

/// Checks segments one after another. Adjacent ones are read together.
fn in_turn(
    array: &str,
    crd: &IndexArray,
    rules: &Rules,
    segments: &[Range<Pos>],
) -> Result<(), LevelError> {
    let mut read = Vec::new();
    let mut rest = segments;
    while let Some(first) = rest.first() {
        let fits = |pair: &&[Range<Pos>]| {
            pair[0].end == pair[1].start && pair[1].end - first.start <= READ
        };
        let count = 1 + rest.windows(2).take_while(fits).count();
        let (together, others) = rest.split_at(count);
        let lo = first.start;
        read.resize((together[count - 1].end - lo) as usize, 0);
        crd.read(lo as usize, &mut read);
        for segment in together {
            let own = &read[(segment.start - lo) as usize..(segment.end - lo) as usize];
            obeys(array, own, segment.start, rules)?;
        }
        rest = others;
    }
    Ok(())
}

/// Checks the coordinates of one parent, the first of which stands at `first`.
fn obeys(array: &str, crd: &[i64], first: Pos, rules: &Rules) -> Result<(), LevelError> {
    let Rules { bounds, ordered, unique } = rules;
    let mut seen = (*unique && !ordered).then(std::collections::HashSet::new);
    let mut before = None;
    for (at, &found) in (first..).zip(crd) {
        rule(bounds.contains(&found), array, at, found, || {
            format!("a coordinate lies in [{}, {})", bounds.start, bounds.end)
        })?;
        if *ordered && let Some(before) = before {
            let holds = if *unique { before < found } else { before <= found };
            rule(holds, array, at, found, || {
                let order = if *unique { "ascend" } else { "not descend" };
                format!("coordinates under one parent must {order}, and {before} stands before it")
            })?;
        }
        before = Some(found);
        if let Some(seen) = &mut seen {
            rule(seen.insert(found), array, at, found, || {
                "coordinates under one parent are distinct in a unique level".to_owned()
            })?;
        }
    }
    Ok(())
}

/// Checks positions that begin at 0 and do not descend, as `pos` of CSR, and gives the last. Parallel.
/// Cost: O(length).
///
/// # Errors
/// [`LevelError::Invalid`] with the first position that breaks a rule. The array is not empty.
pub fn offsets(array: &str, pos: &IndexArray) -> Result<Pos, LevelError> {
    let (len, block) = (pos.len(), READ as usize);
    let first = at(pos, 0);
    rule(first == 0, array, 0, first, || "positions begin at 0".to_owned())?;
    if sound::ascend(pos) == Some(true) {
        return Ok(at(pos, len - 1) as Pos);
    }
    // Each block has the position before its own.
    let checked = parallel::map(len.div_ceil(block), |number| {
        let from = (number * block).saturating_sub(1);
        let mut read = vec![0; len.min((number + 1) * block) - from];
        pos.read(from, &mut read);
        for (at, pair) in (from as u64 + 1..).zip(read.windows(2)) {
            rule(pair[0] <= pair[1], array, at, pair[1], || {
                format!("positions do not descend, and {} stands before it", pair[0])
            })?;
        }
        Ok(())
    });
    checked.into_iter().collect::<Result<(), LevelError>>()?;
    Ok(at(pos, len - 1) as Pos)
}

/// The intervals between neighbouring positions `pos[parent]`, for a range of parents: for [`segments`].
pub fn between(pos: &IndexArray, parents: Range<Pos>, out: &mut Vec<Range<Pos>>) {
    let mut read = vec![0; (parents.end - parents.start + 1) as usize];
    pos.read(parents.start as usize, &mut read);
    out.extend(read.windows(2).map(|pair| pair[0] as Pos..pair[1] as Pos));
}

/// The segments `pos[2 * parent] .. pos[2 * parent + 1]`, for a range of parents: for [`segments`].
pub fn pairs(pos: &IndexArray, parents: Range<Pos>, out: &mut Vec<Range<Pos>>) {
    let mut read = vec![0; 2 * (parents.end - parents.start) as usize];
    pos.read(2 * parents.start as usize, &mut read);
    out.extend(read.chunks_exact(2).map(|pair| pair[0] as Pos..pair[1] as Pos));
}

/// Checks the segments `pos[2 * parent] .. pos[2 * parent + 1]` of all reachable parents: each lies
/// within `crd`, which has `len` elements, and no two overlap. Gives the reach of their positions.
/// Parallel. Cost: O(parents), and sorting the segments where they do not ascend.
///
/// # Errors
/// [`LevelError::Invalid`] with the first position that breaks a rule. The array has two elements
/// for each parent.
pub fn apart(
    array: &str,
    pos: &IndexArray,
    parents: &Reach,
    len: u64,
) -> Result<Reach, LevelError> {
    let checked = parallel::map_items(parts(parents), |_, part| {
        let mut own = Vec::new();
        for parents in part {
            let mut read = vec![0; 2 * (parents.end - parents.start) as usize];
            pos.read(2 * parents.start as usize, &mut read);
            for (parent, pair) in parents.zip(read.chunks_exact(2)) {
                let at = 2 * parent;
                let segment = within(array, at, pair[0], pair[1], len)?;
                append(&mut own, (segment, at));
            }
        }
        Ok::<_, LevelError>(own)
    });
    let mut all: Vec<(Range<Pos>, u64)> = Vec::new();
    for own in checked {
        own?.into_iter().for_each(|segment| append(&mut all, segment));
    }
    let ascend = all.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start);
    if !ascend {
        let mut sorted = all.clone();
        sorted.sort_unstable_by_key(|(segment, at)| (segment.start, *at));
        for pair in sorted.windows(2) {
            let (before, (after, at)) = (&pair[0].0, &pair[1]);
            rule(before.end <= after.start, array, *at, after.start as i64, || {
                let Range { start, end } = before;
                format!("segments do not overlap, and {start}..{end} belongs to others")
            })?;
        }
    }
    let intervals: Vec<Range<Pos>> = all.into_iter().map(|(segment, _)| segment).collect();
    let whole = matches!(&intervals[..], [only] if *only == (0..len));
    Ok(Reach { positions: len, intervals: (!whole).then_some(intervals) })
}

/// The segment `lo .. hi`, which two elements of an array from `at` on give.
fn within(array: &str, at: u64, lo: i64, hi: i64, len: u64) -> Result<Range<Pos>, LevelError> {
    let is_position = |position: i64| u64::try_from(position).is_ok_and(|p| p <= len);
    rule(is_position(lo), array, at, lo, || {
        format!("a segment begins within crd, which has {len} elements")
    })?;
    rule(lo <= hi && is_position(hi), array, at + 1, hi, || {
        format!("a segment that begins at {lo} ends at or after it, and by {len}")
    })?;
    Ok(lo as Pos..hi as Pos)
}

/// Appends a segment, and the index where it is given: to the last one, where it is adjacent.
fn append(all: &mut Vec<(Range<Pos>, u64)>, (segment, at): (Range<Pos>, u64)) {
    match all.last_mut() {
        _ if segment.is_empty() => {}
        Some((last, _)) if last.end == segment.start => last.end = segment.end,
        _ => all.push((segment, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { bounds: 0..10, ordered: true, unique: true };

    fn found(crd: &[i64], pos: &[i64], parents: &Reach) -> Result<(), LevelError> {
        let store = |indices| IndexArray::store(crate::IndexKind::I32, indices, "", "").unwrap();
        let (crd, pos) = (store(crd), store(pos));
        offsets("pos", &pos)?;
        segments("crd", &crd, parents, &RULES, &|parents, out| between(&pos, parents, out))
    }

    #[test]
    fn the_first_wrong_index_is_told() {
        // Many parents, so that several threads look.
        let parents = 5 * PARENTS + 5;
        let pos: Vec<i64> = (0..=parents as i64).map(|at| at * 2).collect();
        let crd: Vec<i64> = (0..parents as i64 * 2).map(|at| at % 2 * 4).collect();
        let all = Reach::all(parents);
        assert_eq!(found(&crd, &pos, &all), Ok(()));
        let at = |error: Result<(), LevelError>| match error {
            Err(LevelError::Invalid { array, index, found, .. }) => (array, index, found),
            other => panic!("{other:?}"),
        };
        let (first, second) = (2 * PARENTS as usize + 7, 4 * PARENTS as usize + 1);
        for (wrong, value) in [(first, 12), (first, 0), (first, -1), (0, 10)] {
            let mut crd = crd.clone();
            (crd[second], crd[wrong]) = (77, value);
            let told = at(found(&crd, &pos, &all));
            assert_eq!(told, ("crd".to_owned(), wrong as u64, value));
        }
        for wrong in [1, READ as usize, READ as usize - 1, pos.len() - 1] {
            let mut pos = pos.clone();
            pos[wrong] = -3;
            assert_eq!(at(found(&crd, &pos, &all)), ("pos".to_owned(), wrong as u64, -3));
        }
        // What no parent reaches may hold anything.
        let mut crd = crd;
        crd[first] = 12;
        let (before, after) = (0..PARENTS + 3, PARENTS + 4..parents);
        let around = Reach { positions: parents, intervals: Some(vec![before, after]) };
        assert_eq!(found(&crd, &pos, &around), Ok(()));
    }

    #[test]
    fn segments_in_any_order_lie_apart() {
        let parents = 3 * PARENTS + 5;
        let len = parents * 3;
        let store = |pairs: Vec<u64>| IndexArray::from(pairs);
        let pair = |at: u64, gap: u64| [at * 3, at * 3 + 3 - gap];
        let of =
            |pairs: &[u64], parents: &Reach| apart("pos", &store(pairs.to_vec()), parents, len);
        let all = Reach::all(parents);

        // Side by side: everything is in reach. With gaps: what the segments say.
        let tight: Vec<u64> = (0..parents).flat_map(|at| pair(at, 0)).collect();
        assert_eq!(of(&tight, &all), Ok(Reach::all(len)));
        let loose: Vec<u64> = (0..parents).flat_map(|at| pair(at, 1)).collect();
        let reach = of(&loose, &all).unwrap();
        assert!(reach.intervals().eq((0..parents).map(|at| at * 3..at * 3 + 2)));
        // In the order of the parents, adjacent ones as one, without empty ones.
        let turned: Vec<u64> = (0..parents).rev().flat_map(|at| pair(at, 1)).collect();
        let reach = of(&turned, &all).unwrap();
        assert!(reach.intervals().eq((0..parents).rev().map(|at| at * 3..at * 3 + 2)));
        let some = Reach { positions: parents, intervals: Some(vec![7..9, 20..21]) };
        let reach = of(&tight, &some).unwrap();
        assert_eq!(reach.intervals, Some(vec![21..27, 60..63]));
        let empty = vec![5; 2 * parents as usize];
        assert_eq!(of(&empty, &all).unwrap().intervals, Some(vec![]));

        // In the first part, at its border and in another; as a segment begins, and as it ends.
        let part = PARENTS as usize;
        for base in [&tight, &loose, &turned] {
            for parent in [1, part - 1, part, 2 * part + 7] {
                let (first, last) = (2 * parent, 2 * parent + 1);
                for (at, value, told) in [
                    (first, len + 1, first),
                    (last, len + 1, last),
                    (last, u64::MAX, last),
                    (last, base[first] - 1, last),
                ] {
                    let mut pairs = base.clone();
                    pairs[at] = value;
                    let error = of(&pairs, &all).unwrap_err();
                    let LevelError::Invalid { index, .. } = &error else { panic!("{error}") };
                    assert_eq!(*index, told as u64, "{error}");
                }
                // The segment of another parent.
                let mut pairs = base.clone();
                pairs.copy_within(0..2, first);
                let error = of(&pairs, &all).unwrap_err().to_string();
                assert!(error.contains("do not overlap"), "{error}");
            }
        }
        // What no parent reaches may hold anything.
        let mut pairs = tight.clone();
        pairs[2 * 30] = u64::MAX;
        assert!(of(&pairs, &some).is_ok() && of(&pairs, &all).is_err());
    }

    proptest::proptest! {
        /// Both looks agree: that at words as they are stored, and that at one coordinate after another.
        #[test]
        fn both_looks_agree(
            crd in proptest::collection::vec(-1_i64..12, 0..40),
            mut cuts in proptest::collection::vec(0_usize..=40, 0..6),
            sorted in 0_usize..3,
            (ordered, unique, far) in proptest::prelude::any::<(bool, bool, bool)>(),
        ) {
            cuts.iter_mut().for_each(|cut| *cut = (*cut).min(crd.len()));
            cuts.sort_unstable();
            let mut crd = crd;
            let parts: Vec<Range<Pos>> =
                cuts.windows(2).map(|pair| pair[0] as Pos..pair[1] as Pos).collect();
            for part in parts.iter().take(parts.len() * (2 - sorted) / 2) {
                crd[part.start as usize..part.end as usize].sort_unstable();
            }
            // So many coordinates that there is no bit for each.
            let rules = Rules { bounds: 0..if far { 1 << 40 } else { 10 }, ordered, unique };
            let holds = in_turn("crd", &IndexArray::from(crd.clone()), &rules, &parts).is_ok();
            for kind in [crate::IndexKind::I8, crate::IndexKind::I32, crate::IndexKind::I64] {
                let crd = IndexArray::store(kind, &crd, "", "").unwrap();
                proptest::prop_assert_eq!(sound::obey(&crd, &rules, &parts), Some(holds));
            }
        }
    }

    /// Coordinates whose low bits are equal, and long segments, are told apart by other means.
    #[test]
    fn distinct_coordinates_are_told_from_repeated_ones() {
        let rules = Rules { bounds: 0..1 << 30, ordered: false, unique: true };
        for len in [2, 31, 32, 33, 1000, 1 << 17] {
            let far: Vec<i64> = (0..len).map(|at| (len - at) << 13 & ((1 << 30) - 1)).collect();
            let near: Vec<i64> = (0..len).rev().collect();
            for crd in [far, near] {
                let is_fine = |crd: &[i64]| {
                    let all = |_, out: &mut Vec<Range<Pos>>| out.push(0..len as u64);
                    segments("crd", &crd.to_vec().into(), &Reach::all(1), &rules, &all).is_ok()
                };
                let repeats = len > 1 << 17 && crd[0] == crd[1 << 17];
                assert_eq!(is_fine(&crd), !repeats);
                let mut twice = crd.clone();
                twice[len as usize - 1] = twice[0];
                assert!(!is_fine(&twice));
            }
        }
    }

    /// Many parents with the same coordinates, in no order.
    #[test]
    fn parents_do_not_disturb_each_other() {
        let (parents, each) = (1000, 4);
        let rules = Rules { bounds: 0..each, ordered: false, unique: true };
        let crd: Vec<i64> = (0..parents * each).map(|at| each - 1 - at % each).collect();
        let pos: IndexArray = (0..=parents).map(|parent| parent * each).collect::<Vec<_>>().into();
        let is_fine = |crd: &[i64]| {
            let all = Reach::all(parents as u64);
            let own = |parents, out: &mut Vec<Range<Pos>>| between(&pos, parents, out);
            segments("crd", &crd.to_vec().into(), &all, &rules, &own).is_ok()
        };
        assert!(is_fine(&crd));
        for parent in [0, 1, 254, 255, 256, 511, 999] {
            let mut crd = crd.clone();
            crd[parent * each as usize + 3] = 3;
            assert!(!is_fine(&crd));
        }
    }

    #[test]
    fn one_parent_may_have_many_children() {
        let many = 3 * READ as i64;
        let rules = Rules { bounds: 0..many, ..RULES };
        let crd: IndexArray = (0..many as u32).collect::<Vec<_>>().into();
        let one = Reach::all(1);
        let all = |_, out: &mut Vec<Range<Pos>>| out.push(0..many as u64);
        assert_eq!(segments("crd", &crd, &one, &rules, &all), Ok(()));
        let narrow = Rules { bounds: 0..many - 1, ..RULES };
        assert!(segments("crd", &crd, &one, &narrow, &all).is_err());
    }
}
