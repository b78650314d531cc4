//! A stand-in for the full level type of the host. A library links none, and level types name it in the formats that
//! they propose.

use std::sync::Once;

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::registry;
use ust_level_api::{
    Arrays, Assembled, Description, Entries, LevelError, LevelFactory, LevelType, LocateCost,
    Located, Place, Props, Reach, Site, Walk, WalkKind, WalkSite, full,
};

use crate::words::kept;

/// Registers a full level type of this name in the registry of the library, unless there is one.
pub(super) fn register(name: &str) {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        if registry::full().is_some() {
            return;
        }
        let name = kept(name);
        let make =
            move |_: &_| -> Result<Box<dyn LevelType>, LevelError> { Ok(Box::new(Leading(name))) };
        let make = Box::leak(Box::new(make));
        let samples = vec![name].leak();
        // Where the name is taken, formats are proposed without it: none, that is.
        let _ = registry::register(vec![LevelFactory {
            name,
            aliases: &[],
            summary: "",
            make,
            samples,
        }]);
    });
}

/// A full level type of this name.
#[derive(Clone, Debug)]
struct Leading(&'static str);

impl LevelType for Leading {
    fn describe(&self) -> Description {
        Description {
            name: self.0,
            text: self.0.to_owned(),
            mlir: self.0.to_owned(),
            props: Props {
                full: true,
                ordered: true,
                unique: true,
                branchless: false,
                compact: true,
                padded: false,
                overhangs: false,
                bounded: false,
                contiguous: true,
            },
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
