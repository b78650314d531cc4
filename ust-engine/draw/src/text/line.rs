//! Lines of styled text.

use std::fmt;

use super::super::picture::COLORS;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Dim,
    Bold,
    /// The traced element, without the colour of a group.
    Trace,
    /// An entry, in the colour of its group.
    Group(usize),
    /// Padding, in the colour of its group.
    Padding(usize),
    /// The traced place, in the colour of its group.
    Traced(usize),
}

/// A line: pieces of text with their styles.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(Vec<(Style, String)>);

/// Colours of the terminal's palette of 256. They can be told apart without seeing red and green, and
/// all are light enough for black text.
const PALETTE: [u8; COLORS] = [110, 209, 222, 79, 218, 117, 149, 184];

impl Line {
    pub(super) fn of(style: Style, text: &str) -> Self {
        let mut line = Self::default();
        line.push(style, text);
        line
    }

    pub(super) fn push(&mut self, style: Style, text: &str) {
        self.0.push((style, text.to_owned()));
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, color: bool) -> fmt::Result {
        if !color {
            let text: String = self.0.iter().map(|(_, text)| text.as_str()).collect();
            return f.write_str(text.trim_end());
        }
        for (style, text) in &self.0 {
            let of = |group: &usize| PALETTE[group % COLORS];
            match style {
                Style::Plain => write!(f, "{text}")?,
                Style::Dim => write!(f, "\x1b[2m{text}\x1b[0m")?,
                Style::Bold => write!(f, "\x1b[1m{text}\x1b[0m")?,
                Style::Trace => write!(f, "\x1b[1;7m{text}\x1b[0m")?,
                Style::Group(group) => write!(f, "\x1b[30;48;5;{}m{text}\x1b[0m", of(group))?,
                Style::Padding(group) => write!(f, "\x1b[38;5;{}m{text}\x1b[0m", of(group))?,
                Style::Traced(group) => write!(f, "\x1b[1;7;38;5;{}m{text}\x1b[0m", of(group))?,
            }
        }
        Ok(())
    }
}

/// The width of the widest line.
pub(super) fn width(lines: &[Line]) -> usize {
    lines.iter().map(Line::width).max().unwrap_or(0)
}

/// Puts lines next to each other.
pub(super) fn beside(left: Vec<Line>, right: Vec<Line>, gap: usize) -> Vec<Line> {
    let column = width(&left) + gap;
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    (0..rows)
        .map(|_| {
            let mut line = left.next().unwrap_or_default();
            if let Some(right) = right.next() {
                line.push(Style::Plain, &" ".repeat(column - line.width()));
                line.append(right);
            }
            line
        })
        .collect()
}
