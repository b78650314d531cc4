//! The contract of a level type, tried on one level alone: no engine, no format, but for the formats
//! that it offers itself.
//!
//! Entries are assembled; the arrays are checked, walked and searched through the interpreter; and
//! every promise that [`LevelType`](ust_level_api::LevelType) documents is compared with what comes back.

mod candidates;
mod change;
mod elsewhere;
mod entries;
mod footprint;
mod machine;
mod properties;
mod refuse;

use entries::Column;
use machine::{Machine, Visit};
use ust_level_api::registry::{self, LevelArgs, LevelFactory};
use ust_level_api::{Assembled, LevelError, Place, Pos, Site};

use crate::report::{Case, Trouble, Verdict, ensure, wrong};
use crate::samples::{self, Needs, Sample};

/// Tries the contract of every sample of a level type.
#[must_use]
pub fn cases(factory: &'static LevelFactory, seed: u64) -> Vec<Case> {
    let mut cases: Vec<Case> = factory
        .samples
        .iter()
        .map(|&text| Case::run("level/sample", text, || is_accepted(factory.name, text)))
        .collect();
    cases.push(Case::run("level/sample", factory.name, || {
        ensure(!factory.samples.is_empty(), || "it has no samples to try".to_owned())
    }));
    for sample in samples::of(factory) {
        for (group, property) in PROPERTIES {
            cases.push(Case::run(*group, sample.text, || match property {
                Property::Type(property) => property(&sample),
                Property::Tries(property) => property(&sample, seed),
                Property::Built(property) => for_each(&sample, seed, *property),
            }));
        }
    }
    cases
}

/// What must hold: of a level type with its arguments, of all levels built with it together, or of
/// every one.
enum Property {
    Type(fn(&Sample) -> Verdict),
    Tries(fn(&Sample, u64) -> Verdict),
    Built(fn(&Built<'_>) -> Verdict),
}

const PROPERTIES: &[(&str, Property)] = &[
    ("level/text", Property::Type(text_is_canonical)),
    ("level/place", Property::Type(refusals_help)),
    ("level/assemble", Property::Built(properties::assembles)),
    ("level/check", Property::Built(properties::is_checked)),
    ("level/refuse", Property::Built(refuse::refuses)),
    ("level/walk", Property::Built(properties::is_walked)),
    ("level/locate", Property::Built(properties::is_located)),
    ("level/properties", Property::Built(properties::keeps_its_promises)),
    ("level/footprint", Property::Built(footprint::is_foreseen)),
    ("level/branchless", Property::Type(properties::refuses_a_second_child)),
    ("level/padding", Property::Tries(properties::pads)),
    ("level/candidates", Property::Type(candidates::can_be_built)),
    ("level/capacity", Property::Type(properties::holds_a_fixed_number)),
    ("level/width", Property::Type(properties::widths_are_kept)),
    ("level/change", Property::Built(change::is_followed)),
    ("level/elsewhere", Property::Tries(elsewhere::fetches_what_it_looks_at)),
];

fn is_accepted(name: &str, text: &str) -> Verdict {
    let made = registry::make(&LevelArgs::simple(text))?;
    let known = registry::factories().iter().filter(|f| f.name == name).count();
    ensure(known == 1, || format!("{known} crates register the name `{name}`"))?;
    let other = made.describe().name;
    ensure(registry::factories().iter().any(|f| f.name == other), || {
        format!("it calls itself `{other}`, which nobody registers")
    })
}

fn text_is_canonical(sample: &Sample) -> Verdict {
    let text = &sample.description.text;
    let again = registry::make(&LevelArgs::simple(text))?.describe();
    ensure(again == sample.description, || {
        format!("its canonical text `{text}` makes {again:?}, not {:?}", sample.description)
    })?;
    ensure(sample.ty.describe() == sample.description, || "it describes itself anew".to_owned())
}

/// A place is accepted, or refused with a reason and something to do.
fn refusals_help(sample: &Sample) -> Verdict {
    use ust_level_api::ExprShape::{Dimension, Other, Quotient, Remainder};
    let all = samples::all();
    let parents = all.iter().map(|s| Some(&s.description)).chain([None]);
    let m = modulus(sample).unwrap_or(4);
    let mut places = 0;
    for parent in parents {
        for expr in [
            Dimension { ranged: false },
            Dimension { ranged: true },
            Quotient { divisor: 3 },
            Remainder { modulus: m },
            Remainder { modulus: m + 1 },
            Other,
        ] {
            for last in [true, false] {
                let leading = parent.is_none();
                match sample.ty.fits(&Place { parent, expr, last, single: false, leading }) {
                    Ok(()) => places += 1,
                    Err(LevelError::Misplaced { level, reason, help }) => {
                        let said = [&level, &reason, &help].iter().all(|s| !s.trim().is_empty());
                        ensure(said, || format!("a refusal at {expr:?} says nothing"))?;
                        ensure(level == sample.description.text, || {
                            format!("a refusal is about `{level}`")
                        })?;
                    }
                    Err(other) => return wrong(format!("refused with {other:?}, not `Misplaced`")),
                }
            }
        }
    }
    ensure(places > 0, || {
        "it fits nowhere: link the level types that it stands under, in the test that tries it"
            .to_owned()
    })
}

fn modulus(sample: &Sample) -> Option<u64> {
    match sample.needs {
        Needs::Remainder(m) => Some(m),
        _ => None,
    }
}

/// A level with its arrays, and the truth about them.
struct Built<'a> {
    sample: &'a Sample,
    site: Site,
    column: &'a Column,
    made: Assembled,
}

impl Built<'_> {
    fn machine(&self) -> Machine<'_> {
        Machine::new(self.sample, &self.site, &self.made.arrays)
    }

    /// What an entry became: parent, coordinate, position.
    fn children(&self) -> impl Iterator<Item = Visit> + '_ {
        let rows = self.column.parent.iter().zip(&self.column.crd);
        let positions = self.made.position.to_vec();
        rows.zip(positions).map(|((&parent, &crd), pos)| Visit { parent, crd, pos: pos as Pos })
    }
}

fn for_each(sample: &Sample, seed: u64, property: fn(&Built<'_>) -> Verdict) -> Verdict {
    let mut held = 0;
    for (site, column) in entries::tries(sample, seed) {
        let entries = column.entries();
        let made = match sample.ty.assemble(&site, &entries) {
            Ok(made) => made,
            Err(LevelError::CannotHold { .. }) if has_limits(sample) => continue,
            Err(other) => return wrong(format!("{site:?} {column}: {other}")),
        };
        held += usize::from(!column.parent.is_empty());
        property(&Built { sample, site: site.clone(), column: &column, made }).map_err(
            |trouble| match trouble {
                Trouble::Wrong(text) => Trouble::Wrong(format!("{site:?} {column}: {text}")),
                excluded @ Trouble::Excluded(_) => excluded,
            },
        )?;
    }
    ensure(held > 0, || "it holds no entries at all".to_owned())
}

/// Whether the level may refuse entries for want of room.
pub(crate) fn has_limits(sample: &Sample) -> bool {
    sample.description.props.bounded
}
