//! The formats of the matrix: the engine's named ones that suit a tensor, those that level types offer for it,
//! and any given by the user.

use ust::format::named::{NamedFormat, named};
use ust::format::{Bound, FormatError};
use ust::{Coo, Format};

use super::input::Input;

/// A stored element that stands for padding costs as much as one that does not: formats with so
/// many times the entries are left out.
const MOST_PADDING: u64 = 10;
/// Formats that take no more than so many stored elements are tried in any case.
const ALWAYS: u64 = 1 << 23;

/// Every named format of this rank, blocks being 4 in each direction.
fn all(rank: usize) -> Vec<String> {
    let text = |format: &NamedFormat| match format.parameters {
        [] => format.name.to_owned(),
        ["d"] => format!("{}({rank})", format.name),
        ["n", "m"] => format.example.to_owned(),
        ["c", "s"] => format!("{}(8, 1048576)", format.name),
        several => format!("{}({})", format.name, vec!["4"; several.len()].join(",")),
    };
    named().map(text).collect()
}

/// The formats for a tensor: of those wanted or, where none are, of all named and offered ones.
pub(crate) fn suitable(input: &Input, wanted: &[String]) -> Vec<(String, Format)> {
    let coo = &input.coo;
    let rank = coo.shape.len();
    let texts = match wanted {
        [] => [&all(rank), input.offered()].concat(),
        wanted => wanted.to_vec(),
    };
    let mut found: Vec<(String, Format)> = Vec::new();
    for text in texts {
        let Ok(format) = Format::resolve(&text, Some(rank)) else { continue };
        let known = found.iter().any(|(_, other)| *other == format);
        if format.rank() == rank && !known && (!wanted.is_empty() || fits(coo, &format)) {
            found.push((label(&format, text), format));
        }
    }
    found
}

/// Whether each text is that of a format, of some rank.
pub(crate) fn are_known(wanted: &[String]) -> Result<(), FormatError> {
    let known = |text: &String| Format::resolve(text, None).map(drop);
    wanted.iter().try_for_each(known)
}

/// The name of a format that has one, with its widths where they are not the usual ones; else its
/// text.
fn label(format: &Format, text: String) -> String {
    let widths = [("posWidth", format.pos_width()), ("crdWidth", format.crd_width())];
    let widths = widths.into_iter().filter(|&(_, bits)| bits > 0);
    let with = |name, (width, bits)| format!("{name}, {width} = {bits}");
    format.name().map_or(text, |name| widths.fold(name, with))
}

/// Whether the format of this name suits a tensor.
pub(crate) fn suits(coo: &Coo, name: &str) -> bool {
    let rank = coo.shape.len();
    let format = Format::resolve(name, Some(rank));
    format.is_ok_and(|format| format.rank() == rank && fits(coo, &format))
}

/// Whether the tensor takes a bearable number of stored elements and positions in the format.
fn fits(coo: &Coo, format: &Format) -> bool {
    let Ok(bound) = format.bind(&coo.shape) else { return false };
    let most = (MOST_PADDING * coo.len() as u64).max(ALWAYS);
    let sizes: Vec<u64> = bound.levels().iter().map(|level| level.size).collect();
    let product = |sizes: &[u64]| sizes.iter().fold(1_u64, |all, &n| all.saturating_mul(n));
    // Full levels in front have a position for each coordinate.
    let leading = format.descriptions().iter().take_while(|level| level.props.full).count();
    let tail = format.tail();
    if leading == sizes.len() || tail == 0 {
        return product(&sizes) <= most;
    }
    if product(&sizes[..leading]) > most {
        return false;
    }
    let block = product(&sizes[tail..]);
    // With nothing full at the end, what is stored is what there is.
    tail == sizes.len() || prefixes(coo, &bound, tail, most / block).is_some()
}

/// The number of different level coordinates in front of the tail, where it is not above `most`.
fn prefixes(coo: &Coo, bound: &Bound, tail: usize, most: u64) -> Option<u64> {
    let mut dims = vec![0; coo.shape.len()];
    let mut keys = Vec::with_capacity(coo.len());
    for at in 0..coo.len() {
        for (dim, column) in dims.iter_mut().zip(&coo.crd) {
            *dim = column[at];
        }
        let levels = bound.format().dim2lvl(&dims)?;
        let digits = levels.into_iter().zip(bound.levels()).take(tail);
        keys.push(digits.fold(0_u128, |key, (crd, level)| {
            key.wrapping_mul(level.size.into()).wrapping_add((crd - level.lower) as u128)
        }));
    }
    keys.sort_unstable();
    keys.dedup();
    Some(keys.len() as u64).filter(|&count| count <= most)
}
