//! Reading and writing archives of arrays.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use ust_engine::tensor::Values;
use ust_level_api::Dtype;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::super::npy::{self, Content};
use super::super::polled::Polled;
use super::super::{DenseArray, FileError, ReadOptions};

/// The most bytes that one byte of deflated data can unpack to, rounded up.
const DEFLATE_RATIO: u64 = 1040;

/// A member of an archive.
#[derive(Clone, Debug, PartialEq)]
pub enum Member {
    /// Numbers.
    Array(DenseArray),
    /// One text.
    Text(String),
}

impl From<DenseArray> for Member {
    fn from(array: DenseArray) -> Self {
        Self::Array(array)
    }
}

impl From<Values> for Member {
    fn from(values: Values) -> Self {
        Self::Array(DenseArray::vector(values))
    }
}

impl From<&str> for Member {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Named arrays and texts, in the order of the archive. Names are without `.npy`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members(Vec<(String, Member)>);

impl Members {
    /// No members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member, or replaces the one of the same name.
    pub fn insert(&mut self, name: impl Into<String>, member: impl Into<Member>) {
        let (name, member) = (name.into(), member.into());
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = member,
            None => self.0.push((name, member)),
        }
    }

    /// The member of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Member> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, member)| member)
    }

    /// Takes the member of that name out.
    pub fn remove(&mut self, name: &str) -> Option<Member> {
        let at = self.0.iter().position(|(other, _)| other == name)?;
        Some(self.0.remove(at).1)
    }

    /// Names and members by value, in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<(String, Member)> {
        self.0
    }

    /// Names and members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Member)> {
        self.0.iter().map(|(name, member)| (&name[..], member))
    }
}

/// Reads every member of an archive of `bytes` bytes.
pub(super) fn read(
    from: impl Read + Seek,
    bytes: u64,
    path: &Path,
    options: &ReadOptions,
) -> Result<Members, FileError> {
    let mut zip = ZipArchive::new(from).map_err(|e| damaged(path, None, e))?;
    if zip.has_duplicate_names() {
        return Err(FileError::binary(path, "the archive has several members of one name"));
    }
    let limit = options.archive_limit();
    let mut left = limit;
    let mut members = Members::new();
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).map_err(|e| damaged(path, None, e))?;
        let full = file.name().map_err(|e| damaged(path, None, e))?.into_owned();
        let Some(name) = full.strip_suffix(".npy") else {
            let reason = format!("member `{}` is no array (.npy)", full.escape_debug());
            return Err(FileError::unsupported(path, reason));
        };
        let declared = file.size();
        if declared
            > file.compressed_size().min(bytes).saturating_mul(DEFLATE_RATIO).saturating_add(64)
        {
            let reason = format!("{declared} bytes cannot come of so few compressed ones");
            let member = Some(name.to_owned());
            return Err(FileError::Binary { path: path.to_owned(), member, reason });
        }
        left = left.checked_sub(declared).ok_or_else(|| {
            let reason = format!(
                "the archive of {bytes} bytes unpacks to more than {limit}, as a decompression \
                 bomb does: raise `max_bytes` if it is none"
            );
            FileError::unsupported(path, reason)
        })?;
        let mut content = Polled((&mut file).take(declared));
        let member = npy::read_from(&mut content, declared).map_err(|e| e.at(path, Some(name)))?;
        // The checksum is verified when reading reaches the end.
        let end = file.read(&mut [0]).map_err(|e| npy::Invalid::Io(e).at(path, Some(name)))?;
        if end != 0 {
            let reason = format!("more than the {declared} bytes that the archive declares");
            return Err(npy::Invalid::Malformed(reason).at(path, Some(name)));
        }
        members.0.push((
            name.to_owned(),
            match member {
                Content::Array(array) => Member::Array(array),
                Content::Text(text) => Member::Text(text),
            },
        ));
    }
    Ok(members)
}

/// What an archive says of a member before its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) name: String,
    /// None for a text.
    pub(crate) dtype: Option<Dtype>,
    pub(crate) shape: Vec<usize>,
    /// The whole member, where it is small.
    pub(crate) content: Option<Member>,
}

/// Members of at most so many bytes are read whole.
const SMALL: u64 = 1 << 16;

/// Reads the headers of the members of an archive of `bytes` bytes, and small members.
pub(super) fn look(from: impl Read + Seek, path: &Path) -> Result<Vec<Told>, FileError> {
    let mut zip = ZipArchive::new(from).map_err(|e| damaged(path, None, e))?;
    let mut all = Vec::new();
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).map_err(|e| damaged(path, None, e))?;
        let full = file.name().map_err(|e| damaged(path, None, e))?.into_owned();
        let Some(name) = full.strip_suffix(".npy").map(str::to_owned) else { continue };
        let declared = file.size();
        let told = match declared <= SMALL {
            true => {
                let mut whole = (&mut file).take(declared);
                let member = npy::read_from(&mut whole, declared);
                match member.map_err(|e| e.at(path, Some(&name)))? {
                    Content::Array(array) => Told {
                        name,
                        dtype: Some(array.values.dtype()),
                        shape: array.shape.clone(),
                        content: Some(Member::Array(array)),
                    },
                    Content::Text(text) => Told {
                        name,
                        dtype: None,
                        shape: Vec::new(),
                        content: Some(Member::Text(text)),
                    },
                }
            }
            false => {
                let told = npy::look_at(&mut (&mut file).take(SMALL), declared);
                let (dtype, shape) = told.map_err(|e| e.at(path, Some(&name)))?;
                Told { name, dtype, shape, content: None }
            }
        };
        all.push(told);
    }
    Ok(all)
}

fn damaged(path: &Path, member: Option<&str>, error: ZipError) -> FileError {
    match error {
        ZipError::Io(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
            npy::Invalid::Io(source).at(path, member)
        }
        ZipError::UnsupportedArchive(reason) => {
            FileError::unsupported(path, format!("the archive cannot be read: {reason}"))
        }
        other => {
            npy::Invalid::Malformed(format!("no readable zip archive: {other}")).at(path, member)
        }
    }
}

/// Whether NumPy can hold every member.
pub(super) fn check(members: &Members) -> Result<(), String> {
    for (name, member) in members.iter() {
        if let Member::Array(array) = member {
            npy::check(array).map_err(|reason| format!("member `{name}`: {reason}"))?;
        }
    }
    Ok(())
}

/// Writes the members, compressed. They have no date, so the same members give the same bytes.
pub(super) fn write(out: impl Write + Seek, members: &Members) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    for (name, member) in members.iter() {
        let bytes = match member {
            Member::Array(array) => array.values.bytes() as u64,
            Member::Text(text) => 4 * text.len() as u64,
        };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            // A size of 4 GiB or more needs a wider field, which must be chosen beforehand.
            .large_file(bytes.saturating_add(1 << 20) > u64::from(u32::MAX));
        zip.start_file(format!("{name}.npy"), options)?;
        match member {
            Member::Array(array) => npy::write_to(&mut Polled(&mut zip), array)?,
            Member::Text(text) => npy::write_text_to(&mut zip, text)?,
        }
    }
    zip.finish()?.flush()
}
