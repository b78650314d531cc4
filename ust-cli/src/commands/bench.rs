//! `ust bench`: formats beside each other in several operations.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};
use ust::advise::{self, BenchRow, Options};

use super::advise::{Bar, disturbance, duration};
use crate::args::Bench;
use crate::failure::Failure;
use crate::output::Output;
use crate::{source, text};

pub(crate) fn run(args: &Bench, out: &mut Output) -> Result<(), Failure> {
    let tensor = source::tensor(&args.tensor, args.shape.as_ref(), None, &args.reading)?;
    let mut operands = Vec::new();
    for named in &args.operands {
        let operand = source::tensor(&named.text, None, None, &args.reading)?;
        operands.push((named.name.clone(), operand));
    }
    let bar = Bar::new();
    let tell = |what: &str, share: f64| bar.show(what, share);
    let options = Options {
        operands,
        threads: args.threads.map(usize::from),
        budget: Duration::from_secs_f64(args.budget),
        memory_limit: args.reading.limit(),
        progress: Some(&tell),
        ..Options::default()
    };
    let operations = match &args.op[..] {
        [] => advise::default_operations(tensor.rank()),
        given => given.to_vec(),
    };
    let bench = advise::bench(&tensor, &args.format, &operations, &options)?;
    drop(bar);
    if args.json {
        return out.json(&object(&bench));
    }
    write(args, &bench, out)
}

fn write(args: &Bench, bench: &advise::Bench, out: &mut Output) -> Result<(), Failure> {
    for (at, operation) in bench.operations.iter().enumerate() {
        writeln!(out, "[{}] {operation}", at + 1)?;
    }
    let reference = bench.rows.first().map_or("", |row| &row.text);
    let against = format!("/ {reference}");
    let mut titles = ["FORMAT", "BYTES", "CONVERT"].map(str::to_owned).to_vec();
    for at in 1..=bench.operations.len() {
        titles.extend([format!("[{at}] MEDIAN"), "SPREAD".to_owned(), against.clone()]);
    }
    let mut rows = vec![titles];
    rows.extend(bench.rows.iter().map(line));
    write!(out, "\n{}", text::table(&rows))?;
    let rounds = bench.rows.iter().flat_map(|row| &row.timings).map(|timing| timing.rounds);
    let (least, most) = (rounds.clone().min().unwrap_or(0), rounds.max().unwrap_or(0));
    writeln!(out, "\n{least} to {most} rounds, all formats in turns")?;
    for left_out in &bench.left_out {
        writeln!(out, "left out: {}: {}", left_out.text, left_out.reason)?;
    }
    if let Some(text) = disturbance(bench.others, bench.threads.filter(|_| args.threads.is_none()))
    {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

fn line(row: &BenchRow) -> Vec<String> {
    let mut cells = vec![row.text.clone(), text::bytes(row.bytes), duration(row.convert_seconds)];
    for timing in &row.timings {
        cells.extend([
            duration(timing.seconds),
            format!("{:.0} %", 100.0 * timing.spread),
            format!("{:.2}", timing.ratio),
        ]);
    }
    cells
}

fn object(bench: &advise::Bench) -> Value {
    let formats: Vec<Value> = bench
        .rows
        .iter()
        .map(|row| {
            let timings: Vec<Value> = row
                .timings
                .iter()
                .map(|timing| {
                    json!({
                        "seconds": timing.seconds, "spread": timing.spread,
                        "rounds": timing.rounds, "ratio": timing.ratio,
                    })
                })
                .collect();
            json!({
                "text": row.text, "bytes": row.bytes,
                "convert_seconds": row.convert_seconds, "timings": timings,
            })
        })
        .collect();
    let left_out: Vec<Value> = bench
        .left_out
        .iter()
        .map(|left_out| json!({ "text": left_out.text, "reason": left_out.reason }))
        .collect();
    json!({
        "operations": bench.operations,
        "reference": bench.rows.first().map(|row| &row.text),
        "others_cores": bench.others,
        "threads": bench.threads,
        "formats": formats,
        "left_out": left_out,
    })
}
