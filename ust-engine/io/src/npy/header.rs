//! The header of an array: a Python dictionary of three keys.

use ust_level_api::Dtype;

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// Numbers. `swapped`: whether their byte order is not that of this machine.
    Number { dtype: Dtype, swapped: bool },
    /// Texts of this many bytes.
    Bytes(usize),
    /// Texts of `len` characters, of four bytes each.
    Characters { len: usize, swapped: bool },
}

impl Element {
    /// Bytes of one element.
    pub(super) fn bytes(self) -> Option<usize> {
        match self {
            Self::Number { dtype, .. } => Some(dtype.bytes()),
            Self::Bytes(len) => Some(len),
            Self::Characters { len, .. } => len.checked_mul(4),
        }
    }
}

/// The header of an array.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) element: Element,
    /// Whether the first dimension is the fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// Why a header cannot be used.
#[derive(Debug, PartialEq)]
pub(super) enum Reason {
    Malformed(String),
    Unsupported(String),
}

/// NumPy's name of each dtype, without the byte order.
const NAMES: &[(&str, Dtype)] = &[
    ("b1", Dtype::Bool),
    ("i1", Dtype::I8),
    ("i2", Dtype::I16),
    ("i4", Dtype::I32),
    ("i8", Dtype::I64),
    ("u1", Dtype::U8),
    ("u2", Dtype::U16),
    ("u4", Dtype::U32),
    ("u8", Dtype::U64),
    ("f2", Dtype::F16),
    ("f4", Dtype::F32),
    ("f8", Dtype::F64),
    ("c8", Dtype::Complex64),
    ("c16", Dtype::Complex128),
];

/// The byte order of this machine, and the other one.
const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };
const SWAPPED: char = if cfg!(target_endian = "little") { '>' } else { '<' };

impl Header {
    /// Reads the text of a header.
    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        let mut at = Cursor { rest: text };
        let (mut element, mut fortran, mut shape) = (None, None, None);
        at.expect('{')?;
        while !at.eat('}') {
            let key = at.string()?;
            at.expect(':')?;
            match key {
                "descr" => element = Some(at.element()?),
                "fortran_order" => fortran = Some(at.boolean()?),
                "shape" => shape = Some(at.tuple()?),
                other => return Err(malformed(format!("unknown key `{}`", other.escape_debug()))),
            }
            if !at.eat(',') {
                at.expect('}')?;
                break;
            }
        }
        if !at.rest.trim().is_empty() {
            return Err(malformed("text after the header's closing brace"));
        }
        let missing = |key| malformed(format!("the header has no key `{key}`"));
        Ok(Self {
            element: element.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// The text of a header.
    pub(super) fn print(&self) -> String {
        let element = match self.element {
            Element::Number { dtype, .. } => {
                let name = NAMES.iter().find(|(_, d)| *d == dtype).map_or("V2", |(name, _)| name);
                let order = if dtype.bytes() == 1 { '|' } else { NATIVE };
                format!("{order}{name}")
            }
            Element::Bytes(len) => format!("|S{len}"),
            Element::Characters { len, .. } => format!("{NATIVE}U{len}"),
        };
        let fortran = if self.fortran { "True" } else { "False" };
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        let shape = sizes.join(", ");
        format!("{{'descr': '{element}', 'fortran_order': {fortran}, 'shape': ({shape}{comma}), }}")
    }
}

fn malformed(reason: impl Into<String>) -> Reason {
    Reason::Malformed(reason.into())
}

/// The unread rest of the header's text.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, expected: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, expected: char) -> Result<(), Reason> {
        if self.eat(expected) { Ok(()) } else { Err(self.unexpected(&format!("`{expected}`"))) }
    }

    fn unexpected(&self, expected: &str) -> Reason {
        let found: String = self.rest.chars().take(20).collect();
        if found.is_empty() {
            return malformed(format!("the header ends where {expected} was expected"));
        }
        malformed(format!("header: {expected} was expected before `{}`", found.escape_debug()))
    }

    fn string(&mut self) -> Result<&'a str, Reason> {
        let quote = if self.eat('\'') {
            '\''
        } else if self.eat('"') {
            '"'
        } else {
            return Err(self.unexpected("a string"));
        };
        let (string, rest) =
            self.rest.split_once(quote).ok_or_else(|| malformed("header: a string without end"))?;
        self.rest = rest;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool, Reason> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("`True` or `False`"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, Reason> {
        let mut sizes = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            if end == 0 {
                return Err(self.unexpected("a size"));
            }
            let (digits, rest) = self.rest.split_at(end);
            // A size fits a signed 64-bit integer, in NumPy and here.
            let size = digits.parse::<i64>().ok().and_then(|size| usize::try_from(size).ok());
            sizes.push(
                size.ok_or_else(|| malformed(format!("size {digits} does not fit 64 bits")))?,
            );
            // Python 2 ends long integers with an `L`.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }

    fn element(&mut self) -> Result<Element, Reason> {
        if self.rest.trim_start().starts_with(['[', '(']) {
            let reason = "the array holds records: write one array for each field";
            return Err(Reason::Unsupported(reason.to_owned()));
        }
        let name = self.string()?;
        let order = name.chars().next().filter(|c| "<>|=".contains(*c));
        let kind = &name[order.map_or(0, char::len_utf8)..];
        let swapped = order == Some(SWAPPED);
        if let Some(&(_, dtype)) = NAMES.iter().find(|(known, _)| *known == kind) {
            return Ok(Element::Number { dtype, swapped: swapped && dtype.bytes() > 1 });
        }
        let len =
            |prefix| kind.strip_prefix(prefix).and_then(|len: &str| len.parse::<usize>().ok());
        if let Some(len) = len('S') {
            return Ok(Element::Bytes(len));
        }
        if let Some(len) = len('U') {
            return Ok(Element::Characters { len, swapped });
        }
        let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        let name: String = name.chars().take(40).collect();
        Err(Reason::Unsupported(format!(
            "dtype `{}` is not supported; supported are {}",
            name.escape_debug(),
            known.join(", ")
        )))
    }
}
