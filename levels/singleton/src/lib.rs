//! The `singleton` level: one coordinate for each parent.
//!
//! ```text
//!  [ 1 0 2 ]     (i, j) -> (i : compressed(nonunique), j : singleton), shape 3x3: COO
//!  [ 0 0 0 ]
//!  [ 0 3 0 ]     level 0  pos    0           3
//!                         crd    0   0   2
//!                level 1  crd    0   2   1           parents
//!                values          1   2   3
//! ```
//!
//! The only child of parent `p` has position `p` and coordinate `crd[p]`. The level above is
//! therefore nonunique: it repeats a coordinate for each entry under it. Or a level further above counts the entries, as
//! in `(i, j) -> (#i : compressed, i : compressed, j : singleton)`.
//!
//! * **Arrays**: `crd` with `parents` elements.
//! * **Invariants**: coordinates lie within the level. Under equal coordinates above they ascend,
//!   and are distinct.
//! * **Arguments**: `nonunique` drops the second invariant's "distinct", `nonordered` its "ascend";
//!   `soa` marks MLIR's structure of arrays (this project keeps one array for each level in either
//!   case).
//! * **Padding**: under a full level, parents may have no child. `singleton(padded)` stores the lowest coordinate
//!   there, and the value is the fill value. So there has to be a coordinate: an extent of 0 is refused. The engine chooses it where `singleton` stands under `dense`, as in ELL:
//!   `(i, j) -> (#i : dense, i : dense, j : singleton)`.
//! * **Several singletons**: a `singleton` above another one repeats coordinates, too, and must be
//!   nonunique. If its text says neither `unique` nor `nonunique`, the engine makes it nonunique,
//!   and prints it so: `i : compressed(nonunique), j : singleton, k : singleton` is COO of rank 3,
//!   the same format as with `j : singleton(nonunique)`. There, `singleton(unique)` is an error.
//! * **Cost**: walking and locating take constant time for each parent.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_singleton::Singleton;
//!
//! let site = Site { size: 3, ..Site::default() };
//! let entries = Entries::new(3, [0, 1, 2], [0, 2, 1]);
//! let made = Singleton::default().assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [0, 2, 1]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::column::{IndexRead, IndexWord};
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, IndexColumn, LevelArgs, LevelError,
    LevelFactory, LevelType, LocateCost, Located, Place, Props, Reach, Site, Walk, WalkKind,
    WalkSite, assemble, check, inventory, with_column,
};

inventory::submit! {
    LevelFactory {
        name: NAME,
        aliases: &[],
        summary: "one coordinate for each parent, under a nonunique level; itself nonunique above another",
        make: &|args| Ok(Box::new(Singleton::from_args(args)?)),
        samples: &[
            "singleton",
            "singleton(nonunique)",
            "singleton(nonordered)",
            "singleton(soa)",
            "singleton(nonunique, nonordered, soa)",
            "singleton(padded)",
        ],
    }
}

const NAME: &str = "singleton";
const CRD: usize = 0;

/// The singleton level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Singleton {
    /// Entries may repeat the coordinates of the levels down to this one.
    pub nonunique: bool,
    /// Coordinates may be in any order.
    pub nonordered: bool,
    /// Declared as a structure of arrays.
    pub soa: bool,
    /// Parents may have no child: padding stands in its place.
    pub padded: bool,
    /// The text says `unique`: the level is not made nonunique for the level below.
    pub unique: bool,
}

impl Singleton {
    fn from_args(args: &LevelArgs) -> Result<Self, LevelError> {
        let [nonunique, nonordered, soa, padded] = args.switches([
            ("nonunique", "unique"),
            ("nonordered", "ordered"),
            ("soa", ""),
            ("padded", ""),
        ])?;
        let unique = args.args.iter().any(|arg| arg.to_string() == "unique");
        Ok(Self { nonunique, nonordered, soa, padded, unique })
    }

    fn text(self) -> String {
        let words = [
            (self.nonunique, "nonunique"),
            (self.nonordered, "nonordered"),
            (self.soa, "soa"),
            (self.padded, "padded"),
        ];
        let words: Vec<&str> =
            words.into_iter().filter_map(|(on, word)| on.then_some(word)).collect();
        match words.len() {
            0 => "singleton".to_owned(),
            _ => format!("singleton({})", words.join(", ")),
        }
    }

    fn misplaced(self, reason: &str, help: &str) -> LevelError {
        LevelError::Misplaced {
            level: self.text(),
            reason: reason.to_owned(),
            help: help.to_owned(),
        }
    }
}

impl LevelType for Singleton {
    fn describe(&self) -> Description {
        Description {
            name: NAME,
            text: self.text(),
            mlir: self.text(),
            props: Props {
                ordered: !self.nonordered,
                unique: !self.nonunique,
                branchless: true,
                padded: self.padded,
                overhangs: self.padded,
                bounded: self.padded,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![ArraySpec::crd()],
            walk: WalkKind::Position,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        let Some(parent) = place.parent else {
            return Err(self.misplaced(
                "it is the first level, and has no parents to belong to",
                "put a nonunique level above it, as in `i : compressed(nonunique), j : singleton`",
            ));
        };
        if self.padded {
            let has_padding = parent.props.full || (parent.name == NAME && parent.props.padded);
            return match has_padding && !self.nonunique {
                true => Ok(()),
                false => Err(self.misplaced(
                    &format!("every parent of the level above, `{}`, has a child", parent.text),
                    "leave `padded` out, or put a full level such as `dense` above",
                )),
            };
        }
        if parent.props.unique && (!place.single || parent.props.full) {
            return Err(self.misplaced(
                &format!("the level above, `{}`, is unique", parent.text),
                "a single child needs a parent that repeats its coordinate: make the level above \
                 `nonunique`",
            ));
        }
        let of_run = (parent.name == NAME).then(|| LevelArgs::simple(&parent.text));
        let above = of_run.and_then(|written| Self::from_args(&written).ok());
        if above.is_some_and(|above| above.soa != self.soa) {
            return Err(self.misplaced(
                &format!("the level above, `{}`, is not declared alike", parent.text),
                "write `soa` on all singletons of one run, or on none",
            ));
        }
        Ok(())
    }

    fn relaxed(&self) -> Option<Box<dyn LevelType>> {
        let open = !self.nonunique && !self.unique;
        open.then(|| Box::new(Self { nonunique: true, ..*self }) as Box<dyn LevelType>)
    }

    fn adapted(&self, _place: &Place<'_>) -> Option<Box<dyn LevelType>> {
        Some(Box::new(Self { padded: true, ..*self }))
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let crd = match entries.parent {
            // Each parent has one child, in the order of the parents: the column is the array.
            IndexColumn::Count(n) if n as u64 == entries.parents => entries.crd.clone(),
            _ => children(site, entries)?,
        };
        Ok(Assembled {
            arrays: Arrays(vec![site.store_crd(crd)?]),
            position: entries.parent.clone(),
            positions: entries.parents,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        check::length("crd", arrays.0[CRD].len(), parents.positions, "one for each parent")?;
        // A parent has one child, which stands beside no other.
        let rules = check::Rules { bounds: site.bounds(), ordered: false, unique: false };
        check::segments("crd", &arrays.0[CRD], parents, &rules, &|parents, segments| {
            segments.push(parents);
        })?;
        Ok(parents.clone())
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        Walk::positions(site.parent.clone(), site.arrays[CRD])
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let pos = site.parent.lo.clone();
        Some(Located { found: b.load(site.arrays[CRD], pos.clone()).equals(crd), pos })
    }
}

/// The coordinate of each parent's child; for a parent without a child, the lowest coordinate.
fn children(site: &Site, entries: &Entries) -> Result<IndexColumn, LevelError> {
    entries.fetch()?;
    if site.size == 0 && entries.parents > 0 {
        return Err(LevelError::CannotHold {
            parent: 0,
            crd: site.lower,
            reason:
                "a parent without a child needs a coordinate for its padding, and there is none"
                    .to_owned(),
        });
    }
    match &entries.crd {
        IndexColumn::U32(crd) if u32::try_from(site.lower).is_ok() => {
            children_among(site, entries, &crd[..])
        }
        crd => children_among(site, entries, &crd.to_vec()[..]),
    }
}

/// As [`children`], where entries have these coordinates.
fn children_among<T: IndexWord>(
    site: &Site,
    entries: &Entries,
    coordinates: &[T],
) -> Result<IndexColumn, LevelError> {
    let mut crd = assemble::fill(entries.parents as usize, |_| T::truncated(site.lower));
    let children = crd.make_mut();
    let mut last = None;
    with_column!(&entries.parent, parents => {
        for (at, &coordinate) in coordinates.iter().enumerate() {
            let parent = parents.at(at);
            let child = &mut children[parent as usize];
            if last == Some(parent) && *child != coordinate {
                return Err(LevelError::CannotHold {
                    parent: parent as u64,
                    crd: coordinate.as_(),
                    reason: "a singleton level holds one child for each parent".to_owned(),
                });
            }
            *child = coordinate;
            last = Some(parent);
        }
    });
    Ok(T::column(crd))
}
