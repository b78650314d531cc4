//! Level types `segments`, `stretch` and `grouped`: copies of `compressed`, `range` and `block2_4` under
//! other names. The engine chooses kernels and conversions by the shape of a level, not by its name: the
//! test of this crate compares all choices with those for the originals.
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    Arrays, Assembled, Description, Entries, Footprint, Interval, LevelArgs, LevelError,
    LevelFactory, LevelType, Located, Place, Population, Reach, Site, TensorStats, Walk, WalkSite,
    inventory,
};
// One per line: `cargo xtask without` removes the line of the level crate that it takes out.
use ust_level_block2_4 as _;
use ust_level_compressed as _;
use ust_level_range as _;

/// The originals, and the names of the copies.
pub const NAMES: [(&str, &str); 3] =
    [("compressed", "segments"), ("range", "stretch"), ("block2_4", "grouped")];

/// The text of a format with the names of the copies.
#[must_use]
pub fn renamed(format: &str) -> String {
    let mut text = String::new();
    // Names are whole words: `loose_compressed` is another level type.
    for word in format.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        let end = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let name = NAMES.iter().find(|(of, _)| *of == end).map_or(end, |(_, name)| name);
        text += name;
        text += &word[end.len()..];
    }
    text
}

macro_rules! copies {
    ($($of:literal as $name:literal, $samples:expr;)*) => {$(
        inventory::submit! {
            LevelFactory {
                name: $name,
                aliases: &[],
                summary: concat!("a copy of `", $of, "`"),
                make: &|args| Ok(Box::new(Copied::of($of, $name, args)?)),
                samples: $samples,
            }
        }
    )*};
}
copies! {
    "compressed" as "segments", &["segments", "segments(nonunique)"];
    "range" as "stretch", &["stretch"];
    "block2_4" as "grouped", &["grouped"];
}

/// A level type under another name.
#[derive(Clone, Debug)]
struct Copied {
    level: Box<dyn LevelType>,
    of: &'static str,
    name: &'static str,
}

impl Copied {
    fn of(of: &'static str, name: &'static str, args: &LevelArgs) -> Result<Self, LevelError> {
        let mut factories = inventory::iter::<LevelFactory>();
        let factory = factories.find(|factory| factory.name == of).expect("the original is linked");
        Ok(Self { level: (factory.make)(args)?, of, name })
    }
}

impl LevelType for Copied {
    fn describe(&self) -> Description {
        let described = self.level.describe();
        let text = described.text.replace(self.of, self.name);
        Description { name: self.name, mlir: text.clone(), text, ..described }
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        self.level.fits(place).map_err(|error| match error {
            LevelError::Misplaced { reason, help, .. } => {
                LevelError::Misplaced { level: self.describe().text, reason, help }
            }
            other => other,
        })
    }

    fn relaxed(&self) -> Option<Box<dyn LevelType>> {
        Some(Box::new(Self { level: self.level.relaxed()?, ..*self }))
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        self.level.assemble(site, entries)
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        self.level.check(site, arrays, parents)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let walk = self.level.walk(site, b);
        // The same in other words: the ends of the cursor have names.
        let Interval { lo, hi } = walk.cursor;
        Walk { cursor: Interval { lo: b.bind("from", lo), hi: b.bind("to", hi) }, ..walk }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        self.level.locate(site, crd, b)
    }

    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let texts = self.level.candidates(stats).into_iter();
        texts.map(|text| text.replace(self.of, self.name)).collect()
    }

    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        self.level.footprint(site, population)
    }
}
