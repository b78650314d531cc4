//! Parts at chosen coordinates of a dimension, and slices with a step, compared with ndarray.

use proptest::prelude::*;
use ust::ndarray::{ArrayD, Axis, Slice};
use ust::tensor::{BuildOptions, Window};
use ust::{Coo, Error, Format, Scalar, Tensor};

use super::{array, assert_same, assert_valid, formats, stored};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn parts_are_those_of_an_array(
        shape in prop::collection::vec(0_usize..9, 1..4),
        picks in prop::collection::vec(any::<i8>(), 80),
        wanted in prop::collection::vec(any::<usize>(), 0..12),
        (dim, step, from, other) in (0_usize..3, 1_usize..5, 0_usize..9, any::<bool>()),
        mask in prop::collection::vec(any::<bool>(), 9),
    ) {
        let dim = dim % shape.len();
        let whole = array(&shape, &picks);
        let wanted = if shape[dim] == 0 { Vec::new() } else { wanted };
        let at: Vec<usize> = wanted.iter().map(|n| n % shape[dim]).collect();
        let steps = |dim: usize| {
            let offset = from.min(shape[dim]);
            let size = (shape[dim] - offset).div_ceil(step);
            Window { offset: offset as u64, size: size as u64, stride: step as u64 }
        };
        for format in formats(shape.len()) {
            let Some(a) = stored(&whole, &format) else { continue };
            let case = format!("{at:?} of {dim}, {from}..;{step}, {format}\n{whole}");
            // A format need not hold every part: 2:4, or so many entries in a row.
            if let Ok(found) = a.take(at.clone(), dim) {
                assert_same(&found.to_dense().unwrap(), &whole.select(Axis(dim), &at), &case);
                assert_valid(&found);
                prop_assert_eq!(found.format(), &format);
            }
            if let Ok(found) = a.compress(&mask[..shape[dim]], dim) {
                let kept: Vec<usize> = (0..shape[dim]).filter(|&at| mask[at]).collect();
                assert_same(&found.to_dense().unwrap(), &whole.select(Axis(dim), &kept), &case);
            }
            let mut windows: Vec<Window> = shape.iter().map(|&extent| Window::all(extent)).collect();
            windows[dim] = steps(dim);
            if other {
                windows[0] = steps(0);
            }
            let expected = whole.slice_each_axis(|axis| {
                let window = windows[axis.axis.index()];
                Slice::new(window.offset as isize, None, window.stride as isize)
            });
            let expected = expected.to_owned();
            let part = a.slice(&windows[..]).unwrap();
            assert_same(&part.to_dense().unwrap(), &expected, &case);
            if let Ok(found) = part.convert(&format) {
                assert_same(&found.to_dense().unwrap(), &expected, &case);
                assert_valid(&found);
            }
        }
    }
}

#[test]
fn long_parts_are_copied_in_pieces() {
    // Rows of 0 to 3 entries, and one of half of the columns.
    let n = 40_000;
    let mut crd = vec![Vec::new(), Vec::new()];
    for row in 0..n {
        let count = if row == 777 { n / 2 } else { row % 4 };
        crd[0].extend(std::iter::repeat_n(row as i64, count));
        crd[1].extend((0..count).map(|at| (at * 2 + row % 2) as i64));
    }
    let values: Vec<f64> = (0..crd[0].len()).map(|at| at as f64 + 1.0).collect();
    let coo = Coo::new(vec![n, n], crd, values).unwrap();
    let rows: Vec<usize> = (0..n).map(|at| (at * 7 + 777) % n).chain([777, 777]).collect();
    let csr = Tensor::from_coo(&coo, "CSR").unwrap();
    let expected: Vec<(i64, i64, f64)> = rows
        .iter()
        .enumerate()
        .flat_map(|(to, &row)| {
            let one = csr.row(row).unwrap().to_coo().unwrap();
            let values = one.values.typed::<f64>().unwrap().to_vec();
            let each = one.crd[0].clone().into_iter().zip(values);
            each.map(move |(column, value)| (to as i64, column, value)).collect::<Vec<_>>()
        })
        .collect();
    for format in ["CSR", "DCSR", "COO", "(i, j) -> (i : dense, j : compressed), posWidth = 64"] {
        let a = Tensor::from_coo(&coo, format).unwrap();
        let found = a.take(rows.clone(), 0).unwrap();
        assert_valid(&found);
        let found = found.to_coo().unwrap();
        let values = found.values.typed::<f64>().unwrap();
        let found = found.crd[0].iter().zip(&found.crd[1]).zip(values);
        assert!(found.map(|((&i, &j), &v)| (i, j, v)).eq(expected.iter().copied()), "{format}");
    }
}

#[test]
fn what_is_not_stored_and_one_value_for_all_stay() {
    let coo =
        Coo::new(vec![4, 3], vec![vec![0, 2, 2], vec![1, 0, 0]], vec![5.0, 6.0, 7.0]).unwrap();
    let options = BuildOptions { fill: Some(Scalar::F64(9.0)), ..Default::default() };
    for format in ["COO", "(i, j) -> (i : dense, j : compressed(nonunique))"] {
        let format: Format = Format::resolve(format, Some(2)).unwrap();
        let a = Tensor::from_coo_with(&coo, &format, &options).unwrap();
        let found = a.take(vec![2, 1, 0, 2], 0).unwrap();
        assert_eq!(found.fill(), Scalar::F64(9.0));
        let whole: ArrayD<f64> = a.to_dense().unwrap();
        let expected = whole.select(Axis(0), &[2, 1, 0, 2]);
        assert_same(&found.to_dense().unwrap(), &expected, &format.to_string());
    }
    let ones = Tensor::from_coo(&coo, "CSR").unwrap().pattern().unwrap();
    let found = ones.take(vec![2, 2, 3], 0).unwrap();
    assert!(found.is_iso() && found.nse() == 2, "{found:?}");
    for at in [vec![4_i64], vec![-1], vec![0, 1 << 40]] {
        let error = ones.take(at, 0).unwrap_err();
        assert!(matches!(error, Error::OutOfBounds { .. }), "{error:?}");
    }
    // More entries than a byte counts.
    let narrow = "(i, j) -> (i : dense, j : compressed), posWidth = 8";
    let full = Tensor::from_dense(&ust::ndarray::Array2::<f64>::ones((10, 10)), narrow).unwrap();
    assert!(full.take((0..10).cycle().take(30).collect::<Vec<usize>>(), 0).is_err());
    assert_eq!(full.take(vec![3_usize; 25], 0).unwrap().nse(), 250);
}
