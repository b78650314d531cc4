//! `ust show`: everything that a tensor stores, drawn or as JSON.

use std::io::{IsTerminal, Write};
use std::path::Path;

use ust::draw::{SvgOptions, Text, TextOptions, svg_of_composed};

use crate::args::Show;
use crate::failure::Failure;
use crate::output::Output;
use crate::{json, source};

pub(crate) fn run(args: &Show, out: &mut Output) -> Result<(), Failure> {
    args.svg.as_deref().map_or(Ok(()), is_svg)?;
    let tensor = source::composed(
        &args.tensor,
        args.shape.as_ref(),
        args.format.as_deref(),
        args.memory_limit,
    )?;
    if let Some(file) = &args.svg {
        replace(file, &svg_of_composed(&tensor, &SvgOptions::default())?)?;
    }
    if args.json {
        json::composed(out, &tensor)?;
        writeln!(out)?;
    } else if let Some(file) = &args.svg {
        writeln!(out, "wrote {}", file.display())?;
    } else {
        writeln!(out, "{}", Text::of_composed(&tensor, &for_this_terminal())?)?;
    }
    Ok(())
}

/// Colours where a terminal shows them and nobody objects (`NO_COLOR`), in the width that
/// `COLUMNS` gives.
fn for_this_terminal() -> TextOptions {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|objection| !objection.is_empty());
    let color = std::io::stdout().is_terminal() && !plain;
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let default = TextOptions::default();
    let width = columns.unwrap_or(default.width).clamp(40, 1000);
    TextOptions { color, width, ..default }
}

/// Refuses to write SVG into a file whose extension promises something else.
pub(super) fn is_svg(file: &Path) -> Result<(), Failure> {
    match file.extension() {
        Some(extension) if !extension.eq_ignore_ascii_case("svg") && !file.starts_with("/dev") => {
            let name = file.with_extension("svg");
            let message = format!("{}: what is written is SVG", file.display());
            Err(Failure::input(message).help(format!("call the file `{}`", name.display())))
        }
        _ => Ok(()),
    }
}

/// Replaces a file whole or not at all.
pub(super) fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("{}: cannot write: {error}", file.display()));
    // What is no regular file, such as a pipe, is written to and not replaced.
    if std::fs::metadata(file).is_ok_and(|known| !known.is_file()) {
        return std::fs::write(file, text).map_err(failed);
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = file.with_file_name(name);
    std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, file)).map_err(|error| {
        // Nothing is left of it; that it cannot be removed is no further news.
        let _ = std::fs::remove_file(&part);
        failed(error)
    })
}
