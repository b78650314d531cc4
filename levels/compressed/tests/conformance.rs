//! The suite that every level type passes.

use ust_level_compressed as _;

#[test]
fn conforms() {
    ust_conformance::level("compressed").assert_passed();
}
