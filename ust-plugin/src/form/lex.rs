//! Words and signs.

use super::FormError;

/// The longest text, in bytes.
const MAX_TEXT: usize = 1 << 16;

/// A word, a number or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Number(&'a str),
    Sign(&'static str),
    End,
}

/// Signs; those of two characters first.
const SIGNS: [&str; 29] = [
    "..", "==", "!=", "<=", ">=", "&&", "||", ">>", "+", "-", "*", "&", "<", ">", "=", "!", "?",
    ":", ";", ",", "(", ")", "[", "]", "{", "}", "/", "%", "~",
];

/// The tokens of a text, each with its place, and [`Token::End`] behind them.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>, FormError> {
    if text.len() > MAX_TEXT {
        let message = format!("a text of {} bytes; at most {MAX_TEXT}", text.len());
        return Err(error(text, 0, message));
    }
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = |is: fn(char) -> bool| &rest[..rest.find(|c| !is(c)).unwrap_or(rest.len())];
        let (token, len) = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let word = word(|c| c.is_ascii_alphanumeric() || c == '_');
            (Token::Word(word), word.len())
        } else if first.is_ascii_digit() {
            let number = word(|c| c.is_ascii_digit());
            (Token::Number(number), number.len())
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            return Err(error(text, at, format!("`{first}` has no meaning here")));
        };
        all.push((token, at));
        at += len;
    }
    all.push((Token::End, text.len()));
    Ok(all)
}

/// An error at a byte of a text.
pub(super) fn error(text: &str, at: usize, message: String) -> FormError {
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    FormError::Text { line, column: before[start..].chars().count() + 1, message }
}
