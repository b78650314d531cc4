//! The suite that every level type passes.

// It stands under other level types alone.
use ust as _;
use ust_level_singleton as _;

#[test]
fn conforms() {
    ust_conformance::level("singleton").assert_passed();
}
