//! Matrices times dense vectors and matrices.

use rayon::prelude::*;
use ust::Tensor;

use super::{Real, Rowwise, filling, numbers, words};
use crate::matrix::case::Case;
use crate::matrix::contender::Prepared;

pub(super) fn prepare<T: Real>(case: &Case<'_>) -> Prepared {
    let Some(x) = case.values::<T>(1).map(<[T]>::to_vec) else { return Ok(None) };
    let a = case.first();
    let n = *case.shape.last().unwrap_or(&1);
    match (case.op.name, &case.format[..], case.threads) {
        ("spmv", "CSR", threads) => by_rows(case, a, x, 1, threads),
        ("spmm32" | "spmm128", "CSR", threads) => by_rows(case, a, x, n, threads),
        ("spmvt", "CSC", 1) => by_rows(case, a, x, 1, 1),
        ("spmvt", "CSR", 1) | ("spmv", "CSC", 1) => scattered(case, a, x),
        ("spmv", "COO", 1) => coordinates(case, a, x),
        ("spmv", "DCSR", 1) => doubly(case, a, x),
        ("spmv", "BSR(4, 4)", 1) => blocks(case, a, x),
        ("spmv", "DIA-I" | "DIA-J", 1) => diagonals(case, a, x),
        ("spmv", "2:4", 1) => pairs(case, a, x),
        _ => Ok(None),
    }
}

/// Rows one after another, each in one thread.
fn by_rows<T: Real>(case: &Case<'_>, a: &Tensor, x: Vec<T>, n: usize, threads: usize) -> Prepared {
    let Some(a) = Rowwise::<T>::of(a) else { return Ok(None) };
    let rows = a.pos.len() - 1;
    let kernel = move |first: usize, y: &mut [T]| match n {
        1 => vector(&a, &x, first, y),
        _ => matrix(&a, &x, n, first, y),
    };
    if threads == 1 {
        return filling(case, move |y| kernel(0, y));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| e.to_string())?;
    // Many parts, so that a part with long rows does not keep others waiting.
    let part = rows.div_ceil(16 * threads).max(1);
    filling(case, move |y| {
        pool.install(|| {
            y.par_chunks_mut(part * n).enumerate().for_each(|(at, y)| kernel(at * part, y));
        });
    })
}

fn vector<T: Real>(a: &Rowwise<T>, x: &[T], first: usize, y: &mut [T]) {
    for (row, y) in y.iter_mut().enumerate() {
        let (from, to) = (a.pos[first + row] as usize, a.pos[first + row + 1] as usize);
        let mut sum = T::zero();
        for (&j, &value) in a.crd[from..to].iter().zip(&a.values[from..to]) {
            sum += value * x[j as usize];
        }
        *y = sum;
    }
}

fn matrix<T: Real>(a: &Rowwise<T>, b: &[T], n: usize, first: usize, c: &mut [T]) {
    for (row, c) in c.chunks_exact_mut(n).enumerate() {
        let (from, to) = (a.pos[first + row] as usize, a.pos[first + row + 1] as usize);
        c.fill(T::zero());
        for (&j, &value) in a.crd[from..to].iter().zip(&a.values[from..to]) {
            let b = &b[j as usize * n..(j as usize + 1) * n];
            for (c, &b) in c.iter_mut().zip(b) {
                *c += value * b;
            }
        }
    }
}

/// Compressed rows whose elements are added to the places that their coordinates say.
fn scattered<T: Real>(case: &Case<'_>, a: &Tensor, x: Vec<T>) -> Prepared {
    let Some(a) = Rowwise::<T>::of(a) else { return Ok(None) };
    filling(case, move |y| {
        y.fill(T::zero());
        for (row, &x) in x.iter().enumerate() {
            let (from, to) = (a.pos[row] as usize, a.pos[row + 1] as usize);
            for (&j, &value) in a.crd[from..to].iter().zip(&a.values[from..to]) {
                y[j as usize] += value * x;
            }
        }
    })
}

fn coordinates<T: Real>(case: &Case<'_>, a: &Tensor, x: Vec<T>) -> Prepared {
    let (Some(rows), Some(columns)) = (words(a.crd(0)), words(a.crd(1))) else { return Ok(None) };
    let Some(values) = numbers::<T>(a) else { return Ok(None) };
    filling(case, move |y| {
        y.fill(T::zero());
        for ((&i, &j), &value) in rows.iter().zip(&columns).zip(&values) {
            y[i as usize] += value * x[j as usize];
        }
    })
}

fn doubly<T: Real>(case: &Case<'_>, a: &Tensor, x: Vec<T>) -> Prepared {
    let (Some(rows), Some(a)) = (words(a.crd(0)), Rowwise::<T>::of(a)) else { return Ok(None) };
    filling(case, move |y| {
        y.fill(T::zero());
        for (at, &i) in rows.iter().enumerate() {
            let (from, to) = (a.pos[at] as usize, a.pos[at + 1] as usize);
            let mut sum = T::zero();
            for (&j, &value) in a.crd[from..to].iter().zip(&a.values[from..to]) {
                sum += value * x[j as usize];
            }
            y[i as usize] = sum;
        }
    })
}

/// Blocks of 4 x 4, unrolled by the compiler. The shape is a multiple of 4.
fn blocks<T: Real>(case: &Case<'_>, a: &Tensor, x: Vec<T>) -> Prepared {
    if a.shape().iter().any(|n| !n.is_multiple_of(4)) {
        return Ok(None);
    }
    let Some(a) = Rowwise::<T>::of(a) else { return Ok(None) };
    filling(case, move |y| {
        for (row, y) in y.chunks_exact_mut(4).enumerate() {
            let (from, to) = (a.pos[row] as usize, a.pos[row + 1] as usize);
            let mut sums = [T::zero(); 4];
            for (&j, block) in a.crd[from..to].iter().zip(a.values[16 * from..].chunks_exact(16)) {
                let x = &x[4 * j as usize..4 * j as usize + 4];
                for (sum, line) in sums.iter_mut().zip(block.chunks_exact(4)) {
                    for (&value, &x) in line.iter().zip(x) {
                        *sum += value * x;
                    }
                }
            }
            y.copy_from_slice(&sums);
        }
    })
}

/// Whole diagonals, by row or by column: places outside the matrix are stored, and skipped.
fn diagonals<T: Real>(case: &Case<'_>, a: &Tensor, x: Vec<T>) -> Prepared {
    let (Some(offsets), Some(values)) = (a.crd(0).map(ust::IndexArray::to_vec), numbers::<T>(a))
    else {
        return Ok(None);
    };
    let (rows, columns) = (a.shape()[0] as i64, a.shape()[1] as i64);
    let by_row = case.format == "DIA-I";
    let length = if by_row { rows } else { columns } as usize;
    if values.len() != offsets.len() * length {
        return Ok(None);
    }
    filling(case, move |y| {
        y.fill(T::zero());
        for (&offset, line) in offsets.iter().zip(values.chunks_exact(length)) {
            let (from, to) = ((-offset).max(0), (columns - offset).min(rows));
            let (from, to) = (from as usize, to.max(from) as usize);
            let start = (from as i64 + offset) as usize;
            let x = &x[start..start + (to - from)];
            let line = if by_row { &line[from..to] } else { &line[start..start + (to - from)] };
            for ((y, &value), &x) in y[from..to].iter_mut().zip(line).zip(x) {
                *y += value * x;
            }
        }
    })
}

/// Two of every four elements of a row, with an index of one word each.
fn pairs<T: Real>(case: &Case<'_>, a: &Tensor, x: Vec<T>) -> Prepared {
    let (Some(crd), Some(values)) = (words(a.crd(2)), numbers::<T>(a)) else { return Ok(None) };
    let groups = a.shape()[1].div_ceil(4);
    if !a.shape()[1].is_multiple_of(4) {
        return Ok(None);
    }
    filling(case, move |y| {
        let lines = crd.chunks_exact(2 * groups).zip(values.chunks_exact(2 * groups));
        for (y, (crd, values)) in y.iter_mut().zip(lines) {
            let mut sum = T::zero();
            let pairs = crd.chunks_exact(2).zip(values.chunks_exact(2)).zip(x.chunks_exact(4));
            for ((crd, values), x) in pairs {
                sum += values[0] * x[crd[0] as usize & 3] + values[1] * x[crd[1] as usize & 3];
            }
            *y = sum;
        }
    })
}
