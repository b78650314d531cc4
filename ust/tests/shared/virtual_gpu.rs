//! The virtual GPU, for test programs of their own.

use std::sync::OnceLock;

use ust::gpu::{cuda::CudaError, emulator};

/// Where what is compiled for the virtual GPU is kept.
const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// Whether there is a virtual GPU. Says so if there is none.
pub(crate) fn is_there() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: every test comes here first, and waits here for the first one.
        #[allow(unsafe_code)]
        unsafe {
            std::env::set_var("UST_CACHE_DIR", CACHE);
        }
        match emulator::install() {
            Ok(()) => true,
            Err(CudaError::NoEmulator(why))
                if why.starts_with("no C++ compiler") || !cfg!(target_os = "linux") =>
            {
                eprintln!("SKIPPED: {why}");
                false
            }
            Err(error) => panic!("{error}"),
        }
    })
}
