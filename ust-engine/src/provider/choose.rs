//! The choice of the provider that runs a plan.

use std::fmt::Write;

use super::{Backend, Executable, Offer, Plan, Provider, all, unknown};
use crate::error::Error;
use crate::tuning::COMPILED_RUNS;

/// A plan, ready to run, and the offers that led to the choice.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The name of the provider.
    pub(crate) name: &'static str,
    pub(crate) executable: Box<dyn Executable>,
    /// The time that the provider offered, on one thread, in nanoseconds.
    pub(crate) time: f64,
    /// The offer of each provider that was asked, as text, and its outcome.
    asked: Vec<(&'static str, String)>,
}

/// Chooses a provider for one of several plans of the same stage, and compiles that plan. Also returns
/// the plan's number.
///
/// Of the plans that a provider does not refuse, it runs the one that it offers the least time for.
///
/// # Errors
/// [`Error::Refused`] if the provider asked for refuses; [`Error::Unsupported`] if no provider has that
/// name, or all refuse; else the error of compiling.
pub(crate) fn choose(plans: &[Plan<'_>], backend: Backend) -> Result<(usize, Chosen), Error> {
    match backend {
        Backend::Named(name) => named(plans, name),
        Backend::Auto => quickest(plans),
    }
}

/// The time by which offers are compared: that of a run, with its share of the time of compiling.
fn in_all(run: f64, compile: f64) -> f64 {
    run + compile / COMPILED_RUNS
}

/// A provider's least offer, and the plan's number: of equal ones the first. Else the first offer that is no
/// refusal, or else the last refusal.
fn offer(provider: &dyn Provider, plans: &[Plan<'_>]) -> (usize, Offer) {
    let offers: Vec<Offer> = plans.iter().map(|plan| provider.offer(plan)).collect();
    let times = offers.iter().enumerate().filter_map(|(at, offer)| match *offer {
        Offer::Time { run, compile } => Some((at, in_all(run, compile))),
        _ => None,
    });
    let least = times.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at);
    let on_request = || offers.iter().position(|offer| !matches!(offer, Offer::Refused(_)));
    let which = least.or_else(on_request).unwrap_or(offers.len() - 1);
    (which, offers[which].clone())
}

fn named(plans: &[Plan<'_>], name: &str) -> Result<(usize, Chosen), Error> {
    let provider = all().into_iter().find(|one| one.name() == name);
    let provider = provider.ok_or_else(|| unknown(name))?;
    let (which, offer) = offer(provider, plans);
    let (time, said) = match offer {
        Offer::Refused(reason) => {
            return Err(Error::Refused { backend: provider.name(), reason });
        }
        Offer::OnRequest(_) => (plans[which].estimate, "asked for".to_owned()),
        Offer::Time { run, .. } => (run, format!("{}; asked for", about(run))),
    };
    let (name, executable) = (provider.name(), provider.compile(&plans[which])?);
    Ok((which, Chosen { name, executable, time, asked: vec![(name, said)] }))
}

fn quickest(plans: &[Plan<'_>]) -> Result<(usize, Chosen), Error> {
    let mut asked = Vec::new();
    let mut offers: Vec<([f64; 2], usize, &'static dyn Provider)> = Vec::new();
    for provider in all() {
        if provider.is_on_request() {
            asked.push((provider.name(), "on request only".to_owned()));
            continue;
        }
        match offer(provider, plans) {
            (which, Offer::Time { run, compile }) => {
                offers.push(([in_all(run, compile), run], which, provider));
            }
            (_, Offer::OnRequest(why)) => {
                asked.push((provider.name(), format!("on request only: {why}")));
            }
            (_, Offer::Refused(why)) => asked.push((provider.name(), format!("refused: {why}"))),
        }
    }
    // A stable sort: of equal offers, the first by name is taken.
    offers.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]));
    let mut made = None;
    let mut failed = None;
    let mut said: Vec<(&'static str, String)> = Vec::new();
    for ([_, time], which, provider) in offers {
        let mut told = about(time);
        if plans[0].converts && !plans[which].converts {
            told += " without conversions";
        }
        if plans[which].in_32_bits {
            told += " with indices of 32 bits";
        }
        said.push(match &made {
            Some(_) => (provider.name(), told),
            None => match provider.compile(&plans[which]) {
                Ok(executable) => {
                    made = Some((which, provider.name(), time, executable));
                    (provider.name(), format!("{told}, the least of all"))
                }
                Err(error) => {
                    let said = format!("{told}, and failed: {error}");
                    failed = Some(error);
                    (provider.name(), said)
                }
            },
        });
    }
    said.append(&mut asked);
    match (made, failed) {
        (Some((which, name, time, executable)), _) => {
            Ok((which, Chosen { name, executable, time, asked: said }))
        }
        (None, Some(error)) => Err(error),
        (None, None) => {
            let said: Vec<String> = said.iter().map(|(n, said)| format!("{n}: {said}")).collect();
            Err(Error::Unsupported(format!("nothing can run this plan; {}", said.join("; "))))
        }
    }
}

fn about(nanoseconds: f64) -> String {
    format!("about {:.3} ms", nanoseconds / 1e6)
}

impl Chosen {
    /// The chosen provider and the offers of the others: lines for people.
    pub(crate) fn explain(&self) -> String {
        let mut out = format!("back end    {}, {}\n", self.name, self.executable.describe());
        for code in self.executable.loops() {
            let _ = writeln!(out, "loop code   {code}");
        }
        for (name, said) in &self.asked {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "asked       {name}: {said}");
        }
        out
    }
}
