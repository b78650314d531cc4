//! Marks in the order of a stream.

use std::ptr;

use cudarc::driver::sys;

use crate::device::Device;
use crate::error::{CudaError, Result, check};
use crate::stream::Stream;

/// A mark in the order of a stream: other streams can wait for it, and time between two can be told.
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: sys::CUevent,
}

// SAFETY: events of the driver may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

/// The type of `cuEventElapsedTime`.
type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

impl Event {
    pub(crate) fn new(device: &Device, timed: bool) -> Result<Self> {
        device.enter()?;
        let mut raw = ptr::null_mut();
        let flags = match timed {
            true => sys::CUevent_flags::CU_EVENT_DEFAULT,
            false => sys::CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        // SAFETY: the context is current.
        check(unsafe { sys::cuEventCreate(&mut raw, flags as u32) }, || {
            String::from("make an event")
        })?;
        Ok(Self { device: device.clone(), raw })
    }

    /// Puts the mark behind all that the stream was given so far.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.device.enter()?;
        // SAFETY: both live.
        check(unsafe { sys::cuEventRecord(self.raw, stream.raw()) }, || {
            String::from("record an event")
        })
    }

    /// Waits until the stream has come to the mark.
    ///
    /// # Errors
    ///
    /// Those of the driver, and of what runs on the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.device.enter()?;
        // SAFETY: the event lives.
        check(unsafe { sys::cuEventSynchronize(self.raw) }, || String::from("wait for an event"))
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
            ask(&mut milliseconds, self.raw, later.raw)
        };
        check(asked, || String::from("tell the time between two events"))?;
        Ok(milliseconds)
    }

    pub(crate) fn raw(&self) -> sys::CUevent {
        self.raw
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: made by `new`, destroyed once; the driver waits for streams that still need it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
    }
}
