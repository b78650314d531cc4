//! A level type with one fault, which its argument names. A test registers those that it is about.

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::registry::{self, LevelArgs};
use ust_level_api::{
    Arg, Arrays, Assembled, Change, Crd, Description, Entries, LevelError, LevelType, LocateCost,
    Located, Per, Place, Pos, Reach, Site, TensorStats, Walk, WalkSite,
};

/// Registers `faulty(...)` with these faults as its samples.
macro_rules! faults {
    [$($fault:literal),*] => {
        ust_level_api::inventory::submit! {
            ust_level_api::LevelFactory {
                name: "faulty",
                aliases: &[],
                summary: "a level type with one fault",
                make: &faulty::make,
                samples: &[$(concat!("faulty(", $fault, ")")),*],
            }
        }
    };
}
pub(crate) use faults;

pub(crate) fn make(args: &LevelArgs) -> Result<Box<dyn LevelType>, LevelError> {
    Ok(Box::new(match &args.args[..] {
        [Arg::Name(fault)] => Faulty::new(fault),
        _ => Faulty::new("none"),
    }))
}

/// The panics of the faults that panic are caught, and need not be told.
pub(crate) fn be_quiet() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match info.payload().downcast_ref::<&str>() {
        Some(&"a fault") => {}
        _ => tell(info),
    }));
}

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
        let sound = match fault {
            // With pairs of positions, a claim to be contiguous is false, and there may be gaps.
            "claims_contiguous" | "reaches_gaps" | "inserts_elsewhere" | "inserts_unsaid"
            | "moves_unsaid" | "removes_nothing" => "loose_compressed",
            "hides_overhang" | "hides_limit" => "block2_4",
            // Padding stands between entries alone.
            "hides_overhang_between" => "band",
            "claims_limit" => "structured(3, 3)",
            _ => "compressed",
        };
        Self { sound: made(sound), fault: fault.to_owned() }
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
        description.props.branchless |= self.is("branches");
        description.props.padded |= self.is("pads");
        description.props.overhangs &= !self.fault.starts_with("hides_overhang");
        description.props.overhangs |= self.is("claims_overhang");
        description.props.bounded &= !self.is("hides_limit");
        description.props.bounded |= self.is("claims_limit");
        // `pos` of `compressed`, and `crd`.
        if self.is("claims_pairs") {
            description.arrays[0].per = Per::ParentPair;
        }
        if self.is("claims_parents") {
            description.arrays[1].per = Per::Parent;
        }
        if self.is("claims_no_rule") {
            description.arrays.iter_mut().for_each(|array| array.per = Per::Other("any"));
        }
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
        if self.is("looks") {
            let _ = entries.crd.to_vec();
        }
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

    fn insert(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        crd: Crd,
    ) -> Result<Option<Change>, LevelError> {
        let change = self.sound.insert(site, arrays, parent, crd)?;
        Ok(change.filter(|_| !self.is("inserts_unsaid")).map(|mut change| {
            change.pos += u64::from(self.is("inserts_elsewhere"));
            if self.is("moves_unsaid") {
                change.moves.clear();
            }
            change
        }))
    }

    fn remove(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        pos: Pos,
    ) -> Result<Option<Change>, LevelError> {
        match self.is("removes_nothing") {
            true => self.sound.remove(site, &mut arrays.clone(), parent, pos),
            false => self.sound.remove(site, arrays, parent, pos),
        }
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
