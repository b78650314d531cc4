//! The suite is worth something when it fails: each fault below makes it fail, and where. Those that
//! only a level alone shows are in `contract.rs`.

mod faulty;

use std::collections::BTreeMap;

use ust as _;
use ust_conformance::{GROUPS, Options, Outcome, run};

faulty::faults![
    "none",
    "misplaces",
    "trusts",
    "distrusts",
    "stops_early",
    "finds_anything",
    "cannot_search",
    "misnames",
    "claims_full",
    "claims_contiguous",
    "panics",
    "wraps",
    "refuses",
    "mute",
    "late"
];

/// Where each fault must be seen.
const SEEN: &[(&str, &[&str])] = &[
    ("none", &[]),
    ("misplaces", &["level/walk", "format/unpack", "format/get"]),
    ("trusts", &["level/refuse", "corrupt/refuse"]),
    ("distrusts", &["level/check", "format/check"]),
    ("stops_early", &["level/walk", "format/unpack"]),
    ("finds_anything", &["level/locate", "format/get"]),
    ("cannot_search", &["level/locate"]),
    ("misnames", &["level/text"]),
    ("claims_full", &["level/properties"]),
    ("claims_contiguous", &["level/properties"]),
    ("panics", &["level/assemble", "format/build"]),
    ("wraps", &["level/width"]),
    ("refuses", &["level/assemble", "format/build"]),
    ("mute", &["level/place"]),
    // Only in sizes that no level alone is tried with.
    ("late", &["format/unpack", "format/get"]),
];

#[test]
fn every_fault_is_seen_where_it_should_be() {
    faulty::be_quiet();
    let options = Options { level: Some("faulty".to_owned()), quick: true, ..Options::default() };
    let mut cases = Vec::new();
    for group in GROUPS.iter().filter(|group| **group != "ops") {
        let options = Options { group: Some((*group).to_owned()), ..options.clone() };
        cases.extend(run(&options, &|_, _| {}).cases);
    }
    // Of each fault, the groups in which it was seen: in cases about no other fault.
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in &cases {
        // A conversion is about other formats as well, whose faults are not its own; and beside a
        // level type with a false name, no name can be read again.
        if case.group == "format/convert" || case.name.contains("misnamed") {
            continue;
        }
        let about = |fault: &&str| case.name.contains(&format!("faulty({fault})"));
        let faults: Vec<&str> = SEEN.iter().map(|(fault, _)| *fault).filter(about).collect();
        if let ([fault], Outcome::Failed(_)) = (&faults[..], &case.outcome) {
            seen.entry(*fault).or_default().push(&case.group);
        }
    }
    for (fault, expected) in SEEN {
        let mut found = seen.remove(fault).unwrap_or_default();
        found.sort_unstable();
        found.dedup();
        for group in *expected {
            assert!(found.contains(group), "`{fault}` is not seen in {group}, but in {found:?}");
        }
        assert_eq!(found.is_empty(), expected.is_empty(), "`{fault}` is seen in {found:?}");
    }
}

/// What fails alone would fail in every format for the same reason.
#[test]
fn of_a_level_type_that_fails_alone_nothing_else_is_tried() {
    let report = ust_conformance::level("faulty");
    assert!(!report.passed());
    let other = report.cases.iter().find(|case| !case.group.starts_with("level/"));
    assert!(other.is_none(), "{other:?}");
    let text = report.to_string();
    assert!(text.contains("level/rest faulty: formats with it"), "{text}");
}

/// Operations mix level types; a failure names the smallest formats that show it.
#[test]
fn faults_are_seen_in_operations() {
    let options = Options {
        level: Some("faulty".to_owned()),
        group: Some("ops".to_owned()),
        quick: true,
        ..Options::default()
    };
    let report = run(&options, &|_, _| {});
    let faults: Vec<&str> = SEEN.iter().map(|(fault, _)| *fault).filter(|f| *f != "none").collect();
    let named = |text: &str| -> Vec<&str> {
        let mut named = faults.clone();
        named.retain(|fault| {
            text.contains(&format!("faulty({fault})")) || text.contains("misnamed")
        });
        named
    };
    let told: Vec<Vec<&str>> = report.failures().map(|(_, text)| named(text)).collect();
    assert!(told.iter().all(|faults| !faults.is_empty()), "a failure without a fault:\n{report}");
    for fault in ["misplaces", "stops_early"] {
        assert!(told.iter().flatten().any(|found| *found == fault), "`{fault}` is not seen");
    }
}

#[test]
fn a_name_that_nobody_registered_fails_and_says_what_is_linked() {
    let report = ust_conformance::level("nowhere");
    assert!(!report.passed());
    assert!(report.to_string().contains("linked: band, batch, bits"), "{report}");
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let options = || Options {
        seed: 7,
        level: Some("dense".to_owned()),
        group: Some("corrupt".to_owned()),
        quick: true,
        ..Options::default()
    };
    assert_eq!(run(&options(), &|_, _| {}), run(&options(), &|_, _| {}));
}
