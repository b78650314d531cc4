//! The suite that every level type passes.

// It stands under other level types alone.
use ust as _;
use ust_level_singleton as _;

#[test]
fn standard_level_conforms() {
    ust_conformance::level("singleton").assert_passed();
}
