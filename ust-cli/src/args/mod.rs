//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use ust::{Backend, Dtype};

mod words;

pub(crate) use self::words::{Element, KINDS, Language, Named, NamedFormat, NamedShape, Shape};
use self::words::{
    bytes, element, extent, kind, language, named, named_format, named_shape, one_format, seconds,
    shape,
};

/// Inspect, convert, draw and multiply sparse tensors in any format.
#[derive(Debug, Parser)]
#[command(
    name = "ust",
    version,
    disable_help_subcommand = true,
    after_help = AFTER_HELP,
)]
pub(crate) struct Args {
    /// Load a shared library that brings level types; stands before the command, and may be given several times
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) plugin: Vec<PathBuf>,
    /// Colours: where a terminal shows them (`NO_COLOR` and `CLICOLOR_FORCE` are heeded), always, or never
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", global = true)]
    pub(crate) color: When,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
TENSOR is a file (.mtx, .tns, .npy, .npz, .ust.npz; .mtx.gz and .tns.gz), `-` for standard input, whose \
kind `--from mtx` says, or a generator, such as `gen:poisson2d(1000)`: `ust help generators` lists them. \
A tensor is written to standard output as `-` of the kind `--to mtx`.
F is the name of a format, such as CSR or `BSR(2,3)` (`ust formats` lists them), or its text, \
such as `(i, j) -> (i : dense, j : compressed)`.

With --json, standard output is one JSON object, {\"error\": {\"message\", \"span\", \"help\"}} where \
the command failed; the span is in bytes of the text that is wrong. Errors for people are on \
standard error always.
Exit codes: 0 done, 1 failed, 2 bad usage or bad input.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the level types, with their properties and capabilities
    Levels(Listing),
    /// List the named formats
    Formats(Listing),
    /// Explain a format: canonical text, inverse map, level sizes
    Format(Format),
    /// Summarise a tensor: shape, format, entries, bytes; or the GPUs of this machine
    Info(Info),
    /// Show what a tensor stores: levels, arrays, values, picture
    Show(Show),
    /// Write a tensor in another format, dtype or kind of file
    Convert(Convert),
    /// Compute an expression, such as "y(i) = A(i,j) * x(j)"
    Run(Run),
    /// Write the loops of an expression as source code: CUDA C++, or C++
    Emit(Emit),
    /// Find the format in which a tensor is fastest, by measuring
    Advise(Advise),
    /// Write the completions of a shell, to be put where it looks for them
    Completions(Completions),
    /// Write the page of the manual, of the program or of a command
    Man(Man),
    /// Explain a command, or `generators`
    Help(Help),
}

/// When there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// How tensors are read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Reading {
    /// The kind of `-`, which is standard input: mtx, mtx.gz, tns, tns.gz, npy, npz or ust.npz
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub(crate) from: Option<String>,
    /// Memory that the work may take, such as 8G or 500M; three quarters of what is free, 16G at most,
    /// without it
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Listing {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Format {
    /// The format: a name or its text
    #[arg(value_name = "F")]
    pub(crate) text: String,
    /// Sizes of the dimensions, such as 4x9; gives the sizes of the levels
    #[arg(long, value_parser = shape)]
    pub(crate) shape: Option<Shape>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const INFO_HELP: &str = "\
A file of more than 8 MiB is not read beyond its header, which says less, unless --full asks for it. Where \
entries are read, what they say follows: entries in each row and column, symmetry, bandwidth, diagonal (of \
tensors that store up to 4 million values; of larger ones with --full).

With --json: {\"shape\", \"dtype\", \"format\", \"fill\", \"nse\", \"nnz\", \"iso\", \"density\", \"bytes\", \"levels\", \
\"structure\": {\"dims\": [{\"min\", \"median\", \"max\", \"empty\"}, ...], \"matrix\": {\"symmetry\", \"bandwidth\": [below, \
above], \"diagonal\", \"dominant\"} or null} or null, \"read\": \"all\"}; of a header {\"shape\", \"dtype\", \"format\", \
\"stored\", \"symmetry\", \"pattern\", \"file_bytes\", \"arrays\", \"read\": \"header\"}, null for what it does not say. Of \
several tensors {\"tensors\": [{..., \"tensor\": \"FILE\"}, ...]}.

With --gpu --json: {\"devices\": [{\"name\", \"compute_capability\", \"memory\", \"multiprocessors\"}, ...], \
\"missing\": what is missing or null, \"driver\" and \"compiler\": {\"version\", \"library\"} or null, \"cache\": \
{\"folder\", \"bytes\"} or null}.";

#[derive(Debug, clap::Args)]
#[command(after_help = INFO_HELP)]
pub(crate) struct Info {
    /// Files or generators
    #[arg(value_name = "TENSOR", required_unless_present = "gpu")]
    pub(crate) tensors: Vec<String>,
    /// Read the entries of large files, too, and say what they say
    #[arg(long)]
    pub(crate) full: bool,
    /// Read the headers of small files alone, too
    #[arg(long, conflicts_with = "full")]
    pub(crate) header: bool,
    /// Instead of a tensor: the GPUs of this machine, the libraries that were found, and the kernels that
    /// are kept on disk
    #[arg(long, conflicts_with_all = ["tensors", "shape", "full", "header"])]
    pub(crate) gpu: bool,
    /// Shape of a file that does not state it, such as 4x6x8
    #[arg(long, value_parser = shape)]
    pub(crate) shape: Option<Shape>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const SHOW_HELP: &str = "\
With --json: {\"shape\": [...], \"dtype\": \"f64\", \"format\": \"...\", \"fill\": 0, \"nse\": N, \"levels\": \
[{\"type\": \"compressed\", \"size\": N, \"pos\": [...], \"crd\": [...]}, ...], \"values\": [...]}. \
`pos` and `crd` are [] where a level has none; further arrays of a level type have their own names. \
Padding stands among the values as it is stored. Complex values are [re, im], values that are not \
finite \"NaN\", \"inf\" and \"-inf\".";

#[derive(Debug, clap::Args)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct Show {
    /// A file or a generator
    #[arg(value_name = "TENSOR")]
    pub(crate) tensor: String,
    /// Store it in this format first
    #[arg(long, value_name = "F", value_parser = one_format)]
    pub(crate) format: Option<String>,
    /// Shape of a file that does not state it, such as 4x6x8
    #[arg(long, value_parser = shape)]
    pub(crate) shape: Option<Shape>,
    /// Draw it into this file; `-` is standard output
    #[arg(long, short, visible_alias = "svg", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Trace this element, such as 5,8: where each level finds it, or that it is not stored
    #[arg(long, value_name = "ELEMENT", value_parser = element)]
    pub(crate) trace: Option<Element>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print one JSON object with every array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// A file or a generator
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// The file to write; its extension decides its kind. `-` is standard output
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The kind of `-` as OUT
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub(crate) to: Option<String>,
    /// Store it in this format, or split it into several: "DIA where fill(j - i) >= 0.6 + CSR"
    #[arg(long, value_name = "F", value_parser = one_format)]
    pub(crate) format: Option<String>,
    /// Convert the values to this dtype, such as f32 or complex128
    #[arg(long, value_name = "T")]
    pub(crate) dtype: Option<Dtype>,
    /// Convert numbers that the dtype cannot hold as well: rounded, cut or saturated
    #[arg(long, requires = "dtype")]
    pub(crate) lossy: bool,
    /// Shape of a file that does not state it, such as 4x6x8
    #[arg(long, value_parser = shape)]
    pub(crate) shape: Option<Shape>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Say which way the conversion into the format takes
    #[arg(long, requires = "format")]
    pub(crate) explain: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

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
    /// What runs the loops: `auto`, the quickest for the expression, or a name, such as `jit`, `cuda`, or
    /// `interp` for the checked interpreter
    #[arg(long, value_name = "NAME", default_value_t)]
    pub(crate) backend: Backend,
    /// Threads, at most; all cores without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
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

const ADVISE_HELP: &str = "\
The tensor is the operand `A` of the operation, or its first one of the tensor's rank. Operands that \
are not given are dense, with 32 coordinates for each index that no tensor at hand has. By default the \
last dimension is contracted with a vector: `y(i) = A(i,j) * x(j)` for a matrix.

With --json: {\"operation\", \"operand\", \"best\", \"summary\", \"stats\": {...}, \"formats\": [{\"text\", \
\"format\", \"origin\", \"predicted\": {\"stored\", \"bytes\", \"seconds\"}, \"measured\": {\"stored\", \"bytes\", \
\"kept\", \"convert_seconds\", \"seconds\", \"rounds\"} or null, \"break_even\", \"reason\"}, ...], \"left_out\": \
[{\"text\", \"reason\"}, ...]}, the best format first.";

#[derive(Debug, clap::Args)]
#[command(after_help = ADVISE_HELP)]
pub(crate) struct Advise {
    /// A file or a generator
    #[arg(value_name = "TENSOR")]
    pub(crate) tensor: String,
    /// Other operands of the operation, such as x=vector.npy
    #[arg(value_name = "NAME=TENSOR", value_parser = named)]
    pub(crate) operands: Vec<Named>,
    /// What is done with the tensor, such as "C(i,k) = A(i,j) * B(j,k)"
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) op: Option<String>,
    /// The format it has now, where that is not what the file is read into
    #[arg(long, value_name = "F", value_parser = one_format)]
    pub(crate) format: Option<String>,
    /// Shape of a file that does not state it, such as 4x6x8
    #[arg(long, value_parser = shape)]
    pub(crate) shape: Option<Shape>,
    /// Threads, at most; all cores without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// How long to measure, about
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = seconds)]
    pub(crate) budget: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Draw the tensor, stored in the best format, into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print every format, those that were not measured and those left out as well
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const COMPLETIONS_HELP: &str = "\
For bash: `ust completions bash > ~/.local/share/bash-completion/completions/ust`; \
for zsh: `ust completions zsh > FOLDER/_ust`, a folder in $fpath; \
for fish: `ust completions fish > ~/.config/fish/completions/ust.fish`.";

#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// A command; the program without it
    pub(crate) command: Option<String>,
    /// Write all pages into this folder: ust.1, ust-info.1 and so on
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Help {
    /// A command, or `generators`
    pub(crate) topic: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn every_kind_listed_is_one() {
        assert!(KINDS.split(", ").map(kind).all(|kind| kind.is_ok()));
    }
}
