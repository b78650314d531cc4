//! Pinned memory of the host, through which large transfers go.
//!
//! From memory that the system may move, the driver copies to pinned memory itself, and does not go on
//! before the device has fetched it. Two pieces are filled and fetched in turns instead.

use std::ptr;

use cudarc::driver::sys;

use crate::error::{Result, check};
use crate::event::Mark;

/// Bytes of each of the two pieces: much more than a transfer's fixed cost is worth, and little to pin.
pub(crate) const PIECE: usize = 4 << 20;

/// Two pieces of pinned memory, made when the first large transfer comes.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    pieces: Option<[Piece; 2]>,
}

/// Pinned memory, and a mark behind the last transfer that uses it.
#[derive(Debug)]
pub(crate) struct Piece {
    at: *mut u8,
    event: Mark,
}

// SAFETY: the memory belongs to this object alone.
unsafe impl Send for Piece {}

impl Staging {
    /// The two pieces. The device is the thread's.
    pub(crate) fn pieces(&mut self) -> Result<&mut [Piece; 2]> {
        if self.pieces.is_none() {
            self.pieces = Some([Piece::new()?, Piece::new()?]);
        }
        Ok(self.pieces.as_mut().expect("made above"))
    }

    /// Frees the memory. Nothing may be on the way.
    pub(crate) fn clear(&mut self) {
        self.pieces = None;
    }
}

impl Piece {
    fn new() -> Result<Self> {
        let event = Mark::new(false)?;
        let mut at = ptr::null_mut();
        // SAFETY: the context is current.
        check(unsafe { sys::cuMemHostAlloc(&mut at, PIECE, 0) }, || {
            format!("pin {PIECE} bytes of the host")
        })?;
        Ok(Self { at: at.cast(), event })
    }

    /// The mark behind its last transfer.
    pub(crate) fn event(&self) -> &Mark {
        &self.event
    }

    /// Where it lies.
    pub(crate) fn at(&self) -> *mut u8 {
        self.at
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // Whatever the device still does with it comes first; a failure leaves nothing to wait for.
        let _ = self.event.synchronize();
        // SAFETY: made by `new`, freed once.
        let _ = unsafe { sys::cuMemFreeHost(self.at.cast()) };
    }
}
