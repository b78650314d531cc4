//! The same numbers in another format, another width, another order.

use ust_engine::tensor::{BuildOptions, Duplicates, Tensor};
use ust_engine::{Error, Format};
use ust_level_api::index::WidthError;
use ust_level_api::{LevelError, Role};

use super::storage::coo_of;
use super::{Stored, is_want_of_room};
use crate::oracle::Model;
use crate::report::{Trouble, Verdict, ensure, wrong};

fn same(expected: &Model, tensor: &Tensor, what: &str) -> Verdict {
    match expected.difference(&Model::of_tensor(tensor)?) {
        Some(text) => wrong(format!("{what}: {text}")),
        None => Ok(()),
    }
}

/// To other formats and back: each keeps what it can, and nothing else changes.
pub(super) fn converts(stored: &Stored<'_>) -> Verdict {
    for other in stored.others {
        let there = match stored.tensor.convert(other) {
            Ok(there) => there,
            Err(error) if is_want_of_room(other, &error) => continue,
            Err(error) => return wrong(format!("to `{other}`: {error}")),
        };
        let expected = stored.model.stored_in(other);
        same(&expected, &there, &format!("to `{other}`"))?;
        let back = there.convert(stored.format)?;
        let kept = expected.stored_in(stored.format);
        same(&kept, &back, &format!("to `{other}` and back"))?;
        if kept.difference(&stored.model).is_none() {
            ensure(back == stored.tensor, || {
                format!("to `{other}` and back, the same entries are stored in another way")
            })?;
        }
    }
    Ok(())
}

/// Every width holds small tensors, arrays have the width asked for, and nothing else changes.
pub(super) fn takes_widths(stored: &Stored<'_>) -> Verdict {
    for width in [8, 16, 32, 64] {
        let narrow = stored.format.with_widths(width, width)?;
        let tensor = match stored.tensor.convert(&narrow) {
            Ok(tensor) => tensor,
            Err(Error::Level { source: LevelError::Width(WidthError { value, .. }), .. })
                if width == 8 && !(-128..=127).contains(&value) =>
            {
                continue;
            }
            Err(error) => return wrong(format!("width {width}: {error}")),
        };
        same(&stored.model, &tensor, &format!("width {width}"))?;
        for (level, description) in narrow.descriptions().iter().enumerate() {
            for (spec, array) in description.arrays.iter().zip(&tensor.levels()[level].0) {
                let expected = match spec.role {
                    Role::Position | Role::Coordinate => width,
                    Role::Own(kind) => kind.bits(),
                };
                ensure(array.kind().bits() == expected, || {
                    format!("{} of level {level} is stored as {}", spec.name, array.kind())
                })?;
            }
        }
        let (format, shape, parts) = tensor.clone().into_parts();
        let again = Tensor::from_parts(&format, &shape, parts)?;
        ensure(again == tensor, || format!("width {width}: its own parts are another tensor"))?;
    }
    Ok(())
}

/// Duplicates are summed, kept or refused as asked; zeros are dropped when asked, and not before.
pub(super) fn sums_and_drops(stored: &Stored<'_>) -> Verdict {
    let Stored { tensor, model, input, format, .. } = stored;
    let summed = tensor.sum_duplicates()?;
    let expected = model.summed().stored_in(format);
    same(&expected, &summed, "sum_duplicates")?;
    same(&model.clone(), &tensor.sort_indices()?, "sort_indices")?;
    ensure(tensor.sort_indices()? == *tensor, || "it was built in another order".to_owned())?;
    same(&model.without_fill(), &tensor.eliminate_zeros()?, "eliminate_zeros")?;
    let coalesced = tensor.is_coalesced()?;
    let single = model.entries.values().all(|values| values.len() == 1);
    ensure(coalesced == single, || format!("is_coalesced says {coalesced}"))?;
    ensure(summed.is_coalesced()?, || "summed duplicates are not coalesced".to_owned())?;

    let build = |duplicates| {
        let options = BuildOptions { duplicates, fill: Some(input.fill), ..Default::default() };
        Tensor::from_coo_with(&input.coo, format, &options)
    };
    let truth = input.model();
    same(&built_summed(&truth, format), &build(Duplicates::Sum)?, "duplicates summed")?;
    let twice = truth.entries.values().any(|values| values.len() > 1);
    match build(Duplicates::Refuse) {
        Ok(tensor) => {
            ensure(!twice, || "duplicates are not refused".to_owned())?;
            same(model, &tensor, "duplicates refused")?;
        }
        Err(Error::Duplicate { coordinates }) => {
            let values = truth.entries.get(&coordinates).map_or(0, Vec::len);
            ensure(values > 1, || format!("{values} entries at {coordinates:?} are refused"))?;
        }
        Err(error) => return Err(Trouble::from(error)),
    }
    // From sorted columns comes the same tensor as from shuffled ones.
    let options = BuildOptions { fill: Some(input.fill), ..Default::default() };
    let sorted = Tensor::from_coo_with(&coo_of(&truth), format, &options)?;
    ensure(sorted == *tensor, || "sorted entries make another tensor".to_owned())
}

fn built_summed(truth: &Model, format: &Format) -> Model {
    truth.summed().stored_in(format)
}
