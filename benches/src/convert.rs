//! Every pair of named formats that suit an input: how long a conversion takes, and how much memory.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use ust::{Coo, Format, Tensor};

use crate::{memory, timing};

/// Inputs and the formats that suit them.
const GROUPS: &[(&str, &[&str])] = &[
    ("random", &["COO", "COO(col-major)", "CSR", "CSC", "DCSR", "DCSC"]),
    ("stencil", &["COO", "COO(col-major)", "CSR", "CSC", "DCSR", "DCSC", "DIA-I", "DIA-J"]),
    ("banded", &["COO", "CSR", "CSC", "DCSR", "DIA-I", "DIA-J", "BSR(4, 4)"]),
    (
        "blocked",
        &[
            "COO",
            "CSR",
            "CSC",
            "BSR(4, 4)",
            "BSR-Col(4, 4)",
            "BSC(4, 4)",
            "BSC-Col(4, 4)",
            "Strips(4)",
        ],
    ),
    ("cells", &["Dense", "DenseCol", "CROW", "CCOL", "COO", "CSR", "CSC", "BSR(4, 4)"]),
    ("pruned", &["2:4", "CSR", "CSC", "COO", "Dense"]),
    ("cube", &["COO(3)", "CSF(3)", "BatchedCSR", "BatchedCOO", "DCOO", "Batched-DIA-Uniform"]),
];

/// Times conversions between named formats.
#[derive(Args)]
pub(crate) struct Convert {
    /// About so many stored elements.
    #[arg(long, default_value_t = 10_000_000)]
    entries: usize,
    /// Only these groups of inputs: random, stencil, banded, blocks, cells, pruned, cube.
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

/// The generated tensor of a group with about so many entries.
fn input(group: &str, entries: usize) -> String {
    let n = entries / 16;
    let root = |power: f64| (entries as f64).powf(1.0 / power).ceil() as usize;
    match group {
        "random" => format!("random({n}x{n}, nnz={}, seed=1)", 16 * n),
        "stencil" => format!("poisson2d({})", root(2.0) * 10 / 22),
        "banded" => format!("banded({n}, diagonals=16)"),
        "blocked" => format!("blocks({n}x{n}, block=4x4, nse={}, seed=1)", 16 * n),
        "cells" => {
            let side = root(2.0) * 2 / 4 * 4;
            format!("random({side}x{side}, nnz={entries}, seed=1)")
        }
        "pruned" => format!("pruned24({0}x{0})", (root(2.0) * 14 / 10).next_multiple_of(4)),
        _ => format!("random(100x{0}x{0}, nnz={entries}, seed=1)", root(2.0)),
    }
}

pub(crate) fn run(args: &Convert) -> Result<(), Box<dyn std::error::Error>> {
    for &(group, formats) in GROUPS {
        if !args.only.is_empty() && !args.only.iter().any(|only| only == group) {
            continue;
        }
        let text = input(group, args.entries);
        let coo = ust::generate::generate(&text)?;
        if let Some(folder) = &args.npz
            && coo.shape.len() == 2
        {
            let csr = Tensor::from_coo(&coo, &"CSR".parse()?)?;
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
