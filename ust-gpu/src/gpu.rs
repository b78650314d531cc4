//! A device as users see it: tensors in its memory, and expressions that run there.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ust_cuda::{CudaError, Device, Stream};
use ust_engine::format::Given;
use ust_engine::ops::{self, Argument, OpError, Semiring, UserOperator, einsum};
use ust_engine::{Backend, Dtype, Error, Tensor};

use crate::prims::Primitives;
use crate::tensor::DeviceTensor;
use crate::there::device;

/// A GPU, and the stream in which its work is done in order. Clones share both.
///
/// ```
/// use ust_gpu::Gpu;
///
/// match Gpu::open(0) {
///     Ok(gpu) => println!("{}", gpu.device().info().name),
///     // No driver, no device or no compiler: everything else works.
///     Err(error) => println!("no GPU: {error}"),
/// }
/// ```
#[derive(Clone)]
pub struct Gpu {
    device: Device,
    stream: Stream,
    primitives: Arc<Primitives>,
}

/// Whether this process opened the first device.
static FIRST_OPENED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Where back ends run on this thread, if they were told.
    static CURRENT: RefCell<Option<Gpu>> = const { RefCell::new(None) };
}

impl Gpu {
    /// Opens the device of this number, from 0, with a stream of its own. Once the first one is open,
    /// [`Backend::Auto`] considers it.
    ///
    /// # Errors
    /// [`Error::Device`] without a driver or device; the message says what is missing.
    pub fn open(ordinal: usize) -> Result<Self, Error> {
        Self::opened(ordinal).map_err(device)
    }

    fn opened(ordinal: usize) -> Result<Self, CudaError> {
        let device = Device::open(ordinal)?;
        FIRST_OPENED.fetch_or(ordinal == 0, Ordering::Relaxed);
        let stream = device.stream()?;
        let primitives = Arc::new(Primitives::new(&stream));
        Ok(Self { device, stream, primitives })
    }

    /// Where back ends run on this thread: on the device that an expression was given to, or on the first.
    /// After a failure the next call tries again.
    pub(crate) fn current() -> Result<Self, CudaError> {
        static FIRST: Mutex<Option<Gpu>> = Mutex::new(None);
        if let Some(gpu) = Self::chosen() {
            return Ok(gpu);
        }
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            Some(gpu) => Ok(gpu.clone()),
            None => Ok(first.insert(Self::opened(0)?).clone()),
        }
    }

    /// As [`current`](Self::current), if this process opened the first device before. Else `None`: nothing is
    /// looked for.
    pub(crate) fn opened_before() -> Option<Self> {
        FIRST_OPENED.load(Ordering::Relaxed).then(Self::current)?.ok()
    }

    /// The device that an expression or a tensor was given to on this thread, if it was.
    pub(crate) fn chosen() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Does something while back ends run here, on this thread.
    pub(crate) fn current_in<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Puts back what was there, also when `work` panics.
        struct Before(Option<Gpu>);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _before = Before(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// The same device with a stream of its own: work in it and in others may be done at the same time.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn with_new_stream(&self) -> Result<Self, Error> {
        let stream = self.device.stream().map_err(device)?;
        let primitives = Arc::new(Primitives::new(&stream));
        Ok(Self { device: self.device.clone(), stream, primitives })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The stream.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The primitives, which run in the stream.
    pub(crate) fn primitives(&self) -> &Primitives {
        &self.primitives
    }

    /// Waits until all work in the stream is done.
    ///
    /// # Errors
    /// [`Error::Device`] if a kernel failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize().map_err(device)
    }

    /// Copies a tensor to the device.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no room: nothing has changed then.
    pub fn upload(&self, tensor: &Tensor) -> Result<DeviceTensor, Error> {
        DeviceTensor::new(tensor.clone(), self)
    }

    /// Evaluates an expression on tensors of the device, as [`ust_engine::einsum`] does on others.
    #[must_use]
    pub fn einsum(&self, text: &str) -> Einsum {
        let call = einsum(text).backend(Backend::Named(crate::provider::CUDA));
        Einsum { call, gpu: self.clone() }
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({}, {})", self.device.ordinal(), self.device.info().name)
    }
}

/// An expression that is to run on a device. Made by [`Gpu::einsum`].
#[derive(Debug)]
pub struct Einsum {
    call: ops::Einsum,
    gpu: Gpu,
}

impl Einsum {
    fn map(mut self, with: impl FnOnce(ops::Einsum) -> ops::Einsum) -> Self {
        self.call = with(self.call);
        self
    }

    /// An operand in the memory of the device.
    #[must_use]
    pub fn arg(self, name: &str, tensor: &DeviceTensor) -> Self {
        self.map(|call| call.arg(name, tensor.handle()))
    }

    /// An operand in the memory of the host, which is copied to the device.
    #[must_use]
    pub fn host_arg(self, name: &str, value: impl Argument) -> Self {
        self.map(|call| call.arg(name, value))
    }

    /// The format of the result.
    #[must_use]
    pub fn format<'f>(self, format: impl Into<Given<'f>>) -> Self {
        self.map(|call| call.format(format))
    }

    /// The result is computed in the positions of a tensor of the device, and shares its level arrays there. As
    /// [`ust_engine::ops::Einsum::aligned_with`]; tensors that are walked as a tree of their entries (slices, sorted and
    /// counted formats, duplicates) are copied to the host for this, once.
    #[must_use]
    pub fn aligned_with(self, tensor: &DeviceTensor) -> Self {
        self.map(|call| call.aligned_with(tensor.handle()))
    }

    /// The dtype of the result.
    #[must_use]
    pub fn dtype(self, dtype: Dtype) -> Self {
        self.map(|call| call.dtype(dtype))
    }

    /// What `+` and `*` mean, by name.
    #[must_use]
    pub fn semiring(self, name: &str) -> Self {
        self.map(|call| call.semiring(name))
    }

    /// What `+` and `*` mean.
    #[must_use]
    pub fn over(self, semiring: Semiring) -> Self {
        self.map(|call| call.over(semiring))
    }

    /// An operator that the expression uses.
    #[must_use]
    pub fn operator(self, operator: UserOperator) -> Self {
        self.map(|call| call.operator(operator))
    }

    /// The back end: another one than `cuda`, such as `cusparse` or `cublaslt`.
    #[must_use]
    pub fn backend(self, backend: Backend) -> Self {
        self.map(|call| call.backend(backend))
    }

    /// The extent of an index that no operand has: of the result, or of a sum of coordinates, as `k` in `sum(k, k)`.
    #[must_use]
    pub fn extent(self, index: &str, extent: usize) -> Self {
        self.map(|call| call.extent(index, extent))
    }

    /// Sums are formed in the order of the loops, and have the same bits on every run.
    #[must_use]
    pub fn strict(self) -> Self {
        self.map(ops::Einsum::strict)
    }

    /// Plans and prints the kernels. They are compiled when they first run.
    ///
    /// # Errors
    /// As [`ust_engine::ops::Einsum::prepare`].
    pub fn prepare(self) -> Result<Kernel, OpError> {
        let kernel = self.gpu.current_in(|| self.call.prepare())?;
        Ok(Kernel { kernel, gpu: self.gpu })
    }

    /// Runs the expression. Nothing waits for the device, unless the size of the result depends on values.
    ///
    /// # Errors
    /// As [`ust_engine::ops::Einsum::run`]; [`Error::Device`].
    pub fn run(self) -> Result<DeviceTensor, OpError> {
        let result = self.gpu.current_in(|| self.call.run())?;
        Ok(DeviceTensor::new(result, &self.gpu)?)
    }
}

/// A prepared expression. Made by [`Einsum::prepare`].
#[derive(Debug)]
pub struct Kernel {
    kernel: ops::Kernel,
    gpu: Gpu,
}

impl Kernel {
    /// The names of the tensors, in the order in which [`run`](Self::run) takes them.
    #[must_use]
    pub fn operands(&self) -> Vec<&str> {
        self.kernel.operands()
    }

    /// Runs the kernel on tensors in the order of [`operands`](Self::operands), in the stream of the device that it
    /// was prepared for.
    ///
    /// # Errors
    /// As [`ust_engine::Kernel::run`]; [`Error::Device`].
    pub fn run(&self, tensors: &[&DeviceTensor]) -> Result<DeviceTensor, OpError> {
        self.run_in(&self.gpu, tensors)
    }

    /// Runs the kernel in the stream of `gpu`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_in(&self, gpu: &Gpu, tensors: &[&DeviceTensor]) -> Result<DeviceTensor, OpError> {
        let handles: Vec<&Tensor> = tensors.iter().map(|tensor| tensor.handle()).collect();
        let result = gpu.current_in(|| self.kernel.run(&handles))?;
        Ok(DeviceTensor::new(result, gpu)?)
    }

    /// The plan, for people.
    #[must_use]
    pub fn explain(&self) -> String {
        self.kernel.explain()
    }

    /// The CUDA C++ of the last stage.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.kernel.machine_code()
    }
}
