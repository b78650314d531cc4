//! Marks in the order of a stream.

use std::ptr;

use cudarc::driver::sys;

use crate::device::Device;
use crate::error::{CudaError, Result, check};
use crate::stream::Stream;

/// A mark in the order of a stream: other streams can wait for it, and time between two can be told.
#[derive(Debug)]
pub struct Event {
    // Dropped before the device, whose context it lies in.
    mark: Mark,
    device: Device,
}

/// The driver's event. Whoever uses it keeps the device, and has made it the thread's.
#[derive(Debug)]
pub(crate) struct Mark(sys::CUevent);

// SAFETY: events of the driver may be used from any thread.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    pub(crate) fn new(timed: bool) -> Result<Self> {
        let mut raw = ptr::null_mut();
        let flags = match timed {
            true => sys::CUevent_flags::CU_EVENT_DEFAULT,
            false => sys::CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        // SAFETY: the context is current.
        let made = unsafe { sys::cuEventCreate(&mut raw, flags as u32) };
        check(made, || String::from("make an event"))?;
        Ok(Self(raw))
    }

    pub(crate) fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both live.
        let recorded = unsafe { sys::cuEventRecord(self.0, stream.raw()) };
        check(recorded, || String::from("record an event"))
    }

    /// Waits until the stream has come to the mark; at once, if it was never recorded.
    pub(crate) fn synchronize(&self) -> sys::CUresult {
        // SAFETY: the event lives.
        unsafe { sys::cuEventSynchronize(self.0) }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once; the driver waits for streams that still need it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// The type of `cuEventElapsedTime`.
type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

impl Event {
    pub(crate) fn new(device: &Device, timed: bool) -> Result<Self> {
        device.enter()?;
        Ok(Self { mark: Mark::new(timed)?, device: device.clone() })
    }

    /// Puts the mark behind all that the stream was given so far.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.device.enter()?;
        self.mark.record(stream)
    }

    /// Waits until the stream has come to the mark.
    ///
    /// # Errors
    ///
    /// Those of the driver, and of what runs on the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.device.enter()?;
        check(self.mark.synchronize(), || String::from("wait for an event"))
    }

    /// Milliseconds between this mark and a later one, for which it waits.
    ///
    /// # Errors
    ///
    /// Those of the driver, and of what runs on the stream; [`CudaError::Driver`] if one of the marks was
    /// never recorded.
    pub fn elapsed(&self, later: &Self) -> Result<f32> {
        if self.device != later.device {
            return Err(CudaError::argument("time between marks of two devices"));
        }
        later.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: both live, and the driver has the function: `probe.rs` looked. Its second version is
        // missing in drivers before 12.8.
        let asked = unsafe {
            let Ok(ask) = sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0") else {
                return Err(CudaError::Outdated {
                    library: "libcuda",
                    symbol: "cuEventElapsedTime",
                });
            };
            ask(&mut milliseconds, self.raw(), later.raw())
        };
        check(asked, || String::from("tell the time between two events"))?;
        Ok(milliseconds)
    }

    pub(crate) fn raw(&self) -> sys::CUevent {
        self.mark.0
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.device.enter();
    }
}
