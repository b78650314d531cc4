//! A page with pictures.

use super::Record;

/// The page.
pub(crate) fn page(_records: &[Record], _bandwidths: &[(usize, f64)]) -> String {
    String::new()
}
