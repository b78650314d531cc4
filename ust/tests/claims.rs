//! Arrays that are not what their level type says of itself, though its own check accepts them, are
//! refused where they come in.

use ust::level_api::{
    Arg, ArraySpec, Arrays, Assembled, Change, Description, Entries, IndexArray, Interval,
    LevelError, LevelFactory, LevelType, LocateCost, Move, Per, Place, Props, Reach, Site, Walk,
    WalkKind, WalkSite, inventory,
    ir::{Builder, Expr},
};
use ust::{Coo, Error, Format, Tensor, tensor::Parts};

inventory::submit! {
    LevelFactory {
        name: "sloppy",
        aliases: &[],
        summary: "segments of coordinates that nobody checks",
        make: &|args| match &args.args[..] {
            [] => Ok(Box::new(Sloppy { claim: None })),
            [Arg::Name(claim)] => Ok(Box::new(Sloppy { claim: Some(claim.clone()) })),
            _ => Err(args.bad(&args.args[0], "it takes one claim".to_owned())),
        },
        samples: &["sloppy"],
    }
}

/// `pos` (two for each parent, where its children begin and end) and `crd`: whatever they hold.
#[derive(Clone, Debug)]
struct Sloppy {
    /// What it claims besides order and uniqueness, or instead of order.
    claim: Option<String>,
}

impl Sloppy {
    fn claims(&self, claim: &str) -> bool {
        self.claim.as_deref() == Some(claim)
    }
}

impl LevelType for Sloppy {
    fn describe(&self) -> Description {
        let claim = self.claim.as_deref().map_or(String::new(), |claim| format!("({claim})"));
        Description {
            name: "sloppy",
            text: format!("sloppy{claim}"),
            mlir: format!("sloppy{claim}"),
            props: Props {
                full: self.claims("full"),
                ordered: !self.claims("nonordered"),
                unique: !self.claims("nonunique"),
                branchless: self.claims("branchless"),
                compact: self.claims("compact"),
                padded: false,
                overhangs: false,
                bounded: false,
                contiguous: self.claims("contiguous"),
            },
            arrays: vec![
                ArraySpec {
                    per: if self.claims("any") { Per::Other("any") } else { Per::ParentPair },
                    ..ArraySpec::pos()
                },
                ArraySpec::crd(),
            ],
            walk: WalkKind::Position,
            locate: LocateCost::None,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    /// Sound arrays; with a claim about trust, the last coordinate is beyond the level.
    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        let (pos, mut crd) = (segments.offsets.pairs()?.to_vec(), segments.crd.to_vec());
        if let (Some("trusted" | "untrusted"), Some(last)) = (self.claim.as_deref(), crd.last_mut())
        {
            *last = site.bounds().end;
        }
        let positions = crd.len() as u64;
        let arrays = Arrays(vec![pos.into(), crd.into()]);
        Ok(Assembled { arrays, position: segments.child, positions })
    }

    fn is_trusted(&self) -> bool {
        !self.claims("untrusted") && !self.claims("strange")
    }

    fn check(&self, _site: &Site, arrays: &Arrays, _parents: &Reach) -> Result<Reach, LevelError> {
        let positions = arrays.0[1].len() as u64;
        if self.claims("beyond") {
            let beyond = 0..positions + 1;
            return Ok(Reach { positions, intervals: Some(vec![beyond]) });
        }
        if self.claims("unreached") {
            let first = 0..positions.min(1);
            return Ok(Reach { positions, intervals: Some(vec![first]) });
        }
        Ok(Reach::all(positions))
    }

    /// Changes nothing, and says what the coordinate stands for. If what it makes is checked, it puts a coordinate
    /// behind all others, with the mistake that it stands for.
    fn insert(
        &self,
        _site: &Site,
        arrays: &mut Arrays,
        parent: u64,
        crd: i64,
    ) -> Result<Option<Change>, LevelError> {
        if self.claims("strange") {
            let count = arrays.0[1].len();
            let change =
                Change { pos: count as u64, positions: count as u64 + 1, ..Change::default() };
            if crd == 4 {
                return Ok(Some(Change { pos: 0, positions: count as u64, ..change }));
            }
            assert!(arrays.0[1].extend(1, if crd == 2 { 20 } else { crd }));
            let end = if crd == 3 { count + 2 } else { count + 1 };
            assert!(arrays.0[0].set(2 * parent as usize + 1, end as i64));
            return Ok(Some(match crd {
                1 => Change { pos: 0, ..change },
                _ => change,
            }));
        }
        let (positions, step) = (arrays.0[1].len() as u64, |from, to| vec![Move { from, to }]);
        let change = Change { pos: 0, positions, ..Change::default() };
        Ok(Some(match crd {
            0 => Change { pos: positions, ..change },
            1 => Change { positions: positions - 1, ..change },
            2 => Change { positions: u64::MAX, ..change },
            3 => Change { freed: positions..positions + 1, ..change },
            4 => Change { moves: step(0..2, positions - 1), ..change },
            5 => Change { moves: step(2..u64::MAX, 0), ..change },
            6 => Change { moves: step(0..2, u64::MAX), ..change },
            #[allow(clippy::reversed_empty_ranges)]
            _ => Change { moves: step(2..1, 0), ..change },
        }))
    }

    /// Only says that it removed the child, unless it is the last of a segment.
    fn remove(
        &self,
        _site: &Site,
        arrays: &mut Arrays,
        parent: u64,
        pos: u64,
    ) -> Result<Option<Change>, LevelError> {
        let (positions, end) = (arrays.0[1].len() as u64, 2 * parent as usize + 1);
        if arrays.0[0].get(end) == Some(pos as i64 + 1) {
            assert!(arrays.0[0].set(end, pos as i64));
        }
        Ok(Some(Change { pos, positions, freed: pos..pos + 1, ..Change::default() }))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let at = |parent: &Expr| Expr::Int(2) * parent.clone();
        let segment = Interval {
            lo: b.load(site.arrays[0], at(&site.parent.lo)),
            hi: b.load(site.arrays[0], at(&site.parent.hi) - 1),
        };
        Walk::positions(segment, site.arrays[1])
    }
}

/// Two rows of five columns.
fn rows(level: &str, pos: &[i64], crd: &[i64]) -> Result<Tensor, Error> {
    let format: Format = format!("(i, j) -> (i : dense, j : {level})").parse()?;
    let arrays: Vec<IndexArray> = vec![pos.to_vec().into(), crd.to_vec().into()];
    let values = vec![1.0; crd.len()];
    Tensor::from_parts(&format, &[2, 5], Parts::new(vec![vec![], arrays], values))
}

#[test]
fn arrays_that_are_as_claimed_are_taken() {
    for (level, pos, crd) in [
        ("sloppy", vec![0, 2, 2, 4], vec![1, 3, 0, 4]),
        ("sloppy", vec![2, 4, 0, 2], vec![1, 3, 0, 4]),
        ("sloppy", vec![0, 1, 3, 4], vec![1, 9, -9, 4]),
        ("sloppy(nonordered)", vec![0, 3, 3, 4], vec![3, 0, 1, 4]),
        ("sloppy(nonunique)", vec![0, 2, 2, 4], vec![1, 1, 0, 4]),
        ("sloppy(branchless)", vec![0, 1, 1, 2], vec![3, 1]),
        ("sloppy(compact)", vec![2, 4, 0, 2], vec![1, 3, 0, 4]),
        ("sloppy(contiguous)", vec![1, 2, 2, 3], vec![9, 1, 3, 9]),
    ] {
        let tensor = rows(level, &pos, &crd);
        let tensor = tensor.unwrap_or_else(|error| panic!("{level} {pos:?} {crd:?}: {error}"));
        assert!(tensor.to_coo().is_ok());
    }
}

#[test]
fn arrays_that_are_not_as_claimed_are_refused_with_the_claim() {
    for (level, pos, crd, claim, place) in [
        ("sloppy", vec![0, 2, 2, 2], vec![3, 1], "ordered", "coordinate 1 at position 1"),
        ("sloppy", vec![0, 0, 0, 3], vec![1, 3, 3], "unique", "coordinate 3 at position 2"),
        ("sloppy(nonunique)", vec![0, 2, 2, 2], vec![3, 1], "ordered", "coordinate 1"),
        ("sloppy(nonordered)", vec![0, 3, 3, 3], vec![3, 1, 3], "unique", "3 stands twice"),
        ("sloppy", vec![0, 2, 2, 2], vec![3, 5], "size", "coordinate 5 at position 1"),
        ("sloppy", vec![0, 2, 2, 2], vec![-1, 3], "size", "coordinate -1 at position 0"),
        ("sloppy(nonordered)", vec![0, 2, 2, 2], vec![3, -1], "size", "coordinate -1"),
        ("sloppy", vec![0, 3, 2, 2], vec![1, 3], "check", "children at 0..3"),
        ("sloppy", vec![-1, 1, 2, 2], vec![1, 3], "check", "children at -1..1"),
        ("sloppy", vec![0, 2, 1, 2], vec![1, 3], "check", "at 1..2"),
        ("sloppy", vec![0, 2, 1, 2], vec![1, 3, 9], "check", "coordinate 3 at position 1"),
        ("sloppy(nonordered)", vec![0, 2, 0, 1], vec![1, 3, 9], "check", "under parent 1"),
        ("sloppy(branchless)", vec![0, 2, 2, 2], vec![1, 3], "branchless", "at position 1"),
        ("sloppy(branchless)", vec![0, 0, 1, 2], vec![1, 3], "branchless", "0 children"),
        ("sloppy(branchless)", vec![1, 2, 0, 1], vec![1, 3], "branchless", "at position 1"),
        ("sloppy(compact)", vec![0, 1, 1, 2], vec![1, 3, 4], "compact", "2 of its 3 positions"),
        ("sloppy(contiguous)", vec![1, 2, 0, 1], vec![1, 3], "contiguous", "position 0"),
        ("sloppy(full)", vec![0, 5, 5, 10], vec![0; 10], "full", "it owns arrays"),
        ("sloppy", vec![0, 2], vec![1, 3], "per", "`pos` has 2 elements"),
        ("sloppy", vec![0, 2, 2, 2, 2], vec![1, 3], "per", "`pos` has 5 elements"),
    ] {
        let error = rows(level, &pos, &crd).expect_err(&format!("{level} {pos:?} {crd:?}"));
        let Error::Claim { level: 1, text, claim: named, found, .. } = &error else {
            panic!("{level} {pos:?} {crd:?}: {error}");
        };
        assert_eq!((text.as_str(), *named), (&*format!("j : {level}"), claim), "{error}");
        assert!(found.contains(place) && error.to_string().contains("mend"), "{error}");
    }
}

/// The same faults in many entries, which machine code looks at.
#[test]
fn one_fault_among_many_is_found() {
    let format: Format = "(i, j) -> (i : dense, j : sloppy)".parse().unwrap();
    let (count, each) = (2000, 5);
    let take = |crd: Vec<i64>| {
        let pos: Vec<i64> = (0..count).flat_map(|row| [row * each, row * each + each]).collect();
        let values = vec![1.0; crd.len()];
        let parts = Parts::new(vec![vec![], vec![pos.into(), crd.into()]], values);
        Tensor::from_parts(&format, &[count as usize, 9], parts)
    };
    let crd: Vec<i64> = (0..count * each).map(|at| at % each * 2).collect();
    assert_eq!(take(crd.clone()).unwrap().nnz(), crd.len());
    for (at, other, claim) in [(7777, 2, "unique"), (5000, -1, "size"), (9998, 1, "ordered")] {
        let mut crd = crd.clone();
        crd[at] = other;
        let error = take(crd).unwrap_err();
        assert!(matches!(&error, Error::Claim { claim: c, .. } if *c == claim), "{error}");
    }
}

#[test]
fn a_walk_that_leaves_its_arrays_is_refused() {
    let error = rows("sloppy(any)", &[0, 1], &[3, 1]).unwrap_err();
    assert!(matches!(error, Error::Parts(_)), "{error}");
    assert!(error.to_string().contains("A1_pos"), "{error}");
}

#[test]
fn positions_in_reach_that_are_none_are_refused() {
    let error = rows("sloppy(beyond)", &[0, 1, 1, 2], &[3, 1]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("level 1") && text.contains("0..3 are in reach"), "{text}");
}

/// Below a level that repeats coordinates, and above another.
#[test]
fn every_level_is_looked_at() {
    let format: Format =
        "(i, j, k) -> (i : compressed(nonunique), j : sloppy, k : sloppy)".parse().unwrap();
    let take = |j: Vec<i64>, k: Vec<i64>| {
        let outer = vec![vec![0_i64, 2].into(), vec![1_i64, 1].into()];
        let middle = vec![vec![0_i64, 1, 1, 2].into(), j.into()];
        let inner = vec![vec![0_i64, 1, 1, 3].into(), k.into()];
        let parts = Parts::new(vec![outer, middle, inner], vec![1.0; 3]);
        Tensor::from_parts(&format, &[4, 4, 4], parts)
    };
    assert!(take(vec![0, 2], vec![3, 0, 1]).is_ok());
    let level = |error: Error| match error {
        Error::Claim { level, .. } => level,
        other => panic!("{other}"),
    };
    assert_eq!(level(take(vec![0, 4], vec![3, 0, 1]).unwrap_err()), 1);
    assert_eq!(level(take(vec![0, 2], vec![3, 1, 0]).unwrap_err()), 2);
}

/// What stands below was checked for positions in reach alone.
#[test]
fn children_at_positions_out_of_reach_are_refused_where_levels_follow() {
    let format: Format =
        "(i, j, k) -> (i : dense, j : sloppy(unreached), k : compressed)".parse().unwrap();
    let take = |pos: Vec<i64>| {
        let middle = vec![pos.into(), vec![1_i64, 3].into()];
        let inner = vec![vec![0_i64, 1, 2].into(), vec![0_i64, 1].into()];
        let parts = Parts::new(vec![vec![], middle, inner], vec![1.0; 2]);
        Tensor::from_parts(&format, &[2, 4, 4], parts)
    };
    assert!(take(vec![0, 1, 1, 1]).is_ok());
    let error = take(vec![0, 1, 1, 2]).unwrap_err();
    assert!(matches!(error, Error::Claim { level: 1, claim: "check", .. }), "{error}");
    assert!(error.to_string().contains("out of reach"), "{error}");
}

/// Each level would be walked once for each position of the level above: it ends before.
#[test]
fn parents_that_share_their_children_are_refused_at_once() {
    let format: Format = "(i, j, k) -> (i : sloppy, j : sloppy, k : sloppy)".parse().unwrap();
    let count = 2000;
    let level = |parents: i64| -> Vec<IndexArray> {
        let pos: Vec<i64> = (0..parents).flat_map(|_| [0, count]).collect();
        vec![pos.into(), (0..count).collect::<Vec<i64>>().into()]
    };
    let arrays = vec![level(1), level(count), level(count)];
    let parts = Parts::new(arrays, vec![1.0; count as usize]);
    let error = Tensor::from_parts(&format, &[count as usize; 3], parts).unwrap_err();
    assert!(matches!(error, Error::Claim { claim: "check", .. }), "{error}");
    assert!(error.to_string().contains("more than 2000"), "{error}");
}

/// Measures taking in CSR arrays; prints times, and asserts nothing of them.
#[test]
#[ignore = "a measurement: `cargo test -p ust --test claims -- --ignored --nocapture`"]
fn taking_in_many_entries() {
    let (rows, each) = (1_000_000_usize, 10);
    let pos: Vec<u32> = (0..=rows).map(|row| (row * each) as u32).collect();
    let crd: Vec<u32> =
        (0..rows * each).map(|at| (at % each * 1000 + at / each % 997) as u32).collect();
    let parts = Parts::new(vec![vec![], vec![pos.into(), crd.into()]], vec![1.0; rows * each]);
    for _ in 0..5 {
        let parts = parts.clone();
        let start = std::time::Instant::now();
        let tensor = Tensor::from_parts("CSR", &[rows, 10_000], parts).unwrap();
        println!("{} entries: {:?}", tensor.nse(), start.elapsed());
    }
}

#[test]
fn what_is_assembled_is_checked_unless_the_level_type_is_trusted() {
    let crd = vec![vec![0, 0, 1], vec![1, 3, 2]];
    let coo = Coo::new(vec![2, 5], crd, vec![1.0, 2.0, 3.0]).unwrap();
    let csr = Tensor::from_coo(&coo, "CSR").unwrap();
    let format = |level| -> Format {
        format!("(i, j) -> (i : dense, j : sloppy({level}))").parse().unwrap()
    };
    let sum = |level| {
        let sum = ust::einsum("C(i,j) = A(i,j) + A(i,j)").arg("A", &csr);
        sum.format(format(level).to_string()).run()
    };
    let blocks = |level| {
        let text = format!(
            "(i, j) -> (i / 2 : dense, j / 5 : sloppy({level}), i % 2 : dense, j % 5 : dense)"
        );
        csr.convert(text)
    };
    let told = |error: &dyn std::fmt::Display| error.to_string();
    for error in [
        told(&Tensor::from_coo(&coo, format("untrusted")).unwrap_err()),
        told(&csr.convert(format("untrusted")).unwrap_err()),
        told(&csr.transpose().convert(format("untrusted")).unwrap_err()),
        told(&blocks("untrusted").unwrap_err()),
        told(&sum("untrusted").unwrap_err()),
    ] {
        assert!(error.contains("its level type claims `size`"), "{error}");
    }
    // Nobody looks.
    assert!(Tensor::from_coo(&coo, format("trusted")).is_ok());
    // What is sound passes.
    for made in [
        Tensor::from_coo(&coo, format("strange")),
        blocks("strange"),
        csr.convert(format("strange")),
    ] {
        assert_eq!(made.unwrap().to_coo().unwrap(), coo);
    }
    assert_eq!(sum("strange").unwrap().get_as::<f64>(&[0, 3]).unwrap(), 4.0);
}

#[test]
fn a_level_that_changes_positions_beyond_its_own_is_refused() {
    let format: Format = "(i, j) -> (i : dense, j : sloppy)".parse().unwrap();
    for column in 0..8 {
        let arrays: Vec<IndexArray> = vec![vec![0_i64, 3, 3, 3].into(), vec![8_i64, 9, 10].into()];
        let parts = Parts::new(vec![vec![], arrays], vec![1.0, 2.0, 3.0]);
        let mut a = Tensor::from_parts(&format, &[2, 20], parts).unwrap();
        let error = a.insert(&[0, column], 4.0).unwrap_err();
        assert!(
            matches!(error, Error::Claim { level: 1, claim: "change", .. }),
            "{column}: {error}"
        );
        assert_eq!(a.values().typed::<f64>().unwrap(), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn what_an_untrusted_level_changes_is_checked_and_else_left_as_it_was() {
    let format: Format = "(i, j) -> (i : dense, j : sloppy(strange))".parse().unwrap();
    let arrays: Vec<IndexArray> = vec![vec![0_i64, 3, 3, 3].into(), vec![8_i64, 9, 10].into()];
    let parts = Parts::new(vec![vec![], arrays], vec![1.0, 2.0, 3.0]);
    let before = Tensor::from_parts(&format, &[2, 20], parts).unwrap();
    let mut a = before.clone();
    for (column, claim) in [(1, "change"), (2, "size"), (3, "check"), (4, "change")] {
        let error = a.insert(&[1, column], 4.0).unwrap_err();
        let is_claim =
            matches!(&error, Error::Claim { level: 1, claim: found, .. } if *found == claim);
        assert!(is_claim, "{column}: {error}");
        assert_eq!(a, before, "{column}");
    }
    let error = a.remove(&[0, 9]).unwrap_err();
    assert!(matches!(error, Error::Claim { level: 1, claim: "change", .. }), "{error}");
    assert_eq!(a, before);

    a.insert(&[1, 11], 4.0).unwrap();
    a.remove(&[0, 10]).unwrap();
    // In place: what was there is a gap now.
    assert_eq!(a.level_array(1, "crd").unwrap().to_vec(), [8, 9, 10, 11]);
    let crd = vec![vec![0, 0, 1], vec![8, 9, 11]];
    assert_eq!(a.to_coo().unwrap(), Coo::new(vec![2, 20], crd, vec![1.0, 2.0, 4.0]).unwrap());
}
