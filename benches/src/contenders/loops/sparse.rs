//! Operations on compressed rows that give compressed rows.

use super::{Real, Rowwise};
use crate::matrix::case::Case;
use crate::matrix::contender::{Prepared, Rows, remade};

pub(super) fn prepare<T: Real>(case: &Case<'_>) -> Prepared {
    if case.format != "CSR" || case.threads != 1 || case.expression().is_none() {
        return Ok(None);
    }
    let Some(a) = Rowwise::<T>::of(case.first()) else { return Ok(None) };
    let second = case.operands.get(1).map(|(_, tensor)| tensor);
    match case.op.name {
        "spgemm" => {
            let columns = case.shape[1];
            making(move || product(&a, columns))
        }
        "spadd" => {
            let Some(b) = second.and_then(Rowwise::<T>::of) else { return Ok(None) };
            making(move || sum(&a, &b))
        }
        "sddmm" => {
            let (Some(x), Some(y)) = (case.values::<T>(1), case.values::<T>(2)) else {
                return Ok(None);
            };
            let (x, y, n) = (x.to_vec(), y.to_vec(), case.operands[1].1.shape()[1]);
            making(move || sampled(&a, &x, &y, n))
        }
        _ => Ok(None),
    }
}

/// Compressed rows that a loop makes.
pub(super) fn making<T: Real>(mut make: impl FnMut() -> Rowwise<T> + 'static) -> Prepared {
    remade(move || Ok(make()), |out| Ok(Rows::of_csr(&out.pos, &out.crd, &out.values)))
}

/// Gustavson's product of a matrix with itself: a dense row, the coordinates touched, sorted.
fn product<T: Real>(a: &Rowwise<T>, columns: usize) -> Rowwise<T> {
    let mut row = vec![T::zero(); columns];
    let mut seen = vec![u32::MAX; columns];
    let mut out = Rowwise { pos: vec![0], crd: Vec::new(), values: Vec::new() };
    for i in 0..a.pos.len() - 1 {
        let start = out.crd.len();
        for at in a.pos[i] as usize..a.pos[i + 1] as usize {
            let (j, left) = (a.crd[at] as usize, a.values[at]);
            for inner in a.pos[j] as usize..a.pos[j + 1] as usize {
                let k = a.crd[inner] as usize;
                if seen[k] != i as u32 {
                    seen[k] = i as u32;
                    row[k] = T::zero();
                    out.crd.push(k as u32);
                }
                row[k] += left * a.values[inner];
            }
        }
        out.crd[start..].sort_unstable();
        out.values.extend(out.crd[start..].iter().map(|&k| row[k as usize]));
        out.pos.push(out.crd.len() as u32);
    }
    out
}

/// Rows of two matrices, merged.
fn sum<T: Real>(a: &Rowwise<T>, b: &Rowwise<T>) -> Rowwise<T> {
    let most = a.crd.len() + b.crd.len();
    let (mut crd, mut values) = (Vec::with_capacity(most), Vec::with_capacity(most));
    let mut pos = vec![0];
    for i in 0..a.pos.len() - 1 {
        let (mut p, p_end) = (a.pos[i] as usize, a.pos[i + 1] as usize);
        let (mut q, q_end) = (b.pos[i] as usize, b.pos[i + 1] as usize);
        while p < p_end && q < q_end {
            let (j, k) = (a.crd[p], b.crd[q]);
            let (mut value, first) = (T::zero(), j.min(k));
            if j == first {
                value += a.values[p];
                p += 1;
            }
            if k == first {
                value += b.values[q];
                q += 1;
            }
            crd.push(first);
            values.push(value);
        }
        crd.extend_from_slice(&a.crd[p..p_end]);
        values.extend_from_slice(&a.values[p..p_end]);
        crd.extend_from_slice(&b.crd[q..q_end]);
        values.extend_from_slice(&b.values[q..q_end]);
        pos.push(crd.len() as u32);
    }
    Rowwise { pos, crd, values }
}

/// Products of dense rows, where the matrix has elements.
fn sampled<T: Real>(m: &Rowwise<T>, x: &[T], y: &[T], n: usize) -> Rowwise<T> {
    let mut values = Vec::with_capacity(m.values.len());
    for i in 0..m.pos.len() - 1 {
        let x = &x[i * n..(i + 1) * n];
        for at in m.pos[i] as usize..m.pos[i + 1] as usize {
            let j = m.crd[at] as usize;
            let mut sum = T::zero();
            for (&x, &y) in x.iter().zip(&y[j * n..(j + 1) * n]) {
                sum += x * y;
            }
            values.push(m.values[at] * sum);
        }
    }
    Rowwise { pos: m.pos.clone(), crd: m.crd.clone(), values }
}
