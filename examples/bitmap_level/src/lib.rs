//! A level type from outside: `bitmap`, a byte for each coordinate that says whether it is stored.
//!
//! ```text
//!  row 0  [ 1 0 2 ]      (i, j) -> (i : dense, j : bitmap), shape 2x3
//!  row 1  [ 0 0 3 ]
//!                        level 1  mask    1 0 1    0 0 1      parents * size
//!                        values           1 . 2    . . 3      position = i * 3 + j
//! ```
//!
//! The position of a coordinate is computed as in a dense level, and the mask says which positions
//! are children. Unlike a dense level it tells a stored zero from one that is not stored, and unlike
//! a compressed level it finds a coordinate in constant time.
//!
//! * **Arrays**: `mask`, an array of this level type's own, with `parents * size` bytes.
//! * **Invariants**: each byte is 0 or 1.
//! * **Cost**: walking looks at every coordinate; locating takes constant time.
//!
//! What stands here is all there is: link this crate (`use bitmap_level as _;`) and any format may
//! say `bitmap`.
//!
//! ```
//! use bitmap_level as _;
//! use ust::{Coo, Format, Tensor};
//!
//! let format: Format = "(i, j) -> (i : dense, j : bitmap)".parse()?;
//! let coo = Coo::new(vec![2, 3], vec![vec![0, 0, 1], vec![0, 2, 2]], vec![1.0, 2.0, 3.0])?;
//! let tensor = Tensor::from_coo(&coo, &format)?;
//! assert_eq!(tensor.level_array(1, "mask").unwrap().to_vec(), [1, 0, 1, 0, 0, 1]);
//! assert_eq!(tensor.convert("CSR")?.to_coo()?, coo);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{BinOp, Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, Footprint, IndexArray, IndexKind,
    LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Population, Pos, Props,
    Reach, Role, Site, Step, TensorStats, Walk, WalkKind, WalkSite, check, full, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "bitmap",
        aliases: &[],
        summary: "a byte for each coordinate: whether it is stored",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Bitmap))
        },
        samples: &["bitmap"],
    }
}

const MASK: usize = 0;

/// The bitmap level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bitmap;

impl LevelType for Bitmap {
    fn describe(&self) -> Description {
        Description {
            name: "bitmap",
            text: "bitmap".to_owned(),
            mlir: "bitmap".to_owned(),
            props: Props {
                // Not every coordinate is a child, though every one has a position.
                full: false,
                ordered: true,
                unique: true,
                branchless: false,
                compact: false,
                // What the mask leaves out is never visited: a visited zero is an entry.
                padded: false,
                overhangs: false,
                bounded: false,
                contiguous: true,
            },
            arrays: vec![ArraySpec {
                name: "mask",
                role: Role::Own(IndexKind::U8),
                per: Per::Position,
                min_bits: 8,
            }],
            walk: WalkKind::Coordinate,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        // The positions are those of a full level.
        let Assembled { position, positions, .. } = full::assemble(site, entries)?;
        position.fetch()?;
        let mut mask = vec![0_u8; positions as usize];
        for at in 0..position.len() {
            mask[position.at(at) as usize] = 1;
        }
        Ok(Assembled { arrays: Arrays(vec![IndexArray::from(mask)]), position, positions })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let places = parents.times(site.size)?;
        let mask = arrays.0[MASK].to_vec();
        check::length("mask", mask.len(), places.positions, "parents * size")?;
        let mut intervals: Vec<std::ops::Range<Pos>> = Vec::new();
        for at in places.iter() {
            let bit = mask[at as usize];
            check::rule(matches!(bit, 0 | 1), "mask", at, bit, || "a bit is 0 or 1".to_owned())?;
            match intervals.last_mut() {
                _ if bit == 0 => {}
                Some(last) if last.end == at => last.end = at + 1,
                _ => intervals.push(at..at + 1),
            }
        }
        Ok(Reach { positions: places.positions, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        let all = full::walk(site);
        Walk {
            step: Box::new(move |b, crd| {
                let Step { crd, pos, .. } = (all.step)(b, crd);
                let pos = b.bind("place", pos);
                Step { crd, guard: Some(is_set(site, b, &pos)), pos, run: None }
            }),
            ..full::walk(site)
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let Located { pos, found } = full::locate(site, crd, b);
        let pos = b.bind("place", pos);
        // Outside the level there is no bit to look at.
        let found = found.select(is_set(site, b, &pos), Expr::Bool(false));
        Some(Located { pos, found })
    }

    /// Competes where at least one in sixteen elements of the last dimension is stored: `ust advise`
    /// then measures it beside the named formats.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let text = stats.along_last("bitmap");
        text.filter(|_| stats.density() >= 1.0 / 16.0).into_iter().collect()
    }

    /// A position and a byte for each coordinate, stored or not.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let positions = population.parents * site.size as f64;
        Footprint { positions, bytes: positions }
    }
}

/// Whether the mask has a bit at a position.
fn is_set(site: &WalkSite, b: &Builder, pos: &Expr) -> Expr {
    Expr::binary(BinOp::Ne, b.load(site.arrays[MASK], pos.clone()), Expr::Int(0))
}
