//! Arrays and values, each with its indices.

use std::collections::HashMap;

use ust_level_api::Per;

use super::super::arrays::{block, per_line, shown};
use super::super::label;
use super::super::picture::{Picture, State};
use super::TextOptions;
use super::grid::{bracketed, brackets};
use super::line::{Line, Style};

/// An element of an array: its looks and its index.
struct Element {
    style: Style,
    marks: Option<(char, char)>,
    text: String,
    at: usize,
}

/// The arrays of each level, then the values.
pub(super) fn lines(picture: &Picture<'_>, options: &TextOptions) -> Vec<Line> {
    let mut lines = Vec::new();
    let traced = picture.traced();
    for (name, order, required) in label::orders(picture) {
        lines.push(Line::of(Style::Bold, &format!("sorted {name}")));
        let element = |at: usize| {
            let traced = required == Some(at);
            let text = order.get(at).map_or_else(String::new, |v| v.to_string());
            let style = if traced { Style::Trace } else { Style::Plain };
            Element { style, marks: traced.then_some(('>', '<')), text, at }
        };
        let elements = shown(order.len(), options.max_elements, required.as_slice());
        let elements = elements.into_iter().map(element).collect();
        lines.extend(row("order", elements, order.len(), 1, options.width));
    }
    for (level, shown_level) in picture.levels.iter().enumerate() {
        let mut line = Line::of(Style::Bold, &format!("level {level}  {}", shown_level.text));
        let size = label::count(shown_level.size);
        let positions = label::positions(shown_level.positions);
        line.push(Style::Dim, &format!("   size {size}, {positions}"));
        lines.push(line);
        let leading = traced.map(|place| picture.leading(level, place));
        for (at, array) in shown_level.arrays.iter().enumerate() {
            let required = leading.as_ref().map_or(&[][..], |leading| &leading[at]);
            let color = |index: usize| {
                let by_position = array.per == Per::Position;
                picture.cells().filter(|_| by_position)?.color_at(level, index)
            };
            let look = |index: usize| match required.contains(&index) {
                true => (Style::Trace, Some(('>', '<'))),
                false if shown_level.in_gap(array, index) => (Style::Dim, Some(('{', '}'))),
                false => (color(index).map_or(Style::Plain, Style::Group), None),
            };
            let element = |index: usize| Element {
                style: look(index).0,
                marks: look(index).1,
                text: array.array.get(index).map_or_else(String::new, |v| v.to_string()),
                at: index,
            };
            let len = array.array.len();
            let elements = shown(len, options.max_elements, required).into_iter().map(element);
            lines.extend(row(array.name, elements.collect(), len, 1, options.width));
        }
    }
    let mut title = Line::of(Style::Bold, &format!("values  {}", picture.tensor.dtype()));
    if picture.tensor.is_iso() {
        title.push(Style::Dim, label::ISO);
    }
    lines.push(title);
    lines.extend(values(picture, options));
    lines
}

fn values(picture: &Picture<'_>, options: &TextOptions) -> Vec<Line> {
    let traced = picture.traced().map(|place| place.value);
    let known: Option<HashMap<usize, (State, usize)>> = picture.cells().map(|cells| {
        cells.places.iter().map(|place| (place.value, (place.state, cells.color(place)))).collect()
    });
    let hidden = !picture.tensor.view().shows_all();
    let element = |at: usize| {
        let place = known.as_ref().map(|known| known.get(&at));
        let (style, marks) = match place {
            _ if traced == Some(at) => (Style::Trace, Some(('>', '<'))),
            None => (Style::Plain, None),
            Some(None) if hidden => (Style::Dim, Some(('[', ']'))),
            Some(None) => (Style::Dim, Some(('{', '}'))),
            Some(Some(&(State::Entry, color))) => (Style::Group(color), None),
            Some(Some(&(state, color))) => (Style::Padding(color), brackets(state)),
        };
        Element { style, marks, text: label::short(&picture.value(at), 10), at }
    };
    let nse = picture.tensor.nse();
    let required: Vec<usize> = traced.into_iter().collect();
    let elements = shown(nse, options.max_elements, &required).into_iter().map(element).collect();
    row("", elements, nse, block(picture.tensor), options.width)
}

/// Elements with their indices above, on as many lines as they need.
fn row(name: &str, elements: Vec<Element>, len: usize, block: usize, width: usize) -> Vec<Line> {
    let gutter = 8;
    if elements.is_empty() {
        return vec![Line::of(Style::Plain, &format!("  {name:<6}(empty)"))];
    }
    let text = elements.iter().map(|e| e.text.chars().count()).max().unwrap_or(1);
    let index = elements.last().map_or(1, |e| e.at.to_string().len());
    let inner = text.max(index);
    let fit = (width.saturating_sub(gutter) / (inner + 2)).max(4);
    let fit = if elements.len() == len { per_line(len, fit, block) } else { fit };
    // A slot without an element stands for elements that are left out.
    let mut slots: Vec<Option<Element>> = Vec::new();
    let mut next = 0;
    for element in elements {
        if element.at != next {
            slots.push(None);
        }
        next = element.at + 1;
        slots.push(Some(element));
    }
    let mut lines = Vec::new();
    for (part, slots) in slots.chunks(fit).enumerate() {
        let label = if part == 0 { format!("  {name:<6}") } else { " ".repeat(gutter) };
        let mut indices = Line::of(Style::Plain, &" ".repeat(gutter));
        let mut texts = Line::of(Style::Plain, &label);
        for slot in slots {
            let (style, marks, text, at) = match slot {
                Some(e) => (e.style, e.marks, e.text.as_str(), e.at.to_string()),
                None => (Style::Dim, None, "…", String::new()),
            };
            indices.push(Style::Dim, &bracketed(&at, None, inner));
            texts.push(style, &bracketed(text, marks, inner));
        }
        lines.extend([indices, texts]);
    }
    if let Some(line) = lines.last_mut().filter(|_| slots.iter().any(Option::is_none)) {
        line.push(Style::Dim, &format!("  of {}", label::count(len)));
    }
    lines
}
