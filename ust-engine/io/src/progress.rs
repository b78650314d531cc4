//! A progress bar on a terminal.

use std::io::IsTerminal;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

/// Smaller inputs are read before a bar could be seen.
const LARGE: u64 = 16 << 20;

/// A progress bar over bytes, or none.
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    /// No bar.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// A bar on standard error, if it is wanted, standard error is a terminal, and the input is large.
    pub(super) fn over(bytes: u64, path: &Path, wanted: bool) -> Self {
        if !wanted || bytes < LARGE || !std::io::stderr().is_terminal() {
            return Self::none();
        }
        let bar = ProgressBar::new(bytes);
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let name = path.file_name().unwrap_or(path.as_os_str());
        bar.set_message(name.to_string_lossy().into_owned());
        Self(Some(bar))
    }

    /// Advances the bar. Any thread may call this.
    pub(super) fn advance(&self, bytes: usize) {
        if let Some(bar) = &self.0 {
            bar.inc(bytes as u64);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
