//! Benchmarks: operations, conversions and the cost of a call, against loops and other libraries. The program
//! is [`main`].
//!
//! `matrix` times operations on inputs in formats; `convert` every pair of named formats;
//! `insert` entries one by one; `overhead` planning, compiling and calling; `gpu` operations on a GPU; `report` makes a page of a stored
//! run, `compare` compares two. See `README.md`.
//!
//! # A program of your own
//!
//! One that links other crates times what these register: level types, back ends, and all that is in the table
//! below. Three lines:
//!
//! ```no_run
//! use my_level as _; // A crate that nobody names is dropped by the linker.
//!
//! fn main() -> std::process::ExitCode {
//!     ust_benches::main()
//! }
//! # mod my_level {}
//! ```
//!
//! | to add | submit | chosen by |
//! |---|---|---|
//! | somebody who computes, and which version | [`Contender`], [`Version`] | `matrix --contender` |
//! | what is computed | [`Operation`] | `matrix --op` |
//! | what it is computed with | [`NamedInput`] | `matrix --input` |
//! | what a GPU computes | [`DeviceOperation`] | `gpu --op` |
//! | formats to convert between | [`Conversions`] | `convert --only` |
//!
//! What stands in this crate is registered in the same way. A format needs no registration: `matrix --format`
//! takes any text, and formats that a level type offers for an input ([`LevelType::candidates`]), or that the
//! input is registered with, are timed unasked.
//!
//! ```
//! use ust_benches::{Case, Contender, NamedInput, Operation, Prepared, Rows, Surroundings, Task};
//! use ust_benches::{inventory, runner};
//!
//! inventory::submit! { NamedInput {
//!     name: "arrow", text: "banded(64, diagonals=3)", quick: true, formats: &[],
//! } }
//!
//! inventory::submit! { Operation {
//!     name: "row-sums",
//!     rank: 2,
//!     task: Task::Expression { text: "y(i) = A(i,j)", stored: &["A"], sparse: false },
//!     extents: &[],
//!     flops: |a| a.nse() as f64,
//! }}
//!
//! inventory::submit! { Contender { name: "mine", about: "sums of entries", prepare: sums } }
//!
//! fn sums(case: &Case<'_>, _: &Surroundings) -> Prepared {
//!     if (case.op.name, case.dtype) != ("row-sums", ust::Dtype::F64) {
//!         return Ok(None); // Nothing that it does.
//!     }
//!     // What happens here is not timed.
//!     let entries = case.first().to_coo().map_err(|error| error.to_string())?;
//!     let values = entries.values.typed::<f64>().map_err(|error| error.to_string())?.to_vec();
//!     let (rows, shape) = (entries.crd[0].clone(), case.shape.clone());
//!     let work = move |out: &mut Vec<f64>| {
//!         out.fill(0.0);
//!         rows.iter().zip(&values).for_each(|(&row, value)| out[row as usize] += value);
//!         Ok(())
//!     };
//!     runner(vec![0.0; shape[0]], work, move |out| Ok(Rows::of_dense(&shape, out)))
//! }
//!
//! let line = ["ust-benches", "matrix", "--op", "row-sums", "--input", "arrow", "--format", "CSR"];
//! let line = line.iter().chain(&["--rounds", "1", "--seconds", "0.01", "--contender", "mine,ust"]);
//! # let succeeded = format!("{:?}", std::process::ExitCode::SUCCESS);
//! # assert_eq!(format!("{:?}",
//! ust_benches::run(line)
//! # ), succeeded);
//! ```
//!
//! [`LevelType::candidates`]: ust::level_api::LevelType::candidates
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | `matrix/` | the matrix: its axes, a case, measuring |
//! | `contenders/` | contenders, a file each |
//! | `convert`, `insert`, `overhead`, `gpu/` | the other commands |
//! | `report/` | tables, JSON, pages, baselines |
//! | `timing`, `memory` | how long something takes, and how much memory |
//! | `names` | what is said of names that nobody registered |

#![deny(unsafe_code)]

mod contenders;
mod convert;
mod gpu;
mod insert;
mod matrix;
mod memory;
mod names;
mod overhead;
mod report;
#[cfg(test)]
mod smoke;
mod timing;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

pub use convert::Conversions;
pub use gpu::operation::DeviceOperation;
pub use matrix::case::Case;
pub use matrix::contender::{
    Contender, Prepared, Rows, Runner, Surroundings, Version, remade, runner,
};
pub use matrix::input::{Input, NamedInput};
pub use matrix::operation::{Operation, Task};
pub use ust::level_api::inventory;

/// Times the Universal Sparse Tensor.
#[derive(Parser)]
#[command(name = "ust-benches")]
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
    /// Entries inserted one by one, and the tensor made of them.
    Insert(insert::Insert),
    /// Planning, compiling, and starting a kernel.
    Overhead(overhead::Overhead),
    /// Operations on a GPU: tried, and then timed.
    Gpu(gpu::Args),
    /// A page of what `matrix --json` has written.
    Report(report::stored::Stored),
    /// What has become slower between two runs of `matrix --save`.
    Compare(report::baseline::Compare),
}

/// The whole program, with the arguments of the process. The exit code is 1 if something failed, and 2 for bad
/// usage.
#[must_use]
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// The same with the given arguments, the first of which is the name of the program.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // Where even this cannot be written, the exit code still says it.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let quick = || Args::parse_from(["ust-benches", "matrix", "--quick"]).command;
    let Some(command) = args.command.or_else(quick) else { return ExitCode::from(2) };
    let done = match command {
        Command::Matrix(args) => matrix::run(&args).map(|()| true),
        Command::Convert(args) => convert::run(&args).map(|()| true),
        Command::Insert(args) => insert::run(&args).map(|()| true),
        Command::Overhead(args) => overhead::run(&args).map(|()| true),
        Command::Gpu(args) => gpu::run(&args),
        Command::Report(args) => report::stored::run(&args).map(|()| true),
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
