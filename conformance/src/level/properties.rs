//! What must hold of every level.

use std::collections::{BTreeMap, BTreeSet};

use ust_level_api::index::WidthError;
use ust_level_api::{
    ArraySpec, Arrays, Crd, Entries, LevelError, LocateCost, Pos, Reach, Role, Site, WalkKind,
};

use super::machine::{Machine, Visit};
use super::refuse::{is_as_claimed, ordered};
use super::{Built, entries, has_limits};
use crate::report::{Trouble, Verdict, ensure, wrong};
use crate::samples::{Needs, Sample};

/// Arrays are as described, and every entry has a position.
pub(super) fn assembles(built: &Built<'_>) -> Verdict {
    let Built { sample, site, column, made } = built;
    let specs = &sample.description.arrays;
    ensure(specs.len() == made.arrays.0.len(), || {
        format!("{} arrays are described, {} were made", specs.len(), made.arrays.0.len())
    })?;
    for (spec, array) in specs.iter().zip(&made.arrays.0) {
        let (kind, bits) = (array.kind(), array.kind().bits());
        let right = match spec.role {
            Role::Own(own) => own == kind,
            Role::Position => bits == site.pos_width || site.pos_width == 0 && bits >= 32,
            Role::Coordinate => bits == site.crd_width || site.crd_width == 0 && bits >= 32,
        };
        ensure(right && bits >= spec.min_bits, || format!("{} is stored as {kind}", spec.name))?;
    }
    have_their_lengths(sample, &made.arrays, column.parents, made.positions)?;
    ensure(made.position.len() == column.parent.len(), || {
        format!("{} positions for {} entries", made.position.len(), column.parent.len())
    })?;
    let mut owner: BTreeMap<Pos, (Pos, Crd)> = BTreeMap::new();
    for (at, child) in built.children().enumerate() {
        let Visit { parent, crd, pos } = child;
        ensure(pos < made.positions, || {
            format!("entry {at} is at {pos}, and there are {} positions", made.positions)
        })?;
        let before = owner.insert(pos, (parent, crd));
        let shared = before == Some((parent, crd)) && sample.description.props.unique;
        ensure(before.is_none() || shared, || format!("two entries at position {pos}"))?;
    }
    if sample.description.props.unique {
        let children: BTreeSet<Visit> = built.children().collect();
        ensure(children.len() == owner.len(), || {
            "entries with equal coordinates are not one child, though the level is unique".into()
        })?;
    }
    Ok(())
}

/// Whether arrays are as long as follows from what their elements stand for.
pub(super) fn have_their_lengths(
    sample: &Sample,
    arrays: &Arrays,
    parents: Pos,
    positions: Pos,
) -> Verdict {
    for (spec, array) in sample.description.arrays.iter().zip(&arrays.0) {
        let (found, expected) = (array.len() as u64, spec.per.length(parents, positions));
        ensure(expected.is_none_or(|expected| found == expected), || {
            let ArraySpec { name, per, .. } = spec;
            format!(
                "`{name}` has {found} elements under {parents} parents, for {positions} positions; \
                 `{per:?}` is `{per}`"
            )
        })?;
    }
    Ok(())
}

/// What was assembled is accepted, and the positions reached are those assembled.
pub(super) fn is_checked(built: &Built<'_>) -> Verdict {
    let Built { sample, site, column, made } = built;
    let reach = sample.ty.check(site, &made.arrays, &Reach::all(column.parents))?;
    ensure(reach.positions == made.positions, || {
        format!("check counts {} positions, assembly {}", reach.positions, made.positions)
    })?;
    let reached: BTreeSet<Pos> = reach.iter().collect();
    for child in built.children() {
        ensure(reached.contains(&child.pos), || format!("{child:?} is out of reach"))?;
    }
    is_as_claimed(&built.machine(), &reach, column.parents)?;
    // Only some parents in reach.
    let some: Vec<_> = (0..column.parents).filter(|p| p % 2 == 0).map(|p| p..p + 1).collect();
    let parents = Reach { positions: column.parents, intervals: Some(some) };
    let reach = sample.ty.check(site, &made.arrays, &parents)?;
    ensure(reach.positions == made.positions, || "positions depend on what is in reach".into())?;
    let mut reached = BTreeSet::new();
    for pos in reach.iter() {
        ensure(pos < made.positions, || format!("position {pos} is in reach, beyond the last"))?;
        ensure(reached.insert(pos), || format!("position {pos} is in reach twice"))?;
    }
    for child in built.children() {
        let expected = child.parent % 2 == 0;
        ensure(reached.contains(&child.pos) == expected, || match expected {
            true => format!("{child:?} is out of reach though its parent is in reach"),
            // The next level would be held to what it has there, which may be anything.
            false => format!("{child:?} is in reach though its parent is not"),
        })?;
    }
    Ok(())
}

/// A walk visits every entry at its position, and nothing else but padding.
pub(super) fn is_walked(built: &Built<'_>) -> Verdict {
    let props = built.sample.description.props;
    let machine = built.machine();
    let children: BTreeSet<Visit> = built.children().collect();
    let mut seen: BTreeMap<Pos, Visit> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for parent in 0..built.column.parents {
        let (kind, visits) = machine.walk((parent, parent + 1), machine.bounds())?;
        ensure(kind == built.sample.description.walk, || {
            format!("the walk is by {kind:?}, and {:?} is described", built.sample.description.walk)
        })?;
        for (at, &visit) in visits.iter().enumerate() {
            ensure(built.site.bounds().contains(&visit.crd), || {
                format!("{visit:?} lies outside the level")
            })?;
            ensure(visit.pos < built.made.positions, || format!("{visit:?} is beyond the last"))?;
            if let Some(before) = seen.insert(visit.pos, visit) {
                // A run of padding; entries are not known to be equal.
                let padding = [before, visit].iter().all(|visit| !children.contains(visit));
                ensure(padding && before.parent == parent && before.crd != visit.crd, || {
                    format!("{before:?} and {visit:?} share a position")
                })?;
            }
            ensure(children.contains(&visit) || props.padded || props.full, || {
                format!("{visit:?} was never assembled")
            })?;
            ordered(&visits[..at], visit, props.ordered, props.unique)?;
        }
        if props.padded && !props.overhangs && kind != WalkKind::Coordinate {
            stays_inside(built, &visits)?;
        }
        found.extend(visits);
        if kind == WalkKind::Coordinate {
            let (lo, hi) = machine.bounds();
            let narrow = (lo + 1, hi - 2);
            let (_, fewer) = machine.walk((parent, parent + 1), narrow)?;
            let expected = found.iter().filter(|visit| {
                visit.parent == parent && (narrow.0..narrow.1).contains(&visit.crd)
            });
            ensure(expected.eq(fewer.iter()), || {
                format!("within {narrow:?} the walk visits {fewer:?}")
            })?;
        }
    }
    match children.difference(&found).next() {
        Some(child) => wrong(format!("the walk misses {child:?}")),
        None => Ok(()),
    }
}

/// What a walk visits under a parent has coordinates of its entries. Any other may be outside the shape, though
/// inside the level.
fn stays_inside(built: &Built<'_>, visits: &[Visit]) -> Verdict {
    let entries: BTreeSet<(Pos, Crd)> =
        built.children().map(|child| (child.parent, child.crd)).collect();
    match visits.iter().find(|visit| !entries.contains(&(visit.parent, visit.crd))) {
        Some(visit) => wrong(format!(
            "a walk visits padding where no entry is, {visit:?}, and its cursor does not stay within \
             bounds: its coordinate may be outside the shape. Expected the claim `overhangs`, or a \
             cursor over coordinates"
        )),
        None => Ok(()),
    }
}

/// A search finds what a walk visits, and nothing else, for any integer.
pub(super) fn is_located(built: &Built<'_>) -> Verdict {
    let machine = built.machine();
    let (lo, hi) = machine.bounds();
    let mut crds: Vec<Crd> = (lo - 2..hi + 2).collect();
    crds.extend([i64::MIN / 4, -1_000_000, 1_000_000, i64::MAX / 4]);
    for parent in 0..built.column.parents {
        let described = built.sample.description.locate;
        let Some(found) = machine.locate(parent, &crds, machine.bounds())? else {
            return ensure(described == LocateCost::None, || {
                format!("it cannot search, though {described:?} is described")
            });
        };
        ensure(described != LocateCost::None, || "it searches, and says it cannot".to_owned())?;
        if !built.sample.description.props.unique {
            continue;
        }
        let (_, visits) = machine.walk((parent, parent + 1), machine.bounds())?;
        for (&crd, found) in crds.iter().zip(found) {
            let walked = visits.iter().find(|visit| visit.crd == crd).map(|visit| visit.pos);
            ensure(walked == found, || {
                format!("under {parent}, {crd} is found at {found:?}, and walked at {walked:?}")
            })?;
        }
    }
    Ok(())
}

/// `full`, `branchless`, `compact`, `contiguous` and `overhangs` mean what they say.
pub(super) fn keeps_its_promises(built: &Built<'_>) -> Verdict {
    let Built { sample, site, column, made } = built;
    let props = sample.description.props;
    let clipped = sample.description.walk == WalkKind::Coordinate;
    ensure(!props.overhangs || props.padded && !clipped, || {
        "it claims `overhangs`: only padding may, and none that a cursor over coordinates visits"
            .into()
    })?;
    let machine = built.machine();
    let mut visited = BTreeSet::new();
    let mut side_by_side = Vec::new();
    for parent in 0..column.parents {
        let (_, visits) = machine.walk((parent, parent + 1), machine.bounds())?;
        if props.full {
            let all = site.bounds().enumerate().map(|(at, crd)| Visit {
                parent,
                crd,
                pos: parent * site.size + at as Pos,
            });
            ensure(all.eq(visits.iter().copied()), || {
                "a full level has `parent * size + (crd - lower)` for every coordinate".to_owned()
            })?;
        }
        if props.branchless {
            ensure(matches!(visits[..], [only] if only.pos == parent), || {
                format!("a branchless level has one child at {parent}, not {visits:?}")
            })?;
        }
        visited.extend(visits.iter().map(|visit| visit.pos));
        side_by_side.extend(visits.iter().map(|visit| (visit.crd, visit.pos)));
    }
    if props.full {
        ensure(made.arrays.0.is_empty(), || "a full level owns no arrays".to_owned())?;
        ensure(made.positions == column.parents * site.size, || "too few positions".to_owned())?;
    }
    if props.compact {
        ensure(visited.len() as u64 == made.positions, || {
            format!("{} of {} positions are children", visited.len(), made.positions)
        })?;
    }
    if props.contiguous && sample.description.walk == WalkKind::Position && column.parents > 1 {
        let (_, together) = machine.walk((0, column.parents), machine.bounds())?;
        let together: Vec<_> = together.iter().map(|visit| (visit.crd, visit.pos)).collect();
        ensure(together == side_by_side, || {
            format!("all parents together have {together:?}, one by one {side_by_side:?}")
        })?;
    }
    Ok(())
}

/// A branchless level has no place for a second child.
pub(super) fn refuses_a_second_child(sample: &Sample) -> Verdict {
    if !sample.description.props.branchless {
        return Ok(());
    }
    let site = Site { size: 6, ..Site::default() };
    let entries = Entries::new(2, vec![0_i64, 0, 1], vec![1_i64, 3, 2]);
    match sample.ty.assemble(&site, &entries) {
        Err(LevelError::CannotHold { .. }) => Ok(()),
        Err(other) => wrong(format!(
            "coordinates 1 and 3 under parent 0: expected `CannotHold`, since the level claims \
             `branchless`; came: {other}"
        )),
        Ok(made) => {
            let machine = Machine::new(sample, &site, &made.arrays);
            let (_, visits) = machine.walk((0, 1), machine.bounds())?;
            wrong(format!(
                "coordinates 1 and 3 under parent 0: expected `CannotHold`, since the level claims \
                 `branchless`; came arrays, in which a walk finds {visits:?}"
            ))
        }
    }
}

/// A level that claims padding stores some where there are few entries.
pub(super) fn pads(sample: &Sample, seed: u64) -> Verdict {
    if !sample.description.props.padded {
        return Ok(());
    }
    for (site, column) in entries::tries(sample, seed) {
        let Ok(made) = sample.ty.assemble(&site, &column.entries()) else { continue };
        let positions: BTreeSet<i64> = made.position.to_vec().into_iter().collect();
        let machine = Machine::new(sample, &site, &made.arrays);
        for parent in 0..column.parents {
            let (_, visits) = machine.walk((parent, parent + 1), machine.bounds())?;
            if visits.iter().any(|visit| !positions.contains(&(visit.pos as i64))) {
                return Ok(());
            }
        }
    }
    wrong(
        "it claims `padded`, and of all levels that were assembled, with few entries and with many, \
         a walk visits nothing but the entries. Expected: places beside them, or no such claim, for \
         it makes stored zeros look like padding",
    )
}

/// A level that refuses entries for want of room does so beyond one number, and never before.
pub(super) fn holds_a_fixed_number(sample: &Sample) -> Verdict {
    if !has_limits(sample) {
        return Ok(());
    }
    let size = match sample.needs {
        Needs::Remainder(m) => m,
        _ => 8,
    };
    let site = Site { size, ..Site::default() };
    let holds = |crd: &[Crd]| {
        let entries = Entries::new(1, vec![0_i64; crd.len()], crd);
        match sample.ty.assemble(&site, &entries) {
            Ok(_) => Ok(true),
            Err(LevelError::CannotHold { parent: 0, crd: found, reason }) => {
                ensure(crd.contains(&found) && !reason.is_empty(), || {
                    format!("the refusal is about coordinate {found}: {reason}")
                })?;
                Ok(false)
            }
            Err(other) => Err(Trouble::from(other)),
        }
    };
    let mut refused = None;
    for count in 0..=size {
        let first: Vec<Crd> = (0..count as Crd).collect();
        let last: Vec<Crd> = (size - count..size).map(|crd| crd as Crd).collect();
        let held = holds(&first)?;
        ensure(held == holds(&last)?, || format!("it depends on which {count} entries they are"))?;
        ensure(!held || refused.is_none(), || format!("it holds {count}, but not {refused:?}"))?;
        if !held {
            refused = refused.or(Some(count));
        }
    }
    ensure(refused != Some(0) && refused != Some(1), || "it holds not even one".to_owned())?;
    // Of other levels, nobody knows how large they may be.
    let all = matches!(sample.needs, Needs::Remainder(_)) && refused.is_none();
    ensure(!all, || "it claims `bounded`, and holds every coordinate that there is".to_owned())
}

/// A coordinate that does not fit the width is refused, not wrapped.
pub(super) fn widths_are_kept(sample: &Sample) -> Verdict {
    let arrays = &sample.description.arrays;
    if sample.needs != Needs::Nothing {
        return Ok(());
    }
    let entries = |crd: &[Crd]| Entries::new(1, vec![0_i64; crd.len()], crd);
    let site = Site { size: 300, crd_width: 8, ..Site::default() };
    match sample.ty.assemble(&site, &entries(&[299])) {
        Ok(_) => {
            let listed = arrays.iter().any(ArraySpec::lists_coordinates);
            ensure(!listed, || "coordinate 299 fits 8 bits?".to_owned())?;
        }
        // The coordinate, the bound behind it, or where a group of coordinates around it begins.
        Err(LevelError::Width(WidthError { value, width: "crdWidth", .. })) if value > 255 => {}
        Err(other) => return wrong(format!("coordinate 299 in 8 bits: {other}")),
    }
    if sample.description.props.branchless {
        return Ok(());
    }
    let site = Site { size: 300, pos_width: 8, ..Site::default() };
    let crd: Vec<Crd> = (0..300).collect();
    match sample.ty.assemble(&site, &entries(&crd)) {
        Ok(_) => {
            let bounded = arrays.iter().any(ArraySpec::bounds_children);
            ensure(!bounded, || "300 positions fit 8 bits?".to_owned())
        }
        Err(LevelError::Width(WidthError { width: "posWidth", .. })) => Ok(()),
        Err(LevelError::CannotHold { .. }) if has_limits(sample) => Ok(()),
        Err(other) => wrong(format!("300 positions in 8 bits: {other}")),
    }
}
