//! What is wrong with format text, in the words of the engine's parser.

use ust_format::Format;

/// What the compiler says about format text in which the level types `outside` belong to crates
/// that are not linked here; `None` where nothing is wrong.
pub(crate) fn complaint(text: &str, outside: &[&str]) -> Option<String> {
    let error = Format::check(text, outside).err()?;
    let mut message = error.to_string();
    // A word that would do as another crate's level type is an unknown level type.
    let word = &text[error.span()];
    let allowed = [outside, &[word]].concat();
    if is_name(word) && Format::check(text, &allowed).err().as_ref() != Some(&error) {
        message += &format!("\nhelp: for a level type of another crate, add `extern {word}`");
    }
    if text.contains('{') && !text.contains("->") {
        message += "\nhelp: this is `ust::format!`; for a `String` write `std::format!`";
    }
    Some(message)
}

/// Whether the text says this name at all.
pub(crate) fn says(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
}

fn is_name(word: &str) -> bool {
    syn::parse_str::<syn::Ident>(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_format_is_accepted() {
        for text in [
            "(i, j) -> (i : dense, j : compressed)",
            "(i, j) -> (j - i : compressed, i : range), posWidth = 32, crdWidth = 16",
            "#sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>",
            "BSR(2, 3)",
            "2:4",
            "COO(5), posWidth = 8",
        ] {
            assert_eq!(complaint(text, &[]), None, "{text}");
        }
    }

    #[test]
    fn every_named_format_is_accepted() {
        for format in ust_format::named::named() {
            assert_eq!(complaint(format.example, &[]), None, "{}", format.example);
        }
    }

    #[test]
    fn the_parsers_own_message_is_given_with_caret_and_help() {
        for (text, message) in [
            (
                "(i, j) -> (i : dense, i : dense)",
                "no level stores dimension `j`
  (i, j) -> (i : dense, i : dense)
      ^
help: add a level for `j`",
            ),
            (
                "(i) -> (i / 2 : dense)",
                "the levels do not determine `i`: `i % 2` is missing
  (i) -> (i / 2 : dense)
          ^~~~~
help: add a level that stores `i % 2`",
            ),
            (
                "CRS",
                "unknown format `CRS`
  CRS
  ^~~
help: did you mean `CSR`?",
            ),
            (
                "(i) -> (i : compressed(nonunqiue))",
                "`compressed` does not take `nonunqiue`
  (i) -> (i : compressed(nonunqiue))
                         ^~~~~~~~~
help: did you mean `nonunique`?",
            ),
        ] {
            assert_eq!(complaint(text, &[]).as_deref(), Some(message));
        }
    }

    #[test]
    fn an_unknown_level_type_may_be_somebody_elses() {
        assert_eq!(
            complaint("(i, j) -> (i : dense, j : compresed)", &[]).as_deref(),
            Some(
                "unknown level type `compresed`
  (i, j) -> (i : dense, j : compresed)
                            ^~~~~~~~~
help: did you mean `compressed`? If another crate has `compresed`, link it: a dependency in Cargo.toml, and `use that_crate as _;`
help: for a level type of another crate, add `extern compresed`"
            )
        );
        assert_eq!(complaint("(i, j) -> (i : dense, j : octree(4))", &["octree"]), None);
    }

    #[test]
    fn around_a_level_type_of_another_crate_everything_is_checked() {
        for (text, message) in [
            ("(i, j) -> (i : octree, j : compresed)", "unknown level type `compresed`"),
            ("(i, j) -> (i : octree)", "no level stores dimension `j`"),
            ("(i) -> (i / 2 : octree)", "the levels do not determine `i`"),
            ("(i, j) -> (i : octree, j : dense(4))", "`dense` does not take `4`"),
            ("(i, j) -> (i : octree, j : dense), posWidth = 7", "posWidth = 7: no such width"),
            ("(i, j) -> (i : octree; j : dense)", "expected `,` or `)` after the level"),
            ("(i, octree) -> (i : octree, hashes : dense)", "unknown dimension `hashes`"),
            (
                "(i, j, k) -> (i : octree, j : compressed, k : singleton)",
                "`singleton` cannot stand here",
            ),
        ] {
            let found = complaint(text, &["octree"]).expect(text);
            assert!(found.starts_with(message), "{text}: {found}");
        }
        // What the neighbour above is like is not known.
        assert_eq!(complaint("(i, j) -> (i : octree, j : singleton)", &["octree"]), None);
    }

    #[test]
    fn whoever_wanted_a_string_is_told_so() {
        let found = complaint("{x} of {y}", &[]).expect("no format");
        assert!(found.ends_with("for a `String` write `std::format!`"), "{found}");
    }
}
