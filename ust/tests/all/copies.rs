//! Tensors as they are, with dimensions in another order, or stored in another way.

use proptest::prelude::*;
use ust::format::named::named;
use ust::ops::{Einsum, einsum, oracle};
use ust::tensor::{BuildOptions, Duplicates, Window};
use ust::{Backend, Coo, Format, Scalar, Tensor};

/// Beside those with names.
const MORE: &[&str] = &[
    "(i, j) -> (i + j : dense, j : compressed)",
    "(i, j) -> (i * 8 + j : compressed)",
    "(i, j) -> (j : dense, i : compressed(nonordered)), posWidth = 64, crdWidth = 8",
    "(i, j) -> (i : compressed, j : compressed(nonunique))",
    "(i, j, k) -> (k : dense, i / 2 : compressed, j : compressed, i % 2 : dense)",
];

fn formats() -> Vec<Format> {
    let named = named().map(|one| one.example.parse().unwrap());
    named.chain(MORE.iter().map(|text| text.parse().unwrap())).collect()
}

/// Entries of a tensor, some of them at the same place.
fn entries(shape: &[usize], picks: &[u32], values: &[i32]) -> Coo {
    let count = if shape.contains(&0) { 0 } else { picks.len() };
    let mut crd = vec![Vec::new(); shape.len()];
    for &pick in &picks[..count] {
        let mut rest = pick as usize;
        for (column, &extent) in crd.iter_mut().zip(shape) {
            column.push((rest % extent) as i64);
            rest /= extent;
        }
    }
    let values: Vec<f64> = values[..count].iter().map(|&v| f64::from(v)).collect();
    Coo::new(shape.to_vec(), crd, values).unwrap()
}

/// A tensor with a fill value, if the format has room for its entries.
fn stored(coo: &Coo, format: &Format, fill: f64) -> Option<Tensor> {
    let options = BuildOptions {
        fill: Some(Scalar::F64(fill)),
        duplicates: Duplicates::AsFormat,
        ..Default::default()
    };
    Tensor::from_coo_with(coo, format, &options).ok()
}

/// The dimensions of a tensor in some order.
fn shuffled(rank: usize, mut pick: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..rank).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.remove(pick % left.len()));
        pick /= left.len() + 1;
    }
    order
}

fn numbers(tensor: &Tensor) -> ndarray::ArrayD<f64> {
    tensor.to_dense().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn dimensions_change_places_and_nothing_else(
        extents in proptest::collection::vec(0_usize..7, 4),
        picks in proptest::collection::vec(any::<u32>(), 12),
        values in proptest::collection::vec(-3..4, 12),
        pick in 0_usize..24,
        fill in 0..2,
    ) {
        for format in formats() {
            let coo = entries(&extents[..format.rank()], &picks, &values);
            let Some(tensor) = stored(&coo, &format, f64::from(fill)) else { continue };
            let order = shuffled(format.rank(), pick);
            let seen = tensor.permute(&order).unwrap();
            let expected = numbers(&tensor).permuted_axes(order.clone());
            prop_assert_eq!(&numbers(&seen), &expected, "{} by {:?}", &format, &order);
            // The format is one that can be written, read, and built in.
            let text = seen.format().to_string();
            prop_assert_eq!(&text.parse::<Format>().unwrap(), seen.format(), "{}", &text);
            let built = seen.convert("COO".parse::<Format>().unwrap_or(format.clone()));
            if let Ok(built) = built.and_then(|coo| coo.convert(seen.format())) {
                prop_assert_eq!(&numbers(&built), &expected, "built in {}", &text);
            }
            // Back again, it is what it was.
            let back: Vec<usize> =
                (0..order.len()).map(|d| order.iter().position(|&o| o == d).unwrap()).collect();
            let again = seen.permute(&back).unwrap();
            prop_assert_eq!(again.format(), &format);
            // A part of it.
            let windows: Vec<Window> = tensor
                .shape()
                .iter()
                .map(|&n| Window { offset: n as u64 / 3, size: (n as u64 - n as u64 / 3).div_ceil(2), stride: 2 })
                .collect();
            let part = tensor.slice(&windows).unwrap();
            let expected = numbers(&part).permuted_axes(order.clone());
            prop_assert_eq!(&numbers(&part.permute(&order).unwrap()), &expected, "{}", &text);
        }
    }

    #[test]
    fn copies_are_what_loops_would_have_given(
        extents in proptest::collection::vec(0_usize..7, 2),
        picks in proptest::collection::vec(any::<u32>(), 12),
        values in proptest::collection::vec(-3..4, 12),
        swap in any::<bool>(),
        threads in 1_usize..3,
        fill in 0..2,
    ) {
        let text = if swap { "C(j,i) = A(i,j)" } else { "C(i,j) = A(i,j)" };
        let coo = entries(&extents, &picks, &values);
        let formats: Vec<Format> = formats().into_iter().filter(|f| f.rank() == 2).collect();
        for (at, format) in formats.iter().enumerate() {
            let Some(a) = stored(&coo, format, f64::from(fill)) else { continue };
            let to = &formats[(at * 7 + picks[0] as usize) % formats.len()];
            let call = || einsum(text).arg("A", &a).threads(threads).format(to);
            let expected = numbers(&oracle::evaluate(&call()).unwrap());
            // What is cold, and what was planned before.
            for _ in 0..2 {
                match (call().run(), call().backend(Backend::INTERPRETER).run()) {
                    (Ok(c), Ok(loops)) => {
                        prop_assert_eq!(&numbers(&c), &expected, "{} to {}", format, to);
                        prop_assert_eq!(c.fill(), loops.fill());
                        prop_assert_eq!(c.format(), to);
                    }
                    // Both, or neither, find the format too small.
                    (a, b) => prop_assert!(a.is_err() && b.is_err(), "{format} to {to}: {a:?} {b:?}"),
                }
            }
        }
    }
}

fn plan(call: Einsum) -> (&'static str, String) {
    let kernel = call.prepare().unwrap();
    (kernel.backend(), kernel.explain())
}

#[test]
fn what_is_no_plain_copy_is_left_to_loops() {
    let coo = entries(&[5, 5], &[1, 7, 7, 13], &[1, 2, 3, 4]);
    let a = Tensor::from_coo(&coo, "CSR").unwrap();
    let call = |text: &str| einsum(text).arg("A", &a);
    let (name, said) = plan(call("C(i,j) = A(j,i)").format("CSR"));
    assert_eq!(name, "convert");
    assert!(said.contains("back end    convert, no loops"), "{said}");
    assert!(said.contains("asked       jit") || cfg!(not(feature = "jit")), "{said}");
    let others = [
        call("C(i,j) = A(i,j)").format("Dense"),
        call("C(i,j) = -A(i,j)").format("CSR"),
        call("C(i) = A(i,i)").format("SparseVector"),
        call("C(i) = A(i,j)").format("SparseVector"),
        call("C(i,j) = A(i,j)").format("CSC").semiring("min_plus"),
        call("C(i,j) = A(i,j)").format("CSC").dtype(ust::Dtype::F32),
    ];
    for call in others {
        assert_ne!(plan(call).0, "convert");
    }
    // Duplicates are summed once, as the loops do it.
    let repeated: Format = "(i, j) -> (i : compressed, j : compressed(nonunique))".parse().unwrap();
    let b = Tensor::from_coo_with(
        &coo,
        &repeated,
        &BuildOptions { duplicates: Duplicates::AsFormat, ..Default::default() },
    );
    let b = b.unwrap();
    assert_eq!(b.nse(), 4);
    let call = || einsum("C(i,j) = B(i,j)").arg("B", &b).format("CSR");
    assert_ne!(plan(call()).0, "convert");
    assert_eq!(call().run().unwrap().nse(), 3);
}

#[test]
fn a_copy_keeps_to_the_limit() {
    let coo = ust::generate::generate("random(2000x2000, nnz=50000, seed=5)").unwrap();
    let a = Tensor::from_coo(&coo, "CSR").unwrap();
    let call = einsum("C(i,j) = A(i,j)").arg("A", &a).format("BSR(50, 50)").memory_limit(1 << 16);
    let error = call.run().unwrap_err().to_string();
    assert!(error.contains("65536 bytes"), "{error}");
}

#[test]
fn an_order_names_each_dimension_once() {
    let a = Tensor::zeros(&[2, 3, 4], "CSF(3)", ust::Dtype::F64).unwrap();
    for wrong in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 3]] {
        let error = a.permute(wrong).unwrap_err().to_string();
        assert!(error.contains("each of the 3 dimensions once"), "{error}");
    }
    assert_eq!(a.transpose().shape(), [4, 3, 2]);
}
