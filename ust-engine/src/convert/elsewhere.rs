//! Conversions of tensors whose arrays are elsewhere, such as in the memory of a device. They are done there, by
//! whoever has registered for it.

use ust_format::{Bound, IndexExpr};
use ust_level_api::check::MAX_POSITIONS;
use ust_level_api::ir::interp::Param;
use ust_level_api::ir::{Expr, Function};
use ust_level_api::{Arrays, Dtype, IndexColumn, IndexKind, Interval, Pos, Scalar, inventory};

use super::build::{BuildOptions, Duplicates};
use super::columns::{
    block_of, is_sorted_by_first_level, level_kind, levels, levels_in_order, offset_expr,
    too_large_for,
};
use crate::check::are_trusted;
use crate::error::Error;
use crate::storage::{Tensor, Values, joins_alike};
use crate::walk::nest::{Noted, Operand};
use crate::walk::positions::{AtPositions, is_told_apart};

/// Converts tensors where their arrays are.
pub trait Converter: Sync {
    /// The name of the back end that works there, for people.
    fn name(&self) -> &'static str;

    /// Whether the arrays of the tensor are where this converter works. Called for every conversion, so it should
    /// take microseconds at most.
    fn has(&self, tensor: &Tensor) -> bool;

    /// The result. `None` if it cannot be made there: then arrays are fetched, and the conversion is done here.
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond the memory limit; [`Error::Device`].
    fn convert(&self, conversion: &Conversion<'_>) -> Result<Option<Tensor>, Error>;

    /// The values of the tensor in another dtype, as [`Values::cast_lossy`](Values::cast_lossy) makes them. `None` if
    /// they cannot be made there: then they are fetched, and made here.
    fn cast(&self, tensor: &Tensor, to: Dtype) -> Option<Values> {
        let _ = (tensor, to);
        None
    }
}

/// A converter, as registered by its crate.
pub struct Registration(pub &'static dyn Converter);

inventory::collect!(Registration);

/// Who converts a tensor, if it is not done here.
pub(super) fn converter(tensor: &Tensor) -> Option<&'static dyn Converter> {
    let mut all = inventory::iter::<Registration>().map(|one| one.0);
    all.find(|one| tensor.nse() > 0 && one.has(tensor))
}

/// A conversion of a tensor with stored elements.
#[derive(Clone, Debug)]
pub struct Conversion<'a> {
    pub(super) tensor: &'a Tensor,
    pub(super) bound: &'a Bound,
    pub(super) fill: Scalar,
    pub(super) options: BuildOptions,
    /// Whether entries that equal the fill value are left out in any format.
    pub(super) drops: bool,
}

/// The loops of a conversion: they write columns, each with an element for each stored value, at its position.
#[derive(Clone, Debug)]
pub struct Loops {
    pub(crate) code: AtPositions,
    columns: usize,
    masked: bool,
}

impl Loops {
    /// The code. It has the arrays of all levels, in their order; the values; and writes
    /// [columns](Conversion::columns), and behind them the [mask](Self::is_masked).
    #[must_use]
    pub fn function(&self) -> &Function {
        &self.code.function
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether the loops write a mask of bytes, which are 0 before: 1 for each value that is an entry. Without a
    /// mask, all values are.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        self.masked
    }

    /// The values of the parameters, for a part of the outermost loop.
    #[must_use]
    pub fn parameters(&self, tensor: &Tensor, part: (i64, i64)) -> Vec<Param> {
        let sizes = self.code.operand.size_arguments(tensor);
        sizes.into_iter().chain([part.0, part.1]).map(Param::Int).collect()
    }

    /// What the outermost loop runs over, before it is cut, if it can be cut into parts.
    pub(crate) fn range(&self) -> Option<&Interval> {
        self.code.noted.range.as_ref().filter(|_| self.code.walked.splits)
    }

    /// For each level, whether its size is a parameter.
    pub(crate) fn sizes(&self) -> Vec<bool> {
        let sizes = self.code.operand.sizes.sizes.iter();
        sizes.map(|size| matches!(size, Expr::Var(_))).collect()
    }

    pub(crate) fn noted(&self) -> &Noted {
        &self.code.noted
    }
}

/// A column that loops write: what it is, and what it can hold.
#[derive(Clone, Debug)]
pub struct Column {
    expr: IndexExpr,
    /// `U32`, `I32` or `I64`.
    pub kind: IndexKind,
    /// The least number, and the number of numbers from it on.
    pub range: (i64, u64),
}

/// Levels that were assembled.
#[derive(Clone, Debug)]
pub struct Levels {
    arrays: Vec<Arrays>,
    /// For each row, the position that it got at the last level above the trailing dense block.
    pub position: IndexColumn,
    /// Number of positions of that level.
    pub positions: Pos,
    bytes: u64,
}

impl<'a> Conversion<'a> {
    /// The conversion of a tensor to a format that is bound to its shape.
    #[must_use]
    pub fn new(tensor: &'a Tensor, bound: &'a Bound) -> Self {
        Self { tensor, bound, fill: tensor.fill(), options: BuildOptions::default(), drops: false }
    }

    /// The tensor.
    #[must_use]
    pub fn tensor(&self) -> &'a Tensor {
        self.tensor
    }

    /// The format of the result, with its shape.
    #[must_use]
    pub fn result(&self) -> &'a Bound {
        self.bound
    }

    /// The dtype of the values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.tensor.dtype()
    }

    /// The value of elements of the result that are not stored.
    #[must_use]
    pub fn fill(&self) -> Scalar {
        self.fill
    }

    /// Number of values of a row: of the trailing dense block of the result.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if they are more than can be addressed.
    pub fn block(&self) -> Result<u64, Error> {
        block_of(self.bound)
    }

    /// Number of levels of the result above its trailing dense block: the coordinates of a row.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.bound.format().tail()
    }

    /// What the loops write: the coordinate at each level above the trailing dense block and, if that block has
    /// several values or no level is above it, the offset in it.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn columns(&self) -> Result<Vec<Column>, Error> {
        let above = self.bound.format().levels()[..self.levels()].iter().zip(self.bound.levels());
        let above = above.map(|(level, domain)| Column {
            expr: level.expr.clone(),
            kind: level_kind(domain),
            range: (domain.lower, domain.size),
        });
        let block = self.block()?;
        let domain = ust_format::LevelDomain { lower: 0, size: block };
        let offset = (block != 1 || self.levels() == 0).then(|| Column {
            expr: offset_expr(self.bound),
            kind: level_kind(&domain),
            range: (0, block),
        });
        Ok(above.chain(offset).collect())
    }

    /// The loops. `None` if one stored value can stand for several elements, of the tensor or of the result, and if
    /// what the levels of the result assemble [has to be checked](ust_level_api::LevelType::is_trusted).
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn loops(&self) -> Result<Option<Loops>, Error> {
        let tensor = self.tensor;
        let format = self.bound.format();
        if joins_alike(format) || !are_trusted(format) {
            return Ok(None);
        }
        let mut padding = Vec::new();
        padding.extend(tensor.has_padding().then(|| tensor.fill()));
        // Of entries that are distinct, those that become padding are left out at once.
        let becomes_padding = self.is_distinct() && self.drops_fill();
        padding.extend((self.drops || becomes_padding).then_some(self.fill));
        padding.dedup_by(|a, b| a.same(b));
        let fill = self.drops_fill().then_some(&self.fill);
        if !padding.iter().chain(fill).all(|value| is_told_apart(*value)) {
            return Ok(None);
        }
        let all = tensor.view().is_whole() && Operand::visits_in_order(tensor.format());
        let masked = !all || !padding.is_empty();
        let columns = self.columns()?.into_iter().map(|one| (one.expr, one.kind));
        let columns: Vec<_> = columns.collect();
        let code = AtPositions::new(tensor, &columns, masked, &padding);
        let repeats = code.walked.repeats;
        Ok((!repeats).then_some(Loops { code, columns: columns.len(), masked }))
    }

    /// Whether no two entries have the same coordinates.
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.tensor.format().is_unique()
    }

    /// Number of leading [columns](Self::columns) by which a stable sort brings the entries of the tensor into the
    /// order of the result: 0 if they are in that order.
    #[must_use]
    pub fn sorted_columns(&self) -> usize {
        let (from, to, levels) = (self.tensor.format(), self.bound.format(), self.levels());
        // Columns are in the order of positions: that of the walk, if each level lays children in it.
        let in_order = (0..from.level_count()).all(|level| Operand::ascends(from, level));
        let whole = self.tensor.view().is_whole() && in_order;
        // The order within a block matters to entries with the same coordinates alone.
        match self.is_distinct() {
            true if whole && levels_in_order(from, to) >= levels => 0,
            true if whole && is_sorted_by_first_level(from, to) => 1,
            true => levels,
            false => levels + 1,
        }
    }

    /// Whether entries with the same coordinates are added. If not, they stay apart.
    #[must_use]
    pub fn sums_duplicates(&self) -> bool {
        self.options.duplicates == Duplicates::Sum || self.bound.format().is_unique()
    }

    /// Whether entries with the same coordinates are an error. The conversion that is done here tells it.
    #[must_use]
    pub fn refuses_duplicates(&self) -> bool {
        self.options.duplicates == Duplicates::Refuse
    }

    /// Whether entries that equal the fill value of the result are left out: they would be padding.
    #[must_use]
    pub fn drops_fill(&self) -> bool {
        self.bound.format().has_padding()
    }

    /// Assembles the levels of the result, given its rows in their order: the coordinates of each at each level
    /// above the trailing dense block. `distinct`: whether no two rows are known to have the same.
    ///
    /// # Errors
    /// [`Error::Level`] if a level cannot hold them; [`Error::TooLarge`] beyond the memory limit.
    pub fn assembled(
        &self,
        columns: Vec<IndexColumn>,
        rows: usize,
        distinct: bool,
    ) -> Result<Levels, Error> {
        let limit = self.options.memory_limit;
        let made = levels(self.bound, columns, rows, (distinct, None), (limit, false))?;
        let super::columns::Stored { arrays, position, positions, bytes } = made;
        Ok(Levels { arrays, position, positions, bytes })
    }

    /// Number of values of the result with these levels.
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond the memory limit.
    pub fn values(&self, levels: &Levels) -> Result<usize, Error> {
        let limit = self.options.memory_limit;
        let length = levels.positions.checked_mul(self.block()?).filter(|&n| n <= MAX_POSITIONS);
        let room = limit.saturating_sub(levels.bytes) / self.dtype().bytes() as u64;
        match length.filter(|&length| length <= room) {
            Some(length) => Ok(length as usize),
            None => Err(too_large_for("the values", length.unwrap_or(u64::MAX), limit)),
        }
    }

    /// The result.
    #[must_use]
    pub fn finished(&self, levels: Levels, values: Values) -> Tensor {
        Tensor::trusted(self.bound.clone(), levels.arrays, values, self.fill, true)
    }
}
