//! Reading files, and unpacking them under a limit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use ust_level_api::Buffer;
use ust_level_api::ir::parallel;

use super::polled::Polled;
use super::{FileError, ReadOptions};

/// The first bytes of a file compressed with gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The whole text of a file.
///
/// # Errors
/// [`FileError::Io`] when the system refuses; [`FileError::Binary`] when the compressed data are
/// damaged; [`FileError::Unsupported`] when they unpack beyond the limit, or when the file is
/// compressed but its name does not say so.
pub(super) fn read_text(
    path: &Path,
    gzip: bool,
    options: &ReadOptions,
) -> Result<Buffer<u8>, FileError> {
    let packed = read_bytes(path).map_err(FileError::io(path, "read"))?;
    if gzip {
        return Ok(unpack(path, &packed, options)?.into());
    }
    if packed.starts_with(GZIP) {
        let reason = "the file is compressed with gzip: give it a name that ends in `.gz`";
        return Err(FileError::unsupported(path, reason));
    }
    Ok(packed)
}

/// The lines that a text begins with: until so many of them are neither blank nor start as a comment does.
pub(super) fn first_lines(
    path: &Path,
    gzip: bool,
    comment: &[u8],
    count: usize,
) -> Result<Vec<u8>, FileError> {
    /// Bytes of comments and lines, at most.
    const MOST: u64 = 16 << 20;
    let file = File::open(path).map_err(FileError::io(path, "read"))?;
    let mut reader: Box<dyn BufRead> = match gzip {
        true => Box::new(BufReader::new(MultiGzDecoder::new(file).take(MOST))),
        false => Box::new(BufReader::new(file.take(MOST))),
    };
    let (mut text, mut found) = (Vec::new(), 0);
    while found < count {
        let begin = text.len();
        let read = reader.read_until(b'\n', &mut text).map_err(FileError::io(path, "read"))?;
        if read == 0 {
            break;
        }
        let line = super::text::unmarked(&text[begin..]).trim_ascii_start();
        found += usize::from(line.first().is_some_and(|first| !comment.contains(first)));
    }
    Ok(text)
}

/// The content of a file. The buffer may reuse memory of freed buffers.
fn read_bytes(path: &Path) -> io::Result<Buffer<u8>> {
    let mut file = File::open(path)?;
    let size = usize::try_from(file.metadata()?.len()).map_err(|_| ErrorKind::OutOfMemory)?;
    // If the memory is too small, this is an error; the allocation of the buffer would abort the
    // program.
    Vec::<u8>::new().try_reserve_exact(size)?;
    let mut bytes = Buffer::unspecified(size);
    let filled = fill_in_parallel(&mut file, bytes.make_mut())?;
    let mut more = Vec::new();
    // Pipes and devices report no size, and a file may change while it is read.
    if file.read_to_end(&mut more)? == 0 && filled == size {
        return Ok(bytes);
    }
    Ok([&bytes[..filled], &more].concat().into())
}

/// Bytes that one thread reads at a time.
#[cfg(unix)]
const PART_BYTES: usize = 4 << 20;

/// As [`fill`], by all threads, from the start of a file. Leaves the file's cursor after the bytes
/// read.
#[cfg(unix)]
fn fill_in_parallel(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    use std::io::{Seek, SeekFrom};
    use std::os::unix::fs::FileExt;

    /// Reads a file from an offset on.
    struct FileFrom<'a>(&'a File, u64);

    impl Read for FileFrom<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read_at(to, self.1)?;
            self.1 += read as u64;
            Ok(read)
        }
    }

    // A single part needs no second thread. Pipes, which cannot be read at an offset, have size 0 here.
    if bytes.len() <= PART_BYTES {
        return fill(file, bytes);
    }
    let read = |at: usize, part: &mut [u8]| {
        let read = fill(&mut FileFrom(file, (at * PART_BYTES) as u64), part)?;
        Ok((read, read == part.len()))
    };
    let parts = parallel::map_items(bytes.chunks_mut(PART_BYTES), read);
    let parts: Vec<(usize, bool)> = parts.into_iter().collect::<io::Result<_>>()?;
    // The file ends in the first part that was not filled.
    let whole = parts.iter().take_while(|(_, whole)| *whole).count();
    let filled = parts[..parts.len().min(whole + 1)].iter().map(|(read, _)| read).sum();
    file.seek(SeekFrom::Start(filled as u64))?;
    Ok(filled)
}

#[cfg(not(unix))]
fn fill_in_parallel(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    fill(file, bytes)
}

/// Reads until `bytes` is full or the input ends. Returns the number of bytes read.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    let mut from = Polled(from);
    while filled < bytes.len() {
        match from.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn unpack(path: &Path, packed: &[u8], options: &ReadOptions) -> Result<Vec<u8>, FileError> {
    let limit = options.unpacked_limit(packed.len() as u64);
    let mut text = Vec::new();
    Polled(MultiGzDecoder::new(packed))
        .take(limit.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(|error| match error.kind() {
            ErrorKind::OutOfMemory => FileError::io(path, "unpack (gzip)")(error),
            // The packed bytes are in memory, so any other error is in their content.
            _ => {
                let reason = format!("no gzip data, or damaged or cut short: {error}");
                FileError::binary(path, reason)
            }
        })?;
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

/// Opens a regular file for reading. Returns its size in bytes, too.
pub(super) fn open(path: &Path) -> Result<(File, u64), FileError> {
    let file = File::open(path).map_err(FileError::io(path, "open"))?;
    let metadata = file.metadata().map_err(FileError::io(path, "read"))?;
    if !metadata.is_file() {
        return Err(FileError::unsupported(path, "not a regular file"));
    }
    Ok((file, metadata.len()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn long_files_are_read_whole_from_their_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        for length in [0, 1, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (9 << 20) + 77] {
            let bytes: Vec<u8> =
                (0..length as u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            assert!(read_bytes(&path).unwrap()[..] == bytes[..]);
            // A file that becomes longer, or shorter, while it is read.
            for size in [length / 2, length + 5000] {
                let mut file = File::open(&path).unwrap();
                let mut to = vec![7; size];
                let filled = fill_in_parallel(&mut file, &mut to).unwrap();
                assert!(filled == size.min(length) && to[..filled] == bytes[..filled]);
                let mut more = Vec::new();
                file.read_to_end(&mut more).unwrap();
                assert!(more == bytes[filled..]);
            }
        }
    }

    #[test]
    fn damaged_gzip_data_are_bad_input_and_bombs_stop_at_the_limit() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&[b'\n'; 5000]).unwrap();
        let good = packer.finish().unwrap();
        let path = Path::new("a.mtx.gz");
        let options = ReadOptions::default();
        assert_eq!(unpack(path, &good, &options).unwrap().len(), 5000);
        for bad in [&good[..0], &good[..5], &good[..good.len() - 9], &good[1..], b"hello"] {
            let error = unpack(path, bad, &options).unwrap_err();
            assert!(matches!(error, FileError::Binary { .. }), "{error:?}");
        }
        let error = unpack(path, &good, &options.with_max_bytes(4999)).unwrap_err();
        assert!(matches!(error, FileError::Unsupported { .. }), "{error:?}");
    }
}
