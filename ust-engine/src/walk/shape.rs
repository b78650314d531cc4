//! The shapes of levels: how a level stores its children, read off the IR that the level emits for its
//! walk. Kernels are chosen by shapes, so that a level type of any crate gets the kernels of its shape.

use ust_format::Format;
use ust_level_api::ir::{Builder, Elem, Expr, IndexKind, Stmt, Ty};
use ust_level_api::{Description, Interval, ItemSite, Run, Step, WalkKind, WalkSite, full};

/// How a level stores the children of each parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Every coordinate has a position: `parent * size + (coordinate - lower)`. The level has no arrays.
    Full,
    /// Children have consecutive positions. One of the level's arrays holds the coordinate at each
    /// position.
    Listed {
        /// The number of that array among the arrays of the level.
        crd: usize,
        /// The positions of the children of a parent.
        children: Children,
    },
    /// Another shape.
    Other,
}

/// The positions of the children of a parent, where they are consecutive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Children {
    /// From `pos[parent]` up to `pos[parent + 1]`. The number of `pos` among the arrays of the level.
    Segment(usize),
    /// This many, from `parent * number` on.
    Fixed(u64),
    /// Elsewhere.
    Elsewhere,
}

impl Shape {
    /// The shape of a level of a format. Cost: that of emitting the level's walk.
    #[must_use]
    pub fn of(format: &Format, level: usize) -> Self {
        if format.descriptions()[level].props.full {
            return Self::Full;
        }
        match listed(format, level) {
            Some((crd, children, Passed::None)) => Self::Listed { crd, children },
            _ => Self::Other,
        }
    }
}

/// The array of coordinates, and where the children are, of a level that lists its children among places that are
/// empty, as slots of tables are: there, the coordinate is one past the last one of the level, or more.
pub(crate) fn listed_with_gaps(format: &Format, level: usize) -> Option<(usize, Children)> {
    match listed(format, level)? {
        (crd, children, Passed::Beyond) => Some((crd, children)),
        _ => None,
    }
}

/// The coordinates that a walk passes over.
enum Passed {
    None,
    /// Those beyond the level.
    Beyond,
}

/// The array of coordinates, and where the children are, of a level whose walk reads the coordinate of each position.
fn listed(format: &Format, level: usize) -> Option<(usize, Children, Passed)> {
    let mut b = Builder::new("shape");
    let site = site_of(&mut b, &format.descriptions()[level]);
    let (parent, cursor) = (site.parent.lo.clone(), b.param("cursor", Ty::Int));
    let walk = format.levels()[level].ty.walk(&site, &mut b);
    if walk.kind != WalkKind::Position || walk.advance.is_some() {
        return None;
    }
    let Step { crd, pos, guard, run } = (walk.step)(&mut b, cursor.clone());
    let Interval { lo, hi } = walk.cursor;
    // A level may give names to what it computes.
    let function = b.finish();
    if !function.body.iter().all(|stmt| matches!(stmt, Stmt::Let(..) | Stmt::Comment(_))) {
        return None;
    }
    let names = function.first_names();
    let meant = |expr: &Expr| expr.replaced(&|var| names.get(&var).cloned());
    let [crd, pos, lo, hi] = [crd, pos, lo, hi].map(|expr| meant(&expr));
    // What has a name is loaded, whether it is used or not.
    let mut elsewhere = false;
    names.values().for_each(|named| {
        meant(named).visit(&mut |expr| {
            let is_load = matches!(expr, Expr::Load(..));
            elsewhere |= is_load && ![&crd, &lo, &hi].contains(&expr);
        });
    });
    if elsewhere || pos != cursor || run.is_some() {
        return None;
    }
    let passed = match guard.map(|guard| meant(&guard)) {
        None => Passed::None,
        Some(guard) if guard == crd.clone().lt(site.lower.clone() + site.size.clone()) => {
            Passed::Beyond
        }
        Some(_) => return None,
    };
    let loaded = |expr: &Expr, at: &Expr| match expr {
        Expr::Load(array, index) if **index == *at => {
            site.arrays.iter().position(|own| own == array)
        }
        _ => None,
    };
    let crd = loaded(&crd, &cursor)?;
    let pos =
        loaded(&lo, &parent).filter(|_| loaded(&lo, &parent) == loaded(&hi, &(parent.clone() + 1)));
    let children = pos.map(Children::Segment).or_else(|| fixed(&lo, &hi, &parent));
    Some((crd, children.unwrap_or(Children::Elsewhere), passed))
}

/// Whether the walk of a full level is emitted as that of other full levels: it visits all coordinates, each at the
/// position that full levels give it, and runs nothing else.
pub(crate) fn follows_formula(format: &Format, level: usize) -> bool {
    let mut b = Builder::new("formula");
    let site = site_of(&mut b, &format.descriptions()[level]);
    let cursor = b.param("cursor", Ty::Int);
    let (own, wanted) = (format.levels()[level].ty.walk(&site, &mut b), full::walk(&site));
    let [at, wanted_at] = [&own, &wanted].map(|walk| (walk.step)(&mut b, cursor.clone()));
    own.kind == wanted.kind
        && (&own.cursor.lo, &own.cursor.hi) == (&wanted.cursor.lo, &wanted.cursor.hi)
        && (at.crd, at.pos) == (wanted_at.crd, wanted_at.pos)
        && at.guard.is_none()
        && at.run.is_none()
        && own.advance.is_none()
        && b.finish().body.is_empty()
}

/// The form of the children at a stop of a level's cursor, where there are several. Its expressions have no meaning.
pub(crate) fn run_of(format: &Format, level: usize) -> Option<Run> {
    let mut b = Builder::new("run");
    let site = site_of(&mut b, &format.descriptions()[level]);
    let walk = format.levels()[level].ty.walk(&site, &mut b);
    (walk.step)(&mut b, walk.cursor.lo.clone()).run
}

/// The arguments of a level's walk under one parent, as parameters and arrays of a function that is looked
/// at, not run.
pub(crate) fn site_of(b: &mut Builder, level: &Description) -> WalkSite {
    let array = |b: &mut Builder, name| b.array(name, Elem::Index(IndexKind::I64), false);
    let arrays = level.arrays.iter().map(|spec| array(b, spec.name)).collect();
    let [parent, size, lower, lo, hi] =
        ["parent", "size", "lower", "lo", "hi"].map(|name| b.param(name, Ty::Int));
    let site = WalkSite {
        arrays,
        size,
        lower,
        bounds: Interval { lo, hi },
        parent: Interval::one(parent),
        item: None,
    };
    // A level below a batch asks for its place there.
    let [item, parents, positions] =
        ["item", "parents", "positions"].map(|name| b.param(name, Ty::Int));
    let elements = level.arrays.iter().map(|spec| b.param(spec.name, Ty::Int)).collect();
    let site_there = site.clone();
    let of_item = ItemSite { item, parents, positions, elements, site: site_there, last: None };
    WalkSite { item: Some(Box::new(of_item)), ..site }
}

/// An interval from `parent * number` up to `(parent + 1) * number`.
fn fixed(lo: &Expr, hi: &Expr, parent: &Expr) -> Option<Children> {
    let number = match (lo, hi) {
        (lo, _) if lo == parent => 1,
        (Expr::Binary(_, a, b), _) => match (&**a, &**b) {
            (Expr::Int(number), _) | (_, Expr::Int(number)) => *number,
            _ => return None,
        },
        _ => return None,
    };
    let times = |parent: Expr| match number {
        1 => parent,
        number => parent * number,
    };
    let next = parent.clone() + 1;
    let ends = [times(next.clone()), times(parent.clone()) + number];
    (*lo == times(parent.clone()) && ends.contains(hi))
        .then(|| u64::try_from(number).ok().map(Children::Fixed))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_shapes_of_their_arrays() {
        let shapes = |text: &str| {
            let format: Format = text.parse().unwrap();
            (0..format.level_count()).map(|level| Shape::of(&format, level)).collect::<Vec<_>>()
        };
        let listed = |crd, children| Shape::Listed { crd, children };
        let segments = listed(1, Children::Segment(0));
        assert_eq!(shapes("CSR"), [Shape::Full, segments]);
        assert_eq!(shapes("DCSR"), [segments, segments]);
        assert_eq!(shapes("COO"), [segments, listed(0, Children::Fixed(1))]);
        assert_eq!(shapes("DIA-I"), [segments, Shape::Full]);
        assert_eq!(shapes("2:4"), [Shape::Full, Shape::Full, listed(0, Children::Fixed(2))]);
        let loose = shapes("(i, j) -> (i : dense, j : loose_compressed)");
        assert_eq!(loose, [Shape::Full, listed(1, Children::Elsewhere)]);
        let hashed: Format = "(i, j) -> (i : dense, j : hashed)".parse().unwrap();
        assert_eq!(Shape::of(&hashed, 1), Shape::Other);
        assert_eq!(super::listed_with_gaps(&hashed, 1), Some((1, Children::Segment(0))));
        let csr: Format = "(i, j) -> (i : dense, j : compressed)".parse().unwrap();
        assert_eq!(super::listed_with_gaps(&csr, 1), None);
    }
}
