//! Faults that a level shows alone, before a format stands around it: the contract's groups see each.
//! They are linked into no other test, where every format would be tried with them.

use std::collections::BTreeSet;

use ust as _;
use ust_conformance::{Options, Outcome, run};
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::registry::{self, LevelArgs};
use ust_level_api::{
    Arg, Arrays, Assembled, Description, Entries, LevelError, LevelFactory, LevelType, Located,
    Place, Reach, Site, TensorStats, Walk, WalkSite, inventory,
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
            "faulty(branches)",
            "faulty(pads)",
            "faulty(disorders)",
            "faulty(repeats)",
            "faulty(reaches_beyond)",
            "faulty(reaches_gaps)",
            "faulty(offers_nonsense)",
            "faulty(offers_others)",
            "faulty(offers_rank)",
            "faulty(offers_unbuildable)",
            "faulty(offers_panic)",
        ],
    }
}

/// The group in which each fault must be seen.
const SEEN: &[(&str, &str)] = &[
    ("branches", "level/branchless"),
    ("branches", "level/refuse"),
    ("pads", "level/padding"),
    ("disorders", "level/refuse"),
    ("repeats", "level/refuse"),
    ("reaches_beyond", "level/check"),
    ("reaches_gaps", "level/refuse"),
    ("offers_nonsense", "level/candidates"),
    ("offers_others", "level/candidates"),
    ("offers_rank", "level/candidates"),
    ("offers_unbuildable", "level/candidates"),
    ("offers_panic", "level/candidates"),
];

/// A sound level type but for one fault.
#[derive(Clone, Debug)]
struct Faulty {
    sound: Box<dyn LevelType>,
    fault: String,
}

fn made(text: &str) -> Box<dyn LevelType> {
    registry::make(&LevelArgs::simple(text)).expect("a standard level type")
}

impl Faulty {
    fn new(fault: &str) -> Self {
        let sound = if fault == "reaches_gaps" { "loose_compressed" } else { "compressed" };
        Self { sound: made(sound), fault: fault.to_owned() }
    }
}

impl LevelType for Faulty {
    fn describe(&self) -> Description {
        let mut description = self.sound.describe();
        description.name = "faulty";
        description.text = format!("faulty({})", self.fault);
        description.mlir.clone_from(&description.text);
        description.props.branchless |= self.fault == "branches";
        description.props.padded |= self.fault == "pads";
        description
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        self.sound.fits(place)
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        self.sound.assemble(site, entries)
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        match &*self.fault {
            // The check of a level type that claims less.
            "disorders" => made("compressed(nonordered)").check(site, arrays, parents),
            "repeats" => made("compressed(nonunique)").check(site, arrays, parents),
            "reaches_beyond" => {
                let positions = self.sound.check(site, arrays, parents)?.positions;
                let beyond = 0..positions + 1;
                Ok(Reach { positions, intervals: Some(vec![beyond]) })
            }
            "reaches_gaps" => Ok(Reach::all(self.sound.check(site, arrays, parents)?.positions)),
            _ => self.sound.check(site, arrays, parents),
        }
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        self.sound.walk(site, b)
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        self.sound.locate(site, crd, b)
    }

    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let text = match &*self.fault {
            "offers_nonsense" => "dense, of course",
            "offers_others" if stats.shape.len() == 2 => "CSR",
            "offers_rank" => "(i) -> (i : faulty(offers_rank))",
            // Groups of four have no room for what is stored in full.
            "offers_unbuildable" if stats.shape.len() == 2 => {
                "(i, j) -> (i : faulty(none), j / 4 : dense, j % 4 : structured(2, 4))"
            }
            "offers_panic" => panic!("a fault"),
            _ => return Vec::new(),
        };
        vec![text.to_owned()]
    }
}

#[test]
fn every_fault_is_seen_in_the_contract() {
    // The panics of the fault that panics are caught, and need not be told.
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match info.payload().downcast_ref::<&str>() {
        Some(&"a fault") => {}
        _ => tell(info),
    }));
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
    assert!(!seen.iter().any(|(name, _)| *name == "faulty(none)"), "{report}");
}
