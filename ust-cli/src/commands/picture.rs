//! Pictures, written to a file or to standard output: SVG, or PNG made of it.

use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use crate::output::Output;
use crate::source::STANDARD;
use crate::target::has_folder;

/// A kind of picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
}

/// Whether it is standard output, which then has nothing else.
pub(super) fn is_standard_output(file: &Path) -> bool {
    file == Path::new(STANDARD)
}

/// Refuses a file that no picture can be written to, before anything is read.
pub(super) fn check(file: &Path, json: bool) -> Result<(), Failure> {
    if is_standard_output(file) && json {
        let message = "standard output can have the picture, or the object of --json: not both";
        return Err(Failure::input(message));
    }
    has_folder(file)?;
    match kind(file)? {
        Kind::Png if cfg!(not(feature = "png")) => {
            let message = "this program draws SVG alone: it was built without the feature `png`";
            Err(Failure::failed(message))
        }
        _ => Ok(()),
    }
}

/// The kind that the extension says.
fn kind(file: &Path) -> Result<Kind, Failure> {
    match file.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("png") => Ok(Kind::Png),
        Some(extension) if !extension.eq_ignore_ascii_case("svg") && !file.starts_with("/dev") => {
            let [svg, png] = ["svg", "png"].map(|kind| file.with_extension(kind));
            let message = format!("{}: pictures are SVG or PNG", file.display());
            let help = format!("call the file `{}` or `{}`", svg.display(), png.display());
            Err(Failure::input(message).help(help))
        }
        _ => Ok(Kind::Svg),
    }
}

/// Writes a picture.
pub(super) fn write(file: &Path, svg: &str, out: &mut Output) -> Result<(), Failure> {
    if is_standard_output(file) {
        return Ok(out.write_all(svg.as_bytes())?);
    }
    match kind(file)? {
        Kind::Svg => replace(file, svg.as_bytes()),
        Kind::Png => replace(file, &png::png(svg)?),
    }
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

#[cfg(not(feature = "png"))]
mod png {
    use crate::failure::Failure;

    pub(super) fn png(_: &str) -> Result<Vec<u8>, Failure> {
        Err(Failure::defect("a picture was to be PNG"))
    }
}

#[cfg(feature = "png")]
mod png {
    use std::io::Write;

    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree, fontdb};

    use crate::failure::Failure;

    /// Pixels for each pixel of the SVG: as many as good screens have.
    const SCALE: f32 = 2.0;

    /// The picture as PNG, with fonts of the system.
    pub(super) fn png(svg: &str) -> Result<Vec<u8>, Failure> {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        if !takes_monospaced(fonts) {
            // That nobody can read it changes nothing in the picture.
            let _ = writeln!(
                std::io::stderr(),
                "note: no font is installed here, so the picture has no text: install one, such as DejaVu Sans \
                 Mono, or write SVG, which has the text"
            );
        }
        let defect =
            |error: String| Failure::defect(&format!("the picture cannot be drawn: {error}"));
        let tree = Tree::from_str(svg, &options).map_err(|error| defect(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(SCALE);
        let pixels = size.and_then(|size| Pixmap::new(size.width(), size.height()));
        let Some(mut pixels) = pixels else {
            return Err(Failure::failed("the picture is too large for PNG").help("write SVG"));
        };
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| defect(error.to_string()))
    }

    /// Has `monospace` stand for a font that there is: one of even width, or else any. `false` if there is none.
    fn takes_monospaced(fonts: &mut fontdb::Database) -> bool {
        let found = fonts.faces().find(|face| face.monospaced).or_else(|| fonts.faces().next());
        let Some(family) = found.and_then(|face| face.families.first()) else { return false };
        let family = family.0.clone();
        fonts.set_monospace_family(family);
        true
    }
}
