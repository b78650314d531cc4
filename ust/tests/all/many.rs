//! Expressions with many sparse operands: divided, so that their loops are not written out for each
//! set of tensors that may be there.

use ust::ops::{OpError, einsum, oracle};
use ust::{Coo, Error, Format, Tensor};

/// Some entries, other ones for each seed.
fn tensor(shape: &[usize], format: &str, seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let cells = (0..count).filter(|cell| (cell * 7 + seed * 3).is_multiple_of(5));
    let mut crd = vec![Vec::new(); shape.len()];
    let mut values = Vec::new();
    for cell in cells {
        let mut rest = cell;
        for (dim, &extent) in shape.iter().enumerate().rev() {
            crd[dim].push((rest % extent) as i64);
            rest /= extent;
        }
        values.push((cell % 11) as f64 - 4.5);
    }
    let coo = Coo::new(shape.to_vec(), crd, values).expect("coordinates inside the shape");
    let format = Format::resolve(format, Some(shape.len())).expect("a named format");
    Tensor::from_coo(&coo, &format).expect("any tensor fits")
}

fn same(a: &Tensor, b: &Tensor) {
    let (a, b) = (a.to_dense::<f64>().unwrap(), b.to_dense::<f64>().unwrap());
    assert_eq!(a.shape(), b.shape());
    for (x, y) in a.iter().zip(b.iter()) {
        assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{x} {y}");
    }
}

#[test]
fn sums_of_many_tensors_are_divided() {
    for (indices, shape, format, counts) in [
        ("i,j", &[6, 7][..], "CSR", &[3, 4, 8, 14][..]),
        ("i,j", &[6, 7], "DCSR", &[3, 4, 9]),
        ("i,j,k,l", &[4, 3, 4, 3], "CSF", &[3, 4]),
        ("i,j,k,l", &[4, 3, 4, 3], "COO", &[4]),
    ] {
        for &count in counts {
            let tensors: Vec<Tensor> = (0..count).map(|at| tensor(shape, format, at)).collect();
            let terms: Vec<String> = (0..count).map(|at| format!("A{at}({indices})")).collect();
            let text = format!("C({indices}) = {}", terms.join(" + "));
            let call = |text: &str| {
                let all = tensors.iter().enumerate();
                all.fold(einsum(text), |call, (at, a)| call.arg(&format!("A{at}"), a))
            };
            let expected = oracle::evaluate(&call(&text)).unwrap();
            let kernel = call(&text).format(format).prepare().unwrap();
            let stages = kernel.explain().matches("stage ").count();
            assert_eq!(stages > 1, count > 3 || indices.len() > 3, "{text} {format}");
            let tensors: Vec<&Tensor> = tensors.iter().collect();
            let found = kernel.run(&tensors).unwrap();
            assert_eq!(*found.format(), Format::resolve(format, Some(shape.len())).unwrap());
            same(&found, &expected);
        }
    }
}

#[test]
fn parts_are_stored_like_what_they_are_made_of() {
    let tensors: Vec<Tensor> = (0..4).map(|at| tensor(&[7, 6], "CSR", at)).collect();
    let names = ["A", "B", "D", "E"];
    let text = "C(i,j) = A(j,i) + B(j,i) + D(j,i) + E(j,i)";
    let call = names.iter().zip(&tensors).fold(einsum(text), |call, (name, a)| call.arg(name, a));
    let kernel = call.format("CSC").prepare().unwrap();
    let told = kernel.explain();
    assert!(told.contains("t0(j,i) in `(i, j) -> (i : dense, j : compressed)`"), "{told}");
    assert!(!told.contains("converted"), "{told}");
}

#[test]
fn what_cannot_be_divided_visits_every_coordinate_of_a_small_result() {
    let (v, a) = (|at| tensor(&[9], "CSF", at), |at| tensor(&[9, 8], "DCSR", at));
    let text = "C(i,j) = (A(i,j) + v(i)) * (B(i,j) + w(i)) * (D(i,j) + x(i)) * (E(i,j) + y(i))";
    let tensors = [a(0), v(0), a(1), v(1), a(2), v(2), a(3), v(3)];
    let names = ["A", "v", "B", "w", "D", "x", "E", "y"];
    let all = names.iter().zip(&tensors);
    let call = || all.clone().fold(einsum(text), |call, (name, a)| call.arg(name, a));
    let found = call().format("DCSR").run().unwrap();
    same(&found, &oracle::evaluate(&call()).unwrap());
    let zeros = found.values().typed::<f64>().unwrap().iter().filter(|&&v| v == 0.0).count();
    assert_eq!(zeros, 0, "what is visited for want of something better is not stored");
}

#[test]
fn far_too_many_operands_are_refused_in_words() {
    let n = 20_000;
    let empty = |rank| {
        let format = Format::resolve("CSF", Some(rank)).unwrap();
        Tensor::zeros(&vec![n; rank], &format, ust::Dtype::F64).unwrap()
    };
    let factors: Vec<String> = (0..7).map(|at| format!("(A{at}(i,j) + v{at}(i))")).collect();
    let call = einsum(&format!("C(i,j) = {}", factors.join(" * ")));
    let (matrix, vector) = (empty(2), empty(1));
    let call = (0..7).fold(call, |call, at| {
        call.arg(&format!("A{at}"), &matrix).arg(&format!("v{at}"), &vector)
    });
    let Err(OpError::Tensor(Error::Unsupported(text))) = call.format("CSR").run() else {
        panic!("it is not refused")
    };
    assert!(text.contains("14 sparse operands"), "{text}");
}

#[test]
fn what_is_stored_counts_where_another_factor_is_not() {
    let number = |value: f64, format: &str, stored: bool, fill: f64| {
        let at = if stored { vec![0] } else { vec![] };
        let values = vec![value; at.len()];
        let coo = Coo::new(vec![1], vec![at], values).unwrap();
        let options = ust::tensor::BuildOptions { fill: Some(fill.into()), ..Default::default() };
        Tensor::from_coo_with(&coo, format, &options).unwrap()
    };
    let sparse = "(i) -> (i : compressed)";
    let (a, b) = (number(0.0, sparse, false, 0.5), number(0.0, sparse, false, 0.0));
    for (stored, expected) in [(true, 0.5_f64.atan()), (false, 0.5)] {
        let d = number(-2.0, sparse, stored, 0.0);
        let call = einsum("y(i) = atan[stored](A(i) + B(i) * D(i))").arg("A", &a).arg("B", &b);
        let y = call.arg("D", &d).run().unwrap();
        assert_eq!(y.get_as::<f64>(&[0]).unwrap(), expected);
    }
}
