//! Cursors: how a level describes the loop over its children.
//!
//! A level never writes this loop; it describes a *cursor*. The engine turns cursors into loops,
//! merges several of them, or splits them among threads. A cursor is an integer that runs from `lo`
//! up to `hi`, exclusive. At each value, [`Walk::step`] emits the code that computes the child's
//! coordinate and position.
//!
//! | the cursor is … | example | [`WalkKind`] |
//! |---|---|---|
//! | the child's position | compressed: the coordinate is `crd[p]` | [`WalkKind::Position`] |
//! | the child's coordinate | dense: the position is `parent * size + i` | [`WalkKind::Coordinate`] |
//! | neither | a hash table: the cursor is a slot, and a guard skips empty ones | [`WalkKind::Other`] |
//! | neither | blocks: the cursor is a block, and has many children at consecutive positions ([`Run`]) | [`WalkKind::Other`] |
//! | neither | a bitmap: the cursor is a word, whose ones are children at consecutive positions ([`Run::Coded`]) | [`WalkKind::Other`] |

use crate::batch::ItemSite;
use crate::ir::idiom::Code;
use crate::ir::{ArrayId, BinOp, Builder, Expr};

/// A function that emits code for one value of a cursor, given as an expression.
pub type Emit<'a, T> = Box<dyn Fn(&mut Builder, Expr) -> T + 'a>;

/// Half-open interval of `int` expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// First value.
    pub lo: Expr,
    /// Bound, exclusive.
    pub hi: Expr,
}

impl Interval {
    /// The interval that holds one number, `[at, at + 1)`.
    #[must_use]
    pub fn one(at: Expr) -> Self {
        Self { hi: at.clone() + 1, lo: at }
    }

    /// Whether the interval holds one number by its form, `[p, p + 1)`.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.hi == self.lo.clone() + 1
    }
}

/// The input of [`LevelType::walk`](crate::LevelType::walk) and
/// [`LevelType::locate`](crate::LevelType::locate).
#[derive(Clone, Debug)]
pub struct WalkSite {
    /// The arrays that the level owns, in the order of its description.
    pub arrays: Vec<ArrayId>,
    /// Number of coordinates at this level.
    pub size: Expr,
    /// The smallest coordinate: 0, unless the level's expression can be negative.
    pub lower: Expr,
    /// The interval of valid coordinates, given the coordinates of the levels above. It lies within
    /// `lower .. lower + size`. A cursor over coordinates must stay inside it; any other may ignore
    /// it.
    pub bounds: Interval,
    /// The parents whose children are walked: a single one, or, for a `contiguous` level whose
    /// cursor is a position, possibly several consecutive ones.
    pub parent: Interval,
    /// Below a batch, the place in the item; for [`Batched`](crate::Batched) alone.
    pub item: Option<Box<ItemSite>>,
}

/// The kind of integer that a cursor is.
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
    /// The kind of the integer.
    pub kind: WalkKind,
    /// The interval that it runs over.
    pub cursor: Interval,
    /// Emits coordinate and position of the child at the cursor.
    pub step: Emit<'a, Step>,
    /// Emits the code that updates state between two values of the cursor, such as the end of the
    /// run before. It runs after the child was handled, before the cursor increases by one.
    pub advance: Option<Emit<'a, ()>>,
}

impl Walk<'_> {
    /// A cursor over positions: `crd` holds the coordinate of each position.
    #[must_use]
    pub fn positions(cursor: Interval, crd: ArrayId) -> Self {
        Self {
            kind: WalkKind::Position,
            cursor,
            step: Box::new(move |b, pos| Step::one(b.load(crd, pos.clone()), pos)),
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
    /// If given and false, there is no child at this value of the cursor (an empty slot, a zero
    /// bit).
    pub guard: Option<Expr>,
    /// If given, there are several children here, from `crd` and `pos` on.
    pub run: Option<Run>,
}

/// Several children at one stop of a cursor. Coordinates ascend.
///
/// The engine makes a loop of them: over contiguous memory, as of a row of a banded matrix or of a block of variable
/// length, or one that decodes coordinates. The cursor is neither position nor coordinate then
/// ([`WalkKind::Other`]), unless all children share a position.
#[derive(Clone, Debug)]
pub enum Run {
    /// So many children with consecutive coordinates, at consecutive positions. There are none if the number is not
    /// positive.
    Consecutive(Expr),
    /// So many children with consecutive coordinates, all at the position of the first (run-length encoding).
    Shared(Expr),
    /// Children at consecutive positions, whose coordinates are in a code that begins with [`Step::crd`].
    Coded(Code),
}

impl Run {
    /// Number of children.
    #[must_use]
    pub fn count(&self) -> Expr {
        match self {
            Self::Consecutive(count) | Self::Shared(count) => count.clone(),
            Self::Coded(code) => code.count(),
        }
    }

    /// Whether all children have one position, and so one value. Otherwise their positions are consecutive.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}

impl Step {
    /// A child at this coordinate and this position.
    #[must_use]
    pub fn one(crd: Expr, pos: Expr) -> Self {
        Self { crd, pos, guard: None, run: None }
    }

    /// Several children, of which the first has this position.
    #[must_use]
    pub fn run(crd: Expr, pos: Expr, run: Run) -> Self {
        Self { crd, pos, guard: None, run: Some(run) }
    }

    /// Where the child at `crd` is, among those of this step. `None` where only decoding them tells.
    #[must_use]
    pub fn locate(&self, crd: Expr) -> Option<Located> {
        let offset = crd.clone() - self.crd.clone();
        let inside = |count: &Expr| {
            self.crd.clone().le(crd.clone()).and(crd.clone().lt(self.crd.clone() + count.clone()))
        };
        Some(match &self.run {
            None => Located { pos: self.pos.clone(), found: self.crd.clone().equals(crd) },
            Some(Run::Shared(count)) => Located { pos: self.pos.clone(), found: inside(count) },
            Some(Run::Consecutive(count)) => Located {
                pos: crd.clone() + (self.pos.clone() - self.crd.clone()),
                found: inside(count),
            },
            Some(Run::Coded(Code::Ones(mask))) => {
                // Its own bit, and those above.
                let rest = mask.clone().shifted(offset.clone());
                let below = mask.clone().count_ones() - rest.clone().count_ones();
                let found = inside(&Expr::Int(64)).and(rest.bit_and(1).equals(1));
                Located { pos: self.pos.clone() + below, found }
            }
            Some(Run::Coded(Code::Gaps { .. })) => return None,
        })
    }
}

/// The result of a search for a coordinate.
#[derive(Clone, Debug)]
pub struct Located {
    /// Its position, defined if `found` is true.
    pub pos: Expr,
    /// Whether it is stored.
    pub found: Expr,
}

/// Emits a binary search for a coordinate in `crd[lo .. hi]`, whose elements are ascending and
/// distinct.
///
/// Loads stay inside the interval, whatever the coordinate is. Cost: O(log(hi - lo)).
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
