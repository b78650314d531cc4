//! `full`: a product of two matrices that are stored in full, each in row-major or column-major order.

use std::marker::PhantomData;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, LinalgScalar, ShapeBuilder, s};
use ust_kernels::Number;
use ust_kernels::panel::{Dense, Full};
use ust_level_api::inventory;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};

use super::product::{
    self, Job, Kernel, Native, by_rows, element_product, in_full, in_real_numbers,
};
use super::{Plan, Registration};
use crate::error::Error;
use crate::tuning::{FULL_MAX_WIDTH, FULL_TIME};

inventory::submit!(Registration(&Native::<Times>(PhantomData)));

/// The product `c(p,q) = left(p,j) * right(j,q)`, with `c` in row-major order.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// The number of the operand that is `left`.
    left: usize,
    /// For `left` and `right`, whether values with consecutive `j` are neighbours in memory.
    along: [bool; 2],
    /// The numbers of the parameters with the extents of `p`, `j` and `q`.
    extents: [usize; 3],
}

impl Kernel for Times {
    const NAME: &'static str = "full";
    const SUMMARY: &'static str =
        "products of two matrices in Dense or DenseCol, of f32 and f64, given as such";

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let (operands, j) = element_product(plan)?;
        let all = [&operands[0], &operands[1], &plan.result].map(in_full);
        let all = all.map(|order| order.and_then(|order| <[usize; 2]>::try_from(order).ok()));
        let [Some(a), Some(b), Some([p, q])] = all else {
            return Err("it takes Dense and DenseCol, and gives such");
        };
        in_real_numbers(plan)?;
        let holds = |of: [usize; 2], own: usize| of == [own, j] || of == [j, own];
        let left = match [a, b] {
            _ if p == q || [p, q].contains(&j) => None,
            [a, b] if holds(a, p) && holds(b, q) => Some(0),
            [a, b] if holds(a, q) && holds(b, p) => Some(1),
            _ => None,
        };
        let left = left.ok_or(product::NO_PRODUCT)?;
        let along = [[a, b][left], [a, b][1 - left]].map(|of| of[1] == j);
        Ok(Self { left, along, extents: [p, j, q] })
    }

    fn relative_time(&self) -> f64 {
        FULL_TIME
    }

    fn splits_rows(&self) -> bool {
        true
    }

    fn run(&self, job: Job<'_>, memory: &mut [Memory<'_>]) -> Option<Result<(), Error>> {
        macro_rules! of {
            ($($kind:ident),*) => {
                match memory {
                    $([
                        Memory::Values(ValuesRef::$kind(a)),
                        Memory::Values(ValuesRef::$kind(b)),
                        Memory::ValuesMut(ValuesMut::$kind(c)),
                    ] => {
                        let [left, right] = if self.left == 0 { [*a, *b] } else { [*b, *a] };
                        self.times(job, left, right, c)
                    })*
                    _ => None,
                }
            };
        }
        of!(F32, F64)
    }

    fn describe(&self) -> String {
        let by = |along: bool| if along { "row by row" } else { "column by column" };
        let [left, right] = [by(self.along[0]), by(!self.along[1])];
        format!("two matrices in full, {left} and {right}")
    }
}

impl Times {
    /// As [`Kernel::run`], on the values of the three matrices.
    fn times<T: Number + LinalgScalar + Default + Send + Sync>(
        &self,
        Job { params, parts, check }: Job<'_>,
        left: &[T],
        right: &[T],
        c: &mut [T],
    ) -> Option<Result<(), Error>> {
        let [p, j, q] = self.extents.map(|at| product::extent(params, at));
        let (rows, sums, width) = (p?, j?, q?);
        let lengths = [(rows, width), (rows, sums), (sums, width)];
        let lengths = lengths.map(|(down, right)| down.checked_mul(right));
        if lengths != [c.len(), left.len(), right.len()].map(Some) {
            return None;
        }
        if c.is_empty() {
            return Some(Ok(()));
        }
        let strides = |along: bool, extent| if along { [sums, 1] } else { [1, extent] };
        let of_left = strides(self.along[0], rows);
        let parts = by_rows(parts, rows);
        if sums == 0 || (!self.along[1] && width <= FULL_MAX_WIDTH) {
            return Some(product::run(c, width, &parts, check, |rows, c| {
                let values = left.get(rows.start * of_left[0]..).unwrap_or_default();
                let full = Full { values, strides: of_left, first: 0, columns: sums };
                full.times(Dense { values: right, width }, c);
            }));
        }
        let left = ArrayView2::from_shape([rows, sums].strides(of_left), left).ok()?;
        let of_right = strides(self.along[1], width);
        let right = ArrayView2::from_shape([width, sums].strides(of_right), right).ok()?;
        Some(product::run_whole(c, width, &parts, check, |rows, c| {
            let left = left.slice(s![rows.clone(), ..]);
            let shape = (rows.len(), width);
            let mut c = ArrayViewMut2::from_shape(shape, c).expect("so many rows");
            general_mat_mul(T::one(), &left, &right.t(), T::zero(), &mut c);
        }))
    }
}
