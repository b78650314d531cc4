//! The logical tensor as lines: cells, a table, or a density map.

use super::super::density::Density;
use super::super::label;
use super::super::picture::{Body, Cells, Picture, Place, State};
use super::super::sheet::{Axis, Cell, Sheet, sheets};
use super::line::{self, Line, Style};

/// The shades of the density map, from empty to full.
const SHADES: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];
/// The most characters of a value.
const VALUE_CHARACTERS: usize = 7;

/// The logical tensor.
pub(super) fn lines(picture: &Picture<'_>, width: usize) -> Vec<Line> {
    match &picture.body {
        Body::Cells(cells) if picture.tensor.rank() <= 3 => grid(picture, cells, width),
        Body::Cells(cells) => table(picture, &cells.places),
        Body::Density(density) => map(picture, density),
        Body::Head(places) => table(picture, places),
    }
}

fn grid(picture: &Picture<'_>, cells: &Cells, width: usize) -> Vec<Line> {
    let texts: Vec<String> = cells
        .places
        .iter()
        .map(|place| label::short(&picture.value(place.value), VALUE_CHARACTERS))
        .collect();
    let coordinates = cells.window.iter().flat_map(|&(lo, hi)| [lo, hi - 1]);
    let coordinate = coordinates.map(|c| c.to_string().len()).max().unwrap_or(1);
    let value = texts.iter().map(|text| text.chars().count()).max().unwrap_or(1);
    let duplicates = cells.places.iter().map(|place| cells.at(&place.dims).len()).max();
    let value =
        if duplicates > Some(1) { (value * 2 + 1).min(2 * VALUE_CHARACTERS) } else { value };
    // With a mark on either side of the value.
    let column = value.max(coordinate) + 2;
    let wrap = (width.saturating_sub(coordinate + 4) / column).max(1);
    // Slices stand beside each other as far as there is room.
    let (mut lines, mut row): (Vec<Line>, Vec<Line>) = (Vec::new(), Vec::new());
    for sheet in sheets(picture, cells, wrap) {
        let drawn = draw(cells, &sheet, &texts, column);
        let fits = line::width(&row) + GAP + line::width(&drawn) <= width;
        match (row.is_empty(), fits) {
            (true, _) => row = drawn,
            (false, true) => row = line::beside(row, drawn, GAP),
            (false, false) => {
                lines.append(&mut row);
                lines.push(Line::default());
                row = drawn;
            }
        }
    }
    lines.append(&mut row);
    lines
}

/// Columns between slices.
const GAP: usize = 4;

fn draw(cells: &Cells, sheet: &Sheet, texts: &[String], column: usize) -> Vec<Line> {
    let gutter = gutter(&sheet.rows);
    let mut lines = Vec::new();
    if let Some(title) = &sheet.title {
        lines.push(Line::of(Style::Bold, title));
    }
    if !sheet.columns.labels.is_empty() || !sheet.rows.labels.is_empty() {
        let corner = match (sheet.rows.name.as_str(), sheet.columns.name.as_str()) {
            ("", name) | (name, "") => name.to_owned(),
            (down, right) => format!("{down}\\{right}"),
        };
        let mut line = Line::default();
        line.push(Style::Bold, &format!("{corner:<gutter$} ", gutter = gutter.max(corner.len())));
        for label in &sheet.columns.labels {
            let style = if label.inside { Style::Plain } else { Style::Dim };
            line.push(style, &format!("{:>w$} ", label.text, w = column - 1));
        }
        lines.push(line);
    }
    let gutter = gutter.max(sheet.rows.name.len() + 1 + sheet.columns.name.len());
    let gutter = if sheet.rows.labels.is_empty() { sheet.columns.name.len() } else { gutter };
    for (row, line_cells) in sheet.cells.iter().enumerate() {
        let mut line = Line::default();
        match sheet.rows.labels.get(row) {
            Some(label) => {
                let style = if label.inside { Style::Plain } else { Style::Dim };
                line.push(style, &format!("{:>gutter$} ", label.text));
            }
            None => line.push(Style::Plain, &" ".repeat(gutter + 1)),
        }
        for cell in line_cells.iter().flatten() {
            let (style, text) = show(cells, cell, texts, column - 2);
            line.push(style, &text);
        }
        lines.push(line);
    }
    lines
}

fn gutter(rows: &Axis) -> usize {
    rows.labels.iter().map(|label| label.text.len()).max().unwrap_or(0)
}

fn show(cells: &Cells, cell: &Cell, texts: &[String], width: usize) -> (Style, String) {
    let [first, ..] = cell.places[..] else {
        let mark = if cell.inside { "." } else { "" };
        return (Style::Dim, format!(" {mark:>width$} "));
    };
    let parts: Vec<&str> = cell.places.iter().map(|&place| texts[place].as_str()).collect();
    let text = label::cut(&parts.join("+"), width);
    let place = &cells.places[first];
    let tight = match cell.traced {
        true => Some(('>', '<')),
        false => brackets(place.state),
    };
    let color = cells.color(place);
    let style = match (cell.traced, place.state) {
        (true, _) => Style::Traced(color),
        (false, State::Entry) => Style::Group(color),
        (false, State::Padding | State::Outside) => Style::Padding(color),
    };
    (style, bracketed(&text, tight, width))
}

/// The marks around a value that is no entry.
pub(super) fn brackets(state: State) -> Option<(char, char)> {
    match state {
        State::Entry => None,
        State::Padding => Some(('(', ')')),
        State::Outside => Some(('[', ']')),
    }
}

/// A text with marks around it, aligned to the right of `width + 2` columns.
pub(super) fn bracketed(text: &str, marks: Option<(char, char)>, width: usize) -> String {
    let (open, close) = marks.unwrap_or((' ', ' '));
    format!("{:>w$}", format!("{open}{text}{close}"), w = width + 2)
}

/// The first places of a tensor that cannot be shown as a grid, one a line.
fn table(picture: &Picture<'_>, places: &[Place]) -> Vec<Line> {
    let names = picture.tensor.format().dims().iter().map(|dim| dim.name.clone());
    let mut rows: Vec<Vec<String>> = vec![names.chain(["value".to_owned()]).collect()];
    for place in places.iter().take(TABLE_PLACES) {
        let mut row: Vec<String> = place.dims.iter().map(ToString::to_string).collect();
        row.push(label::short(&picture.value(place.value), 16));
        rows.push(row);
    }
    let columns = rows[0].len();
    let widths: Vec<usize> = (0..columns)
        .map(|c| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0))
        .collect();
    let mut lines = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let mut line = Line::default();
        let place = at.checked_sub(1).map(|at| &places[at]);
        let color = |place| picture.cells().map_or(0, |cells| cells.color(place));
        let traced = place.zip(picture.traced()).is_some_and(|(a, b)| a.value == b.value);
        for (column, (text, &width)) in row.iter().zip(&widths).enumerate() {
            let last = column + 1 == columns;
            let (style, marks) = match place {
                None => (Style::Bold, None),
                Some(place) if last && traced => (Style::Traced(color(place)), Some(('>', '<'))),
                Some(place) if last && place.state == State::Entry => {
                    (Style::Group(color(place)), None)
                }
                Some(place) if last => (Style::Padding(color(place)), brackets(place.state)),
                Some(_) => (Style::Plain, None),
            };
            line.push(style, &bracketed(text, marks, width));
        }
        lines.push(line);
    }
    let left = picture.tensor.nse().saturating_sub(lines.len() - 1);
    if left > 0 {
        lines.push(Line::of(Style::Dim, &format!("... {} more", label::count(left))));
    }
    lines
}

/// The most places in a table.
const TABLE_PLACES: usize = 40;

fn map(picture: &Picture<'_>, density: &Density) -> Vec<Line> {
    let shades = density.shades(SHADES.len());
    let slices = density.bins[0];
    let mut lines = Vec::new();
    for slice in 0..slices {
        if picture.tensor.rank() == 3 {
            let range = density.range(0, slice);
            let name = &picture.tensor.format().dims()[0].name;
            let title = format!("{name} = {}", span(&range));
            lines.push(Line::of(Style::Bold, &title));
        }
        for row in 0..density.bins[1] {
            let at = |column| SHADES[shades[density.index([slice, row, column])]];
            let text: String = (0..density.bins[2]).map(at).collect();
            lines.push(Line::of(Style::Plain, &format!("|{text}|")));
        }
    }
    lines
}

fn span(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 | 1 => range.start.to_string(),
        _ => format!("{} to {}", range.start, range.end - 1),
    }
}

/// The legend of the density map: the size of a bin, and the shades.
pub(super) fn scale(density: &Density) -> String {
    let widest = |d: usize| density.range(d, 0).len().max(1);
    let size = match (widest(1), widest(2)) {
        (1, 1) => "one element".to_owned(),
        (rows, columns) => {
            format!("about {} x {} elements", label::count(rows), label::count(columns))
        }
    };
    let Some((thinnest, fullest)) = density.range_of_fills() else {
        return format!("each character: {size}");
    };
    let [thinnest, fullest] = [thinnest, fullest].map(label::percent);
    let shades: String = SHADES[1..].iter().collect();
    format!("each character: {size}; {thinnest} {shades} {fullest} stored, by a logarithmic scale")
}
