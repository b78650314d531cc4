//! What is linked: every registered level type, with the arguments that its crate wants tried.

use ust_level_api::registry::{self, LevelArgs, LevelFactory};
use ust_level_api::{Description, ExprShape, LevelType};

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
    /// The expression that it must have.
    pub needs: Needs,
}

/// The expression that a level must have, and which one above makes it possible: what follows from the
/// places that its [`fits`](LevelType::fits) takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A dimension alone will do.
    Nothing,
    /// A remainder by this number, with the quotient above.
    Remainder(u64),
    /// A dimension that occurs in a sum or difference above.
    Ranged,
}

impl Needs {
    fn of(level: &dyn LevelType) -> Self {
        let stored = registry::expressions(level);
        if stored.contains(&ExprShape::Dimension { ranged: false }) {
            return Self::Nothing;
        }
        let needs = stored.iter().find_map(|expr| match *expr {
            ExprShape::Dimension { ranged: true } => Some(Self::Ranged),
            ExprShape::Remainder { modulus } => Some(Self::Remainder(modulus)),
            _ => None,
        });
        needs.unwrap_or(Self::Nothing)
    }
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
        let (description, needs) = (ty.describe(), Needs::of(&*ty));
        Some(Sample { name: factory.name, text, ty, description, needs })
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
