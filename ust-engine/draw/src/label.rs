//! Short texts of numbers, shapes and places.

use ust_format::DimSpec;
use ust_level_api::{IndexArray, Scalar};

use super::picture::{Picture, Place, State};

/// What is said of values of which one is stored.
pub(super) const ISO: &str = ", one for all";

/// A value in at most `width` characters, or 5 if `width` is less: exact if it fits, else rounded.
/// Complex values may take twice as many.
pub(super) fn short(value: &Scalar, width: usize) -> String {
    let text = value.to_string();
    let width = width.max(5);
    match value {
        _ if text.chars().count() <= width => text,
        Scalar::Complex64(v) => complex(f64::from(v.re), f64::from(v.im), width),
        Scalar::Complex128(v) => complex(v.re, v.im, width),
        _ => text.parse().map_or_else(|_| cut(&text, width), |number| real(number, width)),
    }
}

fn complex(re: f64, im: f64, width: usize) -> String {
    let im = real(im, width);
    let plus = if im.starts_with(['-', '+']) { "" } else { "+" };
    format!("{}{plus}{im}i", real(re, width))
}

/// The most precise text of a number that fits.
fn real(number: f64, width: usize) -> String {
    let fits = |text: &String| text.len() <= width;
    let whole = number.to_string();
    if fits(&whole) {
        return whole;
    }
    let size = number.abs();
    if (0.01..1e5).contains(&size) {
        let mut fixed = (0..width).rev().map(|digits| format!("{number:.digits$}"));
        if let Some(text) = fixed.find(fits) {
            return text;
        }
    }
    let plain = format!("{number:e}");
    if fits(&plain) {
        return plain;
    }
    let mut scientific = (0..width).rev().map(|digits| format!("{number:.digits$e}"));
    scientific.find(fits).unwrap_or_else(|| format!("{number:.0e}"))
}

/// A text, cut to at most `width` characters.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A count as a person reads it: `1,234,567`.
pub(super) fn count(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 position`, `1,234 positions`.
pub(super) fn positions(number: u64) -> String {
    format!("{} position{}", count(number), if number == 1 { "" } else { "s" })
}

/// `4 x 9`, or `scalar`.
pub(super) fn shape(shape: &[usize]) -> String {
    match shape {
        [] => "scalar".to_owned(),
        _ => shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x "),
    }
}

/// `A[2, 5]`.
pub(super) fn element<T: ToString>(coordinates: &[T]) -> String {
    let parts: Vec<String> = coordinates.iter().map(ToString::to_string).collect();
    format!("A[{}]", parts.join(", "))
}

/// What so many entries are called.
pub(super) fn entries(count: usize) -> &'static str {
    if count == 1 { "entry" } else { "entries" }
}

/// The sorted dimensions: the name, the coordinate at each place, and the place of the traced one.
pub(super) fn orders<'a>(picture: &Picture<'a>) -> Vec<(&'a str, &'a IndexArray, Option<usize>)> {
    let (tensor, traced) = (picture.tensor, picture.traced().map(|place| place.dims.clone()));
    let one = |(dim, spec): (usize, &'a DimSpec)| {
        let order = tensor.order(dim)?;
        let traced = traced.as_ref().map(|dims| dims[dim]);
        let place = traced.and_then(|at| order.to_vec().into_iter().position(|c| c == at));
        Some((&*spec.name, order, place))
    };
    tensor.format().dims().iter().enumerate().filter_map(one).collect()
}

/// The heading of a picture, in two lines: the format; shape, dtype and counts.
pub(super) fn heading(picture: &Picture<'_>) -> [String; 2] {
    let tensor = picture.tensor;
    let counts = &picture.counts;
    let mut parts = vec![format!("{} {}", cut(&shape(tensor.shape()), 200), tensor.dtype())];
    let entries = entries(counts.entries);
    parts.push(match counts.entries == tensor.nse() {
        true => format!("{} {entries} stored", count(counts.entries)),
        false => format!("{} stored: {} {entries}", count(tensor.nse()), count(counts.entries)),
    });
    let outside = match tensor.view().shows_all() {
        true => "padding outside",
        false => "hidden by the slice",
    };
    for (number, what) in
        [(counts.padding, "padding inside"), (counts.outside, outside), (counts.gaps, "in gaps")]
    {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    let empty = counts.empty.filter(|&empty| empty > 0);
    parts.extend(empty.map(|empty| format!("{} not stored", count(empty))));
    if !tensor.fill().same(&tensor.dtype().zero()) {
        parts.push(format!("fill {}", short(&tensor.fill(), 12)));
    }
    let text = tensor.format().to_string();
    let title = tensor.format().name().map_or(text.clone(), |name| format!("{name}   {text}"));
    [title, parts.join(", ")]
}

/// The coordinates and the value of a place: `A[2, 5] = 16`.
pub(super) fn place(picture: &Picture<'_>, place: &Place) -> String {
    let text = format!("{} = {}", element(&place.dims), short(&picture.value(place.value), 24));
    match place.state {
        State::Entry => text,
        State::Padding => format!("{text} (padding)"),
        State::Outside => format!("{text} (padding outside the shape)"),
    }
}

/// What is said of an element that is not stored: its value, and where the search for it ends.
pub(super) fn absent(picture: &Picture<'_>, element: &[usize], search: &[i64]) -> String {
    let fill = short(&picture.tensor.fill(), 24);
    let text = format!("{} is not stored: it is the fill value {fill}", self::element(element));
    let at = |level: usize| format!("{} = {}", picture.levels[level].expr, search[level]);
    let Some(last) = search.len().checked_sub(1) else { return text };
    let found: Vec<String> =
        (0..last).map(|level| format!("level {level} has {}", at(level))).collect();
    let join = if found.is_empty() { "" } else { ", " };
    format!("{text} ({}{join}level {last} does not have {} there)", found.join(", "), at(last))
}

/// The coordinate and the position of a place at a level: `j / 3 = 1, position 4`.
pub(super) fn step(picture: &Picture<'_>, place: &Place, level: usize) -> String {
    let expr = &picture.levels[level].expr;
    format!("{expr} = {}, position {}", place.crd[level], place.pos[level])
}

/// The elements of a level's arrays on the path to a place: `pos[1] = 2`, `pos[2] = 5`, `crd[4] = 1`.
pub(super) fn elements(picture: &Picture<'_>, place: &Place, level: usize) -> Vec<String> {
    let arrays = picture.levels[level].arrays.iter();
    let leading = picture.leading(level, place).into_iter();
    arrays
        .zip(leading)
        .flat_map(|(array, elements)| {
            let show = |at: usize| {
                let element = array.array.get(at).map_or_else(String::new, |v| v.to_string());
                format!("{}[{at}] = {element}", array.name)
            };
            elements.into_iter().map(show).collect::<Vec<_>>()
        })
        .collect()
}

/// A share of one in percent, with two digits that count.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p >= 99.5 => "100%".to_owned(),
        p if p >= 10.0 => format!("{p:.0}%"),
        p if p >= 0.001 => {
            let digits = (1 - p.log10().floor() as i32).max(0) as usize;
            format!("{p:.digits$}%")
        }
        p => format!("{p:.1e}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_rounded_to_fit() {
        for (value, width, expected) in [
            (Scalar::F64(16.0), 6, "16"),
            (Scalar::F64(std::f64::consts::PI), 6, "3.1416"),
            (Scalar::F64(-std::f64::consts::PI), 6, "-3.142"),
            (Scalar::F64(1e300), 6, "1e300"),
            (Scalar::F64(1.234_567e-9), 7, "1.23e-9"),
            (Scalar::F64(f64::NAN), 6, "NaN"),
            (Scalar::F64(f64::NEG_INFINITY), 6, "-inf"),
            (Scalar::I64(i64::MIN), 8, "-9.22e18"),
            (Scalar::Bool(true), 6, "true"),
            (Scalar::Bool(false), 2, "false"),
        ] {
            assert_eq!(short(&value, width), expected);
        }
        let value = num_complex::Complex::new(1.0 / 3.0, -1e9);
        assert_eq!(short(&Scalar::Complex128(value), 6), "0.3333-1e9i");
    }

    #[test]
    fn counts_are_grouped_in_thousands() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1234, "1234"), (12345, "12,345"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(number), expected);
        }
    }
}
