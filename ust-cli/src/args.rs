//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use ust::{Backend, Dtype};

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
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
TENSOR is a file (.mtx, .tns, .npy, .npz, .ust.npz; .mtx.gz and .tns.gz) or a generator, such as \
`gen:poisson2d(1000)`: `ust help generators` lists them.
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
    /// Explain a command, or `generators`
    Help(Help),
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
With --gpu --json: {\"devices\": [{\"name\", \"compute_capability\", \"memory\", \"multiprocessors\"}, ...], \
\"missing\": what is missing or null, \"driver\" and \"compiler\": {\"version\", \"library\"} or null, \"cache\": \
{\"folder\", \"bytes\"} or null}.";

#[derive(Debug, clap::Args)]
#[command(after_help = INFO_HELP)]
pub(crate) struct Info {
    /// A file or a generator
    #[arg(value_name = "TENSOR", required_unless_present = "gpu")]
    pub(crate) tensor: Option<String>,
    /// Instead of a tensor: the GPUs of this machine, the libraries that were found, and the kernels that
    /// are kept on disk
    #[arg(long, conflicts_with_all = ["tensor", "shape"])]
    pub(crate) gpu: bool,
    /// Shape of a file that does not state it, such as 4x6x8
    #[arg(long, value_parser = shape)]
    pub(crate) shape: Option<Shape>,
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
    /// Draw it into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Memory that the work may take, such as 8G or 500M; three quarters of what is free, 16G at most,
    /// without it
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Print one JSON object with every array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// A file or a generator
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// The file to write; its extension decides its kind
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Store it in this format, or split it into several: "DIA where fill(j - i) >= 0.6 + CSR"
    #[arg(long, visible_alias = "to", value_name = "F", value_parser = one_format)]
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
    /// Memory that the work may take, such as 8G or 500M; three quarters of what is free, 16G at most,
    /// without it
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
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
    /// Memory that the work may take, such as 8G or 500M; three quarters of what is free, 16G at most,
    /// without it
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Write the result into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
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
    /// Memory that the work may take, such as 8G or 500M; three quarters of what is free, 16G at most,
    /// without it
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,
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

#[derive(Debug, clap::Args)]
pub(crate) struct Help {
    /// A command, or `generators`
    pub(crate) topic: Option<String>,
}

/// A language that loops are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Cuda,
    Cpp,
}

/// The sizes of the dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<usize>);

/// `NAME=TEXT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// `NAME=SHAPE`, or `SHAPE` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedShape {
    pub(crate) name: Option<String>,
    pub(crate) shape: Shape,
}

/// `NAME=FORMAT`, or `FORMAT` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFormat {
    pub(crate) name: Option<String>,
    pub(crate) text: String,
}

/// Reads `4x6x8`; nothing at all for a tensor without dimensions.
fn shape(text: &str) -> Result<Shape, String> {
    if text.trim().is_empty() {
        return Ok(Shape(Vec::new()));
    }
    let extent = |part: &str| {
        let part = part.trim();
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        match part.parse::<usize>() {
            Ok(extent) if digits && i64::try_from(extent).is_ok() => Ok(extent),
            _ if digits => Err(format!("`{part}` is larger than any dimension can be")),
            _ => Err(format!("`{part}` is not a size; a shape is written like 4x6x8")),
        }
    };
    Ok(Shape(text.split('x').map(extent).collect::<Result<_, _>>()?))
}

fn named(text: &str) -> Result<Named, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    match text.split_once('=') {
        Some((name, rest)) if is_name(name.trim()) => {
            Ok(Named { name: name.trim().to_owned(), text: rest.trim().to_owned() })
        }
        _ => Err("write the tensor's name before it, such as `A=...`".to_owned()),
    }
}

fn extent(text: &str) -> Result<(String, usize), String> {
    let read = named(text).ok().and_then(|n| Some((n.name, n.text.parse().ok()?)));
    read.ok_or_else(|| "write an index and its extent, such as `k=9`".to_owned())
}

/// Reads a number of bytes: `8G`, `1.5GiB`, `500M`, `4096`. A K is 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_uppercase();
    let unit = unit.strip_suffix("IB").or(unit.strip_suffix('B')).unwrap_or(&unit);
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == unit);
    let number = digits.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    match (number, power) {
        (Some(number), Some(power)) => Ok((number * 1024_f64.powi(power as i32)) as u64),
        _ => Err("write a number of bytes, such as 8G, 1.5G or 500M".to_owned()),
    }
}

fn language(text: &str) -> Result<Language, String> {
    match text {
        "cuda" => Ok(Language::Cuda),
        "c++" | "cpp" => Ok(Language::Cpp),
        "c" => {
            Err("loops are written as C++17, whose functions have C linkage: `--lang c++`"
                .to_owned())
        }
        _ => Err("loops are written as `cuda` or `c++`".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
    read.ok_or_else(|| "write a number of seconds, such as 20 or 0.5".to_owned())
}

/// Text of a format may have a `=` of its own: `(i = 2 * a + b, j) -> ...`.
#[expect(clippy::unnecessary_wraps, reason = "a parser of arguments")]
fn named_format(text: &str) -> Result<NamedFormat, String> {
    Ok(match named(text) {
        Ok(Named { name, text }) => NamedFormat { name: Some(name), text },
        Err(_) => NamedFormat { name: None, text: text.trim().to_owned() },
    })
}

/// A format where there is one tensor: a name before it says nothing new.
fn one_format(text: &str) -> Result<String, String> {
    Ok(named_format(text)?.text)
}

fn named_shape(text: &str) -> Result<NamedShape, String> {
    if !text.contains('=') {
        return Ok(NamedShape { name: None, shape: shape(text)? });
    }
    let Named { name, text } = named(text)?;
    Ok(NamedShape { name: Some(name), shape: shape(&text)? })
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
    fn shapes_are_read() {
        assert_eq!(shape("4x6x8"), Ok(Shape(vec![4, 6, 8])));
        assert_eq!(shape("0"), Ok(Shape(vec![0])));
        assert_eq!(shape(""), Ok(Shape(vec![])));
        for text in
            ["4x", "x", "-1", "+1", "4 6", "a", "99999999999999999999", "9223372036854775808"]
        {
            assert!(shape(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_units() {
        let read = ["8G", "1.5GiB", "500M", "4096", "2kb", "0.5K"].map(bytes);
        assert_eq!(read, [8 << 30, 3 << 29, 500 << 20, 4096, 2048, 512].map(Ok));
        for text in ["", "G", "8X", "-1G", "0", "8 G G", "NaN"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_stand_before_the_first_equals_sign() {
        let read = named("A=(i = a, j) -> (i : dense)").unwrap();
        assert_eq!((&*read.name, &*read.text), ("A", "(i = a, j) -> (i : dense)"));
        let read = named_shape("A=4x6").unwrap();
        assert_eq!((read.name.as_deref(), read.shape), (Some("A"), Shape(vec![4, 6])));
        assert_eq!(named_shape("7").unwrap().name, None);
        let read =
            ["A=CSR", "CSR", "(i = a, j) -> (i : dense)"].map(|text| named_format(text).unwrap());
        let names = read.each_ref().map(|read| read.name.as_deref());
        assert_eq!(names, [Some("A"), None, None]);
        assert_eq!(read.map(|read| read.text), ["CSR", "CSR", "(i = a, j) -> (i : dense)"]);
        for text in ["matrix.mtx", "=x", "a.b=c", "1=2", ""] {
            assert!(named(text).is_err(), "{text}");
        }
    }
}
