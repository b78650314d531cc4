//! Children that a level inserts and removes in place.

use std::collections::BTreeMap;

use ust_level_api::{Assembled, Change, Crd, LevelError, Pos, Reach, Site};

use super::entries::Column;
use super::properties::{have_their_lengths, is_located, is_walked};
use super::{Built, has_limits};
use crate::oracle::Random;
use crate::report::{Trouble, Verdict, ensure, wrong};

/// Changes to try, one after another.
const CHANGES: usize = 6;

/// After each change, the arrays are accepted, and hold the children that there are then, at the positions that
/// follow from what the level says of it.
pub(super) fn is_followed(built: &Built<'_>) -> Verdict {
    let Built { sample, site, column, .. } = built;
    // Of several children with one coordinate, nobody can say which is meant.
    if !sample.description.props.unique || column.parents == 0 || site.size == 0 {
        return Ok(());
    }
    let mut random = Random::new(site.size ^ column.crd.len() as u64 ^ column.parents << 8);
    let site = Site { room: random.percent(50), ..site.clone() };
    let mut made = match sample.ty.assemble(&site, &column.entries()) {
        Ok(made) => made,
        Err(LevelError::CannotHold { .. }) if has_limits(sample) => return Ok(()),
        Err(other) => return wrong(format!("with room for more: {other}")),
    };
    let mut children = Children::default();
    for (at, pos) in made.position.to_vec().into_iter().enumerate() {
        children.0.insert(pos as Pos, (column.parent[at], column.crd[at]));
    }
    for _ in 0..CHANGES {
        let parent = random.below(column.parents);
        let crd = site.lower + random.below(site.size) as Crd;
        let known = children.0.iter().find(|(_, child)| **child == (parent, crd));
        let known = known.map(|(&pos, _)| pos);
        let before = made.arrays.clone();
        let (what, changed) = match known {
            Some(pos) => ("remove", sample.ty.remove(&site, &mut made.arrays, parent, pos)),
            None => ("insert", sample.ty.insert(&site, &mut made.arrays, parent, crd)),
        };
        let told = |text: String| format!("{what} {parent}:{crd}: {text}");
        let Ok(Some(change)) = changed else {
            ensure(made.arrays == before, || told("it is not done, and arrays are others".into()))?;
            continue;
        };
        let followed = children.follow(&change, made.positions, (known, (parent, crd)));
        followed.map_err(|text| Trouble::Wrong(told(text)))?;
        made.positions = change.positions;
        let reach = sample.ty.check(&site, &made.arrays, &Reach::all(column.parents));
        let reach = reach.map_err(|error| Trouble::Wrong(told(format!("then {error}"))))?;
        ensure(reach.positions == change.positions, || {
            told(format!("check counts {} positions, not {}", reach.positions, change.positions))
        })?;
        have_their_lengths(sample, &made.arrays, column.parents, made.positions)?;
        let (column, position) = children.column(column.parents);
        let made = Assembled { position: position.into(), ..made.clone() };
        let now = Built { sample, site: site.clone(), column: &column, made };
        for property in [is_walked, is_located] {
            property(&now).map_err(|trouble| match trouble {
                Trouble::Wrong(text) => Trouble::Wrong(told(format!("then {text}"))),
                excluded @ Trouble::Excluded(_) => excluded,
            })?;
        }
    }
    Ok(())
}

/// The children that there are: parent and coordinate of each, by position.
#[derive(Default)]
struct Children(BTreeMap<Pos, (Pos, Crd)>);

impl Children {
    /// Does what a level says that it did. `removed` is the position of the child that was to be removed; without, the
    /// child was to be inserted.
    fn follow(
        &mut self,
        change: &Change,
        before: Pos,
        (removed, child): (Option<Pos>, (Pos, Crd)),
    ) -> Result<(), String> {
        let Change { pos, positions, moves, freed } = change;
        if *positions < before {
            return Err(format!("there are {positions} positions then, and {before} before"));
        }
        if let Some(removed) = removed {
            if removed != *pos {
                return Err(format!("it says that {pos} was removed, and it is {removed}"));
            }
            self.0.remove(&removed);
        }
        for one in moves {
            let moving: Vec<_> = self.0.extract_if(one.from.clone(), |_, _| true).collect();
            for (at, child) in moving {
                if self.0.insert(one.to + (at - one.from.start), child).is_some() {
                    return Err(format!("{one:?} moves to where another child is"));
                }
            }
        }
        if removed.is_none() && self.0.insert(*pos, child).is_some() {
            return Err(format!("another child is at {pos}"));
        }
        if let Some((at, child)) = self.0.range(freed.clone()).next() {
            return Err(format!("{freed:?} is free, and {child:?} is at {at}"));
        }
        match self.0.last_key_value() {
            Some((last, _)) if last >= positions => Err(format!("{last} is beyond the last")),
            _ => Ok(()),
        }
    }

    /// The children as entries, and their positions.
    fn column(&self, parents: Pos) -> (Column, Vec<i64>) {
        let mut rows: Vec<_> =
            self.0.iter().map(|(&pos, &(parent, crd))| (parent, crd, pos)).collect();
        rows.sort_unstable();
        let column = Column {
            parents,
            parent: rows.iter().map(|row| row.0).collect(),
            crd: rows.iter().map(|row| row.1).collect(),
        };
        (column, rows.iter().map(|row| row.2 as i64).collect())
    }
}
