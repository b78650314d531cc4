//! Blocks that both formats have, moved whole: only their coordinates are sorted, and each block's
//! values are copied once.

use std::borrow::Borrow;
use std::ops::Range;

use rayon::prelude::*;
use ust_format::{Bound, Format, Spelling};
use ust_kernels::pool::threads;
use ust_kernels::prefetch_elements;
use ust_level_api::level::Wants;
use ust_level_api::{Arrays, Buffer, IndexColumn, Scalar};

use super::assemble::{Stored, stored_values};
use super::read::block_of;
use crate::convert::build::BuildOptions;
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};
use crate::with_values;

/// Blocks asked for ahead of their turn.
const AHEAD: usize = 8;
/// Bytes of a block that are asked for, at most: those behind come unbidden.
const MOST: usize = 1 << 10;

/// Where the levels of one format stand in another.
pub(super) struct Alike {
    /// For each level above the trailing full ones.
    above: Vec<usize>,
    /// For each of those.
    within: Vec<usize>,
}

/// How two formats have the same blocks, in the same or another order, with the same or another
/// order within; `None` where they do not, or what is above a block is not known apart from it.
pub(super) fn alike(from: &Format, to: &Format) -> Option<Alike> {
    let places = |own: Range<usize>, others: Range<usize>| {
        let place = |at: usize| {
            let expr = &to.levels()[at].expr;
            others.clone().find(|&other| from.levels()[other].expr == *expr)
        };
        let places = own.clone().map(place).collect::<Option<Vec<usize>>>()?;
        let each = others.clone().all(|other| places.contains(&other));
        (each && own.len() == others.len()).then_some(places)
    };
    let is_free = |format: &Format| {
        let above = &format.descriptions()[..format.tail()];
        above.iter().all(|level| level.wants == Wants::Any && !level.props.padded)
    };
    let in_blocks = |format: &Format| format.tail() > 0 && format.tail() < format.level_count();
    if !in_blocks(from) || !in_blocks(to) || !from.is_unique() || !is_free(from) || !is_free(to) {
        return None;
    }
    Some(Alike {
        above: places(0..to.tail(), 0..from.tail())?,
        within: places(to.tail()..to.level_count(), from.tail()..from.level_count())?,
    })
}

/// The same format of blocks with the levels above them in reverse; `None` where that is the same.
pub(super) fn reversed(format: &Format) -> Option<Format> {
    let (tail, levels) = (format.tail(), format.levels());
    if tail < 2 || tail == levels.len() {
        return None;
    }
    let dims: Vec<&str> = format.dims().iter().map(|dim| &dim.name[..]).collect();
    let order = (0..tail).rev().chain(tail..levels.len());
    written(format, &dims, order.map(|at| levels[at].expr.display(&dims, Spelling::Ust)))
}

/// A format with level types and widths of another, and these expressions.
fn written(
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

/// How a tensor gets into another format of the same blocks.
pub(in crate::convert) struct WholeBlocks {
    /// For each level of the target that stands in a block, where the tensor's is.
    within: Vec<usize>,
    /// Values of a block.
    block: usize,
    /// The tensor's levels above the blocks, each with a dimension of its own: blocks as elements.
    elements: Bound,
    /// The target's levels above the blocks, over the same dimensions.
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
        let Some(Alike { above, within }) = alike(from, to) else { return Ok(None) };
        let domains = tensor.bound().levels();
        let same =
            above.iter().chain(&within).zip(bound.levels()).all(|(&at, own)| domains[at] == *own);
        let block = block_of(bound)? as usize;
        // Blocks are numbered in 32 bits.
        let many = block == 0 || i32::try_from(tensor.nse() / block).is_err();
        if !same || many || domains[..from.tail()].iter().any(|domain| domain.lower != 0) {
            return Ok(None);
        }
        let order: Vec<usize> = (0..from.tail()).collect();
        let sizes = domains[..from.tail()].iter().map(|domain| usize::try_from(domain.size).ok());
        let elements = || head(from, &order)?.bind(&sizes.collect::<Option<Vec<_>>>()?).ok();
        let (Some(elements), Some(target)) = (elements(), head(to, &above)) else {
            return Ok(None);
        };
        Ok(Some(Self { within, block, elements, target }))
    }

    /// The tensor in the other format. `None` where a block holds nothing but the fill value: it is no
    /// entry there.
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
        let numbered = self.numbered(tensor);
        let none = numbered.fill();
        let moved = numbered.rebuild_within(&self.target, duplicates, none, memory_limit)?;
        let mut arrays = moved.levels().to_vec();
        let bytes = arrays.iter().map(Arrays::bytes).sum::<usize>() as u64;
        arrays.resize_with(to.level_count(), Arrays::default);
        let positions = moved.nse() as u64;
        let made = Stored { arrays, position: IndexColumn::Count(moved.nse()), positions, bytes };
        let length = stored_values(bound, &made, block as u64, fill.dtype(), memory_limit)?;
        let places = places(tensor.bound(), &self.within, block);
        let values = tensor.clean_values()?;
        let numbers: &[i32] = moved.values().typed()?;
        let values = with_values!(&values, from => copied(from, numbers, &places, fill, length));
        Ok(values.map(|values| Tensor::trusted(bound.clone(), made.arrays, values, fill, true)))
    }

    /// The blocks of a tensor as elements: the value of each is its number, from 0; -1 where there is
    /// none.
    fn numbered(&self, tensor: &Tensor) -> Tensor {
        let levels = tensor.levels()[..tensor.format().tail()].to_vec();
        let numbers: Buffer<i32> = (0..(tensor.nse() / self.block) as i32).collect();
        Tensor::trusted(self.elements.clone(), levels, numbers.into(), Scalar::I32(-1), false)
    }
}

/// A format of what stands above the blocks of another: each level stores a dimension, whose number is
/// given.
fn head(format: &Format, dims: &[usize]) -> Option<Format> {
    let name = |dim: usize| format!("d{dim}");
    let names: Vec<String> = (0..dims.len()).map(name).collect();
    written(format, &names, dims.iter().map(|&dim| name(dim)))
}

/// For each place within a block of the other format, that in a block of this one. `within` says where
/// the other's levels stand here.
fn places(bound: &Bound, within: &[usize], block: usize) -> Vec<u32> {
    let sizes: Vec<usize> = bound.levels().iter().map(|domain| domain.size as usize).collect();
    let stride = |at: usize| sizes[at + 1..].iter().product::<usize>();
    let mut places = Vec::with_capacity(block);
    for place in 0..block {
        let mut rest = place;
        let mut at = 0;
        for &level in within.iter().rev() {
            at += rest % sizes[level] * stride(level);
            rest /= sizes[level];
        }
        places.push(at as u32);
    }
    places
}

/// Blocks in another order, and of another order within. `None` where one is nothing but fill.
fn copied<T: StoredElement>(
    from: &[T],
    numbers: &[i32],
    places: &[u32],
    fill: Scalar,
    length: usize,
) -> Option<Values> {
    let (fill, block) = (T::from_scalar(fill)?, places.len());
    let as_they_are = places.iter().enumerate().all(|(at, &place)| at == place as usize);
    let mut stored = Buffer::<T>::unspecified(length);
    let copy = |at: usize, to: &mut [T]| -> bool {
        if let Some(&next) = numbers.get(at + AHEAD) {
            prefetch_elements(
                from,
                (next.max(0) as usize) * block,
                block.min(MOST / size_of::<T>()),
            );
        }
        let Ok(number) = usize::try_from(numbers[at]) else {
            to.fill(fill);
            return true;
        };
        let own = &from[number * block..][..block];
        match as_they_are {
            true => to.copy_from_slice(own),
            false => to.iter_mut().zip(places).for_each(|(to, &at)| *to = own[at as usize]),
        }
        own.iter().any(|value| !fill.same(*value))
    };
    let apart = if threads(length) == 1 { usize::MAX } else { 1 + (1 << 14) / block };
    let all = stored.make_mut().par_chunks_exact_mut(block).with_min_len(apart).enumerate();
    all.all(|(at, to)| copy(at, to)).then(|| T::wrap(stored))
}
