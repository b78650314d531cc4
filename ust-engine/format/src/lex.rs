//! The lexer: format text as tokens, one at a time.

use std::ops::Range;

/// One token, with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name.
    Name(&'a str),
    /// A number: digits, perhaps with a fraction and an exponent.
    Number(&'a str),
    /// `#` and the name that directly follows, such as `#sparse_tensor.encoding`.
    Hash(&'a str),
    /// Punctuation or an operator.
    Punct(&'static str),
    /// A character that format text never contains.
    Stray(char),
    /// The end of the text.
    End,
}

/// The kind of text, which decides the meaning of `//`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Before the first token: `//` starts a comment.
    Start,
    /// UST text: `//` is division that rounds down.
    Ust,
    /// Inside MLIR's attribute: `//` starts a comment.
    Mlir,
}

const PUNCTUATION: [&str; 20] = [
    "->", "//", "(", ")", "{", "}", "[", "]", "<", ">", ",", ":", "=", "+", "-", "*", "/", "%",
    "?", ".",
];

/// Reads tokens, starting at a place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) mode: Mode,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, at: usize, mode: Mode) -> Self {
        Self { text, at, mode }
    }

    /// The next token and its place. Cost: O(length of the token and of skipped comments and
    /// blanks).
    pub(super) fn next(&mut self) -> (Token<'a>, Range<usize>) {
        self.skip();
        let start = self.at;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return (Token::End, start..start) };
        let token = if is_name_start(first) {
            Token::Name(self.take(|c| is_name_start(c) || c.is_numeric()))
        } else if first.is_ascii_digit() {
            Token::Number(self.number())
        } else if first == '#' {
            self.at += 1;
            self.take(|c| is_name_start(c) || c.is_numeric() || c == '.');
            Token::Hash(&self.text[start..self.at])
        } else if let Some(punct) = PUNCTUATION.into_iter().find(|p| rest.starts_with(p)) {
            self.at += punct.len();
            Token::Punct(punct)
        } else {
            self.at += first.len_utf8();
            Token::Stray(first)
        };
        (token, start..self.at)
    }

    /// Skips white space and comments.
    pub(super) fn skip(&mut self) {
        loop {
            self.take(char::is_whitespace);
            let rest = &self.text[self.at..];
            let hash = rest.strip_prefix('#');
            let comment = hash.is_some_and(|r| r.is_empty() || r.starts_with(char::is_whitespace))
                || (self.mode != Mode::Ust && rest.starts_with("//"));
            if !comment {
                return;
            }
            self.take(|c| c != '\n');
        }
    }

    fn number(&mut self) -> &'a str {
        let start = self.at;
        self.take(|c| c.is_ascii_digit());
        let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let rest = &self.text[self.at..];
        if rest.strip_prefix('.').is_some_and(digit) {
            self.at += 1;
            self.take(|c| c.is_ascii_digit());
        }
        let rest = &self.text[self.at..];
        if let Some(exponent) = rest.strip_prefix(['e', 'E'])
            && digit(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
        {
            self.at += 2;
            self.take(|c| c.is_ascii_digit());
        }
        &self.text[start..self.at]
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, mode: Mode) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text, 0, mode);
        std::iter::from_fn(|| Some(lexer.next().0).filter(|&token| token != Token::End)).collect()
    }

    #[test]
    fn two_slashes_divide_in_ust_text_and_comment_in_mlir_text() {
        use Token::{Name, Number, Punct};
        let text = "i // 2\nj";
        assert_eq!(tokens(text, Mode::Ust), [Name("i"), Punct("//"), Number("2"), Name("j")]);
        assert_eq!(tokens(text, Mode::Mlir), [Name("i"), Name("j")]);
    }

    #[test]
    fn a_hash_with_a_blank_starts_a_comment_and_one_without_does_not() {
        assert_eq!(tokens("# CSR\ni #", Mode::Ust), [Token::Name("i")]);
        assert_eq!(tokens("#a.b<", Mode::Ust), [Token::Hash("#a.b"), Token::Punct("<")]);
    }

    #[test]
    fn numbers_take_fractions_and_exponents_but_no_trailing_names() {
        use Token::{Name, Number, Punct};
        assert_eq!(tokens("1.5e-3 2", Mode::Ust), [Number("1.5e-3"), Number("2")]);
        assert_eq!(tokens("2.e", Mode::Ust), [Number("2"), Punct("."), Name("e")]);
        assert_eq!(tokens("j-i->", Mode::Ust), [Name("j"), Punct("-"), Name("i"), Punct("->")]);
    }
}
