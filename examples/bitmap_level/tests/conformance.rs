//! The suite that every level type passes, with the standard level types as neighbours.

use bitmap_level as _;
use ust as _;

#[test]
fn conforms() {
    ust_conformance::level("bitmap").assert_passed();
}
