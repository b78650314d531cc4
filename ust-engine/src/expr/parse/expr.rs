//! The parser of the right-hand side, by precedence of operators.

use std::ops::Range;

use super::lex::{Token, constant};
use super::{MAX_DEPTH, Parser};
use crate::expr::OpError;
use crate::expr::syntax::{Kind, Node, Sign};

/// A node, and the depth of the tree below it.
type Deep = (Node, usize);

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Node, OpError> {
        Ok(self.binary(0, 0)?.0)
    }

    /// Parses binary operators with a precedence of `least` or above. `nesting` counts open calls.
    fn binary(&mut self, least: u8, nesting: usize) -> Result<Deep, OpError> {
        let (mut left, mut depth) = self.unary(nesting)?;
        while let Some(sign) = self.peek().binary() {
            let strength = sign.strength();
            if strength < least {
                break;
            }
            let place = self.span();
            self.advance();
            // Left-associative: the right operand has a higher precedence.
            let (right, below) = self.binary(strength + 1, nesting + 1)?;
            depth = self.deeper(depth.max(below), &place)?;
            let span = left.span.start..right.span.end;
            left = Node { kind: Kind::Binary(sign, Box::new(left), Box::new(right)), span };
            self.refuse_chain(sign)?;
        }
        Ok((left, depth))
    }

    /// Refuses `a < b < c`, since languages differ in its meaning.
    fn refuse_chain(&self, sign: Sign) -> Result<(), OpError> {
        let is_comparison = |sign: Sign| sign.strength() == Sign::Eq.strength();
        if is_comparison(sign) && self.peek().binary().is_some_and(is_comparison) {
            let message = "comparisons do not chain".to_owned();
            let help = Some("write `(a < b) & (b < c)`".to_owned());
            return Err(self.error(&self.span(), message, help));
        }
        Ok(())
    }

    fn unary(&mut self, nesting: usize) -> Result<Deep, OpError> {
        let place = self.span();
        let sign = match self.peek() {
            Token::Sub => Sign::Sub,
            Token::Not => Sign::Not,
            _ => return self.power(nesting),
        };
        self.deeper(nesting, &place)?;
        self.advance();
        let (operand, depth) = self.unary(nesting + 1)?;
        let depth = self.deeper(depth, &place)?;
        let span = place.start..operand.span.end;
        Ok((Node { kind: Kind::Unary(sign, Box::new(operand)), span }, depth))
    }

    fn power(&mut self, nesting: usize) -> Result<Deep, OpError> {
        let (base, depth) = self.primary(nesting)?;
        let place = self.span();
        if !self.accept(&Token::Pow) {
            return Ok((base, depth));
        }
        self.deeper(nesting, &place)?;
        // Right-associative: `a^b^c` is `a^(b^c)`. The exponent may have a sign: `a^-b`.
        let (exponent, below) = self.unary(nesting + 1)?;
        let depth = self.deeper(depth.max(below), &place)?;
        let span = base.span.start..exponent.span.end;
        let kind = Kind::Binary(Sign::Pow, Box::new(base), Box::new(exponent));
        Ok((Node { kind, span }, depth))
    }

    fn primary(&mut self, nesting: usize) -> Result<Deep, OpError> {
        let place = self.span();
        match self.peek().clone() {
            Token::Number(literal) => {
                self.advance();
                Ok((Node { kind: Kind::Literal(literal), span: place }, 1))
            }
            Token::Name(name) => {
                self.advance();
                match constant(&name) {
                    Some(literal) => Ok((Node { kind: Kind::Literal(literal), span: place }, 1)),
                    None => self.named(name, place, nesting),
                }
            }
            Token::Open => {
                self.deeper(nesting, &place)?;
                self.advance();
                let (mut inner, depth) = self.binary(0, nesting + 1)?;
                self.close(&place)?;
                inner.span = place.start..self.end();
                Ok((inner, depth))
            }
            _ => Err(self.unexpected("a tensor, a number, a function or `(`")),
        }
    }

    /// Parses the node that begins with a name: a scalar, a tensor, a function.
    fn named(
        &mut self,
        name: String,
        place: Range<usize>,
        nesting: usize,
    ) -> Result<Deep, OpError> {
        let stored = self.accept(&Token::OpenBracket);
        if stored {
            if !self.accept_word("stored") {
                return Err(self.unexpected("`stored`, as in `exp[stored](A(i,j))`"));
            }
            self.expect(&Token::CloseBracket, "`]`")?;
        }
        let open = self.span();
        if !stored && self.peek() != &Token::Open {
            return Ok((Node { kind: Kind::Name(name), span: place }, 1));
        }
        self.expect(&Token::Open, "`(` and the function's argument")?;
        self.deeper(nesting, &open)?;
        let over = self.tuple();
        let (mut args, mut depth) = (Vec::new(), 1);
        let more = over.is_none() || self.accept(&Token::Comma);
        if more && (over.is_some() || self.peek() != &Token::Close) {
            loop {
                let (arg, below) = self.binary(0, nesting + 1)?;
                depth = depth.max(below);
                args.push(arg);
                if !self.accept(&Token::Comma) {
                    break;
                }
            }
        }
        self.close(&open)?;
        let span = place.start..self.end();
        // `min(a, b, c, ...)` becomes a tree as deep as it is long.
        let depth = self.deeper(depth + args.len().saturating_sub(2), &place)?;
        Ok((Node { kind: Kind::Apply { name, stored, over, args }, span }, depth))
    }

    /// Parses `(k, l)`, two names or more. No other node has this form.
    fn tuple(&mut self) -> Option<Vec<Node>> {
        if self.peek() != &Token::Open {
            return None;
        }
        let mut length = 1;
        while matches!(self.ahead(length), Token::Name(_)) {
            match self.ahead(length + 1) {
                Token::Comma => length += 2,
                Token::Close if length > 1 => {
                    let names = self.tokens[self.at + 1..=self.at + length].iter().step_by(2);
                    let names = names.filter_map(|(token, span)| match token {
                        Token::Name(name) => {
                            Some(Node { kind: Kind::Name(name.clone()), span: span.clone() })
                        }
                        _ => None,
                    });
                    let names = names.collect();
                    self.at += length + 2;
                    return Some(names);
                }
                _ => return None,
            }
        }
        None
    }

    fn close(&mut self, open: &Range<usize>) -> Result<(), OpError> {
        if self.peek() == &Token::End {
            let message = "the text ends before this `(` is closed".to_owned();
            return Err(self.error(open, message, None));
        }
        self.expect(&Token::Close, "an operator, `,` or `)`")
    }

    fn deeper(&self, depth: usize, place: &Range<usize>) -> Result<usize, OpError> {
        if depth < MAX_DEPTH {
            return Ok(depth + 1);
        }
        let message = format!("the expression is nested deeper than {MAX_DEPTH}");
        let help = "a sum of many terms is nested too: split it in two with `+=`".to_owned();
        Err(self.error(place, message, Some(help)))
    }
}
