//! Results that have an element where one operand has one, and share its levels.

use proptest::prelude::*;
use ust::ops::{einsum, oracle};
use ust::{Backend, Dtype, Format, Scalar, Tensor};

use super::{FORMATS, entries, grouped, many};

const BODIES: &[&str] = &[
    "M(i,j) * A(i,k) * B(j,k)",
    "M(i,j) * sum(k, A(i,k) * B(j,k))",
    "M(i,j) * A(i,k) * B(i,k)",
    "M(i,j) * x(j)",
    "x(i) * M(i,j) * y(j) - M(i,j)",
    "M(i,j) * max(k, A(i,k) + B(j,k))",
    "M(i,j) * (x(i) + y(j))",
];

fn dense(shape: [usize; 2], seed: u64) -> Tensor {
    let number = |at: usize| ((at as f64 + 0.3) * (seed as f64 + 1.7)).sin();
    let values = (0..shape[0] * shape[1]).map(number).collect();
    let array = ust::ndarray::Array2::from_shape_vec(shape, values).unwrap();
    Tensor::from_array(array.into_dyn()).unwrap()
}

fn vector(size: usize, seed: u64) -> Tensor {
    let flat = dense([1, size], seed).to_dense::<f64>().unwrap();
    Tensor::from_array(flat.into_shape_with_order(vec![size]).unwrap()).unwrap()
}

fn same(found: &Tensor, expected: &Tensor, what: &str) {
    for i in 0..expected.shape()[0] {
        for j in 0..expected.shape()[1] {
            let both = [found, expected].map(|t| t.get(&[i, j]).unwrap());
            assert!(oracle::close(both[0], both[1]), "{what}: {both:?} at {i}, {j}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn products_where_a_matrix_has_entries(
        size in 1_usize..20,
        picks in proptest::collection::vec((any::<u32>(), any::<i8>()), 0..60),
        (format, body) in (1..FORMATS.len(), 0..BODIES.len()),
        (width, threads, strict) in (0_usize..40, 1_usize..3, any::<bool>()),
        fill in prop_oneof![5 => Just(0.0), 1 => Just(1.5)],
    ) {
        let format: Format = FORMATS[format].parse().unwrap();
        let (size, coo) = match format.name().as_deref() {
            Some("2:4") => {
                let size = size.next_multiple_of(4);
                (size, grouped(size, &picks))
            }
            _ => (size, entries(size, &picks)),
        };
        let options = ust::tensor::BuildOptions { fill: Some(Scalar::F64(fill)), ..Default::default() };
        let m = Tensor::from_coo_with(&coo, &format, &options).unwrap();
        let (a, b) = (dense([size, width], 1), dense([size, width], 2));
        let [x, y] = [3, 4].map(|seed| vector(size, seed));
        let text = format!("C(i,j) = {}", BODIES[body]);
        // The identity of a maximum is not finite.
        prop_assume!(width > 0 || !text.contains("max"));
        let call = || {
            let mut call = einsum(&text).threads(threads);
            if strict {
                call = call.strict();
            }
            for (name, tensor) in [("M", &m), ("A", &a), ("B", &b), ("x", &x), ("y", &y)] {
                if text.contains(&format!("{name}(")) {
                    call = call.arg(name, tensor);
                }
            }
            call
        };
        let expected = oracle::evaluate(&call()).unwrap();
        for backend in [Backend::Auto, Backend::CHECKED_JIT, Backend::INTERPRETER] {
            let call = call().format(m.format()).backend(backend);
            // What is not stored may be another value than the format can leave out.
            let Ok(found) = call.run() else { continue };
            let (format, shape, parts) = found.clone().into_parts();
            Tensor::from_parts(&format, &shape, parts).unwrap();
            same(&found, &expected, &text);
        }
    }
}

#[test]
fn long_rows_of_wide_operands() {
    let text = "C(i,j) = M(i,j) * A(i,k) * B(j,k)";
    let numbers = |tensor: &Tensor| tensor.cast(Dtype::F64).unwrap().to_dense::<f64>().unwrap();
    let coo = ust::generate::generate("random(60x50, nnz=900, seed=5)").unwrap();
    for width in [8, 16, 31, 32, 45, 70] {
        for (dtype, tolerance) in [(Dtype::F64, 1e-12), (Dtype::F32, 1e-4)] {
            let a = dense([60, width], 1).cast(dtype).unwrap();
            let b = dense([50, width], 2).cast(dtype).unwrap();
            let in_format =
                |format: &str| Tensor::from_coo(&coo, format).unwrap().cast(dtype).unwrap();
            let m = in_format("COO");
            let call = einsum(text).arg("M", &m).arg("A", &a).arg("B", &b);
            let expected = numbers(&oracle::evaluate(&call).unwrap());
            for format in ["CSR", "CSC", "COO", "DCSR"] {
                let m = in_format(format);
                for threads in [1, 2] {
                    let call = einsum(text).arg("M", &m).arg("A", &a).arg("B", &b).threads(threads);
                    let found = call.format(m.format()).run().unwrap();
                    assert!(found.same_structure(&m));
                    for (found, expected) in numbers(&found).iter().zip(&expected) {
                        let off = (found - expected).abs();
                        assert!(
                            off <= tolerance * width as f64,
                            "{format} {width}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_plan_says_so_and_arrays_are_shared() {
    let coo = many();
    for (format, result, shares) in [
        ("CSR", "CSR", true),
        ("BSR(2, 3)", "BSR(2, 3)", true),
        ("DIA-I", "DIA-I", true),
        ("COO", "COO", true),
        ("CSC", "CSR", false),
    ] {
        let m = Tensor::from_coo(&coo, format).unwrap();
        let (a, b) = (dense([50, 8], 1), dense([50, 8], 2));
        let call = einsum("C(i,j) = M(i,j) * A(i,k) * B(j,k)");
        let call = call.arg("M", &m).arg("A", &a).arg("B", &b).format(result);
        let kernel = call.prepare().unwrap();
        let said = kernel.explain();
        assert_eq!(
            said.contains("in the positions of M, whose levels are shared"),
            shares,
            "{said}"
        );
        let c = kernel.run(&[&m, &a, &b]).unwrap();
        assert_eq!(c.same_structure(&m), shares);
        // Another tensor of the format, with other places.
        let other = Tensor::from_coo(&entries(50, &[(7, 8), (900, 3)]), m.format()).unwrap();
        let c = kernel.run(&[&other, &a, &b]).unwrap();
        same(
            &c,
            &oracle::evaluate(
                &einsum("C(i,j) = M(i,j) * A(i,k) * B(j,k)")
                    .arg("M", &other)
                    .arg("A", &a)
                    .arg("B", &b),
            )
            .unwrap(),
            format,
        );
    }
    // Where two tensors are sparse, entries of one alone are none of the result's.
    let m = Tensor::from_coo(&coo, "CSR").unwrap();
    let n = Tensor::from_coo(&entries(50, &[(7, 8)]), "CSR").unwrap();
    let c =
        einsum("C(i,j) = M(i,j) * N(i,j)").arg("M", &m).arg("N", &n).format("CSR").run().unwrap();
    assert!(c.nse() <= 1);
}

/// What pads groups is computed with by nobody: it would be an element.
#[test]
fn padding_is_no_element() {
    let m = Tensor::from_coo(&grouped(8, &[(3, 8), (17, 3)]), "2:4").unwrap();
    let x = Tensor::from_array(ust::ndarray::Array1::from(vec![0.0; 8]).into_dyn()).unwrap();
    let call = || einsum("C(i,j) = M(i,j) / x(j)").arg("M", &m).arg("x", &x).format(m.format());
    for backend in [Backend::Auto, Backend::INTERPRETER] {
        let c = call().backend(backend).run().unwrap();
        assert_eq!(c.to_coo().unwrap().len(), m.to_coo().unwrap().len());
    }
}
