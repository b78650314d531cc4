//! A tensor from a file or a generator, and formats by name or text.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ust::format::Composition;
use ust::io::ReadOptions;
use ust::tensor::BuildOptions;
use ust::tensor::memory::default_limit;
use ust::{Composed, Coo, Format, Tensor, generate, io};

use crate::args::{KINDS, Reading, Shape};
use crate::failure::Failure;

/// What stands for standard input, and for standard output.
pub(crate) const STANDARD: &str = "-";

/// Whether a text names a generator, and no file.
pub(crate) fn is_generated(text: &str) -> bool {
    text.trim_start().starts_with(generate::PREFIX)
}

/// Reads the file, or makes the generated tensor, and stores it in the format where one is given, in
/// so many bytes at most.
pub(crate) fn tensor(
    text: &str,
    shape: Option<&Shape>,
    format: Option<&str>,
    reading: &Reading,
) -> Result<Tensor, Failure> {
    let limit = reading.limit();
    if is_generated(text) {
        let coo = generate::generate(text)?;
        if let Some(Shape(shape)) = shape.filter(|shape| shape.0 != coo.shape) {
            let made = crate::text::shape(&coo.shape);
            let asked = crate::text::shape(shape);
            return Err(Failure::input(format!("`{text}` has the shape {made}, not {asked}")));
        }
        let format = match format {
            Some(text) => resolve(text, coo.shape.len())?,
            None => natural(&coo)?,
        };
        let options = BuildOptions { memory_limit: limit, ..Default::default() };
        return Ok(Tensor::from_coo_with(&coo, &format, &options)?);
    }
    let fixed = format.map(|text| of_one_rank(text, shape)).transpose()?.flatten();
    let mut options = options(shape, reading);
    if let Some(format) = &fixed {
        options = options.with_format(format.clone());
    }
    let tensor = at_path(text, reading, |path| io::read(path, &options))?;
    match format {
        Some(text) if fixed.is_none() => {
            Ok(tensor.convert_within(&resolve(text, tensor.rank())?, limit)?)
        }
        _ => Ok(tensor),
    }
}

/// As [`tensor`], and the parts of a composed tensor stay apart. The format may be the text of a composition.
pub(crate) fn composed(
    text: &str,
    shape: Option<&Shape>,
    format: Option<&str>,
    reading: &Reading,
) -> Result<Composed, Failure> {
    if let Some(asked) = format {
        return match composition(asked)? {
            true => {
                let given = tensor(text, shape, None, reading)?;
                Ok(Composed::split(&given, &Composition::resolve(asked, Some(given.rank()))?)?)
            }
            false => Ok(tensor(text, shape, format, reading)?.into()),
        };
    }
    if is_generated(text) {
        return Ok(tensor(text, shape, None, reading)?.into());
    }
    let options = options(shape, reading);
    at_path(text, reading, |path| io::read_composed(path, &options))
}

impl Reading {
    /// Bytes that the work may take.
    pub(crate) fn limit(&self) -> u64 {
        self.memory_limit.unwrap_or_else(default_limit)
    }

    /// Refuses `--from` where no tensor is standard input.
    pub(crate) fn is_for(&self, tensors: &[String]) -> Result<(), Failure> {
        match &self.from {
            Some(kind) if tensors.iter().all(|text| text != STANDARD) => {
                let message = "--from is the kind of `-`; the extension says what kind a file has";
                let help = format!(
                    "rename the file, or have it as standard input: `- --from {kind} < FILE`"
                );
                Err(Failure::input(message).help(help))
            }
            _ => Ok(()),
        }
    }
}

fn options(shape: Option<&Shape>, reading: &Reading) -> ReadOptions {
    let options = ReadOptions::default()
        .with_progress(std::io::stderr().is_terminal())
        .with_memory_limit(reading.limit());
    match shape {
        Some(Shape(shape)) => options.with_shape(shape.clone()),
        None => options,
    }
}

/// Reads a file by its name. What comes from standard input is put into a file first: kinds of files such as archives
/// are not read from the front to the back.
pub(crate) fn at_path<T>(
    text: &str,
    reading: &Reading,
    read: impl FnOnce(&Path) -> Result<T, io::FileError>,
) -> Result<T, Failure> {
    match text {
        "" => Err(Failure::input("no file has an empty name")),
        STANDARD => {
            let folder = received(reading)?;
            let file = folder.path().join(received_as(reading));
            Ok(read(&file).map_err(|error| error.of("standard input".as_ref()))?)
        }
        _ => read(Path::new(text)).map_err(|error| {
            let failure = Failure::from(error);
            let looks_generated = text.ends_with(')') && !Path::new(text).exists();
            match looks_generated {
                true => failure.help(format!("a generated tensor is written `gen:{text}`")),
                false => failure,
            }
        }),
    }
}

fn received_as(reading: &Reading) -> String {
    format!("in.{}", reading.from.as_deref().unwrap_or_default())
}

/// A folder with the file that standard input has. It goes with what is returned.
fn received(reading: &Reading) -> Result<tempfile::TempDir, Failure> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if reading.from.is_none() {
        return Err(Failure::input(
            "`-` is standard input, and nothing says what kind of file that is",
        )
        .help(format!("say `--from mtx`, for one; the kinds are {KINDS}")));
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(Failure::input("standard input is read once: one tensor alone can be `-`"));
    }
    let failed = |error| Failure::failed(format!("standard input: cannot read: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    let file = std::fs::File::create(folder.path().join(received_as(reading)));
    file.and_then(|mut file| std::io::copy(&mut std::io::stdin().lock(), &mut file))
        .map_err(failed)?;
    Ok(folder)
}

/// Whether this is the text of several parts.
pub(crate) fn composition(text: &str) -> Result<bool, Failure> {
    match Composition::resolve(text, None) {
        Ok(composition) => Ok(composition.only().is_none()),
        // Some formats are read for a rank alone.
        Err(_) if Format::resolve(text, None).is_ok() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The format, where it can be known before the tensor is: a reader then puts entries into it
/// directly, so that a nonunique format sees the duplicates of the file. `None` for a name that
/// stands for a format of each rank.
fn of_one_rank(text: &str, shape: Option<&Shape>) -> Result<Option<Format>, Failure> {
    if let Some(Shape(shape)) = shape {
        return Ok(Some(resolve(text, shape.len())?));
    }
    let format = Format::resolve(text, None)?;
    let of_every_rank = [1, 2].iter().all(|&rank| Format::resolve(text, Some(rank)).is_ok());
    Ok((!of_every_rank).then_some(format))
}

/// The format of this name or text, for tensors of this rank.
pub(crate) fn resolve(text: &str, rank: usize) -> Result<Format, Failure> {
    Ok(Format::resolve(text, Some(rank))?)
}

/// How a generated tensor is stored where nobody asks for a format: all cells where all are
/// entries, else coordinates.
fn natural(coo: &Coo) -> Result<Format, Failure> {
    let cells = coo.shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
    let name = if cells == Some(coo.len()) { "Dense" } else { "COO" };
    resolve(name, coo.shape.len())
}
