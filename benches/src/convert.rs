//! Every pair of named formats that suit an input: how long a conversion takes, and how much memory.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use ust::{Coo, Format, Tensor};

use crate::{memory, timing};

/// Formats that a kind of tensor is converted between, every one to every other.
pub struct Conversions {
    /// The short name of the kind, for `--only`.
    pub name: &'static str,
    /// The text of a generator of such a tensor, with about so many entries.
    pub input: fn(usize) -> String,
    /// Names of formats that suit it, or their texts.
    pub formats: &'static [&'static str],
}

inventory::collect!(Conversions);

inventory::submit! { Conversions {
    name: "random",
    input: |entries| format!("random({0}x{0}, nnz={1}, seed=1)", entries / 16, entries / 16 * 16),
    formats: &["COO", "COO(col-major)", "CSR", "CSC", "DCSR", "DCSC"],
}}
inventory::submit! { Conversions {
    name: "stencil",
    input: |entries| format!("poisson2d({})", root(entries) * 10 / 22),
    formats: &["COO", "COO(col-major)", "CSR", "CSC", "DCSR", "DCSC", "DIA-I", "DIA-J"],
}}
inventory::submit! { Conversions {
    name: "banded",
    input: |entries| format!("banded({}, diagonals=16)", entries / 16),
    formats: &["COO", "CSR", "CSC", "DCSR", "DIA-I", "DIA-J", "BSR(4, 4)"],
}}
inventory::submit! { Conversions {
    name: "blocked",
    input: |entries| {
        format!("blocks({0}x{0}, block=4x4, nse={1}, seed=1)", entries / 16, entries / 16 * 16)
    },
    formats: &[
        "COO",
        "CSR",
        "CSC",
        "BSR(4, 4)",
        "BSR-Col(4, 4)",
        "BSC(4, 4)",
        "BSC-Col(4, 4)",
        "Strips(4)",
    ],
}}
inventory::submit! { Conversions {
    name: "cells",
    input: |entries| {
        let side = root(entries) * 2 / 4 * 4;
        format!("random({side}x{side}, nnz={entries}, seed=1)")
    },
    formats: &["Dense", "DenseCol", "CROW", "CCOL", "COO", "CSR", "CSC", "BSR(4, 4)"],
}}
inventory::submit! { Conversions {
    name: "pruned",
    input: |entries| format!("pruned24({0}x{0})", (root(entries) * 14 / 10).next_multiple_of(4)),
    formats: &["2:4", "CSR", "CSC", "COO", "Dense"],
}}
inventory::submit! { Conversions {
    name: "cube",
    input: |entries| format!("random(100x{0}x{0}, nnz={entries}, seed=1)", root(entries)),
    formats: &["COO(3)", "CSF(3)", "BatchedCSR", "BatchedCOO", "DCOO", "Batched-DIA-Uniform"],
}}

/// The side of a square of so many elements.
fn root(entries: usize) -> usize {
    (entries as f64).sqrt().ceil() as usize
}

/// Every kind of tensor, in the order of their names.
fn groups() -> Vec<&'static Conversions> {
    let mut all: Vec<_> = inventory::iter::<Conversions>().collect();
    all.sort_by_key(|group| group.name);
    all
}

/// Times conversions between named formats.
#[derive(Args)]
pub(crate) struct Convert {
    /// About so many stored elements.
    #[arg(long, default_value_t = 10_000_000)]
    entries: usize,
    /// Only these groups of inputs, such as `random`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these formats.
    #[arg(long, value_delimiter = ';')]
    formats: Vec<String>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// Rounds after one to warm up.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Write each input as a SciPy archive (`NAME.npz`) into this folder, for `convert.py`.
    #[arg(long)]
    npz: Option<PathBuf>,
    /// Time nothing.
    #[arg(long)]
    no_timing: bool,
    /// Tell how much memory a conversion takes at most, besides its operand and its result, instead of
    /// its time. On Linux.
    #[arg(long, conflicts_with = "no_timing")]
    memory: bool,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Convert) -> Result<(), Box<dyn std::error::Error>> {
    let groups = groups();
    let unknown = |name: &&String| !groups.iter().any(|group| group.name == **name);
    if let Some(name) = args.only.iter().find(unknown) {
        let known: Vec<&str> = groups.iter().map(|group| group.name).collect();
        let all = known.join(", ");
        return Err(format!(
            "{} There are {all}.",
            crate::names::unknown("group of inputs", name, known)
        )
        .into());
    }
    for &Conversions { name: group, input, formats } in groups {
        if !args.only.is_empty() && !args.only.iter().any(|only| only == group) {
            continue;
        }
        let text = input(args.entries);
        let coo = ust::generate::generate(&text)?;
        if let Some(folder) = &args.npz
            && coo.shape.len() == 2
        {
            let csr = Tensor::from_coo(&coo, "CSR")?;
            let path = folder.join(format!("{group}.npz"));
            ust::io::write(&path, &csr)?;
        }
        if args.no_timing {
            continue;
        }
        if !args.json {
            println!("\n{group}: {text}, {} entries", coo.len());
            let what = match args.memory {
                true => ["besides MB", "bytes / element"],
                false => ["median ms", "ns / element"],
            };
            println!("{:<32}{:>8}{:>12}{:>16}", "from -> to", "threads", what[0], what[1]);
        }
        for &threads in &args.threads {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            pool.install(|| pairs(args, group, &coo, formats, threads))
                .map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

fn pairs(
    args: &Convert,
    group: &str,
    coo: &Coo,
    formats: &[&str],
    threads: usize,
) -> Result<(), String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let wanted = |f: &&&str| args.formats.is_empty() || args.formats.iter().any(|w| w == **f);
    for from in formats.iter().filter(wanted) {
        let source: Format = from.parse().map_err(|e| text(&e))?;
        let source = Tensor::from_coo(coo, &source).map_err(|e| text(&e))?;
        for to in formats.iter().filter(wanted).filter(|to| *to != from) {
            let format: Format = to.parse().map_err(|e| text(&e))?;
            let name = format!("{from} -> {to}");
            let mut row = json!({
                "group": group, "from": from, "to": to, "threads": threads,
                "entries": coo.len(),
            });
            let convert = || source.convert(&format).map_err(|e| text(&e));
            // What is written or read, whichever is more: padding is moved, too.
            let stored = |target: &Tensor| source.nse().max(target.nse()).max(1);
            let (whole, each) = if args.memory {
                let (target, peak) = memory::peak(convert)?;
                let besides = peak.saturating_sub(target.bytes()) as f64;
                let stored = stored(&target);
                row["stored"] = stored.into();
                row["besides_bytes"] = besides.into();
                (besides / 1e6, besides / stored as f64)
            } else {
                let sample = timing::time(args.rounds, convert)?;
                let stored = stored(&convert()?);
                let each = sample.median() * 1e9 / stored as f64;
                row["stored"] = stored.into();
                row["seconds"] = sample.median().into();
                row["ns"] = each.into();
                (sample.median() * 1e3, each)
            };
            match args.json {
                true => println!("{row}"),
                false => println!("{name:<32}{threads:>8}{whole:>12.1}{each:>16.2}"),
            }
        }
    }
    Ok(())
}
