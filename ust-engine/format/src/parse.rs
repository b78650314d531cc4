//! The parser: from text to [`FormatSyntax`].
//!
//! ```text
//! format  := dims '->' levels { ',' attribute }
//!          | '#sparse_tensor.encoding' '<' '{' entry { ',' entry } [ ',' ] '}' '>'
//! entry   := 'map' '=' [ '{' name { ',' name } '}' ] dims '->' levels | attribute
//! dims    := '(' [ dim { ',' dim } ] ')'        dim   := name [ '=' expr ] [ ':' slice ]
//! levels  := '(' [ level { ',' level } ] ')'    level := [ name '=' ] expr ':' type
//! type    := name { '(' arg { ',' arg } ')' | '[' arg { ',' arg } ']' }
//! ```
//!
//! Every limit below is checked while reading, so that hostile text is rejected early. The cost is
//! at most linear in the text, and the recursion is at most [`MAX_NESTING`] deep.

use std::ops::Range;

use ust_level_api::{Arg, LevelArgs};

use super::error::{FormatError, quote};
use super::lex::{Lexer, Mode, Token};
use super::parse_expr;
use super::spec::{Slice, Sorted};
use super::suggest::nearest;
use super::syntax::{Attributes, DimSyntax, FormatSyntax, LevelSyntax, Name, Span};

/// The longest text that is read, in bytes.
pub(super) const MAX_TEXT: usize = 1 << 20;
/// The most dimensions, and the most levels.
pub(super) const MAX_RANK: usize = 64;
/// The deepest nesting of parentheses and signs in an expression.
pub(super) const MAX_NESTING: usize = 64;
/// The most operators in one expression.
pub(super) const MAX_OPERATORS: usize = 256;
/// The longest name, in bytes.
const MAX_NAME: usize = 128;
/// The most arguments of a level type.
const MAX_ARGS: usize = 16;

const ATTRIBUTES: [&str; 4] = ["posWidth", "crdWidth", "explicitVal", "implicitVal"];
const ENCODING: &str = "#sparse_tensor.encoding";

/// Reads a whole text that is not the name of a format.
pub(super) fn parse(text: &str) -> Result<FormatSyntax, FormatError> {
    let mut start = Lexer::new(text, 0, Mode::Start);
    start.skip();
    if text[start.at..].starts_with('#') {
        Parser::new(text, start.at, Mode::Mlir).encoding()
    } else {
        Parser::new(text, start.at, Mode::Ust).plain()
    }
}

/// Reads attributes such as `, posWidth = 32`, from a place in the text to its end.
pub(super) fn parse_attributes(text: &str, at: usize) -> Result<Attributes, FormatError> {
    let mut parser = Parser::new(text, at, Mode::Ust);
    let mut attributes = Attributes::default();
    parser.attributes(&mut attributes)?;
    parser.end()?;
    Ok(attributes)
}

pub(super) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    pub(super) token: Token<'a>,
    pub(super) span: Span,
    /// The end of the previous token.
    pub(super) last_end: usize,
    pub(super) nesting: usize,
    pub(super) operators: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, at: usize, mode: Mode) -> Self {
        let mut lexer = Lexer::new(text, at, mode);
        let (token, span) = lexer.next();
        Self { text, lexer, token, last_end: span.start, span, nesting: 0, operators: 0 }
    }

    // --- tokens ---

    pub(super) fn advance(&mut self) {
        self.last_end = self.span.end;
        (self.token, self.span) = self.lexer.next();
    }

    pub(super) fn is(&self, punct: &str) -> bool {
        matches!(self.token, Token::Punct(p) if p == punct)
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let is = self.is(punct);
        if is {
            self.advance();
        }
        is
    }

    pub(super) fn expect(&mut self, punct: &str) -> Result<(), FormatError> {
        if self.eat(punct) { Ok(()) } else { Err(self.expected(&format!("`{punct}`"))) }
    }

    /// Whether the next token is the given punctuation.
    fn followed_by(&self, punct: &'static str) -> bool {
        let mut ahead = self.lexer;
        ahead.next().0 == Token::Punct(punct)
    }

    pub(super) fn expected(&self, what: &str) -> FormatError {
        let found = match self.token {
            Token::End => "the end of the text".to_owned(),
            Token::Stray(c) => quote(&c.to_string()),
            Token::Name(_) | Token::Number(_) | Token::Hash(_) | Token::Punct(_) => {
                quote(&self.text[self.span.clone()])
            }
        };
        self.error(format!("expected {what}, found {found}"))
    }

    pub(super) fn error(&self, message: String) -> FormatError {
        self.error_at(self.span.clone(), message)
    }

    pub(super) fn error_at(&self, span: Range<usize>, message: String) -> FormatError {
        FormatError::new(self.text, span, message)
    }

    fn name(&mut self, what: &str) -> Result<Name, FormatError> {
        let Token::Name(text) = self.token else { return Err(self.expected(what)) };
        if text.len() > MAX_NAME {
            return Err(self.error(format!("a name of {} bytes; at most {MAX_NAME}", text.len())));
        }
        if is_operator(text) {
            return Err(self.error(format!("`{text}` is an operator, not {what}")));
        }
        let name = Name { text: text.to_owned(), span: self.span.clone() };
        self.advance();
        Ok(name)
    }

    /// The dimensions of a counter: `hash` is the token `#i`, or that before `(i, j)`.
    pub(super) fn counted(&mut self, hash: &str) -> Result<Vec<Name>, FormatError> {
        let span = self.span.clone();
        let name = &hash[1..];
        if name.len() > MAX_NAME || name.contains('.') || is_operator(name) {
            return Err(self.expected("a dimension after `#`"));
        }
        self.advance();
        if !name.is_empty() {
            return Ok(vec![Name { text: name.to_owned(), span: span.start + 1..span.end }]);
        }
        self.expect("(")?;
        self.list(")", "dimension", MAX_RANK, |p| p.name("a dimension's name"))
    }

    fn number(&mut self, what: &str) -> Result<u64, FormatError> {
        let Token::Number(digits) = self.token else { return Err(self.expected(what)) };
        let number = digits.parse().map_err(|_| {
            let why =
                if digits.bytes().all(|b| b.is_ascii_digit()) { "too large" } else { "not whole" };
            self.error(format!("{} is {why} for {what}", quote(digits)))
        })?;
        self.advance();
        Ok(number)
    }

    fn end(&mut self) -> Result<(), FormatError> {
        if self.token == Token::End { Ok(()) } else { Err(self.expected("the end of the text")) }
    }

    /// A list of items up to `close`, separated by commas. The opening token has been read.
    pub(super) fn list<T>(
        &mut self,
        close: &str,
        what: &str,
        most: usize,
        item: impl Fn(&mut Self) -> Result<T, FormatError>,
    ) -> Result<Vec<T>, FormatError> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            if items.len() == most {
                return Err(self.error(format!("more than {most} {what}s")));
            }
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                return Err(self.expected(&format!("`,` or `{close}` after the {what}")));
            }
        }
    }

    // --- the whole ---

    fn plain(mut self) -> Result<FormatSyntax, FormatError> {
        let mut format = self.map()?;
        self.attributes(&mut format.attributes)?;
        self.end()?;
        Ok(format)
    }

    fn encoding(mut self) -> Result<FormatSyntax, FormatError> {
        // `#CSR = #sparse_tensor.encoding<...>`, as MLIR files name their encodings.
        if matches!(self.token, Token::Hash(hash) if hash != ENCODING) && self.followed_by("=") {
            self.advance();
            self.advance();
        }
        if self.token != Token::Hash(ENCODING) {
            return Err(self.expected(&format!("`{ENCODING}`")));
        }
        self.advance();
        self.expect("<")?;
        self.expect("{")?;
        let mut map = None;
        let mut attributes = Attributes::default();
        loop {
            if self.token == Token::Name("map") {
                if map.is_some() {
                    return Err(self.error("`map` is written twice".to_owned()));
                }
                self.advance();
                self.expect("=")?;
                map = Some(self.map()?);
            } else {
                self.attribute(&mut attributes, &["map"])?;
            }
            if !self.eat(",") && !self.is("}") {
                return Err(self.expected("`,` or `}`"));
            }
            if self.is("}") {
                break;
            }
        }
        let Some(mut format) = map else {
            return Err(self.error("no `map`: expected `map = (...) -> (...)`".to_owned()));
        };
        self.advance();
        self.expect(">")?;
        self.end()?;
        format.attributes = attributes;
        Ok(format)
    }

    fn map(&mut self) -> Result<FormatSyntax, FormatError> {
        let mut declared = None;
        let mut symbols = Vec::new();
        loop {
            let start = self.span.start;
            if symbols.is_empty() && self.eat("[") {
                symbols = self.list("]", "symbol", MAX_RANK, |p| p.name("a symbol's name"))?;
                continue;
            }
            if declared.is_some() || !self.eat("{") {
                break;
            }
            let names = self.list("}", "level name", MAX_RANK, |p| p.name("a level name"))?;
            declared = Some((names, start..self.last_end));
        }
        let start = self.span.start;
        if !self.eat("(") {
            return Err(self.expected("`(` and the dimensions"));
        }
        let dims = self.list(")", "dimension", MAX_RANK, Self::dim)?;
        let dims_span = start..self.last_end;
        if !self.eat("->") {
            return Err(self.expected("`->` after the dimensions"));
        }
        if !self.eat("(") {
            return Err(self.expected("`(` and the levels"));
        }
        let levels = self.list(")", "level", MAX_RANK, Self::level)?;
        let attributes = Attributes::default();
        Ok(FormatSyntax { declared, symbols, dims, dims_span, levels, attributes })
    }

    fn dim(&mut self) -> Result<DimSyntax, FormatError> {
        let name = self.name("a dimension's name")?;
        let inverse = if self.eat("=") { Some(parse_expr::expr(self)?) } else { None };
        let (mut sorted, mut slice) = (None, None);
        while slice.is_none() && self.eat(":") {
            if sorted.is_none() && self.token == Token::Name("sorted") {
                sorted = Some(self.sorted()?);
            } else {
                slice = Some(self.slice()?);
            }
        }
        Ok(DimSyntax { name, inverse, sorted, slice })
    }

    fn sorted(&mut self) -> Result<Sorted, FormatError> {
        self.advance();
        if !self.eat("(") {
            return Ok(Sorted { window: None });
        }
        let start = self.span.start;
        let window = self.number("the number of coordinates that are sorted together")?;
        if window < 2 {
            let message = "coordinates are sorted within windows of at least 2".to_owned();
            return Err(self.error_at(start..self.last_end, message));
        }
        self.expect(")")?;
        Ok(Sorted { window: Some(window) })
    }

    fn slice(&mut self) -> Result<Slice, FormatError> {
        let wrapped = self.token == Token::Hash("#sparse_tensor");
        if wrapped {
            self.advance();
            self.expect("<")?;
        }
        if self.token != Token::Name("slice") {
            let error = self.expected("`slice(offset, size, stride)`");
            return Err(if wrapped {
                error
            } else {
                error.with_help(
                    "level types stand on the right of `->`; a dimension takes `sorted` and a slice",
                )
            });
        }
        let start = self.span.start;
        self.advance();
        self.expect("(")?;
        let part = |parser: &mut Self, what| {
            if parser.eat("?") { Ok(None) } else { parser.number(what).map(Some) }
        };
        let offset = part(self, "the slice's offset (or `?`)")?;
        self.expect(",")?;
        let size = part(self, "the slice's size (or `?`)")?;
        self.expect(",")?;
        let stride = part(self, "the slice's stride (or `?`)")?;
        self.expect(")")?;
        let span = start..self.last_end;
        if wrapped {
            self.expect(">")?;
        }
        let slice = Slice { offset, size, stride };
        if let Some(0) = size {
            return Err(self.error_at(span, "a slice of size 0 shows nothing".to_owned()));
        }
        if let Some(0) = stride {
            return Err(self.error_at(span, "a slice's stride must be at least 1".to_owned()));
        }
        let last = u128::from(offset.unwrap_or(0))
            + u128::from(size.unwrap_or(1) - 1) * u128::from(stride.unwrap_or(1));
        if last >= i64::MAX as u128 {
            return Err(self.error_at(span, format!("the slice ends at {last}: too large")));
        }
        Ok(slice)
    }

    fn level(&mut self) -> Result<LevelSyntax, FormatError> {
        let named = matches!(self.token, Token::Name(_)) && self.followed_by("=");
        let name = if named { Some(self.name("a level's name")?) } else { None };
        if named {
            self.advance();
        }
        let expr = parse_expr::expr(self)?;
        if !self.eat(":") {
            return Err(self
                .expected("`:` and a level type")
                .with_help("a level is written `expression : type`"));
        }
        let start = self.span.start;
        let ty = self.name("a level type")?;
        let mut args = Vec::new();
        while let Some(close) = match self.token {
            Token::Punct("(") => Some(")"),
            Token::Punct("[") => Some("]"),
            _ => None,
        } {
            self.advance();
            args.append(&mut self.list(close, "argument", MAX_ARGS, Self::arg)?);
        }
        let (args, arg_spans) = args.into_iter().unzip();
        let ty = LevelArgs { name: ty.text, args };
        Ok(LevelSyntax { name, expr, ty, ty_span: start..self.last_end, arg_spans })
    }

    fn arg(&mut self) -> Result<(Arg, Span), FormatError> {
        let span = self.span.clone();
        let arg = match self.token {
            Token::Number(_) => Arg::Int(self.number("an argument")?),
            _ => Arg::Name(self.name("an argument")?.text),
        };
        Ok((arg, span))
    }

    // --- attributes ---

    fn attributes(&mut self, attributes: &mut Attributes) -> Result<(), FormatError> {
        while self.eat(",") {
            self.attribute(attributes, &[])?;
        }
        Ok(())
    }

    fn attribute(&mut self, found: &mut Attributes, also: &[&str]) -> Result<(), FormatError> {
        let all = || also.iter().copied().chain(ATTRIBUTES);
        let list = || all().map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ");
        let Token::Name(name) = self.token else {
            return Err(self.expected(&format!("one of {}", list())));
        };
        let span = self.span.clone();
        if !ATTRIBUTES.contains(&name) {
            let help = nearest(name, all()).map(|near| format!("did you mean `{near}`?"));
            return Err(self
                .error(format!("unknown attribute {}; known: {}", quote(name), list()))
                .maybe_help(help));
        }
        self.advance();
        self.expect("=")?;
        let again = match name {
            "posWidth" => found.pos_width.replace(self.width(name)?).is_some(),
            "crdWidth" => found.crd_width.replace(self.width(name)?).is_some(),
            "explicitVal" => found.explicit_val.replace(self.value()?).is_some(),
            _ => found.implicit_val.replace(self.value()?).is_some(),
        };
        if again { Err(self.error_at(span, format!("`{name}` is written twice"))) } else { Ok(()) }
    }

    fn width(&mut self, name: &str) -> Result<(u32, Span), FormatError> {
        let span = self.span.clone();
        let bits = self.number(&format!("{name} in bits"))?;
        // A number too large for `u32` is no valid width; `check_widths` reports it.
        Ok((u32::try_from(bits).unwrap_or(u32::MAX), span))
    }

    /// A number as MLIR writes it, kept as written: `1.0 : f32`, `-2 : i8`,
    /// `#complex.number<:f32 1.0, 2.0>`.
    fn value(&mut self) -> Result<String, FormatError> {
        let start = self.span.start;
        if self.token == Token::Hash("#complex.number") {
            self.advance();
            self.expect("<")?;
            while !self.is(">") {
                let fits = matches!(self.token, Token::Name(_) | Token::Number(_))
                    || [":", ",", "-", "+"].iter().any(|p| self.is(p));
                if !fits || self.span.end - start > MAX_NAME {
                    return Err(self.expected("`>` after the complex number"));
                }
                self.advance();
            }
            self.advance();
        } else {
            if !self.eat("-") {
                self.eat("+");
            }
            match self.token {
                Token::Number(_) | Token::Name("true" | "false" | "inf" | "nan") => self.advance(),
                _ => return Err(self.expected("a number")),
            }
        }
        if self.eat(":") {
            self.name("a number's type, such as `f32`")?;
        }
        let text = &self.text[start..self.last_end];
        if text.len() > 2 * MAX_NAME {
            return Err(self.error_at(start..self.last_end, "the number is too long".to_owned()));
        }
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Whether a name is reserved for an operator.
pub(super) fn is_operator(name: &str) -> bool {
    matches!(name, "floordiv" | "ceildiv" | "mod")
}
