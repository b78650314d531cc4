//! Commands about expressions.

use std::path::PathBuf;

use ust::{Backend, Dtype};

use super::tensors::Reading;
use super::words::{
    Language, Named, NamedFormat, NamedShape, backend, extent, kind, language, named, named_format,
    named_shape,
};

const RUN_HELP: &str = "\
Expressions: `C(i,j) = A(i,k) * B(k,j)` sums over the indices that the result does not have; + - * / \
and functions such as exp, max(a, b), where(mask, a, b); sum(k, ...), min(k, ...), any(k, ...) \
(of truth values `s = A(i) > 0` says whether any is true, `s = sum(i, A(i) > 0)` how many are); \
`C(i,j)<M(i,j)> = ...` computes where the mask M is; `... using min_plus` takes another semiring.

With --json: {\"seconds\": [...], \"compile_seconds\": s, \"backend\": \"...\", \"result\": {...}}, the result \
as `ust show --json` prints it, or {\"written\": \"FILE\"} with --out.";

/// What is computed.
#[derive(Debug, clap::Args)]
pub(crate) struct Asked {
    /// The expression, in index notation
    #[arg(value_name = "EXPRESSION")]
    pub(crate) expression: String,
    /// The tensors it names, such as A=matrix.mtx or "x=gen:ones(9)"
    #[arg(value_name = "NAME=TENSOR", value_parser = named)]
    pub(crate) tensors: Vec<Named>,
    /// Store this tensor, operand or result, in this format; the name may be left out where one tensor
    /// alone has as many dimensions
    #[arg(long, value_name = "NAME=F", value_parser = named_format)]
    pub(crate) format: Vec<NamedFormat>,
    /// Shape of a file that does not state it; the name may be left out where there is one tensor
    #[arg(long, value_name = "NAME=SHAPE", value_parser = named_shape)]
    pub(crate) shape: Vec<NamedShape>,
    /// The dtype of the result
    #[arg(long, value_name = "T")]
    pub(crate) dtype: Option<Dtype>,
    /// What + and * mean, such as `min_plus`
    #[arg(long, value_name = "NAME")]
    pub(crate) semiring: Option<String>,
    /// The extent of an index of the result that no operand has
    #[arg(long, value_name = "INDEX=N", value_parser = extent)]
    pub(crate) extent: Vec<(String, usize)>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, clap::Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Write the result into this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The kind of `-` as --out
    #[arg(long, value_name = "KIND", value_parser = kind, requires = "out")]
    pub(crate) to: Option<String>,
    /// Convert numbers that the dtype cannot hold as well: rounded, cut or saturated
    #[arg(long, requires = "dtype")]
    pub(crate) lossy: bool,
    #[command(flatten)]
    pub(crate) running: Running,
    /// Run it so often after one run to warm up, and tell the seconds of each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Print the plan: loops, conversions, code
    #[arg(long)]
    pub(crate) explain: bool,
    /// With --explain: the machine code as well, or the CUDA C++
    #[arg(long, requires = "explain")]
    pub(crate) machine_code: bool,
    /// Compare the result with that of a plain evaluation, element by element (small tensors), or
    /// of the interpreter
    #[arg(long)]
    pub(crate) check: bool,
    /// Print one JSON object, with the result where it is not written to a file
    #[arg(long)]
    pub(crate) json: bool,
}

/// What runs an expression.
#[derive(Debug, clap::Args)]
pub(crate) struct Running {
    /// What runs the loops: `auto`, the quickest for the expression, or a name, such as `jit`, `cuda`, or
    /// `interp` for the checked interpreter
    #[arg(long, value_name = "NAME", default_value_t, value_parser = backend)]
    pub(crate) backend: Backend,
    /// Threads, at most; all cores without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
}

const EXPLAIN_HELP: &str = "\
Nothing is computed, but for intermediate results that a plan depends on. For each stage: the result and its format; \
each operand with the format that it has, or is converted into and which way; the loops from the outermost on, with \
what each walks and searches; how results are stored; the estimated time; each back end with its estimate or the \
reason why it refuses; and the loops. `ust run --explain` says the same, and runs.

With --json: {\"expression\", \"backend\", \"prepare_seconds\", \"plan\": the text, \"machine_code\": the text or null}.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) asked: Asked,
    #[command(flatten)]
    pub(crate) running: Running,
    /// The machine code as well, or the CUDA C++
    #[arg(long)]
    pub(crate) machine_code: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const EMIT_HELP: &str = "\
The source stands alone: comments say what each function is called with and, for CUDA, how it is launched. \
It runs on any tensors of the same formats, dtypes and index widths. `c++` is C++17 for one thread; its \
functions have C linkage. An expression that works on the stored values of one tensor alone takes them as a \
vector.

With --json: {\"expression\", \"language\", \"stage\", \"stages\", \"source\"}, or {\"written\": \"FILE\"} in place of the source with --out.";

#[derive(Debug, clap::Args)]
#[command(after_help = EMIT_HELP)]
pub(crate) struct Emit {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// The language: `cuda` or `c++`
    #[arg(long, value_name = "LANGUAGE", default_value = "cuda", value_parser = language)]
    pub(crate) lang: Language,
    /// The stage, from 1: expressions such as `max(j, A(i,j)) / sum(j, A(i,j))` are computed in several, one
    /// after another
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) stage: Option<u16>,
    /// Form sums in the order of the loops, one number after another
    #[arg(long)]
    pub(crate) strict: bool,
    /// Write the source into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
