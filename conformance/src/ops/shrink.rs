//! A trial that fails, made smaller as long as it fails.

use ust_engine::Format;

use super::trial::{Given, Trial};
use crate::report::{Trouble, guarded};

/// Trials at most, to find a smaller one.
const MOST: usize = 300;

/// The smallest trial that was found to fail, and what is wrong with it.
pub(super) fn shrink(trial: &Trial, text: String) -> (Trial, String) {
    let mut left = MOST;
    let mut smallest = (trial.clone(), text);
    // One back end that fails is enough.
    for run in trial.runs.clone() {
        let one = Trial { runs: vec![run], ..trial.clone() };
        if let Some(text) = failure(&one, &mut left) {
            smallest = (one, text);
            break;
        }
    }
    loop {
        let found = changes(&smallest.0).iter().find_map(|change| {
            // Changes are many, and each makes a copy.
            let mut candidate = (left > 0).then(|| smallest.0.clone())?;
            let text = change(&mut candidate).then(|| failure(&candidate, &mut left))??;
            Some((candidate, text))
        });
        match found {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

fn failure(trial: &Trial, left: &mut usize) -> Option<String> {
    *left = left.checked_sub(1)?;
    let is_stored = |given: &Given| guarded(|| Ok(given.store()?)).is_ok();
    match guarded(|| trial.check()) {
        // What cannot be stored is another matter.
        Err(Trouble::Wrong(text)) if trial.givens().all(is_stored) => Some(text),
        _ => None,
    }
}

impl Trial {
    fn givens(&self) -> impl Iterator<Item = &Given> {
        self.operands.iter().chain(&self.old)
    }

    fn givens_mut(&mut self) -> impl Iterator<Item = &mut Given> {
        self.operands.iter_mut().chain(&mut self.old)
    }
}

/// A change that makes a trial smaller. Returns false if it changes nothing.
type Change = Box<dyn Fn(&mut Trial) -> bool>;

/// Changes that make a trial a little smaller, the largest first. Each is made when it is tried: a trial may
/// be large, and there are as many changes as it has entries.
fn changes(trial: &Trial) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    for name in trial.extents.keys() {
        for cut in [3, 1] {
            let name = name.clone();
            all.push(Box::new(move |trial| narrow(trial, &name, cut)));
        }
    }
    for at in 0..trial.givens().count() {
        let count = trial.givens().nth(at).map_or(0, |given| given.coo.len());
        for part in [count.div_ceil(2), count.div_ceil(4), 1] {
            for from in (0..count).step_by(part.max(1)) {
                all.push(Box::new(move |trial| {
                    trial.givens_mut().nth(at).is_some_and(|given| without(given, from, part))
                }));
            }
            if part <= 1 {
                break;
            }
        }
        for change in [plain_fill, plain_widths, plain_format] {
            all.push(Box::new(move |trial| trial.givens_mut().nth(at).is_some_and(change)));
        }
    }
    all.push(Box::new(|trial| trial.format.take().is_some()));
    all
}

/// Leaves out `part` entries, from number `from` on.
fn without(given: &mut Given, from: usize, part: usize) -> bool {
    let keep: Vec<usize> =
        (0..given.coo.len()).filter(|place| !(from..from + part).contains(place)).collect();
    given.keep(&keep);
    true
}

fn plain_fill(given: &mut Given) -> bool {
    let zero = given.fill.dtype().zero();
    let was = std::mem::replace(&mut given.fill, zero);
    !was.same(&zero)
}

fn plain_widths(given: &mut Given) -> bool {
    let plain = given.format.with_widths(0, 0).unwrap_or_else(|_| given.format.clone());
    let was = std::mem::replace(&mut given.format, plain);
    was != given.format
}

fn plain_format(given: &mut Given) -> bool {
    match Format::resolve("Dense", Some(given.format.rank())) {
        Ok(dense) if given.format.rank() > 0 => {
            let was = std::mem::replace(&mut given.format, dense);
            was != given.format
        }
        _ => false,
    }
}

/// An index, and those that stand for the same dimensions, run less far.
fn narrow(trial: &mut Trial, name: &str, cut: usize) -> bool {
    let mut names = vec![name.to_owned()];
    // Tensors that are used twice have other names for their dimensions.
    let Some(extent) = trial.extents[name].checked_sub(cut) else { return false };
    let accesses = match ust_engine::ops::Expression::parse(trial.operation.text) {
        Ok(expression) => expression.accesses(),
        Err(_) => return false,
    };
    for _ in 0..trial.extents.len() {
        for access in &accesses {
            for other in accesses.iter().filter(|other| other.name == access.name) {
                for (a, b) in access.indices.iter().zip(&other.indices) {
                    if names.contains(a) && !names.contains(b) {
                        names.push(b.clone());
                    }
                }
            }
        }
    }
    for given in trial.givens_mut() {
        let dims: Vec<usize> =
            (0..given.indices.len()).filter(|&d| names.contains(&given.indices[d])).collect();
        if dims.is_empty() {
            continue;
        }
        if !given.windows.is_empty() {
            for &dim in &dims {
                given.windows[dim].size = extent as u64;
            }
            continue;
        }
        let inside = |at: &usize| {
            let place = given.coo.coordinates(*at);
            dims.iter().all(|&dim| place[dim] < extent)
        };
        let keep: Vec<usize> = (0..given.coo.len()).filter(inside).collect();
        given.keep(&keep);
        for &dim in &dims {
            given.coo.shape[dim] = extent;
        }
    }
    for name in names {
        trial.extents.insert(name, extent);
    }
    true
}
