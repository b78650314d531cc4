//! The suite that every level type passes.

// Operations need the level types of named formats.
use ust as _;
use ust_level_byte_map as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("byte_map").assert_passed();
}
