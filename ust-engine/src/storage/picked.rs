//! The parts of a tensor at coordinates of its first level, copied side by side.
//!
//! As for an [interval](super::interval), descriptions of levels say where the children of a parent stand side by side:
//! they are copied as they stand, so that nothing is sorted.

use std::sync::OnceLock;

use bytemuck::Zeroable;
use num_traits::AsPrimitive;
use ust_level_api::buffer::Plain;
use ust_level_api::ir::parallel;
use ust_level_api::{ArraySpec, Arrays, Buffer, Description, IndexArray, Per, Role, with_indices};

use super::view::{View, Window};
use super::{Tensor, Values};
use crate::with_values;

/// Elements that a thread copies at a time.
const COPIED: usize = 1 << 15;

/// Intervals of positions, one after another.
struct Runs {
    /// The first position of each.
    firsts: Buffer<u64>,
    /// For each of them the number of positions before it, and the number of all.
    starts: Buffer<u64>,
}

impl Runs {
    /// Of intervals that are given by their first position and their length.
    fn new(each: impl ExactSizeIterator<Item = (u64, u64)>) -> Option<Self> {
        let mut firsts = Buffer::<u64>::unspecified(each.len());
        let mut starts = Buffer::<u64>::unspecified(each.len() + 1);
        let (to, ends) = (firsts.make_mut(), starts.make_mut());
        let mut all = 0_u64;
        ends[0] = 0;
        for ((to, end), (first, len)) in to.iter_mut().zip(&mut ends[1..]).zip(each) {
            all = all.checked_add(len)?;
            (*to, *end) = (first, all);
        }
        usize::try_from(all).ok().map(|_| Self { firsts, starts })
    }

    /// The number of positions.
    fn count(&self) -> usize {
        self.starts[self.firsts.len()] as usize
    }

    /// The first position of each, and how many there are.
    fn each(&self) -> impl ExactSizeIterator<Item = (u64, u64)> {
        self.firsts.iter().enumerate().map(|(at, &first)| (first, self.len(at)))
    }

    fn len(&self, run: usize) -> u64 {
        self.starts[run + 1] - self.starts[run]
    }

    /// The elements at the positions. Parallel.
    fn copied<T: Plain + Zeroable>(&self, from: &[T]) -> Buffer<T> {
        let mut made = Buffer::<T>::unspecified(self.count());
        let (firsts, starts) = (&self.firsts[..], &self.starts[..]);
        parallel::chunks(made.make_mut(), COPIED, |number, mut to| {
            let begin = (number * COPIED) as u64;
            let run = starts.partition_point(|&start| start <= begin) - 1;
            let mut skipped = begin - starts[run];
            for (&first, bounds) in firsts[run..].iter().zip(starts[run..].windows(2)) {
                let len = (bounds[1] - bounds[0] - skipped) as usize;
                let (now, later) = to.split_at_mut(len.min(to.len()));
                now.copy_from_slice(&from[(first + skipped) as usize..][..now.len()]);
                (to, skipped) = (later, 0);
                if to.is_empty() {
                    break;
                }
            }
        });
        made
    }

    /// For each position, where its children begin among all of them, and their end; and the children. `pos` has
    /// where they stand. `None` where they are too many for its type.
    fn rebased<T>(&self, pos: &[T]) -> Option<(Buffer<T>, Self)>
    where
        T: Plain + Zeroable + AsPrimitive<u64>,
        u64: AsPrimitive<T>,
    {
        let at = |position: u64| pos[position as usize].as_();
        let children = self.each().map(|(first, len)| (at(first), at(first + len) - at(first)));
        let children = Self::new(children)?;
        let all = children.count() as u64;
        if AsPrimitive::<u64>::as_(AsPrimitive::<T>::as_(all)) != all {
            return None;
        }
        let mut made = Buffer::<T>::unspecified(self.count() + 1);
        let mut to = made.make_mut();
        for ((first, len), &start) in self.each().zip(&children.starts[..]) {
            let (now, later) = to.split_at_mut(len as usize);
            let less = at(first);
            for (to, begin) in now.iter_mut().zip(&pos[first as usize..]) {
                *to = (start + (begin.as_() - less)).as_();
            }
            to = later;
        }
        to[0] = all.as_();
        Some((made, children))
    }

    /// The positions of children, a fixed number for each position.
    fn times(&self, size: u64) -> Option<Self> {
        self.count().checked_mul(usize::try_from(size).ok()?)?;
        Self::new(self.each().map(|(first, len)| (first * size, len * size)))
    }

    fn copied_indices(&self, array: &IndexArray) -> Option<IndexArray> {
        with_indices!(array, from => Some(self.copied(&from[..]).into()), packed(_p) => None)
    }
}

impl Tensor {
    /// The parts of this whole tensor at coordinates of a dimension, in their order; one may be there several times.
    /// `None` if the first level has another dimension, if arrays would have to be rearranged, or if a coordinate is
    /// outside. Cost: O(what is stored there), and a search for each coordinate if the first level lists its own.
    pub(crate) fn picked(&self, dim: usize, coordinates: &[i64]) -> Option<Self> {
        let (first, 1) = self.leading()? else { return None };
        let extent = self.shape()[dim];
        let inside = |at: &i64| usize::try_from(*at).is_ok_and(|at| at < extent);
        if first != dim || !self.view.is_whole() || !coordinates.iter().all(inside) {
            return None;
        }
        let mut shape = self.shape().to_vec();
        shape[dim] = coordinates.len();
        let bound = self.format().bind(&shape).ok()?;
        let mut levels = Vec::with_capacity(self.format().level_count());
        let mut runs = Runs::new([].into_iter())?;
        for (at, level) in self.format().descriptions().iter().enumerate() {
            let arrays = &self.levels()[at];
            let taken = match at {
                0 => top(level, arrays, coordinates),
                _ => below(level, arrays, &runs, self.bound.levels()[at].size),
            };
            let (arrays, below) = taken?;
            levels.push(arrays);
            runs = below;
        }
        let values = match self.values().iso_value() {
            Some(value) => Values::iso(value, runs.count()),
            None => with_values!(self.values(), from => runs.copied(&from[..]).into()),
        };
        Some(Self::trusted(bound, levels, values, self.fill, self.clean))
    }

    /// A slice with a step along the dimension of the first level, as a tensor with arrays of its own, which may be a
    /// slice along others. `None` where [`Tensor::picked`] has none.
    pub(crate) fn gathered(&self) -> Option<Self> {
        let windows = self.view.get();
        let (dim, _) = self.leading()?;
        let window = *windows.get(dim)?;
        if window.is_all(self.bound.shape()[dim]) {
            return None;
        }
        let mut whole = self.clone();
        (whole.view, whole.made) = (View::whole(self.bound.shape()), OnceLock::new());
        let coordinates = (0..window.size).map(|at| (window.offset + at * window.stride) as i64);
        let mut part = whole.picked(dim, &coordinates.collect::<Vec<_>>())?;
        let mut rest = windows.to_vec();
        rest[dim] = Window::all(part.shape()[dim]);
        let all = rest.iter().zip(part.shape()).all(|(window, &extent)| window.is_all(extent));
        if !all {
            part.view = View::windows(part.shape(), &[], &rest).ok()?;
        }
        Some(part)
    }
}

/// The number of leading elements for which something holds that holds for no later ones. Cost: O(log of the number).
fn leading_with<T: Copy>(elements: &[T], holds: impl Fn(T) -> bool) -> usize {
    let mut ahead = 1;
    while elements.get(ahead - 1).is_some_and(|&one| holds(one)) {
        ahead *= 2;
    }
    let least = ahead / 2;
    least + elements[least..elements.len().min(ahead)].partition_point(|&one| holds(one))
}

/// The arrays of the first level at some coordinates, and their positions.
fn top(level: &Description, arrays: &Arrays, coordinates: &[i64]) -> Option<(Arrays, Runs)> {
    if level.props.full {
        let each = coordinates.iter().map(|&at| (at as u64, 1));
        return arrays.0.is_empty().then(|| Some((Arrays::default(), Runs::new(each)?)))?;
    }
    if !level.props.ordered || !level.props.contiguous || level.props.overhangs {
        return None;
    }
    let listed = level.arrays.iter().position(ArraySpec::lists_coordinates)?;
    let runs = with_indices!(
        &arrays.0[listed],
        crd => {
            let mut last = (0, 0);
            Runs::new(coordinates.iter().map(|&at| {
                // Ascending coordinates are found from the one before on.
                let from = if last.0 <= at { last.1 } else { 0 };
                let first = from + leading_with(&crd[from..], |own| AsPrimitive::<i64>::as_(own) < at);
                last = (at, first);
                (first as u64, leading_with(&crd[first..], |own| AsPrimitive::<i64>::as_(own) == at) as u64)
            }))?
        },
        packed(_p) => return None
    );
    let each =
        level.arrays.iter().zip(&arrays.0).map(|(spec, array)| match (spec.role, spec.per) {
            _ if spec.lists_coordinates() => {
                let mut numbers = Vec::with_capacity(runs.count());
                for at in 0..coordinates.len() {
                    numbers.extend(std::iter::repeat_n(at as i64, runs.len(at) as usize));
                }
                IndexArray::store(array.kind(), &numbers, "", "").ok()
            }
            (Role::Position, Per::ParentBound) => {
                IndexArray::store(array.kind(), &[0, runs.count() as i64], "", "").ok()
            }
            _ => None,
        });
    Some((Arrays(each.collect::<Option<_>>()?), runs))
}

/// The arrays of a level below the first for these parents, and the positions of their children.
fn below(
    level: &Description,
    arrays: &Arrays,
    parents: &Runs,
    size: u64,
) -> Option<(Arrays, Runs)> {
    if level.props.full && arrays.0.is_empty() {
        return Some((Arrays::default(), parents.times(size)?));
    }
    if !level.props.contiguous {
        return None;
    }
    let rebased = |array: &IndexArray| {
        with_indices!(
            array,
            pos => {
                let (pos, children) = parents.rebased(pos)?;
                Some((IndexArray::from(pos), children))
            },
            packed(_p) => None
        )
    };
    let bounds = |spec: &ArraySpec| spec.bounds_children() && spec.per == Per::ParentBound;
    let children = match level.arrays.iter().position(bounds) {
        _ if level.props.branchless => Runs::new(parents.each())?,
        Some(at) => rebased(&arrays.0[at])?.1,
        None => return None,
    };
    let each =
        level.arrays.iter().zip(&arrays.0).map(|(spec, array)| match (spec.role, spec.per) {
            (Role::Position, Per::ParentBound) => rebased(array).map(|(pos, _)| pos),
            (Role::Position, _) => None,
            (_, Per::Position) => children.copied_indices(array),
            (_, Per::Parent) => parents.copied_indices(array),
            _ => None,
        });
    Some((Arrays(each.collect::<Option<_>>()?), children))
}
