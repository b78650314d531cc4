//! From a tensor to any file.

use std::path::Path;

use ust_engine::Tensor;

use super::{FileError, Kind, load, mtx, npy, npz, tns, ust_npz};

/// Writes a tensor to a file, whole or not at all; the extension says what is written.
///
/// | file | what is written |
/// |---|---|
/// | `.mtx`, `.mtx.gz` | the coordinates of a matrix; of a vector, as one column |
/// | `.tns`, `.tns.gz` | the coordinates, with the shape in a comment |
/// | `.npy` | every element, as a dense array |
/// | `.npz` | SciPy's csr, csc, bsr, dia where the format is that, else coo |
/// | `.ust.npz` | format and arrays, without any loss |
///
/// # Errors
/// [`FileError::Unsupported`] for what the kind of file cannot hold, with another that can: a rank,
/// complex numbers in `.tns`, a fill value other than zero in the first two and in `.npz`, bf16 in
/// NumPy's; [`FileError::Tensor`] when a dense array would be implausibly large;
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
