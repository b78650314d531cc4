//! Plans that compute a product that the library has, by the shapes of levels.

use ust_cuda::sparse::{Index, Number, Order, Storage};
use ust_engine::format::IndexExpr;
use ust_engine::ops::Operator;
use ust_engine::provider::plan::Array;
use ust_engine::provider::product::{in_full, plain_levels, quotient, remainder};
use ust_engine::provider::{Children, Plan, Shape};
use ust_level_api::ir::{Elem, IndexKind};

use crate::product::{Full, Why, full, is_narrow, is_product, numbers};

/// A product, in terms of the numbers of operands and of index variables.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Of the operands.
    pub(super) number: Number,
    /// Of the result: that of the operands, or the one in which their sums are formed.
    pub(super) result: Number,
    pub(super) product: Product,
}

#[derive(Clone, Debug)]
pub(super) enum Product {
    /// A sparse matrix, or its transpose, times a vector or a dense matrix.
    Times { a: Stored, transposed: bool, b: Full, c: Full },
    /// The products of the rows of `a` and the columns of `b` where `c` stores a value, each times this value.
    /// `c` is stored by rows.
    Sampled { a: Full, b: Full, c: Stored },
    /// A sparse matrix times another one. Both are stored by rows, and the result is computed so.
    Sparse { a: Stored, b: Stored },
}

/// A sparse operand, as the library shall see it: of a matrix that is stored by columns in a way that the
/// library has by rows only, that is the transpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) operand: usize,
    pub(super) storage: Storage,
    /// The index variables of its rows and of its columns.
    pub(super) indices: [usize; 2],
    /// The levels that store rows and columns, for the numbers of blocks.
    pub(super) levels: [usize; 2],
    /// The two arrays of indices, each with its level.
    pub(super) arrays: [(usize, usize); 2],
    pub(super) index: Index,
}

const PRODUCTS: Why = "it multiplies a sparse matrix by a vector or a matrix, or two dense matrices where a \
     sparse one stores values";
const SPARSE: Why = "it takes matrices of compressed rows or columns, of blocks in these, and sorted lists of \
     coordinates, with indices of 32 or of 64 bits";

impl Task {
    /// The task of a plan, or why there is none.
    pub(super) fn of(plan: &Plan<'_>) -> Result<Self, Why> {
        let Some((Operator::Add, &[summed])) = plan.reduce else { return Err(PRODUCTS) };
        if !is_product(plan) || plan.operands.is_empty() {
            return Err(PRODUCTS);
        }
        if plan.strict {
            return Err("it sums in another order than the loops");
        }
        let [number, result] = numbers(plan)?;
        let product = match plan.operands.len() {
            2 if in_full(&plan.result).is_some() => times(plan, summed)?,
            2 => sparse(plan, summed)?,
            3 => sampled(plan, summed)?,
            _ => return Err(PRODUCTS),
        };
        if is_narrow(number) && !matches!(product, Product::Times { .. }) {
            return Err("it takes numbers of 16 bits for products with vectors and dense matrices");
        }
        Ok(Self { number, result, product })
    }
}

/// The indices of an operand.
fn index(plan: &Plan<'_>, operand: usize) -> Option<Index> {
    let declared = plan.facts.arrays.iter().zip(&plan.function.arrays);
    let mut kinds = declared.filter_map(|(array, declared)| match (array, declared.elem) {
        (Array::Level { operand: of, .. }, Elem::Index(kind)) if *of == operand => Some(kind),
        _ => None,
    });
    let width = |kind: IndexKind| match kind {
        IndexKind::U32 | IndexKind::I32 => Some(Index::I32),
        IndexKind::U64 | IndexKind::I64 => Some(Index::I64),
        _ => None,
    };
    let first = width(kinds.next()?)?;
    kinds.all(|kind| width(kind) == Some(first)).then_some(first)
}

/// A sparse matrix that the library can take; `None` for another operand.
fn stored(plan: &Plan<'_>, operand: usize) -> Option<Stored> {
    let access = &plan.operands[operand];
    let levels = plain_levels(access)?;
    let &[a, b] = access.indices else { return None };
    let listed = |level: usize, children: Children| match levels.get(level)?.1 {
        Shape::Listed { crd, children: found } if found == children => Some((level, crd)),
        _ => None,
    };
    // Segments lie side by side, from 0 on.
    let contiguous = |level: usize| access.format.descriptions()[level].props.contiguous;
    let segments = |level: usize| match levels.get(level)?.1 {
        Shape::Listed { crd, children: Children::Segment(pos) } if contiguous(level) => {
            Some([(level, pos), (level, crd)])
        }
        _ => None,
    };
    let (dimension, storage, arrays) = match levels[..] {
        [(IndexExpr::Var(first), Shape::Full), (IndexExpr::Var(second), _)] if first != second => {
            let storage = if *first == 0 { Storage::Csr } else { Storage::Csc };
            (0, storage, segments(1)?)
        }
        [(IndexExpr::Var(first), _), (IndexExpr::Var(second), _)] if first != second => {
            let [_, outer] = segments(0)?;
            (*first, Storage::Coo, [outer, listed(1, Children::Fixed(1))?])
        }
        [(first, Shape::Full), (second, _), (third, Shape::Full), (fourth, Shape::Full)] => {
            let (of, across) = (quotient(first)?, quotient(second)?);
            let order = match [remainder(third)?, remainder(fourth)?] {
                within if within == [of, across] => Order::Rows,
                within if within == [across, of] => Order::Columns,
                _ => return None,
            };
            if of.0 == across.0 {
                return None;
            }
            (of.0, Storage::Bsr { size: [of.1, across.1], order }, segments(1)?)
        }
        _ => return None,
    };
    let indices = if dimension == 0 { [a, b] } else { [b, a] };
    let levels = if storage == Storage::Csc { [1, 0] } else { [0, 1] };
    (a != b).then_some(Stored {
        operand,
        storage,
        indices,
        levels,
        arrays,
        index: index(plan, operand)?,
    })
}

fn times(plan: &Plan<'_>, summed: usize) -> Result<Product, Why> {
    let is_full = |at: &usize| in_full(&plan.operands[*at]).is_some();
    let b = match (0..2).filter(is_full).collect::<Vec<_>>()[..] {
        [one] => one,
        [] => return Err("a product of two sparse matrices is sparse"),
        _ => return Err(PRODUCTS),
    };
    let a = stored(plan, 1 - b).ok_or(SPARSE)?;
    let (own, transposed) = match a.indices {
        [own, inner] if inner == summed => (own, false),
        [inner, own] if inner == summed => (own, true),
        _ => return Err(PRODUCTS),
    };
    let other = plan.operands[b].indices.iter().copied().find(|&index| index != summed);
    if other == Some(own) {
        return Err(PRODUCTS);
    }
    let made = full(&plan.operands[b], b, summed, other).zip(full(&plan.result, 0, own, other));
    let (b, c) = made.ok_or(PRODUCTS)?;
    if let Storage::Bsr { order, .. } = a.storage {
        if transposed {
            return Err("it multiplies by no transpose of a matrix of blocks");
        }
        if other.is_some() && order != Order::Rows {
            return Err("it multiplies blocks by dense matrices if the blocks are stored by rows");
        }
    }
    Ok(Product::Times { a, transposed, b, c })
}

/// A matrix of compressed rows or columns, as one of rows: a matrix or its transpose.
fn by_rows(of: Stored) -> Option<Stored> {
    match of.storage {
        Storage::Csr => Some(of),
        Storage::Csc => {
            let [a, b] = of.indices;
            Some(Stored { storage: Storage::Csr, indices: [b, a], levels: [0, 1], ..of })
        }
        _ => None,
    }
}

fn sparse(plan: &Plan<'_>, summed: usize) -> Result<Product, Why> {
    let takes = "it multiplies two matrices of compressed rows, or two of compressed columns, with indices of \
         32 bits";
    let operand =
        |at: usize| stored(plan, at).and_then(by_rows).filter(|of| of.index == Index::I32);
    let [p, q] = [operand(0).ok_or(takes)?, operand(1).ok_or(takes)?];
    // Rows are given to whatever levels the result has.
    let format = plan.result.format;
    let levels = format.levels().iter().map(|level| match level.expr {
        IndexExpr::Var(dimension) => plan.result.indices.get(dimension).copied(),
        _ => None,
    });
    let levels = levels.collect::<Option<Vec<_>>>().filter(|_| format.tail() == 2);
    let Some(&[first, second]) = levels.as_deref() else {
        return Err("it gives matrices of compressed rows and columns");
    };
    let fits = |a: Stored, b: Stored| a.indices == [first, summed] && b.indices == [summed, second];
    match plan.facts.rows.is_some() && first != second {
        true if fits(p, q) => Ok(Product::Sparse { a: p, b: q }),
        true if fits(q, p) => Ok(Product::Sparse { a: q, b: p }),
        _ => Err("both factors and the result must be stored by rows, or all by columns"),
    }
}

fn sampled(plan: &Plan<'_>, summed: usize) -> Result<Product, Why> {
    let is_sparse = |at: &usize| in_full(&plan.operands[*at]).is_none();
    let [at] = (0..3).filter(is_sparse).collect::<Vec<_>>()[..] else { return Err(PRODUCTS) };
    let takes = "it samples by a matrix of compressed rows or columns";
    let c = stored(plan, at).and_then(by_rows).ok_or(takes)?;
    let own = &plan.operands[at];
    // The result shares the levels of the matrix.
    if plan.result.format != own.format
        || plan.result.indices != own.indices
        || plan.facts.rows.is_some()
    {
        return Err("the result must have the format of the sparse matrix");
    }
    let [rows, columns] = c.indices;
    let mut others = (0..3).filter(|&other| other != at);
    let pair = others.next().zip(others.next()).ok_or(PRODUCTS)?;
    let factors = |(a, b): (usize, usize)| {
        let a = full(&plan.operands[a], a, rows, Some(summed))?;
        Some((a, full(&plan.operands[b], b, summed, Some(columns))?))
    };
    let (a, b) = factors(pair).or_else(|| factors((pair.1, pair.0))).ok_or(PRODUCTS)?;
    Ok(Product::Sampled { a, b, c })
}
