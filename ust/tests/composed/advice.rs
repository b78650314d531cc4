//! Sums of parts that advice proposes.

use std::time::Duration;

use ust::advise::{Options, advise, compositions};
use ust::format::Composition;
use ust::{Composed, Coo};

use crate::shared::csr;

/// The entries of a generated matrix and, of each `every`-th row, more at coordinates that are spread.
fn scattered(text: &str, every: usize) -> Coo {
    let coo = ust::generate::generate(text).unwrap();
    let (rows, columns) = (coo.shape[0], coo.shape[1]);
    let mut crd = coo.crd;
    let mut values = coo.values.typed::<f64>().unwrap().to_vec();
    for row in (0..rows).step_by(every) {
        crd[0].push(row as i64);
        crd[1].push((row * 7919 % columns) as i64);
        values.push(0.5);
    }
    Coo::new(coo.shape, crd, values).unwrap()
}

#[test]
fn splits_are_proposed_where_they_suit_and_can_be_pasted() {
    let options = || Options { budget: Duration::from_millis(200), ..Options::default() };
    let [dia, dia_rows, coo, few, many] = [
        "DIA where fill(j - i) >= 0.6 + COO",
        "DIA where fill(j - i) >= 0.6 + DCSR",
        "ELL where #i < 3 + COO",
        "ELL where #i < 3 + DCSR",
        "ELL where #i < 3 + CSR",
    ];
    for (matrix, expected) in [
        (scattered("gen:poisson2d(60)", 9), &[dia, dia_rows, coo, many][..]),
        // The diagonals have everything.
        (ust::generate::generate("gen:poisson2d(40)").unwrap(), &[coo, many]),
        // All rows are alike.
        (ust::generate::generate("gen:pruned24(64x64)").unwrap(), &[]),
        (scattered("gen:banded(6000, diagonals=3)", 5), &[dia, dia_rows, coo, few]),
    ] {
        let a = csr(&matrix);
        let proposed = compositions(&a).unwrap();
        assert!(
            proposed.iter().filter(|text| !text.starts_with("BSR")).eq(expected),
            "{proposed:?}"
        );
        let advice = advise(&a, &options()).unwrap();
        assert_eq!(advice.splits.is_empty(), proposed.is_empty(), "{:?}", advice.splits);
        for split in &advice.splits {
            let read: Composition = split.text.parse().unwrap();
            let made = Composed::split(&a, &read).unwrap();
            assert_eq!((made.bytes(), made.nse()), (split.bytes, split.stored), "{}", split.text);
            assert!(split.seconds > 0.0 && split.relative > 0.0);
        }
        assert!(advice.splits.is_sorted_by(|a, b| a.relative <= b.relative));
    }
    // In another semiring, what is not stored is no zero.
    let operation = Some("y(i) = A(i,j) * x(j) using min_plus".to_owned());
    let a = csr(&scattered("gen:poisson2d(30)", 9));
    assert!(advise(&a, &Options { operation, ..options() }).unwrap().splits.is_empty());
}
