//! Operations: expressions on tensors in every format, on every back end, compared with plain
//! evaluation over every coordinate.
//!
//! Nothing here knows a level type or a format: operations are a table of expressions, formats are
//! the named ones and those that the suite makes of what is linked, everything else is drawn.
//!
//! | module | what |
//! |---|---|
//! | [`table`] | the operations |
//! | `made` | expressions made at random |
//! | [`pool`] | the formats |
//! | `draw` | a trial from a number: shapes, entries, formats, widths, fill values, slices |
//! | `trial` | a trial evaluated on every back end |
//! | `compare` | what must hold of a result |
//! | `shrink` | a smaller trial that fails as well |
//!
//! Each trial has a name, such as `matmul/pair/17`, and is the same whenever the options are: what
//! fails says how it is tried alone.

mod compare;
mod draw;
mod made;
pub mod pool;
mod shrink;
pub mod table;
mod trial;

use draw::Drawing;
use pool::Pool;
use shrink::shrink;
use table::{EVERY_DTYPE, LARGE, OPERATIONS, Operation, PAIRED, PROMOTED, named};
use trial::{Trial, Went};
use ust_engine::{Backend, Format};
use ust_level_api::Dtype;

use crate::oracle::Random;
use crate::report::{Case, Outcome, Trouble, guarded};

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// What a single level type is worth.
    Level,
    /// Every operation, every pair of named formats, every dtype, a few times.
    Quick,
    /// Many times, and on every back end each.
    Full,
}

/// What is drawn: the rest is up to chance.
#[derive(Clone, Debug)]
pub(crate) enum Spec {
    Any(&'static Operation),
    Dtype(&'static Operation, Dtype),
    Promote(&'static Operation, Dtype, Dtype),
    Pair(&'static Operation, [Format; 2]),
    Large(&'static Operation),
}

impl Spec {
    fn operation(&self) -> &'static Operation {
        match self {
            Spec::Any(operation)
            | Spec::Dtype(operation, _)
            | Spec::Promote(operation, ..)
            | Spec::Pair(operation, _)
            | Spec::Large(operation) => operation,
        }
    }

    /// The formats of the operands that are not up to chance.
    fn formats(&self) -> &[Format] {
        if let Spec::Pair(_, formats) = self { formats } else { &[] }
    }
}

/// Trials that are reported as one case.
#[derive(Clone, Debug)]
pub(crate) struct Portion {
    group: String,
    name: String,
    /// Names and what they stand for.
    trials: Vec<(String, Spec)>,
}

/// The suite of operations.
#[derive(Debug)]
pub(crate) struct Suite {
    pool: Pool,
    seed: u64,
    amount: Amount,
    /// What to write to try one trial alone, but for its name.
    again: String,
    pub(crate) portions: Vec<Portion>,
    /// The one back end that is tried.
    backend: Option<Backend>,
}

impl Suite {
    /// `others` are formats beside the named ones; with a single level type, those with it.
    pub(crate) fn new(
        others: impl IntoIterator<Item = Format>,
        seed: u64,
        amount: Amount,
        only: Option<&str>,
        again: String,
    ) -> Self {
        let share = if amount == Amount::Level { 25 } else { 60 };
        let pool = Pool::new(others, share);
        let mut portions = portions(&pool, amount, seed);
        if let Some(only) = only {
            for portion in &mut portions {
                portion.trials.retain(|(id, _)| id == only);
            }
            portions.retain(|portion| !portion.trials.is_empty());
        }
        Self { pool, seed, amount, again, portions, backend: None }
    }

    /// On one back end alone, if one is given; one trial of so many.
    pub(crate) fn on(mut self, backend: Option<Backend>, one_in: usize) -> Self {
        self.backend = backend;
        let mut at = 0_usize;
        for portion in &mut self.portions {
            portion.trials.retain(|_| {
                at += 1;
                at.is_multiple_of(one_in.max(1))
            });
        }
        self.portions.retain(|portion| !portion.trials.is_empty());
        self
    }

    /// Tries a portion. What fails first is reported in full, made smaller.
    pub(crate) fn case(&self, portion: &Portion) -> Case {
        /// After so many failures the rest is not tried.
        const ENOUGH: usize = 3;
        let drawing = Drawing {
            pool: &self.pool,
            seed: self.seed,
            every_run: self.amount == Amount::Full,
            other: self.amount == Amount::Level,
            backend: self.backend,
        };
        // What expressions give, and what operands are converted into, when nobody asks.
        if let Some(missing) =
            ["Dense", "CSF"].into_iter().find(|name| Format::resolve(name, Some(2)).is_err())
        {
            let reason = format!("the level types of the format `{missing}` are not linked");
            let outcome = Outcome::Excluded(reason);
            let (group, name) = (portion.group.clone(), portion.name.clone());
            return Case { group, name, outcome, tried: 0 };
        }
        let mut tried = 0;
        let mut failed: Vec<String> = Vec::new();
        let mut told = String::new();
        for (id, spec) in &portion.trials {
            if failed.len() == ENOUGH {
                break;
            }
            match guarded(|| self.attempt(&drawing, id, spec)) {
                Ok(Went::Well) => tried += 1,
                Ok(Went::NoRoom) => {}
                Err(Trouble::Wrong(text) | Trouble::Excluded(text)) => {
                    tried += 1;
                    failed.push(id.clone());
                    if told.is_empty() {
                        told = text;
                    }
                }
            }
        }
        let outcome = match (failed.is_empty(), tried) {
            (false, _) => Outcome::Failed(format!("{told}\nfailed: {}", failed.join(", "))),
            (true, 0) => Outcome::Excluded(
                "in none of the trials has the format of the result room for it".to_owned(),
            ),
            (true, _) => Outcome::Passed,
        };
        Case { group: portion.group.clone(), name: portion.name.clone(), outcome, tried }
    }

    fn attempt(&self, drawing: &Drawing<'_>, id: &str, spec: &Spec) -> Result<Went, Trouble> {
        let trial = drawing.trial(id, spec)?;
        match guarded(|| trial.check()) {
            Err(Trouble::Wrong(text)) => Err(Trouble::Wrong(self.tell(&trial, text))),
            other => other,
        }
    }

    /// What failed, in full.
    fn tell(&self, trial: &Trial, text: String) -> String {
        use std::fmt::Write as _;
        let (small, text) = shrink(trial, text);
        let mut told = format!("`{}`: {text}", small.operation.text);
        for given in &small.operands {
            let _ = write!(told, "\n  {given}");
        }
        if let Some(old) = &small.old {
            let _ = write!(told, "\n  updated {old}");
        }
        let _ = match &small.format {
            Some(format) => write!(told, "\n  result in `{format}`"),
            None => write!(told, "\n  result in any format"),
        };
        let _ = write!(told, "\n  {:?}", small.extents);
        let _ = write!(told, "\nagain: {} --seed {} --trial '{}'", self.again, self.seed, trial.id);
        told
    }
}

fn portions(pool: &Pool, amount: Amount, seed: u64) -> Vec<Portion> {
    let mut all = Vec::new();
    let count = |level, quick, full| match amount {
        Amount::Level => level,
        Amount::Quick => quick,
        Amount::Full => full,
    };
    let mut add = |group: &str, name: String, specs: Vec<(String, Spec)>| {
        if !specs.is_empty() {
            all.push(Portion { group: format!("ops/{group}"), name, trials: specs });
        }
    };
    let times = |kind: &str, count: usize, spec: Spec| -> Vec<(String, Spec)> {
        let name = spec.operation().name;
        (0..count).map(|at| (format!("{name}/{kind}/{at}"), spec.clone())).collect()
    };
    let of = |names: &'static [&'static str]| names.iter().filter_map(|name| named(name));
    for operation in OPERATIONS {
        let name = format!("{}: {}", operation.name, operation.text);
        let spec = Spec::Any(operation);
        add(operation.family, name, times("any", count(2, 6, 20), spec));
    }
    for operation in of(EVERY_DTYPE) {
        for dtype in Dtype::ALL.iter().copied() {
            let name = format!("{} of {dtype}", operation.name);
            let spec = Spec::Dtype(operation, dtype);
            add("dtypes", name, times(&dtype.to_string(), count(1, 6, 15), spec));
        }
    }
    for operation in of(PROMOTED) {
        for a in Dtype::ALL.iter().copied() {
            let each = Dtype::ALL.iter().copied().filter(|b| *b != a).flat_map(|b| {
                let spec = Spec::Promote(operation, a, b);
                times(&format!("{a}-{b}"), count(0, 1, 2), spec)
            });
            let name = format!("{} of {a} and others", operation.name);
            add("promotion", name, each.collect());
        }
    }
    for operation in of(PAIRED) {
        let rank = match ust_engine::ops::Expression::parse(operation.text) {
            Ok(expression) => expression.result.indices.len(),
            Err(_) => continue,
        };
        for (a, first) in pool.named(rank) {
            let each = pool.named(rank).iter().flat_map(|(b, second)| {
                let spec = Spec::Pair(operation, [first.clone(), second.clone()]);
                times(&format!("{a}-{b}"), count(0, 1, 2), spec)
            });
            add("pairs", format!("{} of {a} and others", operation.name), each.collect());
        }
    }
    // A few operations each, so that what fails says where to look.
    const TOGETHER: usize = 20;
    for part in 0..count(0, 3, 15) {
        let each = (0..TOGETHER).map(|at| {
            let id = format!("made/{}", part * TOGETHER + at);
            let mut random = Random::new(seed ^ draw::hash(&id));
            (id.clone(), Spec::Any(Box::leak(Box::new(made::made(&id, &mut random)))))
        });
        add("made", format!("expressions made at random, part {part}"), each.collect());
    }
    for operation in of(LARGE) {
        let spec = Spec::Large(operation);
        let name = format!("{} on several threads", operation.name);
        add("large", name, times("large", count(0, 1, 4), spec));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    // Links the standard level types.
    use ust as _;

    use super::*;

    fn suite(only: Option<&str>) -> Suite {
        Suite::new([], 1, Amount::Quick, only, String::new())
    }

    #[test]
    fn names_of_trials_are_unique_and_find_them() {
        let all = suite(None);
        let ids: Vec<&String> = all.portions.iter().flat_map(|p| &p.trials).map(|t| &t.0).collect();
        assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
        for id in ["spmv/any/3", "add/f16/0", "matmul/CSR-DIA-I/0", "spmv/large/0"] {
            let one = suite(Some(id));
            assert_eq!(one.portions.iter().map(|p| p.trials.len()).sum::<usize>(), 1, "{id}");
        }
        assert!(suite(Some("spmv/any/99")).portions.is_empty());
    }

    #[test]
    fn a_name_always_draws_the_same_trial() {
        let suite = suite(Some("matmul/any/0"));
        let (id, spec) = &suite.portions[0].trials[0];
        let draw = |seed, id: &str| {
            let drawing =
                Drawing { pool: &suite.pool, seed, every_run: false, other: false, backend: None };
            format!("{:?}", drawing.trial(id, spec).unwrap_or_else(|_| panic!("{id}")))
        };
        assert_eq!(draw(1, id), draw(1, id));
        assert_ne!(draw(1, id), draw(2, id));
        assert_ne!(draw(1, id), draw(1, "matmul/any/1"));
    }

    #[test]
    fn what_fails_is_made_smaller_as_long_as_it_fails() {
        let suite = suite(Some("add/CSR-CSC/0"));
        let (id, spec) = &suite.portions[0].trials[0];
        let drawing =
            Drawing { pool: &suite.pool, seed: 5, every_run: false, other: false, backend: None };
        let Ok(mut trial) = drawing.trial(id, spec) else { panic!("{id}") };
        // A result of another rank is refused, whatever the operands are.
        trial.format = Format::resolve("CSF", Some(3)).ok();
        let Err(Trouble::Wrong(text)) = trial.check() else { panic!("it is accepted") };
        let (small, text) = shrink(&trial, text);
        assert!(text.contains("3"), "{text}");
        assert_eq!(small.operands.iter().map(|given| given.coo.len()).sum::<usize>(), 0);
        assert_eq!(small.runs.len(), 1);
        assert!(small.operands.iter().all(|given| given.coo.shape.contains(&0)));
    }
}
