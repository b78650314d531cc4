//! Pictures for a terminal.
//!
//! | module | content |
//! |---|---|
//! | this one | the order of the parts, the trace, the legend |
//! | `composed` | composed tensors: which part stores each element, then each part |
//! | `line` | lines of styled text, with or without colours |
//! | `grid` | cells, a table, or a density map |
//! | `storage` | arrays and values, with their indices |

mod composed;
mod grid;
mod line;
mod storage;

use std::fmt;

use ust_engine::error::Error;
use ust_engine::tensor::Tensor;

use self::line::{Line, Style};
use super::density::Density;
use super::label;
use super::picture::{Body, Picture, PictureOptions, Trace};

/// How a tensor is drawn for a terminal.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Number of columns of the terminal.
    pub width: usize,
    /// Tensors with more cells than this are shown as a density map.
    pub max_cells: usize,
    /// Arrays longer than this are shown in part.
    pub max_elements: usize,
    /// The element that is traced; by default the last entry in storage order.
    pub trace: Option<Vec<usize>>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { color: false, width: 100, max_cells: 1200, max_elements: 48, trace: None }
    }
}

/// A tensor drawn for a terminal. [`fmt::Display`] writes the picture, without a line break at the end.
///
/// An entry is a number; padding inside the shape stands in `( )`, padding outside it in `[ ]`, a value
/// that no coordinate reaches in `{ }`, and the traced element in `> <`. With colours, each group has a
/// colour.
///
/// ```
/// use ust::draw::{Text, TextOptions};
/// use ust::{Coo, Tensor};
///
/// let coo = Coo::new(vec![2, 3], vec![vec![1, 0], vec![2, 1]], vec![5.0, 7.0])?;
/// let csr = Tensor::from_coo(&coo, "CSR")?;
/// let text = Text::new(&csr, &TextOptions::default())?.to_string();
/// assert!(text.contains("A[1, 2] = 5"));
/// # Ok::<(), ust::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Text {
    lines: Vec<Line>,
    color: bool,
}

impl Text {
    /// Draws a tensor. Cost: O(nse) time and memory, through the interpreter.
    ///
    /// # Errors
    /// As [`Picture::new`].
    pub fn new(tensor: &Tensor, options: &TextOptions) -> Result<Self, Error> {
        let width = options.width.max(40);
        let rows = if tensor.rank() == 3 { 14 } else { 28 };
        let most = [4, rows, (width - 12).min(72)];
        let mut picture_options = PictureOptions {
            max_cells: options.max_cells,
            bins: Density::bins_for(tensor.shape(), most, 2.0),
            trace: options.trace.clone(),
        };
        let mut picture = Picture::new(tensor, &picture_options)?;
        let mut grid = grid::lines(&picture, width);
        if matches!(picture.body, Body::Cells(_)) && line::width(&grid) > width {
            picture_options.max_cells = 0;
            let map = Picture::new(tensor, &picture_options)?;
            if matches!(map.body, Body::Density(_)) {
                grid = grid::lines(&map, width);
                picture = map;
            }
        }
        let mut lines: Vec<Line> = Vec::new();
        let [title, counts] = label::heading(&picture);
        lines.push(Line::of(Style::Bold, &title));
        lines.push(Line::of(Style::Plain, &counts));
        lines.push(Line::default());

        let beside = width.saturating_sub(line::width(&grid) + 4);
        let few = TextOptions { width: beside, ..options.clone() };
        let storage = storage::lines(&picture, &few);
        if line::width(&storage) <= beside && storage.len() <= grid.len().max(4) + 16 {
            lines.extend(line::beside(grid, storage, 4));
        } else {
            lines.extend(grid);
            lines.push(Line::default());
            lines.extend(storage::lines(&picture, &TextOptions { width, ..options.clone() }));
        }
        if picture.trace.is_some() {
            lines.push(Line::default());
        }
        lines.extend(trace(&picture));
        lines.extend(legend(&picture, options.trace.is_none()));
        Ok(Self { lines, color: options.color })
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.lines.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            line.write(f, self.color)?;
        }
        Ok(())
    }
}

/// The path of the traced element through the arrays.
fn trace(picture: &Picture<'_>) -> Vec<Line> {
    let place = match &picture.trace {
        None => return Vec::new(),
        Some(Trace::Absent { element, search }) => {
            return vec![Line::of(Style::Trace, &label::absent(picture, element, search))];
        }
        Some(Trace::Stored(place)) => place,
    };
    let mut lines = vec![Line::of(Style::Trace, &label::place(picture, place))];
    for (name, order, place) in label::orders(picture) {
        if let Some((place, coordinate)) = place.and_then(|at| Some((at, order.get(at)?))) {
            let text = format!(
                "  sorted {name}  place {place} in the levels   order[{place}] = {coordinate}"
            );
            lines.push(Line::of(Style::Plain, &text));
        }
    }
    let steps: Vec<String> =
        (0..picture.levels.len()).map(|level| label::step(picture, place, level)).collect();
    let widest = steps.iter().map(|step| step.chars().count()).max().unwrap_or(0);
    for (level, step) in steps.iter().enumerate() {
        let elements = label::elements(picture, place, level).join(", ");
        let text = format!("  level {level}   {step:widest$}   {elements}");
        lines.push(Line::of(Style::Plain, text.trim_end()));
    }
    let value = label::short(&picture.value(place.value), 24);
    lines.push(Line::of(Style::Plain, &format!("  values[{}] = {value}", place.value)));
    lines
}

/// The meaning of the marks that occur. `last`: nobody asked for the element that is traced.
fn legend(picture: &Picture<'_>, last: bool) -> Vec<Line> {
    let counts = &picture.counts;
    let mut parts = Vec::new();
    let whole = picture.tensor.view().shows_all();
    match &picture.body {
        Body::Cells(cells) => {
            let marks = [
                (counts.empty != Some(0), ". not stored"),
                (counts.padding > 0, "( ) padding"),
                (counts.outside > 0 && whole, "[ ] padding outside the shape"),
                (counts.outside > 0 && !whole, "[ ] hidden by the slice"),
                (counts.gaps > 0, "{ } in a gap"),
                (picture.traced().is_some() && last, "> < traced: the last entry"),
                (picture.traced().is_some() && !last, "> < traced"),
            ];
            parts.extend(marks.iter().filter(|(seen, _)| *seen).map(|&(_, text)| text.to_owned()));
            if let Some(by) = picture.group_by.as_ref().filter(|_| cells.groups() > 1) {
                parts.push(format!("one colour for each {by}"));
            }
        }
        Body::Density(density) => parts.push(grid::scale(density)),
        Body::Head(_) => {}
    }
    if parts.is_empty() {
        return Vec::new();
    }
    vec![Line::default(), Line::of(Style::Dim, &parts.join("   "))]
}
