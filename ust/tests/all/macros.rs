//! `ust::format!` where it is used.
#![cfg(feature = "macros")]

use ust::Format;

/// Called often, from one place.
fn blocks() -> Format {
    ust::format!("BSR(2, 3)")
}

/// A static in a generic function is one for all types.
fn generic<T>(_: T) -> Format {
    ust::format!("#sparse_tensor.encoding<{ map = (i) -> (i : compressed), posWidth = 8 }>")
}

mod renamed {
    pub(super) use ust as sparse;
    pub(super) use ust::format as checked;
}

#[test]
fn the_macro_gives_what_parsing_gives() {
    for (made, text) in [
        (ust::format!("(i, j) -> (i : dense, j : compressed)"), "CSR"),
        (blocks(), "BSR(2, 3)"),
        (blocks(), "BSR(2, 3)"),
        (generic(1), "SparseVector, posWidth = 8"),
        (generic("1"), "SparseVector, posWidth = 8"),
        (ust::format!("2:4, crdWidth = 2"), "2:4, crdWidth = 2"),
        (ust::format!("(i)\n\t-> (i : \x64ense)"), "DenseVector"),
        (ust::format!(r#"CSR"#,), "CSR"),
    ] {
        assert_eq!(made, text.parse().expect(text));
    }
}

#[test]
fn the_crate_and_the_macro_may_have_other_names() {
    use renamed::{checked, sparse};
    assert_eq!(sparse::format!("CSC"), checked!("CSC"));
}

#[test]
fn a_string_literal_of_another_macro_will_do() {
    macro_rules! both {
        ($text:literal) => {
            (ust::format!($text), $text.parse::<Format>())
        };
    }
    let (checked, parsed) = both!("DCSR");
    assert_eq!(Ok(checked), parsed);
}

#[test]
fn a_level_type_that_nobody_links_is_refused_when_the_call_runs() {
    let refused = std::panic::catch_unwind(|| ust::format!("(i) -> (i : octree)", extern octree));
    let message = *refused.unwrap_err().downcast::<String>().expect("a message");
    assert_eq!(message, "(i) -> (i : octree)".parse::<Format>().unwrap_err().to_string());
}
