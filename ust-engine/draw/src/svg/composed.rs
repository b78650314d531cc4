//! Composed tensors as SVG.

use std::fmt::Write as _;

use ust_engine::Composed;
use ust_engine::error::Error;

use super::canvas::{self, Canvas, Rect};
use super::{MARGIN, SvgOptions, drawn, style};
use crate::composed::{Owners, heading, legend, sign};
use crate::label;
use crate::picture::State;

/// The width and height of a cell.
const CELL: f64 = 15.0;

/// Draws a composed tensor as SVG: each element in the colour of the part that stores it, and below it each part by
/// itself.
///
/// # Errors
/// As [`svg`](super::svg()).
pub fn svg_of_composed(composed: &Composed, options: &SvgOptions) -> Result<String, Error> {
    if let [one] = composed.parts() {
        return super::svg(one, options);
    }
    let owners = Owners::of(composed, options.max_cells)?;
    let mut canvas = Canvas::default();
    let [title, counts] = heading(composed);
    let mut y = MARGIN + 16.0;
    canvas.text("h1", MARGIN, y, 18.0, &label::cut(&title, 80));
    y += 24.0;
    canvas.text("q", MARGIN, y, 12.0, &counts);
    y += 20.0;
    for row in &owners.rows {
        for (at, part) in row.iter().enumerate() {
            let cell = Rect { x: MARGIN + CELL * at as f64, y, w: CELL, h: CELL };
            match part {
                Some(part) => {
                    canvas.open("", Some(&format!("part {}", sign(*part))));
                    canvas.rect(&style::class(State::Entry, *part), cell, 0.0);
                    canvas.close();
                }
                None => canvas.rect("cell", cell, 0.0),
            }
        }
        y += CELL;
    }
    y += 8.0;
    for (part, about) in owners.parts.iter().enumerate() {
        canvas.rect(
            &style::class(State::Entry, part),
            Rect { x: MARGIN, y, w: CELL, h: CELL },
            0.0,
        );
        canvas.text("", MARGIN + CELL + 8.0, y + 12.0, 12.0, &legend(part, about));
        y += CELL + 6.0;
    }
    let mut right = canvas.right + MARGIN;
    let mut parts = String::new();
    for part in composed.parts() {
        y += MARGIN;
        let (text, [w, h]) = drawn(part, options)?;
        let _ = writeln!(parts, "<g transform=\"translate(0 {y})\">{text}</g>");
        right = right.max(w);
        y += h;
    }
    let (w, h) = (right.ceil(), (y + MARGIN).ceil());
    let mut name = String::new();
    canvas::escape(&mut name, &label::cut(&format!("{title}: {counts}"), 400));
    let mut ground = Canvas::default();
    ground.rect("ground", Rect { x: 0.0, y: 0.0, w, h }.inset(0.5), 8.0);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ust\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{name}\">\n{}{}{}{parts}</svg>\n",
        style::style(&[], options.theme),
        ground.into_text(),
        canvas.into_text()
    ))
}
