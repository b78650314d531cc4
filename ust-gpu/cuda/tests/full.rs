//! A device without room; in a process of its own, since all tests of a process share the virtual device.

mod common;
mod virtual_device;

use common::read;
use ust_cuda::{CudaError, emulator};
use virtual_device::device;

#[test]
fn a_full_device_says_so_and_stays_usable() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    emulator::set_memory(10 << 20);
    let free = || device.memory().unwrap().0;
    let six = stream.alloc(6 << 20).unwrap();
    match stream.alloc(6 << 20) {
        Err(CudaError::OutOfMemory { bytes }) => assert_eq!(bytes, 6 << 20),
        other => panic!("{other:?}"),
    }
    // The pool keeps what is freed, which is in the way of another size, until it is given back.
    drop(six);
    assert_eq!(free(), 4 << 20);
    let eight = stream.upload(&vec![7; 8 << 20]).unwrap();
    assert!(read::<u8>(&stream, &eight).iter().all(|&byte| byte == 7));
    assert_eq!(free(), 2 << 20);
    // What the pool keeps is used again.
    drop(eight);
    assert_eq!(free(), 2 << 20);
    let _again = stream.alloc(8 << 20).unwrap();
    assert_eq!(free(), 2 << 20);
    assert!(matches!(stream.alloc(usize::MAX / 2), Err(CudaError::OutOfMemory { .. })));
}
