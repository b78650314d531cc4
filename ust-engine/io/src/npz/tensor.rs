//! SciPy's matrices as tensors, and back.
//!
//! Arrays that are valid in our format are taken without a copy. SciPy also allows unsorted rows,
//! duplicates, and arrays that are longer than needed: then the tensor is built from the entries.

use std::path::Path;

use ust_engine::tensor::Parts;
use ust_engine::{Coo, Error, Format, Tensor};
use ust_level_api::IndexArray;

use super::super::{DenseArray, FileError, ReadOptions, load};
use super::entries::Fault;
use super::{Archive, Blocks, Compressed, Diagonals, Member, Members, read};

/// Reads a tensor from an archive.
pub(crate) fn read_tensor(path: &Path, options: &ReadOptions) -> Result<Tensor, FileError> {
    match read(path, options)? {
        Archive::Csr(matrix) => {
            let ready = matrix.parts();
            take("CSR", matrix.shape, ready, || matrix.entries(false), options, path)
        }
        Archive::Csc(matrix) => {
            let ready = matrix.parts();
            take("CSC", matrix.shape, ready, || matrix.entries(true), options, path)
        }
        Archive::Bsr(matrix) => {
            let [_, rows, columns] = matrix.data.shape[..] else {
                return Err(FileError::binary(path, "blocks of another rank than 3"));
            };
            let name = format!("BSR({rows}, {columns})");
            take(&name, matrix.shape, matrix.parts(), || matrix.entries(), options, path)
        }
        Archive::Dia(matrix) => {
            take("DIA-J", matrix.shape, matrix.parts(), || matrix.entries(), options, path)
        }
        Archive::Coo(coo) => load::from_coo(&coo, options).map_err(FileError::tensor(path)),
        Archive::Plain(members) => {
            load::from_array(only_array(members, path)?).map_err(FileError::tensor(path))
        }
    }
}

/// A tensor over the arrays `ready`, if they are valid; else one that is built from `entries`.
fn take(
    name: &str,
    shape: [usize; 2],
    ready: Option<Parts>,
    entries: impl FnOnce() -> Result<Coo, Fault>,
    options: &ReadOptions,
    path: &Path,
) -> Result<Tensor, FileError> {
    let natural = Format::resolve(name, Some(2));
    if let (Ok(natural), Some(parts)) = (&natural, ready) {
        // The format of the options may take the same arrays under other rules, such as `nonunique`.
        let wanted = options.format_for(2).map_err(FileError::tensor(path))?;
        let wanted = wanted.filter(|wanted| alike(wanted, natural));
        let format = wanted.as_ref().unwrap_or(natural);
        if let Ok(tensor) = Tensor::from_parts(format, &shape, parts) {
            return Ok(tensor);
        }
    }
    let coo = entries().map_err(|(member, reason)| FileError::Binary {
        path: path.to_owned(),
        member: Some(member.to_owned()),
        reason,
    })?;
    // In the natural format first: there, zeros within blocks and diagonals are padding.
    let built = natural
        .map_err(Error::from)
        .and_then(|natural| Tensor::from_coo(&coo, &natural))
        .or_else(|_| load::from_coo(&coo, options));
    built.map_err(FileError::tensor(path))
}

/// Whether both formats have the same level expressions.
fn alike(a: &Format, b: &Format) -> bool {
    !a.has_slices()
        && a.rank() == b.rank()
        && a.level_count() == b.level_count()
        && a.levels().iter().zip(b.levels()).all(|(a, b)| a.expr == b.expr)
}

impl Compressed {
    fn parts(&self) -> Option<Parts> {
        let arrays = vec![self.indptr.clone(), self.indices.clone()];
        Some(Parts::new(vec![vec![], arrays], self.data.clone()))
    }
}

impl Blocks {
    fn parts(&self) -> Option<Parts> {
        if !self.divides() {
            return None;
        }
        let arrays = vec![self.indptr.clone(), self.indices.clone()];
        Some(Parts::new(vec![vec![], arrays, vec![], vec![]], self.data.values.clone()))
    }
}

impl Diagonals {
    /// The arrays, sorted by offset. `None` if a diagonal does not have a value for every column.
    fn parts(&self) -> Option<Parts> {
        let offsets = self.offsets.to_vec();
        let width = self.shape[1];
        if self.data.shape != [offsets.len(), width] {
            return None;
        }
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        order.sort_by_key(|&at| offsets[at]);
        let sorted: Vec<i64> = order.iter().map(|&at| offsets[at]).collect();
        let values = if sorted == offsets {
            self.data.values.clone()
        } else {
            let positions: Vec<u64> = order
                .iter()
                .flat_map(|&at| (at * width..(at + 1) * width).map(|position| position as u64))
                .collect();
            self.data.values.gather(&positions)
        };
        let pos = vec![0, offsets.len() as i64].into();
        Some(Parts::new(vec![vec![pos, sorted.into()], vec![]], values))
    }
}

/// The single array of an archive that is no sparse matrix.
fn only_array(members: Members, path: &Path) -> Result<DenseArray, FileError> {
    let names: Vec<&str> = members.iter().map(|(name, _)| name).collect();
    if names.len() != 1 {
        let mut names = names.join(", ");
        names.truncate(names.char_indices().nth(200).map_or(names.len(), |(at, _)| at));
        let reason = format!(
            "neither a sparse matrix (there is no member `format`) nor a single array: members \
             are [{}]",
            names.escape_debug()
        );
        return Err(FileError::unsupported(path, reason));
    }
    match members.into_vec().pop() {
        Some((_, Member::Array(array))) => Ok(array),
        _ => Err(FileError::unsupported(path, "the archive holds a text, no array")),
    }
}

/// The tensor as a SciPy matrix, in its own format if SciPy has it, else as coordinates.
pub(crate) fn archive(tensor: &Tensor) -> Result<Archive, Error> {
    let name = match !tensor.view().is_whole() || tensor.rank() != 2 {
        true => None,
        false => tensor.format().name(),
    };
    let &[rows, columns] = tensor.shape() else { return Ok(Archive::Coo(tensor.to_coo()?)) };
    let shape = [rows, columns];
    let arrays = |level: usize| -> Option<(IndexArray, IndexArray)> {
        Some((tensor.pos(level)?.clone(), tensor.crd(level)?.clone()))
    };
    let compressed = || {
        let (indptr, indices) = arrays(1)?;
        Some(Compressed { shape, indptr, indices, data: tensor.values().expanded() })
    };
    let found = match name.as_deref() {
        Some("CSR") => compressed().map(Archive::Csr),
        Some("CSC") => compressed().map(Archive::Csc),
        Some("DIA-I") => return archive(&tensor.convert(&Format::resolve("DIA-J", Some(2))?)?),
        Some("DIA-J") => arrays(0).map(|(_, offsets)| {
            let data = DenseArray {
                shape: vec![offsets.len(), columns],
                values: tensor.values().expanded(),
            };
            Archive::Dia(Diagonals { shape, offsets, data })
        }),
        Some(name) if name.starts_with("BSR(") => blocks(tensor, shape, arrays(1)),
        _ => None,
    };
    found.map_or_else(|| tensor.to_coo().map(Archive::Coo), Ok)
}

/// A matrix of blocks; `None` if the blocks do not divide the shape, as SciPy demands.
fn blocks(
    tensor: &Tensor,
    shape: [usize; 2],
    arrays: Option<(IndexArray, IndexArray)>,
) -> Option<Archive> {
    let (indptr, indices) = arrays?;
    let data = DenseArray { shape: tensor.block_shape(), values: tensor.values().expanded() };
    let blocks = Blocks { shape, indptr, indices, data };
    blocks.divides().then_some(Archive::Bsr(blocks))
}
