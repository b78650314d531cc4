//! Pictures, written to a file or to standard output.

use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use crate::output::Output;
use crate::source::STANDARD;

/// Whether it is standard output, which then has nothing else.
pub(super) fn is_standard_output(file: &Path) -> bool {
    file == Path::new(STANDARD)
}

/// Refuses a file whose extension promises something else than a picture.
pub(super) fn check(file: &Path, json: bool) -> Result<(), Failure> {
    if is_standard_output(file) {
        return match json {
            true => Err(Failure::input(
                "standard output can have the picture, or the object of --json: not both",
            )),
            false => Ok(()),
        };
    }
    match file.extension() {
        Some(extension) if !extension.eq_ignore_ascii_case("svg") && !file.starts_with("/dev") => {
            let name = file.with_extension("svg");
            let message = format!("{}: what is written is SVG", file.display());
            Err(Failure::input(message).help(format!("call the file `{}`", name.display())))
        }
        _ => Ok(()),
    }
}

/// Writes a picture.
pub(super) fn write(file: &Path, svg: &str, out: &mut Output) -> Result<(), Failure> {
    if is_standard_output(file) {
        return Ok(out.write_all(svg.as_bytes())?);
    }
    replace(file, svg.as_bytes())
}

/// Replaces a file whole or not at all.
fn replace(file: &Path, content: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("{}: cannot write: {error}", file.display()));
    // What is no regular file, such as a pipe, is written to and not replaced.
    if std::fs::metadata(file).is_ok_and(|known| !known.is_file()) {
        return std::fs::write(file, content).map_err(failed);
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = file.with_file_name(name);
    std::fs::write(&part, content).and_then(|()| std::fs::rename(&part, file)).map_err(|error| {
        // Nothing is left of it; that it cannot be removed is no further news.
        let _ = std::fs::remove_file(&part);
        failed(error)
    })
}
