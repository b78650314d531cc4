//! What must hold of every format, on every tensor.

mod order;
mod storage;

use ust_engine::tensor::Tensor;
use ust_engine::{Error, Format};
use ust_level_api::LevelError;

use crate::formats::Candidate;
use crate::inputs::{Input, alike};
use crate::oracle::Model;
use crate::report::{Case, Outcome, Trouble, Verdict, ensure, guarded, outcome, wrong};

/// A format, a tensor stored in it, and the truth about both.
pub(crate) struct Stored<'a> {
    pub(crate) format: &'a Format,
    pub(crate) input: &'a Input,
    pub(crate) tensor: Tensor,
    /// What should be stored.
    pub(crate) model: Model,
    /// Formats of the same rank, to convert to and from.
    pub(crate) others: &'a [Format],
}

type Property = fn(&Stored<'_>) -> Verdict;

const PROPERTIES: &[(&str, Property)] = &[
    ("format/check", storage::is_accepted_again),
    ("format/unpack", storage::unpacks),
    ("format/get", storage::is_read),
    ("format/walk", storage::is_walked),
    ("format/sizes", storage::counts),
    ("format/dense", storage::is_dense),
    ("format/slice", storage::is_sliced),
    ("format/convert", order::converts),
    ("format/widths", order::takes_widths),
    ("format/duplicates", order::sums_and_drops),
];

/// Reads a candidate: the format, or the case of a refusal.
pub(crate) fn read(candidate: &Candidate) -> (Option<Format>, Case) {
    let mut format = None;
    let case =
        Case::run("format/parse", &candidate.text, || match candidate.text.parse::<Format>() {
            Ok(read) => {
                ensure(candidate.fits != Some(false), || {
                    "it is accepted, though a level says that it does not fit".to_owned()
                })?;
                format = Some(read);
                Ok(())
            }
            Err(error) => {
                ensure(candidate.fits != Some(true), || {
                    format!("it is refused, though every level fits: {error}")
                })?;
                let said = !error.message().is_empty()
                    && (error.help().is_some() || error.message().len() > 20);
                ensure(said, || format!("it is refused without a word of help: {error}"))
            }
        });
    // What is refused, rightly or wrongly, is counted apart.
    let group = if format.is_some() { "format/parse" } else { "format/refuse" };
    (format, Case { group: group.to_owned(), ..case })
}

/// Tries every property of a format on every tensor of its rank.
pub(crate) fn cases(format: &Format, inputs: &[Input], others: &[Format]) -> Vec<Case> {
    let name = format.to_string();
    let of_format = |input: &Input| Input { coo: alike(&input.coo, format), ..input.clone() };
    let held: Vec<Input> = inputs.iter().filter(|_| format.batches() > 0).map(of_format).collect();
    let inputs = if held.is_empty() { inputs } else { &held };
    let mut cases = vec![Case::run("format/print", &name, || storage::prints(format))];
    let mut stored = Vec::new();
    cases.push(Case::run("format/build", &name, || {
        for input in inputs {
            stored.extend(build(format, input, others)?);
        }
        ensure(!stored.is_empty(), || "none of the tensors could be held".to_owned())
    }));
    for (group, property) in PROPERTIES {
        // The first failure is enough: the others are often the same.
        let verdict = stored.iter().try_for_each(|stored| {
            guarded(|| property(stored)).map_err(|trouble| about(stored.input, trouble))
        });
        let outcome = match stored.is_empty() {
            true => Outcome::Excluded("nothing was built".to_owned()),
            false => outcome(verdict),
        };
        let (group, name, tried) = ((*group).to_owned(), name.clone(), stored.len());
        cases.push(Case { group, name, outcome, tried });
    }
    cases
}

fn about(input: &Input, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Wrong(text) => Trouble::Wrong(format!("{}: {text}", input.label())),
        excluded @ Trouble::Excluded(_) => excluded,
    }
}

/// Stores a tensor; `None` where a level of fixed capacity has no room for it.
fn build<'a>(
    format: &'a Format,
    input: &'a Input,
    others: &'a [Format],
) -> Result<Option<Stored<'a>>, Trouble> {
    let model = input.model().stored_in(format);
    match guarded(|| Ok(input.store(format))).map_err(|trouble| about(input, trouble))? {
        Ok(tensor) => Ok(Some(Stored { format, input, tensor, model, others })),
        Err(error) if is_want_of_room(format, &error) => Ok(None),
        Err(error) => wrong(format!("{}: {error}", input.label())),
    }
}

/// Whether a level that may run out of room says that it did.
pub(crate) fn is_want_of_room(format: &Format, error: &Error) -> bool {
    match error {
        Error::Level { level, source: LevelError::CannotHold { .. }, .. } => {
            format.descriptions()[*level].props.bounded
        }
        _ => false,
    }
}
