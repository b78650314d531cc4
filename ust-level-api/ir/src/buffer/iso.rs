//! Buffers whose elements are all equal: one is stored.

use std::sync::OnceLock;

use super::{Buffer, Owner, Plain};

/// So many equal elements, of which one is stored.
struct Iso<T: Plain> {
    element: T,
    len: usize,
    /// All of them, from the first look at them on.
    all: OnceLock<Vec<T>>,
}

// SAFETY: what was expanded is not replaced.
unsafe impl<T: Plain> Owner<T> for Iso<T> {
    fn slice(&self) -> &[T] {
        match self.len {
            0 => &[],
            1 => std::slice::from_ref(&self.element),
            len => self.all.get_or_init(|| vec![self.element; len]),
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn iso(&self) -> Option<&T> {
        Some(&self.element)
    }

    fn bytes(&self) -> usize {
        size_of::<T>()
    }

    fn expanded_bytes(&self) -> usize {
        self.all.get().map_or(0, |all| all.len() * size_of::<T>())
    }
}

impl<T: Plain> Buffer<T> {
    /// A buffer of `len` elements that are all equal. One is stored. It is like any other buffer: a look at the slice
    /// of elements makes one, and keeps it. [`Buffer::iso_element`] does not. Cost: O(1).
    ///
    /// ```
    /// use ust_ir::Buffer;
    ///
    /// let ones = Buffer::iso(1.0_f32, 1000);
    /// assert_eq!((ones.len(), ones.bytes(), ones.iso_element()), (1000, 4, Some(&1.0)));
    /// assert_eq!(ones.expanded_bytes(), 0);
    /// assert_eq!(ones[999], 1.0);
    /// assert_eq!(ones.expanded_bytes(), 4000);
    /// ```
    #[must_use]
    pub fn iso(element: T, len: usize) -> Self {
        Self::from_owner(Iso { element, len, all: OnceLock::new() })
    }

    /// The element that is stored for all, of a buffer made by [`Buffer::iso`].
    #[must_use]
    pub fn iso_element(&self) -> Option<&T> {
        self.0.iso()
    }

    /// Bytes of the elements: of one, if it is stored for all.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Bytes of the elements that a look at an [iso](Self::iso) buffer made.
    #[must_use]
    pub fn expanded_bytes(&self) -> usize {
        self.0.expanded_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_element_stands_for_all() {
        let threes = Buffer::iso(3_u16, 5);
        assert_eq!((threes.len(), threes.bytes(), threes.iso_element()), (5, 2, Some(&3)));
        assert_eq!(threes, Buffer::from(vec![3_u16; 5]));
        assert_eq!(Buffer::from(vec![3_u16; 5]), threes);
        assert_ne!(threes, Buffer::from(vec![3, 3, 3, 3, 4]));
        assert_ne!(threes, Buffer::iso(3, 4));
        assert_ne!(threes, Buffer::iso(4, 5));
        assert_eq!(Buffer::iso(3_u16, 0), Buffer::iso(4, 0));
        assert_eq!(format!("{threes:?}"), "[3, 3, 3, 3, 3]");
        assert_eq!((threes.clone().into_vec(), threes.expanded_bytes()), (vec![3; 5], 0));
        assert!(threes.shares_memory_with(&threes.clone()) && threes.expanded_bytes() == 0);
        assert_eq!((&threes[..], threes.expanded_bytes()), (&[3; 5][..], 10));
        assert!(Buffer::iso(1_u8, 0)[..].is_empty());
        assert_eq!((Buffer::iso(1_u8, 1)[..].len(), Buffer::iso(1_u8, 1).expanded_bytes()), (1, 0));
    }

    #[test]
    fn what_is_written_has_elements_of_its_own() {
        let ones = Buffer::iso(1_i32, 4);
        let mut other = ones.clone();
        other.make_mut()[2] = 7;
        assert_eq!((&other[..], other.iso_element()), (&[1, 1, 7, 1][..], None));
        assert_eq!((ones.iso_element(), ones.len(), ones.expanded_bytes()), (Some(&1), 4, 0));
        let mut fewer = ones.clone();
        fewer.truncate(2);
        fewer.truncate(3);
        assert_eq!((fewer.len(), fewer.iso_element()), (2, Some(&1)));
        let mut more = ones;
        more.extend(2, 5);
        assert_eq!((&more[..], more.iso_element()), (&[1, 1, 1, 1, 5, 5][..], None));
    }
}
