//! What a level's own `check` lets through: arrays that were damaged on purpose. Whatever it accepts
//! is walked, and must be as the level describes itself.

use std::collections::BTreeMap;

use ust_level_api::{Arrays, Pos, Reach, WalkKind};

use super::Built;
use super::machine::{Machine, Visit};
use super::properties::have_their_lengths;
use crate::corrupt::damage::store;
use crate::oracle::Random;
use crate::report::{Trouble, Verdict, ensure, guarded, wrong};

/// Damages to each level, at most.
const MOST: usize = 40;

/// Damaged arrays are refused, or are as the level claims.
pub(super) fn refuses(built: &Built<'_>) -> Verdict {
    let Built { sample, site, column, made } = built;
    // Widths change nothing here.
    if site.pos_width != 0 || column.parent.is_empty() {
        return Ok(());
    }
    let specs = &sample.description.arrays;
    let mut damages = Vec::new();
    for (at, array) in made.arrays.0.iter().enumerate() {
        damages.extend(damaged(&array.to_vec(), site.size as i64).into_iter().map(|d| (at, d)));
    }
    let mut random = Random::new(column.parent.len() as u64);
    random.shuffle(&mut damages);
    damages.truncate(MOST);
    for (at, numbers) in damages {
        let mut arrays = Arrays(made.arrays.0.clone());
        arrays.0[at] = store(&specs[at], numbers);
        let shown = |arrays: &Arrays| -> String {
            let named = specs.iter().zip(&arrays.0);
            named.map(|(spec, array)| format!(" {} = {:?}", spec.name, array.to_vec())).collect()
        };
        let checked = guarded(|| Ok(sample.ty.check(site, &arrays, &Reach::all(column.parents))));
        let verdict = match checked {
            Ok(Err(_)) => continue,
            Ok(Ok(reach)) => {
                let machine = Machine::new(sample, site, &arrays);
                let lengths = have_their_lengths(sample, &arrays, column.parents, reach.positions);
                lengths.and_then(|()| is_as_claimed(&machine, &reach, column.parents)).map_err(
                    |trouble| match trouble {
                        Trouble::Wrong(text) => Trouble::Wrong(format!(
                            "it is accepted, and then it is found that {text}. Expected: `check` \
                         refuses such arrays, or the description does not claim this"
                        )),
                        excluded @ Trouble::Excluded(_) => excluded,
                    },
                )
            }
            Err(trouble) => Err(trouble),
        };
        if let Err(Trouble::Wrong(text)) = verdict {
            let name = specs[at].name;
            return wrong(format!(
                "`{name}` was damaged, and `check` asked about{}: {text}\nassembled were{}",
                shown(&arrays),
                shown(&made.arrays)
            ));
        }
    }
    Ok(())
}

/// Other contents of an array.
fn damaged(numbers: &[i64], size: i64) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for (at, &value) in numbers.iter().enumerate() {
        let mut others = vec![value.wrapping_sub(1), value.wrapping_add(1), 0, size, -1, i64::MAX];
        others.extend(at.checked_sub(1).map(|before| numbers[before]));
        for other in others {
            let mut changed = numbers.to_vec();
            changed[at] = other;
            all.push(changed);
        }
        if at > 0 {
            let mut swapped = numbers.to_vec();
            swapped.swap(at - 1, at);
            all.push(swapped);
        }
    }
    if let Some((&last, shorter)) = numbers.split_last() {
        all.push(shorter.to_vec());
        all.push([numbers, &[last]].concat());
    }
    all.retain(|changed| changed != numbers);
    all
}

/// Whether the children under every parent are as the level says of itself, and stand at the
/// positions in reach, which `check` gave for all of so many parents.
pub(super) fn is_as_claimed(machine: &Machine<'_>, reach: &Reach, parents: Pos) -> Verdict {
    let Machine { sample, site, .. } = machine;
    let props = sample.description.props;
    let mut seen: BTreeMap<Pos, Visit> = BTreeMap::new();
    let mut side_by_side = Vec::new();
    for parent in 0..parents {
        let (_, visits) = machine.walk((parent, parent + 1), machine.bounds())?;
        for (at, &visit) in visits.iter().enumerate() {
            ensure(site.bounds().contains(&visit.crd), || {
                format!(
                    "{visit:?} lies outside the level, whose coordinates are {:?}",
                    site.bounds()
                )
            })?;
            ensure(visit.pos < reach.positions, || {
                format!("{visit:?} is beyond the {} positions that `check` counts", reach.positions)
            })?;
            ordered(&visits[..at], visit, props.ordered, props.unique)?;
            if let Some(before) = seen.insert(visit.pos, visit) {
                // A run stands for many coordinates at one position.
                ensure(before.parent == parent && before.crd != visit.crd, || {
                    format!("{before:?} and {visit:?} share a position")
                })?;
            }
        }
        if props.branchless {
            ensure(matches!(visits[..], [only] if only.pos == parent), || {
                format!(
                    "parent {parent} has {visits:?}; `branchless` is one child, at its position"
                )
            })?;
        }
        side_by_side.extend(visits.iter().map(|visit| (visit.crd, visit.pos)));
    }
    for pos in reach.iter() {
        ensure(seen.remove(&pos).is_some(), || {
            format!("no child stands at position {pos}, which `check` says is in reach (once)")
        })?;
    }
    if let Some((_, visit)) = seen.first_key_value() {
        return wrong(format!("{visit:?} stands at a position that `check` says is out of reach"));
    }
    if props.compact {
        let reached = reach.iter().count() as u64;
        ensure(reached == reach.positions, || {
            let all = reach.positions;
            format!("{reached} of {all} positions are children; `compact` is that all are")
        })?;
    }
    if props.contiguous && sample.description.walk == WalkKind::Position && parents > 1 {
        let (_, together) = machine.walk((0, parents), machine.bounds())?;
        let together: Vec<_> = together.iter().map(|visit| (visit.crd, visit.pos)).collect();
        ensure(together == side_by_side, || {
            format!(
                "all parents together have {together:?} (coordinate, position), one by one \
                 {side_by_side:?}; `contiguous` is that they are the same"
            )
        })?;
    }
    Ok(())
}

/// Whether a child may stand behind those before it under the same parent.
pub(super) fn ordered(before: &[Visit], visit: Visit, ordered: bool, unique: bool) -> Verdict {
    if let Some(last) = before.last().filter(|_| ordered) {
        ensure(last.crd <= visit.crd, || {
            format!("{visit:?} stands after coordinate {}; `ordered` is that they ascend", last.crd)
        })?;
    }
    let twice = unique && before.iter().any(|other| other.crd == visit.crd);
    ensure(!twice, || format!("{visit:?} is the second with its coordinate; `unique` is one"))
}
