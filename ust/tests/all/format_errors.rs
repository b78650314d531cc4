//! What is wrong with a format's text, where, and what to do; and that no text does harm.

use proptest::prelude::*;
use ust::Format;

/// The text with the marked place in brackets, the message and the help.
fn error(text: &str) -> (String, String, String) {
    let error = match text.parse::<Format>() {
        Ok(format) => panic!("{text:?} is read as {format}"),
        Err(error) => error,
    };
    let span = error.span();
    let marked = format!("{}⟦{}⟧{}", &text[..span.start], &text[span.clone()], &text[span.end..]);
    (marked, error.message().to_owned(), error.help().unwrap_or("").to_owned())
}

#[test]
fn the_error_is_shown_under_the_line() {
    let found = "(i, j) -> (i : dense, j : compresed)".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        found,
        "unknown level type `compresed`
  (i, j) -> (i : dense, j : compresed)
                            ^~~~~~~~~
help: did you mean `compressed`? If another crate has `compresed`, link it: a dependency in Cargo.toml, and `use that_crate as _;`. If a shared library has it, load that: `ust --plugin LIBRARY`, or `ust::plugin::load`"
    );
    let found = "(i, j)\n  -> (i : dense,\n\tk : dense)".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        found,
        "unknown dimension `k` (line 3, column 2)
   k : dense)
   ^
help: the dimensions are `i`, `j`"
    );
}

#[test]
fn errors_say_where_what_and_what_to_do() {
    for (marked, message, help) in [
        // Syntax.
        ("⟦⟧", "expected a format: `(i, j) -> (...)` or a name such as `CSR`", "write a format"),
        ("(i, j⟦⟧", "expected `,` or `)` after the dimension, found the end of the text", ""),
        ("(i, j)⟦⟧", "expected `->` after the dimensions, found the end of the text", ""),
        ("(i, j) ⟦=⟧> (i : dense)", "expected `->` after the dimensions, found `=`", ""),
        ("(i, j) -> ⟦i⟧ : dense", "expected `(` and the levels, found `i`", ""),
        ("⟦i⟧, j -> (i : dense, j : dense)", "expected `(` and the dimensions, found `i`", ""),
        ("(i, ⟦)⟧ -> (i : dense)", "expected a dimension's name, found `)`", ""),
        ("(i, ⟦3⟧) -> (i : dense)", "expected a dimension's name, found `3`", ""),
        ("(i) -> (i⟦)⟧", "expected `:` and a level type, found `)`", "a level is written"),
        ("(i) -> (i : ⟦)⟧", "expected a level type, found `)`", ""),
        ("(i) -> (i : dense⟦;⟧)", "expected `,` or `)` after the level, found `;`", ""),
        ("(i) -> (i : dense) ⟦x⟧", "expected the end of the text, found `x`", ""),
        (
            "(i) -> (i + ⟦:⟧ dense)",
            "expected an expression (a name, a number or `(`), found `:`",
            "",
        ),
        ("(i) -> ((i ⟦:⟧ dense)", "expected `)` or an operator, found `:`", ""),
        (
            "(i) -> (⟦/⟧ 2 : dense)",
            "expected an expression (a name, a number or `(`), found `/`",
            "",
        ),
        ("(i) -> (i ⟦ceildiv⟧ 2 : dense)", "`ceildiv` is not invertible", "rounds down"),
        ("(⟦mod⟧) -> (mod : dense)", "`mod` is an operator, not a dimension's name", ""),
        (
            "(i) -> (i / ⟦99999999999999999999⟧ : dense)",
            "`99999999999999999999` is not a whole number below 2^63",
            "",
        ),
        ("(i) -> (i / ⟦2.5⟧ : dense)", "`2.5` is not a whole number below 2^63", ""),
        ("[c](i) -> (⟦c⟧ : dense)", "unknown dimension `c`", "`i`"),
        (
            "⟦#sparse⟧<{ map = (i) -> (i : dense) }>",
            "expected `#sparse_tensor.encoding`, found `#sparse`",
            "",
        ),
        (
            "#sparse_tensor.encoding<{ posWidth = 8 ⟦}⟧>",
            "no `map`: expected `map = (...) -> (...)`",
            "",
        ),
        (
            "#sparse_tensor.encoding<{ map = () -> (), ⟦map⟧ = () -> () }>",
            "`map` is written twice",
            "",
        ),
        (
            "#sparse_tensor.encoding<{ map = () -> () }⟦⟧",
            "expected `>`, found the end of the text",
            "",
        ),
        (
            "#sparse_tensor.encoding<{ ⟦mpa⟧ = () -> () }>",
            "unknown attribute `mpa`; known: `map`, `posWidth`, `crdWidth`, `explicitVal`, `implicitVal`",
            "did you mean `map`?",
        ),
        // Names.
        ("(i, ⟦i⟧) -> (i : dense)", "dimension `i` is named twice", ""),
        ("(i) -> (⟦x⟧ : dense)", "unknown dimension `x`", "the dimensions are `i`"),
        (
            "(row, col) -> (row : dense, ⟦cal⟧ : dense)",
            "unknown dimension `cal`",
            "did you mean `col`?",
        ),
        ("() -> (⟦x⟧ : dense)", "unknown dimension `x`", "there are no dimensions"),
        (
            "(i) -> (a = i / 2 : dense, b = ⟦a⟧ : dense)",
            "unknown dimension `a`",
            "`a` is a level; only dimensions can be used here",
        ),
        (
            "(i = ⟦i⟧) -> (a = i : dense)",
            "unknown level `i`",
            "`i` is a dimension; only levels can be used here",
        ),
        ("(i) -> (a = i / 2 : dense, ⟦a⟧ = i % 2 : dense)", "level `a` is named twice", ""),
        ("⟦{ a, b }⟧ (i) -> (i : dense)", "2 level names for 1 levels", ""),
        (
            "{ a, b } (i) -> (⟦b⟧ = i / 2 : dense, a = i % 2 : dense)",
            "this level was declared as `a`",
            "in the order",
        ),
        ("(i, ⟦j⟧) -> (i : dense)", "no level stores dimension `j`", "add a level for `j`"),
        ("(i) -> (i : ⟦dens⟧)", "unknown level type `dens`", "did you mean `dense`?"),
        ("(i) -> (i : ⟦rwo⟧)", "unknown level type `rwo`", "did you mean `row`?"),
        (
            "(i) -> (i : ⟦bundle⟧(unique))",
            "unknown level type `bundle`",
            "known level types: band, batch, bits, block2_4, blocks, byte_map, compressed, delta, dense, \
             dictionary, ell, hashed, interval, loose_compressed, range, run_length, singleton, sparse_run_length, structured. If another crate has `bundle`, link it: a dependency in Cargo.toml, and \
             `use that_crate as _;`. If a shared library has it, load that: `ust --plugin LIBRARY`, or `ust::plugin::load`",
        ),
        (
            "(i) -> (i : compressed(⟦nonunqiue⟧))",
            "`compressed` does not take `nonunqiue`",
            "did you mean `nonunique`?",
        ),
        (
            "(i) -> (i / 4 : dense, i % 4 : ⟦structured⟧)",
            "`structured` lacks its arguments",
            "it takes two numbers, as in `structured(2, 4)`",
        ),
        (
            "(i) -> (i : compressed(unique, ⟦nonunique⟧))",
            "`compressed` does not take `nonunique`",
            "contradict",
        ),
        ("(i) -> (i : dense(⟦nonunique⟧))", "`dense` does not take `nonunique`", ""),
        // Places.
        ("(i) -> (i : ⟦singleton⟧)", "`singleton` cannot stand here", ""),
        (
            "(i, j) -> (i : compressed, j : ⟦singleton⟧)",
            "`singleton` cannot stand here",
            "nonunique",
        ),
        (
            "(i, j, k) -> (i : compressed(nonunique), j : singleton(unique), k : ⟦singleton⟧)",
            "the level above, `singleton`, is unique",
            "nonunique",
        ),
        (
            "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : ⟦singleton(soa)⟧)",
            "is not declared alike",
            "`soa` on all singletons",
        ),
        (
            "(i, j, k) -> (i : compressed, j : ⟦singleton⟧, k : singleton)",
            "the level above, `compressed`, is unique",
            "nonunique",
        ),
        ("(i, j) -> (i : dense, j : ⟦range⟧)", "`range` cannot stand here", ""),
        // Attributes.
        (
            "#sparse_tensor.encoding<{ map = (i) -> (i : dense),⟦,⟧ }>",
            "expected one of `map`, `posWidth`",
            "",
        ),
        ("(i) -> (i / 4 : dense, i % 4 : ⟦structured(5, 4)⟧)", "`structured` does not take", ""),
        ("(i) -> (i / 8 : dense, i % 8 : ⟦block2_4⟧)", "`block2_4` cannot stand here", ""),
        // Maps.
        (
            "(i) -> (⟦3⟧ : dense, i : dense)",
            "this level stores nothing but 3",
            "must depend on a dimension",
        ),
        ("(i) -> (⟦i - i⟧ : dense, i : dense)", "this level stores nothing but 0", ""),
        ("(i, j) -> (⟦i * j⟧ : dense)", "a product of two dimensions", "one side"),
        ("(i) -> (i / ⟦0⟧ : dense)", "the divisor is not a positive number", "at least 1"),
        ("(i) -> (i % ⟦-2⟧ : dense)", "the divisor is not a positive number", ""),
        ("(i, j) -> (i / ⟦j⟧ : dense)", "the divisor is not a positive number", ""),
        (
            "(i) -> (⟦i * 9223372036854775807 * 4⟧ : dense)",
            "the expression's numbers do not fit in 64 bits",
            "",
        ),
        ("(i) -> (i : dense, ⟦i⟧ : dense)", "`i` is redundant", "leave this level out"),
        ("(i) -> (i : dense, ⟦i / 2⟧ : dense)", "`i / 2` is redundant", ""),
        ("(i, j) -> (i : dense, j : dense, ⟦i + j⟧ : dense)", "`i + j` is redundant", ""),
        (
            "(i) -> (⟦i / 2⟧ : dense)",
            "the levels do not determine `i`: `i % 2` is missing",
            "add a level that stores `i % 2`",
        ),
        (
            "(i) -> (⟦i % 2⟧ : dense)",
            "the levels do not determine `i`: `i / 2` is missing",
            "add a level that stores `i / 2`",
        ),
        (
            "(i) -> (i / 8 : dense, ⟦i % 2⟧ : dense)",
            "the levels do not determine `i`: `i / 2 % 4` is missing",
            "",
        ),
        (
            "(i) -> (i / 2 : dense, ⟦i % 3⟧ : dense)",
            "`i / 2` and `i % 3` overlap",
            "the parts of `i` must tile it",
        ),
        (
            "(i) -> (i / 8 : dense, i % 8 : dense, ⟦i % 2⟧ : dense)",
            "`i % 8` and `i % 2` overlap",
            "",
        ),
        ("(i, j) -> (⟦j - i⟧ : compressed)", "`j - i` leaves `i` and `j` unknown", "by itself"),
        ("(i, j) -> (⟦i + j⟧ : compressed)", "`i + j` leaves `i` and `j` unknown", "by itself"),
        ("(i, j) -> (⟦i * 9 - j⟧ : compressed)", "`i * 9 - j` leaves `i` and `j` unknown", ""),
        // Slices and attributes.
        (
            "(i : ⟦dense⟧) -> (i : dense)",
            "expected `slice(offset, size, stride)`, found `dense`",
            "on the right",
        ),
        (
            "(i : slice(0, ⟦x⟧, 1)) -> (i : dense)",
            "expected the slice's size (or `?`), found `x`",
            "",
        ),
        ("(i : ⟦slice(0, 4, 0)⟧) -> (i : dense)", "a slice's stride must be at least 1", ""),
        ("(i : ⟦slice(0, 0, 1)⟧) -> (i : dense)", "a slice of size 0 shows nothing", ""),
        (
            "(i : ⟦slice(1, 9223372036854775807, 2)⟧) -> (i : dense)",
            "the slice ends at 18446744073709551613: too large",
            "",
        ),
        ("CSR, ⟦posWith⟧ = 8", "unknown attribute `posWith`", "did you mean `posWidth`?"),
        ("CSR, posWidth = ⟦7⟧", "posWidth = 7: no such width", "8, 16, 32, 64"),
        ("CSR, crdWidth = ⟦2⟧", "crdWidth = 2, but `compressed` needs wider coordinates", ""),
        ("Dense, crdWidth = ⟦2⟧", "crdWidth = 2, but no level has coordinates to pack", ""),
        ("CSR, posWidth = 8, ⟦posWidth⟧ = 8", "`posWidth` is written twice", ""),
        ("CSR, posWidth = ⟦wide⟧", "expected posWidth in bits, found `wide`", ""),
        ("CSR, implicitVal = ⟦nothing⟧", "expected a number, found `nothing`", ""),
        // Named formats.
        ("⟦CRS⟧", "unknown format `CRS`", "did you mean `CSR`?"),
        ("⟦sparse vektor⟧", "unknown format `sparse vektor`", "did you mean `SparseVector`?"),
        ("⟦BSR⟧", "`BSR` takes 2 numbers, m, n", "for example `BSR(2, 3)`"),
        ("BSR(2, 3, ⟦4⟧)", "`BSR` takes 2 numbers, m, n", ""),
        ("CSR(⟦2⟧)", "`CSR` takes no numbers", ""),
        ("BSR(2, ⟦0⟧)", "`0` is not a number of at least 1", ""),
        ("COO(⟦65⟧)", "an order beyond 64", ""),
        ("COO(⟦sideways⟧)", "`COO` does not take `sideways`", "COO(col-major)"),
        ("BSR(2, 3⟦⟧", "expected `)`", ""),
        ("⟦5:4⟧", "`structured` does not take `5, 4`", ""),
        ("BSR(2, 3) ⟦x⟧", "expected the end of the text, found `x`", ""),
    ] {
        let text = marked.replace(['⟦', '⟧'], "");
        let found = error(&text);
        assert_eq!(found.0, marked, "{}", found.1);
        assert!(found.1.contains(message), "{text}: {}", found.1);
        assert!(found.2.contains(help), "{text}: {}", found.2);
    }
}

#[test]
fn huge_texts_are_refused_and_their_errors_stay_small() {
    let list = |count: usize, item: &str| {
        (0..count).map(|n| format!("{item}{n}")).collect::<Vec<_>>().join(",")
    };
    let mega = 1_000_000;
    for (text, message) in [
        (format!("({}) -> ()", list(mega, "d")), "format text of 7888897 bytes; at most 1048576"),
        (format!("({}) -> ()", list(100_000, "d")), "more than 64 dimensions"),
        (format!("(i) -> ({})", "i:dense,".repeat(100_000)), "more than 64 levels"),
        (format!("(i) -> (i : dense({}))", list(100_000, "a")), "more than 16 arguments"),
        (format!("(i) -> ({}i", "(".repeat(mega)), "an expression nested deeper than 64"),
        (format!("(i) -> ({}i", "-".repeat(mega)), "an expression nested deeper than 64"),
        (
            format!("(i) -> (i{} : dense)", "+i".repeat(100_000)),
            "an expression of more than 256 operators",
        ),
        ("(".repeat(mega), "expected a dimension's name"),
        ("x".repeat(mega), "unknown format"),
        (format!("({}) -> ()", "x".repeat(mega)), "a name of 1000000 bytes; at most 128"),
        (format!("(i) -> ({} : dense)", "x".repeat(mega)), "unknown dimension"),
        (format!("(i) -> (i : dense), posWidth = {}", "9".repeat(mega)), "too large"),
        (format!("{}x", "\u{202e}".repeat(100_000)), "unknown format"),
        (format!("BSR({})", "2,".repeat(100_000)), "`BSR` takes 2 numbers"),
        (format!("CSR{}", ", posWidth = 8".repeat(10_000)), "written twice"),
        (
            format!(
                "(i) -> (i : compressed), explicitVal = #complex.number<{}>",
                "1,".repeat(100_000)
            ),
            "complex number",
        ),
    ] {
        let error = text.parse::<Format>().expect_err(message);
        assert!(error.message().contains(message), "{error}");
        assert!(error.to_string().len() < 1000 && error.to_string().lines().count() <= 4);
    }
}

#[test]
fn the_limits_themselves_are_allowed() {
    let names: Vec<String> = (0..64).map(|n| format!("d{n}")).collect();
    let levels: Vec<String> = names.iter().map(|name| format!("{name} : dense")).collect();
    let text = format!("({}) -> ({})", names.join(", "), levels.join(", "));
    assert_eq!(text.parse::<Format>().unwrap().to_string(), text);
    assert_eq!("Dense(64)".parse::<Format>().unwrap().rank(), 64);
    let deep = format!("(i) -> ({}i{} : dense)", "(".repeat(64), ")".repeat(64));
    assert_eq!(deep.parse::<Format>().unwrap().to_string(), "(i) -> (i : dense)");
}

#[test]
fn tangled_maps_are_refused_without_much_work() {
    let names: Vec<String> = (0..64).map(|n| format!("d{n}")).collect();
    let chain = |level: &dyn Fn(usize) -> String| {
        let levels: Vec<String> = (0..64).map(|n| format!("{} : dense", level(n))).collect();
        format!("({}) -> ({})", names.join(", "), levels.join(", "))
    };
    // Each dimension hangs on the two before it: coefficients grow like Fibonacci's numbers.
    let sums = chain(&|n| match n {
        0 => "d0".to_owned(),
        1 => "d1".to_owned(),
        _ => format!("d{n} + d{} + d{}", n - 1, n - 2),
    });
    assert!(sums.parse::<Format>().is_ok());
    let products =
        chain(&|n| format!("d{n}{}", (0..n).map(|m| format!(" + d{m} * 9")).collect::<String>()));
    assert!(products.parse::<Format>().unwrap_err().message().contains("64 bits"));
    let remainders = (2..200).rev().fold("i".to_owned(), |text, m| format!("{text} % {m}"));
    assert!(format!("(i) -> ({remainders} : dense)").parse::<Format>().is_err());
    let all = names.join(" + ");
    let tangle = chain(&|n| format!("({all}) / {} % {}", n + 2, n + 3));
    assert!(tangle.parse::<Format>().is_err());
}

/// Pieces of format text, put together at random.
fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ",",
        ":",
        "=",
        "->",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "?",
        "i",
        "j",
        "dense",
        "compressed",
        "singleton",
        "slice",
        "map",
        "mod",
        "floordiv",
        "posWidth",
        "0",
        "2",
        "99999999999999999999",
        "1.5e9",
        "#",
        "# ",
        "#sparse_tensor.encoding",
        "\n",
        "\t",
        " ",
        "é",
        "密",
        "\u{202e}",
        "\0",
        "CSR",
        "BSR(",
        "COO",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|p| p.concat())
}

/// A good text with a piece of it changed.
fn damaged() -> impl Strategy<Value = String> {
    let good = [
        "(i, j) -> (i / 2 : dense, j / 3 : compressed(nonunique), i % 2 : dense, j % 3 : dense), posWidth = 32",
        "#sparse_tensor.encoding<{ map = { a, b } (i = a * 2 + b) -> (a = i floordiv 2 : dense, b = i mod 2 : dense), crdWidth = 8 }>",
        "(i : slice(0, ?, 1), j) -> (j - i : compressed, i : range), implicitVal = 0.0 : f32",
        "BSR-Col(2, 3), crdWidth = 16",
    ];
    let at = any::<prop::sample::Index>();
    (prop::sample::select(good.to_vec()), at, 0..6_usize, "\\PC{0,3}").prop_map(
        |(good, at, len, piece)| {
            let start = at.index(good.len());
            let end = (start + len).min(good.len());
            format!("{}{piece}{}", &good[..start], &good[end..])
        },
    )
}

fn assert_harmless(text: &str) {
    match text.parse::<Format>() {
        Ok(format) => {
            let again = format.to_string().parse::<Format>();
            assert_eq!(again.as_ref(), Ok(&format), "{text:?}");
        }
        Err(error) => {
            assert!(text.get(error.span()).is_some(), "{text:?}: {:?}", error.span());
            let shown = error.to_string();
            assert!(shown.lines().any(|line| line.trim_start().starts_with('^')), "{shown}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_does_harm(text in "\\PC{0,60}") {
        assert_harmless(&text);
    }

    #[test]
    fn no_soup_of_pieces_does_harm(text in soup()) {
        assert_harmless(&text);
    }

    #[test]
    fn no_damage_does_harm(text in damaged()) {
        assert_harmless(&text);
    }
}
