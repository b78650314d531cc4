//! The `dense` level: it has every coordinate, and stores none.
//!
//! ```text
//!  row 0  [ 1 0 2 ]      (i, j) -> (i : dense, j : dense), shape 2x3
//!  row 1  [ 0 0 3 ]
//!                        level 0  i   0           1          no arrays
//!                        level 1  j   0  1  2     0  1  2    no arrays
//!                        values       1  0  2     0  0  3    position = i * 3 + j
//! ```
//!
//! * **Arrays**: none. The position of a coordinate is `parent * size + (crd - lower)`. `lower` is
//!   0, unless the level's expression is a difference such as `j - i`.
//! * **Invariants**: none.
//! * **Cost**: a walk visits every coordinate within its bounds; locating takes constant time.
//!   Memory grows with the size of the level, not with the number of nonzeros.
//!
//! `row` is an alias, which some lists of formats print.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_dense::Dense;
//!
//! let site = Site { size: 3, ..Site::default() };
//! let entries = Entries::new(2, [0, 0, 1], [0, 2, 2]);
//! let made = Dense.assemble(&site, &entries).unwrap();
//! assert_eq!(made.position, [0, 2, 5]);
//! assert_eq!(made.positions, 6);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    Alias, Arrays, Assembled, Description, Entries, LevelArgs, LevelError, LevelFactory, LevelType,
    LocateCost, Located, Place, Props, Reach, Site, Walk, WalkKind, WalkSite, full, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "dense",
        aliases: &[Alias { name: "row", with: None }],
        summary: "every coordinate is stored, none is written down",
        make: &|args| Ok(Box::new(Dense::from_args(args)?)),
        samples: &["dense"],
    }
}

/// The dense level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dense;

impl Dense {
    fn from_args(args: &LevelArgs) -> Result<Self, LevelError> {
        match args.args.first() {
            None => Ok(Self),
            Some(arg) => {
                let help = "a dense level is always unique and ordered and takes no arguments";
                Err(args.bad(arg, help.to_owned()))
            }
        }
    }
}

impl LevelType for Dense {
    fn describe(&self) -> Description {
        Description {
            name: "dense",
            text: "dense".to_owned(),
            mlir: "dense".to_owned(),
            props: Props::FULL,
            arrays: Vec::new(),
            walk: WalkKind::Coordinate,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
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
