//! The suite that every level type passes, with the standard level types as neighbours.

use renamed_levels::NAMES;
use ust as _;

#[test]
fn conform() {
    for (_, name) in NAMES {
        ust_conformance::level(name).assert_passed();
    }
}
