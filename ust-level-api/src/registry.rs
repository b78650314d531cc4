//! How a level type becomes known: its crate submits a [`LevelFactory`], and whoever links that
//! crate can write its name in a format.
//!
//! A crate that nobody names is dropped by the linker together with its registration. The program
//! that wants a level type says so once: `use my_level_crate as _;`.

use std::fmt;

use crate::error::LevelError;
use crate::level::LevelType;

/// A level type, as registered by its crate.
///
/// ```ignore
/// inventory::submit! {
///     LevelFactory {
///         name: "compressed",
///         aliases: &[],
///         summary: "coordinates of the nonzeros, one segment for each parent",
///         make: |args| Ok(Box::new(Compressed::from_args(args)?)),
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
    /// Makes the level type with the arguments as written (the alias's own argument taken off).
    pub make: fn(&LevelArgs) -> Result<Box<dyn LevelType>, LevelError>,
    /// Texts with the arguments that tests should try, each of which `make` accepts.
    pub samples: &'static [&'static str],
}

inventory::collect!(LevelFactory);

/// Another spelling of a level type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The other name.
    pub name: &'static str,
    /// An argument that must be present for the alias to be meant, and that is then taken off.
    pub with: Option<&'static str>,
}

/// A level type as written: name and arguments.
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
    /// Reads `name` or `name(arg, ...)`: the plain form, for samples and tests. Format text goes
    /// through the engine's parser, which reports errors with a caret.
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

    /// Reads properties that are on or off, such as `nonunique` with its positive spelling
    /// `unique`. `known` pairs each word that switches a property with its opposite (empty where
    /// there is none). Gives, for each pair, whether the first word was written.
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

/// A level type's text that cannot be made into a level type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// Nobody registered this name.
    #[error("unknown level type `{name}`; known: {}", known.join(", "))]
    Unknown {
        /// The name as written.
        name: String,
        /// Every registered name, sorted.
        known: Vec<&'static str>,
    },
    /// Its arguments are off.
    #[error(transparent)]
    Level(#[from] LevelError),
}

crate::debug_shows_message!(MakeError);

/// Every registered level type, sorted by name. Two crates that register the same name both appear.
#[must_use]
pub fn factories() -> Vec<&'static LevelFactory> {
    let mut all: Vec<&LevelFactory> = inventory::iter::<LevelFactory>.into_iter().collect();
    all.sort_by_key(|f| f.name);
    all
}

/// Makes a level type from its text. Aliases with a matching argument win over plain names.
///
/// # Errors
/// [`MakeError`] when nobody registered the name, or its arguments are off.
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
    fn contradictions_repetitions_and_strangers_are_refused() {
        for text in ["x(unique, nonunique)", "x(soa, soa)", "x(7)", "x(dense)"] {
            assert!(LevelArgs::simple(text).switches(KNOWN).is_err(), "{text}");
        }
    }
}
