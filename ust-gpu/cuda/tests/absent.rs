//! A machine without a driver, or without a device, gets errors; one that has both, a device.

use ust_cuda::{CudaError, Device, blas, sparse, sparse_lt};

#[test]
fn a_device_or_an_error_and_no_panic() {
    match Device::open(0) {
        Ok(device) => {
            println!("{:?}", device.info());
            assert!(Device::count().unwrap() > 0);
            let stream = device.stream().unwrap();
            let memory = stream.upload(&[1, 2, 3]).unwrap();
            let mut bytes = [0; 3];
            stream.read(&memory, 0, &mut bytes).unwrap();
            assert_eq!(bytes, [1, 2, 3]);
        }
        Err(CudaError::NoDriver) => assert!(matches!(Device::count(), Err(CudaError::NoDriver))),
        Err(CudaError::NoDevice { count, .. }) => assert_eq!(count, 0),
        // A driver that does not start, as in a container without devices.
        Err(CudaError::Driver { what, .. }) => println!("the driver cannot {what}"),
        Err(other) => panic!("{other}"),
    }
    assert!(Device::open(usize::MAX).is_err());
}

#[test]
fn the_sparse_library_or_an_error_and_no_panic() {
    match sparse::version() {
        Ok(version) => println!("cuSPARSE {version:?}"),
        Err(CudaError::NoLibrary { .. } | CudaError::Outdated { .. }) => (),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_library_of_dense_products_or_an_error_and_no_panic() {
    match blas::version() {
        Ok(version) => println!("cuBLASLt {version:?}"),
        Err(CudaError::NoLibrary { .. } | CudaError::Outdated { .. }) => (),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_library_of_groups_or_an_error_and_no_panic() {
    match sparse_lt::version() {
        Ok(version) => println!("cuSPARSELt {version:?}"),
        Err(CudaError::NoLibrary { .. } | CudaError::Outdated { .. }) => (),
        Err(other) => panic!("{other}"),
    }
}

#[cfg(feature = "emulator")]
#[test]
fn the_emulator_comes_first_or_not_at_all() {
    let _ = Device::count();
    assert!(matches!(ust_cuda::emulator::install(), Err(CudaError::NoEmulator(_))));
}
