//! A dense array as files hold it.

use ust_engine::tensor::{StoredElement, Values};
use ust_level_api::Element;

/// A dense array of any rank: its shape, and its values with the last dimension fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseArray {
    /// Extent of each dimension; empty for a single value.
    pub shape: Vec<usize>,
    /// The values, as many as the product of the shape, with the last dimension fastest.
    pub values: Values,
}

impl DenseArray {
    /// An array of rank 1.
    #[must_use]
    pub fn vector(values: impl Into<Values>) -> Self {
        let values = values.into();
        Self { shape: vec![values.len()], values }
    }

    /// An array from values with the *first* dimension fastest.
    ///
    /// The caller has checked that the number of values is the product of the shape.
    pub(super) fn from_fortran<T: StoredElement>(shape: Vec<usize>, values: &[T]) -> Self {
        let reordered = to_c_order(&shape, values);
        Self { shape, values: reordered.into_values() }
    }
}

/// Conversion of a vector into [`Values`].
pub(super) trait IntoValues {
    /// The values.
    fn into_values(self) -> Values;
}

impl<T: StoredElement> IntoValues for Vec<T> {
    fn into_values(self) -> Values {
        T::wrap(self.into())
    }
}

/// Reorders values: from the first dimension fastest (Fortran order) to the last dimension fastest (C
/// order).
fn to_c_order<T: Element>(shape: &[usize], values: &[T]) -> Vec<T> {
    // Nothing to reorder; and the product of the other extents may overflow.
    if values.is_empty() {
        return Vec::new();
    }
    debug_assert_eq!(shape.iter().product::<usize>(), values.len());
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &extent in shape {
        strides.push(stride);
        stride *= extent;
    }
    let mut at = vec![0; shape.len()];
    let mut offset = 0;
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        out.push(values[offset]);
        for dim in (0..shape.len()).rev() {
            at[dim] += 1;
            offset += strides[dim];
            if at[dim] < shape[dim] {
                break;
            }
            offset -= strides[dim] * shape[dim];
            at[dim] = 0;
        }
    }
    out
}

/// The number of elements of a shape; `None` if it overflows. If an extent is 0, there are none,
/// however large the other extents are.
pub(super) fn count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_usize, |n, &extent| n.checked_mul(extent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_fastest_values_are_turned_to_last_fastest() {
        for (shape, values, expected) in [
            (vec![], vec![7_i64], vec![7_i64]),
            (vec![3], vec![1, 2, 3], vec![1, 2, 3]),
            (vec![2, 3], vec![1, 4, 2, 5, 3, 6], vec![1, 2, 3, 4, 5, 6]),
            (vec![2, 1, 2], vec![1, 3, 2, 4], vec![1, 2, 3, 4]),
            (vec![2, 0], vec![], vec![]),
            (vec![usize::MAX, usize::MAX, 0], vec![], vec![]),
        ] {
            let array = DenseArray::from_fortran::<i64>(shape.clone(), &values);
            assert_eq!(array, DenseArray { shape, values: expected.into() });
        }
    }

    #[test]
    fn a_shape_is_counted_only_where_it_can_be() {
        assert_eq!(count(&[]), Some(1));
        assert_eq!(count(&[4, 5]), Some(20));
        assert_eq!(count(&[usize::MAX, 2]), None);
        assert_eq!(count(&[usize::MAX, 2, 0]), Some(0));
    }
}
