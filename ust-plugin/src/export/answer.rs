//! What a level type of Rust answers, in the words of the ABI.

use ust_level_api::{
    Arg, Arrays, Assembled, Change, Description, Entries, IndexArray, LevelArgs, LevelError,
    LevelFactory, LevelType, Place, Population, Pos, Reach, Role, Site, TensorStats, WalkKind,
};

use super::leading;
use crate::abi::{self, Code};
use crate::form::{print_located, print_walked};
use crate::words::{self, kept};

/// A level, with all texts that the host asks for.
pub(super) struct Exported {
    pub(super) ty: Box<dyn LevelType>,
    pub(super) level: Description,
    pub(super) arrays: Vec<abi::ArraySpec>,
    pub(super) walk: String,
    /// Empty if only walking finds a coordinate.
    pub(super) locate: String,
}

/// A text of this library.
pub(super) fn given(text: &str) -> abi::Text {
    abi::Text { data: text.as_ptr().cast(), len: text.len() as u64 }
}

impl Exported {
    pub(super) fn make(factory: &LevelFactory, args: Vec<Arg>) -> Result<Self, LevelError> {
        let ty = (factory.make)(&LevelArgs { name: factory.name.to_owned(), args })?;
        let level = ty.describe();
        let arrays = level.arrays.iter().map(|spec| {
            let ((role, kind), (per, length)) = (words::role(spec.role), words::per(spec.per));
            let (name, length) = (given(spec.name), given(length));
            abi::ArraySpec { name, length, role, per, kind, min_bits: spec.min_bits }
        });
        let arrays = arrays.collect();
        // The host has its own walk of full levels.
        let (walk, locate) = match level.props.full {
            true => Default::default(),
            false => (print_walked(&*ty), print_located(&*ty).unwrap_or_default()),
        };
        Ok(Self { ty, level, arrays, walk, locate })
    }

    pub(super) fn describe(&self) -> abi::Description {
        abi::Description {
            text: given(&self.level.text),
            mlir: given(&self.level.mlir),
            arrays: self.arrays.as_ptr(),
            array_count: self.arrays.len() as u64,
            properties: words::bits(self.level.props),
            locate: words::cost(self.level.locate),
            traits: if self.ty.joins_alike() { abi::JOINS_ALIKE } else { 0 }
                | if self.ty.is_batch() { abi::BATCH } else { 0 },
        }
    }

    /// Whether it fits at a place, under the level above.
    pub(super) fn fits(&self, above: Option<Above>, place: &abi::Place) -> Result<(), LevelError> {
        at(above, place, |place| self.ty.fits(place))
    }

    /// Its relaxed form, as text.
    pub(super) fn relaxed(&self) -> Option<&'static str> {
        self.ty.relaxed().map(|form| kept(&form.describe().text))
    }

    /// Its form for a place, as text.
    pub(super) fn adapted(&self, above: Option<Above>, place: &abi::Place) -> Option<&'static str> {
        let form = at(above, place, |place| self.ty.adapted(place));
        form.map(|form| kept(&form.describe().text))
    }

    pub(super) fn assemble(
        &self,
        site: &abi::Site,
        offsets: &[i64],
        crd: Vec<i64>,
        alike: Option<Vec<bool>>,
    ) -> Result<Assembled, LevelError> {
        let mut parent = Vec::with_capacity(crd.len());
        for (at, pair) in (0..).zip(offsets.windows(2)) {
            parent.resize(pair[1] as usize, at);
        }
        // The host stores numbers in the widths of the format, and refuses those that do not fit.
        let site = Site { pos_width: 0, crd_width: 0, ..site_of(site) };
        let mut entries = Entries::new(offsets.len() as Pos - 1, parent, crd);
        entries.distinct = self.level.props.unique;
        entries.alike = alike.map(Into::into);
        let made = self.ty.assemble(&site, &entries)?;
        made.position.fetch()?;
        Ok(made)
    }

    pub(super) fn check(
        &self,
        site: &abi::Site,
        arrays: Vec<Vec<i64>>,
        parents: &Reach,
    ) -> Result<Reach, LevelError> {
        self.ty.check(&site_of(site), &self.stored(arrays)?, parents)
    }

    /// The arrays of the level, of their elements.
    fn stored(&self, arrays: Vec<Vec<i64>>) -> Result<Arrays, LevelError> {
        let stored = self.level.arrays.iter().zip(arrays).map(|(spec, elements)| match spec.role {
            Role::Own(kind) => Ok(IndexArray::store(kind, &elements, spec.name, "kind")?),
            Role::Position | Role::Coordinate => Ok(IndexArray::from(elements)),
        });
        Ok(Arrays(stored.collect::<Result<_, LevelError>>()?))
    }

    /// Changes arrays; gives what is done, and the arrays after it.
    pub(super) fn changed(
        &self,
        site: &abi::Site,
        arrays: Vec<Vec<i64>>,
        change: impl FnOnce(&dyn LevelType, &Site, &mut Arrays) -> Result<Option<Change>, LevelError>,
    ) -> Result<Option<(Change, Arrays)>, LevelError> {
        let (site, mut arrays) = (site_of(site), self.stored(arrays)?);
        Ok(change(&*self.ty, &site, &mut arrays)?.map(|change| (change, arrays)))
    }

    pub(super) fn footprint(
        &self,
        site: &abi::Site,
        population: &abi::Population,
    ) -> abi::Footprint {
        let abi::Population { parents, stored, runs, span } = *population;
        let population = Population { parents, stored, runs, span };
        let found = self.ty.footprint(&site_of(site), &population);
        abi::Footprint { positions: found.positions, bytes: found.bytes }
    }

    pub(super) fn candidates(
        &self,
        statistics: &abi::Statistics,
        shape: Vec<usize>,
        full: &str,
    ) -> Vec<String> {
        let abi::Statistics { entries, runs, span, value_bytes, .. } = *statistics;
        let value_bytes = value_bytes as usize;
        leading::register(full);
        self.ty.candidates(&TensorStats {
            shape,
            entries,
            runs,
            span,
            value_bytes,
            ..TensorStats::default()
        })
    }
}

/// The level above: its name, its text, its properties, and the cost of its search.
pub(super) type Above = (String, String, u32, u32);

/// Asks about a place, under the level above.
fn at<T>(above: Option<Above>, place: &abi::Place, ask: impl FnOnce(&Place<'_>) -> T) -> T {
    let parent = above.and_then(|(name, text, properties, locate)| {
        let (props, locate) = (words::props(properties)?, words::cost_of(locate)?);
        let (name, mlir, walk) = (kept(&name), text.clone(), WalkKind::Other);
        Some(Description { name, text, mlir, props, arrays: Vec::new(), walk, locate })
    });
    let expr = words::expression_of(place.expression, place.number);
    let [last, single, leading] = [place.last, place.single, place.leading].map(|is| is != 0);
    ask(&Place { parent: parent.as_ref(), expr, last, single, leading })
}

fn site_of(site: &abi::Site) -> Site {
    let abi::Site { size, lower, max_positions, pos_width, crd_width, room } = *site;
    Site { size, lower, pos_width, crd_width, max_positions, room: room != 0, items: 1 }
}

/// An error as the ABI has it: code, two numbers, subject and message.
pub(super) fn refusal(error: LevelError) -> (Code, [i64; 2], String, String) {
    match error {
        LevelError::BadArgument { argument, help, .. } => {
            (abi::BAD_ARGUMENT, [0; 2], argument, help)
        }
        LevelError::Misplaced { reason, help, .. } => (abi::MISPLACED, [0; 2], reason, help),
        LevelError::CannotHold { parent, crd, reason } => {
            (abi::CANNOT_HOLD, [parent as i64, crd], String::new(), reason)
        }
        LevelError::Invalid { array, index, found, rule } => {
            (abi::INVALID, [index as i64, found], array, rule)
        }
        LevelError::Length { array, found, expected } => {
            (abi::LENGTH, [found as i64, 0], array, expected)
        }
        LevelError::Overflow { what, detail } => (abi::TOO_LARGE, [0; 2], what, detail),
        LevelError::Defective { fault, .. } => (abi::FAILED, [0; 2], String::new(), fault),
        error => (abi::FAILED, [0; 2], String::new(), error.to_string()),
    }
}
