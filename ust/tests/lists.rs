//! Arrays of levels that list their children are compared with what the levels claim, though their own checks accept
//! everything: against a plain look at each entry.

use proptest::prelude::*;
use ust::level_api::{
    Arg, ArraySpec, Arrays, Assembled, Description, Entries, IndexArray, IndexKind, Interval,
    LevelError, LevelFactory, LevelType, LocateCost, Per, Place, Props, Reach, Site, Step, Walk,
    WalkKind, WalkSite, inventory, ir::Builder,
};
use ust::{Error, Format, Tensor, tensor::Parts};

inventory::submit! {
    LevelFactory {
        name: "lax",
        aliases: &[],
        summary: "a list of coordinates that nobody checks",
        make: &|args| {
            let names = args.args.iter().filter_map(|arg| match arg {
                Arg::Name(name) => Some(name.clone()),
                _ => None,
            });
            Ok(Box::new(Lax(names.collect())))
        },
        samples: &["lax"],
    }
}

/// Children `pos[parent] .. pos[parent + 1]`, or, as `lax(one)`, one child for each parent, at its position. As
/// `lax(gaps)`, there is no child where the coordinate lies beyond the level.
#[derive(Clone, Debug)]
struct Lax(Vec<String>);

impl Lax {
    fn is(&self, word: &str) -> bool {
        self.0.iter().any(|own| own == word)
    }
}

impl LevelType for Lax {
    fn describe(&self) -> Description {
        let text = match self.0.is_empty() {
            true => "lax".to_owned(),
            false => format!("lax({})", self.0.join(", ")),
        };
        let crd = ArraySpec::crd();
        let pos = ArraySpec { per: Per::ParentBound, ..ArraySpec::pos() };
        Description {
            name: "lax",
            mlir: text.clone(),
            text,
            props: Props {
                full: false,
                ordered: !self.is("nonordered"),
                unique: !self.is("nonunique"),
                branchless: self.is("one"),
                compact: self.is("compact"),
                padded: false,
                overhangs: false,
                bounded: false,
                contiguous: true,
            },
            arrays: if self.is("one") { vec![crd] } else { vec![pos, crd] },
            walk: WalkKind::Position,
            locate: LocateCost::None,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, _site: &Site, _entries: &Entries) -> Result<Assembled, LevelError> {
        unreachable!("arrays come from elsewhere")
    }

    fn check(&self, _site: &Site, arrays: &Arrays, _parents: &Reach) -> Result<Reach, LevelError> {
        Ok(Reach::all(arrays.0.last().map_or(0, IndexArray::len) as u64))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        if self.is("one") {
            return Walk::positions(site.parent.clone(), site.arrays[0]);
        }
        let segment = Interval {
            lo: b.load(site.arrays[0], site.parent.lo.clone()),
            hi: b.load(site.arrays[0], site.parent.hi.clone()),
        };
        let listed = Walk::positions(segment, site.arrays[1]);
        if !self.is("gaps") {
            return listed;
        }
        let end = site.lower.clone() + site.size.clone();
        let guarded =
            move |step: Step| Step { guard: Some(step.crd.clone().lt(end.clone())), ..step };
        Walk {
            step: Box::new(move |b, pos| guarded((listed.step)(b, pos))),
            ..Walk::positions(listed.cursor, site.arrays[1])
        }
    }
}

/// Rows and columns.
const SHAPE: [usize; 2] = [4, 6];

/// Whether no coordinate is outside, and those under one parent are in order and distinct, as far as it is claimed.
fn obeys(crd: &[i64], size: usize, ordered: bool, unique: bool) -> bool {
    let inside = crd.iter().all(|&crd| (0..size as i64).contains(&crd));
    let ascends = !ordered || crd.is_sorted();
    let distinct = !unique || (0..crd.len()).all(|at| !crd[..at].contains(&crd[at]));
    inside && ascends && distinct
}

/// Whether positions are those of segments one after another, as far as the children claim it.
fn lie_apart(pos: &[i64], count: usize, compact: bool) -> bool {
    let [first, .., last] = pos else { return false };
    let within = pos.iter().all(|&pos| (0..=count as i64).contains(&pos));
    within && pos.is_sorted() && (!compact || last - first == count as i64)
}

fn kinds() -> impl Strategy<Value = IndexKind> {
    use IndexKind::{I16, I32, I64};
    prop::sample::select(vec![I16, I32, I64])
}

fn store(kind: IndexKind, indices: &[i64]) -> IndexArray {
    IndexArray::store(kind, indices, "", "").unwrap()
}

/// Coordinates that often, but not always, ascend and lie inside.
fn coordinates(len: usize) -> impl Strategy<Value = Vec<i64>> {
    let any = prop::collection::vec(-1_i64..7, len);
    (prop::collection::vec(0_i64..6, len), any, 0..6).prop_map(|(mut inside, any, wild)| match wild
    {
        0 => any,
        1 => inside,
        _ => {
            inside.sort_unstable();
            inside
        }
    })
}

/// Taken in or refused, and the number of places that coordinates reach.
fn taken(format: &str, arrays: Vec<Vec<IndexArray>>, count: usize) -> bool {
    let format: Format = format.parse().unwrap();
    match Tensor::from_parts(&format, &SHAPE, Parts::new(arrays, vec![1.0; count])) {
        Ok(tensor) => {
            tensor.to_coo().unwrap();
            true
        }
        Err(Error::Claim { .. } | Error::Order { .. } | Error::Duplicate { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_lists_are_taken_as_claimed(
        (crd, kind, pos_kind) in (0_usize..9).prop_flat_map(|len| (coordinates(len), kinds(), kinds())),
        mut pos in prop::collection::vec(0_i64..10, 3),
        wild in 0..5,
        (nonordered, nonunique, compact, gaps) in any::<(bool, bool, bool, bool)>(),
    ) {
        let compact = compact && !gaps;
        let len = crd.len() as i64;
        pos.insert(0, 0);
        pos.push(len);
        if wild > 0 {
            pos.iter_mut().for_each(|pos| *pos = (*pos).min(len));
            pos.sort_unstable();
        }
        let claims = [("nonordered", nonordered), ("nonunique", nonunique), ("compact", compact), ("gaps", gaps)];
        let claims: Vec<&str> = claims.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        let level = if claims.is_empty() { "lax".to_owned() } else { format!("lax({})", claims.join(", ")) };
        let arrays = vec![vec![], vec![store(pos_kind, &pos), store(kind, &crd)]];
        let found = taken(&format!("(i, j) -> (i : dense, j : {level})"), arrays, crd.len());
        // A segment that ends before it begins has no children.
        let apart = lie_apart(&pos, crd.len(), compact);
        let rows = || pos.windows(2).all(|pair| {
            let row = crd[pair[0] as usize..pair[1] as usize].iter().copied();
            let row: Vec<i64> = row.filter(|&crd| !gaps || crd < SHAPE[1] as i64).collect();
            obeys(&row, SHAPE[1], !nonordered, !nonunique)
        });
        if apart {
            prop_assert_eq!(found, rows());
        } else if pos.iter().any(|&pos| pos > len) {
            prop_assert!(!found);
        }
    }

    #[test]
    fn lists_that_repeat_coordinates_ascend_together(
        (i, j, kinds) in (0_usize..9).prop_flat_map(|len| {
            (coordinates(len), coordinates(len), (kinds(), kinds()))
        }),
        order in any::<bool>(),
    ) {
        let mut pairs: Vec<(i64, i64)> = i.iter().copied().zip(j).collect();
        if order {
            pairs.sort_unstable();
        }
        let (i, j): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
        let pos: IndexArray = vec![0_i64, i.len() as i64].into();
        let arrays = vec![vec![pos, store(kinds.0, &i)], vec![store(kinds.1, &j)]];
        let found = taken("(i, j) -> (i : lax(nonunique), j : lax(one))", arrays, i.len());
        let inside = obeys(&i, SHAPE[0], false, false) && obeys(&j, SHAPE[1], false, false);
        let ascends = pairs.windows(2).all(|pair| pair[0] < pair[1]);
        prop_assert_eq!(found, inside && ascends);
    }
}

/// One fault among so many entries that threads share them.
#[test]
fn one_fault_among_many_lists_is_found() {
    let (rows, each) = (50_000_i64, 6);
    let shape = [rows as usize, 1000];
    let format: Format = "(i, j) -> (i : dense, j : lax)".parse().unwrap();
    let pairs: Format = "(i, j) -> (i : lax(nonunique), j : lax(one))".parse().unwrap();
    let gaps: Format = "(i, j) -> (i : dense, j : lax(gaps, nonordered))".parse().unwrap();
    let pos: Vec<i64> = (0..=rows).map(|row| row * each).collect();
    let crd: Vec<i32> = (0..rows * each).map(|at| (at % each * 150 + at % 7) as i32).collect();
    let own: Vec<u32> = (0..rows * each).map(|at| (at / each) as u32).collect();
    let taken = |at: usize, crd_there: i32| {
        let mut crd = crd.clone();
        crd[at] = crd_there;
        let crd = IndexArray::from(crd);
        let values = vec![1.0; own.len()];
        let csr = vec![vec![], vec![pos.clone().into(), crd.clone()]];
        let csr = Tensor::from_parts(&format, &shape, Parts::new(csr, values.clone())).is_ok();
        let root: IndexArray = vec![0, rows * each].into();
        let coo = vec![vec![root, own.clone().into()], vec![crd.clone()]];
        let coo = Tensor::from_parts(&pairs, &shape, Parts::new(coo, values.clone())).is_ok();
        assert_eq!(csr, coo);
        // Beyond the level, there is none.
        let slots = vec![vec![], vec![pos.clone().into(), crd.clone()]];
        let slots = Tensor::from_parts(&gaps, &shape, Parts::new(slots, values.clone())).is_ok();
        assert_eq!(slots, csr || crd_there == 1000);
        csr
    };
    for at in [0, 65_535, 65_536, 65_537, 131_072, own.len() - 1] {
        assert!(taken(at, crd[at]));
        assert!(!taken(at, 1000) && !taken(at, -1));
        if at as i64 % each > 0 {
            assert!(!taken(at, crd[at - 1]));
        }
    }
}
