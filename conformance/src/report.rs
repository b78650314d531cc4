//! What was tried, and how it went.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

/// How a case went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Not as it should: what was found, and what was expected.
    Failed(String),
    /// Not tried: why it cannot apply.
    Excluded(String),
    /// Not tried: which data of others are not there.
    Absent(String),
}

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A fact does not hold.
    Wrong(String),
    /// The case cannot apply here.
    Excluded(String),
}

/// What a case ends in: nothing to say, or why not.
pub type Verdict = Result<(), Trouble>;

/// A trouble that says what is wrong.
pub(crate) fn wrong<T>(text: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Wrong(text.into()))
}

/// Wrong unless the fact holds.
pub(crate) fn ensure(fact: bool, text: impl FnOnce() -> String) -> Verdict {
    if fact { Ok(()) } else { wrong(text()) }
}

impl<E: std::error::Error> From<E> for Trouble {
    /// An error where none belongs.
    fn from(error: E) -> Self {
        Trouble::Wrong(format!("unexpected error: {error}"))
    }
}

/// One thing tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What kind of thing, such as `format/get`.
    pub group: String,
    /// Which: a format's text, a golden case's name.
    pub name: String,
    /// How it went.
    pub outcome: Outcome,
    /// How many tensors, damages or the like were tried in it.
    pub tried: usize,
}

impl Case {
    /// Tries something. A panic is a failure.
    pub fn run(
        group: impl Into<String>,
        name: impl Into<String>,
        body: impl FnOnce() -> Verdict,
    ) -> Self {
        let outcome = outcome(guarded(body));
        Self { group: group.into(), name: name.into(), outcome, tried: 1 }
    }

    /// The same, with the number of things tried.
    #[must_use]
    pub fn with_tried(self, tried: usize) -> Self {
        Self { tried, ..self }
    }
}

/// How a verdict is reported.
pub(crate) fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Ok(()) => Outcome::Passed,
        Err(Trouble::Wrong(text)) => Outcome::Failed(text),
        Err(Trouble::Excluded(reason)) => Outcome::Excluded(reason),
    }
}

/// Runs code of unknown quality: a panic becomes a trouble.
pub(crate) fn guarded<T>(body: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        wrong(format!("panicked: {text}"))
    })
}

/// Everything that was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What random choices began with: the same seed gives the same cases.
    pub seed: u64,
    /// Every case, by group: those of level types alone come first.
    pub cases: Vec<Case>,
}

/// How often a group's cases went how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As they should.
    pub passed: usize,
    /// Not as they should.
    pub failed: usize,
    /// Not tried.
    pub excluded: usize,
    /// How many tensors, damages or the like were tried in all its cases.
    pub tried: usize,
}

impl Report {
    /// How the cases of each group went.
    #[must_use]
    pub fn tallies(&self) -> BTreeMap<&str, Tally> {
        let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
        for case in &self.cases {
            let tally = tallies.entry(&case.group).or_default();
            tally.tried += case.tried;
            match case.outcome {
                Outcome::Passed => tally.passed += 1,
                Outcome::Failed(_) => tally.failed += 1,
                Outcome::Excluded(_) | Outcome::Absent(_) => tally.excluded += 1,
            }
        }
        tallies
    }

    /// How all cases went.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.tallies().values().fold(Tally::default(), |sum, t| Tally {
            passed: sum.passed + t.passed,
            failed: sum.failed + t.failed,
            excluded: sum.excluded + t.excluded,
            tried: sum.tried + t.tried,
        })
    }

    /// The cases that failed, with what was found.
    pub fn failures(&self) -> impl Iterator<Item = (&Case, &str)> {
        self.cases.iter().filter_map(|case| match &case.outcome {
            Outcome::Failed(text) => Some((case, text.as_str())),
            _ => None,
        })
    }

    /// The cases that were not tried, with the reason.
    pub fn exclusions(&self) -> impl Iterator<Item = (&Case, &str)> {
        self.cases.iter().filter_map(|case| match &case.outcome {
            Outcome::Excluded(reason) | Outcome::Absent(reason) => Some((case, reason.as_str())),
            _ => None,
        })
    }

    /// Whether something was tried in each of [`GROUPS`](crate::GROUPS) that has cases, and
    /// nothing failed.
    #[must_use]
    pub fn passed(&self) -> bool {
        let total = self.total();
        total.failed == 0 && total.passed > 0 && self.untried().is_empty()
    }

    /// Of [`GROUPS`](crate::GROUPS), those with cases of which every one is excluded: they say
    /// nothing. Where data of others are not there, nothing can be said.
    #[must_use]
    pub fn untried(&self) -> Vec<&str> {
        let mut tried: BTreeMap<&str, bool> = BTreeMap::new();
        for case in &self.cases {
            let group = case.group.split('/').next().unwrap_or_default();
            *tried.entry(group).or_default() |= !matches!(case.outcome, Outcome::Excluded(_));
        }
        tried.into_iter().filter(|(_, tried)| !tried).map(|(group, _)| group).collect()
    }

    /// For tests: the report is the message.
    ///
    /// # Panics
    /// When a case failed, or none passed.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "\n{self}");
    }

    /// The report as JSON: totals, tallies by group, and every case.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let tally = |t: Tally| {
            json!({
                "passed": t.passed, "failed": t.failed, "excluded": t.excluded, "tried": t.tried,
            })
        };
        let groups: serde_json::Map<String, Value> =
            self.tallies().into_iter().map(|(group, t)| (group.to_owned(), tally(t))).collect();
        let cases = self.cases.iter().map(|case| {
            let (outcome, text) = match &case.outcome {
                Outcome::Passed => ("passed", None),
                Outcome::Failed(text) => ("failed", Some(text)),
                Outcome::Excluded(text) => ("excluded", Some(text)),
                Outcome::Absent(text) => ("absent", Some(text)),
            };
            let mut value = json!({
                "group": case.group, "name": case.name, "outcome": outcome, "tried": case.tried,
            });
            if let Some(text) = text {
                value["reason"] = json!(text);
            }
            value
        });
        json!({
            "seed": self.seed,
            "passed": self.passed(),
            "total": tally(self.total()),
            "groups": groups,
            "cases": cases.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    /// Counts by group, every exclusion with its reason, every failure in full.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, name: &str, t: Tally| {
            let Tally { passed, failed, excluded, tried } = t;
            writeln!(f, "{name:<24}{passed:>8}{failed:>8}{excluded:>10}{tried:>10}")
        };
        writeln!(
            f,
            "{:<24}{:>8}{:>8}{:>10}{:>10}",
            "cases", "passed", "failed", "excluded", "tried"
        )?;
        let mut tallies: Vec<(&str, Tally)> = self.tallies().into_iter().collect();
        tallies.sort_by_key(|(group, _)| self.cases.iter().position(|case| case.group == *group));
        for (group, tally) in tallies {
            line(f, group, tally)?;
        }
        line(f, "all", self.total())?;
        let mut heading = "\nexcluded:";
        for (case, reason) in self.exclusions() {
            writeln!(f, "{heading}")?;
            write!(f, "  {} {}: {reason}", case.group, case.name)?;
            heading = "";
        }
        if heading.is_empty() {
            writeln!(f)?;
        }
        for (case, text) in self.failures() {
            writeln!(f, "\nFAILED {} {}\n  {}", case.group, case.name, text.replace('\n', "\n  "))?;
        }
        let untried = self.untried().join(", ");
        if self.cases.is_empty() {
            writeln!(f, "\nnothing was tried: there are no cases")?;
        } else if !untried.is_empty() {
            writeln!(
                f,
                "\nnothing was tried of: {untried}. Every case there is excluded, for the reasons \
                 above; a test that is to pass must link the level types that they name"
            )?;
        }
        let verdict = if self.passed() { "passed" } else { "FAILED" };
        write!(f, "\n{verdict} (seed {})", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(bodies: Vec<fn() -> Verdict>) -> Report {
        let cases = bodies.into_iter().map(|body| Case::run("group", "case", body)).collect();
        Report { seed: 1, cases }
    }

    #[test]
    fn a_report_passes_when_something_was_tried_and_nothing_failed() {
        let pass: fn() -> Verdict = || Ok(());
        let skip: fn() -> Verdict = || Err(Trouble::Excluded("cannot".to_owned()));
        let fail: fn() -> Verdict = || wrong("no");
        for (bodies, expected) in [
            (vec![], false),
            (vec![skip], false),
            (vec![pass, skip], true),
            (vec![pass, fail], false),
        ] {
            let count = bodies.len();
            assert_eq!(report(bodies).passed(), expected, "{count} cases");
        }
    }

    #[test]
    fn a_group_of_which_all_is_excluded_fails_and_is_named() {
        let case = |group: &str, verdict: Verdict| Case::run(group, "case", || verdict);
        let skip = || Err(Trouble::Excluded("cannot".to_owned()));
        let cases = vec![case("level/a", Ok(())), case("ops/a", skip()), case("ops/b", skip())];
        let mut report = Report { seed: 1, cases };
        assert!(!report.passed());
        assert!(report.to_string().contains("nothing was tried of: ops."), "{report}");
        report.cases.push(case("ops/c", Ok(())));
        assert!(report.passed());
        let absent = Outcome::Absent("not found".to_owned());
        let absent = Case { outcome: absent, ..case("golden/a", Ok(())) };
        assert!(!Report { seed: 1, cases: vec![absent.clone()] }.passed());
        report.cases.push(absent);
        assert!(report.passed() && report.to_string().contains("golden/a case: not found"));
        assert!(Report::default().to_string().contains("there are no cases"));
    }

    #[test]
    fn a_panic_is_a_failure_with_its_message() {
        let report = report(vec![|| panic!("out of cheese")]);
        assert_eq!(report.failures().next().map(|(_, text)| text), Some("panicked: out of cheese"));
        assert!(report.to_string().contains("out of cheese"));
    }

    #[test]
    fn json_holds_totals_and_reasons() {
        let json =
            report(vec![|| Ok(()), || Err(Trouble::Excluded("cannot".to_owned()))]).to_json();
        assert_eq!(json["total"], json!({"passed": 1, "failed": 0, "excluded": 1, "tried": 2}));
        assert_eq!(json["cases"][1]["reason"], "cannot");
    }
}
