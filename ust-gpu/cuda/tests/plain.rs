//! Memory and order on a device without pools.

mod common;
#[path = "shared/memory.rs"]
mod memory;
mod virtual_device;

use ust_cuda::{CudaError, Device, emulator};

fn device() -> Option<Device> {
    virtual_device::device()?;
    emulator::set_pools(false);
    Some(Device::open(0).unwrap())
}

#[test]
fn a_device_without_room_says_so() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let (before, total) = device.memory().unwrap();
    assert!(matches!(stream.alloc(total + 1), Err(CudaError::OutOfMemory { .. })));
    assert!(before <= total);
    stream.alloc(1 << 20).unwrap();
}
