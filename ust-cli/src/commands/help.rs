//! `ust help`: a command's help, or a topic's.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, Help};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(args: &Help, out: &mut Output) -> Result<(), Failure> {
    let mut program = Args::command();
    program.build();
    let Some(topic) = &args.topic else {
        return Ok(write!(out, "{}", program.render_long_help())?);
    };
    if topic == "generators" {
        return Ok(write!(out, "{}", ust::generate::help())?);
    }
    match program.find_subcommand_mut(topic) {
        Some(command) => Ok(write!(out, "{}", command.render_long_help())?),
        None => Err(unknown("help about", topic, &program, &["generators"])),
    }
}

/// There is no such command.
pub(super) fn unknown(what: &str, word: &str, program: &clap::Command, more: &[&str]) -> Failure {
    let commands = program.get_subcommands().map(clap::Command::get_name);
    let known: Vec<&str> = more.iter().copied().chain(commands).collect();
    Failure::input(format!("no {what} `{word}`")).help(format!("there is {}", known.join(", ")))
}
