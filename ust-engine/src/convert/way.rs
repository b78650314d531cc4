//! The way of a conversion: how entries get from one format to another. It is chosen here only,
//! before any part of the conversion runs.

use std::fmt;
use std::mem::{Discriminant, discriminant};

use ust_format::{Bound, Format, Given};
use ust_level_api::Scalar;

use super::columns::{
    Cells, FirstLevel, PieceByPiece, WholeBlocks, detour, levels_in_order, without_padding,
};
use super::widths::differ_in_widths;
use crate::error::Error;
use crate::storage::{Tensor, joins_alike};

/// How a tensor is converted to another format: see [`Tensor::way`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Way {
    /// The tensor has the format already: its arrays are shared.
    Shared,
    /// The formats differ in the widths of indices alone: index arrays are stored anew, values are shared.
    Widths,
    /// Nothing is stored, and nothing is walked.
    Empty,
    /// Arrays are elsewhere, such as in the memory of a device, and so is the result: coordinates of all entries are
    /// written into columns, which are sorted if need be and assembled there. What cannot be done there is done here
    /// after all.
    Elsewhere {
        /// The back end that works there.
        backend: &'static str,
    },
    /// Both formats have the same blocks. Only the blocks' coordinates are sorted; values are copied
    /// block by block.
    WholeBlocks,
    /// First to an intermediate format, and from there to the target format.
    Between {
        /// The intermediate format.
        format: Format,
        /// Why the conversion takes two steps.
        reason: Detour,
    },
    /// Blocks are found and filled a piece of the outermost loop at a time, within the cache.
    Pieces {
        /// Whether the tensor stores the first entry of each row: no coordinate is computed.
        stored_rows: bool,
    },
    /// The target stores every element: values are written straight to their positions.
    Elements,
    /// A first pass marks the blocks that are needed in a table. Then values are written to their
    /// positions.
    MarkedBlocks,
    /// Entries are written one coordinate of the first level after another. The entries of a
    /// coordinate are found without a search.
    Swept,
    /// A counting sort: the entries of each coordinate of the first level are counted, and then
    /// written to their positions.
    Counted {
        /// Whether the counting sort moves entries to buckets of several coordinates, which are sorted
        /// afterwards. It does so where neighbouring entries mostly have different coordinates.
        buckets: bool,
    },
    /// Coordinates of all entries are written into columns, which are sorted if need be.
    Columns {
        /// The number of leading levels in whose order entries are already.
        in_order: usize,
        /// The number of levels above the trailing full levels, which entries are sorted by.
        levels: usize,
    },
}

/// Why a conversion goes through an intermediate format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detour {
    /// Most stored values are padding, which the first step drops.
    Padding,
    /// The direct conversion needs a general sort, and neither of the two steps does.
    Sort,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Shared => "arrays are shared",
            Self::Widths => "indices are stored in other widths, values are shared",
            Self::Empty => "nothing is stored",
            Self::Elsewhere { backend } => {
                return write!(
                    f,
                    "columns, sorted and assembled by `{backend}`, where the arrays are"
                );
            }
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

/// A chosen way, with the data that the conversion needs.
pub(super) enum Plan {
    WholeBlocks(WholeBlocks),
    Between(Format, Detour),
    Pieces(PieceByPiece),
    Cells(Cells),
    FirstLevel(FirstLevel),
    Columns,
}

/// Ways that failed because of a stored value. Example: a block of the target cannot hold an entry
/// that equals the fill value.
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
    /// The way of a conversion that cannot share the arrays, of a tensor with stored elements: the
    /// first possible way that is not closed. Cost: that of samples of the stored elements.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for blocks that are too large to be addressed.
    pub(super) fn of(
        tensor: &Tensor,
        bound: &Bound,
        fill: Scalar,
        closed: &Closed,
    ) -> Result<Self, Error> {
        let format = bound.format();
        if joins_alike(format) {
            return Ok(Self::Columns);
        }
        let found = WholeBlocks::of(tensor, bound, fill)?.map(Self::WholeBlocks);
        if let Some(plan) = found.and_then(|plan| closed.open(plan)) {
            return Ok(plan);
        }
        if let Some(between) = without_padding(tensor, format) {
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

    /// The public description of the plan.
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
                let in_order =
                    if whole { levels_in_order(tensor.format(), bound.format()) } else { 0 };
                Way::Columns { in_order, levels }
            }
        }
    }
}

impl Tensor {
    /// How [`Tensor::convert`] would convert this tensor to a format. A conversion may meet a
    /// stored value that equals the fill value, and then take another way.
    ///
    /// ```
    /// use ust::tensor::Way;
    /// use ust::{Tensor, generate::generate};
    /// let a = Tensor::from_coo(&generate("gen:poisson2d(100)")?, "CSR")?;
    /// assert_eq!(a.way("CSC")?, Way::Counted { buckets: false });
    /// assert_eq!(a.way("BSR(2,2)")?, Way::Pieces { stored_rows: true });
    /// assert_eq!(a.way("CSR")?.to_string(), "arrays are shared");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] when shape and format do not match, [`Error::TooLarge`] for blocks that
    /// are too large to be addressed.
    pub fn way<'f>(&self, format: impl Into<Given<'f>>) -> Result<Way, Error> {
        let format = &*format.into().resolve(Some(self.rank()))?;
        if self.view.shows_all() && self.format() == format {
            return Ok(Way::Shared);
        }
        if let Some(converter) = super::elsewhere::converter(self) {
            return Ok(Way::Elsewhere { backend: converter.name() });
        }
        if self.view.is_whole() && differ_in_widths(self.format(), format) {
            return Ok(Way::Widths);
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
