//! What can be wrong with a generator's text, said so that a person can mend it.

use std::fmt;
use std::ops::Range;

/// An error in the text of a generated tensor: what is wrong, and where.
///
/// [`Display`](fmt::Display) gives the message, the text with carets under the spot, and help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// The text as given.
    pub text: String,
    /// The bytes of the text that are meant.
    pub span: Range<usize>,
    /// What is wrong with them.
    pub kind: GenerateErrorKind,
}

/// What is wrong with a generator's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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

    /// The text with carets under the spot, in two lines of at most 100 characters. Of a longer
    /// text the part around the spot is shown.
    #[must_use]
    pub fn excerpt(&self) -> String {
        const BEFORE: usize = 40;
        const LENGTH: usize = 90;
        let text: Vec<char> =
            self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let chars_before = |byte: usize| {
            self.text.char_indices().take_while(|&(at, _)| at < byte).count().min(text.len())
        };
        let (lo, hi) = (chars_before(self.span.start), chars_before(self.span.end));
        let first = if text.len() > LENGTH { lo.saturating_sub(BEFORE) } else { 0 };
        let last = text.len().min(first + LENGTH);
        let shown: String = text[first..last].iter().collect();
        let (head, tail) =
            (if first > 0 { "..." } else { "" }, if last < text.len() { "..." } else { "" });
        let indent = " ".repeat(head.len() + lo - first);
        let carets = "^".repeat(hi.min(last).saturating_sub(lo).max(1));
        format!("{head}{shown}{tail}\n{indent}{carets}")
    }
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        for line in self.excerpt().lines() {
            write!(f, "\n  {line}")?;
        }
        match self.help() {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for GenerateError {}

/// The candidate that is most like the word as written, if any is like it at all: at most a third
/// of its letters differ.
pub(super) fn nearest(
    word: &str,
    candidates: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    if word.len() > 64 {
        return None;
    }
    let written: Vec<char> = word.to_lowercase().chars().collect();
    candidates
        .into_iter()
        .map(|name| (edits(&written, &name.chars().collect::<Vec<_>>()), name))
        .filter(|&(edits, name)| edits <= (name.len().max(written.len())).div_ceil(3))
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be changed, added, taken away or swapped with their neighbour to make one
/// word of the other.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
