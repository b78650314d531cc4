//! Memory that grows.

use std::fmt;
use std::ops::Deref;

use super::mapped::{MAPPED, Mapped};
use super::{Buffer, Owner, Plain};
use crate::parallel;

/// Elements that a thread copies at a time.
const COPIED: usize = 1 << 16;

/// Memory that grows, and becomes a [`Buffer`] without a copy. What is long and was never written
/// takes no memory: it pays to reserve as much as may be needed.
pub struct GrowBuffer<T: Plain>(Growing<T>);

enum Growing<T> {
    Short(Vec<T>),
    Long(Mapped<T>),
}

impl<T: Plain + bytemuck::Zeroable> GrowBuffer<T> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Growing::Short(vec) => vec.len(),
            Growing::Long(mapped) => mapped.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes it at least so long; new elements are any numbers, and are to be written before they
    /// are read. Where it was shorter, its length at least doubles if there is memory for that. Gives
    /// false, and changes nothing, where there is no memory for it.
    #[must_use]
    pub fn reserve(&mut self, len: usize) -> bool {
        let old = self.len();
        len <= old || self.grow(len.max(old.saturating_mul(2))) || self.grow(len)
    }

    /// As [`reserve`](Self::reserve), and no longer than that.
    fn grow_to(&mut self, len: usize) -> bool {
        len <= self.len() || self.grow(len)
    }

    fn grow(&mut self, len: usize) -> bool {
        let long = len.saturating_mul(size_of::<T>()) >= MAPPED;
        match &mut self.0 {
            Growing::Short(vec) if !long => {
                let fits = vec.try_reserve_exact(len - vec.len()).is_ok();
                if fits {
                    vec.resize(len, T::zeroed());
                }
                fits
            }
            Growing::Short(vec) => {
                let Some(mut mapped) = Mapped::unspecified(len) else { return false };
                let old = size_of_val(&vec[..]);
                mapped.memory_mut()[..old].copy_from_slice(bytemuck::cast_slice(vec));
                self.0 = Growing::Long(mapped);
                true
            }
            Growing::Long(mapped) => mapped.grow(len),
        }
    }

    /// The elements for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.0 {
            Growing::Short(vec) => vec,
            Growing::Long(mapped) => mapped.slice_mut().expect("maps are written"),
        }
    }

    /// The first element. Dangling where there is none, and after the next
    /// [`reserve`](GrowBuffer::reserve).
    pub fn as_mut_ptr(&mut self) -> *mut T {
        match &mut self.0 {
            Growing::Short(vec) => vec.as_mut_ptr(),
            Growing::Long(mapped) => mapped.memory_mut().as_mut_ptr().cast(),
        }
    }

    /// The first elements of several, so many of each, one after another. Those of the first stay
    /// where they are; others are copied, in parallel. `None` where there is no memory for that.
    #[must_use]
    pub fn joined(parts: Vec<(Self, usize)>) -> Option<Buffer<T>> {
        let total = parts.iter().map(|(_, len)| len).sum();
        let mut parts = parts.into_iter();
        let Some((mut all, first)) = parts.next() else { return Some(Buffer::default()) };
        if total > first && !all.grow_to(total) {
            return None;
        }
        let mut rest = &mut all.as_mut_slice()[first..];
        let mut jobs = Vec::new();
        let parts: Vec<_> = parts.collect();
        for (part, len) in &parts {
            let (to, others) = rest.split_at_mut(*len);
            jobs.extend(to.chunks_mut(COPIED).zip(part[..*len].chunks(COPIED)));
            rest = others;
        }
        parallel::items(jobs, |_, (to, from)| to.copy_from_slice(from));
        Some(all.freeze(total))
    }

    /// The first `len` elements, or all there are, without a copy.
    #[must_use]
    pub fn freeze(self, len: usize) -> Buffer<T> {
        match self.0 {
            Growing::Short(mut vec) => {
                vec.truncate(len);
                vec.into()
            }
            Growing::Long(mut mapped) => {
                mapped.truncate(len);
                Buffer::from_owner(mapped)
            }
        }
    }
}

impl<T: Plain> Default for GrowBuffer<T> {
    fn default() -> Self {
        Self(Growing::Short(Vec::new()))
    }
}

impl<T: Plain> From<Vec<T>> for GrowBuffer<T> {
    fn from(vec: Vec<T>) -> Self {
        Self(Growing::Short(vec))
    }
}

impl<T: Plain> Deref for GrowBuffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match &self.0 {
            Growing::Short(vec) => vec,
            Growing::Long(mapped) => mapped.slice(),
        }
    }
}

impl<T: Plain + PartialEq> PartialEq for GrowBuffer<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for GrowBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
