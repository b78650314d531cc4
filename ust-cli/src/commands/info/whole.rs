//! A tensor whose entries were read.

use std::io::Write;

use serde_json::{Value, json};
use ust::advise::{Structure, structure};
use ust::{Composed, Tensor};

use crate::failure::Failure;
use crate::output::Output;
use crate::{json, text};

/// A tensor in lines.
pub(super) fn write(composed: &Composed, full: bool, out: &mut Output) -> Result<(), Failure> {
    if let [tensor] = composed.parts() {
        return write_one(tensor, full, out);
    }
    let rows = [
        ["shape", &text::shape(composed.shape())],
        ["dtype", composed.dtype().name()],
        ["formats", &composed.formats()],
        ["nse", &text::grouped(composed.nse() as u128)],
        ["nnz", &text::grouped(composed.nnz() as u128)],
        ["memory", &text::bytes(composed.bytes())],
    ];
    let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
    write!(out, "{}", text::table(&rows))?;
    for (at, part) in composed.parts().iter().enumerate() {
        writeln!(out, "\npart {at}")?;
        write_one(part, full, out)?;
    }
    Ok(())
}

/// A tensor as an object.
pub(super) fn object(composed: &Composed, full: bool) -> Result<Value, Failure> {
    if let [tensor] = composed.parts() {
        return object_of_one(tensor, full);
    }
    let parts: Result<Vec<Value>, Failure> =
        composed.parts().iter().map(|part| object_of_one(part, full)).collect();
    Ok(json!({
        "shape": composed.shape(),
        "dtype": composed.dtype().name(),
        "formats": composed.formats(),
        "nse": composed.nse(),
        "nnz": composed.nnz(),
        "bytes": composed.bytes(),
        "parts": parts?,
    }))
}

/// Tensors that store more are looked at entry by entry if somebody asks for it.
const MANY: usize = 1 << 22;

/// What its entries say, where that is asked for, or quick.
fn structure_of(tensor: &Tensor, full: bool) -> Result<Option<Structure>, Failure> {
    Ok((full || tensor.nse() <= MANY).then(|| structure(tensor)).transpose()?)
}

/// Cells of the logical tensor, for the density; `None` beyond 128 bits.
fn cells(tensor: &Tensor) -> Option<u128> {
    tensor.shape().iter().try_fold(1_u128, |product, &n| product.checked_mul(n as u128))
}

fn density(tensor: &Tensor, nnz: usize) -> Option<f64> {
    cells(tensor).filter(|&cells| cells > 0).map(|cells| nnz as f64 / cells as f64)
}

fn write_one(tensor: &Tensor, full: bool, out: &mut Output) -> Result<(), Failure> {
    let nnz = tensor.nnz();
    let structure = structure_of(tensor, full)?;
    let share = match density(tensor, nnz) {
        Some(density) if nnz > 0 => format!(" ({} of all cells)", percent(density)),
        _ => String::new(),
    };
    let mut rows = vec![
        ["shape", &text::shape(tensor.shape())].map(str::to_owned),
        ["dtype", tensor.dtype().name()].map(str::to_owned),
        ["format", &tensor.format().to_string()].map(str::to_owned),
    ];
    if let Some(name) = tensor.format().name() {
        rows.push(["name", &name].map(str::to_owned));
    }
    if let Some(value) = tensor.iso_value() {
        rows.push(["values", &format!("one value for all entries: {value}")].map(str::to_owned));
    }
    rows.extend([
        ["nse", &text::grouped(tensor.nse() as u128)].map(str::to_owned),
        ["nnz", &(text::grouped(nnz as u128) + &share)].map(str::to_owned),
        ["fill", &tensor.fill().to_string()].map(str::to_owned),
        ["memory", &text::bytes(tensor.bytes())].map(str::to_owned),
    ]);
    if let Some(structure) = &structure {
        rows.extend(lines(tensor, structure));
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    write!(out, "{}", text::table(&rows))?;

    let mut rows =
        vec![["LEVEL", "SIZE", "ARRAY", "LENGTH", "STORED AS"].map(str::to_owned).to_vec()];
    for (dim, spec) in tensor.format().dims().iter().enumerate() {
        if let Some(order) = tensor.order(dim) {
            let length = text::grouped(order.len() as u128);
            let title = format!("{} : sorted", spec.name);
            rows.push(vec![
                title,
                length.clone(),
                "order".to_owned(),
                length,
                order.kind().to_string(),
            ]);
        }
    }
    for (level, (domain, arrays)) in tensor.bound().levels().iter().zip(tensor.levels()).enumerate()
    {
        let title = [tensor.format().level_text(level), text::grouped(domain.size.into())];
        let specs = tensor.format().levels()[level].ty.describe().arrays;
        let mut facts = specs.iter().zip(&arrays.0).map(|(spec, array)| {
            let length = text::grouped(array.len() as u128);
            [spec.name.to_owned(), length, array.kind().to_string()]
        });
        rows.push([&title[..], &facts.next().unwrap_or_default()].concat());
        rows.extend(facts.map(|facts| [&[String::new(), String::new()][..], &facts].concat()));
    }
    let length = match tensor.is_iso() {
        true => "1".to_owned(),
        false => text::grouped(tensor.nse() as u128),
    };
    let values = ["", "", "values", &length, tensor.dtype().name()];
    rows.push(values.map(str::to_owned).to_vec());
    Ok(write!(out, "\n{}", text::table(&rows))?)
}

/// What the entries say, in lines.
fn lines(tensor: &Tensor, structure: &Structure) -> Vec<[String; 2]> {
    let count = |number: u64| text::grouped(number.into());
    let mut rows = Vec::new();
    for (dim, numbers) in structure.dims.iter().enumerate() {
        let name = match (structure.matrix.is_some(), dim) {
            (true, 0) => "rows".to_owned(),
            (true, _) => "columns".to_owned(),
            (false, _) => format!("along {}", tensor.format().dims()[dim].name),
        };
        let [min, median, max, empty] =
            [numbers.min, numbers.median, numbers.max, numbers.empty].map(count);
        let what = format!("{min} to {max} entries, median {median}, {empty} without any");
        rows.push([name, what]);
    }
    let Some(matrix) = &structure.matrix else { return rows };
    let &[rows_of, columns_of] = tensor.shape() else { return rows };
    rows.push(["symmetry".to_owned(), matrix.symmetry.name().to_owned()]);
    let (below, above) = matrix.bandwidth;
    let what = format!("{} below the diagonal, {} above it", count(below), count(above));
    rows.push(["bandwidth".to_owned(), what]);
    let stored = format!(
        "{} of {} elements are not zero",
        count(matrix.diagonal),
        text::grouped(rows_of.min(columns_of) as u128)
    );
    let dominant = match matrix.dominant {
        Some(dominant) if dominant == rows_of as u64 => ", dominant in every row".to_owned(),
        Some(dominant) => format!(", dominant in {} rows", count(dominant)),
        None => String::new(),
    };
    rows.push(["diagonal".to_owned(), stored + &dominant]);
    rows
}

fn structure_object(structure: &Structure) -> Value {
    let dims: Vec<Value> = structure
        .dims
        .iter()
        .map(|n| json!({ "min": n.min, "median": n.median, "max": n.max, "empty": n.empty }))
        .collect();
    let matrix = structure.matrix.map(|matrix| {
        json!({
            "symmetry": matrix.symmetry.name(),
            "bandwidth": [matrix.bandwidth.0, matrix.bandwidth.1],
            "diagonal": matrix.diagonal,
            "dominant": matrix.dominant,
        })
    });
    json!({ "dims": dims, "matrix": matrix })
}

/// A share of one in percent, with at least two digits that count.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p >= 10.0 => format!("{p:.1} %"),
        p if p >= 0.001 => format!("{p:.4} %"),
        p => format!("{p:.1e} %"),
    }
}

fn object_of_one(tensor: &Tensor, full: bool) -> Result<Value, Failure> {
    let nnz = tensor.nnz();
    let structure = structure_of(tensor, full)?;
    let levels: Vec<Value> = tensor
        .bound()
        .levels()
        .iter()
        .zip(tensor.levels())
        .zip(tensor.format().levels())
        .map(|((domain, arrays), level)| {
            let description = level.ty.describe();
            let arrays: Vec<Value> = description
                .arrays
                .iter()
                .zip(&arrays.0)
                .map(|(spec, array)| {
                    json!({
                        "name": spec.name, "length": array.len(),
                        "stored_as": array.kind().to_string(), "bytes": array.bytes(),
                    })
                })
                .collect();
            json!({ "type": description.text, "size": domain.size, "arrays": arrays })
        })
        .collect();
    Ok(json!({
        "shape": tensor.shape(),
        "dtype": tensor.dtype().name(),
        "format": tensor.format().to_string(),
        "fill": json::value(tensor.fill()),
        "nse": tensor.nse(),
        "nnz": nnz,
        "iso": tensor.iso_value().map(json::value),
        "density": density(tensor, nnz),
        "bytes": tensor.bytes(),
        "levels": levels,
        "structure": structure.as_ref().map(structure_object),
    }))
}
