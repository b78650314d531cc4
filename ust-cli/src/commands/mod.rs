//! One file for each subcommand; `operands`, `check` and `picture` are parts of some.

mod advise;
mod bench;
mod check;
mod completions;
mod convert;
mod emit;
mod explain;
mod format;
mod formats;
mod help;
mod info;
mod levels;
mod man;
mod operands;
mod picture;
mod run;
mod show;

use crate::args::Command;
use crate::failure::Failure;
use crate::output::Output;

/// Does what the command line asks.
pub(crate) fn run(command: Command, color: bool, out: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Levels(args) => levels::run(&args, out),
        Command::Formats(args) => formats::run(&args, out),
        Command::Format(args) => format::run(&args, out),
        Command::Info(args) => info::run(&args, out),
        Command::Show(args) => show::run(&args, color, out),
        Command::Convert(args) => convert::run(&args, out),
        Command::Run(args) => run::run(&args, out),
        Command::Emit(args) => emit::run(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Bench(args) => bench::run(&args, out),
        Command::Advise(args) => advise::run(&args, out),
        Command::Completions(args) => completions::run(&args, out),
        Command::Man(args) => man::run(&args, out),
        Command::Help(args) => help::run(&args, out),
    }
}
