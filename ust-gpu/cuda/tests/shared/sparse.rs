//! Products of sparse matrices, by the library of any device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ust_cuda::sparse::{Dense, Index, Matrix, Number, Order, Sparse, Storage, Vector};
use ust_cuda::{CudaError, Memory, Stream};

use crate::common::{bytes_of, read};
use crate::device;

/// The library, for one test at a time: one of them looks at the memory that all have left. Says so if there is
/// none.
pub(crate) fn library() -> Option<(Sparse, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match Sparse::new(&device()?.stream().unwrap()) {
        Ok(sparse) => Some((sparse, alone)),
        Err(error @ CudaError::NoLibrary { .. }) => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A 4 x 6 matrix, and where its arrays lie.
#[allow(dead_code)]
pub(crate) struct Stored {
    pub(crate) matrix: Matrix,
    pub(crate) outer: Memory,
    pub(crate) inner: Memory,
    pub(crate) values: Memory,
}

pub(crate) const ROWS: usize = 4;
pub(crate) const COLUMNS: usize = 6;

/// Element of the matrix. Blocks of 2 x 3 at rows 0, 1 and columns 3, 4, 5, and at rows 2, 3 and columns 0, 1, 2.
fn element(row: usize, column: usize) -> f64 {
    if (row < 2) == (column >= 3) { (1 + row * COLUMNS + column) as f64 } else { 0.0 }
}

fn entries() -> Vec<(usize, usize)> {
    let all = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)));
    all.filter(|&(row, column)| element(row, column) != 0.0).collect()
}

/// Where each of so many begins, of ascending numbers.
fn starts(count: usize, of: &[usize]) -> Vec<usize> {
    (0..=count).map(|at| of.iter().filter(|&&one| one < at).count()).collect()
}

pub(crate) fn store(stream: &Stream, storage: Storage, index: Index) -> Stored {
    let mut entries = entries();
    if storage == Storage::Csc {
        entries.sort_by_key(|&(row, column)| (column, row));
    }
    let rows: Vec<usize> = entries.iter().map(|entry| entry.0).collect();
    let columns: Vec<usize> = entries.iter().map(|entry| entry.1).collect();
    let mut values: Vec<f64> = entries.iter().map(|&(row, column)| element(row, column)).collect();
    let (outer, inner) = match storage {
        Storage::Csr => (starts(ROWS, &rows), columns),
        Storage::Csc => (starts(COLUMNS, &columns), rows),
        Storage::Coo => (rows, columns),
        Storage::Bsr { order, .. } => {
            let block = |row: usize, column: usize| {
                let at = move |i: usize| match order {
                    Order::Rows => (i / 3, i % 3),
                    Order::Columns => (i % 2, i / 2),
                };
                (0..6).map(at).map(move |(i, j)| element(2 * row + i, 3 * column + j))
            };
            values = block(0, 1).chain(block(1, 0)).collect();
            (vec![0, 1, 2], vec![1, 0])
        }
    };
    let upload = |indices: &[usize]| {
        let bytes = match index {
            Index::I32 => bytes_of(&indices.iter().map(|&at| at as i32).collect::<Vec<_>>()),
            Index::I64 => bytes_of(&indices.iter().map(|&at| at as i64).collect::<Vec<_>>()),
        };
        stream.upload(&bytes).unwrap()
    };
    let stored = inner.len();
    let (outer, inner) = (upload(&outer), upload(&inner));
    let values = stream.upload(&bytes_of(&values)).unwrap();
    let matrix = Matrix {
        rows: ROWS,
        columns: COLUMNS,
        storage,
        stored,
        number: Number::F64,
        index,
        outer: outer.address(),
        inner: inner.address(),
        values: values.address(),
    };
    Stored { matrix, outer, inner, values }
}

pub(crate) const BLOCKS: [Storage; 2] = [
    Storage::Bsr { size: [2, 3], order: Order::Rows },
    Storage::Bsr { size: [2, 3], order: Order::Columns },
];

pub(crate) fn vector(length: usize, memory: &Memory) -> Vector {
    Vector { length, number: Number::F64, values: memory.address() }
}

#[test]
fn a_matrix_times_a_vector() {
    let Some((sparse, _alone)) = library() else { return };
    println!("cuSPARSE {}", sparse.version());
    let stream = sparse.stream();
    for storage in [Storage::Csr, Storage::Csc, Storage::Coo, BLOCKS[0], BLOCKS[1]] {
        for (index, transposed) in
            [(Index::I32, false), (Index::I64, false), (Index::I32, true), (Index::I64, true)]
        {
            let a = store(stream, storage, index);
            let (rows, columns) = if transposed { (COLUMNS, ROWS) } else { (ROWS, COLUMNS) };
            let numbers: Vec<f64> = (0..columns).map(|at| at as f64 - 1.5).collect();
            let x = stream.upload(&bytes_of(&numbers)).unwrap();
            let y = stream.alloc(8 * rows).unwrap();
            let product =
                sparse.spmv(&a.matrix, transposed, &vector(columns, &x), &vector(rows, &y));
            // The library may have no product with the transpose of blocks.
            if transposed && matches!(storage, Storage::Bsr { .. }) && product.is_err() {
                assert!(matches!(product, Err(CudaError::Library { .. })));
                continue;
            }
            let mut product = product.unwrap();
            let expected: Vec<f64> = (0..rows)
                .map(|i| {
                    let of = |j| if transposed { element(j, i) } else { element(i, j) };
                    (0..columns).map(|j| of(j) * numbers[j]).sum()
                })
                .collect();
            // SAFETY: the virtual device looks at every access.
            unsafe {
                product.preprocess().unwrap();
                product.run([a.values.address(), x.address(), y.address()]).unwrap();
                assert_eq!(read::<f64>(stream, &y), expected, "{storage:?} {index:?} {transposed}");
                // Other numbers of the same matrix.
                let twice: Vec<f64> = numbers.iter().map(|x| 2.0 * x).collect();
                let x = stream.upload(&bytes_of(&twice)).unwrap();
                product.run([a.values.address(), x.address(), y.address()]).unwrap();
                let twice: Vec<f64> = expected.iter().map(|y| 2.0 * y).collect();
                assert_eq!(read::<f64>(stream, &y), twice, "{storage:?} {index:?} {transposed}");
            }
        }
    }
}

#[test]
fn a_matrix_times_a_dense_matrix() {
    let Some((sparse, _alone)) = library() else { return };
    let stream = sparse.stream();
    let orders = [Order::Rows, Order::Columns];
    for storage in [Storage::Csr, Storage::Csc, Storage::Coo, BLOCKS[0]] {
        for (of_b, of_c) in orders.into_iter().flat_map(|b| orders.map(|c| (b, c))) {
            let a = store(stream, storage, Index::I32);
            // Two columns, and a place that nobody uses between lines.
            let numbers: Vec<f64> = (0..21).map(|at| f64::from(at % 5)).collect();
            let b = stream.upload(&bytes_of(&numbers)).unwrap();
            let c = stream.upload(&bytes_of(&[-1.0; 15])).unwrap();
            let dense = |rows, order, memory: &Memory| {
                let tight = Dense::new(rows, 2, order, Number::F64, memory.address());
                Dense { stride: tight.stride + 1, ..tight }
            };
            let (of_b, of_c) = (dense(COLUMNS, of_b, &b), dense(ROWS, of_c, &c));
            let place = |of: &Dense, row: usize, column: usize| match of.order {
                Order::Rows => row * of.stride + column,
                Order::Columns => column * of.stride + row,
            };
            let mut product = sparse.spmm(&a.matrix, false, &of_b, &of_c).unwrap();
            // SAFETY: as above.
            unsafe {
                product.preprocess().unwrap();
                product.run([a.values.address(), b.address(), c.address()]).unwrap();
            }
            let found = read::<f64>(stream, &c);
            let mut expected = [-1.0; 15];
            for row in 0..ROWS {
                for column in 0..2 {
                    expected[place(&of_c, row, column)] = (0..COLUMNS)
                        .map(|j| element(row, j) * numbers[place(&of_b, j, column)])
                        .sum();
                }
            }
            assert_eq!(found, expected, "{storage:?} {of_b:?} {of_c:?}");
        }
    }
}

#[test]
fn a_product_where_a_matrix_stores_numbers() {
    let Some((sparse, _alone)) = library() else { return };
    let stream = sparse.stream();
    let c = store(stream, Storage::Csr, Index::I64);
    let numbers: Vec<f64> = (0..12).map(f64::from).collect();
    let (a, b) = (stream.upload(&bytes_of(&numbers[..8])), stream.upload(&bytes_of(&numbers)));
    let (a, b) = (a.unwrap(), b.unwrap());
    let of_a = Dense::new(ROWS, 2, Order::Rows, Number::F64, a.address());
    let of_b = Dense::new(2, COLUMNS, Order::Columns, Number::F64, b.address());
    let mut product = sparse.sddmm(&of_a, &of_b, &c.matrix).unwrap();
    // SAFETY: as above.
    unsafe {
        product.preprocess().unwrap();
        product.run([a.address(), b.address(), c.values.address()]).unwrap();
    }
    let expected: Vec<f64> = entries()
        .iter()
        .map(|&(i, j)| (0..2).map(|k| numbers[2 * i + k] * numbers[2 * j + k]).sum())
        .collect();
    assert_eq!(read::<f64>(stream, &c.values), expected);
}

#[test]
fn a_sparse_matrix_times_its_transpose() {
    let Some((sparse, _alone)) = library() else { return };
    let stream = sparse.stream();
    let (a, columns) =
        (store(stream, Storage::Csr, Index::I32), store(stream, Storage::Csc, Index::I32));
    // Columns of the matrix are rows of its transpose.
    let b = Matrix { rows: COLUMNS, columns: ROWS, storage: Storage::Csr, ..columns.matrix };
    // SAFETY: as above.
    let product = unsafe { sparse.spgemm(&a.matrix, &b) }.unwrap();
    assert_eq!(product.stored, 8);
    let starts = read::<i32>(stream, &product.starts);
    assert_eq!(starts, [0, 2, 4, 6, 8]);
    let (columns, values) =
        (read::<i32>(stream, &product.columns), read::<f64>(stream, &product.values));
    for row in 0..ROWS {
        let own = starts[row] as usize..starts[row + 1] as usize;
        let mut found: Vec<_> = own.map(|at| (columns[at] as usize, values[at])).collect();
        found.sort_by_key(|one| one.0);
        let dot = |other| (0..COLUMNS).map(|j| element(row, j) * element(other, j)).sum::<f64>();
        let others = if row < 2 { [0, 1] } else { [2, 3] };
        assert_eq!(found, others.map(|other| (other, dot(other))));
    }
    // SAFETY: nothing is read.
    let wrong = unsafe { sparse.spgemm(&a.matrix, &a.matrix) };
    assert!(matches!(wrong, Err(CudaError::Argument(_))));
}

#[test]
fn what_does_not_match_is_refused() {
    let Some((sparse, _alone)) = library() else { return };
    let stream = sparse.stream();
    let (a, memory) = (store(stream, Storage::Csr, Index::I32).matrix, stream.alloc(48).unwrap());
    let (x, y) = (vector(COLUMNS, &memory), vector(ROWS, &memory));
    let is_argument = |asked| matches!(asked, Err(CudaError::Argument(_)));
    assert!(is_argument(sparse.spmv(&a, true, &x, &y)));
    assert!(is_argument(sparse.spmv(&a, false, &Vector { number: Number::F32, ..x }, &y)));
    let large = Matrix { columns: 1 << 31, ..a };
    assert!(is_argument(sparse.spmv(&large, false, &Vector { length: 1 << 31, ..x }, &y)));
    let blocks = Storage::Bsr { size: [3, 3], order: Order::Rows };
    assert!(is_argument(sparse.spmv(&Matrix { storage: blocks, ..a }, false, &x, &y)));
    let narrow = Dense { stride: 1, ..Dense::new(COLUMNS, 2, Order::Rows, Number::F64, 0) };
    let c = Dense::new(ROWS, 2, Order::Rows, Number::F64, 0);
    assert!(is_argument(sparse.spmm(&a, false, &narrow, &c)));
}
