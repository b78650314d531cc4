//! The suite is worth something when it fails: each fault below makes it fail, and where. Those that
//! only a level alone shows are in `contract.rs`.

use std::collections::BTreeMap;

use ust as _;
use ust_conformance::{GROUPS, Options, Outcome, run};
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::registry::{self, LevelArgs};
use ust_level_api::{
    Arg, Arrays, Assembled, Description, Entries, LevelError, LevelFactory, LevelType, LocateCost,
    Located, Place, Reach, Site, Walk, WalkSite, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "faulty",
        aliases: &[],
        summary: "a level type with one fault",
        make: |args| match &args.args[..] {
            [Arg::Name(fault)] => Ok(Box::new(Faulty::new(fault))),
            _ => Ok(Box::new(Faulty::new("none"))),
        },
        samples: &[
            "faulty(none)",
            "faulty(misplaces)",
            "faulty(trusts)",
            "faulty(distrusts)",
            "faulty(stops_early)",
            "faulty(finds_anything)",
            "faulty(cannot_search)",
            "faulty(misnames)",
            "faulty(claims_full)",
            "faulty(claims_contiguous)",
            "faulty(panics)",
            "faulty(wraps)",
            "faulty(refuses)",
            "faulty(mute)",
            "faulty(late)",
        ],
    }
}

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

/// A sound level type but for one fault.
#[derive(Clone, Debug)]
struct Faulty {
    sound: Box<dyn LevelType>,
    fault: String,
}

impl Faulty {
    fn new(fault: &str) -> Self {
        // With pairs of positions, a claim to be contiguous is false.
        let sound = if fault == "claims_contiguous" { "loose_compressed" } else { "compressed" };
        let sound = registry::make(&LevelArgs::simple(sound)).expect("a standard level type");
        Self { sound, fault: fault.to_owned() }
    }

    fn is(&self, fault: &str) -> bool {
        self.fault == fault
    }
}

impl LevelType for Faulty {
    fn describe(&self) -> Description {
        let mut description = self.sound.describe();
        description.name = "faulty";
        description.text = match self.is("misnames") {
            true => "misnamed".to_owned(),
            false => format!("faulty({})", self.fault),
        };
        description.mlir.clone_from(&description.text);
        description.props.full |= self.is("claims_full");
        description.props.contiguous |= self.is("claims_contiguous");
        if self.is("cannot_search") {
            description.locate = LocateCost::Constant;
        }
        description
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        if self.is("mute") && place.parent.is_some() {
            let (level, reason, help) = (self.describe().text, String::new(), String::new());
            return Err(LevelError::Misplaced { level, reason, help });
        }
        self.sound.fits(place)
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        if self.is("refuses") && entries.len() > 1 {
            let (parent, crd) = (entries.parent.at(1).cast_unsigned(), entries.crd.at(1));
            let reason = "it is full".to_owned();
            return Err(LevelError::CannotHold { parent, crd, reason });
        }
        assert!(!self.is("panics") || entries.is_empty(), "a fault");
        let wrapped = || entries.crd.to_vec().iter().map(|crd| crd & 0xff).collect::<Vec<i64>>();
        let narrow = self.is("wraps") && site.crd_width == 8 && site.lower == 0;
        let entries = match narrow {
            true => &Entries { crd: wrapped().into(), ..entries.clone() },
            false => entries,
        };
        let mut made = self.sound.assemble(site, entries)?;
        if self.is("misplaces") || self.is("late") && site.size == 5 {
            let mut position = made.position.to_vec();
            position.reverse();
            made.position = position.into();
        }
        Ok(made)
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        match &*self.fault {
            "trusts" => Ok(Reach::all(arrays.0[1].len() as u64)),
            "distrusts" if arrays.0[1].len() > 3 => {
                let expected = "something else".to_owned();
                Err(LevelError::Length { array: "crd".to_owned(), found: 0, expected })
            }
            _ => self.sound.check(site, arrays, parents),
        }
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let mut walk = self.sound.walk(site, b);
        if self.is("stops_early") {
            walk.cursor.hi = walk.cursor.hi - 1;
        }
        walk
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        match &*self.fault {
            "cannot_search" => None,
            "finds_anything" => {
                let located = self.sound.locate(site, crd, b)?;
                Some(Located { found: site.parent.lo.clone().equals(0), ..located })
            }
            _ => self.sound.locate(site, crd, b),
        }
    }
}

#[test]
fn every_fault_is_seen_where_it_should_be() {
    // The panics of the fault that panics are caught, and need not be told.
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match info.payload().downcast_ref::<&str>() {
        Some(&"a fault") => {}
        _ => tell(info),
    }));
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
    assert!(report.to_string().contains("linked: block2_4"), "{report}");
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let options = || Options {
        seed: 7,
        level: Some("dense".to_owned()),
        group: Some("corrupt".to_owned()),
        quick: true,
        trial: None,
    };
    assert_eq!(run(&options(), &|_, _| {}), run(&options(), &|_, _| {}));
}
