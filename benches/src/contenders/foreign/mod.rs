//! Contenders in shared libraries, loaded while running where they are found. The only module with
//! `unsafe` code: calls of C functions, whose arguments are owned by the runners here.
#![allow(unsafe_code)]

mod graphblas;
mod mkl;

use std::ffi::c_int;
use std::path::PathBuf;

use libloading::os::unix::{Library, RTLD_NOW};

use crate::matrix::contender::Surroundings;

/// The folders in which libraries are looked for: those given, those of a virtual environment of
/// Python, and the usual ones of the system.
fn folders(around: &Surroundings) -> Vec<PathBuf> {
    let mut folders = around.libraries.clone();
    if let Some(root) = around.python.as_ref().and_then(|p| p.parent()?.parent()) {
        folders.push(root.join("lib"));
        let packages = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
        for package in packages.map(|entry| entry.path().join("site-packages")) {
            let inside = std::fs::read_dir(package).into_iter().flatten().flatten();
            folders.extend(
                inside.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "libs")),
            );
        }
    }
    folders.extend(["/usr/local/lib", "/usr/lib", "/usr/lib/x86_64-linux-gnu"].map(PathBuf::from));
    folders
}

/// Loads the first library whose file name begins so; `how` is more for `dlopen`.
fn load(around: &Surroundings, start: &str, how: c_int) -> Option<Library> {
    let mut found = Vec::new();
    for folder in folders(around) {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut here: Vec<PathBuf> = files.map(|file| file.path()).collect();
        here.retain(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start)));
        here.sort();
        found.extend(here);
    }
    // SAFETY: the libraries looked for here have no initialisers that mind when they run.
    found.iter().find_map(|path| unsafe { Library::open(Some(path), RTLD_NOW | how) }.ok())
}

/// A function of a library, which stays loaded for the rest of the process.
///
/// # Safety
/// `F` is the type of the function with this name.
unsafe fn function<F: Copy>(library: &'static Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller knows the type.
    unsafe { library.get::<F>(name.as_bytes()) }.map(|f| *f).map_err(|e| e.to_string())
}
