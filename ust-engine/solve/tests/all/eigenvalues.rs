//! Eigenvalues, against those of the grid that are known, and against rotations of dense matrices.

use std::f64::consts::PI;

use ust::ndarray::Array2;
use ust::solve::{
    Breakdown, Eigenpairs, Ilu0, Jacobi, Matrix, Options, SolveError, Stop, Which, lobpcg,
    power_iteration,
};
use ust::{Complex, Tensor};

use crate::oracle::{FORMATS, Kind, Random, norm, product, stored};

/// The residuals are what they are said to be, and the vectors orthonormal.
fn check<T: Kind>(a: &Array2<T>, pairs: &Eigenpairs<T>, what: &str) {
    assert!(pairs.converged(), "{what}: {:?}, {:?}", pairs.stop, pairs.history.last());
    assert_eq!(pairs.history.len(), pairs.iterations + 1, "{what}");
    let largest = pairs.values.iter().fold(0.0, |max: f64, value| max.max(value.size()));
    for (at, (vector, &value)) in pairs.vectors.iter().zip(&pairs.values).enumerate() {
        let image = product(a, vector);
        let rest: Vec<T> = image.iter().zip(vector).map(|(&y, &v)| y - value * v).collect();
        assert!(norm(&rest) < T::CLOSE * largest, "{what}: {}", norm(&rest));
        assert!((norm(&rest) - pairs.residuals[at]).abs() < 1e-2 * T::CLOSE * largest, "{what}");
        for (other, w) in pairs.vectors.iter().enumerate() {
            let along = w.iter().zip(vector).fold(T::zero(), |sum, (&w, &v)| sum + w.conj() * v);
            let expected = if at == other { T::one() } else { T::zero() };
            assert!((along - expected).size() < T::CLOSE, "{what}: {at}, {other}");
        }
    }
}

/// A Hermitian matrix with given eigenvalues: reflected along a random vector.
fn with_values<T: Kind>(random: &mut Random, values: &[f64]) -> Array2<T> {
    let v = random.vector::<T>(values.len());
    let two = T::from_parts(2.0 / norm(&v).powi(2), 0.0);
    let n = values.len();
    let reflection = Array2::from_shape_fn((n, n), |(i, j)| {
        let one = if i == j { T::one() } else { T::zero() };
        one - two * v[i] * v[j].conj()
    });
    Array2::from_shape_fn((n, n), |(i, j)| {
        (0..n).fold(T::zero(), |sum, k| {
            let value = T::from_parts(values[k], 0.0);
            sum + reflection[(i, k)] * value * reflection[(j, k)].conj()
        })
    })
}

fn known_values_are_found<T: Kind>() {
    let mut random = Random::fresh();
    let values: Vec<f64> =
        (0..24).map(|k| f64::from(k * k) - 40.0 + random.number() / 4.0).collect();
    let dense = with_values::<T>(&mut random, &values);
    let options = || Options::new().tolerance(T::CLOSE);
    for format in FORMATS {
        let matrix = Matrix::new(&stored(&dense, format)).unwrap();
        for which in [Which::Smallest, Which::Largest] {
            let what = format!("{format}, {which:?}");
            let pairs = lobpcg(&matrix, 24, 3, which, options()).unwrap();
            check(&dense, &pairs, &what);
            for (k, value) in pairs.values.iter().enumerate() {
                let expected = values[if which == Which::Smallest { k } else { 23 - k }];
                let near = (value.size() - expected.abs()).abs() / 500.0;
                assert!(near < T::CLOSE, "{what}: {value} is not {expected}");
            }
        }
        let pair = power_iteration(&matrix, 24, options()).unwrap();
        check(&dense, &pair, format);
        assert!((pair.values[0].size() - values[23]).abs() < T::CLOSE * 500.0, "{format}");
    }
}

#[test]
fn known_values_are_found_in_double_precision() {
    known_values_are_found::<f64>();
}

#[test]
fn known_values_are_found_in_single_precision() {
    known_values_are_found::<f32>();
}

#[test]
fn known_values_are_found_in_complex_numbers() {
    known_values_are_found::<Complex<f64>>();
}

#[test]
fn rounding_of_directions_that_nearly_depend_on_each_other_does_not_grow() {
    let mut random = Random::fresh();
    for _ in 0..100 {
        let values: Vec<f64> = (0..24).map(|k| f64::from(k * k) + random.number() / 4.0).collect();
        let dense = with_values::<f32>(&mut random, &values);
        let matrix = Matrix::new(&stored(&dense, "CSR")).unwrap();
        let options = Options::new().tolerance(1e-3);
        check(&dense, &lobpcg(&matrix, 24, 3, Which::Smallest, options).unwrap(), "smallest");
    }
}

#[test]
fn the_grid_has_the_values_of_its_sines() {
    let coo = ust::generate::generate("gen:poisson2d(25)").unwrap();
    let a = Tensor::from_coo(&coo, "DIA").unwrap();
    let dense = a.to_dense::<f64>().unwrap().into_dimensionality().unwrap();
    let sine = |k: i32| 4.0 * (PI * f64::from(k) / 52.0).sin().powi(2);
    let mut expected: Vec<f64> = (1..26)
        .flat_map(|i| (1..26).map(move |j| (i, j)))
        .map(|(i, j)| sine(i) + sine(j))
        .collect();
    expected.sort_by(f64::total_cmp);
    let (matrix, ilu, jacobi) =
        (Matrix::new(&a).unwrap(), Ilu0::new(&a).unwrap(), Jacobi::new(&a).unwrap());
    // The second value is the third: a pair of vectors spans its space.
    let solve = |options: Options<'_, f64>| {
        let pairs = lobpcg(&matrix, 625, 6, Which::Smallest, options.tolerance(1e-9)).unwrap();
        check(&dense, &pairs, "smallest");
        for (found, expected) in pairs.values.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
        }
        pairs.iterations
    };
    let plain = solve(Options::new());
    assert!(solve(Options::new().preconditioner(&ilu)) < plain);
    solve(Options::new().preconditioner(&jacobi));
}

#[test]
fn all_pairs_of_a_small_matrix_are_found() {
    let mut random = Random::fresh();
    let values = [-3.0, -1.0, 0.5, 2.0];
    let dense = with_values::<f64>(&mut random, &values);
    let matrix = Matrix::new(&stored(&dense, "CSR")).unwrap();
    for count in 1..5 {
        let pairs = lobpcg(&matrix, 4, count, Which::Smallest, Options::new()).unwrap();
        check(&dense, &pairs, &format!("{count} of 4"));
        let near =
            pairs.values.iter().zip(&values).all(|(found, value)| (found - value).abs() < 1e-8);
        assert!(near && pairs.values.len() == count);
    }
}

#[test]
fn methods_for_eigenvalues_stop_and_refuse() {
    let a =
        Matrix::<f64>::new(&Tensor::diags((4, 4), &[(0, &[1.0, 2.0, 3.0, 4.0])], "CSR").unwrap());
    let a = a.unwrap();
    for count in [0, 5] {
        let error = lobpcg(&a, 4, count, Which::Largest, Options::new()).unwrap_err();
        assert!(matches!(error, SolveError::Argument(_)), "{error}");
    }
    let error = power_iteration(&a, 4, Options::new().start(&[0.0; 4])).unwrap_err();
    assert!(matches!(error, SolveError::Argument(_)), "{error}");
    let error = lobpcg(&a, 4, 2, Which::Largest, Options::new().start(&[1.0; 4])).unwrap_err();
    assert!(matches!(error, SolveError::Length { expected: 8, found: 4, .. }), "{error}");
    let few = || Options::new().tolerance(1e-14).max_iterations(3);
    let power = power_iteration(&a, 4, few()).unwrap();
    assert_eq!((power.stop, power.iterations), (Stop::MaxIterations, 3));

    let nothing = |_: &[f64], y: &mut [f64]| -> Result<(), SolveError> {
        y.fill(f64::NAN);
        Ok(())
    };
    let not_finite = Stop::Breakdown(Breakdown::NotFinite);
    assert_eq!(power_iteration(&nothing, 4, Options::new()).unwrap().stop, not_finite);
    assert_eq!(lobpcg(&nothing, 4, 2, Which::Largest, Options::new()).unwrap().stop, not_finite);
    // Not even rounding leaves so little.
    let options = Options::new().tolerance(0.0).max_iterations(100_000);
    let grid =
        Tensor::from_coo(&ust::generate::generate("gen:poisson2d(9)").unwrap(), "CSR").unwrap();
    let grid = Matrix::<f64>::new(&grid).unwrap();
    let pairs = lobpcg(&grid, 81, 2, Which::Smallest, options).unwrap();
    assert!(pairs.iterations < 100_000 && pairs.residuals.iter().all(|&r| r < 1e-10));
}

#[test]
fn vectors_that_are_given_are_where_it_starts() {
    let mut random = Random::fresh();
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    let dense = with_values::<f64>(&mut random, &values);
    let matrix = Matrix::new(&stored(&dense, "COO")).unwrap();
    let found = lobpcg(&matrix, 20, 2, Which::Largest, Options::new()).unwrap();
    let start = found.vectors.concat();
    let again = lobpcg(&matrix, 20, 2, Which::Largest, Options::new().start(&start)).unwrap();
    check(&dense, &again, "again");
    assert!(again.iterations == 0 && found.iterations > 0);
    // What depends on others, or is no number, is replaced.
    let useless = [vec![1.0; 40], vec![f64::NAN; 40]];
    for start in &useless {
        let options = Options::new().start(start);
        check(&dense, &lobpcg(&matrix, 20, 2, Which::Largest, options).unwrap(), "useless");
    }
}
