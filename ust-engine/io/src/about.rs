//! What a file says of its tensor before the entries.

use std::path::Path;

use ust_engine::Format;
use ust_level_api::{Dtype, Scalar};

use super::npz::{Member, Told};
use super::{FileError, Kind, mtx, npy, npz, source, tns};

/// What the header of a file says. Nothing of it is checked against the entries.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct About {
    /// Bytes of the file.
    pub bytes: u64,
    /// The shape, if the file states it.
    pub shape: Option<Vec<usize>>,
    /// The dtype of the values.
    pub dtype: Option<Dtype>,
    /// The format that the file is read into, unless another one is asked for: a name or its text. For each part, if the
    /// tensor is composed.
    pub format: Option<String>,
    /// Values that are stored. Those that a symmetry implies do not count.
    pub stored: Option<u64>,
    /// The symmetry that the file declares, which implies entries that it leaves out: `symmetric`, `skew-symmetric` or
    /// `Hermitian`.
    pub symmetry: Option<&'static str>,
    /// Whether the file has coordinates alone: all values are 1.
    pub pattern: bool,
    /// The arrays of an archive.
    pub arrays: Vec<ArrayHeader>,
}

/// The header of an array.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArrayHeader {
    /// Its name.
    pub name: String,
    /// The dtype of its values; none for a text.
    pub dtype: Option<Dtype>,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// What a file says before its entries. No more of it is read: of archives, the headers of the arrays, and arrays of at
/// most 64 KiB.
///
/// ```
/// use ust_io::{DenseArray, about, npy};
///
/// let path = std::env::temp_dir().join(format!("about-{}.npy", std::process::id()));
/// npy::write(&path, &DenseArray { shape: vec![2, 3], values: vec![1_i8, 2, 3, 4, 5, 6].into() })?;
/// let about = about(&path)?;
/// assert_eq!((about.shape, about.stored), (Some(vec![2, 3]), Some(6)));
/// # std::fs::remove_file(path).unwrap();
/// # Ok::<(), ust_io::FileError>(())
/// ```
///
/// # Errors
/// [`FileError`], as for [`read`](fn@crate::read), as far as the header tells.
pub fn about(path: &Path) -> Result<About, FileError> {
    let kind = Kind::of(path)?;
    let bytes = std::fs::metadata(path).map_err(FileError::io(path, "read"))?.len();
    let about = match kind {
        Kind::MatrixMarket { .. } => mtx::look(path)?,
        Kind::Frostt { .. } => tns::look(path)?,
        Kind::Npy => {
            let (mut file, bytes) = source::open(path)?;
            let (dtype, shape) = npy::look_at(&mut file, bytes).map_err(|e| e.at(path, None))?;
            array(dtype, shape)
        }
        Kind::Npz => of_scipy(&npz::look(path)?),
        Kind::Ust => of_ust(&npz::look(path)?),
    };
    Ok(About { bytes, ..about })
}

/// An array that has every element.
fn array(dtype: Option<Dtype>, shape: Vec<usize>) -> About {
    let format = Some("Dense".to_owned());
    About { dtype, stored: elements(&shape), shape: Some(shape), format, ..About::default() }
}

fn elements(shape: &[usize]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |all, &extent| all.checked_mul(extent as u64))
}

fn headers(all: &[Told]) -> Vec<ArrayHeader> {
    let header = |told: &Told| ArrayHeader {
        name: told.name.clone(),
        dtype: told.dtype,
        shape: told.shape.clone(),
    };
    all.iter().map(header).collect()
}

fn find<'a>(all: &'a [Told], name: &str) -> Option<&'a Told> {
    all.iter().find(|told| told.name == name)
}

fn text<'a>(all: &'a [Told], name: &str) -> Option<&'a str> {
    match find(all, name)?.content.as_ref()? {
        Member::Text(text) => Some(text),
        Member::Array(_) => None,
    }
}

fn numbers(all: &[Told], name: &str) -> Option<Vec<u64>> {
    let Member::Array(array) = find(all, name)?.content.as_ref()? else { return None };
    let number = |value: Scalar| match value.cast(Dtype::U64) {
        Ok(Scalar::U64(number)) => Some(number),
        _ => None,
    };
    array.values.iter().map(number).collect()
}

fn shape(all: &[Told], name: &str) -> Option<Vec<usize>> {
    numbers(all, name)?.into_iter().map(|extent| usize::try_from(extent).ok()).collect()
}

/// SciPy's matrices, or a single array.
fn of_scipy(all: &[Told]) -> About {
    let arrays = headers(all);
    let Some(format) = text(all, "format") else {
        return match all {
            [one] => About { arrays, ..array(one.dtype, one.shape.clone()) },
            _ => About { arrays, ..About::default() },
        };
    };
    let data = find(all, "data");
    let format = match (format, data.map(|data| &data.shape[..])) {
        ("dia", _) => "DIA-J".to_owned(),
        ("bsr", Some(&[_, rows, columns])) => format!("BSR({rows}, {columns})"),
        _ => format.to_uppercase(),
    };
    About {
        shape: shape(all, "shape"),
        dtype: data.and_then(|data| data.dtype),
        format: Some(format),
        stored: data.and_then(|data| elements(&data.shape)),
        arrays,
        ..About::default()
    }
}

/// A tensor in any format, or its parts.
fn of_ust(all: &[Told]) -> About {
    let parts = numbers(all, "parts").and_then(|parts| parts.first().copied());
    let prefixes: Vec<String> = match parts {
        None => vec![String::new()],
        Some(parts) => (0..parts.min(all.len() as u64)).map(|at| format!("part{at}.")).collect(),
    };
    let named = |text: &str| match text.parse::<Format>().ok().and_then(|format| format.name()) {
        Some(name) => name,
        None => text.to_owned(),
    };
    let formats: Option<Vec<String>> =
        prefixes.iter().map(|prefix| text(all, &format!("{prefix}format")).map(named)).collect();
    let stored = |prefix: &String| match numbers(all, &format!("{prefix}iso")) {
        Some(count) => count.first().copied(),
        None => elements(&find(all, &format!("{prefix}values"))?.shape),
    };
    let first = prefixes.first().map_or("", |prefix| prefix);
    About {
        shape: shape(all, &format!("{first}shape")),
        dtype: text(all, &format!("{first}dtype")).and_then(|name| name.parse().ok()),
        format: formats.map(|formats| formats.join(" + ")),
        stored: prefixes.iter().map(stored).sum(),
        arrays: headers(all),
        ..About::default()
    }
}
