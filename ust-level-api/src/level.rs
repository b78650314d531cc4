//! The trait of level types, and the words it speaks.

use std::fmt;

use dyn_clone::DynClone;

use crate::Pos;
use crate::assemble::{Assembled, Entries};
use crate::check::{MAX_POSITIONS, Reach};
use crate::column::IndexColumn;
use crate::error::LevelError;
use crate::index::{IndexArray, IndexKind};
use crate::ir::{Builder, Expr};
use crate::stats::{Footprint, TensorStats};
use crate::walk::{Located, Walk, WalkKind, WalkSite};

/// How one level of a tensor is stored: the contract that a level crate fulfils.
///
/// # Who implements it
///
/// The author of a storage idea: one small object that carries the arguments written in the format
/// text (`compressed(nonunique)` carries `unique: false`), made by a constructor registered as
/// [`LevelFactory`](crate::LevelFactory). Users of tensors never call it.
///
/// # What the engine promises
///
/// * `fits` was asked, and said yes, before anything else is asked.
/// * `assemble` gets entries grouped by parent and sorted by coordinate within a parent, each
///   coordinate in `lower .. lower + size`; without duplicates where the level is unique and no
///   nonunique level stands above it.
/// * `walk` and `locate` run on arrays that `assemble` made or `check` accepted.
///
/// # What the level promises
///
/// * `assemble` then `check` succeeds; `assemble` then `walk` visits every entry at the position
///   that `assemble` gave it, and every other visited position is padding.
/// * After `check` accepted arrays, no emitted load is out of bounds, for any reachable parent.
/// * Where [`Props::full`] is set, the position of a coordinate is
///   `parent * size + (crd - lower)`, and the level owns no arrays: the engine relies on it for
///   value blocks.
pub trait LevelType: DynClone + fmt::Debug + Send + Sync {
    /// What this level is: name, properties, arrays, capabilities. Cost: O(1).
    fn describe(&self) -> Description;

    /// Whether it may stand at this place.
    ///
    /// # Errors
    /// [`LevelError::Misplaced`] with the reason and what to write instead.
    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError>;

    /// The same level with what its text leaves open decided the other way: asked where the level
    /// below does not fit under this one, and taken where it then does and this one still fits. A
    /// level that is unique unless told otherwise gives the nonunique one; where its text says
    /// `unique`, nothing is open. None by default.
    fn relaxed(&self) -> Option<Box<dyn LevelType>> {
        None
    }

    /// Builds the level's arrays from sorted entries, in bulk.
    ///
    /// # Errors
    /// [`LevelError::CannotHold`] for entries that the level has no room for, and
    /// [`LevelError::Width`] for indices that do not fit the chosen width.
    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError>;

    /// Checks arrays of unknown origin, and tells which positions they reach. The number of arrays
    /// and their kinds are already as described.
    ///
    /// # Errors
    /// [`LevelError::Length`] or [`LevelError::Invalid`]: which array, where, and the rule.
    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError>;

    /// Emits what is needed before a loop, and describes the cursor that runs over the children.
    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a>;

    /// Emits code that finds the position of a coordinate under the single parent
    /// `site.parent.lo`, or `None` where only walking finds it. The coordinate may be any integer:
    /// code outside the level's bounds must say "not found", not read out of bounds.
    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let _ = (site, crd, b);
        None
    }

    /// Formats that suit a tensor which looks like this, as format text of its rank that uses this
    /// level: they compete with the named formats when somebody asks for advice. Asked of the
    /// level as each of [`LevelFactory::samples`](crate::LevelFactory::samples) makes it. None by
    /// default.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let _ = stats;
        Vec::new()
    }

    /// The room that the level would take under so many parents with so many stored coordinates
    /// in all: an estimate, made without any entries. By default what the description implies; a
    /// level that has other positions, or arrays of other lengths, says so here.
    fn footprint(&self, site: &Site, parents: f64, stored: f64) -> Footprint {
        Footprint::described(&self.describe(), site, parents, stored)
    }
}

dyn_clone::clone_trait_object!(LevelType);

/// What a level is, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The registered name, such as `compressed`.
    pub name: &'static str,
    /// Canonical text with arguments, such as `compressed(nonunique)`. Two levels with the same
    /// canonical text are the same.
    pub text: String,
    /// MLIR's spelling of the same, such as `structured[2, 4]`.
    pub mlir: String,
    /// Properties.
    pub props: Props,
    /// The arrays it owns, in storage order.
    pub arrays: Vec<ArraySpec>,
    /// What its cursor runs over.
    pub walk: WalkKind,
    /// What it costs to find a coordinate.
    pub locate: LocateCost,
    /// The expression it wants to store, where not every one will do.
    pub wants: Wants,
}

/// Properties of a level. The names are those of Chou et al. 2018 where they have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools)]
pub struct Props {
    /// Every coordinate of the level has a position under each parent, and it is
    /// `parent * size + (crd - lower)`.
    pub full: bool,
    /// Coordinates under one parent are visited in ascending order.
    pub ordered: bool,
    /// No coordinate stands twice under one parent.
    pub unique: bool,
    /// Each parent has exactly one child, at the parent's own position.
    pub branchless: bool,
    /// Every position stands for a child: there are no gaps between them.
    pub compact: bool,
    /// Positions may stand for padding: a stored value equal to the fill value is no entry.
    pub padded: bool,
    /// The children of neighbouring parents lie side by side, in the order of the parents, so that
    /// an interval of parents has an interval of children.
    pub contiguous: bool,
    /// Coordinates are declared as a structure of arrays (`soa`), not as an array of structures.
    /// It tells MLIR's two COO layouts apart; this project always keeps separate arrays.
    pub soa: bool,
}

/// What it costs to find the position of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocateCost {
    /// Only walking finds it.
    None,
    /// Constant time.
    Constant,
    /// A binary search.
    Logarithmic,
}

/// The expression that a level wants to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wants {
    /// Any.
    Any,
    /// A remainder by this number.
    Remainder(u64),
    /// A dimension that a sum or difference above already bounds.
    Ranged,
}

/// An array that a level owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// Its name: `pos`, `crd`, or one of the level's own.
    pub name: &'static str,
    /// What it holds.
    pub role: Role,
    /// Its length, in words, such as `parents + 1`.
    pub length: &'static str,
    /// The smallest number of bits in which its elements may be stored: 8, or 2 where they may be
    /// packed.
    pub min_bits: u32,
}

/// What an array holds, which decides its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Positions, as wide as `posWidth` says.
    Position,
    /// Coordinates, as wide as `crdWidth` says, signed where coordinates can be negative.
    Coordinate,
    /// Something of the level's own, always of this kind.
    Own(IndexKind),
}

/// The arrays of one level, in the order of its description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrays(pub Vec<IndexArray>);

impl Arrays {
    /// Bytes of all arrays.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(IndexArray::bytes).sum()
    }
}

/// Where a format puts a level. The question of [`LevelType::fits`].
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The level above, or `None` at the root.
    pub parent: Option<&'a Description>,
    /// The expression that the level stores.
    pub expr: ExprShape,
    /// Whether it is the last level.
    pub last: bool,
}

/// The shape of a level's expression, as far as a level may care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExprShape {
    /// A dimension as it is.
    Dimension {
        /// Whether a level above stores a sum or difference with this dimension, so that the valid
        /// coordinates depend on it.
        ranged: bool,
    },
    /// A quotient, `i / 4`.
    Quotient {
        /// The number divided by.
        divisor: u64,
    },
    /// A remainder, `i % 4`.
    Remainder {
        /// The number divided by.
        modulus: u64,
    },
    /// Anything else: differences, sums, linearised dimensions.
    Other,
}

/// What a level is told when it assembles or checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Number of coordinates at this level.
    pub size: u64,
    /// The smallest coordinate.
    pub lower: i64,
    /// `posWidth` of the format: 8, 16, 32, 64, or 0 for the default.
    pub pos_width: u32,
    /// `crdWidth` of the format: 2, 8, 16, 32, 64, or 0 for the default.
    pub crd_width: u32,
    /// The most positions that memory is to be taken for.
    pub max_positions: Pos,
}

impl Default for Site {
    /// No coordinates, default widths, as many positions as can be addressed.
    fn default() -> Self {
        Self { size: 0, lower: 0, pos_width: 0, crd_width: 0, max_positions: MAX_POSITIONS }
    }
}

impl Site {
    /// The coordinates of the level, `lower .. lower + size`.
    #[must_use]
    pub fn bounds(&self) -> std::ops::Range<i64> {
        self.lower..self.lower.saturating_add_unsigned(self.size)
    }

    /// Number of positions when each parent has `children` places. A level asks before it takes
    /// memory for them.
    ///
    /// # Errors
    /// [`LevelError::Overflow`] when they are more than [`Site::max_positions`].
    pub fn positions(&self, parents: Pos, children: u64) -> Result<Pos, LevelError> {
        let positions = parents.checked_mul(children).filter(|&n| n <= self.max_positions);
        positions.ok_or_else(|| LevelError::Overflow {
            what: "the number of positions".to_owned(),
            detail: format!(
                "{parents} parents with {children} places each, and at most {} are allowed; choose \
                 a format that compresses this level or one above, or raise the memory limit",
                self.max_positions
            ),
        })
    }

    /// The kind in which coordinates are stored: `crdWidth` bits, or by default the narrower of 32
    /// and 64 that holds every coordinate of the level; signed where one can be negative.
    #[must_use]
    pub fn crd_kind(&self) -> IndexKind {
        let signed = self.lower < 0;
        let bounds = self.bounds();
        let fits = |bits| {
            IndexKind::new(bits, signed).filter(|kind| {
                bounds.is_empty() || (kind.holds(bounds.start) && kind.holds(bounds.end - 1))
            })
        };
        let chosen = match self.crd_width {
            0 => fits(32).or(IndexKind::new(64, signed)),
            // A packed width that is signed does not exist: a byte is the nearest.
            bits => IndexKind::new(bits, signed).or(IndexKind::new(8, signed)),
        };
        chosen.unwrap_or(IndexKind::I64)
    }

    /// The kind in which positions up to `largest` are stored: `posWidth` bits, or by default the
    /// narrower of 32 and 64 that holds them.
    #[must_use]
    pub fn pos_kind(&self, largest: i64) -> IndexKind {
        match self.pos_width {
            0 if IndexKind::U32.holds(largest) => IndexKind::U32,
            0 => IndexKind::U64,
            bits => IndexKind::new(bits, false).unwrap_or(IndexKind::U64),
        }
    }

    /// Stores a `pos` array: without a copy where the column is kept in the very kind.
    ///
    /// # Errors
    /// [`LevelError::Width`] when a position does not fit `posWidth`.
    pub fn store_pos(&self, pos: impl Into<IndexColumn>) -> Result<IndexArray, LevelError> {
        let pos = pos.into();
        let largest = match self.pos_width {
            0 => pos.extremes().map_or(0, |(_, most)| most),
            // The kind does not depend on it.
            _ => 0,
        };
        Ok(IndexArray::store_column(self.pos_kind(largest), &pos, "pos", "posWidth")?)
    }

    /// Stores a `crd` array: without a copy where the column is kept in the very kind.
    ///
    /// # Errors
    /// [`LevelError::Width`] when a coordinate does not fit `crdWidth`.
    pub fn store_crd(&self, crd: impl Into<IndexColumn>) -> Result<IndexArray, LevelError> {
        Ok(IndexArray::store_column(self.crd_kind(), &crd.into(), "crd", "crdWidth")?)
    }
}

impl ArraySpec {
    /// A `pos` array.
    #[must_use]
    pub fn pos(length: &'static str) -> Self {
        Self { name: "pos", role: Role::Position, length, min_bits: 8 }
    }

    /// A `crd` array.
    #[must_use]
    pub fn crd(length: &'static str) -> Self {
        Self { name: "crd", role: Role::Coordinate, length, min_bits: 8 }
    }
}
