//! Arrays as MLIR stores the same tensors.

use serde_json::Value;
use ust_engine::Format;
use ust_engine::tensor::Tensor;
use ust_level_api::{Role, Scalar};

use super::read::{
    array_of, dtype_of, format, format_of, indices, input, integers, numbers, parts, same_arrays,
    same_entries, shape_of,
};
use crate::report::{Trouble, Verdict, ensure, wrong};

/// Builds or takes in the tensor of a case, and compares its arrays.
pub(super) fn try_case(case: &Value) -> Verdict {
    let format = format_of(case)?;
    let expected = &case["expected"];
    let Some(coo) = input(case)? else { return wrong("the case has no input") };
    let given = case["direction"] == "assemble";
    let tensor = if given {
        let parts = parts(&format, expected, dtype_of(case)?)?;
        Tensor::from_parts(&format, &shape_of(case)?, parts)?
    } else {
        Tensor::from_coo(&coo, &format)?
    };
    same_entries(&tensor, &coo)?;
    if let Some(visited) = case["visited"].as_u64() {
        let count = tensor.to_coo()?.len() as u64;
        ensure(count == visited, || format!("{count} entries are visited, not {visited}"))?;
    }
    match case["compare"].as_str() {
        None => same_arrays(&tensor, expected, false)?,
        Some("loose_intervals") => same_intervals(&tensor, expected)?,
        Some("mlir_quirk") => return differs_by_padding(&tensor, expected),
        Some(other) => return wrong(format!("`{other}` is no comparison")),
    }
    if let Some(sizes) = integers(&case["lvl_sizes"]) {
        let found: Vec<i64> = tensor.bound().levels().iter().map(|l| l.size as i64).collect();
        ensure(found == sizes, || format!("level sizes {found:?}, not {sizes:?}"))?;
    }
    if let Some(nse) = case["nse"].as_u64() {
        // Of a batch, it is that of each item.
        let items = tensor.bound().items(format.level_count());
        let found = (tensor.nse() as u64).checked_div(items).unwrap_or(0);
        ensure(found == nse, || format!("nse {found}, not {nse}"))?;
    }
    if let Some(via) = case["via"].as_str() {
        // Stored nonzeros alone are converted: the padding of blocks is none of them.
        let through = Tensor::from_coo(&coo, &super::read::format(via)?)?.convert(&format)?;
        ensure(through == tensor, || format!("through `{via}` comes another tensor"))?;
    }
    same_as_blocks(case, &tensor)
}

/// Of a level with intervals in any order, those of each parent hold the same.
fn same_intervals(tensor: &Tensor, expected: &Value) -> Verdict {
    let values = numbers(&expected["values"], tensor.dtype())?;
    let last = tensor.format().level_count();
    for level in 0..last {
        let crd = array_of(&expected["crd"], level).unwrap_or_default();
        let found_crd = indices(tensor, level, Role::Coordinate);
        let Some(pos) = array_of(&expected["pos"], level) else {
            // Below a level with intervals, one coordinate for each of its positions.
            ensure(found_crd == crd, || format!("level {level}, crd: {found_crd:?}"))?;
            continue;
        };
        let found_pos = indices(tensor, level, Role::Position);
        ensure(found_pos.len() == pos.len(), || format!("level {level}, pos: {found_pos:?}"))?;
        for (parent, (a, b)) in found_pos.chunks(2).zip(pos.chunks(2)).enumerate() {
            let (found, wanted) = (a[0] as usize..a[1] as usize, b[0] as usize..b[1] as usize);
            ensure(found_crd.get(found.clone()) == crd.get(wanted.clone()), || {
                format!("level {level}, parent {parent}: other coordinates")
            })?;
            let same = found.clone().zip(wanted.clone()).all(|(a, b)| {
                let (a, b) = (tensor.values().get(a), values.get(b));
                a.zip(b).is_some_and(|(a, b)| a.same(&b))
            });
            ensure(found.len() == wanted.len() && same, || {
                format!("level {level}, parent {parent}: other values")
            })?;
        }
    }
    Ok(())
}

/// Groups are padded here, and not there: without the padding, the arrays are the same.
fn differs_by_padding(tensor: &Tensor, expected: &Value) -> Verdict {
    let last = tensor.format().level_count() - 1;
    let crd = indices(tensor, last, Role::Coordinate);
    let theirs = array_of(&expected["crd"], last).unwrap_or_default();
    ensure(crd != theirs, || "no difference is left: the case is no quirk".to_owned())?;
    let zero = tensor.dtype().zero();
    let kept = crd.iter().zip(tensor.values().iter()).filter(|(_, value)| !value.same(&zero));
    let (kept_crd, kept_values): (Vec<i64>, Vec<Scalar>) =
        kept.map(|(&crd, value)| (crd, value)).unzip();
    ensure(kept_crd == theirs, || format!("without padding, crd is {kept_crd:?}"))?;
    let theirs = numbers(&expected["values"], tensor.dtype())?;
    let same = kept_values.len() == theirs.len()
        && kept_values.iter().zip(theirs.iter()).all(|(a, b)| a.same(&b));
    ensure(same, || "without padding, the values differ".to_owned())
}

/// Blocks are a tensor of higher order: the same arrays, read in the plain format of the block
/// levels, are the same tensor.
fn same_as_blocks(case: &Value, tensor: &Tensor) -> Verdict {
    let is_about_it = case["note"].as_str().is_some_and(|note| note.starts_with("reinterpret_map"));
    if !is_about_it {
        return Ok(());
    }
    let names = ["i", "j", "k", "l", "m", "n"];
    let format_levels: Vec<String> = tensor
        .format()
        .descriptions()
        .iter()
        .zip(names)
        .map(|(level, name)| format!("{name} : {}", level.text))
        .collect();
    let dims = names[..format_levels.len()].join(", ");
    let plain: Format = format(&format!("({dims}) -> ({})", format_levels.join(", ")))?;
    let shape: Vec<usize> = tensor.bound().levels().iter().map(|l| l.size as usize).collect();
    let (_, _, parts) = tensor.clone().into_parts();
    let plain = Tensor::from_parts(&plain, &shape, parts).map_err(Trouble::from)?;
    ensure(plain.nnz() == tensor.nnz(), || "read as blocks, nonzeros are lost".to_owned())
}
