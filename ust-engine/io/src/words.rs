//! The number of tokens that a line must have.

use super::text::{Fault, Line};

/// The tokens of an entry: a coordinate for each dimension, then the parts of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    /// Number of coordinates.
    pub(super) rank: usize,
    /// For each token of the value, its name in messages.
    pub(super) value: &'static [&'static str],
    /// The name of the line in messages, such as `an entry`.
    pub(super) of: &'static str,
}

impl Words {
    /// The fault of a line with more or fewer tokens: at the first token too many, or at the end of the
    /// line. It takes precedence over a malformed token: a missing token shifts the ones after it.
    pub(super) fn fault(&self, line: &Line<'_>) -> Option<Fault> {
        let expected = self.rank + self.value.len();
        let mut words = line.clone().words();
        let (mut found, mut end, mut beyond) = (0, line.at(), None);
        for word in &mut words {
            if found == expected {
                beyond = Some(word);
            }
            (found, end) = (found + 1, word.at + word.bytes.len());
        }
        let plural = if found == 1 { "" } else { "s" };
        let both = format!("it has {found} word{plural}, {} has {expected}", self.of);
        if let Some(word) = beyond {
            return Some(word.fault(format!("`{word}` is one word too many in this line: {both}")));
        }
        if found == expected {
            return None;
        }
        let missing = found.checked_sub(self.rank).map_or("coordinates", |at| self.value[at]);
        Some(Fault::new(end, format!("the line ends before its {missing}: {both}")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::text::Lines;
    use super::*;

    #[test]
    fn lines_of_more_or_fewer_words_say_so_at_the_place() {
        let complex =
            Words { rank: 2, value: &["real part", "imaginary part"], of: "the first entry" };
        for (text, expected) in [
            ("1 2 3 4", None),
            ("1 2 3 4 # 5", None),
            ("1 2 3.5 4 5 6", Some("11: `5` is one word too many in this line: it has 6 words")),
            ("1", Some("2: the line ends before its coordinates: it has 1 word, the first")),
            ("1 2", Some("4: the line ends before its real part: it has 2 words, the first")),
            (" 1 x 3 # 4", Some("7: the line ends before its imaginary part: it has 3 words")),
        ] {
            let line = Lines::new(text.as_bytes(), 0..text.len(), b"#").next().unwrap();
            let found = complex.fault(&line).map(|fault| {
                assert!(fault.reason.ends_with("the first entry has 4"), "{}", fault.reason);
                fault.locate(Path::new("t"), text.as_bytes()).to_string()
            });
            match (&found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) => {
                    assert!(found.starts_with(&format!("t:1:{expected}")), "{found}");
                }
                _ => panic!("{text}: {found:?}"),
            }
        }
    }
}
