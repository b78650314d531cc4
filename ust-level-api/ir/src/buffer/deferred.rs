//! Memory that is fetched when somebody looks at it.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Buffer, Owner, Plain};

type Fetch<T> = Box<dyn FnOnce() -> Buffer<T> + Send>;

/// Elements that are fetched once, when they are asked for.
struct Deferred<T: Plain> {
    len: usize,
    fetched: OnceLock<Buffer<T>>,
    fetch: Mutex<Option<Fetch<T>>>,
}

// SAFETY: what was fetched is not replaced, and a buffer's elements do not change while it is shared.
unsafe impl<T: Plain> Owner<T> for Deferred<T> {
    fn slice(&self) -> &[T] {
        self.fetched.get_or_init(|| {
            let mut fetch = self.fetch.lock().unwrap_or_else(PoisonError::into_inner);
            let fetch = fetch.take().expect("a fetch that did not panic is called once");
            let fetched = fetch();
            assert_eq!(fetched.len(), self.len, "as many elements are fetched as were promised");
            fetched
        })
    }

    fn len(&self) -> usize {
        self.len
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
        let fetch: Fetch<T> = Box::new(fetch);
        Self::from_owner(Deferred { len, fetched: OnceLock::new(), fetch: Mutex::new(Some(fetch)) })
    }
}
