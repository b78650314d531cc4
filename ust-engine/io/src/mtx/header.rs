//! The header of a Matrix Market file: its first line, and the line of sizes.

use ust_level_api::Dtype;

use super::super::about::About;
use super::super::number;
use super::super::text::{Fault, Line, Lines, Token};

/// The character that starts a comment.
pub(super) const COMMENT: &[u8] = b"%";

/// The layout of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One entry a line, with its coordinates; the number of entries.
    Coordinate(usize),
    /// Every value, with the first dimension fastest.
    Array,
}

/// The kind of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Real,
    Integer,
    Unsigned,
    Complex,
    Pattern,
}

/// The symmetry. It says which entries the file leaves out because others imply them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// The header. `body` is the offset of the line after it.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) layout: Layout,
    pub(super) field: Field,
    pub(super) symmetry: Symmetry,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) body: usize,
}

impl Header {
    pub(super) fn parse(text: &[u8]) -> Result<Self, Fault> {
        let mut lines = Lines::new(text, 0..text.len(), b"");
        let Some(mut first) = lines.next() else {
            return Err(Fault::new(0, "the file is empty: `%%MatrixMarket ...` was expected"));
        };
        let banner = first.token();
        // Old writers put a single `%` at the start.
        if !banner.is_some_and(|t| t.is("%%MatrixMarket") || t.is("%MatrixMarket")) {
            let at = banner.map_or(0, |t| t.at);
            return Err(Fault::new(
                at,
                "no Matrix Market file: it does not start with `%%MatrixMarket`",
            ));
        }
        word(&mut first, "object", &[("matrix", ())])?;
        let (array, _) = word(&mut first, "layout", &[("coordinate", false), ("array", true)])?;
        let fields = [
            ("real", Field::Real),
            ("integer", Field::Integer),
            ("complex", Field::Complex),
            ("pattern", Field::Pattern),
            ("double", Field::Real),
            ("unsigned-integer", Field::Unsigned),
        ];
        let (field, field_token) = word(&mut first, "field", &fields)?;
        let symmetries = [
            ("general", Symmetry::General),
            ("symmetric", Symmetry::Symmetric),
            ("skew-symmetric", Symmetry::Skew),
            ("hermitian", Symmetry::Hermitian),
        ];
        let (symmetry, token) = word(&mut first, "symmetry", &symmetries)?;
        first.finish()?;
        match (field, symmetry) {
            (Field::Pattern, _) if array => {
                return Err(
                    field_token.fault("an array has values: `pattern` needs `coordinate`".into())
                );
            }
            (Field::Complex, Symmetry::Hermitian) => {}
            (_, Symmetry::Hermitian) => {
                return Err(token.fault("`hermitian` needs the field `complex`".into()));
            }
            (Field::Pattern | Field::Unsigned, Symmetry::Skew) => {
                return Err(
                    token.fault(format!("`{field_token}` values have no negative: not `{token}`"))
                );
            }
            _ => {}
        }
        let mut lines = Lines::new(text, lines.at()..text.len(), COMMENT);
        let expected = if array { "rows and columns" } else { "rows, columns and entries" };
        let Some(mut line) = lines.next() else {
            let reason = format!("the file ends before the line with the numbers of {expected}");
            return Err(Fault::new(text.len(), reason));
        };
        let mut at = line.clone().token().map_or(line.at(), |t| t.at);
        let rows = number::size(line.expect("number of rows")?, "number of rows")?;
        let columns = number::size(line.expect("number of columns")?, "number of columns")?;
        let layout = if array {
            Layout::Array
        } else {
            Layout::Coordinate(number::size(
                line.expect("number of entries")?,
                "number of entries",
            )?)
        };
        line.finish()?;
        if symmetry != Symmetry::General && rows != columns {
            at = at.min(text.len());
            let reason =
                format!("a matrix of {rows} x {columns} is not square, hence not `{token}`");
            return Err(Fault::new(at, reason));
        }
        Ok(Self { layout, field, symmetry, rows, columns, body: lines.at() })
    }
}

impl Header {
    /// The same for users.
    pub(super) fn about(&self) -> About {
        let (format, stored) = match self.layout {
            Layout::Coordinate(entries) => ("COO", Some(entries as u64)),
            Layout::Array if self.symmetry == Symmetry::General => {
                ("Dense", (self.rows as u64).checked_mul(self.columns as u64))
            }
            Layout::Array => ("Dense", None),
        };
        let dtype = match self.field {
            Field::Real | Field::Pattern => Dtype::F64,
            Field::Integer => Dtype::I64,
            Field::Unsigned => Dtype::U64,
            Field::Complex => Dtype::Complex128,
        };
        About {
            shape: Some(vec![self.rows, self.columns]),
            dtype: Some(dtype),
            format: Some(format.to_owned()),
            stored,
            symmetry: match self.symmetry {
                Symmetry::General => None,
                Symmetry::Symmetric => Some("symmetric"),
                Symmetry::Skew => Some("skew-symmetric"),
                Symmetry::Hermitian => Some("Hermitian"),
            },
            pattern: self.field == Field::Pattern,
            ..About::default()
        }
    }
}

/// The next token of the first line, which must be in the table.
fn word<'a, T: Copy>(
    line: &mut Line<'a>,
    what: &str,
    table: &[(&str, T)],
) -> Result<(T, Token<'a>), Fault> {
    let known = || table.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let Some(token) = line.token() else {
        let reason = format!("the line ends before its {what}: {}", known());
        return Err(Fault::new(line.at(), reason));
    };
    table
        .iter()
        .find(|(name, _)| token.is(name))
        .map(|&(_, value)| (value, token))
        .ok_or_else(|| token.fault(format!("unknown {what} `{token}`; known: {}", known())))
}
