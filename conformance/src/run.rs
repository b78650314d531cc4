//! Which cases are tried, and in what portions: the suite as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use ust_engine::{Backend, Format};
use ust_level_api::registry;

use crate::formats::{Candidate, arrange, stacks};
use crate::inputs::{Input, inputs};
use crate::ops::{Amount, Suite};
use crate::oracle::Random;
use crate::report::{Case, Outcome, Report, Trouble, ensure, wrong};
use crate::samples::{self, Sample};
use crate::{corrupt, golden, level, suite};

/// The groups of cases, as [`Options::group`] chooses them.
pub const GROUPS: [&str; 5] = ["level", "format", "corrupt", "golden", "ops"];

/// What is tried.
#[derive(Clone, Debug)]
pub struct Options {
    /// What random choices begin with.
    pub seed: u64,
    /// One level type, by its registered name, or all that are linked.
    pub level: Option<String>,
    /// One of [`GROUPS`], or all.
    pub group: Option<String>,
    /// Fewer formats of three levels, fewer operations on them.
    pub quick: bool,
    /// One trial of an operation, by the name that its failure gives: then nothing else is tried.
    pub trial: Option<String>,
    /// One back end that runs operations, by its name, or those that are drawn and all that other crates add.
    pub backend: Option<Backend>,
    /// One trial of so many, of operations.
    pub one_in: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            level: None,
            group: None,
            quick: false,
            trial: None,
            backend: None,
            one_in: 1,
        }
    }
}

/// Formats of at most this many levels are tried with every tensor and map.
const THOROUGH: usize = 2;
/// Of the stacks of three level types, one in so many is tried under every map; when quick, the
/// others are not tried at all.
const FEW: usize = 9;
const MANY: usize = 3;
/// Other formats that each is converted to.
const OTHERS: usize = 3;

/// Tries what the options say, on all processors. `progress` hears of every portion done: how many,
/// of how many. Cost: seconds for one level type, a minute or two for all.
pub fn run(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Report {
    let chosen = |group: &str| match &options.trial {
        Some(_) => group == "ops",
        None => options.group.as_deref().is_none_or(|only| only == group),
    };
    let names: Vec<&str> = registry::factories().iter().map(|factory| factory.name).collect();
    let mut cases = Vec::new();
    if let Some(only) = options.level.as_deref()
        && !names.contains(&only)
    {
        cases.push(Case::run("level/sample", only, || {
            wrong(format!(
                "nobody registers this level type; linked: {}. Write `use the_level_crate as _;`",
                names.join(", ")
            ))
        }));
    }
    if chosen("level") {
        cases.extend(contracts(options));
    }
    let left_out = broken(&cases);
    // Who asks for one group alone gets it, whatever the others say.
    let gate = options.group.is_none();
    cases.extend(left_out.iter().filter(|_| gate).map(|name| {
        Case::run("level/rest", *name, || {
            Err(Trouble::Excluded(
                "formats with it, damage to them and operations are not tried before its level/* \
                 cases pass: what fails there would fail for the same reason"
                    .to_owned(),
            ))
        })
    }));
    let stands = |name: &str| !gate || !left_out.contains(name);
    if options.level.as_deref().is_some_and(|only| !stands(only)) {
        return report(options, cases);
    }
    let mut samples = samples::all();
    samples.retain(|sample| stands(sample.name));
    let plan = &Plan::new(options, &samples);
    let operations = chosen("ops").then(|| plan.operations(options));
    let mut jobs: Vec<Job<'_>> = Vec::new();
    if chosen("format") {
        cases.extend(plan.stands_somewhere(&samples, options.level.as_deref()));
        cases.extend(plan.parsed.iter().map(|(_, case)| case.clone()));
        jobs.extend(plan.formats().map(|at| -> Job<'_> { Box::new(move || plan.try_format(at)) }));
    }
    if chosen("corrupt") {
        jobs.extend(plan.formats().map(|at| -> Job<'_> { Box::new(move || plan.corrupt(at)) }));
    }
    if chosen("golden") && options.level.is_none() {
        jobs.push(Box::new(golden::cases));
    }
    if let Some(suite) = &operations {
        let portions = suite.portions.iter();
        jobs.extend(portions.map(|portion| -> Job<'_> { Box::new(|| vec![suite.case(portion)]) }));
    }
    let done = AtomicUsize::new(0);
    let total = jobs.len();
    let made: Vec<Vec<Case>> = jobs
        .into_par_iter()
        // Portions of work differ, and those that take long are neighbours.
        .with_max_len(1)
        .map(|job| {
            let cases = job();
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            cases
        })
        .collect();
    cases.extend(made.into_iter().flatten());
    report(options, cases)
}

/// The contracts of level types come first, the other groups in the order of their names.
fn report(options: &Options, mut cases: Vec<Case>) -> Report {
    cases.sort_by_key(|case| (!case.group.starts_with("level/"), case.group.clone()));
    Report { seed: options.seed, cases }
}

/// Every level type alone.
fn contracts(options: &Options) -> Vec<Case> {
    let factories = registry::factories();
    let about = |name: &str| options.level.as_deref().is_none_or(|only| only == name);
    let made: Vec<Vec<Case>> = factories
        .into_par_iter()
        .filter(|factory| about(factory.name))
        .map(|factory| level::cases(factory, options.seed))
        .collect();
    made.into_iter().flatten().collect()
}

/// The level types of which a case failed.
fn broken(cases: &[Case]) -> BTreeSet<&'static str> {
    let failed = |name: &str| {
        cases.iter().any(|case| case.name == name && matches!(case.outcome, Outcome::Failed(_)))
    };
    let factories = registry::factories().into_iter();
    let broken = factories.filter(|f| failed(f.name) || f.samples.iter().any(|text| failed(text)));
    broken.map(|factory| factory.name).collect()
}

type Job<'a> = Box<dyn Fn() -> Vec<Case> + Send + Sync + 'a>;

/// The formats to try, and the tensors to try them on.
struct Plan {
    seed: u64,
    parsed: Vec<(Option<(Format, Candidate)>, Case)>,
    /// For each rank, the formats that others are converted to.
    pool: BTreeMap<usize, Vec<Format>>,
}

impl Plan {
    fn new(options: &Options, samples: &[Sample]) -> Self {
        let about: Vec<&Sample> = samples
            .iter()
            .filter(|s| options.level.as_deref().is_none_or(|only| only == s.name))
            .collect();
        let mut candidates = Vec::new();
        for (at, stack) in stacks(&about, samples).iter().enumerate() {
            let small = stack.len() <= THOROUGH;
            let chosen = at % if options.quick { FEW } else { MANY } == 0;
            if small || chosen || !options.quick {
                candidates.extend(arrange(stack, small || chosen));
            }
        }
        let parsed: Vec<_> = candidates
            .into_par_iter()
            .map(|candidate| {
                let (format, case) = suite::read(&candidate);
                (format.map(|format| (format, candidate)), case)
            })
            .collect();
        let mut pool: BTreeMap<usize, Vec<Format>> = BTreeMap::new();
        for (format, candidate) in parsed.iter().filter_map(|(read, _)| read.as_ref()) {
            if candidate.levels <= THOROUGH || candidate.plain {
                pool.entry(format.rank()).or_default().push(format.clone());
            }
        }
        let mut random = Random::new(options.seed);
        for formats in pool.values_mut() {
            random.shuffle(formats);
        }
        Self { seed: options.seed, parsed, pool }
    }

    /// The places in the list of candidates that are formats.
    fn formats(&self) -> impl Iterator<Item = usize> {
        (0..self.parsed.len())
            .filter(|&at| self.parsed[at].0.is_some())
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Every sample has a format, or nothing but its contract was tried.
    fn stands_somewhere(&self, samples: &[Sample], only: Option<&str>) -> Vec<Case> {
        let formats = || self.parsed.iter().filter_map(|(read, _)| read.as_ref());
        let about = samples.iter().filter(|sample| only.is_none_or(|only| only == sample.name));
        about
            .map(|sample| {
                Case::run("format/stands", sample.text, || {
                    let text = &sample.description.text;
                    let mut levels = formats().flat_map(|(format, _)| format.descriptions());
                    ensure(levels.any(|level| level.text == *text), || {
                        "no format with it is accepted: link the level types that it stands under, \
                         in the test that tries it"
                            .to_owned()
                    })
                })
            })
            .collect()
    }

    fn at(&self, at: usize) -> (&Format, &Candidate) {
        let (format, candidate) = self.parsed[at].0.as_ref().expect("a place of a format");
        (format, candidate)
    }

    /// The tensors for a format: all for a small one, a few in turn for others.
    fn inputs(&self, at: usize) -> Vec<Input> {
        let (format, candidate) = self.at(at);
        let mut all = inputs(format.rank(), self.seed, at);
        if candidate.levels > THOROUGH {
            // Levels with little room hold the first, and every level holds a single entry.
            let turn = |step: usize| 1 + (at + step) % (all.len() - 1);
            let mut picks = vec![0, turn(0), turn(3), turn(7)];
            picks.extend(all.iter().position(|input| input.name == "one" && !format.has_room()));
            all = picks.into_iter().map(|pick| all[pick].clone()).collect();
        }
        all
    }

    fn try_format(&self, at: usize) -> Vec<Case> {
        let (format, _) = self.at(at);
        let pool = &self.pool.get(&format.rank()).map_or(&[][..], Vec::as_slice);
        let others: Vec<Format> = pool
            .iter()
            .cycle()
            .skip(at % pool.len().max(1))
            .take(OTHERS.min(pool.len()))
            .cloned()
            .collect();
        suite::cases(format, &self.inputs(at), &others)
    }

    /// Operations on the named formats, and on those of this plan that are small or plain.
    fn operations(&self, options: &Options) -> Suite {
        let (amount, mut again) = match (&options.level, options.quick) {
            (Some(level), _) => (Amount::Level, format!("--level {level}")),
            (None, true) => (Amount::Quick, String::new()),
            (None, false) => (Amount::Full, String::new()),
        };
        if options.quick {
            again = format!("--quick {again}").trim_end().to_owned();
        }
        let others = self.pool.values().flatten().cloned();
        if let Some(backend) = options.backend {
            again = format!("{again} --backend {backend}").trim_start().to_owned();
        }
        let suite = Suite::new(others, self.seed, amount, options.trial.as_deref(), again);
        suite.on(options.backend, options.one_in)
    }

    fn corrupt(&self, at: usize) -> Vec<Case> {
        let (format, candidate) = self.at(at);
        if candidate.levels > THOROUGH && !candidate.plain {
            return Vec::new();
        }
        corrupt::cases(format, &self.inputs(at), self.seed ^ at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_comes_first() {
        let cases = ["ops/a", "corrupt/b", "level/c", "format/d"];
        let cases = cases.iter().map(|group| Case::run(*group, "", || Ok(()))).collect();
        let report = report(&Options::default(), cases);
        let groups: Vec<&str> = report.cases.iter().map(|case| case.group.as_str()).collect();
        assert_eq!(groups, ["level/c", "corrupt/b", "format/d", "ops/a"]);
        let text = report.to_string();
        assert!(text.find("level/c") < text.find("corrupt/b"), "{text}");
    }
}
