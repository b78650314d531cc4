//! The developer's commands: `cargo xtask test`, `cargo xtask ci`, and the checks they are made of.
#![forbid(unsafe_code)]

mod arrows;
mod guide;
mod invariants;
mod new_level;
mod packages;
mod run;
mod without;

use clap::{Parser, Subcommand};

/// Commands for whoever changes this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Every test: units, properties, documentation examples, and the conformance suite.
    Test {
        /// Units and properties alone, for a first look.
        #[arg(long)]
        quick: bool,
    },
    /// Everything that must hold before a change is merged: format, lints, docs, tests, invariants.
    Ci,
    /// Is any level type named outside its own crate, and does every arrow point down?
    Invariants,
    /// Could every crate be published: what its manifest says, and which files go along?
    Packages,
    /// Is the crate that the guide to level types shows the one in `examples/third_party`?
    Guide {
        /// Write the crate as the guide shows it.
        #[arg(long)]
        write: bool,
    },
    /// Writes a crate for a new level type, whose test says what to write first.
    NewLevel {
        /// Its name in format text, such as `ragged`.
        name: String,
        /// The folder of the crate, outside the workspace. Without it: `levels/NAME`, in the workspace.
        #[arg(long, value_name = "DIR")]
        outside: Option<std::path::PathBuf>,
    },
    /// Does the workspace build without each level crate in turn?
    Without {
        /// Only this level crate, by its folder under `levels`.
        level: Option<String>,
    },
}

fn main() -> std::process::ExitCode {
    let outcome = match Args::parse().command {
        Command::Test { quick: true } => quick(),
        Command::Test { quick: false } => test(),
        Command::Ci => ci(),
        Command::Invariants => invariants(),
        Command::Packages => packages::check(),
        Command::Guide { write } => guide::check(write),
        Command::NewLevel { name, outside } => new_level::write(&name, outside.as_deref()),
        Command::Without { level } => without::check(level.as_deref()),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn invariants() -> Result<(), String> {
    invariants::check()?;
    arrows::check()
}

/// What each level crate's test of itself is called: the suite at length tries these level types, too.
const OF_ITSELF: &str = "standard_level_conforms";

/// Everything, with what is not built by default as well.
const WHOLE: [&str; 3] =
    ["--workspace", "--features", "ust-cli/gpu,ust/faer,ust/nalgebra-sparse,ust/serde,ust/sprs"];

fn test() -> Result<(), String> {
    let rest = ["--no-fail-fast", "--", "--skip", OF_ITSELF];
    run::cargo(&[&["test"], &WHOLE[..], &rest].concat(), &[])?;
    let at_length = ["--quiet", "--test", "at_length", "--", "--ignored", "--nocapture"];
    run::cargo(&[&["test"], &WHOLE[..], &at_length].concat(), &[])?;
    outside(&["test", "--quiet"], &[])?;
    // A crate that is written now compiles, and its suite fails where it is to be written.
    let fresh = ["--quiet", "--package", "xtask", "--test", "new_level", "--", "--ignored"];
    run::cargo(&[&["test"], &fresh[..]].concat(), &[])
}

/// The crates that are outside the workspace, as a stranger's crate is.
const OUTSIDE: [&str; 2] = ["examples/own_memory/Cargo.toml", "examples/third_party/Cargo.toml"];

/// Runs a command of cargo on each crate that is outside the workspace.
fn outside(command: &[&str], rest: &[&str]) -> Result<(), String> {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    OUTSIDE.iter().try_for_each(|manifest| {
        let place = ["--manifest-path", manifest, "--target-dir", &target];
        run::cargo(&[command, &place[..], rest].concat(), &[])
    })
}

/// Tests without those of the conformance suite and of the documentation.
fn quick() -> Result<(), String> {
    let mut args = vec!["test"];
    args.extend(WHOLE);
    args.extend(["--lib", "--bins", "--tests"]);
    args.extend(["--exclude", "ust-conformance"]);
    args.extend(["--exclude", "bitmap_level"]);
    args.extend(["--", "--skip", OF_ITSELF]);
    run::cargo(&args, &[])
}

/// The lints again, without what is there by default, machine code and the macro, and without back ends for GPUs.
fn without_features() -> Result<(), String> {
    ["ust", "ust-cli"].iter().try_for_each(|package| {
        let of = ["clippy", "--package", package, "--no-default-features", "--all-targets"];
        run::cargo(&[&of[..], &["--", "--deny", "warnings"]].concat(), &[])
    })
}

fn ci() -> Result<(), String> {
    run::cargo(&["fmt", "--all", "--check"], &[])?;
    for manifest in OUTSIDE {
        run::cargo(&["fmt", "--manifest-path", manifest, "--check"], &[])?;
    }
    invariants()?;
    let lints = ["--all-targets", "--", "--deny", "warnings"];
    run::cargo(&[&["clippy"], &WHOLE[..], &lints].concat(), &[])?;
    outside(&["clippy", "--all-targets"], &["--", "--deny", "warnings"])?;
    without_features()?;
    packages::check()?;
    run::cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "--deny warnings")])?;
    test()?;
    without::check(None)
}
