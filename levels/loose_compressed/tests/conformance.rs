//! The suite that every level type passes.

use ust_level_loose_compressed as _;

#[test]
fn conforms() {
    ust_conformance::level("loose_compressed").assert_passed();
}
