//! A page of results that were stored before.

use std::path::PathBuf;

use clap::Args;

use super::page::page;

/// Makes a page of what `matrix --json` has written.
#[derive(Args)]
pub(crate) struct Stored {
    /// The results, a JSON object a line.
    results: PathBuf,
    /// Write the page into this file.
    #[arg(long)]
    html: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Stored) -> Result<(), Box<dyn std::error::Error>> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", args.results.display());
    let lines = std::fs::read_to_string(&args.results).map_err(|error| told(&error))?;
    if lines.trim().is_empty() {
        return Err(told(&"it is empty: no run was stored in it").into());
    }
    let page = page(&lines).map_err(|error| told(&error))?;
    std::fs::write(&args.html, page).map_err(|e| format!("{}: {e}", args.html.display()))?;
    Ok(())
}
