//! The suite that every level type passes.

// This level type needs level types above it, which `ust` links.
use ust as _;
use ust_level_block2_4 as _;

#[test]
fn standard_level_conforms() {
    for name in ["block2_4", "structured"] {
        ust_conformance::level(name).assert_passed();
    }
}
