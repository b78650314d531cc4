//! Tensors with one value for all entries, compared with the same tensors that store each value.

use proptest::prelude::*;
use ust::format::named::named;
use ust::tensor::{BuildOptions, Duplicates, Parts, Values, Window};
use ust::{Backend, Coo, Dtype, Error, Format, Scalar, Tensor, einsum};

/// Beside those with names.
const MORE: &[&str] = &[
    "(i, j) -> (i + j : dense, j : compressed)",
    "(i, j) -> (i * 8 + j : compressed)",
    "(i, j) -> (j : dense, i : compressed(nonordered)), posWidth = 64, crdWidth = 8",
    "(i, j) -> (i : compressed, j : compressed(nonunique))",
    "(i, j, k) -> (k : dense, i / 2 : compressed, j : compressed, i % 2 : dense)",
    "(i, j) -> (i : dense, j : bits)",
    "(i, j) -> (i : dense, j : delta(4))",
    "(i, j) -> (i : dense, j : hashed)",
    "(i, j) -> (i : dense, j : interval)",
    "(i, j) -> (i : dense, j : run_length)",
    "(i, j) -> (i : dense, j : sparse_run_length)",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i : hashed, j : hashed)",
];

fn formats() -> Vec<Format> {
    let named = named().map(|one| one.example.parse().unwrap());
    let more = MORE.iter().filter_map(|text| text.parse().ok());
    named.chain(more).collect()
}

/// Entries of a tensor, all of this value, some of them at the same place.
fn entries(shape: &[usize], picks: &[u32], value: Scalar) -> Coo {
    let count = if shape.contains(&0) { 0 } else { picks.len() };
    let mut crd = vec![Vec::new(); shape.len()];
    for &pick in &picks[..count] {
        let mut rest = pick as usize;
        for (column, &extent) in crd.iter_mut().zip(shape) {
            column.push((rest % extent) as i64);
            rest /= extent;
        }
    }
    Coo::new(shape.to_vec(), crd, Values::iso(value, count)).unwrap()
}

/// As they are without a value that stands for all.
fn each(coo: &Coo) -> Coo {
    let value = coo.values.iso_value().unwrap();
    Coo { values: Values::filled(value, coo.len()), ..coo.clone() }
}

fn options(fill: Scalar) -> BuildOptions {
    BuildOptions { fill: Some(fill), duplicates: Duplicates::AsFormat, ..Default::default() }
}

/// Both tensors have the same entries at the same positions. Where no entry is, they may hold other values.
fn same(iso: &Tensor, each: &Tensor) -> Result<(), TestCaseError> {
    let format = iso.format();
    prop_assert!(iso.same_structure(each) && iso.fill().same(&each.fill()), "{} {}", iso, each);
    prop_assert_eq!((iso.dtype(), iso.nnz()), (each.dtype(), each.nnz()), "{}", format);
    let (a, b) = (iso.to_coo().unwrap(), each.to_coo().unwrap());
    prop_assert_eq!(&a.crd, &b.crd, "{}", format);
    prop_assert_eq!(a.len(), b.len(), "{}", format);
    prop_assert!(a.values.iter().zip(b.values.iter()).all(|(a, b)| a.same(&b)), "{}", format);
    for place in 0..iso.shape().iter().product::<usize>().min(9) {
        let mut rest = place * 5;
        let digit = |extent: &usize| {
            let digit = rest % extent;
            rest /= extent;
            digit
        };
        let at: Vec<usize> = iso.shape().iter().map(digit).collect();
        let (a, b) = (iso.get(&at).unwrap(), each.get(&at).unwrap());
        prop_assert!(a.same(&b), "{} {:?} {} {}", format, at, a, b);
    }
    Ok(())
}

fn numbers() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        (-2..4).prop_map(|v: i32| Scalar::F64(v.into())),
        (-2..4).prop_map(|v| Scalar::F32(v as f32)),
        (-2..4).prop_map(Scalar::I32),
        Just(Scalar::U8(200)),
        any::<bool>().prop_map(Scalar::Bool),
        Just(Scalar::F64(f64::NAN)),
        Just(Scalar::F64(-0.0)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn one_value_for_all_is_stored_and_converted_as_each(
        extents in proptest::collection::vec(0_usize..7, 4),
        picks in proptest::collection::vec(any::<u32>(), 12),
        value in numbers(),
        fill in 0..2,
    ) {
        let fill = Scalar::I32(fill).cast(value.dtype()).unwrap();
        let formats = formats();
        for (at, format) in formats.iter().enumerate() {
            let coo = entries(&extents[..format.rank()], &picks, value);
            let stored = Tensor::from_coo_with(&each(&coo), format, &options(fill));
            let iso = Tensor::from_coo_with(&coo, format, &options(fill));
            let (Ok(stored), Ok(iso)) = (&stored, &iso) else {
                prop_assert_eq!(stored.is_err(), iso.is_err(), "{}", format);
                continue;
            };
            let twice = stored.nse() < coo.len() || stored.nnz() < coo.len();
            // Places of a hash table that hold no entry hold the fill value.
            let free = stored.nse() > coo.len();
            let own = iso.has_padding() || twice || free || coo.is_empty();
            prop_assert!(iso.is_iso() || own, "{}", format);
            prop_assert!(!stored.is_iso());
            same(iso, stored)?;
            let order: Vec<usize> = (0..format.rank()).rev().collect();
            same(&iso.permute(&order).unwrap(), &stored.permute(&order).unwrap())?;
            let pattern = iso.pattern().unwrap();
            same(&pattern, &stored.pattern().unwrap())?;
            let cast = |tensor: &Tensor| tensor.cast_lossy(Dtype::I16);
            prop_assert_eq!(cast(iso).is_iso(), iso.is_iso());
            same(&cast(iso), &cast(stored))?;
            let windows: Vec<Window> = iso
                .shape()
                .iter()
                .map(|&extent| extent as u64)
                .map(|extent| Window { offset: extent / 3, size: extent - extent / 3, stride: 1 })
                .collect();
            if let (Ok(a), Ok(b)) = (iso.slice(&windows), stored.slice(&windows)) {
                same(&a, &b)?;
            }
            let (_, shape, parts) = iso.clone().into_parts();
            let again = Tensor::from_parts(format, &shape, parts).unwrap();
            prop_assert_eq!(again.is_iso(), iso.is_iso());
            same(&again, stored)?;
            // Each format to some others, all of them over the formats.
            for to in formats.iter().skip(at % 3).step_by(3).filter(|to| to.rank() == format.rank()) {
                match (iso.convert(to), stored.convert(to)) {
                    (Ok(a), Ok(b)) => {
                        same(&a, &b)?;
                        let entries = |tensor: &Tensor| tensor.to_coo().unwrap().len();
                        let all = a.nse() == entries(&a);
                        let kept = entries(iso) == entries(&a) && all && !a.has_padding();
                        let none = !iso.is_iso() || entries(iso) == 0;
                        prop_assert!(!kept || a.is_iso() || none, "{} {}", format, to);
                    }
                    (a, b) => prop_assert_eq!(a.is_err(), b.is_err(), "{} {}", format, to),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn expressions_have_the_same_results(
        picks in proptest::collection::vec(any::<u32>(), 25),
        others in proptest::collection::vec(any::<u32>(), 15),
        value in -2_i32..4,
        numbers in proptest::collection::vec(-3..4, 6 * 6),
    ) {
        const TEXTS: &[&str] = &[
            "y(i) = A(i,j) * x(j)",
            "y(j) = A(i,j) * x(i)",
            "C(i,k) = A(i,j) * D(j,k)",
            "C(k,i) = D(k,j) * A(j,i)",
            "C(i,k) = A(i,j) * A(j,k)",
            "C(i,k) = A(i,j) * B(j,k)",
            "C(i,j) = A(i,j) + B(i,j)",
            "C(i,j) = A(i,j) * B(i,j)",
            "C(i,j) = A(i,j) - A(j,i)",
            "C(i,j) = 2 * A(i,j)",
            "C(i,j) = abs(A(i,j)) + 1",
            "C(j,i) = A(i,j)",
            "s = A(i,j)",
            "m(i) = max(j, A(i,j))",
            "C(i,j) = A(i,j) * D(i,k) * D(j,k)",
            "C(i,j) = D(i,j) + A(i,j)",
        ];
        let value = Scalar::F64(value.into());
        let x = ust::ndarray::Array1::from_iter(numbers[..6].iter().map(|&v| f64::from(v)));
        let d = ust::ndarray::Array2::from_shape_fn((6, 6), |(i, j)| f64::from(numbers[6 * i + j]));
        let zero = Scalar::F64(0.0);
        let all = formats();
        let matrices = all.iter().filter(|format| format.rank() == 2);
        for format in matrices.skip(picks[0] as usize % 5).step_by(5) {
            let coo = entries(&[6, 6], &picks, value);
            let b = entries(&[6, 6], &others, Scalar::F64(3.0));
            let make = |coo: &Coo| Tensor::from_coo_with(coo, format, &options(zero));
            let (Ok(iso), Ok(stored)) = (make(&coo), make(&each(&coo))) else { continue };
            let b = Tensor::from_coo(&each(&b), "CSR").unwrap();
            let part = Window { offset: 0, size: 6, stride: 1 };
            for text in TEXTS {
                for backend in [Backend::INTERPRETER, Backend::CHECKED_JIT, Backend::Auto] {
                    let run = |a: &Tensor| {
                        let args = einsum(text).backend(backend).arg("A", a);
                        let args = if text.contains("B(") { args.arg("B", &b) } else { args };
                        let args = if text.contains("D(") { args.arg("D", &d) } else { args };
                        let args = if text.contains("x(") { args.arg("x", &x) } else { args };
                        args.run()
                    };
                    match (run(&iso), run(&stored)) {
                        (Ok(a), Ok(b)) => prop_assert_eq!(a, b, "{} {}", format, text),
                        (a, b) => prop_assert_eq!(a.is_err(), b.is_err(), "{} {}", format, text),
                    }
                    let [a, b] = [&iso, &stored].map(|a| run(&a.slice([part, part]).unwrap()));
                    prop_assert_eq!(a.ok(), b.ok(), "{} {}", format, text);
                }
            }
        }
    }
}

fn edges() -> Coo {
    let (mut row, mut column) = (Vec::new(), Vec::new());
    for at in 0..4000_i64 {
        row.push(at % 500);
        column.push((at * at + at / 500 * 7) % 499);
    }
    let mut all: Vec<(i64, i64)> = row.into_iter().zip(column).collect();
    all.sort_unstable();
    all.dedup();
    let crd = vec![all.iter().map(|one| one.0).collect(), all.iter().map(|one| one.1).collect()];
    Coo::iso(vec![500, 500], crd, Scalar::F64(0.5)).unwrap()
}

/// What loops, conversions and looks at elements do takes no memory for values.
#[test]
fn nothing_expands_the_values() {
    let coo = edges();
    let x = ust::ndarray::Array1::<f64>::ones(500);
    let mut all = vec![Tensor::from_coo(&coo, "CSR").unwrap()];
    for to in ["CSC", "COO", "DCSR", "CSR", "(i, j) -> (j : dense, i : loose_compressed)"] {
        all.push(all.last().unwrap().convert(to).unwrap());
    }
    for a in &all {
        let indices: usize = a.levels().iter().map(ust::level_api::Arrays::bytes).sum();
        assert_eq!(
            (a.bytes() - indices, a.iso_value()),
            (8, Some(Scalar::F64(0.5))),
            "{}",
            a.format()
        );
        let y = einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).run().unwrap();
        let sum: f64 = y.values().typed::<f64>().unwrap().iter().sum();
        assert_eq!(sum, a.nnz() as f64 / 2.0);
        let s = einsum("s = A(i,j)").arg("A", a).run().unwrap();
        assert_eq!(s.get(&[]).unwrap(), Scalar::F64(sum));
        let twice = einsum("C(i,j) = 2 * A(i,j)").format(a.format()).arg("A", a).run().unwrap();
        assert_eq!(twice.iso_value(), Some(Scalar::F64(1.0)), "{}", a.format());
        assert_eq!(a.get(&[0, 0]).unwrap(), a.to_coo().map(|_| a.get(&[0, 0]).unwrap()).unwrap());
        let shown = format!("{a} {a:?}");
        assert!(shown.contains("0.5"), "{shown}");
        assert_eq!(
            a.clone().slice([Window { offset: 1, size: 9, stride: 2 }; 2]).unwrap().nnz(),
            a.to_coo().unwrap().crd[0]
                .iter()
                .zip(&a.to_coo().unwrap().crd[1])
                .filter(|(i, j)| [**i, **j].iter().all(|c| (1..19).contains(c) && c % 2 == 1))
                .count()
        );
        assert_eq!(a.values().iso_value(), Some(Scalar::F64(0.5)));
        assert_eq!(a.kept_bytes(), 0, "{}", a.format());
    }
}

/// Microkernels take one value as they take many. A row is so long that threads share it.
#[test]
fn rows_are_summed_by_kernels_and_by_threads() {
    let n = 300_000_i64;
    let columns = (0..n).filter(|j| j % 3 != 0).chain((0..40_000).map(|at| at * 7 % n));
    let long = n as usize - 100_000;
    let mut at: Vec<(i64, i64)> =
        columns.enumerate().map(|(k, j)| (if k < long { 7 } else { k as i64 % 300 }, j)).collect();
    at.sort_unstable();
    at.dedup();
    let crd = vec![at.iter().map(|one| one.0).collect(), at.iter().map(|one| one.1).collect()];
    let x = ust::ndarray::Array1::from_shape_fn(n as usize, |j| (j % 13) as f64 - 6.0);
    for value in [0.5, 1.0] {
        let coo = Coo::iso(vec![300, n as usize], crd.clone(), Scalar::F64(value)).unwrap();
        for format in ["CSR", "DCSR", "CSC", "COO", "(i, j) -> (i : dense, j : loose_compressed)"] {
            let format: Format = format.parse().unwrap();
            let iso = Tensor::from_coo(&coo, &format).unwrap();
            let stored = Tensor::from_coo(&each(&coo), &format).unwrap();
            let run = |a: &Tensor, threads, strict| {
                let call = einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).threads(threads);
                if strict { call.strict().run().unwrap() } else { call.run().unwrap() }
            };
            let expected = run(&stored, 1, true);
            for (threads, strict) in [(1, true), (1, false), (2, true), (2, false), (3, false)] {
                assert_eq!(run(&iso, threads, strict), expected, "{format} {threads} {strict}");
            }
            assert_eq!(iso.kept_bytes(), 0, "{format}");
        }
    }
}

#[test]
fn a_change_gives_each_entry_a_value() {
    let csr: Format = "CSR".parse().unwrap();
    let iso = Tensor::from_coo(&edges(), &csr).unwrap();
    let mut expected = Tensor::from_coo(&each(&edges()), &csr).unwrap();
    let place = {
        let coo = iso.to_coo().unwrap();
        coo.coordinates(17)
    };
    let mut changed = iso.clone();
    changed.get(&place).unwrap();
    changed.insert(&place, 0.5).unwrap();
    assert_eq!(changed.iso_value(), Some(Scalar::F64(0.5)));
    changed.insert(&place, 7.0).unwrap();
    expected.insert(&place, 7.0).unwrap();
    assert!(!changed.is_iso() && iso.is_iso());
    assert_eq!(changed, expected);
    assert_eq!(changed.get(&place).unwrap(), Scalar::F64(7.0));
    // A zero with another sign is another value.
    let mut zeros = iso.with_values(Values::iso(Scalar::F64(0.0), iso.nse())).unwrap();
    zeros.insert(&place, -0.0).unwrap();
    assert!(!zeros.is_iso());
    let signs = zeros.values().typed::<f64>().unwrap().iter().filter(|v| v.is_sign_negative());
    assert_eq!(signs.count(), 1);
    let mut removed = iso.clone();
    removed.remove(&place).unwrap();
    expected.remove(&place).unwrap();
    assert_eq!(removed, expected);
    let mut written = iso.clone();
    written.get(&place).unwrap();
    written.values_mut::<f64>().unwrap()[17] = 3.0;
    assert_eq!(
        (written.get(&place).unwrap(), iso.get(&place).unwrap()),
        (Scalar::F64(3.0), Scalar::F64(0.5))
    );
}

#[test]
fn a_kernel_for_one_value_is_for_such_tensors_alone() {
    let csr: Format = "CSR".parse().unwrap();
    let iso = Tensor::from_coo(&edges(), &csr).unwrap();
    let each = Tensor::from_coo(&each(&edges()), &csr).unwrap();
    let x = Tensor::from_array(ust::ndarray::Array1::<f64>::ones(500).into_dyn()).unwrap();
    let prepare =
        |a: &Tensor| einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).prepare().unwrap();
    if ust::provider::names().contains(&"jit") {
        assert_eq!(prepare(&iso).stages(), ["jit: i: rows-of-gather-dots"]);
    }
    let of_each = prepare(&each).run(&[&each, &x]).unwrap();
    assert_eq!(prepare(&iso).run(&[&iso, &x]).unwrap(), of_each);
    assert_eq!(prepare(&each).run(&[&iso, &x]).unwrap(), of_each);
    let refused = prepare(&iso).run(&[&each, &x]);
    assert!(refused.unwrap_err().to_string().contains("prepared for one value"));
}

#[test]
fn one_value_for_many_positions_is_taken_where_the_caller_says_so() {
    let csr: Format = "CSR".parse().unwrap();
    let arrays = || vec![vec![], vec![vec![0_i32, 1, 3].into(), vec![2_i32, 0, 1].into()]];
    let one = Tensor::from_parts(&csr, &[2, 3], Parts::new(arrays(), vec![2.0]));
    assert!(matches!(one, Err(Error::Parts(_))));
    let iso = |len| {
        Tensor::from_parts(&csr, &[2, 3], Parts::new(arrays(), Values::iso(Scalar::F64(2.0), len)))
    };
    assert!(iso(1).is_err());
    assert_eq!(iso(3).unwrap().get(&[1, 1]).unwrap(), Scalar::F64(2.0));
    let each = Tensor::from_parts(&csr, &[2, 3], Parts::new(arrays(), vec![2.0; 3])).unwrap();
    assert_eq!((each.to_iso().unwrap(), each.is_iso()), (iso(3).unwrap(), false));
    let other = Tensor::from_parts(&csr, &[2, 3], Parts::new(arrays(), vec![2.0, 2.0, 3.0]));
    assert!(other.unwrap().to_iso().is_none());
    // Zeros that differ in a bit are two values.
    let zeros = Tensor::from_parts(&csr, &[2, 3], Parts::new(arrays(), vec![0.0, -0.0, 0.0]));
    assert!(zeros.unwrap().to_iso().is_none());
}
