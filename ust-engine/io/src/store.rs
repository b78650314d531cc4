//! From a tensor to any file.

use std::path::Path;

use ust_engine::{Composed, Tensor};

use super::{FileError, Kind, load, mtx, npy, npz, tns, ust_npz};

/// Writes a tensor to a file, whole or not at all. The extension decides the kind of file.
///
/// | file | content |
/// |---|---|
/// | `.mtx`, `.mtx.gz` | the entries of a matrix; a vector is a matrix of one column |
/// | `.tns`, `.tns.gz` | the entries, with the shape in a comment |
/// | `.npy` | every element, as a dense array |
/// | `.npz` | SciPy's csr, csc, bsr or dia if the tensor has that format, else coo |
/// | `.ust.npz` | format and arrays, without loss |
///
/// # Errors
/// [`FileError::Unsupported`] if the kind of file cannot hold the tensor, with a kind that can. Reasons
/// are the rank; complex values in `.tns`; a fill value other than zero in `.mtx`, `.tns` and `.npz`;
/// bf16 in `.npy` and `.npz`. [`FileError::Tensor`] if a dense array would be implausibly large.
/// [`FileError::Io`].
pub fn write(path: &Path, tensor: &Tensor) -> Result<(), FileError> {
    let kind = Kind::of(path)?;
    if !matches!(kind, Kind::Npy | Kind::Ust) && !tensor.fill().same(&tensor.dtype().zero()) {
        let reason = format!(
            "what is not stored is {} in this tensor, and zero in such a file: write .npy or \
             .ust.npz",
            tensor.fill()
        );
        return Err(FileError::unsupported(path, reason));
    }
    let failed = FileError::tensor(path);
    match kind {
        Kind::MatrixMarket { .. } => mtx::write(path, &tensor.to_coo().map_err(failed)?),
        Kind::Frostt { .. } => tns::write(path, &tensor.to_coo().map_err(failed)?),
        Kind::Npy => npy::write(path, &load::to_array(tensor).map_err(failed)?),
        Kind::Npz => npz::write(path, npz::archive(tensor).map_err(failed)?),
        Kind::Ust => ust_npz::write(path, tensor),
    }
}

/// Writes a composed tensor to a file, whole or not at all. `.ust.npz` keeps the parts; other kinds of files get the
/// tensor in [one format](Composed::own_format).
///
/// # Errors
/// As [`write()`].
pub fn write_composed(path: &Path, composed: &Composed) -> Result<(), FileError> {
    if Kind::of(path)? == Kind::Ust {
        return ust_npz::write_composed(path, composed);
    }
    let failed = FileError::tensor(path);
    let one = composed.own_format().and_then(|format| composed.convert(&format));
    write(path, &one.map_err(failed)?)
}
