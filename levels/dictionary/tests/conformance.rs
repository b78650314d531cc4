//! The suite that every level type passes.

// Operations need the level types of named formats.
use ust as _;
use ust_level_dictionary as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("dictionary").assert_passed();
}
