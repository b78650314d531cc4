//! Work of a device, in order.

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUresult};

use crate::device::Device;
use crate::error::{CudaError, Result, check, is_of_kernel, of_kernel};
use crate::event::Event;
use crate::memory::Memory;

/// Names of kernels that are remembered for the message when one has failed.
const NAMES: usize = 8;

/// A queue of work: each piece begins when the one before is done. Clones are the same stream.
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

struct Inner {
    device: Device,
    raw: sys::CUstream,
    /// The kernels launched since the host waited last.
    launched: Mutex<Vec<Arc<str>>>,
}

// SAFETY: streams of the driver may be used from any thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Stream {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        device.enter()?;
        let mut raw = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context is current.
        check(unsafe { sys::cuStreamCreate(&mut raw, flags) }, || String::from("make a stream"))?;
        Ok(Self(Arc::new(Inner { device: device.clone(), raw, launched: Mutex::default() })))
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The driver's handle, for other libraries. It lives as long as the stream.
    #[must_use]
    pub fn handle(&self) -> *mut c_void {
        self.0.raw.cast()
    }

    pub(crate) fn raw(&self) -> sys::CUstream {
        self.0.raw
    }

    /// Waits until all is done.
    ///
    /// # Errors
    ///
    /// [`CudaError::KernelFailed`] if a kernel has failed, or an error of the driver.
    pub fn synchronize(&self) -> Result<()> {
        self.0.device.enter()?;
        // SAFETY: the stream lives.
        self.waited(unsafe { sys::cuStreamSynchronize(self.0.raw) })
    }

    /// Puts a mark behind all that was given so far.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.0.device, true)?;
        event.record(self)?;
        Ok(event)
    }

    /// What is given from now on begins after the mark.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.0.device.enter()?;
        // SAFETY: both live.
        let asked = unsafe { sys::cuStreamWaitEvent(self.0.raw, event.raw(), 0) };
        check(asked, || String::from("let a stream wait"))
    }

    /// What is given from now on begins after all that another stream was given so far.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self.0.raw == other.0.raw {
            return Ok(());
        }
        let event = Event::new(&other.0.device, false)?;
        event.record(other)?;
        self.wait(&event)
    }

    /// Does something with memory of another stream: after what that stream does with it, and before what
    /// it will do, its release included.
    pub(crate) fn beside<T>(&self, memory: &Memory, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if memory.device() != self.device() {
            return Err(CudaError::argument("a stream of one device, and memory of another"));
        }
        memory.used_in(self);
        let Some(other) = memory.stream().filter(|other| other.0.raw != self.0.raw) else {
            return work();
        };
        self.wait_for(other)?;
        let done = work();
        other.wait_for(self)?;
        done
    }

    pub(crate) fn note(&self, kernel: &Arc<str>) {
        let mut launched = self.0.launched.lock().unwrap_or_else(PoisonError::into_inner);
        if launched.len() == NAMES {
            launched.remove(0);
        }
        launched.push(kernel.clone());
    }

    /// Tells what the driver said when the host has waited for the stream.
    pub(crate) fn waited(&self, result: CUresult) -> Result<()> {
        let names =
            std::mem::take(&mut *self.0.launched.lock().unwrap_or_else(PoisonError::into_inner));
        if result == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        match is_of_kernel(result) && !names.is_empty() {
            true => Err(of_kernel(result, names.join(", "))),
            false => check(result, || String::from("finish the work of a stream")),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?}, {:?})", self.0.raw, self.0.device)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: made by `new`, destroyed once; the driver finishes its work before.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
    }
}
