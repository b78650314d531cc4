//! Tensors with sorted dimensions, compared with the same entries in the order of coordinates.

use proptest::prelude::*;
use ust::format::named::named;
use ust::level_api::IndexArray;
use ust::tensor::{BuildOptions, Duplicates, Parts, Window};
use ust::{Backend, Coo, Error, Format, Scalar, Tensor, einsum};

const SORTED: &[&str] = &[
    "JDS",
    "SELL-C-sigma(2, 4)",
    "SELL-C-sigma(4, 2)",
    "(i : sorted, j) -> (i : dense, j : compressed)",
    "(i, j : sorted) -> (i : dense, j : compressed)",
    "(i : sorted(3), j : sorted) -> (i : dense, j : compressed), crdWidth = 16",
    "(i : sorted, j) -> (i : compressed(nonunique), j : singleton)",
    "(i : sorted, j) -> (i : dense, j : dense)",
    "(i, j : sorted) -> (j / 2 : compressed, i : compressed, j % 2 : dense)",
    "(i : sorted, j) -> (i - j : compressed, i : range)",
    "(i : sorted, j) -> (i : dense, j : bits)",
    "(i : sorted, j) -> (#i : dense, i : dense, j : singleton)",
];

fn entries(shape: &[usize], picks: &[(u32, i8)]) -> Coo {
    let count = if shape.contains(&0) { 0 } else { picks.len() };
    let mut crd = vec![Vec::new(); shape.len()];
    for &(pick, _) in &picks[..count] {
        let mut rest = pick as usize;
        for (column, &extent) in crd.iter_mut().zip(shape) {
            // Low coordinates are more frequent, so that rows differ in length.
            column.push((rest % extent).min(rest / extent % extent) as i64);
            rest /= extent * extent;
        }
    }
    let values: Vec<f64> = picks[..count].iter().map(|&(_, value)| value.into()).collect();
    Coo::new(shape.to_vec(), crd, values).unwrap()
}

fn dense(tensor: &Tensor) -> Tensor {
    tensor.convert(Format::full(tensor.rank()).unwrap()).unwrap()
}

/// Whether rows stand in descending order of their lengths, window by window.
fn descends(tensor: &Tensor, dim: usize) -> bool {
    let sorted = tensor.format().dims()[dim].sorted.unwrap();
    let mut lengths = vec![0; tensor.shape()[dim]];
    tensor.to_coo().unwrap().crd[dim].iter().for_each(|&at| lengths[at as usize] += 1);
    let order = tensor.order(dim).unwrap().to_vec();
    let window = sorted.window.map_or(order.len(), |window| window as usize).max(1);
    order.chunks(window).enumerate().all(|(at, part)| {
        let inside = at * window..at * window + part.len();
        part.iter().all(|&row| inside.contains(&(row as usize)))
            && part.windows(2).all(|two| {
                let [a, b] = [two[0], two[1]].map(|row| lengths[row as usize]);
                a > b || (a == b && two[0] < two[1])
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn entries_are_those_of_any_other_format(
        rows in 0_usize..12,
        columns in 0_usize..9,
        picks in proptest::collection::vec((any::<u32>(), -3_i8..4), 0..40),
    ) {
        let coo = entries(&[rows, columns], &picks);
        let how = BuildOptions { duplicates: Duplicates::Sum, ..Default::default() };
        let csr = Tensor::from_coo_with(&coo, "CSR", &how).unwrap();
        let all = dense(&csr);
        for text in SORTED {
            let format: Format = text.parse().unwrap();
            prop_assert_eq!(&format.to_string().parse::<Format>().unwrap(), &format);
            let a = Tensor::from_coo_with(&coo, &format, &how).unwrap();
            prop_assert_eq!(&a.convert(&format).unwrap(), &a, "{}", text);
            prop_assert_eq!(&dense(&a), &all, "{}", text);
            for dim in 0..2 {
                prop_assert!(a.order(dim).is_none() || descends(&a, dim), "{}", a);
            }
            for i in 0..rows {
                for j in 0..columns {
                    prop_assert!(a.get(&[i, j]).unwrap().same(&all.get(&[i, j]).unwrap()), "{}", text);
                }
            }
            let from_csr = csr.convert(&format).unwrap();
            let own = format.is_unique() || !format.counters().is_empty();
            prop_assert!(!own || format.has_padding() || from_csr == a, "{}", text);
            prop_assert_eq!(&dense(&from_csr), &all);
            // Into every named format, and back.
            for one in named().filter_map(|one| one.example.parse::<Format>().ok()) {
                if one.rank() == 2 && let Ok(made) = csr.convert(&one) {
                    prop_assert_eq!(&dense(&a.convert(&one).unwrap()), &all, "{} {}", text, one);
                    prop_assert_eq!(&dense(&made.convert(&format).unwrap()), &all, "{} {}", one, text);
                }
            }
            // Views.
            let turned = a.transpose();
            prop_assert_eq!(&dense(&turned), &dense(&all.transpose()));
            prop_assert_eq!(&turned.transpose(), &a);
            let windows = [rows, columns].map(|extent| {
                let offset = extent as u64 / 3;
                Window { offset, size: (extent as u64 - offset).div_ceil(2), stride: 2 }
            });
            let (part, wanted) = (a.slice(windows), all.slice(windows));
            if let (Ok(part), Ok(wanted)) = (&part, &wanted) {
                prop_assert_eq!(&dense(part), &dense(wanted), "{}", text);
                let sums = |a: &Tensor| einsum("y(i) = A(i,j)").arg("A", a).run().unwrap();
                prop_assert_eq!(&sums(part), &sums(wanted));
            }
            prop_assert_eq!(part.is_err(), wanted.is_err());
            // Raw arrays, and files.
            let (of, shape, parts) = a.clone().into_parts();
            prop_assert_eq!(&Tensor::from_parts(&of, &shape, parts).unwrap(), &a);
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.ust.npz");
            ust::io::write(&path, &a).unwrap();
            prop_assert_eq!(&ust::io::read(&path, &Default::default()).unwrap(), &a, "{}", text);
        }
    }

    #[test]
    fn expressions_have_the_same_results(
        extents in (1_usize..9, 1_usize..9, 1_usize..4),
        picks in proptest::collection::vec((any::<u32>(), -3_i8..4), 0..40),
        others in proptest::collection::vec((any::<u32>(), -3_i8..4), 0..30),
        numbers in proptest::collection::vec(-3_i8..4, 9 * 9),
        at in 0..SORTED.len(),
    ) {
        const TEXTS: &[&str] = &[
            "y(i) = A(i,j) * x(j)",
            "x(j) = A(i,j) * y(i)",
            "y(i) += A(i,j) * x(j)",
            "C(i,k) = A(i,j) * D(j,k)",
            "C(k,j) = A(i,j) * E(i,k)",
            "s = A(i,j)",
            "s = A(i,j) * y(i) * x(j)",
            "y(i) = A(i,j)",
            "v(i) = A(i,j) * x(j) + y(i)",
            "y(i) = A(i,j) * (1 + sum(l, abs(A(i,l))))",
            "y(i) = max(j, A(i,j))",
            "C(i,j) = 2 * A(i,j)",
            "C(i,j) = A(i,j) + B(i,j)",
            "C(i,j) = A(i,j) * B(i,j)",
            "C(i,l) = A(i,j) * A(l,j)",
            "y(i) = A(i,j) * B(i,j)",
            "C(i,j) = A(i,j) * E(i,k) * D(j,k)",
            "y(i) = where(A(i,j) > 0, x(j), 0)",
            "C(i,j)<A(i,j)> = E(i,k) * D(j,k)",
        ];
        let (m, n, k) = extents;
        let how = BuildOptions { duplicates: Duplicates::Sum, ..Default::default() };
        let build = |picks: &[(u32, i8)], format: &Format| {
            Tensor::from_coo_with(&entries(&[m, n], picks), format, &how).unwrap()
        };
        let csr = "CSR".parse().unwrap();
        let format: Format = SORTED[at].parse().unwrap();
        let other: Format = SORTED[(at + numbers[0].unsigned_abs() as usize) % SORTED.len()].parse().unwrap();
        let full = |shape: &[usize]| {
            let values: Vec<f64> =
                numbers.iter().cycle().take(shape.iter().product()).map(|&v| v.into()).collect();
            Tensor::from_parts(
                Format::full(shape.len()).unwrap(),
                shape,
                Parts::new(vec![vec![]; shape.len()], values),
            )
            .unwrap()
        };
        let (a, b) = (build(&picks, &format), build(&others, &other));
        let (plain_a, plain_b) = (build(&picks, &csr), build(&others, &csr));
        let (x, y, d, e) = (full(&[n]), full(&[m]), full(&[n, k]), full(&[m, k]));
        for (at, text) in TEXTS.iter().enumerate() {
            for backend in [Backend::Auto, Backend::Named("interp")] {
                let run = |a: &Tensor, b: &Tensor, format: Option<&Format>| {
                    let mut call = einsum(text).backend(backend);
                    let right = text.split_once('=').unwrap().1.to_owned() + text.split_once('(').unwrap().0;
                    for (name, tensor) in [("A", a), ("B", b), ("x", &x), ("y", &y), ("D", &d), ("E", &e)] {
                        if right.contains(&format!("{name}(")) || text.contains(&format!("<{name}")) {
                            call = call.arg(name, tensor);
                        }
                    }
                    if let Some(format) = format {
                        call = call.format(format);
                    }
                    if text.contains("+=") {
                        let mut old = y.clone();
                        return call.update(&mut old).map(|()| old);
                    }
                    call.run()
                };
                let got = run(&a, &b, None).unwrap();
                let wanted = run(&plain_a, &plain_b, None).unwrap();
                prop_assert_eq!(&dense(&got), &dense(&wanted), "{} {} {:?}", format, text, backend);
                // The result in a sorted format.
                if got.rank() == 2 && at % 2 == 0 {
                    let made = run(&plain_a, &plain_b, Some(&format)).unwrap();
                    prop_assert_eq!(made.format(), &format);
                    prop_assert_eq!(&dense(&made), &dense(&wanted), "{} {}", format, text);
                }
            }
        }
    }
}

#[test]
fn rows_are_longest_first() {
    let rows = ndarray::array![[0, 1, 0], [2, 3, 4], [0, 0, 0], [5, 0, 6]];
    let jds = Tensor::from_dense(&rows, "JDS").unwrap();
    assert_eq!(jds.order(0).unwrap().to_vec(), [1, 3, 0, 2]);
    assert!(jds.order(1).is_none());
    // How many rows have a first, a second, a third entry.
    assert_eq!(jds.pos(1).unwrap().to_vec(), [0, 3, 5, 6]);
    assert_eq!(jds.values().typed::<i32>().unwrap(), [2, 5, 1, 3, 6, 4]);
    assert_eq!(jds.format().name().as_deref(), Some("JDS"));
    let sell = Tensor::from_dense(&rows, "SELL-C-sigma(2, 4)").unwrap();
    assert_eq!(sell.format().name().as_deref(), Some("SELL-C-sigma(2, 4)"));
    let plain = Tensor::from_dense(&rows, "SELL(2)").unwrap();
    assert!(sell.nse() < plain.nse());
    assert!(format!("{sell}").contains("sorted i\n  order  [1 3 0 2]"), "{sell}");
}

#[test]
fn orders_are_checked() {
    let format: Format = "(i : sorted, j) -> (i : dense, j : compressed)".parse().unwrap();
    let parts = |orders: Vec<IndexArray>| {
        let levels = vec![vec![], vec![vec![0_u32, 1, 2, 2].into(), vec![0_u32, 1].into()]];
        Parts { orders, ..Parts::new(levels, vec![1.0, 2.0]) }
    };
    let refused = |orders: Vec<IndexArray>, text: &str| {
        let error = Tensor::from_parts(&format, &[3, 2], parts(orders)).unwrap_err();
        assert!(matches!(error, Error::Parts(_)) && error.to_string().contains(text), "{error}");
    };
    refused(vec![], "sorts 1 dimensions, and 0 orders");
    refused(vec![vec![0_u32, 1].into()], "has 2 places, and its extent is 3");
    refused(vec![vec![0_u32, 1, 3].into()], "coordinate 3 at place 2 is outside the extent 3");
    refused(vec![vec![0_i32, 1, -1].into()], "coordinate -1 at place 2 is outside");
    refused(vec![vec![0_u32, 1, 0].into()], "coordinate 0 at place 2 has a place already");
    // Any order is valid, such as one that was computed for other entries.
    let made = Tensor::from_parts(&format, &[3, 2], parts(vec![vec![1_u32, 2, 0].into()])).unwrap();
    assert_eq!(made.get_as::<f64>(&[1, 0]).unwrap(), 1.0);
    assert_eq!(made.get_as::<f64>(&[2, 1]).unwrap(), 2.0);
    assert_eq!(made.get_as::<f64>(&[0, 1]).unwrap(), 0.0);
}

#[test]
fn a_kernel_for_whole_tensors_refuses_slices() {
    let rows = ndarray::array![[0.0, 1.0, 0.0], [2.0, 3.0, 4.0], [5.0, 0.0, 6.0]];
    let a = Tensor::from_dense(&rows, "JDS").unwrap();
    let all = Window { offset: 0, size: 3, stride: 1 };
    let some = Window { offset: 1, size: 2, stride: 1 };
    let part = a.slice([some, all]).unwrap();
    let of_whole = einsum("y(i) = A(i,j)").arg("A", &a).prepare().unwrap();
    assert!(of_whole.run(&[&part]).unwrap_err().to_string().contains("convert the slice"));
    let of_slices = einsum("y(i) = A(i,j)").arg("A", &part).prepare().unwrap();
    for (tensor, sums) in [(&a, vec![1.0, 9.0, 11.0]), (&part, vec![9.0, 11.0])] {
        assert_eq!(of_slices.run(&[tensor]).unwrap().values().typed::<f64>().unwrap(), sums);
        // Kernels that are kept for the next call are told apart.
        let sum = einsum("y(i) = A(i,j)").arg("A", tensor).run().unwrap();
        assert_eq!(sum.values().typed::<f64>().unwrap(), sums);
    }
}

#[test]
fn elements_change() {
    let mut a = Tensor::from_dense(
        &ndarray::array![[0.0, 1.0], [2.0, 3.0], [0.0, 0.0]],
        "SELL-C-sigma(2, 4)",
    )
    .unwrap();
    a.insert(&[2, 0], Scalar::F64(7.0)).unwrap();
    a.insert(&[2, 1], Scalar::F64(8.0)).unwrap();
    a.insert(&[0, 1], Scalar::F64(9.0)).unwrap();
    a.remove(&[1, 1]).unwrap();
    let wanted = ndarray::array![[0.0, 9.0], [2.0, 0.0], [7.0, 8.0]];
    assert_eq!(dense(&a), Tensor::from_dense(&wanted, "Dense").unwrap());
    // What fits the arrays is changed in place. The order stays then.
    assert_eq!(a.order(0).unwrap().to_vec(), [1, 2, 0]);
}

#[test]
fn dsl_text() {
    for (text, message) in [
        ("(i : sorted(1), j) -> (i : dense, j : compressed)", "at least 2"),
        ("(i : sorted(, j) -> (i : dense, j : compressed)", "number of coordinates"),
        ("(i : sorted : sorted, j) -> (i : dense, j : compressed)", "slice(offset, size, stride)"),
        ("(i : dense, j) -> (i : dense, j : compressed)", "slice(offset, size, stride)"),
    ] {
        let error = text.parse::<Format>().unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let both: Format =
        "(i : sorted(4) : slice(1, 2, 1), j) -> (i : dense, j : compressed)".parse().unwrap();
    assert_eq!(
        both.to_string(),
        "(i : sorted(4) : slice(1, 2, 1), j) -> (i : dense, j : compressed)"
    );
    assert_eq!(
        both.without_slices().to_string(),
        "(i : sorted(4), j) -> (i : dense, j : compressed)"
    );
    let plain: Format = "CSR".parse().unwrap();
    let sorted: Format = "(i : sorted, j) -> (i : dense, j : compressed)".parse().unwrap();
    assert!(sorted != plain && sorted.unsorted() == plain && sorted.has_sorted());
}
