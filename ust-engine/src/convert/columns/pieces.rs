//! Blocks found and filled a piece of the outermost loop at a time: nothing but where each value
//! goes is written down for an entry.

use rayon::prelude::*;
use ust_format::{Bound, Format, IndexExpr, LevelDomain};
use ust_kernels::pool::threads;
use ust_level_api::column::IndexRead;
use ust_level_api::{Buffer, Element, IndexColumn, Scalar, with_column};

use super::assemble::{levels, stored_values};
use super::grid::Grid;
use super::group::{Lookup, lookup_range};
use super::order::heads;
use super::read::{block_of, in_order, level_columns, offset_column};
use super::sort::{keyed, picked};
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values, ends_in_padding};
use crate::walk::nest::{Operand, Reach};
use crate::walk::pieces::Pieces;
use crate::with_values;

/// Fewer entries than this are not cut into pieces, but where nothing is compiled for it.
pub(super) const FEW: usize = 1 << 15;
/// Entries in a piece, about: their columns stay in the second cache.
const PIECE: usize = 1 << 14;

/// What is kept of a piece.
pub(super) struct Piece {
    /// For each level above the trailing full ones, the coordinate of each block. Runs begin with the
    /// coordinate at which the piece does.
    pub(super) levels: Vec<IndexColumn>,
    /// Number of blocks.
    pub(super) blocks: usize,
    /// Number of entries that have a place there.
    pub(super) kept: usize,
}

/// Entries in pieces, each of which has whole blocks.
pub(super) trait Source: Sync {
    /// Number of pieces.
    fn len(&self) -> usize;

    /// Number of entries in a piece.
    ///
    /// # Errors
    /// As [`Pieces::rows`].
    fn entries(&self, at: usize) -> Result<usize, Error>;

    /// Finds the blocks of a piece, and where each of its entries stands among their values: [`NOWHERE`]
    /// if it is padding. `first` entries come before those of the piece.
    ///
    /// # Errors
    /// As [`Pieces::read`].
    fn grouped(
        &self,
        at: usize,
        first: usize,
        places: &mut [u32],
        lookup: &mut Lookup,
    ) -> Result<Piece, Error>;
}

/// Entries whose coordinates are computed.
struct Computed<'a> {
    pieces: Pieces<'a>,
    /// The levels above the trailing full ones.
    domains: &'a [LevelDomain],
    /// In the order of how many levels, from the first, entries come.
    sorted: usize,
    /// Values of a block.
    block: u32,
    /// Values of which those equal to the second are padding, where there is some.
    padding: Option<(&'a Values, Scalar)>,
}

/// The place of padding, which has none: a piece has fewer places than this is large.
const NOWHERE: u32 = u32::MAX;

impl Source for Computed<'_> {
    fn len(&self) -> usize {
        self.pieces.len()
    }

    fn entries(&self, at: usize) -> Result<usize, Error> {
        self.pieces.rows(at)
    }

    fn grouped(
        &self,
        at: usize,
        first: usize,
        places: &mut [u32],
        lookup: &mut Lookup,
    ) -> Result<Piece, Error> {
        let columns = self.pieces.read(at, places.len())?;
        let mut grouped = |columns, places: &mut [u32]| {
            grouped(columns, self.domains, self.sorted, self.block, places, lookup)
        };
        let entries = self.padding.and_then(|(values, fill)| {
            with_values!(values, values => others(&values[first..first + places.len()], fill))
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

/// How entries are cut into pieces.
pub(super) struct Cut {
    /// In the order of how many levels, from the first, they come.
    sorted: usize,
    /// How many keys the levels below have.
    range: usize,
    /// Pieces end where the first level's coordinate changes: at multiples of this.
    align: i64,
}

/// How so many entries of one format can be cut into pieces for another.
///
/// # Errors
/// As [`block_of`].
pub(super) fn cut(from: &Format, n: usize, bound: &Bound) -> Result<Option<Cut>, Error> {
    let to = bound.format();
    let tail = to.tail();
    let compact = tail > 0 && to.descriptions()[tail - 1].props.compact;
    let block = block_of(bound)?;
    if tail == to.level_count() || !compact || block > PIECE as u64 {
        return Ok(None);
    }
    let sorted = in_order(from, to);
    if !Pieces::are_of(from) {
        return Ok(None);
    }
    // All values of blocks are looked at, padding or not; other levels may pass over padding. Where no
    // level stands above a block, nearly all of it may be padding.
    let apart = !ends_in_padding(from) || from.tail() > 0 && Operand::ends_evenly(from);
    if sorted == 0 || !Operand::visits_in_order(from) || !apart {
        return Ok(None);
    }
    let Some(range) = lookup_range(&bound.levels()[sorted.min(tail)..tail], n) else {
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

/// Pieces at least that a thread is to take of so many entries.
fn apart(n: usize) -> usize {
    if threads(n) == 1 { usize::MAX } else { 1 }
}

/// Values that are looked at before work begins that would be in vain.
const SAMPLE: usize = 1 << 12;

/// Whether an entry equals the fill value, as far as a look at the first ones tells: blocks are not
/// found piece by piece then.
pub(super) fn stores_fill(tensor: &Tensor, fill: Scalar) -> bool {
    with_values!(&tensor.values, values => {
        let fill = Element::from_scalar(fill);
        let first = &values[..values.len().min(SAMPLE)];
        fill.is_some_and(|fill| first.iter().any(|&value| Element::same(fill, value)))
    })
}

/// Which values differ from the fill value; `None` where all do, whatever they are.
fn others<T: Element>(values: &[T], fill: Scalar) -> Option<Vec<usize>> {
    let fill = T::from_scalar(fill)?;
    // Most blocks are full.
    if !values.iter().any(|&value| fill.same(value)) {
        return None;
    }
    let others = values.iter().enumerate().filter(|(_, value)| !fill.same(**value));
    Some(others.map(|(at, _)| at).collect())
}

/// How a tensor gets into a format that ends in full levels, where the leading levels come in the
/// order of the tensor's outermost loop.
pub(in crate::convert) struct PieceByPiece {
    cut: Cut,
    grid: Option<Grid>,
    /// Whether the tensor stores padding.
    padded: bool,
}

impl PieceByPiece {
    /// `None` where that order is not known, or nothing is gained.
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
        // Keys are of all levels below the first.
        let grid = if cut.sorted == 1 { Grid::of(tensor, bound, PIECE) } else { None };
        let padded = tensor.has_padding();
        let worth = grid.is_some() || n >= FEW;
        if !worth || !padded && stores_fill(tensor, fill) {
            return Ok(None);
        }
        Ok(Some(Self { cut, grid, padded }))
    }

    /// Whether the tensor stores where each row begins.
    pub(in crate::convert) fn has_stored_rows(&self) -> bool {
        self.grid.is_some()
    }

    /// The tensor in the other format. `None` where an entry equals the fill value, or levels store
    /// what cannot be cut.
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
        let values = if padded { tensor.clean_values()? } else { tensor.values.clone() };
        if let Some(grid) = &self.grid {
            return gathered(&values, bound, fill, memory_limit, grid, range);
        }
        let block = block_of(bound)?;
        let mut wanted = level_columns(bound);
        wanted.push(offset_column(bound, block));
        // What is stored for no element is padding.
        let reach = if padded { Reach::Everything } else { Reach::Inside };
        let Some(pieces) = Pieces::new(tensor, reach, &wanted, align, PIECE)? else {
            return Ok(None);
        };
        let (domains, block) = (&bound.levels()[..bound.format().tail()], block as u32);
        let padding = padded.then_some((&values, tensor.fill));
        let computed = Computed { pieces, domains, sorted, block, padding };
        gathered(&values, bound, fill, memory_limit, &computed, range)
    }
}

/// The blocks of all pieces, where a segment's keys are below `range`.
fn gathered(
    values: &Values,
    bound: &Bound,
    fill: Scalar,
    memory_limit: u64,
    pieces: &impl Source,
    range: usize,
) -> Result<Option<Tensor>, Error> {
    let (n, tail) = (values.len(), bound.format().tail());
    let (block, apart) = (block_of(bound)?, apart(n));
    let counts = (0..pieces.len())
        .into_par_iter()
        .with_min_len(apart)
        .map(|at| pieces.entries(at))
        .collect::<Result<Vec<_>, Error>>()?;
    let most = counts.iter().copied().max().unwrap_or(0) as u64;
    if counts.iter().sum::<usize>() != n || most * block > u64::from(u32::MAX) {
        return Ok(None);
    }
    // For each entry, the place of its value among those of its piece.
    let mut places = Buffer::<u32>::unspecified(n);
    let found = parts(places.make_mut(), &counts)
        .into_par_iter()
        .with_min_len(apart)
        .enumerate()
        .map_init(
            || Lookup::new(range),
            |lookup, (at, (first, places))| pieces.grouped(at, first, places, lookup),
        )
        .collect::<Result<Vec<Piece>, Error>>()?;
    let blocks = found.iter().map(|piece| piece.blocks).sum();
    let columns = (0..tail).map(|level| joined(&found, level)).collect();
    let made = levels(bound, columns, blocks, true, memory_limit)?;
    if made.positions != blocks as u64 || !matches!(made.position, IndexColumn::Count(_)) {
        return Ok(None);
    }
    let length = stored_values(bound, &made, block, fill.dtype(), memory_limit)?;
    let values = with_values!(values, from => {
        placed(from, &places, (&counts, &found), fill, length, block as usize)
    });
    // An entry that equals the fill value is no entry there.
    let Some(values) = values else { return Ok(None) };
    Ok(Some(Tensor::trusted(bound.clone(), made.arrays, values, fill, true)))
}

/// A slice cut into consecutive parts of these lengths, each with where it begins.
fn parts<'a, T>(mut rest: &'a mut [T], lengths: &[usize]) -> Vec<(usize, &'a mut [T])> {
    let mut first = 0;
    let part = |&length: &usize| {
        let part = rest.split_off_mut(..length).expect("as long as all of them");
        first += length;
        (first - length, part)
    };
    lengths.iter().map(part).collect()
}

/// Finds the blocks of a piece, and where each entry stands among those.
fn grouped(
    mut columns: Vec<IndexColumn>,
    domains: &[LevelDomain],
    sorted: usize,
    block: u32,
    of: &mut [u32],
    lookup: &mut Lookup,
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
        leading => heads(&leading.iter().collect::<Vec<_>>(), offset.len()),
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
            lookup.segments(&starts, keys, of).columns(leading, &starts, domains)
        }
        _ => {
            let keys = keyed::<u32>(below, domains);
            lookup.segments(&starts, &keys, of).columns(leading, &starts, domains)
        }
    };
    with_column!(&offset, offset => {
        for (at, place) in of.iter_mut().enumerate() {
            *place = *place * block + offset.at(at) as u32;
        }
    });
    let blocks = levels.first().map_or(0, IndexColumn::len);
    Piece { levels, blocks, kept: of.len() }
}

/// The coordinates of all blocks at a level.
fn joined(found: &[Piece], level: usize) -> IndexColumn {
    macro_rules! join {
        ($variant:ident) => {{
            let counts: Vec<usize> = found.iter().map(|piece| piece.blocks).collect();
            let mut all = Buffer::unspecified(counts.iter().sum());
            let parts = parts(all.make_mut(), &counts).into_par_iter().zip(found);
            parts.for_each(|((_, to), piece)| match &piece.levels[level] {
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

/// The values of all blocks; `None` where an entry's equals the fill value.
fn placed<T: StoredElement>(
    from: &[T],
    places: &[u32],
    (counts, found): (&[usize], &[Piece]),
    fill: Scalar,
    length: usize,
    block: usize,
) -> Option<Values> {
    let (fill, apart) = (T::from_scalar(fill)?, apart(from.len()));
    let mut stored = Buffer::<T>::unspecified(length);
    let mut jobs = Vec::with_capacity(found.len());
    let (mut first, mut to) = (0, stored.make_mut());
    for (piece, &count) in found.iter().zip(counts) {
        let (slots, others) = to.split_at_mut(piece.blocks * block);
        let entries = first..first + count;
        jobs.push((&from[entries.clone()], &places[entries], piece.kept, slots));
        (first, to) = (first + count, others);
    }
    let all = jobs.into_par_iter().with_min_len(apart).all(|(values, places, kept, slots)| {
        // Entries are distinct: as many as there are places leave none.
        if kept < slots.len() {
            // Zeros need not be read from memory before they are written.
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
        differ
    });
    all.then(|| T::wrap(stored))
}
