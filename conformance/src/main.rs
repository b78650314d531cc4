//! The suite as a program: every level type that `ust` links, and the golden data.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use ust_conformance::{GROUPS, Options, run};
use ust_engine::Backend;

/// Tries every level type that is linked, in every format it can stand in, and the golden data.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Write a machine-readable report to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Try one level type alone.
    #[arg(long, value_name = "NAME")]
    level: Option<String>,
    /// Load a shared library that brings level types; may be given several times.
    #[arg(long, value_name = "LIBRARY")]
    plugin: Vec<PathBuf>,
    /// Try one group of cases alone.
    #[arg(long, value_parser = GROUPS)]
    group: Option<String>,
    /// Try fewer formats of three levels, and fewer operations.
    #[arg(long)]
    quick: bool,
    /// Try one trial of an operation alone, by the name that its failure gives.
    #[arg(long, value_name = "NAME")]
    trial: Option<String>,
    /// Try operations on one back end alone, such as `cuda`.
    #[arg(long, value_name = "NAME")]
    backend: Option<Backend>,
    /// Try one trial of so many, of operations.
    #[arg(long, value_name = "N", default_value_t = 1)]
    one_in: usize,
    /// Run the back end `cuda` on a virtual GPU, which checks every access; needs a C++ compiler.
    #[cfg(feature = "emulator")]
    #[arg(long)]
    emulate_gpu: bool,
    /// Begin random choices with this number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    for library in &arguments.plugin {
        if let Err(error) = ust::plugin::load(library) {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    #[cfg(feature = "emulator")]
    if arguments.emulate_gpu
        && let Err(error) = ust_gpu::emulator::install()
    {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let Arguments { json, level, group, quick, trial, seed, backend, one_in, .. } = arguments;
    let options = Options { seed, level, group, quick, trial, backend, one_in };
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(0),
        false => ProgressBar::hidden(),
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} portions, {eta} left") {
        bar.set_style(style);
    }
    let report = run(&options, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    println!("{report}");
    println!("{}", ust_conformance::shuffled::tally());
    println!("{}", ust_conformance::meant::tally());
    #[cfg(feature = "emulator")]
    {
        let tally = ust_gpu::tally();
        println!("on a GPU: {} kernels of {} programs launched", tally.launches, tally.programs);
    }
    if let Some(file) = json {
        let text = format!("{}\n", report.to_json());
        if let Err(error) = std::fs::write(&file, text) {
            eprintln!("error: {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
