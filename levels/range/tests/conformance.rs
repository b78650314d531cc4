//! The suite that every level type passes.

// This level type needs level types above it, which `ust` links.
use ust as _;
use ust_level_range as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("range").assert_passed();
}
