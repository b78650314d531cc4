//! A full level type that carries its position along: it cannot be entered in the middle.

use ust::level_api::{
    Arrays, Assembled, Description, Entries, LevelError, LevelFactory, LevelType, LocateCost,
    Place, Props, Reach, Site, Step, Walk, WalkKind, WalkSite, full, inventory,
    ir::{Builder, Expr},
};
use ust::{Coo, Format, Tensor};

inventory::submit! {
    LevelFactory {
        name: "carried",
        aliases: &[],
        summary: "every coordinate, its position counted along",
        make: &|_| Ok(Box::new(Carried)),
        samples: &["carried"],
    }
}

#[derive(Clone, Debug)]
struct Carried;

impl LevelType for Carried {
    fn describe(&self) -> Description {
        Description {
            name: "carried",
            text: "carried".to_owned(),
            mlir: "carried".to_owned(),
            props: Props {
                full: true,
                ordered: true,
                unique: true,
                branchless: false,
                compact: false,
                padded: true,
                overhangs: false,
                bounded: false,
                contiguous: true,
            },
            arrays: Vec::new(),
            walk: WalkKind::Coordinate,
            locate: LocateCost::None,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        full::assemble(site, entries)
    }

    fn check(&self, site: &Site, _arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        parents.times(site.size)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let from = site.bounds.lo.clone() - site.lower.clone();
        let at = b.var("at", site.parent.lo.clone() * site.size.clone() + from);
        Walk {
            kind: WalkKind::Coordinate,
            cursor: site.bounds.clone(),
            step: Box::new(move |_, crd| Step { crd, pos: at.into(), guard: None, run: None }),
            advance: Some(Box::new(move |b, _| b.assign(at, Expr::from(at) + 1))),
        }
    }
}

#[test]
fn what_is_carried_along_is_walked_from_its_beginning() {
    let (rows, columns) = (10_000_i64, 9_990);
    let near = |i: i64| (i - 7..i + 8).step_by(3).filter(|j| (0..columns).contains(j));
    let places: Vec<(i64, i64)> = (0..rows).flat_map(|i| near(i).map(move |j| (i, j))).collect();
    let (i, j): (Vec<i64>, Vec<i64>) = places.iter().copied().unzip();
    let values: Vec<f64> = (1..=i.len()).map(|v| v as f64).collect();
    let coo = Coo::new(vec![rows as usize, columns as usize], vec![i, j], values).unwrap();
    let format: Format = "(i, j) -> (j - i : compressed, i : carried)".parse().unwrap();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let tensor = Tensor::from_coo(&coo, &format).unwrap();
            for to in ["CSR", "CSC", "COO", "BSR(4, 4)"] {
                let made = tensor.convert(to).unwrap();
                assert_eq!(made, Tensor::from_coo(&coo, to).unwrap(), "`{to}`");
            }
        });
    }
}

/// Padded, and yet every coordinate of a dimension is inside the shape.
#[test]
fn a_full_level_of_a_dimension_has_a_view() {
    let coo = Coo::new(vec![2, 3], vec![vec![0, 1], vec![2, 0]], vec![1.0, 2.0]).unwrap();
    let format: Format = "(i, j) -> (i : dense, j : carried)".parse().unwrap();
    let tensor = Tensor::from_coo(&coo, &format).unwrap();
    let view = tensor.dense_view::<f64>().expect("full levels of dimensions");
    assert_eq!(view, ndarray::arr2(&[[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]).into_dyn());
}
