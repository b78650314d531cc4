//! Writing entries as a Matrix Market text.

use std::io::{self, Write};

use ust_engine::Coo;
use ust_engine::tensor::Values;
use ust_level_api::with_dtype;

use super::super::write_entries::write_entries;

/// Writes the header, then the entries in the given order.
pub(super) fn matrix(out: &mut dyn Write, coo: &Coo) -> io::Result<()> {
    let (rows, columns) = match coo.shape[..] {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => {
            let reason = format!("Matrix Market holds matrices, not rank {}", coo.shape.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
    };
    let field = field(&coo.values);
    writeln!(out, "%%MatrixMarket matrix coordinate {field} general")?;
    writeln!(out, "{rows} {columns} {}", coo.len())?;
    let after = if coo.shape.len() == 1 { " 1" } else { "" };
    with_dtype!(coo.values.dtype(), T => {
        let values = coo.values.expanded();
        let values = values.typed::<T>().map_err(io::Error::other)?;
        write_entries(out, &coo.crd, after, values)
    })
}

/// The field that holds the values without loss.
fn field(values: &Values) -> &'static str {
    match values {
        Values::U64(values) if values.iter().any(|&v| i64::try_from(v).is_err()) => {
            "unsigned-integer"
        }
        _ if values.dtype().is_complex() => "complex",
        _ if values.dtype().is_float() => "real",
        _ => "integer",
    }
}
