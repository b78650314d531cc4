//! An interval of the elements of another buffer.

use std::ops::Range;

use super::{Buffer, Owner, Plain};

struct Part<T: Plain> {
    whole: Buffer<T>,
    range: Range<usize>,
}

// SAFETY: the elements are those of an owner that keeps the same promise. They are never written: the default
// `slice_mut` refuses.
unsafe impl<T: Plain> Owner<T> for Part<T> {
    fn slice(&self) -> &[T] {
        &self.whole[self.range.clone()]
    }
    fn len(&self) -> usize {
        self.range.len()
    }
    fn is_here(&self) -> bool {
        self.whole.is_here()
    }
    fn fetch(&self) -> Result<(), super::FetchError> {
        self.whole.fetch()
    }
}

impl<T: Plain> Buffer<T> {
    /// The elements in an interval, without a copy. They keep the memory of all alive. Cost: O(1).
    ///
    /// ```
    /// use ust_ir::Buffer;
    /// let all = Buffer::from(vec![5, 6, 7, 8]);
    /// let some = all.part(1..3);
    /// assert_eq!(some[..], [6, 7]);
    /// assert_eq!(some.as_ptr(), all[1..].as_ptr());
    /// ```
    ///
    /// # Panics
    /// If the interval reaches beyond the elements.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len(), "an interval of the elements");
        match self.iso_element() {
            _ if range.len() == self.len() => self.clone(),
            Some(&element) => Self::iso(element, range.len()),
            None => Self::from_owner(Part { whole: self.clone(), range }),
        }
    }
}
