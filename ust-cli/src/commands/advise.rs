//! `ust advise`: the format in which a tensor is fastest.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use ust::advise::{Advice, DISTURBED, Options, Origin, Row, Stats, advise};
use ust::draw::{SvgOptions, svg};

use super::picture;
use crate::args::Advise;
use crate::failure::Failure;
use crate::output::Output;
use crate::{source, text};

/// Rows that are printed without `--all`.
const SHOWN: usize = 12;

pub(crate) fn run(args: &Advise, out: &mut Output) -> Result<(), Failure> {
    if let Some(file) = &args.out {
        // Standard output has the advice.
        if picture::is_standard_output(file) {
            return Err(Failure::input(
                "the picture of `ust advise` needs a file of its own, not `-`",
            ));
        }
        picture::check(file, args.json)?;
    }
    let tensor =
        source::tensor(&args.tensor, args.shape.as_ref(), args.format.as_deref(), &args.reading)?;
    let mut operands = Vec::new();
    for named in &args.operands {
        operands
            .push((named.name.clone(), source::tensor(&named.text, None, None, &args.reading)?));
    }
    let bar = Bar::new();
    let tell = |what: &str, share: f64| bar.show(what, share);
    let mut options = Options {
        operation: args.op.clone(),
        operands,
        threads: args.threads.map(usize::from),
        budget: Duration::from_secs_f64(args.budget),
        progress: Some(&tell),
        ..Options::default()
    };
    options.memory_limit = args.reading.limit();
    let advice = advise(&tensor, &options)?;
    drop(bar);
    if let Some(file) = &args.out {
        let best = tensor.convert(&advice.best().format)?;
        let title = Some(format!("{}: {}", args.tensor, advice.best().text));
        picture::write(
            file,
            &svg(&best, &SvgOptions { title, theme: args.theme.into(), ..Default::default() })?,
            out,
        )?;
    }
    if args.json {
        return out.json(&object(&advice));
    }
    write!(out, "{}", text::table(&looks(&advice.stats)))?;
    writeln!(out, "\n{}", advice.operation)?;
    table(&advice, args.all, out)?;
    let best = advice.best();
    writeln!(out, "\n{}: {}", best.text, advice.summary())?;
    writeln!(out, "  --format \"{}={}\"", advice.operand, best.text)?;
    let ties: Vec<&str> = advice.ties().map(|row| &*row.text).collect();
    if !ties.is_empty() {
        writeln!(out, "as fast, as far as measurements can tell: {}", ties.join("; "))?;
    }
    if let Some(split) = advice.best_split() {
        writeln!(
            out,
            "\n{}: {:.2} of its time, {}\n  --format \"{}={}\"",
            split.text,
            split.relative,
            text::bytes(split.bytes),
            advice.operand,
            split.text
        )?;
    }
    if best.text != best.format.to_string() {
        writeln!(out, "  {}", best.format)?;
    }
    if let Some(text) =
        disturbance(advice.others, advice.threads.filter(|_| args.threads.is_none()))
    {
        writeln!(out, "{text}")?;
    }
    if let Some(file) = &args.out {
        writeln!(out, "wrote {}", file.display())?;
    }
    let text = advice.best_split().map_or(&best.text, |split| &split.text);
    match best.origin == Origin::Now && advice.best_split().is_none() {
        true => writeln!(out, "\nnothing is to be done: it is stored so already")?,
        false => writeln!(out, "\n{}", command(args, text))?,
    }
    Ok(())
}

/// The command that stores the tensor as advised.
fn command(args: &Advise, format: &str) -> String {
    let quoted = |word: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+@%".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    };
    let name = std::path::Path::new(&args.tensor).file_name().map(|name| name.to_string_lossy());
    let name = name
        .as_deref()
        .filter(|_| !source::is_generated(&args.tensor) && args.tensor != source::STANDARD);
    // The name up to what says the kind of file.
    let stem = name
        .and_then(|name| name.split('.').next())
        .filter(|stem| !stem.is_empty())
        .unwrap_or("tensor");
    let mut words =
        vec!["ust convert".to_owned(), quoted(&args.tensor), quoted(&format!("{stem}.ust.npz"))];
    if let Some(kind) = &args.reading.from {
        words.push(format!("--from {kind}"));
    }
    if let Some(shape) = &args.shape {
        let extents: Vec<String> = shape.0.iter().map(usize::to_string).collect();
        words.push(format!("--shape {}", quoted(&extents.join("x"))));
    }
    words.push(format!("--format {}", quoted(format)));
    words.join(" ")
}

/// What is said of others on the machine, if they can be felt; and of the threads, if there were fewer because of them.
pub(super) fn disturbance(cores: Option<f64>, fewer: Option<usize>) -> Option<String> {
    let cores = cores.filter(|&cores| cores > DISTURBED)?;
    let fewer = match fewer {
        Some(1) => "; measured with one thread, which finds a core of its own".to_owned(),
        Some(threads) => {
            format!("; measured with {threads} threads, which find cores of their own")
        }
        None => String::new(),
    };
    Some(format!(
        "others kept {cores:.1} cores of this machine busy meanwhile: times are less certain than without{fewer}"
    ))
}

/// A bar on standard error, where somebody looks at one.
pub(super) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(1000));
        if let (Some(bar), Ok(style)) =
            (&bar, ProgressStyle::with_template("{wide_bar} {percent}% {msg}"))
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(super) fn show(&self, what: &str, share: f64) {
        if let Some(bar) = &self.0 {
            bar.set_position((share * 1000.0) as u64);
            bar.set_message(what.to_owned());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// What the tensor looks like, in lines.
fn looks(stats: &Stats) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["shape".to_owned(), text::shape(&stats.shape)],
        ["entries".to_owned(), {
            let share = format!("{:.3e} of all cells", stats.density());
            format!("{} ({share})", text::grouped(stats.entries.into()))
        }],
    ];
    let mut row = |name: &str, what: String| rows.push([name.to_owned(), what]);
    if stats.duplicates > 0 {
        row("duplicates", format!("{}, summed first", text::grouped(stats.duplicates.into())));
    }
    for (dim, spread) in stats.dims.iter().enumerate() {
        let name = match (stats.dims.len(), dim) {
            (2, 0) => "rows".to_owned(),
            (2, _) => "columns".to_owned(),
            _ => format!("dimension {dim}"),
        };
        let what = format!(
            "{} to {} entries, {:.1} on average, deviation {:.0} %, {} empty",
            spread.min,
            spread.max,
            spread.mean,
            100.0 * spread.skew,
            text::grouped(spread.empty.into())
        );
        row(&name, what);
    }
    if let Some(diagonals) = &stats.diagonals {
        let (low, high) = diagonals.band;
        let symmetric = if diagonals.symmetric { ", symmetric pattern" } else { "" };
        let what = format!(
            "{}, {:.1} % full, j - i from {low} to {high}{symmetric}",
            text::grouped(diagonals.count.into()),
            100.0 * diagonals.fill
        );
        row("diagonals", what);
    }
    let blocks = stats.blocks.iter().map(|blocks| {
        let extents: Vec<String> = blocks.extents.iter().map(usize::to_string).collect();
        format!("{} {:.0} %", extents.join("x"), 100.0 * blocks.fill)
    });
    let blocks: Vec<String> = blocks.collect();
    if !blocks.is_empty() {
        row("blocks full", blocks.join(", "));
    }
    let groups = stats.groups.iter().map(|(m, most)| format!("{most}:{m}"));
    row("groups", format!("{} at most", groups.collect::<Vec<_>>().join(", ")));
    rows.into_iter().map(Vec::from).collect()
}

fn table(advice: &Advice, all: bool, out: &mut Output) -> Result<(), Failure> {
    let titles =
        ["", "FORMAT", "BYTES", "CONVERT", "EACH", "SPREAD", "ROUNDS", "PAYS AFTER", "WHY"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let measured = advice.rows.iter().filter(|row| row.measured.is_some()).count();
    let shown = if all { advice.rows.len() } else { measured.min(SHOWN) };
    for (at, row) in advice.rows.iter().enumerate() {
        // What others are compared with is shown whatever its place.
        if at < shown || row.origin == Origin::Now || row.usual && row.measured.is_some() {
            rows.push(line(at, row));
        }
    }
    write!(out, "{}", text::table(&rows))?;
    let rest = advice.rows.len().saturating_sub(shown);
    if all {
        for left_out in &advice.left_out {
            writeln!(out, "left out: {}: {}", left_out.text, left_out.reason)?;
        }
    } else if rest + advice.left_out.len() > 0 {
        let late = advice.rows.iter().filter(|row| row.out_of_time).count();
        let late = match late {
            0 => String::new(),
            late => format!("{late} out of time (--budget gives more), "),
        };
        writeln!(
            out,
            "{measured} formats measured, {} expected to be slower, {late}{} left out: --all lists them",
            advice.rows.iter().filter(|row| row.measured.is_none() && !row.out_of_time).count(),
            advice.left_out.len()
        )?;
    }
    Ok(())
}

fn line(at: usize, row: &Row) -> Vec<String> {
    let now = if row.origin == Origin::Now { " (now)" } else { "" };
    let tied = if row.tied { " =" } else { "" };
    let mut cells = vec![format!("{}{tied}", at + 1), format!("{}{now}", row.text)];
    match &row.measured {
        Some(measured) => {
            let uses = row.break_even.map(|uses| format!("{} uses", uses.ceil().max(1.0)));
            let convert = match row.origin {
                Origin::Now => String::new(),
                _ => duration(measured.convert_seconds),
            };
            cells.extend([
                text::bytes(measured.bytes),
                convert,
                duration(measured.seconds),
                format!("{:.0} %", 100.0 * measured.spread),
                measured.rounds.to_string(),
                uses.unwrap_or_default(),
            ]);
        }
        None => cells.extend([
            format!("~{}", text::bytes(row.prediction.bytes as usize)),
            String::new(),
            format!("~{}", duration(row.prediction.seconds)),
            String::new(),
            if row.out_of_time { "out of time" } else { "slower" }.to_owned(),
            String::new(),
        ]),
    }
    cells.push(row.reason.clone());
    cells
}

/// Seconds in a unit that suits.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} us", s * 1e6),
    }
}

fn split_object(split: &ust::advise::Split) -> Value {
    json!({
        "text": split.text,
        "bytes": split.bytes,
        "stored": split.stored,
        "split_seconds": split.split_seconds,
        "seconds": split.seconds,
        "relative": split.relative,
    })
}

fn object(advice: &Advice) -> Value {
    let rows: Vec<Value> = advice.rows.iter().map(row_object).collect();
    let left_out: Vec<Value> = advice
        .left_out
        .iter()
        .map(|left_out| json!({ "text": left_out.text, "reason": left_out.reason }))
        .collect();
    json!({
        "operation": advice.operation,
        "operand": advice.operand,
        "splits": advice.splits.iter().map(split_object).collect::<Vec<_>>(),
        "best": advice.best().text,
        "ties": advice.ties().map(|row| &*row.text).collect::<Vec<_>>(),
        "others_cores": advice.others,
        "threads": advice.threads,
        "summary": advice.summary(),
        "stats": stats_object(&advice.stats),
        "formats": rows,
        "left_out": left_out,
    })
}

fn row_object(row: &Row) -> Value {
    let origin = match &row.origin {
        Origin::Now => "now".to_owned(),
        Origin::Named => "named".to_owned(),
        Origin::Level(level) => format!("level {level}"),
    };
    let measured = row.measured.map(|measured| {
        json!({
            "stored": measured.stored,
            "bytes": measured.bytes,
            "kept": measured.kept,
            "convert_seconds": measured.convert_seconds,
            "seconds": measured.seconds,
            "spread": measured.spread,
            "off": measured.off,
            "rounds": measured.rounds,
        })
    });
    let predicted = &row.prediction;
    json!({
        "text": row.text,
        "format": row.format.to_string(),
        "origin": origin,
        "predicted": {
            "stored": predicted.stored, "bytes": predicted.bytes, "seconds": predicted.seconds,
        },
        "measured": measured,
        "break_even": row.break_even,
        "tied": row.tied,
        "out_of_time": row.out_of_time,
        "reason": row.reason,
    })
}

fn stats_object(stats: &Stats) -> Value {
    let dims: Vec<Value> = stats
        .dims
        .iter()
        .map(|spread| {
            json!({
                "min": spread.min, "mean": spread.mean, "max": spread.max,
                "empty": spread.empty, "skew": spread.skew,
            })
        })
        .collect();
    let blocks: Vec<Value> = stats
        .blocks
        .iter()
        .map(|b| json!({ "extents": b.extents, "count": b.count, "fill": b.fill }))
        .collect();
    let diagonals = stats.diagonals.map(|d| {
        json!({
            "count": d.count, "fill": d.fill, "anti_count": d.anti_count,
            "band": [d.band.0, d.band.1], "symmetric": d.symmetric,
        })
    });
    json!({
        "shape": stats.shape,
        "entries": stats.entries,
        "duplicates": stats.duplicates,
        "density": stats.density(),
        "dims": dims,
        "prefixes": stats.prefixes,
        "groups": stats.groups,
        "blocks": blocks,
        "diagonals": diagonals,
    })
}
