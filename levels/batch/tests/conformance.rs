//! The suite that every level type passes.

// This level type needs level types above it, which `ust` links.
use ust as _;
use ust_level_batch as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("batch").assert_passed();
}
