//! Triangles of matrices in every format.

use ust::Complex;
use ust::ndarray::Array2;
use ust::solve::{Diagonal, Operator, SolveError, Triangle, Triangular, solve_triangular};

use crate::oracle::{FORMATS, Kind, Random, apart, eliminate, stored};

fn triangles_solve<T: Kind>() {
    let mut random = Random::fresh();
    let n = 19;
    let dense = random.dominant::<T>(n);
    let b = random.vector::<T>(n);
    for triangle in [Triangle::Lower, Triangle::Upper] {
        for diagonal in [Diagonal::Stored, Diagonal::Unit] {
            let part = Array2::from_shape_fn((n, n), |(i, j)| match (i == j, triangle) {
                (true, _) if diagonal == Diagonal::Unit => T::one(),
                (false, Triangle::Lower) if i < j => T::zero(),
                (false, Triangle::Upper) if i > j => T::zero(),
                _ => dense[(i, j)],
            });
            let expected = eliminate(&part, &b);
            for format in FORMATS {
                let tensor = stored(&dense, format);
                let x = solve_triangular(&tensor, &b, triangle, diagonal).unwrap();
                assert!(apart(&x, &expected) < T::CLOSE, "{format}, {triangle:?}, {diagonal:?}");
                let prepared = Triangular::new(&tensor, triangle, diagonal).unwrap();
                let mut y = vec![T::zero(); n];
                prepared.apply(&b, &mut y).unwrap();
                assert!(x == y && prepared.solve(&b).unwrap() == y, "{format}");
            }
        }
    }
}

#[test]
fn triangles_are_solved_as_by_elimination() {
    triangles_solve::<f64>();
    triangles_solve::<Complex<f64>>();
}

#[test]
fn a_diagonal_element_of_zero_is_named() {
    let mut dense = Random::fresh().dominant::<f64>(9);
    dense[(4, 4)] = 0.0;
    for format in ["CSR", "DIA", "Dense"] {
        let tensor = stored(&dense, format);
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let b = [1.0; 9];
            let error = solve_triangular(&tensor, &b, triangle, Diagonal::Stored).unwrap_err();
            assert!(matches!(error, SolveError::Singular { row: 4 }), "{format}: {error}");
            solve_triangular(&tensor, &b, triangle, Diagonal::Unit).unwrap();
        }
    }
}

#[test]
fn vectors_of_another_length_are_refused() {
    let tensor = stored(&Random::fresh().dominant::<f64>(4), "CSR");
    let lower = Triangular::new(&tensor, Triangle::Lower, Diagonal::Stored).unwrap();
    let wrong = |e: SolveError| matches!(e, SolveError::Length { .. });
    assert!(lower.solve(&[1.0; 3]).is_err_and(wrong));
    assert!(lower.apply(&[1.0; 4], &mut [0.0; 5]).is_err_and(wrong));
}
