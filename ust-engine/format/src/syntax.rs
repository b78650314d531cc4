//! The syntax tree of format text: names are not resolved yet, and each part keeps its place in the
//! text.

use std::ops::Range;

use ust_level_api::LevelArgs;

use super::spec::{Slice, Sorted};

/// A range of bytes of the text.
pub(super) type Span = Range<usize>;

/// A name, and its place.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

/// A format.
#[derive(Clone, Debug)]
pub(super) struct FormatSyntax {
    /// Level names declared in front, `{ ib, jb }`.
    pub(super) declared: Option<(Vec<Name>, Span)>,
    /// MLIR's symbols, `[c]`, which stand for counters.
    pub(super) symbols: Vec<Name>,
    pub(super) dims: Vec<DimSyntax>,
    /// The list of dimensions with its parentheses.
    pub(super) dims_span: Span,
    pub(super) levels: Vec<LevelSyntax>,
    pub(super) attributes: Attributes,
}

#[derive(Clone, Debug)]
pub(super) struct DimSyntax {
    pub(super) name: Name,
    pub(super) inverse: Option<ExprSyntax>,
    pub(super) sorted: Option<Sorted>,
    pub(super) slice: Option<Slice>,
}

#[derive(Clone, Debug)]
pub(super) struct LevelSyntax {
    pub(super) name: Option<Name>,
    pub(super) expr: ExprSyntax,
    pub(super) ty: LevelArgs,
    pub(super) ty_span: Span,
    pub(super) arg_spans: Vec<Span>,
}

#[derive(Clone, Debug)]
pub(super) struct ExprSyntax {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Number(i64),
    Name(String),
    /// `#i` or `#(i, j)`: the number of an entry among those with these coordinates.
    Counter(Vec<Name>),
    Negated(Box<ExprSyntax>),
    Binary(Operator, Box<ExprSyntax>, Box<ExprSyntax>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    FloorDiv,
    Mod,
}

/// The attributes after the map, such as `posWidth = 32`.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    pub(super) pos_width: Option<(u32, Span)>,
    pub(super) crd_width: Option<(u32, Span)>,
    pub(super) explicit_val: Option<String>,
    pub(super) implicit_val: Option<String>,
}
