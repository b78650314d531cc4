//! What is linked: every registered level type, with the arguments that its crate wants tried.

use ust_level_api::registry::{self, LevelArgs, LevelFactory};
use ust_level_api::{Description, LevelType};

/// A level type with arguments.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The registered name.
    pub name: &'static str,
    /// As written in the registration.
    pub text: &'static str,
    /// The level type.
    pub ty: Box<dyn LevelType>,
    /// What it says of itself.
    pub description: Description,
}

/// Every sample of every registered level type. A sample that its own crate refuses is left out:
/// [`mod@crate::level`] reports it.
#[must_use]
pub fn all() -> Vec<Sample> {
    registry::factories().into_iter().flat_map(of).collect()
}

/// The samples of one level type.
pub fn of(factory: &'static LevelFactory) -> impl Iterator<Item = Sample> {
    factory.samples.iter().filter_map(|&text| {
        let ty = registry::make(&LevelArgs::simple(text)).ok()?;
        Some(Sample { name: factory.name, text, description: ty.describe(), ty })
    })
}

/// A few samples that stand for all as neighbours: of each level type the first, and the first that
/// is not unique.
#[must_use]
pub fn representatives(samples: &[Sample]) -> Vec<&Sample> {
    let mut chosen: Vec<&Sample> = Vec::new();
    for sample in samples {
        let unique = sample.description.props.unique;
        let seen = |s: &&&Sample| s.name == sample.name && s.description.props.unique == unique;
        if !chosen.iter().any(|s| seen(&s)) {
            chosen.push(sample);
        }
    }
    chosen
}
