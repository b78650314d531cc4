//! What this machine has for GPUs.

use std::path::PathBuf;

use ust_cuda::{Cache, CudaError, Device, Info, blas, sparse, sparse_lt};

/// What a machine has for GPUs, and what it lacks.
///
/// ```
/// let machine = ust_gpu::Machine::look();
/// match machine.missing() {
///     Some(missing) => println!("{missing}"),
///     None => assert!(!machine.devices.is_empty()),
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Machine {
    /// The devices that can be opened.
    pub devices: Vec<Info>,
    /// The driver, or why there is none.
    pub driver: Result<Library, CudaError>,
    /// The compiler, NVRTC, or why there is none.
    pub compiler: Result<Library, CudaError>,
    /// The libraries of products, by their names, or why there is none. Back ends that nobody asks for need none.
    pub products: Vec<(&'static str, Result<Library, CudaError>)>,
    /// The machine code that is kept on disk. `None` where no folder for it is known.
    pub cache: Option<Cache>,
    /// Why a device cannot be opened.
    refused: Option<CudaError>,
}

/// A library of NVIDIA.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Library {
    /// Its version, major and minor.
    pub version: (u32, u32),
    /// Its file, where the system tells.
    pub file: Option<PathBuf>,
}

impl Machine {
    /// Looks for libraries and devices. Each device is opened for a moment, and each library is loaded for as long as
    /// the process runs.
    #[must_use]
    pub fn look() -> Self {
        let library = |version, file| Library { version, file };
        let driver = ust_cuda::driver_version().map(|version| {
            library((version / 1000, version % 1000 / 10), ust_cuda::driver_library())
        });
        let compiler = ust_cuda::compiler_version()
            .map(|version| library(version, ust_cuda::compiler_library()));
        let products = [
            ("cuSPARSE", sparse::version(), sparse::file()),
            ("cuBLASLt", blas::version(), blas::file()),
            ("cuSPARSELt", sparse_lt::version(), sparse_lt::file()),
        ];
        let products = products
            .into_iter()
            .map(|(name, version, file)| (name, version.map(|version| library(version, file))));
        let products = products.collect();
        let (mut devices, mut refused) = (Vec::new(), None);
        let count = driver.as_ref().map_or(0, |_| Device::count().unwrap_or(0));
        // A driver that finds no device says so.
        for ordinal in 0..count.max(usize::from(driver.is_ok())) {
            match Device::open(ordinal) {
                Ok(device) => devices.push(device.info().clone()),
                Err(error) => refused = Some(error),
            }
        }
        Self { devices, driver, compiler, products, cache: ust_cuda::cache(), refused }
    }

    /// What is missing before the back end `cuda` can run anything, and what to do. `None` if nothing is.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let driver = self.driver.as_ref().err();
        let compiler = self.compiler.as_ref().err();
        let device = self.refused.as_ref().filter(|_| self.devices.is_empty());
        let all: Vec<String> =
            [driver, device, compiler].into_iter().flatten().map(ToString::to_string).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}
