//! FROSTT: `.tns`, `.tns.gz`.
//!
//! Each line has an entry: its coordinates, counted from 1, then its value. A comment starts with `#`
//! or `;` and ends with the line; it may follow an entry. A byte order mark at the start is skipped.
//!
//! ```text
//! # shape 4x6x8
//! 1 2 3 0.5
//! 4 6 1 -2
//! ```
//!
//! # The shape
//! Plain FROSTT does not state the shape. It is taken from the first of these that exists:
//!
//! 1. the *extended header* that MLIR writes: a line with the rank and the number of entries, then a
//!    line with the sizes. A file has this header if a comment before it contains `extended FROSTT`, in
//!    upper or lower case. Not every writer writes that comment, so a file also has this header if its
//!    first lines can be nothing else: two whole numbers `r n`, then `r` whole numbers, then an entry
//!    of `r + 1` tokens. The entry may be missing, except for `r = 2`: the two lines are then entries
//!    of a vector.
//! 2. a comment `# shape 4x6x8` before the first entry, which other readers skip. [`write`](fn@write)
//!    writes it: the file is plain FROSTT, and still keeps the shape.
//! 3. [`ReadOptions::shape`]; if the file states a shape, too, both must agree.
//! 4. the largest coordinate of each dimension.
//!
//! Without a shape, the rank is the number of tokens of the first entry, less one. A tensor of rank 0,
//! a single value, must state its shape (`# shape` alone).
//!
//! Values are read as f64, since the file states no dtype. Duplicates are kept.
//!
//! Source: S. Smith et al., *FROSTT: The Formidable Repository of Open Sparse Tensors and Tools*,
//! 2017.

use std::io::{self, Write};
use std::path::Path;

use ust_engine::coo::Columns;
use ust_engine::{Coo, Error};
use ust_level_api::{Dtype, IndexColumn, with_dtype};

use super::about::About;
use super::body::Body;
use super::number::{real, size};
use super::plain::Reals;
use super::progress::Progress;
use super::text::{Fault, Line, Lines, unmarked};
use super::words::Words;
use super::{FileError, ReadOptions, sink, source};

const COMMENT: &[u8] = b"#;";

/// Reads a file. A name that ends in `.gz` means that it is compressed with gzip.
///
/// Cost: O(bytes), in parallel; memory for the text and the entries.
///
/// # Errors
/// [`FileError`]; malformed text with line and column.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Coo, FileError> {
    load(path, options).map(Coo::from)
}

/// As [`read`].
pub(super) fn load(path: &Path, options: &ReadOptions) -> Result<Columns, FileError> {
    let gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let text = source::read_text(path, gzip, options)?;
    let progress = Progress::over(text.len() as u64, path, options.progress);
    parse_with(&text, path, options, &progress)
}

/// What a file says before its entries.
pub(super) fn look(path: &Path) -> Result<About, FileError> {
    let gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    // Three lines tell whether there is an extended header.
    let text = source::first_lines(path, gzip, COMMENT, 3)?;
    let text = unmarked(&text);
    let header = Header::parse(text).map_err(|fault| fault.locate(path, text))?;
    Ok(About {
        shape: header.shape,
        dtype: Some(Dtype::F64),
        format: Some("COO".to_owned()),
        stored: header.entries.map(|entries| entries as u64),
        ..About::default()
    })
}

/// Reads a text. `name` is the name of the file in messages.
///
/// ```
/// use ust_io::{ReadOptions, tns};
/// let text = b"1 2 3 0.5\n4 6 1 -2\n";
/// let coo = tns::parse(text, "a.tns".as_ref(), &ReadOptions::default()).unwrap();
/// assert_eq!(coo.shape, [4, 6, 3]);
/// let options = ReadOptions::default().with_shape([4, 6, 8]);
/// assert_eq!(tns::parse(text, "a.tns".as_ref(), &options).unwrap().shape, [4, 6, 8]);
/// ```
///
/// # Errors
/// [`FileError::Text`] with line, column and reason; [`FileError::Tensor`] when the file states
/// another shape than the options.
pub fn parse(text: &[u8], name: &Path, options: &ReadOptions) -> Result<Coo, FileError> {
    parse_with(text, name, options, &Progress::none()).map(Coo::from)
}

fn parse_with(
    text: &[u8],
    path: &Path,
    options: &ReadOptions,
    progress: &Progress,
) -> Result<Columns, FileError> {
    let text = unmarked(text);
    let locate = |fault: Fault| fault.locate(path, text);
    let header = Header::parse(text).map_err(locate)?;
    if let (Some(stated), Some(given)) = (&header.shape, &options.shape)
        && stated != given
    {
        let expected = format!("the file states {stated:?}");
        return Err(FileError::tensor(path)(Error::Shape { found: given.clone(), expected }));
    }
    let shape = header.shape.or_else(|| options.shape.clone());
    entries(text, header.body, header.entries, shape, progress).map_err(locate)
}

/// Reads the entries from byte `start` on.
fn entries(
    text: &[u8],
    start: usize,
    declared: Option<usize>,
    shape: Option<Vec<usize>>,
    progress: &Progress,
) -> Result<Columns, Fault> {
    let first = Lines::new(text, start..text.len(), COMMENT).next();
    let extents: Vec<u64> = match (&shape, first) {
        (Some(shape), first) => {
            if let Some(first) = first {
                check_rank(&first, shape.len())?;
            }
            shape.iter().map(|&extent| (extent as u64).min(i64::MAX as u64)).collect()
        }
        (None, Some(first)) => {
            let rank = first.clone().words().count().saturating_sub(1);
            if rank == 0 {
                let reason = "an entry has at least one coordinate before its value";
                return Err(Fault::new(first.at(), reason));
            }
            vec![i64::MAX as u64; rank]
        }
        (None, None) => {
            let reason = "no entry, hence no shape: state it (`# shape 4x6x8`, or `--shape`)";
            return Err(Fault::new(text.len(), reason));
        }
    };
    let of = if shape.is_some() { "an entry" } else { "the first entry" };
    let words = Words { rank: extents.len(), value: &["value"], of };
    let body = Body::new(text, start, COMMENT, declared, words)?;
    let value = |line: &mut Line<'_>| real(line.expect("value")?);
    let columns = body.parse(&extents, value, &Reals, progress)?;
    let shape = shape.unwrap_or_else(|| {
        let largest = |column: &IndexColumn| {
            let extremes = column.extremes().expect("columns that were read are here");
            extremes.map_or(0, |(_, max)| max as usize + 1)
        };
        columns.crd.iter().map(largest).collect()
    });
    Ok(Columns { shape, crd: columns.crd, values: columns.values.into() })
}

/// Refuses a first entry whose number of tokens does not suit the rank.
fn check_rank(first: &Line<'_>, rank: usize) -> Result<(), Fault> {
    let found = first.clone().words().count();
    if found == rank + 1 {
        return Ok(());
    }
    let at = first.clone().token().map_or(first.at(), |t| t.at);
    let reason = format!(
        "an entry of {found} words in a tensor of rank {rank}: {} were expected, coordinates and \
         then the value",
        rank + 1
    );
    Err(Fault::new(at, reason))
}

/// The lines before the entries. `body` is the offset of the line after them.
struct Header {
    shape: Option<Vec<usize>>,
    entries: Option<usize>,
    body: usize,
}

impl Header {
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        let mut shape = None;
        let mut extended = false;
        for line in Lines::new(text, 0..text.len(), b"") {
            let Some(comment) = comment(&line) else { break };
            extended |= comment.to_ascii_lowercase().contains("extended frostt");
            shape = shape_comment(&line)?.or(shape);
        }
        if extended || is_extended(text) {
            return Self::extended(text);
        }
        Ok(Self { shape, entries: None, body: 0 })
    }

    /// The two lines of the extended header.
    fn extended(text: &[u8]) -> Result<Self, Fault> {
        let mut lines = Lines::new(text, 0..text.len(), COMMENT);
        let mut next = |what: &str| {
            let reason = format!("the file ends before the line with {what}");
            lines.next().ok_or_else(|| Fault::new(text.len(), reason))
        };
        let mut line = next("the rank and the number of entries")?;
        let rank = size(line.expect("rank")?, "rank")?;
        let entries = size(line.expect("number of entries")?, "number of entries")?;
        line.finish()?;
        // A tensor of rank 0 has no line of sizes.
        let mut shape = Vec::new();
        if rank > 0 {
            let mut line = next("the sizes of the dimensions")?;
            for _ in 0..rank {
                shape.push(size(line.expect("sizes")?, "size")?);
            }
            line.finish()?;
        }
        Ok(Self { shape: Some(shape), entries: Some(entries), body: lines.at() })
    }
}

/// The line, if it is a comment.
fn comment(line: &Line<'_>) -> Option<String> {
    let rest = line.rest();
    rest.first().filter(|b| COMMENT.contains(b)).map(|_| String::from_utf8_lossy(rest).into_owned())
}

/// The shape, if the line is a comment such as `# shape 4x6x8`.
fn shape_comment(line: &Line<'_>) -> Result<Option<Vec<usize>>, Fault> {
    let mut line = line.clone();
    let is = |word: Option<super::text::Token<'_>>, text| word.is_some_and(|w| w.is(text));
    if !is(line.token(), "#") || !is(line.token(), "shape") {
        return Ok(None);
    }
    let Some(token) = line.token() else { return Ok(Some(Vec::new())) };
    let sizes = token.bytes.split(|b| *b == b'x').map(|part| {
        std::str::from_utf8(part).ok()?.parse::<i64>().ok().and_then(|n| usize::try_from(n).ok())
    });
    match sizes.collect::<Option<Vec<usize>>>() {
        Some(shape) => line.finish().map(|()| Some(shape)),
        // Any other comment that begins with `# shape`.
        None => Ok(None),
    }
}

/// Whether the first lines can only be an extended header.
fn is_extended(text: &[u8]) -> bool {
    let mut lines = Lines::new(text, 0..text.len(), COMMENT);
    let whole = |line: Option<Line<'_>>| -> Option<Vec<u64>> {
        line?.words().map(|t| t.text()?.parse().ok()).collect()
    };
    let Some([rank, _]) = whole(lines.next()).as_deref().and_then(|w| <[u64; 2]>::try_from(w).ok())
    else {
        return false;
    };
    let Some(sizes) = whole(lines.next()) else { return false };
    let entry = lines.next().map(|line| line.words().count());
    sizes.len() as u64 == rank
        && (sizes.len() != 2 || entry == Some(3))
        && entry.is_none_or(|words| words as u64 == rank + 1)
}

/// Writes the entries in plain FROSTT, with the shape as a comment. The file is compressed if its name
/// ends in `.gz`. It is replaced whole or not at all.
///
/// # Errors
/// [`FileError::Unsupported`] for complex values; [`FileError::Tensor`] when the columns do not fit
/// together; [`FileError::Io`].
pub fn write(path: &Path, coo: &Coo) -> Result<(), FileError> {
    if coo.values.dtype().is_complex() {
        let reason = "FROSTT holds real values, these are complex: write .mtx, .npz or .ust.npz";
        return Err(FileError::unsupported(path, reason));
    }
    coo.check().map_err(FileError::tensor(path))?;
    let gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    sink::write_text(path, gzip, |mut out| write_to(&mut out, coo))
}

/// As [`write`](fn@write), to any stream, uncompressed. A complex value becomes two tokens.
///
/// # Errors
/// Errors of the stream.
pub fn write_to(out: &mut dyn Write, coo: &Coo) -> io::Result<()> {
    let sizes: Vec<String> = coo.shape.iter().map(usize::to_string).collect();
    writeln!(out, "{}", format!("# shape {}", sizes.join("x")).trim_end())?;
    with_dtype!(coo.values.dtype(), T => {
        let values = coo.values.expanded();
        let values = values.typed::<T>().map_err(io::Error::other)?;
        super::write_entries::write_entries(out, &coo.crd, "", values)
    })
}

#[cfg(test)]
mod tests;
