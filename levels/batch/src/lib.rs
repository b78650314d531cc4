//! The `batch` level: tensors of one shape, each stored as if it were alone, with as many entries each.
//!
//! The level itself is full and has no arrays. What it changes is below it: each of its coordinates is an *item*, and
//! every array of the levels below has as many elements for each item, one item after another. Positions begin at 0
//! in each. So an array can be seen as one with a leading axis, as PyTorch and nvmath-python keep batches.
//!
//! ```text
//!      item 0       item 1          (b, i, j) -> (b : batch, i : dense, j : compressed), shape 2x2x3
//!    0 [ 1 . . ]    [ . 4 . ]
//!    1 [ . 2 3 ]    [ 5 . 6 ]       level 2  pos  0 1 3 | 0 1 3
//!                                            crd  0 1 2 | 1 0 2
//!                                   values        1 2 3 | 4 5 6
//! ```
//!
//! * **Arrays**: none.
//! * **Invariants**: none of its own. Only batches stand above it. At each level below, all items have as many
//!   positions; other tensors cannot be stored.
//! * **Cost**: a dense level in its place stores the same entries with one `pos` array for all items, whose positions
//!   go on from one item to the next, and does not care how many entries each has.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_batch::Batch;
//!
//! let site = Site { size: 2, ..Site::default() };
//! let made = Batch.assemble(&site, &Entries::new(1, [0, 0, 0], [0, 0, 1])).unwrap();
//! assert_eq!(made.position, [0, 0, 1]);
//! assert!(Batch.is_batch());
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    Arrays, Assembled, Description, Entries, ExprShape, LevelError, LevelFactory, LevelType,
    LocateCost, Located, Place, Props, Reach, Site, Walk, WalkKind, WalkSite, full, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "batch",
        aliases: &[],
        summary: "each tensor below is stored as if it were alone, with as many entries",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Batch))
        },
        samples: &["batch"],
    }
}

/// The batch level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch;

impl LevelType for Batch {
    fn describe(&self) -> Description {
        Description {
            name: "batch",
            text: "batch".to_owned(),
            mlir: "batch".to_owned(),
            props: Props::FULL,
            arrays: Vec::new(),
            walk: WalkKind::Coordinate,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        let misplaced = |reason: &str, help: &str| LevelError::Misplaced {
            level: "batch".to_owned(),
            reason: reason.to_owned(),
            help: help.to_owned(),
        };
        if !place.leading {
            return Err(misplaced(
                "another level stands above it",
                "put batches first, or write `dense`",
            ));
        }
        if place.last {
            return Err(misplaced("nothing stands below it", "write `dense`"));
        }
        match place.expr {
            ExprShape::Dimension { .. } => Ok(()),
            _ => Err(misplaced("it stores no dimension", "give it a dimension alone, such as `b`")),
        }
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        full::assemble(site, entries)
    }

    fn check(&self, site: &Site, _arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        parents.times(site.size)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        full::walk(site)
    }

    fn is_batch(&self) -> bool {
        true
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        Some(full::locate(site, crd, b))
    }
}
