//! Kernels are started.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute};

use crate::error::{CudaError, Result, check};
use crate::module::Kernel;
use crate::stream::Stream;

/// Most parameters that a kernel can have: as many of 8 bytes are 4 KB, the limit of older devices.
const PARAMETERS: usize = 512;
/// Parameters that need no allocation.
const FEW: usize = 32;

/// How many threads run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: [u32; 3],
    /// Threads of a block.
    pub threads: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Grid {
    /// Blocks and threads in a row, without dynamic shared memory.
    #[must_use]
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self { blocks: [blocks, 1, 1], threads: [threads, 1, 1], shared: 0 }
    }
}

impl Stream {
    /// Starts a kernel after all that the stream was given so far, and does not wait for it. Every
    /// argument is an `i64` or an address. Memory of other streams must have been waited for
    /// ([`Stream::wait_for`]), and the other streams must wait for this one before they free it.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if the kernel has another number of parameters, or is another device's;
    /// those of the driver, which refuses grids without threads or too large ones. An error of the kernel
    /// itself is told by [`Stream::synchronize`] or [`Stream::read`].
    ///
    /// # Safety
    ///
    /// The arguments have the types of the kernel's parameters. The kernel touches memory that is alive
    /// until it has run, and that nothing else touches at the same time; it ends.
    pub unsafe fn launch(&self, kernel: &Kernel, grid: Grid, arguments: &[u64]) -> Result<()> {
        if kernel.device() != self.device() {
            return Err(CudaError::argument(format!(
                "`{}` is a kernel of another device",
                kernel.name()
            )));
        }
        let count = arguments.len();
        if kernel.parameters().is_some_and(|parameters| parameters != count) || count > PARAMETERS {
            return Err(CudaError::argument(format!(
                "`{}` has {} parameters, and was given {count} arguments",
                kernel.name(),
                kernel.parameters().unwrap_or(PARAMETERS),
            )));
        }
        self.device().enter()?;
        allow(kernel, grid.shared)?;
        let pointer = |argument: &u64| ptr::from_ref(argument).cast_mut().cast::<c_void>();
        let (mut few, mut many) = ([ptr::null_mut(); FEW], Vec::new());
        let pointers = match few.get_mut(..count) {
            Some(few) => {
                few.iter_mut().zip(arguments).for_each(|(to, argument)| *to = pointer(argument));
                few.as_mut_ptr()
            }
            None => {
                many.extend(arguments.iter().map(pointer));
                many.as_mut_ptr()
            }
        };
        let ([bx, by, bz], [tx, ty, tz]) = (grid.blocks, grid.threads);
        // SAFETY: the driver copies the arguments, and only reads them; the rest is the caller's duty.
        let launched = unsafe {
            sys::cuLaunchKernel(
                kernel.raw(),
                bx,
                by,
                bz,
                tx,
                ty,
                tz,
                grid.shared,
                self.raw(),
                pointers,
                ptr::null_mut(),
            )
        };
        check(launched, || format!("launch `{}` with {grid:?}", kernel.name()))?;
        self.note(kernel.shared_name());
        Ok(())
    }
}

/// Asks for dynamic shared memory beyond what every kernel may have.
fn allow(kernel: &Kernel, shared: u32) -> Result<()> {
    if shared <= kernel.dynamic().load(Ordering::Relaxed) {
        return Ok(());
    }
    let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let bytes = i32::try_from(shared).unwrap_or(i32::MAX);
    // SAFETY: the function lives.
    let asked = unsafe { sys::cuFuncSetAttribute(kernel.raw(), attribute, bytes) };
    check(asked, || format!("give `{}` {shared} bytes of shared memory", kernel.name()))?;
    kernel.dynamic().fetch_max(shared, Ordering::Relaxed);
    Ok(())
}
