//! Helpers for the tests of the file formats.

use std::io::Read;
use std::path::{Path, PathBuf};

/// A folder that is deleted when its handle is dropped.
pub(super) fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for temporary files")
}

/// The path of a test file, or `None` (with a message) if it is absent.
pub(super) fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not at hand", path.display());
        return None;
    }
    Some(path)
}

/// The text of a file compressed with gzip.
pub(super) fn compressed_text(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("the file");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("compressed text");
    text
}
