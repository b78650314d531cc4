//! Devices.

use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};

use crate::error::{CudaError, Result, check};
use crate::module::Modules;
use crate::probe;
use crate::staging::Staging;
use crate::stream::Stream;

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The product's name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: usize,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block can have, if the kernel asks for it.
    pub shared: u32,
    /// Bytes of the L2 cache.
    pub l2: u32,
    /// Clock of the multiprocessors in kHz; 0 if the driver does not tell.
    pub clock: u32,
    /// Clock of the memory in kHz; 0 if the driver does not tell.
    pub memory_clock: u32,
    /// Bits that the memory moves at a time; 0 if the driver does not tell.
    pub bus: u32,
    /// The driver's version, 1000 for each major one and 10 for each minor one.
    pub driver: u32,
    /// NVRTC's version, where there is one.
    pub compiler: Option<(u32, u32)>,
}

impl Info {
    /// The architecture as the compiler names it: `sm_90`.
    #[must_use]
    pub fn architecture(&self) -> String {
        format!("sm_{}{}", self.capability.0, self.capability.1)
    }

    /// Bytes a second that the memory moves at best, twice in each cycle of its clock. `None` if the driver does not
    /// tell.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        let bytes = 2e3 * f64::from(self.memory_clock) * f64::from(self.bus) / 8.0;
        (bytes > 0.0).then_some(bytes)
    }
}

/// A device, with the primary context that all libraries of the process share. Clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

pub(crate) struct Inner {
    ordinal: usize,
    device: sys::CUdevice,
    context: sys::CUcontext,
    /// The pool of memory, where the device has one.
    pool: Option<sys::CUmemoryPool>,
    info: Info,
    pub(crate) modules: Modules,
    pub(crate) staging: Mutex<Staging>,
}

// SAFETY: contexts and pools of the driver may be used from any thread.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Device {
    /// How many devices there are. 0 where the driver finds none.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoDriver`] without a driver; its errors otherwise.
    pub fn count() -> Result<usize> {
        match probe::driver_version() {
            Err(CudaError::NoDevice { .. }) => return Ok(0),
            other => other?,
        };
        let mut count = 0;
        // SAFETY: the driver has started.
        check(unsafe { sys::cuDeviceGetCount(&mut count) }, || String::from("count devices"))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Opens a device.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoDriver`], [`CudaError::NoDevice`], or an error of the driver.
    pub fn open(ordinal: usize) -> Result<Self> {
        let count = Self::count()?;
        if ordinal >= count {
            return Err(CudaError::NoDevice { ordinal, count });
        }
        let (mut device, mut context) = (0, ptr::null_mut());
        let number = i32::try_from(ordinal).map_err(|_| CudaError::NoDevice { ordinal, count })?;
        // SAFETY: the driver has started.
        let found = unsafe { sys::cuDeviceGet(&mut device, number) };
        check(found, || format!("find device {ordinal}"))?;
        let info = info(device)?;
        // SAFETY: the device was found.
        let opened = unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) };
        check(opened, || format!("open device {ordinal}"))?;
        let (modules, staging) = (Modules::default(), Mutex::default());
        let mut inner = Inner { ordinal, device, context, pool: None, info, modules, staging };
        inner.enter()?;
        inner.pool = pool(device);
        Ok(Self(Arc::new(inner)))
    }

    /// The number it was opened by.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.0.ordinal
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// A new stream, which waits for no other.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// Free and total bytes of memory now. What the pool keeps is not free.
    ///
    /// # Errors
    ///
    /// Those of the driver.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the context is current.
        let asked = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        check(asked, || String::from("tell the free memory"))?;
        Ok((free, total))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn pool(&self) -> Option<sys::CUmemoryPool> {
        self.0.pool
    }

    /// Makes the device that of the calling thread, as the driver wants before most calls.
    pub(crate) fn enter(&self) -> Result<()> {
        self.0.enter()
    }

    /// Waits for all streams, and gives back what the pool keeps.
    pub(crate) fn trim(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: the context is current; the pool is the device's.
        unsafe {
            check(sys::cuCtxSynchronize(), || String::from("wait for all streams"))?;
            if let Some(pool) = self.0.pool {
                check(sys::cuMemPoolTrimTo(pool, 0), || {
                    String::from("give back the memory of its pool")
                })?;
            }
        }
        Ok(())
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.0.ordinal == other.0.ordinal
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({}: {})", self.0.ordinal, self.0.info.name)
    }
}

impl Inner {
    fn enter(&self) -> Result<()> {
        // SAFETY: the context lives as long as this.
        check(unsafe { sys::cuCtxSetCurrent(self.context) }, || {
            format!("use device {}", self.ordinal)
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Modules and pinned memory belong to the context.
        // SAFETY: the context lives until it is released below, once.
        unsafe {
            let _ = sys::cuCtxSetCurrent(self.context);
            self.modules.clear();
            self.staging.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
            let _ = sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}

fn info(device: sys::CUdevice) -> Result<Info> {
    let mut name = [0; 256];
    let mut memory = 0;
    // SAFETY: the device was found; the buffer is as long as it is said to be.
    unsafe {
        check(sys::cuDeviceGetName(name.as_mut_ptr(), 255, device), || {
            String::from("name a device")
        })?;
        check(sys::cuDeviceTotalMem_v2(&mut memory, device), || {
            String::from("tell a device's memory")
        })?;
    }
    let name: Vec<u8> = name.iter().take_while(|&&c| c != 0).map(|&c| c.to_ne_bytes()[0]).collect();
    let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let told = |one| attribute(device, one).unwrap_or(0);
    Ok(Info {
        name: String::from_utf8_lossy(&name).into_owned(),
        capability: (major, minor),
        memory,
        multiprocessors: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared: attribute(
            device,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?,
        l2: attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        clock: told(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        memory_clock: told(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
        bus: told(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        driver: probe::driver_version()?,
        compiler: probe::compiler_version().ok(),
    })
}

fn attribute(device: sys::CUdevice, attribute: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the device was found.
    let asked = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
    check(asked, || format!("tell {attribute:?}"))?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// The device's pool, told to keep what is freed; `None` where allocations have no order of streams.
fn pool(device: sys::CUdevice) -> Option<sys::CUmemoryPool> {
    let supported = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    if supported.unwrap_or(0) == 0 {
        return None;
    }
    let mut pool = MaybeUninit::uninit();
    let mut all = u64::MAX;
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: devices with pools have a first one; the attribute is 64 bits wide.
    unsafe {
        if sys::cuDeviceGetDefaultMemPool(pool.as_mut_ptr(), device) != sys::CUresult::CUDA_SUCCESS
        {
            return None;
        }
        let pool = pool.assume_init();
        let _ = sys::cuMemPoolSetAttribute(pool, attribute, ptr::from_mut(&mut all).cast());
        Some(pool)
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use std::sync::Arc;

    use super::Device;
    use crate::{CudaError, Source, emulator};

    /// Nothing that a device keeps keeps the device.
    #[test]
    fn a_device_is_released_with_its_last_handle() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tmp/cache");
        // SAFETY: no other test of this crate looks at the environment while this one begins.
        unsafe { std::env::set_var("UST_CACHE_DIR", folder) };
        match emulator::install() {
            Err(CudaError::NoEmulator(why)) => return eprintln!("SKIPPED: {why}"),
            installed => installed.unwrap(),
        }
        let device = Device::open(0).unwrap();
        let stream = device.stream().unwrap();
        let memory = stream.upload(&vec![1; 10 << 20]).unwrap();
        let text = "extern \"C\" __global__ void k() { }";
        let kernel = device.module(&Source::new(text)).unwrap().kernel("k").unwrap();
        let inner = Arc::downgrade(&device.0);
        drop((memory, stream.record().unwrap(), device));
        assert!(inner.upgrade().is_some());
        drop((stream, kernel));
        assert!(inner.upgrade().is_none());
    }
}
