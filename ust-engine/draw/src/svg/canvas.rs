//! Writes shapes and text as SVG, escaped and measured.

use std::fmt::Write as _;

/// Width of a character in a monospaced font of 12 pixels, rounded up.
pub(super) const CHARACTER: f64 = 7.4;

/// The shapes drawn so far, and how far they reach.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    out: String,
    /// The right edge of what was drawn.
    pub(super) right: f64,
    /// The bottom edge of what was drawn.
    pub(super) bottom: f64,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

impl Rect {
    pub(super) fn right(self) -> f64 {
        self.x + self.w
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.h
    }

    pub(super) fn middle(self) -> f64 {
        self.x + self.w / 2.0
    }

    pub(super) fn inset(self, by: f64) -> Self {
        Self { x: self.x + by, y: self.y + by, w: self.w - 2.0 * by, h: self.h - 2.0 * by }
    }
}

impl Canvas {
    /// The SVG text of all shapes.
    pub(super) fn into_text(self) -> String {
        self.out
    }

    /// Adds the shapes of another canvas, above those of this one.
    pub(super) fn take(&mut self, other: &Self) {
        self.out.push_str(&other.out);
        self.reach(other.right, other.bottom);
    }

    /// Opens a group with classes and a tooltip.
    pub(super) fn open(&mut self, class: &str, title: Option<&str>) {
        self.out.push_str("<g");
        self.class(class);
        self.out.push('>');
        if let Some(title) = title {
            self.out.push_str("<title>");
            escape(&mut self.out, title);
            self.out.push_str("</title>");
        }
    }

    /// Closes the group.
    pub(super) fn close(&mut self) {
        self.out.push_str("</g>\n");
    }

    pub(super) fn rect(&mut self, class: &str, rect: Rect, round: f64) {
        self.reach(rect.right(), rect.bottom());
        let Rect { x, y, w, h } = rect;
        self.out.push_str("<rect");
        for (name, value) in [("x", x), ("y", y), ("width", w.max(0.0)), ("height", h.max(0.0))] {
            self.number(name, value);
        }
        if round > 0.0 {
            self.number("rx", round);
        }
        self.class(class);
        self.out.push_str("/>\n");
    }

    pub(super) fn circle(&mut self, class: &str, x: f64, y: f64, r: f64) {
        self.reach(x + r, y + r);
        self.out.push_str("<circle");
        for (name, value) in [("cx", x), ("cy", y), ("r", r)] {
            self.number(name, value);
        }
        self.class(class);
        self.out.push_str("/>\n");
    }

    /// Straight lines from point to point.
    pub(super) fn line(&mut self, class: &str, points: &[(f64, f64)]) {
        self.out.push_str("<path d=\"");
        for (at, &(x, y)) in points.iter().enumerate() {
            self.reach(x, y);
            self.out.push(if at == 0 { 'M' } else { 'L' });
            let _ = write!(self.out, "{} {}", Short(x), Short(y));
        }
        self.out.push('"');
        self.class(class);
        self.out.push_str("/>\n");
    }

    /// A path in units of its own, moved and scaled.
    pub(super) fn path(&mut self, class: &str, path: &str, at: (f64, f64), scale: (f64, f64)) {
        let (x, y, sx, sy) = (Short(at.0), Short(at.1), scale.0, scale.1);
        let _ = write!(self.out, "<path transform=\"translate({x} {y}) scale({sx:.4} {sy:.4})\"");
        let _ = write!(self.out, " d=\"{path}\"");
        self.class(class);
        self.out.push_str("/>\n");
    }

    /// Text that begins at `x`, with its baseline at `y`. Returns where it ends, for a font of `size`
    /// pixels.
    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, size: f64, text: &str) -> f64 {
        let end = x + width(text) * size / 12.0;
        self.reach(end, y + 4.0);
        self.raw_text(class, x, y, text);
        end
    }

    /// Text that ends at `x`.
    pub(super) fn text_to(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.reach(x, y + 4.0);
        self.raw_text(&format!("r {class}"), x, y, text);
    }

    /// Text with its middle at `x`.
    pub(super) fn text_at(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.reach(x, y + 4.0);
        self.raw_text(&format!("c {class}"), x, y, text);
    }

    fn raw_text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.out.push_str("<text");
        self.number("x", x);
        self.number("y", y);
        self.class(class);
        self.out.push('>');
        escape(&mut self.out, text);
        self.out.push_str("</text>\n");
    }

    fn number(&mut self, name: &str, value: f64) {
        let _ = write!(self.out, " {name}=\"{}\"", Short(value));
    }

    fn class(&mut self, class: &str) {
        if !class.is_empty() {
            let _ = write!(self.out, " class=\"{class}\"");
        }
    }

    fn reach(&mut self, x: f64, y: f64) {
        self.right = self.right.max(x);
        self.bottom = self.bottom.max(y);
    }
}

/// The width of a text in a font of 12 pixels.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// Escapes text for XML. Characters that XML does not allow are replaced.
pub(super) fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
}

/// A number with at most one digit after the point.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 * 10.0).round();
        match tenths % 10.0 == 0.0 {
            true => write!(f, "{}", tenths / 10.0),
            false => write!(f, "{:.1}", tenths / 10.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_control_characters_are_replaced() {
        let mut out = String::new();
        escape(&mut out, "a<b & \"c\">\u{1}\u{ffff}é");
        assert_eq!(out, "a&lt;b &amp; &quot;c&quot;&gt;\u{fffd}\u{fffd}é");
    }

    #[test]
    fn numbers_are_written_short() {
        for (number, text) in [(3.0, "3"), (2.46, "2.5"), (-0.04, "-0"), (1e6, "1000000")] {
            assert_eq!(Short(number).to_string(), text);
        }
    }
}
