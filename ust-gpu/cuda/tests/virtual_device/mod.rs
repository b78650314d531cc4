//! The virtual device, for tests.

use std::sync::OnceLock;

use ust_cuda::{CudaError, Device, emulator};

/// The virtual device; says so where there is no compiler to make one.
pub(crate) fn device() -> Option<Device> {
    static INSTALLED: OnceLock<Result<(), CudaError>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");
        // SAFETY: every test comes here first, and waits here for the first one.
        unsafe { std::env::set_var("UST_CACHE_DIR", folder) };
        emulator::install()
    });
    match installed {
        Ok(()) => Some(Device::open(0).unwrap()),
        Err(CudaError::NoEmulator(why))
            if why.starts_with("no C++ compiler") || !cfg!(target_os = "linux") =>
        {
            eprintln!("SKIPPED: {why}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}
