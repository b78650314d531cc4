//! Compositions: a tensor as a sum of parts in different formats, with rules that say which entries each part takes.
//!
//! ```text
//! composition := part { '+' part }
//! part        := format [ 'where' rule ]
//! rule        := measure ('<' | '<=' | '>' | '>=') number
//! measure     := '#' dim | '#' '(' dims ')' | ('count' | 'fill') '(' exprs ')'
//! ```
//!
//! (Bell and Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors", 2009: HYB is
//! `ELL where #i < 16 + COO`.)

mod parse;

use std::fmt;
use std::str::FromStr;

use super::error::FormatError;
use super::expr::{IndexExpr, Spelling};
use super::model::Format;
use super::spec::Counter;

/// How the entries of a tensor are shared among parts in different formats. An entry belongs to the first part whose
/// rule it meets; the last part has no rule and takes the rest.
///
/// It is made from text with [`FromStr`], and printed with [`Display`](fmt::Display).
///
/// ```
/// use ust::format::Composition;
///
/// let hyb: Composition = "ELL where #i < 16 + COO".parse()?;
/// assert_eq!(hyb.parts().len(), 2);
/// assert_eq!(hyb.to_string(), "ELL where #i < 16 + COO");
/// let bands: Composition = "DIA where fill(j - i) >= 0.6 + CSR".parse()?;
/// assert_eq!(bands.to_string(), "DIA-I where fill(j - i) >= 0.6 + CSR");
/// # Ok::<(), ust::format::FormatError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Composition {
    parts: Vec<(Format, Option<Rule>)>,
}

/// Which entries a part takes: those whose measure compares with a number as said. Only entries that no earlier part
/// took are measured and counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What is measured.
    pub measure: Measure,
    /// How it compares.
    pub compare: Compare,
    /// The number that it is compared with.
    pub number: f64,
}

/// A property of an entry. Variables of expressions are dimensions.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// `#i`: the number of the entry among those with the same `i`, from 0, in the order of coordinates.
    Number(Counter),
    /// `count(i / 4, j / 4)`: the number of entries with the same values of these expressions, itself included.
    Count(Vec<IndexExpr>),
    /// `fill(j - i)`: that number, divided by the number of elements of the tensor with these values.
    Fill(Vec<IndexExpr>),
}

/// A comparison with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Compare {
    /// Whether a measure compares with the number.
    #[must_use]
    pub fn holds(self, measure: f64, number: f64) -> bool {
        match self {
            Self::Less => measure < number,
            Self::AtMost => measure <= number,
            Self::Greater => measure > number,
            Self::AtLeast => measure >= number,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

impl Composition {
    /// Reads the text of a composition. Families of formats without a number (`COO`, `Dense`) take their order from
    /// `rank`, or else from the other parts. Cost: that of reading the formats.
    ///
    /// # Errors
    /// The fault in the text, and its place.
    pub fn resolve(text: &str, rank: Option<usize>) -> Result<Self, FormatError> {
        parse::composition(text, rank)
    }

    /// The formats of the parts, in order, each with its rule. All but the last have one.
    #[must_use]
    pub fn parts(&self) -> &[(Format, Option<Rule>)] {
        &self.parts
    }

    /// The format, if there is one part alone.
    #[must_use]
    pub fn only(&self) -> Option<&Format> {
        match &self.parts[..] {
            [(format, _)] => Some(format),
            _ => None,
        }
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.parts[0].0.rank()
    }
}

/// One part, which takes all entries.
impl From<Format> for Composition {
    fn from(format: Format) -> Self {
        Self { parts: vec![(format, None)] }
    }
}

impl FromStr for Composition {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        Self::resolve(text, None)
    }
}

/// The text, with names for the formats that have one.
impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter().map(|(format, rule)| {
            let named = format.named();
            let (text, dims) = match &named {
                Some((name, named)) => (name.clone(), named.dims()),
                None => (format.to_string(), format.dims()),
            };
            let names: Vec<&str> = dims.iter().map(|dim| dim.name.as_str()).collect();
            match rule {
                None => text,
                Some(rule) => format!("{text} where {}", rule.display(&names)),
            }
        });
        f.pad(&parts.collect::<Vec<_>>().join(" + "))
    }
}

impl fmt::Debug for Composition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Composition({self})")
    }
}

impl Format {
    /// The name of the format, if it has one that reads back as this very format, or else its text. Cost: as
    /// [`Format::name`].
    #[must_use]
    pub fn name_or_text(&self) -> String {
        self.named().map_or_else(|| self.to_string(), |(name, _)| name)
    }

    /// The name, and the format that it stands for, with its own names of dimensions.
    fn named(&self) -> Option<(String, Self)> {
        let name = self.name()?;
        let named = Self::resolve(&name, None).ok()?;
        (named == *self).then_some((name, named))
    }
}

impl Rule {
    /// The rule as text, such as `fill(j - i) >= 0.6`, with these names of dimensions.
    #[must_use]
    pub fn display<S: AsRef<str>>(&self, names: &[S]) -> String {
        let list = |exprs: &[IndexExpr]| {
            let exprs = exprs.iter().map(|expr| expr.display(names, Spelling::Ust));
            exprs.collect::<Vec<_>>().join(", ")
        };
        let measure = match &self.measure {
            Measure::Number(counter) => counter.text(names),
            Measure::Count(exprs) => format!("count({})", list(exprs)),
            Measure::Fill(exprs) => format!("fill({})", list(exprs)),
        };
        format!("{measure} {} {}", self.compare.text(), self.number)
    }
}
