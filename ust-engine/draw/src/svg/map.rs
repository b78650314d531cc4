//! The density map of a large tensor.

use std::fmt::Write as _;

use super::super::density::Density;
use super::super::picture::Picture;
use super::canvas::{Canvas, Rect, width};
use super::grid::{LANE, Start};
use super::style::SHADES;

/// The longer side of a map.
const MAP_SIDE: f64 = 420.0;

/// Draws the map with its corner at `(x, y)`, two slices in a row.
pub(super) fn draw(
    canvas: &mut Canvas,
    picture: &Picture<'_>,
    density: &Density,
    x: f64,
    y: f64,
) -> Option<Start> {
    let [slices, rows, columns] = density.bins;
    let shades = density.shades(SHADES + 1);
    let side = if slices > 1 { MAP_SIDE * 0.7 } else { MAP_SIDE };
    // Bins are square, except in a narrow matrix, which is widened.
    let scale = (side / rows.max(columns) as f64).min(12.0);
    let (wide, high) = ((columns as f64 * scale).max(24.0), (rows as f64 * scale).max(24.0));
    let pitch = (wide / columns as f64, high / rows as f64);
    let dims = picture.tensor.format().dims();
    let names: Vec<&str> = dims.iter().map(|dim| dim.name.as_str()).collect();
    let [.., row_extent, column_extent] = density.extents;
    let last_row = row_extent.saturating_sub(1).to_string();
    let left = if names.len() > 1 { width(&last_row) + 34.0 } else { 0.0 };
    let mut start = None;
    for slice in 0..slices {
        let x0 = x + left + (slice % 2) as f64 * (left + wide + 4.0 * LANE);
        let top = if names.len() > 2 { 54.0 } else { 34.0 };
        let y0 = y + top + (slice / 2) as f64 * (high + top + 3.0 * LANE);
        if names.len() > 2 {
            let range = density.range(0, slice);
            let to = match range.len() {
                0 | 1 => String::new(),
                _ => format!(" to {}", range.end - 1),
            };
            let title = format!("{} = {}{to}", names[0], range.start);
            canvas.text("b", x0, y0 - top + 13.0, 12.0, &title);
        }
        let last_column = column_extent.saturating_sub(1).to_string();
        canvas.text("q", x0, y0 - 7.0, 12.0, "0");
        if wide > width(&last_column) + 24.0 {
            canvas.text_to("q", x0 + wide, y0 - 7.0, &last_column);
        }
        canvas.text_at("b i", x0 + wide / 2.0, y0 - 22.0, names.last().copied().unwrap_or(""));
        if names.len() > 1 {
            canvas.text_to("q", x0 - 8.0, y0 + 10.0, "0");
            if high > 40.0 {
                canvas.text_to("q", x0 - 8.0, y0 + high, &last_row);
            }
            let name = names[names.len() - 2];
            canvas.text("b i", x0 - left, y0 + high / 2.0 + 4.2, 12.0, name);
        }
        let frame = Rect { x: x0, y: y0, w: wide, h: high };
        canvas.rect("cell", frame, 0.0);
        for shade in 1..=SHADES {
            let path = runs(density, &shades, slice, shade);
            if !path.is_empty() {
                canvas.path(&format!("d{}", shade - 1), &path, (x0, y0), pitch);
            }
        }
        canvas.rect("edge", frame, 0.0);
        let traced = picture.traced().map(|place| bins_of(density, &place.dims));
        if let Some([_, row, column]) = traced.filter(|at| at[0] == slice) {
            let (cx, cy) = (column as f64 + 0.5, row as f64 + 0.5);
            let (cx, cy) = (x0 + cx * pitch.0, y0 + cy * pitch.1);
            canvas.circle("mark", cx, cy, 5.0);
            start = Some(Start {
                corner: (cx + 5.0, cy),
                right: frame.right() + LANE,
                below: frame.bottom() + LANE,
                last: slice % 2 == 1 || slices == 1,
            });
        }
    }
    start
}

fn bins_of(density: &Density, dims: &[i64]) -> [usize; 3] {
    let mut at = [0; 3];
    let front = 3 - dims.len().min(3);
    for (d, &c) in dims.iter().enumerate().take(3) {
        at[front + d] = density.bin(front + d, c);
    }
    at
}

/// The bins of one shade, as a path of rectangles. Neighbours in a row are joined.
fn runs(density: &Density, shades: &[usize], slice: usize, shade: usize) -> String {
    let mut path = String::new();
    for row in 0..density.bins[1] {
        let at = |column| shades[density.index([slice, row, column])] == shade;
        let mut column = 0;
        while column < density.bins[2] {
            let end = (column..density.bins[2]).find(|&c| !at(c)).unwrap_or(density.bins[2]);
            if end > column {
                let _ = write!(path, "M{column} {row}h{w}v1h-{w}z", w = end - column);
            }
            column = end + 1;
        }
    }
    path
}
