//! Libraries of NVIDIA that the system's loader does not find: those that Python packages bring.

use std::env;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use libloading::Library;

/// Loads NVRTC from the first folder that has it. cudarc finds it afterwards: the loader gives a library
/// that is loaded already to whoever asks for its name.
pub(crate) fn load_compiler() {
    for folder in folders() {
        // NVRTC looks for its built-in functions by name alone; here they are loaded before.
        let builtins = files(&folder, "libnvrtc-builtins.so");
        for library in files(&folder, "libnvrtc.so") {
            for builtins in &builtins {
                keep(builtins);
            }
            if keep(&library) {
                return;
            }
        }
    }
}

/// The file of a library that is loaded already, whose name begins so. `None` where the system does not tell.
pub(crate) fn file_of(begin: &str) -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    // Five words stand before the path, which may have blanks.
    let paths = maps.lines().filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    paths.filter(|path| name(path).starts_with(begin)).map(Path::to_owned).next()
}

/// Loads cuSPARSE from the first folder that has it; cudarc finds it as it finds NVRTC.
pub(crate) fn load_sparse() {
    let folders = folders();
    // Its linker may lie in another package; here it is loaded before.
    for linker in folders.iter().flat_map(|folder| files(folder, "libnvJitLink.so")) {
        keep(&linker);
    }
    let mut found = folders.iter().flat_map(|folder| files(folder, "libcusparse.so"));
    let _ = found.any(|library| keep(&library));
}

/// Opens a library: by its name, which ends with a version or not, as the system's loader finds it, or from the first
/// folder that has it.
pub(crate) fn open(begin: &str, version: &str) -> Option<Library> {
    let names = [begin.to_owned(), format!("{begin}.{version}")].map(PathBuf::from);
    let found = || folders().into_iter().flat_map(|folder| files(&folder, begin));
    // SAFETY: the libraries of CUDA do nothing when they are loaded.
    let open = |path: PathBuf| unsafe { Library::new(path) }.ok();
    names.into_iter().find_map(open).or_else(|| found().find_map(open))
}

/// Loads a library for as long as the process runs.
fn keep(path: &Path) -> bool {
    // SAFETY: the libraries of CUDA do nothing when they are loaded.
    match unsafe { Library::new(path) } {
        Ok(library) => {
            mem::forget(library);
            true
        }
        Err(_) => false,
    }
}

/// Where libraries may lie, the likeliest first.
fn folders() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        env::var_os("UST_CUDA_LIB_DIR").map(PathBuf::from).into_iter().collect();
    for root in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        let Some(root) = env::var_os(root).map(PathBuf::from) else { continue };
        // A package of conda puts its libraries here.
        found.push(root.join("lib"));
        for python in children(&root.join("lib")).filter(|p| name(p).starts_with("python")) {
            let nvidia = python.join("site-packages").join("nvidia");
            found.extend(children(&nvidia).map(|package| package.join("lib")));
        }
    }
    found.retain(|folder| folder.is_dir());
    found
}

/// The files whose names begin so, the newest version first.
fn files(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = children(folder).filter(|p| name(p).starts_with(begin)).collect();
    found.sort_by_key(|p| std::cmp::Reverse(version(&name(p)[begin.len()..])));
    found
}

/// The numbers in the end of a name: `.13.0` is `[13, 0]`.
fn version(end: &str) -> Vec<u32> {
    end.split('.').filter_map(|number| number.parse().ok()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What lies in a folder, in order; nothing if it cannot be read.
fn children(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let mut all: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(std::result::Result::ok)
        .map(|e| e.path())
        .collect();
    all.sort();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_file_of_a_loaded_library_is_found() {
        let found = file_of("libc.so").or_else(|| file_of("libc-")).or_else(|| file_of("ld-"));
        assert!(found.expect("tests are linked with a library of C").is_file());
        assert_eq!(file_of("libnobody-has-it.so"), None);
    }

    #[test]
    fn the_newest_version_is_taken_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libx.so.9", "libx.so.12", "libx.so.13.1", "libx.so", "liby.so.14"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<String> = files(folder.path(), "libx.so").iter().map(|p| name(p)).collect();
        assert_eq!(names, ["libx.so.13.1", "libx.so.12", "libx.so.9", "libx.so"]);
    }
}
