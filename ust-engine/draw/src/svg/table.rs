//! Places in a table, for tensors that cannot be shown as a grid.

use super::super::arrays::shown;
use super::super::label;
use super::super::picture::{Picture, Place};
use super::canvas::{Canvas, Rect, width};
use super::grid::{LANE, Start};
use super::{hover, style, tooltip};

/// Draws places one below the other.
pub(super) fn draw(
    canvas: &mut Canvas,
    picture: &Picture<'_>,
    places: &[Place],
    x: f64,
    y: f64,
) -> Option<Start> {
    const ROWS: usize = 48;
    let traced = picture.traced().map(|place| place.value);
    let required = places.iter().position(|place| Some(place.value) == traced);
    let required: Vec<usize> = required.into_iter().collect();
    let rows = shown(places.len(), ROWS, &required);
    let names = picture.tensor.format().dims().iter().map(|dim| dim.name.clone());
    let mut columns: Vec<Vec<String>> = names.map(|name| vec![name]).collect();
    for (dim, column) in columns.iter_mut().enumerate() {
        column.extend(rows.iter().map(|&at| places[at].dims[dim].to_string()));
    }
    let mut right = x;
    for column in &columns {
        right += column.iter().map(|text| width(text)).fold(20.0, f64::max) + 14.0;
        for (row, text) in column.iter().enumerate() {
            let class = if row == 0 { "b i" } else { "q" };
            canvas.text_to(class, right, y + 16.0 + row as f64 * 24.0, text);
        }
    }
    let texts: Vec<String> =
        rows.iter().map(|&at| label::short(&picture.value(places[at].value), 12)).collect();
    let wide = texts.iter().map(|text| width(text)).fold(28.0, f64::max) + 16.0;
    canvas.text_at("b", right + 16.0 + wide / 2.0, y + 16.0, "value");
    let below = y + (rows.len() + 1) as f64 * 24.0 + LANE;
    let mut start = None;
    for (row, (&at, text)) in rows.iter().zip(&texts).enumerate() {
        let place = &places[at];
        let rect = Rect { x: right + 16.0, y: y + (row + 1) as f64 * 24.0, w: wide, h: 24.0 };
        let class = picture.cells().map_or_else(String::new, |cells| hover(cells, place.value));
        let color = picture.cells().map_or(0, |cells| cells.color(place));
        canvas.open(&class, Some(&tooltip(picture, place)));
        canvas.rect(&style::class(place.state, color), rect.inset(1.5), 3.0);
        canvas.text_at("", rect.middle(), rect.y + 16.2, text);
        if Some(place.value) == traced {
            canvas.rect("mark", rect.inset(1.0), 4.0);
            let corner = (rect.right() - 1.5, rect.bottom());
            start = Some(Start { corner, right: rect.right() + LANE, below, last: true });
        }
        canvas.close();
    }
    let left = picture.tensor.nse().saturating_sub(rows.len());
    if left > 0 {
        let text = format!("{} more stored values", label::count(left));
        canvas.text("q", x, below + 8.0, 12.0, &text);
    }
    start
}
