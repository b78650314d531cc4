//! The answers that all full levels share: positions computed from coordinates.
//!
//! The position of a coordinate in a full level is `parent * size + (crd - lower)`
//! ([`Props::full`](crate::Props::full)); the level needs no array. A full level type forwards to
//! these functions, and adds only its own rules about where it may stand.

use crate::array::Arrays;
use crate::column::IndexColumn;
use crate::ir::{Builder, Expr};
use crate::{Assembled, Entries, LevelError, Located, Pos, Site, Step, Walk, WalkKind, WalkSite};

/// The position of a coordinate under a parent. The coordinate must lie within the level.
#[must_use]
pub fn position(site: &Site, parent: Pos, crd: i64) -> Pos {
    parent * site.size + (crd - site.lower) as u64
}

/// Answers [`LevelType::assemble`](crate::LevelType::assemble).
///
/// # Errors
/// [`LevelError::Overflow`] if there are more positions than the site allows; [`LevelError::Unfetched`].
pub fn assemble(site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
    let positions = site.positions(entries.parents, site.size)?;
    let position = match (&entries.parent, &entries.crd) {
        // At the root, a position is the coordinate itself.
        (IndexColumn::Same(0, _), crd) if site.lower == 0 => crd.clone(),
        (parent, crd) => {
            let numbers = [site.size as i64, site.lower, positions as i64];
            let there = entries.place().and_then(|place| place.full(parent, crd, numbers));
            if let Some(position) = there {
                return Ok(Assembled { arrays: Arrays::default(), position, positions });
            }
            entries.positions(positions, |parent, crd| position(site, parent as Pos, crd) as i64)?
        }
    };
    Ok(Assembled { arrays: Arrays::default(), position, positions })
}

/// Answers [`LevelType::walk`](crate::LevelType::walk).
#[must_use]
pub fn walk(site: &WalkSite) -> Walk<'_> {
    Walk {
        kind: WalkKind::Coordinate,
        cursor: site.bounds.clone(),
        step: Box::new(|_, crd| Step {
            pos: emit_position(site, crd.clone()),
            crd,
            guard: None,
            run: None,
        }),
        advance: None,
    }
}

/// Answers [`LevelType::locate`](crate::LevelType::locate).
#[must_use]
pub fn locate(site: &WalkSite, crd: Expr, b: &mut Builder) -> Located {
    let crd = b.bind("crd", crd);
    let above = site.bounds.lo.clone().le(crd.clone());
    let found = above.and(crd.clone().lt(site.bounds.hi.clone()));
    Located { pos: emit_position(site, crd), found }
}

fn emit_position(site: &WalkSite, crd: Expr) -> Expr {
    site.parent.lo.clone() * site.size.clone() + (crd - site.lower.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_the_lowest_coordinate() {
        let site = Site { size: 5, lower: -2, ..Site::default() };
        assert_eq!((position(&site, 0, -2), position(&site, 3, 2)), (0, 19));
    }
}
