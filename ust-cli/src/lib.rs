//! `ust`: inspect, convert, draw and multiply sparse tensors in any format. The program is [`main`].
//!
//! The program of this crate knows the level types and back ends of the facade `ust`. One of your own knows
//! those of other crates as well, in every command:
//!
//! ```no_run
//! use my_level as _; // A crate that nobody names is dropped by the linker.
//!
//! fn main() -> std::process::ExitCode {
//!     ust_cli::main()
//! }
//! # mod my_level {}
//! ```
//!
//! # Where what lives
//!
//! | file | what |
//! |---|---|
//! | `args/` | the command line |
//! | `commands/` | one file for each subcommand |
//! | `source`, `target` | a tensor from a file, standard input or a generator; to a file or standard output |
//! | `color` | whether there are colours |
//! | `failure` | what went wrong, for people and as JSON, and the exit code |
//! | `json` | tensors as JSON, written as a stream |
//! | `output` | standard output |
//! | `text` | numbers, sizes and tables that a person can read |
#![forbid(unsafe_code)]

mod args;
mod color;
mod commands;
mod failure;
mod json;
mod output;
mod source;
mod target;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::Args;
use crate::failure::Failure;
use crate::output::Output;

/// The whole program: reads the command line, does what it asks, and gives the exit code. It is 1 if
/// something failed, and 2 for bad usage or bad input.
///
/// A panic ends in a line on standard error. For that, the hook of the process for panics is replaced.
#[must_use]
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    // A defect of the program: said in one line, not with a backtrace.
    std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
        Failure::defect(message.as_deref().unwrap_or("no reason given")).report(json_is_wanted())
    })
}

fn run() -> ExitCode {
    let program = Args::command().color(color::of_usage(std::env::args_os()));
    let read = program.try_get_matches().and_then(|words| Args::from_arg_matches(&words));
    let outcome = match read {
        Ok(args) => {
            let mut out = Output::new();
            let color = color::on_standard_output(args.color);
            load(&args.plugin)
                .and_then(|()| commands::run(args.command, color, &mut out))
                .and_then(|()| out.finish())
        }
        Err(error) => failure::usage(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json_is_wanted()),
    }
}

/// Loads the level types of shared libraries.
fn load(libraries: &[PathBuf]) -> Result<(), Failure> {
    libraries.iter().try_for_each(|library| Ok(ust::plugin::load(library).map(|_| ())?))
}

/// Whether the command line has `--json`, even where the rest of it cannot be read.
fn json_is_wanted() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
}
