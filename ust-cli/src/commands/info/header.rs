//! What the header of a file says.

use std::io::Write;

use serde_json::{Value, json};
use ust::io::{About, ArrayHeader};

use crate::failure::Failure;
use crate::output::Output;
use crate::text;

/// A header in lines.
pub(super) fn write(about: &About, out: &mut Output) -> Result<(), Failure> {
    let shape = about.shape.as_ref().map(|shape| text::shape(shape));
    let mut rows = vec![
        [
            "shape".to_owned(),
            shape.unwrap_or_else(|| "not stated: it follows from the entries".to_owned()),
        ],
        ["dtype".to_owned(), about.dtype.map_or("not stated", |dtype| dtype.name()).to_owned()],
    ];
    let mut row = |name: &str, what: String| rows.push([name.to_owned(), what]);
    if let Some(format) = &about.format {
        row("format", format.clone());
    }
    if about.pattern {
        row("values", "one value for all entries: 1".to_owned());
    }
    let implied = match about.symmetry {
        Some(symmetry) => format!(", one side of a {symmetry} matrix"),
        None => String::new(),
    };
    if let Some(stored) = about.stored {
        row("stored", text::grouped(stored.into()) + &implied);
    }
    row("file", text::bytes(about.bytes as usize));
    row("read", "the header alone: --full reads the entries".to_owned());
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    write!(out, "{}", text::table(&rows))?;
    if !about.arrays.is_empty() {
        let mut rows = vec![["ARRAY", "SHAPE", "STORED AS"].map(str::to_owned).to_vec()];
        rows.extend(about.arrays.iter().map(|array| {
            let dtype = array.dtype.map_or("text", |dtype| dtype.name());
            vec![array.name.clone(), extents(array), dtype.to_owned()]
        }));
        write!(out, "\n{}", text::table(&rows))?;
    }
    Ok(())
}

fn extents(array: &ArrayHeader) -> String {
    let extents: Vec<String> = array.shape.iter().map(|&n| text::grouped(n as u128)).collect();
    extents.join(" x ")
}

/// A header as an object.
pub(super) fn object(about: &About) -> Value {
    let arrays: Vec<Value> = about
        .arrays
        .iter()
        .map(|array| {
            json!({
                "name": array.name, "shape": array.shape, "stored_as": array.dtype.map(ust::Dtype::name),
            })
        })
        .collect();
    json!({
        "shape": about.shape,
        "dtype": about.dtype.map(ust::Dtype::name),
        "format": about.format,
        "stored": about.stored,
        "symmetry": about.symmetry,
        "pattern": about.pattern,
        "file_bytes": about.bytes,
        "arrays": arrays,
    })
}
