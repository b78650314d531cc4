//! Registration of level types: a level crate submits a [`LevelFactory`], and every program that
//! links the crate can write the name of the level type in a format.
//!
//! The linker drops a crate that no code names, together with its registration. A program that
//! wants a level type therefore says once: `use my_level_crate as _;`.
//!
//! Level types that are not linked are registered while the program runs: [`register`].

mod late;

use std::fmt;

pub use late::{RegisterError, register};

use crate::error::LevelError;
use crate::level::{Description, ExprShape, LevelType, Place};

/// A level type, as registered by its crate.
///
/// ```ignore
/// inventory::submit! {
///     LevelFactory {
///         name: "compressed",
///         aliases: &[],
///         summary: "coordinates of the nonzeros, one segment for each parent",
///         make: &|args| Ok(Box::new(Compressed::from_args(args)?)),
///         samples: &["compressed", "compressed(nonunique)"],
///     }
/// }
/// ```
pub struct LevelFactory {
    /// The name in format text.
    pub name: &'static str,
    /// Other spellings.
    pub aliases: &'static [Alias],
    /// One line for `ust levels`.
    pub summary: &'static str,
    /// Makes the level type from its arguments. If an alias was written, its own argument
    /// ([`Alias::with`]) is already removed.
    pub make: &'static Make,
    /// Level texts, with and without arguments, that the tests try. `make` accepts each of them.
    pub samples: &'static [&'static str],
}

/// A function that makes a level type from its arguments.
pub type Make = dyn Fn(&LevelArgs) -> Result<Box<dyn LevelType>, LevelError> + Send + Sync;

inventory::collect!(LevelFactory);

/// Another spelling of a level type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The other name.
    pub name: &'static str,
    /// The argument that must be written for the alias to apply. It is removed from the arguments
    /// that `make` gets. `None`: the alias applies with any arguments.
    pub with: Option<&'static str>,
}

/// A level as written in format text: name and arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelArgs {
    /// The name.
    pub name: String,
    /// The arguments, in order.
    pub args: Vec<Arg>,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A word, such as `nonunique`.
    Name(String),
    /// A number, such as the 2 in `structured(2, 4)`.
    Int(u64),
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Name(name) => f.write_str(name),
            Arg::Int(int) => write!(f, "{int}"),
        }
    }
}

impl LevelArgs {
    /// Reads `name` or `name(arg, ...)`, for samples and tests. It reports no errors; format text
    /// goes through the engine's parser, whose errors point at the fault.
    #[must_use]
    pub fn simple(text: &str) -> Self {
        let (name, rest) = text.split_once('(').unwrap_or((text, ""));
        let args = rest
            .trim_end_matches(')')
            .split(',')
            .map(str::trim)
            .filter(|arg| !arg.is_empty())
            .map(|arg| arg.parse().map_or_else(|_| Arg::Name(arg.to_owned()), Arg::Int))
            .collect();
        Self { name: name.trim().to_owned(), args }
    }

    /// Reads properties that are on or off. `known` has a pair for each property: the word that
    /// switches it on, such as `nonunique`, and the word for the opposite, such as `unique` (empty
    /// if there is none). Returns for each pair whether its first word was written.
    ///
    /// # Errors
    /// [`LevelError::BadArgument`] for a word that is not known, written twice, or written together
    /// with its opposite.
    pub fn switches<const N: usize>(
        &self,
        known: [(&str, &str); N],
    ) -> Result<[bool; N], LevelError> {
        let mut seen = [None; N];
        for arg in &self.args {
            let word = arg.to_string();
            let found = known.iter().position(|&(on, off)| word == on || word == off);
            let Some(at) = found else {
                let words: Vec<&str> = known
                    .iter()
                    .flat_map(|&(on, off)| [on, off])
                    .filter(|w| !w.is_empty())
                    .collect();
                let help = if words.is_empty() {
                    "it takes no arguments".to_owned()
                } else {
                    format!("it takes {}", words.join(", "))
                };
                return Err(self.bad(arg, help));
            };
            let on = word == known[at].0;
            match seen[at] {
                None => seen[at] = Some(on),
                Some(before) if before == on => {
                    return Err(self.bad(arg, "it is written twice".to_owned()));
                }
                Some(_) => {
                    let help = format!(
                        "`{}` and `{}` contradict each other: keep one",
                        known[at].0, known[at].1
                    );
                    return Err(self.bad(arg, help));
                }
            }
        }
        Ok(seen.map(|s| s.unwrap_or(false)))
    }

    /// Reads exactly `N` numbers. `help` says in an error what the level type takes.
    ///
    /// ```
    /// use ust_level_api::{LevelArgs, LevelError};
    ///
    /// struct Slots(u64);
    ///
    /// fn make(args: &LevelArgs) -> Result<Slots, LevelError> {
    ///     match args.numbers("it takes the number of slots, as in `slots(4)`")? {
    ///         [slots @ 1..=64] => Ok(Slots(slots)),
    ///         _ => Err(args.all_bad("it takes a number from 1 to 64".to_owned())),
    ///     }
    /// }
    ///
    /// assert_eq!(make(&LevelArgs::simple("slots(4)"))?.0, 4);
    /// for wrong in ["slots", "slots(4, 4)", "slots(many)", "slots(0)"] {
    ///     assert!(make(&LevelArgs::simple(wrong)).is_err());
    /// }
    /// # Ok::<(), ust_level_api::LevelError>(())
    /// ```
    ///
    /// # Errors
    /// [`LevelError::BadArgument`] for another number of arguments, and for words.
    pub fn numbers<const N: usize>(&self, help: &str) -> Result<[u64; N], LevelError> {
        let number = |arg: &Arg| match arg {
            Arg::Int(number) => Some(*number),
            Arg::Name(_) => None,
        };
        let found: Option<Vec<u64>> = self.args.iter().map(number).collect();
        found.and_then(|found| found.try_into().ok()).ok_or_else(|| self.all_bad(help.to_owned()))
    }

    /// An error about all arguments together, such as their number.
    #[must_use]
    pub fn all_bad(&self, help: String) -> LevelError {
        let all: Vec<String> = self.args.iter().map(ToString::to_string).collect();
        LevelError::BadArgument { level: self.name.clone(), argument: all.join(", "), help }
    }

    /// An error about one of the arguments.
    #[must_use]
    pub fn bad(&self, arg: &Arg, help: String) -> LevelError {
        LevelError::BadArgument { level: self.name.clone(), argument: arg.to_string(), help }
    }
}

impl fmt::Display for LevelArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (at, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg}", if at == 0 { "(" } else { ", " })?;
        }
        if !self.args.is_empty() {
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// The kinds of expressions that [`expressions`] tries: a dimension, within a sum or difference above
/// and without, a quotient, a counter, any other, and remainders by small numbers.
pub fn expressions_tried() -> impl Iterator<Item = ExprShape> {
    let dimensions = [false, true].map(|ranged| ExprShape::Dimension { ranged });
    let remainders = (2..=64).map(|modulus| ExprShape::Remainder { modulus });
    dimensions
        .into_iter()
        .chain([ExprShape::Quotient { divisor: 4 }, ExprShape::Counter, ExprShape::Other])
        .chain(remainders)
}

/// The expressions that a level type stores, of [`expressions_tried`]: those with which it
/// [fits](LevelType::fits) somewhere, first or under a sample of a registered level type, last or
/// not. Cost: some thousand questions.
#[must_use]
pub fn expressions(level: &dyn LevelType) -> Vec<ExprShape> {
    let samples = factories().into_iter().flat_map(|factory| factory.samples);
    let parents: Vec<Description> =
        samples.filter_map(|text| Some(make(&LevelArgs::simple(text)).ok()?.describe())).collect();
    let fits = |&expr: &ExprShape| {
        parents.iter().map(Some).chain([None]).any(|parent| {
            [true, false].iter().any(|&last| {
                let leading = parent.is_none();
                level.fits(&Place { parent, expr, last, single: false, leading }).is_ok()
            })
        })
    };
    expressions_tried().filter(fits).collect()
}

/// The text of a full level type that stores a dimension. `None` if none is linked.
#[must_use]
pub fn full() -> Option<String> {
    let expr = ExprShape::Dimension { ranged: false };
    let place = Place { parent: None, expr, last: false, single: false, leading: true };
    let samples = factories().into_iter().flat_map(|factory| factory.samples);
    let levels = samples.filter_map(|text| make(&LevelArgs::simple(text)).ok());
    let mut fitting = levels
        .filter(|level| !level.is_batch() && level.fits(&place).is_ok())
        .map(|level| level.describe());
    fitting.find(|level| level.props.full && !level.props.padded).map(|level| level.text)
}

/// Why the text of a level could not be made into a level type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// Nobody registered this name.
    #[error("unknown level type `{name}`; known: {}. {}", known.join(", "), of_another_crate(&format!("`{name}`")))]
    Unknown {
        /// The name as written.
        name: String,
        /// Every registered name, sorted.
        known: Vec<&'static str>,
    },
    /// The level type refused its arguments.
    #[error(transparent)]
    Level(#[from] LevelError),
}

crate::debug_shows_message!(MakeError);

/// How level types come into a program other than by linking their crate, such as by [`register`]: a sentence for
/// messages. Whoever offers it submits it.
pub struct Source(pub &'static str);

inventory::collect!(Source);

/// What to do about a name that no linked crate registers, for messages: the crate that registers it has to
/// be linked, or another [source](Source) asked.
#[must_use]
pub fn of_another_crate(name: &str) -> String {
    let linked = format!(
        "If another crate has {name}, link it: a dependency in Cargo.toml, and `use that_crate as _;`"
    );
    let mut others: Vec<&str> =
        inventory::iter::<Source>.into_iter().map(|other| other.0).collect();
    others.sort_unstable();
    others.iter().fold(linked, |text, other| format!("{text}. {other}"))
}

/// Every registered level type, sorted by name. If two crates register one name, both are listed.
#[must_use]
pub fn factories() -> Vec<&'static LevelFactory> {
    let mut all: Vec<&LevelFactory> = linked().chain(late::registered()).collect();
    all.sort_by_key(|f| f.name);
    all
}

/// The level types of the crates that are linked.
fn linked() -> impl Iterator<Item = &'static LevelFactory> {
    inventory::iter::<LevelFactory>.into_iter()
}

/// Makes a level type from its name and arguments. An alias whose argument is written takes
/// precedence over the level type of that name: `compressed(high)` is the alias, not `compressed`.
///
/// # Errors
/// [`MakeError`] if no linked crate registered the name, or the level type refuses the arguments.
pub fn make(args: &LevelArgs) -> Result<Box<dyn LevelType>, MakeError> {
    let all = factories();
    for factory in &all {
        for alias in factory.aliases.iter().filter(|a| a.name == args.name) {
            let Some(with) = alias.with else { return Ok((factory.make)(args)?) };
            if let Some(at) = args.args.iter().position(|a| a.to_string() == with) {
                let mut rest = args.clone();
                rest.args.remove(at);
                return Ok((factory.make)(&rest)?);
            }
        }
    }
    match all.iter().find(|f| f.name == args.name) {
        Some(factory) => Ok((factory.make)(args)?),
        None => Err(MakeError::Unknown {
            name: args.name.clone(),
            known: all.iter().map(|f| f.name).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [(&str, &str); 2] = [("nonunique", "unique"), ("soa", "")];

    #[test]
    fn switches_are_read_in_any_order_with_their_positive_spelling() {
        let read = |text: &str| LevelArgs::simple(text).switches(KNOWN);
        assert_eq!(read("x"), Ok([false, false]));
        assert_eq!(read("x(soa, nonunique)"), Ok([true, true]));
        assert_eq!(read("x(unique)"), Ok([false, false]));
    }

    #[test]
    fn numbers_are_read_if_they_are_as_many_as_wanted() {
        let read = |text: &str| LevelArgs::simple(text).numbers::<2>("it takes two");
        assert_eq!(read("x(7, 3)"), Ok([7, 3]));
        for (text, argument) in
            [("x", ""), ("x(1)", "1"), ("x(1, 2, 3)", "1, 2, 3"), ("x(1, a)", "1, a")]
        {
            let (level, argument) = ("x".to_owned(), argument.to_owned());
            let help = "it takes two".to_owned();
            assert_eq!(read(text), Err(LevelError::BadArgument { level, argument, help }));
        }
    }

    #[test]
    fn contradictions_repetitions_and_strangers_are_refused() {
        for text in ["x(unique, nonunique)", "x(soa, soa)", "x(7)", "x(dense)"] {
            assert!(LevelArgs::simple(text).switches(KNOWN).is_err(), "{text}");
        }
    }
}
