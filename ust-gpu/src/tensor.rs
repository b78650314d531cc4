//! Tensors in a device's memory.

use std::fmt;
use std::sync::Arc;

use ust_cuda::Memory;
use ust_engine::format::Given;
use ust_engine::tensor::Parts;
use ust_engine::{Error, Format, Tensor};
use ust_level_api::{Dtype, IndexArray, IndexKind, Scalar};

use crate::cache;
use crate::gpu::Gpu;
use crate::there::{self, Levels, ValuesThere, device};

/// A tensor whose arrays are in the memory of a device. It is copied there by [`Gpu::upload`], and back by
/// [`download`](Self::download); nothing else copies it. Clones share the memory.
#[derive(Clone)]
pub struct DeviceTensor {
    /// The tensor. What is not in the memory of the host is fetched when somebody looks at it, and nobody does.
    tensor: Tensor,
    gpu: Gpu,
    levels: Arc<Levels>,
    values: Arc<ValuesThere>,
}

/// An array in a device's memory.
#[derive(Debug)]
pub struct DeviceArray<T> {
    /// The type of its elements.
    pub of: T,
    /// Number of elements.
    pub len: usize,
    /// The elements.
    pub memory: Memory,
}

/// The arrays of a tensor, in a device's memory.
#[derive(Debug)]
pub struct DeviceParts {
    /// For each level, its arrays, in the order in which the level type describes them.
    pub levels: Vec<Vec<DeviceArray<IndexKind>>>,
    /// The values.
    pub values: DeviceArray<Dtype>,
    /// The value of elements that are not stored; 0 if it is not given.
    pub fill: Option<Scalar>,
}

impl DeviceTensor {
    /// Holds a tensor on the device; what is not there is copied.
    pub(crate) fn new(tensor: Tensor, gpu: &Gpu) -> Result<Self, Error> {
        let levels = there::levels(&tensor, gpu.stream())?;
        let values = there::values(&tensor, gpu.stream())?;
        Ok(Self { tensor, gpu: gpu.clone(), levels, values })
    }

    /// A tensor of arrays that are on the device. Their contents are copied to the host once, and checked there. The
    /// arrays themselves are used: those of others are not written meanwhile, as [`Memory::view`] asks for.
    ///
    /// # Errors
    /// As [`Tensor::from_parts`]; [`Error::Parts`] if a memory is too short; [`Error::Device`].
    pub fn from_parts(
        gpu: &Gpu,
        format: &Format,
        shape: &[usize],
        parts: DeviceParts,
    ) -> Result<Self, Error> {
        parts.check(gpu)?;
        let stream = gpu.stream();
        let index = |array: &DeviceArray<IndexKind>| {
            there::index_array(array.of, &array.memory, array.len, stream).map_err(device)
        };
        let levels: Result<Vec<Vec<IndexArray>>, Error> =
            parts.levels.iter().map(|arrays| arrays.iter().map(index).collect()).collect();
        let values = &parts.values;
        let values = there::download(values.of, &values.memory, values.len, stream);
        let host = Parts { fill: parts.fill, ..Parts::new(levels?, values.map_err(device)?) };
        let tensor = Tensor::from_parts(format, shape, host)?;
        let DeviceParts { levels, values, .. } = parts;
        let shared = |arrays: Vec<DeviceArray<IndexKind>>| {
            arrays.into_iter().map(|one| Arc::new(one.memory)).collect()
        };
        let levels = Levels(levels.into_iter().map(shared).collect());
        let mut made =
            Self::holding(tensor, gpu, levels, Arc::new(ValuesThere(Arc::new(values.memory))));
        if made.dtype() == Dtype::Bool {
            // Bytes may be others than those of truth values: the copy that was checked has none.
            let bytes = there::truth_bytes(made.tensor.values());
            let memory = cache::with_room(|| stream.upload(&bytes)).map_err(device)?;
            made.values = Arc::new(ValuesThere(Arc::new(memory)));
            cache::keep(made.tensor.kept_of_values(), &made.values, gpu.device());
        }
        Ok(made)
    }

    /// The tensor, of which these are the arrays on the device.
    pub(crate) fn holding(
        tensor: Tensor,
        gpu: &Gpu,
        levels: Levels,
        values: Arc<ValuesThere>,
    ) -> Self {
        let levels = Arc::new(levels);
        cache::keep(tensor.kept_of_levels(), &levels, gpu.device());
        cache::keep(tensor.kept_of_values(), &values, gpu.device());
        Self { tensor, gpu: gpu.clone(), levels, values }
    }

    /// Copies the tensor to the memory of the host, after all work that was given to its stream.
    ///
    /// # Errors
    /// [`Error::Device`] if a kernel failed before, or a copy: it may be tried again.
    pub fn download(&self) -> Result<Tensor, Error> {
        self.gpu.synchronize()?;
        self.tensor.fetch()?;
        Ok(self.tensor.clone())
    }

    /// The same tensor in another format. It is converted on the device, unless a stored value can stand for several
    /// elements: then on the host. Levels that do not assemble columns on a device get copies of them.
    ///
    /// Entries with the same coordinates are added, if the format has room for one of them: in an order that depends
    /// on their number alone.
    ///
    /// Cost: the stored elements are moved some ten times, more if they are sorted by many coordinates.
    ///
    /// # Errors
    /// As [`Tensor::convert`]; [`Error::Device`].
    pub fn convert<'f>(&self, format: impl Into<Given<'f>>) -> Result<Self, Error> {
        let converted = self.gpu.current_in(|| self.tensor.convert(format))?;
        Self::new(converted, &self.gpu)
    }

    /// The same tensor with its values in another dtype. They are cast on the device if the dtype holds all numbers of
    /// theirs, and otherwise on the host.
    ///
    /// # Errors
    /// As [`Tensor::cast`]; [`Error::Device`].
    pub fn cast(&self, dtype: Dtype) -> Result<Self, Error> {
        let cast = self.gpu.current_in(|| self.tensor.cast(dtype))?;
        Self::new(cast, &self.gpu)
    }

    /// The same tensor with its values in another dtype, rounded or wrapped where that dtype cannot hold them, as
    /// [`Tensor::cast_lossy`] does. They are cast on the device.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn cast_lossy(&self, dtype: Dtype) -> Result<Self, Error> {
        let cast = self.gpu.current_in(|| self.tensor.cast_lossy(dtype));
        Self::new(cast, &self.gpu)
    }

    pub(crate) fn levels_there(&self) -> &Levels {
        &self.levels
    }

    pub(crate) fn values_there(&self) -> &Arc<ValuesThere> {
        &self.values
    }

    pub(crate) fn handle(&self) -> &Tensor {
        &self.tensor
    }

    /// The device, and the stream that the tensor was made in.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> &Format {
        self.tensor.format()
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.tensor.shape()
    }

    /// The dtype of the values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.tensor.dtype()
    }

    /// The value of elements that are not stored.
    #[must_use]
    pub fn fill(&self) -> Scalar {
        self.tensor.fill()
    }

    /// Number of stored values.
    #[must_use]
    pub fn nse(&self) -> usize {
        self.tensor.nse()
    }

    /// Bytes of its arrays.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.tensor.bytes()
    }

    /// An array of a level: its kind, its length, and its memory. It must not be written, and whoever gives its
    /// address to a kernel says so ([`Memory::used_in`]).
    #[must_use]
    pub fn level_array(&self, level: usize, array: usize) -> Option<(IndexKind, usize, &Memory)> {
        let own = self.tensor.levels().get(level)?.0.get(array)?;
        Some((own.kind(), own.len(), self.levels.0.get(level)?.get(array)?.as_ref()))
    }

    /// The memory of the values. It must not be written, and whoever gives its address to a kernel says so
    /// ([`Memory::used_in`]).
    #[must_use]
    pub fn values(&self) -> &Memory {
        &self.values.0
    }
}

impl fmt::Debug for DeviceTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu, .. } = self;
        write!(
            f,
            "DeviceTensor({:?}, `{}`, {}, {gpu:?})",
            self.shape(),
            self.format(),
            self.dtype()
        )
    }
}

impl DeviceParts {
    /// Each memory holds as many elements as it is said to, on this device.
    pub(crate) fn check(&self, gpu: &Gpu) -> Result<(), Error> {
        let holds = |memory: &Memory, bytes: Option<usize>| {
            if memory.device() != gpu.device() {
                return Err(Error::Parts("an array is on another device".to_owned()));
            }
            match bytes {
                Some(bytes) if bytes <= memory.len() => Ok(()),
                _ => Err(Error::Parts(format!(
                    "an array has {} bytes, fewer than its elements need",
                    memory.len()
                ))),
            }
        };
        for array in self.levels.iter().flatten() {
            holds(&array.memory, array.of.checked_bytes(array.len))?;
        }
        holds(&self.values.memory, self.values.len.checked_mul(self.values.of.bytes()))
    }
}
