//! Commands that measure formats.

use std::path::PathBuf;

use super::tensors::{Reading, Theme};
use super::words::{Named, Shape, named, one_format, seconds, shape};

const ADVISE_HELP: &str = "\
The tensor is the operand `A` of the operation, or its first one of the tensor's rank. Operands that \
are not given are dense, with 32 coordinates for each index that no tensor at hand has. By default the \
last dimension is contracted with a vector: `y(i) = A(i,j) * x(j)` for a matrix.

Formats are measured in turns, round after round. EACH is near the least of the times, SPREAD how far the middle \
half of them reaches. A `=` stands before formats that are as fast as the fastest: within 10 %, or within what \
measurements can tell. Of those within 5 %, the first is what there is now, or else a format that most libraries \
have, or else the smallest.

With --json: {\"operation\", \"operand\", \"best\", \"ties\", \"others_cores\": cores that others kept busy or null, \
\"threads\": those asked for, or fewer where others keep cores busy, or null, \
\"summary\", \"stats\": {...}, \"formats\": [{\"text\", \"format\", \"origin\", \"predicted\": {\"stored\", \"bytes\", \
\"seconds\"}, \"measured\": {\"stored\", \"bytes\", \"kept\", \"convert_seconds\", \"seconds\", \"spread\", \"off\", \
\"rounds\"} or null, \"break_even\", \"tied\", \"out_of_time\", \"reason\"}, ...], \"left_out\": \
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
    /// Threads, at most; without it, as many as there are cores that others leave free
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// How long all of it may take, about
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = seconds)]
    pub(crate) budget: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Draw the tensor, stored in the best format, into this file, `.svg` or `.png`
    #[arg(long, short, visible_alias = "svg", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The picture in --out: dark on light, or light on dark
    #[arg(long, value_name = "THEME", value_enum, default_value = "light")]
    pub(crate) theme: Theme,
    /// Print every format, those that were not measured and those left out as well
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const BENCH_HELP: &str = "\
Formats are measured in turns, round after round, with operands as `ust advise` makes them. Without --format they are \
those that most libraries have, what the tensor has now, and four more that are expected to be quick. Without --op, a \
matrix is multiplied with a vector, with 32 vectors, and its transpose with a vector. For each operation the table has \
the median, how far the middle half of the times reaches (as a share of the least), and the median as a multiple of \
that of the first format: CSR, of a matrix.

With --json: {\"operations\": [...], \"reference\", \"others_cores\", \"threads\", \"formats\": [{\"text\", \"bytes\", \
\"convert_seconds\", \"timings\": [{\"seconds\", \"spread\", \"rounds\", \"ratio\"}, one for each operation]}, ...], \
\"left_out\": [{\"text\", \"reason\"}, ...]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = BENCH_HELP)]
pub(crate) struct Bench {
    /// A file or a generator
    #[arg(value_name = "TENSOR")]
    pub(crate) tensor: String,
    /// Other operands of the operations, such as x=vector.npy
    #[arg(value_name = "NAME=TENSOR", value_parser = named)]
    pub(crate) operands: Vec<Named>,
    /// An operation; may be given several times
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) op: Vec<String>,
    /// A format; may be given several times. The first is what others are compared with
    #[arg(long, value_name = "F", value_parser = one_format)]
    pub(crate) format: Vec<String>,
    /// Shape of a file that does not state it, such as 4x6x8
    #[arg(long, value_parser = shape)]
    pub(crate) shape: Option<Shape>,
    /// Threads, at most; without it, as many as there are cores that others leave free
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// How long all of it may take, about
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) budget: f64,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
