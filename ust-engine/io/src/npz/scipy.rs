//! SciPy's layout of sparse matrices.

use std::path::Path;

use ust_engine::tensor::Values;
use ust_engine::{Coo, Error};
use ust_level_api::IndexArray;

use super::super::FileError;
use super::super::dense::DenseArray;
use super::super::npy::Invalid;
use super::{Archive, Blocks, Compressed, Diagonals, Member, Members};

/// The sparse matrix that the members make, or the members if they make none.
pub(super) fn interpret(mut members: Members, path: &Path) -> Result<Archive, FileError> {
    let Some(format) = members.remove("format") else { return Ok(Archive::Plain(members)) };
    let mut reader = Reader { members, path };
    let Member::Text(format) = format else {
        return Err(reader.invalid("format", "a text was expected"));
    };
    match &format[..] {
        "csr" => match reader.shape()?[..] {
            [size] => reader.row(size).map(Archive::Coo),
            ref shape => {
                let shape = reader.two(shape)?;
                reader.compressed(shape).map(Archive::Csr)
            }
        },
        "csc" => {
            let shape = reader.matrix()?;
            reader.compressed(shape).map(Archive::Csc)
        }
        "coo" => reader.coo().map(Archive::Coo),
        "bsr" => {
            let shape = reader.matrix()?;
            let (indptr, indices) = (reader.indices("indptr")?, reader.indices("indices")?);
            let data = reader.array("data", 3)?;
            Ok(Archive::Bsr(Blocks { shape, indptr, indices, data }))
        }
        "dia" => {
            let shape = reader.matrix()?;
            let offsets = reader.indices("offsets")?;
            let data = reader.array("data", 2)?;
            Ok(Archive::Dia(Diagonals { shape, offsets, data }))
        }
        other => {
            let shown: String = other.chars().take(40).collect();
            let reason = if other.contains("->") {
                "not SciPy's layout but that of `.ust.npz`: give the file that ending".to_owned()
            } else {
                format!(
                    "sparse format `{}` is not supported; supported are csr, csc, coo, bsr, dia",
                    shown.escape_debug()
                )
            };
            Err(FileError::unsupported(path, reason))
        }
    }
}

struct Reader<'a> {
    members: Members,
    path: &'a Path,
}

impl Reader<'_> {
    fn invalid(&self, member: &str, reason: impl Into<String>) -> FileError {
        Invalid::Malformed(reason.into()).at(self.path, Some(member))
    }

    /// The array of that name and rank.
    fn array(&mut self, name: &str, rank: usize) -> Result<DenseArray, FileError> {
        match self.members.remove(name) {
            Some(Member::Array(array)) if array.shape.len() == rank => Ok(array),
            Some(Member::Array(array)) => {
                let found = array.shape.len();
                Err(self
                    .invalid(name, format!("an array of rank {rank} was expected, not {found}")))
            }
            Some(Member::Text(_)) => Err(self.invalid(name, "numbers were expected, not text")),
            None => Err(self.invalid(name, "the archive lacks this member")),
        }
    }

    fn indices(&mut self, name: &str) -> Result<IndexArray, FileError> {
        let array = self.array(name, 1)?;
        index_array(array.values)
            .map_err(|found| self.invalid(name, format!("integers were expected, not {found}")))
    }

    fn shape(&mut self) -> Result<Vec<usize>, FileError> {
        let sizes = self.indices("shape")?;
        (0..sizes.len())
            .map(|dim| sizes.get(dim).and_then(|size| usize::try_from(size).ok()))
            .collect::<Option<_>>()
            .ok_or_else(|| self.invalid("shape", "a size is negative or does not fit 63 bits"))
    }

    fn matrix(&mut self) -> Result<[usize; 2], FileError> {
        let shape = self.shape()?;
        self.two(&shape)
    }

    fn two(&self, shape: &[usize]) -> Result<[usize; 2], FileError> {
        <[usize; 2]>::try_from(shape).map_err(|_| {
            self.invalid("shape", format!("two sizes were expected, not {}", shape.len()))
        })
    }

    /// The entries of a vector that is stored as a matrix of one row.
    fn row(&mut self, size: usize) -> Result<Coo, FileError> {
        let row = self.compressed([1, size])?.entries(false);
        let mut coo = row.map_err(|(member, reason)| self.invalid(member, reason))?;
        coo.shape.remove(0);
        coo.crd.remove(0);
        Ok(coo)
    }

    fn compressed(&mut self, shape: [usize; 2]) -> Result<Compressed, FileError> {
        Ok(Compressed {
            shape,
            indptr: self.indices("indptr")?,
            indices: self.indices("indices")?,
            data: self.array("data", 1)?.values,
        })
    }

    fn coo(&mut self) -> Result<Coo, FileError> {
        let shape = self.shape()?;
        let values = self.array("data", 1)?.values;
        let crd = if self.members.get("coords").is_some() {
            let coords = self.array("coords", 2)?;
            let (rank, entries) = (coords.shape[0], coords.shape[1]);
            let found = index_array(coords.values)
                .map_err(|found| {
                    self.invalid("coords", format!("integers were expected, not {found}"))
                })?
                .to_vec();
            (0..rank).map(|dim| found[dim * entries..][..entries].to_vec()).collect()
        } else {
            vec![self.indices("row")?.to_vec(), self.indices("col")?.to_vec()]
        };
        Coo::new(shape, crd, values).map_err(FileError::tensor(self.path))
    }
}

/// Integers as indices, without a copy. The error is the dtype of other values.
pub(crate) fn index_array(values: Values) -> Result<IndexArray, ust_level_api::Dtype> {
    Ok(match values {
        Values::I8(buffer) => buffer.into(),
        Values::I16(buffer) => buffer.into(),
        Values::I32(buffer) => buffer.into(),
        Values::I64(buffer) => buffer.into(),
        Values::U8(buffer) => buffer.into(),
        Values::U16(buffer) => buffer.into(),
        Values::U32(buffer) => buffer.into(),
        Values::U64(buffer) => buffer.into(),
        other => return Err(other.dtype()),
    })
}

/// Indices in the integers that SciPy uses: of 32 bits if they fit, else of 64.
fn scipy_indices(indices: IndexArray) -> Values {
    match indices {
        IndexArray::I32(buffer) => buffer.into(),
        other => narrow(&other.to_vec()),
    }
}

fn narrow(indices: &[i64]) -> Values {
    match indices.iter().map(|&i| i32::try_from(i).ok()).collect::<Option<Vec<i32>>>() {
        Some(narrow) => narrow.into(),
        None => indices.to_vec().into(),
    }
}

/// The members of an archive.
pub(super) fn members(archive: Archive) -> Result<Members, Error> {
    let mut members = Members::new();
    match archive {
        Archive::Plain(members) => return Ok(members),
        Archive::Csr(matrix) => compressed(&mut members, "csr", matrix),
        Archive::Csc(matrix) => compressed(&mut members, "csc", matrix),
        Archive::Bsr(Blocks { shape, indptr, indices, data }) => {
            members.insert("indices", scipy_indices(indices));
            members.insert("indptr", scipy_indices(indptr));
            sparse(&mut members, "bsr", &shape, data.into());
        }
        Archive::Dia(Diagonals { shape, offsets, data }) => {
            members.insert("offsets", scipy_indices(offsets));
            sparse(&mut members, "dia", &shape, data.into());
        }
        Archive::Coo(coo) => {
            coo.check()?;
            let (shape, entries) = (coo.shape, coo.values.len());
            if let [rows, columns] = &coo.crd[..] {
                members.insert("row", narrow(rows));
                members.insert("col", narrow(columns));
            } else {
                let values = narrow(&coo.crd.concat());
                members.insert("coords", DenseArray { shape: vec![shape.len(), entries], values });
                // Tells SciPy to make an array: its matrices have rank 2 only.
                let yes = DenseArray { shape: Vec::new(), values: vec![true].into() };
                members.insert("_is_array", yes);
            }
            sparse(&mut members, "coo", &shape, coo.values.into());
        }
    }
    Ok(members)
}

fn compressed(members: &mut Members, format: &str, matrix: Compressed) {
    let Compressed { shape, indptr, indices, data } = matrix;
    members.insert("indices", scipy_indices(indices));
    members.insert("indptr", scipy_indices(indptr));
    sparse(members, format, &shape, data.into());
}

fn sparse(members: &mut Members, format: &str, shape: &[usize], data: Member) {
    members.insert("format", format);
    let sizes: Vec<i64> = shape.iter().map(|&size| size.try_into().unwrap_or(i64::MAX)).collect();
    members.insert("shape", Values::from(sizes));
    members.insert("data", data);
}
