//! The logical tensor, cell by cell.

use super::super::label;
use super::super::picture::{Body, Cells, Picture, State};
use super::super::sheet::{Cell, Label, Sheet, sheets};
use super::canvas::{Canvas, Rect, width};
use super::{hover, map, style, table, tooltip};

/// The most characters of a value.
const VALUE_CHARACTERS: usize = 7;
/// Height of a cell.
const CELL_HEIGHT: f64 = 28.0;
/// Free space around a sheet, for the trace line.
pub(super) const LANE: f64 = 8.0;

/// The start of the trace line: a corner of the traced cell, and free lanes to the right of the sheet
/// and below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) corner: (f64, f64),
    pub(super) right: f64,
    pub(super) below: f64,
    /// Whether it is the last sheet of its row.
    pub(super) last: bool,
}

/// Draws the logical tensor with its corner at `(x, y)`.
pub(super) fn draw(canvas: &mut Canvas, picture: &Picture<'_>, x: f64, y: f64) -> Option<Start> {
    match &picture.body {
        Body::Cells(cells) if picture.tensor.rank() <= 3 => grid(canvas, picture, cells, x, y),
        Body::Cells(cells) => table::draw(canvas, picture, &cells.places, x, y),
        Body::Head(places) => table::draw(canvas, picture, places, x, y),
        Body::Density(density) => map::draw(canvas, picture, density, x, y),
    }
}

fn grid(
    canvas: &mut Canvas,
    picture: &Picture<'_>,
    cells: &Cells,
    x: f64,
    y: f64,
) -> Option<Start> {
    let texts: Vec<String> = cells
        .places
        .iter()
        .map(|place| label::short(&picture.value(place.value), VALUE_CHARACTERS))
        .collect();
    let duplicates = cells.places.iter().map(|place| cells.at(&place.dims).len()).max();
    let longest = texts.iter().map(|text| width(text)).fold(0.0, f64::max);
    let longest = if duplicates > Some(1) { longest * 2.0 + 8.0 } else { longest };
    let cell = (longest + 14.0).max(34.0);
    let sheets = sheets(picture, cells, (860.0 / cell) as usize);
    let sizes: Vec<(f64, f64)> = sheets.iter().map(|sheet| size(sheet, cell)).collect();
    let widest = row_width(&sizes);
    let mut start = None;
    let (mut left, mut top) = (x, y);
    let mut row: Vec<usize> = Vec::new();
    for at in 0..sheets.len() {
        row.push(at);
        left += sizes[at].0 + 3.0 * LANE;
        let next = sizes.get(at + 1).map(|size| left + size.0 - x);
        if next.is_some_and(|right| right <= widest) {
            continue;
        }
        let below = top + row.iter().map(|&at| sizes[at].1).fold(0.0, f64::max) + LANE;
        left = x;
        for &at in &row {
            let right = left + sizes[at].0 + LANE;
            let corner = sheet(canvas, picture, cells, &sheets[at], &texts, cell, left, top);
            let last = row.last() == Some(&at);
            start = start.or(corner.map(|corner| Start { corner, right, below, last }));
            left += sizes[at].0 + 3.0 * LANE;
        }
        row.clear();
        (left, top) = (x, below + LANE);
    }
    start
}

/// Rows of sheets are at least so wide, where there are as many sheets, and at most so.
const ROW: (f64, f64) = (720.0, 1500.0);
/// How much wider than high sheets are to be together.
const ASPECT: f64 = 1.8;

/// The width of a row of sheets: slices stand in as many columns as give them a good shape together.
fn row_width(sizes: &[(f64, f64)]) -> f64 {
    let (wide, high) =
        sizes.iter().fold((1.0, 1.0), |(w, h), size| (f64::max(w, size.0), f64::max(h, size.1)));
    let (wide, high) = (wide + 3.0 * LANE, high + 2.0 * LANE);
    let columns = (sizes.len() as f64 * high * ASPECT / wide).sqrt().ceil();
    (columns * wide).clamp(ROW.0, ROW.1)
}

/// The space for labels and a title, to the left of the cells and above them.
struct Frame {
    left: f64,
    top: f64,
}

fn frame(sheet: &Sheet) -> Frame {
    let labels = sheet.rows.labels.iter().map(|label| width(&label.text)).fold(0.0, f64::max);
    let left = if sheet.rows.labels.is_empty() { 0.0 } else { labels + 34.0 };
    let title = if sheet.title.is_some() { 20.0 } else { 0.0 };
    let top = if sheet.columns.labels.is_empty() { 0.0 } else { 34.0 };
    Frame { left, top: title + top }
}

fn size(sheet: &Sheet, cell: f64) -> (f64, f64) {
    let Frame { left, top } = frame(sheet);
    let columns = sheet.columns.labels.len().max(usize::from(sheet.columns.name.is_empty()));
    let right = (left + columns as f64 * cell).max(sheet.title.as_deref().map_or(0.0, width));
    (right, top + sheet.cells.len() as f64 * CELL_HEIGHT)
}

#[allow(clippy::too_many_arguments)]
fn sheet(
    canvas: &mut Canvas,
    picture: &Picture<'_>,
    cells: &Cells,
    sheet: &Sheet,
    texts: &[String],
    cell: f64,
    x: f64,
    y: f64,
) -> Option<(f64, f64)> {
    let Frame { left, top } = frame(sheet);
    let (x0, y0) = (x + left, y + top);
    if let Some(title) = &sheet.title {
        canvas.text("b", x0, y + 13.0, 12.0, title);
    }
    axes(canvas, sheet, cell, x, x0, y0);
    let place = |row: usize, column: usize| Rect {
        x: x0 + column as f64 * cell,
        y: y0 + row as f64 * CELL_HEIGHT,
        w: cell,
        h: CELL_HEIGHT,
    };
    let mut traced = None;
    // The order from below to above: the ground of the cells, the edge, the tiles.
    for (row, line) in sheet.cells.iter().enumerate() {
        for (column, cell) in line.iter().enumerate() {
            if cell.as_ref().is_some_and(|cell| cell.inside) {
                canvas.rect("cell", place(row, column), 0.0);
            }
        }
    }
    edge(canvas, sheet, place);
    for (row, line) in sheet.cells.iter().enumerate() {
        for (column, cell) in line.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let rect = place(row, column);
            tile(canvas, picture, cells, cell, texts, rect);
            if cell.traced {
                traced = Some((rect.right() - 1.5, rect.bottom()));
            }
        }
    }
    traced
}

fn axes(canvas: &mut Canvas, sheet: &Sheet, cell: f64, x: f64, x0: f64, y0: f64) {
    let class = |label: &Label| if label.inside { "q" } else { "o" };
    for (at, label) in sheet.columns.labels.iter().enumerate() {
        let middle = x0 + (at as f64 + 0.5) * cell;
        canvas.text_at(class(label), middle, y0 - 7.0, &label.text);
    }
    for (at, label) in sheet.rows.labels.iter().enumerate() {
        let middle = y0 + (at as f64 + 0.5) * CELL_HEIGHT + 4.2;
        canvas.text_to(class(label), x0 - 8.0, middle, &label.text);
    }
    if !sheet.columns.labels.is_empty() && !sheet.columns.name.is_empty() {
        let middle = x0 + sheet.columns.labels.len() as f64 * cell / 2.0;
        canvas.text_at("b i", middle, y0 - 22.0, &sheet.columns.name);
    }
    if !sheet.rows.labels.is_empty() {
        let middle = y0 + sheet.rows.labels.len() as f64 * CELL_HEIGHT / 2.0 + 4.2;
        canvas.text("b i", x, middle, 12.0, &sheet.rows.name);
    }
}

/// The outline of the shape, around the cells that are inside.
fn edge(canvas: &mut Canvas, sheet: &Sheet, place: impl Fn(usize, usize) -> Rect) {
    if sheet.cells.iter().flatten().any(Option::is_none) {
        return;
    }
    let inside = |row: usize, column: usize| {
        sheet.cells[row][column].as_ref().is_some_and(|cell| cell.inside)
    };
    let all = sheet.cells.iter().enumerate();
    let mut found = all
        .flat_map(|(row, line)| (0..line.len()).map(move |column| (row, column)))
        .filter(|&(row, column)| inside(row, column));
    let Some(first) = found.next() else {
        // The edge of a shape without elements is a line.
        let from = place(0, 0);
        let to = place(sheet.cells.len(), sheet.columns.labels.len());
        canvas.line("edge", &[(from.x, from.y), (to.x, to.y)]);
        canvas.text("o i", from.x, to.y + 18.0, 12.0, "no elements");
        return;
    };
    let last = found.next_back().unwrap_or(first);
    let (from, to) = (place(first.0, first.1), place(last.0, last.1));
    let rect = Rect { x: from.x, y: from.y, w: to.right() - from.x, h: to.bottom() - from.y };
    canvas.rect("edge", rect, 0.0);
}

fn tile(
    canvas: &mut Canvas,
    picture: &Picture<'_>,
    cells: &Cells,
    cell: &Cell,
    texts: &[String],
    rect: Rect,
) {
    let [first, ..] = cell.places[..] else { return };
    let place = &cells.places[first];
    let tips: Vec<String> =
        cell.places.iter().map(|&at| tooltip(picture, &cells.places[at])).collect();
    let numbers = cell.places.iter().map(|&at| hover(cells, cells.places[at].value));
    let class = numbers.collect::<Vec<_>>().join(" ");
    canvas.open(class.trim(), Some(&tips.join("\n\n")));
    canvas.rect(&style::class(place.state, cells.color(place)), rect.inset(2.0), 3.0);
    let parts: Vec<&str> = cell.places.iter().map(|&at| texts[at].as_str()).collect();
    let most = ((rect.w - 8.0) / super::canvas::CHARACTER) as usize;
    let text = label::cut(&parts.join("+"), most.max(1));
    let look = match (cell.traced, place.state) {
        (true, _) => "b",
        (false, State::Entry) => "",
        (false, State::Padding | State::Outside) => "w",
    };
    canvas.text_at(look, rect.middle(), rect.y + rect.h / 2.0 + 4.2, &text);
    if cell.traced {
        canvas.rect("mark", rect.inset(1.5), 4.0);
    }
    canvas.close();
}
