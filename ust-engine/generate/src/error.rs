//! What can be wrong with a generator's text, said so that a person can mend it.

use std::fmt;
use std::ops::Range;

use ust_format::error::marked;

/// An error in the text of a generated tensor: what is wrong, and where.
///
/// [`Display`](fmt::Display) gives the message, the text with a mark under the spot, and help.
#[derive(Clone, PartialEq, Eq)]
pub struct GenerateError {
    /// The text as given.
    pub text: String,
    /// The bytes of the text that are meant.
    pub span: Range<usize>,
    /// What is wrong with them.
    pub kind: GenerateErrorKind,
}

/// What is wrong with a generator's text.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateErrorKind {
    /// The text cannot be read.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// What could stand here.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// A number too large to be meant.
    #[error("the number {digits} is too large")]
    Number {
        /// The number as written.
        digits: String,
    },
    /// No generator of this name.
    #[error("unknown generator `{name}`")]
    UnknownGenerator {
        /// The name as written.
        name: String,
        /// The known name that is most like it.
        nearest: Option<&'static str>,
    },
    /// The generator has no such parameter.
    #[error("`{generator}` has no parameter `{name}`")]
    UnknownParameter {
        /// The generator.
        generator: &'static str,
        /// The name as written.
        name: String,
        /// The known name that is most like it.
        nearest: Option<&'static str>,
        /// How the generator is written.
        usage: String,
    },
    /// An argument without a name, where only the first may be.
    #[error("only the first argument of `{generator}` may stand without its name")]
    Unnamed {
        /// The generator.
        generator: &'static str,
        /// How the generator is written.
        usage: String,
    },
    /// A parameter given twice.
    #[error("`{parameter}` is given twice")]
    Repeated {
        /// The parameter.
        parameter: &'static str,
    },
    /// A parameter that has no default is not given.
    #[error("`{generator}` needs `{parameter}`: {what}")]
    Missing {
        /// The generator.
        generator: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What the parameter means.
        what: &'static str,
        /// How the generator is written.
        usage: String,
    },
    /// So many extents are not what the parameter takes.
    #[error("`{parameter}` takes {expected}, not {found}")]
    Extents {
        /// The parameter.
        parameter: &'static str,
        /// What it takes.
        expected: String,
        /// How many are written.
        found: usize,
    },
    /// A number that does not suit the others.
    #[error("`{parameter}` = {found}: {rule}")]
    Value {
        /// The parameter.
        parameter: &'static str,
        /// Its number.
        found: u64,
        /// The rule that it breaks, with the numbers that would do.
        rule: String,
    },
    /// More entries than can be made or held.
    #[error("too large: {0}")]
    TooLarge(String),
}

ust_level_api::debug_shows_message!(GenerateErrorKind, GenerateError);

impl GenerateError {
    /// What to do about it, where more can be said than the message says.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        use GenerateErrorKind as Kind;
        match &self.kind {
            Kind::UnknownGenerator { nearest: Some(name), .. }
            | Kind::UnknownParameter { nearest: Some(name), .. } => {
                Some(format!("did you mean `{name}`?"))
            }
            Kind::UnknownGenerator { nearest: None, .. } => {
                let names: Vec<&str> = super::generators().iter().map(|g| g.name).collect();
                Some(format!("known generators: {}", names.join(", ")))
            }
            Kind::UnknownParameter { usage, .. }
            | Kind::Unnamed { usage, .. }
            | Kind::Missing { usage, .. } => Some(format!("it is written `{usage}`")),
            _ => None,
        }
    }
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.kind, marked(&self.text, self.span.clone()))?;
        match self.help() {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for GenerateError {}
