//! Turns SciPy's arrays into entries, with every element checked.

use ust_engine::Coo;
use ust_level_api::IndexArray;

use super::{Blocks, Compressed, Diagonals};

/// The faulty member, and its fault.
pub(super) type Fault = (&'static str, String);

/// The outer and inner coordinates of the entries of a compressed matrix: rows and columns for csr,
/// columns and rows for csc. `data` is the number of values.
fn listed(
    outer: usize,
    inner: usize,
    indptr: &IndexArray,
    indices: &IndexArray,
    data: usize,
) -> Result<[Vec<i64>; 2], Fault> {
    let starts = indptr.to_vec();
    if starts.len().checked_sub(1) != Some(outer) {
        let reason = format!("{} positions, {outer} and one more were expected", starts.len());
        return Err(("indptr", reason));
    }
    if starts[0] != 0 {
        return Err(("indptr", format!("starts at {}, not at 0", starts[0])));
    }
    if let Some(at) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
        let reason = format!("falls from {} to {} at {at}", starts[at], starts[at + 1]);
        return Err(("indptr", reason));
    }
    let entries = usize::try_from(starts[outer]).unwrap_or(usize::MAX);
    for (member, len) in [("indices", indices.len()), ("data", data)] {
        if len < entries {
            return Err((member, format!("{len} elements, where `indptr` ends at {entries}")));
        }
    }
    if indices.len() != data {
        return Err(("data", format!("{data} elements, where `indices` has {}", indices.len())));
    }
    let mut inners = indices.to_vec();
    inners.truncate(entries);
    if let Some(at) = inners.iter().position(|&c| c < 0 || c as u64 >= inner as u64) {
        return Err(("indices", format!("[{at}] = {} lies outside 0..{inner}", inners[at])));
    }
    let mut outers = Vec::with_capacity(entries);
    for (row, pair) in starts.windows(2).enumerate() {
        outers.resize(pair[1] as usize, row as i64);
    }
    Ok([outers, inners])
}

impl Compressed {
    /// The entries. `columns`: whether the matrix is compressed by columns.
    pub(super) fn entries(&self, columns: bool) -> Result<Coo, Fault> {
        let [rows, cols] = self.shape;
        let (outer, inner) = if columns { (cols, rows) } else { (rows, cols) };
        let [outers, inners] = listed(outer, inner, &self.indptr, &self.indices, self.data.len())?;
        let positions: Vec<u64> = (0..outers.len() as u64).collect();
        let crd = if columns { vec![inners, outers] } else { vec![outers, inners] };
        Ok(Coo { shape: self.shape.to_vec(), crd, values: self.data.gather(&positions) })
    }
}

impl Blocks {
    /// Whether the blocks divide the shape.
    pub(super) fn divides(&self) -> bool {
        let divides = |extent: usize, block: usize| block > 0 && extent.is_multiple_of(block);
        matches!(self.data.shape[..], [_, rows, columns]
            if divides(self.shape[0], rows) && divides(self.shape[1], columns))
    }

    /// Every element of every block.
    pub(super) fn entries(&self) -> Result<Coo, Fault> {
        let [rows, columns] = self.shape;
        let [blocks, height, width] = self.data.shape[..] else {
            return Err(("data", "a rank other than 3".to_owned()));
        };
        if !self.divides() {
            let reason = format!("blocks of {height} x {width} do not divide {rows} x {columns}");
            return Err(("data", reason));
        }
        let (outer, inner) = (rows / height, columns / width);
        let [outers, inners] = listed(outer, inner, &self.indptr, &self.indices, blocks)?;
        let size = height * width;
        let column = |of: &[i64], extent: usize, within: fn(usize, usize) -> usize| -> Vec<i64> {
            of.iter()
                .flat_map(|&block| {
                    (0..size).map(move |k| block * extent as i64 + within(k, width) as i64)
                })
                .collect()
        };
        let crd = vec![
            column(&outers, height, |k, width| k / width),
            column(&inners, width, |k, width| k % width),
        ];
        let positions: Vec<u64> = (0..crd[0].len() as u64).collect();
        Ok(Coo { shape: self.shape.to_vec(), crd, values: self.data.values.gather(&positions) })
    }
}

impl Diagonals {
    /// Every element of every diagonal that lies inside the matrix and is not zero.
    pub(super) fn entries(&self) -> Result<Coo, Fault> {
        let [rows, columns] = self.shape;
        let offsets = self.offsets.to_vec();
        let [diagonals, length] = self.data.shape[..] else {
            return Err(("data", "a rank other than 2".to_owned()));
        };
        if diagonals != offsets.len() {
            let reason = format!("{} offsets of {diagonals} diagonals", offsets.len());
            return Err(("offsets", reason));
        }
        let mut sorted = offsets.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(("offsets", format!("{} stands there twice", pair[0])));
        }
        let zero = self.data.values.dtype().zero();
        let (mut is, mut js, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        for (diagonal, &offset) in offsets.iter().enumerate() {
            for column in 0..length.min(columns) {
                let Some(row) = (column as i64).checked_sub(offset) else { continue };
                let position = diagonal * length + column;
                let inside = row >= 0 && (row as u64) < rows as u64;
                if inside && !self.data.values.get(position).is_none_or(|v| v.same(&zero)) {
                    is.push(row);
                    js.push(column as i64);
                    positions.push(position as u64);
                }
            }
        }
        let values = self.data.values.gather(&positions);
        Ok(Coo { shape: self.shape.to_vec(), crd: vec![is, js], values })
    }
}
