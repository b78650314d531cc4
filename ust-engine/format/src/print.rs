//! Prints formats, in both spellings.

use std::fmt;
use std::ops::Range;

use super::expr::{IndexExpr, Spelling};
use super::model::Format;

/// The canonical text of a format, and the places of its parts.
pub(super) struct Printed {
    pub(super) text: String,
    /// The list of dimensions with its parentheses.
    pub(super) all_dims: Range<usize>,
    pub(super) dims: Vec<Range<usize>>,
    pub(super) levels: Vec<Range<usize>>,
    /// The number of the width; empty if the width is not written.
    pub(super) pos_width: Range<usize>,
    /// The number of the width; empty if the width is not written.
    pub(super) crd_width: Range<usize>,
}

impl Printed {
    /// UST's spelling.
    pub(super) fn ust(format: &Format) -> Self {
        let mut printed = Self::empty();
        printed.map(format, Spelling::Ust);
        printed.attributes(format);
        printed
    }

    /// MLIR's spelling.
    pub(super) fn mlir(format: &Format) -> Self {
        let mut printed = Self::empty();
        printed.push("#sparse_tensor.encoding<{ map = ");
        printed.map(format, Spelling::Mlir);
        printed.attributes(format);
        printed.push(" }>");
        printed
    }

    fn empty() -> Self {
        Self {
            text: String::new(),
            all_dims: 0..0,
            dims: Vec::new(),
            levels: Vec::new(),
            pos_width: 0..0,
            crd_width: 0..0,
        }
    }

    fn push(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    fn map(&mut self, format: &Format, spelling: Spelling) {
        let dim_names = format.axis_names();
        let given = format.inner().inverse_given;
        let level_names = if given { level_names(format) } else { Vec::new() };
        if given && spelling == Spelling::Mlir {
            self.push(&format!("{{ {} }} ", level_names.join(", ")));
        }
        let start = self.push("(").start;
        for (at, (dim, inverse)) in format.dims().iter().zip(format.inverse()).enumerate() {
            self.push(if at == 0 { "" } else { ", " });
            let mut text = dim.name.clone();
            if given {
                text += &format!(" = {}", inverse.display(&level_names, spelling));
            }
            text += &dim.text(|slice| match spelling {
                Spelling::Ust => slice.to_string(),
                Spelling::Mlir => format!("#sparse_tensor<{slice}>"),
            });
            let span = self.push(&text);
            self.dims.push(span);
        }
        self.all_dims = start..self.push(")").end;
        self.push(" -> (");
        for (at, level) in format.levels().iter().enumerate() {
            self.push(if at == 0 { "" } else { ", " });
            let name = level_names.get(at).map_or(String::new(), |name| format!("{name} = "));
            let expr = level.expr.display(&dim_names, spelling);
            let description = &format.descriptions()[at];
            let ty = match spelling {
                Spelling::Ust => &description.text,
                Spelling::Mlir => &description.mlir,
            };
            let span = self.push(&format!("{name}{expr} : {ty}"));
            self.levels.push(span);
        }
        self.push(")");
    }

    fn attributes(&mut self, format: &Format) {
        if format.pos_width() != 0 {
            self.push(", posWidth = ");
            self.pos_width = self.push(&format.pos_width().to_string());
        }
        if format.crd_width() != 0 {
            self.push(", crdWidth = ");
            self.crd_width = self.push(&format.crd_width().to_string());
        }
        for (name, value) in
            [("explicitVal", format.explicit_val()), ("implicitVal", format.implicit_val())]
        {
            if let Some(value) = value {
                self.push(&format!(", {name} = {value}"));
            }
        }
    }
}

/// A name for every level: its own, or a new one.
pub(super) fn level_names(format: &Format) -> Vec<String> {
    names_for_levels(
        &format.levels().iter().map(|level| level.name.as_deref()).collect::<Vec<_>>(),
        &format.dims().iter().map(|dim| dim.name.as_str()).collect::<Vec<_>>(),
    )
}

/// A name for every level: its own, or one that no level or dimension has.
pub(super) fn names_for_levels(own: &[Option<&str>], dims: &[&str]) -> Vec<String> {
    let taken = |name: &str| own.contains(&Some(name)) || dims.contains(&name);
    own.iter()
        .enumerate()
        .map(|(at, own)| match own {
            Some(name) => (*name).to_owned(),
            None => {
                let mut name = format!("l{at}");
                while taken(&name) {
                    name.insert(0, 'l');
                }
                name
            }
        })
        .collect()
}

impl Format {
    /// The format in MLIR's spelling, such as
    /// `#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed), posWidth = 32 }>`.
    #[must_use]
    pub fn to_mlir(&self) -> String {
        Printed::mlir(self).text
    }

    /// The inverse of dimension `dim` as text over the levels' names, such as `ib * 2 + ii`: of a sorted dimension, the
    /// place.
    #[must_use]
    pub fn inverse_text(&self, dim: usize) -> Option<String> {
        let names = level_names(self);
        self.inverse().get(dim).map(|expr: &IndexExpr| expr.display(&names, Spelling::Ust))
    }

    /// The names of the levels: as written, or generated (`l0`, `l1`, ...).
    #[must_use]
    pub fn level_names(&self) -> Vec<String> {
        level_names(self)
    }
}

/// The canonical text, in UST's spelling.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&Printed::ust(self).text)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({self})")
    }
}
