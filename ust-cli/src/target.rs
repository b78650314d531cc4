//! Where a tensor is written to: a file, or standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ust::io::{FileError, Kind};

use crate::args::KINDS;
use crate::failure::Failure;
use crate::output::Output;
use crate::source::STANDARD;

/// Refuses a file whose folder is missing, before what it is to hold is computed.
pub(crate) fn has_folder(file: &Path) -> Result<(), Failure> {
    match file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        None => Ok(()),
        Some(folder) => {
            let (file, folder) = (file.display(), folder.display());
            Err(Failure::failed(format!("{file}: cannot write: there is no folder `{folder}`"))
                .help("make it first, or write elsewhere"))
        }
    }
}

/// A file to write, or standard output.
pub(crate) struct Target<'a> {
    file: &'a Path,
    /// The kind of what is written to standard output.
    kind: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Refuses what cannot be written, before anything is read. With `--json`, standard output has an object.
    pub(crate) fn new(file: &'a Path, to: Option<&'a str>, json: bool) -> Result<Self, Failure> {
        match (file == Path::new(STANDARD), to) {
            (true, None) => {
                let message = "`-` is standard output, and nothing says what kind of file to write";
                Err(Failure::input(message)
                    .help(format!("say `--to mtx`, for one; the kinds are {KINDS}")))
            }
            (true, Some(_)) if json => Err(Failure::input(
                "standard output can have the tensor, or the object of --json: not both",
            )),
            (true, kind) => Ok(Self { file, kind }),
            (false, Some(_)) => Err(Failure::input(
                "--to is the kind of `-`; the extension says what kind a file has",
            )),
            (false, None) => {
                Kind::of(file)?;
                has_folder(file)?;
                Ok(Self { file, kind: None })
            }
        }
    }

    /// Whether it is standard output, which then has nothing else.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.kind.is_some()
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(
        &self,
        out: &mut Output,
        write: impl FnOnce(&Path) -> Result<(), FileError>,
    ) -> Result<(), Failure> {
        let Some(kind) = self.kind else { return Ok(write(self.file)?) };
        let failed =
            |error: io::Error| Failure::failed(format!("standard output: cannot write: {error}"));
        let folder = tempfile::tempdir().map_err(failed)?;
        let file: PathBuf = folder.path().join(format!("out.{kind}"));
        write(&file).map_err(|error| error.of("standard output".as_ref()))?;
        io::copy(&mut std::fs::File::open(&file).map_err(failed)?, out)?;
        Ok(out.flush()?)
    }
}
