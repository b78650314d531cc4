//! Faults that a level shows alone, before a format stands around it: the contract's groups see each.
//! They are linked into no other test, where every format would be tried with them.

mod faulty;

use std::collections::BTreeSet;

use ust as _;
use ust_conformance::{Options, Outcome, run};

faulty::faults![
    "none",
    "branches",
    "pads",
    "disorders",
    "repeats",
    "hides_overhang",
    "hides_overhang_between",
    "claims_overhang",
    "hides_limit",
    "claims_limit",
    "claims_pairs",
    "claims_parents",
    "claims_no_rule",
    "looks",
    "reaches_beyond",
    "reaches_gaps",
    "inserts_elsewhere",
    "inserts_unsaid",
    "moves_unsaid",
    "removes_nothing",
    "offers_nonsense",
    "offers_others",
    "offers_rank",
    "offers_unbuildable",
    "offers_panic"
];

/// The group in which each fault must be seen.
const SEEN: &[(&str, &str)] = &[
    ("branches", "level/branchless"),
    ("branches", "level/refuse"),
    ("pads", "level/padding"),
    ("disorders", "level/refuse"),
    ("repeats", "level/refuse"),
    ("hides_overhang", "level/walk"),
    ("hides_overhang_between", "level/walk"),
    ("claims_overhang", "level/properties"),
    ("hides_limit", "level/assemble"),
    ("claims_limit", "level/capacity"),
    ("claims_pairs", "level/assemble"),
    ("claims_parents", "level/assemble"),
    ("looks", "level/elsewhere"),
    ("reaches_beyond", "level/check"),
    ("reaches_gaps", "level/refuse"),
    ("inserts_elsewhere", "level/change"),
    ("inserts_unsaid", "level/change"),
    ("moves_unsaid", "level/change"),
    ("removes_nothing", "level/change"),
    ("offers_nonsense", "level/candidates"),
    ("offers_others", "level/candidates"),
    ("offers_rank", "level/candidates"),
    ("offers_unbuildable", "level/candidates"),
    ("offers_panic", "level/candidates"),
];

#[test]
fn every_fault_is_seen_in_the_contract() {
    faulty::be_quiet();
    let options = Options {
        level: Some("faulty".to_owned()),
        group: Some("level".to_owned()),
        quick: true,
        ..Options::default()
    };
    let report = run(&options, &|_, _| {});
    let mut seen = BTreeSet::new();
    for case in &report.cases {
        if let Outcome::Failed(_) = &case.outcome {
            seen.insert((case.name.as_str(), case.group.as_str()));
        }
    }
    for (fault, group) in SEEN {
        let name = format!("faulty({fault})");
        assert!(seen.contains(&(&*name, *group)), "`{fault}` is not seen in {group}: {report}");
    }
    // An array by a rule of its own is not measured by another.
    for sound in ["faulty(none)", "faulty(claims_no_rule)"] {
        assert!(!seen.iter().any(|(name, _)| *name == sound), "{report}");
    }
}
