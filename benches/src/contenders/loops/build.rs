//! Conversions by counting.

use super::sparse::making;
use super::{Real, Rowwise, numbers};
use crate::matrix::case::Case;
use crate::matrix::contender::{Prepared, Rows, remade};

pub(super) fn prepare<T: Real>(case: &Case<'_>) -> Prepared {
    if case.threads != 1 {
        return Ok(None);
    }
    match case.op.name {
        "coo-csr" => {
            let Some(coo) = &case.entries else { return Ok(None) };
            let values = coo.values.cast(case.dtype).map_err(|e| e.to_string())?;
            let Ok(values) = values.typed::<T>().map(<[T]>::to_vec) else { return Ok(None) };
            let (rows, columns, n) = (coo.crd[0].clone(), coo.crd[1].clone(), coo.shape[0]);
            making(move || from_entries(&rows, &columns, &values, n))
        }
        "csr-csc" => {
            let Some(a) = Rowwise::<T>::of(case.first()) else { return Ok(None) };
            let n = case.shape[1];
            let rows = case.shape[0];
            remade(
                move || Ok(transposed(&a, n)),
                move |out| {
                    let mut sums = Rows::new(rows);
                    for j in 0..out.pos.len() - 1 {
                        for at in out.pos[j] as usize..out.pos[j + 1] as usize {
                            sums.add(out.crd[at] as usize, j, out.values[at].into());
                        }
                    }
                    Ok(sums.numbers())
                },
            )
        }
        "dense-csr" => {
            let Some(values) = numbers::<T>(case.first()) else { return Ok(None) };
            let n = case.shape[1];
            making(move || from_dense(&values, n))
        }
        _ => Ok(None),
    }
}

/// Counts the rows, places the entries, sorts each row and sums what stands twice.
fn from_entries<T: Real>(rows: &[i64], columns: &[i64], values: &[T], n: usize) -> Rowwise<T> {
    let mut next = vec![0_usize; n + 1];
    for &i in rows {
        next[i as usize + 1] += 1;
    }
    for i in 0..n {
        next[i + 1] += next[i];
    }
    let starts = next.clone();
    let mut placed = vec![(0_u32, T::zero()); values.len()];
    for ((&i, &j), &value) in rows.iter().zip(columns).zip(values) {
        placed[next[i as usize]] = (j as u32, value);
        next[i as usize] += 1;
    }
    let mut out = Rowwise { pos: vec![0], crd: Vec::new(), values: Vec::new() };
    for i in 0..n {
        let row = &mut placed[starts[i]..starts[i + 1]];
        row.sort_unstable_by_key(|&(j, _)| j);
        let start = out.crd.len();
        for &(j, value) in &*row {
            match out.values.last_mut() {
                Some(last) if out.crd.len() > start && out.crd.last() == Some(&j) => *last += value,
                _ => {
                    out.crd.push(j);
                    out.values.push(value);
                }
            }
        }
        out.pos.push(out.crd.len() as u32);
    }
    out
}

fn transposed<T: Real>(a: &Rowwise<T>, n: usize) -> Rowwise<T> {
    let mut pos = vec![0_u32; n + 1];
    for &j in &a.crd {
        pos[j as usize + 1] += 1;
    }
    for j in 0..n {
        pos[j + 1] += pos[j];
    }
    let mut next = pos.clone();
    let mut crd = vec![0; a.crd.len()];
    let mut values = vec![T::zero(); a.values.len()];
    for i in 0..a.pos.len() - 1 {
        for at in a.pos[i] as usize..a.pos[i + 1] as usize {
            let place = &mut next[a.crd[at] as usize];
            crd[*place as usize] = i as u32;
            values[*place as usize] = a.values[at];
            *place += 1;
        }
    }
    Rowwise { pos, crd, values }
}

fn from_dense<T: Real>(dense: &[T], n: usize) -> Rowwise<T> {
    let mut out = Rowwise { pos: vec![0], crd: Vec::new(), values: Vec::new() };
    for row in dense.chunks_exact(n) {
        for (j, &value) in row.iter().enumerate() {
            if value != T::zero() {
                out.crd.push(j as u32);
                out.values.push(value);
            }
        }
        out.pos.push(out.crd.len() as u32);
    }
    out
}
