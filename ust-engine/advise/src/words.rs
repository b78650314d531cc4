//! What the numbers mean, in words.

use ust_format::Format;
use ust_level_api::stats::TensorStats;

use super::predict::{Prediction, ValueBytes};
use super::{Measured, Origin, Row};

/// What a format stores for each entry.
pub(super) fn reason(
    format: &Format,
    prediction: &Prediction,
    measured: Option<&Measured>,
    (stats, values): (&TensorStats, ValueBytes),
) -> String {
    let entries = stats.entries.max(1) as f64;
    let (stored, bytes) = match measured {
        Some(measured) => (measured.stored as f64, measured.bytes as f64),
        None => (prediction.stored, prediction.bytes),
    };
    let indices = (bytes - stored * values.of(format) as f64).max(0.0) / entries;
    let each = stored / entries;
    let values = match each {
        each if each <= 1.005 && format.tail() < format.level_count() => "no padding".to_owned(),
        each if each <= 1.005 => "one value an entry".to_owned(),
        each if each < 10.0 => format!("{:.0} % padding", 100.0 * (1.0 - 1.0 / each)),
        each => format!("{each:.0} values an entry"),
    };
    let indices = match indices {
        none if none < 0.005 => "no coordinates to read".to_owned(),
        few if few < 10.0 => format!("{few:.2} bytes of coordinates an entry"),
        many => format!("{many:.0} bytes of coordinates an entry"),
    };
    format!("{values}, {indices}")
}

/// Why the best is the best.
pub(super) fn summary(best: &Row, now: &Row) -> String {
    let (Some(won), Some(has)) = (best.measured, now.measured) else { return best.reason.clone() };
    if best.origin == Origin::Now {
        let shared = "nothing that was measured is faster than what it is stored in now";
        return format!("{shared}: {}", best.reason);
    }
    let times = has.seconds / won.seconds;
    let pays = match best.break_even {
        Some(uses) if uses.is_finite() => {
            format!("; converting pays after {} uses", uses.ceil().max(1.0))
        }
        _ => String::new(),
    };
    format!("{}; {times:.2} times as fast as {}{pays}", best.reason, now.text)
}

/// Why a format was not tried.
pub(super) fn too_large(bytes: f64, limit: u64) -> String {
    format!(
        "it would take about {}, and the memory limit is {}",
        in_bytes(bytes),
        in_bytes(limit as f64)
    )
}

fn in_bytes(bytes: f64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.max(1.0).log2() / 10.0).floor().clamp(0.0, 6.0);
    format!("{:.1} {}", bytes / (10.0 * unit).exp2(), units[unit as usize])
}
