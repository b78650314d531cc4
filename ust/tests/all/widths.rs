//! Indices of every width: conversions between them, and kernels over them.

use ust::generate::generate;
use ust::ndarray::{Array1, Array2};
use ust::tensor::{Parts, Way};
use ust::{Backend, Error, Format, Tensor, einsum};

const LAYOUTS: [&str; 6] = [
    "(i, j) -> (i : dense, j : compressed)",
    "(i, j) -> (i : compressed(nonunique), j : singleton)",
    "(i, j) -> (i : compressed, j : compressed)",
    "(i, j) -> (i / 2 : dense, j / 2 : compressed, i % 2 : dense, j % 2 : dense)",
    "(i, j) -> (j - i : compressed, i : range)",
    "(i, j) -> (i : dense, j : loose_compressed)",
];

fn tensor(layout: &str, widths: [u32; 2]) -> Tensor {
    let coo = generate("random(90x80, nnz=700, seed=3)").unwrap();
    Tensor::from_coo(&coo, format(layout, widths)).unwrap()
}

fn format(layout: &str, [pos, crd]: [u32; 2]) -> Format {
    layout.parse::<Format>().unwrap().with_widths(pos, crd).unwrap()
}

#[test]
fn widths_change_without_a_sort() {
    let all = [[0, 0], [16, 8], [32, 16], [64, 32], [16, 64], [64, 64]];
    for layout in LAYOUTS {
        for from in all {
            let source = tensor(layout, from);
            for to in all.into_iter().filter(|to| *to != from) {
                let target = format(layout, to);
                assert_eq!(source.way(&target).unwrap(), Way::Widths, "{layout}");
                let made = source.convert(&target).unwrap();
                assert_eq!(made, tensor(layout, to), "{layout}, {from:?} to {to:?}");
                for (level, arrays) in made.levels().iter().enumerate() {
                    for (made, built) in arrays.0.iter().zip(&tensor(layout, to).levels()[level].0)
                    {
                        assert_eq!(made.kind(), built.kind(), "{layout}, {from:?} to {to:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_index_that_does_not_fit_is_told() {
    let coo = generate("random(9x700, nnz=700, seed=3)").unwrap();
    let csr = Tensor::from_coo(&coo, "CSR").unwrap();
    let found = csr.convert(format(LAYOUTS[0], [0, 8]));
    assert!(matches!(found, Err(Error::Level { .. })), "{found:?}");
}

/// A tensor without an order keeps its arrays, as one that is shared does.
#[test]
fn entries_out_of_order_stay_so() {
    let layout = "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(nonordered))";
    let entries = ust::Coo {
        shape: vec![5, 5],
        crd: vec![vec![3, 0, 3], vec![1, 2, 0]],
        values: vec![1.0, 2.0, 3.0].into(),
    };
    let built = Tensor::from_coo(&entries, layout).unwrap();
    let wide = built.convert(format(layout, [64, 64])).unwrap();
    assert_eq!(wide.to_coo().unwrap().crd, built.to_coo().unwrap().crd);
}

#[test]
fn products_and_sums_in_every_width() {
    let b = Array2::from_shape_fn((80, 9), |(i, j)| (i * 3 % 7) as f64 - j as f64);
    let dense = |tensor: &Tensor| tensor.to_dense::<f64>().unwrap();
    for layout in LAYOUTS {
        let narrow = tensor(layout, [0, 0]);
        let transposed = narrow.transpose();
        for widths in [[0, 8], [16, 16], [64, 32], [64, 64], [32, 8]] {
            let a = tensor(layout, widths);
            let run = |text: &str, a: &Tensor, s: &Tensor| {
                let call = einsum(text).arg("A", a);
                let call = if text.contains("S(") { call.arg("S", s) } else { call };
                let call = if text.contains("B(") { call.arg("B", &b) } else { call };
                dense(&call.run().unwrap())
            };
            for text in [
                "C(i,k) = A(i,j) * B(j,k)",
                "C(i,k) = A(i,j) * S(j,k)",
                "C(i,j) = A(i,j) + S(j,i)",
                "C(i,j) = A(i,j) * S(j,i)",
            ] {
                let expected = run(text, &narrow, &transposed);
                assert_eq!(run(text, &a, &a.transpose()), expected, "{text} {layout} {widths:?}");
                assert_eq!(run(text, &a, &transposed), expected, "{text} {layout} {widths:?}");
            }
        }
    }
}

/// Whatever the widths are, loops get the kernels of 32 bits.
#[test]
fn other_widths_have_the_same_kernels() {
    if !ust::provider::names().contains(&"jit") {
        return;
    }
    let [b, d] = [80, 90].map(|rows| Array2::<f64>::ones((rows, 32)));
    let [x, z] = [80, 90].map(Array1::<f64>::ones);
    let stages = |text: &str, layout: &str, widths| {
        let a = tensor(layout, widths);
        let mut call = einsum(text).arg("A", &a);
        for (name, matrix) in [("B", &b), ("D", &d)] {
            if text.contains(&format!("{name}(")) {
                call = call.arg(name, matrix);
            }
        }
        for (name, vector) in [("x", &x), ("z", &z)] {
            if text.contains(&format!("{name}(")) {
                call = call.arg(name, vector);
            }
        }
        if text.contains("S(") {
            call = call.arg("S", &a);
        }
        if text.contains("D(") {
            // At the positions of `A`.
            call = call.format(a.format());
        }
        call.prepare().unwrap().stages()
    };
    for layout in &LAYOUTS[..3] {
        for text in [
            "y(i) = A(i,j) * x(j)",
            "y(j) = A(i,j) * z(i)",
            "C(i,k) = A(i,j) * B(j,k)",
            "C(i,k) = A(i,j) * A(k,j)",
            "C(i,j) = A(i,j) + S(i,j)",
            "C(i,j) = A(i,j) * D(i,k) * B(j,k)",
        ] {
            let expected = stages(text, layout, [0, 0]);
            for widths in [[0, 8], [16, 16], [64, 0], [64, 32], [64, 64]] {
                assert_eq!(stages(text, layout, widths), expected, "{text} {layout} {widths:?}");
            }
        }
    }
}

/// A result at the positions of an operand has its widths, and its very arrays, whichever indices the loops read.
#[test]
fn results_share_the_levels_of_operands_in_every_width() {
    let [b, d] = [80, 90]
        .map(|rows| Array2::from_shape_fn((rows, 9), |(i, j)| (i * 3 % 7) as f64 - j as f64));
    let text = "C(i,j) = A(i,j) * D(i,k) * B(j,k)";
    for layout in LAYOUTS {
        let run = |a: &Tensor| {
            einsum(text).arg("A", a).arg("B", &b).arg("D", &d).format(a.format()).run().unwrap()
        };
        let expected = run(&tensor(layout, [0, 0])).to_dense::<f64>().unwrap();
        for widths in [[0, 8], [16, 16], [64, 32], [64, 64]] {
            let a = tensor(layout, widths);
            for made in [run(&a), run(&a)] {
                assert!(made.same_structure(&a), "{layout} {widths:?}");
                assert_eq!(made.to_dense::<f64>().unwrap(), expected, "{layout} {widths:?}");
            }
        }
    }
}

/// Indices that kernels made once are kept, told of, and used by results in the caller's memory.
#[test]
fn indices_are_made_once_and_counted() {
    let b = Array2::from_shape_fn((80, 32), |(i, j)| (i * 3 % 7) as f64 - j as f64);
    let text = "C(i,k) = A(i,j) * B(j,k)";
    let expected = {
        let a = tensor(LAYOUTS[0], [0, 0]);
        einsum(text).arg("A", &a).arg("B", &b).run().unwrap().to_dense::<f64>().unwrap()
    };
    let a = tensor(LAYOUTS[0], [64, 64]);
    let bytes = a.bytes();
    let b = Tensor::from_array(b.into_dyn()).unwrap();
    let kernel = einsum(text).arg("A", &a).arg("B", &b).format("Dense").prepare().unwrap();
    assert_eq!(a.kept_bytes(), 0);
    for _ in 0..2 {
        let mut out = vec![f64::NAN; expected.len()];
        kernel.run_into(&[&a, &b], &mut out).unwrap();
        assert_eq!(out, expected.iter().copied().collect::<Vec<_>>());
    }
    let indices: usize = a.levels().iter().map(ust::level_api::Arrays::bytes).sum();
    match ust::provider::names().contains(&"jit") {
        true => assert_eq!(a.kept_bytes(), indices as u64 / 2),
        false => assert_eq!(a.kept_bytes(), 0),
    }
    assert_eq!(a.bytes(), bytes);
}

/// What nobody reads need not fit 32 bits: places between the segments of `loose_compressed`.
#[test]
fn unused_places_may_hold_anything() {
    let format: Format =
        "(i, j) -> (i : dense, j : loose_compressed), posWidth = 64, crdWidth = 64"
            .parse()
            .unwrap();
    let x = Array1::from(vec![1.0, 10.0, 100.0]);
    let b = Array2::from_shape_fn((3, 9), |(i, j)| (i * 3 + j) as f64);
    for unused in [0, 1 << 40, u64::MAX] {
        let levels =
            vec![vec![], vec![vec![0_u64, 2, 3, 5].into(), vec![0_u64, 2, unused, 1, 2].into()]];
        let parts = Parts::new(levels, vec![1.0, 2.0, 0.0, 3.0, 4.0]);
        let a = Tensor::from_parts(&format, &[2, 3], parts).unwrap();
        for backend in ["interp", "jit"] {
            if !ust::provider::names().contains(&backend) {
                continue;
            }
            let call = |text: &str| einsum(text).arg("A", &a).backend(Backend::Named(backend));
            for _ in 0..2 {
                let scaled = call("C(i,j) = A(i,j) * x(j)").arg("x", &x);
                let scaled = scaled.format(&format).run().unwrap();
                let rows = scaled.to_dense::<f64>().unwrap();
                assert_eq!(rows, ndarray::array![[1.0, 0.0, 200.0], [0.0, 30.0, 400.0]].into_dyn());
                let product = call("C(i,k) = A(i,j) * B(j,k)").arg("B", &b).run().unwrap();
                let product = product.to_dense::<f64>().unwrap();
                for k in 0..9 {
                    let [x, y, z] = [b[[0, k]], b[[1, k]], b[[2, k]]];
                    let expected = [x + 2.0 * z, 3.0 * y + 4.0 * z];
                    assert_eq!([product[[0, k]], product[[1, k]]], expected, "{backend} {unused}");
                }
            }
        }
    }
}

/// A limit on memory is no reason for another result: what fails says so, and what does not is right.
#[test]
fn limits_hold_for_indices_that_kernels_make() {
    let x = Array1::from_shape_fn(80, |j| j as f64 - 7.0);
    for layout in [LAYOUTS[0], LAYOUTS[1], LAYOUTS[5]] {
        let expected = {
            let narrow = tensor(layout, [0, 0]);
            einsum("y(i) = A(i,j) * x(j)").arg("A", &narrow).arg("x", &x).run().unwrap()
        };
        // 700 entries: as many as the operation needs without other indices.
        for limit in [0, 400, 720, 1000, 3000, 6000, 10_000, 30_000, 1 << 20] {
            let a = tensor(layout, [64, 64]);
            let call = || einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x);
            for _ in 0..2 {
                match call().memory_limit(limit).run() {
                    Ok(found) => assert_eq!(found, expected, "{layout} {limit}"),
                    Err(error) => assert!(limit < 720, "{layout} {limit}: {error}"),
                }
            }
            assert!(a.kept_bytes() <= limit, "{layout} {limit}: {}", a.kept_bytes());
            let scaled = einsum("C(i,j) = A(i,j) * x(j)").arg("A", &a).arg("x", &x);
            if let Ok(found) = scaled.format(a.format()).memory_limit(limit).run() {
                let narrow = tensor(layout, [0, 0]);
                let expected =
                    einsum("C(i,j) = A(i,j) * x(j)").arg("A", &narrow).arg("x", &x).run().unwrap();
                let [found, expected] = [found, expected].map(|t| t.to_dense::<f64>().unwrap());
                assert_eq!(found, expected, "{layout} {limit}");
            }
        }
    }
}

/// A transposed tensor shares its arrays with the original, but not its shape.
#[test]
fn kept_indices_serve_transposed_tensors() {
    for layout in LAYOUTS {
        let a = tensor(layout, [64, 64]);
        let [x, z] = [80, 90].map(|n| Array1::from_shape_fn(n, |at| at as f64 - 7.0));
        let narrow = tensor(layout, [0, 0]);
        let text = "y(i) = A(i,j) * x(j)";
        for _ in 0..2 {
            for (of, narrow, x) in [(&a, &narrow, &x), (&a.transpose(), &narrow.transpose(), &z)] {
                let run = |of: &Tensor| {
                    let call = einsum(text).arg("A", of).arg("x", x).threads(2);
                    call.cancel(&ust::ops::CancelToken::new()).run().unwrap()
                };
                assert_eq!(run(of), run(narrow), "{layout}");
            }
        }
    }
}

/// A kernel that was prepared for indices that fit 32 bits does not cut those that do not.
#[test]
fn kernels_refuse_tensors_with_larger_indices() {
    let format = format(LAYOUTS[0], [64, 64]);
    let of = |columns: usize, last: i64| {
        let crd = vec![vec![0, 1, 1], vec![1, 0, last]];
        let coo = ust::Coo { shape: vec![2, columns], crd, values: vec![1.0, 2.0, 3.0].into() };
        Tensor::from_coo(&coo, &format).unwrap()
    };
    let (small, large) = (of(9, 8), of(1 << 33, (1 << 32) + 5));
    let call = |a: &Tensor| einsum("C(i,j) = A(i,j) + B(i,j)").arg("A", a).arg("B", a);
    let kernel = call(&small).format(&format).prepare().unwrap();
    let values = |a: &Tensor| a.values().typed::<f64>().unwrap().to_vec();
    assert_eq!(values(&kernel.run(&[&small, &small]).unwrap()), [2.0, 4.0, 6.0]);
    let made = small.kept_bytes() > 0;
    assert_eq!(made, ust::provider::names().contains(&"jit"));
    match kernel.run(&[&large, &large]) {
        Ok(found) => assert_eq!(values(&found), [2.0, 4.0, 6.0]),
        Err(error) => assert!(error.to_string().contains("prepare"), "{error}"),
    }
    assert_eq!(large.kept_bytes(), 0);
    let found = call(&large).format(&format).run().unwrap();
    assert_eq!(found.to_coo().unwrap().crd, large.to_coo().unwrap().crd);
}
