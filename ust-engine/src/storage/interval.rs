//! The part of a tensor with an interval of coordinates of its first level, which shares the arrays of the tensor.
//!
//! Where the children of consecutive parents stand side by side, those of an interval of parents are an interval of
//! each array. Descriptions of levels say so ([`Props::contiguous`](ust_level_api::Props::contiguous), [`ArraySpec`]),
//! so that this is the same for all level types.

use std::ops::Range;

use ust_format::IndexExpr;
use ust_level_api::{ArraySpec, Arrays, Description, IndexArray, Per, Role};

use super::Tensor;
use super::view::{View, Window};

impl Tensor {
    /// The dimension of the first level, and the divisor of its expression, if the arrays have parents in its order and
    /// no other level has the coordinates of that dimension.
    pub(super) fn leading(&self) -> Option<(usize, u64)> {
        let format = self.format();
        let simple = format.batches() == 0
            && !format.has_sorted()
            && !format.has_slices()
            && format.counters().is_empty();
        let here = self.values().is_here() && self.index_arrays().all(IndexArray::is_here);
        let (dim, step) = leading(&format.levels().first()?.expr)?;
        let mut others = format.levels()[1..].iter();
        let apart = others.all(|level| repeats(&level.expr, dim, step as i64));
        (simple && here && apart).then_some((dim, step))
    }

    /// The window of this whole tensor: the tensor with just the stored elements that the interval of the first level
    /// has, and the windows of that one. `None` if arrays would have to be rearranged. Cost: O(size of the interval).
    pub(crate) fn narrowed(&self, windows: &[Window]) -> Option<Self> {
        let (format, (dim, step)) = (self.format(), self.leading()?);
        let (window, extent) = (windows[dim], self.shape()[dim] as u64);
        let end = match window.size {
            0 => window.offset,
            size => window.offset + (size - 1) * window.stride + 1,
        };
        let (from, to) = (window.offset / step * step, end.div_ceil(step) * step);
        let to = to.min(extent);
        // An empty window may begin anywhere.
        let from = from.min(to / step * step);
        if to - from == extent {
            return None;
        }
        let mut shape = self.shape().to_vec();
        shape[dim] = (to - from) as usize;
        let bound = format.bind(&shape).ok()?;
        let mut children = from / step..to.div_ceil(step);
        let mut levels = Vec::with_capacity(format.level_count());
        for (at, level) in format.descriptions().iter().enumerate() {
            let size = self.bound.levels()[at].size;
            let arrays = &self.levels()[at];
            let taken = match at {
                0 => first(level, arrays, children, from / step),
                _ => below(level, arrays, children, size),
            };
            let (arrays, below) = taken?;
            levels.push(arrays);
            children = below;
        }
        let values = self.values().part(children.start as usize..children.end as usize);
        let mut part = Self::trusted(bound, levels, values, self.fill, self.clean);
        let mut windows = windows.to_vec();
        windows[dim].offset = windows[dim].offset.min(to) - from;
        let all = windows.iter().zip(part.shape()).all(|(window, &extent)| window.is_all(extent));
        if !all {
            part.view = View::windows(part.shape(), &[], &windows).ok()?;
        }
        Some(part)
    }
}

/// The dimension of an expression `i` or `i / 4`, and the divisor.
fn leading(expr: &IndexExpr) -> Option<(usize, u64)> {
    match expr {
        IndexExpr::Var(dim) => Some((*dim, 1)),
        IndexExpr::FloorDiv(of, by) => match (&**of, &**by) {
            (IndexExpr::Var(dim), IndexExpr::Const(by)) => Some((*dim, u64::try_from(*by).ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the expression has the same value if `step` is added to the dimension.
fn repeats(expr: &IndexExpr, dim: usize, step: i64) -> bool {
    let multiple = |modulus: &IndexExpr, over: i64| match modulus {
        IndexExpr::Const(m) => m.checked_mul(over).is_some_and(|m| m > 0 && step % m == 0),
        _ => false,
    };
    match expr {
        IndexExpr::Const(_) => true,
        IndexExpr::Var(var) => *var != dim,
        IndexExpr::Mod(of, modulus) => match &**of {
            IndexExpr::Var(var) if *var == dim => multiple(modulus, 1),
            IndexExpr::FloorDiv(inner, by) => match (&**inner, &**by) {
                (IndexExpr::Var(var), IndexExpr::Const(by)) if *var == dim => {
                    multiple(modulus, *by)
                }
                _ => repeats(of, dim, step) && repeats(modulus, dim, step),
            },
            _ => repeats(of, dim, step) && repeats(modulus, dim, step),
        },
        IndexExpr::Add(a, b)
        | IndexExpr::Sub(a, b)
        | IndexExpr::Mul(a, b)
        | IndexExpr::FloorDiv(a, b) => repeats(a, dim, step) && repeats(b, dim, step),
    }
}

/// The arrays of the first level for an interval of its coordinates, less `less`, and the interval of their positions.
fn first(
    level: &Description,
    arrays: &Arrays,
    coordinates: Range<u64>,
    less: u64,
) -> Option<(Arrays, Range<u64>)> {
    if level.props.full {
        return arrays.0.is_empty().then(|| (Arrays::default(), coordinates));
    }
    if !level.props.ordered || !level.props.contiguous || level.props.overhangs {
        return None;
    }
    let at = level.arrays.iter().position(ArraySpec::lists_coordinates)?;
    let crd = &arrays.0[at];
    let find = |coordinate: u64| {
        let mut range = 0..crd.len();
        while !range.is_empty() {
            let middle = range.start + range.len() / 2;
            match crd.get(middle)? < coordinate as i64 {
                true => range.start = middle + 1,
                false => range.end = middle,
            }
        }
        Some(range.start as u64)
    };
    let children = find(coordinates.start)?..find(coordinates.end)?;
    let each =
        level.arrays.iter().zip(&arrays.0).map(|(spec, array)| match (spec.role, spec.per) {
            _ if spec.lists_coordinates() => array.part(usizes(&children), less as i64),
            (Role::Position, Per::ParentBound) => {
                let both = [0, (children.end - children.start) as i64];
                IndexArray::store(array.kind(), &both, "", "").ok()
            }
            _ => None,
        });
    Some((Arrays(each.collect::<Option<_>>()?), children))
}

/// The arrays of a level below the first for an interval of parents, and the interval of positions of their children.
fn below(
    level: &Description,
    arrays: &Arrays,
    parents: Range<u64>,
    size: u64,
) -> Option<(Arrays, Range<u64>)> {
    if level.props.full && arrays.0.is_empty() {
        let children = parents.start.checked_mul(size)?..parents.end.checked_mul(size)?;
        return Some((Arrays::default(), children));
    }
    let bounds = |spec: &ArraySpec| spec.bounds_children() && spec.per == Per::ParentBound;
    let children = match level.arrays.iter().position(bounds) {
        _ if !level.props.contiguous => return None,
        _ if level.props.branchless => parents.clone(),
        Some(at) => {
            let pos = |parent: u64| Some(arrays.0[at].get(parent as usize)? as u64);
            pos(parents.start)?..pos(parents.end)?
        }
        None => return None,
    };
    let each =
        level.arrays.iter().zip(&arrays.0).map(|(spec, array)| match (spec.role, spec.per) {
            (Role::Position, Per::ParentBound) => {
                array.part(parents.start as usize..parents.end as usize + 1, children.start as i64)
            }
            (Role::Position, _) => None,
            (_, Per::Position) => array.part(usizes(&children), 0),
            (_, Per::Parent) => array.part(usizes(&parents), 0),
            _ => None,
        });
    Some((Arrays(each.collect::<Option<_>>()?), children))
}

fn usizes(range: &Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}
