//! Discretised Laplacians on a grid: `poisson2d`, `poisson3d`, `stencil27`.

use ust_engine::coo::Coo;
use ust_level_api::assemble::fill;

use super::args::{Args, cells};
use super::build::by_rows;
use super::error::GenerateError;

/// A point with its two neighbours along each axis of a plane.
pub(super) fn poisson2d(args: &Args<'_>) -> Result<Coo, GenerateError> {
    Stencil { grid: args.square("grid", 2)?, diagonals: false }.matrix(args)
}

/// A point with its two neighbours along each axis of space.
pub(super) fn poisson3d(args: &Args<'_>) -> Result<Coo, GenerateError> {
    Stencil { grid: args.square("grid", 3)?, diagonals: false }.matrix(args)
}

/// A point with all that touch it, in space.
pub(super) fn stencil27(args: &Args<'_>) -> Result<Coo, GenerateError> {
    Stencil { grid: args.square("grid", 3)?, diagonals: true }.matrix(args)
}

struct Stencil {
    grid: Vec<usize>,
    /// Whether points that differ along more than one axis are neighbours too.
    diagonals: bool,
}

impl Stencil {
    /// One row for each point of the grid: minus one for each neighbour, and on the diagonal as
    /// many as an inner point has neighbours.
    fn matrix(&self, args: &Args<'_>) -> Result<Coo, GenerateError> {
        let points = cells(&self.grid);
        let entries = points.and_then(|points| self.entries(points));
        args.plausible("grid", entries, 2)?;
        let points = points.expect("fewer points than entries") as usize;

        let steps = self.steps();
        let strides = self.strides();
        let [i, j] = by_rows(
            points,
            |row| self.row_length(&self.point(row)),
            |row, columns| {
                let point = self.point(row);
                let inside = steps.iter().filter(|step| self.inside(&point, step));
                for (column, step) in columns.iter_mut().zip(inside) {
                    let away: i64 = step.iter().zip(&strides).map(|(s, stride)| s * stride).sum();
                    *column = row as i64 + away;
                }
            },
        );
        let centre = (steps.len() - 1) as f64;
        let values = fill(i.len(), |n| if i[n] == j[n] { centre } else { -1.0 });
        Ok(Coo { shape: vec![points; 2], crd: vec![i, j], values: values.into() })
    }

    /// How many entries the matrix has, where 128 bits can tell.
    fn entries(&self, points: u128) -> Option<u128> {
        if points == 0 {
            return Some(0);
        }
        if self.diagonals {
            // Along each axis, pairs of coordinates at most one apart.
            return self
                .grid
                .iter()
                .try_fold(1, |product: u128, &n| product.checked_mul(3 * n as u128 - 2));
        }
        // Every point, and for each axis the pairs of neighbours along it, twice.
        self.grid.iter().try_fold(points, |sum, &n| {
            sum.checked_add((points - points / n as u128).checked_mul(2)?)
        })
    }

    /// A point's neighbours and itself, as steps along each axis, in row-major order.
    fn steps(&self) -> Vec<Vec<i64>> {
        let mut steps = vec![Vec::new()];
        for _ in &self.grid {
            let longer = |step: Vec<i64>| [-1, 0, 1].map(|s| [&step[..], &[s]].concat());
            steps = steps.into_iter().flat_map(longer).collect();
        }
        let axes = |step: &Vec<i64>| step.iter().filter(|&&s| s != 0).count();
        steps.retain(|step| self.diagonals || axes(step) <= 1);
        steps
    }

    /// How far apart, in rows, the neighbours along each axis are.
    fn strides(&self) -> Vec<i64> {
        let after = |axis: usize| self.grid[axis + 1..].iter().product::<usize>() as i64;
        (0..self.grid.len()).map(after).collect()
    }

    fn point(&self, row: usize) -> [usize; 3] {
        let mut rest = row;
        let mut point = [0; 3];
        for (at, &n) in point.iter_mut().zip(&self.grid).rev() {
            (*at, rest) = (rest % n, rest / n);
        }
        point
    }

    fn inside(&self, point: &[usize; 3], step: &[i64]) -> bool {
        self.grid
            .iter()
            .zip(point)
            .zip(step)
            .all(|((&n, &at), &step)| (step >= 0 || at > 0) && (step <= 0 || at + 1 < n))
    }

    fn row_length(&self, point: &[usize; 3]) -> usize {
        let along = self
            .grid
            .iter()
            .zip(point)
            .map(|(&n, &at)| usize::from(at > 0) + usize::from(at + 1 < n));
        if self.diagonals { along.map(|a| a + 1).product() } else { along.sum::<usize>() + 1 }
    }
}
