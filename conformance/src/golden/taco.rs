//! Arrays of TACO, xsparse, the binsparse specification and Finch, and products of TACO's tests.

use std::collections::HashMap;

use serde_json::Value;
use ust_engine::ops::Expression;
use ust_engine::tensor::Tensor;
use ust_engine::walk::nest::Reach;
use ust_engine::walk::unpack::{Column, Keep, unpack};
use ust_engine::{Coo, Format, einsum};
use ust_level_api::{Dtype, IndexArray, Scalar};

use super::read::{
    array_of, dtype_of, entries, format, integers, numbers, parts, same_arrays, same_entries,
    same_values, shape_of,
};
use crate::oracle::{everywhere, values_of};
use crate::report::{Trouble, Verdict, ensure, wrong};

/// Formats in which the factors of a product are tried where the case says "each in".
const EACH: [&str; 4] = ["Dense", "CSR", "CSC", "COO"];

/// Compares the storage of a case, its product, or the places that it visits.
pub(super) fn try_case(case: &Value) -> Verdict {
    let Some(text) = case["format"]["ust"].as_str() else { return named_levels(case) };
    // What stands in brackets after the text is a remark.
    let text = text.split("  [").next().unwrap_or_default();
    if let Some(expression) = case["expr"].as_str() {
        return product(case, text, expression);
    }
    let format = format(text)?;
    if !case["expected"]["visit_d_i_p_j"].is_null() {
        return visits(case, &format);
    }
    let mut coo = entries(&case["entries"], &shape_of(case)?, dtype_of(case)?)?;
    let iso = case["dtype"].as_str().is_some_and(|dtype| dtype.starts_with("iso"));
    if iso {
        let values = coo.values.to_iso();
        ensure(values.is_some(), || "the values are not all equal".to_owned())?;
        coo.values = values.unwrap_or(coo.values);
    }
    let tensor = Tensor::from_coo(&coo, &format)?;
    same_entries(&tensor, &coo)?;
    let mut expected = case["expected"].clone();
    if iso {
        // One value is stored for all.
        let shared = numbers(&expected["values"], tensor.dtype())?;
        let same = tensor.iso_value() == shared.get(0);
        ensure(shared.len() == 1 && same, || "the values are not the shared one".to_owned())?;
        expected["values"] = Value::Null;
    }
    match expected["map"].as_array() {
        Some(maps) => same_sets(&tensor, maps),
        None => same_arrays(&tensor, &expected, false),
    }
}

/// Whether the last level has the coordinates of these maps under its parents. Where each stands is up to the
/// table.
fn same_sets(tensor: &Tensor, maps: &[Value]) -> Verdict {
    let last = tensor.format().level_count() - 1;
    // Slots hold other numbers than coordinates as well.
    let array = |name| tensor.level_array(last, name).map(IndexArray::to_vec).unwrap_or_default();
    let [pos, crd] = ["pos", "crd"].map(array);
    ensure(pos.len() == maps.len() + 1, || format!("{pos:?} are not {} tables", maps.len()))?;
    let bounds = tensor.bound().site(last).bounds();
    for (table, map) in pos.windows(2).zip(maps) {
        let mut found = crd[table[0] as usize..table[1] as usize].to_vec();
        found.retain(|crd| bounds.contains(crd));
        found.sort_unstable();
        let keys = map.as_object().into_iter().flat_map(|map| map.keys());
        let mut wanted: Vec<i64> = keys.filter_map(|key| key.parse().ok()).collect();
        wanted.sort_unstable();
        ensure(found == wanted, || format!("a table has {found:?}, not {wanted:?}"))?;
    }
    Ok(())
}

/// Compares the storage of a case whose levels are given by Finch's names, such as `SparseBand`. A level type
/// that stores the same arrays has the name as an alias, in snake case.
fn named_levels(case: &Value) -> Verdict {
    let (levels, order) = (&case["format"]["levels"], &case["format"]["mode_order"]);
    let names = levels.as_array().into_iter().flatten().filter_map(Value::as_str);
    let order = integers(order).unwrap_or_default();
    if levels.as_array().map(Vec::len) != Some(order.len()) {
        return Err(Trouble::Excluded("one level stores several dimensions".to_owned()));
    }
    let levels = names.zip(order).enumerate().map(|(level, (name, dim))| {
        let unjoined = case["expected"]["extra"][level]["merge"] == false;
        let argument = if unjoined { "(unjoined)" } else { "" };
        format!("{} : {}{argument}", DIMS[dim as usize], snake(name))
    });
    let levels: Vec<String> = levels.collect();
    let format =
        format(&format!("({}) -> ({})", DIMS[..levels.len()].join(", "), levels.join(", ")))?;
    let coo = entries(&case["entries"], &shape_of(case)?, dtype_of(case)?)?;
    let tensor = Tensor::from_coo(&coo, &format)?;
    same_entries(&tensor, &coo)?;
    let expected = &case["expected"];
    for (level, found) in tensor.levels().iter().enumerate() {
        let own = expected["extra"][level].as_object().into_iter().flat_map(|extra| extra.values());
        let listed = [array_of(&expected["pos"], level), array_of(&expected["crd"], level)];
        let wanted: Vec<Vec<i64>> =
            listed.into_iter().flatten().chain(own.filter_map(numbers_of)).collect();
        let found: Vec<Vec<i64>> = found.0.iter().map(IndexArray::to_vec).collect();
        ensure(found == wanted, || format!("level {level} has {found:?}, not {wanted:?}"))?;
    }
    same_values(tensor.values(), &numbers(&expected["values"], tensor.dtype())?)
}

/// A list of numbers, or of the coordinates that stand behind numbers of parents.
fn numbers_of(extra: &Value) -> Option<Vec<i64>> {
    integers(extra).or_else(|| {
        let pairs = extra.as_array()?.iter();
        pairs.map(|pair| integers(pair)?.last().copied()).collect()
    })
}

/// Names of dimensions.
const DIMS: [&str; 6] = ["i", "j", "k", "l", "m", "n"];

/// `SparseBand` as `sparse_band`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// The places that a walk along diagonals visits: diagonal, row, position, column.
fn visits(case: &Value, format: &Format) -> Verdict {
    let expected = &case["expected"];
    let offsets = integers(&expected["offset"]).unwrap_or_default();
    let shape = shape_of(case)?;
    let (diagonals, rows) = (offsets.len(), shape[0]);
    let given = serde_json::json!({
        "pos": {"0": [0, diagonals]},
        "crd": {"0": offsets},
        "values": vec![1; diagonals * rows],
    });
    let tensor = Tensor::from_parts(format, &shape, parts(format, &given, Dtype::F64)?)?;
    let columns = [Column::LevelPosition(0), Column::Dim(0), Column::Value, Column::Dim(1)];
    let columns = unpack(&tensor, Reach::Inside, &columns, Keep::All, tensor.nse())?;
    let found: Vec<Vec<i64>> = (0..columns[0].len())
        .map(|row| columns.iter().map(|column| column[row]).collect())
        .collect();
    let list = expected["visit_d_i_p_j"].as_array().into_iter().flatten();
    let wanted: Option<Vec<Vec<i64>>> = list.map(integers).collect();
    ensure(wanted.as_ref() == Some(&found), || format!("{found:?} are visited"))
}

/// Evaluates an expression of named operands, in their formats, and compares the elements.
fn product(case: &Value, result_format: &str, expression: &str) -> Verdict {
    let text = expression.split(", ").next().unwrap_or_default();
    let read = Expression::parse(text)?;
    let mut operands: Vec<(String, Vec<Tensor>)> = Vec::new();
    for name in read.operands() {
        let given = &case["operands"][&name];
        let given = operand(case, given, result_format)?;
        operands.push((name, given));
    }
    let (expected, shape) = expectation(case, result_format)?;
    for choice in combinations(&operands) {
        let named: HashMap<String, Tensor> = choice.into_iter().collect();
        let call = named.iter().fold(einsum(text), |call, (name, t)| call.arg(name, t));
        let result = call.run()?;
        ensure(result.shape() == shape, || format!("the result has shape {:?}", result.shape()))?;
        for (place, wanted) in everywhere(&shape).iter().zip(&expected) {
            let found = as_f64(result.get(place)?)?;
            let near = (found - wanted).abs() <= 1e-12 * wanted.abs();
            ensure(near, || {
                let formats: Vec<String> =
                    named.values().map(|tensor| tensor.format().to_string()).collect();
                format!("{place:?} is {found}, not {wanted}, with {}", formats.join("; "))
            })?;
        }
    }
    Ok(())
}

/// One choice of a tensor for each name, all of them.
fn combinations(operands: &[(String, Vec<Tensor>)]) -> Vec<Vec<(String, Tensor)>> {
    operands.iter().fold(vec![Vec::new()], |heads, (name, tensors)| {
        heads
            .iter()
            .flat_map(|head| {
                tensors.iter().map(move |tensor| {
                    head.iter().cloned().chain([(name.clone(), tensor.clone())]).collect()
                })
            })
            .collect()
    })
}

/// The tensor of an operand, in each of the formats in which it is to be tried. The case itself
/// describes an operand that is not listed.
fn operand(case: &Value, given: &Value, result_format: &str) -> Result<Vec<Tensor>, Trouble> {
    let dtype = dtype_of(case)?;
    if given.is_null() {
        let coo = entries(&case["entries"], &shape_of(case)?, dtype)?;
        // Its own format may need what is not there; the numbers do not.
        return match format(result_format) {
            Ok(format) => Ok(vec![Tensor::from_coo(&coo, &format)?]),
            Err(_) => in_formats(&coo, &["Dense", "CSF", "COO"]),
        };
    }
    let shape = match given["shape"].is_null() {
        true => extents(&given["entries"], case)?,
        false => shape_of(given)?,
    };
    let coo = entries(&given["entries"], &shape, dtype)?;
    let Some(levels) = given["levels"].as_array() else { return in_formats(&coo, &EACH) };
    let order =
        integers(&given["mode_order"]).unwrap_or_else(|| (0..levels.len() as i64).collect());
    let levels: Vec<String> = levels
        .iter()
        .zip(order)
        .map(|(level, dim)| format!("{} : {}", DIMS[dim as usize], level.as_str().unwrap_or("?")))
        .collect();
    let text = format!("({}) -> ({})", DIMS[..shape.len()].join(", "), levels.join(", "));
    Ok(vec![Tensor::from_coo(&coo, &format(&text)?)?])
}

fn in_formats(coo: &Coo, names: &[&str]) -> Result<Vec<Tensor>, Trouble> {
    names
        .iter()
        .map(|name| {
            let format = super::read::format_of_rank(name, coo.shape.len())?;
            Ok(Tensor::from_coo(coo, &format)?)
        })
        .collect()
}

/// The shape of an operand that does not state it: the result's extent, the only one there is.
fn extents(entries: &Value, case: &Value) -> Result<Vec<usize>, Trouble> {
    let shape = shape_of(case)?;
    let rank = entries[0][0].as_array().map_or(0, Vec::len);
    match shape.last() {
        Some(&extent) => Ok(vec![extent; rank]),
        None => wrong("an operand without shape, of a result without shape"),
    }
}

/// The elements of the result, in row-major order, and its shape.
fn expectation(case: &Value, text: &str) -> Result<(Vec<f64>, Vec<usize>), Trouble> {
    let expected = &case["expected"];
    if let Some(list) = expected["result_a"].as_array() {
        return Ok((list.iter().filter_map(Value::as_f64).collect(), vec![list.len()]));
    }
    let (format, shape) = (format(text)?, shape_of(case)?);
    let tensor = Tensor::from_parts(&format, &shape, parts(&format, expected, Dtype::F64)?)?;
    let all = everywhere(&shape).iter().map(|place| as_f64(tensor.get(place)?)).collect();
    let all: Result<Vec<f64>, Trouble> = all;
    Ok((all?, shape))
}

fn as_f64(value: Scalar) -> Result<f64, Trouble> {
    match values_of(value.dtype(), &[value]).cast(Dtype::F64)?.get(0) {
        Some(Scalar::F64(number)) => Ok(number),
        _ => wrong(format!("{value} is no number")),
    }
}
