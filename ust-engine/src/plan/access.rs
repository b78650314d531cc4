//! An access to a tensor, as the planner sees it: its levels as expressions over index variables.

use ust_format::{ExprKey, Format, IndexExpr};
use ust_level_api::ir::{Builder, Expr, Stmt};
use ust_level_api::{LocateCost, Per, Props, Run, WalkKind};

use super::order::Tree;
use crate::provider::plan::LevelSize;
use crate::storage::Outline;
use crate::walk::shape::site_of;

/// An access to a tensor.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The index variable of each dimension, and of each counter.
    pub(crate) dims: Vec<usize>,
    /// Its levels, outermost first.
    pub(crate) levels: Vec<Level>,
    /// For each dimension, its coordinate as an expression over level coordinates.
    pub(crate) inverse: Vec<IndexExpr>,
    /// Whether every level is full.
    pub(crate) full: bool,
    /// Number of stored elements.
    pub(crate) nse: f64,
    /// Whether it cannot be converted: its format counts, and the expression has no index for that.
    pub(crate) fixed: bool,
}

/// A level of an accessed tensor.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// The level expression, over index variables.
    pub(crate) expr: IndexExpr,
    /// Equal for levels with equal expressions.
    pub(crate) key: ExprKey,
    /// The index variables in the expression.
    pub(crate) vars: Vec<usize>,
    /// The properties of the level. Here, unique means: no coordinate repeats under all parents with
    /// the same coordinates together.
    pub(crate) props: Props,
    /// Its cursor.
    pub(crate) cursor: Cursor,
    /// Whether the level below can be walked under several parents with equal coordinates at once.
    pub(crate) groups: bool,
    /// The cost to find a coordinate under one coordinate of the level above.
    pub(crate) locate: LocateCost,
    /// Number of coordinates.
    pub(crate) size: f64,
    /// Number of positions.
    pub(crate) positions: f64,
    /// Coordinates under one coordinate of the level above, on average.
    pub(crate) fanout: f64,
}

impl Access {
    pub(crate) fn new(tensor: &Outline, dims: &[usize]) -> Self {
        let format = tensor.format();
        let domains = tensor.bound().levels();
        let mut parents = 1.0;
        let mut repeated = false;
        // Positions with the same coordinates so far, on average.
        let mut run = 1.0;
        let mut levels = Vec::with_capacity(format.level_count());
        for (at, spec) in format.levels().iter().enumerate() {
            let description = &format.descriptions()[at];
            let expr = spec.expr.renamed(dims);
            let size = domains[at].size as f64;
            let positions = positions(tensor, at, parents, size);
            let children = if parents > 0.0 { run * positions / parents } else { 0.0 };
            let fanout = match description.props.unique {
                true => children,
                false => distinct(children, size),
            };
            run = if fanout > 0.0 { children / fanout } else { 1.0 };
            let cursor = Cursor::of(format, at);
            let locate = match (repeated, cursor.is_searchable()) {
                (false, _) => description.locate,
                // The search is among the children of several parents.
                (true, true) => LocateCost::Logarithmic,
                (true, false) => LocateCost::None,
            };
            let mut props = description.props;
            // Below a level that stores a coordinate once for each entry (COO), only the last level that is
            // not full is unique. The levels between repeat coordinates, too.
            props.unique &= !repeated || at + 1 >= format.tail();
            repeated |= !props.unique;
            levels.push(Level {
                key: ExprKey::new(&expr),
                vars: expr.vars().into_iter().collect(),
                expr,
                props,
                cursor,
                groups: can_group(format, at),
                locate,
                size,
                positions,
                fanout,
            });
            parents = positions;
        }
        let full = levels.iter().all(|level| level.props.full);
        let inverse = format.inverse().to_vec();
        let fixed = !format.counters().is_empty();
        Self { dims: dims.to_vec(), inverse, full, levels, nse: tensor.nse() as f64, fixed }
    }
}

impl Level {
    /// Whether its cursor can be merged with others: coordinates ascend, and one that repeats can be looked at
    /// before the step.
    pub(crate) fn is_mergeable(&self) -> bool {
        self.cursor.ordered && (self.cursor.plain || self.props.unique)
    }

    /// Its sizes, for providers.
    pub(crate) fn sizes(&self) -> LevelSize {
        let Self { size: coordinates, positions, fanout: children, .. } = *self;
        LevelSize { coordinates, positions, children }
    }
}

impl Access {
    /// Whether the tensor can be walked as it is stored. `plain`: whether repeated coordinates may be
    /// visited one by one.
    pub(crate) fn can_walk(&self, plain: bool) -> bool {
        plain || self.levels.iter().all(|l| l.props.unique || (l.is_mergeable() && l.groups))
    }

    /// Whether a walk may visit the same coordinates as an entry and as padding: several parents with the
    /// same coordinates each have padding in a padded level below.
    pub(crate) fn repeats_padding(&self) -> bool {
        let repeated = self.levels.iter().position(|level| !level.props.unique);
        let below = repeated.map_or(&[][..], |at| &self.levels[at + 1..]);
        below.iter().any(|level| level.props.padded && !level.props.full)
    }
}

/// Whether the level below a level that is not unique can be walked under several parents at once.
fn can_group(format: &Format, level: usize) -> bool {
    let Some(below) = format.descriptions().get(level + 1) else { return true };
    // The padding of one parent stands before the entries of the next, so coordinates do not ascend.
    let ordered = !below.props.full && !below.props.padded;
    ordered && below.props.contiguous && below.walk == WalkKind::Position
}

/// Expected number of distinct values among `count` random ones below `size`.
pub(crate) fn distinct(count: f64, size: f64) -> f64 {
    if size > 0.0 { -size * (-count / size).exp_m1() } else { 0.0 }
}

/// Estimated number of positions of a level.
fn positions(tensor: &Outline, level: usize, parents: f64, size: f64) -> f64 {
    let props = tensor.format().descriptions()[level].props;
    if props.full {
        return parents * size;
    }
    if props.branchless {
        return parents;
    }
    match tensor.array_where(level, |array| array.per == Per::Position) {
        Some((_, length)) => length as f64,
        // No array has an element for each position: an estimate from the stored elements and the size of
        // a block below.
        None => {
            let below = &tensor.bound().levels()[level + 1..];
            let full = tensor.format().descriptions()[level + 1..].iter();
            let block: f64 =
                full.zip(below).filter(|(d, _)| d.props.full).map(|(_, l)| l.size as f64).product();
            tensor.nse() as f64 / block.max(1.0)
        }
    }
}

/// The cursor of a level.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// Whether coordinates ascend.
    pub(crate) ordered: bool,
    /// Whether it stands on one child at each stop, whose coordinate can be read without taking the step.
    pub(crate) plain: bool,
    /// Whether it has state that each step updates, so that a walk cannot begin in the middle.
    pub(crate) carries: bool,
    /// If there are several children at a stop: their form. Its expressions have no meaning.
    pub(crate) run: Option<Run>,
}

impl Cursor {
    fn of(format: &Format, level: usize) -> Self {
        let description = &format.descriptions()[level];
        let mut b = Builder::new("probe");
        let site = site_of(&mut b, description);
        let walk = format.levels()[level].ty.walk(&site, &mut b);
        let carries = walk.advance.is_some();
        let (mut simple, mut run) = (false, None);
        b.while_(Expr::Bool(true), |b| {
            let step = (walk.step)(b, walk.cursor.lo.clone());
            simple = step.guard.is_none() && step.run.is_none();
            run = step.run;
        });
        let function = b.finish();
        // A step that needs statements cannot be evaluated without being taken.
        let silent =
            matches!(function.body.last(), Some(Stmt::While { body, .. }) if body.is_empty());
        let plain = simple && silent && description.walk != WalkKind::Other;
        Self { ordered: description.props.ordered, plain, carries, run }
    }

    /// Whether coordinates at a stop are decoded one after another.
    pub(crate) fn decodes(&self) -> bool {
        matches!(self.run, Some(Run::Coded(_)))
    }

    /// Whether a binary search finds a coordinate.
    pub(crate) fn is_searchable(&self) -> bool {
        self.ordered && self.plain && !self.carries
    }
}

/// Whether a stored value may stand for several elements, because a level has one position for a run of coordinates.
pub(crate) fn shares_positions(format: &Format) -> bool {
    (0..format.level_count())
        .any(|level| matches!(Cursor::of(format, level).run, Some(Run::Shared(_))))
}

/// A tree of coordinates: a format with one compressed level for each dimension, in the given order.
///
/// # Errors
/// The compressed level type is not linked.
pub(crate) fn tree(order: &[usize]) -> Result<Format, crate::error::Error> {
    tree_with(order, None)
}

/// A tree of coordinates whose first level has the description `first`.
fn tree_with(order: &[usize], first: Option<&str>) -> Result<Format, crate::error::Error> {
    if order.is_empty() {
        return Ok(Format::resolve("Scalar", Some(0))?);
    }
    let plain = Format::tree(order.len())?;
    let dims: Vec<String> = (0..order.len()).map(|d| format!("d{d}")).collect();
    let texts = plain.descriptions().iter().map(|level| &level.text[..]);
    let texts = first.into_iter().chain(texts.skip(usize::from(first.is_some())));
    let levels: Vec<String> =
        order.iter().zip(texts).map(|(d, text)| format!("d{d} : {text}")).collect();
    Ok(Format::of_texts(&dims, &levels)?)
}

/// The format for a tree that an operand is converted into.
///
/// # Errors
/// As [`tree`].
pub(crate) fn converted(into: &Tree) -> Result<Format, crate::error::Error> {
    // If no full level type is linked, the first level is compressed, and searched.
    let full = Format::resolve("Dense", Some(1)).ok().filter(|_| into.full);
    tree_with(&into.dims, full.as_ref().map(|full| &full.descriptions()[0].text[..]))
}
