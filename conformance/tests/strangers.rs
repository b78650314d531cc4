//! Level types that no crate of the project knows pass the suite.

#[path = "strangers/mod.rs"]
mod levels;

use ust as _;

#[test]
fn they_conform() {
    for name in levels::STRANGERS {
        ust_conformance::level(name).assert_passed();
    }
}
