//! Conversions between formats with the same trailing dense blocks. Only the coordinates of the
//! blocks are sorted. The values of each block are copied once.
//!
//! Example: BSR to BSC. Blocks are ordered by block columns instead of block rows, and the values
//! within a block may change from row-major to column-major order.

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ust_format::{Bound, Format, Spelling};
use ust_kernels::pool::threads;
use ust_kernels::prefetch_elements;
use ust_level_api::ir::parallel;
use ust_level_api::{Arrays, Buffer, IndexColumn, Scalar};

use super::assemble::{Stored, stored_values};
use super::read::block_of;
use crate::convert::build::BuildOptions;
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};
use crate::tuning::{WHOLE_BLOCK_DISTANCE, WHOLE_BLOCK_PREFETCH_BYTES, WHOLE_BLOCK_VALUES};
use crate::with_values;

/// How the levels of a target format correspond to those of a source format with the same blocks.
pub(super) struct SameBlocks {
    /// For each target level above the trailing full levels, the source level with the same expression.
    above: Vec<usize>,
    /// For each trailing full level of the target, the source level with the same expression.
    within: Vec<usize>,
}

/// The correspondence of two formats with the same blocks. The order of the blocks may differ, and
/// so may the order of the values within a block. `None` where the blocks differ, or where a level
/// above the blocks stores padding, or has room for a limited number of entries only.
pub(super) fn same_blocks(from: &Format, to: &Format) -> Option<SameBlocks> {
    let matched = |targets: Range<usize>, sources: Range<usize>| {
        let source_of = |target: usize| {
            let expr = &to.levels()[target].expr;
            sources.clone().find(|&source| from.levels()[source].expr == *expr)
        };
        let matched = targets.clone().map(source_of).collect::<Option<Vec<usize>>>()?;
        let each = sources.clone().all(|source| matched.contains(&source));
        (each && targets.len() == sources.len()).then_some(matched)
    };
    let is_free = |format: &Format| {
        let above = &format.descriptions()[..format.tail()];
        above.iter().all(|level| !level.props.bounded && !level.props.padded)
    };
    let in_blocks = |format: &Format| format.tail() > 0 && format.tail() < format.level_count();
    if !in_blocks(from) || !in_blocks(to) || !from.is_unique() || !is_free(from) || !is_free(to) {
        return None;
    }
    Some(SameBlocks {
        above: matched(0..to.tail(), 0..from.tail())?,
        within: matched(to.tail()..to.level_count(), from.tail()..from.level_count())?,
    })
}

/// The format with the levels above its blocks in reverse order, such as BSC for BSR. `None` for a
/// format without blocks, or with fewer than two levels above them.
pub(super) fn with_reversed_blocks(format: &Format) -> Option<Format> {
    let (tail, levels) = (format.tail(), format.levels());
    if tail < 2 || tail == levels.len() {
        return None;
    }
    let dims: Vec<&str> = format.dims().iter().map(|dim| &dim.name[..]).collect();
    let order = (0..tail).rev().chain(tail..levels.len());
    with_exprs(format, &dims, order.map(|at| levels[at].expr.display(&dims, Spelling::Ust)))
}

/// A format with these dimensions and level expressions, and the level types and widths of another
/// format.
fn with_exprs(
    format: &Format,
    dims: &[impl Borrow<str>],
    exprs: impl Iterator<Item = String>,
) -> Option<Format> {
    let levels = exprs.zip(format.descriptions());
    let levels: Vec<String> =
        levels.map(|(expr, level)| format!("{expr} : {}", level.text)).collect();
    let written = Format::of_texts(dims, &levels).ok()?;
    written.with_widths(format.pos_width(), format.crd_width()).ok()
}

/// A conversion that moves whole blocks.
///
/// The blocks become the elements of a smaller tensor, whose dimensions are the levels above the
/// blocks and whose values are block numbers. Its conversion gives the new order of the blocks.
pub(in crate::convert) struct WholeBlocks {
    /// As [`SameBlocks::within`].
    within: Vec<usize>,
    /// Number of values in a block.
    block: usize,
    /// The format of the source's block numbers, bound: one dimension for each level above the blocks.
    source: Bound,
    /// The format of the target's block numbers, over the same dimensions.
    target: Format,
}

impl WholeBlocks {
    /// `None` where the formats do not have the same blocks.
    ///
    /// # Errors
    /// As [`block_of`].
    pub(in crate::convert) fn of(
        tensor: &Tensor,
        bound: &Bound,
        fill: Scalar,
    ) -> Result<Option<Self>, Error> {
        let (from, to) = (tensor.format(), bound.format());
        if !tensor.view().is_whole() || !fill.same(&tensor.fill()) {
            return Ok(None);
        }
        let Some(SameBlocks { above, within }) = same_blocks(from, to) else { return Ok(None) };
        let domains = tensor.bound().levels();
        let same =
            above.iter().chain(&within).zip(bound.levels()).all(|(&at, own)| domains[at] == *own);
        let block = block_of(bound)? as usize;
        // Block numbers have 32 bits.
        let many = block == 0 || i32::try_from(tensor.nse() / block).is_err();
        if !same || many || domains[..from.tail()].iter().any(|domain| domain.lower != 0) {
            return Ok(None);
        }
        let order: Vec<usize> = (0..from.tail()).collect();
        let sizes = domains[..from.tail()].iter().map(|domain| usize::try_from(domain.size).ok());
        let source = || levels_above(from, &order)?.bind(&sizes.collect::<Option<Vec<_>>>()?).ok();
        let (Some(source), Some(target)) = (source(), levels_above(to, &above)) else {
            return Ok(None);
        };
        Ok(Some(Self { within, block, source, target }))
    }

    /// The tensor in the target format. `None` where all values of a block equal the fill value:
    /// the target would not store such a block.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub(in crate::convert) fn move_into(
        &self,
        tensor: &Tensor,
        bound: &Bound,
        options: &BuildOptions,
    ) -> Result<Option<Tensor>, Error> {
        let &BuildOptions { duplicates, memory_limit, .. } = options;
        let (to, block, fill) = (bound.format(), self.block, tensor.fill());
        let numbers = self.block_numbers(tensor);
        let moved =
            numbers.rebuild_within(&self.target, duplicates, numbers.fill(), memory_limit)?;
        let mut arrays = moved.levels().to_vec();
        let bytes = arrays.iter().map(Arrays::bytes).sum::<usize>() as u64;
        arrays.resize_with(to.level_count(), Arrays::default);
        let positions = moved.nse() as u64;
        let made = Stored { arrays, position: IndexColumn::Count(moved.nse()), positions, bytes };
        let length = stored_values(bound, &made, block as u64, fill.dtype(), memory_limit)?;
        let offsets = source_offsets(tensor.bound(), &self.within, block);
        let values = tensor.clean_values()?;
        let numbers: &[i32] = moved.values().typed()?;
        let values = with_values!(&values, from => {
            copy_blocks(from, numbers, &offsets, fill, length)
        });
        Ok(values.map(|values| Tensor::trusted(bound.clone(), made.arrays, values, fill, true)))
    }

    /// The block numbers of a tensor, as a tensor in [`Self::source`]. Its fill value is -1.
    fn block_numbers(&self, tensor: &Tensor) -> Tensor {
        let levels = tensor.levels()[..tensor.format().tail()].to_vec();
        let numbers: Buffer<i32> = (0..(tensor.nse() / self.block) as i32).collect();
        Tensor::trusted(self.source.clone(), levels, numbers.into(), Scalar::I32(-1), false)
    }
}

/// The format of the block numbers of a tensor: the levels above the blocks, where level `l` stores
/// dimension `dims[l]`.
fn levels_above(format: &Format, dims: &[usize]) -> Option<Format> {
    let name = |dim: usize| format!("d{dim}");
    let names: Vec<String> = (0..dims.len()).map(name).collect();
    with_exprs(format, &names, dims.iter().map(|&dim| name(dim)))
}

/// For each offset within a block of the target, the offset of the same element within a block of
/// the source. `bound` is the source, and `within` is as in [`SameBlocks`].
fn source_offsets(bound: &Bound, within: &[usize], block: usize) -> Vec<u32> {
    let sizes: Vec<usize> = bound.levels().iter().map(|domain| domain.size as usize).collect();
    let stride = |at: usize| sizes[at + 1..].iter().product::<usize>();
    let mut offsets = Vec::with_capacity(block);
    for target in 0..block {
        let mut rest = target;
        let mut source = 0;
        for &level in within.iter().rev() {
            source += rest % sizes[level] * stride(level);
            rest /= sizes[level];
        }
        offsets.push(source as u32);
    }
    offsets
}

/// Copies blocks to the order of the target. `numbers` gives the number of each block in the
/// source, or -1 for a block of padding. `offsets` is as from [`source_offsets`]. `None` where all
/// values of a block equal the fill value.
fn copy_blocks<T: StoredElement>(
    from: &[T],
    numbers: &[i32],
    offsets: &[u32],
    fill: Scalar,
    length: usize,
) -> Option<Values> {
    let (fill, block) = (T::from_scalar(fill)?, offsets.len());
    let same_order = offsets.iter().enumerate().all(|(at, &offset)| at == offset as usize);
    let mut stored = Buffer::<T>::unspecified(length);
    let copy = |at: usize, to: &mut [T]| -> bool {
        if let Some(&next) = numbers.get(at + WHOLE_BLOCK_DISTANCE) {
            prefetch_elements(
                from,
                (next.max(0) as usize) * block,
                block.min(WHOLE_BLOCK_PREFETCH_BYTES / size_of::<T>()),
            );
        }
        let Ok(number) = usize::try_from(numbers[at]) else {
            to.fill(fill);
            return true;
        };
        let source = &from[number * block..][..block];
        match same_order {
            true => to.copy_from_slice(source),
            false => to.iter_mut().zip(offsets).for_each(|(to, &at)| *to = source[at as usize]),
        }
        source.iter().any(|value| !fill.same(*value))
    };
    let job = match threads(length) {
        1 => numbers.len().max(1),
        _ => 1 + WHOLE_BLOCK_VALUES / block,
    };
    let all_fill = AtomicBool::new(false);
    parallel::chunks(stored.make_mut(), job * block, |number, to| {
        let mut blocks = to.chunks_exact_mut(block).enumerate();
        if !all_fill.load(Relaxed) && !blocks.all(|(at, to)| copy(number * job + at, to)) {
            all_fill.store(true, Relaxed);
        }
    });
    (!all_fill.into_inner()).then(|| T::wrap(stored))
}
