//! Slices show what ndarray's show, and are tensors like others.

use proptest::prelude::*;
use ust::ndarray::{ArrayD, Axis, Slice, s};
use ust::tensor::Window;
use ust::tensor::slicing::Along;
use ust::{Error, Tensor, einsum};

use super::{array, assert_same, formats, stored};

/// What is shown of each dimension: a part of it, or one coordinate.
fn along(shape: &[usize], picks: &[(u8, u8, u8, bool)]) -> Vec<Along> {
    let each = shape.iter().zip(picks).map(|(&extent, &(offset, size, stride, at))| {
        if at && extent > 0 {
            return Along::At(usize::from(offset) % extent);
        }
        let offset = usize::from(offset) % (extent + 1);
        let stride = usize::from(stride) % 3 + 1;
        let most = (extent - offset).div_ceil(stride);
        let size = usize::from(size) % (most + 1);
        Along::Window(Window { offset: offset as u64, size: size as u64, stride: stride as u64 })
    });
    each.collect()
}

fn of_array(array: &ArrayD<f64>, along: &[Along]) -> ArrayD<f64> {
    let mut part = array.clone();
    for (dim, along) in along.iter().enumerate().rev() {
        part = match *along {
            Along::At(at) => part.index_axis_move(Axis(dim), at),
            Along::Window(Window { offset, size, stride }) => {
                let end = if size == 0 { offset } else { offset + (size - 1) * stride + 1 };
                let slice = Slice::new(offset as isize, Some(end as isize), stride as isize);
                part.slice_axis(Axis(dim), slice).to_owned()
            }
        };
    }
    part
}

/// The sum over the last dimension.
fn sums(part: &Tensor) -> Tensor {
    let names: Vec<String> = (0..part.rank()).map(|dim| format!("i{dim}")).collect();
    let text = format!("R({}) = A({})", names[..names.len() - 1].join(","), names.join(","));
    einsum(&text).arg("A", part).format("Dense").run().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_slice_shows_what_that_of_an_array_shows(
        shape in prop::collection::vec(1_usize..9, 1..4),
        picks in prop::collection::vec(any::<i8>(), 60),
        first in prop::collection::vec(any::<(u8, u8, u8, bool)>(), 3),
        second in prop::collection::vec(any::<(u8, u8, u8, bool)>(), 3),
    ) {
        let whole = array(&shape, &picks);
        let one = along(&shape, &first);
        let expected = of_array(&whole, &one);
        let two = along(expected.shape(), &second);
        let inner = of_array(&expected, &two);
        for format in formats(shape.len()) {
            let Some(tensor) = stored(&whole, &format) else { continue };
            let part = tensor.slice(one.clone()).unwrap();
            let case = format!("{format}, {one:?} of\n{whole}");
            assert_same(&part.to_dense().unwrap(), &expected, &case);
            prop_assert_eq!(part.nnz(), expected.iter().filter(|v| **v != 0.0).count(), "{}", case);
            for (at, &value) in expected.indexed_iter() {
                let at: Vec<usize> = (0..expected.ndim()).map(|dim| at[dim]).collect();
                prop_assert_eq!(part.get_as::<f64>(&at).unwrap(), value, "{}", case);
            }
            let coo = Tensor::from_coo(&part.to_coo().unwrap(), "COO").unwrap();
            assert_same(&coo.to_dense().unwrap(), &expected, &case);
            if part.rank() > 0 {
                let wanted = expected.sum_axis(Axis(part.rank() - 1));
                assert_same(&sums(&part).to_dense().unwrap(), &wanted, &case);
            }
            let again = part.slice(two.clone()).unwrap();
            assert_same(&again.to_dense().unwrap(), &inner, &format!("{case}, then {two:?}"));
        }
    }
}

#[test]
fn rows_of_csr_are_a_tensor_of_their_own_that_shares_the_arrays() {
    let whole = array(&[9, 7], &[3, 1, 6, 9, 0, 2, 12, -3, 5]);
    let a = Tensor::from_dense(&whole, "CSR").unwrap();
    let part = a.slice(2..5).unwrap();
    assert!(part.view().is_whole());
    assert_eq!(part, Tensor::from_dense(&whole.slice(s![2..5, ..]), "CSR").unwrap());
    let first = a.pos(1).unwrap().get(2).unwrap() as usize;
    let (own, all) = (part.values().typed::<f64>().unwrap(), a.values().typed::<f64>().unwrap());
    assert_eq!(own.as_ptr(), all[first..].as_ptr());
}

#[test]
fn where_the_first_level_has_the_dimension_parts_are_those_of_it_alone() {
    let whole = array(&[12, 8], &[3, 1, 6, 9, 0, 2, 12, -3, 5]);
    let cut = whole.slice(s![4..8, ..]);
    for format in [
        "CSR",
        "DCSR",
        "COO",
        "Dense",
        "BSR(2,2)",
        "Strips(4)",
        "CSF",
        "(i, j) -> (i : dense, j : delta(8))",
    ] {
        let part = Tensor::from_dense(&whole, format).unwrap().slice(4..8).unwrap();
        let whole = part.view().is_whole();
        assert_eq!(whole, !format.contains("delta"), "{format}");
        if whole {
            assert_eq!(part, Tensor::from_dense(&cut, format).unwrap(), "{format}");
        }
    }
}

// Negative numbers count from the end.
#[allow(clippy::reversed_empty_ranges)]
#[test]
fn ranges_are_written_as_elsewhere() {
    let whole = array(&[6, 5], &[3, 1, 6, 9, 0, 2, 12, -3, 5]);
    let a = Tensor::from_dense(&whole, "CSR").unwrap();
    let cases: [(Result<Tensor, Error>, ArrayD<f64>); 9] = [
        (a.slice(2..), whole.slice(s![2.., ..]).to_owned().into_dyn()),
        (a.slice(..=3), whole.slice(s![..4, ..]).to_owned().into_dyn()),
        (a.slice(..), whole.clone()),
        (a.slice((.., 1..3)), whole.slice(s![.., 1..3]).to_owned().into_dyn()),
        (a.slice((5, 2..=4)), whole.slice(s![5, 2..5]).to_owned().into_dyn()),
        (a.slice(s![-2.., ..;3]), whole.slice(s![4.., ..;3]).to_owned().into_dyn()),
        (a.slice(s![1..-1;2, -1]), whole.slice(s![1..5;2, 4]).to_owned().into_dyn()),
        (a.row(3), whole.slice(s![3, ..]).to_owned().into_dyn()),
        (a.column(3), whole.slice(s![.., 3]).to_owned().into_dyn()),
    ];
    for (at, (found, expected)) in cases.into_iter().enumerate() {
        assert_same(&found.unwrap().to_dense().unwrap(), &expected, &format!("case {at}"));
    }
}

#[allow(clippy::reversed_empty_ranges)]
#[test]
fn what_is_outside_is_refused() {
    let a = Tensor::from_dense(&array(&[6, 5], &[3, 1]), "CSR").unwrap();
    let message = |part: Result<Tensor, Error>| part.unwrap_err().to_string();
    let cases = [
        (a.slice(2..7), "shape [6] does not match"),
        (a.slice(4..2), "shape [6] does not match"),
        (a.slice(s![.., -6..]), "counts 6 from the end"),
        (a.slice((.., .., 0)), "the slice names 3 dimensions"),
        (a.slice((6, ..)), "coordinate 6 of dimension 0 lies outside 0..6"),
        (a.slice(s![..;-1, ..]), "it cannot reverse a dimension"),
        (a.row(usize::MAX), "lies outside 0..6"),
        (a.index_axis(2, 0), "there is no dimension 2: they are 0 to 1, or -2 to -1 from the end"),
    ];
    for (found, expected) in cases {
        let message = message(found);
        assert!(message.contains(expected), "`{message}` says `{expected}`");
    }
}

#[test]
fn dimensions_of_extent_one_come_and_go() {
    let whole = array(&[3, 4], &[3, 1, 6]);
    for format in formats(2) {
        let Some(a) = stored(&whole, &format) else { continue };
        for dim in 0..3 {
            match a.expand_dims(dim) {
                Ok(more) => {
                    let expected = whole.clone().insert_axis(Axis(dim));
                    assert_same(&more.to_dense().unwrap(), &expected, &format!("{format}, {dim}"));
                    let back = more.squeeze().unwrap();
                    assert_same(&back.to_dense().unwrap(), &whole, &format!("{format}, {dim}"));
                }
                Err(error) => assert!(matches!(error, Error::Unsupported(_)), "{format}: {error}"),
            }
        }
    }
}

#[test]
fn what_loops_run_on_in_place_of_a_slice_is_kept() {
    // Of an odd number of rows, every second reaches to the end.
    let whole = array(&[41, 30], &[3, 6, 0, 9, 1]);
    let a = Tensor::from_dense(&whole, "CSR").unwrap();
    let sums = |part: &Tensor| {
        let sums = einsum("s(i) = A(i,j)").arg("A", part).run().unwrap();
        sums.to_dense::<f64>().unwrap()
    };
    let part = a.slice(s![..;2, ..]).unwrap();
    let before = a.kept_bytes();
    let expected = whole.slice(s![..;2, ..]).sum_axis(Axis(1)).into_dyn();
    assert_same(&sums(&part), &expected, "the first run");
    let kept = a.kept_bytes() - before;
    assert!(kept > 0 && kept < a.bytes() as u64, "{kept}");
    assert_same(&sums(&a.slice(s![..;2, ..]).unwrap()), &expected, "the same slice again");
    assert_eq!(a.kept_bytes() - before, kept);
    // Others beside it, as long as all together are no larger than the tensor.
    for from in 0..8 {
        let found = sums(&a.slice(s![.., from..;2]).unwrap());
        let expected = whole.slice(s![.., from..;2]).sum_axis(Axis(1)).into_dyn();
        assert_same(&found, &expected, "columns");
        assert!(a.kept_bytes() - before <= a.bytes() as u64);
    }
    // Other values, other slices.
    let mut doubled = a.clone();
    doubled.scale(2.0).unwrap();
    assert_same(&sums(&doubled.slice(s![..;2, ..]).unwrap()), &(expected * 2.0), "other values");
    let turned = a.permute(&[1, 0]).unwrap();
    let found = sums(&turned.slice(s![..;2, ..]).unwrap());
    let expected = whole.t().slice(s![..;2, ..]).sum_axis(Axis(1)).into_dyn();
    assert_same(&found, &expected, "turned");
}

#[test]
fn a_slice_says_what_it_is_a_part_of() {
    let a = Tensor::from_dense(&array(&[5, 6], &[3, 1, 6, 9]), "CSR").unwrap();
    let part = a.slice(s![..;2, 2..]).unwrap();
    let text = part.to_string();
    assert!(text.contains("3x4 f64, ") && text.contains(" stored in the whole"), "{text}");
    let slice = "slice    i 0..5;2 of 5, j 2..6 of 6; the arrays are those of the whole";
    assert!(text.contains(slice), "{text}");
    assert!(!a.to_string().contains("slice"), "{a}");
    // Rows of CSR are a tensor of their own.
    assert!(!a.slice(1..3).unwrap().to_string().contains("whole"));
}
