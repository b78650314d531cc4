//! Worked examples: some in full, many told in words that leave arrays out.

use serde_json::Value;
use ust_engine::Coo;
use ust_engine::tensor::Tensor;
use ust_level_api::{Role, Scalar};

use super::read::{
    dtype_of, format_of, indices, input, integers, numbers, parts, same_arrays, same_dense,
    same_entries, shape_of,
};
use crate::report::{Trouble, Verdict, ensure, wrong};

/// Coordinates and a value.
type Entry = (&'static [i64], f64);

/// Where the source tells facts but not the tensor: one for which they must hold. What the source
/// does give is part of it.
const INVENTED: &[(&str, &[usize], &[Entry])] = &[
    (
        "ust/sparse_vector",
        &[12],
        &[(&[0], 1.0), (&[1], 2.0), (&[3], 3.0), (&[8], -1.0), (&[11], 5.0)],
    ),
    (
        "ust/blocked_vector",
        &[12],
        &[(&[0], 1.0), (&[1], 2.0), (&[3], 3.0), (&[8], -1.0), (&[11], 5.0)],
    ),
    (
        "ust/csr_4x5",
        &[4, 5],
        &[
            (&[0, 0], 1.0),
            (&[0, 2], 2.0),
            (&[1, 1], 3.0),
            (&[2, 2], 4.0),
            (&[2, 4], 5.0),
            (&[3, 3], 6.0),
        ],
    ),
    (
        "ust/coo_hyper_sparse",
        &[1000, 1000],
        &[(&[2, 2], 3.0), (&[500, 1], 1.0), (&[500, 999], 2.0)],
    ),
    ("ust/dia_i_5x7", &[5, 7], THREE_DIAGONALS),
    ("ust/dia_j_5x7", &[5, 7], THREE_DIAGONALS),
    (
        "ust/bsr_row_2x3_a25",
        &[4, 9],
        &[(&[0, 0], 1.0), (&[1, 8], 2.0), (&[2, 2], 3.0), (&[3, 3], 4.0), (&[2, 5], 16.0)],
    ),
    (
        "ust/csf_4x3x5",
        &[4, 3, 5],
        &[(&[0, 0, 0], 1.0), (&[1, 2, 4], 2.0), (&[3, 0, 1], 3.0), (&[3, 2, 0], 8.0)],
    ),
    ("ust/batched_dia_i_nonuniform_4x5x5", &[4, 5, 5], BATCH),
    ("ust/batched_dia_i_uniform_4x5x5", &[4, 5, 5], BATCH),
    (
        "mlir/csr_figure",
        &[4, 4],
        &[(&[0, 0], 1.0), (&[0, 3], 2.0), (&[1, 1], 3.0), (&[1, 2], 4.0), (&[3, 0], 5.0)],
    ),
];

/// Diagonals -1, 0 and 2.
const THREE_DIAGONALS: &[Entry] =
    &[(&[1, 0], 1.0), (&[0, 0], 2.0), (&[4, 4], 3.0), (&[0, 2], 4.0), (&[4, 6], 5.0)];

/// Diagonals -1, 0 and 1 in the first matrix, -1 and 0 in the last.
const BATCH: &[Entry] = &[
    (&[0, 1, 0], 1.0),
    (&[0, 2, 2], 2.0),
    (&[0, 3, 4], 3.0),
    (&[1, 0, 0], 4.0),
    (&[2, 0, 1], 5.0),
    (&[3, 4, 3], 6.0),
    (&[3, 0, 0], 7.0),
];

/// Builds or takes in the tensor of an example, and compares what the source says of it.
pub(super) fn try_case(case: &Value) -> Verdict {
    let format = format_of(case)?;
    let (expected, dtype) = (&case["expected"], dtype_of(case)?);
    let partial = case["partial"] == true;
    let invented = INVENTED.iter().find(|(name, ..)| case["name"] == *name);
    let (tensor, coo) = if case["direction"] == "assemble" {
        let tensor =
            Tensor::from_parts(&format, &shape_of(case)?, parts(&format, expected, dtype)?)?;
        if format.is_unique() && format.is_ordered() {
            // There is one way to store it, and this must be it.
            let again = Tensor::from_coo(&tensor.to_coo()?, &format)?;
            ensure(again == tensor, || format!("stored here, it is {again}"))?;
        }
        (tensor, input(case)?)
    } else if let Some((_, shape, entries)) = invented {
        let coo = columns(shape, entries)?;
        contains(&coo, &case["input"]["entries"])?;
        (Tensor::from_coo(&coo, &format)?, Some(coo))
    } else if case["input"].is_null() {
        let (tensor, coo) = from_arrays(case)?;
        (tensor, Some(coo))
    } else {
        let Some(coo) = input(case)? else { return wrong("the example has no input") };
        (Tensor::from_coo(&coo, &format)?, Some(coo))
    };
    if let Some(coo) = &coo {
        same_sums(&tensor, coo)?;
    }
    if !expected["pos"].is_null() || !expected["crd"].is_null() || !partial {
        same_arrays(&tensor, expected, partial)?;
    }
    if let Some(dense) = expected.pointer("/dense") {
        same_dense(&tensor, dense)?;
    }
    facts(&tensor, expected)
}

fn columns(shape: &[usize], entries: &[Entry]) -> Result<Coo, Trouble> {
    let column = |dim: usize| entries.iter().map(|(place, _)| place[dim]).collect();
    let values: Vec<f64> = entries.iter().map(|(_, value)| *value).collect();
    Ok(Coo::new(shape.to_vec(), (0..shape.len()).map(column).collect(), values)?)
}

/// Whether the invented tensor has the entries that the source gives.
fn contains(coo: &Coo, given: &Value) -> Verdict {
    for entry in given.as_array().into_iter().flatten() {
        let place = integers(&entry[0]).unwrap_or_default();
        let at = (0..coo.len()).find(|&at| coo.crd.iter().map(|c| c[at]).eq(place.iter().copied()));
        let value = at.and_then(|at| coo.values.get(at));
        let expected = entry[1].as_f64().map(Scalar::F64);
        ensure(value == expected, || format!("the tensor tried lacks the entry {entry}"))?;
    }
    Ok(())
}

/// Only index arrays are given: they are taken in with values of our own, in the smallest shape
/// that has room for them.
fn from_arrays(case: &Value) -> Result<(Tensor, Coo), Trouble> {
    let (format, mut expected) = (format_of(case)?, case["expected"].clone());
    let last = format.level_count() - 1;
    let (Some(pos), Some(crd)) = (
        super::read::array_of(&expected["pos"], last),
        super::read::array_of(&expected["crd"], last),
    ) else {
        return Err(Trouble::Excluded("the source gives neither tensor nor arrays".to_owned()));
    };
    let values: Vec<f64> = (1..=crd.len()).map(|n| n as f64).collect();
    expected["values"] = values.clone().into();
    let columns = crd.iter().max().map_or(0, |&max| max as usize + 1);
    let shape = vec![pos.len() - 1, columns];
    let rows = pos.windows(2).enumerate();
    let rows = rows.flat_map(|(row, pair)| (pair[0]..pair[1]).map(move |_| row as i64)).collect();
    let tensor = Tensor::from_parts(&format, &shape, parts(&format, &expected, dtype_of(case)?)?)?;
    Ok((tensor, Coo::new(shape, vec![rows, crd], values)?))
}

/// The same elements, whatever is kept apart.
fn same_sums(tensor: &Tensor, coo: &Coo) -> Verdict {
    if tensor.format().is_unique() {
        return same_entries(tensor, coo);
    }
    let summed = tensor.sum_duplicates()?.to_coo()?;
    let truth = crate::oracle::Model::of_coo(coo, coo.values.dtype().zero());
    for at in 0..coo.len() {
        let place = coo.coordinates(at);
        let (found, expected) = (tensor.get(&place)?, truth.value(&place));
        ensure(found.same(&expected), || format!("{place:?} is {found}, not {expected}"))?;
    }
    ensure(summed.len() >= truth.entries.len(), || "entries are lost".to_owned())
}

/// What is said of arrays without giving them whole.
fn facts(tensor: &Tensor, expected: &Value) -> Verdict {
    let by_level = |name: &str| {
        let map = expected[name].as_object().cloned().unwrap_or_default();
        map.into_iter().filter_map(|(level, value)| Some((level.parse::<usize>().ok()?, value)))
    };
    for (name, role) in [("pos_len", Role::Position), ("crd_len", Role::Coordinate)] {
        for (level, length) in by_level(name) {
            let found = indices(tensor, level, role).len();
            ensure(length.as_u64() == Some(found as u64), || {
                format!("{name} of level {level} is {found}, not {length}")
            })?;
        }
    }
    if let Some(length) = expected["values_len"].as_u64() {
        ensure(tensor.nse() as u64 == length, || format!("{} values", tensor.nse()))?;
    }
    for (level, values) in by_level("pos_at") {
        let pos = indices(tensor, level, Role::Position);
        for (at, value) in values.as_object().into_iter().flatten() {
            let found = at.parse().ok().and_then(|at: usize| pos.get(at).copied());
            ensure(found == value.as_i64(), || format!("pos[{at}] is {found:?}, not {value}"))?;
        }
    }
    for (name, first) in [("crd_first_parent", true), ("crd_last_parent", false)] {
        for (level, crd) in by_level(name) {
            let pos = indices(tensor, level, Role::Position);
            let range = if first { pos[0]..pos[1] } else { pos[pos.len() - 2]..pos[pos.len() - 1] };
            let all = indices(tensor, level, Role::Coordinate);
            let found = all[range.start as usize..range.end as usize].to_vec();
            ensure(integers(&crd).as_ref() == Some(&found), || format!("{name}: {found:?}"))?;
        }
    }
    for pair in expected["level_coordinates"].as_array().into_iter().flatten() {
        let (place, levels) = (integers(&pair[0]).unwrap_or_default(), integers(&pair[1]));
        let found = tensor.format().dim2lvl(&place);
        ensure(found == levels, || format!("{place:?} is at {found:?}, not {levels:?}"))?;
    }
    for (at, value) in expected["values_at"].as_object().into_iter().flatten() {
        let found = at.parse().ok().and_then(|at| tensor.values().get(at));
        let wanted = numbers(value, tensor.dtype())?.get(0);
        ensure(found == wanted, || format!("values[{at}] is {found:?}, not {value}"))?;
    }
    blocks(tensor, &expected["blocks_in_order"])
}

/// Blocks are named `B` with their row and column, in the order in which they are stored.
fn blocks(tensor: &Tensor, names: &Value) -> Verdict {
    let Some(names) = names.as_array() else { return Ok(()) };
    let (pos, crd) = (indices(tensor, 1, Role::Position), indices(tensor, 1, Role::Coordinate));
    let rows = pos.windows(2).enumerate();
    let found: Vec<String> = rows
        .flat_map(|(row, pair)| {
            crd[pair[0] as usize..pair[1] as usize].iter().map(move |col| format!("B{row}{col}"))
        })
        .collect();
    let same = names.iter().map(Value::as_str).eq(found.iter().map(|name| Some(name.as_str())));
    ensure(same, || format!("blocks {found:?}"))
}
