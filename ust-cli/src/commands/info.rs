//! `ust info`: a tensor in a few lines. With `--gpu`: `gpu.rs`.

use std::io::Write;

use serde_json::{Value, json};
use ust::Tensor;

use crate::args::Info;
use crate::failure::Failure;
use crate::output::Output;
use crate::{json, source, text};

pub(crate) fn run(args: &Info, out: &mut Output) -> Result<(), Failure> {
    let Some(tensor) = &args.tensor else { return super::gpu::run(args.json, out) };
    let composed = source::composed(tensor, args.shape.as_ref(), None, &args.reading)?;
    if let [tensor] = composed.parts() {
        return if args.json { out.json(&object(tensor)) } else { write(tensor, out) };
    }
    if args.json {
        let parts: Vec<Value> = composed.parts().iter().map(object).collect();
        return out.json(&json!({
            "shape": composed.shape(),
            "dtype": composed.dtype().name(),
            "formats": composed.formats(),
            "nse": composed.nse(),
            "nnz": composed.nnz(),
            "bytes": composed.bytes(),
            "parts": parts,
        }));
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
        write(part, out)?;
    }
    Ok(())
}

/// Cells of the logical tensor, for the density; `None` beyond 128 bits.
fn cells(tensor: &Tensor) -> Option<u128> {
    tensor.shape().iter().try_fold(1_u128, |product, &n| product.checked_mul(n as u128))
}

fn density(tensor: &Tensor, nnz: usize) -> Option<f64> {
    cells(tensor).filter(|&cells| cells > 0).map(|cells| nnz as f64 / cells as f64)
}

/// A tensor's summary, as `info` and others print it.
pub(crate) fn write(tensor: &Tensor, out: &mut Output) -> Result<(), Failure> {
    let nnz = tensor.nnz();
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

/// A share of one in percent, with at least two digits that count.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p >= 10.0 => format!("{p:.1} %"),
        p if p >= 0.001 => format!("{p:.4} %"),
        p => format!("{p:.1e} %"),
    }
}

fn object(tensor: &Tensor) -> Value {
    let nnz = tensor.nnz();
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
    json!({
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
    })
}
