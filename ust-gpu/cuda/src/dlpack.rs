//! Arrays of a device that other libraries own, or take: the structures of `DLPack`.
//!
//! One-dimensional arrays without gaps, in memory of CUDA. A producer's structure becomes an [`Array`] whose
//! memory is the producer's until it is dropped ([`from_raw`]); an [`Array`] becomes a structure whose consumer
//! frees it ([`into_raw`]). Both are there for the structure with a version, and for the older one without.
//!
//! Source: the header `dlpack.h`, version 1.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::device::Device;
use crate::error::{CudaError, Result};
use crate::memory::Memory;

/// Memory of a CUDA device.
const CUDA: i32 = 2;
/// The major version of [`Versioned`].
const MAJOR: u32 = 1;
/// The flag of arrays that must not be written.
const READ_ONLY: u64 = 1;

/// The type of an array's elements, as the structures say it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Element {
    /// 0: signed, 1: unsigned, 2: floating-point, 4: bfloat, 5: complex, 6: bool.
    pub code: u8,
    /// Bits of an element.
    pub bits: u8,
    /// Numbers in an element: 1.
    pub lanes: u16,
}

impl Element {
    /// Elements of one number.
    #[must_use]
    pub const fn new(code: u8, bits: u8) -> Self {
        Self { code, bits, lanes: 1 }
    }

    /// Bytes of an element, if it is one that this crate's users compute with.
    #[must_use]
    pub fn bytes(self) -> Option<usize> {
        match (self.code, self.bits, self.lanes) {
            (0 | 1, 8 | 16 | 32 | 64, 1) | (2, 16 | 32 | 64, 1) => Some(usize::from(self.bits) / 8),
            (4, 16, 1) | (5, 64 | 128, 1) | (6, 8, 1) => Some(usize::from(self.bits) / 8),
            _ => None,
        }
    }
}

/// Where data lie.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The kind of device: 2 for CUDA.
    pub kind: i32,
    /// Its number.
    pub ordinal: i32,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct Tensor {
    /// Where the data begin.
    pub data: *mut c_void,
    /// Where they lie.
    pub place: Place,
    /// Number of dimensions.
    pub dimensions: i32,
    /// The type of elements.
    pub element: Element,
    /// Extents.
    pub shape: *mut i64,
    /// Strides in elements; null where there are no gaps.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct Unversioned {
    /// The data.
    pub tensor: Tensor,
    /// The producer's own.
    pub context: *mut c_void,
    /// Frees the structure and the data.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct Versioned {
    /// Major and minor version.
    pub version: [u32; 2],
    /// The producer's own.
    pub context: *mut c_void,
    /// Frees the structure and the data.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// 1: the data must not be written.
    pub flags: u64,
    /// The data.
    pub tensor: Tensor,
}

/// An array of a device.
#[derive(Debug)]
pub struct Array {
    /// The bytes of all elements.
    pub memory: Memory,
    /// The type of elements.
    pub element: Element,
    /// Whether the producer forbids to write the memory.
    pub read_only: bool,
}

/// A structure of `DLPack`.
pub trait Managed: Sized {
    /// The structure of an array.
    #[doc(hidden)]
    fn of(tensor: Tensor, read_only: bool, context: *mut c_void) -> Self;
    /// The data, and whether they must not be written.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] for a version that nobody knows here.
    #[doc(hidden)]
    fn data(&self) -> Result<(&Tensor, bool)>;
    #[doc(hidden)]
    fn context(&self) -> *mut c_void;
    #[doc(hidden)]
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Managed for Unversioned {
    fn of(tensor: Tensor, _: bool, context: *mut c_void) -> Self {
        Self { tensor, context, deleter: Some(delete::<Self>) }
    }
    fn data(&self) -> Result<(&Tensor, bool)> {
        Ok((&self.tensor, false))
    }
    fn context(&self) -> *mut c_void {
        self.context
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl Managed for Versioned {
    fn of(tensor: Tensor, read_only: bool, context: *mut c_void) -> Self {
        let flags = if read_only { READ_ONLY } else { 0 };
        Self { version: [MAJOR, 0], context, deleter: Some(delete::<Self>), flags, tensor }
    }
    fn data(&self) -> Result<(&Tensor, bool)> {
        match self.version {
            [MAJOR, _] => Ok((&self.tensor, self.flags & READ_ONLY != 0)),
            [major, minor] => Err(CudaError::argument(format!("DLPack {major}.{minor}"))),
        }
    }
    fn context(&self) -> *mut c_void {
        self.context
    }
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

/// A producer's structure, freed when it is dropped.
struct Owner<M: Managed>(*mut M);

// SAFETY: `DLPack` lets any thread free a structure; nothing else is done with it.
unsafe impl<M: Managed> Send for Owner<M> {}
// SAFETY: as above.
unsafe impl<M: Managed> Sync for Owner<M> {}

impl<M: Managed> Drop for Owner<M> {
    fn drop(&mut self) {
        // SAFETY: the duty of the caller of `from_raw`, which made this once.
        unsafe {
            if let Some(deleter) = (*self.0).deleter() {
                deleter(self.0);
            }
        }
    }
}

/// Takes an array from its producer, who is told when it is dropped. After an error the structure is still
/// the caller's.
///
/// # Errors
///
/// [`CudaError::Argument`] for another version, another device than this one, strides, several dimensions, or
/// elements that nobody computes with here.
///
/// # Safety
///
/// The structure is what `DLPack` says, and nobody else frees it. Its memory is ready for the streams that will
/// use it, and they have come behind their work when the array is dropped. Nobody writes an array that is
/// [`Array::read_only`]; and nobody else writes any, if it becomes one of a tensor, until the array is dropped. Where the
/// producer cannot promise that, the array is copied first.
pub unsafe fn from_raw<M: Managed + 'static>(managed: *mut M, device: &Device) -> Result<Array> {
    let refused = |what: String| Err(CudaError::argument(format!("an array from DLPack {what}")));
    if managed.is_null() {
        return refused(String::from("that is none"));
    }
    // SAFETY: the caller's duty.
    let (tensor, read_only) = unsafe { (*managed).data()? };
    let Place { kind, ordinal } = tensor.place;
    if kind != CUDA || usize::try_from(ordinal) != Ok(device.ordinal()) {
        return refused(format!("in memory of device {ordinal} of kind {kind}, not of {device:?}"));
    }
    let Some(width) = tensor.element.bytes() else {
        return refused(format!("with elements {:?}", tensor.element));
    };
    if tensor.dimensions != 1 || tensor.shape.is_null() {
        return refused(format!("with {} dimensions", tensor.dimensions));
    }
    // SAFETY: one dimension has one extent, and one stride if there are some.
    let (length, stride) = unsafe {
        let stride = if tensor.strides.is_null() { 1 } else { *tensor.strides };
        (*tensor.shape, stride)
    };
    if stride != 1 && length > 1 {
        return refused(format!("with stride {stride}"));
    }
    let bytes = usize::try_from(length).ok().and_then(|length| length.checked_mul(width));
    let address = (tensor.data.addr() as u64).checked_add(tensor.offset);
    let (Some(bytes), Some(address)) = (bytes, address) else {
        return refused(format!("of {length} elements"));
    };
    if bytes > 0 && (tensor.data.is_null() || !address.is_multiple_of(width as u64)) {
        return refused(format!("at {address:#x}"));
    }
    let element = tensor.element;
    let owner = Arc::new(Owner(managed));
    // SAFETY: the bytes live until the structure is freed; the rest is the caller's duty.
    let memory = unsafe { Memory::view(device, address, bytes, owner) };
    Ok(Array { memory, element, read_only })
}

/// What a structure of this crate keeps until its consumer frees it.
struct Kept {
    _memory: Memory,
    shape: [i64; 1],
    strides: [i64; 1],
}

/// Gives an array to a consumer, who frees it by the structure's deleter: in the order of the stream that
/// allocated it, for which the consumer's work must have been waited for by then. The consumer's stream waits
/// for what this crate's streams do with the array.
///
/// # Errors
///
/// [`CudaError::Argument`] if the memory is no whole number of elements, or the elements are none of those that
/// [`from_raw`] takes.
pub fn into_raw<M: Managed>(array: Array) -> Result<*mut M> {
    let Array { memory, element, read_only } = array;
    let whole = element.bytes().filter(|width| memory.len().is_multiple_of(*width));
    let Some(width) = whole else {
        return Err(CudaError::argument(format!("{} bytes of elements {element:?}", memory.len())));
    };
    let ordinal = i32::try_from(memory.device().ordinal()).unwrap_or(i32::MAX);
    let length = i64::try_from(memory.len() / width).unwrap_or(i64::MAX);
    let data = ptr::without_provenance_mut(memory.address() as usize);
    let kept = Box::into_raw(Box::new(Kept { _memory: memory, shape: [length], strides: [1] }));
    // SAFETY: made above, and freed with the structure.
    let (shape, strides) =
        unsafe { ((&raw mut (*kept).shape).cast(), (&raw mut (*kept).strides).cast()) };
    let place = Place { kind: CUDA, ordinal };
    let tensor = Tensor { data, place, dimensions: 1, element, shape, strides, offset: 0 };
    Ok(Box::into_raw(Box::new(M::of(tensor, read_only, kept.cast()))))
}

/// Frees a structure of [`into_raw`].
unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: both were made by `into_raw`; a consumer frees a structure once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context().cast::<Kept>()));
    }
}
