//! Medians in a file, and what has become slower since.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};

use super::Record;
use super::table::time;

/// Compares two baselines; ends with 1 where something has become slower.
#[derive(Args)]
pub(crate) struct Compare {
    /// The baseline before, from `matrix --save`.
    old: PathBuf,
    /// The baseline now.
    new: PathBuf,
    /// How many times the time before counts as slower.
    #[arg(long, default_value_t = 1.1)]
    threshold: f64,
    /// Compare every contender, not this project alone.
    #[arg(long)]
    all: bool,
}

/// The medians, by what they are medians of.
pub(crate) fn text(records: &[Record]) -> String {
    let medians: Map<String, Value> = records
        .iter()
        .filter_map(|record| Some((record.key(), record.entry.median()?.into())))
        .collect();
    format!("{:#}\n", Value::Object(medians))
}

/// The medians of a file's text.
pub(crate) fn read(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let object = value.as_object().ok_or("a baseline is an object of medians")?;
    let median = |(key, value): (&String, &Value)| Some((key.clone(), value.as_f64()?));
    Ok(object.iter().filter_map(median).collect())
}

/// What takes more than `threshold` times as long, as key, before and now.
pub(crate) fn slower(
    old: &BTreeMap<String, f64>,
    new: &BTreeMap<String, f64>,
    threshold: f64,
) -> Vec<(String, f64, f64)> {
    let mut found: Vec<_> = new
        .iter()
        .filter_map(|(key, &now)| Some((key.clone(), *old.get(key)?, now)))
        .filter(|&(_, before, now)| now > threshold * before)
        .collect();
    found.sort_by(|a, b| (b.2 / b.1).total_cmp(&(a.2 / a.1)));
    found
}

/// Runs the command; whether nothing is slower.
pub(crate) fn run(args: &Compare) -> Result<bool, Box<dyn std::error::Error>> {
    let mut old = read(&std::fs::read_to_string(&args.old)?)?;
    let new = read(&std::fs::read_to_string(&args.new)?)?;
    old.retain(|key, _| args.all || key.contains("| ust"));
    let shared: Vec<f64> = new.iter().filter_map(|(k, now)| Some(now / old.get(k)?)).collect();
    let worse = slower(&old, &new, args.threshold);
    for (key, before, now) in &worse {
        println!("{:>6.2}x  {:>10} -> {:<10}  {key}", now / before, time(*before), time(*now));
    }
    let mean = (shared.iter().map(|r| r.ln()).sum::<f64>() / shared.len().max(1) as f64).exp();
    println!(
        "{} compared, {} slower, {mean:.3} times as long on the mean",
        shared.len(),
        worse.len()
    );
    Ok(worse.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{read, slower};

    #[test]
    fn only_what_exceeds_the_threshold_is_slower() {
        let old = read(r#"{"a": 1.0, "b": 1.0, "gone": 1.0}"#).unwrap();
        let new = read(r#"{"a": 1.05, "b": 1.2, "new": 9.0}"#).unwrap();
        assert_eq!(slower(&old, &new, 1.1), [("b".to_owned(), 1.0, 1.2)]);
    }
}
