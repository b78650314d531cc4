//! Conversions on a device: entries as columns, sorted, combined, assembled.

use std::ops::RangeInclusive;
use std::sync::Arc;

use ust_cuda::{CudaError, Memory};
use ust_engine::ops::Operator;
use ust_engine::provider::Call;
use ust_engine::provider::conversion::{Conversion, Converter, Registration};
use ust_engine::{Error, Tensor, Values};
use ust_level_api::ir::BinOp;
use ust_level_api::{Dtype, IndexColumn, IndexKind, Scalar, inventory};

use crate::cache;
use crate::cast::cast;
use crate::gpu::Gpu;
use crate::launch::write_columns;
use crate::place::{self, Held, held, numbers};
use crate::prims::{Column, Combination, Selection};
use crate::there::{self, bytes_of, device};

/// Entries on a device: a column of indices for each level, and perhaps one for the offset in a block, and a value
/// for each entry.
struct Table<'a> {
    gpu: &'a Gpu,
    columns: Vec<Held>,
    /// The numbers that each column can have.
    ranges: Vec<RangeInclusive<i64>>,
    values: Arc<Memory>,
    dtype: Dtype,
    len: usize,
}

impl Table<'_> {
    fn columns(&self) -> Result<Vec<Column<'_>>, CudaError> {
        self.columns.iter().map(Held::column).collect()
    }

    /// Keeps the chosen entries.
    fn keep(&mut self, chosen: &Selection) -> Result<(), CudaError> {
        self.keep_columns(chosen)?;
        let kept = || self.gpu.primitives().compact(chosen, &self.values, self.dtype.bytes());
        self.values = Arc::new(cache::with_room(kept)?);
        Ok(())
    }

    fn keep_columns(&mut self, chosen: &Selection) -> Result<(), CudaError> {
        for column in &mut self.columns {
            *column = column.kept(chosen, self.gpu.primitives())?;
        }
        self.len = chosen.count();
        Ok(())
    }

    /// Keeps the entries whose byte is not 0.
    fn keep_marked(&mut self, mask: &Memory) -> Result<(), CudaError> {
        let mask = Column::new(mask, IndexKind::U8, self.len)?;
        let chosen = cache::with_room(|| self.gpu.primitives().select(mask))?;
        if chosen.count() < self.len {
            self.keep(&chosen)?;
        }
        Ok(())
    }

    /// Leaves out the entries of this value.
    fn drop_value(&mut self, value: Scalar) -> Result<(), CudaError> {
        let (primitives, len) = (self.gpu.primitives(), self.len);
        let differs = || primitives.differing(&self.values, len, value);
        let mask = cache::with_room(differs)?;
        self.keep_marked(&mask)
    }

    /// Sorts entries by the first columns, the first one first. Entries with the same numbers keep their order.
    fn sort(&mut self, columns: usize) -> Result<(), CudaError> {
        let primitives = self.gpu.primitives();
        let keys = self.columns()?.into_iter().zip(self.ranges.iter().cloned()).take(columns);
        let keys: Vec<_> = keys.collect();
        let order = cache::with_room(|| primitives.sort_columns(&keys))?;
        for column in &mut self.columns {
            *column = column.gathered(order.column(), primitives)?;
        }
        let misfit = primitives.misfit()?;
        let (values, width) = (&self.values, self.dtype.bytes());
        let gathered = || primitives.gather(values, width, order.column(), &misfit);
        self.values = Arc::new(cache::with_room(gathered)?);
        Ok(())
    }

    /// The entries that begin a run of equal ones, in the first `columns` columns.
    fn runs(&self, columns: usize) -> Result<Selection, CudaError> {
        let all = self.columns()?;
        cache::with_room(|| self.gpu.primitives().runs(&all[..columns]))
    }

    /// Combines the values of each run into one entry.
    fn combine(&mut self, runs: &Selection, operator: &Combination) -> Result<(), CudaError> {
        let combined = || self.gpu.primitives().combine(runs, &self.values, self.dtype, operator);
        self.values = Arc::new(cache::with_room(combined)?);
        self.keep_columns(runs)
    }

    /// The rows of entries that are in order, each with `block` values: their coordinates, and for each entry the
    /// row that it is in; `None` if each is a row of its own, of one value.
    fn rows(
        &self,
        levels: usize,
        block: u64,
    ) -> Result<(Vec<IndexColumn>, Option<IndexColumn>), CudaError> {
        match (levels, block) {
            // All entries are in one row.
            (0, _) => return Ok((Vec::new(), Some(IndexColumn::Same(0, self.len)))),
            (_, 1) => return Ok((self.leading(levels), None)),
            _ => {}
        }
        let runs = self.runs(levels)?;
        if runs.count() == self.len {
            return Ok((self.leading(levels), Some(IndexColumn::Count(self.len))));
        }
        let primitives = self.gpu.primitives();
        let kind = numbers(self.len as u64 + 1);
        let starts = cache::with_room(|| primitives.starts(&runs, kind))?;
        let of = place::expanded(starts.into(), self.len, self.gpu)?;
        let kept = self.columns[..levels].iter().map(|column| column.kept(&runs, primitives));
        let rows = kept.map(|held| Ok(place::column(&held?, self.gpu)));
        Ok((rows.collect::<Result<_, CudaError>>()?, Some(of)))
    }

    /// The values in an array of `length` values, at these places: other elements have the fill value.
    fn placed(&self, at: &Held, length: usize, fill: Scalar) -> Result<Arc<Memory>, CudaError> {
        let (primitives, stream, width) =
            (self.gpu.primitives(), self.gpu.stream(), self.dtype.bytes());
        let to = cache::with_room(|| stream.alloc(length * width))?;
        primitives.fill(&to, &bytes_of(fill))?;
        let misfit = primitives.misfit()?;
        primitives.scatter(&self.values, width, at.column()?, &to, &misfit)?;
        match misfit.first(stream)? {
            None => Ok(Arc::new(to)),
            Some(_) => Err(CudaError::Argument("a position outside of the result".to_owned())),
        }
    }

    /// The first `count` columns.
    fn leading(&self, count: usize) -> Vec<IndexColumn> {
        self.columns[..count].iter().map(|held| place::column(held, self.gpu)).collect()
    }
}

/// The rows of a result, each with `block` values, sorted and combined. `None` if the operator has no form there.
pub(crate) fn combined(
    call: &Call<'_>,
    columns: &[IndexColumn],
    values: &Arc<Memory>,
    operator: &Operator,
    block: usize,
    gpu: &Gpu,
) -> Result<Option<(Vec<IndexColumn>, Values)>, Error> {
    let dtype = call.dtype();
    let Some(operator) = combination(operator, dtype) else { return Ok(None) };
    let levels = call.result().levels()[..columns.len()].iter();
    let mut ranges: Vec<_> = levels.map(|level| range(level.lower, level.size)).collect();
    let count = ranges.len();
    let columns: Result<Vec<Held>, _> = columns.iter().map(|column| held(column, gpu)).collect();
    let mut columns = columns.map_err(device)?;
    let Some(mut len) = columns.first().map(|column| column.len) else { return Ok(None) };
    if block > 1 {
        ranges.push(range(0, block as u64));
        columns = entries(&columns, block, gpu).map_err(device)?;
        len *= block;
    }
    let mut table = Table { gpu, columns, ranges, values: Arc::clone(values), dtype, len };
    let mut sorted = || -> Result<_, CudaError> {
        let all = table.columns.len();
        table.sort(all)?;
        let runs = table.runs(all)?;
        if runs.count() < table.len {
            table.combine(&runs, &operator)?;
        }
        let values = place::values(dtype, &table.values, table.len, gpu);
        Ok((table.rows(count, block as u64)?.0, values))
    };
    sorted().map(Some).map_err(device)
}

/// The columns of rows as those of their values, of which each row has `block`, and the place of each in its row.
fn entries(rows: &[Held], block: usize, gpu: &Gpu) -> Result<Vec<Held>, CudaError> {
    let (primitives, count) = (gpu.primitives(), rows.first().map_or(0, |column| column.len));
    let kind = numbers(count.max(block) as u64);
    let [of, offsets] = cache::with_room(|| primitives.split(count, block, kind))?;
    let columns = rows.iter().map(|column| column.gathered(of.column(), primitives));
    columns.chain([Ok(offsets.into())]).collect()
}

fn range(lowest: i64, count: u64) -> RangeInclusive<i64> {
    lowest..=lowest.saturating_add_unsigned(count.saturating_sub(1))
}

/// The operator on values in their order, if it has an operation of the loops.
pub(crate) fn combination(operator: &Operator, dtype: Dtype) -> Option<Combination> {
    match operator.reduction(dtype)? {
        BinOp::Add => Some(Combination::Add),
        BinOp::Mul => Some(Combination::Mul),
        BinOp::Min => Some(Combination::Min),
        BinOp::Max => Some(Combination::Max),
        _ => None,
    }
}

struct Conversions;

inventory::submit!(Registration(&Conversions));

impl Converter for Conversions {
    fn name(&self) -> &'static str {
        crate::provider::CUDA
    }

    fn has(&self, tensor: &Tensor) -> bool {
        there::gpu_of(tensor).is_some()
    }

    fn convert(&self, conversion: &Conversion<'_>) -> Result<Option<Tensor>, Error> {
        let Some(gpu) = there::gpu_of(conversion.tensor()) else { return Ok(None) };
        match convert(conversion, &gpu) {
            // What cannot be done there is done on the host.
            Err(Error::Unsupported(_)) => Ok(None),
            Err(Error::Device(error)) if is_want_of_room(&*error) => Ok(None),
            made => made,
        }
    }

    fn cast(&self, tensor: &Tensor, to: Dtype) -> Option<Values> {
        let gpu = there::gpu_of(tensor)?;
        // What cannot be done there is done on the host.
        cast(tensor, to, &gpu).ok()
    }
}

fn is_want_of_room(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(CudaError::OutOfMemory { .. }))
}

fn convert(conversion: &Conversion<'_>, gpu: &Gpu) -> Result<Option<Tensor>, Error> {
    let Some(loops) = conversion.loops()? else { return Ok(None) };
    let (tensor, stream) = (conversion.tensor(), gpu.stream());
    let (levels, values) = (there::levels(tensor, stream)?, there::values(tensor, stream)?);
    let used = levels.0.iter().flatten().chain([&values.0]).map(AsRef::as_ref);
    there::between(stream, used, || {
        let written = write_columns(conversion, &loops, (&levels, &values), gpu)?;
        let len = tensor.nse();
        let columns = written.columns.into_iter();
        let columns = columns.map(|(kind, memory)| Held { memory: Arc::new(memory), kind, len });
        let columns = columns.collect();
        let (dtype, values) = (conversion.dtype(), Arc::clone(&values.0));
        let ranges = conversion.columns()?.into_iter();
        let ranges = ranges.map(|column| range(column.range.0, column.range.1)).collect();
        let mut table = Table { gpu, columns, ranges, values, dtype, len };
        if let Some(mask) = &written.mask {
            table.keep_marked(mask).map_err(device)?;
        }
        match ordered(conversion, &mut table)? {
            Some(distinct) => built(conversion, &table, distinct).map(Some),
            None => Ok(None),
        }
    })
}

/// Brings entries in the order of the result, and adds those with the same coordinates, if it is to be. Returns
/// whether no two have the same then. `None` if that is for the host.
fn ordered(conversion: &Conversion<'_>, table: &mut Table<'_>) -> Result<Option<bool>, Error> {
    let levels = conversion.levels();
    let mut distinct = conversion.is_distinct();
    let has_offsets = table.columns.len() > levels;
    let sorted = conversion.sorted_columns();
    if sorted > 0 {
        table.sort(sorted).map_err(device)?;
    }
    if distinct {
        return Ok(Some(true));
    }
    let runs = table.runs(table.columns.len()).map_err(device)?;
    if runs.count() == table.len {
        distinct = true;
    } else if conversion.refuses_duplicates() || has_offsets && !conversion.sums_duplicates() {
        // An error, or several rows with the same coordinates.
        return Ok(None);
    } else if conversion.sums_duplicates() {
        // Sums of integers that overflow are an error, which is found on the host.
        if !(table.dtype.is_float() || table.dtype.is_complex() || table.dtype == Dtype::Bool) {
            return Ok(None);
        }
        table.combine(&runs, &Combination::Add).map_err(device)?;
        distinct = true;
    }
    if conversion.drops_fill() {
        table.drop_value(conversion.fill()).map_err(device)?;
    }
    Ok(Some(distinct))
}

/// The result, of entries in its order.
fn built(conversion: &Conversion<'_>, table: &Table<'_>, distinct: bool) -> Result<Tensor, Error> {
    let (gpu, levels, block) = (table.gpu, conversion.levels(), conversion.block()?);
    let (rows, of) = table.rows(levels, block).map_err(device)?;
    let count = rows.first().map_or(1, IndexColumn::len);
    let made = conversion.assembled(rows, count, distinct)?;
    let length = conversion.values(&made)?;
    let values = match (&of, &made.position) {
        (None, IndexColumn::Count(all)) if *all == length => Arc::clone(&table.values),
        (of, position) => {
            let at = places(table, of.as_ref(), position, block).map_err(device)?;
            table.placed(&at, length, conversion.fill()).map_err(device)?
        }
    };
    let values = place::values(table.dtype, &values, length, gpu);
    let result = conversion.finished(made, values);
    there::levels(&result, gpu.stream())?;
    there::values(&result, gpu.stream())?;
    Ok(result)
}

/// The position of the value of each entry. `of` is the row of each, and `position` the position of each row; `None`
/// if each is a row.
fn places(
    table: &Table<'_>,
    of: Option<&IndexColumn>,
    position: &IndexColumn,
    block: u64,
) -> Result<Held, CudaError> {
    let (gpu, primitives) = (table.gpu, table.gpu.primitives());
    if let (Some(IndexColumn::Same(0, _)), Some(offset)) = (of, table.columns.last()) {
        return Ok(offset.clone());
    }
    // A level whose assembly is not done there leaves its positions on the host.
    let here;
    let position = match position {
        IndexColumn::Count(_) | IndexColumn::Same(..) => held(position, gpu)?,
        _ if position.place().is_some() => held(position, gpu)?,
        _ => {
            here = position.to_vec();
            let memory = cache::with_room(|| gpu.stream().upload(bytemuck::cast_slice(&here)))?;
            Held { memory: Arc::new(memory), kind: IndexKind::I64, len: here.len() }
        }
    };
    let Some(of) = of else { return Ok(position) };
    let base = position.gathered(held(of, gpu)?.column()?, primitives)?;
    let offset = table.columns.last().expect("a block of several values has offsets").column()?;
    let at =
        || primitives.full_positions(base.column()?, offset, (block as i64, 0), IndexKind::I64);
    Ok(cache::with_room(at)?.into())
}
