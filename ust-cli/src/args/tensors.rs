//! Commands about one tensor.

use std::path::PathBuf;

use clap::ValueEnum;
use ust::Dtype;

use super::words::{Element, Shape, bytes, element, kind, one_format, shape};

/// The looks of pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    #[default]
    Light,
    Dark,
}

impl From<Theme> for ust::draw::Theme {
    fn from(theme: Theme) -> Self {
        match theme {
            Theme::Light => Self::Light,
            Theme::Dark => Self::Dark,
        }
    }
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
    /// Draw it into this file, `.svg` or `.png`; `-` is standard output, for SVG
    #[arg(long, short, visible_alias = "svg", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The picture in --out: dark on light, or light on dark
    #[arg(long, value_name = "THEME", value_enum, default_value = "light")]
    pub(crate) theme: Theme,
    /// Trace this element, such as 5,8, and not the last entry: where each level finds it, or that it is not stored
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
