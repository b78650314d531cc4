//! The parser of compositions. A sign between parts stands outside of all brackets, and not behind `=`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use super::{Compare, Composition, Measure, Rule};
use crate::build::Text;
use crate::error::{FormatError, quote};
use crate::expr::IndexExpr;
use crate::lex::{Lexer, Mode, Token};
use crate::model::Format;
use crate::names::Scope;
use crate::parse::{MAX_RANK, MAX_TEXT, Parser};
use crate::parse_expr;
use crate::syntax::{ExprKind, ExprSyntax};

/// The most parts.
const MAX_PARTS: usize = 16;
/// The word before a rule.
const WHERE: &str = "where";

/// The places of a part in the text.
struct Piece {
    format: Range<usize>,
    /// The beginning of the rule, behind `where`.
    rule: Option<usize>,
    /// The end of the part: its sign, or that of the text.
    end: usize,
}

pub(super) fn composition(text: &str, rank: Option<usize>) -> Result<Composition, FormatError> {
    if text.len() > MAX_TEXT {
        let message = format!("a text of {} bytes; at most {MAX_TEXT}", text.len());
        return Err(FormatError::new(text, 0..0, message));
    }
    let pieces = pieces(text)?;
    let formats = formats(text, &pieces, rank)?;
    let last = pieces.len() - 1;
    let parts = pieces.iter().zip(formats).enumerate().map(|(at, (piece, format))| {
        let rule = piece.rule.map(|from| rule(text, from, piece.end, &format)).transpose()?;
        let help = "all parts but the last have a rule, such as `where #i < 16`, and the last takes the rest";
        match (&rule, at == last) {
            (None, false) => {
                let end = piece.format.end;
                Err(FormatError::new(text, end..end, "expected `where` and a rule").with_help(help))
            }
            (Some(_), true) => {
                let message = "the last part has a rule, and nothing takes the other entries";
                let from = piece.rule.unwrap_or(piece.end);
                Err(FormatError::new(text, trimmed(text, from..piece.end), message).with_help(help))
            }
            _ => Ok((format, rule)),
        }
    });
    Ok(Composition { parts: parts.collect::<Result<_, _>>()? })
}

/// The parts of a text.
fn pieces(text: &str) -> Result<Vec<Piece>, FormatError> {
    let mut lexer = Lexer::new(text, 0, Mode::Ust);
    let mut pieces = Vec::new();
    let (mut start, mut rule) = (0, None);
    let mut depth = 0_usize;
    let mut before = Token::End;
    loop {
        let (token, span) = lexer.next();
        match token {
            Token::Punct("(" | "[" | "{") => depth += 1,
            Token::Punct(")" | "]" | "}") => depth = depth.saturating_sub(1),
            Token::Name(WHERE) if depth == 0 && rule.is_none() => rule = Some(span.clone()),
            Token::End | Token::Punct("+")
                if token == Token::End || (depth == 0 && before != Token::Punct("=")) =>
            {
                if pieces.len() == MAX_PARTS {
                    let message = format!("more than {MAX_PARTS} parts");
                    return Err(FormatError::new(text, span, message));
                }
                let end = rule.as_ref().map_or(span.start, |word: &Range<usize>| word.start);
                pieces.push(Piece {
                    format: trimmed(text, start..end),
                    rule: rule.take().map(|word| word.end),
                    end: span.start,
                });
                start = span.end;
            }
            _ => {}
        }
        if token == Token::End {
            return Ok(pieces);
        }
        before = token;
    }
}

/// A range without blanks at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    start..start + piece.trim().len()
}

/// The formats of all parts, of one rank.
fn formats(text: &str, pieces: &[Piece], rank: Option<usize>) -> Result<Vec<Format>, FormatError> {
    let read = |rank: Option<usize>| -> Result<Vec<Format>, FormatError> {
        let each = pieces.iter().map(|piece| {
            let from = piece.format.start;
            Format::resolve(&text[piece.format.clone()], rank).map_err(|error| {
                let span = error.span().start + from..error.span().end + from;
                let help = error.help().map(str::to_owned);
                FormatError::new(text, span, error.message()).maybe_help(help)
            })
        });
        each.collect()
    };
    let formats = read(rank)?;
    let ranks = || formats.iter().map(Format::rank);
    let Some(at) = ranks().position(|rank| rank != formats[0].rank()) else { return Ok(formats) };
    // Families take the rank of the others.
    let found = ranks().find_map(|rank| read(Some(rank)).ok());
    found.ok_or_else(|| {
        let (own, first) = (formats[at].rank(), formats[0].rank());
        let message = format!("a part of {own} dimensions beside one of {first}");
        FormatError::new(text, pieces[at].format.clone(), message)
    })
}

/// Reads the rule from `from` to `end`.
fn rule(text: &str, from: usize, end: usize, format: &Format) -> Result<Rule, FormatError> {
    let mut parser = Parser::new(text, from, Mode::Ust);
    let p = &mut parser;
    let dims = format.dims().iter().enumerate();
    let names = Names { text, vars: &dims.map(|(at, dim)| (dim.name.as_str(), at)).collect() };
    let measure = match p.token {
        Token::Hash(hash) => {
            let start = p.span.start;
            let kind = ExprKind::Counter(p.counted(hash)?);
            names.number(&ExprSyntax { kind, span: start..p.last_end })?
        }
        Token::Name(name @ ("count" | "fill")) => {
            p.advance();
            p.expect("(")?;
            let exprs = p.list(")", "expression", MAX_RANK, parse_expr::expr)?;
            let exprs = exprs.iter().map(|expr| names.expr(expr));
            let exprs = exprs.collect::<Result<_, _>>()?;
            if name == "count" { Measure::Count(exprs) } else { Measure::Fill(exprs) }
        }
        _ => {
            return Err(p.expected("a measure: `#i`, `count(i)` or `fill(j - i)`"));
        }
    };
    let less = p.is("<");
    if !p.eat("<") && !p.eat(">") {
        return Err(p.expected("`<`, `<=`, `>` or `>=`"));
    }
    let compare = match (less, p.eat("=")) {
        (true, false) => Compare::Less,
        (true, true) => Compare::AtMost,
        (false, false) => Compare::Greater,
        (false, true) => Compare::AtLeast,
    };
    let Token::Number(digits) = p.token else { return Err(p.expected("a number")) };
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| p.error(format!("{} is too large", quote(digits))))?;
    p.advance();
    match p.span.start == end {
        true => Ok(Rule { measure, compare, number }),
        false => Err(p.expected("`+` and the next part, or the end of the text")),
    }
}

/// The names of dimensions in the rule of a part.
struct Names<'a> {
    text: &'a str,
    vars: &'a HashMap<&'a str, usize>,
}

impl Names<'_> {
    fn resolve(
        &self,
        expr: &ExprSyntax,
        counters: Option<&RefCell<Vec<crate::spec::Counter>>>,
    ) -> Result<IndexExpr, FormatError> {
        let scope = Scope {
            vars: self.vars,
            what: "dimension",
            other: &HashMap::new(),
            other_what: "level",
            counters,
            symbols: &[],
        };
        Text { source: self.text }.expr(expr, &scope)
    }

    fn expr(&self, expr: &ExprSyntax) -> Result<IndexExpr, FormatError> {
        self.resolve(expr, None)
    }

    fn number(&self, counter: &ExprSyntax) -> Result<Measure, FormatError> {
        let counters = RefCell::default();
        self.resolve(counter, Some(&counters))?;
        let mut counters = counters.into_inner();
        Ok(Measure::Number(counters.pop().expect("the expression is a counter")))
    }
}
