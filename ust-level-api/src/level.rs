//! The trait of level types, and its vocabulary: descriptions, places, sites.

use std::fmt;

use dyn_clone::DynClone;

use crate::Buffer;
use crate::array::{ArraySpec, Arrays};
use crate::assemble::{self, Assembled, Entries};
use crate::change::Change;
use crate::check::{MAX_POSITIONS, Reach};
use crate::column::IndexColumn;
use crate::error::LevelError;
use crate::index::{IndexArray, IndexKind};
use crate::ir::{Builder, Expr};
use crate::stats::{Footprint, Population, TensorStats};
use crate::walk::{Located, Walk, WalkKind, WalkSite};
use crate::{Crd, Pos};

/// How one level of a tensor is stored: the contract that a level crate fulfils.
///
/// # Who implements it
///
/// The author of a storage scheme. The implementation is a small object that holds the arguments of
/// the level in the format text (`compressed(nonunique)` holds `nonunique: true`). The constructor
/// that the crate registers in a [`LevelFactory`](crate::LevelFactory) makes it. Users of tensors
/// never call this trait.
///
/// # What the engine promises
///
/// * It asks `fits` before any other question about a place, and goes on only if the level fits.
/// * `assemble` gets entries grouped by parent and sorted by coordinate within a parent. Each
///   coordinate lies in `lower .. lower + size`. There are no duplicates if the level is unique and
///   no nonunique level stands above it.
/// * `walk` and `locate` run on arrays that `assemble` made or `check` accepted.
///
/// # What the level promises
///
/// * `check` accepts every result of `assemble`. A `walk` over such a result visits every entry at
///   the position that `assemble` assigned to it; every other visited position is padding.
/// * If `check` accepted the arrays, no emitted load is out of bounds, for any reachable parent.
/// * If [`Props::full`] is set, the position of a coordinate is `parent * size + (crd - lower)`,
///   and the level owns no arrays. The engine relies on it for blocks of values.
pub trait LevelType: DynClone + fmt::Debug + Send + Sync {
    /// Name, properties, arrays and capabilities of this level. Cost: O(1).
    fn describe(&self) -> Description;

    /// Whether the level may stand at this place of a format.
    ///
    /// # Errors
    /// [`LevelError::Misplaced`] with the reason, and with what to write instead.
    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError>;

    /// The nonunique form of a level whose text says neither `unique` nor `nonunique`. The engine
    /// asks for it when the level below does not fit under this one, and uses it if both levels fit
    /// then. Example: in `j : singleton, k : singleton`, the first level becomes
    /// `singleton(nonunique)`. `None` (the default) if the level has no such form, or the text says
    /// `unique`.
    fn relaxed(&self) -> Option<Box<dyn LevelType>> {
        None
    }

    /// The form of a level at a place that it does not fit as it is written. Example: `singleton` under `dense`
    /// becomes `singleton(padded)`, since parents without a child have padding there. `None` (the default) if it has
    /// none.
    fn adapted(&self, _place: &Place<'_>) -> Option<Box<dyn LevelType>> {
        None
    }

    /// Builds the level's arrays from sorted entries, in bulk.
    ///
    /// # Errors
    /// [`LevelError::CannotHold`] for an entry that the level cannot hold,
    /// [`LevelError::Width`] for an index that does not fit the chosen width, and
    /// [`LevelError::Unfetched`] for columns that are elsewhere and cannot be fetched.
    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError>;

    /// Checks arrays of unknown origin, and returns the positions that they reach. The number of
    /// arrays and their index kinds are already checked against the description.
    ///
    /// # Errors
    /// [`LevelError::Length`] or [`LevelError::Invalid`], with the array, the index, and the rule
    /// that is broken.
    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError>;

    /// Emits the code that must run before the loop, and describes a cursor over the children of
    /// the parents `site.parent`.
    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a>;

    /// Whether the level gives neighbouring coordinates one position where their values are equal
    /// ([`Run::Shared`](crate::Run::Shared)): it is then told [which are](Entries::alike). Such a level has to be
    /// the last one. The position of several entries gets the value of the first. `false` by default.
    fn joins_alike(&self) -> bool {
        false
    }

    /// Whether what `assemble` makes is used as it is. If not, the engine checks it first, as it checks arrays of
    /// unknown origin, each time. `true` by default: a level type that is linked has passed the conformance suite.
    fn is_trusted(&self) -> bool {
        true
    }

    /// Whether the tensors below its positions are a batch: each is stored as if it were alone, in arrays that have as
    /// many elements for each. Such a level is full, and only others of the kind stand above it. `false` by default.
    /// The engine makes [`Batched`](crate::Batched) of the levels below.
    fn is_batch(&self) -> bool {
        false
    }

    /// Emits code that finds the position of a coordinate under the single parent `site.parent.lo`.
    /// `None` if only a walk finds it. The coordinate may be any integer: if it lies outside the
    /// level's bounds, the code must answer "not found", and must not read out of bounds.
    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let _ = (site, crd, b);
        None
    }

    /// Makes a place for one more child in place: the coordinate lies within the level, and the parent does not have
    /// it. `None` (the default) if the level cannot, or has no room left; the engine then builds the tensor anew, with
    /// [`Site::room`]. Where it gives `None` or an error, the arrays are as they were.
    ///
    /// Only the last level that is not full is asked, if all levels are unique.
    ///
    /// # Errors
    /// As [`LevelType::assemble`].
    fn insert(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        crd: Crd,
    ) -> Result<Option<Change>, LevelError> {
        let _ = (site, arrays, parent, crd);
        Ok(None)
    }

    /// Removes a child in place, which the parent has at this position. Else as [`LevelType::insert`].
    ///
    /// # Errors
    /// As [`LevelType::assemble`].
    fn remove(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        pos: Pos,
    ) -> Result<Option<Change>, LevelError> {
        let _ = (site, arrays, parent, pos);
        Ok(None)
    }

    /// Formats that suit a tensor with these statistics. Each is a format text of the tensor's rank
    /// that uses this level. When a user asks which format suits the tensor, these formats compete
    /// with the named formats. The question goes to each level that
    /// [`LevelFactory::samples`](crate::LevelFactory::samples) describes. None by default.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let _ = stats;
        Vec::new()
    }

    /// Estimates the positions and memory of the level from the coordinates that it would store. There
    /// are no entries yet. The default follows from the description; a level with another number of
    /// positions, or with arrays of other lengths, overrides it.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        Footprint::described(&self.describe(), site, population)
    }
}

dyn_clone::clone_trait_object!(LevelType);

/// The description of a level, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The registered name, such as `compressed`.
    pub name: &'static str,
    /// Canonical text with arguments, such as `compressed(nonunique)`. Levels with the same
    /// canonical text are equal.
    pub text: String,
    /// The same in MLIR's spelling, such as `structured[2, 4]`.
    pub mlir: String,
    /// Properties.
    pub props: Props,
    /// The arrays it owns, in storage order.
    pub arrays: Vec<ArraySpec>,
    /// The kind of its cursor's integer: a position, a coordinate, or neither.
    pub walk: WalkKind,
    /// The cost to find a coordinate.
    pub locate: LocateCost,
}

/// Properties of a level. Where Chou et al. 2018 have a name for a property, it has that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools)]
pub struct Props {
    /// Every coordinate of the level has a position under each parent, and it is
    /// `parent * size + (crd - lower)`.
    pub full: bool,
    /// Coordinates under one parent are visited in ascending order.
    pub ordered: bool,
    /// Coordinates under one parent are distinct.
    pub unique: bool,
    /// Each parent has exactly one child, at the parent's own position.
    pub branchless: bool,
    /// There are no gaps: every position belongs to a child.
    pub compact: bool,
    /// Some positions may hold padding: a stored value that equals the fill value is no entry.
    pub padded: bool,
    /// The coordinate of padding may be outside the shape, though inside the level: of the groups
    /// `j % 4` of a row of 6 elements, the last has coordinates for 8; of `i * 8 + j` with 6 coordinates
    /// `j`, the level has 8 for each `i`. Loops then test whether a visited coordinate is inside the
    /// shape, where the level's expression can leave it. So a padded level says this if its walk visits
    /// any coordinate that no entry has, be it between two entries. A cursor over coordinates stays
    /// within [`WalkSite::bounds`], so such a level never says it.
    pub overhangs: bool,
    /// `assemble` may refuse entries: a parent has room for a limited number of children, or the items of a batch do
    /// not have as many. The one
    /// child of a branchless level is not meant: a level above has a position for each entry.
    pub bounded: bool,
    /// The children of consecutive parents have consecutive positions, in the order of the parents.
    /// The children of an interval of parents then form one interval.
    pub contiguous: bool,
}

impl Props {
    /// Those of a level like `dense`: every coordinate has a position.
    pub const FULL: Self = Self { full: true, ..Self::SIDE_BY_SIDE };

    /// Those of a level like `compressed`: the children of one parent stand side by side, in order and each once, and
    /// behind those of the parent before.
    pub const SIDE_BY_SIDE: Self = Self {
        full: false,
        ordered: true,
        unique: true,
        branchless: false,
        compact: true,
        padded: false,
        overhangs: false,
        bounded: false,
        contiguous: true,
    };
}

/// The cost to find the position of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocateCost {
    /// Only walking finds it.
    None,
    /// Constant time.
    Constant,
    /// A binary search.
    Logarithmic,
}

/// The place of a level in a format, about which [`LevelType::fits`] is asked.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The level above, or `None` at the root.
    pub parent: Option<&'a Description>,
    /// The expression that the level stores.
    pub expr: ExprShape,
    /// Whether it is the last level.
    pub last: bool,
    /// Whether no parent has several children, because the levels above count the entries that could be there.
    pub single: bool,
    /// Whether all levels above are [batches](LevelType::is_batch), or there are none.
    pub leading: bool,
}

impl Place<'_> {
    /// Whether a level that [joins equal values](LevelType::joins_alike) may stand here: values are those of the last
    /// level.
    ///
    /// # Errors
    /// [`LevelError::Misplaced`] about the level with this text, where others follow.
    pub fn joins_values(&self, level: &str) -> Result<(), LevelError> {
        if self.last {
            return Ok(());
        }
        Err(LevelError::Misplaced {
            level: level.to_owned(),
            reason: "levels follow it, and it joins equal values".to_owned(),
            help: "make it the last level".to_owned(),
        })
    }
}

/// The kind of a level's expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExprShape {
    /// A dimension alone, `i`.
    Dimension {
        /// Whether a level above stores a sum or difference with this dimension. The valid
        /// coordinates of this level then depend on the coordinate there.
        ranged: bool,
    },
    /// The number of an entry among those with the same coordinates in some dimensions, `#i`.
    Counter,
    /// A quotient, `i / 4`.
    Quotient {
        /// The divisor.
        divisor: u64,
    },
    /// A remainder, `i % 4`.
    Remainder {
        /// The divisor.
        modulus: u64,
    },
    /// Any other expression: differences, sums, linearised dimensions.
    Other,
}

/// The shape and options of a level, for assembly and checks.
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
    /// The largest number of positions that the level may allocate memory for.
    pub max_positions: Pos,
    /// Whether assembly leaves each parent room for children that are [inserted](LevelType::insert) later: about as
    /// many places as it has children, and a few. A level that makes room when it is needed leaves none.
    pub room: bool,
    /// Number of items of the [batch](LevelType::is_batch) above; 1 without a batch.
    pub items: u64,
}

impl Default for Site {
    /// No coordinates, default widths, no limit below [`MAX_POSITIONS`], and no room for more.
    fn default() -> Self {
        let max_positions = MAX_POSITIONS;
        Self { size: 0, lower: 0, pos_width: 0, crd_width: 0, max_positions, room: false, items: 1 }
    }
}

impl Site {
    /// The coordinates of the level, `lower .. lower + size`.
    #[must_use]
    pub fn bounds(&self) -> std::ops::Range<i64> {
        self.lower..self.lower.saturating_add_unsigned(self.size)
    }

    /// The number of positions if each parent has `children` of them. A level calls this before it
    /// allocates memory for them.
    ///
    /// # Errors
    /// [`LevelError::Overflow`] if there are more than [`Site::max_positions`].
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

    /// Where the children of each of so many parents begin, if each has as many as `children` says, and where
    /// the last end: the running sums. Parallel in `children`.
    ///
    /// # Errors
    /// [`LevelError::Overflow`] if there are more than [`Site::max_positions`].
    pub fn starts(
        &self,
        parents: usize,
        children: impl Fn(usize) -> u64 + Send + Sync,
    ) -> Result<Buffer<i64>, LevelError> {
        let mut starts = assemble::fill(parents + 1, |at| match at.checked_sub(1) {
            None => 0,
            Some(parent) => children(parent).min(MAX_POSITIONS) as i64,
        });
        let mut sum = 0_u64;
        for start in starts.make_mut() {
            sum = sum.saturating_add(*start as u64);
            if sum > self.max_positions {
                return Err(LevelError::Overflow {
                    what: "the number of positions".to_owned(),
                    detail: format!(
                        "there are more than {}, which are allowed; choose a format that stores less beside \
                         the entries, or raise the memory limit",
                        self.max_positions
                    ),
                });
            }
            *start = sum as i64;
        }
        Ok(starts)
    }

    /// The kind that stores the level's coordinates. It has `crdWidth` bits; by default 32, or 64
    /// if some coordinate needs them. It is signed if a coordinate can be negative.
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
            // No signed kind is packed: use the narrowest signed kind instead.
            bits => IndexKind::new(bits, signed).or(IndexKind::new(8, signed)),
        };
        chosen.unwrap_or(IndexKind::I64)
    }

    /// The kind that stores positions up to `largest`. It has `posWidth` bits; by default 32, or 64
    /// if `largest` needs them.
    #[must_use]
    pub fn pos_kind(&self, largest: i64) -> IndexKind {
        match self.pos_width {
            0 if IndexKind::U32.holds(largest) => IndexKind::U32,
            0 => IndexKind::U64,
            bits => IndexKind::new(bits, false).unwrap_or(IndexKind::U64),
        }
    }

    /// Bytes of an array of offsets: `bounds` elements and one more, the largest of which is `positions`. For
    /// [estimates](crate::Footprint).
    #[must_use]
    pub fn offset_bytes(&self, bounds: f64, positions: f64) -> f64 {
        (bounds + 1.0) * f64::from(self.pos_kind(positions as i64).bits()) / 8.0
    }

    /// Stores a `pos` array, without a copy if the column already has its kind.
    ///
    /// # Errors
    /// [`LevelError::Width`] if a position does not fit `posWidth`; [`LevelError::Unfetched`].
    pub fn store_pos(&self, pos: impl Into<IndexColumn>) -> Result<IndexArray, LevelError> {
        let pos = pos.into();
        let largest = match (self.pos_width, &pos) {
            // What fits 32 bits is stored in 32 bits.
            (0, IndexColumn::U32(_) | IndexColumn::Runs(_)) => 0,
            (0, pos) => pos.extremes()?.map_or(0, |(_, most)| most),
            // A given width decides the kind alone.
            _ => 0,
        };
        Ok(IndexArray::store_column(self.pos_kind(largest), &pos, "pos", "posWidth")?)
    }

    /// Stores a `crd` array, without a copy if the column already has its kind.
    ///
    /// # Errors
    /// [`LevelError::Width`] if a coordinate does not fit `crdWidth`; [`LevelError::Unfetched`].
    pub fn store_crd(&self, crd: impl Into<IndexColumn>) -> Result<IndexArray, LevelError> {
        Ok(IndexArray::store_column(self.crd_kind(), &crd.into(), "crd", "crdWidth")?)
    }
}
