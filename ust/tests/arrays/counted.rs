//! Results in formats that count or sort, whose entries may be those of an operand.

use proptest::prelude::*;
use ust::format::named::named;
use ust::ndarray::{ArrayD, s};
use ust::ops::oracle;
use ust::tensor::{BuildOptions, Parts};
use ust::{Coo, Dtype, Format, IndexArray, Scalar, Tensor, einsum};

use super::aligned::share;
use super::{array, assert_same, assert_valid, stored};

fn counted() -> Vec<Format> {
    let unnamed = [
        "(i : sorted, j) -> (i : dense, j : compressed)",
        "(i, j : sorted) -> (j / 2 : compressed, i : compressed, j % 2 : dense)",
        "(i : sorted, j) -> (#i : dense, i : dense, j : singleton)",
        "(i : sorted, j) -> (i : dense, j : dense)",
        "(i, j) -> (#i : compressed, i : compressed, j : singleton), crdWidth = 16",
        "(i : sorted, j) -> (i - j : compressed, i : range)",
    ];
    let all = named().map(|one| one.example).chain(unnamed);
    let all = all.filter_map(|text| Format::resolve(text, Some(2)).ok());
    all.filter(Format::depends_on_entries).collect()
}

/// Expressions whose result has the entries of `A`, and others.
const SAME: &[&str] = &[
    "R(i,j) = 2 * A(i,j)",
    "R(i,j) = A(i,j)",
    "R(i,j) = A(i,j) * A(i,j)",
    "R(i,j) = A(i,j) * G(i,k) * X(j,k)",
    "R(i,j) = A(i,j) * u(i)",
    "R(i,j) = sqrt(abs(A(i,j))) * u(i) + A(i,j)",
];
const OTHERS: &[&str] = &[
    "R(i,j) = A(j,i)",
    "R(i,j) = A(i,j) + B(i,j)",
    "R(i,j) = A(i,j) * B(i,j)",
    "R(i,j) = A(i,k) * A(k,j)",
    "R(i,j) = A(i,j) * A(j,k)",
    "R(i,j) = A(i,j) + 1.5",
    "R(i,j) = exp(A(i,j))",
    "R(i,j) = max(A(i,j), u(i))",
];

fn dense_of(a: &Tensor) -> ArrayD<f64> {
    a.to_dense().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn results_are_those_of_the_expression(
        size in 0_usize..9,
        inner in 1_usize..4,
        picks in prop::collection::vec(any::<i8>(), 80),
        others in prop::collection::vec(any::<i8>(), 80),
        which in any::<usize>(),
        threads in 1_usize..3,
    ) {
        let same = which % 2 == 0;
        let texts = if same { SAME } else { OTHERS };
        let text = texts[which / 2 % texts.len()];
        let filled = |shape: &[usize]| {
            let picks: Vec<i8> = others.iter().map(|one| one | 1).collect();
            Tensor::from_array(array(shape, &picks).mapv(|v| v / 7.0 + 0.3)).unwrap()
        };
        let (g, x, u) = (filled(&[size, inner]), filled(&[size, inner]), filled(&[size]));
        for format in counted() {
            let Some(a) = stored(&array(&[size, size], &picks), &format) else { continue };
            let b = stored(&array(&[size, size], &others[9..]), &format);
            let inputs = |a: &Tensor, b: &Tensor| -> Vec<(&'static str, Tensor)> {
                let all = [("A", a), ("B", b), ("G", &g), ("X", &x), ("u", &u)];
                let used = all.into_iter().filter(|(name, _)| text.contains(&format!("{name}(")));
                used.map(|(name, tensor)| (name, tensor.clone())).collect()
            };
            let call = |a: &Tensor, b: &Tensor| {
                let call = einsum(text).threads(threads).format(&format);
                inputs(a, b).iter().fold(call, |call, (name, tensor)| call.arg(name, tensor))
            };
            let b = b.unwrap_or_else(|| a.clone());
            let case = format!("{text} in {format} of\n{}\nand\n{}", dense_of(&a), dense_of(&b));
            let kernel = call(&a, &b).prepare().unwrap();
            let names = kernel.operands();
            // The second time, and with other tensors, what is kept may be used.
            for (a, b) in [(&a, &b), (&b, &a), (&a, &a), (&a, &b)] {
                let expected = dense_of(&oracle::evaluate(&call(a, b)).unwrap());
                let given = inputs(a, b);
                let find = |name: &&str| &given.iter().find(|(n, _)| n == name).unwrap().1;
                let all: Vec<&Tensor> = names.iter().map(find).collect();
                let mut found = vec![call(a, b).run().unwrap()];
                match kernel.run(&all) {
                    Ok(made) => found.push(made),
                    Err(error) => assert!(error.to_string().contains("prepare"), "{error}: {case}"),
                }
                for found in found {
                    prop_assert_eq!(found.format(), &format, "{}", &case);
                    assert_valid(&found);
                    assert_same(&dense_of(&found), &expected, &case);
                    let is_placed = found.same_structure(a) && (a.nse() == 0 || share(&found, a));
                    prop_assert!(!same || is_placed, "{}", &case);
                }
            }
        }
    }
}

#[test]
fn a_slice_gives_a_result_of_its_own_size() {
    let whole = array(&[9, 7], &[3, 1, 6, 9, 2, 12, 15, 1, 18]);
    for format in counted() {
        let Some(a) = stored(&whole, &format) else { continue };
        let part = a.slice(s![1..8;2, 2..]).unwrap();
        let call = || einsum("R(i,j) = 2 * A(i,j)").arg("A", &part).format(&format);
        let expected = 2.0 * dense_of(&part);
        for found in [call().run().unwrap(), call().run().unwrap()] {
            assert_same(&dense_of(&found), &expected, &format.to_string());
            assert_eq!(found.shape(), [4, 5]);
            assert_eq!(found.format(), &format);
            assert_valid(&found);
        }
    }
}

#[test]
fn duplicates_are_summed_before_a_function() {
    // Column 1 twice in row 0.
    let ell = "(i, j) -> (#i : dense, i : dense, j : singleton)";
    let levels = vec![vec![], vec![], vec![IndexArray::from(vec![1_i64, 0, 1, 1])]];
    let a = |values: [f64; 4]| {
        Tensor::from_parts(ell, &[2, 2], Parts::new(levels.clone(), values.to_vec())).unwrap()
    };
    let square =
        |a: &Tensor| einsum("R(i,j) = A(i,j) * A(i,j)").arg("A", a).format(ell).run().unwrap();
    let twice = a([2.0, 3.0, 5.0, 7.0]);
    for _ in 0..2 {
        let expected = ust::ndarray::array![[0.0, 49.0], [9.0, 49.0]].into_dyn();
        assert_same(&dense_of(&square(&twice)), &expected, "duplicates");
    }
    // A kernel that was prepared for entries of their own.
    let once = Tensor::from_dense(&ust::ndarray::array![[2.0, 3.0], [4.0, 5.0]], ell).unwrap();
    let kernel = einsum("R(i,j) = A(i,j) * A(i,j)").arg("A", &once).format(ell).prepare().unwrap();
    if let Ok(found) = kernel.run(&[&twice]) {
        assert_eq!(dense_of(&found)[[0, 1]], 49.0);
    }
    let aligned = einsum("R(i,j) = A(i,j) * u(i)").arg("A", &once).arg("u", [1.0, 2.0]);
    let kernel = aligned.aligned_with(&once).prepare().unwrap();
    let u = Tensor::from_array(ust::ndarray::array![1.0, 2.0].into_dyn()).unwrap();
    let found = kernel.run(&[&once, &u, &once]).unwrap();
    assert_eq!(dense_of(&found), ust::ndarray::array![[2.0, 3.0], [8.0, 10.0]].into_dyn());
    let error = kernel.run(&[&twice, &u, &twice]).unwrap_err();
    assert!(error.to_string().contains("duplicates"), "{error}");
    let error = kernel.run(&[&once, &u, &twice]).unwrap_err();
    assert!(error.to_string().contains("one of its operands"), "{error}");
}

#[test]
fn new_values_and_other_fills_are_seen() {
    let whole = array(&[6, 6], &[3, 1, 6, 9, 2, 12, 15, 1, 18]);
    for format in counted() {
        let Some(mut a) = stored(&whole, &format) else { continue };
        let scaled =
            |a: &Tensor| einsum("R(i,j) = 3 * A(i,j)").arg("A", a).format(&format).run().unwrap();
        assert_same(&dense_of(&scaled(&a)), &(3.0 * &dense_of(&a)), &format.to_string());
        a.values_mut::<f64>().unwrap().iter_mut().for_each(|value| *value *= 0.5);
        assert_same(&dense_of(&scaled(&a)), &(3.0 * &dense_of(&a)), &format.to_string());
        let found = einsum("R(i,j) = 3 * A(i,j)").dtype(Dtype::Complex64).format(&format);
        assert_eq!(found.arg("A", &a).run().unwrap().dtype(), Dtype::Complex64);
    }
    let coo =
        Coo::new(vec![3, 3], vec![vec![0, 1, 2], vec![1, 1, 0]], vec![1.0, 2.0, 3.0]).unwrap();
    let options = BuildOptions { fill: Some(Scalar::F64(7.0)), ..Default::default() };
    for format in ["ELL", "JDS", "SELL-C-sigma(2, 2)"] {
        let format = Format::resolve(format, Some(2)).unwrap();
        let a = Tensor::from_coo_with(&coo, &format, &options).unwrap();
        let call = || einsum("R(i,j) = A(i,j) * A(i,j)").arg("A", &a).format(&format);
        let expected = dense_of(&oracle::evaluate(&call()).unwrap());
        for found in [call().run().unwrap(), call().run().unwrap()] {
            assert_same(&dense_of(&found), &expected, &format.to_string());
        }
    }
}
