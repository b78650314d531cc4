//! Entries one by one: how long it takes to insert one into a builder, and to freeze it; beside a bare map, and
//! beside a tensor that is built from all of them at once. Then entries that are inserted into a tensor.

use std::collections::HashMap;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use ust::{Builder, Coo, Format, Tensor};

use crate::timing;

/// Times entries inserted one by one into a square matrix, at random places.
#[derive(Args)]
pub(crate) struct Insert {
    /// So many entries.
    #[arg(long, default_value_t = 10_000_000)]
    entries: usize,
    /// Rows, and columns.
    #[arg(long, default_value_t = 1_000_000)]
    extent: usize,
    /// The format that the builder is frozen to.
    #[arg(long, default_value = "CSR")]
    format: String,
    /// So many entries are then inserted into tensors of them, in place where their levels can.
    #[arg(long, default_value_t = 100_000)]
    updates: usize,
    /// Rounds after one to warm up.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
}

type Failed = Box<dyn std::error::Error>;

pub(crate) fn run(args: &Insert) -> Result<(), Failed> {
    let &Insert { entries, extent, rounds, .. } = args;
    if extent == 0 {
        return Err("a matrix without rows has no places".into());
    }
    let format: Format = args.format.parse()?;
    let places: Vec<[usize; 2]> = (0..2 * entries as u64)
        .map(|at| mixed(at) as usize % extent)
        .collect::<Vec<_>>()
        .chunks_exact(2)
        .map(|pair| [pair[0], pair[1]])
        .collect();
    let columns: [Vec<i64>; 2] = [0, 1].map(|dim| places.iter().map(|at| at[dim] as i64).collect());
    let coo = Coo::new(vec![extent; 2], columns.to_vec(), vec![1.0; entries])?;
    let row = |what: &str, seconds: f64, entries: usize| {
        let each = seconds * 1e9 / entries.max(1) as f64;
        match args.json {
            true => println!("{}", json!({ "what": what, "seconds": seconds, "ns": each })),
            false => println!("{what:<44}{:>12.1}{each:>12.1}", seconds * 1e3),
        }
    };
    if !args.json {
        println!("{entries} entries at random places of {extent} x {extent}");
        println!("{:<44}{:>12}{:>12}", "", "median ms", "ns / entry");
    }
    let bare = timing::time(rounds, || {
        let mut map = HashMap::new();
        for &[i, j] in &places {
            map.insert(i as u64 * extent as u64 + j as u64, 1.0);
        }
        Ok::<_, ust::Error>(map)
    })?;
    row("HashMap<u64, f64>, inserts", bare.median(), entries);
    let map: HashMap<u64, f64> =
        places.iter().map(|&[i, j]| (i as u64 * extent as u64 + j as u64, 1.0)).collect();
    let pass = timing::time(rounds, || {
        Ok::<_, ust::Error>(map.iter().map(|(&at, &value)| (at, value)).collect::<Vec<_>>())
    })?;
    row("HashMap<u64, f64>, a pass over it", pass.median(), entries);
    drop(map);
    let mut builder = Builder::<f64>::new(&[extent; 2]);
    let inserts = timing::time(rounds, || {
        // The memory of the one before is free again.
        builder = Builder::new(&[extent; 2]);
        places.iter().try_for_each(|at| builder.insert(at, 1.0).map(drop))
    })?;
    row("Builder, inserts", inserts.median(), entries);
    let adds = timing::time(rounds, || {
        builder = Builder::new(&[extent; 2]);
        places.iter().try_for_each(|at| builder.add(at, 1.0))
    })?;
    row("Builder, adds", adds.median(), entries);
    let reads =
        timing::time(rounds, || places.iter().try_for_each(|at| builder.get(at).map(drop)))?;
    row("Builder, reads", reads.median(), entries);
    let freeze = timing::time(rounds, || builder.freeze(&format))?;
    row(&format!("Builder -> {}", args.format), freeze.median(), entries);
    let at_once = timing::time(rounds, || Tensor::from_coo(&coo, &format))?;
    row(&format!("unsorted entries -> {}", args.format), at_once.median(), entries);
    let frozen = builder.freeze(&format)?;
    let thaw = timing::time(rounds, || Builder::<f64>::from_tensor(&frozen))?;
    row(&format!("{} -> Builder", args.format), thaw.median(), entries);
    if !args.json {
        println!("{:<44}{:>24}", "bytes / entry", builder.bytes() / builder.len().max(1));
    }
    drop(builder);
    for (name, text) in [
        ("hashed rows", "(i, j) -> (i : dense, j : hashed)"),
        ("loose rows", "(i, j) -> (i : dense, j : loose_compressed)"),
    ] {
        let mut tensor = frozen.convert(text)?;
        let start = Instant::now();
        for at in (2 * entries as u64..).step_by(2).take(args.updates) {
            let place = [mixed(at) as usize % extent, mixed(at + 1) as usize % extent];
            tensor.insert(&place, 1.0)?;
        }
        row(
            &format!("{} more, one by one, {name}", args.updates),
            start.elapsed().as_secs_f64(),
            args.updates,
        );
    }
    Ok(())
}

/// A number that depends on another as if by chance.
fn mixed(at: u64) -> u64 {
    let mut mixed = at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}
