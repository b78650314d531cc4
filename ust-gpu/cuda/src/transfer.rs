//! Bytes on their way.

use std::ptr;
use std::sync::PoisonError;

use cudarc::driver::sys::{self, CUresult};

use crate::error::{CudaError, Result, check};
use crate::memory::Memory;
use crate::staging::PIECE;
use crate::stream::Stream;

/// Up to here bytes go directly.
const SMALL: usize = 64 << 10;

/// Whether the driver knows these bytes of the host, so that a device may read them at any time.
fn is_pinned(bytes: &[u8]) -> bool {
    let mut kind = 0_u32;
    let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    // SAFETY: the attribute has 32 bits; the driver does not read the bytes.
    let asked = unsafe {
        sys::cuPointerGetAttribute(
            ptr::from_mut(&mut kind).cast(),
            attribute,
            bytes.as_ptr() as u64,
        )
    };
    asked == CUresult::CUDA_SUCCESS && kind != 0
}

impl Stream {
    /// New memory with these bytes. They may be changed when this returns.
    ///
    /// # Errors
    ///
    /// [`CudaError::OutOfMemory`], or those of the driver.
    pub fn upload(&self, bytes: &[u8]) -> Result<Memory> {
        let memory = self.alloc(bytes.len())?;
        self.write(&memory, 0, bytes)?;
        Ok(memory)
    }

    /// Writes bytes from `offset` on. They may be changed when this returns. Many bytes wait until the
    /// device has fetched most of them.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if the memory is shorter; those of the driver.
    pub fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        let address = memory.part(offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.beside(memory, || {
            self.device().enter()?;
            if bytes.len() <= SMALL {
                self.write_directly(address, bytes)
            } else {
                self.write_by_pieces(address, bytes)
            }
        })
    }

    fn write_directly(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: the target was measured by the caller. The driver has read the bytes when it returns,
        // unless they are pinned; then the host waits.
        let asked = unsafe {
            sys::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), self.raw())
        };
        check(asked, || format!("copy {} bytes to the device", bytes.len()))?;
        if is_pinned(bytes) { self.synchronize() } else { Ok(()) }
    }

    fn write_by_pieces(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let mut staging =
            self.device().inner().staging.lock().unwrap_or_else(PoisonError::into_inner);
        // Where nothing can be pinned, the driver goes its own way.
        let Ok(pieces) = staging.pieces() else {
            return self.write_directly(address, bytes);
        };
        for (i, part) in bytes.chunks(PIECE).enumerate() {
            let piece = &mut pieces[i % 2];
            // If the transfer before has failed, this one fails, too, or has nothing to do with it.
            let _ = piece.event().synchronize();
            let to = address + (i * PIECE) as u64;
            // SAFETY: a part is not longer than a piece, which no transfer reads now; the target was
            // measured by the caller.
            let asked = unsafe {
                ptr::copy_nonoverlapping(part.as_ptr(), piece.at(), part.len());
                sys::cuMemcpyHtoDAsync_v2(to, piece.at().cast(), part.len(), self.raw())
            };
            check(asked, || format!("copy {} bytes to the device", bytes.len()))?;
            piece.event().record(self)?;
        }
        Ok(())
    }

    /// Reads bytes from `offset` on, after all that the stream was given so far.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if the memory is shorter; [`CudaError::KernelFailed`] if a kernel has
    /// failed; those of the driver.
    pub fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let address = memory.part(offset, bytes.len())?;
        if bytes.is_empty() {
            return self.synchronize();
        }
        self.beside(memory, || {
            self.device().enter()?;
            if bytes.len() <= SMALL {
                self.read_directly(address, bytes)
            } else {
                self.read_by_pieces(address, bytes)
            }
        })
    }

    fn read_directly(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: the source was measured by the caller, and nobody uses the target before the stream was
        // waited for.
        unsafe {
            let asked = sys::cuMemcpyDtoHAsync_v2(
                bytes.as_mut_ptr().cast(),
                address,
                bytes.len(),
                self.raw(),
            );
            if asked != CUresult::CUDA_SUCCESS {
                return self.waited(asked);
            }
        }
        self.synchronize()
    }

    fn read_by_pieces(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        // Kernels may take long: others can use the pieces until they are done.
        self.synchronize()?;
        let mut staging =
            self.device().inner().staging.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(pieces) = staging.pieces() else {
            return self.read_directly(address, bytes);
        };
        let count = bytes.len().div_ceil(PIECE);
        let length = bytes.len();
        let begin = |i: usize| (i * PIECE, PIECE.min(length - i * PIECE));
        // One step behind: a piece is emptied while the next one is filled.
        for i in 0..=count {
            if i < count {
                let (from, len) = begin(i);
                let piece = &pieces[i % 2];
                // SAFETY: the source was measured by the caller; the piece was emptied two steps before,
                // or waits for what it was used for.
                let asked = unsafe {
                    if i < 2 {
                        let _ = piece.event().synchronize();
                    }
                    sys::cuMemcpyDtoHAsync_v2(
                        piece.at().cast(),
                        address + from as u64,
                        len,
                        self.raw(),
                    )
                };
                if asked != CUresult::CUDA_SUCCESS {
                    return self.waited(asked);
                }
                piece.event().record(self)?;
            }
            if i > 0 {
                let (from, len) = begin(i - 1);
                let piece = &pieces[(i - 1) % 2];
                let waited = piece.event().synchronize();
                if waited != CUresult::CUDA_SUCCESS {
                    return self.waited(waited);
                }
                // SAFETY: the transfer is done; it wrote so many bytes.
                let read = unsafe { std::slice::from_raw_parts(piece.at(), len) };
                bytes[from..from + len].copy_from_slice(read);
            }
        }
        self.synchronize()
    }

    /// Sets all bytes to 0.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn zero(&self, memory: &Memory) -> Result<()> {
        self.fill(memory, 0, memory.len(), &[0])
    }

    /// Sets `bytes` bytes from `offset` on to a pattern of 1, 2 or 4 bytes, again and again.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if the memory is shorter, or if offset or length are no multiples of the
    /// pattern; those of the driver.
    pub fn fill(&self, memory: &Memory, offset: usize, bytes: usize, pattern: &[u8]) -> Result<()> {
        let address = memory.part(offset, bytes)?;
        let width = pattern.len();
        if !matches!(width, 1 | 2 | 4)
            || !offset.is_multiple_of(width)
            || !bytes.is_multiple_of(width)
        {
            return Err(CudaError::argument(format!(
                "a pattern of {width} bytes cannot fill {bytes} bytes from {offset} on"
            )));
        }
        if bytes == 0 {
            return Ok(());
        }
        let count = bytes / width;
        self.beside(memory, || {
            self.device().enter()?;
            // SAFETY: the target was measured above.
            let asked = unsafe {
                match *pattern {
                    [a] => sys::cuMemsetD8Async(address, a, count, self.raw()),
                    [a, b] => sys::cuMemsetD16Async(
                        address,
                        u16::from_ne_bytes([a, b]),
                        count,
                        self.raw(),
                    ),
                    _ => {
                        let word = [pattern[0], pattern[1], pattern[2], pattern[3]];
                        sys::cuMemsetD32Async(address, u32::from_ne_bytes(word), count, self.raw())
                    }
                }
            };
            check(asked, || format!("fill {bytes} bytes"))
        })
    }

    /// Copies `bytes` bytes within the device.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if one of the memories is shorter, or on another device, or if both are the
    /// same bytes in part; those of the driver.
    pub fn copy(
        &self,
        from: &Memory,
        offset: usize,
        to: &Memory,
        to_offset: usize,
        bytes: usize,
    ) -> Result<()> {
        let (source, target) = (from.part(offset, bytes)?, to.part(to_offset, bytes)?);
        if from.device() != to.device() {
            return Err(CudaError::argument("a copy from one device to another"));
        }
        if source.abs_diff(target) < bytes as u64 {
            return Err(CudaError::argument("a copy of bytes onto themselves"));
        }
        if bytes == 0 {
            return Ok(());
        }
        self.beside(from, || {
            self.beside(to, || {
                self.device().enter()?;
                // SAFETY: both were measured above.
                let asked = unsafe { sys::cuMemcpyDtoDAsync_v2(target, source, bytes, self.raw()) };
                check(asked, || format!("copy {bytes} bytes within the device"))
            })
        })
    }
}
