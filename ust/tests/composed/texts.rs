//! The text of compositions: parts, rules, and what is wrong with them.

use proptest::prelude::*;
use ust::Format;
use ust::format::{Compare, Composition, Measure};

fn read(text: &str) -> Composition {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn parts_are_joined_by_signs_outside_of_brackets() {
    for (text, printed) in [
        ("CSR", "CSR"),
        ("DIA where fill(j-i)>=0.6+CSR", "DIA-I where fill(j - i) >= 0.6 + CSR"),
        ("ELL where #i < 16 + COO", "ELL where #i < 16 + COO"),
        ("ELL where #(i) < 16 + COO", "ELL where #i < 16 + COO"),
        (
            "BSR(4,4) where fill(i / 4, j / 4) >= 0.5 + CSR",
            "BSR(4, 4) where fill(i / 4, j / 4) >= 0.5 + CSR",
        ),
        ("CSR where count(i) > 100 + ELL", "CSR where count(i) > 100 + ELL"),
        ("CSR where count() <= 1e2 + COO", "CSR where count() <= 100 + COO"),
        (
            "(a, b) -> (a + b : compressed, a : range) where count(b - a) > 2 # bands\n + COO(col-major)",
            "ANTI-DIA-I where count(j - i) > 2 + COO(col-major)",
        ),
        (
            "(a, b) -> (b : compressed, a : dense), crdWidth = 8 where #b < 3 + CSR, posWidth = 64",
            "(a, b) -> (b : compressed, a : dense), crdWidth = 8 where #b < 3 + (i, j) -> (i : dense, j : compressed), posWidth = 64",
        ),
        (
            "#sparse_tensor.encoding<{ map = (i, j) -> (i + j : compressed, i : range) }> where #j > 1 + CSC",
            "ANTI-DIA-I where #j > 1 + CSC",
        ),
        (
            "DIA where #i < 1 + ELL where #i < 2 + COO",
            "DIA-I where #i < 1 + ELL where #i < 2 + COO",
        ),
        ("COO where #(i, j) < 2 + BCSR", "COO(3) where #(i, j) < 2 + BCSR"),
        ("BCSR where count(k) < 2 + COO", "BCSR where count(k) < 2 + COO(3)"),
    ] {
        let made = read(text);
        assert_eq!(made.to_string(), printed, "{text}");
        assert_eq!(read(printed), made, "{text}");
    }
}

#[test]
fn rules_say_what_is_measured_and_how_it_compares() {
    let made = read("CSR where count(i / 4) <= 7 + ELL where #j >= 2 + COO");
    let [(csr, Some(first)), (_, Some(second)), (_, None)] = made.parts() else {
        panic!("three parts, the last without a rule: {made}");
    };
    assert_eq!(*csr, "CSR".parse::<Format>().unwrap());
    assert!(matches!(&first.measure, Measure::Count(exprs) if exprs.len() == 1));
    assert_eq!((first.compare, first.number), (Compare::AtMost, 7.0));
    assert!(matches!(&second.measure, Measure::Number(counter) if counter.of == [1]));
    for (compare, holds) in [
        (Compare::Less, [true, false, false]),
        (Compare::AtMost, [true, true, false]),
        (Compare::Greater, [false, false, true]),
        (Compare::AtLeast, [false, true, true]),
    ] {
        assert_eq!([1.0, 2.0, 3.0].map(|measure| compare.holds(measure, 2.0)), holds);
    }
}

#[test]
fn families_take_the_rank_that_is_asked_for() {
    let made = Composition::resolve("COO where #i < 2 + Dense", Some(3)).unwrap();
    assert_eq!(made.rank(), 3);
    assert!(Composition::resolve("CSR where #i < 2 + COO", Some(3)).is_err());
}

#[test]
fn errors_say_where_what_and_what_to_do() {
    for (marked, message, help) in [
        ("DIA⟦⟧ + CSR", "expected `where` and a rule", "all parts but the last have a rule"),
        (
            "DIA where #i < 2 + CSR where ⟦#i < 3⟧",
            "the last part has a rule, and nothing takes the other entries",
            "the last takes the rest",
        ),
        (
            "DIA where #i < 2 +⟦⟧",
            "expected a format: `(i, j) -> (...)` or a name such as `CSR`",
            "",
        ),
        ("DIA where #i < 2 + ⟦CRS⟧", "unknown format `CRS`", "did you mean `CSR`?"),
        ("⟦DIE⟧ where #i < 2 + CSR", "unknown format `DIE`", "did you mean `DIA`?"),
        (
            "(i, j) -> (i : dense, j : ⟦compresed⟧) where #i < 2 + CSR",
            "unknown level type `compresed`",
            "did you mean `compressed`?",
        ),
        (
            "DIA where ⟦filled⟧(j - i) > 1 + CSR",
            "expected a measure: `#i`, `count(i)` or `fill(j - i)`, found `filled`",
            "",
        ),
        ("DIA where fill(⟦k⟧) > 1 + CSR", "unknown dimension `k`", "the dimensions are `i`, `j`"),
        ("DIA where #⟦k⟧ > 1 + CSR", "unknown dimension `k`", "the dimensions are `i`, `j`"),
        (
            "DIA where ⟦#(i, j)⟧ > 1 + CSR",
            "no two entries have the same coordinates in all dimensions",
            "as in `#i`",
        ),
        ("DIA where fill(⟦#i⟧) > 1 + CSR", "only levels count entries", "use dimensions here"),
        ("DIA where #i ⟦=⟧ 1 + CSR", "expected `<`, `<=`, `>` or `>=`, found `=`", ""),
        ("DIA where #i <⟦⟧", "expected a number, found the end of the text", ""),
        ("DIA where #i < ⟦-⟧1 + CSR", "expected a number, found `-`", ""),
        ("DIA where #i < ⟦1e999⟧ + CSR", "`1e999` is too large", ""),
        (
            "DIA where #i < 1 ⟦CSR⟧",
            "expected `+` and the next part, or the end of the text, found `CSR`",
            "",
        ),
        ("CSR where #i < 1 + ⟦BCSR⟧", "a part of 3 dimensions beside one of 2", ""),
    ] {
        let text = marked.replace(['⟦', '⟧'], "");
        let error = match text.parse::<Composition>() {
            Ok(made) => panic!("{text:?} is read as {made}"),
            Err(error) => error,
        };
        let span = error.span();
        let found =
            format!("{}⟦{}⟧{}", &text[..span.start], &text[span.clone()], &text[span.end..]);
        let told = error.help().unwrap_or("");
        assert_eq!((found.as_str(), error.message()), (marked, message));
        assert!(told.contains(help), "{text}: {told}");
    }
}

proptest! {
    #[test]
    fn no_text_does_harm(text in "(CSR|ELL|DIA|COO|where|fill\\(|count\\(|#i|#|\\(|\\)|i|j| |\\+|<|>=|1|,|\n){0,24}") {
        if let Ok(made) = text.parse::<Composition>() {
            prop_assert_eq!(made.to_string().parse::<Composition>().unwrap(), made);
        }
    }
}
