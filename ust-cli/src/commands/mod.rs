//! One file for each subcommand.

mod help;
mod levels;

use crate::args::Command;
use crate::failure::Failure;
use crate::output::Output;

/// Does what the command line asks.
pub(crate) fn run(command: Command, out: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Levels(args) => levels::run(&args, out),
        Command::Help(args) => help::run(&args, out),
        _ => Err(Failure::failed("being written")),
    }
}
