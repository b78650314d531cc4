//! The named formats: one table of format text.
//!
//! A lookup ignores case, blanks, `-` and `_`. The text names its parameters. `...` repeats the
//! level before it, for as many levels as the order `d` needs. `-b1` behind a name is a batch of such tensors, with one
//! more axis in front, and `-d1` makes a dense vector of each element: `CSR-b1-d2`.

/// A named format, or a family of named formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedFormat {
    /// The name.
    pub name: &'static str,
    /// Names of its parameters, such as `m`, `n`. A family over the order has the parameter `d`.
    pub parameters: &'static [&'static str],
    /// Format text that contains the parameters.
    pub text: &'static str,
    /// The name with example arguments, such as `BSR(2, 3)`.
    pub example: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Whether most libraries of sparse tensors have it: what others are compared with, and what is taken where it is as
    /// good as they are.
    pub usual: bool,
    /// For a family over the order: the order that the name without arguments means, and the text
    /// of order 1.
    pub(super) family: Option<(usize, &'static str)>,
}

impl NamedFormat {
    const fn usual(mut self) -> Self {
        self.usual = true;
        self
    }
}

const fn plain(
    name: &'static str,
    text: &'static str,
    aliases: &'static [&'static str],
    summary: &'static str,
) -> NamedFormat {
    NamedFormat {
        name,
        parameters: &[],
        text,
        example: name,
        summary,
        aliases,
        usual: false,
        family: None,
    }
}

const fn with(
    name: &'static str,
    parameters: &'static [&'static str],
    example: &'static str,
    text: &'static str,
    aliases: &'static [&'static str],
    summary: &'static str,
) -> NamedFormat {
    NamedFormat { name, parameters, text, example, summary, aliases, usual: false, family: None }
}

const fn family(
    name: &'static str,
    (order, example): (usize, &'static str),
    (one, text): (&'static str, &'static str),
    aliases: &'static [&'static str],
    summary: &'static str,
) -> NamedFormat {
    let family = Some((order, one));
    NamedFormat { name, parameters: &["d"], text, example, summary, aliases, usual: false, family }
}

/// The level types of axes that a name adds in front, and behind: `CSR-b1-d2`.
pub(super) const AXES: [&str; 2] = ["batch", "dense"];

/// Matrices with one entry in each column.
pub(super) const ONE_A_COLUMN: &str = "(i, j) -> (j : dense, i : singleton)";

/// If a format has several entries, the first one names it.
#[rustfmt::skip]
const TABLE: &[NamedFormat] = &[
    plain("Scalar", "() -> ()", &[], "a single value"),
    plain("DenseVector", "(i) -> (i : dense)", &[], "every element of a vector"),
    plain("SparseVector", "(i) -> (i : compressed)", &[], "coordinates of a vector's nonzeros").usual(),
    with("BlockedVector", &["b"], "BlockedVector(4)", "(i) -> (i / b : compressed, i % b : dense)",
        &["BlockVector"], "blocks of a vector that hold a nonzero"),
    family("Dense", (2, "Dense(3)"),
        ("(i) -> (i : dense)", "(i, j, ..., n) -> (i : dense, j : dense, ..., n : dense)"),
        &["DenseRow", "DenseMatrixRight", "DenseRight"], "every element, the last dimension contiguous"),
    family("DenseCol", (2, "DenseCol(3)"),
        ("(i) -> (i : dense)", "(i, j, ..., n) -> (n : dense, m : dense, ..., i : dense)"),
        &["DenseMatrixLeft", "DenseLeft", "Dense(col-major)"], "every element, the first dimension contiguous"),
    plain("CSR", "(i, j) -> (i : dense, j : compressed)", &[], "compressed rows").usual(),
    plain("CSC", "(i, j) -> (j : dense, i : compressed)", &[], "compressed columns").usual(),
    plain("DCSR", "(i, j) -> (i : compressed, j : compressed)", &[], "compressed rows, empty rows left out"),
    plain("DCSC", "(i, j) -> (j : compressed, i : compressed)", &[], "compressed columns, empty columns left out"),
    plain("CROW", "(i, j) -> (i : compressed, j : dense)", &[], "whole rows that hold a nonzero"),
    plain("CCOL", "(i, j) -> (j : compressed, i : dense)", &[], "whole columns that hold a nonzero"),
    family("COO", (2, "COO(3)"),
        ("(i) -> (i : compressed)",
         "(i, j, ..., n) -> (i : compressed(nonunique), j : singleton(nonunique), ..., n : singleton)"),
        &["COO(row-major)", "SortedCOO"], "coordinates of every nonzero").usual(),
    family("COO(col-major)", (2, "COO(col-major)"),
        ("(i) -> (i : compressed)",
         "(i, j, ..., n) -> (n : compressed(nonunique), m : singleton(nonunique), ..., i : singleton)"),
        &["COOCol"], "coordinates of every nonzero, sorted by the last dimension first"),
    plain("DIA-I", "(i, j) -> (j - i : compressed, i : range)", &["DIA"], "diagonals, indexed by row"),
    plain("DIA-J", "(i, j) -> (j - i : compressed, j : range)", &[], "diagonals, indexed by column"),
    plain("ANTI-DIA-I", "(i, j) -> (i + j : compressed, i : range)", &["ANTI-DIA", "SkewDIAI"],
        "antidiagonals, indexed by row"),
    plain("ANTI-DIA-J", "(i, j) -> (i + j : compressed, j : range)", &["SkewDIAJ"],
        "antidiagonals, indexed by column"),
    with("BSR", &["m", "n"], "BSR(2, 3)",
        "(i, j) -> (i / m : dense, j / n : compressed, i % m : dense, j % n : dense)",
        &["BSR-Row", "BSR-Right"], "m x n blocks in compressed rows, row-major inside").usual(),
    with("BSR-Col", &["m", "n"], "BSR-Col(2, 3)",
        "(i, j) -> (i / m : dense, j / n : compressed, j % n : dense, i % m : dense)",
        &["BSR-Left"], "m x n blocks in compressed rows, column-major inside"),
    with("BSC", &["m", "n"], "BSC(2, 3)",
        "(i, j) -> (j / n : dense, i / m : compressed, i % m : dense, j % n : dense)",
        &["BSC-Row", "BSC-Right"], "m x n blocks in compressed columns, row-major inside"),
    with("BSC-Col", &["m", "n"], "BSC-Col(2, 3)",
        "(i, j) -> (j / n : dense, i / m : compressed, j % n : dense, i % m : dense)",
        &["BSC-Left"], "m x n blocks in compressed columns, column-major inside"),
    with("BSR3", &["m", "n", "o"], "BSR3(2, 2, 2)",
        "(i, j, k) -> (i / m : dense, j / n : compressed, k / o : compressed, i % m : dense, j % n : dense, k % o : dense)",
        &[], "m x n x o blocks of a tensor of rank 3"),
    with("Strips", &["m"], "Strips(4)", "(i, j) -> (i / m : dense, j : compressed, i % m : dense)",
        &["RowStrips"], "strips of m rows: columns that hold a nonzero in the strip"),
    plain("ELL", "(i, j) -> (#i : dense, i : dense, j : singleton)", &["ELLPACK", "EllpackItpack"],
        "the first entry of every row, the second, ..., as many as the longest row has"),
    with("SELL", &["c"], "SELL(4)", "(i, j) -> (i / c : dense, #i : band, i % c : dense, j : singleton)",
        &["SlicedELL", "SlicedELLPACK"], "ELL in slices of c rows, each as wide as its longest row"),
    with("SELL-C-sigma", &["c", "s"], "SELL-C-sigma(4, 8)",
        "(i : sorted(s), j) -> (i / c : dense, #i : band, i % c : dense, j : singleton)",
        &["SELL-C-S"], "SELL whose rows are sorted by length within windows of s rows: slices with less padding"),
    plain("JDS", "(i : sorted, j) -> (#i : dense, i : band, j : singleton)", &["JaggedDiagonals", "JAD"],
        "jagged diagonals: rows sorted by length; the first entry of every row, the second of the rows that have one, ..."),
    family("CSF", (3, "CSF(4)"),
        ("(i) -> (i : compressed)", "(i, j, ..., n) -> (i : compressed, j : compressed, ..., n : compressed)"),
        &[], "a tree of compressed dimensions").usual(),
    plain("BCSR", "(i, j, k) -> (i : dense, j : dense, k : compressed)", &["BatchedCSR"], "a batch of CSR matrices"),
    plain("BCOO", "(i, j, k) -> (i : dense, j : loose_compressed(nonunique), k : singleton)", &["BatchedCOO"],
        "a batch of COO matrices, with room between them"),
    plain("DCOO", "(i, j, k) -> (i : dense, j : compressed(nonunique), k : singleton)", &[],
        "a dense dimension of COO matrices"),
    plain("Batched-DIA", "(i, j, k) -> (i : dense, k - j : compressed, j : range)",
        &["Batched-DIA-NonUniform", "BatchedDIAINonUniform", "BDIA"], "a batch of matrices, each with its own diagonals"),
    plain("Batched-DIA-Uniform", "(i, j, k) -> (k - j : compressed, i : dense, j : range)",
        &["BatchedDIAIUniform", "BDIA-Uniform"], "a batch of matrices with the same diagonals"),
    plain("HybridCOO", "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : dense)",
        &["Hybrid"], "coordinates of a matrix whose elements are dense vectors"),
    with("n:m", &["n", "m"], "2:4", "(i, j) -> (i : dense, j / m : dense, j % m : structured(n, m))",
        &["NM", "Structured"], "n of every m neighbours in a row, such as 2:4"),
];

/// Every named format.
pub fn named() -> impl Iterator<Item = &'static NamedFormat> {
    TABLE.iter()
}
