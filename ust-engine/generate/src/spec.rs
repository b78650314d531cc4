//! Reads a generator's text.
//!
//! ```text
//! spec     := [ 'gen:' ] name '(' [ argument { ',' argument } ] ')'
//! argument := [ name '=' ] number { 'x' number }
//! ```
//!
//! Blanks may stand between any two of these; `_` may stand between digits.

use std::ops::Range;

use super::error::{GenerateError, GenerateErrorKind as Kind};

/// A part of the text, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spanned<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

/// A generator's name and its arguments, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: Spanned<String>,
    pub(super) arguments: Vec<Argument>,
    /// The closing parenthesis, where a missing argument could stand.
    pub(super) end: Range<usize>,
}

/// One argument: a number, or several with `x` between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: Option<Spanned<String>>,
    pub(super) value: Spanned<Vec<u64>>,
}

/// More numbers than any shape has, in one argument.
const MAX_EXTENTS: usize = 64;
/// More arguments than any generator has.
const MAX_ARGUMENTS: usize = 64;

pub(super) fn parse(text: &str) -> Result<Call, GenerateError> {
    let mut reader = Reader { text, at: 0 };
    reader.blanks();
    if reader.rest().starts_with(super::PREFIX) {
        reader.at += super::PREFIX.len();
    }
    let name = reader.name().ok_or_else(|| reader.expected("the name of a generator"))?;
    if !reader.take('(') {
        return Err(reader.expected("`(`"));
    }
    let mut arguments = Vec::new();
    let mut end = reader.here();
    if !reader.take(')') {
        loop {
            if arguments.len() == MAX_ARGUMENTS {
                return Err(reader.expected("`)`: no generator has so many parameters"));
            }
            arguments.push(reader.argument()?);
            end = reader.here();
            if reader.take(')') {
                break;
            }
            if !reader.take(',') {
                return Err(reader.expected("`,` or `)`"));
            }
        }
    }
    if !reader.rest().is_empty() {
        return Err(reader.expected("nothing more"));
    }
    Ok(Call { name, arguments, end })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// The next character's bytes; nothing at the end.
    fn here(&self) -> Range<usize> {
        self.at..self.at + self.rest().chars().next().map_or(0, char::len_utf8)
    }

    /// Takes the characters as long as they suit, and the blanks behind them.
    fn take_while(&mut self, suits: impl Fn(char) -> bool) -> Spanned<String> {
        let rest = self.rest();
        let length = rest.find(|c| !suits(c)).unwrap_or(rest.len());
        let span = self.at..self.at + length;
        let value = rest[..length].to_owned();
        self.at = span.end;
        self.blanks();
        Spanned { value, span }
    }

    fn take(&mut self, c: char) -> bool {
        let there = self.rest().starts_with(c);
        if there {
            self.at += c.len_utf8();
            self.blanks();
        }
        there
    }

    fn name(&mut self) -> Option<Spanned<String>> {
        self.blanks();
        let first = self.rest().chars().next()?;
        (first.is_alphabetic() || first == '_')
            .then(|| self.take_while(|c| c.is_alphanumeric() || c == '_'))
    }

    fn argument(&mut self) -> Result<Argument, GenerateError> {
        let name = self.name();
        if name.is_some() && !self.take('=') {
            return Err(self.expected("`=`"));
        }
        let start = self.at;
        let mut numbers = vec![self.number()?];
        let mut stop = self.text[..self.at].trim_end().len();
        while self.take('x') {
            if numbers.len() == MAX_EXTENTS {
                return Err(self.expected("at most 64 extents"));
            }
            numbers.push(self.number()?);
            stop = self.text[..self.at].trim_end().len();
        }
        Ok(Argument { name, value: Spanned { value: numbers, span: start..stop } })
    }

    fn number(&mut self) -> Result<u64, GenerateError> {
        if !self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.expected("a number"));
        }
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '_');
        digits.value.replace('_', "").parse().map_err(|_| {
            let shown: String = digits.value.chars().take(40).collect();
            let more = if shown.len() < digits.value.len() { "..." } else { "" };
            self.error(digits.span, Kind::Number { digits: shown + more })
        })
    }

    fn error(&self, span: Range<usize>, kind: Kind) -> GenerateError {
        GenerateError { text: self.text.to_owned(), span, kind }
    }

    fn expected(&self, expected: &'static str) -> GenerateError {
        let found = match self.rest().chars().next() {
            None => "the end".to_owned(),
            Some(c) if c.is_control() => format!("{c:?}"),
            Some(c) => format!("`{c}`"),
        };
        self.error(self.here(), Kind::Syntax { expected, found })
    }
}
