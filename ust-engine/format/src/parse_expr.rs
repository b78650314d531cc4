//! The parser of expressions: `* / // % floordiv mod` bind tighter than `+ -`; all group from the
//! left.

use super::error::{FormatError, quote};
use super::lex::Token;
use super::parse::{MAX_NESTING, MAX_OPERATORS, Parser, is_operator};
use super::syntax::{ExprKind, ExprSyntax, Operator};

/// Reads one expression.
pub(super) fn expr(p: &mut Parser<'_>) -> Result<ExprSyntax, FormatError> {
    p.operators = 0;
    p.nesting = 0;
    sum(p)
}

fn sum(p: &mut Parser<'_>) -> Result<ExprSyntax, FormatError> {
    chain(p, product, |token| match token {
        Token::Punct("+") => Some(Operator::Add),
        Token::Punct("-") => Some(Operator::Sub),
        _ => None,
    })
}

fn product(p: &mut Parser<'_>) -> Result<ExprSyntax, FormatError> {
    if p.token == Token::Name("ceildiv") {
        return Err(p.expected("an expression"));
    }
    chain(p, factor, |token| match token {
        Token::Punct("*") => Some(Operator::Mul),
        Token::Punct("/" | "//") | Token::Name("floordiv") => Some(Operator::FloorDiv),
        Token::Punct("%") | Token::Name("mod") => Some(Operator::Mod),
        _ => None,
    })
}

fn chain(
    p: &mut Parser<'_>,
    item: fn(&mut Parser<'_>) -> Result<ExprSyntax, FormatError>,
    operator: fn(Token<'_>) -> Option<Operator>,
) -> Result<ExprSyntax, FormatError> {
    let mut left = item(p)?;
    while let Some(op) = operator(p.token) {
        count(p)?;
        p.advance();
        let right = item(p)?;
        let span = left.span.start..right.span.end;
        left = ExprSyntax { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span };
    }
    if p.token == Token::Name("ceildiv") {
        return Err(p
            .error("`ceildiv` is not invertible".to_owned())
            .with_help("use `/` (or `floordiv`), which rounds down"));
    }
    Ok(left)
}

fn factor(p: &mut Parser<'_>) -> Result<ExprSyntax, FormatError> {
    let start = p.span.start;
    match p.token {
        Token::Number(digits) => {
            let value = digits.parse().map_err(|_| {
                p.error(format!("{} is not a whole number below 2^63", quote(digits)))
            })?;
            p.advance();
            Ok(ExprSyntax { kind: ExprKind::Number(value), span: start..p.last_end })
        }
        Token::Name(name) if !is_operator(name) => {
            let kind = ExprKind::Name(name.to_owned());
            p.advance();
            Ok(ExprSyntax { kind, span: start..p.last_end })
        }
        Token::Hash(hash) => {
            let of = p.counted(hash)?;
            Ok(ExprSyntax { kind: ExprKind::Counter(of), span: start..p.last_end })
        }
        Token::Punct("-") => nested(p, |p| {
            count(p)?;
            let inner = factor(p)?;
            let span = start..inner.span.end;
            let kind = match inner.kind {
                ExprKind::Number(value) => ExprKind::Number(-value),
                _ => ExprKind::Negated(Box::new(inner)),
            };
            Ok(ExprSyntax { kind, span })
        }),
        Token::Punct("(") => nested(p, |p| {
            let mut inner = sum(p)?;
            if !p.eat(")") {
                return Err(p.expected("`)` or an operator"));
            }
            inner.span = start..p.last_end;
            Ok(inner)
        }),
        _ => Err(p.expected("an expression (a name, a number or `(`)")),
    }
}

/// Skips the current token, and reads what follows it one level of nesting deeper.
fn nested(
    p: &mut Parser<'_>,
    inner: impl FnOnce(&mut Parser<'_>) -> Result<ExprSyntax, FormatError>,
) -> Result<ExprSyntax, FormatError> {
    if p.nesting == MAX_NESTING {
        return Err(p.error(format!("an expression nested deeper than {MAX_NESTING}")));
    }
    p.nesting += 1;
    p.advance();
    let expr = inner(p);
    p.nesting -= 1;
    expr
}

fn count(p: &mut Parser<'_>) -> Result<(), FormatError> {
    p.operators += 1;
    if p.operators > MAX_OPERATORS {
        return Err(p.error(format!("an expression of more than {MAX_OPERATORS} operators")));
    }
    Ok(())
}
