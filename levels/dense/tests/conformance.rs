//! The suite that every level type passes.

// Operations need the level types of named formats.
use ust as _;
use ust_level_dense as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("dense").assert_passed();
}
