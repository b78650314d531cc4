//! Products by the back end `cublaslt`, whose library the virtual GPU has: compared with the interpreter. Numbers
//! are small integers, so that every order of sums gives the same.
#![cfg(feature = "gpu")]

#[path = "shared/virtual_gpu.rs"]
mod virtual_gpu;

use ust::gpu::Gpu;
use ust::ops::{Einsum, OpError};
use ust::{Backend, Complex, Coo, Dtype, Error, Format, Tensor, einsum};

const LIBRARY: Backend = Backend::Named("cublaslt");

const DTYPES: [Dtype; 6] =
    [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::Complex64, Dtype::Complex128];

/// A tensor in full. Numbers are from -2 to 2.
fn tensor(shape: &[usize], format: &str, dtype: Dtype, seed: u64) -> Tensor {
    let mut state = seed;
    let mut number = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 5) as f64 - 2.0
    };
    let mut crd = vec![Vec::new(); shape.len()];
    let mut values = Vec::new();
    for cell in 0..shape.iter().product::<usize>() {
        let mut rest = cell;
        for (dim, &extent) in shape.iter().enumerate().rev() {
            crd[dim].push((rest % extent) as i64);
            rest /= extent;
        }
        values.push(Complex { re: number(), im: number() });
    }
    let coo = match dtype {
        Dtype::Complex64 | Dtype::Complex128 => Coo::new(shape.to_vec(), crd, values),
        _ => Coo::new(shape.to_vec(), crd, values.iter().map(|one| one.re).collect::<Vec<f64>>()),
    };
    let format = Format::resolve(format, Some(shape.len())).unwrap();
    Tensor::from_coo(&coo.unwrap(), &format).unwrap().cast(dtype).unwrap()
}

/// An expression with its operands and formats, of random tensors with these extents of `i`, `j` and `k`.
fn call(
    expression: &str,
    formats: &[&str],
    [i, j, k]: [usize; 3],
    dtype: Dtype,
    seed: u64,
) -> Einsum {
    let (_, right) = expression.split_once('=').unwrap();
    let mut call = einsum(expression);
    for (at, (factor, format)) in right.split('*').zip(formats).enumerate() {
        let (name, indices) = factor.trim().trim_end_matches(')').split_once('(').unwrap();
        let extent = |index: &str| match index {
            "i" => i,
            "j" => j,
            _ => k,
        };
        let shape: Vec<usize> = indices.split(',').map(extent).collect();
        call = call.arg(name, tensor(&shape, format, dtype, seed + 31 * at as u64));
    }
    call
}

const EXTENTS: [usize; 3] = [7, 10, 5];

/// Runs an expression on random tensors, and compares the results.
fn compare(expression: &str, formats: &[&str], result: &str, what: &str) {
    for dtype in DTYPES {
        let told = format!("{expression} {formats:?} {result} {dtype}");
        for extents in [EXTENTS, [1, 1, 1], [33, 17, 40]] {
            let call = |backend| {
                call(expression, formats, extents, dtype, 7).format(result).backend(backend)
            };
            let kernel = call(LIBRARY).prepare();
            let kernel = kernel.unwrap_or_else(|error| panic!("{told}: {error}"));
            let explained = kernel.explain();
            assert!(explained.contains(&format!("cuBLASLt, {what}\n")), "{told}\n{explained}");
            let found = call(LIBRARY).run().unwrap_or_else(|error| panic!("{told}: {error}"));
            assert_eq!(found, call(Backend::INTERPRETER).run().unwrap(), "{told} {extents:?}");
        }
    }
}

const VECTOR: &str = "a dense matrix times a vector";
const MATRIX: &str = "a dense matrix times a dense matrix";

#[test]
fn a_matrix_times_a_vector() {
    if !virtual_gpu::is_there() {
        return;
    }
    for order in ["Dense", "DenseCol"] {
        compare("y(i) = A(i,j) * x(j)", &[order, "Dense"], "Dense", VECTOR);
        compare("y(j) = A(i,j) * x(i)", &[order, "Dense"], "Dense", VECTOR);
        compare("y(j) = x(i) * A(i,j)", &["Dense", order], "Dense", VECTOR);
    }
}

#[test]
fn a_matrix_times_a_matrix_in_every_order() {
    if !virtual_gpu::is_there() {
        return;
    }
    let orders = ["Dense", "DenseCol"];
    for (a, b) in orders.into_iter().flat_map(|a| orders.map(|b| (a, b))) {
        for c in orders {
            compare("C(i,k) = A(i,j) * B(j,k)", &[a, b], c, MATRIX);
            compare("C(i,k) = A(j,i) * B(k,j)", &[a, b], c, MATRIX);
            compare("C(k,i) = A(j,i) * B(j,k)", &[a, b], c, MATRIX);
        }
    }
}

#[test]
fn matrices_without_elements_have_products() {
    if !virtual_gpu::is_there() {
        return;
    }
    for extents in [[0, 10, 5], [7, 0, 5], [7, 10, 0]] {
        let call = |backend| {
            let formats = ["Dense", "DenseCol"];
            call("C(i,k) = A(i,j) * B(j,k)", &formats, extents, Dtype::F32, 3).backend(backend)
        };
        let found = call(LIBRARY).run().unwrap();
        assert_eq!(found, call(Backend::INTERPRETER).run().unwrap(), "{extents:?}");
    }
}

#[test]
fn a_kernel_takes_other_tensors() {
    if !virtual_gpu::is_there() {
        return;
    }
    let product = "C(i,k) = A(i,j) * B(j,k)";
    let matrix = |shape: [usize; 2], seed| tensor(&shape, "Dense", Dtype::F16, seed);
    let (a, b) = (matrix([6, 4], 1), matrix([4, 9], 2));
    let kernel = einsum(product).arg("A", &a).arg("B", &b).backend(LIBRARY).prepare().unwrap();
    for (rows, seed) in [(6, 3), (6, 4), (11, 5), (6, 6)] {
        let (a, b) = (matrix([rows, 4], seed), matrix([4, 9], seed + 50));
        let expected = einsum(product).arg("A", &a).arg("B", &b).backend(Backend::INTERPRETER);
        assert_eq!(kernel.run(&[&a, &b]).unwrap(), expected.run().unwrap(), "{rows} {seed}");
    }
}

#[test]
fn products_follow_each_other_on_the_device() {
    if !virtual_gpu::is_there() {
        return;
    }
    let gpu = Gpu::open(0).unwrap();
    let other = gpu.with_new_stream().unwrap();
    let (a, b) =
        (tensor(&[7, 10], "Dense", Dtype::F64, 1), tensor(&[10, 5], "DenseCol", Dtype::F64, 2));
    let (there_a, there_b) = (gpu.upload(&a).unwrap(), other.upload(&b).unwrap());
    let (times, transposed) = ("C(i,k) = A(i,j) * B(j,k)", "D(j,k) = A(i,j) * C(i,k)");
    let expected = einsum(times).arg("A", &a).arg("B", &b).run().unwrap();
    let expected = einsum(transposed).arg("A", &a).arg("C", expected).run().unwrap();
    for (first, second) in [(&gpu, &other), (&other, &gpu)] {
        let c = first.einsum(times).backend(LIBRARY).arg("A", &there_a).arg("B", &there_b);
        let c = c.run().unwrap();
        let d = second.einsum(transposed).backend(LIBRARY).arg("A", &there_a).arg("C", &c);
        assert_eq!(d.run().unwrap().download().unwrap(), expected);
    }
}

#[test]
fn other_plans_are_refused_with_the_reason() {
    if !virtual_gpu::is_there() {
        return;
    }
    let refused = |call: Einsum, why: &str| match call.backend(LIBRARY).prepare() {
        Err(OpError::Tensor(Error::Refused { backend: "cublaslt", reason })) => {
            assert!(reason.contains(why), "{reason}");
        }
        Err(error) => panic!("{why}: {error}"),
        Ok(kernel) => panic!("{why}: {}", kernel.explain()),
    };
    let f64s =
        |expression: &str, formats: &[&str]| call(expression, formats, EXTENTS, Dtype::F64, 1);
    let (product, dense) = ("C(i,k) = A(i,j) * B(j,k)", ["Dense", "Dense"]);
    let products = "a dense matrix by a vector or a dense matrix";
    refused(f64s(product, &["CSR", "Dense"]), products);
    refused(f64s(product, &dense).format("CSR"), products);
    refused(f64s("C(i,j) = A(i,j) * B(i,j)", &dense), products);
    refused(f64s("C(i,j) = A(i,j) * B(i)", &dense), products);
    refused(f64s("s = A(i) * B(i)", &dense), products);
    refused(f64s("D(i) = A(i,j) * B(i,j)", &dense), products);
    refused(f64s(product, &dense).semiring("max_plus"), products);
    refused(f64s(product, &dense).strict(), "order");
    refused(call(product, &dense, EXTENTS, Dtype::I32, 1), "floating-point");
}
