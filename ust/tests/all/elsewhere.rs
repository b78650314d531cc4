//! Tensors whose arrays are elsewhere: they are planned for without a look at them, and fetched once.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ust::level_api::{Buffer, IndexArray};
use ust::tensor::{Outline, Parts, Values};
use ust::{Dtype, Format, Tensor, einsum};

/// A matrix of 20 rows and columns, and how often its values were fetched.
fn matrix(format: &str) -> (Tensor, Arc<AtomicUsize>) {
    let coo = ust::generate::generate("random(20x20, nnz=90, seed=2)").unwrap();
    let here = Tensor::from_coo(&coo, format).unwrap();
    let fetched = Arc::new(AtomicUsize::new(0));
    let (values, count) = (here.values().clone(), Arc::clone(&fetched));
    let deferred = Values::deferred(Dtype::F64, values.len(), move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(values.clone())
    });
    let levels = here.levels().iter().map(|level| level.0.clone()).collect();
    let parts = Parts::new(levels, deferred);
    (Tensor::from_parts(here.format().clone(), &[20, 20], parts).unwrap(), fetched)
}

/// The same with level arrays that are elsewhere, too, and how often one of them was fetched.
fn matrix_elsewhere(format: &str) -> (Tensor, [Arc<AtomicUsize>; 2]) {
    let (here, of_values) = matrix(format);
    let of_levels = Arc::new(AtomicUsize::new(0));
    let deferred = |array: &IndexArray| {
        let IndexArray::U32(indices) = array else { panic!("indices of 32 bits") };
        let (indices, count) = (indices.clone(), Arc::clone(&of_levels));
        IndexArray::U32(Buffer::deferred(indices.len(), move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(indices.clone())
        }))
    };
    let levels = here.levels().iter().map(|level| level.0.iter().map(deferred).collect()).collect();
    let parts = Parts::new(levels, here.values().clone());
    let format = here.format().clone();
    // SAFETY: the arrays are those of a tensor.
    let there = unsafe { Tensor::from_parts_unchecked(&format, &[20, 20], parts) }.unwrap();
    (there, [of_values, of_levels])
}

const EXPRESSIONS: [&str; 5] = [
    "y(i) = A(i,j) * x(j)",
    "C(i,j) = A(i,j) + B(j,i)",
    "C(i,k) = A(i,j) * B(j,k)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(j,i) = A(i,j)",
];

#[test]
fn planning_does_not_look_at_values() {
    for format in ["CSR", "CSC", "DCSR", "COO"] {
        let ((a, of_a), (b, of_b)) = (matrix(format), matrix(format));
        let x = Tensor::from_array(ndarray::Array1::from_elem(20, 2.0).into_dyn()).unwrap();
        for expression in EXPRESSIONS {
            let call = einsum(expression).arg("A", &a);
            let call = if expression.contains('x') { call.arg("x", &x) } else { call };
            let call = if expression.contains('B') { call.arg("B", &b) } else { call };
            call.prepare().unwrap();
            let fetched = [&of_a, &of_b].map(|count| count.load(Ordering::Relaxed));
            assert_eq!(fetched, [0, 0], "{expression}, {format}");
        }
        let y = einsum(EXPRESSIONS[0]).arg("A", &a).arg("x", &x).run().unwrap();
        let again = einsum(EXPRESSIONS[0]).arg("A", &a).arg("x", &x).run().unwrap();
        assert!(y == again && of_a.load(Ordering::Relaxed) == 1, "{format}");
    }
}

#[test]
fn planning_does_not_look_at_indices() {
    for format in ["CSR", "CSC", "DCSR", "COO", "BSR(4,4)"] {
        let ((a, of_a), (b, of_b)) = (matrix_elsewhere(format), matrix_elsewhere(format));
        let x = Tensor::from_array(ndarray::Array1::from_elem(20, 2.0).into_dyn()).unwrap();
        let fetched = || [&of_a, &of_b].map(|of| of.each_ref().map(|n| n.load(Ordering::Relaxed)));
        for expression in EXPRESSIONS {
            let call = einsum(expression).arg("A", &a);
            let call = if expression.contains('x') { call.arg("x", &x) } else { call };
            let call = if expression.contains('B') { call.arg("B", &b) } else { call };
            call.prepare().unwrap();
            assert_eq!(fetched(), [[0, 0]; 2], "{expression}, {format}");
        }
        let here = Tensor::from_coo(&a.to_coo().unwrap(), a.format()).unwrap();
        let arrays = a.levels().iter().map(|level| level.0.len()).sum::<usize>();
        assert_eq!(fetched()[0][1], arrays, "{format}");
        let run = |a: &Tensor| einsum(EXPRESSIONS[0]).arg("A", a).arg("x", &x).run().unwrap();
        assert_eq!(run(&a), run(&here), "{format}");
        assert_eq!(fetched()[0], [1, arrays], "{format}");
    }
}

#[test]
fn an_outline_says_what_a_tensor_has() {
    let (a, fetched) = matrix("CSR");
    let outline = a.outline();
    assert_eq!((outline.format(), outline.shape()), (a.format(), a.shape()));
    assert_eq!((outline.nse(), outline.dtype(), outline.fill()), (a.nse(), a.dtype(), a.fill()));
    let lengths: Vec<Vec<usize>> = outline
        .arrays()
        .iter()
        .map(|level| level.iter().map(|(_, length)| *length).collect())
        .collect();
    assert_eq!(lengths, [vec![], vec![21, a.nse()]]);
    assert_eq!(fetched.load(Ordering::Relaxed), 0);
    let bound = "CSR".parse::<Format>().unwrap().bind(&[20, 20]).unwrap();
    let arrays = outline.arrays().to_vec();
    assert!(Outline::new(bound.clone(), a.fill(), a.nse(), arrays).is_ok());
    let error = Outline::new(bound, a.fill(), a.nse(), vec![vec![]; 2]).unwrap_err();
    assert!(error.to_string().contains("[0, 2] arrays"), "{error}");
}

#[test]
fn places_go_with_the_data() {
    let (a, _) = matrix("CSR");
    let ids = |tensor: &Tensor| (tensor.kept_of_levels().id(), tensor.kept_of_values().id());
    let mut b = a.clone();
    assert_eq!(ids(&a), ids(&b));
    assert!(a.kept_of_levels().keep(Arc::new(7_u8), 1));
    assert!(a.kept_of_values().keep(Arc::new(8_u8), 1));
    b.values_mut::<f64>().unwrap()[0] = 3.0;
    let (levels, values) = ids(&b);
    assert!(levels == ids(&a).0 && values != ids(&a).1);
    assert_eq!(b.kept_of_levels().get::<u8>().as_deref(), Some(&7));
    assert!(b.kept_of_values().get::<u8>().is_none());
    let cast = a.cast(Dtype::Complex128).unwrap();
    assert!(cast.kept_of_values().get::<u8>().is_none());
    assert_eq!(a.kept_of_values().get::<u8>().as_deref(), Some(&8));
}
