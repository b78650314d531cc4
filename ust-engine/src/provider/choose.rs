//! The choice of the provider that runs a plan.

use std::fmt::Write;

use ust_kernels::pool::{pays, threads};

use super::{Backend, Executable, Offer, Plan, Provider, all, unknown};
use crate::error::Error;
use crate::tuning::{COMPILED_RUNS, FETCH_BYTE_NS};

/// A plan, ready to run, and the offers that led to the choice.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The name of the provider.
    pub(crate) name: &'static str,
    pub(crate) executable: Box<dyn Executable>,
    /// Whether nobody asked for the provider, and it runs in other memory.
    pub(crate) elsewhere: bool,
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
        Backend::Auto => quickest(plans, &all()),
        Backend::Cpu => {
            let here = all().into_iter().filter(|provider| !provider.runs_elsewhere());
            quickest(plans, &here.collect::<Vec<_>>())
        }
    }
}

/// The time by which offers are compared: that of a run, with its share of the time of compiling.
fn in_all(run: f64, compile: f64) -> f64 {
    run + compile / COMPILED_RUNS
}

/// The least of a provider's offers for plans, and the plan's number: of equal ones the first. Else the first offer
/// that is no refusal, or else the last refusal.
fn least(offers: &[Offer]) -> (usize, &Offer) {
    let times = offers.iter().enumerate().filter_map(|(at, offer)| match *offer {
        Offer::Time { run, compile } => Some((at, in_all(run, compile))),
        _ => None,
    });
    let least = times.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at);
    let on_request = || offers.iter().position(|offer| !matches!(offer, Offer::Refused(_)));
    let which = least.or_else(on_request).unwrap_or(offers.len() - 1);
    (which, &offers[which])
}

fn named(plans: &[Plan<'_>], name: &str) -> Result<(usize, Chosen), Error> {
    let provider = all().into_iter().find(|one| one.name() == name);
    let provider = provider.ok_or_else(|| unknown(name))?;
    let offers: Vec<Offer> = plans.iter().map(|plan| provider.offer(plan)).collect();
    let (which, offer) = least(&offers);
    let (time, said) = match *offer {
        Offer::Refused(ref reason) => {
            return Err(Error::Refused { backend: provider.name(), reason: reason.clone() });
        }
        Offer::OnRequest(_) => (plans[which].estimate, "asked for".to_owned()),
        Offer::Time { run, .. } => (run, format!("{}; asked for", about(run))),
    };
    let (name, executable) = (provider.name(), provider.compile(&plans[which])?);
    Ok((which, Chosen { name, executable, elsewhere: false, time, asked: vec![(name, said)] }))
}

/// A provider's offer of a time.
struct Timed {
    provider: &'static dyn Provider,
    /// The number of the plan.
    which: usize,
    run: f64,
    /// By this time offers are compared.
    key: f64,
}

fn quickest(plans: &[Plan<'_>], among: &[&'static dyn Provider]) -> Result<(usize, Chosen), Error> {
    let mut asked = Vec::new();
    let mut offers: Vec<Timed> = Vec::new();
    for &provider in among {
        let own: Vec<Offer> = plans.iter().map(|plan| provider.offer_unasked(plan)).collect();
        match least(&own) {
            (which, &Offer::Time { run, compile }) => {
                offers.push(Timed { provider, which, run, key: in_all(run, compile) });
            }
            (_, Offer::OnRequest(why)) => {
                asked.push((provider.name(), format!("on request only: {why}")));
            }
            (_, Offer::Refused(why)) => asked.push((provider.name(), format!("refused: {why}"))),
        }
    }
    let machine = compare(&mut offers, plans);
    let mut made = None;
    let mut failed = None;
    let mut said: Vec<(&'static str, String)> = Vec::new();
    for Timed { provider, which, run: time, .. } in offers {
        let mut told = about(time);
        match provider.runs_elsewhere() {
            true => {
                told.extend(provider.reasons(&plans[which]).map(|why| format!(" ({why})")));
            }
            false => told += &machine,
        }
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
                    made = Some((which, provider, time, executable));
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
        (Some((which, provider, time, executable)), _) => {
            let (name, elsewhere) = (provider.name(), provider.runs_elsewhere());
            Ok((which, Chosen { name, executable, elsewhere, time, asked: said }))
        }
        (None, Some(error)) => Err(error),
        (None, None) => {
            let said: Vec<String> = said.iter().map(|(n, said)| format!("{n}: {said}")).collect();
            Err(Error::Unsupported(format!("nothing can run this plan; {}", said.join("; "))))
        }
    }
}

/// Sorts offers, the least first; of equal ones the first by name. Offers for other memory are times of a whole
/// machine. Beside them, the loops of this process are shared by all threads, and what they read is fetched first.
/// Returns what there is to say of these, for people.
fn compare(offers: &mut [Timed], plans: &[Plan<'_>]) -> String {
    let (elsewhere, here): (Vec<_>, Vec<_>) =
        offers.iter_mut().partition(|one| one.provider.runs_elsewhere());
    let mut said = String::new();
    let first = here.iter().min_by(|a, b| a.key.total_cmp(&b.key)).map(|one| (one.key, one.which));
    if let (Some((time, which)), false) = (first, elsewhere.is_empty()) {
        let bytes = plans[which].tensors.iter().map(|tensor| tensor.bytes_elsewhere());
        let fetch = FETCH_BYTE_NS * bytes.sum::<usize>() as f64;
        let shared = plans[which].facts.outermost.cut.is_ok() && pays(time);
        let threads = if shared { threads(usize::MAX) } else { 1 };
        here.into_iter().for_each(|one| one.key = one.key / threads as f64 + fetch);
        if threads > 1 {
            said += &format!(" on one thread of {threads}");
        }
        if fetch > 0.0 {
            said += &format!(", and {} to fetch what is elsewhere", about(fetch));
        }
    }
    offers.sort_by(|a, b| a.key.total_cmp(&b.key));
    said
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
