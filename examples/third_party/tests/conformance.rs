//! The suite that every level type passes.

use ragged_level as _;

// The standard level types, as neighbours.
use ust as _;

#[test]
fn conforms() {
    ust_conformance::level("ragged").assert_passed();
}
