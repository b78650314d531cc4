//! Checking format text whose level types are not all linked: [`Format::check`].

use ust_level_api::ir::Builder;
use ust_level_api::level::Wants;
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, LevelArgs, LevelError, LevelType,
    LocateCost, Place, Props, Reach, Site, Walk, WalkKind, WalkSite,
};

use super::error::FormatError;
use super::model::Format;
use super::read::resolve;

impl Format {
    /// Checks format text where some of its level types are not linked, as in a tool that looks at
    /// the source of another program. A level whose type is named in `outside`, and that nobody
    /// here makes of these arguments, is taken as it stands, and so is the place of the level
    /// directly below it. Everything else is checked. Cost: that of reading the text.
    ///
    /// ```
    /// use ust::Format;
    ///
    /// assert!(Format::check("(i, j) -> (i : hashed, j : dense)", &["hashed"]).is_ok());
    /// let error = Format::check("(i, j) -> (i : hashed)", &["hashed"]).unwrap_err();
    /// assert_eq!(error.message(), "no level stores dimension `j`");
    /// ```
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn check(text: &str, outside: &[&str]) -> Result<(), FormatError> {
        // The format itself stays here: its level types may be stand-ins.
        resolve(text, None, outside).map(drop)
    }
}

const NEVER: &str = "a format with a stand-in never leaves `Format::check`";

/// Stands for a level type that is not linked. It says of itself what forbids nothing, and is never
/// asked to store anything.
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
                contiguous: false,
                soa: false,
            },
            // It might pack its coordinates.
            arrays: vec![ArraySpec { min_bits: 2, ..ArraySpec::crd("any") }],
            walk: WalkKind::Other,
            locate: LocateCost::None,
            wants: Wants::Any,
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
