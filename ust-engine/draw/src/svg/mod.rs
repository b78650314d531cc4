//! Pictures as SVG: one text, without scripts, fonts or other external resources.
//!
//! | module | content |
//! |---|---|
//! | this one | the layout, the heading, the legend, the tooltips |
//! | `composed` | composed tensors: which part stores each element, then each part |
//! | `canvas` | writes shapes and text, escaped and measured |
//! | `style` | colours, hatches, highlighting |
//! | `grid`, `map`, `table` | the logical tensor: as cells, as a density map, as a list |
//! | `storage` | arrays and values, and the trace line through them |

mod canvas;
mod composed;
mod grid;
mod map;
mod storage;
mod style;
mod table;

use ust_engine::error::Error;
use ust_engine::tensor::Tensor;

use self::canvas::{Canvas, Rect};
pub use self::composed::svg_of_composed;
pub use self::style::Theme;
use super::density::Density;
use super::label;
use super::picture::{Body, Cells, Picture, PictureOptions, Place, State, Trace};

/// How a tensor is drawn as SVG.
#[derive(Clone, Debug)]
pub struct SvgOptions {
    /// Tensors with more cells than this are shown as a density map.
    pub max_cells: usize,
    /// Arrays longer than this are shown in part.
    pub max_elements: usize,
    /// The element that is traced; by default the last entry in storage order.
    pub trace: Option<Vec<usize>>,
    /// The title of the picture; by default the name of the format.
    pub title: Option<String>,
    /// Dark on light, or light on dark.
    pub theme: Theme,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self { max_cells: 1200, max_elements: 96, trace: None, title: None, theme: Theme::Light }
    }
}

const MARGIN: f64 = 24.0;
/// In pictures of at most this many places, the element under the pointer is highlighted in every
/// array.
const MAX_HOVER_PLACES: usize = 400;

/// Draws a tensor as SVG.
///
/// Entries are filled, padding inside the shape is hatched, padding outside it dashed, and elements
/// that are not stored are blank. Each group has the same colour in the cells and in the arrays. A line
/// leads from the traced element through the arrays to its value. Any other element is highlighted in
/// the cells and the arrays when the pointer is on it, and a tooltip says where it is stored. A picture
/// with the default options is smaller than a megabyte, however large the tensor.
///
/// ```
/// use ust::draw::{SvgOptions, svg};
/// use ust::{Coo, Tensor};
///
/// let coo = Coo::new(vec![2, 3], vec![vec![1, 0], vec![2, 1]], vec![5.0, 7.0])?;
/// let csr = Tensor::from_coo(&coo, "CSR")?;
/// let picture = svg(&csr, &SvgOptions::default())?;
/// assert!(picture.starts_with("<svg") && picture.contains("A[1, 2] = 5"));
/// # Ok::<(), ust::Error>(())
/// ```
///
/// # Errors
/// As [`Picture::new`].
pub fn svg(tensor: &Tensor, options: &SvgOptions) -> Result<String, Error> {
    Ok(drawn(tensor, options)?.0)
}

/// A tensor as SVG, with width and height.
fn drawn(tensor: &Tensor, options: &SvgOptions) -> Result<(String, [f64; 2]), Error> {
    let picture = Picture::new(
        tensor,
        &PictureOptions {
            max_cells: options.max_cells,
            bins: Density::bins_for(tensor.shape(), [4, 140, 140], 1.0),
            trace: options.trace.clone(),
        },
    )?;
    let mut canvas = Canvas::default();
    let top = heading(&mut canvas, &picture, options);

    let mut drawing = Canvas::default();
    let start = grid::draw(&mut drawing, &picture, MARGIN, top);
    let beside = drawing.right <= 800.0;
    let corner = match beside {
        true => (drawing.right + 56.0, top),
        false => (MARGIN + 20.0, drawing.bottom + 32.0),
    };
    let wide = if beside { 760.0 } else { (drawing.right - MARGIN).clamp(760.0, 1200.0) };
    canvas.take(&drawing);
    storage::draw(&mut canvas, &picture, start, corner, wide, options.max_elements);
    legend(&mut canvas, &picture);

    let (w, h) = ((canvas.right + MARGIN).ceil(), (canvas.bottom + MARGIN).ceil());
    let hovering = picture.cells().filter(|cells| hovers(cells));
    let hovering = hovering.map_or(&[][..], |cells| &cells.places);
    let mut label = String::new();
    canvas::escape(&mut label, &label::cut(&label::heading(&picture).join(": "), 400));
    let mut ground = Canvas::default();
    let rect = Rect { x: 0.0, y: 0.0, w, h };
    ground.rect("ground", rect.inset(0.5), 8.0);
    let text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ust\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{label}\">\n{}{}{}</svg>\n",
        style::style(hovering, options.theme),
        ground.into_text(),
        canvas.into_text()
    );
    Ok((text, [w, h]))
}

/// Draws the name, the format's text and the counts. Returns the top edge of the space below them.
fn heading(canvas: &mut Canvas, picture: &Picture<'_>, options: &SvgOptions) -> f64 {
    let format = picture.tensor.format();
    let text = format.to_string();
    let name = options.title.clone().or_else(|| format.name());
    let mut y = MARGIN + 16.0;
    if let Some(name) = name {
        canvas.text("h1", MARGIN, y, 18.0, &label::cut(&name, 80));
        y += 24.0;
    }
    canvas.open("", Some(&label::cut(&text, 4000)));
    canvas.text("b", MARGIN, y, 12.0, &label::cut(&text, 160));
    canvas.close();
    let [_, counts] = label::heading(picture);
    canvas.text("q", MARGIN, y + 20.0, 12.0, &counts);
    if let Some(Trace::Absent { element, search }) = &picture.trace {
        let text = label::absent(picture, element, search);
        canvas.text("k", MARGIN, y + 40.0, 12.0, &text);
        y += 20.0;
    }
    y + 44.0
}

/// The meaning of the looks that occur.
fn legend(canvas: &mut Canvas, picture: &Picture<'_>) {
    let y = canvas.bottom + 30.0;
    let right = canvas.right.max(760.0);
    let counts = &picture.counts;
    let mut items: Vec<(String, String)> = Vec::new();
    let mut scale = None;
    let mut item = |seen: bool, class: &str, text: &str| {
        if seen {
            items.push((class.to_owned(), text.to_owned()));
        }
    };
    let whole = picture.tensor.view().shows_all();
    match &picture.body {
        Body::Cells(cells) => {
            item(counts.entries > 0, "e g0", "entry");
            item(counts.padding > 0, "p g0", "padding");
            item(counts.outside > 0 && whole, "x g0", "padding outside the shape");
            item(counts.outside > 0 && !whole, "gap", "hidden by the slice");
            item(counts.gaps > 0, "gap", "in a gap");
            item(counts.empty != Some(0), "cell", "not stored");
            item(picture.traced().is_some(), "mark", "traced");
            if let Some(by) = picture.group_by.as_ref().filter(|_| cells.groups() > 1) {
                item(true, "", &format!("one colour for each {by}"));
            }
        }
        Body::Density(density) => {
            let size = |d: usize| label::count(density.range(d, 0).len().max(1));
            if let Some((thinnest, fullest)) = density.range_of_fills() {
                scale = Some([thinnest, fullest].map(label::percent));
            }
            item(true, "", &format!("one spot is about {} x {} elements", size(1), size(2)));
        }
        Body::Head(_) => {}
    }
    let (mut x, mut y) = (MARGIN, y);
    if let Some([thinnest, fullest]) = scale {
        x = canvas.text("q", x, y, 12.0, &thinnest) + 8.0;
        for shade in 0..style::SHADES {
            let rect = Rect { x, y: y - 13.0, w: 22.0, h: 17.0 };
            canvas.rect(&format!("d{shade}"), rect, 0.0);
            x = rect.right();
        }
        let text = format!("{fullest} of the elements are entries, by a logarithmic scale");
        x = canvas.text("q", x + 8.0, y, 12.0, &text) + 22.0;
    }
    for (class, text) in items {
        let wide = canvas::width(&text) + 50.0;
        if x > MARGIN && x + wide > right {
            (x, y) = (MARGIN, y + 26.0);
        }
        let mut text_at = x;
        if !class.is_empty() {
            let rect = Rect { x, y: y - 13.0, w: 24.0, h: 17.0 };
            canvas.rect(&class, rect.inset(0.5), 3.0);
            text_at += 32.0;
        }
        canvas.text("q", text_at, y, 12.0, &text);
        x = text_at + canvas::width(&text) + 22.0;
    }
}

/// Where a place is stored, level by level.
fn tooltip(picture: &Picture<'_>, place: &Place) -> String {
    let mut lines = vec![label::place(picture, place)];
    // With many places, the text is short, so that the picture stays small.
    let levels = if picture.cells().is_some_and(hovers) { place.pos.len() } else { 0 };
    for level in 0..levels {
        let mut line = format!("level {level}: {}", label::step(picture, place, level));
        let elements = label::elements(picture, place, level);
        if !elements.is_empty() {
            line.push_str(&format!(" ({})", elements.join(", ")));
        }
        lines.push(line);
    }
    lines.push(format!("values[{}]", place.value));
    lines.join("\n")
}

fn hovers(cells: &Cells) -> bool {
    cells.places.len() <= MAX_HOVER_PLACES
}

/// The class of all shapes that belong to a value.
fn hover(cells: &Cells, value: usize) -> String {
    if hovers(cells) { format!("v{value}") } else { String::new() }
}
