//! Columns of coordinates that need no walk: arrays of coordinates that a level stores, and runs
//! that follow from arrays of positions. Example: CSR stores the column of each entry, and the
//! first entry of each row.

use ust_format::{Format, IndexExpr};
use ust_level_api::{Buffer, IndexArray, IndexColumn, IndexKind, WalkKind};

use super::shape::{Children, Shape};
use super::unpack::{Wanted, What};
use crate::storage::Tensor;

/// For each wanted column, the coordinates of all entries, shared with an array of the tensor;
/// `None` where a walk must write the column. For tensors without padding whose walk visits
/// positions in order. Cost: O(parents).
pub(crate) fn stored(tensor: &Tensor, wanted: &[Wanted]) -> Vec<Option<IndexColumn>> {
    let format = tensor.format();
    let plain = is_plain(format);
    let found = |wanted: &Wanted| {
        let What::Expr(expr) = &wanted.what else { return None };
        let level = format.levels().iter().position(|level| level.expr == *expr)?;
        column(tensor, level, wanted.kind).filter(|column| column.len() == tensor.nse())
    };
    wanted.iter().map(|wanted| if plain { found(wanted) } else { None }).collect()
}

/// The coordinates of all entries at a level.
fn column(tensor: &Tensor, level: usize, kind: IndexKind) -> Option<IndexColumn> {
    if single(tensor.format(), level + 1)
        && let Shape::Listed { crd, .. } = Shape::of(tensor.format(), level)
    {
        return match (&tensor.levels()[level].0[crd], kind) {
            (IndexArray::U32(words), IndexKind::U32) => Some(words.clone().into()),
            (IndexArray::I32(words), IndexKind::I32) => Some(words.clone().into()),
            (IndexArray::I64(words), IndexKind::I64) => Some(words.clone().into()),
            _ => None,
        };
    }
    let runs = if level == 0 { starts(tensor)? } else { return None };
    Some(IndexColumn::Runs(runs))
}

/// The first entry of each coordinate of the first level, and the number of entries at the end.
/// `None` where the second level does not store these positions.
pub(super) fn starts(tensor: &Tensor) -> Option<Buffer<u32>> {
    let (format, levels) = (tensor.format(), tensor.levels());
    let first = &format.descriptions()[0];
    let counted = format.level_count() > 1
        && is_plain(format)
        && single(format, 2)
        && first.walk == WalkKind::Coordinate
        && first.props.full
        && tensor.bound().levels()[0].lower == 0
        && u32::try_from(tensor.nse()).is_ok();
    if !counted {
        return None;
    }
    let Shape::Listed { children: Children::Segment(pos), .. } = Shape::of(format, 1) else {
        return None;
    };
    let starts: Buffer<u32> = match &levels[1].0[pos] {
        IndexArray::U32(words) => words.clone(),
        other => (0..other.len()).map(|at| Some(other.get(at)? as u32)).collect::<Option<_>>()?,
    };
    let all = tensor.bound().levels()[0].size.checked_add(1) == Some(starts.len() as u64);
    let ends = (starts.first(), starts.last()) == (Some(&0), Some(&(tensor.nse() as u32)));
    (all && ends).then_some(starts)
}

/// Whether each level stores a dimension itself: then all stored coordinates lie inside the shape.
fn is_plain(format: &Format) -> bool {
    format.levels().iter().all(|level| matches!(level.expr, IndexExpr::Var(_)))
}

/// Whether each level from `from` on has one child for each parent, at the parent's position.
fn single(format: &Format, from: usize) -> bool {
    format.descriptions().iter().skip(from).all(|level| level.props.branchless)
}
