//! The suite that every level type passes.

use CRATE as _;

// The standard level types, as neighbours.
use ust as _;

#[test]
fn TEST() {
    ust_conformance::level("NAME").assert_passed();
}
