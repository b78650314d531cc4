//! The lexer: from characters to names, numbers and signs.

use std::fmt;
use std::ops::Range;

use crate::expr::OpError;
use crate::expr::syntax::{Assign, Literal, Sign};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(Literal),
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Comma,
    Assign(Assign),
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Mul,
    Div,
    Not,
    Pow,
    End,
}

/// Longest first.
const SIGNS: [(&str, Token); 23] = [
    ("==", Token::Eq),
    ("!=", Token::Ne),
    ("<=", Token::Le),
    (">=", Token::Ge),
    ("+=", Token::Assign(Assign::Add)),
    ("*=", Token::Assign(Assign::Mul)),
    ("|=", Token::Assign(Assign::Or)),
    ("&=", Token::Assign(Assign::And)),
    ("=", Token::Assign(Assign::Set)),
    ("<", Token::Lt),
    (">", Token::Gt),
    ("|", Token::Or),
    ("&", Token::And),
    ("+", Token::Add),
    ("-", Token::Sub),
    ("*", Token::Mul),
    ("/", Token::Div),
    ("!", Token::Not),
    ("^", Token::Pow),
    ("(", Token::Open),
    (")", Token::Close),
    ("[", Token::OpenBracket),
    ("]", Token::CloseBracket),
];

impl Token {
    /// The binary operator, if the token is one.
    pub(super) fn binary(&self) -> Option<Sign> {
        Some(match self {
            Token::Or => Sign::Or,
            Token::And => Sign::And,
            Token::Eq => Sign::Eq,
            Token::Ne => Sign::Ne,
            Token::Lt => Sign::Lt,
            Token::Le => Sign::Le,
            Token::Gt => Sign::Gt,
            Token::Ge => Sign::Ge,
            Token::Add => Sign::Add,
            Token::Sub => Sign::Sub,
            Token::Mul => Sign::Mul,
            Token::Div => Sign::Div,
            // `^` has a higher precedence than a unary sign, and is parsed elsewhere.
            _ => return None,
        })
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = SIGNS.iter().find(|(_, token)| token == self);
        f.write_str(sign.map_or("", |(text, _)| text))
    }
}

/// The value of a name that is a literal, as `inf`.
pub(super) fn constant(name: &str) -> Option<Literal> {
    Some(match name {
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        "inf" => Literal::Float(f64::INFINITY),
        "nan" => Literal::Float(f64::NAN),
        _ => return None,
    })
}

/// All tokens with their places, and [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<(Token, Range<usize>)>, OpError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, at..at));
            return Ok(tokens);
        };
        let (token, length) = if first.is_alphabetic() || first == '_' {
            let name = &rest[..word(rest)];
            (Token::Name(name.to_owned()), name.len())
        } else if first.is_ascii_digit() || first == '.' {
            number(text, at)?
        } else if first == ',' {
            (Token::Comma, 1)
        } else if let Some((sign, token)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            (token.clone(), sign.len())
        } else {
            let message = format!("`{}` is no sign of index notation", first.escape_debug());
            let help = match first {
                '@' | '\u{b7}' | '\u{d7}' | '\u{22c5}' => {
                    Some("a product names its indices: `C(i,j) = A(i,k) * B(k,j)`".to_owned())
                }
                ';' => Some("an expression is one line, and nothing ends it".to_owned()),
                _ => None,
            };
            return Err(OpError::at(text, &(at..at + first.len_utf8()), message, help));
        };
        tokens.push((token, at..at + length));
        at += length;
    }
}

/// Bytes of the letters, digits and `_` at the beginning.
fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn number(text: &str, at: usize) -> Result<(Token, usize), OpError> {
    let rest = &text[at..];
    let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if rest[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let digits = &rest[..end];
    let suffix = &rest[end..end + word(&rest[end..])];
    let fail = |message: String, help: Option<String>| {
        Err(OpError::at(text, &(at..at + end + suffix.len()), message, help))
    };
    let is_integer = digits.bytes().all(|b| b.is_ascii_digit());
    if digits.parse::<f64>().is_ok_and(f64::is_infinite) {
        return fail(format!("{digits} is too large"), Some("`inf` is infinity".to_owned()));
    }
    let literal = match suffix {
        "" if is_integer => digits.parse().ok().map(Literal::Int),
        "" => digits.parse().ok().map(Literal::Float),
        "i" => digits.parse().ok().map(Literal::Imaginary),
        _ => None,
    };
    match literal {
        Some(literal) => Ok((Token::Number(literal), end + suffix.len())),
        None if is_integer && suffix.is_empty() => {
            let help = Some(format!("`{digits}.0` is a floating-point number"));
            fail(format!("{digits} is too large for an integer"), help)
        }
        None => fail(format!("`{digits}{suffix}` is no number"), None),
    }
}
