//! Libraries whose functions are bound by hand: cudarc has no bindings of them, or such that take long to compile.

use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;

use libloading::Library;

use crate::error::{CudaError, Result};
use crate::{libraries, probe};

/// Loads a library for as long as the process runs: `file` is the beginning of its name, up to the version.
pub(crate) fn load(
    name: &'static str,
    file: &'static str,
    version: &str,
    package: &'static str,
) -> Result<&'static Library> {
    probe::PROBED.store(true, Ordering::SeqCst);
    match libraries::open(file, version) {
        Some(library) => Ok(Box::leak(Box::new(library))),
        None => Err(CudaError::NoLibrary { name, file, package }),
    }
}

/// A function of a library.
///
/// # Safety
///
/// The function has this type.
pub(crate) unsafe fn function<T: Copy>(
    library: &'static Library,
    file: &'static str,
    symbol: &'static str,
) -> Result<T> {
    // SAFETY: the caller's duty. The library stays.
    let found = unsafe { library.get::<T>(symbol.as_bytes()) };
    found.map(|found| *found).map_err(|_| CudaError::Outdated { library: file, symbol })
}

/// A text of a library, which lives for ever.
///
/// # Safety
///
/// It is null, or such a text.
pub(crate) unsafe fn text(of: *const c_char) -> String {
    if of.is_null() {
        return String::from("unknown");
    }
    // SAFETY: the caller's duty.
    unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()
}

/// Declares the functions of a library, and a table of them that is filled when somebody asks for it.
macro_rules! library {
    (
        $table:ident: $name:literal, $file:literal, $version:literal, $package:literal;
        $(fn $function:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*
    ) => {
        #[doc = concat!("The functions of ", $name, " that are called.")]
        #[allow(non_snake_case)]
        struct $table {
            $($function: unsafe extern "C" fn($($argument: $type),*) -> $result,)*
        }

        impl $table {
            /// Loads the library, once.
            fn get() -> Result<&'static Self> {
                static LOADED: std::sync::OnceLock<Result<$table>> = std::sync::OnceLock::new();
                let loaded = LOADED.get_or_init(|| {
                    let library = crate::bound::load($name, $file, $version, $package)?;
                    // SAFETY: the types are those of the library's header.
                    unsafe {
                        Ok(Self {
                            $($function: crate::bound::function(
                                library, $file, stringify!($function),
                            )?,)*
                        })
                    }
                });
                loaded.as_ref().map_err(Clone::clone)
            }
        }
    };
}

pub(crate) use library;
