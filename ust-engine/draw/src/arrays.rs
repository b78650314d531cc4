//! Level arrays, and their elements on the path to a place.

use std::collections::BTreeSet;

use ust_engine::error::Error;
use ust_engine::tensor::Tensor;
use ust_level_api::{IndexArray, Per, Reach};

use super::label;

/// A level, as a picture shows it.
#[derive(Clone, Debug)]
pub struct LevelPicture<'a> {
    /// The level expression, such as `j / 3`, cut if it is very long.
    pub expr: String,
    /// Expression and type, such as `j / 3 : compressed`, cut if it is very long.
    pub text: String,
    /// Number of coordinates.
    pub size: u64,
    /// Number of positions, gaps included.
    pub positions: u64,
    /// The positions that a walk reaches.
    pub reach: Reach,
    /// Its arrays, in the order of its description. Full levels have none.
    pub arrays: Vec<ArrayPicture<'a>>,
}

/// An array of a level.
#[derive(Clone, Debug)]
pub struct ArrayPicture<'a> {
    /// Its name.
    pub name: &'static str,
    /// Its elements.
    pub array: &'a IndexArray,
    /// What its elements stand for, which is how it is indexed.
    pub per: Per,
}

impl LevelPicture<'_> {
    /// Whether an element of an array belongs to a position in a gap, which no walk reaches. Cost:
    /// O(number of intervals).
    #[must_use]
    pub fn in_gap(&self, array: &ArrayPicture<'_>, element: usize) -> bool {
        let reached = || self.reach.intervals().any(|range| range.contains(&(element as u64)));
        array.per == Per::Position && !reached()
    }
}

impl ArrayPicture<'_> {
    /// The elements on the path from a parent to a child.
    #[must_use]
    pub fn elements(&self, parent: usize, child: usize) -> Vec<usize> {
        let mut elements = match self.per {
            Per::ParentBound => vec![parent, parent + 1],
            Per::ParentPair => vec![2 * parent, 2 * parent + 1],
            Per::Parent => vec![parent],
            Per::Position => vec![child],
            Per::Other(_) => Vec::new(),
        };
        // Unchecked arrays may be shorter.
        elements.retain(|&at| at < self.array.len());
        elements
    }
}

/// The levels of a tensor. Cost: one check of the arrays.
pub(super) fn levels(tensor: &Tensor) -> Result<Vec<LevelPicture<'_>>, Error> {
    let format = tensor.format();
    let mut reach = Reach::all(1);
    let mut out = Vec::with_capacity(format.level_count());
    for (level, stored) in tensor.levels().iter().enumerate() {
        let site = tensor.bound().site(level);
        let text = format.level_text(level);
        let ty = &format.levels()[level].ty;
        reach = ty.check(&site, stored, &reach).map_err(|source| Error::Level {
            level,
            text: text.clone(),
            source,
        })?;
        let description = &format.descriptions()[level];
        let arrays = description.arrays.iter().zip(&stored.0).map(|(spec, array)| ArrayPicture {
            name: spec.name,
            array,
            per: spec.per,
        });
        out.push(LevelPicture {
            expr: label::cut(&expression(tensor, level), 60),
            text: label::cut(&text, 120),
            size: site.size,
            positions: reach.positions,
            arrays: arrays.collect(),
            reach: reach.clone(),
        });
    }
    // Unchecked arrays may have more positions than there are values.
    if reach.positions != tensor.nse() as u64 {
        let (positions, values) = (reach.positions, tensor.nse());
        let text = format!("the levels have {positions} positions, and there are {values} values");
        return Err(Error::Parts(text));
    }
    Ok(out)
}

fn expression(tensor: &Tensor, level: usize) -> String {
    let format = tensor.format();
    format.levels()[level].expr.display(&format.axis_names(), ust_format::Spelling::Ust)
}

/// The elements that are shown of an array of length `len`: all, if there are at most `most`; else the
/// first ones, the last ones, and each of `required` with its neighbours.
pub(super) fn shown(len: usize, most: usize, required: &[usize]) -> Vec<usize> {
    if len <= most {
        return (0..len).collect();
    }
    let ends = (most / 3).clamp(2, 7);
    let mut shown: BTreeSet<usize> = (0..ends.min(len)).collect();
    shown.extend(len.saturating_sub(ends)..len);
    for &at in required.iter().filter(|&&at| at < len) {
        shown.extend(at.saturating_sub(1)..(at + 2).min(len));
    }
    shown.into_iter().collect()
}

/// The number of elements on each line, for `count` elements of which `fit` fit on a line. Lines are
/// about equally long. Blocks of `block` elements are not broken, if a line has room for a block.
pub(super) fn per_line(count: usize, fit: usize, block: usize) -> usize {
    let block = if block == 0 || block > fit { 1 } else { block };
    let fit = fit.max(1) / block * block;
    let lines = count.div_ceil(fit).max(1);
    count.div_ceil(lines).next_multiple_of(block).clamp(1, fit)
}

/// The number of values in a trailing dense block.
pub(super) fn block(tensor: &Tensor) -> usize {
    tensor.block_shape().iter().skip(1).fold(1, |block, &extent| block.saturating_mul(extent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_arrays_show_both_ends_and_what_matters() {
        assert_eq!(shown(4, 4, &[]), [0, 1, 2, 3]);
        assert_eq!(shown(100, 6, &[]), [0, 1, 98, 99]);
        assert_eq!(shown(100, 6, &[50]), [0, 1, 49, 50, 51, 98, 99]);
        assert_eq!(shown(100, 6, &[99, 200]), [0, 1, 98, 99]);
        assert!(shown(0, 6, &[0]).is_empty());
    }

    #[test]
    fn lines_are_even_and_do_not_break_blocks() {
        for (count, fit, block, expected) in [
            (24, 23, 6, 12),
            (24, 23, 1, 12),
            (10, 23, 6, 12),
            (36, 23, 6, 18),
            (36, 23, 24, 18),
            (0, 5, 2, 1),
            (7, 0, 0, 1),
        ] {
            assert_eq!(per_line(count, fit, block), expected, "{count} {fit} {block}");
        }
    }

    #[test]
    fn elements_on_a_path_follow_from_what_they_stand_for() {
        // Of as many parents as positions, no length would tell these apart.
        let array: IndexArray = vec![0_u32; 8].into();
        for (per, expected) in [
            (Per::ParentBound, vec![2, 3]),
            (Per::ParentPair, vec![4, 5]),
            (Per::Parent, vec![2]),
            (Per::Position, vec![7]),
            (Per::Other("any"), vec![]),
        ] {
            let picture = ArrayPicture { name: "array", array: &array, per };
            assert_eq!(picture.elements(2, 7), expected, "{per}");
            assert!(picture.elements(8, 8).is_empty(), "{per}");
        }
    }
}
