//! Memory that is fetched when somebody looks at it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Buffer, FetchError, Owner, Plain};
use crate::Elsewhere;

/// How elements are fetched, and where they are.
type Fetch<T> =
    (Box<dyn FnMut() -> Result<Buffer<T>, FetchError> + Send>, Option<Arc<dyn Elsewhere>>);

/// Elements that are fetched when they are asked for.
struct Deferred<T: Plain> {
    len: usize,
    fetched: OnceLock<Buffer<T>>,
    /// What fetches them. `None` when they are here.
    fetch: Mutex<Option<Fetch<T>>>,
}

// SAFETY: what was fetched is not replaced, and a buffer's elements do not change while it is shared.
unsafe impl<T: Plain> Owner<T> for Deferred<T> {
    fn slice(&self) -> &[T] {
        if let Err(error) = self.fetch() {
            panic!("elements of a buffer could not be fetched: {error}");
        }
        self.fetched.get().expect("elements that were fetched")
    }

    fn len(&self) -> usize {
        self.len
    }

    fn is_here(&self) -> bool {
        self.fetched.get().is_some()
    }

    fn fetch(&self) -> Result<(), FetchError> {
        if self.is_here() {
            return Ok(());
        }
        let mut fetch = self.fetch.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have fetched them in the meantime.
        if let Some((from_there, _)) = &mut *fetch {
            let fetched = from_there()?;
            if fetched.len() != self.len {
                let text = format!("{} elements instead of {}", fetched.len(), self.len);
                return Err(text.into());
            }
            let _ = self.fetched.set(fetched);
            *fetch = None;
        }
        Ok(())
    }

    fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        let fetch = self.fetch.lock().unwrap_or_else(PoisonError::into_inner);
        fetch.as_ref().and_then(|(_, place)| place.clone())
    }
}

impl<T: Plain> Buffer<T> {
    /// A buffer of `len` elements that are elsewhere, such as in the memory of a device. `fetch` is called when
    /// somebody first looks at an element, or asks to [fetch](Self::fetch) them. It is dropped once it has given
    /// the elements. After an error the next look calls it again.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use ust_ir::Buffer;
    ///
    /// static FETCHED: AtomicBool = AtomicBool::new(false);
    /// let there = Buffer::deferred(3, || {
    ///     FETCHED.store(true, Ordering::Relaxed);
    ///     Ok(vec![1, 2, 3].into())
    /// });
    /// assert!(there.len() == 3 && !FETCHED.load(Ordering::Relaxed));
    /// assert_eq!(there[..], [1, 2, 3]);
    /// assert!(FETCHED.load(Ordering::Relaxed));
    /// ```
    ///
    /// # Panics
    /// Later, at a look at elements that cannot be fetched, or that are not `len`. [`Buffer::fetch`] gives an
    /// error instead.
    #[must_use]
    pub fn deferred(
        len: usize,
        fetch: impl FnMut() -> Result<Self, FetchError> + Send + 'static,
    ) -> Self {
        Self::fetched_by(len, (Box::new(fetch), None))
    }

    /// As [`Buffer::deferred`], with the place where the elements are. Columns of them are assembled there.
    #[must_use]
    pub fn elsewhere(
        len: usize,
        place: Arc<dyn Elsewhere>,
        fetch: impl FnMut() -> Result<Self, FetchError> + Send + 'static,
    ) -> Self {
        Self::fetched_by(len, (Box::new(fetch), Some(place)))
    }

    fn fetched_by(len: usize, fetch: Fetch<T>) -> Self {
        Self::from_owner(Deferred { len, fetched: OnceLock::new(), fetch: Mutex::new(Some(fetch)) })
    }

    /// Where the elements are that were not fetched yet. `None` if they are here.
    #[must_use]
    pub fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        self.0.place()
    }

    /// Whether a look at the elements fetches nothing.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.0.is_here()
    }

    /// Fetches the elements of a [deferred](Self::deferred) buffer. Others are here. No look panics afterwards.
    ///
    /// # Errors
    /// Why they cannot be fetched. It may be tried again.
    pub fn fetch(&self) -> Result<(), FetchError> {
        self.0.fetch()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_cannot_be_fetched_is_an_error_and_is_tried_again() {
        let tries = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tries);
        let there = Buffer::deferred(2, move || match count.fetch_add(1, Ordering::Relaxed) {
            0 => Err("no device".into()),
            1 => Ok(vec![1_u8].into()),
            _ => Ok(vec![1, 2].into()),
        });
        assert!(!there.is_here());
        assert_eq!(there.fetch().unwrap_err().to_string(), "no device");
        assert_eq!(there.fetch().unwrap_err().to_string(), "1 elements instead of 2");
        assert!(!there.is_here());
        there.fetch().unwrap();
        there.fetch().unwrap();
        assert!(there.is_here() && there[..] == [1, 2]);
        // What fetched is gone, and with it what it held.
        assert_eq!((tries.load(Ordering::Relaxed), Arc::strong_count(&tries)), (3, 1));
    }

    #[test]
    #[should_panic(expected = "could not be fetched: no device")]
    fn a_look_at_what_cannot_be_fetched_panics() {
        let _ = Buffer::<u8>::deferred(2, || Err("no device".into()))[0];
    }
}
