//! The `delta(b)` level: instead of each coordinate, how many are left out before it, in `b` bits.
//!
//! ```text
//!      0 1 2 3 4 5 6 7 8 9   (i, j) -> (i : dense, j : delta(2)), shape 2x10
//!  0 [ 1 . . 2 . . . . . 3 ]
//!  1 [ . 4 . . . . . . . . ]  level 1  pos     0           4   5    parents + 1
//!                                      crd     0  2  3  1  1        four to a byte
//!                                      values  1  2  0  3  4
//! ```
//!
//! Nothing is left out before coordinate 0 of the first row, and two coordinates before 3. Five are left out
//! before 9, more than two bits hold: a filler stands for three of them and, with a padding value, for the next,
//! 7; one is left out between it and 9. Each parent begins anew at the lowest coordinate of the level.
//!
//! * **Arrays**: `pos` with `parents + 1` elements; `crd` with a number for each position. A number has the
//!   least of 1, 2, 4, 8, 16 and 32 bits that is `b` or more, and those of less than 8 lie side by side in a
//!   byte, the first in the lowest bits.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; a number has at most `b` bits; they do not lead out of
//!   the level.
//! * **Arguments**: `delta(b)`, with `1 <= b <= 32`.
//! * **Cost**: walking visits what is stored, from the beginning of a parent on; there is no locating.
//!
//! The numbers are those of nvmath-python's `DELTA`, which has them in 32 or 64 bits each.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_delta::Delta;
//!
//! // The matrix in the picture.
//! let site = Site { size: 10, ..Site::default() };
//! let entries = Entries::new(2, [0, 0, 0, 1], [0, 3, 9, 1]);
//! let made = Delta::new(2).unwrap().assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [0, 4, 5]);
//! assert_eq!(made.arrays.0[1].to_vec(), [0 + 4 * 2 + 16 * 3 + 64 * 1, 1]);
//! assert_eq!(made.position, [0, 1, 3, 4]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::column::IndexRead;
use ust_level_api::ir::Builder;
use ust_level_api::ir::idiom::{Code, Numbers};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Buffer, Description, Entries, Footprint, IndexArray, IndexKind,
    LevelArgs, LevelError, LevelFactory, LevelType, LocateCost, Per, Place, Population, Props,
    Reach, Role, Run, Site, Step, TensorStats, Walk, WalkKind, WalkSite, assemble, check,
    inventory, with_column,
};

inventory::submit! {
    LevelFactory {
        name: "delta",
        aliases: &[],
        summary: "how many coordinates are left out before each",
        make: &|args| Ok(Box::new(Delta::from_args(args)?)),
        samples: &["delta(4)", "delta(1)"],
    }
}

const POS: usize = 0;
const CRD: usize = 1;

/// The delta level type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    bits: u32,
}

impl Delta {
    /// Numbers of so many bits; `None` unless they are 1 to 32.
    #[must_use]
    pub fn new(bits: u32) -> Option<Self> {
        (1..=32).contains(&bits).then_some(Self { bits })
    }

    fn from_args(args: &LevelArgs) -> Result<Self, LevelError> {
        let help = "it takes the bits of a number, from 1 to 32, as in `delta(4)`";
        let [bits] = args.numbers(help)?;
        let bits = u32::try_from(bits).ok();
        bits.and_then(Self::new).ok_or_else(|| args.all_bad(help.to_owned()))
    }

    /// The largest number of its bits.
    fn most(self) -> i64 {
        (1 << self.bits) - 1
    }

    /// The bits in which a number is stored.
    fn stored_bits(self) -> u32 {
        self.bits.next_power_of_two()
    }

    /// Numbers in an element of `crd`.
    fn side_by_side(self) -> usize {
        (8 / self.stored_bits()).max(1) as usize
    }

    fn kind(self) -> IndexKind {
        match self.stored_bits() {
            32 => IndexKind::U32,
            16 => IndexKind::U16,
            _ => IndexKind::U8,
        }
    }

    /// Numbers as they are stored.
    fn packed(self, numbers: Buffer<u32>) -> IndexArray {
        let (bits, each) = (self.stored_bits(), self.side_by_side());
        match self.kind() {
            IndexKind::U32 => numbers.into(),
            IndexKind::U16 => assemble::fill(numbers.len(), |at| numbers[at] as u16).into(),
            _ => assemble::fill(numbers.len().div_ceil(each), |byte| {
                let own = numbers[byte * each..].iter().take(each);
                own.rev().fold(0, |bytes: u32, number| bytes << (bits % 8) | number) as u8
            })
            .into(),
        }
    }

    /// The number at a position of stored ones, which are checked to be as many.
    fn number(self, crd: &IndexArray, position: i64) -> i64 {
        let (bits, each) = (self.stored_bits(), self.side_by_side());
        let (element, place) = (position as usize / each, position as usize % each);
        check::at(crd, element) >> (bits * place as u32) & ((1 << bits) - 1)
    }

    /// An estimate of the number of fillers: stored coordinates lie anywhere between the first and the last of
    /// their parent, and these anywhere in the level.
    fn fillers(self, size: u64, population: &Population) -> f64 {
        let Population { parents, stored, span, .. } = *population;
        let reach = self.most() as f64 + 1.0;
        // In a level of so few coordinates, a number holds all that can be left out.
        if stored <= 0.0 || size as f64 <= reach {
            return 0.0;
        }
        // The probability that so many coordinates are all left out.
        let left_out = (1.0 - stored / span.max(stored)).powf(reach);
        let between = stored * left_out / (1.0 - left_out);
        between + (parents * size as f64 - span).max(0.0) / 2.0 / reach
    }
}

impl LevelType for Delta {
    fn describe(&self) -> Description {
        let per = match self.side_by_side() {
            1 => Per::Position,
            2 => Per::Other("positions / 2"),
            4 => Per::Other("positions / 4"),
            _ => Per::Other("positions / 8"),
        };
        Description {
            name: "delta",
            text: format!("delta({})", self.bits),
            mlir: format!("delta[{}]", self.bits),
            props: Props {
                padded: true,
                // Where the level's expression passes over coordinates, a filler may stand for one of those.
                overhangs: true,
                // Side by side they lie, but a walk must begin anew under each parent.
                contiguous: false,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![
                ArraySpec::pos(),
                ArraySpec { name: "crd", role: Role::Own(self.kind()), per, min_bits: 8 },
            ],
            walk: WalkKind::Other,
            locate: LocateCost::None,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let offsets = segments.offsets.to_vec();
        let (pos, place, numbers) = with_column!(&segments.crd, crd => {
            let left_out = |parent: usize| {
                let (first, end) = (offsets[parent] as usize, offsets[parent + 1] as usize);
                (first..end).map(move |at| {
                    let next = if at == first { site.lower } else { crd.at(at - 1) + 1 };
                    crd.at(at) - next
                })
            };
            let fillers = |number: i64| number >> self.bits;
            let pos = site.starts(offsets.len() - 1, |parent| {
                left_out(parent).map(|number| fillers(number) as u64 + 1).sum()
            })?;
            let place = assemble::parts(&offsets, 0, |parent, places: &mut [i64]| {
                let mut next = pos[parent];
                for (place, number) in places.iter_mut().zip(left_out(parent)) {
                    *place = next + fillers(number);
                    next = *place + 1;
                }
            });
            let numbers = assemble::parts(&pos, 0, |parent, numbers: &mut [u32]| {
                numbers.fill(self.most() as u32);
                let places = &place[offsets[parent] as usize..];
                for (place, number) in places.iter().zip(left_out(parent)) {
                    numbers[(place - pos[parent]) as usize] = (number & self.most()) as u32;
                }
            });
            (pos, place, numbers)
        });
        let positions = numbers.len() as u64;
        Ok(Assembled {
            arrays: Arrays(vec![site.store_pos(pos)?, self.packed(numbers)]),
            position: assemble::of_children(&segments.child, &place, positions),
            positions,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let (pos, crd) = (&arrays.0[POS], &arrays.0[CRD]);
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        let elements = check::offsets("pos", pos)?.div_ceil(self.side_by_side() as u64);
        check::length("crd", crd.len(), elements, "the last of pos, in so many bits")?;
        let end = site.bounds().end;
        check::each(parents, &|parent| {
            let mut next = site.lower;
            for at in check::at(pos, parent as usize)..check::at(pos, parent as usize + 1) {
                let number = self.number(crd, at);
                check::rule(number <= self.most(), "crd", at as u64, number, || {
                    format!("it has {} bits", self.bits)
                })?;
                check::rule(number < end - next, "crd", at as u64, number, || {
                    format!("from {next} on, it does not lead to {end} or beyond")
                })?;
                next += number + 1;
            }
            Ok(())
        })?;
        Ok(parents.through(pos))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        let numbers = Numbers { array: site.arrays[CRD], bits: self.stored_bits(), shift: None };
        Walk {
            kind: WalkKind::Other,
            cursor: site.parent.clone(),
            step: Box::new(move |b, parent| {
                let pos = b.load(site.arrays[POS], parent.clone());
                let pos = b.bind("pos", pos);
                let count = b.load(site.arrays[POS], parent + 1) - pos.clone();
                let code = Code::Gaps { count, numbers };
                Step::run(site.lower.clone(), pos, Run::Coded(code))
            }),
            advance: None,
        }
    }

    /// Competes where it takes three quarters of the memory of coordinates of 32 bits, or less.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let Some((&size, leading)) = stats.shape.split_last() else { return Vec::new() };
        let parents = leading.iter().map(|&extent| extent as f64).product();
        let (stored, span) = (stats.entries as f64, stats.span as f64);
        let population = Population { parents, stored, span, ..Population::default() };
        let value = stats.value_bytes as f64;
        let bytes = |delta: &Self| {
            let each = value + f64::from(delta.stored_bits()) / 8.0;
            each * (stored + delta.fillers(size as u64, &population))
        };
        let all = [4, 8].map(|bits| Self { bits });
        let Some(best) = all.into_iter().min_by(|a, b| bytes(a).total_cmp(&bytes(b))) else {
            return Vec::new();
        };
        let saves = bytes(&best) < 0.75 * stored * (value + 4.0);
        stats.along_last(&best.describe().text).filter(|_| saves).into_iter().collect()
    }

    /// A number for each coordinate and for each filler.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let positions = population.stored + self.fillers(site.size, population);
        let crd = positions * f64::from(self.stored_bits()) / 8.0;
        Footprint { positions, bytes: site.offset_bytes(population.parents, positions) + crd }
    }
}
