//! Format text that the compiler checks.

/// A [`Format`](crate::Format) from text that is checked when the program is compiled.
///
/// Everything that can be said of a format without a shape is checked then: grammar, names,
/// level types and their arguments and places, whether the map can be inverted, widths. What is
/// wrong is a compile error with the parser's own message.
///
/// ```
/// let csr = ust::format!("(i, j) -> (i : dense, j : compressed)");
/// assert_eq!(csr, "CSR".parse()?);
/// let blocks = ust::format!("BSR(2, 3), posWidth = 32");
/// assert_eq!(blocks.bind(&[5, 9])?.levels()[0].size, 3);
/// # Ok::<(), ust::format::FormatError>(())
/// ```
///
/// A typing error does not compile:
///
/// ```compile_fail
/// let csr = ust::format!("(i, j) -> (i : dense, j : compresed)");
/// ```
///
/// ```text
/// error: unknown level type `compresed`
///          (i, j) -> (i : dense, j : compresed)
///                                    ^~~~~~~~~
///        help: did you mean `compressed`? If another crate has `compresed`, link it: a
///              dependency in Cargo.toml, and `use that_crate as _;`
///        help: for a level type of another crate, add `extern compresed`
///  --> src/main.rs:2:28
///   |
/// 2 |     let csr = ust::format!("(i, j) -> (i : dense, j : compresed)");
///   |                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
/// ```
///
/// # Level types of other crates
///
/// The compiler knows the standard level types. Others are named after `extern`; what depends on
/// them (their arguments, their place, the place of the level directly below) is checked when the
/// call first runs, everything else is still checked by the compiler:
///
/// ```no_run
/// // use octree_level as _;
/// let format = ust::format!("(i, j) -> (i : dense, j : octree(4))", extern octree);
/// ```
///
/// ```compile_fail
/// let no_level_stores_j = ust::format!("(i, j) -> (i : octree(4))", extern octree);
/// ```
///
/// # Panics
/// With the parser's message, when a level type named after `extern` is not linked or refuses its
/// arguments or its place. Text that is not known before the program runs is no case for this
/// macro: parse it.
///
/// # Cost
/// The first time, a call reads the text; from then on it clones a pointer. The result is no
/// constant expression.
///
/// # Names
/// Write `ust::format!`. After `use ust::format;` a bare `format!` is this macro, and after
/// `use ust::*;` it is ambiguous: the standard library's is then `std::format!`.
#[macro_export]
macro_rules! format {
    ($($arguments:tt)*) => {
        $crate::__macros::format!($crate, $($arguments)*)
    };
}
