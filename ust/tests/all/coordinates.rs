//! Indices as values: the coordinates that loops are at.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use ust::generate::generate;
use ust::ops::{Einsum, einsum, oracle};
use ust::tensor::Window;
use ust::{Backend, Coo, Dtype, Format, Tensor};

const FORMATS: [&str; 17] = [
    "COO",
    "CSR",
    "CSC",
    "DCSR",
    "DCSC",
    "CROW",
    "BSR(4,4)",
    "BSR(2,3)",
    "BSC(4,4)",
    "DIA-I",
    "DIA-J",
    "ANTI-DIA-I",
    "ELL",
    "SELL-C-sigma(2,4)",
    "Dense",
    "DenseCol",
    "(i : sorted, j : sorted) -> (i : dense, j : compressed)",
];

/// Expressions of square matrices `A`, `B`, `D` and a vector `x`.
const TEXTS: [&str; 17] = [
    "C(i,j) = A(i,j) * (i >= j)",
    "C(i,j) = where(i == j, A(i,j), 0)",
    "C(i,j) = A(i,j) + i - j",
    "C(i,j) = A(j,i) * (i - j)",
    "C(i,j) = (A(i,j) + B(i,j)) * (i < j)",
    "C(i,j) = where(k >= i, A(i,k) * B(k,j), 0)",
    "s = where(i < k, A(i,j) * B(j,k) * D(k,i), 0)",
    "y(i) = A(i,j) * (i > j) * x(j)",
    "y(i) = j * A(i,j)",
    "y(i) = A(i,j) + j",
    "y(j) = sum(i, i * j * A(i,j))",
    "y(i) = max(j, where(A(i,j) != 0, j, -1))",
    "y(i) = sum(j, where(i >= j, A(i,j), 1))",
    "C(i,j) = A(i,j) * sum(k, k * B(k,j))",
    "s = sum(i, j, abs(i - j) * A(i,j))",
    "y(i) = A(i,j) * x(j) + i using min_plus",
    "C(i,j)<B(i,j)> = A(i,j) + i * j",
];

fn fresh() -> u32 {
    RandomState::new().hash_one(0) as u32
}

fn random(shape: &str, format: &str) -> Tensor {
    let coo = generate(&format!("random({shape}, seed={})", fresh())).unwrap();
    let rank = coo.shape.len();
    Tensor::from_coo(&coo, Format::resolve(format, Some(rank)).unwrap()).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    let numbers = tensor.cast_lossy(Dtype::F64);
    numbers.to_dense::<f64>().unwrap().iter().copied().collect()
}

/// Compares an answer with the plain evaluation.
fn agrees(call: &Einsum, found: &Tensor, what: &str) {
    let expected = oracle::evaluate(call).unwrap();
    assert_eq!(found.dtype(), expected.dtype(), "{what}");
    let (found, expected) = (elements(found), elements(&expected));
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (&a, &b)) in found.iter().zip(&expected).enumerate() {
        let scale = a.abs().max(b.abs()).max(1.0);
        assert!(a == b || (a - b).abs() <= 1e-12 * scale, "{what} at {at}: {a}, not {b}");
    }
}

/// The operands of an expression, by name.
fn operands(text: &str, of: &dyn Fn(&str) -> Tensor) -> Vec<(&'static str, Tensor)> {
    let names = ["A", "B", "D", "x"].into_iter();
    names.filter(|name| text.contains(&format!("{name}("))).map(|name| (name, of(name))).collect()
}

fn call(text: &str, operands: &[(&str, Tensor)]) -> Einsum {
    operands.iter().fold(einsum(text), |call, (name, tensor)| call.arg(name, tensor))
}

#[test]
fn coordinates_are_those_of_the_elements_in_every_format() {
    for format in FORMATS {
        for text in TEXTS {
            let of = |name: &str| match name {
                "x" => random("13, nnz=7", "Dense"),
                _ => random("13x13, nnz=50", format),
            };
            let operands = operands(text, &of);
            for backend in ["interp", "jit"] {
                let backend: Backend = backend.parse().unwrap();
                let found = call(text, &operands).backend(backend).run();
                let found = found.unwrap_or_else(|error| panic!("{text} {format}: {error}"));
                agrees(&call(text, &operands), &found, &format!("{text}, {format}, {backend}"));
            }
        }
    }
}

#[test]
fn coordinates_of_a_slice_begin_at_its_first_element() {
    let window = |offset| Window { offset, size: 9, stride: 1 };
    for format in FORMATS {
        for text in TEXTS {
            let of = |name: &str| match name {
                "x" => random("13, nnz=7", "Dense").slice([window(2)]).unwrap(),
                _ => random("13x13, nnz=80", format).slice([window(2), window(3)]).unwrap(),
            };
            let operands = operands(text, &of);
            let found = call(text, &operands).run();
            let found = found.unwrap_or_else(|error| panic!("{text} {format}: {error}"));
            agrees(&call(text, &operands), &found, &format!("{text}, {format}"));
        }
    }
}

#[test]
fn a_kernel_takes_the_coordinates_of_each_shape() {
    for format in ["CSR", "DIA-I", "BSR(2,2)", "COO"] {
        let of = |shape: &str| random(shape, format);
        let text = "y(i) = sum(j, (i * 100 + j) * A(i,j))";
        let kernel = einsum(text).arg("A", of("9x7, nnz=20")).prepare().unwrap();
        for shape in ["9x7, nnz=30", "31x5, nnz=60", "3x90, nnz=100"] {
            let a = of(shape);
            let call = einsum(text).arg("A", &a);
            agrees(&call, &kernel.run(&[&a]).unwrap(), &format!("{format} {shape}"));
        }
    }
}

/// Nothing but the stored elements is visited, and the result stores no more.
#[test]
fn a_triangle_of_a_huge_matrix_is_sparse() {
    let extent = 1_000_000_000_000_usize;
    let crd = vec![vec![0_i64, 5, 999_999_999_999], vec![3, 5, 999_999_999_998]];
    let coo = Coo::new(vec![extent; 2], crd, vec![1.0, 2.0, 3.0]).unwrap();
    for format in ["COO", "DCSR"] {
        let a = Tensor::from_coo(&coo, Format::resolve(format, Some(2)).unwrap()).unwrap();
        let run = |text: &str| einsum(text).arg("A", &a).run().unwrap();
        let kept = |tensor: &Tensor| {
            let coo = tensor.to_coo().unwrap();
            let values = coo.values.typed::<f64>().unwrap().to_vec();
            let all = (0..coo.len()).map(|at| (coo.coordinates(at), values[at]));
            all.filter(|(_, value)| *value != 0.0).collect::<Vec<_>>()
        };
        let lower = run("L(i,j) = A(i,j) * (i >= j)");
        assert!(lower.nse() <= 3);
        let (row, column) = (extent - 1, extent - 2);
        assert_eq!(kept(&lower), [(vec![5, 5], 2.0), (vec![row, column], 3.0)]);
        let diagonal = run("D(i,j) = where(i == j, A(i,j), 0)");
        assert_eq!(kept(&diagonal), [(vec![5, 5], 2.0)]);
        let moment = run("s = sum(i, j, j * A(i,j))");
        assert_eq!(elements(&moment), [3.0 + 10.0 + 3.0 * column as f64]);
    }
}

#[test]
fn coordinates_need_no_tensor() {
    let found = einsum("R(i,j) = i + 10 * j").extent("i", 2).extent("j", 3).run().unwrap();
    assert_eq!(found.dtype(), Dtype::I64);
    assert_eq!(elements(&found), [0.0, 10.0, 20.0, 1.0, 11.0, 21.0]);
    let found = einsum("v(i) = i").extent("i", 4).run().unwrap();
    assert_eq!(elements(&found), [0.0, 1.0, 2.0, 3.0]);
    let found = einsum("M(i,j) = max(0, j - i)").extent("i", 2).extent("j", 3).run().unwrap();
    assert_eq!(elements(&found), [0.0, 1.0, 2.0, 0.0, 0.0, 1.0]);
}

#[test]
fn sums_of_coordinates_need_no_tensor() {
    for (text, extents, wanted) in [
        ("y(i) = sum(k, k)", &[("i", 3), ("k", 5)][..], vec![10.0; 3]),
        ("y(i) = sum(k, i * k)", &[("i", 3), ("k", 5)], vec![0.0, 10.0, 20.0]),
        ("s = sum(k, l, k + 10 * l)", &[("k", 3), ("l", 2)], vec![36.0]),
        ("s = max(k, 7 - k)", &[("k", 4)], vec![7.0]),
        ("s = k", &[("k", 4)], vec![6.0]),
        ("s = sum(k, k)", &[("k", 0)], vec![0.0]),
    ] {
        let call = || extents.iter().fold(einsum(text), |call, (name, n)| call.extent(name, *n));
        assert_eq!(elements(&call().run().unwrap()), wanted, "{text}");
        assert_eq!(elements(&oracle::evaluate(&call()).unwrap()), wanted, "{text}");
    }
    let x = random("4, nnz=4", "Dense");
    let call = || einsum("y(i) = x(i) * sum(k, k)").arg("x", &x);
    let found = elements(&call().extent("k", 4).run().unwrap());
    assert!(found.iter().zip(elements(&x)).all(|(found, x)| (found - 6.0 * x).abs() <= 1e-12));
    // Without an extent, it is a tensor that is not given.
    assert!(call().run().unwrap_err().to_string().contains("`k`"));
    // What nobody names is no index.
    assert!(call().extent("k", 4).extent("m", 2).run().is_err());
}

/// An index is one wherever a name is one, and no tensor of that name stands for it.
#[test]
fn a_tensor_named_as_an_index_is_refused() {
    let x = random("4, nnz=3", "Dense");
    let i = Tensor::from_array(ust::ndarray::arr0(2.0).into_dyn()).unwrap();
    let error = einsum("y(i) = i * x(i)").arg("x", &x).arg("i", &i).run().unwrap_err().to_string();
    assert!(error.contains("\n         ^\n"), "{error}");
    assert!(error.contains("`i` is an index here, and a tensor of that name was given"), "{error}");
    let y = einsum("y(j) = i * x(j)").arg("x", &x).arg("i", &i).run().unwrap();
    assert_eq!(elements(&y), elements(&x).iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}
