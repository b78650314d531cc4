//! The n:m levels: in each group of `m` coordinates, exactly `n` are stored. `block2_4` is 2:4.
//!
//! ```text
//!  [ 0 7 8 0 | 0 0 0 9 ]    (i, j) -> (i : dense, j / 4 : dense, j % 4 : block2_4), shape 1x8
//!
//!                           level 2  crd    1   2     0   3        n * parents
//!                           values          7   8     0   9        0 is padding
//! ```
//!
//! The children of parent `p` are the positions `n * p .. n * p + n`. A group with fewer than `n`
//! nonzeros is padded with zeros at its lowest free coordinates; a group with more is an error.
//!
//! * **Arrays**: `crd` with `n * parents` elements. Where `m` is at most 4, `crdWidth = 2` packs
//!   four coordinates into a byte, the first in the lowest bits: the metadata of NVIDIA's sparse
//!   tensor cores.
//! * **Invariants**: coordinates lie in `0 .. m`, and ascend within a group.
//! * **Arguments**: `structured(n, m)`, with `1 <= n <= m`. `structured(2, 4)` is `block2_4`.
//! * **Place**: the last level, storing a remainder by `m`.
//! * **Cost**: walking visits `n` places a group; locating looks at no more than those.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_block2_4::Structured;
//!
//! let site = Site { size: 4, crd_width: 2, ..Site::default() };
//! let entries = Entries::new(2, [0, 0, 1], [1, 2, 3]);
//! let made = Structured::new(2, 4).unwrap().assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [1, 2, 0, 3]);
//! assert_eq!(made.position, [0, 1, 3]);
//! assert_eq!(made.arrays.0[0].bytes(), 1);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::assemble::Segments;
use ust_level_api::column::{BLOCK, IndexWord, chunk_len};
use ust_level_api::ir::{Builder, Expr, parallel};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Buffer, Description, Entries, ExprShape, Footprint, IndexColumn,
    Interval, LevelArgs, LevelError, LevelFactory, LevelType, LocateCost, Located, Place,
    Population, Props, Reach, Site, TensorStats, Walk, WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "block2_4",
        aliases: &[],
        summary: "2 of every 4 coordinates: structured(2, 4)",
        make: &|args| match args.args.first() {
            None => Ok(Box::new(Structured { n: 2, m: 4 })),
            Some(arg) => {
                let help = "it takes no arguments; other groups are written `structured(n, m)`";
                Err(args.bad(arg, help.to_owned()))
            }
        },
        samples: &["block2_4"],
    }
}

inventory::submit! {
    LevelFactory {
        name: "structured",
        aliases: &[],
        summary: "n of every m coordinates, padded with zeros",
        make: &|args| Ok(Box::new(Structured::from_args(args)?)),
        samples: &["structured(2, 4)", "structured(1, 2)", "structured(3, 8)", "structured(3, 3)"],
    }
}

const CRD: usize = 0;
/// Groups wider than this are refused: nothing is gained by them, and sizes could overflow.
const WIDEST: u64 = 1 << 16;

/// The n:m level type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured {
    n: u64,
    m: u64,
}

impl Structured {
    /// `n` of every `m` coordinates; `None` unless `1 <= n <= m <= 65536`.
    #[must_use]
    pub fn new(n: u64, m: u64) -> Option<Self> {
        (1 <= n && n <= m && m <= WIDEST).then_some(Self { n, m })
    }

    fn from_args(args: &LevelArgs) -> Result<Self, LevelError> {
        let [n, m] = args.numbers("it takes two numbers, as in `structured(2, 4)`")?;
        let help = "n of m coordinates are stored, with 1 <= n <= m <= 65536";
        Self::new(n, m).ok_or_else(|| args.all_bad(help.to_owned()))
    }

    fn text(self) -> String {
        match (self.n, self.m) {
            (2, 4) => "block2_4".to_owned(),
            (n, m) => format!("structured({n}, {m})"),
        }
    }

    fn misplaced(self, reason: String, help: String) -> LevelError {
        LevelError::Misplaced { level: self.text(), reason, help }
    }

    /// Fills a group of `n` coordinates, ascending: those of `taken`, and the lowest free ones
    /// beside them. `places` gets the place of each of `taken`, counted from `first`.
    fn pad<T: IndexWord>(self, taken: &[i64], first: usize, group: &mut [T], places: &mut [T]) {
        let mut spare = self.n as usize - taken.len();
        let (mut at, mut free) = (0, 0);
        for (&coordinate, place) in taken.iter().zip(places) {
            while spare > 0 && free < coordinate {
                group[at] = T::truncated(free);
                (at, free, spare) = (at + 1, free + 1, spare - 1);
            }
            group[at] = T::truncated(coordinate);
            *place = T::truncated((first + at) as i64);
            (at, free) = (at + 1, coordinate + 1);
        }
        for slot in &mut group[at..] {
            *slot = T::truncated(free);
            free += 1;
        }
    }

    /// The coordinates of all groups, and the position of each entry: where all groups are full, its
    /// number. Parallel by groups.
    fn lay<T: IndexWord>(
        self,
        children: &Segments,
        parents: usize,
    ) -> Result<(IndexColumn, IndexColumn), LevelError> {
        children.fetch()?;
        let n = self.n as usize;
        // Groups that are read at a time.
        let step = (BLOCK / n).max(1);
        let mut crd = Buffer::<T>::unspecified(parents * n);
        let full = children.crd.len() == parents * n;
        let mut places = Buffer::<T>::unspecified(if full { 0 } else { children.crd.len() });
        let mut rest = places.make_mut();
        let mut jobs = Vec::new();
        let chunk = chunk_len(parents);
        for (number, groups) in crd.make_mut().chunks_mut(chunk * n).enumerate() {
            let first = number * chunk;
            let (lo, hi) =
                (children.offsets.at(first), children.offsets.at(first + groups.len() / n));
            let own = if full { 0 } else { (hi - lo) as usize };
            let (places, others) = rest.split_at_mut(own);
            jobs.push((first, groups, places));
            rest = others;
        }
        let done: Vec<Result<(), LevelError>> =
            parallel::map_items(jobs, |_, (mut first, groups, mut places)| {
                let (mut ends, mut taken) = (vec![0; step + 1], Vec::new());
                for groups in groups.chunks_mut(step * n) {
                    let ends = &mut ends[..=groups.len() / n];
                    children.offsets.read(first, ends);
                    taken.resize((ends[ends.len() - 1] - ends[0]) as usize, 0);
                    children.crd.read(ends[0] as usize, &mut taken);
                    let mut taken = &taken[..];
                    for (group, ends) in groups.chunks_exact_mut(n).zip(ends.windows(2)) {
                        let (own, others) = taken.split_at((ends[1] - ends[0]) as usize);
                        if own.len() > n {
                            return Err(self.overfull(first as u64, own));
                        }
                        if full {
                            let slots = group.iter_mut().zip(own);
                            slots.for_each(|(slot, &crd)| *slot = T::truncated(crd));
                        } else {
                            let (mine, more) = std::mem::take(&mut places).split_at_mut(own.len());
                            self.pad(own, first * n, group, mine);
                            places = more;
                        }
                        taken = others;
                        first += 1;
                    }
                }
                Ok(())
            });
        done.into_iter().collect::<Result<(), _>>()?;
        let position = match &children.child {
            child if full => child.clone(),
            IndexColumn::Count(_) => T::column(places),
            child => {
                let most = (0, (parents * n).saturating_sub(1) as i64);
                IndexColumn::blocks(child.len(), most, &|first, out| {
                    child.read(first, out);
                    out.iter_mut().for_each(|out| *out = places[*out as usize].as_());
                })
            }
        };
        Ok((T::column(crd), position))
    }

    fn overfull(self, parent: u64, taken: &[i64]) -> LevelError {
        LevelError::CannotHold {
            parent,
            crd: taken[self.n as usize],
            reason: format!(
                "a group of {} coordinates holds at most {} nonzeros, and this one has {}; prune \
                 it, or choose another format",
                self.m,
                self.n,
                taken.len()
            ),
        }
    }
}

impl LevelType for Structured {
    fn describe(&self) -> Description {
        Description {
            name: if self.m == 4 && self.n == 2 { "block2_4" } else { "structured" },
            text: self.text(),
            mlir: format!("structured[{}, {}]", self.n, self.m),
            props: Props {
                compact: false,
                padded: true,
                // A group at the end of the shape may have fewer than `n` coordinates inside.
                overhangs: true,
                bounded: self.n < self.m,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![ArraySpec {
                min_bits: if self.m <= 4 { 2 } else { 8 },
                ..ArraySpec::crd()
            }],
            walk: WalkKind::Position,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        let m = self.m;
        if !matches!(place.expr, ExprShape::Remainder { modulus } if modulus == m) {
            let reason =
                format!("it stores groups of {m}, and its expression is no remainder by {m}");
            let help = format!("write `j / {m} : dense, j % {m} : {}`", self.text());
            return Err(self.misplaced(reason, help));
        }
        if !place.last {
            let reason = "levels follow it".to_owned();
            return Err(self.misplaced(reason, "make it the last level".to_owned()));
        }
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let positions = site.positions(entries.parents, self.n)?;
        let children = entries.segments(true)?;
        let parents = entries.parents as usize;
        let there = children.crd.place();
        let there = there.and_then(|place| place.groups(&children, entries.parents, self.n));
        let (crd, position) = match (there, u32::try_from(positions)) {
            (Some([crd, position]), _) => (crd, position),
            (None, Ok(_)) => self.lay::<u32>(&children, parents)?,
            (None, Err(_)) => self.lay::<i64>(&children, parents)?,
        };
        Ok(Assembled { arrays: Arrays(vec![site.store_crd(crd)?]), position, positions })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let reach = parents.times(self.n)?;
        check::length("crd", arrays.0[CRD].len(), reach.positions, "n * parents")?;
        let rules = check::Rules { bounds: site.bounds(), ordered: true, unique: true };
        check::segments("crd", &arrays.0[CRD], parents, &rules, &|parents, segments| {
            segments.extend(parents.map(|parent| parent * self.n..(parent + 1) * self.n));
        })?;
        Ok(reach)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        Walk::positions(self.group(&site.parent), site.arrays[CRD])
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let wanted = b.bind("wanted", crd);
        let group = self.group(&site.parent);
        let at = b.var("at", Expr::Int(-1));
        b.for_("slot", group.lo, group.hi, |b, slot| {
            let here = b.load(site.arrays[CRD], slot.clone()).equals(wanted);
            b.if_(here, |b| b.assign(at, slot));
        });
        Some(Located { pos: at.into(), found: Expr::Int(0).le(at) })
    }

    /// Groups along the last dimension, where none has more entries than it may and padding is not
    /// most of what is stored.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let (n, m) = (self.n, self.m);
        let Some((last, leading)) = stats.shape.split_last() else { return Vec::new() };
        let groups: f64 = leading.iter().map(|&extent| extent as f64).product::<f64>()
            * (*last as u64).div_ceil(m) as f64;
        let room = groups * n as f64;
        if stats.obeys(n, m) != Some(true) || room > 3.0 * stats.entries as f64 {
            return Vec::new();
        }
        let dim = |at: usize| format!("d{at}");
        let dims: Vec<String> = (0..stats.shape.len()).map(dim).collect();
        let mut levels: Vec<String> =
            (0..leading.len()).map(|at| format!("{} : dense", dim(at))).collect();
        let last = dim(leading.len());
        levels.push(format!("{last} / {m} : dense"));
        levels.push(format!("{last} % {m} : {}", self.text()));
        // No other level has coordinates.
        let width = match m {
            ..=4 => ", crdWidth = 2",
            5..=256 => ", crdWidth = 8",
            _ => "",
        };
        vec![format!("({}) -> ({}){width}", dims.join(", "), levels.join(", "))]
    }

    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let positions = population.parents * self.n as f64;
        Footprint { positions, bytes: positions * f64::from(site.crd_kind().bits()) / 8.0 }
    }
}

impl Structured {
    /// The positions of the groups of an interval of parents.
    fn group(self, parents: &Interval) -> Interval {
        let n = self.n as i64;
        Interval { lo: parents.lo.clone() * n, hi: parents.hi.clone() * n }
    }
}
