//! The memory limit of an operation, where the caller gives none.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest default limit, in bytes, and the default where the available memory is unknown.
const MAX_DEFAULT_BYTES: u64 = 16 << 30;

/// Bytes that one operation may take by default: three quarters of the memory that was available at
/// the first call, at most 16 GiB, and at most what the process and its control group may allocate.
#[must_use]
pub fn default_limit() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let most = available_memory()
            .map_or(MAX_DEFAULT_BYTES, |bytes| (bytes / 4 * 3).min(MAX_DEFAULT_BYTES));
        granted(most)
    })
}

/// `most`, reduced by a quarter at a time until the process may allocate as many bytes.
fn granted(most: u64) -> u64 {
    let mut bytes = most;
    // The allocation is freed untouched.
    while !usize::try_from(bytes).is_ok_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok()) {
        bytes = bytes / 4 * 3;
    }
    bytes
}

/// Bytes of memory that the process could allocate now: the least of the available memory of the
/// machine and of the control groups of the process. `None` where the system has no files with
/// these numbers.
#[must_use]
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok();
    let line =
        text.as_deref().and_then(|t| t.lines().find_map(|l| l.strip_prefix("MemAvailable:")));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let free = kib.and_then(|kib| kib.checked_mul(1024));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = left_in_groups(Path::new("/sys/fs/cgroup"), &groups);
    free.into_iter().chain(left).min()
}

/// Bytes that the control groups of a process may still allocate: the least of all groups that its
/// `cgroup` file lists, and of their ancestors. Within a container, the root is the container's own
/// group.
fn left_in_groups(root: &Path, groups: &str) -> Option<u64> {
    // `0::/path` in the second version, `4:memory:/path` in the first.
    let each = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        match controllers {
            "" => Some((root.to_owned(), path, ["memory.max", "memory.current"])),
            of if of.split(',').any(|one| one == "memory") => {
                let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
                Some((root.join("memory"), path, files))
            }
            _ => None,
        }
    });
    let number = |folder: &Path, file: &str| -> Option<u64> {
        std::fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
    };
    let left = each.flat_map(|(root, path, [most, taken])| {
        let own: PathBuf = root.join(path);
        let around: Vec<PathBuf> =
            own.ancestors().take_while(|at| at.starts_with(&root)).map(Path::to_owned).collect();
        around.into_iter().filter_map(move |folder| {
            // A group without a limit says `max`.
            let most = number(&folder, most)?;
            Some(most.saturating_sub(number(&folder, taken).unwrap_or(0)))
        })
    });
    left.min()
}

/// A limit on the bytes that an operation holds at a time, over all threads.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    taken: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, taken: AtomicU64::new(0) }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes `bytes`, or all remaining bytes if fewer remain. Returns the number taken; `None`, and
    /// takes nothing, where fewer than `least` remain.
    pub(crate) fn take(&self, bytes: u64, least: u64) -> Option<u64> {
        let mut got = 0;
        let more = |taken: u64| {
            got = bytes.min(self.limit.saturating_sub(taken));
            (got >= least).then_some(taken + got)
        };
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then_some(got)
    }

    /// Takes `bytes`. Takes nothing and returns false where fewer remain.
    pub(crate) fn take_all(&self, bytes: u64) -> bool {
        self.take(bytes, bytes).is_some()
    }

    /// Returns bytes to the budget.
    pub(crate) fn give(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limit_is_something_and_bounded() {
        assert!(default_limit() > 0 && default_limit() <= MAX_DEFAULT_BYTES);
    }

    #[test]
    fn what_the_process_is_not_given_is_not_counted_on() {
        assert_eq!(granted(1 << 10), 1 << 10);
        assert!(granted(u64::MAX) < 1 << 48);
    }

    #[test]
    fn groups_leave_what_the_narrowest_of_them_leaves() {
        let root = tempfile::tempdir().unwrap();
        let write = |folder: &str, file: &str, text: &str| {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(file), text).unwrap();
        };
        let left = |groups: &str| left_in_groups(root.path(), groups);
        assert_eq!(left("0::/a/b\n"), None);
        write("a/b", "memory.max", "max\n");
        assert_eq!(left("0::/a/b\n"), None);
        write("a", "memory.max", "5000\n");
        write("a", "memory.current", "1500\n");
        assert_eq!(left("0::/a/b\n"), Some(3500));
        write("a/b", "memory.max", "2000\n");
        assert_eq!(left("0::/a/b\n"), Some(2000));
        write("a/b", "memory.current", "2400\n");
        assert_eq!(left("0::/a/b\n"), Some(0));
        assert_eq!(left("0::/other\n"), None);
        write("memory/c", "memory.limit_in_bytes", "700\n");
        write("memory/c", "memory.usage_in_bytes", "100\n");
        assert_eq!(left("9:cpu:/c\n4:memory,hugetlb:/c\n"), Some(600));
        // The root of a container.
        write("", "memory.max", "900\n");
        assert_eq!(left("0::/\n"), Some(900));
    }

    #[test]
    fn a_budget_is_shared_and_never_exceeded() {
        let budget = Budget::new(100);
        assert_eq!(budget.take(70, 70), Some(70));
        assert_eq!(budget.take(70, 40), None);
        assert_eq!(budget.take(70, 20), Some(30));
        assert!(!budget.take_all(1) && budget.take_all(0));
        budget.give(30);
        assert!(budget.take_all(30));
    }
}
