//! One level of a format, as text.

use super::expr::Spelling;
use super::model::Format;

impl Format {
    /// A level as it is written in the format, such as `j / 3 : compressed`.
    ///
    /// # Panics
    /// If there is no such level.
    #[must_use]
    pub fn level_text(&self, level: usize) -> String {
        let expr = self.levels()[level].expr.display(&self.axis_names(), Spelling::Ust);
        format!("{expr} : {}", self.descriptions()[level].text)
    }
}
