//! Which machine this is, as far as the system tells: no name, no address, no path.

use std::fs::read_to_string;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Processor, cores, bytes of memory, and system. What is not told is null.
pub(crate) fn machine() -> Value {
    let processor = field("/proc/cpuinfo", "model name");
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| {
        let kib: u64 = text.split_whitespace().next()?.parse().ok()?;
        kib.checked_mul(1024)
    });
    json!({
        "processor": processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        "cores": std::thread::available_parallelism().ok().map(usize::from),
        "memory": memory,
        "system": system(),
    })
}

/// What stands behind the first `name` of a file of names and values.
fn field(file: &str, name: &str) -> Option<String> {
    let text = read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once([':', '='])?.1.trim().trim_matches('"').to_owned())
}

fn system() -> String {
    let name = field("/etc/os-release", "PRETTY_NAME");
    let name = name.unwrap_or_else(|| std::env::consts::OS.to_owned());
    match read_to_string("/proc/sys/kernel/osrelease") {
        Ok(kernel) => format!("{name}, kernel {}", kernel.trim()),
        Err(_) => name,
    }
}

/// The time now, as `2026-01-31 23:59 UTC`.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs())
}

/// Seconds since 1970 as a date. Days are counted from 1 March of year 0, so that leap days end a year.
fn date(seconds: u64) -> String {
    let (days, seconds) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + next;
    let (hour, minute) = (seconds / 3_600, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_know_leap_years() {
        // As of `date --utc --date=@SECONDS`.
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }
}
