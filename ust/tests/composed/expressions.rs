//! Expressions of composed tensors, beside the same ones of tensors in one format.

use proptest::prelude::*;
use ust::ops::oracle::evaluate;
use ust::ops::{Operand, Timing};
use ust::{Backend, Composed, Coo, Dtype, Tensor, einsum};

use crate::shared::{composition, csr, matrix, near, of_shape, read};

/// Expressions of a matrix `A`, square ones where `A` meets itself: a vector `x` of its columns, a full matrix `X` with as
/// many rows, a sparse matrix `B` of its shape, and a vector `b` of its rows. Whether they are linear in `A`.
const EXPRESSIONS: &[(&str, bool)] = &[
    ("y(i) = A(i,j) * x(j)", true),
    ("y(j) = A(i,j) * b(i)", true),
    ("Y(i,k) = A(i,j) * X(j,k)", true),
    ("C(i,j) = -A(i,j)", true),
    ("C(i,j) = 2 * A(i,j) / 3", true),
    ("C(i,j) = A(i,j) * B(i,j)", true),
    ("C(i,k) = A(i,j) * B(k,j)", true),
    ("y(i) = 3 * A(i,j) * x(j) - x(j) * A(i,j)", true),
    ("s = A(i,j) * x(j) * b(i)", true),
    ("C(j,i) = A(i,j)", true),
    ("C(i,j) = A(i,j) * (i - 2 * j)", true),
    ("y(i) = j * A(i,j)", true),
    ("C(i,j) = A(i,j) + i", false),
    ("y(i) = A(i,j) * x(j) + b(i)", false),
    ("C(i,j) = A(i,j) + B(i,j)", false),
    ("C(i,j) = A(i,j) + 1", false),
    ("C(i,k) = A(i,j) * A(k,j)", false),
    ("C(i,j) = A(i,j) * A(i,j)", false),
    ("y(i) = max(j, A(i,j))", false),
    ("C(i,j) = exp(A(i,j))", false),
    ("y(i) = 2 * sum(j, A(i,j) * x(j))", true),
    ("y(i) = b(i) / A(i,0)", false),
    ("y(i) = A(i,j) / x(j)", false),
];

struct Operands {
    x: Tensor,
    wide: Tensor,
    b: Tensor,
    other: Tensor,
}

fn operands(rows: usize, columns: usize, other: &Coo) -> Operands {
    let vector = |len: usize, first: f64| {
        let values = (0..len).map(|at| first + (at * 7 % 11) as f64 / 4.0).collect();
        Tensor::from_array(ust::ndarray::Array1::from_vec(values).into_dyn()).unwrap()
    };
    let values = (0..columns * 3).map(|at| (at * 5 % 13) as f64 - 6.5).collect();
    let wide = ust::ndarray::Array2::from_shape_vec((columns, 3), values).unwrap();
    Operands {
        x: vector(columns, 0.75),
        wide: Tensor::from_array(wide.into_dyn()).unwrap(),
        b: vector(rows, -1.375),
        other: csr(other),
    }
}

fn call(text: &str, a: impl ust::ops::Argument, with: &Operands) -> ust::ops::Einsum {
    let mut call = einsum(text).arg("A", a);
    for (name, tensor) in [("x", &with.x), ("X", &with.wide), ("b", &with.b), ("B", &with.other)] {
        if text.contains(&format!("{name}(")) {
            call = call.arg(name, tensor);
        }
    }
    call
}

fn two() -> impl Strategy<Value = (Coo, Coo)> {
    (1_usize..20, 1_usize..20)
        .prop_flat_map(|(rows, columns)| (of_shape(rows, columns, 70), of_shape(rows, columns, 30)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn results_are_those_of_the_tensor_in_one_format(
        (coo, other) in two(),
        text in composition(),
        which in 0..EXPRESSIONS.len(),
        strict: bool,
        interpreted: bool,
    ) {
        let (expression, linear) = EXPRESSIONS[which];
        if expression.contains("A(i,0)") {
            return Ok(());
        }
        let given = csr(&coo);
        let split = Composed::split(&given, &read(text)).unwrap();
        let with = operands(coo.shape[0], coo.shape[1], &other);
        let how = |call: ust::ops::Einsum| {
            let call = if strict { call.strict() } else { call };
            call.backend(if interpreted { Backend::INTERPRETER } else { Backend::Auto })
        };
        let case = format!("{expression}, {text}, strict {strict}, interpreted {interpreted}");
        let expected = how(call(expression, &given, &with)).run().unwrap();
        let oracle = evaluate(&call(expression, &given, &with)).unwrap();
        let found = how(call(expression, &split, &with)).run().unwrap();
        if let Err(why) = near(&found, &expected) {
            prop_assert!(false, "{case}: {why}");
        }
        let of_parts = evaluate(&call(expression, &split, &with)).unwrap();
        prop_assert_eq!(&of_parts, &oracle);
        // Prepared, and into memory of the caller.
        let kernel = how(call(expression, &split, &with)).prepare().unwrap();
        let told = kernel.explain();
        prop_assert_eq!(told.contains("parts by itself"), linear, "{}\n{}", case, told);
        let names: Vec<String> = kernel.operands().iter().map(ToString::to_string).collect();
        let run: Vec<Operand<'_>> = names.iter().map(|name| match name.as_str() {
            "A" => Operand::from(&split),
            "x" => (&with.x).into(),
            "X" => (&with.wide).into(),
            "b" => (&with.b).into(),
            _ => (&with.other).into(),
        }).collect();
        for _ in 0..2 {
            let again = kernel.run_with(&run).unwrap();
            prop_assert_eq!(&again, &found, "{}", case);
        }
        if found.format().is_full() {
            let mut out = vec![f64::NAN; found.nse()];
            kernel.run_with_into(&run, &mut out).unwrap();
            prop_assert_eq!(&out[..], found.values().typed::<f64>().unwrap(), "{}", case);
            let mut out = vec![f64::NAN; found.nse()];
            how(call(expression, &split, &with)).run_into(&mut out).unwrap();
            prop_assert_eq!(&out[..], found.values().typed::<f64>().unwrap(), "{}", case);
        }
    }

    #[test]
    fn two_composed_operands_are_multiplied_choice_by_choice(
        (coo, other) in two(),
        first in composition(),
        second in composition(),
    ) {
        let (a, b) = (csr(&coo), csr(&other));
        let split = Composed::split(&a, &read(first)).unwrap();
        let second = Composed::split(&b, &read(second)).unwrap();
        for text in ["C(i,j) = A(i,j) * B(i,j)", "C(i,k) = A(i,j) * B(k,j)", "s = A(i,j) * B(i,j)"] {
            let expected = einsum(text).arg("A", &a).arg("B", &b).format("Dense(2)");
            let scalar = text.starts_with('s');
            let expected = if scalar { einsum(text).arg("A", &a).arg("B", &b) } else { expected };
            let found = einsum(text).arg("A", &split).arg("B", &second).run().unwrap();
            if let Err(why) = near(&found, &expected.run().unwrap()) {
                prop_assert!(false, "{text}, {first}: {why}");
            }
        }
        // The same tensor under two names, and both a mask and an operand.
        let text = "C(i,j)<A(i,j)> = B(i,j) * 2";
        let expected = einsum(text).arg("A", &a).arg("B", &b).run().unwrap();
        let found = einsum(text).arg("A", &split).arg("B", &second).run().unwrap();
        prop_assert_eq!(near(&found, &expected), Ok(()));
    }

    #[test]
    fn updates_and_formats_asked_for_are_kept((coo, other) in two(), text in composition()) {
        let (a, b) = (csr(&coo), csr(&other));
        let split = Composed::split(&a, &read(text)).unwrap();
        let with = operands(coo.shape[0], coo.shape[1], &other);
        for update in ["y(i) += A(i,j) * x(j)", "y(i) max= A(i,j) * x(j)", "y(i) *= A(i,j) * x(j)"] {
            let [mut expected, mut found] = [with.b.clone(), with.b.clone()];
            call(update, &a, &with).update(&mut expected).unwrap();
            call(update, &split, &with).update(&mut found).unwrap();
            if let Err(why) = near(&found, &expected) {
                prop_assert!(false, "{update}, {text}: {why}");
            }
            let kernel = call(update, &split, &with).prepare_update(&with.b).unwrap();
            let again = kernel.run_with(&[(&split).into(), (&with.x).into(), (&with.b).into()]).unwrap();
            prop_assert_eq!(again, found);
        }
        for format in ["CSR", "Dense", "DenseCol", "ELL", "DIA", "COO", "BSR(2, 2)"] {
            let [expected, found] = [
                einsum("C(i,j) = A(i,j) * 3").arg("A", &a).format(format).run().unwrap(),
                einsum("C(i,j) = A(i,j) * 3").arg("A", &split).format(format).run().unwrap(),
            ];
            prop_assert_eq!(found.format(), expected.format(), "{}", text);
            prop_assert_eq!(near(&found, &expected), Ok(()), "{} {}", text, format);
            let [expected, found] = [
                einsum("C(i,k) = A(i,j) * B(k,j)").arg("A", &a).arg("B", &b).format(format).run().unwrap(),
                einsum("C(i,k) = A(i,j) * B(k,j)").arg("A", &split).arg("B", &b).format(format).run().unwrap(),
            ];
            prop_assert_eq!(near(&found, &expected), Ok(()), "{} {}", text, format);
        }
    }

    #[test]
    fn other_semirings_and_dtypes_get_one_format(coo in matrix(), text in composition()) {
        let a = csr(&coo);
        let split = Composed::split(&a, &read(text)).unwrap();
        let with = operands(coo.shape[0], coo.shape[1], &coo);
        for semiring in ["min_plus", "max_times", "plus_times", "plus_pair"] {
            let expected = call("y(i) = A(i,j) * x(j)", &a, &with).semiring(semiring).run().unwrap();
            let found = call("y(i) = A(i,j) * x(j)", &split, &with).semiring(semiring).run().unwrap();
            prop_assert_eq!(near(&found, &expected), Ok(()), "{} {}", text, semiring);
        }
        for dtype in [Dtype::F32, Dtype::F16, Dtype::I32, Dtype::Bool] {
            let (one, parts) = (a.cast_lossy(dtype), split.parts());
            let cast = parts.iter().map(|part| part.cast_lossy(dtype)).collect();
            let Ok(cast) = Composed::from_parts(cast) else { continue };
            let x = Tensor::from_array(ust::ndarray::Array1::<f32>::ones(coo.shape[1]).into_dyn()).unwrap();
            let run = |a: Composed| {
                let y = einsum("y(i) = A(i,j) * x(j)").arg("A", a).arg("x", &x).run().unwrap();
                y.cast_lossy(Dtype::F64).to_dense::<f64>().unwrap()
            };
            let (found, expected) = (run(cast), run(one.into()));
            let most = expected.iter().fold(1.0, |most: f64, v| most.max(v.abs()));
            let near = found.iter().zip(&expected).all(|(a, z)| (a - z).abs() <= 1e-2 * most || a == z);
            prop_assert!(near, "{} {}: {} {}", text, dtype, found, expected);
        }
    }
}

#[test]
fn parts_are_added_in_the_memory_of_the_result() {
    let coo = ust::generate::generate("gen:poisson2d(30)").unwrap();
    let a = csr(&coo);
    let x = Tensor::from_array(ust::ndarray::Array1::<f64>::ones(900).into_dyn()).unwrap();
    for (text, told) in [
        ("DIA where fill(j - i) >= 0.98 + CSR", "added in the memory of the result"),
        ("ELL where #i < 3 + COO", "added in the memory of the result"),
        ("CSR where #i < 3 + DIA", "added"),
    ] {
        let split = Composed::split(&a, &read(text)).unwrap();
        let call = || einsum("y(i) = A(i,j) * x(j)").arg("A", &split).arg("x", &x);
        let kernel = call().prepare().unwrap();
        let explained = kernel.explain();
        assert!(explained.contains(told), "{text}: {explained}");
        assert!(explained.contains("A part 2 of 2"), "{explained}");
        let expected = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).run().unwrap();
        near(&kernel.run_with(&[(&split).into(), (&x).into()]).unwrap(), &expected).unwrap();
        let mut timing = Timing::default();
        let (_, found) = call().run_timed(&mut timing).unwrap();
        near(&found, &expected).unwrap();
        assert!(timing.run_in > std::time::Duration::ZERO);
        for threads in [1, 2] {
            near(&call().threads(threads).run().unwrap(), &expected).unwrap();
        }
        assert!(kernel.run(&[&a, &x]).is_err());
        assert!(kernel.run_with(&[(&a).into(), (&x).into()]).is_err());
        assert!(kernel.run_with(&[(&split).into()]).is_err());
    }
}
