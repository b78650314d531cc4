//! Levels that list their children are compared with their claims without a walk.
//!
//! What a walk reads of such a level, and in which order, is known: its [`Shape`] is read off the loops that it emits,
//! as for kernels. So its arrays are looked at as they are stored, by several threads. Nothing here tells what is wrong:
//! where anything may be, the walk looks again, and tells.

use std::ops::Range;

use ust_format::Format;
use ust_level_api::check::{Reach, Rules};
use ust_level_api::check::{at, between, offsets, segments};
use ust_level_api::ir::parallel;
use ust_level_api::{IndexArray, Pos, with_indices};

use crate::storage::Tensor;
use crate::walk::shape::{Children, Shape, follows_formula, listed_with_gaps};

/// The number of children of the last level that is not full, or 1, if levels down to that one are full, or list their
/// children, and keep their claims for sure. The lengths of arrays are as described.
pub(super) fn children(tensor: &Tensor, reached: &[Reach]) -> Option<usize> {
    let mut parents = 1;
    let mut children = 1;
    for (level, reach) in reached[..tensor.format().tail()].iter().enumerate() {
        // The walk above visited all of them; and nobody walks below the last level.
        let is_last = level + 1 == tensor.format().tail();
        if (reach.intervals.is_some() && !is_last) || children != parents {
            return None;
        }
        children = children_of(tensor, level, parents, reach.positions)?;
        parents = reach.positions;
    }
    usize::try_from(children).ok()
}

/// The number of children of a level with so many parents and positions.
fn children_of(tensor: &Tensor, level: usize, parents: u64, positions: u64) -> Option<u64> {
    let (format, domain) = (tensor.format(), tensor.bound.levels()[level]);
    let (props, arrays) = (format.descriptions()[level].props, &tensor.levels()[level].0);
    let (children, crd) = match Shape::of(format, level) {
        Shape::Full => {
            let all = parents.checked_mul(domain.size).filter(|&all| all == positions)?;
            return (!props.branchless && follows_formula(format, level)).then_some(all);
        }
        Shape::Listed { crd, children } => (children, &arrays[crd]),
        Shape::Other => match listed_with_gaps(format, level)? {
            (crd, Children::Segment(pos)) => {
                return with_gaps(
                    tensor,
                    level,
                    [&arrays[pos], &arrays[crd]],
                    [parents, positions],
                );
            }
            _ => return None,
        },
    };
    let bounds = domain.lower..domain.lower.saturating_add_unsigned(domain.size);
    let rules = Rules { bounds, ordered: props.ordered, unique: props.unique };
    let all = Reach::all(parents);
    let (count, obeyed) = match children {
        Children::Segment(pos) => {
            let pos = &arrays[pos];
            let last = usize::try_from(parents).ok().filter(|&last| last < pos.len())?;
            offsets("", pos).ok()?;
            let count = at(pos, last) as u64;
            is_within(crd, count, positions)?;
            let own = |parents, out: &mut Vec<_>| between(pos, parents, out);
            (count, segments("", crd, &all, &rules, &own))
        }
        Children::Fixed(number) => {
            let count = parents.checked_mul(number)?;
            is_within(crd, count, positions)?;
            // No other child stands beside a single one.
            let single = Rules { ordered: false, unique: false, ..rules.clone() };
            let own = |parents: Range<Pos>, out: &mut Vec<_>| match number {
                1 => out.push(parents),
                _ => out.extend(parents.map(|parent| parent * number..(parent + 1) * number)),
            };
            (count, segments("", crd, &all, if number == 1 { &single } else { &rules }, &own))
        }
        _ => return None,
    };
    let branchless = !props.branchless || children == Children::Fixed(1);
    let compact = !props.compact || count == positions;
    (obeyed.is_ok() && branchless && compact).then_some(count)
}

/// As [`children_of`], for a level that lists its children among empty places: those whose coordinate lies beyond the
/// level. Children without them are compared as those of other levels, some parents at a time.
fn with_gaps(
    tensor: &Tensor,
    level: usize,
    [pos, crd]: [&IndexArray; 2],
    [parents, positions]: [u64; 2],
) -> Option<u64> {
    let (props, domain) =
        (tensor.format().descriptions()[level].props, tensor.bound.levels()[level]);
    let last = usize::try_from(parents).ok().filter(|&last| last < pos.len())?;
    if props.branchless || props.compact || offsets("", pos).is_err() {
        return None;
    }
    is_within(crd, at(pos, last) as u64, positions)?;
    let bounds = domain.lower..domain.lower.saturating_add_unsigned(domain.size);
    let rules = Rules { bounds, ordered: props.ordered, unique: props.unique };
    let count = |block: usize| {
        let some = (block * BLOCK) as u64..parents.min((block as u64 + 1) * BLOCK as u64);
        let (mut places, mut read) = (Vec::new(), Vec::new());
        between(pos, some, &mut places);
        let (mut kept, mut own) = (Vec::new(), Vec::new());
        for place in places {
            let from = kept.len() as Pos;
            read.resize((place.end - place.start) as usize, 0);
            crd.read(place.start as usize, &mut read);
            kept.extend(read.iter().copied().filter(|&crd| crd < rules.bounds.end));
            own.push(from..kept.len() as Pos);
        }
        let (count, all) = (kept.len() as u64, Reach::all(own.len() as u64));
        let of = |some: Range<Pos>, out: &mut Vec<_>| {
            out.extend_from_slice(&own[some.start as usize..some.end as usize]);
        };
        segments("", &kept.into(), &all, &rules, &of).ok().map(|()| count)
    };
    parallel::map(last.div_ceil(BLOCK), count).into_iter().sum()
}

/// Whether so many children have a position, and each position a coordinate.
fn is_within(crd: &IndexArray, children: u64, positions: u64) -> Option<()> {
    (children <= positions && positions <= crd.len() as u64).then_some(())
}

/// Positions that one thread compares at a time.
const BLOCK: usize = 1 << 12;

/// Whether the children of a level that repeats coordinates, together with those of the levels below it, ascend for
/// sure under each parent, as those of COO do. Each level was compared with its claims.
pub(super) fn ascend(tensor: &Tensor) -> bool {
    together(tensor).is_some_and(|(pos, crd)| {
        let unique = tensor.format().is_unique();
        breaks_within(&crd, unique) == breaks_between(pos, &crd, unique)
    })
}

/// The positions of a level that repeats coordinates, and the coordinates of that level and those below, each of which
/// has one child under each parent.
fn together(tensor: &Tensor) -> Option<(&IndexArray, Vec<&IndexArray>)> {
    let format: &Format = tensor.format();
    let tail = format.tail();
    let props = |level: usize| format.descriptions()[level].props;
    let empty = tensor.bound.levels()[tail..].iter().any(|level| level.size == 0);
    let ordered = (0..tail).all(|level| props(level).ordered);
    if empty || !ordered || props(tail - 1).padded {
        return None;
    }
    let first = (0..tail).find(|&level| !props(level).unique)?;
    let arrays = |level: usize| &tensor.levels()[level].0;
    let Shape::Listed { crd, children: Children::Segment(pos) } = Shape::of(format, first) else {
        return None;
    };
    let mut all = vec![&arrays(first)[crd]];
    for level in first + 1..tail {
        match Shape::of(format, level) {
            Shape::Listed { crd, children: Children::Fixed(1) } => all.push(&arrays(level)[crd]),
            _ => return None,
        }
    }
    let pos = &arrays(first)[pos];
    // The lengths are those that their description says.
    all.iter().all(|crd| crd.len() == all[0].len()).then_some((pos, all))
}

/// How many of all children do not stand behind the one before them.
fn breaks_within(crd: &[&IndexArray], unique: bool) -> u64 {
    let pairs = crd[0].len().saturating_sub(1);
    let count = |block: usize| {
        let (from, count) = (block * BLOCK, BLOCK.min(pairs - block * BLOCK));
        let (mut same, mut breaks) = ([1; BLOCK], [0; BLOCK]);
        let (same, breaks) = (&mut same[..count], &mut breaks[..count]);
        for crd in crd {
            with_indices!(crd, words => compare(&words[from..=from + count], same, breaks), packed(_two) => {
                let mut read = [0; BLOCK + 1];
                crd.read(from, &mut read[..=count]);
                compare(&read[..=count], same, breaks);
            });
        }
        let repeats = u64::from(unique) * same.iter().map(|&same| u64::from(same)).sum::<u64>();
        repeats + breaks.iter().map(|&breaks| u64::from(breaks)).sum::<u64>()
    };
    parallel::map(pairs.div_ceil(BLOCK), count).into_iter().sum()
}

/// Compares neighbouring words that are the `same` so far: 1 where they still are, and where the first is larger.
fn compare<T: Copy + PartialOrd>(words: &[T], same: &mut [u8], breaks: &mut [u8]) {
    let pairs = words.iter().zip(&words[1..]).zip(same).zip(breaks);
    pairs.for_each(|(((a, b), same), breaks)| {
        *breaks |= *same & u8::from(a > b);
        *same &= u8::from(a == b);
    });
}

/// How many of these belong to different parents.
fn breaks_between(pos: &IndexArray, crd: &[&IndexArray], unique: bool) -> u64 {
    let count = |block: usize| {
        let from = block * BLOCK;
        let mut read = [0; BLOCK + 1];
        let read = &mut read[..pos.len().min(from + BLOCK + 1) - from];
        pos.read(from, read);
        let starts = read.windows(2).filter(|pair| pair[0] < pair[1]).map(|pair| pair[0] as usize);
        let breaks = |&start: &usize| {
            let pairs = crd.iter().map(|crd| (at(crd, start - 1), at(crd, start)));
            let order = pairs.map(|(a, b)| a.cmp(&b)).find(|order| order.is_ne());
            order.map_or(unique, std::cmp::Ordering::is_gt)
        };
        starts.filter(|&start| start > 0).filter(breaks).count() as u64
    };
    parallel::map(pos.len().saturating_sub(1).div_ceil(BLOCK), count).into_iter().sum()
}
