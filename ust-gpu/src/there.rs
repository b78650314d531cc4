//! Tensors in a device's memory: copies of operands, made once and kept with the tensors, and results that stay
//! there until somebody looks at them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use ust_cuda::{CudaError, Device, Memory, Stream};
use ust_engine::provider::Call;
use ust_engine::tensor::Values;
use ust_engine::{Error, Tensor, with_values};
use ust_level_api::ir::{Elem, Packed};
use ust_level_api::{Dtype, IndexArray, IndexKind, Scalar, with_indices};

use crate::cache::{self, There};
use crate::gpu::Gpu;
use crate::place;

/// Number of bytes of an element.
pub(crate) fn width(elem: Elem) -> usize {
    match elem {
        Elem::Index(kind) => kind.bytes(1),
        Elem::Value(dtype) => dtype.bytes(),
    }
}

/// The errors of devices as those of the engine.
pub(crate) fn device(error: CudaError) -> Error {
    Error::Device(Box::new(error))
}

/// The level arrays of a tensor.
pub(crate) struct Levels(pub(crate) Vec<Vec<Arc<Memory>>>);

/// The values of a tensor.
pub(crate) struct ValuesThere(pub(crate) Arc<Memory>);

impl There for Levels {
    fn device(&self) -> Option<&Device> {
        self.0.iter().flatten().next().map(|memory| memory.device())
    }

    fn bytes(&self) -> u64 {
        self.0.iter().flatten().map(|memory| memory.len() as u64).sum()
    }

    fn is_shared(&self) -> bool {
        self.0.iter().flatten().any(|memory| Arc::strong_count(memory) > 1)
    }
}

impl There for ValuesThere {
    fn device(&self) -> Option<&Device> {
        Some(self.0.device())
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

/// Copies of level arrays, or of values, that were made.
pub(crate) static UPLOADS: AtomicUsize = AtomicUsize::new(0);

/// The level arrays of a tensor, copied there unless they are there.
pub(crate) fn levels(tensor: &Tensor, stream: &Stream) -> Result<Arc<Levels>, Error> {
    let kept = tensor.kept_of_levels();
    if let Some(there) = cache::get(kept, stream.device()) {
        return Ok(there);
    }
    let mut copied = Vec::new();
    let is_here = |array: &IndexArray| place::memory(array.place(), stream.device()).is_none();
    let some = tensor.levels().iter().flat_map(|arrays| &arrays.0).any(is_here);
    UPLOADS.fetch_add(usize::from(some), Ordering::Relaxed);
    for arrays in tensor.levels() {
        let copy = |array: &IndexArray| match place::memory(array.place(), stream.device()) {
            Some(memory) => Ok(memory),
            None => {
                array.fetch().map_err(Error::Device)?;
                cache::with_room(|| upload(array, stream)).map(Arc::new).map_err(device)
            }
        };
        let copies = arrays.0.iter().map(copy);
        copied.push(copies.collect::<Result<_, Error>>()?);
    }
    let there = Arc::new(Levels(copied));
    cache::keep(kept, &there, stream.device());
    Ok(there)
}

fn upload(array: &IndexArray, stream: &Stream) -> Result<Memory, CudaError> {
    with_indices!(
        array,
        indices => stream.upload(cast_slice(&indices[..])),
        packed(two_bits) => stream.upload(&two_bits.bytes()[..])
    )
}

/// The values of a tensor, copied there unless they are there: one for each element, also where one is stored for all.
pub(crate) fn values(tensor: &Tensor, stream: &Stream) -> Result<Arc<ValuesThere>, Error> {
    let kept = tensor.kept_of_values();
    if let Some(there) = cache::get(kept, stream.device()) {
        return Ok(there);
    }
    let memory = match place::memory(tensor.values().place(), stream.device()) {
        Some(memory) => memory,
        None => {
            UPLOADS.fetch_add(1, Ordering::Relaxed);
            tensor.values().fetch().map_err(Error::Device)?;
            let copied = match tensor.iso_value() {
                Some(value) => filled(value, tensor.nse(), stream),
                None => with_values!(tensor.values(), values => {
                    cache::with_room(|| stream.upload(cast_slice(&values[..])))
                }),
            };
            Arc::new(copied.map_err(device)?)
        }
    };
    let there = Arc::new(ValuesThere(memory));
    cache::keep(kept, &there, stream.device());
    Ok(there)
}

/// The one value of a tensor that stores one for all elements, there.
struct IsoThere(Arc<ValuesThere>);

impl There for IsoThere {
    fn device(&self) -> Option<&Device> {
        self.0.device()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1 || self.0.is_shared()
    }
}

/// The one value of a tensor that stores one for all elements, copied there unless it is there.
fn iso_value(tensor: &Tensor, value: Scalar, stream: &Stream) -> Result<Arc<ValuesThere>, Error> {
    let kept = tensor.kept_of_values();
    if let Some(there) = cache::get::<IsoThere>(kept, stream.device()) {
        return Ok(Arc::clone(&there.0));
    }
    UPLOADS.fetch_add(1, Ordering::Relaxed);
    let memory = cache::with_room(|| stream.upload(&bytes_of(value))).map_err(device)?;
    let there = Arc::new(ValuesThere(Arc::new(memory)));
    cache::keep(kept, &Arc::new(IsoThere(Arc::clone(&there))), stream.device());
    Ok(there)
}

/// The device that has the arrays of a tensor which nobody has looked at; or the current one, if it has a copy.
pub(crate) fn gpu_of(tensor: &Tensor) -> Option<Gpu> {
    if let Some(gpu) = tensor.place().and_then(|place| place::gpu(&*place)) {
        return Some(gpu);
    }
    let gpu = Gpu::chosen()?;
    let kept: Option<Arc<ValuesThere>> = cache::get(tensor.kept_of_values(), gpu.device());
    kept.is_some().then_some(gpu)
}

/// Truth values as bytes: 0 and 1.
pub(crate) fn truth_bytes(values: &Values) -> Vec<u8> {
    values.iter().map(|value| u8::from(value == Scalar::Bool(true))).collect()
}

/// The bytes of a number as it is stored.
pub(crate) fn bytes_of(value: Scalar) -> Vec<u8> {
    with_values!(&Values::filled(value, 1), values => cast_slice(&values[..]).to_vec())
}

/// Memory for so many bytes.
pub(crate) fn alloc(bytes: usize, stream: &Stream) -> Result<Memory, CudaError> {
    cache::with_room(|| stream.alloc(bytes))
}

/// Memory for `length` numbers, all of this value.
pub(crate) fn filled(value: Scalar, length: usize, stream: &Stream) -> Result<Memory, CudaError> {
    let pattern = bytes_of(value);
    let memory = alloc(length * pattern.len(), stream)?;
    fill(&memory, &pattern, stream)?;
    Ok(memory)
}

fn fill(memory: &Memory, pattern: &[u8], stream: &Stream) -> Result<(), CudaError> {
    if memory.is_empty() || pattern.iter().all(|&byte| byte == 0) {
        return stream.zero(memory);
    }
    // What is there already is copied behind itself.
    const FIRST: usize = 1 << 16;
    let first = memory.len().min(FIRST);
    let begin: Vec<u8> = pattern.iter().copied().cycle().take(first).collect();
    stream.write(memory, 0, &begin)?;
    let mut done = first;
    while done < memory.len() {
        let next = done.min(memory.len() - done);
        stream.copy(memory, 0, memory, done, next)?;
        done += next;
    }
    Ok(())
}

/// The first `length` numbers of memory, copied from there.
pub(crate) fn download(
    dtype: Dtype,
    memory: &Memory,
    length: usize,
    stream: &Stream,
) -> Result<Values, CudaError> {
    let mut values = Values::filled(dtype.zero(), length);
    match &mut values {
        Values::Bool(truths) => {
            let mut bytes = vec![0_u8; length];
            stream.read(memory, 0, &mut bytes)?;
            let truths = truths.make_mut();
            truths.iter_mut().zip(&bytes).for_each(|(truth, byte)| *truth = *byte != 0);
        }
        Values::I8(v) => read(v.make_mut(), memory, stream)?,
        Values::I16(v) => read(v.make_mut(), memory, stream)?,
        Values::I32(v) => read(v.make_mut(), memory, stream)?,
        Values::I64(v) => read(v.make_mut(), memory, stream)?,
        Values::U8(v) => read(v.make_mut(), memory, stream)?,
        Values::U16(v) => read(v.make_mut(), memory, stream)?,
        Values::U32(v) => read(v.make_mut(), memory, stream)?,
        Values::U64(v) => read(v.make_mut(), memory, stream)?,
        Values::F16(v) => read(v.make_mut(), memory, stream)?,
        Values::Bf16(v) => read(v.make_mut(), memory, stream)?,
        Values::F32(v) => read(v.make_mut(), memory, stream)?,
        Values::F64(v) => read(v.make_mut(), memory, stream)?,
        Values::Complex64(v) => read(v.make_mut(), memory, stream)?,
        Values::Complex128(v) => read(v.make_mut(), memory, stream)?,
    }
    Ok(values)
}

/// Copies the first numbers of memory from there.
pub(crate) fn read<T: Pod>(
    to: &mut [T],
    memory: &Memory,
    stream: &Stream,
) -> Result<(), CudaError> {
    stream.read(memory, 0, cast_slice_mut(to))
}

/// The first `length` indices of memory, copied from there.
pub(crate) fn index_array(
    kind: IndexKind,
    memory: &Memory,
    length: usize,
    stream: &Stream,
) -> Result<IndexArray, CudaError> {
    macro_rules! of {
        ($ty:ty) => {{
            let mut indices = vec![<$ty>::default(); length];
            read(&mut indices, memory, stream)?;
            indices.into()
        }};
    }
    Ok(match kind {
        IndexKind::U2 => {
            let mut bytes = vec![0_u8; length.div_ceil(4)];
            read(&mut bytes, memory, stream)?;
            IndexArray::U2(Packed::new(bytes, length).expect("a byte for every four"))
        }
        IndexKind::U8 => of!(u8),
        IndexKind::U16 => of!(u16),
        IndexKind::U32 => of!(u32),
        IndexKind::U64 => of!(u64),
        IndexKind::I8 => of!(i8),
        IndexKind::I16 => of!(i16),
        IndexKind::I32 => of!(i32),
        IndexKind::I64 => of!(i64),
    })
}

/// The operands of a call, there.
pub(crate) struct Operands {
    /// The level arrays of each.
    pub(crate) levels: Vec<Arc<Levels>>,
    /// The values of each.
    pub(crate) values: Vec<Arc<ValuesThere>>,
}

impl Operands {
    /// Those that are not there are copied, with a value for each element.
    pub(crate) fn new(call: &Call<'_>, stream: &Stream) -> Result<Self, Error> {
        Self::for_loops(call, &[], stream)
    }

    /// As [`Operands::new`], for loops that read one value of each operand that `iso` tells.
    pub(crate) fn for_loops(call: &Call<'_>, iso: &[bool], stream: &Stream) -> Result<Self, Error> {
        let all = call.operands();
        let levels: Result<_, Error> = all.iter().map(|tensor| levels(tensor, stream)).collect();
        let reads_one = |at: usize| iso.get(at).is_some_and(|&iso| iso);
        let values = all.iter().enumerate().map(|(at, tensor)| match tensor.iso_value() {
            Some(value) if reads_one(at) => iso_value(tensor, value, stream),
            _ => values(tensor, stream),
        });
        Ok(Self { levels: levels?, values: values.collect::<Result<_, Error>>()? })
    }

    /// Gives a stream work on them, see [`between`].
    pub(crate) fn between<T>(
        &self,
        stream: &Stream,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let of_levels = self.levels.iter().flat_map(|levels| levels.0.iter().flatten());
        let of_values = self.values.iter().map(|values| &*values.0);
        between(stream, of_levels.map(AsRef::as_ref).chain(of_values), work)
    }
}

/// Gives a stream work on memory of others: after what their streams do with it now, and before what they will do.
pub(crate) fn between<'a, T>(
    stream: &Stream,
    used: impl Iterator<Item = &'a Memory>,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let noted = used.inspect(|memory| memory.used_in(stream));
    let mut others: Vec<&Stream> = noted.filter_map(Memory::stream).collect();
    others.dedup_by_key(|other| other.handle());
    others.iter().try_for_each(|other| stream.wait_for(other)).map_err(device)?;
    let result = work();
    others.iter().try_for_each(|other| other.wait_for(stream)).map_err(device)?;
    result
}

/// A result whose values stay there until somebody looks at them.
pub(crate) fn stays(call: &Call<'_>, memory: Memory, gpu: &Gpu) -> Result<Tensor, Error> {
    let length = call.value_count().unwrap_or(0);
    let values = place::values(call.dtype(), &Arc::new(memory), length, gpu);
    let result = call.in_place(values)?;
    self::values(&result, gpu.stream())?;
    Ok(result)
}
