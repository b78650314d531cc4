//! From any file to a tensor.

use std::path::Path;

use ust_engine::coo::Columns;
use ust_engine::tensor::BuildOptions;
use ust_engine::{Composed, Coo, Error, Format, Tensor, Values};
use ust_level_api::with_dtype;

use super::{DenseArray, FileError, Kind, ReadOptions, mtx, npy, npz, tns, ust_npz};

/// Reads a tensor from a file. The extension decides the kind of file.
///
/// | file | format, unless [`ReadOptions::format`] asks for one |
/// |---|---|
/// | `.mtx` coordinate, `.tns` | coordinates (`COO`) |
/// | `.mtx` array, `.npy`, `.npz` with one array | dense |
/// | `.npz` of SciPy | CSR, CSC, BSR, COO, diagonals by column, or a sparse vector |
/// | `.ust.npz` | the one in the file; of a composed tensor, [one for all parts](Composed::own_format) |
///
/// Every file is checked as untrusted input. If the format is unique, duplicates are summed. In SciPy's
/// matrices, rows may be unsorted and have duplicates: they are sorted and summed, unless
/// [`ReadOptions::format`] allows both (`nonunique, nonordered`), and so takes the arrays as they are.
///
/// A matrix of one column is read as a vector if [`ReadOptions::shape`] has rank 1.
///
/// # Errors
/// [`FileError`], with the file and, for malformed text, line and column.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Tensor, FileError> {
    let failed = |error: Error| FileError::tensor(path)(error);
    let tensor = match Kind::of(path)? {
        Kind::MatrixMarket { .. } => match mtx::load(path, options)? {
            mtx::Loaded::Coordinate(columns) => {
                from_columns(&column_as_vector(columns, options), options).map_err(failed)?
            }
            mtx::Loaded::Array(array) => {
                from_array(array_as_vector(array, options)).map_err(failed)?
            }
        },
        Kind::Frostt { .. } => from_columns(&tns::load(path, options)?, options).map_err(failed)?,
        Kind::Npy => from_array(npy::read(path)?).map_err(failed)?,
        Kind::Npz => npz::read_tensor(path, options)?,
        Kind::Ust => ust_npz::read(path, options)?,
    };
    expect_shape(tensor.shape(), path, options)?;
    match options.format_for(tensor.rank()).map_err(failed)? {
        Some(format) => tensor.convert_within(format, options.limit()).map_err(failed),
        None => Ok(tensor),
    }
}

/// As [`read`]. The parts of a composed tensor stay apart, unless [`ReadOptions::format`] asks for one format. Other
/// tensors are of one part.
///
/// # Errors
/// As [`read`].
pub fn read_composed(path: &Path, options: &ReadOptions) -> Result<Composed, FileError> {
    if Kind::of(path)? != Kind::Ust || options.format.is_some() {
        return Ok(read(path, options)?.into());
    }
    let composed = ust_npz::read_composed(path, options)?;
    expect_shape(composed.shape(), path, options)?;
    Ok(composed)
}

/// Refuses a tensor of another shape than the one asked for.
fn expect_shape(found: &[usize], path: &Path, options: &ReadOptions) -> Result<(), FileError> {
    match &options.shape {
        Some(shape) if shape != found => {
            let expected = format!("the file holds a tensor of shape {found:?}");
            Err(FileError::tensor(path)(Error::Shape { found: shape.clone(), expected }))
        }
        _ => Ok(()),
    }
}

/// A tensor with these entries, in the format of the options, else as coordinates.
pub(super) fn from_coo(coo: &Coo, options: &ReadOptions) -> Result<Tensor, Error> {
    let format = wanted(options, coo.shape.len())?;
    Tensor::from_coo_with(coo, format, &build_options(options))
}

fn build_options(options: &ReadOptions) -> BuildOptions {
    BuildOptions { memory_limit: options.limit(), ..Default::default() }
}

fn from_columns(columns: &Columns, options: &ReadOptions) -> Result<Tensor, Error> {
    let format = wanted(options, columns.shape.len())?;
    Tensor::from_columns(columns, &format, &build_options(options))
}

/// The format that is asked for, else the one that stores coordinates.
fn wanted(options: &ReadOptions, rank: usize) -> Result<Format, Error> {
    match options.format_for(rank)? {
        Some(format) => Ok(format),
        None => Ok(Format::resolve("COO", Some(rank))?),
    }
}

/// The array as a dense tensor, without a copy.
pub(super) fn from_array(array: DenseArray) -> Result<Tensor, Error> {
    Tensor::full(&array.shape, array.values)
}

/// The tensor as a dense array.
pub(super) fn to_array(tensor: &Tensor) -> Result<DenseArray, Error> {
    let shape = tensor.shape().to_vec();
    // The other extents may be larger than an array in memory allows.
    if shape.contains(&0) {
        return Ok(DenseArray { shape, values: Values::filled(tensor.dtype().zero(), 0) });
    }
    let values = with_dtype!(tensor.dtype(), T => {
        match tensor.dense_view::<T>() {
            Some(view) if view.is_standard_layout() && view.len() == tensor.nse() => {
                tensor.values().expanded()
            }
            _ => {
                let array = tensor.to_dense::<T>()?;
                array.iter().copied().collect::<Vec<T>>().into()
            }
        }
    });
    Ok(DenseArray { shape, values })
}

/// Whether a file of this shape is to be read as a vector.
fn wants_vector(shape: &[usize], options: &ReadOptions) -> bool {
    matches!((shape, options.shape.as_deref()), (&[rows, 1], Some(&[wanted])) if rows == wanted)
}

fn column_as_vector(mut columns: Columns, options: &ReadOptions) -> Columns {
    if wants_vector(&columns.shape, options) {
        columns.shape.pop();
        columns.crd.pop();
    }
    columns
}

fn array_as_vector(mut array: DenseArray, options: &ReadOptions) -> DenseArray {
    if wants_vector(&array.shape, options) {
        array.shape.pop();
    }
    array
}
