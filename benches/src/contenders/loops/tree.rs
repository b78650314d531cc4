//! Trees of compressed dimensions times a vector or two matrices: the scalar form that a compiler of
//! tensor expressions generates.

use ust::Tensor;

use super::{Real, filling, numbers, words};
use crate::matrix::case::Case;
use crate::matrix::contender::Prepared;

/// A tensor of rank 3 as a tree.
struct Tree<T> {
    rows: Vec<u32>,
    pos1: Vec<u32>,
    crd1: Vec<u32>,
    pos2: Vec<u32>,
    crd2: Vec<u32>,
    values: Vec<T>,
}

impl<T: Real> Tree<T> {
    fn of(t: &Tensor) -> Option<Self> {
        Some(Self {
            rows: words(t.crd(0))?,
            pos1: words(t.pos(1))?,
            crd1: words(t.crd(1))?,
            pos2: words(t.pos(2))?,
            crd2: words(t.crd(2))?,
            values: numbers(t)?,
        })
    }

    /// The fibres of a slice.
    fn fibres(&self, slice: usize) -> std::ops::Range<usize> {
        self.pos1[slice] as usize..self.pos1[slice + 1] as usize
    }

    /// The elements of a fibre.
    fn elements(&self, fibre: usize) -> impl Iterator<Item = (usize, T)> {
        let (from, to) = (self.pos2[fibre] as usize, self.pos2[fibre + 1] as usize);
        self.crd2[from..to].iter().map(|&k| k as usize).zip(self.values[from..to].iter().copied())
    }
}

pub(super) fn prepare<T: Real>(case: &Case<'_>) -> Prepared {
    if !case.format.starts_with("CSF") || case.threads != 1 || case.op.rank != 3 {
        return Ok(None);
    }
    let Some(tree) = Tree::<T>::of(case.first()) else { return Ok(None) };
    let Some(b) = case.values::<T>(1).map(<[T]>::to_vec) else { return Ok(None) };
    let n = case.shape[1];
    match (case.op.name, case.values::<T>(2).map(<[T]>::to_vec)) {
        ("ttv", _) => filling(case, move |out| {
            out.fill(T::zero());
            for (slice, &i) in tree.rows.iter().enumerate() {
                for fibre in tree.fibres(slice) {
                    let mut sum = T::zero();
                    for (k, value) in tree.elements(fibre) {
                        sum += value * b[k];
                    }
                    out[i as usize * n + tree.crd1[fibre] as usize] = sum;
                }
            }
        }),
        ("mttkrp", Some(c)) => filling(case, move |out| {
            out.fill(T::zero());
            let mut part = vec![T::zero(); n];
            for (slice, &i) in tree.rows.iter().enumerate() {
                let out = &mut out[i as usize * n..(i as usize + 1) * n];
                for fibre in tree.fibres(slice) {
                    part.fill(T::zero());
                    for (k, value) in tree.elements(fibre) {
                        for (part, &c) in part.iter_mut().zip(&c[k * n..(k + 1) * n]) {
                            *part += value * c;
                        }
                    }
                    let j = tree.crd1[fibre] as usize;
                    for ((out, &part), &b) in out.iter_mut().zip(&part).zip(&b[j * n..(j + 1) * n])
                    {
                        *out += part * b;
                    }
                }
            }
        }),
        _ => Ok(None),
    }
}
