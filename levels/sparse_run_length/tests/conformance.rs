//! The suite that every level type passes.

// Operations need the level types of named formats.
use ust as _;
use ust_level_sparse_run_length as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("sparse_run_length").assert_passed();
}
