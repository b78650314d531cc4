//! Formats that count entries: ELL, sliced ELL, jagged diagonals.

use ust::tensor::{Parts, Window};
use ust::{Coo, Format, IndexArray, Tensor, einsum};

const ELL: &str = "(i, j) -> (#i : dense, i : dense, j : singleton)";
/// Rows in slices of 4, each as wide as its longest row.
const SLICED: &str = "(i, j) -> (i / 4 : dense, #i : band, i % 4 : dense, j : singleton)";
const OTHERS: &[&str] = &[
    ELL,
    SLICED,
    "(i, j) -> (i : dense, #i : dense, j : singleton)",
    "(i, j) -> (j : dense, #j : compressed, i : singleton)",
    "(i, j) -> (#j : compressed, j : compressed, i : singleton)",
    "(i, j) -> (#(i) : dense, i : dense, j : singleton(padded))",
];

/// ```text
/// 0 [ . 5 . 7 ]
/// 1 [ . . . . ]
/// 2 [ 1 2 3 . ]
/// ```
fn small() -> Coo {
    let crd = vec![vec![2, 0, 2, 0, 2], vec![1, 3, 0, 1, 2]];
    Coo::new(vec![3, 4], crd, vec![2.0, 7.0, 1.0, 5.0, 3.0]).unwrap()
}

fn random(seed: u64) -> Coo {
    ust::generate::generate(&format!("random(23x17, nnz=90, seed={seed})")).unwrap()
}

fn sorted(tensor: &Tensor) -> Coo {
    tensor.convert("CSR").unwrap().to_coo().unwrap()
}

fn assert_near(found: &Tensor, expected: &Tensor, case: &str) {
    let [found, expected] = [found, expected].map(|tensor| tensor.to_dense::<f64>().unwrap());
    assert_eq!(found.shape(), expected.shape(), "{case}");
    let near = |(a, z): (&f64, &f64)| (a - z).abs() <= 1e-12 * (1.0 + z.abs());
    assert!(found.iter().zip(&expected).all(near), "{case}: {found:?} {expected:?}");
}

#[test]
fn ell_stores_one_entry_of_each_row_after_another() {
    let ell = Tensor::from_coo(&small(), ELL).unwrap();
    let padded = "(i, j) -> (#i : dense, i : dense, j : singleton(padded))";
    assert_eq!(ell.format().to_string(), padded);
    assert_eq!((ell.shape(), ell.rank(), ell.bound().counts()), (&[3, 4][..], 2, &[3][..]));
    let crd = ell.level_array(2, "crd").unwrap().to_vec();
    assert_eq!(crd, [1, 0, 0, 3, 0, 1, 0, 0, 2]);
    let values = ell.values().typed::<f64>().unwrap();
    assert_eq!(values, [5.0, 0.0, 1.0, 7.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
    let at = |i, j| ell.get_as::<f64>(&[i, j]).unwrap();
    assert_eq!([at(0, 3), at(0, 0), at(1, 1), at(2, 2)], [7.0, 0.0, 0.0, 3.0]);
    assert_eq!(ell.nnz(), 5);
}

#[test]
fn slices_are_as_wide_as_their_longest_row() {
    let sliced = Tensor::from_coo(&random(1), SLICED).unwrap();
    let lengths = |rows: std::ops::Range<usize>| {
        rows.map(|row| random(1).crd[0].iter().filter(|&&i| i == row as i64).count())
    };
    let most = (0..23).step_by(4).map(|from| lengths(from..23.min(from + 4)).max().unwrap());
    assert_eq!(sliced.nse(), most.sum::<usize>() * 4);
    assert_eq!(sorted(&sliced), sorted(&Tensor::from_coo(&random(1), "CSR").unwrap()));
}

#[test]
fn formats_that_count_are_formats_like_others() {
    for text in OTHERS {
        let format: Format = text.parse().unwrap();
        assert_eq!(format.to_string().parse::<Format>().unwrap(), format, "{text}");
        for seed in 1..5 {
            let coo = random(seed);
            let csr = Tensor::from_coo(&coo, "CSR").unwrap();
            let made = Tensor::from_coo(&coo, &format).unwrap();
            assert_eq!(csr.convert(&format).unwrap(), made, "{text}, seed {seed}");
            assert_eq!(sorted(&made), csr.to_coo().unwrap(), "{text}, seed {seed}");
            for (to, other) in [("CSC", csr.convert("CSC").unwrap())]
                .into_iter()
                .chain(OTHERS.iter().map(|to| (*to, Tensor::from_coo(&coo, to).unwrap())))
            {
                let converted = made.convert(to).unwrap();
                assert_eq!(converted, other, "{text} to {to}, seed {seed}");
            }
            assert_eq!(made.to_dense::<f64>().unwrap(), csr.to_dense::<f64>().unwrap(), "{text}");
            let back = made.transpose().transpose();
            assert_eq!(back, made, "{text}");
            let transposed = made.transpose();
            let expected = csr.transpose().to_dense::<f64>().unwrap();
            assert_eq!(transposed.to_dense::<f64>().unwrap(), expected, "{text}");
            for (i, j) in
                [(0, 0), (22, 16), (7, 9), (coo.crd[0][5] as usize, coo.crd[1][5] as usize)]
            {
                assert_eq!(made.get(&[i, j]).unwrap(), csr.get(&[i, j]).unwrap(), "{text}");
            }
        }
    }
}

#[test]
fn products_run_on_formats_that_count_as_they_are() {
    let coo = random(5);
    let x = ndarray::Array1::from_iter((0..17).map(|j| f64::from(j % 5) - 1.5));
    for text in OTHERS {
        let a = Tensor::from_coo(&coo, text).unwrap();
        for backend in [ust::Backend::INTERPRETER, ust::Backend::Auto] {
            let call = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).backend(backend);
            let kernel = call.prepare().unwrap();
            let told = kernel.explain();
            let own = format!("operand     A(i,j,number_0) in `{}`", a.format());
            assert!(told.contains(&own), "{told}");
            // Another matrix is as wide as its own rows.
            for seed in [5, 6, 7] {
                let csr = Tensor::from_coo(&random(seed), "CSR").unwrap();
                let y = kernel
                    .run(&[
                        &csr.convert(a.format()).unwrap(),
                        &Tensor::from_array(x.clone().into_dyn()).unwrap(),
                    ])
                    .unwrap();
                let expected =
                    einsum("y(i) = A(i,j) * x(j)").arg("A", &csr).arg("x", &x).run().unwrap();
                assert_near(&y, &expected, text);
            }
        }
    }
}

#[test]
fn expressions_take_formats_that_count_and_make_them() {
    let coo = random(9);
    let csr = Tensor::from_coo(&coo, "CSR").unwrap();
    let x = ndarray::Array1::from_iter((0..17).map(|j| f64::from(j % 5) - 1.5));
    for text in OTHERS {
        let a = Tensor::from_coo(&coo, text).unwrap();
        let product = |a: &Tensor| einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).run();
        let (found, expected) = (product(&a).unwrap(), product(&csr).unwrap());
        assert_near(&found, &expected, text);
        for expression in [
            "s = A(i,j) * A(i,j)",
            "C(i,k) = A(i,j) * B(k,j)",
            "y(j) += -A(i,j) * 2",
            "y(i) = max(j, A(i,j))",
            "C(i,j) = A(i,j)",
            "y(i) = min(j, A(i,j) + B(i,j))",
            "M(i,k) = A(i,j) * A(k,j) / 2",
        ] {
            let call = |a: &Tensor| {
                let call = einsum(expression).arg("A", a);
                let call = if expression.contains('B') { call.arg("B", &csr) } else { call };
                if expression.contains("+=") {
                    let mut y = Tensor::from_array(x.clone().into_dyn()).unwrap();
                    call.update(&mut y).map(|()| y)
                } else {
                    call.run()
                }
            };
            let (found, expected) = (call(&a).unwrap(), call(&csr).unwrap());
            assert_near(&found, &expected, &format!("{expression}, {text}"));
        }
        let sum = |a: &Tensor, format: &str| {
            einsum("C(i,j) = A(i,j) + max(B(i,j), 0)")
                .arg("A", a)
                .arg("B", &csr)
                .format(format)
                .run()
        };
        let (found, expected) = (sum(&a, text).unwrap(), sum(&csr, "CSR").unwrap());
        assert_eq!(found.format(), &text.parse::<Format>().unwrap());
        assert_near(&found, &expected, text);
    }
}

#[test]
fn slices_of_what_is_counted_show_the_entries_within() {
    let window = |offset, size, stride| Window { offset, size, stride };
    let windows = [
        [window(3, 9, 2), window(0, 17, 1)],
        [window(0, 23, 1), window(5, 6, 2)],
        [window(22, 1, 1), window(16, 1, 1)],
        [window(1, 4, 5), window(2, 0, 1)],
    ];
    for text in OTHERS {
        let format: Format = text.parse().unwrap();
        for (seed, windows) in (1..).zip(&windows) {
            let coo = random(seed);
            let part = |format: &Format| {
                Tensor::from_coo(&coo, format).unwrap().slice(&windows[..]).unwrap()
            };
            let (part, expected) = (part(&format), part(&"CSR".parse().unwrap()));
            assert_eq!(sorted(&part), sorted(&expected), "{text} {windows:?}");
            let x = ndarray::Array1::from_iter((0..windows[1].size).map(|at| at as f64 - 1.5));
            let product =
                |a: &Tensor| einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).run().unwrap();
            assert_near(&product(&part), &product(&expected), text);
            for i in 0..windows[0].size as usize {
                for j in 0..windows[1].size as usize {
                    let [found, wanted] =
                        [&part, &expected].map(|of| of.get_as::<f64>(&[i, j]).unwrap());
                    assert_eq!(found, wanted, "{text} {windows:?} [{i}, {j}]");
                }
            }
        }
    }
}

#[test]
fn arrays_of_others_tell_how_often_ell_counts() {
    let format: Format = ELL.parse().unwrap();
    let ell = Tensor::from_coo(&small(), &format).unwrap();
    let crd: IndexArray = vec![1_i32, 0, 0, 3, 0, 1, 0, 0, 2].into();
    let values = vec![5.0, 0.0, 1.0, 7.0, 0.0, 2.0, 0.0, 0.0, 3.0];
    let parts = |crd: IndexArray| Parts::new(vec![vec![], vec![], vec![crd]], values.clone());
    let taken = Tensor::from_parts(&format, &[3, 4], parts(crd)).unwrap();
    assert_eq!(taken, ell);
    // A coordinate outside, and an array of another length.
    for crd in [vec![1_i32, 0, 0, 4, 0, 1, 0, 0, 2], vec![1_i32, 0, 0, 3, 0, 1, 0, 0]] {
        assert!(Tensor::from_parts(&format, &[3, 4], parts(crd.into())).is_err());
    }
}

#[test]
fn what_cannot_be_counted_is_refused_with_a_reason() {
    for (text, reason) in [
        ("(i, j) -> (#k : dense, i : dense, j : singleton)", "unknown dimension `k`"),
        ("(i, j) -> (#(i, j) : dense, i : dense, j : dense)", "no two entries"),
        ("(i, j) -> (#(i, i) : dense, i : dense, j : dense)", "named twice"),
        ("(i, j) -> (# : dense, i : dense, j : dense)", "expected"),
        ("(i, j) -> (#i + i : dense, j : dense)", "unknown"),
        ("(i = #i, j) -> (i : dense, j : dense)", "only levels count"),
    ] {
        let error = text.parse::<Format>().unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
