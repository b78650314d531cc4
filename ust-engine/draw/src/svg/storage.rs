//! Arrays and values, and the trace line: it leads from the traced cell to each array element on its
//! path.

use ust_level_api::Per;

use super::super::arrays::{block, per_line, shown};
use super::super::label;
use super::super::picture::{Cells, Picture, Place, State};
use super::canvas::{Canvas, Rect, width};
use super::grid::Start;
use super::{hover, style, tooltip};

/// The end of array names and the start of boxes, from the left edge.
const NAMES_RIGHT: f64 = 66.0;
const BOXES_LEFT: f64 = 74.0;
/// Height of a box, of the indices above it, and of the lane below it.
const BOX_HEIGHT: f64 = 22.0;
const INDEX_HEIGHT: f64 = 13.0;
const LANE_HEIGHT: f64 = 9.0;
/// The trunk of the trace line, from the left edge.
const TRUNK: f64 = 8.0;

/// An element of an array.
struct Element {
    at: usize,
    text: String,
    class: String,
    look: &'static str,
    hover: String,
    tip: Option<String>,
    traced: bool,
}

/// The targets of the trace line: a dot for each level and the values, and the boxes of traced
/// elements.
#[derive(Default)]
struct TraceLine {
    dots: Vec<f64>,
    boxes: Vec<Rect>,
}

/// Draws the arrays with their corner at `(x, y)`, boxes in at most `wide` pixels.
pub(super) fn draw(
    canvas: &mut Canvas,
    picture: &Picture<'_>,
    start: Option<Start>,
    (x, y): (f64, f64),
    wide: f64,
    max_elements: usize,
) {
    let traced = picture.traced();
    let cells = picture.cells();
    // For each level and position, the hover classes of all places below it.
    let mut below: std::collections::HashMap<(usize, usize), String> = Default::default();
    for place in cells.iter().flat_map(|cells| &cells.places) {
        for (level, &position) in place.pos.iter().enumerate() {
            let class = cells.map_or_else(String::new, |cells| hover(cells, place.value));
            let all = below.entry((level, position)).or_default();
            all.push(' ');
            all.push_str(&class);
        }
    }
    let mut trace = TraceLine::default();
    let mut top = y;
    // Boxes go to a canvas of their own: they lie above the trace line, but must be placed before it is
    // drawn.
    let mut boxes = Canvas::default();
    for (name, order, place) in label::orders(picture) {
        let end = boxes.text("b", x + 24.0, top + 13.0, 12.0, &format!("sorted {name}"));
        if let Some(place) = place {
            trace.dots.push(top + 9.0);
            boxes.text("k", end + 14.0, top + 13.0, 12.0, &format!("place {place} in the levels"));
        }
        top += 22.0;
        let element = |at: usize| {
            let text = order.get(at).map_or_else(String::new, |v| v.to_string());
            let (class, traced) = ("box".to_owned(), place == Some(at));
            let tip = Some(format!("{name} = {text} has place {at}"));
            Element { at, tip, text, class, look: "", hover: String::new(), traced }
        };
        let elements: Vec<Element> =
            shown(order.len(), max_elements, place.as_slice()).into_iter().map(element).collect();
        let strip = Strip { name: "order", len: order.len(), block: 1 };
        top = row(&mut boxes, &mut trace, &strip, &elements, (x, top), wide) + 8.0;
    }
    for (level, shown_level) in picture.levels.iter().enumerate() {
        let baseline = top + 13.0;
        let end = boxes.text("b", x + 24.0, baseline, 12.0, &format!("level {level}"));
        let end = boxes.text("", end + 10.0, baseline, 12.0, &shown_level.text);
        let size = label::count(shown_level.size);
        let size = format!("size {size}, {}", label::positions(shown_level.positions));
        let end = boxes.text("q", end + 14.0, baseline, 12.0, &size);
        if let Some(place) = traced {
            trace.dots.push(top + 9.0);
            boxes.text("k", end + 14.0, baseline, 12.0, &label::step(picture, place, level));
        }
        top += 22.0;
        let leading = traced.map(|place| picture.leading(level, place));
        for (number, array) in shown_level.arrays.iter().enumerate() {
            let required = leading.as_ref().map_or(&[][..], |leading| &leading[number]);
            let len = array.array.len();
            let element = |at: usize| {
                let by_position = array.per == Per::Position;
                let color = cells.filter(|_| by_position);
                let color = color.and_then(|cells| cells.color_at(level, at));
                let gap = shown_level.in_gap(array, at);
                let text = array.array.get(at).map_or_else(String::new, |v| v.to_string());
                Element {
                    at,
                    tip: Some(format!("level {level}: {}[{at}] = {text}", array.name)),
                    text,
                    class: match color {
                        _ if gap => "gap".to_owned(),
                        Some(color) => style::class(State::Entry, color),
                        None => "box".to_owned(),
                    },
                    look: if gap { "o" } else { "" },
                    hover: match by_position {
                        true => below.get(&(level, at)).cloned().unwrap_or_default(),
                        false => above(&below, level, array.per, at),
                    },
                    traced: required.contains(&at),
                }
            };
            let elements: Vec<Element> =
                shown(len, max_elements, required).into_iter().map(element).collect();
            let strip = Strip { name: array.name, len, block: 1 };
            top = row(&mut boxes, &mut trace, &strip, &elements, (x, top), wide);
        }
        top += 8.0;
    }
    let baseline = top + 13.0;
    let end = boxes.text("b", x + 24.0, baseline, 12.0, "values");
    let of = if picture.tensor.is_iso() { label::ISO } else { "" };
    let of = format!("{}{of}", picture.tensor.dtype());
    let end = boxes.text("q", end + 10.0, baseline, 12.0, &of);
    if let Some(place) = traced {
        trace.dots.push(top + 9.0);
        boxes.text("k", end + 14.0, baseline, 12.0, &label::place(picture, place));
    }
    top += 22.0;
    let nse = picture.tensor.nse();
    let required: Vec<usize> = traced.into_iter().map(|place| place.value).collect();
    let places = Values::new(picture, cells);
    let element = |at: usize| places.element(at, required.contains(&at));
    let elements: Vec<Element> =
        shown(nse, max_elements, &required).into_iter().map(element).collect();
    let strip = Strip { name: "", len: nse, block: block(picture.tensor) };
    row(&mut boxes, &mut trace, &strip, &elements, (x, top), wide);

    if let Some(start) = start {
        lines(canvas, &trace, start, x);
    }
    canvas.take(&boxes);
}

/// The hover classes of an element that is indexed by the parent's position: those of all places below
/// the parent.
fn above(
    below: &std::collections::HashMap<(usize, usize), String>,
    level: usize,
    per: Per,
    at: usize,
) -> String {
    let parent = match per {
        Per::ParentBound | Per::Parent => at,
        Per::ParentPair => at / 2,
        Per::Position | Per::Other(_) => return String::new(),
    };
    match level.checked_sub(1) {
        Some(above) => below.get(&(above, parent)).cloned().unwrap_or_default(),
        // All places lie below the root: none is highlighted.
        None => String::new(),
    }
}

/// The places, by the position of their values.
struct Values<'a> {
    picture: &'a Picture<'a>,
    cells: Option<&'a Cells>,
    by_value: std::collections::HashMap<usize, &'a Place>,
}

impl<'a> Values<'a> {
    fn new(picture: &'a Picture<'a>, cells: Option<&'a Cells>) -> Self {
        let places = cells.into_iter().flat_map(|cells| &cells.places);
        Self { picture, cells, by_value: places.map(|place| (place.value, place)).collect() }
    }

    fn element(&self, at: usize, traced: bool) -> Element {
        let text = label::short(&self.picture.value(at), 8);
        let place = self.by_value.get(&at).copied();
        let whole = self.picture.tensor.view().shows_all();
        let (class, look, tip) = match (self.cells, place) {
            (Some(cells), Some(place)) => {
                let look = if place.state == State::Entry { "" } else { "w" };
                (style::class(place.state, cells.color(place)), look, tooltip(self.picture, place))
            }
            (None, _) => ("box".to_owned(), "", format!("values[{at}] = {text}")),
            (Some(_), None) => {
                let why = if whole { "in a gap" } else { "hidden by the slice" };
                ("gap".to_owned(), "o", format!("values[{at}] = {text}, {why}"))
            }
        };
        let hover = self.cells.map_or_else(String::new, |cells| hover(cells, at));
        Element { at, text, class, look, hover, tip: Some(tip), traced }
    }
}

/// An array: its name, its length, and the number of elements in a block.
struct Strip<'a> {
    name: &'a str,
    len: usize,
    block: usize,
}

/// Draws an array, on as many lines as it needs. Returns the top edge of the next one.
fn row(
    canvas: &mut Canvas,
    trace: &mut TraceLine,
    strip: &Strip<'_>,
    elements: &[Element],
    (x, y): (f64, f64),
    wide: f64,
) -> f64 {
    let pitch = INDEX_HEIGHT + BOX_HEIGHT + LANE_HEIGHT;
    let baseline = if elements.is_empty() { y + 14.0 } else { y + INDEX_HEIGHT + 15.2 };
    canvas.text_to("q", x + NAMES_RIGHT, baseline, strip.name);
    if elements.is_empty() {
        canvas.text("o i", x + BOXES_LEFT, y + 14.0, 12.0, "empty");
        return y + 26.0;
    }
    let longest = elements.iter().map(|element| width(&element.text)).fold(0.0, f64::max);
    let index = elements.last().map_or(0.0, |element| width(&element.at.to_string()) * 0.8);
    let one = (longest + 10.0).max(index + 4.0).max(26.0);
    let gap = 3.0;
    let fit = (((wide - BOXES_LEFT) / (one + gap)) as usize).max(4);
    let fit = match elements.len() == strip.len {
        true => per_line(strip.len, fit, strip.block),
        false => fit,
    };
    let mut slot = 0;
    let mut next = 0;
    let mut last = (x + BOXES_LEFT, y + INDEX_HEIGHT);
    for element in elements {
        let mut place = |canvas: &mut Canvas, trace: &mut TraceLine, element: Option<&Element>| {
            let rect = Rect {
                x: x + BOXES_LEFT + (slot % fit) as f64 * (one + gap),
                y: y + INDEX_HEIGHT + (slot / fit) as f64 * pitch,
                w: one,
                h: BOX_HEIGHT,
            };
            slot += 1;
            last = (rect.right(), rect.y);
            match element {
                None => canvas.text_at("q", rect.middle(), rect.y + 15.2, "…"),
                Some(element) => cell(canvas, trace, element, rect),
            }
        };
        if element.at != next {
            place(canvas, trace, None);
        }
        next = element.at + 1;
        place(canvas, trace, Some(element));
    }
    if elements.len() < strip.len {
        let text = format!("of {}", label::count(strip.len));
        canvas.text("q", last.0 + 8.0, last.1 + 15.2, 12.0, &text);
    }
    y + slot.div_ceil(fit) as f64 * pitch
}

fn cell(canvas: &mut Canvas, trace: &mut TraceLine, element: &Element, rect: Rect) {
    canvas.open(element.hover.trim(), element.tip.as_deref());
    canvas.text_at("s", rect.middle(), rect.y - 3.0, &element.at.to_string());
    canvas.rect(&element.class, rect.inset(0.5), 2.5);
    let look = if element.traced { "b" } else { element.look };
    canvas.text_at(look, rect.middle(), rect.y + 15.2, &element.text);
    if element.traced {
        canvas.rect("mark", rect, 3.5);
        trace.boxes.push(rect);
    }
    canvas.close();
}

/// Draws the trace line: from the cell to the trunk, down the trunk, and from it to each box.
fn lines(canvas: &mut Canvas, trace: &TraceLine, start: Start, x: f64) {
    let trunk = x + TRUNK;
    let Some(&first) = trace.dots.first() else { return };
    let side = trunk - 18.0;
    let mut points = vec![start.corner, (start.right, start.corner.1)];
    if !(start.last && start.right <= side) {
        points.extend([(start.right, start.below), (side, start.below)]);
    } else {
        points.push((side, start.corner.1));
    }
    points.extend([(side, first), (trunk, first)]);
    canvas.line("way", &points);
    let lane = |rect: &Rect| rect.bottom() + LANE_HEIGHT - 4.0;
    let bottom =
        trace.boxes.iter().map(lane).chain(trace.dots.iter().copied()).fold(first, f64::max);
    canvas.line("way", &[(trunk, first), (trunk, bottom)]);
    for rect in &trace.boxes {
        let lane = lane(rect);
        let middle = rect.middle();
        canvas.line("way", &[(trunk, lane), (middle, lane), (middle, rect.bottom())]);
    }
    for &dot in &trace.dots {
        canvas.circle("dot", trunk, dot, 4.0);
    }
}
