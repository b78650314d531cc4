//! Benchmarks: operations, conversions and the cost of a call, against loops and other libraries.
//!
//! `matrix` times operations on inputs in formats; `convert` every pair of named formats;
//! `overhead` planning, compiling and calling; `compare` two stored runs. See `README.md`.

#![deny(unsafe_code)]

mod contenders;
mod convert;
mod gpu;
mod matrix;
mod memory;
mod overhead;
mod report;
#[cfg(test)]
mod smoke;
mod timing;

use std::process::ExitCode;

use clap::Parser;

/// Times the Universal Sparse Tensor.
#[derive(Parser)]
struct Args {
    /// Without one: `matrix --quick`.
    #[command(subcommand)]
    command: Option<Command>,
}

/// What is timed.
#[derive(clap::Subcommand)]
enum Command {
    /// Operations on inputs in formats, by this project and others.
    Matrix(Box<matrix::Matrix>),
    /// Every pair of named formats.
    Convert(convert::Convert),
    /// Planning, compiling, and starting a kernel.
    Overhead(overhead::Overhead),
    /// Operations on a GPU: tried, and then timed.
    Gpu(gpu::Args),
    /// What has become slower between two runs of `matrix --save`.
    Compare(report::baseline::Compare),
}

fn main() -> ExitCode {
    let quick = || Args::parse_from(["ust-benches", "matrix", "--quick"]).command;
    let Some(command) = Args::parse().command.or_else(quick) else { return ExitCode::from(2) };
    let done = match command {
        Command::Matrix(args) => matrix::run(&args).map(|()| true),
        Command::Convert(args) => convert::run(&args).map(|()| true),
        Command::Overhead(args) => overhead::run(&args).map(|()| true),
        Command::Gpu(args) => gpu::run(&args),
        Command::Compare(args) => report::baseline::run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
