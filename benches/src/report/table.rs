//! A table for each operation on each input.

use super::{Record, ratios};

/// Prints a group of records, which share all but format and contender. `bandwidths` has the bytes a
/// second that memory gives to so many threads.
pub(crate) fn print(group: &[Record], bandwidths: &[(usize, f64)]) {
    let Some(first) = group.first() else { return };
    let Record { op, text, input, source, entries, dtype, threads, .. } = first;
    println!("\n{op} on {input}, {dtype}, threads: {threads}");
    println!("{text}; {source}, {entries} entries");
    // The text of a format may be long.
    let wide = group.iter().map(|record| record.format.chars().count() + 2).fold(22, usize::max);
    println!(
        "{:<wide$}{:<18}{:>11}{:>21}{:>8}{:>8}{:>9}{:>8}{:>7}",
        "format", "contender", "median", "quartiles", "same", "any", "GFLOP/s", "GB/s", "of mem"
    );
    let bandwidth = bandwidths.iter().find(|(n, _)| n == threads).map(|&(_, b)| b);
    for record in group {
        let (format, contender) = (&record.format, record.entry.contender);
        if let Some(reason) = &record.entry.failed {
            println!("{format:<wide$}{contender:<18}  - {}", reason.lines().next().unwrap_or(""));
        }
        let (Some(median), Some((low, high))) = (record.entry.median(), record.entry.quartiles())
        else {
            continue;
        };
        let (same, any) = ratios(record, group);
        let ratio = |r: Option<f64>| r.map_or(String::new(), |r| format!("{r:.2}"));
        let rate = record.bytes as f64 / median;
        let share = bandwidth.map_or(String::new(), |b| format!("{:.0}%", 100.0 * rate / b));
        println!(
            "{format:<wide$}{contender:<18}{:>11}{:>21}{:>8}{:>8}{:>9.2}{:>8.2}{share:>7}",
            time(median),
            format!("{} .. {}", time(low), time(high)),
            ratio(same),
            ratio(any),
            record.flops / median / 1e9,
            rate / 1e9,
        );
    }
}

/// Seconds in the unit that suits them.
pub(crate) fn time(seconds: f64) -> String {
    let (scale, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    let number = seconds * scale;
    let digits = match number {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let cases =
            [(1.2345, "1.23 s"), (0.012_345, "12.3 ms"), (2e-4, "200 us"), (5e-9, "5.00 ns")];
        for (seconds, text) in cases {
            assert_eq!(time(seconds), text);
        }
    }
}
