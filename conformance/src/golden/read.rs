//! Formats, tensors and arrays out of JSON.

use serde_json::Value;
use ust_engine::tensor::{Parts, Tensor};
use ust_engine::{Coo, Format, Values};
use ust_level_api::{ArraySpec, Dtype, IndexArray, IndexKind, Role, Scalar};

use crate::oracle::{Model, everywhere, values_of};
use crate::report::{Trouble, Verdict, ensure, wrong};

/// Reads format text or a name. A level type that is not linked excludes the case.
pub(super) fn format(text: &str) -> Result<Format, Trouble> {
    Format::resolve(text, None).map_err(|error| match error.message() {
        message if message.starts_with("unknown level type") => {
            Trouble::Excluded(format!("needs a level type that is not linked: {message}"))
        }
        _ => Trouble::Wrong(format!("`{text}` is refused: {error}")),
    })
}

/// The same for a tensor of this rank.
pub(super) fn format_of_rank(text: &str, rank: usize) -> Result<Format, Trouble> {
    // Names of families take their order from the tensor.
    format(text)?;
    Ok(Format::resolve(text, Some(rank))?)
}

/// The format of a case, with its widths.
pub(super) fn format_of(case: &Value) -> Result<Format, Trouble> {
    let read = format(case["format"].as_str().unwrap_or_default())?;
    let width = |name: &str| case[name].as_u64().unwrap_or(0) as u32;
    Ok(read.with_widths(width("posWidth"), width("crdWidth"))?)
}

/// The dtype of a case; f64 where it does not say.
pub(super) fn dtype_of(case: &Value) -> Result<Dtype, Trouble> {
    let Some(name) = case["dtype"].as_str() else { return Ok(Dtype::F64) };
    let plain = name.strip_prefix("iso[").and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let short = plain.replace("float", "f").replace("uint", "u").replace("int", "i");
    match Dtype::ALL.iter().find(|dtype| dtype.name() == short) {
        Some(dtype) => Ok(*dtype),
        None => wrong(format!("`{name}` is no dtype")),
    }
}

/// A list of lengths or coordinates.
pub(super) fn integers(value: &Value) -> Option<Vec<i64>> {
    value.as_array()?.iter().map(Value::as_i64).collect()
}

pub(super) fn shape_of(case: &Value) -> Result<Vec<usize>, Trouble> {
    match integers(&case["shape"]) {
        Some(shape) => Ok(shape.into_iter().map(|extent| extent as usize).collect()),
        None => wrong("the case has no shape"),
    }
}

/// A number of the dtype.
fn number(value: &Value, dtype: Dtype) -> Result<Scalar, Trouble> {
    match value.as_f64() {
        Some(number) => Ok(Scalar::F64(number).cast(dtype)?),
        None => wrong(format!("{value} is no number")),
    }
}

/// Numbers, however deep they are nested.
pub(super) fn numbers(value: &Value, dtype: Dtype) -> Result<Values, Trouble> {
    fn collect(value: &Value, dtype: Dtype, into: &mut Vec<Scalar>) -> Verdict {
        match value {
            Value::Array(list) => list.iter().try_for_each(|v| collect(v, dtype, into)),
            _ => {
                into.push(number(value, dtype)?);
                Ok(())
            }
        }
    }
    let mut all = Vec::new();
    collect(value, dtype, &mut all)?;
    Ok(values_of(dtype, &all))
}

/// Entries `[[coordinates], value]`; where values are not given, they count from 1.
pub(super) fn entries(value: &Value, shape: &[usize], dtype: Dtype) -> Result<Coo, Trouble> {
    let list = value.as_array().map_or(&[][..], Vec::as_slice);
    let mut crd = vec![Vec::with_capacity(list.len()); shape.len()];
    let mut values = Vec::with_capacity(list.len());
    for (at, entry) in list.iter().enumerate() {
        let Some(place) = integers(&entry[0]).filter(|place| place.len() == shape.len()) else {
            return wrong(format!("entry {at} has no coordinates of rank {}", shape.len()));
        };
        for (column, c) in crd.iter_mut().zip(place) {
            column.push(c);
        }
        values.push(match &entry[1] {
            Value::Null => Scalar::F64(at as f64 + 1.0).cast(dtype)?,
            value => number(value, dtype)?,
        });
    }
    Ok(Coo::new(shape.to_vec(), crd, values_of(dtype, &values))?)
}

/// What a case is built from: entries, or the nonzeros of nested lists.
pub(super) fn input(case: &Value) -> Result<Option<Coo>, Trouble> {
    let (input, dtype) = (&case["input"], dtype_of(case)?);
    if !input["entries"].is_null() {
        return Ok(Some(entries(&input["entries"], &shape_of(case)?, dtype)?));
    }
    match input.pointer("/dense") {
        None => Ok(None),
        Some(dense) => Ok(Some(nonzeros(dense, &shape_of(case)?, dtype)?)),
    }
}

/// The nonzeros of nested lists.
pub(super) fn nonzeros(dense: &Value, shape: &[usize], dtype: Dtype) -> Result<Coo, Trouble> {
    let all = numbers(dense, dtype)?;
    let places = everywhere(shape);
    ensure(all.len() == places.len(), || format!("{} numbers fill {shape:?}", all.len()))?;
    let kept: Vec<usize> = (0..all.len())
        .filter(|&at| all.get(at).is_some_and(|value| !value.same(&dtype.zero())))
        .collect();
    let column = |dim: usize| kept.iter().map(|&at| places[at][dim] as i64).collect();
    let kept_values: Vec<u64> = kept.iter().map(|&at| at as u64).collect();
    Ok(Coo::new(shape.to_vec(), (0..shape.len()).map(column).collect(), all.gather(&kept_values))?)
}

/// An array of a level: under its number in a map, or at its place in a list. Of a batch, it is a list for each item.
pub(super) fn array_of(expected: &Value, level: usize) -> Option<Vec<i64>> {
    let array = match expected {
        Value::Object(map) => map.get(&level.to_string())?,
        list => list.get(level)?,
    };
    let of_items = || array.as_array()?.iter().map(integers).collect::<Option<Vec<_>>>();
    integers(array).or_else(|| Some(of_items()?.concat()))
}

/// The arrays that a case expects, as parts of a tensor.
pub(super) fn parts(format: &Format, expected: &Value, dtype: Dtype) -> Result<Parts, Trouble> {
    let mut levels = Vec::new();
    for (level, description) in format.descriptions().iter().enumerate() {
        let array = |spec: &ArraySpec| {
            let (named, width) = match spec.role {
                Role::Position => (&expected["pos"], format.pos_width()),
                Role::Coordinate => (&expected["crd"], format.crd_width()),
                Role::Own(_) => (&expected["extra"], 64),
            };
            let Some(numbers) = array_of(named, level) else {
                return wrong(format!("level {level} has no `{}`", spec.name));
            };
            let signed = numbers.iter().any(|&n| n < 0);
            let kind = match width {
                0 => IndexKind::I64,
                bits => IndexKind::new(bits, signed).unwrap_or(IndexKind::I64),
            };
            Ok(IndexArray::store(kind, &numbers, spec.name, "posWidth")?)
        };
        levels.push(description.arrays.iter().map(array).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(Parts::new(levels, numbers(&expected["values"], dtype)?))
}

/// The indices of a level's array with this role; empty where it has none.
pub(super) fn indices(tensor: &Tensor, level: usize, role: Role) -> Vec<i64> {
    let specs = tensor.format().descriptions()[level].arrays.iter();
    let mut arrays = specs.zip(&tensor.levels()[level].0);
    arrays.find(|(spec, _)| spec.role == role).map(|(_, array)| array.to_vec()).unwrap_or_default()
}

/// Compares the arrays that a case gives with a tensor's. Where the case is given in full, a level
/// that it does not list has none.
pub(super) fn same_arrays(tensor: &Tensor, expected: &Value, partial: bool) -> Verdict {
    for level in 0..tensor.format().level_count() {
        for (name, role) in [("pos", Role::Position), ("crd", Role::Coordinate)] {
            let found = indices(tensor, level, role);
            match array_of(&expected[name], level) {
                Some(array) => ensure(found == array, || {
                    format!("level {level}, {name}: {found:?}, not {array:?}")
                })?,
                None => ensure(partial || found.is_empty(), || {
                    format!("level {level} has {name} {found:?}, and should have none")
                })?,
            }
        }
    }
    match &expected["values"] {
        Value::Null => Ok(()),
        values => same_values(tensor.values(), &numbers(values, tensor.dtype())?),
    }
}

pub(super) fn same_values(found: &Values, expected: &Values) -> Verdict {
    let same =
        found.len() == expected.len() && found.iter().zip(expected.iter()).all(|(a, b)| a.same(&b));
    ensure(same, || {
        let show = |v: &Values| v.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(" ");
        format!("values [{}], not [{}]", show(found), show(expected))
    })
}

/// Whether a tensor holds exactly these entries.
pub(super) fn same_entries(tensor: &Tensor, coo: &Coo) -> Verdict {
    let expected = Model::of_coo(coo, coo.values.dtype().zero()).stored_in(tensor.format());
    match expected.difference(&Model::of_tensor(tensor)?) {
        Some(text) => wrong(text),
        None => Ok(()),
    }
}

/// Whether a tensor's elements are those of nested lists.
pub(super) fn same_dense(tensor: &Tensor, dense: &Value) -> Verdict {
    let expected = numbers(dense, tensor.dtype())?;
    for (at, place) in everywhere(tensor.shape()).iter().enumerate() {
        let (found, wanted) = (tensor.get(place)?, expected.get(at));
        ensure(wanted.is_some_and(|wanted| found.same(&wanted)), || {
            format!("the element at {place:?} is {found}, not {wanted:?}")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of the library link the standard level types, and no others.
    #[test]
    fn a_level_type_that_is_not_linked_excludes_a_case() {
        for text in ["(i) -> (i : octree)", "(i, j) -> (i : dense, j : octree)"] {
            let Err(Trouble::Excluded(reason)) = format(text) else { panic!("{text}") };
            assert!(reason.contains("not linked"), "{reason}");
        }
        assert!(matches!(format("(i) -> (j : dense)"), Err(Trouble::Wrong(_))));
        assert!(format("() -> ()").is_ok());
    }
}
