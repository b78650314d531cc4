//! A use of a tensor, as the planner sees it: its levels as expressions over index variables.

use ust_format::{ExprKey, Format, IndexExpr};
use ust_level_api::ir::{Builder, Elem, Expr, Stmt};
use ust_level_api::{IndexKind, Interval, LocateCost, Props, WalkKind, WalkSite};

use super::order::Tree;
use crate::storage::Tensor;

/// A use of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Which index variable each dimension runs along.
    pub(crate) dims: Vec<usize>,
    /// Its levels, outermost first.
    pub(crate) levels: Vec<Level>,
    /// Each dimension, over level coordinates.
    pub(crate) inverse: Vec<IndexExpr>,
    /// Whether every level is full: any element is found in constant time.
    pub(crate) full: bool,
    /// Number of stored elements.
    pub(crate) nse: f64,
}

/// A level of a used tensor.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// What it stores, over index variables.
    pub(crate) expr: IndexExpr,
    /// Equal for levels that store the same.
    pub(crate) key: ExprKey,
    /// The index variables in the expression.
    pub(crate) vars: Vec<usize>,
    /// Unique: under all positions of the level above that have the same coordinates.
    pub(crate) props: Props,
    /// Whether its cursor can run along with others.
    pub(crate) mergeable: bool,
    /// Whether its cursor carries something from stop to stop, so that it cannot begin in between.
    pub(crate) carries: bool,
    /// Whether positions with equal coordinates can be handed on together.
    pub(crate) groups: bool,
    /// What it costs to find a coordinate under one coordinate of the level above.
    pub(crate) locate: LocateCost,
    /// Number of coordinates.
    pub(crate) size: f64,
    /// Coordinates under one coordinate of the level above, on average.
    pub(crate) fanout: f64,
}

impl Access {
    pub(crate) fn new(tensor: &Tensor, dims: &[usize]) -> Self {
        let format = tensor.format();
        let domains = tensor.bound().levels();
        let mut parents = 1.0;
        let mut repeated = false;
        // How many positions have the same coordinates so far.
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
            let (mergeable, carries) = cursor(format, at);
            let locate = match (repeated, mergeable && !carries) {
                (false, _) => description.locate,
                // Under a run of parents.
                (true, true) => LocateCost::Logarithmic,
                (true, false) => LocateCost::None,
            };
            let mut props = description.props;
            // Below a level that repeats a coordinate for each of its entries, only the last level
            // that is not full tells entries apart. The others repeat coordinates as well.
            props.unique &= !repeated || at + 1 >= format.tail();
            repeated |= !props.unique;
            levels.push(Level {
                key: ExprKey::new(&expr),
                vars: expr.vars().into_iter().collect(),
                expr,
                props,
                mergeable,
                carries,
                groups: can_group(format, at),
                locate,
                size,
                fanout,
            });
            parents = positions;
        }
        let full = levels.iter().all(|level| level.props.full);
        let inverse = format.inverse().to_vec();
        Self { dims: dims.to_vec(), inverse, full, levels, nse: tensor.nse() as f64 }
    }
}

impl Access {
    /// Whether the tensor can be walked as it is stored. `plain` is whether coordinates that
    /// repeat may be visited one by one.
    pub(crate) fn can_walk(&self, plain: bool) -> bool {
        plain || self.levels.iter().all(|l| l.props.unique || (l.mergeable && l.groups))
    }

    /// Whether the same coordinates may be visited several times, as an entry and as padding: each
    /// parent of a padded level with the same coordinates has padding of its own.
    pub(crate) fn repeats_padding(&self) -> bool {
        let repeated = self.levels.iter().position(|level| !level.props.unique);
        let below = repeated.map_or(&[][..], |at| &self.levels[at + 1..]);
        below.iter().any(|level| level.props.padded && !level.props.full)
    }
}

/// Whether the level below a level that is not unique can be walked under a run of parents.
fn can_group(format: &Format, level: usize) -> bool {
    let Some(below) = format.descriptions().get(level + 1) else { return true };
    // Padding of one parent lies among the entries of the next: there is no order.
    let ordered = !below.props.full && !below.props.padded;
    ordered && below.props.contiguous && below.walk == WalkKind::Position
}

/// About how many numbers below `size` occur among so many.
fn distinct(count: f64, size: f64) -> f64 {
    if size > 0.0 { -size * (-count / size).exp_m1() } else { 0.0 }
}

/// About how many positions a level has.
fn positions(tensor: &Tensor, level: usize, parents: f64, size: f64) -> f64 {
    let props = tensor.format().descriptions()[level].props;
    if props.full {
        return parents * size;
    }
    if props.branchless {
        return parents;
    }
    match tensor.crd(level) {
        Some(crd) => crd.len() as f64,
        // Whatever it keeps, the levels below hold the stored elements.
        None => {
            let below = &tensor.bound().levels()[level + 1..];
            let full = tensor.format().descriptions()[level + 1..].iter();
            let block: f64 =
                full.zip(below).filter(|(d, _)| d.props.full).map(|(_, l)| l.size as f64).product();
            tensor.nse() as f64 / block.max(1.0)
        }
    }
}

/// Whether a cursor over a level is nothing but a position or coordinate that moves on by one (no
/// guard, no run, ascending), and whether it carries something from stop to stop.
fn cursor(format: &Format, level: usize) -> (bool, bool) {
    let description = &format.descriptions()[level];
    let mut b = Builder::new("probe");
    let arrays = description.arrays.iter();
    let arrays = arrays.map(|a| b.array(a.name, Elem::Index(IndexKind::I64), false)).collect();
    let mut int = |name: &str| b.param(name, ust_level_api::ir::Ty::Int);
    let (size, parent, lo, hi) = (int("size"), int("parent"), int("lo"), int("hi"));
    let site = WalkSite {
        arrays,
        size,
        lower: Expr::Int(0),
        bounds: Interval { lo, hi },
        parent: Interval::one(parent),
    };
    let walk = format.levels()[level].ty.walk(&site, &mut b);
    let carries = walk.advance.is_some();
    let mut simple = false;
    b.while_(Expr::Bool(true), |b| {
        let step = (walk.step)(b, walk.cursor.lo.clone());
        simple = step.guard.is_none() && step.run.is_none();
    });
    let function = b.finish();
    // A step that needs statements of its own cannot be looked at without being taken.
    let silent = matches!(function.body.last(), Some(Stmt::While { body, .. }) if body.is_empty());
    let plain = simple && silent && description.walk != WalkKind::Other;
    (plain && description.props.ordered, carries)
}

/// A format of compressed levels, one for each dimension, in the given order: a tree of the
/// stored coordinates, which any loop order can walk.
///
/// # Errors
/// The level types that it is made of are not linked.
pub(crate) fn tree(order: &[usize]) -> Result<Format, crate::error::Error> {
    tree_with(order, None)
}

/// A tree, with another level first.
fn tree_with(order: &[usize], first: Option<&str>) -> Result<Format, crate::error::Error> {
    if order.is_empty() {
        return Ok(Format::resolve("Scalar", Some(0))?);
    }
    let plain = Format::resolve("CSF", Some(order.len()))?;
    let dims: Vec<String> = (0..order.len()).map(|d| format!("d{d}")).collect();
    let texts = plain.descriptions().iter().map(|level| &level.text[..]);
    let texts = first.into_iter().chain(texts.skip(usize::from(first.is_some())));
    let levels: Vec<String> =
        order.iter().zip(texts).map(|(d, text)| format!("d{d} : {text}")).collect();
    Ok(Format::of_texts(&dims, &levels)?)
}

/// The format of a tensor that is converted into a tree.
///
/// # Errors
/// As [`tree`].
pub(crate) fn converted(into: &Tree) -> Result<Format, crate::error::Error> {
    // Where no full level is linked, another is searched.
    let full = Format::resolve("Dense", Some(1)).ok().filter(|_| into.full);
    tree_with(&into.dims, full.as_ref().map(|full| &full.descriptions()[0].text[..]))
}
