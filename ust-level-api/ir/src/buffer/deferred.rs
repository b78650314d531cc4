//! Memory that is fetched when somebody looks at it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Buffer, Owner, Plain};
use crate::Elsewhere;

/// How elements are fetched, and where they are.
type Fetch<T> = (Box<dyn FnOnce() -> Buffer<T> + Send>, Option<Arc<dyn Elsewhere>>);

/// Elements that are fetched once, when they are asked for.
struct Deferred<T: Plain> {
    len: usize,
    fetched: OnceLock<Buffer<T>>,
    /// Nothing once they are.
    fetch: Mutex<Option<Fetch<T>>>,
}

// SAFETY: what was fetched is not replaced, and a buffer's elements do not change while it is shared.
unsafe impl<T: Plain> Owner<T> for Deferred<T> {
    fn slice(&self) -> &[T] {
        self.fetched.get_or_init(|| {
            let mut fetch = self.fetch.lock().unwrap_or_else(PoisonError::into_inner);
            let (fetch, _) = fetch.take().expect("a fetch that did not panic is called once");
            let fetched = fetch();
            assert_eq!(fetched.len(), self.len, "as many elements are fetched as were promised");
            fetched
        })
    }

    fn len(&self) -> usize {
        self.len
    }

    fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        let fetch = self.fetch.lock().unwrap_or_else(PoisonError::into_inner);
        fetch.as_ref().and_then(|(_, place)| place.clone())
    }
}

impl<T: Plain> Buffer<T> {
    /// A buffer of `len` elements that are elsewhere, such as in the memory of a device. `fetch` is called once,
    /// when somebody first looks at an element.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use ust_ir::Buffer;
    ///
    /// static FETCHED: AtomicBool = AtomicBool::new(false);
    /// let there = Buffer::deferred(3, || {
    ///     FETCHED.store(true, Ordering::Relaxed);
    ///     vec![1, 2, 3].into()
    /// });
    /// assert!(there.len() == 3 && !FETCHED.load(Ordering::Relaxed));
    /// assert_eq!(there[..], [1, 2, 3]);
    /// assert!(FETCHED.load(Ordering::Relaxed));
    /// ```
    ///
    /// # Panics
    /// Later, if `fetch` panics or gives another number of elements.
    #[must_use]
    pub fn deferred(len: usize, fetch: impl FnOnce() -> Self + Send + 'static) -> Self {
        Self::fetched_from(len, None, fetch)
    }

    /// As [`Buffer::deferred`], with the place where the elements are. Columns of them are assembled there.
    #[must_use]
    pub fn elsewhere(
        len: usize,
        place: Arc<dyn Elsewhere>,
        fetch: impl FnOnce() -> Self + Send + 'static,
    ) -> Self {
        Self::fetched_from(len, Some(place), fetch)
    }

    fn fetched_from(
        len: usize,
        place: Option<Arc<dyn Elsewhere>>,
        fetch: impl FnOnce() -> Self + Send + 'static,
    ) -> Self {
        let fetch: Fetch<T> = (Box::new(fetch), place);
        let fetch = Mutex::new(Some(fetch));
        Self::from_owner(Deferred { len, fetched: OnceLock::new(), fetch })
    }

    /// Where the elements are that were not fetched yet. `None` if they are here.
    #[must_use]
    pub fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        self.0.place()
    }
}
