//! Values that the caller gives for a pattern, also at positions that no coordinate reaches.

use proptest::prelude::*;
use ust::ndarray::{ArrayD, IxDyn};
use ust::{Tensor, einsum};

use super::{array, assert_same, formats, stored};

/// The sums of the entries that a walk visits.
fn visited(a: &Tensor) -> ArrayD<f64> {
    let coo = a.to_coo().unwrap();
    let mut sums = ArrayD::zeros(IxDyn(a.shape()));
    for (at, value) in coo.values.typed::<f64>().unwrap().iter().enumerate() {
        sums[IxDyn(&coo.coordinates(at))] += value;
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_no_coordinate_reaches_stays_unseen(
        shape in prop::collection::vec(0_usize..9, 1..4),
        picks in prop::collection::vec(any::<i8>(), 80),
    ) {
        let whole = array(&shape, &picks);
        let letters = ["i", "j", "k"][..shape.len()].join(",");
        for format in formats(shape.len()) {
            let Some(a) = stored(&whole, &format) else { continue };
            let values: Vec<f64> = (0..a.nse()).map(|at| at as f64 + 1.0).collect();
            let a = a.with_values(values).unwrap();
            let expected = visited(&a);
            let case = format!("{format}, {shape:?}\n{whole}");
            prop_assert_eq!(a.nnz(), a.to_coo().unwrap().len(), "{}", case);
            assert_same(&a.to_dense().unwrap(), &expected, &case);
            let text = format!("C({letters}) = 2 * A({letters})");
            let twice = einsum(&text[..]).arg("A", &a).format("Dense").run().unwrap();
            assert_same(&twice.to_dense().unwrap(), &(&expected * 2.0), &case);
            if let Ok(twice) = einsum(&text[..]).arg("A", &a).format(&format).run() {
                assert_same(&twice.to_dense().unwrap(), &(&expected * 2.0), &case);
                prop_assert_eq!(twice.sum(..).unwrap().item::<f64>().unwrap(), 2.0 * expected.sum());
            }
            let tree = a.convert("COO").unwrap();
            assert_same(&tree.to_dense().unwrap(), &expected, &case);
        }
    }
}
