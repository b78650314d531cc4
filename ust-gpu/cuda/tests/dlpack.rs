//! Arrays that come from others and go to others, on the virtual device.

mod common;
mod virtual_device;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{bytes_of, read};
use ust_cuda::dlpack::{Array, Element, Managed, Unversioned, Versioned, from_raw, into_raw};
use ust_cuda::{CudaError, Device, Stream};
use virtual_device::device;

const F32: Element = Element::new(2, 32);

fn array(stream: &Stream, numbers: &[f32]) -> Array {
    let memory = stream.upload(&bytes_of(numbers)).unwrap();
    Array { memory, element: F32, read_only: false }
}

/// There and back: the same memory, freed once when the last owner is gone.
fn goes_and_comes<M: Managed + 'static>(device: &Device) {
    let stream = device.stream().unwrap();
    let given = array(&stream, &[1.0, 2.5, -3.0]);
    let address = given.memory.address();
    let raw: *mut M = into_raw(given).unwrap();
    // SAFETY: the structure was made above.
    let taken = unsafe { from_raw(raw, device) }.unwrap();
    assert_eq!((taken.memory.address(), taken.memory.len(), taken.element), (address, 12, F32));
    assert_eq!(read::<f32>(&stream, &taken.memory), [1.0, 2.5, -3.0]);
    drop(taken);
    // The allocation is gone: nothing can be copied from there.
    let gone = unsafe { ust_cuda::Memory::view(device, address, 12, std::sync::Arc::new(())) };
    assert!(stream.read(&gone, 0, &mut [0; 12]).is_err());
}

#[test]
fn an_array_goes_and_comes() {
    let Some(device) = device() else { return };
    goes_and_comes::<Unversioned>(&device);
    goes_and_comes::<Versioned>(&device);
}

/// How often a producer was told to free something.
static FREED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count(_: *mut Versioned) {
    FREED.fetch_add(1, Ordering::SeqCst);
}

/// A structure of somebody else, of `length` numbers at an address.
fn others(address: u64, shape: &mut [i64; 1], strides: *mut i64) -> Versioned {
    let tensor = ust_cuda::dlpack::Tensor {
        data: std::ptr::without_provenance_mut(address as usize),
        place: ust_cuda::dlpack::Place { kind: 2, ordinal: 0 },
        dimensions: 1,
        element: F32,
        shape: shape.as_mut_ptr(),
        strides,
        offset: 4,
    };
    Versioned {
        version: [1, 1],
        context: std::ptr::null_mut(),
        deleter: Some(count),
        flags: 1,
        tensor,
    }
}

#[test]
fn an_array_of_a_producer_is_freed_by_its_deleter() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let memory = stream.upload(&bytes_of(&[1.0_f32, 2.0, 3.0])).unwrap();
    let (mut shape, mut strides) = ([2], [7]);
    let wrong = |change: fn(&mut Versioned)| {
        let mut shape = [2];
        let mut managed = others(memory.address(), &mut shape, std::ptr::null_mut());
        change(&mut managed);
        // SAFETY: the structure lives; it is refused.
        let refused = unsafe { from_raw(&raw mut managed, &device) };
        assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
    };
    wrong(|managed| managed.version = [2, 0]);
    wrong(|managed| managed.tensor.place.kind = 1);
    wrong(|managed| managed.tensor.place.ordinal = 1);
    wrong(|managed| managed.tensor.dimensions = 2);
    wrong(|managed| managed.tensor.element = Element::new(2, 8));
    wrong(|managed| managed.tensor.element.lanes = 2);
    wrong(|managed| managed.tensor.offset = 2);
    wrong(|managed| managed.tensor.data = std::ptr::null_mut());
    let mut strided = others(memory.address(), &mut shape, strides.as_mut_ptr());
    // SAFETY: as above.
    assert!(unsafe { from_raw(&raw mut strided, &device) }.is_err());
    assert_eq!(FREED.load(Ordering::SeqCst), 0);
    let mut managed = others(memory.address(), &mut shape, std::ptr::null_mut());
    // SAFETY: the structure lives longer than the array.
    let taken = unsafe { from_raw(&raw mut managed, &device) }.unwrap();
    assert!(taken.read_only);
    assert_eq!(read::<f32>(&stream, &taken.memory), [2.0, 3.0]);
    drop(taken);
    assert_eq!(FREED.load(Ordering::SeqCst), 1);
}
