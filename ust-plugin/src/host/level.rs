//! A level of a library, as the contract asks. What it makes is checked as far as one level can be; the engine checks the
//! rest, since the level type is not trusted.

use std::fmt;
use std::sync::Arc;

use ust_level_api::assemble::of_children;
use ust_level_api::check::{MAX_POSITIONS, Reach};
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Change, Crd, Description, Entries, Footprint, IndexArray,
    LevelArgs, LevelError, LevelType, Located, Place, Population, Pos, Role, Site, TensorStats,
    Walk, WalkSite, full, registry,
};

use super::change::Changed;
use super::describe::{description, search, walk};
use super::door::{Above, Answer, Level, Made};
use super::table::Type;
use crate::{abi, form, words};

/// A level of a library. Clones share it.
#[derive(Clone)]
pub(super) struct Plugged(Arc<Inner>);

struct Inner {
    level: Level,
    description: Description,
    /// What it is besides.
    traits: u32,
    /// How it is walked and searched; `None` for a full level, whose answers are those of all full levels.
    code: Option<(form::Walked, Option<form::Located>)>,
}

impl fmt::Debug for Plugged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plugged").field(&self.0.description.text).finish()
    }
}

impl Plugged {
    /// Makes a level type of its arguments. Asks for description, walk and search once.
    pub(super) fn make(
        ty: &Type,
        name: &'static str,
        args: &LevelArgs,
    ) -> Result<Self, LevelError> {
        let defective = |fault| LevelError::Defective { level: name.to_owned(), fault };
        let level = Level::make(ty, args).map_err(|failed| failed.of(name))?;
        let said = level.describe().map_err(|failed| failed.of(name))?;
        let mut description = description(name, &said).map_err(defective)?;
        let code = match description.props.full {
            true => None,
            false => {
                let text = level.walk().map_err(|failed| failed.of(name))?;
                let walked = walk(&text, &mut description).map_err(defective)?;
                let text = level.locate().map_err(|failed| failed.of(name))?;
                Some((walked, search(&text, &description).map_err(defective)?))
            }
        };
        Ok(Self(Arc::new(Inner { level, description, traits: said.traits, code })))
    }

    /// Another form of this level, if its text is one.
    fn form(&self, text: &str) -> Option<Box<dyn LevelType>> {
        let args = LevelArgs::simple(text);
        let is_own = args.name == self.0.description.name;
        registry::make(&args).ok().filter(|_| is_own)
    }

    fn defective(&self, fault: String) -> LevelError {
        LevelError::Defective { level: self.0.description.name.to_owned(), fault }
    }

    /// An array as it is stored.
    fn store(
        &self,
        spec: &ArraySpec,
        site: &Site,
        elements: Vec<i64>,
    ) -> Result<IndexArray, LevelError> {
        match spec.role {
            Role::Position => site.store_pos(elements),
            Role::Coordinate => site.store_crd(elements),
            Role::Own(kind) => IndexArray::store(kind, &elements, spec.name, "kind")
                .map_err(|error| self.defective(format!("`assemble`: {error}"))),
        }
    }

    /// Has the library change arrays, which keep their kinds. `None`, and changes nothing, where it does not, or where
    /// a number does not fit.
    fn changed(
        &self,
        arrays: &mut Arrays,
        change: impl FnOnce(Vec<Vec<i64>>) -> Answer<Option<Changed>>,
    ) -> Result<Option<Change>, LevelError> {
        let elements = arrays.0.iter().map(IndexArray::to_vec).collect();
        let made = change(elements).map_err(|failed| failed.of(self.0.description.name))?;
        let Some((change, elements)) = made else { return Ok(None) };
        let specs = self.0.description.arrays.iter().zip(&arrays.0);
        let stored = specs.zip(&elements).map(|((spec, array), elements)| {
            IndexArray::store(array.kind(), elements, spec.name, "kind").ok()
        });
        let Some(stored) = stored.collect() else { return Ok(None) };
        *arrays = Arrays(stored);
        Ok(Some(change))
    }

    /// Fails unless the lengths of arrays are those that the description says.
    fn lengths(
        &self,
        lengths: impl Iterator<Item = usize>,
        parents: u64,
        positions: u64,
    ) -> Result<(), LevelError> {
        for (spec, found) in self.0.description.arrays.iter().zip(lengths) {
            let found = found as u64;
            if let Some(length) = spec.per.length(parents, positions)
                && length != found
            {
                return Err(LevelError::Length {
                    array: spec.name.to_owned(),
                    found,
                    expected: format!("{length} ({}, as its description says)", spec.per),
                });
            }
        }
        Ok(())
    }
}

fn site_of(site: &Site) -> abi::Site {
    // No level type that is not the engine's looks at the number of items.
    let Site { size, lower, max_positions, pos_width, crd_width, room, items: _ } = *site;
    abi::Site { size, lower, max_positions, pos_width, crd_width, room: room.into() }
}

fn place_of<'a>(place: &Place<'a>) -> (Option<Above<'a>>, abi::Place) {
    let above = place.parent.map(|parent| Above {
        name: parent.name,
        text: &parent.text,
        properties: words::bits(parent.props),
        locate: words::cost(parent.locate),
    });
    let (expression, number) = words::expression(place.expr);
    let [last, single, leading] = [place.last, place.single, place.leading].map(u32::from);
    let parent = std::ptr::null();
    (above, abi::Place { parent, number, expression, last, single, leading })
}

impl LevelType for Plugged {
    fn describe(&self) -> Description {
        self.0.description.clone()
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        let (above, place) = place_of(place);
        let asked = self.0.level.fits(above, place);
        asked.map_err(|failed| failed.of(&self.0.description.text))
    }

    fn relaxed(&self) -> Option<Box<dyn LevelType>> {
        self.form(&self.0.level.relaxed().ok()?)
    }

    fn adapted(&self, place: &Place<'_>) -> Option<Box<dyn LevelType>> {
        let (above, place) = place_of(place);
        self.form(&self.0.level.adapted(above, place).ok()?)
    }

    fn joins_alike(&self) -> bool {
        self.0.traits & abi::JOINS_ALIKE != 0
    }

    fn is_batch(&self) -> bool {
        self.0.traits & abi::BATCH != 0
    }

    fn is_trusted(&self) -> bool {
        false
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let Inner { level, description, code, .. } = &*self.0;
        if code.is_none() {
            return full::assemble(site, entries);
        }
        let segments = entries.segments(description.props.unique)?;
        segments.fetch()?;
        let (offsets, crd) = (segments.offsets.to_vec(), segments.crd.to_vec());
        // Arrays with rules of their own have a few elements for each parent and each position at most.
        let most =
            site.max_positions.saturating_add(entries.parents).saturating_mul(2).saturating_add(64);
        // Of entries with the same coordinate, it is not known.
        let alike = entries.alike.as_ref().filter(|alike| alike.len() == crd.len());
        let alike: Option<Vec<u8>> = alike.map(|all| all.iter().map(|&one| one.into()).collect());
        let children = (&offsets[..], &crd[..], alike.as_deref());
        let made = level.assemble(&site_of(site), children, description.arrays.len(), most);
        let Made { arrays, position, positions } =
            made.map_err(|failed| failed.of(description.name))?;
        site.positions(positions, 1)?;
        if let Some(child) = position.iter().position(|&at| at < 0 || at as u64 >= positions) {
            return Err(self.defective(format!(
                "`assemble` gives child {child} the position {}, and there are {positions} positions",
                position[child]
            )));
        }
        self.lengths(arrays.iter().map(Vec::len), entries.parents, positions)?;
        let stored = description.arrays.iter().zip(arrays);
        let stored = stored.map(|(spec, elements)| self.store(spec, site, elements));
        let arrays = Arrays(stored.collect::<Result<_, LevelError>>()?);
        Ok(Assembled {
            arrays,
            position: of_children(&segments.child, &position, positions),
            positions,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let Inner { level, description, code, .. } = &*self.0;
        if code.is_none() {
            return parents.times(site.size);
        }
        let elements: Vec<Vec<i64>> = arrays.0.iter().map(IndexArray::to_vec).collect();
        let intervals = parents.intervals().map(|i| abi::Interval { lo: i.start, hi: i.end });
        let intervals: Vec<abi::Interval> = intervals.collect();
        let reached = level.check(&site_of(site), &elements, (parents.positions, &intervals));
        let (positions, listed) = reached.map_err(|failed| failed.of(description.name))?;
        if positions > MAX_POSITIONS {
            return Err(
                self.defective(format!("`check` says that there are {positions} positions"))
            );
        }
        self.lengths(elements.iter().map(Vec::len), parents.positions, positions)?;
        let intervals = listed.map(|listed| listed.into_iter().map(|i| i.lo..i.hi).collect());
        Ok(Reach { positions, intervals })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        match &self.0.code {
            Some((walked, _)) => walked.walk(site, b),
            None => full::walk(site),
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        match &self.0.code {
            Some((_, located)) => located.as_ref().map(|located| located.locate(site, crd, b)),
            None => Some(full::locate(site, crd, b)),
        }
    }

    fn insert(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        crd: Crd,
    ) -> Result<Option<Change>, LevelError> {
        let level = &self.0.level;
        self.changed(arrays, |elements| level.insert(&site_of(site), elements, parent, crd))
    }

    fn remove(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        pos: Pos,
    ) -> Result<Option<Change>, LevelError> {
        let level = &self.0.level;
        self.changed(arrays, |elements| level.remove(&site_of(site), elements, parent, pos))
    }

    /// Texts of levels stand for formats whose last level they are.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let shape: Vec<u64> = stats.shape.iter().map(|&extent| extent as u64).collect();
        let statistics = abi::Statistics {
            shape: std::ptr::null(),
            rank: 0,
            entries: stats.entries,
            runs: stats.runs,
            span: stats.span,
            value_bytes: stats.value_bytes as u64,
            full: abi::Text { data: std::ptr::null(), len: 0 },
        };
        let full = registry::full().unwrap_or_default();
        let texts = self.0.level.candidates((&shape, &full), statistics).into_iter();
        let format = |text: String| match text.contains("->") {
            true => Some(text),
            false => stats.along_last(&text),
        };
        texts.filter_map(format).collect()
    }

    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let Population { parents, stored, runs, span } = *population;
        let population_of = abi::Population { parents, stored, runs, span };
        match self.0.level.footprint(&site_of(site), &population_of) {
            Some(abi::Footprint { positions, bytes }) => Footprint { positions, bytes },
            None => Footprint::described(&self.0.description, site, population),
        }
    }
}
