//! Registration while a program runs: of level types that a library brings, which the program loads.

use std::sync::{PoisonError, RwLock};

use super::{Alias, LevelFactory, linked};

/// Level types registered so far. None is ever removed.
static LATE: RwLock<Vec<&'static LevelFactory>> = RwLock::new(Vec::new());

/// The level types registered while the program runs.
pub(super) fn registered() -> Vec<&'static LevelFactory> {
    LATE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Registers level types: all of them, or none. Every format text may then use their names, until the program
/// ends. Names that are written in format texts begin with a letter, and consist of letters, digits and `_`.
///
/// # Errors
/// [`RegisterError`] if a name is none, or taken.
pub fn register(new: Vec<LevelFactory>) -> Result<(), RegisterError> {
    let mut late = LATE.write().unwrap_or_else(PoisonError::into_inner);
    let known: Vec<&LevelFactory> = linked().chain(late.iter().copied()).collect();
    for (at, factory) in new.iter().enumerate() {
        let others = || known.iter().copied().chain(&new[..at]);
        for name in names(factory) {
            if !is_word(name.name) {
                return Err(RegisterError::NoName { name: name.name.to_owned() });
            }
            let by = others().find(|other| names(other).any(|taken| taken == name));
            let own = names(factory).filter(|&own| own == name).count();
            if by.is_some() || own > 1 {
                let by = by.map_or(factory.name, |by| by.name).to_owned();
                return Err(RegisterError::Taken { name: name.name.to_owned(), by });
            }
        }
    }
    late.extend(new.into_iter().map(|factory| &*Box::leak(Box::new(factory))));
    Ok(())
}

/// The names of a level type: its own, and its aliases. An alias with an argument is another name than that without.
fn names(factory: &LevelFactory) -> impl Iterator<Item = Alias> + '_ {
    let own = Alias { name: factory.name, with: None };
    std::iter::once(own).chain(factory.aliases.iter().copied())
}

fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Why level types were not registered.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// No format text could use the name.
    #[error(
        "`{name}` is no name of a level type: a name begins with a letter, and consists of letters, digits and `_`"
    )]
    NoName {
        /// The name.
        name: String,
    },
    /// Another level type has the name.
    #[error("the name `{name}` is taken by the level type `{by}`")]
    Taken {
        /// The name.
        name: String,
        /// The level type that has it.
        by: String,
    },
}

crate::debug_shows_message!(RegisterError);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LevelError;
    use crate::registry::{LevelArgs, factories, make};

    fn factory(name: &'static str, aliases: &'static [Alias]) -> LevelFactory {
        let refuse = &|args: &LevelArgs| Err(args.all_bad("it takes nothing".to_owned()));
        LevelFactory { name, aliases, summary: "", make: refuse, samples: &[] }
    }

    #[test]
    fn names_are_registered_together_and_once() {
        const ALIAS: &[Alias] = &[Alias { name: "late_alias", with: None }];
        const WITH: &[Alias] = &[Alias { name: "late_first", with: Some("other") }];
        assert_eq!(
            register(vec![factory("late_first", &[]), factory("late_second", ALIAS)]),
            Ok(())
        );
        let names = || factories().iter().map(|f| f.name).collect::<Vec<_>>();
        assert_eq!(names(), ["late_first", "late_second"]);
        for (new, name, by) in [
            (
                vec![factory("late_third", &[]), factory("late_first", &[])],
                "late_first",
                "late_first",
            ),
            (vec![factory("late_alias", &[])], "late_alias", "late_second"),
            (vec![factory("late_third", ALIAS)], "late_alias", "late_second"),
            (
                vec![factory("late_third", &[]), factory("late_third", &[])],
                "late_third",
                "late_third",
            ),
            (vec![factory("late_alias", ALIAS)], "late_alias", "late_second"),
        ] {
            let (name, by) = (name.to_owned(), by.to_owned());
            assert_eq!(register(new), Err(RegisterError::Taken { name, by }));
        }
        for name in ["", "two words", "1st", "a-b", "é"] {
            let refused = register(vec![factory(name, &[])]);
            assert_eq!(refused, Err(RegisterError::NoName { name: name.to_owned() }), "{name}");
        }
        assert_eq!(names(), ["late_first", "late_second"]);
        // With its argument, an alias is another name.
        assert_eq!(register(vec![factory("late_third", WITH)]), Ok(()));
        assert_eq!(names(), ["late_first", "late_second", "late_third"]);
        let made = make(&LevelArgs::simple("late_first(now)"));
        let LevelError::BadArgument { level, .. } = (match made {
            Err(crate::registry::MakeError::Level(error)) => error,
            other => panic!("{other:?}"),
        }) else {
            panic!("refused for another reason")
        };
        assert_eq!(level, "late_first");
    }
}
