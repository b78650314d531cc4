//! How much memory one tensor may take, unless its caller says.

use std::sync::OnceLock;

/// The default where nothing is known about the machine, and the most in any case.
const MOST: u64 = 16 << 30;

/// Bytes that one tensor may take by default: three quarters of the memory that was available when
/// this was first asked, where the system tells, never more than 16 GiB, and no more than the process
/// is given.
#[must_use]
pub fn default_limit() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let most = available_memory().map_or(MOST, |bytes| (bytes / 4 * 3).min(MOST));
        granted(most)
    })
}

/// The most of so many bytes that the process is given where it has a limit of its own, down to
/// three quarters at a time.
fn granted(most: u64) -> u64 {
    let mut bytes = most;
    // Asked for and given back untouched.
    while !usize::try_from(bytes).is_ok_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok()) {
        bytes = bytes / 4 * 3;
    }
    bytes
}

/// Memory in bytes that the system could give to programs now; `None` where it has no file that says so.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limit_is_something_and_bounded() {
        assert!(default_limit() > 0 && default_limit() <= MOST);
    }

    #[test]
    fn what_the_process_is_not_given_is_not_counted_on() {
        assert_eq!(granted(1 << 10), 1 << 10);
        assert!(granted(u64::MAX) < 1 << 48);
    }
}
