//! A level type that pads, as in ELLPACK: loops test the coordinates of its padding where its
//! expression can leave the shape, and nowhere else.

use ust::level_api::{
    Arg, Arrays, Assembled, Description, Entries, LevelArgs, LevelError, LevelFactory, LevelType,
    Located, Place, Reach, Site, Walk, WalkSite, inventory,
    ir::{Builder, Expr},
    registry,
};
use ust::ops::einsum;
use ust::{Backend, Coo, Error, Tensor, tensor::Parts};

inventory::submit! {
    LevelFactory {
        name: "slots",
        aliases: &[],
        summary: "a fixed number of places for each parent, at coordinates of any expression",
        make: &|args| match args.args[..] {
            [Arg::Int(n)] => Ok(Box::new(Slots::new(n, true))),
            _ => Ok(Box::new(Slots::new(2, false))),
        },
        samples: &["slots(2)"],
    }
}

/// The standard n:m level, wherever it may stand.
#[derive(Clone, Debug)]
struct Slots {
    places: Box<dyn LevelType>,
    /// What it says of its padding.
    overhangs: bool,
}

impl Slots {
    fn new(n: u64, overhangs: bool) -> Self {
        let places = LevelArgs::simple(&format!("structured({n}, 65536)"));
        Self { places: registry::make(&places).expect("a standard level type"), overhangs }
    }
}

impl LevelType for Slots {
    fn describe(&self) -> Description {
        let mut description = self.places.describe();
        description.name = "slots";
        description.text = if self.overhangs { "slots(2)" } else { "slots" }.to_owned();
        description.mlir.clone_from(&description.text);
        description.props.overhangs = self.overhangs;
        description
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        self.places.assemble(site, entries)
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        self.places.check(site, arrays, parents)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        self.places.walk(site, b)
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        self.places.locate(site, crd, b)
    }
}

/// The loops of a product with a vector in a format, which are right.
fn loops(format: &str, columns: usize) -> String {
    // The last column of five has no room beside it in its group of four.
    let crd = vec![vec![0, 0, 1, 2], vec![1, 3, 4, 0]];
    let coo = Coo::new(vec![3, columns], crd, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let a = Tensor::from_coo(&coo, format).unwrap();
    let along: Vec<f64> = (1..=columns as i32).map(f64::from).collect();
    let x = Coo::new(vec![columns], vec![(0..columns as i64).collect()], along).unwrap();
    let x = Tensor::from_coo(&x, "(i) -> (i : dense)").unwrap();
    let product = || einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x);
    let kernel = product().prepare().unwrap();
    for y in [kernel.run(&[&a, &x]), product().backend(Backend::INTERPRETER).run()] {
        assert_eq!(y.unwrap().values(), &vec![10.0, 15.0, 4.0].into(), "{format}");
    }
    kernel.explain()
}

#[test]
fn coordinates_are_tested_only_where_they_can_leave_the_shape() {
    let (tested, once) = ("0 <= j", "if 4 <= n_j - c * 4");
    for (format, columns, tests) in [
        ("(i, j) -> (i : dense, j : slots)", 5, &[][..]),
        // Padding may overhang, and the expression is the dimension itself.
        ("(i, j) -> (i : dense, j : slots(2))", 5, &[]),
        ("(i, j) -> (i : dense, j / 4 : dense, j % 4 : slots)", 8, &[]),
        ("(i, j) -> (i : dense, j / 4 : compressed, j % 4 : slots)", 8, &[]),
        // Once for each group, and for each coordinate in a group at the border.
        ("(i, j) -> (i : dense, j / 4 : dense, j % 4 : slots(2))", 5, &[tested, once]),
        ("(i, j) -> (i : dense, j / 4 : compressed, j % 4 : slots(2))", 5, &[tested, once]),
        // Stored coordinates, and cursors that stay inside.
        ("(i, j) -> (i : dense, j / 4 : compressed, j % 4 : compressed)", 5, &[]),
        ("DIA-I", 5, &[]),
        ("BSR(1,4)", 5, &[]),
    ] {
        let said = loops(format, columns);
        for test in [tested, once] {
            assert_eq!(said.contains(test), tests.contains(&test), "{format}, `{test}`: {said}");
        }
    }
}

/// The same in the loops of conversions, where several levels are unpacked at once.
#[test]
fn what_is_unpacked_is_inside_the_shape() {
    let places = |i: i64| (0..7).filter(move |j| (i + j) % 3 == 0).map(move |j| (i, j));
    let (i, j): (Vec<i64>, Vec<i64>) = (0..5).flat_map(places).unzip();
    let values: Vec<f64> = (1..=i.len()).map(|value| value as f64).collect();
    let coo = Coo::new(vec![5, 7], vec![i, j], values).unwrap();
    for format in [
        "(i, j) -> (i : dense, j / 4 : dense, j % 4 : slots(2))",
        "(i, j) -> (j / 4 : dense, i : dense, j % 4 : slots(2))",
        "(i, j) -> (j : dense, i / 4 : compressed, i % 4 : slots(2))",
    ] {
        let tensor = Tensor::from_coo(&coo, format).unwrap();
        for to in ["CSR", "CSC", "DIA-I", "BSR(2,3)"] {
            let expected = Tensor::from_coo(&coo, to).unwrap();
            assert_eq!(tensor.convert(to).unwrap(), expected, "{format} to {to}");
        }
        let (own, shape, parts) = tensor.clone().into_parts();
        assert_eq!(Tensor::from_parts(&own, &shape, parts).unwrap(), tensor, "{format}");
    }
}

/// Padding outside the shape, of a level that does not say that its padding may be there.
#[test]
fn padding_outside_the_shape_is_refused_of_a_level_that_does_not_overhang() {
    for (level, taken) in [("slots(2)", true), ("slots", false)] {
        let format = format!("(i, j) -> (i : dense, j / 4 : dense, j % 4 : {level})");
        let crd = vec![0_u32, 1, 0, 3].into();
        let parts = Parts::new(vec![vec![], vec![], vec![crd]], vec![1.0, 2.0, 3.0, 0.0]);
        let made = Tensor::from_parts(format, &[1, 6], parts);
        match made {
            Err(Error::OutOfBounds { dim: 1, coordinate: 7, .. }) => assert!(!taken),
            made => assert!(taken && made.is_ok(), "{level}: {made:?}"),
        }
    }
}
