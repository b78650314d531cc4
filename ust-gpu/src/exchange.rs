//! Tensors of other programs' arrays, and the arrays of tensors for other programs: unchecked, and as `DLPack`.

use std::sync::Arc;

use ust_cuda::Memory;
use ust_cuda::dlpack::{Array, Element};
use ust_engine::tensor::Parts;
use ust_engine::{Error, Format, Tensor};
use ust_level_api::{Dtype, IndexKind, Role, Scalar};

use crate::gpu::Gpu;
use crate::place::{self, Held};
use crate::tensor::{DeviceArray, DeviceParts, DeviceTensor};
use crate::there::{Levels, ValuesThere, device};

/// A whole tensor as arrays of `DLPack`, with what they mean beside them. [`DeviceTensor::to_dlpack`] makes one,
/// [`DeviceTensor::from_dlpack`] takes one.
///
/// Each [`Array`] becomes the structure of `DLPack` by [`into_raw`](ust_cuda::dlpack::into_raw), and is made of one by
/// [`from_raw`](ust_cuda::dlpack::from_raw). All have one dimension.
#[derive(Debug)]
pub struct Exchange {
    /// The text of the format.
    pub format: String,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// The value of elements that are not stored. Its dtype is that of the values.
    pub fill: Scalar,
    /// For each level, its arrays.
    pub levels: Vec<Vec<LevelArray>>,
    /// The values. Truth values are bytes: 0 or 1.
    pub values: Array,
}

/// An array of a level, as one of `DLPack`.
#[derive(Debug)]
pub struct LevelArray {
    /// Its name, as the level type describes it: `pos`, `crd`, or one of the level type's own.
    pub name: String,
    /// What it contains.
    pub role: Role,
    /// How indices are stored. Those of 2 bits are packed: four to a byte, and the elements of `array` are these bytes.
    pub kind: IndexKind,
    /// Number of indices.
    pub len: usize,
    /// The indices.
    pub array: Array,
}

impl LevelArray {
    /// An array of indices of 8 bits and more: their kind and number are those of the elements.
    ///
    /// # Errors
    /// [`Error::Parts`] if the elements are no integers.
    pub fn new(name: impl Into<String>, role: Role, array: Array) -> Result<Self, Error> {
        let Element { code, bits, .. } = array.element;
        let kind = if code <= 1 { IndexKind::new(bits.into(), code == 0) } else { None };
        let kind = kind.filter(|kind| element_of_indices(*kind) == array.element);
        let kind = kind.ok_or_else(|| {
            Error::Parts(format!("indices are integers, and not {:?}", array.element))
        })?;
        let len = array.memory.len() / kind.bytes(1);
        Ok(Self { name: name.into(), role, kind, len, array })
    }
}

fn element_of_indices(kind: IndexKind) -> Element {
    // Packed indices are given as their bytes.
    Element::new(u8::from(!kind.signed()), kind.bits().max(8) as u8)
}

fn element_of_values(dtype: Dtype) -> Element {
    let code = match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => 0,
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => 1,
        Dtype::F16 | Dtype::F32 | Dtype::F64 => 2,
        Dtype::Bf16 => 4,
        Dtype::Complex64 | Dtype::Complex128 => 5,
        Dtype::Bool => 6,
    };
    Element::new(code, 8 * dtype.bytes() as u8)
}

impl DeviceTensor {
    /// As [`from_parts`](Self::from_parts), without a look at the arrays: nothing is copied, and nothing waits.
    ///
    /// An array in memory of others is one whose [`Memory`] is a [view](Memory::view): it keeps an owner, which is
    /// dropped after the last use of the array on the device.
    ///
    /// # Errors
    /// [`Error::Parts`] if arrays are missing, of the wrong kind, shorter than said, or on another device;
    /// [`Error::Format`] if shape and format do not match.
    ///
    /// # Safety
    /// [`from_parts`](Self::from_parts) would accept the same arguments: kernels access memory without checks of
    /// bounds. Truth values are bytes that are 0 or 1. The arrays are ready for the stream of `gpu`, and nobody writes
    /// them as long as this tensor, a clone, or a tensor that shares its levels lives.
    #[allow(unsafe_code)]
    pub unsafe fn from_parts_unchecked(
        gpu: &Gpu,
        format: &Format,
        shape: &[usize],
        parts: DeviceParts,
    ) -> Result<Self, Error> {
        parts.check(gpu)?;
        let DeviceParts { levels, values, fill } = parts;
        let (mut there, mut here) = (Vec::new(), Vec::new());
        for arrays in levels {
            let each = arrays.into_iter().map(|DeviceArray { of, len, memory }| {
                let memory = Arc::new(memory);
                let held = Held { memory, kind: of, len };
                let array = place::array(&held, gpu);
                (held.memory, array)
            });
            let (memories, arrays): (Vec<_>, Vec<_>) = each.unzip();
            there.push(memories);
            here.push(arrays);
        }
        let memory = Arc::new(values.memory);
        let deferred = place::values(values.of, &memory, values.len, gpu);
        let values_there = Arc::new(ValuesThere(memory));
        let parts = Parts { fill, ..Parts::new(here, deferred) };
        // SAFETY: the duty of the caller.
        let tensor = unsafe { Tensor::from_parts_unchecked(format, shape, parts) }?;
        Ok(Self::holding(tensor, gpu, Levels(there), values_there))
    }

    /// The arrays for other programs, without a copy. Waits until they are written. They must not be written by
    /// others, and are freed when both sides have dropped them.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a slice; [`Error::Device`] if a kernel failed before.
    pub fn to_dlpack(&self) -> Result<Exchange, Error> {
        if !self.handle().view().is_whole() || self.format().has_slices() {
            let text = "a slice, or a tensor with sorted dimensions, is more than the arrays of its levels: convert it \
                        first";
            return Err(Error::Unsupported(text.to_owned()));
        }
        self.gpu().synchronize()?;
        let mut levels = Vec::new();
        for (level, description) in self.format().descriptions().iter().enumerate() {
            let arrays = description.arrays.iter().enumerate().map(|(at, spec)| {
                let own = &self.handle().levels()[level].0[at];
                let (kind, len) = (own.kind(), own.len());
                let memory = &self.levels_there().0[level][at];
                let array = lent(memory, kind.bytes(len), element_of_indices(kind), memory)?;
                Ok(LevelArray { name: spec.name.to_owned(), role: spec.role, kind, len, array })
            });
            levels.push(arrays.collect::<Result<_, Error>>()?);
        }
        let bytes = self.nse() * self.dtype().bytes();
        let values = self.values_there();
        let values = lent(&values.0, bytes, element_of_values(self.dtype()), values)?;
        let (format, shape) = (self.format().to_string(), self.shape().to_vec());
        Ok(Exchange { format, shape, fill: self.fill(), levels, values })
    }

    /// A tensor of arrays that others own, which are told when it is dropped. Their contents are copied to the host
    /// once, and checked there. Arrays are found by their names.
    ///
    /// # Errors
    /// As [`from_parts`](Self::from_parts); [`Error::Parts`] if an array has another role or type than it should;
    /// [`Error::Format`] if the text is none of a format.
    pub fn from_dlpack(gpu: &Gpu, exchange: Exchange) -> Result<Self, Error> {
        let format: Format = exchange.format.parse()?;
        let shape = exchange.shape.clone();
        Self::from_parts(gpu, &format, &shape, exchange.into_parts(&format)?)
    }
}

impl Exchange {
    /// The arrays in the order in which the level types describe them, for
    /// [`from_parts_unchecked`](DeviceTensor::from_parts_unchecked). `format` is that of the text.
    ///
    /// # Errors
    /// [`Error::Parts`] if an array is missing, or has another role or type than it should.
    pub fn into_parts(self, format: &Format) -> Result<DeviceParts, Error> {
        let dtype = self.fill.dtype();
        let values = of_elements(dtype, element_of_values(dtype), dtype.bytes(), self.values)?;
        let found = self.levels.len();
        let descriptions = format.descriptions();
        if found != descriptions.len() {
            let wanted = descriptions.len();
            return Err(Error::Parts(format!("the format has {wanted} levels, and not {found}")));
        }
        let mut levels = Vec::new();
        for ((level, mut arrays), description) in
            self.levels.into_iter().enumerate().zip(descriptions)
        {
            let mut ordered = Vec::new();
            for spec in &description.arrays {
                let at =
                    arrays.iter().position(|one| one.name == spec.name && one.role == spec.role);
                let at = at.ok_or_else(|| {
                    let text = format.level_text(level);
                    let spec = (spec.name, spec.role);
                    Error::Parts(format!("level {level} (`{text}`) has no array {spec:?}"))
                })?;
                let LevelArray { kind, len, array, .. } = arrays.swap_remove(at);
                let memory = of_elements(kind, element_of_indices(kind), 1, array)?.memory;
                ordered.push(DeviceArray { of: kind, len, memory });
            }
            if let Some(left) = arrays.first() {
                let text = format.level_text(level);
                let name = &left.name;
                return Err(Error::Parts(format!(
                    "level {level} (`{text}`) has no array `{name}`"
                )));
            }
            levels.push(ordered);
        }
        Ok(DeviceParts { levels, values, fill: Some(self.fill) })
    }
}

/// An array of elements of `width` bytes, if they are such elements.
fn of_elements<T>(
    of: T,
    wanted: Element,
    width: usize,
    array: Array,
) -> Result<DeviceArray<T>, Error> {
    let Array { memory, element, .. } = array;
    match element == wanted {
        true => Ok(DeviceArray { of, len: memory.len() / width, memory }),
        false => {
            Err(Error::Parts(format!("an array has elements {element:?}, and not {wanted:?}")))
        }
    }
}

/// The first bytes of memory, for others: they keep `owner`. Waits until they are written.
#[allow(unsafe_code)]
fn lent<T: Send + Sync + 'static>(
    memory: &Memory,
    bytes: usize,
    element: Element,
    owner: &Arc<T>,
) -> Result<Array, Error> {
    if let Some(stream) = memory.stream() {
        stream.synchronize().map_err(device)?;
    }
    // SAFETY: the owner keeps the memory, which has at least as many bytes. Its work is done. What others do with it
    // is read-only, and is done before they drop it, as `DLPack` says.
    let memory =
        unsafe { Memory::view(memory.device(), memory.address(), bytes, Arc::<T>::clone(owner)) };
    Ok(Array { memory, element, read_only: true })
}
