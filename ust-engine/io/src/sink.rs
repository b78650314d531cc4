//! Files written whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::{Compression, write::GzEncoder};

use super::FileError;

/// Writes a file atomically: first a temporary file in the same folder, which is then renamed. After a
/// failure, the old file is unchanged. A link to a file is followed; a device or a pipe is written to
/// directly.
///
/// # Errors
/// [`FileError::Io`]; or the error of `content`.
pub(super) fn write<E>(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<(), FileError>
where
    E: Into<Failure>,
{
    let failed = |failure: Failure| match failure {
        Failure::Io(source) => FileError::io(path, "write")(source),
        Failure::File(error) => error,
    };
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|m| !m.is_file() && !m.is_dir()) {
        let device =
            File::options().write(true).open(&target).map_err(FileError::io(path, "write"))?;
        return fill(&device, content).map_err(failed);
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ust-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of any new file; the system removes those of the user's mask.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder
        .tempfile_in(folder)
        .map_err(|error| FileError::io(path, "write")(create_error(folder, &error)))?;
    fill(temporary.as_file(), content).map_err(failed)?;
    if let Some(existing) = existing {
        // The error is ignored: the content of the file is right, whoever may read it.
        let _ = fs::set_permissions(temporary.path(), existing.permissions());
    }
    temporary.persist(&target).map_err(|e| FileError::io(path, "write")(e.error))?;
    Ok(())
}

/// The error when the temporary file cannot be created. It leaves out the name, which means nothing to
/// the user.
fn create_error(folder: &Path, error: &io::Error) -> io::Error {
    let name = folder.display();
    let reason = match fs::metadata(folder) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
            format!("there is no folder `{name}`: make it first, or write elsewhere")
        }
        Ok(found) if !found.is_dir() => format!("`{name}` is no folder: write elsewhere"),
        _ => {
            // The error's text is the system's reason, followed by the temporary name.
            let error = error.to_string();
            let system = error.split(" at path ").next().unwrap_or(&error);
            format!("no file can be made in the folder `{name}`: {system}")
        }
    };
    io::Error::new(error.kind(), reason)
}

fn fill<E: Into<Failure>>(
    file: &File,
    content: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 18, file);
    content(&mut out).map_err(Into::into)?;
    out.flush().map_err(Into::into)
}

/// Why content could not be written.
pub(super) enum Failure {
    /// The system refused.
    Io(io::Error),
    /// The kind of file cannot hold the content.
    File(FileError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// Writes a text file, compressed with gzip or not.
pub(super) fn write_text(
    path: &Path,
    gzip: bool,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    write(path, |out| {
        if gzip {
            let mut packed = GzEncoder::new(out, Compression::default());
            content(&mut packed)?;
            packed.finish()?;
            Ok::<(), io::Error>(())
        } else {
            content(out)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_the_folder_is_told_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        for (name, expected) in [
            ("nosuch/a.mtx", "nosuch`: make it first"),
            ("nosuch/deep/a.mtx", "nosuch/deep`: make it first"),
            ("file/a.mtx", "file` is no folder"),
        ] {
            let path = folder.path().join(name);
            for gzip in [false, true] {
                let error = write_text(&path, gzip, |_| Ok(())).unwrap_err().to_string();
                let start = format!("{}: cannot write: ", path.display());
                assert!(error.starts_with(&start) && error.contains(expected), "{error}");
                assert!(!error.contains(".ust-"), "{error}");
            }
        }
    }

    /// The folder exists, but no file can be created in it.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_s_reason_comes_without_the_made_up_name() {
        let path = Path::new("/proc/a.mtx");
        let error = write_text(path, false, |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("can be made in the folder `/proc`: "), "{error}");
        assert!(error.contains("os error") && !error.contains(".ust-"), "{error}");
    }
}
