//! The `range` level: the coordinates of a dimension that lie inside the shape on a diagonal.
//!
//! Under a level that stores the difference `j - i` (or the sum `i + j`), only some coordinates of
//! the dimension `i` lie inside the shape. A range level has a position for each coordinate of its
//! dimension under each diagonal, a rectangle in memory. Its walk visits only coordinates inside
//! the shape.
//!
//! ```text
//!      0 1 2 3 4         (i, j) -> (j - i : compressed, i : range), shape 4x5
//!  0 [ 1 2 . . . ]
//!  1 [ . 3 4 . . ]       level 0  crd  -1          0           1
//!  2 [ . 5 6 7 . ]       level 1  i    0 1 2 3     0 1 2 3     0 1 2 3     no arrays
//!  3 [ . . . 8 9 ]       values        _ 0 5 0     1 3 6 8     2 4 7 9
//!                                      outside: i = 0, j = -1 is no element
//! ```
//!
//! * **Arrays**: none. The position of a coordinate is `parent * size + crd`, where `size` is the
//!   extent of the level's dimension.
//! * **Invariants**: none of its own. Its expression is a plain dimension that occurs in a sum or
//!   difference stored above it.
//! * **Cost**: walking visits the coordinates inside the shape; locating takes constant time.
//!   Positions outside the shape hold padding.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_range::Range;
//!
//! // The entry i = 2 of diagonal -1 in the picture, and two entries of the main diagonal.
//! let site = Site { size: 4, ..Site::default() };
//! let entries = Entries::new(3, [0, 1, 1], [2, 0, 1]);
//! assert_eq!(Range.assemble(&site, &entries).unwrap().position, [2, 4, 5]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    Arrays, Assembled, Description, Entries, ExprShape, LevelError, LevelFactory, LevelType,
    LocateCost, Located, Place, Props, Reach, Site, Walk, WalkKind, WalkSite, full, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "range",
        aliases: &[],
        summary: "the coordinates that a diagonal above leaves inside the shape",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Range))
        },
        samples: &["range"],
    }
}

/// The range level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range;

impl LevelType for Range {
    fn describe(&self) -> Description {
        Description {
            name: "range",
            text: "range".to_owned(),
            mlir: "range".to_owned(),
            props: Props { compact: false, padded: true, ..Props::FULL },
            arrays: Vec::new(),
            walk: WalkKind::Coordinate,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        let (reason, help) = match place.expr {
            ExprShape::Dimension { ranged: true } => return Ok(()),
            ExprShape::Dimension { ranged: false } => (
                "no level above stores a sum or difference with this dimension",
                "store one first, as in `j - i : compressed, i : range`, or write `dense`",
            ),
            _ => (
                "its expression is not a plain dimension",
                "write the dimension alone, as in `j - i : compressed, i : range`",
            ),
        };
        Err(LevelError::Misplaced {
            level: "range".to_owned(),
            reason: reason.to_owned(),
            help: help.to_owned(),
        })
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

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        Some(full::locate(site, crd, b))
    }
}
