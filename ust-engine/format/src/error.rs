//! The error of format text: the fault, its place, and what to write instead.

use std::fmt;
use std::ops::Range;

/// Columns of source text that are shown.
const WINDOW: usize = 76;
/// Columns shown before the marked place, when the beginning of the line is cut off.
const BEFORE: usize = 30;
/// The longest piece of source text that a message repeats, in characters.
const QUOTED: usize = 40;

/// An error in a format's text, or a format that does not suit a shape. [`Display`](fmt::Display)
/// shows the line with a caret under the place. Of long text, an error keeps at most a few hundred
/// bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct FormatError(Box<Fields>);

ust_level_api::debug_shows_message!(FormatError);

#[derive(Clone, PartialEq, Eq)]
struct Fields {
    message: String,
    help: Option<String>,
    span: Range<usize>,
    line: usize,
    column: usize,
    one_line: bool,
    excerpt: String,
    before: usize,
    marked: usize,
}

impl FormatError {
    /// An error at `span` (bytes) of `source`.
    pub(super) fn new(source: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = floor_char(source, span.start);
        let end = floor_char(source, span.end).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |at| start + at);
        let picture =
            Picture::of(&source[line_start..line_end], start - line_start, end - line_start);
        Self(Box::new(Fields {
            message: message.into(),
            help: None,
            line: source[..start].matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            one_line: !source.trim_end().contains('\n'),
            span: start..end,
            excerpt: picture.text,
            before: picture.before,
            marked: picture.marked,
        }))
    }

    /// The same error with a line of help.
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The same error with a line of help, if `help` is given.
    pub(super) fn maybe_help(mut self, help: Option<String>) -> Self {
        self.0.help = help.or(self.0.help);
        self
    }

    /// The place in the text, in bytes. For an error in a shape or width that is not part of the
    /// text, the place in the format's canonical text.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.0.span.clone()
    }

    /// The fault, in one sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to write instead, if known.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The number of the line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The number of the column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The excerpt with a mark below the place, in two indented lines.
    fn marked(&self) -> String {
        let Fields { excerpt, before, marked, .. } = &*self.0;
        let tail = marked.saturating_sub(1);
        format!("  {excerpt}\n  {:before$}^{:~<tail$}", "", "")
    }

    /// The line of text around the place, clipped if it is long.
    #[must_use]
    pub fn excerpt(&self) -> &str {
        &self.0.excerpt
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields { message, help, line, column, one_line, excerpt, before, marked, .. } =
            &*self.0;
        write!(f, "{message}")?;
        if !one_line {
            write!(f, " (line {line}, column {column})")?;
        }
        write!(
            f,
            "\n  {excerpt}\n  {:before$}^{:~<tail$}",
            "",
            "",
            tail = marked.saturating_sub(1)
        )?;
        match help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FormatError {}

/// One line as it is displayed, and the columns of the mark.
struct Picture {
    text: String,
    before: usize,
    marked: usize,
}

impl Picture {
    /// `start..end` are bytes of `line`; an end beyond the line marks up to its end.
    fn of(line: &str, start: usize, end: usize) -> Self {
        let line = line.trim_end_matches('\r');
        let (start, end) = (start.min(line.len()), end.min(line.len()));
        let head = if line.chars().count() <= WINDOW { 0 } else { back(line, start, BEFORE) };
        let mut picture = Self { text: String::new(), before: 0, marked: 0 };
        if head > 0 {
            picture.text.push_str("...");
            picture.before = 3;
        }
        let mut columns = picture.before;
        for (at, c) in line[head..].char_indices() {
            let (shown, width) = shown(c);
            if columns + width > WINDOW && head + at > start {
                picture.text.push_str("...");
                break;
            }
            columns += width;
            picture.text.push(shown);
            match head + at {
                at if at < start => picture.before += width,
                at if at < end => picture.marked += width,
                _ => {}
            }
        }
        picture
    }
}

/// The byte `count` characters before `at`.
fn back(line: &str, at: usize, count: usize) -> usize {
    line[..at].char_indices().rev().take(count).last().map_or(at, |(at, _)| at)
}

/// The displayed form of a character, and its columns. A tab becomes a blank; a character that
/// would disturb the terminal becomes a replacement character.
fn shown(c: char) -> (char, usize) {
    match c {
        '\t' => (' ', 1),
        c if c.is_control() => ('\u{fffd}', 1),
        // Combining marks, and marks that change the direction of writing.
        '\u{300}'..='\u{36f}' => (c, 0),
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => ('\u{fffd}', 1),
        // East Asian wide characters and pictographs.
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => (c, 2),
        c => (c, 1),
    }
}

/// The line of a text around a place, and a mark below it, as two indented lines. Long lines are
/// clipped.
pub fn marked(source: &str, span: Range<usize>) -> String {
    FormatError::new(source, span, "").marked()
}

fn floor_char(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A piece of source text for a message, in backquotes, shortened if it is long.
pub fn quote(text: &str) -> String {
    let mut cut: String = text.chars().take(QUOTED).map(|c| shown(c).0).collect();
    if text.chars().nth(QUOTED).is_some() {
        cut.push_str("...");
    }
    format!("`{cut}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str, span: Range<usize>) -> String {
        FormatError::new(source, span, "wrong").to_string()
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        assert_eq!(
            rendered("(i) -> (x : dense)", 8..9),
            "wrong\n  (i) -> (x : dense)\n          ^"
        );
        assert_eq!(rendered("abc", 3..3), "wrong\n  abc\n     ^");
        assert_eq!(rendered("a\tbcd", 2..4), "wrong\n  a bcd\n    ^~");
    }

    #[test]
    fn wide_and_joining_characters_are_counted_in_columns() {
        assert_eq!(rendered("\u{5bc6} x", 4..5), "wrong\n  \u{5bc6} x\n     ^");
        assert_eq!(rendered("e\u{301} x", 4..5), "wrong\n  e\u{301} x\n    ^");
        assert_eq!(rendered("\u{202e}x", 3..4), "wrong\n  \u{fffd}x\n   ^");
    }

    #[test]
    fn only_the_line_of_the_place_is_shown() {
        assert_eq!(
            rendered("(i)\n-> (x\n: dense)", 8..9),
            "wrong (line 2, column 5)\n  -> (x\n      ^"
        );
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides() {
        let text = format!("{}HERE{}", "a".repeat(1000), "b".repeat(1000));
        let shown = rendered(&text, 1000..1004);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.iter().all(|line| line.len() < WINDOW + 8), "{shown}");
        let (mark, excerpt) = (lines[2].find('^').unwrap(), lines[1]);
        assert_eq!(&excerpt[mark..mark + 4], "HERE");
        assert_eq!(lines[2].trim(), "^~~~");
    }

    #[test]
    fn an_error_stays_small() {
        let text = "(".repeat(1 << 20);
        assert!(rendered(&text, 0..1 << 20).len() < 400);
        assert!(quote(&text).len() < 60);
    }
}
