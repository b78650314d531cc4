//! Products by the back end `cusparse`, whose library the virtual GPU has: compared with the interpreter. Numbers
//! are small integers, so that every order of sums gives the same.
#![cfg(feature = "gpu")]

#[path = "shared/virtual_gpu.rs"]
mod virtual_gpu;

use std::sync::{Mutex, MutexGuard, PoisonError};

use ust::gpu::Gpu;
use ust::ops::{Einsum, OpError};
use ust::{Backend, Complex, Coo, Dtype, Error, Format, Tensor, einsum};

/// The virtual GPU, for one test at a time: one of them counts. Says so if there is none.
fn virtual_gpu() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    virtual_gpu::is_there().then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

const LIBRARY: Backend = Backend::Named("cusparse");

const DTYPES: [Dtype; 6] =
    [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::Complex64, Dtype::Complex128];

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A tensor in which one element of `one_in` is stored. Numbers are from -2 to 2, and none is 0.
fn tensor(shape: &[usize], format: &str, dtype: Dtype, one_in: u64, seed: u64) -> Tensor {
    let mut random = Random(seed);
    let mut crd = vec![Vec::new(); shape.len()];
    let mut values = Vec::new();
    let number = |random: &mut Random| [-2.0, -1.0, 1.0, 2.0][random.below(4) as usize];
    for cell in 0..shape.iter().product::<usize>() {
        if random.below(one_in) != 0 {
            continue;
        }
        let mut rest = cell;
        for (dim, &extent) in shape.iter().enumerate().rev() {
            crd[dim].push((rest % extent) as i64);
            rest /= extent;
        }
        values.push(Complex { re: number(&mut random), im: number(&mut random) });
    }
    let coo = match dtype {
        Dtype::Complex64 | Dtype::Complex128 => Coo::new(shape.to_vec(), crd, values),
        _ => Coo::new(shape.to_vec(), crd, values.iter().map(|one| one.re).collect::<Vec<f64>>()),
    };
    let format = Format::resolve(format, Some(shape.len())).unwrap();
    Tensor::from_coo(&coo.unwrap(), &format).unwrap().cast(dtype).unwrap()
}

const I: usize = 7;
const J: usize = 10;
const K: usize = 5;

/// An expression with its operands and formats, of random tensors. Of operands in full, every element is stored.
fn call(expression: &str, formats: &[&str], result: &str, dtype: Dtype, seed: u64) -> Einsum {
    let (_, right) = expression.split_once('=').unwrap();
    let mut call = einsum(expression).format(result);
    for (at, (factor, format)) in right.split('*').zip(formats).enumerate() {
        let (name, indices) = factor.trim().trim_end_matches(')').split_once('(').unwrap();
        let extent = |index: &str| match index {
            "i" => I,
            "j" => J,
            _ => K,
        };
        let shape: Vec<usize> = indices.split(',').map(extent).collect();
        let one_in = if format.starts_with("Dense") { 1 } else { 3 };
        call = call.arg(name, tensor(&shape, format, dtype, one_in, seed + 31 * at as u64));
    }
    call
}

/// Runs an expression on random tensors of several dtypes, and compares the results.
fn compare(expression: &str, formats: &[&str], result: &str, dtypes: &[Dtype], what: &str) {
    for &dtype in dtypes {
        for seed in 1..4 {
            let call = || call(expression, formats, result, dtype, seed);
            let told = format!("{expression} {formats:?} {result} {dtype} seed {seed}");
            let kernel = call().backend(LIBRARY).prepare();
            let kernel = kernel.unwrap_or_else(|error| panic!("{told}: {error}"));
            let explained = kernel.explain();
            assert!(explained.contains(&format!("cuSPARSE, {what}\n")), "{told}\n{explained}");
            let found =
                call().backend(LIBRARY).run().unwrap_or_else(|error| panic!("{told}: {error}"));
            let expected = call().backend(Backend::INTERPRETER).run().unwrap();
            assert_eq!(found, expected, "{told}");
        }
    }
}

const WIDE: &str = "(i, j) -> (i : dense, j : compressed), posWidth = 64, crdWidth = 64";
const BY_ROW: &str = "y(i) = A(i,j) * x(j)";
const BY_COLUMN: &str = "y(j) = A(i,j) * x(i)";

#[test]
fn a_matrix_times_a_vector() {
    let Some(_alone) = virtual_gpu() else { return };
    // Blocks reach beyond the matrix.
    for format in ["CSR", "CSC", "COO", "BSR(2,3)", "BSR-Col(2,3)", WIDE] {
        compare(BY_ROW, &[format, "Dense"], "Dense", &DTYPES, "SpMV");
    }
    for format in ["CSR", "CSC", "COO", WIDE] {
        compare(BY_COLUMN, &[format, "Dense"], "Dense", &DTYPES, "SpMV with the transpose");
    }
}

#[test]
fn what_is_stored_by_columns_is_the_transpose_stored_by_rows() {
    let Some(_alone) = virtual_gpu() else { return };
    for format in ["COO(col-major)", "BSC(2,3)", "BSC-Col(2,3)"] {
        compare(BY_COLUMN, &[format, "Dense"], "Dense", &DTYPES, "SpMV");
    }
    compare(BY_ROW, &["COO(col-major)", "Dense"], "Dense", &DTYPES, "SpMV with the transpose");
}

#[test]
fn a_matrix_times_a_dense_matrix() {
    let Some(_alone) = virtual_gpu() else { return };
    let orders = ["Dense", "DenseCol"];
    for (b, c) in orders.into_iter().flat_map(|b| orders.map(|c| (b, c))) {
        let left = "C(i,k) = A(i,j) * B(j,k)";
        for format in ["CSR", "COO", "BSR(2,3)", WIDE] {
            compare(left, &[format, b], c, &DTYPES, "SpMM");
        }
        compare(left, &["CSC", b], c, &DTYPES, "SpMM");
        // By the transpose, and from the right.
        let transposed = "C(j,k) = A(i,j) * B(i,k)";
        compare(transposed, &["CSR", b], c, &DTYPES, "SpMM with the transpose");
        compare(transposed, &["BSC-Col(2,3)", b], c, &DTYPES, "SpMM");
        compare("C(k,i) = B(k,j) * A(i,j)", &[b, "CSR"], c, &DTYPES, "SpMM");
    }
}

#[test]
fn a_product_where_a_matrix_stores_values() {
    let Some(_alone) = virtual_gpu() else { return };
    for (m, a, b) in
        [("CSR", "Dense", "Dense"), ("CSC", "DenseCol", "Dense"), (WIDE, "Dense", "DenseCol")]
    {
        compare("C(i,j) = M(i,j) * A(i,k) * B(j,k)", &[m, a, b], m, &DTYPES[2..], "SDDMM");
        compare("C(i,j) = A(k,j) * M(i,j) * B(i,k)", &[a, m, b], m, &DTYPES[2..], "SDDMM");
    }
}

#[test]
fn a_sparse_matrix_times_another() {
    let Some(_alone) = virtual_gpu() else { return };
    for result in ["CSR", "DCSR", "COO", WIDE] {
        compare("C(i,k) = A(i,j) * B(j,k)", &["CSR", "CSR"], result, &DTYPES[2..], "SpGEMM");
    }
    // Indices of 64 bits are stored in 32 bits first.
    compare("C(i,k) = A(i,j) * B(j,k)", &[WIDE, WIDE], "CSR", &[Dtype::F64], "SpGEMM");
    for result in ["CSC", "COO(col-major)"] {
        compare("C(i,k) = A(i,j) * B(j,k)", &["CSC", "CSC"], result, &DTYPES[2..], "SpGEMM");
    }
    compare("C(k,i) = A(i,j) * B(j,k)", &["CSC", "CSC"], "CSR", &DTYPES[2..], "SpGEMM");
}

#[test]
fn matrices_without_entries_have_products() {
    let Some(_alone) = virtual_gpu() else { return };
    let none = |shape: &[usize], format: &str| tensor(shape, format, Dtype::F64, u64::MAX, 5);
    let x = tensor(&[J, K], "Dense", Dtype::F64, 1, 6);
    let zeros = |a: &Tensor, b: &Tensor, result: &str| {
        let call = |backend| {
            let call = einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", a.clone()).arg("B", b.clone());
            call.format(result).backend(backend).run().unwrap()
        };
        let found = call(LIBRARY);
        assert_eq!(found.shape(), [a.shape()[0], b.shape()[1]]);
        assert_eq!(found, call(Backend::INTERPRETER));
    };
    zeros(&none(&[I, J], "CSR"), &x, "Dense");
    zeros(&none(&[I, J], "BSR(2,3)"), &x, "DenseCol");
    zeros(&none(&[0, J], "CSR"), &x, "Dense");
    zeros(&none(&[I, 0], "CSR"), &tensor(&[0, K], "Dense", Dtype::F64, 1, 6), "Dense");
    zeros(&none(&[I, J], "CSR"), &none(&[J, K], "CSR"), "CSR");
    zeros(&tensor(&[I, J], "CSR", Dtype::F64, 3, 7), &none(&[J, K], "CSR"), "DCSR");
}

#[test]
fn a_matrix_is_prepared_once() {
    let Some(_alone) = virtual_gpu() else { return };
    let matrix = |seed| tensor(&[I, J], "CSR", Dtype::F64, 3, seed);
    let vector = |seed| tensor(&[J], "Dense", Dtype::F64, 1, seed);
    let (a, b) = (matrix(1), matrix(2));
    let call = |a: &Tensor, x: Tensor| einsum(BY_ROW).arg("A", a.clone()).arg("x", x);
    let kernel = call(&a, vector(3)).backend(LIBRARY).prepare().unwrap();
    let run = |a: &Tensor, seed: u64| {
        let x = vector(seed);
        let expected = call(a, x.clone()).backend(Backend::INTERPRETER).run().unwrap();
        assert_eq!(kernel.run(&[a, &x]).unwrap(), expected);
    };
    let before = ust::gpu::prepared();
    for seed in 3..6 {
        run(&a, seed);
    }
    assert_eq!(ust::gpu::prepared() - before, 1);
    run(&b, 6);
    run(&b, 7);
    assert_eq!(ust::gpu::prepared() - before, 2);
    run(&a, 8);
    assert_eq!(ust::gpu::prepared() - before, 3);
}

#[test]
fn products_follow_each_other_on_the_device() {
    let Some(_alone) = virtual_gpu() else { return };
    let gpu = Gpu::open(0).unwrap();
    let other = gpu.with_new_stream().unwrap();
    let (a, b) =
        (tensor(&[I, J], "CSR", Dtype::F64, 3, 1), tensor(&[J, K], "Dense", Dtype::F64, 1, 2));
    let (there_a, there_b) = (gpu.upload(&a).unwrap(), other.upload(&b).unwrap());
    // C = A B and D = AT C, each on a stream of its own, and then both again.
    let times = "C(i,k) = A(i,j) * B(j,k)";
    let transposed = "D(j,k) = A(i,j) * C(i,k)";
    let expected = einsum(times).arg("A", &a).arg("B", &b).run().unwrap();
    let expected = einsum(transposed).arg("A", &a).arg("C", expected).run().unwrap();
    for (first, second) in [(&gpu, &other), (&other, &gpu)] {
        let c = first.einsum(times).backend(LIBRARY).arg("A", &there_a).arg("B", &there_b);
        let c = c.run().unwrap();
        let d = second.einsum(transposed).backend(LIBRARY).arg("A", &there_a).arg("C", &c);
        assert_eq!(d.run().unwrap().download().unwrap(), expected);
    }
    // Rows of a result come to the host, and go back.
    let sparse = tensor(&[J, K], "CSR", Dtype::F64, 3, 3);
    let there = other.upload(&sparse).unwrap();
    let product = gpu.einsum("E(i,k) = A(i,j) * S(j,k)").backend(LIBRARY).format("CSR");
    let product = product.arg("A", &there_a).arg("S", &there).run().unwrap();
    let expected = einsum("E(i,k) = A(i,j) * S(j,k)").arg("A", &a).arg("S", &sparse);
    assert_eq!(product.download().unwrap(), expected.format("CSR").run().unwrap());
}

#[test]
fn other_plans_are_refused_with_the_reason() {
    let Some(_alone) = virtual_gpu() else { return };
    let refused = |call: Einsum, why: &str| match call.backend(LIBRARY).prepare() {
        Err(OpError::Tensor(Error::Refused { backend: "cusparse", reason })) => {
            assert!(reason.contains(why), "{reason}");
        }
        Err(error) => panic!("{why}: {error}"),
        Ok(kernel) => panic!("{why}: {}", kernel.explain()),
    };
    let f64s = |expression: &str, formats: &[&str], result: &str| {
        call(expression, formats, result, Dtype::F64, 1)
    };
    refused(f64s(BY_ROW, &["DIA-I", "Dense"], "Dense"), "compressed rows");
    refused(f64s(BY_ROW, &["DCSR", "Dense"], "Dense"), "compressed rows");
    refused(f64s(BY_COLUMN, &["BSR(2,3)", "Dense"], "Dense"), "transpose of a matrix of blocks");
    let product = "C(i,k) = A(i,j) * B(j,k)";
    refused(f64s(product, &["BSR-Col(2,3)", "Dense"], "Dense"), "stored by rows");
    refused(f64s(product, &["Dense", "Dense"], "Dense"), "sparse matrix by a vector");
    refused(f64s(product, &["CSR", "CSR"], "Dense"), "sparse");
    refused(f64s("C(i,j) = A(i,j) * B(i,j)", &["CSR", "CSR"], "CSR"), "sparse matrix by a vector");
    refused(call(BY_ROW, &["CSR", "Dense"], "Dense", Dtype::I32, 1), "floating-point");
    refused(f64s(BY_ROW, &["CSR", "Dense"], "Dense").strict(), "order");
    refused(f64s(BY_ROW, &["CSR", "Dense"], "Dense").semiring("max_plus"), "sparse matrix by");
    let halves = call(product, &["CSR", "CSR"], "CSR", Dtype::F16, 1);
    refused(halves, "16 bits");
    let sampled = "C(i,j) = M(i,j) * A(i,k) * B(j,k)";
    refused(f64s(sampled, &["COO", "Dense", "Dense"], "COO"), "compressed rows or columns");
}
