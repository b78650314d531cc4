//! What each process has one of: threads, and what is kept behind a lock.
//!
//! A child that was forked has one thread, and a copy of all memory: pools whose threads are not there, and locks that
//! nobody will ever give back if another thread held them. So a child makes its own, when it first asks.
#![allow(unsafe_code)]

use std::mem;
use std::sync::{Mutex, MutexGuard, TryLockError};

use once_cell::race::OnceBox;

use crate::parallel::locked;

/// How many forks lie between the process that asked first and this one.
///
/// Forks before the first question do not count: nothing was made before it.
#[cfg(unix)]
#[must_use]
pub fn forks() -> u64 {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    static FORKS: AtomicU64 = AtomicU64::new(0);
    static WATCHED: Once = Once::new();

    extern "C" fn forked() {
        FORKS.fetch_add(1, Relaxed);
    }

    WATCHED.call_once(|| {
        // SAFETY: the function may run in a child at any moment: it touches one atomic number. If there is no memory to
        // note it, forks are not counted.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
    FORKS.load(Relaxed)
}

/// There are no forks here.
#[cfg(not(unix))]
#[must_use]
pub fn forks() -> u64 {
    0
}

/// A value of which each process makes its own.
pub struct PerProcess<T: Send + Sync + 'static>(OnceBox<Own<T>>);

/// The value of a process, and then those of its children, that of a child of a child last.
struct Own<T: Send + Sync + 'static> {
    forks: u64,
    value: T,
    next: OnceBox<Self>,
}

impl<T: Send + Sync + 'static> PerProcess<T> {
    /// No value yet.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(OnceBox::new())
    }

    /// The value of this process. If there is none, `make` makes it: of the value of the process that was forked, if
    /// that had one. Several threads may do so at a time; one of their values stays. Nobody waits.
    pub fn get(&self, make: impl Fn(Option<&T>) -> T) -> &T {
        let forks = forks();
        let (mut slot, mut before) = (&self.0, None);
        loop {
            let own = slot
                .get_or_init(|| Box::new(Own { forks, value: make(before), next: OnceBox::new() }));
            if own.forks == forks {
                return &own.value;
            }
            (slot, before) = (&own.next, Some(&own.value));
        }
    }
}

/// Something behind a lock, such as a cache, of which each process has its own.
pub struct Guarded<T: Send + 'static> {
    own: PerProcess<Mutex<T>>,
    new: fn() -> T,
    inherits: bool,
}

impl<T: Send + 'static> Guarded<T> {
    /// What `new` makes. A child begins with what its parent had, unless another thread was at it when it was forked.
    #[must_use]
    pub const fn inherited(new: fn() -> T) -> Self {
        Self { own: PerProcess::new(), new, inherits: true }
    }

    /// What `new` makes, in each process: for what other threads may be at without this lock.
    #[must_use]
    pub const fn apart(new: fn() -> T) -> Self {
        Self { own: PerProcess::new(), new, inherits: false }
    }

    /// Locks it. That a thread panicked with it leaves nothing half done.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        locked(self.own.get(|before| {
            let before =
                before.filter(|_| self.inherits).and_then(|before| match before.try_lock() {
                    Ok(had) => Some(had),
                    Err(TryLockError::Poisoned(had)) => Some(had.into_inner()),
                    Err(TryLockError::WouldBlock) => None,
                });
            Mutex::new(match before {
                Some(mut had) => mem::replace(&mut *had, (self.new)()),
                None => (self.new)(),
            })
        }))
    }
}
