//! Bytes from files, unpacked under a limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::{FileError, ReadOptions};

/// What files compressed with gzip start with.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The whole text of a file.
///
/// # Errors
/// [`FileError::Io`] when the system refuses or the compressed data are damaged;
/// [`FileError::Unsupported`] when they unpack beyond the limit, or when a file whose name does not
/// say so is compressed.
pub(super) fn read_text(
    path: &Path,
    gzip: bool,
    options: &ReadOptions,
) -> Result<Vec<u8>, FileError> {
    let packed = std::fs::read(path).map_err(FileError::io(path, "read"))?;
    if gzip {
        return unpack(path, &packed, options);
    }
    if packed.starts_with(GZIP) {
        let reason = "the file is compressed with gzip: give it a name that ends in `.gz`";
        return Err(FileError::unsupported(path, reason));
    }
    Ok(packed)
}

fn unpack(path: &Path, packed: &[u8], options: &ReadOptions) -> Result<Vec<u8>, FileError> {
    let limit = options.unpacked_limit(packed.len() as u64);
    let mut text = Vec::new();
    MultiGzDecoder::new(packed)
        .take(limit.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(FileError::io(path, "unpack (gzip)"))?;
    if text.len() as u64 > limit {
        let packed = packed.len();
        return Err(FileError::unsupported(
            path,
            format!(
                "{packed} compressed bytes unpack to more than {limit}, as those of a \
                 decompression bomb do: unpack the file first if it is none, or raise `max_bytes`"
            ),
        ));
    }
    Ok(text)
}

/// A file open for reading, and its size in bytes.
pub(super) fn open(path: &Path) -> Result<(File, u64), FileError> {
    let file = File::open(path).map_err(FileError::io(path, "open"))?;
    let metadata = file.metadata().map_err(FileError::io(path, "read"))?;
    if !metadata.is_file() {
        return Err(FileError::unsupported(path, "not a regular file"));
    }
    Ok((file, metadata.len()))
}
