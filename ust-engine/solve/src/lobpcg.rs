//! Locally optimal block preconditioned conjugate gradients.

use std::ops::ControlFlow;

use crate::cycle::{End, Progress};
use crate::eigen::{Eigenpairs, noise};
use crate::error::SolveError;
use crate::number::{Number, add_scaled, dot, epsilon, norm, real, scale};
use crate::operator::Operator;
use crate::options::{Breakdown, Options};
use crate::rotations;

/// A residual of so many roundings of a product does not get smaller.
const ROUNDINGS: f64 = 4.0;

/// Passes that make a vector orthogonal to others, at most. Another one follows where little of the vector was left:
/// what is subtracted is exact to rounding of the whole.
const PASSES: usize = 3;
/// A vector of which no more than so many roundings are left depends on the others.
const DEPENDENT: f64 = 100.0;
/// The part of a vector that has to be left for its image to be carried along: rounding grows by its inverse.
const CARRIED: f64 = 0.1;

/// Which eigenvalues are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The smallest, in ascending order.
    Smallest,
    /// The largest, in descending order.
    Largest,
}

/// The `count` smallest or largest eigenvalues of a Hermitian matrix with `size` rows, and orthonormal eigenvectors.
///
/// An iteration costs a product and a preconditioner for each pair that has not converged, `O(count^2 size)` to make
/// `3 count` vectors orthonormal and to combine them, and an eigenproblem of `3 count` rows. Memory: about
/// `10 count` vectors. The preconditioner is an approximate inverse of the matrix, Hermitian and positive definite; it
/// is what makes the method quick for the smallest eigenvalues. Ask for a few pairs more than needed where the last
/// ones converge slowly.
///
/// Knyazev, *Toward the optimal preconditioned eigensolver*, 2001; with an orthonormal basis, as Hetmaniuk and
/// Lehoucq, *Basis selection in LOBPCG*, 2006.
///
/// ```
/// use ust::solve::{Ilu0, Matrix, Options, Which, lobpcg};
/// use ust::{Tensor, generate::generate};
/// let a = Tensor::from_coo(&generate("gen:poisson2d(15)")?, "CSR")?;
/// let matrix = Matrix::<f64>::new(&a)?;
/// let ilu = Ilu0::new(&a)?;
/// let options = Options::new().preconditioner(&ilu);
/// let pairs = lobpcg(&matrix, 225, 3, Which::Smallest, options)?;
/// let smallest = 8.0 * (std::f64::consts::PI / 32.0).sin().powi(2);
/// assert!(pairs.converged() && (pairs.values[0] - smallest).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the operator and the preconditioner; [`SolveError::Argument`] for more pairs than rows, none, or a
/// tolerance that makes no sense; [`SolveError::Length`] for a start that has not `count * size` elements.
pub fn lobpcg<T: Number>(
    a: &dyn Operator<T>,
    size: usize,
    count: usize,
    which: Which,
    mut options: Options<'_, T>,
) -> Result<Eigenpairs<T>, SolveError> {
    if count == 0 || count > size {
        let text = format!("a matrix with {size} rows has no {count} pairs to look for");
        return Err(SolveError::Argument(text));
    }
    options.check(count.saturating_mul(size))?;
    let mut space: Space<T> = Space::new();
    let given = options.start.into_iter().flat_map(|x| x.chunks(size).map(<[T]>::to_vec));
    for vector in given.chain((0..).map(|number| noise(size, number))) {
        if space.vectors.len() == count {
            break;
        }
        space.add(a, vector, None)?;
    }
    let mut progress = Progress::new(options.max_iterations);
    // The largest residual when products were last formed anew.
    let mut before = f64::INFINITY;
    // Whether residuals brought something that the space did not have.
    let mut grown = true;
    loop {
        // Unit vectors, so that this is a bound from below of the norm of the matrix.
        let rounding =
            epsilon::<T>() * max(&space.images.iter().map(|y| norm(y)).collect::<Vec<_>>());
        let (values, mut found, mut towards) = space.best(count, which);
        let (mut residuals, mut sizes) = differences(&values, &found);
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        progress.threshold = (options.relative * largest).max(options.absolute);
        let mut end = progress.count(&mut options, max(&sizes));
        let exhausted = !grown || max(&sizes) <= ROUNDINGS * rounding;
        if exhausted || matches!(end, ControlFlow::Break(End::Counted)) {
            found.images.clear();
            found.multiply(a)?;
            (residuals, sizes) = differences(&values, &found);
            let now = max(&sizes);
            if now > progress.threshold && !progress.used_up() && !progress.stopped {
                // Products that were combined have drifted away.
                end = match exhausted || now > 0.5 * before {
                    true => ControlFlow::Break(End::Broken(Breakdown::Stagnation)),
                    false => ControlFlow::Continue(()),
                };
                (before, towards) = (now, Space::new());
            }
        }
        if let ControlFlow::Break(end) = end {
            let stop = progress.stop(&end, max(&sizes));
            let Progress { iterations, history, .. } = progress;
            let (values, vectors) = (values.into_iter().map(real).collect(), found.vectors);
            return Ok(Eigenpairs { values, vectors, residuals: sizes, iterations, history, stop });
        }
        space = found;
        let mut z = vec![T::zero(); size];
        for (residual, &length) in residuals.iter().zip(&sizes) {
            if length > progress.threshold {
                options.precondition(residual, &mut z)?;
                space.add(a, z.clone(), None)?;
            }
        }
        grown = space.vectors.len() > count;
        for (vector, image) in towards.vectors.into_iter().zip(towards.images) {
            space.add(a, vector, Some(image))?;
        }
    }
}

/// The largest number; no number, if one is none.
fn max(sizes: &[f64]) -> f64 {
    sizes.iter().fold(0.0, |max, &size| if size > max || size.is_nan() { size } else { max })
}

/// `A v - value v` for each pair, and its norm.
fn differences<T: Number>(values: &[f64], pairs: &Space<T>) -> (Vec<Vec<T>>, Vec<f64>) {
    let each = values.iter().zip(&pairs.vectors).zip(&pairs.images);
    let residuals: Vec<Vec<T>> = each
        .map(|((&value, vector), image)| {
            let mut residual = image.clone();
            add_scaled(&mut residual, real(-value), vector);
            residual
        })
        .collect();
    let sizes = residuals.iter().map(|residual| norm(residual)).collect();
    (residuals, sizes)
}

/// Orthonormal vectors, and their products with the matrix.
struct Space<T> {
    vectors: Vec<Vec<T>>,
    images: Vec<Vec<T>>,
}

impl<T: Number> Space<T> {
    fn new() -> Self {
        Self { vectors: Vec::new(), images: Vec::new() }
    }

    /// Adds a vector, made orthogonal to those before, unless it depends on them. Without an image, or where little of
    /// the vector is left, its product is formed.
    fn add(
        &mut self,
        a: &dyn Operator<T>,
        mut vector: Vec<T>,
        mut image: Option<Vec<T>>,
    ) -> Result<(), SolveError> {
        let length = norm(&vector);
        if length == 0.0 || !length.is_finite() {
            return Ok(());
        }
        let shrink = real(1.0 / length);
        scale(&mut vector, shrink);
        image.iter_mut().for_each(|image| scale(image, shrink));
        let mut rest = 1.0;
        for _ in 0..PASSES {
            for (other, product) in self.vectors.iter().zip(&self.images) {
                let along = dot(other, &vector);
                add_scaled(&mut vector, -along, other);
                image.iter_mut().for_each(|image| add_scaled(image, -along, product));
            }
            let left = norm(&vector);
            rest *= left;
            if rest.is_nan() || rest <= DEPENDENT * epsilon::<T>() {
                return Ok(());
            }
            let grow = real(1.0 / left);
            scale(&mut vector, grow);
            image.iter_mut().for_each(|image| scale(image, grow));
            if left > 0.5 {
                break;
            }
        }
        self.vectors.push(vector);
        self.images.extend(image.filter(|_| rest > CARRIED));
        self.multiply(a)
    }

    /// Forms the products that are missing.
    fn multiply(&mut self, a: &dyn Operator<T>) -> Result<(), SolveError> {
        for vector in &self.vectors[self.images.len()..] {
            let mut image = vec![T::zero(); vector.len()];
            a.apply(vector, &mut image)?;
            self.images.push(image);
        }
        Ok(())
    }

    /// The best eigenvalues that the space has, their vectors, and what these have of the vectors behind the first
    /// `count`: the directions of the step.
    fn best(&self, count: usize, which: Which) -> (Vec<f64>, Self, Self) {
        let row = |v: &Vec<T>| self.images.iter().map(|image| dot(v, image)).collect();
        let mut pairs = rotations::eigen(self.vectors.iter().map(row).collect());
        if which == Which::Largest {
            pairs.reverse();
        }
        pairs.truncate(count);
        let (values, weights): (Vec<f64>, Vec<Vec<T>>) = pairs.into_iter().unzip();
        (values, self.combined(&weights, 0), self.combined(&weights, count))
    }

    /// Sums of the vectors from number `first` on, each times a weight.
    fn combined(&self, weights: &[Vec<T>], first: usize) -> Self {
        let sums = |vectors: &[Vec<T>]| -> Vec<Vec<T>> {
            let Some(later) = vectors.get(first..).filter(|later| !later.is_empty()) else {
                return Vec::new();
            };
            let sum = |weights: &Vec<T>| {
                let mut sum = vec![T::zero(); later[0].len()];
                later.iter().zip(&weights[first..]).for_each(|(v, &w)| add_scaled(&mut sum, w, v));
                sum
            };
            weights.iter().map(sum).collect()
        };
        Self { vectors: sums(&self.vectors), images: sums(&self.images) }
    }
}
