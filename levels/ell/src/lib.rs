//! The `ell(k)` level: `k` places under each parent. Those that nothing needs are at the end, and marked.
//!
//! ```text
//!      0 1 2 3          (i, j) -> (i : dense, j : ell(3)), shape 3x4
//!  0 [ . 1 . 2 ]
//!  1 [ 3 4 5 . ]        level 1  crd     1 3 4   0 1 2   4 4 4    k * parents
//!  2 [ . . . . ]                 values  1 2 .   3 4 5   . . .
//! ```
//!
//! Places `k * p .. k * p + k` are those of parent `p`. The mark of a place without a child is one past the last
//! coordinate of the level: so the numbers of a parent never descend, and a binary search finds how many
//! children there are. Loops run over these, without a test at each place.
//!
//! * **Arrays**: `crd` with `k * parents` elements.
//! * **Invariants**: the coordinates of a parent ascend, and marks follow.
//! * **Arguments**: `ell(k)`, with `1 <= k <= 65536`. Assembly refuses a parent with more children.
//! * **Cost**: walking begins with a search for the end of a parent, in O(log k); locating is a binary search.
//!
//! This is the ELL (ELLPACK) format, row by row. Libraries of NVIDIA and Ginkgo mark places with -1, others repeat
//! a coordinate and store a zero there. `padded` is another name of this level. Finch's `SparsePoint` stores the
//! arrays of `ell(1)`: `sparse_point` is a name of that.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_ell::Ell;
//!
//! // The matrix in the picture.
//! let site = Site { size: 4, ..Site::default() };
//! let entries = Entries::new(3, [0, 0, 1, 1, 1], [1, 3, 0, 1, 2]);
//! let made = Ell::new(3).unwrap().assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [1, 3, 4, 0, 1, 2, 4, 4, 4]);
//! assert_eq!(made.position, [0, 1, 3, 4, 5]);
//! ```
#![forbid(unsafe_code)]

use std::ops::Range;

use ust_level_api::column::IndexRead;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::walk::binary_search;
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, Footprint, IndexArray, Interval,
    LevelArgs, LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Population,
    Pos, Props, Reach, Site, TensorStats, Walk, WalkKind, WalkSite, assemble, check, inventory,
    with_column,
};

inventory::submit! {
    LevelFactory {
        name: "ell",
        aliases: &[
            Alias { name: "padded", with: None },
            Alias { name: "sparse_point", with: None },
        ],
        summary: "so many places under each parent, marked if not needed",
        make: &|args| Ok(Box::new(Ell::from_args(args)?)),
        samples: &["ell(7)", "ell(1)"],
    }
}

const CRD: usize = 0;
/// More places than this are refused: nothing is gained by them, and sizes could overflow.
const WIDEST: u64 = 1 << 16;

/// The ELL level type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ell {
    places: u64,
}

impl Ell {
    /// So many places under each parent; `None` unless they are 1 to 65536.
    #[must_use]
    pub fn new(places: u64) -> Option<Self> {
        (1..=WIDEST).contains(&places).then_some(Self { places })
    }

    fn from_args(args: &LevelArgs) -> Result<Self, LevelError> {
        let help = "it takes the number of places, from 1 to 65536, as in `ell(5)`";
        let [places] = match (&*args.name, &args.args[..]) {
            ("sparse_point", []) => [1],
            _ => args.numbers(help)?,
        };
        Self::new(places).ok_or_else(|| args.all_bad(help.to_owned()))
    }

    /// The places of a parent that have coordinates.
    fn used(self, crd: &IndexArray, parent: Pos, mark: i64) -> Range<Pos> {
        let own = parent * self.places..(parent + 1) * self.places;
        let end = own.clone().find(|&place| check::at(crd, place as usize) == mark);
        own.start..end.unwrap_or(own.end)
    }

    /// The places of a parent, emitted.
    fn places(self, site: &WalkSite) -> Interval {
        let first = site.parent.lo.clone() * self.places as i64;
        Interval { hi: first.clone() + self.places as i64, lo: first }
    }
}

impl LevelType for Ell {
    fn describe(&self) -> Description {
        Description {
            name: "ell",
            text: format!("ell({})", self.places),
            mlir: format!("ell[{}]", self.places),
            props: Props {
                compact: false,
                // A place without a coordinate is not visited.
                padded: false,
                bounded: true,
                contiguous: false,
                ..Props::SIDE_BY_SIDE
            },
            // A mark is no coordinate, so it is no list of coordinates.
            arrays: vec![ArraySpec { per: Per::Other("places * parents"), ..ArraySpec::crd() }],
            walk: WalkKind::Position,
            locate: LocateCost::Logarithmic,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let positions = site.positions(entries.parents, self.places)?;
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let (offsets, mark) = (segments.offsets.to_vec(), site.bounds().end);
        let places = self.places as usize;
        let full = offsets.windows(2).position(|pair| pair[1] - pair[0] > places as i64);
        if let Some(parent) = full {
            return Err(LevelError::CannotHold {
                parent: parent as u64,
                crd: segments.crd.at(offsets[parent] as usize + places),
                reason: format!(
                    "there are places for {places} coordinates, and it has {}; choose more places, or another level \
                     type",
                    offsets[parent + 1] - offsets[parent]
                ),
            });
        }
        let crd = with_column!(&segments.crd, crd => assemble::fill(positions as usize, |at| {
            let child = offsets[at / places] + (at % places) as i64;
            if child < offsets[at / places + 1] { crd.at(child as usize) } else { mark }
        }));
        let place = assemble::parts(&offsets, 0, |parent, own: &mut [i64]| {
            let first = (parent * places) as i64;
            own.iter_mut().zip(first..).for_each(|(place, at)| *place = at);
        });
        Ok(Assembled {
            arrays: Arrays(vec![site.store_crd(crd)?]),
            position: assemble::of_children(&segments.child, &place, positions),
            positions,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let (crd, bounds) = (&arrays.0[CRD], site.bounds());
        let Reach { positions, .. } = parents.times(self.places)?;
        check::length("crd", crd.len(), positions, "places * parents")?;
        let used = |parent| self.used(crd, parent, bounds.end);
        let rules = check::Rules { bounds: bounds.clone(), ordered: true, unique: true };
        check::segments("crd", crd, parents, &rules, &|parents, segments| {
            segments.extend(parents.map(used));
        })?;
        check::each(parents, &|parent| {
            (used(parent).end..(parent + 1) * self.places).try_for_each(|place| {
                let found = check::at(crd, place as usize);
                check::rule(found == bounds.end, "crd", place, found, || {
                    format!("behind the coordinates of a parent stands {}", bounds.end)
                })
            })
        })?;
        let intervals = parents.iter().map(used).filter(|used| !used.is_empty()).collect();
        Ok(Reach { positions, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let places = self.places(site);
        let mark = site.lower.clone() + site.size.clone();
        let end = binary_search(b, site.arrays[CRD], places.clone(), mark).pos;
        let end = b.bind("end", end);
        Walk::positions(Interval { hi: end, ..places }, site.arrays[CRD])
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let crd = b.bind("crd", crd);
        let Located { pos, found } =
            binary_search(b, site.arrays[CRD], self.places(site), crd.clone());
        // The mark is no coordinate.
        let found = found.and(crd.lt(site.lower.clone() + site.size.clone()));
        Some(Located { pos, found })
    }

    /// Matrices with about as many entries in every row, where one place in twenty is empty at most.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let ([rows, _], [extent, _]) = (&stats.dims[..], &stats.shape[..]) else {
            return Vec::new();
        };
        let suits =
            stats.entries > 0 && rows.max as f64 * *extent as f64 * 0.95 <= stats.entries as f64;
        let places = Self::new(rows.max).filter(|_| suits);
        let text = places.and_then(|places| stats.along_last(&places.describe().text));
        text.into_iter().collect()
    }

    /// All places, needed or not.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let positions = population.parents * self.places as f64;
        Footprint { positions, bytes: positions * f64::from(site.crd_kind().bits()) / 8.0 }
    }
}
