//! The suite that every level type passes.

use ust_level_dense as _;

#[test]
fn conforms() {
    ust_conformance::level("dense").assert_passed();
}
