//! Bytes of a device.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUresult};

use crate::device::Device;
use crate::error::{CudaError, Result, check};
use crate::stream::Stream;

/// Bytes of a device. They are freed in the order of the stream that allocated them, when this is dropped:
/// work on other streams must have been waited for by then (`Stream::wait_for`).
pub struct Memory {
    address: u64,
    bytes: usize,
    device: Device,
    owner: Owner,
}

enum Owner {
    /// Memory of a pool.
    Pool(Stream),
    /// Memory of a device without pools.
    Plain(Stream),
    /// Memory that others free when the last of them is gone, and the streams that used it.
    Other(#[allow(dead_code)] Arc<dyn Any + Send + Sync>, Mutex<Vec<Stream>>),
    /// No bytes.
    Nobody,
}

impl Memory {
    /// A view of memory that others own, who are kept alive as long as this is.
    ///
    /// # Safety
    ///
    /// The bytes from the address on belong to the device, and may be read and written, until `owner` is
    /// dropped. Whatever else uses them is ordered by the caller: nothing here waits for it. Nobody else writes them if
    /// they become an array of a tensor: it is checked once, and kernels rely on it. Whoever gives the
    /// address to a kernel says in which stream ([`Memory::used_in`]): before `owner` is dropped, the host waits for
    /// these streams. If none is known, it waits for the whole device.
    #[must_use]
    pub unsafe fn view(
        device: &Device,
        address: u64,
        bytes: usize,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self {
            address,
            bytes,
            device: device.clone(),
            owner: Owner::Other(owner, Mutex::default()),
        }
    }

    /// Where the bytes are, on the device. 0 if there are none.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The stream in whose order it is freed; none if others own it.
    #[must_use]
    pub fn stream(&self) -> Option<&Stream> {
        match &self.owner {
            Owner::Pool(stream) | Owner::Plain(stream) => Some(stream),
            Owner::Other(..) | Owner::Nobody => None,
        }
    }

    /// Notes that a stream was given work with bytes that others own. Functions that take a `Memory` do so
    /// themselves.
    pub fn used_in(&self, stream: &Stream) {
        if let Owner::Other(_, streams) = &self.owner {
            let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
            if !streams.iter().any(|one| one.handle() == stream.handle()) {
                streams.push(stream.clone());
            }
        }
    }

    /// The address of `bytes` bytes from `offset` on.
    pub(crate) fn part(&self, offset: usize, bytes: usize) -> Result<u64> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.address + offset as u64),
            _ => Err(CudaError::argument(format!(
                "{bytes} bytes from {offset} on do not lie in a memory of {} bytes",
                self.bytes
            ))),
        }
    }
}

impl Stream {
    /// Allocates bytes, whose content is unspecified.
    ///
    /// # Errors
    ///
    /// [`CudaError::OutOfMemory`] if there is no room, even without what the pool keeps.
    pub fn alloc(&self, bytes: usize) -> Result<Memory> {
        let device = self.device().clone();
        if bytes == 0 {
            return Ok(Memory { address: 0, bytes, device, owner: Owner::Nobody });
        }
        device.enter()?;
        let mut result = self.ask(bytes);
        if matches!(result, Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) {
            device.trim()?;
            result = self.ask(bytes);
        }
        let owner = match device.pool() {
            Some(_) => Owner::Pool(self.clone()),
            None => Owner::Plain(self.clone()),
        };
        match result {
            Ok(address) => Ok(Memory { address, bytes, device, owner }),
            Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY) => Err(CudaError::OutOfMemory { bytes }),
            Err(other) => {
                check(other, || format!("allocate {bytes} bytes"))?;
                Err(CudaError::OutOfMemory { bytes })
            }
        }
    }

    fn ask(&self, bytes: usize) -> std::result::Result<u64, CUresult> {
        let mut address = 0;
        // SAFETY: the context is current, and the stream lives.
        let result = unsafe {
            match self.device().pool() {
                Some(_) => sys::cuMemAllocAsync(&mut address, bytes, self.raw()),
                None => sys::cuMemAlloc_v2(&mut address, bytes),
            }
        };
        if result == CUresult::CUDA_SUCCESS { Ok(address) } else { Err(result) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} bytes at {:#x}, {:?})", self.bytes, self.address, self.device)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: allocated by `alloc`, freed once. `cuMemFree` waits for all work on the device.
        let _ = unsafe {
            match &mut self.owner {
                Owner::Pool(stream) => sys::cuMemFreeAsync(self.address, stream.raw()),
                Owner::Plain(_) => sys::cuMemFree_v2(self.address),
                Owner::Other(_, streams) => {
                    return unused(streams.get_mut().unwrap_or_else(PoisonError::into_inner));
                }
                Owner::Nobody => return,
            }
        };
    }
}

/// Waits until these streams have done what they were given; without any, for the whole device, which is that of the
/// thread. Whoever owns the bytes may free them next, and knows no stream that uses them.
fn unused(streams: &[Stream]) {
    if streams.is_empty() {
        // SAFETY: the context is current.
        let _ = unsafe { sys::cuCtxSynchronize() };
    }
    for stream in streams {
        // What fails here is told by the stream when the host waits for it next.
        // SAFETY: the stream lives.
        let _ = unsafe { sys::cuStreamSynchronize(stream.raw()) };
    }
}
