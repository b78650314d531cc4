//! The command line.

mod expressions;
mod measuring;
mod tensors;
mod words;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use self::expressions::{Asked, Emit, Explain, Run, Running};
pub(crate) use self::measuring::{Advise, Bench};
pub(crate) use self::tensors::{Convert, Info, Reading, Show};
use self::words::shape;
pub(crate) use self::words::{Element, KINDS, Language, Named, NamedFormat, Shape};

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
    /// Say what is planned for an expression: stages, loops, conversions, back ends, times
    Explain(Explain),
    /// Find the format in which a tensor is fastest, by measuring
    Advise(Advise),
    /// Time formats beside each other in several operations on a tensor
    Bench(Bench),
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
        assert!(KINDS.split(", ").map(words::kind).all(|kind| kind.is_ok()));
    }
}
