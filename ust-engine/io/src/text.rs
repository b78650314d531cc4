//! Lines and their tokens, for Matrix Market and FROSTT.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use super::FileError;

/// The text without the byte order mark that some editors put at its start. Every reader of text calls
/// this first.
pub(super) fn unmarked(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// A fault in a text.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    /// The offset of the byte at which the fault is.
    pub(super) at: usize,
    /// What is wrong there.
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }

    /// The error, with line and column. Cost: O(bytes before the fault).
    pub(super) fn locate(self, path: &Path, text: &[u8]) -> FileError {
        let before = &text[..self.at.min(text.len())];
        let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        FileError::Text {
            path: path.to_owned(),
            line: before.iter().filter(|&&b| b == b'\n').count() + 1,
            column: String::from_utf8_lossy(&before[start..]).chars().count() + 1,
            reason: self.reason,
        }
    }
}

/// A token of a line: bytes without whitespace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    /// The offset of its first byte in the text.
    pub(super) at: usize,
    /// Its bytes.
    pub(super) bytes: &'a [u8],
}

impl<'a> Token<'a> {
    pub(super) fn fault(self, reason: String) -> Fault {
        Fault { at: self.at, reason }
    }

    pub(super) fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes).ok()
    }

    pub(super) fn is(self, word: &str) -> bool {
        self.bytes.eq_ignore_ascii_case(word.as_bytes())
    }
}

impl fmt::Display for Token<'_> {
    /// The token, escaped for a terminal and cut to 40 characters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(self.bytes);
        for character in text.chars().take(40) {
            write!(f, "{}", character.escape_debug())?;
        }
        f.write_str(if text.chars().nth(40).is_some() { "..." } else { "" })
    }
}

/// The unread rest of a line, without the comment at its end.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
    comments: &'static [u8],
}

impl<'a> Line<'a> {
    /// The offset at which the rest of the line starts.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next token; `None` at the end of the line and at a comment.
    pub(super) fn token(&mut self) -> Option<Token<'a>> {
        let rest = &self.text[self.at..self.end];
        let start = rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let rest = &rest[start..];
        let ends = |b: &u8| b.is_ascii_whitespace() || self.comments.contains(b);
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        if len == 0 {
            self.end = self.at;
            return None;
        }
        let token = Token { at: self.at + start, bytes: &rest[..len] };
        self.at = token.at + len;
        Some(token)
    }

    /// The next token. If there is none, the message says that the line lacks its `what`.
    pub(super) fn expect(&mut self, what: &str) -> Result<Token<'a>, Fault> {
        self.token().ok_or_else(|| Fault::new(self.at, format!("the line ends before its {what}")))
    }

    /// Refuses a further token.
    pub(super) fn finish(mut self) -> Result<(), Fault> {
        match self.token() {
            None => Ok(()),
            Some(token) => Err(token.fault(format!("`{token}` is one word too many in this line"))),
        }
    }

    /// The remaining tokens.
    pub(super) fn words(mut self) -> impl Iterator<Item = Token<'a>> {
        std::iter::from_fn(move || self.token())
    }

    /// The rest of the line, trimmed.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text[self.at..self.end].trim_ascii()
    }
}

/// The lines of a part of the text.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
    comments: &'static [u8],
}

impl<'a> Lines<'a> {
    /// The lines that are neither blank nor comments. A comment starts with one of the `comments`
    /// characters, and may also follow the tokens of a line: then it is no part of the line.
    pub(super) fn new(text: &'a [u8], part: Range<usize>, comments: &'static [u8]) -> Self {
        Self { text, at: part.start, end: part.end, comments }
    }

    /// The offset at which the next line starts.
    pub(super) fn at(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        while self.at < self.end {
            let rest = &self.text[self.at..self.end];
            let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (at, end) = (self.at, self.at + len);
            let line = Line { text: self.text, at, end, comments: self.comments };
            self.at = (self.at + len + 1).min(self.end);
            let first = rest[..len].iter().find(|b| !b.is_ascii_whitespace());
            if first.is_some_and(|b| !self.comments.contains(b)) {
                return Some(line);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        Lines::new(text.as_bytes(), 0..text.len(), b"#")
            .map(|line| line.words().map(|t| t.to_string()).collect())
            .collect()
    }

    #[test]
    fn blank_lines_comments_and_carriage_returns_are_skipped() {
        assert_eq!(words("1 2\r\n\r\n  # x\n\t3\t4 \n\n"), [["1", "2"], ["3", "4"]]);
        assert_eq!(words("5"), [["5"]]);
        assert!(words("\n \n#").is_empty());
    }

    #[test]
    fn a_comment_may_stand_behind_the_words_of_a_line() {
        assert_eq!(words("1 2 # x 3\n4#5\r\n6 #"), [vec!["1", "2"], vec!["4"], vec!["6"]]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once_at_the_start() {
        assert_eq!(unmarked(b"\xef\xbb\xbf1 2"), b"1 2");
        assert_eq!(unmarked(b"\xef\xbb\xbf\xef\xbb\xbf1"), b"\xef\xbb\xbf1");
        assert_eq!(unmarked(b"1\xef\xbb\xbf"), b"1\xef\xbb\xbf");
    }
}
