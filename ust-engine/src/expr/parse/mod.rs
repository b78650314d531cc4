//! The text of an expression.
//!
//! ```text
//! line     := result [ '<' [ '!' ] [ 'structure' ] access '>' ] assign expr [ 'using' name ]
//! result   := name [ '(' [ index { ',' index } ] ')' ]
//! assign   := '=' | '+=' | '*=' | 'min=' | 'max=' | '|=' | '&='
//! expr     := and { '|' and }                      and     := comparison { '&' comparison }
//! comparison := sum [ ( '==' | '!=' | '<' | '<=' | '>' | '>=' ) sum ]
//! sum      := product { ( '+' | '-' ) product }    product := unary { ( '*' | '/' ) unary }
//! unary    := ( '-' | '!' ) unary | power          power   := primary [ '^' unary ]
//! primary  := number | name | name [ '[stored]' ] '(' [ expr { ',' expr } ] ')' | '(' expr ')'
//! ```
//!
//! Numbers are `2`, `0.5`, `1e-3`, `2i`, `inf`, `nan`, `true` and `false`. `A(i,j)` is a tensor
//! with its indices, `s` or `s()` a scalar. Functions are those of
//! [`functions`](super::functions); `exp[stored](A(i,j))` leaves alone what `A` does not store.
//! `sum(k, ...)`, `prod`, `min`, `max`, `any` and `all` reduce over indices, `sum(k, l, ...)` or
//! `sum((k, l), ...)` over several.
//!
//! # Indices as values
//!
//! A name that some tensor has as an index, or the result, is an index wherever it stands alone. Its value is the
//! coordinate, an `i64` that counts from 0: `L(i,j) = A(i,j) * (i >= j)` is the lower triangle of `A`,
//! `s = sum(i, i * x(i))` a moment, `R(i,j) = i + j` needs no tensor but the extents. In a slice, it counts from the
//! first element of the slice. A tensor of that name beside it is an error: give one of them another name. A
//! coordinate is no operand: what `A` does not store stays out of `A(i,j) * (i >= j)`, which costs as much as
//! `A` has stored elements. In `min` and `max`, an index that stands first is reduced over: write `max(0, i)`.
//!
//! # Implicit sums
//!
//! The right-hand side is a sum of terms, or one term. Each term is summed over its indices that the
//! result does not have. The sum is around the whole term: in `y(i) = A(i,j) * x(j) + b(i)` the product is
//! summed and `b` is added once; `y(i) = exp(A(i,j))` sums exponentials. Signs and parentheses around terms
//! make no difference: `-(A(i,j) * x(j) + b(i))` has two terms. A sum inside a product, a function or a
//! comparison is part of its term. All other sums must be explicit: `y(i) = exp(sum(j, A(i,j)))`.

mod expr;
mod lex;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::str::FromStr;

use lex::{Token, lex};

use super::OpError;
use super::syntax::{Access, Assign, Expression, MaskAccess};

/// Bytes of a text, at most. Longer texts are refused.
pub const MAX_TEXT: usize = 1 << 16;

/// The depth of a tree, at most. Deeper trees are refused. A sum of `n` terms has depth `n`.
pub const MAX_DEPTH: usize = 128;

impl Expression {
    /// Reads a line of index notation. Cost: O(length).
    ///
    /// ```
    /// use ust::ops::Expression;
    /// let e = Expression::parse("y(i) = A(i,j) * x(j)")?;
    /// assert_eq!(e.result.indices, ["i"]);
    /// assert_eq!(e.operands(), ["A", "x"]);
    /// let error = Expression::parse("y(i) = A(i,j)) * x(j)").unwrap_err().to_string();
    /// assert!(error.contains("             ^"));
    /// # Ok::<(), ust::ops::OpError>(())
    /// ```
    ///
    /// # Errors
    /// [`OpError::Text`] points at the error: an unexpected sign, parentheses that do not match, an index
    /// that the result has twice, the result among the operands, a text longer than [`MAX_TEXT`] or nested
    /// deeper than [`MAX_DEPTH`].
    pub fn parse(text: &str) -> Result<Self, OpError> {
        if text.len() > MAX_TEXT {
            let message = format!("{} bytes are too long for an expression", text.len());
            let help = format!("it may have {MAX_TEXT} bytes");
            return Err(OpError::at(text, &(0..0), message, Some(help)));
        }
        let mut parser = Parser { text, tokens: lex(text)?, at: 0 };
        let result = parser.result()?;
        let mask = match parser.accept(&Token::Lt) {
            true => Some(parser.mask()?),
            false => None,
        };
        let assign = parser.assign()?;
        let body = parser.expr()?;
        let semiring = match parser.accept_word("using") {
            true => Some(parser.name("the name of a semiring, such as `min_plus`")?),
            false => None,
        };
        if parser.peek() != &Token::End {
            return Err(parser.unexpected("an operator, or the end"));
        }
        let text = text.to_owned();
        let expression = Self { text, result, mask, assign, body, semiring };
        expression.check_result()?;
        Ok(expression)
    }

    /// Checks the result, as far as that is possible without the operands.
    fn check_result(&self) -> Result<(), OpError> {
        let result = &self.result;
        for (at, index) in result.indices.iter().enumerate() {
            if result.indices[..at].contains(index) {
                let message = format!("the index `{index}` stands twice in the result");
                return Err(self.error(&result.span, message, None));
            }
        }
        match self.accesses().into_iter().find(|access| access.name == result.name) {
            Some(access) => {
                let message = format!("`{}` is the result, and cannot be an operand", access.name);
                let help = "give the result another name; `+=` adds to what was there".to_owned();
                Err(self.error(&access.span, message, Some(help)))
            }
            None => Ok(()),
        }
    }
}

impl FromStr for Expression {
    type Err = OpError;

    fn from_str(text: &str) -> Result<Self, OpError> {
        Self::parse(text)
    }
}

/// The parser's state: all tokens, and the position among them.
struct Parser<'a> {
    text: &'a str,
    /// Ends with [`Token::End`].
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn ahead(&self, by: usize) -> &Token {
        self.tokens.get(self.at + by).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    /// The end of the previous token.
    fn end(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |before| self.tokens[before].1.end)
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn accept(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.advance();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Name(name) if name == word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, token: &Token, expected: &str) -> Result<(), OpError> {
        match self.accept(token) {
            true => Ok(()),
            false => Err(self.unexpected(expected)),
        }
    }

    fn error(&self, span: &Range<usize>, message: String, help: Option<String>) -> OpError {
        OpError::at(self.text, span, message, help)
    }

    fn unexpected(&self, expected: &str) -> OpError {
        let span = self.span();
        let message = match self.peek() {
            Token::End => format!("the text ends, expected {expected}"),
            _ => format!("found `{}`, expected {expected}", &self.text[span.clone()]),
        };
        let doubled = matches!(self.peek(), Token::And | Token::Or | Token::Mul)
            && self.at > 0
            && self.tokens[self.at - 1].0 == *self.peek();
        let ended = self.at.checked_sub(1).map(|before| &self.tokens[before].0);
        let follows = matches!(ended, Some(Token::Name(_) | Token::Number(_) | Token::Close));
        let help = match self.peek() {
            Token::Mul if doubled => Some("a power is written `^`".to_owned()),
            sign if doubled => Some(format!("`{sign}` is enough")),
            Token::Name(_) | Token::Number(_) | Token::Open if follows => {
                Some("between factors stands `*`: `y(i) = A(i,j) * x(j)`".to_owned())
            }
            Token::OpenBracket => Some("indices stand in parentheses, such as `A(i,j)`".to_owned()),
            _ => None,
        };
        self.error(&span, message, help)
    }

    fn name(&mut self, expected: &str) -> Result<(String, Range<usize>), OpError> {
        let Token::Name(name) = self.peek() else { return Err(self.unexpected(expected)) };
        let (name, span) = (name.clone(), self.span());
        if lex::constant(&name).is_some() {
            let message = format!("`{name}` is a number, expected {expected}");
            return Err(self.error(&span, message, None));
        }
        self.advance();
        Ok((name, span))
    }

    fn result(&mut self) -> Result<Access, OpError> {
        let (name, span) = self.name("a result with its indices, such as `y(i)`")?;
        match self.peek() {
            Token::Open => self.indices(name, span),
            _ => Ok(Access { name, indices: Vec::new(), span }),
        }
    }

    /// `(i, j)`, after the name of a tensor.
    fn indices(&mut self, name: String, span: Range<usize>) -> Result<Access, OpError> {
        self.expect(&Token::Open, "`(` and the tensor's indices (`()` for a scalar)")?;
        let mut indices = Vec::new();
        if self.peek() != &Token::Close {
            loop {
                indices.push(self.name("an index, such as `i`")?.0);
                if !self.accept(&Token::Comma) {
                    break;
                }
            }
        }
        self.expect(&Token::Close, "`,` and another index, or `)`")?;
        Ok(Access { name, indices, span: span.start..self.end() })
    }

    /// The mask, between `<` and `>`.
    fn mask(&mut self) -> Result<MaskAccess, OpError> {
        let complement = self.accept(&Token::Not);
        let structural = matches!(self.ahead(1), Token::Name(_)) && self.accept_word("structure");
        let (name, span) = self.name("a mask, such as `<M(i,j)>` or `<!structure M(i,j)>`")?;
        let access = self.indices(name, span)?;
        if self.peek() == &Token::Ge {
            // `>=` is `>` and `=` here.
            let at = self.span();
            self.tokens[self.at] = (Token::Gt, at.start..at.start + 1);
            self.tokens.insert(self.at + 1, (Token::Assign(Assign::Set), at.start + 1..at.end));
        }
        self.expect(&Token::Gt, "`>` after the mask")?;
        Ok(MaskAccess { access, structural, complement })
    }

    fn assign(&mut self) -> Result<Assign, OpError> {
        let word = match self.peek() {
            Token::Name(name) if self.ahead(1) == &Token::Assign(Assign::Set) => name.as_str(),
            _ => "",
        };
        let assign = match (word, self.peek()) {
            ("min", _) => Assign::Min,
            ("max", _) => Assign::Max,
            (_, Token::Assign(assign)) => *assign,
            _ => {
                let expected = "`=`, `+=`, `*=`, `min=`, `max=`, `|=` or `&=` after the result";
                return Err(self.unexpected(expected));
            }
        };
        if !word.is_empty() {
            self.advance();
        }
        self.advance();
        Ok(assign)
    }
}
