//! Cells laid out as rows, matrices and slices.

use super::label;
use super::picture::{Cells, Picture};

/// A rectangle of cells with labels: a matrix, a slice, or a vector in rows.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    /// The title of a slice, such as `i = 2`.
    pub(super) title: Option<String>,
    /// The dimension that runs down. A vector in one row has no labels here.
    pub(super) rows: Axis,
    /// The dimension that runs to the right.
    pub(super) columns: Axis,
    /// The cells of each row; `None` after the end of a short row.
    pub(super) cells: Vec<Vec<Option<Cell>>>,
}

/// Rows or columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Axis {
    /// The dimension's name.
    pub(super) name: String,
    /// The coordinates.
    pub(super) labels: Vec<Label>,
}

/// A coordinate along an axis.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) text: String,
    /// Whether the coordinate is inside the shape.
    pub(super) inside: bool,
}

/// One cell.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Whether it is inside the shape.
    pub(super) inside: bool,
    /// The indices of its places.
    pub(super) places: Vec<usize>,
    /// Whether it is the traced element.
    pub(super) traced: bool,
}

/// The sheets of a tensor of at most three dimensions; none for more. A vector begins a new row after
/// `wrap` cells.
pub(super) fn sheets(picture: &Picture<'_>, cells: &Cells, wrap: usize) -> Vec<Sheet> {
    let dims = picture.tensor.format().dims().iter();
    let names: Vec<String> = dims.map(|dim| label::cut(&dim.name, 24)).collect();
    let axis = |dim: usize| Axis {
        name: names[dim].clone(),
        labels: range(cells, dim).map(|c| coordinate(picture, dim, c)).collect(),
    };
    let matrix =
        |title, rows: Axis, columns: Axis, at: &dyn Fn(i64, i64) -> Vec<i64>, dim: usize| {
            let line = |row| {
                range(cells, dim + 1)
                    .map(|column| Some(cell(picture, cells, &at(row, column))))
                    .collect()
            };
            Sheet { title, rows, columns, cells: range(cells, dim).map(line).collect() }
        };
    match names.len() {
        0 => vec![Sheet {
            title: None,
            rows: Axis::default(),
            columns: Axis::default(),
            cells: vec![vec![Some(cell(picture, cells, &[]))]],
        }],
        1 => vec![vector(picture, cells, axis(0), wrap.max(1))],
        2 => vec![matrix(None, axis(0), axis(1), &|i, j| vec![i, j], 0)],
        3 => range(cells, 0)
            .map(|slice| {
                let outside = if coordinate(picture, 0, slice).inside { "" } else { " (outside)" };
                let title = format!("{} = {slice}{outside}", names[0]);
                matrix(Some(title), axis(1), axis(2), &|i, j| vec![slice, i, j], 1)
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn vector(picture: &Picture<'_>, cells: &Cells, axis: Axis, wrap: usize) -> Sheet {
    let line: Vec<Option<Cell>> =
        range(cells, 0).map(|c| Some(cell(picture, cells, &[c]))).collect();
    if line.len() <= wrap {
        return Sheet { title: None, rows: Axis::default(), columns: axis, cells: vec![line] };
    }
    // Multiples of 10 are easier to count.
    let wrap = if wrap > 10 { wrap / 10 * 10 } else { wrap };
    let plain = |text: String| Label { text, inside: true };
    let rows = Axis {
        name: axis.name.clone(),
        labels: axis.labels.iter().step_by(wrap).cloned().collect(),
    };
    let columns =
        Axis { name: String::new(), labels: (0..wrap).map(|c| plain(format!("+{c}"))).collect() };
    let chunks = line.chunks(wrap).map(|chunk| {
        let mut chunk = chunk.to_vec();
        chunk.resize(wrap, None);
        chunk
    });
    Sheet { title: None, rows, columns, cells: chunks.collect() }
}

fn range(cells: &Cells, dim: usize) -> std::ops::Range<i64> {
    cells.window[dim].0..cells.window[dim].1
}

fn coordinate(picture: &Picture<'_>, dim: usize, coordinate: i64) -> Label {
    let extent = picture.tensor.shape()[dim] as i64;
    Label { text: coordinate.to_string(), inside: (0..extent).contains(&coordinate) }
}

fn cell(picture: &Picture<'_>, cells: &Cells, dims: &[i64]) -> Cell {
    let inside = dims.iter().zip(picture.tensor.shape()).all(|(&c, &n)| (0..n as i64).contains(&c));
    let places = cells.at(dims).to_vec();
    let traced = picture.traced().is_some_and(|traced| traced.dims == dims);
    Cell { inside, places, traced }
}
