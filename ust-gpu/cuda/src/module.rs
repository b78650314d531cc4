//! Compiled texts, and the kernels in them.

use std::ffi::CString;
use std::fmt;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUresult};
use lru::LruCache;

use crate::compile::compile;
use crate::device::Device;
use crate::disk;
use crate::error::{CudaError, Result, check};
use crate::hash::Hash;
use crate::probe;

/// Modules that a device keeps loaded.
const LOADED: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");
/// The first driver that tells the parameters of kernels.
const TELLS_PARAMETERS: u32 = 12040;

/// A text of CUDA C++, and how it is compiled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Source {
    /// The text. Kernels are `extern "C"`.
    pub text: String,
    /// Options of NVRTC beside the architecture and the standard: `--fmad=false` for example.
    pub options: Vec<String>,
}

impl Source {
    /// A text without options.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), options: Vec::new() }
    }

    /// With one more option.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// What its machine code depends on.
    fn key(&self, device: &Device) -> Result<Hash> {
        let (major, minor) = probe::compiler_version()?;
        let mut key = Hash::new().with(self.text.as_bytes());
        for option in &self.options {
            key = key.with(option.as_bytes());
        }
        let machine =
            format!("{} {major}.{minor} {}", device.info().architecture(), device.info().driver);
        Ok(key.with(machine.as_bytes()).with(env!("CARGO_PKG_VERSION").as_bytes()))
    }
}

/// Machine code on a device. Clones are the same.
#[derive(Clone)]
pub struct Module {
    // Dropped before the device, whose context it lies in.
    loaded: Arc<Loaded>,
    device: Device,
}

struct Loaded {
    raw: sys::CUmodule,
}

// SAFETY: modules of the driver may be used from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

/// The modules that a device keeps loaded, those used last.
pub(crate) struct Modules(Mutex<LruCache<u128, Arc<Loaded>>>);

impl Default for Modules {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(LOADED)))
    }
}

impl Modules {
    fn get(&self, key: Hash) -> Option<Arc<Loaded>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key.value()).cloned()
    }

    /// Keeps a module. If another thread was faster, its module stays.
    fn put(&self, key: Hash, module: Arc<Loaded>) -> Arc<Loaded> {
        let mut modules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        modules.get_or_insert(key.value(), || module).clone()
    }

    pub(crate) fn clear(&mut self) {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Device {
    /// Whether [`module`](Self::module) would find a text compiled, in memory or on disk.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoCompiler`].
    pub fn has_compiled(&self, source: &Source) -> Result<bool> {
        let key = source.key(self)?;
        Ok(self.inner().modules.get(key).is_some() || disk::has(key))
    }

    /// Compiles a text for the device, unless it was compiled before: by this process, or by another that
    /// kept the machine code on disk.
    ///
    /// # Errors
    ///
    /// [`CudaError::NoCompiler`], [`CudaError::Compile`], or those of the driver.
    pub fn module(&self, source: &Source) -> Result<Module> {
        let key = source.key(self)?;
        let modules = &self.inner().modules;
        if let Some(loaded) = modules.get(key) {
            return Ok(Module { loaded, device: self.clone() });
        }
        self.enter()?;
        // A driver that refuses a file from disk is given what the compiler makes now.
        let kept = disk::load(key).and_then(|cubin| Loaded::new(&cubin).ok());
        let loaded = match kept {
            Some(loaded) => loaded,
            None => {
                let cubin = compile(&source.text, &source.options, &self.info().architecture())?;
                disk::store(key, &cubin);
                Loaded::new(&cubin)?
            }
        };
        let loaded = modules.put(key, Arc::new(loaded));
        Ok(Module { loaded, device: self.clone() })
    }
}

impl Loaded {
    /// The device's context is current.
    fn new(cubin: &[u8]) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: a whole image that the compiler made; the driver reads its length in it.
        let loaded = unsafe { sys::cuModuleLoadData(&mut raw, cubin.as_ptr().cast()) };
        check(loaded, || format!("load {} bytes of machine code", cubin.len()))?;
        Ok(Self { raw })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Its kernels may be running.
        // SAFETY: made by `new`, unloaded once, in the context of its device.
        unsafe {
            let _ = sys::cuCtxSynchronize();
            let _ = sys::cuModuleUnload(self.raw);
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // In case it is the last.
        let _ = self.device.enter();
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({:?}, {:?})", self.loaded.raw, self.device)
    }
}

/// A kernel of a module. Clones are the same.
#[derive(Clone)]
pub struct Kernel(Arc<Entry>);

struct Entry {
    raw: sys::CUfunction,
    name: Arc<str>,
    module: Module,
    resources: Resources,
    parameters: Option<usize>,
    /// Bytes of dynamic shared memory that launches may ask for.
    dynamic: AtomicU32,
}

// SAFETY: functions of the driver may be used from any thread.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// What a kernel takes of a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread in local memory: spilled registers and arrays.
    pub local: u32,
    /// Bytes of a block in shared memory, dynamic memory not counted.
    pub shared: u32,
    /// Threads of the largest block.
    pub threads: u32,
}

impl Module {
    /// A kernel by its name.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if there is none, or if one of its parameters has not 8 bytes.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        self.device.enter()?;
        let text = CString::new(name)
            .map_err(|_| CudaError::argument("a kernel's name with a zero in it"))?;
        let mut raw = ptr::null_mut();
        // SAFETY: the module lives, and the name as long as the call.
        let found = unsafe { sys::cuModuleGetFunction(&mut raw, self.loaded.raw, text.as_ptr()) };
        if found == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(CudaError::argument(format!("no kernel `{name}` in the module")));
        }
        check(found, || format!("find the kernel `{name}`"))?;
        let ask = |attribute| {
            let mut value = 0;
            // SAFETY: the function lives as long as its module.
            let asked = unsafe { sys::cuFuncGetAttribute(&mut value, attribute, raw) };
            check(asked, || format!("tell {attribute:?} of `{name}`"))?;
            Ok::<_, CudaError>(u32::try_from(value).unwrap_or(0))
        };
        let resources = Resources {
            registers: ask(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local: ask(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            shared: ask(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            threads: ask(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        };
        let dynamic =
            AtomicU32::new(ask(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?);
        let parameters = match self.device.info().driver >= TELLS_PARAMETERS {
            true => Some(parameters(raw, name)?),
            false => None,
        };
        let name = Arc::from(name);
        Ok(Kernel(Arc::new(Entry {
            raw,
            name,
            module: self.clone(),
            resources,
            parameters,
            dynamic,
        })))
    }
}

/// How many parameters a kernel has, which all have 8 bytes.
fn parameters(raw: sys::CUfunction, name: &str) -> Result<usize> {
    for i in 0.. {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function lives; the driver says where its parameters end.
        match unsafe { sys::cuFuncGetParamInfo(raw, i, &mut offset, &mut size) } {
            CUresult::CUDA_SUCCESS if size == 8 => {}
            CUresult::CUDA_SUCCESS => {
                let message = format!("parameter {i} of `{name}` has {size} bytes instead of 8");
                return Err(CudaError::argument(message));
            }
            _ => return Ok(i),
        }
    }
    unreachable!("the loop has no end")
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it takes of a multiprocessor.
    #[must_use]
    pub fn resources(&self) -> Resources {
        self.0.resources
    }

    /// How many parameters it has, if the driver tells.
    #[must_use]
    pub fn parameters(&self) -> Option<usize> {
        self.0.parameters
    }

    pub(crate) fn raw(&self) -> sys::CUfunction {
        self.0.raw
    }

    pub(crate) fn shared_name(&self) -> &Arc<str> {
        &self.0.name
    }

    pub(crate) fn device(&self) -> &Device {
        &self.0.module.device
    }

    pub(crate) fn dynamic(&self) -> &AtomicU32 {
        &self.0.dynamic
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({}, {:?})", self.0.name, self.0.resources)
    }
}
