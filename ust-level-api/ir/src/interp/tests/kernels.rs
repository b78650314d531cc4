//! Two kernels, as a conversion or an operation emits them, compared with plain Rust.

use super::*;
use crate::{BinOp, Builder, Dtype, Elem, Function, IndexArray, IndexKind, Ty};

/// A matrix in compressed rows, `per_row` entries in each.
pub(super) struct Csr {
    pub(super) pos: IndexArray,
    pub(super) crd: IndexArray,
    pub(super) values: Vec<f64>,
    pub(super) rows: usize,
}

impl Csr {
    pub(super) fn new(rows: usize, per_row: usize) -> Self {
        let pos: Vec<u32> = (0..=rows).map(|i| (i * per_row) as u32).collect();
        let crd = (0..rows * per_row).map(|p| (p * 7919 % rows) as u32);
        let values = (0..rows * per_row).map(|p| (p % 13) as f64 - 6.0).collect();
        Self { pos: pos.into(), crd: crd.collect::<Vec<u32>>().into(), values, rows }
    }

    pub(super) fn entries(&self) -> Vec<(usize, usize, usize)> {
        let (pos, crd) = (self.pos.to_vec(), self.crd.to_vec());
        let row = |i: usize| pos[i] as usize..pos[i + 1] as usize;
        (0..self.rows)
            .flat_map(|i| row(i).map(move |p| (i, p)))
            .map(|(i, p)| (i, crd[p] as usize, p))
            .collect()
    }
}

/// `y = A x`.
pub(super) fn spmv() -> Function {
    let mut b = Builder::new("spmv");
    let m = b.param("m", Ty::Int);
    let pos = b.index_array("A2_pos", IndexKind::U32);
    let crd = b.index_array("A2_crd", IndexKind::U32);
    let values = b.array("A_val", Elem::Value(Dtype::F64), false);
    let x = b.array("x", Elem::Value(Dtype::F64), false);
    let y = b.array("y", Elem::Value(Dtype::F64), true);
    b.for_("i", 0.into(), m, |b, i| {
        let (lo, hi) = (b.load(pos, i.clone()), b.load(pos, i.clone() + 1));
        b.for_("p", lo, hi, |b, p| {
            let j = b.bind("j", b.load(crd, p.clone()));
            let product = b.load(values, p) * b.load(x, j);
            b.reduce(BinOp::Add, y, i, product);
        });
    });
    b.finish()
}

/// Row, column and position of each entry, as columns.
pub(super) fn unpack() -> Function {
    let mut b = Builder::new("unpack");
    let m = b.param("m", Ty::Int);
    let pos = b.index_array("A2_pos", IndexKind::U32);
    let crd = b.index_array("A2_crd", IndexKind::U32);
    let columns = ["row", "column", "position"];
    let [rows, columns, positions] =
        columns.map(|name| b.array(name, Elem::Index(IndexKind::I64), true));
    let at = b.var("at", 0.into());
    b.for_("i", 0.into(), m, |b, i| {
        let (lo, hi) = (b.load(pos, i.clone()), b.load(pos, i.clone() + 1));
        b.for_("p", lo, hi, |b, p| {
            let j = b.load(crd, p.clone());
            b.store(rows, at.into(), i);
            b.store(columns, at.into(), j);
            b.store(positions, at.into(), p);
            b.assign(at, crate::Expr::from(at) + 1);
        });
    });
    b.finish()
}

#[test]
fn spmv_is_what_plain_rust_computes() {
    let a = Csr::new(50, 4);
    let x: Vec<f64> = (0..50).map(f64::from).collect();
    let mut y = vec![0.0; 50];
    let mut memory = [
        Memory::Index(&a.pos),
        Memory::Index(&a.crd),
        Memory::values(&a.values),
        Memory::values(&x),
        Memory::values_mut(&mut y),
    ];
    Program::compile(&spmv()).unwrap().run(&[50.into()], &mut memory).unwrap();
    let mut expected = vec![0.0; 50];
    for (i, j, p) in a.entries() {
        expected[i] += a.values[p] * x[j];
    }
    assert_eq!(y, expected);
}

#[test]
fn unpack_gives_every_entry_in_order() {
    let a = Csr::new(30, 3);
    let [mut rows, mut columns, mut positions] = [(); 3].map(|()| vec![-1_i64; 90]);
    let mut memory = [
        Memory::Index(&a.pos),
        Memory::Index(&a.crd),
        Memory::indices_mut(&mut rows),
        Memory::indices_mut(&mut columns),
        Memory::indices_mut(&mut positions),
    ];
    Program::compile(&unpack()).unwrap().run(&[30.into()], &mut memory).unwrap();
    let given: Vec<_> = (0..90).map(|k| (rows[k], columns[k], positions[k])).collect();
    let expected: Vec<_> =
        a.entries().iter().map(|&(i, j, p)| (i as i64, j as i64, p as i64)).collect();
    assert_eq!(given, expected);
}
