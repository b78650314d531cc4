//! Arrays that are changed in place. Each of these copies an array that is shared first.

use std::ops::Range;

use num_traits::NumCast;

use super::IndexArray;
use crate::with_indices;

impl IndexArray {
    /// Writes one index. Returns false, and does nothing, beyond the end, if the kind does not hold the index, and in
    /// a packed array.
    #[must_use]
    pub fn set(&mut self, at: usize, index: i64) -> bool {
        with_indices!(self, words => match NumCast::from(index) {
            Some(index) if at < words.len() => {
                words.make_mut()[at] = index;
                true
            }
            _ => false,
        }, packed(_bits) => false)
    }

    /// Moves indices within the array; both places may overlap. Returns false, and does nothing, beyond the end and
    /// in a packed array.
    #[must_use]
    pub fn move_within(&mut self, from: Range<usize>, to: usize) -> bool {
        let ends = [from.end, to.saturating_add(from.len())];
        let inside = from.start <= from.end && ends.iter().all(|&end| end <= self.len());
        with_indices!(self, words => {
            if inside && !from.is_empty() {
                words.make_mut().copy_within(from, to);
            }
            inside
        }, packed(_bits) => false)
    }

    /// Appends so many copies of an index. Returns false, and does nothing, if the kind does not hold the index, and
    /// for a packed array. Cost: a copy of the array now and then; together constant for each index.
    #[must_use]
    pub fn extend(&mut self, count: usize, index: i64) -> bool {
        with_indices!(self, words => match NumCast::from(index) {
            Some(index) => {
                words.extend(count, index);
                true
            }
            None => false,
        }, packed(_bits) => false)
    }
}

#[cfg(test)]
mod tests {
    use crate::{IndexArray, IndexKind};

    #[test]
    fn what_an_array_does_not_hold_changes_nothing() {
        let mut array = IndexArray::from(vec![1_u8, 2, 3]);
        let shared = array.clone();
        assert!(!array.set(3, 0) && !array.set(0, 256) && !array.set(0, -1));
        assert!(
            !array.extend(2, 256) && !array.move_within(1..4, 0) && !array.move_within(0..2, 2)
        );
        assert_eq!(array, shared);
        assert!(array.set(0, 255) && array.extend(2, 7) && array.move_within(0..3, 1));
        assert_eq!((array.to_vec(), shared.to_vec()), (vec![255, 255, 2, 3, 7], vec![1, 2, 3]));
        let mut packed = IndexArray::store(IndexKind::U2, &[1, 2], "", "").unwrap();
        assert!(!packed.set(0, 0) && !packed.extend(1, 0) && !packed.move_within(0..1, 1));
    }
}
