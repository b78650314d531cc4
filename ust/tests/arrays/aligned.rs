//! Results in the positions of a tensor.

use std::collections::HashMap;

use proptest::prelude::*;
use ust::ndarray::{ArrayD, s};
use ust::ops::{Einsum, OpError, oracle};
use ust::tensor::BuildOptions;
use ust::{Composed, Coo, Dtype, Error, Format, IndexArray, Scalar, Tensor, einsum};

use super::{array, formats, stored};

/// Whether a level says of some values that they are no entries.
fn pads(format: &Format) -> bool {
    format.descriptions().iter().any(|level| level.props.padded && !level.props.full)
}

/// Whether a position stands for a run of elements.
fn joins(format: &Format) -> bool {
    format.levels().last().is_some_and(|level| level.ty.joins_alike())
}

/// For each position, the coordinates of its element, if it has one.
fn coordinates(a: &Tensor) -> Vec<Option<Vec<usize>>> {
    let numbers: Vec<i64> = (1..=a.nse() as i64).collect();
    let mut numbered = a.with_values(numbers).unwrap();
    if a.nse() == 0 {
        numbered = a.clone();
    }
    let found: HashMap<usize, Vec<usize>> = numbered
        .entries()
        .unwrap()
        .filter_map(|entry| match entry.value {
            Scalar::I64(number) => Some((number as usize - 1, entry.coordinates)),
            _ => None,
        })
        .collect();
    let padding = |at: usize| pads(a.format()) && a.values().get(at).unwrap().same(&a.fill());
    (0..a.nse()).map(|at| found.get(&at).filter(|_| !padding(at)).cloned()).collect()
}

/// Whether the index arrays of two tensors are the same memory.
pub(super) fn share(a: &Tensor, b: &Tensor) -> bool {
    let arrays = |t: &Tensor| -> Vec<IndexArray> {
        t.levels().iter().flat_map(|level| level.0.clone()).collect()
    };
    let same = |(a, b): (&IndexArray, &IndexArray)| match (a, b) {
        (IndexArray::I32(a), IndexArray::I32(b)) => a.shares_memory_with(b),
        (IndexArray::U32(a), IndexArray::U32(b)) => a.shares_memory_with(b),
        (IndexArray::I64(a), IndexArray::I64(b)) => a.shares_memory_with(b),
        (a, b) => a == b,
    };
    arrays(a).len() == arrays(b).len() && arrays(a).iter().zip(&arrays(b)).all(same)
}

/// Checks a result of `expected` in the positions of a tensor.
fn assert_aligned(found: &Tensor, a: &Tensor, expected: &(ArrayD<f64>, f64), case: &str) {
    assert_eq!(found.format(), a.format(), "{case}");
    assert_eq!((found.nse(), found.shape()), (a.nse(), a.shape()), "{case}");
    assert!(found.same_structure(a) && share(found, a), "{case}");
    assert_values(&values(found), a, expected, case);
}

fn values(found: &Tensor) -> Vec<f64> {
    found.cast_lossy(Dtype::F64).values().typed::<f64>().unwrap().to_vec()
}

fn assert_values(found: &[f64], a: &Tensor, expected: &(ArrayD<f64>, f64), case: &str) {
    assert_eq!(found.len(), a.nse(), "{case}");
    for (at, (found, place)) in found.iter().zip(coordinates(a)).enumerate() {
        let wanted = place.as_ref().map_or(expected.1, |place| expected.0[&place[..]]);
        let near =
            *found == wanted || (found - wanted).abs() <= 1e-9 * wanted.abs().max(found.abs());
        assert!(near, "{case}: {found} at position {at} for {place:?}, expected {wanted}");
    }
}

fn by_oracle(call: &Einsum) -> ArrayD<f64> {
    oracle::evaluate(call).unwrap().cast_lossy(Dtype::F64).to_dense().unwrap()
}

/// Of matrices. `S`, `T` and `P` are sparse, `A` is the tensor itself, and others are dense.
const MATRICES: &[&str] = &[
    "R(i,j) = G(i,k) * X(j,k)",
    "R(i,j) = u(i) * v(j)",
    "R(i,j) = S(i,j) * 2 + u(i)",
    "R(i,j) = S(i,j)",
    "R(i,j) = P(i,k) * X(j,k)",
    "R(i,j) = P(i,k) * X(j,k) + S(i,j)",
    "R(i,j) = 1.5",
    "R(i,j) = D(i,j) + S(i,j) * T(i,j)",
    "R(i,j) = exp(S(i,j)) - D(i,j)",
    "R(i,j) = max(k, G(i,k) * X(j,k))",
    "R(i,j) = min(k, P(i,k) + X(j,k))",
    "R(i,j) = S(i,j) - T(i,j)",
    "R(i,j) = 3 * i - j",
    "R(i,j) = A(i,j) * u(i)",
    "R(i,j) = A(i,j) * G(i,k) * X(j,k)",
    "R(i,j)<S(i,j)> = u(i) + v(j)",
    "R(i,j)<!structure S(i,j)> = G(i,k) * X(j,k)",
    "R(i,j) = P(i,k) * X(j,k) using min_plus",
];

const VECTORS: &[&str] =
    &["R(i) = 2 * u(i)", "R(i) = G(i,k) * w(k)", "R(i) = P(i,k) * w(k) + S(i)", "R(i) = S(i)"];

const CUBES: &[&str] = &[
    "R(i,j,l) = u(i) * v(j) * z(l)",
    "R(i,j,l) = S(i,j,l) + D(i,j)",
    "R(i,j,l) = G(i,k) * X(j,k) * z(l)",
    "R(i,j,l) = A(i,j,l) * S(i,j,l)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn elements_stand_where_the_tensor_stores_its_own(
        shape in prop::collection::vec(1_usize..7, 1..4),
        inner in 1_usize..5,
        picks in prop::collection::vec(any::<i8>(), 60),
        others in prop::collection::vec(any::<i8>(), 60),
        (which, other) in (any::<usize>(), any::<usize>()),
        threads in 1_usize..3,
    ) {
        let rank = shape.len();
        let texts = [VECTORS, MATRICES, CUBES][rank - 1];
        let text = texts[which % texts.len()];
        let whole = array(&shape, &picks);
        let dense = |shape: &[usize], from: usize| {
            let picks: Vec<i8> = others[from..].iter().map(|one| one | 1).collect();
            array(shape, &picks).mapv(|v| v / 7.0 + 0.3)
        };
        let extent = |dim: usize| shape.get(dim).copied().unwrap_or(1);
        let sparse = |shape: &[usize], from: usize| {
            let all = formats(shape.len());
            let picks = &others[from..];
            let held = (0..all.len()).map(|at| &all[(at + other) % all.len()]);
            held.filter_map(|format| stored(&array(shape, picks), format)).next().unwrap()
        };
        let mut inputs: Vec<(&str, Tensor)> = Vec::new();
        for (name, shape) in [
            ("G", vec![extent(0), inner]), ("X", vec![extent(1), inner]), ("D", vec![extent(0), extent(1)]),
            ("u", vec![extent(0)]), ("v", vec![extent(1)]), ("z", vec![extent(2)]), ("w", vec![inner]),
        ] {
            inputs.push((name, Tensor::from_array(dense(&shape, inputs.len())).unwrap()));
        }
        inputs.push(("S", sparse(&shape, 1)));
        inputs.push(("T", sparse(&shape, 5)));
        inputs.push(("P", sparse(&[extent(0), inner], 9)));
        for format in formats(rank) {
            let Some(a) = stored(&whole, &format) else { continue };
            if joins(&format) {
                let error = einsum(text_of(&a)).aligned_with(&a).run().unwrap_err();
                assert!(matches!(error, OpError::Tensor(Error::Unsupported(_))), "{error}");
                continue;
            }
            let case = format!("{text} in {format} at\n{whole}\nwith S in {}", inputs[7].1.format());
            let call = |a: &Tensor| {
                let mut call = einsum(text).threads(threads).aligned_with(a);
                for (name, tensor) in inputs.iter().filter(|(name, _)| text.contains(&format!("{name}("))) {
                    call = call.arg(name, tensor);
                }
                if text.contains("A(") { call.arg("A", a) } else { call }
            };
            let zero = if text.contains("min_plus") { f64::INFINITY } else { 0.0 };
            let expected = (by_oracle(&call(&a)), zero);
            assert_aligned(&call(&a).run().unwrap(), &a, &expected, &case);
            let mut out = vec![f64::NAN; a.nse()];
            if call(&a).prepare().unwrap().run_into(&arguments(text, &inputs, &a), &mut out).is_ok() {
                assert_values(&out, &a, &expected, &case);
            }
            // Other entries, in the kernel for these.
            let Some(b) = stored(&array(&shape, &picks[3..]), &format) else { continue };
            let kernel = call(&a).prepare().unwrap();
            match kernel.run(&arguments(text, &inputs, &b)) {
                Ok(found) => assert_aligned(&found, &b, &(by_oracle(&call(&b)), zero), &case),
                // Automatic widths, and kernels for one value of all elements.
                Err(error) => assert!(error.to_string().contains("prepare"), "{error}: {case}"),
            }
        }
    }
}

fn text_of(a: &Tensor) -> &'static str {
    ["R(i) = 1", "R(i,j) = 1", "R(i,j,l) = 1"][a.rank() - 1]
}

/// The tensors that a kernel for this text takes.
fn arguments<'a>(text: &str, inputs: &'a [(&str, Tensor)], a: &'a Tensor) -> Vec<&'a Tensor> {
    let named = inputs.iter().filter(|(name, _)| text.contains(&format!("{name}(")));
    let mut all: Vec<&Tensor> = named.map(|(_, tensor)| tensor).collect();
    if text.contains("A(") {
        all.push(a);
    }
    all.push(a);
    all
}

/// A tensor in whose positions rows of 1, 2, 3, ... times columns of 0.5, 1.0, ... are computed.
fn outer(a: &Tensor) -> Tensor {
    let (u, v) = factors(a);
    einsum("R(i,j) = u(i) * v(j)").arg("u", u).arg("v", v).aligned_with(a).run().unwrap()
}

fn factors(a: &Tensor) -> (Vec<f64>, Vec<f64>) {
    let count = |dim: usize, by: f64| (1..=a.shape()[dim]).map(|n| n as f64 * by).collect();
    (count(0, 1.0), count(1, 0.5))
}

fn outer_expected(a: &Tensor) -> (ArrayD<f64>, f64) {
    let (u, v) = factors(a);
    let shape = ust::ndarray::IxDyn(a.shape());
    (ArrayD::from_shape_fn(shape, |at| u[at[0]] * v[at[1]]), 0.0)
}

#[test]
fn slices_have_the_positions_of_the_whole() {
    let whole = array(&[6, 7], &[3, 1, 6, 9, 2, 12, 15, 1, 18]);
    for format in formats(2) {
        let Some(a) = stored(&whole, &format).filter(|_| !joins(&format)) else { continue };
        for part in [a.slice(s![..;2, ..]), a.slice(s![1..5, 2..;3]), a.slice(s![2..2, ..])] {
            let part = part.unwrap();
            assert_aligned(&outer(&part), &part, &outer_expected(&part), &format.to_string());
        }
    }
}

#[test]
fn each_position_of_duplicates_has_the_element() {
    let crd = vec![vec![2, 0, 2, 1, 2], vec![1, 3, 1, 0, 1]];
    let coo = Coo::new(vec![3, 4], crd, vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    for format in [
        "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
        "(i, j) -> (i : dense, j : compressed(nonunique))",
        "(i, j) -> (j : dense, i : compressed(nonunique, nonordered))",
    ] {
        let a = Tensor::from_coo(&coo, format).unwrap();
        assert_eq!(a.nse(), 5);
        assert_aligned(&outer(&a), &a, &outer_expected(&a), format);
        let (u, v) = factors(&a);
        let call = einsum("R(i,j) = u(i) * v(j)").arg("u", &u).arg("v", &v).aligned_with(&a);
        let mut out = [0.0; 5];
        call.run_into(&mut out).unwrap();
        assert_values(&out, &a, &outer_expected(&a), format);
    }
}

#[test]
fn padding_is_zero_and_zeros_of_full_levels_are_elements() {
    let dense = ust::ndarray::array![[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 0.0]];
    let values = |format: &str| values(&outer(&Tensor::from_dense(&dense, format).unwrap()));
    // One block of each pair of rows; what is outside of the matrix has nothing.
    assert_eq!(values("BSR(2,2)"), [0.5, 1.0, 1.0, 2.0]);
    assert_eq!(values("BSR(2,4)"), [0.5, 1.0, 1.5, 0.0, 1.0, 2.0, 3.0, 0.0]);
    assert_eq!(values("Dense")[..3], [0.5, 1.0, 1.5]);
    // Slots without an entry.
    let slots = values("ELL");
    assert_eq!(slots.iter().filter(|v| **v == 0.0).count(), slots.len() - 3, "{slots:?}");
}

#[test]
fn nothing_summed_and_nothing_stored() {
    let a = Tensor::from_dense(&ust::ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR").unwrap();
    let none = Tensor::from_array(ArrayD::<f64>::zeros(vec![2, 0])).unwrap();
    let call = |a: &Tensor, g: &Tensor| {
        einsum("R(i,j) = G(i,k) * G(j,k)").arg("G", g).aligned_with(a).run().unwrap()
    };
    assert_eq!(values(&call(&a, &none)), [0.0; 3]);
    for format in formats(2) {
        for shape in [[0, 0], [3, 3]] {
            let Ok(empty) = Tensor::zeros(&shape, &format, Dtype::F64) else { continue };
            if joins(&format) {
                continue;
            }
            let g = Tensor::from_array(ArrayD::<f64>::ones(vec![shape[0], 2])).unwrap();
            let found = call(&empty, &g);
            assert!(found.same_structure(&empty) && share(&found, &empty), "{format}");
        }
    }
}

#[test]
fn dtypes_and_fill_values_are_those_of_the_expression() {
    let dense = ust::ndarray::array![[7.0, 5.0], [7.0, 6.0]];
    let coo = Tensor::from_dense(&dense, "COO").unwrap().to_coo().unwrap();
    let options = BuildOptions { fill: Some(Scalar::F64(7.0)), ..Default::default() };
    for format in ["CSR", "COO", "BSR(2,2)", "DIA-I", "ELL"] {
        let format = Format::resolve(format, Some(2)).unwrap();
        let a = Tensor::from_coo_with(&coo, &format, &options).unwrap();
        let call = einsum("R(i,j) = u(i) * 2").arg("u", [1.0, 2.0]).dtype(Dtype::Complex128);
        let found = call.aligned_with(&a).run().unwrap();
        assert_eq!((found.dtype(), found.fill()), (Dtype::Complex128, Dtype::Complex128.zero()));
        assert_aligned(
            &found,
            &a,
            &(ust::ndarray::array![[2.0, 2.0], [4.0, 4.0]].into_dyn(), 0.0),
            "fill",
        );
        if !a.has_padding() {
            let pattern = a.pattern().unwrap();
            let found = outer(&pattern);
            assert!(pattern.is_iso() && share(&found, &a));
            assert_aligned(&found, &pattern, &outer_expected(&a), "one value for all");
        }
    }
    let a = Tensor::from_dense(&dense, "CSR").unwrap();
    let ones = Tensor::from_array(ArrayD::<f64>::ones(vec![2, 3000])).unwrap();
    for dtype in [Dtype::F16, Dtype::Complex64, Dtype::F32] {
        let ones = ones.cast_lossy(dtype);
        let call = einsum("R(i,j) = G(i,k) * G(j,k)").arg("G", &ones).aligned_with(&a);
        let found = call.run().unwrap();
        assert_eq!((found.dtype(), values(&found)), (dtype, vec![3000.0; 4]));
    }
}

#[test]
fn composed_operands_and_strict_sums() {
    let dense = array(&[5, 5], &[3, 6, 0, 9, 1, 12]);
    let a = Tensor::from_dense(&dense, "CSR").unwrap();
    let parts =
        Composed::split(&a, &"DIA where fill(j - i) >= 0.3 + COO".parse().unwrap()).unwrap();
    assert!(parts.parts().len() > 1);
    let call = || einsum("R(i,j) = 2 * S(j,i)").arg("S", &parts).strict().aligned_with(&a);
    let expected = (dense.t().mapv(|v| 2.0 * v), 0.0);
    assert_aligned(&call().run().unwrap(), &a, &expected, "composed");
    let kernel = call().prepare().unwrap();
    let found = kernel.run_with(&[(&parts).into(), (&a).into()]).unwrap();
    assert_aligned(&found, &a, &expected, "composed, prepared");
    let mut out = vec![0.0; a.nse()];
    kernel.run_with_into(&[(&parts).into(), (&a).into()], &mut out).unwrap();
    assert_values(&out, &a, &expected, "composed, into");
}

#[test]
fn what_cannot_be_is_told() {
    let a = Tensor::from_dense(&ust::ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR").unwrap();
    let call = || einsum("R(i,j) = u(i) * u(j)").arg("u", [1.0, 2.0]);
    let wide = Tensor::from_dense(&ust::ndarray::array![[1.0, 0.0, 1.0]], "CSR").unwrap();
    let vector = Tensor::from_dense(&ust::ndarray::array![1.0, 2.0], "SparseVector").unwrap();
    let is_shape = |error: &OpError| matches!(error, OpError::Tensor(Error::Shape { .. }));
    for other in [&wide, &vector] {
        assert!(is_shape(&call().aligned_with(other).run().unwrap_err()));
        assert!(is_shape(&call().aligned_with(other).prepare().unwrap_err()));
    }
    let is_refused = |error: &OpError| matches!(error, OpError::Tensor(Error::Unsupported(_)));
    assert!(is_refused(&call().format("CSR").aligned_with(&a).run().unwrap_err()));
    assert!(is_refused(&call().aligned_with(&a).update(&mut a.clone()).unwrap_err()));
    let update = einsum("R(i,j) += u(i) * u(j)").arg("u", [1.0, 2.0]);
    assert!(is_refused(&update.aligned_with(&a).run().unwrap_err()));
    assert!(is_shape(&call().aligned_with(&a).run_into(&mut [0.0; 4]).unwrap_err()));
    let error = call().aligned_with(&a).run_into(&mut [0_f32; 3]).unwrap_err();
    assert!(matches!(error, OpError::Tensor(Error::Dtype { .. })), "{error}");
    let kernel = call().aligned_with(&a).prepare().unwrap();
    let u = Tensor::from_array(ust::ndarray::array![1.0, 2.0].into_dyn()).unwrap();
    assert!(is_refused(&kernel.run(&[&u]).unwrap_err()));
    assert!(is_shape(&kernel.run(&[&u, &wide]).unwrap_err()));
    let large = Tensor::from_dense(&ust::ndarray::Array2::<f64>::eye(4), "CSR").unwrap();
    let part = large.slice(s![..;2, ..;2]).unwrap();
    assert!(is_refused(&kernel.run(&[&u, &part]).unwrap_err()));
    assert_eq!(values(&kernel.run(&[&u, &a]).unwrap()), [1.0, 2.0, 4.0]);
    let call = einsum("R(i,j) = A(i,j) * u(i)").arg("A", &a).arg("u", &u).aligned_with(&a);
    let kernel = call.prepare().unwrap();
    assert_eq!(values(&kernel.run(&[&a, &u, &a]).unwrap()), [1.0, 4.0, 6.0]);
    let other = Tensor::from_dense(&ust::ndarray::array![[0.0, 4.0], [2.0, 0.0]], "CSR").unwrap();
    assert_eq!(values(&kernel.run(&[&other, &u, &other]).unwrap()), [4.0, 4.0]);
    assert!(is_refused(&kernel.run(&[&a, &u, &other]).unwrap_err()));
    // Other values for the same positions are another operand.
    let call = einsum("R(i,j) = A(i,j) * u(i)").arg("u", &u).aligned_with(&a);
    let found = call.arg("A", a.with_values(vec![5.0, 6.0, 7.0]).unwrap()).run().unwrap();
    assert_eq!(values(&found), [5.0, 12.0, 14.0]);
}

#[test]
fn indices_that_no_operand_has_run_as_far_as_the_tensor() {
    let a = Tensor::from_dense(&ust::ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSC").unwrap();
    let kernel = einsum("R(i,j) = u(i)").arg("u", [1.0, 2.0]).aligned_with(&a).prepare().unwrap();
    let u = Tensor::from_array(ust::ndarray::array![1.0, 2.0].into_dyn()).unwrap();
    assert_eq!(values(&kernel.run(&[&u, &a]).unwrap()), [1.0, 2.0, 2.0]);
    let wide = ust::ndarray::array![[1.0, 0.0, 4.0], [2.0, 3.0, 0.0]];
    let wide = Tensor::from_dense(&wide, "CSC").unwrap();
    assert_eq!(values(&kernel.run(&[&u, &wide]).unwrap()), [1.0, 2.0, 2.0, 1.0]);
}
