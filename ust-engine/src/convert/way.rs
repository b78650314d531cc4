//! The way of a conversion: chosen here alone, before anything of it runs.

use std::fmt;
use std::mem::{Discriminant, discriminant};

use ust_format::{Bound, Format};
use ust_level_api::Scalar;

use super::columns::{Cells, FirstLevel, PieceByPiece, WholeBlocks, detour, in_order, thinned};
use crate::error::Error;
use crate::storage::Tensor;

/// How a tensor gets into another format: what [`Tensor::way`] tells.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Way {
    /// The format is the tensor's own: its arrays are shared.
    Shared,
    /// Nothing is stored, and nothing is walked.
    Empty,
    /// Both formats have the same blocks. Only the blocks' coordinates are sorted; values are copied
    /// block by block.
    WholeBlocks,
    /// First into another format, and from there into the one that is wanted.
    Between {
        /// The other format.
        format: Format,
        /// Why.
        reason: Detour,
    },
    /// Blocks are found and filled a piece of the outermost loop at a time, within the cache.
    Pieces {
        /// Whether the tensor stores where each row begins: no coordinate is computed.
        stored_rows: bool,
    },
    /// The target has a place for every element: values are written to their places.
    Elements,
    /// Blocks that are needed are marked in a table first, then values are written to their places.
    MarkedBlocks,
    /// Entries are written one coordinate of the first level after another: a coordinate's entries
    /// are found without a search.
    Swept,
    /// The entries of each coordinate of the first level are counted, and then written to their
    /// places.
    Counted {
        /// Whether entries go to buckets of several coordinates first, as neighbours in memory mostly
        /// belong to different coordinates.
        buckets: bool,
    },
    /// Coordinates of all entries are written into columns, which are sorted if need be.
    Columns {
        /// In the order of how many levels, from the first, entries come already.
        in_order: usize,
        /// How many levels there are to be sorted by.
        levels: usize,
    },
}

/// Why a conversion goes through a third format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detour {
    /// Most of what is stored is padding, which is left behind first.
    Padding,
    /// Two steps need no general sort where one would.
    Sort,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Shared => "arrays are shared",
            Self::Empty => "nothing is stored",
            Self::WholeBlocks => "blocks are moved whole",
            Self::Between { format, reason } => {
                let reason = match reason {
                    Detour::Padding => "most of what is stored is padding",
                    Detour::Sort => "no general sort is needed then",
                };
                return write!(f, "through `{format}`: {reason}");
            }
            Self::Pieces { stored_rows: true } => "blocks piece by piece, from stored rows",
            Self::Pieces { stored_rows: false } => "blocks piece by piece",
            Self::Elements => "values are written to their places",
            Self::MarkedBlocks => "blocks are marked, values are written to their places",
            Self::Swept => "written one coordinate of the first level after another",
            Self::Counted { buckets: false } => "counting sort by the first level",
            Self::Counted { buckets: true } => "counting sort by the first level, through buckets",
            Self::Columns { in_order, levels } if in_order == levels => "columns, in order already",
            Self::Columns { in_order: 0, .. } => "columns, sorted",
            Self::Columns { in_order, levels } => {
                return write!(f, "columns, sorted below {in_order} of {levels} levels");
            }
        };
        f.write_str(text)
    }
}

/// A way that was chosen, with what it takes to go it.
pub(super) enum Plan {
    WholeBlocks(WholeBlocks),
    Between(Format, Detour),
    Pieces(PieceByPiece),
    Cells(Cells),
    FirstLevel(FirstLevel),
    Columns,
}

/// Ways that turned out not to lead there, because of a value that is stored: an entry that equals the
/// fill value is none in a block.
#[derive(Default)]
pub(super) struct Closed(Vec<Discriminant<Plan>>);

impl Closed {
    pub(super) fn add(&mut self, plan: &Plan) {
        self.0.push(discriminant(plan));
    }

    fn open(&self, plan: Plan) -> Option<Plan> {
        (!self.0.contains(&discriminant(&plan))).then_some(plan)
    }
}

impl Plan {
    /// The way of a tensor that stores something into a format, where it is not shared: the first of
    /// these that is open. Cost: independent of what is stored, but for samples of the values.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for blocks that no memory holds.
    pub(super) fn of(
        tensor: &Tensor,
        bound: &Bound,
        fill: Scalar,
        closed: &Closed,
    ) -> Result<Self, Error> {
        let format = bound.format();
        let found = WholeBlocks::of(tensor, bound, fill)?.map(Self::WholeBlocks);
        if let Some(plan) = found.and_then(|plan| closed.open(plan)) {
            return Ok(plan);
        }
        if let Some(between) = thinned(tensor, format) {
            return Ok(Self::Between(between, Detour::Padding));
        }
        let found = PieceByPiece::of(tensor, bound, fill)?.map(Self::Pieces);
        if let Some(plan) = found.and_then(|plan| closed.open(plan)) {
            return Ok(plan);
        }
        let found = Cells::of(tensor, bound, fill).map(Self::Cells);
        if let Some(plan) = found.and_then(|plan| closed.open(plan)) {
            return Ok(plan);
        }
        if let Some(between) = detour(tensor, bound)? {
            return Ok(Self::Between(between, Detour::Sort));
        }
        let found = FirstLevel::of(tensor, bound)?.map(Self::FirstLevel);
        Ok(found.and_then(|plan| closed.open(plan)).unwrap_or(Self::Columns))
    }

    /// What is told of it.
    fn way(&self, tensor: &Tensor, bound: &Bound) -> Way {
        match self {
            Self::WholeBlocks(_) => Way::WholeBlocks,
            Self::Between(format, reason) => {
                Way::Between { format: format.clone(), reason: *reason }
            }
            Self::Pieces(pieces) => Way::Pieces { stored_rows: pieces.has_stored_rows() },
            Self::Cells(cells) if cells.is_marked() => Way::MarkedBlocks,
            Self::Cells(_) => Way::Elements,
            Self::FirstLevel(FirstLevel::Swept) => Way::Swept,
            Self::FirstLevel(FirstLevel::Counted { buckets }) => Way::Counted { buckets: *buckets },
            Self::Columns => {
                let (whole, levels) = (tensor.view().is_whole(), bound.format().tail());
                let in_order = if whole { in_order(tensor.format(), bound.format()) } else { 0 };
                Way::Columns { in_order, levels }
            }
        }
    }
}

impl Tensor {
    /// How [`Tensor::convert`] would get this tensor into a format. A stored value that equals the
    /// fill value may show only on the way, and then another is taken.
    ///
    /// ```
    /// use ust::tensor::Way;
    /// use ust::{Tensor, generate::generate};
    /// let a = Tensor::from_coo(&generate("gen:poisson2d(100)")?, &"CSR".parse()?)?;
    /// assert_eq!(a.way(&"CSC".parse()?)?, Way::Counted { buckets: false });
    /// assert_eq!(a.way(&"BSR(2,2)".parse()?)?, Way::Pieces { stored_rows: true });
    /// assert_eq!(a.way(&"CSR".parse()?)?.to_string(), "arrays are shared");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] when shape and format do not match, [`Error::TooLarge`] for blocks that no
    /// memory holds.
    pub fn way(&self, format: &Format) -> Result<Way, Error> {
        if self.view.is_whole() && self.format() == format {
            return Ok(Way::Shared);
        }
        super::build::refuse_slices(format)?;
        if self.nse() == 0 {
            return Ok(Way::Empty);
        }
        let bound = format.bind(self.shape())?;
        let plan = Plan::of(self, &bound, self.fill, &Closed::default())?;
        Ok(plan.way(self, &bound))
    }
}
