//! NVIDIA's libraries: back ends that give products to them, and their handles.

use std::sync::{Mutex, PoisonError};

use ust_cuda::{CudaError, Stream};
use ust_engine::Error;
use ust_engine::provider::{Executable, Offer, Plan, Provider};

use crate::gpu::Gpu;

/// A back end that gives products to a library, if it is asked for by name.
pub(crate) struct Library<Task> {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// What the library does for a plan, or why it does nothing.
    pub(crate) task: fn(&Plan<'_>) -> Result<Task, &'static str>,
    /// Whether the library is there.
    pub(crate) look: fn(&Gpu) -> Result<(), CudaError>,
    pub(crate) executable: fn(Task) -> Box<dyn Executable>,
}

impl<Task> Provider for Library<Task> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn offer_unasked(&self, _plan: &Plan<'_>) -> Offer {
        Offer::OnRequest("a library of others".to_owned())
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match ((self.task)(plan), Gpu::current().and_then(|gpu| (self.look)(&gpu))) {
            (Err(why), _) => Offer::Refused(why.to_owned()),
            (_, Err(error)) => Offer::Refused(error.to_string()),
            (Ok(_), Ok(())) => {
                Offer::OnRequest("tensors would have to be copied to the device".to_owned())
            }
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let refused = |why: &str| Error::Refused { backend: self.name, reason: why.to_owned() };
        Ok((self.executable)((self.task)(plan).map_err(refused)?))
    }
}

/// Handles that are kept: one for each stream that a library was used on last.
const MOST: usize = 8;

/// The handles of a library.
pub(crate) struct Handles<T>(Mutex<Vec<T>>);

impl<T: Clone> Handles<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The handle of a stream: one that is kept, or a new one.
    pub(crate) fn of(
        &self,
        stream: &Stream,
        stream_of: impl Fn(&T) -> &Stream,
        make: impl FnOnce(&Stream) -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A handle keeps its stream: no other one has the same.
        let is_own = |made: &T| stream_of(made).handle() == stream.handle();
        let made = match last.iter().position(is_own) {
            Some(at) => last.remove(at),
            None => make(stream)?,
        };
        last.insert(0, made.clone());
        last.truncate(MOST);
        Ok(made)
    }
}
