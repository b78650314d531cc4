//! Trailing dense blocks made a piece of the source's outermost loop at a time. The columns of a
//! piece stay in cache. Only one number is kept for each entry: the position of its value.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ust_format::{Bound, Format, IndexExpr, LevelDomain};
use ust_kernels::pool::threads;
use ust_level_api::column::IndexRead;
use ust_level_api::ir::parallel;
use ust_level_api::{Buffer, Element, IndexColumn, Scalar, with_column};

use super::assemble::{levels, stored_values};
use super::grid::Grid;
use super::group::{BlockTable, table_range};
use super::order::run_starts;
use super::read::{block_of, level_columns, levels_in_order, offset_column};
use super::sort::{combined_keys, picked};
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};
use crate::tuning::{FILL_SAMPLED_VALUES, PIECE_ENTRIES, PIECES_MIN_ENTRIES};
use crate::walk::nest::{Operand, Reach};
use crate::walk::pieces::Pieces;
use crate::with_values;

/// The blocks of a piece.
pub(super) struct Piece {
    /// For each level above the blocks, the coordinate of each block. `Runs` begin with the first
    /// coordinate of the piece.
    pub(super) levels: Vec<IndexColumn>,
    /// Number of blocks.
    pub(super) blocks: usize,
    /// Number of entries, padding left out.
    pub(super) entries: usize,
}

/// The stored values of a tensor, in pieces that share no block.
pub(super) trait Source: Sync {
    /// Number of pieces.
    fn len(&self) -> usize;

    /// Number of stored values in a piece, padding included.
    ///
    /// # Errors
    /// As [`Pieces::rows`].
    fn values(&self, at: usize) -> Result<usize, Error>;

    /// Finds the blocks of a piece, and writes the position of each stored value within these blocks to
    /// `places`: [`NOWHERE`] for padding. `first` is the number of stored values before the piece.
    ///
    /// # Errors
    /// As [`Pieces::read`].
    fn grouped(
        &self,
        at: usize,
        first: usize,
        places: &mut [u32],
        table: &mut BlockTable,
    ) -> Result<Piece, Error>;
}

/// A source whose coordinates are computed by a walk.
struct Computed<'a> {
    pieces: Pieces<'a>,
    /// The domains of the target levels above the blocks.
    domains: &'a [LevelDomain],
    /// The number of leading target levels in whose order entries are.
    sorted: usize,
    /// Number of values in a block.
    block: u32,
    /// The stored values and the fill value, where the source has padding.
    padding: Option<(&'a Values, Scalar)>,
}

/// The position of padding, which is not moved. A piece has fewer positions than this number.
const NOWHERE: u32 = u32::MAX;

impl Source for Computed<'_> {
    fn len(&self) -> usize {
        self.pieces.len()
    }

    fn values(&self, at: usize) -> Result<usize, Error> {
        self.pieces.rows(at)
    }

    fn grouped(
        &self,
        at: usize,
        first: usize,
        places: &mut [u32],
        table: &mut BlockTable,
    ) -> Result<Piece, Error> {
        let columns = self.pieces.read(at, places.len())?;
        let mut grouped = |columns, places: &mut [u32]| {
            grouped(columns, self.domains, self.sorted, self.block, places, table)
        };
        let entries = self.padding.and_then(|(values, fill)| {
            with_values!(values, values => {
                entries_among(&values[first..first + places.len()], fill)
            })
        });
        let Some(entries) = entries else { return Ok(grouped(columns, places)) };
        let columns = columns.iter().map(|column| picked(column, &entries)).collect();
        let mut found = vec![0; entries.len()];
        let piece = grouped(columns, &mut found);
        places.fill(NOWHERE);
        entries.into_iter().zip(found).for_each(|(at, place)| places[at] = place);
        Ok(piece)
    }
}

/// How a conversion is cut into pieces.
pub(super) struct Cut {
    /// The number of leading target levels in whose order entries are.
    sorted: usize,
    /// The number of keys of the levels between them and the block.
    range: usize,
    /// Pieces end at multiples of this number, where the coordinate of the first target level changes.
    align: i64,
}

/// How the conversion of `n` entries can be cut into pieces. `None` where pieces would share
/// blocks, or blocks are larger than pieces.
///
/// # Errors
/// As [`block_of`].
pub(super) fn cut(from: &Format, n: usize, bound: &Bound) -> Result<Option<Cut>, Error> {
    let to = bound.format();
    let tail = to.tail();
    let compact = tail > 0 && to.descriptions()[tail - 1].props.compact;
    let block = block_of(bound)?;
    if tail == to.level_count() || !compact || block > PIECE_ENTRIES as u64 {
        return Ok(None);
    }
    let sorted = levels_in_order(from, to);
    if !Pieces::are_of(from) {
        return Ok(None);
    }
    // A piece visits all its values, padding included, which needs a last level that is full:
    // others may pass over padding. Where no level is above the source's block, nearly all of it
    // may be padding.
    let visits_padding = !from.has_padding() || from.tail() > 0 && Operand::ends_evenly(from);
    if sorted == 0 || !Operand::visits_in_order(from) || !visits_padding {
        return Ok(None);
    }
    let Some(range) = table_range(&bound.levels()[sorted.min(tail)..tail], n) else {
        return Ok(None);
    };
    let align = match &to.levels()[0].expr {
        expr if *expr == from.levels()[0].expr => 1,
        IndexExpr::FloorDiv(_, by) => match **by {
            IndexExpr::Const(size) => size,
            _ => return Ok(None),
        },
        _ => 1,
    };
    Ok(Some(Cut { sorted, range, align }))
}

/// The least number of pieces that a thread takes of `n` entries: all, where there is one thread.
fn min_pieces(n: usize) -> usize {
    if threads(n) == 1 { usize::MAX } else { 1 }
}

/// Whether a sample, the first values, has an entry that equals the fill value. Then blocks cannot
/// be made piece by piece, and an attempt would be in vain.
pub(super) fn stores_fill(tensor: &Tensor, fill: Scalar) -> bool {
    with_values!(tensor.values(), values => {
        let fill = Element::from_scalar(fill);
        let first = &values[..values.len().min(FILL_SAMPLED_VALUES)];
        fill.is_some_and(|fill| first.iter().any(|&value| Element::same(fill, value)))
    })
}

/// The indices of the values that differ from the fill value; `None` where all values do.
fn entries_among<T: Element>(values: &[T], fill: Scalar) -> Option<Vec<usize>> {
    let fill = T::from_scalar(fill)?;
    // The common case: most blocks have no padding.
    if !values.iter().any(|&value| fill.same(value)) {
        return None;
    }
    let entries = values.iter().enumerate().filter(|(_, value)| !fill.same(**value));
    Some(entries.map(|(at, _)| at).collect())
}

/// A conversion to trailing dense blocks, piece by piece. The first target level is in the order of
/// the source's outermost loop. Example: CSR to BSR.
pub(in crate::convert) struct PieceByPiece {
    cut: Cut,
    grid: Option<Grid>,
    /// Whether the tensor stores padding.
    padded: bool,
}

impl PieceByPiece {
    /// `None` where that order is not known, or pieces gain nothing.
    ///
    /// # Errors
    /// As [`block_of`].
    pub(in crate::convert) fn of(
        tensor: &Tensor,
        bound: &Bound,
        fill: Scalar,
    ) -> Result<Option<Self>, Error> {
        let n = tensor.nse();
        if !tensor.view().is_whole() {
            return Ok(None);
        }
        let Some(cut) = cut(tensor.format(), n, bound)? else { return Ok(None) };
        // A grid expects keys of all levels between the first and the block.
        let grid = if cut.sorted == 1 { Grid::of(tensor, bound, PIECE_ENTRIES) } else { None };
        let padded = tensor.has_padding();
        let worth = grid.is_some() || n >= PIECES_MIN_ENTRIES;
        if !worth || !padded && stores_fill(tensor, fill) {
            return Ok(None);
        }
        Ok(Some(Self { cut, grid, padded }))
    }

    /// Whether the tensor stores the first entry of each row.
    pub(in crate::convert) fn has_stored_rows(&self) -> bool {
        self.grid.is_some()
    }

    /// The tensor in the target format. `None` where an entry equals the fill value, or the
    /// outermost loop cannot be cut.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub(in crate::convert) fn gather(
        &self,
        tensor: &Tensor,
        bound: &Bound,
        fill: Scalar,
        memory_limit: u64,
    ) -> Result<Option<Tensor>, Error> {
        let &Self { cut: Cut { sorted, range, align }, padded, .. } = self;
        let values = if padded { tensor.clean_values()? } else { tensor.values().clone() };
        if let Some(grid) = &self.grid {
            return gathered(&values, bound, fill, memory_limit, grid, range);
        }
        let block = block_of(bound)?;
        let mut wanted = level_columns(bound);
        wanted.push(offset_column(bound, block));
        // Clean values: those outside the shape equal the fill value, like padding.
        let reach = if padded { Reach::Everything } else { Reach::Inside };
        let Some(pieces) = Pieces::new(tensor, reach, &wanted, align, PIECE_ENTRIES)? else {
            return Ok(None);
        };
        let (domains, block) = (&bound.levels()[..bound.format().tail()], block as u32);
        let padding = padded.then_some((&values, tensor.fill));
        let computed = Computed { pieces, domains, sorted, block, padding };
        gathered(&values, bound, fill, memory_limit, &computed, range)
    }
}

/// The tensor of the blocks of all pieces. The keys of a segment are below `range`. `None` where an
/// entry equals the fill value.
fn gathered(
    values: &Values,
    bound: &Bound,
    fill: Scalar,
    memory_limit: u64,
    pieces: &impl Source,
    range: usize,
) -> Result<Option<Tensor>, Error> {
    let (n, tail) = (values.len(), bound.format().tail());
    let (block, min_pieces) = (block_of(bound)?, min_pieces(n));
    let counts =
        parallel::map_items_with(min_pieces, 0..pieces.len(), || (), |(), _, at| pieces.values(at));
    let counts = counts.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let most = counts.iter().copied().max().unwrap_or(0) as u64;
    if counts.iter().sum::<usize>() != n || most * block > u64::from(u32::MAX) {
        return Ok(None);
    }
    // The position of each value within the blocks of its piece.
    let mut places = Buffer::<u32>::unspecified(n);
    let found = parallel::map_items_with(
        min_pieces,
        parts(places.make_mut(), &counts),
        || BlockTable::new(range),
        |table, at, (first, places)| pieces.grouped(at, first, places, table),
    );
    let found = found.into_iter().collect::<Result<Vec<Piece>, Error>>()?;
    let blocks = found.iter().map(|piece| piece.blocks).sum();
    let columns = (0..tail).map(|level| joined(&found, level)).collect();
    let made = levels(bound, columns, blocks, (true, None), (memory_limit, false))?;
    if made.positions != blocks as u64 || !matches!(made.position, IndexColumn::Count(_)) {
        return Ok(None);
    }
    let length = stored_values(bound, &made, block, fill.dtype(), memory_limit)?;
    let values = with_values!(values, from => {
        placed(from, &places, (&counts, &found), fill, length, block as usize)
    });
    // The target cannot tell an entry that equals the fill value from padding.
    let Some(values) = values else { return Ok(None) };
    Tensor::assembled(bound.clone(), made.arrays, values, fill, true).map(Some)
}

/// A slice cut into consecutive parts of these lengths, each with its offset in the slice.
fn parts<'a, T>(mut rest: &'a mut [T], lengths: &[usize]) -> Vec<(usize, &'a mut [T])> {
    let mut first = 0;
    let part = |&length: &usize| {
        let part = rest.split_off_mut(..length).expect("as long as all of them");
        first += length;
        (first - length, part)
    };
    lengths.iter().map(part).collect()
}

/// Finds the blocks of a piece, and writes the position of each entry within these blocks to `of`.
/// The columns are those of the levels above the block and, at last, the offsets within it.
fn grouped(
    mut columns: Vec<IndexColumn>,
    domains: &[LevelDomain],
    sorted: usize,
    block: u32,
    of: &mut [u32],
    table: &mut BlockTable,
) -> Piece {
    let offset = columns.pop().expect("one more than the levels");
    assert_eq!(offset.len(), of.len(), "a piece has as many entries as were counted");
    let (leading, below) = columns.split_at(sorted);
    let starts = match leading {
        [IndexColumn::U32(keys)] => {
            let differ = keys.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
            let others = differ.map(|(at, _)| at + 1);
            (0..keys.len().min(1)).chain(others).collect()
        }
        leading => run_starts(&leading.iter().collect::<Vec<_>>(), offset.len()),
    };
    let domains = &domains[sorted..];
    let levels = match below {
        [] => {
            for (number, &start) in starts.iter().enumerate() {
                let end = starts.get(number + 1).copied().unwrap_or(of.len());
                of[start..end].fill(number as u32);
            }
            leading.iter().map(|column| picked(column, &starts)).collect()
        }
        [IndexColumn::U32(keys)] if domains[0].lower == 0 => {
            table.segments(&starts, keys, of).columns(leading, &starts, domains)
        }
        _ => {
            let keys = combined_keys::<u32>(below, domains);
            table.segments(&starts, &keys, of).columns(leading, &starts, domains)
        }
    };
    with_column!(&offset, offset => {
        for (at, place) in of.iter_mut().enumerate() {
            *place = *place * block + offset.at(at) as u32;
        }
    });
    let blocks = levels.first().map_or(0, IndexColumn::len);
    Piece { levels, blocks, entries: of.len() }
}

/// The coordinates of all blocks at a level.
fn joined(found: &[Piece], level: usize) -> IndexColumn {
    macro_rules! join {
        ($variant:ident) => {{
            let counts: Vec<usize> = found.iter().map(|piece| piece.blocks).collect();
            let mut all = Buffer::unspecified(counts.iter().sum());
            let parts = parts(all.make_mut(), &counts).into_iter().zip(found);
            parallel::items(parts, |_, ((_, to), piece)| match &piece.levels[level] {
                IndexColumn::$variant(words) => to.copy_from_slice(words),
                other => unreachable!("a column of another kind: {other:?}"),
            });
            all.into()
        }};
    }
    match found.first().map(|piece| &piece.levels[level]) {
        Some(IndexColumn::Runs(_)) => {
            let mut starts = vec![0];
            for piece in found {
                let IndexColumn::Runs(own) = &piece.levels[level] else {
                    unreachable!("a column of another kind: {:?}", piece.levels[level])
                };
                let before = starts[starts.len() - 1];
                starts.extend(own[1..].iter().map(|start| before + start));
            }
            IndexColumn::Runs(starts.into())
        }
        Some(IndexColumn::U32(_)) => join!(U32),
        Some(IndexColumn::I32(_)) => join!(I32),
        _ => join!(I64),
    }
}

/// The values of all blocks. `None` where an entry equals the fill value.
fn placed<T: StoredElement>(
    from: &[T],
    places: &[u32],
    (counts, found): (&[usize], &[Piece]),
    fill: Scalar,
    length: usize,
    block: usize,
) -> Option<Values> {
    let (fill, min_pieces) = (T::from_scalar(fill)?, min_pieces(from.len()));
    let mut stored = Buffer::<T>::unspecified(length);
    let mut jobs = Vec::with_capacity(found.len());
    let (mut first, mut to) = (0, stored.make_mut());
    for (piece, &count) in found.iter().zip(counts) {
        let (slots, others) = to.split_at_mut(piece.blocks * block);
        let own = first..first + count;
        jobs.push((&from[own.clone()], &places[own], piece.entries, slots));
        (first, to) = (first + count, others);
    }
    let stores_fill = AtomicBool::new(false);
    parallel::items_by(min_pieces, jobs, |_, (values, places, entries, slots)| {
        if stores_fill.load(Relaxed) {
            return;
        }
        // Entries are distinct: as many entries as positions leave no padding.
        if entries < slots.len() {
            // Zeros are written without reading the memory first.
            match bytemuck::bytes_of(&fill).iter().all(|&byte| byte == 0) {
                true => bytemuck::fill_zeroes(slots),
                false => slots.fill(fill),
            }
        }
        let mut differ = true;
        for (&value, &place) in values.iter().zip(places) {
            if place != NOWHERE {
                differ &= !fill.same(value);
                slots[place as usize] = value;
            }
        }
        if !differ {
            stores_fill.store(true, Relaxed);
        }
    });
    (!stores_fill.into_inner()).then(|| T::wrap(stored))
}
