//! Checking format text whose level types are not all linked: [`Format::check`].

use ust_level_api::ir::Builder;
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, LevelArgs, LevelError, LevelType,
    LocateCost, Per, Place, Props, Reach, Site, Walk, WalkKind, WalkSite,
};

use super::error::FormatError;
use super::model::Format;
use super::read::resolve;

impl Format {
    /// Checks format text of which some level types are not linked, for example in a tool that
    /// reads the source of another program. If the type of a level is named in `outside`, and no
    /// linked crate makes it with these arguments, the level is accepted unchecked. So is the place
    /// of the level directly below. Everything else is checked. Cost: that of reading the text.
    ///
    /// ```
    /// use ust::Format;
    ///
    /// assert!(Format::check("(i, j) -> (i : octree, j : dense)", &["octree"]).is_ok());
    /// let error = Format::check("(i, j) -> (i : octree)", &["octree"]).unwrap_err();
    /// assert_eq!(error.message(), "no level stores dimension `j`");
    /// ```
    ///
    /// # Errors
    /// The fault in the text, and its place.
    pub fn check(text: &str, outside: &[&str]) -> Result<(), FormatError> {
        // The format is dropped, because some of its level types may be stand-ins.
        resolve(text, None, outside).map(drop)
    }
}

const NEVER: &str = "a format with a stand-in never leaves `Format::check`";

/// A stand-in for a level type that is not linked. Its description forbids nothing; it never stores
/// anything.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    text: String,
}

impl Outside {
    pub(super) fn new(written: &LevelArgs) -> Self {
        Self { text: written.to_string() }
    }
}

impl LevelType for Outside {
    fn describe(&self) -> Description {
        Description {
            name: "",
            text: self.text.clone(),
            mlir: self.text.clone(),
            props: Props {
                full: false,
                ordered: false,
                unique: false,
                branchless: false,
                compact: false,
                padded: false,
                overhangs: false,
                bounded: false,
                contiguous: false,
            },
            // The real level type might pack its coordinates.
            arrays: vec![ArraySpec { min_bits: 2, per: Per::Other("any"), ..ArraySpec::crd() }],
            walk: WalkKind::Other,
            locate: LocateCost::None,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, _site: &Site, _entries: &Entries) -> Result<Assembled, LevelError> {
        unreachable!("{NEVER}")
    }

    fn check(&self, _site: &Site, _arrays: &Arrays, _parents: &Reach) -> Result<Reach, LevelError> {
        unreachable!("{NEVER}")
    }

    fn walk<'a>(&'a self, _site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        unreachable!("{NEVER}")
    }
}
