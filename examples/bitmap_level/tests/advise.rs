//! The level type competes when somebody asks which format to choose.

use std::time::Duration;

use bitmap_level as _;
use ust::advise::{Options, Origin, advise, catalogue, stats};
use ust::{Tensor, generate};

fn tensor(text: &str) -> Tensor {
    Tensor::from_coo(&generate::generate(text).unwrap(), "CSR").unwrap()
}

#[test]
fn a_tensor_that_is_dense_enough_is_offered_bitmaps() {
    let of_bitmap = |text: &str| {
        let (candidates, _) = catalogue(&stats(&tensor(text)).unwrap());
        candidates.iter().any(|candidate| candidate.origin == Origin::Level("bitmap"))
    };
    assert!(of_bitmap("random(40x40, nnz=400)"));
    assert!(!of_bitmap("random(400x400, nnz=400)"));
}

#[test]
fn its_bytes_are_predicted() {
    let options = Options { budget: Duration::from_secs(2), ..Options::default() };
    let advice = advise(&tensor("random(40x40, nnz=800)"), &options).unwrap();
    let row = advice.rows.iter().find(|row| row.origin == Origin::Level("bitmap")).unwrap();
    assert_eq!(row.prediction.bytes, 14_400.0);
    assert!(row.measured.is_none_or(|measured| measured.bytes == 40 * 40 * 9));
}
