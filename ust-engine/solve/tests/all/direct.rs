//! Direct methods, against elimination.

use ust::ndarray::{Array2, array};
use ust::solve::direct::{Columns, Factorization};
use ust::solve::{Matrix, Options, SolveError, gmres};
use ust::{Complex, Tensor};

use crate::oracle::{FORMATS, Random, apart, eliminate, norm, product, stored};

#[test]
fn factorizations_solve_in_every_format() {
    let mut random = Random::fresh();
    let (general, definite) = (random.dominant::<f64>(23), random.definite::<f64>(23));
    let b = random.vector::<f64>(23);
    for format in FORMATS {
        let a = stored(&general, format);
        let expected = eliminate(&general, &b);
        let each = [Factorization::lu(&a).unwrap(), Factorization::qr(&a).unwrap()];
        for factors in &each {
            assert!(apart(&factors.solve(&b).unwrap(), &expected) < 1e-10, "{format}");
        }
        let x = Factorization::cholesky(&stored(&definite, format)).unwrap().solve(&b).unwrap();
        assert!(apart(&x, &eliminate(&definite, &b)) < 1e-8, "{format}");
        let options = Options::new().preconditioner(&each[0]);
        let solution = gmres(&Matrix::new(&a).unwrap(), &b, 5, options).unwrap();
        assert!(solution.converged() && solution.iterations == 1, "{format}");
    }
}

#[test]
fn factorizations_solve_in_complex_numbers() {
    let mut random = Random::fresh();
    let definite = random.definite::<Complex<f64>>(15);
    let b = random.vector::<Complex<f64>>(15);
    let a = stored(&definite, "CSC");
    for factors in [Factorization::lu(&a), Factorization::cholesky(&a), Factorization::qr(&a)] {
        assert!(apart(&factors.unwrap().solve(&b).unwrap(), &eliminate(&definite, &b)) < 1e-8);
    }
}

#[test]
fn least_squares_leave_a_residual_that_is_orthogonal_to_the_columns() {
    let mut random = Random::fresh();
    let tall = Array2::from_shape_fn((30, 7), |(i, j)| match (i * 7 + j) % 3 {
        0 => random.number(),
        _ => f64::from(u8::from(i == j)),
    });
    let b = random.vector::<f64>(30);
    let x = Factorization::qr(&stored(&tall, "CSR")).unwrap().solve(&b).unwrap();
    let rest: Vec<f64> = b.iter().zip(product(&tall, &x)).map(|(b, y)| b - y).collect();
    assert_eq!(x.len(), 7);
    assert!(norm(&product(&tall.t().to_owned(), &rest)) < 1e-12 * norm(&b));
    assert!(norm(&rest) > 0.1);
}

#[test]
fn columns_share_the_arrays_of_a_tensor() {
    let coo = ust::generate::generate("gen:random(40x30, nnz=200, seed=5)").unwrap();
    let a = Tensor::from_coo(&coo, "CSC").unwrap();
    let columns = Columns::<f64>::new(&a).unwrap();
    assert_eq!(columns.as_faer().val().as_ptr(), a.values().typed::<f64>().unwrap().as_ptr());
    let rows = Columns::<f64>::new(&a.convert("CSR").unwrap()).unwrap();
    assert_eq!(rows.as_faer().to_dense(), columns.as_faer().to_dense());
    let whole = Tensor::diags((3, 3), &[(0, &[2_i32])], "DIA").unwrap();
    assert_eq!(Columns::<f64>::new(&whole).unwrap().as_faer().val(), [2.0; 3]);
}

#[test]
fn matrices_that_cannot_be_factored_are_refused() {
    let indefinite = stored(&array![[1.0, 2.0], [2.0, 1.0]], "CSR");
    let error = Factorization::<f64>::cholesky(&indefinite).unwrap_err();
    assert!(matches!(error, SolveError::Factorization(_)), "{error}");
    for singular in [array![[1.0, 2.0], [2.0, 4.0]], array![[1.0, 0.0], [0.0, 0.0]]] {
        let x =
            Factorization::lu(&stored(&singular, "CSR")).and_then(|lu| lu.solve(&[1.0_f64, 1.0]));
        assert!(matches!(x, Err(SolveError::Factorization(_))), "{x:?}");
    }
    let wide = Tensor::diags((2, 3), &[(0, &[1.0])], "CSR").unwrap();
    assert!(matches!(Factorization::<f64>::lu(&wide), Err(SolveError::NotSquare { .. })));
    assert!(matches!(Factorization::<f64>::qr(&wide), Err(SolveError::Argument(_))));
    let lu = Factorization::<f64>::lu(&indefinite).unwrap();
    assert!(matches!(lu.solve(&[1.0; 3]), Err(SolveError::Length { .. })));
}
