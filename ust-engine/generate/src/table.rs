//! Every generator: its name, parameters and exact definition.

use std::fmt;

use ust_engine::coo::Coo;
use ust_format::suggest::nearest;

use super::args::Args;
use super::error::{GenerateError, GenerateErrorKind};
use super::spec::Spanned;
use super::{pattern, scatter, stencil};

/// A generator of tensors.
pub struct Generator {
    /// The name in the text.
    pub name: &'static str,
    /// Its parameters; the first may be written without its name.
    pub parameters: &'static [Parameter],
    /// What it makes, exactly.
    pub definition: &'static str,
    /// A text that it reads.
    pub example: &'static str,
    pub(super) make: fn(&Args<'_>) -> Result<Coo, GenerateError>,
}

/// A parameter of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in the text.
    pub name: &'static str,
    /// What is written for it.
    pub kind: ParameterKind,
    /// What it means.
    pub what: &'static str,
}

/// What is written for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Numbers with `x` between them, one for each dimension.
    Extents {
        /// How many, or `None` for any number of them. One number always stands for as many equal
        /// ones where the number is fixed.
        rank: Option<usize>,
    },
    /// One number.
    Number {
        /// The number that holds where none is written; `None` where one must be.
        default: Option<u64>,
    },
}

impl ParameterKind {
    pub(super) fn takes(self, numbers: usize) -> bool {
        match self {
            Self::Extents { rank: Some(rank) } => numbers == 1 || numbers == rank,
            Self::Extents { rank: None } => numbers >= 1,
            Self::Number { .. } => numbers == 1,
        }
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extents { rank: Some(rank) } => {
                write!(f, "one extent, or {rank} with `x` between them")
            }
            Self::Extents { rank: None } => write!(f, "one extent or more, with `x` between them"),
            Self::Number { .. } => write!(f, "one number"),
        }
    }
}

impl Parameter {
    pub(super) fn needed(&self) -> bool {
        !matches!(self.kind, ParameterKind::Number { default: Some(_) })
    }
}

const GRID_2D: Parameter = Parameter {
    name: "grid",
    kind: ParameterKind::Extents { rank: Some(2) },
    what: "points along each axis, N for N x N",
};
const GRID_3D: Parameter = Parameter {
    name: "grid",
    kind: ParameterKind::Extents { rank: Some(3) },
    what: "points along each axis, N for N x N x N",
};
const SHAPE: Parameter = Parameter {
    name: "shape",
    kind: ParameterKind::Extents { rank: None },
    what: "size of each dimension, as many as wanted",
};
const SEED: Parameter = Parameter {
    name: "seed",
    kind: ParameterKind::Number { default: Some(0) },
    what: "selects one of 2^64 equally good results",
};
const fn count(name: &'static str, what: &'static str) -> Parameter {
    Parameter { name, kind: ParameterKind::Number { default: None }, what }
}

static GENERATORS: &[Generator] = &[
    Generator {
        name: "poisson2d",
        parameters: &[GRID_2D],
        definition: "The five-point Laplacian on a grid of N x M points with zero outside: a matrix with a row and \
            a column for each point, point (x, y) having number x * M + y. 4 on the diagonal, -1 for each of the \
            up to 4 points one step away along an axis. 5*N*M - 2*N - 2*M entries.",
        example: "poisson2d(1000)",
        make: stencil::poisson2d,
    },
    Generator {
        name: "poisson3d",
        parameters: &[GRID_3D],
        definition: "The seven-point Laplacian on a grid of N x M x K points with zero outside, point (x, y, z) having \
            number (x * M + y) * K + z. 6 on the diagonal, -1 for each of the up to 6 points one step away \
            along an axis. 7*N^3 - 6*N^2 entries on a cube.",
        example: "poisson3d(100)",
        make: stencil::poisson3d,
    },
    Generator {
        name: "stencil27",
        parameters: &[GRID_3D],
        definition: "The 27-point stencil on the same grid: 26 on the diagonal, -1 for each of the up to 26 points at \
            most one step away along every axis. (3*N - 2)^3 entries on a cube.",
        example: "stencil27(100)",
        make: stencil::stencil27,
    },
    Generator {
        name: "random",
        parameters: &[SHAPE, count("nnz", "number of entries, at most one for each cell"), SEED],
        definition: "`nnz` distinct cells, each set of cells being equally likely: the cells drawn first, where draw n \
            has in dimension d of rank D the coordinate below(P, n*D + d, extent of d), and a cell drawn again \
            does not count. If nnz is more than half of the cells, the cells that are *not* entries are drawn so \
            instead. Entry n (row-major) has the value uniform(V, n).",
        example: "random(1000x2000, nnz=16000, seed=1)",
        make: scatter::random,
    },
    Generator {
        name: "banded",
        parameters: &[
            Parameter {
                name: "shape",
                kind: ParameterKind::Extents { rank: Some(2) },
                what: "rows and columns, N for N x N",
            },
            count("diagonals", "number of diagonals"),
            SEED,
        ],
        definition: "D full diagonals around the main one: cell (i, j) is an entry when -floor((D-1)/2) <= j - i <= \
            floor(D/2), so that of an even number the odd one lies above. Each must lie inside the matrix. Entry n \
            (row-major) has the value uniform(V, n).",
        example: "banded(1000, diagonals=9)",
        make: pattern::banded,
    },
    Generator {
        name: "rmat",
        parameters: &[
            count("scale", "the graph has 2^scale vertices, at most 2^31"),
            count("edges", "number of edges drawn"),
            SEED,
        ],
        definition: "The adjacency matrix of a recursive (R-MAT) graph, 2^scale x 2^scale, with a value 1 for each distinct \
            edge; edges drawn more than once count once, so that there are at most `edges` entries. Edges from a \
            vertex to itself stay; vertices are not relabelled. Edge n descends `scale` times into a quadrant \
            of the matrix; descent l takes upper left, upper right, lower left or lower right with probabilities \
            0.57, 0.19, 0.19, 0.05: by whether uniform(P, n*scale + l) lies below 0.57, 0.76, 0.95 or above. The \
            first descent gives the highest bit of row and column.",
        example: "rmat(scale=19, edges=8000000, seed=1)",
        make: scatter::rmat,
    },
    Generator {
        name: "blocks",
        parameters: &[
            SHAPE,
            Parameter {
                name: "block",
                kind: ParameterKind::Extents { rank: None },
                what: "size of a block in each dimension",
            },
            count("nse", "number of values in all blocks, a multiple of the values of one"),
            SEED,
        ],
        definition: "nse / (values of a block) distinct full blocks, chosen on the grid of blocks as `random` chooses cells. \
            The shape is divided into blocks from the origin; blocks at its far ends may reach beyond it, and only \
            their cells inside are entries (so that a blocked format stores exactly nse values, the rest being \
            padding). Entry n (row-major) has the value uniform(V, n).",
        example: "blocks(1000x1000, block=4x4, nse=16000, seed=1)",
        make: scatter::blocks,
    },
    Generator {
        name: "pruned24",
        parameters: &[SHAPE, SEED],
        definition: "normal(shape, seed) of which, in each group of four cells along the last dimension, the two largest \
            magnitudes are kept (of equal ones the first), and at most two of a shorter group at the end.",
        example: "pruned24(512x512)",
        make: pattern::pruned24,
    },
    Generator {
        name: "steps",
        parameters: &[SHAPE, count("run", "cells of equal value side by side, on average"), SEED],
        definition: "In every cell a whole number from 1 to 255, equal in cells side by side, as in the rows of an image of \
            even areas. A step begins at each cell n (row-major) that is the first along the last dimension, and where \
            below(P, n, run) = 0; all its cells have the value 1 + below(V, n, 255).",
        example: "steps(512x512, run=50)",
        make: pattern::steps,
    },
    Generator {
        name: "ones",
        parameters: &[SHAPE],
        definition: "The value 1 in every cell.",
        example: "ones(1000)",
        make: pattern::ones,
    },
    Generator {
        name: "uniform",
        parameters: &[SHAPE, SEED],
        definition: "In every cell a value uniform in (0, 1): cell n (row-major) has uniform(V, n).",
        example: "uniform(1000, seed=1)",
        make: pattern::uniform,
    },
    Generator {
        name: "normal",
        parameters: &[SHAPE, SEED],
        definition: "In every cell a value with mean 0 and variance 1, normally distributed: cell n (row-major) has normal(V, n).",
        example: "normal(1000x2000)",
        make: pattern::normal,
    },
];

/// What all generators share, for the help text.
const COMMON: &str = "A generated tensor is written NAME(ARGUMENT, PARAMETER=NUMBER, ...), on the command line with `gen:` before it. \
All values are f64; entries are sorted, without duplicates. The same text gives the same bits on every machine.";

/// How random numbers are made, for the help text.
const RANDOM_NUMBERS: &str = "\
A stream S is a 64-bit key; seed s has the stream P for positions and V for values:
  mix(z)         z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31
  key of P       mix(mix(s) + G), with G = 0x9E3779B97F4A7C15, all modulo 2^64
  key of V       mix(mix(s) + 2*G)
  word(S, n)     mix(S + (n + 1)*G)
  below(S, n, b) floor(word(S, n) * b / 2^64)
  uniform(S, n)  (2*floor(word(S, n) / 2^12) + 1) / 2^53
  normal(S, n)   with T = word(S, n) as a stream: for a = 0, 2, 4, ...
                   u = 2*uniform(T, a) - 1, v = 2*uniform(T, a + 1) - 1, q = u*u + v*v
                 until q < 1; then u * sqrt(-2 * ln(q) / q)
  ln(x)          with x = m * 2^e, m in [sqrt 1/2, sqrt 2), and s = (m - 1)/(m + 1):
                   e * ln 2 + 2*s * (1 + s^2/3 + s^4/5 + ... + s^22/23), by Horner's rule";

/// Every generator, in the order of the help text.
#[must_use]
pub fn generators() -> &'static [Generator] {
    GENERATORS
}

/// A text that defines every generator exactly.
#[must_use]
pub fn help() -> String {
    let mut text = wrapped(COMMON, "");
    for generator in GENERATORS {
        text += &format!("\n{}\n", generator.usage());
        text += &wrapped(generator.definition, "    ");
        for Parameter { name, what, kind } in generator.parameters {
            let default = match kind {
                ParameterKind::Number { default: Some(default) } => format!(" (default {default})"),
                _ => String::new(),
            };
            text += &format!("    {name:9}  {what}{default}\n");
        }
        text += &format!("    example    gen:{}\n", generator.example);
    }
    format!("{text}\nRandom numbers\n{RANDOM_NUMBERS}\n")
}

impl Generator {
    /// How it is written, such as `random(shape, nnz=NUMBER, seed=0)`.
    #[must_use]
    pub fn usage(&self) -> String {
        let written = |(at, p): (usize, &Parameter)| match p.kind {
            _ if at == 0 => p.name.to_uppercase(),
            ParameterKind::Extents { .. } => format!("{}=NxM", p.name),
            ParameterKind::Number { default: None } => format!("{}=NUMBER", p.name),
            ParameterKind::Number { default: Some(default) } => format!("{}={default}", p.name),
        };
        let parameters: Vec<String> = self.parameters.iter().enumerate().map(written).collect();
        format!("{}({})", self.name, parameters.join(", "))
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.usage())
    }
}

/// The generator of this name.
pub(super) fn find(
    text: &str,
    name: &Spanned<String>,
) -> Result<&'static Generator, GenerateError> {
    GENERATORS.iter().find(|g| g.name == name.value).ok_or_else(|| GenerateError {
        text: text.to_owned(),
        span: name.span.clone(),
        kind: GenerateErrorKind::UnknownGenerator {
            name: name.value.chars().take(64).collect(),
            nearest: nearest(&name.value, GENERATORS.iter().map(|g| g.name)),
        },
    })
}

/// Text in lines of at most 100 characters, each after the indent.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        if line.len() + word.len() >= 100 {
            lines += line.trim_end();
            lines.push('\n');
            line = indent.to_owned();
        }
        line += word;
        line.push(' ');
    }
    lines + line.trim_end() + "\n"
}
