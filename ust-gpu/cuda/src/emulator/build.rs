//! The libraries of the virtual device are compiled, once for each compiler.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::time::Duration;

use crate::disk;
use crate::error::{CudaError, Result};
use crate::hash::Hash;

// The first names that are looked for: a library of the system is not found before these.
pub(super) const DRIVER: &str = "libcuda.so";
pub(super) const COMPILER: &str = "libnvrtc.so";
pub(super) const SPARSE: &str = "libcusparse.so";
pub(super) const BLAS: &str = "libcublasLt.so";
pub(super) const SPARSE_LT: &str = "libcusparseLt.so";

/// Each library, and the file that it is made of.
const LIBRARIES: [(&str, &str); 5] = [
    (DRIVER, "driver.cc"),
    (COMPILER, "compiler.cc"),
    (SPARSE, "sparse.cc"),
    (BLAS, "blas.cc"),
    (SPARSE_LT, "sparse_lt.cc"),
];

const FILES: [(&str, &str); 14] = [
    ("driver.cc", include_str!("driver.cc")),
    ("memory.h", include_str!("memory.h")),
    ("races.h", include_str!("races.h")),
    ("threads.h", include_str!("threads.h")),
    ("streams.h", include_str!("streams.h")),
    ("checks.h", include_str!("checks.h")),
    ("modules.h", include_str!("modules.h")),
    ("compiler.cc", include_str!("compiler.cc")),
    ("kernel.h", include_str!("kernel.h")),
    ("products.h", include_str!("products.h")),
    ("blas.cc", include_str!("blas.cc")),
    ("sparse_lt.cc", include_str!("sparse_lt.cc")),
    ("sparse.cc", include_str!("sparse.cc")),
    ("sparse.h", include_str!("sparse.h")),
];

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// The folder with the libraries.
pub(super) fn libraries() -> Result<PathBuf> {
    let compiler = Compiler::find()?;
    let mut hash = Hash::new().with(compiler.version.as_bytes()).with(compiler.name.as_bytes());
    for (name, text) in FILES {
        hash = hash.with(name.as_bytes()).with(text.as_bytes());
    }
    let root = disk::folder().filter(|folder| fs::create_dir_all(folder).is_ok());
    let root = root.unwrap_or_else(|| env::temp_dir().join("ust"));
    let folder = root.join(format!("emulator-{:032x}", hash.value()));
    let is_whole = || LIBRARIES.iter().all(|(library, _)| folder.join(library).exists());
    if is_whole() {
        return Ok(folder);
    }
    // Made aside, and moved when all is there: another process may do the same.
    let aside = root.join(format!("emulator-{}.tmp", process::id()));
    let failed = |e: &dyn std::fmt::Display| CudaError::NoEmulator(e.to_string());
    fs::create_dir_all(&aside).map_err(|e| failed(&e))?;
    for (name, text) in FILES {
        fs::write(aside.join(name), text).map_err(|e| failed(&e))?;
    }
    // A number of 31 bits, not 0.
    let fingerprint = (hash.value() as u32 >> 1) | 1;
    let made = LIBRARIES
        .iter()
        .try_for_each(|(library, source)| compiler.build(&aside, source, library, fingerprint));
    let moved = made.and_then(|()| match fs::rename(&aside, &folder) {
        Err(_) if is_whole() => Ok(()),
        other => other.map_err(|e| failed(&e)),
    });
    let _ = fs::remove_dir_all(&aside);
    moved?;
    forget_others(&root, &folder);
    Ok(folder)
}

/// Removes what other versions of this crate left, if nobody has made anything there for a week.
fn forget_others(root: &Path, own: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().filter_map(std::result::Result::ok) {
        let path = entry.path();
        let others = path != own && entry.file_name().to_string_lossy().starts_with("emulator-");
        let modified = entry.metadata().and_then(|data| data.modified());
        let old = modified.is_ok_and(|then| then.elapsed().is_ok_and(|age| age > WEEK));
        if others && old {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// The host's C++ compiler.
struct Compiler {
    name: String,
    version: String,
}

impl Compiler {
    fn find() -> Result<Self> {
        let own = env::var("CXX").ok().filter(|name| !name.is_empty());
        let names = own.into_iter().chain(["g++", "clang++"].map(String::from));
        for name in names {
            let Ok(said) = Command::new(&name).arg("--version").output() else { continue };
            if said.status.success() {
                return Ok(Self {
                    name,
                    version: String::from_utf8_lossy(&said.stdout).into_owned(),
                });
            }
        }
        Err(CudaError::NoEmulator(String::from(
            "no C++ compiler: neither $CXX nor g++ nor clang++ runs",
        )))
    }

    fn build(&self, folder: &Path, source: &str, library: &str, fingerprint: u32) -> Result<()> {
        let mut command = Command::new(&self.name);
        command.current_dir(folder).args([
            "-shared",
            "-fPIC",
            "-O2",
            "-std=c++17",
            "-w",
            source,
            "-o",
            library,
        ]);
        command.arg(format!("-Wl,-soname,{library}"));
        command.arg(format!("-DUST_CXX=\"{}\"", self.name));
        command.arg(format!("-DUST_FINGERPRINT={fingerprint}"));
        if !self.version.contains("clang") {
            command.arg("-DUST_GCC");
        }
        // Libraries come last.
        command.args(["-ldl", "-pthread"]);
        let said = command.output().map_err(|e| CudaError::NoEmulator(e.to_string()))?;
        match said.status.success() {
            true => Ok(()),
            false => Err(CudaError::NoEmulator(String::from_utf8_lossy(&said.stderr).into_owned())),
        }
    }
}
