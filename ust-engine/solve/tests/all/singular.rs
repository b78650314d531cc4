//! Singular values, of matrices that are made of given ones.

use ust::ndarray::Array2;
use ust::solve::{Options, SingularTriplets, SolveError, Stop, svd};
use ust::{Complex, Tensor};

use crate::oracle::{FORMATS, Kind, Random, norm, product, stored};

/// `I - 2 v v^H / v^H v` of a random vector.
fn reflection<T: Kind>(random: &mut Random, n: usize) -> Array2<T> {
    let v = random.vector::<T>(n);
    let two = T::from_parts(2.0 / norm(&v).powi(2), 0.0);
    Array2::from_shape_fn((n, n), |(i, j)| {
        let one = if i == j { T::one() } else { T::zero() };
        one - two * v[i] * v[j].conj()
    })
}

/// A matrix with these singular values.
fn with_values<T: Kind>(random: &mut Random, [m, n]: [usize; 2], values: &[f64]) -> Array2<T> {
    let (u, v) = (reflection::<T>(random, m), reflection::<T>(random, n));
    Array2::from_shape_fn((m, n), |(i, j)| {
        values.iter().enumerate().fold(T::zero(), |sum, (k, &value)| {
            sum + u[(i, k)] * T::from_parts(value, 0.0) * v[(j, k)].conj()
        })
    })
}

fn adjoint<T: Kind>(a: &Array2<T>) -> Array2<T> {
    Array2::from_shape_fn((a.ncols(), a.nrows()), |(i, j)| a[(j, i)].conj())
}

/// The residuals are what they are said to be, values are the expected ones, and vectors orthonormal.
fn check<T: Kind>(a: &Array2<T>, found: &SingularTriplets<T>, expected: &[f64], what: &str) {
    assert!(found.converged(), "{what}: {:?} {:?}", found.stop, found.residuals);
    assert_eq!(found.values.len(), expected.len(), "{what}");
    let close = T::CLOSE * expected.first().unwrap_or(&0.0);
    for (at, &value) in found.values.iter().enumerate() {
        assert!((value - expected[at]).abs() < close, "{what}: {value}, not {}", expected[at]);
        let (u, v) = (&found.left[at], &found.right[at]);
        let apart = |image: Vec<T>, vector: &[T]| {
            let scaled = vector.iter().map(|&x| x * T::from_parts(value, 0.0));
            norm(&image.into_iter().zip(scaled).map(|(y, x)| y - x).collect::<Vec<T>>())
        };
        let rest = apart(product(a, v), u).max(apart(product(&adjoint(a), u), v));
        assert!(
            rest < close && (rest - found.residuals[at]).abs() < 1e-2 * close,
            "{what}: {rest}"
        );
        for vectors in [&found.left, &found.right] {
            for (other, w) in vectors.iter().enumerate() {
                let pairs = w.iter().zip(&vectors[at]);
                let along = pairs.fold(T::zero(), |sum, (&w, &v)| sum + w.conj() * v);
                let expected = if at == other { T::one() } else { T::zero() };
                assert!((along - expected).size() < 10.0 * T::CLOSE, "{what}: {at}, {other}");
            }
        }
    }
}

fn known_values_are_found<T: Kind>() {
    let mut random = Random::fresh();
    let values: Vec<f64> =
        (0..11).map(|k| 30.0 / f64::from(1 + k * k) + random.number() / 20.0).collect();
    for shape in [[17, 11], [11, 17], [11, 11]] {
        let dense = with_values::<T>(&mut random, shape, &values);
        for format in FORMATS {
            let found =
                svd(&stored(&dense, format), 3, Options::new().tolerance(T::CLOSE)).unwrap();
            check(&dense, &found, &values[..3], &format!("{shape:?} {format}"));
        }
    }
}

#[test]
fn known_values_are_found_in_every_format_and_of_every_type() {
    known_values_are_found::<f64>();
    known_values_are_found::<f32>();
    known_values_are_found::<Complex<f64>>();
}

#[test]
fn values_that_occur_several_times_are_found_as_often() {
    let mut random = Random::fresh();
    let values = [5.0, 5.0, 5.0, 1.0, 0.5, 0.1];
    let dense = with_values::<f64>(&mut random, [30, 20], &values);
    let found = svd(&stored(&dense, "CSR"), 4, Options::new()).unwrap();
    check(&dense, &found, &values[..4], "multiple");
}

#[test]
fn small_values_lose_no_digits() {
    let mut random = Random::fresh();
    // Those of `A^H A` would be lost to rounding.
    let values = [1.0, 1e-9];
    let dense = with_values::<f64>(&mut random, [9, 7], &values);
    let found = svd::<f64>(&stored(&dense, "CSR"), 2, Options::new().tolerance(1e-14)).unwrap();
    assert!((found.values[1] - 1e-9).abs() < 1e-14, "{:?}", found.values);
}

#[test]
fn values_that_are_zero_are_left_out() {
    let mut random = Random::fresh();
    let dense = with_values::<f64>(&mut random, [12, 10], &[3.0, 2.0]);
    let found = svd(&stored(&dense, "CSC"), 4, Options::new()).unwrap();
    check(&dense, &found, &[3.0, 2.0], "two of four");
    let none = Tensor::csr((3, 2), [0, 0, 0, 0], Vec::<u32>::new(), Vec::<f64>::new()).unwrap();
    let found = svd::<f64>(&none, 2, Options::new()).unwrap();
    assert!(found.converged() && found.values.is_empty());
    let whole =
        svd::<f64>(&Tensor::diags((1, 1), &[(0, &[-2.0])], "CSR").unwrap(), 1, Options::new());
    assert!((whole.unwrap().values[0] - 2.0).abs() < 1e-12);
}

#[test]
fn a_method_that_did_not_converge_says_so() {
    let mut random = Random::fresh();
    let dense = random.dominant::<f64>(40);
    let a = stored(&dense, "CSR");
    let found = svd::<f64>(&a, 2, Options::new().tolerance(1e-13).max_iterations(1)).unwrap();
    assert_eq!((found.stop, found.converged()), (Stop::MaxIterations, false));
    assert!(found.residuals.iter().all(|&residual| residual > 1e-13 * found.values[0]));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let a = Tensor::diags((3, 2), &[(0, &[1.0])], "CSR").unwrap();
    for count in [0, 3] {
        let error = svd::<f64>(&a, count, Options::new()).unwrap_err();
        assert!(matches!(error, SolveError::Argument(_)), "{error}");
    }
    let start = svd::<f64>(&a, 1, Options::new().start(&[1.0; 3])).unwrap_err();
    assert!(matches!(start, SolveError::Length { expected: 5, found: 3, .. }), "{start}");
    let vector = Tensor::constant(&[3], 1.0).unwrap();
    assert!(matches!(svd::<f64>(&vector, 1, Options::new()), Err(SolveError::Argument(_))));
}
