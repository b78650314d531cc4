//! How much memory something takes.

use std::fs;

use ust::level_api::buffer::set_retained_limit;

/// What something gives, and how many bytes of memory it takes at most, besides what is in use before.
/// Memory that earlier work left behind is given back first.
///
/// # Errors
/// What it says itself; and where the system does not tell: only Linux does.
pub(crate) fn peak<R>(run: impl FnOnce() -> Result<R, String>) -> Result<(R, usize), String> {
    let limit = set_retained_limit(0);
    set_retained_limit(limit);
    // The highest mark becomes what is in use now.
    fs::write("/proc/self/clear_refs", "5").map_err(|e| format!("no memory is told of: {e}"))?;
    let before = field("VmRSS:")?;
    let made = run()?;
    Ok((made, field("VmHWM:")?.saturating_sub(before)))
}

/// A number of bytes that the system tells of this process.
fn field(name: &str) -> Result<usize, String> {
    let text = fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    number.map(|kib| kib * 1024).ok_or_else(|| format!("no `{name}` is told of this process"))
}
