//! The suite that every level type passes.

// It stands under other level types alone.
use ust as _;
use ust_level_block2_4 as _;

#[test]
fn standard_level_conforms() {
    for name in ["block2_4", "structured"] {
        ust_conformance::level(name).assert_passed();
    }
}
