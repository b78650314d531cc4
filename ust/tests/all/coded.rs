//! Tensors whose coordinates are in a code: each expression, by machine code and by the interpreter, whatever stands in
//! dense operands where nothing is stored.

use ust::ops::{Einsum, einsum, oracle};
use ust::{Backend, Coo, Format, Scalar, Tensor};

/// The formats, in each of which a place without an entry may be stored only as the fill value.
const FORMATS: [&str; 7] = [
    "(i, j) -> (i : dense, j : bits)",
    "(i, j) -> (i : compressed, j : bits)",
    "(i, j) -> (i : bits, j : bits)",
    "(i, j) -> (i : bits, j : dense)",
    "(i, j) -> (i : dense, j : delta(4))",
    "(i, j) -> (i : delta(8), j : delta(8))",
    "(i, j) -> (j : dense, i : bits)",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A random matrix, of which some rows are empty, and all columns that are not wanted.
fn matrix(
    random: &mut Random,
    [rows, columns]: [usize; 2],
    percent: u64,
    wanted: &dyn Fn(usize) -> bool,
) -> Coo {
    let (mut crd, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
    for i in (0..rows).filter(|i| i % 5 != 3) {
        for j in (0..columns).filter(|&j| wanted(j)) {
            if random.below(100) < percent {
                crd[0].push(i as i64);
                crd[1].push(j as i64);
                values.push(random.below(2001) as f64 / 1000.0 - 1.0);
            }
        }
    }
    Coo::new(vec![rows, columns], crd, values).unwrap()
}

fn in_format(coo: &Coo, format: &str) -> Tensor {
    let format: Format = format.parse().unwrap();
    Tensor::from_coo(coo, &format).unwrap()
}

fn dense(shape: &[usize], of: &mut dyn FnMut(usize) -> f64) -> Tensor {
    let count = shape.iter().product();
    let values: Vec<f64> = (0..count).map(of).collect();
    let array = ndarray::ArrayD::from_shape_vec(shape, values).unwrap();
    Tensor::from_array(array).unwrap()
}

/// The call, with sums formed in order or in any.
fn either(call: Einsum, strict: bool) -> Einsum {
    if strict { call.strict() } else { call }
}

fn same(found: &Tensor, expected: &Tensor, told: &str) {
    let [found, expected] = [found, expected].map(|of| of.to_dense::<f64>().unwrap());
    assert_eq!(found.shape(), expected.shape(), "{told}");
    for (at, (x, y)) in found.iter().zip(expected.iter()).enumerate() {
        assert!(oracle::close(Scalar::F64(*x), Scalar::F64(*y)), "{told}: {at}: {x} {y}");
    }
}

#[test]
fn expressions_are_what_they_are_of_compressed_matrices() {
    let random = &mut Random(5);
    for (shape, percent) in
        [([7, 1], 50), ([9, 31], 30), ([6, 64], 60), ([11, 100], 8), ([5, 200], 100), ([4, 33], 0)]
    {
        let [coo, other] = [percent, 25].map(|percent| matrix(random, shape, percent, &|_| true));
        let mut number = |_| random.below(2001) as f64 / 1000.0 - 1.0;
        let (x, w) = (dense(&shape[1..], &mut number), dense(&shape[..1], &mut number));
        let wide = dense(&[shape[1], 5], &mut number);
        let csr = in_format(&coo, "CSR");
        for format in FORMATS {
            let a = in_format(&coo, format);
            let s = in_format(&other, format);
            let sparse = in_format(&other, "CSR");
            for (text, b) in [
                ("y(i) = A(i,j) * x(j)", &x),
                ("y(j) = A(i,j) * x(i)", &w),
                ("s = A(i,j)", &x),
                ("y(i) = 3 * A(i,j) * x(j)", &x),
                ("Y(i,k) = A(i,j) * B(j,k)", &wide),
                ("Y(i,j) = A(i,j) + S(i,j)", &s),
                ("Y(i,j) = A(i,j) * S(i,j)", &s),
                ("Y(i,j) = A(i,j) - S(i,j)", &sparse),
                ("Y(i,j) = S(i,j) * A(i,j)", &sparse),
            ] {
                let told = format!("{text}, {format}, {shape:?}");
                let call = |a: &Tensor| {
                    let call = einsum(text).arg("A", a);
                    let name =
                        ["x", "B", "S"].into_iter().find(|name| text.contains(&format!("{name}(")));
                    match name {
                        Some(name) => call.arg(name, b.clone()),
                        None => call,
                    }
                };
                let expected = call(&csr).backend(Backend::INTERPRETER).run().unwrap();
                for strict in [false, true] {
                    same(&either(call(&a), strict).run().unwrap(), &expected, &told);
                }
                same(&call(&a).backend(Backend::INTERPRETER).run().unwrap(), &expected, &told);
            }
            assert_eq!(a.convert("CSR").unwrap().to_coo().unwrap(), csr.to_coo().unwrap());
            assert_eq!(csr.convert(format).unwrap(), a, "{format}");
        }
    }
}

#[test]
fn what_stands_where_nothing_is_stored_does_not_count() {
    let random = &mut Random(8);
    for columns in [1, 31, 32, 64, 97, 300] {
        // Every third column is empty.
        let coo = matrix(random, [12, columns], 40, &|j| j % 3 != 1);
        let x = dense(&[columns], &mut |j| match j % 6 {
            1 => f64::NAN,
            4 => f64::INFINITY,
            _ => j as f64 / 7.0 - 1.0,
        });
        // No gap is too long for eight bits: there are no fillers.
        for format in FORMATS.into_iter().map(|format| format.replace("delta(4)", "delta(8)")) {
            let a = in_format(&coo, &format);
            let call = |a: &Tensor| einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x);
            let expected =
                call(&in_format(&coo, "CSR")).backend(Backend::INTERPRETER).run().unwrap();
            assert!(expected.to_dense::<f64>().unwrap().iter().all(|sum| sum.is_finite()));
            for strict in [false, true] {
                let found = either(call(&a), strict).run().unwrap();
                // Sums in order have the same bits, whatever the format.
                if strict && !format.contains("j : dense") {
                    assert_eq!(found, expected, "{format}, {columns}");
                }
                if !format.contains("j : dense") {
                    same(&found, &expected, &format!("{format}, {columns}"));
                }
            }
        }
    }
}
