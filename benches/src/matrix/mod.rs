//! The matrix: operation x input x format x dtype x threads x contender. Operations, inputs and
//! contenders register themselves; formats are the engine's.
//!
//! | module | what |
//! |---|---|
//! | `operation`, `input`, `formats`, `contender` | the axes |
//! | `case` | one cell, with its operands made |
//! | `measure` | contenders checked against each other, then timed in turn |
//! | `stream` | the bandwidth of this machine's memory |

pub(crate) mod case;
pub(crate) mod contender;
mod formats;
pub(crate) mod input;
pub(crate) mod measure;
pub(crate) mod operation;
mod stream;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ust::gpu::{Gpu, emulator};
use ust::{Dtype, Format};

use crate::contenders::{cuda, python};
use crate::names::unknown;
use crate::report::{self, Record};
use contender::Surroundings;
use input::Input;
use measure::Effort;
use operation::{Operation, Task};

/// Times operations on inputs in formats, done by this project and others.
#[derive(Args)]
pub(crate) struct Matrix {
    /// Inputs: registered names, generators' texts (`ust help generators`) or files. May be repeated.
    #[arg(long)]
    pub(crate) input: Vec<String>,
    /// Operations.
    #[arg(long, value_delimiter = ',')]
    pub(crate) op: Vec<String>,
    /// Formats: names or format texts. May be repeated. Without it, every one that suits: named ones, and
    /// what level types offer.
    #[arg(long)]
    pub(crate) format: Vec<String>,
    /// Dtypes: f64, f32.
    #[arg(long, value_delimiter = ',', default_values_t = ["f64".to_owned()])]
    pub(crate) dtype: Vec<String>,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    pub(crate) threads: Vec<usize>,
    /// Contenders.
    #[arg(long, value_delimiter = ',')]
    pub(crate) contender: Vec<String>,
    /// Small inputs and few rounds.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Rounds after one to warm up.
    #[arg(long)]
    pub(crate) rounds: Option<usize>,
    /// Seconds for a contender in a case, about.
    #[arg(long)]
    pub(crate) seconds: Option<f64>,
    /// Write a JSON object a line into this file.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Write a page with verdicts and bars into this file.
    #[arg(long)]
    pub(crate) html: Option<PathBuf>,
    /// Store the medians in this file, for `compare`.
    #[arg(long)]
    pub(crate) save: Option<PathBuf>,
    /// A Python with packages to compare with: SciPy, Numba, PyTorch, MKL.
    #[arg(long)]
    pub(crate) python: Option<PathBuf>,
    /// Folders with shared libraries to compare with: MKL, GraphBLAS. May be repeated.
    #[arg(long)]
    pub(crate) libraries: Vec<PathBuf>,
    /// Try `ust-cuda` on a virtual GPU, which checks every access. It is not timed there.
    #[arg(long)]
    pub(crate) emulate: bool,
    /// List operations, inputs and contenders, and end.
    #[arg(long)]
    pub(crate) list: bool,
}

impl Matrix {
    /// How much is measured.
    pub(crate) fn effort(&self) -> Effort {
        Effort {
            rounds: self.rounds.unwrap_or(if self.quick { 5 } else { 9 }),
            seconds: self.seconds.unwrap_or(if self.quick { 0.3 } else { 5.0 }),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Matrix) -> Result<(), Box<dyn std::error::Error>> {
    if args.list {
        list(args.quick);
        return Ok(());
    }
    asked(args)?;
    let mut bandwidths = Vec::new();
    for &threads in &args.threads {
        let found = stream::bandwidth(threads, args.quick)?;
        println!(
            "memory, {threads} threads: read {:.1} GB/s, triad {:.1} GB/s",
            found.read / 1e9,
            found.triad / 1e9
        );
        bandwidths.push((threads, found.best()));
    }
    let create = |path: &PathBuf| {
        std::fs::File::create(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut json = args.json.as_ref().map(create).transpose()?;
    let (mut lines, mut written) = (String::new(), 0);
    let mut each = |around: &Surroundings, group: &[Record]| {
        if lines.is_empty() {
            lines = report::json::head(&report::run::of_matrix(args, around, &bandwidths));
        }
        report::table::print(group, &bandwidths);
        lines += &report::json::lines(group);
        if let Some(file) = &mut json {
            file.write_all(&lines.as_bytes()[written..])?;
            written = lines.len();
        }
        Ok(())
    };
    let Measured { records, failed } = records(args, &mut each)?;
    if let Some(path) = &args.save {
        std::fs::write(path, report::baseline::text(&records))?;
    }
    if let Some(path) = &args.html {
        std::fs::write(path, report::page::page(&lines)?)?;
    }
    match &failed[..] {
        [] => Ok(()),
        failed => Err(format!("not measured:\n  {}", failed.join("\n  ")).into()),
    }
}

fn list(quick: bool) {
    println!("operations");
    for op in operation::operations() {
        println!("  {:<12}{}", op.name, op.text());
    }
    println!("inputs");
    for (name, text) in input::chosen(&[], quick) {
        println!("  {name:<12}{text}");
    }
    println!("contenders");
    for contender in contender::contenders(&[]) {
        println!("  {:<16}{}", contender.name, contender.about);
    }
}

/// What came of everything asked for.
pub(crate) struct Measured {
    pub(crate) records: Vec<Record>,
    /// Inputs, and operations on them, that could not be measured, and why.
    pub(crate) failed: Vec<String>,
}

/// The operations and dtypes that are asked for, if every name is known.
fn asked(args: &Matrix) -> Result<Asked, Box<dyn std::error::Error>> {
    each_has_a_name()?;
    let all = operation::operations();
    let contenders = contender::contenders(&[]);
    are_known("operation", &args.op, all.iter().map(|op| op.name))?;
    are_known("contender", &args.contender, contenders.iter().map(|who| who.name))?;
    formats::are_known(&args.format)?;
    args.python.as_deref().map_or(Ok(()), python::check)?;
    let wanted = |op: &&Operation| args.op.is_empty() || args.op.iter().any(|n| n == op.name);
    let dtypes = args.dtype.iter().map(|d| dtype(d)).collect::<Result<_, _>>()?;
    Ok((all.into_iter().filter(wanted).collect(), dtypes))
}

type Asked = (Vec<&'static Operation>, Vec<Dtype>);

fn are_known<'a>(
    kind: &str,
    wanted: &[String],
    known: impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    let known: Vec<&str> = known.collect();
    match wanted.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("{} See `matrix --list`.", unknown(kind, name, known))),
        None => Ok(()),
    }
}

/// What sees the records of one table.
type Each<'a> = &'a mut dyn FnMut(&Surroundings, &[Record]) -> std::io::Result<()>;

/// Measures everything asked for; `each` sees what belongs in one table as soon as it is there. What
/// fails is told of at once, and does not keep the others from being measured.
pub(crate) fn records(
    args: &Matrix,
    each: Each<'_>,
) -> Result<Measured, Box<dyn std::error::Error>> {
    let (operations, dtypes) = asked(args)?;
    let folder = tempfile::tempdir()?;
    let around = Surroundings {
        libraries: args.libraries.clone(),
        python: args.python.clone(),
        quick: args.quick,
        gpu: gpu(args)?,
        folder: folder.path().to_owned(),
    };
    let inputs = input::chosen(&args.input, args.quick);
    let bar = ProgressBar::new((inputs.len() * operations.len()) as u64);
    let style = "{elapsed_precise} [{bar:30}] {pos}/{len} {msg}";
    bar.set_style(ProgressStyle::with_template(style)?.progress_chars("=> "));
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    let mut fail = |what: String| {
        bar.suspend(|| eprintln!("not measured: {what}"));
        failed.push(what);
    };
    for (name, text) in inputs {
        bar.set_message(format!("making {text}"));
        let input = match input::load(&name, &text) {
            Ok(input) => input,
            Err(error) => {
                fail(format!("{name}: {error}"));
                bar.inc(operations.len() as u64);
                continue;
            }
        };
        for op in &operations {
            for &dtype in &dtypes {
                match grouped(args, (*op, &input, dtype), &around, &bar) {
                    Ok((groups, not_held)) => {
                        not_held.into_iter().for_each(&mut fail);
                        for group in groups {
                            bar.suspend(|| each(&around, &group))?;
                            all.extend(group);
                        }
                    }
                    Err(error) => fail(format!("{} of {name} in {dtype}: {error}", op.name)),
                }
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(Measured { records: all, failed })
}

/// Of what is registered, by whomever, no two of a kind have the same name.
fn each_has_a_name() -> Result<(), String> {
    let kinds: [(&str, Vec<&str>); 3] = [
        ("operations", operation::operations().iter().map(|op| op.name).collect()),
        ("inputs", input::registered().iter().map(|input| input.name).collect()),
        ("contenders", contender::contenders(&[]).iter().map(|who| who.name).collect()),
    ];
    for (kind, mut names) in kinds {
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two {kind} are registered as `{}`", pair[0]));
        }
    }
    Ok(())
}

/// The GPU, if a contender needs one, and if one can be opened.
fn gpu(args: &Matrix) -> Result<Option<Gpu>, Box<dyn std::error::Error>> {
    let asked = &args.contender;
    if !(asked.is_empty() || asked.iter().any(|name| name == cuda::NAME)) {
        return Ok(None);
    }
    if args.emulate {
        emulator::install()?;
    } else if cfg!(test) {
        // Tests need no GPU, and who asks for one cannot have a virtual one any more.
        return Ok(None);
    }
    Ok(Gpu::open(0).ok())
}

/// Records, a group for each number of threads; and why formats that were asked for have none.
type Grouped = (Vec<Vec<Record>>, Vec<String>);

/// The records of an operation on an input.
fn grouped(
    args: &Matrix,
    (op, input, dtype): (&'static Operation, &Input, Dtype),
    around: &Surroundings,
    bar: &ProgressBar,
) -> Result<Grouped, Box<dyn std::error::Error>> {
    let Some(shared) = case::shared(op, input, dtype)? else { return Ok(Grouped::default()) };
    let formats: Vec<(String, Format)> = match op.task {
        Task::Expression { .. } => formats::suitable(input, &args.format),
        // A conversion names its own formats: without it being asked for, others exclude it.
        _ if args.format.is_empty() || !args.op.is_empty() => {
            vec![(op.text(), input::base_format(op.rank)?)]
        }
        _ => Vec::new(),
    };
    if !conversion_suits(op, input) {
        return Ok(Grouped::default());
    }
    let effort = args.effort();
    let contenders = contender::contenders(&args.contender);
    let mut reference = None;
    let (mut groups, mut not_held) = Grouped::default();
    for &threads in &args.threads {
        let mut group = Vec::new();
        for (name, format) in &formats {
            let setting = (dtype, threads);
            let case = match case::case(op, input, (name, format), setting, &shared) {
                Ok(case) => case,
                // A tensor that a format cannot hold is no case, unless it is asked for.
                Err(_) if args.format.is_empty() => continue,
                Err(error) => {
                    not_held.push(format!("{} of {} in {name}: {error}", op.name, input.name));
                    continue;
                }
            };
            bar.set_message(case.label());
            let entries = measure::measure(&case, &contenders, around, effort, &mut reference);
            let made = entries.iter().filter_map(|e| e.result_bytes).min().unwrap_or(0);
            let sizes = ((op.flops)(&case.base[0].1), case.operand_bytes() + made);
            group.extend(entries.into_iter().map(|entry| Record::new(&case, entry, sizes)));
        }
        if !group.is_empty() {
            groups.push(group);
        }
    }
    Ok((groups, not_held))
}

/// Whether the formats that a conversion names suit the input.
fn conversion_suits(op: &Operation, input: &Input) -> bool {
    let named = match op.task {
        Task::Build(to) => vec![to],
        Task::Convert(from, to) => vec![from, to],
        _ => return true,
    };
    named.iter().all(|name| formats::suits(&input.coo, name))
}

fn dtype(text: &str) -> Result<Dtype, String> {
    match text {
        "f64" => Ok(Dtype::F64),
        "f32" => Ok(Dtype::F32),
        _ => Err(format!("`{text}` is no dtype that contenders have: f64, f32")),
    }
}
