//! `ust man`: pages of the manual.

use std::fs;
use std::io::Write;

use clap::CommandFactory;
use clap_mangen::Man as Page;

use super::help;
use crate::args::{Args, Man};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(args: &Man, out: &mut Output) -> Result<(), Failure> {
    let mut program = Args::command();
    program.build();
    let program = program;
    let Some(folder) = &args.out else {
        let command = match &args.command {
            None => &program,
            Some(name) => program
                .find_subcommand(name)
                .ok_or_else(|| help::unknown("command", name, &program, &[]))?,
        };
        return Ok(Page::new(command.clone()).render(out)?);
    };
    let failed = |error| Failure::failed(format!("{}: cannot write: {error}", folder.display()));
    if folder.is_file() {
        let text =
            format!("{}: this is a file, and pages are written into a folder", folder.display());
        return Err(Failure::input(text));
    }
    fs::create_dir_all(folder).map_err(failed)?;
    let pages: Vec<&clap::Command> =
        [&program].into_iter().chain(program.get_subcommands()).collect();
    for command in &pages {
        // `ust-info`.
        let name = command.get_display_name().unwrap_or(command.get_name());
        let mut text = Vec::new();
        Page::new((*command).clone()).render(&mut text)?;
        fs::write(folder.join(format!("{name}.1")), text).map_err(failed)?;
    }
    Ok(writeln!(out, "wrote {} pages into {}", pages.len(), folder.display())?)
}
