//! What is linked: a level crate that the facade forgets to name would silently disappear.

use ust::level_api::registry;

#[test]
fn exactly_the_standard_level_types_are_linked() {
    let names: Vec<&str> = registry::factories().iter().map(|f| f.name).collect();
    let expected = [
        "band",
        "batch",
        "bits",
        "block2_4",
        "blocks",
        "byte_map",
        "compressed",
        "delta",
        "dense",
        "dictionary",
        "ell",
        "hashed",
        "interval",
        "loose_compressed",
        "range",
        "run_length",
        "singleton",
        "sparse_run_length",
        "structured",
    ];
    assert_eq!(names, expected);
}

#[test]
fn aliases_name_the_level_types_that_they_stand_for() {
    for (alias, text) in [
        ("row", "dense"),
        ("compressed(high)", "loose_compressed"),
        ("compressed(nonunique, high)", "loose_compressed(nonunique)"),
        ("structured(2, 4)", "block2_4"),
        ("padded(5)", "ell(5)"),
        ("sparse_point", "ell(1)"),
        ("compressed(unique, ordered)", "compressed"),
    ] {
        let made = registry::make(&registry::LevelArgs::simple(alias)).expect(alias);
        assert_eq!(made.describe().text, text);
    }
}

#[test]
fn every_sample_is_accepted_and_prints_as_something_that_is_read_back() {
    for factory in registry::factories() {
        for sample in factory.samples {
            let made = registry::make(&registry::LevelArgs::simple(sample)).expect(sample);
            let text = made.describe().text;
            let again = registry::make(&registry::LevelArgs::simple(&text)).expect(&text);
            assert_eq!(again.describe(), made.describe(), "{sample}");
        }
    }
}

#[test]
fn what_a_level_type_stores_is_where_it_fits() {
    use ust::level_api::ExprShape::{self, Dimension, Remainder};
    let all: Vec<ExprShape> = registry::expressions_tried().collect();
    for (text, expected) in [
        ("dense", &all[..]),
        // It fits under another level only.
        ("singleton", &all),
        ("range", &[Dimension { ranged: true }]),
        ("block2_4", &[Remainder { modulus: 4 }]),
        ("structured(3, 8)", &[Remainder { modulus: 8 }]),
    ] {
        let made = registry::make(&registry::LevelArgs::simple(text)).expect(text);
        assert_eq!(registry::expressions(&*made), expected, "{text}");
    }
}
