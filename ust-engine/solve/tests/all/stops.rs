//! Methods stop, say why, and refuse what makes no sense.

use std::ops::ControlFlow;

use ust::Tensor;
use ust::ndarray::{Array2, array};
use ust::solve::{
    Breakdown, Ilu0, Jacobi, Matrix, Options, Solution, SolveError, Stop, bicgstab, cg, gmres,
};

use crate::oracle::{Random, apart, stored};

type Method = fn(&Matrix<f64>, &[f64], Options<'_, f64>) -> Result<Solution<f64>, SolveError>;
const METHODS: [(&str, Method); 3] = [
    ("cg", |a, b, options| cg(a, b, options)),
    ("bicgstab", |a, b, options| bicgstab(a, b, options)),
    ("gmres", |a, b, options| gmres(a, b, 5, options)),
];

fn definite(n: usize) -> Matrix<f64> {
    Matrix::new(&stored(&Random::fresh().definite::<f64>(n), "CSR")).unwrap()
}

#[test]
fn iterations_are_counted_and_limited() {
    let a = definite(30);
    for (name, method) in METHODS {
        let solution = method(&a, &[1.0; 30], Options::new().max_iterations(2)).unwrap();
        assert_eq!((solution.stop, solution.iterations), (Stop::MaxIterations, 2), "{name}");
        assert_eq!(solution.history.len(), 3, "{name}");
        assert!(solution.residual < solution.history[0], "{name}: some progress");
        let none = method(&a, &[1.0; 30], Options::new().max_iterations(0)).unwrap();
        assert_eq!((none.stop, none.iterations), (Stop::MaxIterations, 0), "{name}");
    }
}

#[test]
fn a_watcher_sees_every_iteration_and_may_stop() {
    let a = definite(30);
    for (name, method) in METHODS {
        let mut seen = Vec::new();
        let mut watch = |iteration: usize, residual: f64| {
            seen.push((iteration, residual));
            if iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let solution = method(&a, &[1.0; 30], Options::new().watch(&mut watch)).unwrap();
        assert_eq!(solution.stop, Stop::Stopped, "{name}");
        let expected: Vec<_> = solution.history.iter().copied().enumerate().skip(1).collect();
        assert_eq!((seen, solution.iterations), (expected, 3), "{name}");
    }
}

#[test]
fn a_right_hand_side_of_zeros_has_the_solution_zero() {
    let a = definite(5);
    for (name, method) in METHODS {
        let solution = method(&a, &[0.0; 5], Options::new().start(&[1.0; 5])).unwrap();
        assert_eq!((solution.stop, solution.x), (Stop::Converged, vec![0.0; 5]), "{name}");
    }
}

#[test]
fn no_number_ends_every_method() {
    let mut dense = Array2::from_diag(&array![1.0, 2.0, 3.0]);
    dense[(0, 1)] = f64::NAN;
    let a = Matrix::new(&stored(&dense, "CSR")).unwrap();
    for (name, method) in METHODS {
        for (b, start) in
            [([1.0; 3], [0.0; 3]), ([f64::NAN; 3], [0.0; 3]), ([1.0; 3], [f64::NAN; 3])]
        {
            let solution = method(&a, &b, Options::new().start(&start)).unwrap();
            let not_finite = Stop::Breakdown(Breakdown::NotFinite);
            assert_eq!(solution.stop, not_finite, "{name}, {b:?}, {start:?}");
            assert!(solution.iterations <= 1, "{name}");
        }
    }
}

#[test]
fn an_indefinite_matrix_breaks_conjugate_gradients() {
    let a = Matrix::new(&Tensor::diags((4, 4), &[(0, &[1.0, -1.0, 2.0, -2.0])], "DIA").unwrap());
    let solution = cg(&a.unwrap(), &[1.0; 4], Options::new()).unwrap();
    assert_eq!(solution.stop, Stop::Breakdown(Breakdown::NotPositiveDefinite));
}

#[test]
fn a_singular_system_without_a_solution_ends_with_a_breakdown() {
    // The last row is empty, and its right-hand side is not zero.
    let a = Matrix::new(&Tensor::diags((4, 4), &[(0, &[1.0, 2.0, 3.0, 0.0])], "CSR").unwrap());
    let a = a.unwrap();
    for (name, method) in METHODS {
        let solution = method(&a, &[1.0; 4], Options::new()).unwrap();
        assert!(matches!(solution.stop, Stop::Breakdown(_)), "{name}: {:?}", solution.stop);
        assert!(solution.iterations < 100, "{name}");
        if name == "gmres" {
            let said = solution.history.last().unwrap();
            assert!((said - solution.residual).abs() < 1e-12, "{said}");
        }
    }
}

#[test]
fn a_rotation_breaks_the_bi_conjugate_and_not_the_minimal_residual() {
    // The residual and its image are orthogonal.
    let a = Matrix::<f64>::new(&stored(&array![[0.0, 1.0], [-1.0, 0.0]], "CSR")).unwrap();
    let broken = bicgstab(&a, &[1.0, 0.0], Options::new()).unwrap();
    assert_eq!(broken.stop, Stop::Breakdown(Breakdown::Orthogonal));
    let solution = gmres::<f64>(&a, &[1.0, 0.0], 2, Options::new()).unwrap();
    assert!(solution.converged());
    assert!(apart(&solution.x, &[0.0, 1.0]) < 1e-15);
}

#[test]
fn a_tolerance_below_rounding_ends() {
    let a = definite(30);
    for (name, method) in METHODS {
        let options = Options::new().tolerance(1e-30).max_iterations(100_000);
        let solution = method(&a, &[1.0; 30], options).unwrap();
        assert!(!solution.converged() && solution.residual < 1e-10, "{name}: {:?}", solution.stop);
        assert!(solution.iterations < 100_000, "{name}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let a = definite(4);
    for (name, method) in METHODS {
        for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
            let error = method(&a, &[1.0; 4], Options::new().tolerance(tolerance)).unwrap_err();
            assert!(matches!(error, SolveError::Argument(_)), "{name}: {error}");
        }
        let error = method(&a, &[1.0; 4], Options::new().start(&[1.0; 3])).unwrap_err();
        assert!(matches!(error, SolveError::Length { expected: 4, found: 3, .. }), "{name}");
        let error = method(&a, &[1.0; 5], Options::new()).unwrap_err();
        assert!(matches!(error, SolveError::Length { expected: 4, found: 5, .. }), "{name}");
    }
    assert!(matches!(gmres(&a, &[1.0; 4], 0, Options::new()), Err(SolveError::Argument(_))));
    let wide = Tensor::diags((2, 3), &[(0, &[1.0])], "CSR").unwrap();
    assert!(matches!(Matrix::<f64>::new(&wide), Err(SolveError::NotSquare { .. })));
    let double = Tensor::diags((2, 2), &[(0, &[1.0])], "CSR").unwrap();
    let single = Matrix::<f32>::new(&double).and_then(|a| cg(&a, &[1.0; 2], Options::new()));
    assert!(single.is_err(), "products of f64 and f32 are no f32");
}

#[test]
fn factors_refuse_diagonals_without_an_inverse() {
    for dense in [array![[1.0, 2.0], [3.0, 0.0]], array![[1.0, 0.0], [0.0, f64::NAN]]] {
        for format in ["CSR", "Dense"] {
            let a = stored(&dense, format);
            let refused = |e: &SolveError| matches!(e, SolveError::Singular { row: 1 });
            assert!(Jacobi::<f64>::new(&a).is_err_and(|e| refused(&e)), "{format}");
        }
    }
    // The second pivot is 4 - 2 * 2.
    let a = stored(&array![[1.0, 2.0], [2.0, 4.0]], "CSR");
    assert!(matches!(Ilu0::<f64>::new(&a), Err(SolveError::Singular { row: 1 })));
}

#[test]
fn elements_that_are_not_stored_must_be_zero() {
    let a = Tensor::diags((3, 3), &[(0, &[2.0])], "CSR").unwrap();
    let ones = a.with_fill(1.0.into()).unwrap();
    assert!(matches!(Ilu0::<f64>::new(&ones), Err(SolveError::Fill { .. })));
    // Products take them as they are.
    assert!(Matrix::<f64>::new(&ones).is_ok());
}
