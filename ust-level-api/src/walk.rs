//! Cursors: what a level hands to the engine's loops.
//!
//! A level never writes a loop over its children; it describes a *cursor*, and the engine turns
//! cursors into loops, merges several of them, or splits them among threads. The cursor is an
//! integer that runs from `lo` up to `hi`; at each stop, [`Walk::step`] emits the code that gives
//! the child's coordinate and position.
//!
//! | a level whose cursor is … | example | [`WalkKind`] |
//! |---|---|---|
//! | the child's position | compressed: `crd[p]` is the coordinate | [`WalkKind::Position`] |
//! | the child's coordinate | dense: `parent * size + i` is the position | [`WalkKind::Coordinate`] |
//! | something else | hashed: a slot, with a guard | [`WalkKind::Other`] |

use crate::ir::{ArrayId, BinOp, Builder, Expr};

/// The code of one step of a cursor, or of one step forward.
pub type Emit<'a, T> = Box<dyn Fn(&mut Builder, Expr) -> T + 'a>;

/// Half-open interval of `int` expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// First.
    pub lo: Expr,
    /// Bound, exclusive.
    pub hi: Expr,
}

impl Interval {
    /// The interval that holds one number.
    #[must_use]
    pub fn one(at: Expr) -> Self {
        Self { hi: at.clone() + 1, lo: at }
    }

    /// Whether the interval was written as a single number, `[p, p + 1)`.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.hi == self.lo.clone() + 1
    }
}

/// What the engine tells a level that is walked or searched.
#[derive(Clone, Debug)]
pub struct WalkSite {
    /// The arrays that the level owns, in the order of its description.
    pub arrays: Vec<ArrayId>,
    /// Number of coordinates at this level.
    pub size: Expr,
    /// The smallest coordinate (0, but for levels whose expression can be negative).
    pub lower: Expr,
    /// Where a coordinate can be valid, given the coordinates of the levels above. Never wider than
    /// `lower .. lower + size`. Cursors over coordinates stay inside; cursors over stored positions
    /// need not look.
    pub bounds: Interval,
    /// The parents whose children are walked: one, or for levels that walk by position and are
    /// `contiguous`, possibly a run of neighbours.
    pub parent: Interval,
}

/// What runs along the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WalkKind {
    /// The cursor is the child's position.
    Position,
    /// The cursor is the child's coordinate.
    Coordinate,
    /// The cursor is neither.
    Other,
}

/// A cursor over the children of an interval of parents.
pub struct Walk<'a> {
    /// What runs along.
    pub kind: WalkKind,
    /// Where the cursor stands.
    pub cursor: Interval,
    /// Emits coordinate and position of the child at the cursor.
    pub step: Emit<'a, Step>,
    /// Emits what carries state from this stop to the next (a running sum), after the child was
    /// handled and before the cursor moves on by one.
    pub advance: Option<Emit<'a, ()>>,
}

impl Walk<'_> {
    /// A cursor over positions whose coordinates stand in an array, one for each position.
    #[must_use]
    pub fn positions(cursor: Interval, crd: ArrayId) -> Self {
        Self {
            kind: WalkKind::Position,
            cursor,
            step: Box::new(move |b, pos| Step {
                crd: b.load(crd, pos.clone()),
                pos,
                guard: None,
                run: None,
            }),
            advance: None,
        }
    }
}

/// A child under the cursor.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its coordinate.
    pub crd: Expr,
    /// Its position.
    pub pos: Expr,
    /// Where this is given and false, no child stands here (an empty slot, a zero bit).
    pub guard: Option<Expr>,
    /// Where this is given, the child stands for so many coordinates, from `crd` upwards, all at
    /// one position (run-length encoding).
    pub run: Option<Expr>,
}

/// Where a coordinate was found.
#[derive(Clone, Debug)]
pub struct Located {
    /// Its position, defined where `found` is true.
    pub pos: Expr,
    /// Whether it is stored.
    pub found: Expr,
}

/// Emits a binary search for a coordinate among `crd[lo .. hi]`, ascending and distinct.
///
/// Loads stay inside the interval, whatever the coordinate. Cost: O(log(hi - lo)).
pub fn binary_search(b: &mut Builder, crd: ArrayId, segment: Interval, wanted: Expr) -> Located {
    let wanted = b.bind("wanted", wanted);
    let end = b.bind("end", segment.hi);
    let lo = b.var("at", segment.lo);
    let hi = b.var("above", end.clone());
    b.while_(Expr::from(lo).lt(hi), |b| {
        let middle =
            b.bind("middle", Expr::binary(BinOp::Shr, Expr::from(lo) + Expr::from(hi), 1.into()));
        let below = b.load(crd, middle.clone()).lt(wanted.clone());
        b.if_else(below, |b| b.assign(lo, middle.clone() + 1), |b| b.assign(hi, middle.clone()));
    });
    let inside = Expr::from(lo).lt(end);
    let found = inside.select(b.load(crd, lo.into()).equals(wanted), Expr::Bool(false));
    Located { pos: lo.into(), found }
}
