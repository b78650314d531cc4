//! `ust completions`: the completions of a shell.

use std::io::Write;

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(args: &Completions, out: &mut Output) -> Result<(), Failure> {
    // Made in memory: the generator cannot tell that nobody reads.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "ust", &mut text);
    Ok(out.write_all(&text)?)
}
