//! The `bits` level: a bit for each coordinate, set if it is stored; and a position for each set bit.
//!
//! ```text
//!      0 1 2 3 .. 31 32  (i, j) -> (i : dense, j : bits), shape 3x33
//!  0 [ 1 2 . . ..  3  . ]
//!  1 [ . . . . ..  .  . ]    level 1  bits   3 + 2^31   0    0   0    4   1    words of 32 coordinates
//!  2 [ . . 4 . ..  .  5 ]             pos    0          3    3   3    3   4   5    words + 1
//!                            values          1 2 3                    4   5
//! ```
//!
//! Each parent has the same number of words, enough for all coordinates. Bit `n % 32` of its word `n / 32`
//! belongs to the `n`th coordinate. The position of a coordinate is the `pos` of its word and the number of
//! bits below its own.
//!
//! * **Arrays**: `bits`, 32 coordinates a word; `pos`, one element more than words: the number of bits in all
//!   words before.
//! * **Invariants**: `pos` counts the bits; no bit is set beyond the last coordinate.
//! * **Cost**: walking looks at each word and visits what is stored; locating takes constant time.
//!
//! With positions of 32 bits, a coordinate takes 2 bits, stored or not. In a compressed level, an entry takes 32:
//! more, where over one coordinate in 16 is stored. Values stand side by side, as in bitmap formats of pruned
//! neural networks. A bitmap of GraphBLAS and `SparseByteMap` of Finch have a value at each coordinate, and move
//! more memory than a compressed level, unless most coordinates are stored.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_bits::Bits;
//!
//! // The matrix in the picture.
//! let site = Site { size: 33, ..Site::default() };
//! let entries = Entries::new(3, [0, 0, 0, 2, 2], [0, 1, 31, 2, 32]);
//! let made = Bits.assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [3 + (1 << 31), 0, 0, 0, 4, 1]);
//! assert_eq!(made.arrays.0[1].to_vec(), [0, 3, 3, 3, 3, 4, 5]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::column::IndexRead;
use ust_level_api::ir::idiom::Code;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, Footprint, IndexArray, IndexKind, Interval,
    LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Population, Props, Reach,
    Role, Run, Site, Step, TensorStats, Walk, WalkKind, WalkSite, assemble, check, full, inventory,
    with_column,
};

inventory::submit! {
    LevelFactory {
        name: "bits",
        aliases: &[],
        summary: "a bit for each coordinate: whether it is stored",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Bits))
        },
        samples: &["bits"],
    }
}

const BITS: usize = 0;
const POS: usize = 1;
/// Coordinates of a word.
const WORD: u64 = 32;

/// The level type of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits;

impl LevelType for Bits {
    fn describe(&self) -> Description {
        let of_words = |name, role, length, min_bits| ArraySpec {
            name,
            role,
            per: Per::Other(length),
            min_bits,
        };
        Description {
            name: "bits",
            text: "bits".to_owned(),
            mlir: "bits".to_owned(),
            props: Props {
                // A bit tells a stored zero from an element that is not stored.
                padded: false,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![
                of_words("bits", Role::Own(IndexKind::U32), "words", 32),
                of_words("pos", Role::Position, "words + 1", 8),
            ],
            walk: WalkKind::Other,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let own = site.size.div_ceil(WORD);
        let words = site.positions(entries.parents, own)? as usize;
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let bounds: Vec<i64> = (0..=words as i64).step_by(own.max(1) as usize).collect();
        let bits = with_column!(&segments.crd, crd => {
            with_column!(&segments.offsets, offsets => {
                assemble::parts(&bounds, 0, |parent, words: &mut [u32]| {
                    words.fill(0);
                    for at in offsets.at(parent)..offsets.at(parent + 1) {
                        let bit = (crd.at(at as usize) - site.lower) as u64;
                        words[(bit / WORD) as usize] |= 1 << (bit % WORD);
                    }
                })
            })
        });
        let pos = site.starts(words, |word| bits[word].count_ones().into())?;
        Ok(Assembled {
            arrays: Arrays(vec![IndexArray::from(bits), site.store_pos(pos)?]),
            position: segments.child,
            positions: segments.crd.len() as u64,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let (bits, pos) = (&arrays.0[BITS], &arrays.0[POS]);
        let own = site.size.div_ceil(WORD);
        let words = parents.times(own)?;
        check::length("bits", bits.len(), words.positions, "the words of all parents")?;
        check::length("pos", pos.len(), words.positions + 1, "words + 1")?;
        check::offsets("pos", pos)?;
        check::each(&words, &|word| {
            let [set, lo, hi] = [(bits, 0), (pos, 0), (pos, 1)]
                .map(|(array, more)| check::at(array, word as usize + more));
            // The last word of a parent may have fewer coordinates than bits.
            let have = (site.size - word % own * WORD).min(WORD);
            check::rule(set >> have == 0, "bits", word, set, || {
                format!("{have} of its bits belong to coordinates")
            })?;
            let count = i64::from(set.count_ones());
            check::rule(hi - lo == count, "pos", word + 1, hi, || {
                format!("{count} bits stand behind {lo}")
            })
        })?;
        Ok(words.through(pos))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let begin = b.bind("begin", begin(site));
        Walk {
            kind: WalkKind::Other,
            cursor: Interval { lo: begin.clone(), hi: begin.clone() + own(site) },
            step: Box::new(move |b, word| children(site, b, &begin, word)),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let crd = b.bind("crd", crd);
        let inside = full::locate(site, crd.clone(), b).found;
        let at = b.var("at", Expr::Int(-1));
        // Outside the level there is no bit to look at.
        b.if_(inside, |b| {
            let begin = b.bind("begin", begin(site));
            let of = (crd.clone() - site.lower.clone()).shifted(i64::from(WORD.ilog2()));
            let word = b.bind("word", begin.clone() + of);
            let step = children(site, b, &begin, word);
            if let Some(Located { pos, found }) = step.locate(crd) {
                b.if_(found, |b| b.assign(at, pos));
            }
        });
        Some(Located { pos: at.into(), found: Expr::Int(0).le(at) })
    }

    /// Competes where it takes less memory than coordinates of 32 bits, and not everything is stored.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let density = stats.density();
        let saves = density > 1.0 / 16.0 && density < 1.0;
        stats.along_last("bits").filter(|_| saves).into_iter().collect()
    }

    /// Words of bits and of positions, stored or not.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let Population { parents, stored, .. } = *population;
        let words = parents * site.size.div_ceil(WORD) as f64;
        let bits = words * WORD as f64 / 8.0;
        Footprint { positions: stored, bytes: bits + site.offset_bytes(words, stored) }
    }
}

/// Number of words of a parent.
fn own(site: &WalkSite) -> Expr {
    (site.size.clone() + (WORD as i64 - 1)).shifted(i64::from(WORD.ilog2()))
}

/// The first word of the parent.
fn begin(site: &WalkSite) -> Expr {
    site.parent.lo.clone() * own(site)
}

/// The children in a word, `begin` being the first of their parent.
fn children(site: &WalkSite, b: &mut Builder, begin: &Expr, word: Expr) -> Step {
    let [bits, pos] = [BITS, POS].map(|array| b.load(site.arrays[array], word.clone()));
    let crd = (word - begin.clone()) * WORD as i64 + site.lower.clone();
    Step::run(crd, pos, Run::Coded(Code::Ones(bits)))
}
