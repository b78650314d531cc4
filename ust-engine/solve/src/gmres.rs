//! Generalised minimal residuals.

use std::ops::ControlFlow;

use crate::cg::zeros;
use crate::cycle::{self, End, Progress};
use crate::error::SolveError;
use crate::number::{Number, add_scaled, dot, epsilon, magnitude, norm, real, scale};
use crate::operator::Operator;
use crate::options::{Breakdown, Options, Solution};

/// A pivot that is so many roundings of its column, or fewer, is zero.
const DEPENDENT: f64 = 100.0;

/// Solves `A x = b` by generalised minimal residuals, for any square matrix, and starts afresh every `restart`
/// iterations. `x` has the length of `b`.
///
/// The preconditioner stands on the right of the matrix, so that residuals are those of the system. Iteration `n` of a
/// cycle costs a product, a preconditioner, and about `4 n` passes over vectors (modified Gram-Schmidt). Memory:
/// `restart + 4` vectors. Without a restart, the residual never grows, and is exact after as many iterations as there
/// are rows; with one, the method may stand still.
///
/// Saad and Schultz, *GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems*, 1986.
///
/// ```
/// use ust::solve::{Ilu0, Matrix, Options, gmres};
/// let a = ust::Tensor::diags((99, 99), &[(0, &[2.0]), (1, &[-1.5]), (-1, &[-0.5])], "COO")?;
/// let (matrix, ilu) = (Matrix::new(&a)?, Ilu0::new(&a)?);
/// let solution = gmres(&matrix, &[1.0; 99], 30, Options::new().preconditioner(&ilu))?;
/// assert!(solution.converged());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`cg`](crate::cg); [`SolveError::Argument`] for a restart of zero.
pub fn gmres<T: Number>(
    a: &dyn Operator<T>,
    b: &[T],
    restart: usize,
    options: Options<'_, T>,
) -> Result<Solution<T>, SolveError> {
    if restart == 0 {
        return Err(SolveError::Argument("a cycle of GMRES has at least one iteration".to_owned()));
    }
    let restart = restart.min(b.len());
    let (mut z, mut w) = (zeros(b), zeros(b));
    let mut basis: Vec<Vec<T>> = Vec::new();
    cycle::run(a, b, options, |x, r, options, progress| {
        let mut triangle = Triangle::new(norm(r));
        scale(r, real(1.0 / triangle.residual()));
        put(&mut basis, 0, r);
        let end = loop {
            let n = triangle.columns.len();
            options.precondition(&basis[n], &mut z)?;
            a.apply(&z, &mut w)?;
            let size = norm(&w);
            let mut column = Vec::with_capacity(n + 2);
            for v in &basis[..=n] {
                let along = dot(v, &w);
                add_scaled(&mut w, -along, v);
                column.push(along);
            }
            let rest = norm(&w);
            triangle.push(column, rest);
            if let Some(end) = ended(&mut triangle, options, progress, size) {
                break end;
            }
            if n + 1 == restart || rest <= epsilon::<T>() * size {
                break End::Full;
            }
            scale(&mut w, real(1.0 / rest));
            put(&mut basis, n + 1, &w);
        };
        if matches!(end, End::Broken(Breakdown::NotFinite)) {
            return Ok(end);
        }
        let weights = triangle.solve();
        w.fill(T::zero());
        basis.iter().zip(weights).for_each(|(v, weight)| add_scaled(&mut w, weight, v));
        options.precondition(&w, &mut z)?;
        add_scaled(x, T::one(), &z);
        Ok(end)
    })
}

/// Notes the iteration. The end of the cycle, if it was the last, or the new column depends on those before.
fn ended<T: Number>(
    triangle: &mut Triangle<T>,
    options: &mut Options<'_, T>,
    progress: &mut Progress,
    size: f64,
) -> Option<End> {
    let pivot = triangle.pivot();
    if pivot <= DEPENDENT * epsilon::<T>() * size {
        // A column that adds nothing to what the matrix reaches: it is singular on this space.
        triangle.pop();
        let counted = progress.count(options, triangle.residual());
        return Some(match counted {
            ControlFlow::Break(end) => end,
            ControlFlow::Continue(()) => End::Broken(Breakdown::Stagnation),
        });
    }
    match progress.count(options, triangle.residual()) {
        ControlFlow::Break(end) => Some(end),
        ControlFlow::Continue(()) => None,
    }
}

/// Writes a vector to its place among others.
fn put<T: Number>(basis: &mut Vec<Vec<T>>, at: usize, vector: &[T]) {
    match basis.get_mut(at) {
        Some(place) => place.copy_from_slice(vector),
        None => basis.push(vector.to_vec()),
    }
}

/// The Hessenberg matrix of a cycle, rotated to an upper triangle as it grows, and the rotated right-hand side.
struct Triangle<T> {
    columns: Vec<Vec<T>>,
    /// Cosine and sine of the rotation that each column brought.
    rotations: Vec<(T, T)>,
    right: Vec<T>,
}

impl<T: Number> Triangle<T> {
    fn new(residual: f64) -> Self {
        Self { columns: Vec::new(), rotations: Vec::new(), right: vec![real(residual)] }
    }

    /// The norm of the residual of the best solution.
    fn residual(&self) -> f64 {
        self.right.last().map_or(0.0, |&last| magnitude(last))
    }

    /// The last element of the diagonal.
    fn pivot(&self) -> f64 {
        self.columns.last().and_then(|column| column.last()).map_or(0.0, |&pivot| magnitude(pivot))
    }

    /// Adds a column of the Hessenberg matrix, whose element below the diagonal is real.
    fn push(&mut self, mut column: Vec<T>, below: f64) {
        for (row, &(cosine, sine)) in self.rotations.iter().enumerate() {
            let (upper, lower) = (column[row], column[row + 1]);
            column[row] = cosine * upper + sine * lower;
            column[row + 1] = cosine * lower - sine.conj() * upper;
        }
        let n = self.columns.len();
        let size = magnitude(column[n]);
        let length = size.hypot(below);
        let phase = if size == 0.0 { T::one() } else { column[n] / real(size) };
        let (cosine, sine) = match length == 0.0 {
            true => (T::one(), T::zero()),
            false => (real(size / length), phase * real(below / length)),
        };
        column[n] = phase * real(length);
        let last = self.right[n];
        self.right[n] = cosine * last;
        self.right.push(-sine.conj() * last);
        self.rotations.push((cosine, sine));
        self.columns.push(column);
    }

    /// Takes the last column back.
    fn pop(&mut self) {
        self.columns.pop();
        let rotation = self.rotations.pop();
        let below = self.right.pop();
        if let (Some((cosine, sine)), Some(below), Some(last)) =
            (rotation, below, self.right.last_mut())
        {
            *last = cosine * *last - sine * below;
        }
    }

    /// The weights of the vectors of the basis.
    fn solve(&self) -> Vec<T> {
        let n = self.columns.len();
        let mut weights = self.right[..n].to_vec();
        for at in (0..n).rev() {
            let (above, rest) = weights.split_at_mut(at);
            let column = &self.columns[at];
            rest[0] = rest[0] / column[at];
            add_scaled(above, -rest[0], column);
        }
        weights
    }
}
