//! Cancelling: work ends early because nobody wants its result any more.
//!
//! Work is done in a *scope* of a token, on the thread that entered the scope and on those that share the work. Long
//! loops look at the token now and then ([`poll`]). If it was cancelled, the look does not return: the stack is unwound
//! up to the scope, which returns [`Cancelled`]. So sorts and walks, of which few can fail, need no argument and no error
//! for it, and nobody sees what is half done: it is dropped. A look costs a nanosecond or two where there is no scope.

use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The work was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// The time between two questions of a thread whether it shall go on.
pub const ASKS: Duration = Duration::from_millis(20);

/// Numbers of a [piece](pieces): far less than a millisecond of work.
pub const PIECE: usize = 1 << 16;

/// Ends work early, from another thread or from the thread that waits for it. Clones are the same token.
///
/// ```
/// use ust_ir::cancel::{CancelToken, Cancelled, poll};
///
/// let token = CancelToken::new();
/// let count = |upto| token.scope(|| {
///     for at in 0..upto {
///         poll();
///         if at == 3 {
///             token.cancel(); // As another thread would.
///         }
///     }
///     Ok::<_, Cancelled>(upto)
/// });
/// assert_eq!((count(2), count(10)), (Ok(2), Err(Cancelled)));
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    ask: Option<Ask>,
    /// Looks until it is cancelled.
    left: Option<AtomicUsize>,
}

/// What asks on the thread of the scope whether it shall end.
struct Ask {
    ask: Box<dyn Fn() -> bool + Send + Sync>,
    start: Instant,
    /// When it is asked next, in nanoseconds since `start`.
    next: AtomicU64,
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CancelToken").field(&self.is_cancelled()).finish()
    }
}

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that asks whether it shall be cancelled: now and then, about every [`ASKS`], on the thread that entered a
    /// scope of the token, also while that thread waits for others. For what only this thread can do, such as handling
    /// the signals of an interpreter.
    #[must_use]
    pub fn asking(ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let ask = Ask { ask: Box::new(ask), start: Instant::now(), next: AtomicU64::new(0) };
        Self(Arc::new(Inner { ask: Some(ask), ..Inner::default() }))
    }

    /// A token that is cancelled by the look after so many looks: for tests of what is cancelled.
    #[must_use]
    pub fn after(looks: usize) -> Self {
        Self(Arc::new(Inner { left: Some(AtomicUsize::new(looks)), ..Inner::default() }))
    }

    /// Ends all work in scopes of the token, soon.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Relaxed);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Relaxed)
    }

    /// Does work, which ends early with an error when the token is cancelled. Scopes may stand in scopes: the work in
    /// the inner one ends with either.
    ///
    /// What `work` makes and does not return is dropped when it ends early. What it changes outside may be changed in
    /// part: `&mut` arguments of this library's functions stay valid, with some of the change made or none.
    ///
    /// A program that is built with `panic = "abort"` cannot unwind: there, the error comes when the work is done.
    ///
    /// # Errors
    /// [`Cancelled`], as the error of the work; and that of the work itself.
    pub fn scope<R, E: From<Cancelled>>(
        &self,
        work: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        if self.is_cancelled() {
            return Err(Cancelled.into());
        }
        let scope = Scope { token: self.clone(), thread: thread::current().id(), around: here() };
        match within(Some(Arc::new(scope)), || catch_unwind(AssertUnwindSafe(work))) {
            Ok(result) => result,
            Err(payload) if payload.is::<Unwound>() && self.is_cancelled() => Err(Cancelled.into()),
            Err(payload) => resume_unwind(payload),
        }
    }

    /// Asks if it is time to, on the thread of the scope.
    fn asks(&self) {
        let Some(Ask { ask, start, next }) = &self.0.ask else { return };
        let now = start.elapsed().as_nanos() as u64;
        if now >= next.load(Relaxed) {
            next.store(now + ASKS.as_nanos() as u64, Relaxed);
            if ask() {
                self.cancel();
            }
        }
    }

    fn looks(&self) {
        if let Some(left) = &self.0.left
            && left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
        {
            self.cancel();
        }
    }
}

/// A scope, with those around it.
struct Scope {
    token: CancelToken,
    /// The thread that entered it.
    thread: ThreadId,
    around: Carried,
}

/// The scopes in which a thread works, which are carried to the threads that share its work.
pub(crate) type Carried = Option<Arc<dyn Look>>;

/// Hides how a scope is looked at from the signature of what carries it.
pub(crate) trait Look: Send + Sync {
    /// Whether one of the tokens is cancelled.
    fn look(&self) -> bool;
    /// Whether this thread has to ask while it waits.
    fn asks(&self) -> bool;
}

impl Look for Scope {
    fn look(&self) -> bool {
        let around = self.around.as_ref().is_some_and(|around| around.look());
        self.token.looks();
        if self.token.0.ask.is_some() && self.thread == thread::current().id() {
            self.token.asks();
        }
        around || self.token.is_cancelled()
    }

    fn asks(&self) -> bool {
        let own = self.token.0.ask.is_some() && self.thread == thread::current().id();
        own || self.around.as_ref().is_some_and(|around| around.asks())
    }
}

/// What unwinds the stack of cancelled work.
struct Unwound;

thread_local! {
    static HERE: RefCell<Carried> = const { RefCell::new(None) };
}

/// The scopes of this thread.
pub(crate) fn here() -> Carried {
    HERE.with_borrow(Clone::clone)
}

/// Does work in these scopes, and no others.
pub(crate) fn within<R>(scopes: Carried, work: impl FnOnce() -> R) -> R {
    /// Puts the scopes back that were there, also when the work panics.
    struct Back(Carried);
    impl Drop for Back {
        fn drop(&mut self) {
            HERE.set(self.0.take());
        }
    }
    let _back = Back(HERE.replace(scopes));
    work()
}

/// A look at the tokens of the scopes of this thread. Does not return if one was cancelled: call it where a panic would do
/// no harm, and not below functions of other languages.
pub fn poll() {
    // What is dropped while a stack is unwound may come here.
    if check().is_err() && cfg!(panic = "unwind") && !thread::panicking() {
        resume_unwind(Box::new(Unwound));
    }
}

/// The numbers below `count` in pieces of [`PIECE`], with a [look](poll) before each: for long loops of one
/// thread.
///
/// ```
/// let numbers: Vec<usize> = ust_ir::cancel::pieces(100_000).flatten().collect();
/// assert!(numbers.iter().copied().eq(0..100_000));
/// ```
pub fn pieces(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(PIECE).map(move |from| {
        poll();
        from..count.min(from.saturating_add(PIECE))
    })
}

/// As [`poll`], and returns the error.
///
/// # Errors
/// If one of the tokens was cancelled.
pub fn check() -> Result<(), Cancelled> {
    match here() {
        Some(here) if here.look() => Err(Cancelled),
        _ => Ok(()),
    }
}

/// Whether this thread works in the scope of a token.
#[must_use]
pub fn is_in_scope() -> bool {
    here().is_some()
}

/// Does work that is done as a whole, as it changes what others see: no look in it ends it. For short work.
pub fn shielded<R>(work: impl FnOnce() -> R) -> R {
    within(None, work)
}
