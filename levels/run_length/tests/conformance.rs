//! The suite that every level type passes.

// Operations need the level types of named formats.
use ust as _;
use ust_level_run_length as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("run_length").assert_passed();
}
