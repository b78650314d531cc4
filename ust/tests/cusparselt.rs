//! Products by the back end `cusparselt`, whose library the virtual GPU has: compared with the interpreter. Numbers
//! are small integers, so that every order of sums gives the same.
#![cfg(feature = "gpu")]

#[path = "shared/virtual_gpu.rs"]
mod virtual_gpu;

use ust::ops::{Einsum, OpError};
use ust::{Backend, Coo, Dtype, Error, Format, Tensor, einsum};

const LIBRARY: Backend = Backend::Named("cusparselt");

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A matrix with numbers from -2 to 2. Groups of four neighbours in a row, or of a column, have two at most.
fn matrix([rows, columns]: [usize; 2], format: &str, dtype: Dtype, seed: u64) -> Tensor {
    let mut random = Random(seed);
    let in_columns = format.contains("i / 4");
    let full = format.starts_with("Dense");
    let mut crd = vec![Vec::new(); 2];
    let mut values = Vec::new();
    let mut counts = std::collections::HashMap::new();
    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
        let group = counts.entry(if in_columns { (i / 4, j) } else { (i, j / 4) }).or_insert(0);
        if full || (*group < 2 && random.below(2) == 0) {
            *group += 1;
            crd[0].push(i as i64);
            crd[1].push(j as i64);
            values.push(random.below(5) as f64 - 2.0);
        }
    }
    let coo = Coo::new(vec![rows, columns], crd, values).unwrap();
    let format = Format::resolve(format, Some(2)).unwrap();
    Tensor::from_coo(&coo, &format).unwrap().cast(dtype).unwrap()
}

const TWO_FOUR: &str = "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2, 4))";
const IN_COLUMNS: &str = "(i, j) -> (j : dense, i / 4 : dense, i % 4 : structured(2, 4))";
const EXTENTS: [usize; 3] = [32, 48, 8];

/// An expression of `A` and `B` with these formats and extents of `i`, `j` and `k`.
fn call(expression: &str, [a, b]: [&str; 2], extents: [usize; 3], dtype: Dtype) -> Einsum {
    let mut call = einsum(expression);
    let (_, right) = expression.split_once('=').unwrap();
    for (factor, seed) in right.split('*').zip(1..) {
        let (name, indices) = factor.trim().trim_end_matches(')').split_once('(').unwrap();
        let extent = |index: &str| extents["ijk".find(index).unwrap()];
        let shape: Vec<usize> = indices.split(',').map(extent).collect();
        let format = if name == "A" { a } else { b };
        call = call.arg(name, matrix([shape[0], shape[1]], format, dtype, seed));
    }
    call
}

#[test]
fn a_matrix_times_a_dense_matrix_in_every_order() {
    if !virtual_gpu::is_there() {
        return;
    }
    let orders = ["Dense", "DenseCol"];
    let widths = [2, 8, 16, 32, 64];
    for (at, (b, c)) in orders.into_iter().flat_map(|b| orders.map(|c| (b, c))).enumerate() {
        for (expression, format) in [
            ("C(i,k) = A(i,j) * B(j,k)", TWO_FOUR),
            ("C(k,i) = B(k,j) * A(i,j)", TWO_FOUR),
            ("C(j,k) = A(i,j) * B(i,k)", IN_COLUMNS),
        ] {
            for dtype in [Dtype::F16, Dtype::Bf16] {
                let format = format!("{format}, crdWidth = {}", widths[at]);
                let call = |backend| {
                    call(expression, [&format, b], EXTENTS, dtype).format(c).backend(backend)
                };
                let kernel = call(LIBRARY).prepare().unwrap();
                assert!(kernel.explain().contains("cuSPARSELt, two of every four"));
                let found = call(LIBRARY).run().unwrap();
                let expected = call(Backend::INTERPRETER).run().unwrap();
                assert_eq!(found, expected, "{expression} {format} {b} {c} {dtype}");
            }
        }
    }
}

#[test]
fn integers_are_summed_in_8_and_in_32_bits() {
    if !virtual_gpu::is_there() {
        return;
    }
    let extents = [32, 64, 16];
    let large = |tensor: Tensor| {
        let values = tensor.values().typed::<i8>().unwrap().iter().map(|v| v * 63 - 2);
        tensor.with_values(values.collect::<Vec<i8>>()).unwrap()
    };
    for (c, width) in [("Dense", 2), ("DenseCol", 8), ("Dense", 64)] {
        let format = format!("{TWO_FOUR}, crdWidth = {width}");
        let a = large(matrix([extents[0], extents[1]], &format, Dtype::I8, 7));
        let b = large(matrix([extents[1], extents[2]], "DenseCol", Dtype::I8, 8));
        for (expression, dtype) in [
            ("C(i,k) = A(i,j) * B(j,k)", Dtype::I8),
            ("C(i,k) = i32(A(i,j)) * i32(B(j,k))", Dtype::I32),
        ] {
            let call = |backend| {
                let call = einsum(expression).arg("A", &a).arg("B", &b).format(c).backend(backend);
                // Integers have the same sums in every order.
                if width == 64 { call.strict() } else { call }
            };
            let expected = call(Backend::INTERPRETER).run().unwrap();
            let found = call(LIBRARY).run().unwrap();
            assert_eq!((found.dtype(), &found), (dtype, &expected), "{expression} {c} {width}");
            // Numbers beyond 8 bits occur.
            let wraps = expected.cast_lossy(Dtype::I8).cast_lossy(dtype) != expected;
            assert_eq!(wraps, dtype == Dtype::I32, "{expression}");
        }
    }
    let other = call("C(i,k) = A(i,j) * B(j,k)", [TWO_FOUR, "DenseCol"], [16, 64, 16], Dtype::I8);
    match other.backend(LIBRARY).run() {
        Err(OpError::Tensor(Error::Shape { found, .. })) => assert_eq!(found, [16, 64, 16]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_kernel_takes_other_tensors() {
    if !virtual_gpu::is_there() {
        return;
    }
    let product = "C(i,k) = A(i,j) * B(j,k)";
    let a = |rows, seed| matrix([rows, 32], TWO_FOUR, Dtype::F16, seed);
    let b = |seed| matrix([32, 8], "Dense", Dtype::F16, seed);
    let kernel = einsum(product).arg("A", a(16, 1)).arg("B", b(2)).backend(LIBRARY);
    let kernel = kernel.prepare().unwrap();
    let run = |a: &Tensor, b: &Tensor| {
        let expected = einsum(product).arg("A", a).arg("B", b).backend(Backend::INTERPRETER);
        assert_eq!(kernel.run(&[a, b]).unwrap(), expected.run().unwrap());
    };
    let (first, second, longer) = (a(16, 3), a(16, 4), a(48, 5));
    for (of_a, seed) in [(&first, 6), (&first, 7), (&second, 8), (&longer, 9), (&first, 10)] {
        run(of_a, &b(seed));
    }
    // The same places, and other values.
    let values = second.values().clone();
    let other = first.with_values(values).unwrap();
    run(&first, &b(11));
    run(&other, &b(12));
}

#[test]
fn matrices_without_elements_have_products() {
    if !virtual_gpu::is_there() {
        return;
    }
    for extents in [[0, 48, 8], [32, 0, 8], [32, 48, 0]] {
        let call = |backend| {
            let product = "C(i,k) = A(i,j) * B(j,k)";
            call(product, [TWO_FOUR, "Dense"], extents, Dtype::Bf16).backend(backend)
        };
        let expected = call(Backend::INTERPRETER).run().unwrap();
        assert_eq!(call(LIBRARY).run().unwrap(), expected, "{extents:?}");
    }
}

#[test]
fn other_plans_are_refused_with_the_reason() {
    if !virtual_gpu::is_there() {
        return;
    }
    let refused = |call: Einsum, why: &str| match call.backend(LIBRARY).prepare() {
        Err(OpError::Tensor(Error::Refused { backend: "cusparselt", reason })) => {
            assert!(reason.contains(why), "{reason}");
        }
        Err(error) => panic!("{why}: {error}"),
        Ok(kernel) => panic!("{why}: {}", kernel.explain()),
    };
    let of =
        |expression: &str, format: &str, dtype| call(expression, [format, "Dense"], EXTENTS, dtype);
    let (product, products) = ("C(i,k) = A(i,j) * B(j,k)", "two of every four");
    refused(of(product, "CSR", Dtype::F16), products);
    refused(of(product, "Dense", Dtype::F16), products);
    refused(of(product, IN_COLUMNS, Dtype::F16), products);
    refused(of("C(j,k) = A(i,j) * B(i,k)", TWO_FOUR, Dtype::F16), products);
    refused(of(product, TWO_FOUR, Dtype::F32), "numbers of 16 bits");
    let integers = |format| call(product, [TWO_FOUR, format], [32, 64, 16], Dtype::I8);
    refused(integers("Dense"), "side by side");
    refused(integers("DenseCol").dtype(Dtype::I32), "two of every four");
    let a = matrix([32, 64], TWO_FOUR, Dtype::I8, 1);
    let b = matrix([64, 16], "DenseCol", Dtype::I8, 2);
    let wide = einsum("C(i,k) = i64(A(i,j)) * i64(B(j,k))").arg("A", a).arg("B", b);
    refused(wide, "8 or 32 bits");
    refused(of(product, TWO_FOUR, Dtype::I16), "floating-point");
    refused(of(product, TWO_FOUR, Dtype::F16).strict(), "order");
    // Extents are known when it runs.
    for extents in [[24, 48, 8], [32, 24, 8], [32, 48, 4]] {
        let call = call(product, [TWO_FOUR, "Dense"], extents, Dtype::F16).backend(LIBRARY);
        match call.run() {
            Err(OpError::Tensor(Error::Shape { found, .. })) => assert_eq!(found, extents),
            other => panic!("{extents:?}: {other:?}"),
        }
    }
}
