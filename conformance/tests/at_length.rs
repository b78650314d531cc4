//! The whole suite over the standard level types, through its program.

use std::process::Command;

#[test]
#[ignore = "takes minutes: `cargo xtask test` runs it"]
fn every_standard_level_type_passes() {
    let suite = Command::new(env!("CARGO_BIN_EXE_ust-conformance")).status();
    assert!(suite.expect("the suite's program starts").success(), "see the report above");
}
