//! The `NAME` level: say in a sentence what it stores.
//!
//! ```text
//!  Draw a small tensor here, and beside it the arrays that this level makes of it, with their lengths.
//! ```
//!
//! * **Arrays**: which, and how long.
//! * **Invariants**: on what the walk relies.
//! * **Cost**: of a walk, and of finding a coordinate.
#![forbid(unsafe_code)]
// Until everything is written.
#![expect(unused_variables, unreachable_code)]

use ust_level_api::ir::Builder;
use ust_level_api::{
    Arrays, Assembled, Description, Entries, LevelError, LevelFactory, LevelType, LocateCost,
    Place, Props, Reach, Site, Walk, WalkKind, WalkSite, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "NAME",
        aliases: &[],
        summary: "one line about it, for `ust levels`",
        make: &|args| {
            // It takes no arguments. `args.switches` reads words, `args.numbers` numbers.
            let [] = args.switches([])?;
            Ok(Box::new(TYPE))
        },
        // The suite tries these texts: one for each combination of arguments that behaves differently.
        samples: &["NAME"],
    }
}

/// The `NAME` level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TYPE;

impl LevelType for TYPE {
    fn describe(&self) -> Description {
        Description {
            name: "NAME",
            text: "NAME".to_owned(),
            mlir: "NAME".to_owned(),
            // The suite tries each of these.
            props: Props {
                // Has every coordinate a position under each parent, and no array is needed?
                full: false,
                // Do coordinates under one parent ascend?
                ordered: true,
                // Are they distinct?
                unique: true,
                // Has each parent exactly one child, at its own position?
                branchless: false,
                // Does every position belong to a child?
                compact: true,
                // Can a visited position hold no entry, but the fill value?
                padded: false,
                // If so, can its coordinate be beyond the shape?
                overhangs: false,
                // Has a parent room for a limited number of children?
                bounded: false,
                // Do the children of consecutive parents have consecutive positions?
                contiguous: true,
            },
            arrays: todo!(
                "describe: list the arrays that the level owns, `ArraySpec::pos()` and \
                 `ArraySpec::crd()` among them if it has such; and answer the questions around"
            ),
            // What is the cursor of `walk`: a position, a coordinate, or neither?
            walk: WalkKind::Position,
            // Constant or logarithmic, once `locate` is written; it is optional.
            locate: LocateCost::None,
        }
    }

    // Refuse a place where the level makes no sense with `LevelError::Misplaced`.
    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        todo!(
            "assemble: make the arrays from `entries`, which have for each entry its parent and its \
             coordinate, sorted; give them back with the position of each entry and the number of \
             positions. `entries.segments(true)` lays the children of each parent side by side"
        )
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        todo!(
            "check: refuse arrays with a wrong length (`check::length`), or with an element on which \
             `walk` could not rely (`check::rule`, `check::offsets`, `check::segments`); give back \
             the positions that the parents reach (`Reach::all`, `parents.times`, `parents.through`)"
        )
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        todo!(
            "walk: emit loads (`b.load`) that tell where the children of `site.parent` begin and end, \
             and give back a cursor from there to there, with coordinate and position of a child; \
             `Walk::positions` is the cursor over an array of coordinates"
        )
    }
}
