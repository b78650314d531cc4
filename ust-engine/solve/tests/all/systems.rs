//! Every method solves what it is made for, in every format, number and precision.

use ust::ndarray::Array2;
use ust::solve::{
    Identity, Ilu0, Jacobi, Matrix, Operator, Options, Solution, SolveError, bicgstab, cg, gmres,
};
use ust::{Complex, Tensor};

use crate::oracle::{FORMATS, Kind, Random, apart, eliminate, norm, product, stored};

/// The solution is the oracle's, and the residual is what it is said to be.
fn check<T: Kind>(a: &Array2<T>, b: &[T], solution: &Solution<T>, what: &str) {
    assert!(solution.converged(), "{what}: {:?}, {:?}", solution.stop, solution.history);
    assert!(apart(&solution.x, &eliminate(a, b)) <= T::CLOSE, "{what}");
    let image = product(a, &solution.x);
    let residual: Vec<T> = b.iter().zip(&image).map(|(&b, &y)| b - y).collect();
    let near = (norm(&residual) - solution.residual).abs();
    assert!(near <= 1e-2 * T::CLOSE * norm(b), "{what}: {near}");
    assert!(solution.residual <= tolerance::<T>() * norm(b), "{what}");
    assert_eq!(solution.history.len(), solution.iterations + 1, "{what}");
}

fn tolerance<T: Kind>() -> f64 {
    T::CLOSE * 1e-2
}

fn options<'a, T: Kind>() -> Options<'a, T> {
    Options::new().tolerance(tolerance::<T>())
}

fn formats_solve<T: Kind>() {
    let mut random = Random::fresh();
    let (definite, general) = (random.definite::<T>(17), random.dominant::<T>(17));
    let b = random.vector::<T>(17);
    for format in FORMATS {
        let matrix = Matrix::new(&stored(&definite, format)).unwrap();
        check(&definite, &b, &cg(&matrix, &b, options()).unwrap(), &format!("cg, {format}"));
        let matrix = Matrix::new(&stored(&general, format)).unwrap();
        let solution = bicgstab(&matrix, &b, options()).unwrap();
        check(&general, &b, &solution, &format!("bicgstab, {format}"));
        for restart in [3, 8, 100] {
            let solution = gmres(&matrix, &b, restart, options()).unwrap();
            check(&general, &b, &solution, &format!("gmres({restart}), {format}"));
        }
    }
}

#[test]
fn every_format_is_solved_in_double_precision() {
    formats_solve::<f64>();
}

#[test]
fn every_format_is_solved_in_single_precision() {
    formats_solve::<f32>();
}

#[test]
fn every_format_is_solved_in_complex_numbers() {
    formats_solve::<Complex<f64>>();
}

#[test]
fn preconditioners_change_the_way_and_not_the_solution() {
    let mut random = Random::fresh();
    let (mut definite, mut general) = (random.definite::<f64>(40), random.dominant::<f64>(40));
    // Rows of very different sizes, which a preconditioner evens out.
    for at in 0..40 {
        let factor = 10_f64.powf(2.0 * random.number());
        definite.row_mut(at).iter_mut().for_each(|x| *x *= factor);
        definite.column_mut(at).iter_mut().for_each(|x| *x *= factor);
        general.row_mut(at).iter_mut().for_each(|x| *x *= factor);
    }
    let b = random.vector::<f64>(40);
    let (a, general_csr) = (stored(&definite, "CSC"), stored(&general, "COO"));
    let (matrix, other) = (Matrix::new(&a).unwrap(), Matrix::new(&general_csr).unwrap());
    let scaled = |x: &[f64], y: &mut [f64]| -> Result<(), SolveError> {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = 0.5 * x);
        Ok(())
    };
    let of = |tensor: &Tensor| -> Vec<(&str, Box<dyn Operator<f64>>)> {
        vec![
            ("identity", Box::new(Identity)),
            ("closure", Box::new(scaled)),
            ("jacobi", Box::new(Jacobi::new(tensor).unwrap())),
            ("ilu", Box::new(Ilu0::new(tensor).unwrap())),
        ]
    };
    let options = || Options::new().tolerance(1e-12);
    let (of_definite, of_general) = (of(&a), of(&general_csr));
    for (name, inverse) in &of_definite {
        let solution = cg(&matrix, &b, options().preconditioner(&**inverse)).unwrap();
        let residual = apart(&product(&definite, &solution.x), &b);
        assert!(residual <= 2e-12, "cg, {name}: {residual}, {:?}", solution.stop);
    }
    for (name, inverse) in &of_general {
        let each = [
            bicgstab(&other, &b, options().preconditioner(&**inverse)),
            gmres(&other, &b, 40, options().preconditioner(&**inverse)),
        ];
        for solution in each {
            let solution = solution.unwrap();
            let residual = apart(&product(&general, &solution.x), &b);
            assert!(residual <= 2e-12, "{name}: {residual}, {:?}", solution.stop);
        }
    }
}

#[test]
fn a_better_preconditioner_takes_fewer_iterations() {
    let coo = ust::generate::generate("gen:poisson2d(40)").unwrap();
    let a = Tensor::from_coo(&coo, "DIA").unwrap();
    let matrix = Matrix::new(&a).unwrap();
    let b = Random::fresh().vector::<f64>(1600);
    let ilu = Ilu0::new(&a).unwrap();
    for restart in [0, 30] {
        let solve = |options: Options<'_, f64>| match restart {
            0 => cg(&matrix, &b, options).unwrap(),
            _ => gmres(&matrix, &b, restart, options).unwrap(),
        };
        let (plain, better) = (solve(Options::new()), solve(Options::new().preconditioner(&ilu)));
        assert!(plain.converged() && better.converged());
        assert!(2 * better.iterations < plain.iterations, "{restart}");
    }
}

#[test]
fn without_fill_in_the_incomplete_factorization_is_complete() {
    let mut random = Random::fresh();
    let n = 30;
    let dense = Array2::from_shape_fn((n, n), |(i, j)| match i.abs_diff(j) {
        0 => 5.0 + random.number(),
        1 => random.number(),
        _ => 0.0,
    });
    let b = random.vector::<f64>(n);
    let mut x = vec![0.0; n];
    Ilu0::new(&stored(&dense, "DIA")).unwrap().apply(&b, &mut x).unwrap();
    assert!(apart(&x, &eliminate(&dense, &b)) < 1e-12);
}

#[test]
fn incomplete_factors_agree_with_the_matrix_where_it_has_entries() {
    let mut random = Random::fresh();
    let n = 25;
    let dense = random.dominant::<Complex<f64>>(n);
    let ilu = Ilu0::new(&stored(&dense, "CSR")).unwrap();
    // The inverse of the product of the factors, column by column; then the product itself.
    let mut inverse = Array2::from_elem((n, n), Complex::ZERO);
    for j in 0..n {
        let (mut unit, mut column) = (vec![Complex::ZERO; n], vec![Complex::ZERO; n]);
        unit[j] = Complex::ONE;
        ilu.apply(&unit, &mut column).unwrap();
        inverse.column_mut(j).iter_mut().zip(column).for_each(|(to, from)| *to = from);
    }
    for j in 0..n {
        let mut unit = vec![Complex::ZERO; n];
        unit[j] = Complex::ONE;
        for (i, found) in eliminate(&inverse, &unit).into_iter().enumerate() {
            if dense[(i, j)] != Complex::ZERO {
                assert!((found - dense[(i, j)]).norm() < 1e-10, "({i}, {j})");
            }
        }
    }
}

#[test]
fn a_slice_is_solved_like_any_matrix() {
    let mut random = Random::fresh();
    let dense = random.dominant::<f64>(20);
    let b = random.vector::<f64>(10);
    let part = dense.slice(ust::ndarray::s![..;2, ..;2]).to_owned();
    for format in ["CSR", "CSC", "DIA"] {
        let window = ust::tensor::Window { offset: 0, size: 10, stride: 2 };
        let slice = stored(&dense, format).slice([window, window]).unwrap();
        let matrix = Matrix::new(&slice).unwrap();
        let ilu = Ilu0::new(&slice).unwrap();
        let solution = gmres(&matrix, &b, 10, options::<f64>().preconditioner(&ilu)).unwrap();
        check(&part, &b, &solution, format);
    }
}

#[test]
fn minimal_residuals_are_what_they_are_said_to_be() {
    let mut random = Random::fresh();
    let dense = Array2::from_shape_vec((12, 12), random.vector::<Complex<f64>>(144)).unwrap();
    let b = random.vector::<Complex<f64>>(12);
    let matrix = Matrix::new(&stored(&dense, "Dense")).unwrap();
    for iterations in 1..12 {
        let options = Options::new().max_iterations(iterations);
        let solution = gmres(&matrix, &b, 12, options).unwrap();
        let said = *solution.history.last().unwrap();
        assert!((said - solution.residual).abs() < 1e-10 * norm(&b), "{iterations}");
        assert!(solution.history.is_sorted_by(|a, b| a >= b), "{:?}", solution.history);
    }
}

#[test]
fn a_good_start_saves_iterations() {
    let mut random = Random::fresh();
    let dense = random.definite::<f64>(30);
    let matrix = Matrix::new(&stored(&dense, "CSR")).unwrap();
    let b = random.vector::<f64>(30);
    let exact = eliminate(&dense, &b);
    let solution = cg(&matrix, &b, Options::new().start(&exact)).unwrap();
    assert!(solution.converged() && solution.iterations == 0);
    assert_eq!(solution.x, exact);
    let near: Vec<f64> = exact.iter().map(|x| x + 1e-3 * random.number()).collect();
    check(&dense, &b, &cg(&matrix, &b, options().start(&near)).unwrap(), "a near start");
}
