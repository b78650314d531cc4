//! A JSON object a line: first what there is to know of the run, then every record.

use serde_json::{Value, json};

use super::{Record, ratios};

/// The first line.
pub(crate) fn head(run: &Value) -> String {
    format!("{}\n", json!({ "run": run }))
}

/// Every record.
pub(crate) fn lines(records: &[Record]) -> String {
    let line = |record: &Record| {
        let (same, any) = ratios(record, records);
        let entry = &record.entry;
        let quartiles = entry.quartiles();
        let row = json!({
            "op": record.op, "expression": record.text,
            "input": record.input, "source": record.source, "entries": record.entries,
            "format": record.format, "dtype": record.dtype, "threads": record.threads,
            "contender": entry.contender,
            "median": entry.median(), "q1": quartiles.map(|q| q.0), "q3": quartiles.map(|q| q.1),
            "seconds": entry.seconds, "error": entry.error,
            "flops": record.flops, "bytes": record.bytes,
            "ratio_same_format": same, "ratio_any_format": any,
            "failed": entry.failed,
        });
        format!("{row}\n")
    };
    records.iter().map(line).collect()
}
