//! The C compiler of this machine, where there is one.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the header.
const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// Runs the C compiler. `None`, said aloud, where there is none.
pub(crate) fn compiler(args: &[&str]) -> Option<()> {
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", INCLUDE];
    match Command::new(&cc).args(flags).args(args).output() {
        Err(error) => {
            eprintln!("skipped: `{cc}` does not start ({error}); plug-ins in C are not tried");
            None
        }
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{cc} {args:?}: {errors}");
            Some(())
        }
    }
}

/// Makes a shared library of a C file, with these macros defined.
#[allow(dead_code)]
pub(crate) fn library(source: &Path, name: &str, defines: &[&str]) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = folder.join(format!("{DLL_PREFIX}{name}_{}{DLL_SUFFIX}", std::process::id()));
    let mut args: Vec<String> = defines.iter().map(|define| format!("-D{define}")).collect();
    args.extend(["-shared", "-fPIC", "-O1", "-o"].map(str::to_owned));
    args.extend([&library, source].map(|path| path.to_str().expect("a path is text").to_owned()));
    compiler(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
    Some(library)
}
