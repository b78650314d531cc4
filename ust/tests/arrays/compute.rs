//! What is computed of tensors is what ndarray computes.

use proptest::prelude::*;
use ust::ndarray::{Array2, ArrayD, ArrayView2, Axis, Ix2, IxDyn, concatenate, linalg, stack};
use ust::{Error, Norm, Tensor};

use super::{array, assert_same, formats, stored};

/// An array without the dimensions of `axes`, each reduced.
fn folded(array: &ArrayD<f64>, axes: &[usize], f: impl Fn(f64, f64) -> f64) -> ArrayD<f64> {
    let mut axes = axes.to_vec();
    axes.sort_unstable();
    axes.iter().rev().fold(array.clone(), |all, &dim| {
        all.map_axis(Axis(dim), |lane| lane.iter().copied().reduce(&f).unwrap())
    })
}

fn dense(tensor: &Tensor) -> ArrayD<f64> {
    tensor.cast_lossy(ust::Dtype::F64).to_dense().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn reductions(
        shape in prop::collection::vec(1_usize..6, 1..4),
        picks in prop::collection::vec(any::<i8>(), 60),
        over in prop::collection::vec(any::<bool>(), 3),
    ) {
        let whole = array(&shape, &picks);
        let axes: Vec<usize> = (0..shape.len()).filter(|&dim| over[dim]).collect();
        let count: usize = axes.iter().map(|&dim| shape[dim]).product();
        for format in formats(shape.len()) {
            let Some(a) = stored(&whole, &format) else { continue };
            let case = format!("{format}, over {axes:?} of\n{whole}");
            let same = |found: Result<Tensor, Error>, expected: &ArrayD<f64>, what: &str| {
                assert_same(&dense(&found.unwrap()), expected, &format!("{what}: {case}"));
            };
            let sums = folded(&whole, &axes, |a, b| a + b);
            same(a.sum(&axes[..]), &sums, "sum");
            same(a.mean(&axes[..]), &(&sums / count as f64), "mean");
            same(a.prod(&axes[..]), &folded(&whole, &axes, |a, b| a * b), "prod");
            same(a.min(&axes[..]), &folded(&whole, &axes, f64::min), "min");
            same(a.max(&axes[..]), &folded(&whole, &axes, f64::max), "max");
            let some = whole.mapv(|v| f64::from(v != 0.0));
            same(a.any(&axes[..]), &folded(&some, &axes, f64::max), "any");
            same(a.all(&axes[..]), &folded(&some, &axes, f64::min), "all");
            same(a.norm(Norm::Count, &axes[..]), &folded(&some, &axes, |a, b| a + b), "count");
            if let [dim] = axes[..] {
                let place = |better: fn(&f64, &f64) -> bool| whole.map_axis(Axis(dim), |lane| {
                    let best = (0..lane.len()).reduce(|a, b| if better(&lane[b], &lane[a]) { b } else { a });
                    best.unwrap() as f64
                });
                same(a.argmin(dim), &place(|a, b| a < b), "argmin");
                same(a.argmax(dim), &place(|a, b| a > b), "argmax");
            }
            let sizes = whole.mapv(f64::abs);
            same(a.norm(Norm::L1, &axes[..]), &folded(&sizes, &axes, |a, b| a + b), "l1");
            same(a.norm(Norm::Max, &axes[..]), &folded(&sizes, &axes, f64::max), "largest");
            let squares = folded(&whole.mapv(|v| v * v), &axes, |a, b| a + b);
            same(a.norm(Norm::L2, &axes[..]), &squares.mapv(f64::sqrt), "l2");
        }
    }

    #[test]
    fn values_shapes_and_parts(
        shape in prop::collection::vec(2_usize..6, 1..4),
        picks in prop::collection::vec(any::<i8>(), 60),
        at in prop::collection::vec(any::<u8>(), 1..6),
        dim in any::<u8>(),
    ) {
        let whole = array(&shape, &picks);
        let dim = usize::from(dim) % shape.len();
        let at: Vec<usize> = at.iter().map(|&at| usize::from(at) % shape[dim]).collect();
        let mut reversed = shape.clone();
        reversed.reverse();
        let count: usize = shape.iter().product();
        for format in formats(shape.len()) {
            let Some(a) = stored(&whole, &format) else { continue };
            let case = format!("{format}, {dim} {at:?} of\n{whole}");
            assert_same(&dense(&a.map(|v: f64| v * 2.0 + 1.0).unwrap()), &(&whole * 2.0 + 1.0), &case);
            assert_same(&dense(&a.clip(-3.0, 5.0).unwrap()), &whole.mapv(|v| v.clamp(-3.0, 5.0)), &case);
            let mut scaled = a.clone();
            scaled.scale(-0.5).unwrap();
            assert_same(&dense(&scaled), &(&whole * -0.5), &case);
            let moved = |shape: &[usize]| whole.clone().into_shape_with_order(IxDyn(shape)).unwrap();
            // A format of a bounded number of entries need not hold them elsewhere.
            if let Ok(found) = a.reshape(&reversed) {
                assert_same(&dense(&found), &moved(&reversed), &case);
            }
            let mut sorted = whole.clone();
            sorted.map_inplace(|v| *v += 0.0);
            for mut lane in sorted.lanes_mut(Axis(shape.len() - 1)) {
                let mut values = lane.to_vec();
                values.sort_by(f64::total_cmp);
                lane.iter_mut().zip(values).for_each(|(to, value)| *to = value);
            }
            if let Ok(found) = a.sort() {
                assert_same(&dense(&found), &sorted, &case);
            }
            if let Ok(found) = a.topk(2) {
                let mut largest = whole.clone();
                for mut lane in largest.lanes_mut(Axis(shape.len() - 1)) {
                    let mut stored: Vec<f64> = lane.iter().copied().filter(|v| *v != 0.0).collect();
                    stored.sort_by(|a, b| b.total_cmp(a));
                    stored.truncate(2);
                    for value in &mut lane {
                        match stored.iter().position(|one| one == value) {
                            Some(at) => drop(stored.remove(at)),
                            None => *value = 0.0,
                        }
                    }
                }
                // A full format stores zeros, which are elements there.
                if !a.has_padding() && a.nse() == a.nnz() {
                    assert_same(&dense(&found), &largest, &case);
                }
            }
            if let [.., rows, columns] = shape[..] {
                let offset = at[0] as isize - 2;
                let side = |keep: fn(isize, isize) -> bool| {
                    let mut part = whole.clone();
                    for (at, value) in part.iter_mut().enumerate() {
                        let (row, column) = (at / columns % rows, at % columns);
                        if !keep(column as isize - row as isize, 0) {
                            *value = 0.0;
                        }
                    }
                    part
                };
                if let Ok(low) = a.tril(0) {
                    assert_same(&dense(&low), &side(|a, b| a <= b), &case);
                }
                if let (Ok(low), Ok(high)) = (a.tril(offset), a.triu(offset + 1)) {
                    assert_same(&(dense(&low) + dense(&high)), &whole, &case);
                }
            }
            assert_same(&dense(&a.flatten().unwrap()), &moved(&[count]), &case);
            if let Ok(found) = a.take(at.clone(), dim) {
                assert_same(&dense(&found), &whole.select(Axis(dim), &at), &case);
            }
            if let Ok(found) = Tensor::concat(&[&a, &a], dim) {
                let expected = concatenate(Axis(dim), &[whole.view(), whole.view()]).unwrap();
                assert_same(&dense(&found), &expected, &case);
            }
            let expected = stack(Axis(dim), &[whole.view(), whole.view()]).unwrap();
            assert_same(&dense(&Tensor::stack(&[&a, &a], dim).unwrap()), &expected, &case);
            let cut = shape[dim] / 2;
            let parts = a.split(&[cut], dim).unwrap();
            let (low, high) = whole.view().split_at(Axis(dim), cut);
            assert_same(&dense(&parts[0]), &low.to_owned(), &case);
            assert_same(&dense(&parts[1]), &high.to_owned(), &case);
            let mut larger = vec![2];
            larger.extend(&shape);
            let expected = whole.broadcast(IxDyn(&larger)).unwrap().to_owned();
            assert_same(&dense(&a.broadcast_to(&larger).unwrap()), &expected, &case);
            let mut entries: Vec<(Vec<usize>, f64)> = match shape.len() {
                1 => a.iter().unwrap().map(|([i], v)| (vec![i], v)).collect(),
                2 => a.iter().unwrap().map(|([i, j], v)| (vec![i, j], v)).collect(),
                _ => a.iter().unwrap().map(|([i, j, k], v)| (vec![i, j, k], v)).collect(),
            };
            let all = a.entries().unwrap().map(|e| (e.coordinates, a.dtype().zero(), e.value));
            let all: Vec<(Vec<usize>, ust::Scalar)> = all.map(|(at, _, v)| (at, v)).collect();
            let own = entries.iter().map(|(at, v)| (at.clone(), ust::Scalar::F64(*v))).collect::<Vec<_>>();
            prop_assert_eq!(own, all, "{}", case);
            entries.retain(|(_, v)| *v != 0.0);
            let nonzero = a.nonzero().unwrap();
            prop_assert_eq!(entries.len(), nonzero[0].len());
        }
    }

    #[test]
    fn operators_broadcast(
        shape in prop::collection::vec(1_usize..5, 1..4),
        ones in prop::collection::vec(any::<bool>(), 6),
        fewer in 0_usize..3,
        picks in prop::collection::vec(any::<i8>(), 60),
    ) {
        let with_ones = |ones: &[bool]| -> Vec<usize> {
            shape.iter().zip(ones).map(|(&n, &one)| if one { 1 } else { n }).collect()
        };
        let left = with_ones(&ones[..3]);
        let right = with_ones(&ones[3..])[fewer.min(shape.len() - 1)..].to_vec();
        let (a, b) = (array(&left, &picks), array(&right, &picks[7..]));
        for (format, other) in formats(left.len()).iter().zip(formats(right.len()).iter().rev().cycle()) {
            let (Some(x), Some(y)) = (stored(&a, format), stored(&b, other)) else { continue };
            let case = format!("{format} and {other}:\n{a}\nand\n{b}");
            assert_same(&dense(&(&x + &y).unwrap()), &(&a + &b), &case);
            assert_same(&dense(&(&y * &x).unwrap()), &(&b * &a), &case);
            let mut z = x.clone();
            if (&a - &b).shape() == a.shape() && z.format().is_unique() {
                z = z.convert(if z.rank() == 1 { "SparseVector" } else { "CSF" }).unwrap();
                z -= &y;
                assert_same(&dense(&z), &(&a - &b), &case);
            }
        }
    }

    #[test]
    fn products(
        [m, k, n, l] in [1_usize..5, 1_usize..5, 1_usize..5, 1_usize..4],
        one in any::<bool>(),
        picks in prop::collection::vec(any::<i8>(), 60),
    ) {
        let batch = if one { 1 } else { l };
        let (a, b) = (array(&[l, m, k], &picks), array(&[batch, k, n], &picks[5..]));
        let matrix = |of: &ArrayD<f64>, at: usize| of.index_axis(Axis(0), at).to_owned();
        let two = |of: &ArrayD<f64>| of.clone().into_dimensionality::<Ix2>().unwrap();
        let mut expected = ArrayD::zeros(IxDyn(&[l, m, n]));
        for at in 0..l {
            let product = two(&matrix(&a, at)).dot(&two(&matrix(&b, at.min(batch - 1))));
            expected.index_axis_mut(Axis(0), at).assign(&product);
        }
        for format in formats(3) {
            let (Some(x), Some(y)) = (stored(&a, &format), stored(&b, &format)) else { continue };
            assert_same(&dense(&x.matmul(&y).unwrap()), &expected, &format.to_string());
            if batch == 1 {
                let flat = y.row(0).unwrap();
                assert_same(&dense(&x.matmul(&flat).unwrap()), &expected, &format.to_string());
            }
        }
        let (a, b) = (two(&matrix(&a, 0)), two(&matrix(&b, 0)));
        let kron: Array2<f64> = linalg::kron(&a, &b);
        for format in formats(2) {
            let (a, b) = (a.clone().into_dyn(), b.clone().into_dyn());
            let (Some(x), Some(y)) = (stored(&a, &format), stored(&b, &format)) else { continue };
            if let Ok(found) = x.kron(&y) {
                assert_same(&dense(&found), &kron.clone().into_dyn(), &format.to_string());
            }
            let vector = two(&b).column(0).to_vec();
            let mut y = vec![f64::NAN; m];
            x.dot_into(&vector, &mut y).unwrap();
            let expected: ust::ndarray::Array1<f64> = two(&a).dot(&two(&b).column(0));
            assert_same(&ArrayD::from_shape_vec(IxDyn(&[m]), y).unwrap(), &expected.into_dyn(), &format.to_string());
        }
    }
}

#[test]
fn sums_of_narrow_integers_do_not_wrap() {
    fn check<T: ust::tensor::StoredElement + From<u8>>(wide: ust::Dtype) {
        let ones = Tensor::from_dense(
            &ust::ndarray::Array1::from_elem(300, T::from(1_u8)),
            "SparseVector",
        );
        let ones = ones.unwrap();
        let sum = ones.sum(..).unwrap();
        assert_eq!((sum.dtype(), dense(&sum).sum()), (wide, 300.0), "{}", ones.dtype());
        assert_eq!(dense(&ones.mean(..).unwrap()).sum(), 1.0, "{}", ones.dtype());
        assert_eq!(dense(&ones.norm(Norm::L1, ..).unwrap()).sum(), 300.0, "{}", ones.dtype());
    }
    check::<u8>(ust::Dtype::U64);
    check::<i16>(ust::Dtype::I64);
    check::<i32>(ust::Dtype::I64);
    check::<f32>(ust::Dtype::F32);
    let least = Tensor::from_dense(&ust::ndarray::arr1(&[i8::MIN; 300]), "SparseVector").unwrap();
    assert_eq!(least.sum(..).unwrap().item::<i64>().unwrap(), -38_400);
    assert_eq!(least.norm(Norm::L1, ..).unwrap().item::<i64>().unwrap(), 38_400);
    let twos = Tensor::from_dense(&ust::ndarray::arr1(&[2_i8; 40]), "Dense").unwrap();
    assert_eq!(twos.prod(..).unwrap().item::<i64>().unwrap(), 1 << 40);
    let diagonal = Tensor::diags((300, 300), &[(0, &[1_i8])], "CSR").unwrap();
    assert_eq!(diagonal.trace().unwrap().item::<i64>().unwrap(), 300);
}

#[test]
fn sorted_lanes_end_with_nan_and_keep_every_bit_of_integers() {
    let row =
        ust::ndarray::arr1(&[0.0, f64::NAN, -1.5, f64::INFINITY, 0.0, -2.0, f64::NEG_INFINITY]);
    let sorted = Tensor::from_dense(&row, "SparseVector").unwrap().sort().unwrap();
    let found = sorted.to_dense::<f64>().unwrap().into_raw_vec_and_offset().0;
    assert_eq!(found[..6], [f64::NEG_INFINITY, -2.0, -1.5, 0.0, 0.0, f64::INFINITY]);
    assert!(found[6].is_nan());
    let (a, b) = ((1_i64 << 53) + 1, 1_i64 << 53);
    let row = Tensor::from_dense(&ust::ndarray::arr1(&[a, 0, b]), "SparseVector").unwrap();
    assert_eq!(
        row.sort().unwrap().to_dense::<i64>().unwrap(),
        ust::ndarray::arr1(&[0, b, a]).into_dyn()
    );
    assert_eq!(row.topk(1).unwrap().values().typed::<i64>().unwrap(), [a]);
    let complex = row.cast_lossy(ust::Dtype::Complex128).sort().unwrap_err().to_string();
    assert!(complex.contains("complex numbers have no order"), "{complex}");
}

#[test]
fn functions_are_of_elements_and_not_of_their_duplicates() {
    let format = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))";
    let coo = ust::Coo::new([2, 2], vec![vec![0, 0, 1], vec![1, 1, 0]], [9.0, 16.0, 4.0]).unwrap();
    let a = Tensor::from_coo(&coo, format).unwrap();
    assert_eq!(a.nse(), 3);
    let found = [a.map(f64::sqrt).unwrap(), a.clip(0.0, 20.0).unwrap()]
        .map(|a| dense(&a).into_raw_vec_and_offset().0);
    assert_eq!(found, [vec![0.0, 5.0, 2.0, 0.0], vec![0.0, 20.0, 4.0, 0.0]]);
}

/// The softmax of the elements of a row that are not zero.
fn softmax(array: &ArrayView2<'_, f64>) -> Array2<f64> {
    let mut all = array.mapv(|v| if v == 0.0 { 0.0 } else { v.exp() });
    for mut row in all.rows_mut() {
        let sum = row.sum();
        row.mapv_inplace(|v| if v == 0.0 { 0.0 } else { v / sum });
    }
    all
}

#[test]
fn softmax_is_over_what_is_stored() {
    let whole = array(&[6, 7], &[3, -9, 1, 6, 2, 127, -126, 4]);
    let expected = softmax(&whole.view().into_dimensionality().unwrap()).into_dyn();
    let logs = expected.mapv(|v| if v == 0.0 { 0.0 } else { v.ln() });
    for format in [
        "CSR",
        "CSC",
        "COO",
        "DCSR",
        "(i, j) -> (i : dense, j : hashed)",
        "(i, j) -> (i : dense, j : delta(8))",
    ] {
        let a = Tensor::from_dense(&whole, format).unwrap();
        assert_same(&dense(&a.softmax().unwrap()), &expected, format);
        assert_same(&dense(&a.log_softmax().unwrap()), &logs, format);
    }
    // Large numbers do not overflow, and far below zero they do not vanish.
    for shift in [1e3, -1e3] {
        let a = Tensor::from_dense(&whole, "CSR").unwrap();
        let values: Vec<f64> =
            a.values().typed::<f64>().unwrap().iter().map(|v| v + shift).collect();
        let a = a.with_values(values).unwrap();
        assert_same(&dense(&a.softmax().unwrap()), &expected, "shifted");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = Tensor::from_dense(&array(&[2, 3], &[3, 1]), "CSR").unwrap();
    let message = |found: Result<Tensor, Error>| found.unwrap_err().to_string();
    let none = Tensor::zeros(&[0, 3], "CSR", ust::Dtype::F64).unwrap();
    let cases = [
        (a.sum(2), "there is no dimension 2: they are 0 to 1, or -2 to -1 from the end"),
        (a.sum([0, 0]), "dimension 0 is named once"),
        (none.max(0), "an element along dimensions [0]"),
        (a.reshape(&[7]), "as many elements as shape [2, 3] has"),
        (a.take(vec![3], 1), "coordinate 3 of dimension 1 lies outside 0..3"),
        (a.compress(&[true], 0), "a mask of 2 truth values"),
        (Tensor::concat(&[], 0), "one tensor at least"),
        (Tensor::concat(&[&a, &a.transpose()], 0), "all extents but that of dimension 0"),
        (a.broadcast_to(&[2, 2, 2]), "a shape that [2, 3] can be repeated to"),
        ((&a + &a.transpose()).map_err(Error::from), "extents are equal or 1"),
        (a.diagonal(4), "a diagonal 4"),
        (a.row(0).and_then(|row| row.trace()), "a matrix"),
    ];
    for (found, expected) in cases {
        let message = message(found);
        assert!(message.contains(expected), "`{message}` says `{expected}`");
    }
    assert_eq!(none.sum(0).unwrap().to_dense::<f64>().unwrap().sum(), 0.0);
}

#[test]
fn dimensions_count_from_either_end() {
    let a = Tensor::from_dense(&array(&[2, 3, 4], &[3, 1, 6, 9, -3]), "CSF").unwrap();
    for dim in 0..3_usize {
        let end = dim as i32 - 3;
        let pairs = [
            (a.sum(dim), a.sum(end)),
            (a.prod(dim), a.prod([end])),
            (a.mean(dim), a.mean(end as isize)),
            (a.min(dim), a.min(&[end][..])),
            (a.max(dim), a.max(vec![end])),
            (a.any(dim), a.any(i64::from(end))),
            (a.all(dim), a.all(end)),
            (a.norm(Norm::L1, dim), a.norm(Norm::L1, end)),
            (a.argmin(dim), a.argmin(end)),
            (a.argmax(dim), a.argmax(end)),
            (a.take(vec![1, 0], dim), a.take(vec![1, 0], end)),
            (a.index_axis(dim, 1), a.index_axis(end, 1)),
            (Tensor::concat(&[&a, &a], dim), Tensor::concat(&[&a, &a], end)),
            (a.expand_dims(dim + 1), a.expand_dims(end)),
            (Tensor::stack(&[&a, &a], dim + 1), Tensor::stack(&[&a, &a], end)),
            (
                Ok(a.split(&[1], dim).unwrap()[1].clone()),
                Ok(a.split(&[1], end).unwrap()[1].clone()),
            ),
        ];
        for (at, (positive, negative)) in pairs.into_iter().enumerate() {
            assert_eq!(positive.unwrap(), negative.unwrap(), "{at}, dimension {dim}");
        }
    }
    assert_eq!(a.sum([0, -1]).unwrap(), a.sum([0, 2]).unwrap());
    for error in [a.sum(3), a.sum(-4), a.sum([0, 3]), a.take(vec![0], -4), a.expand_dims(4)] {
        let text = error.unwrap_err().to_string();
        assert!(text.contains("there is no dimension"), "{text}");
    }
    for error in [a.sum([0, -3]), a.max([1, 1])] {
        let text = error.unwrap_err().to_string();
        assert!(text.contains("named once"), "{text}");
    }
    let scalar = a.sum(..).unwrap().sum(0).unwrap_err().to_string();
    assert!(scalar.contains("a scalar has none"), "{scalar}");
}
