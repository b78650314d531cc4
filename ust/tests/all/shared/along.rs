//! Results that store what their operand stores, with other values.

use proptest::prelude::*;
use ust::ops::{einsum, oracle};
use ust::tensor::{BuildOptions, Duplicates, Window};
use ust::{Backend, Dtype, Format, Scalar, Tensor};

use super::{FORMATS, entries, many};

/// Combined of all values: of which the last two of what is not stored as well.
const WHOLE: &[&str] = &[
    "A(i,j)",
    "2 * A(i,j)",
    "A(i,j) * A(i,j)",
    "sum(i, sum(j, abs(A(i,j))))",
    "any(i, any(j, A(i,j) > 1))",
    "max(i, max(j, abs(A(i,j))))",
    "min(i, min(j, A(i,j)))",
    "exp(A(i,j))",
];

/// Of which the last two are not zero where nothing is stored, or need another place.
const BODIES: &[&str] = &[
    "abs(A(i,j))",
    "-3 * A(i,j)",
    "A(i,j) * A(i,j) + A(i,j)",
    "sqrt(abs(A(i,j))) / 2",
    "A(i,j) > 1",
    "where(A(i,j) > 1, A(i,j), 0)",
    "max(A(i,j), 2)",
    "exp(A(i,j))",
    "A(i,j) - A(j,i)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn other_values_in_the_same_places(
        size in 1_usize..20,
        picks in proptest::collection::vec((any::<u32>(), any::<i8>()), 0..60),
        (format, body) in (0..FORMATS.len() - 1, 0..BODIES.len()),
        fill in prop_oneof![3 => Just(0.0), 1 => Just(1.5)],
        (window, threads) in (any::<bool>(), 1_usize..3),
    ) {
        let format: Format = FORMATS[format].parse().unwrap();
        let duplicates = Duplicates::AsFormat;
        let options = BuildOptions { fill: Some(Scalar::F64(fill)), duplicates, ..Default::default() };
        let mut a = Tensor::from_coo_with(&entries(size, &picks), &format, &options).unwrap();
        if window {
            let offset = size as u64 / 3;
            let part = Window { offset, size: (size as u64 - offset).div_ceil(2), stride: 2 };
            a = a.slice([part; 2]).unwrap();
        }
        let text = format!("C(i,j) = {}", BODIES[body]);
        let call = || einsum(&text).arg("A", &a).threads(threads);
        let expected = oracle::evaluate(&call()).unwrap();
        for backend in [Backend::Auto, Backend::CHECKED_JIT] {
            let call = call().format(a.format()).backend(backend);
            // What is not stored may be another value than the format can leave out.
            let Ok(found) = call.run() else { continue };
            prop_assert_eq!(found.dtype(), expected.dtype());
            let (format, shape, parts) = found.clone().into_parts();
            Tensor::from_parts(&format, &shape, parts).unwrap();
            for i in 0..found.shape()[0] {
                for j in 0..found.shape()[1] {
                    let both = [&found, &expected].map(|t| t.get(&[i, j]).unwrap());
                    prop_assert!(oracle::close(both[0], both[1]), "{} {:?} at {}, {}", text, both, i, j);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn all_values_are_combined(
        size in 1_usize..20,
        picks in proptest::collection::vec((any::<u32>(), any::<i8>()), 0..60),
        (format, body) in (0..FORMATS.len() - 1, 0..WHOLE.len()),
        fill in prop_oneof![3 => Just(0.0), 1 => Just(1.5)],
        threads in 1_usize..3,
    ) {
        let format: Format = FORMATS[format].parse().unwrap();
        let duplicates = Duplicates::AsFormat;
        let options = BuildOptions { fill: Some(Scalar::F64(fill)), duplicates, ..Default::default() };
        let a = Tensor::from_coo_with(&entries(size, &picks), &format, &options).unwrap();
        let text = format!("s = {}", WHOLE[body]);
        let call = || einsum(&text).arg("A", &a).threads(threads);
        let expected = oracle::evaluate(&call()).unwrap().get(&[]).unwrap();
        let found = call().run().unwrap().get(&[]).unwrap();
        prop_assert!(oracle::close(found, expected), "{} {:?}", text, (found, expected));
        // Into memory of the caller.
        if expected.dtype() == Dtype::F64 {
            let mut out = [f64::NAN];
            call().run_into(&mut out).unwrap();
            prop_assert!(oracle::close(Scalar::F64(out[0]), expected), "{} {:?}", text, out);
        }
    }
}

#[test]
fn levels_are_shared_and_values_are_not() {
    let coo = many();
    for (format, shares) in [("CSR", true), ("BSR(2, 3)", true), ("DIA-I", true), ("CSC", false)] {
        let a = Tensor::from_coo(&coo, format).unwrap();
        let asked = if shares { format } else { "CSR" };
        let call = einsum("C(i,j) = A(i,j) > 1").arg("A", &a).format(asked);
        let kernel = call.prepare().unwrap();
        let said = kernel.explain();
        assert_eq!(said.contains("over the values alone, the levels are shared"), shares, "{said}");
        let c = kernel.run(&[&a]).unwrap();
        assert_eq!(c.dtype(), Dtype::Bool);
        let same = |level: usize| match (a.crd(level), c.crd(level)) {
            (Some(ust::IndexArray::U32(a)), Some(ust::IndexArray::U32(c))) => {
                a.shares_memory_with(c)
            }
            (Some(ust::IndexArray::I32(a)), Some(ust::IndexArray::I32(c))) => {
                a.shares_memory_with(c)
            }
            (None, None) => false,
            other => panic!("{other:?}"),
        };
        assert_eq!((0..a.format().level_count()).any(same), shares);
        // Another tensor of the format, with other places.
        let b = Tensor::from_coo(&entries(50, &[(7, 8), (900, 3)]), a.format()).unwrap();
        let c = kernel.run(&[&b]).unwrap();
        assert!(c.get_as::<bool>(&[7, 0]).unwrap());
        assert!(!c.get_as::<bool>(&[0, 18]).unwrap());
    }
}
