//! Arrays that others write meanwhile: what is copied is checked, and stays as it was checked.
#![cfg(unix)]
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use ust::level_api::{Buffer, IndexArray};
use ust::tensor::{Parts, Values};
use ust::{Error, Tensor, einsum};

/// Rows, columns, and entries.
const SIZES: [usize; 3] = [300, 200, 3000];

/// Arrays of CSR, as another language has them: their addresses, while the vectors live.
struct Foreign {
    pos: *mut u32,
    crd: *mut u32,
    values: *mut f64,
}

// SAFETY: addresses; those who read and write there say why they may.
unsafe impl Sync for Foreign {}

/// Positions and coordinates of a matrix with as many entries in each row.
fn right() -> [Vec<u32>; 2] {
    let [rows, _, entries] = SIZES.map(|size| size as u32);
    let each = entries / rows;
    let crd = (0..entries).map(|at| at % each * 7 + at / each % 5);
    [(0..=rows).map(|row| row * each).collect(), crd.collect()]
}

impl Foreign {
    /// Writes an array as code of another language does.
    fn write<T>(to: *mut T, from: &[T]) {
        // SAFETY: `to` is one of the addresses, behind which are as many elements.
        unsafe { libc::memcpy(to.cast(), from.as_ptr().cast(), size_of_val(from)) };
    }

    /// A tensor of copies of the arrays, if they are right.
    fn taken(&self) -> Result<Tensor, Error> {
        let [rows, columns, entries] = SIZES;
        // SAFETY: the vectors live, and are written by `write` alone, which is not Rust's.
        let (pos, crd, values) = unsafe {
            let pos = Buffer::copied(self.pos.cast_const(), rows + 1).unwrap();
            let crd = Buffer::copied(self.crd.cast_const(), entries).unwrap();
            (pos, crd, Buffer::copied(self.values.cast_const(), entries).unwrap())
        };
        let levels = vec![vec![], vec![IndexArray::from(pos), IndexArray::from(crd)]];
        Tensor::from_parts("CSR", &[rows, columns], Parts::new(levels, Values::F64(values)))
    }
}

/// The sums of the rows, from the arrays that a tensor has.
fn sums(tensor: &Tensor) -> Vec<f64> {
    let (pos, crd) = (tensor.pos(1).unwrap().to_vec(), tensor.crd(1).unwrap().to_vec());
    assert!(crd.iter().all(|&column| (column as usize) < SIZES[1]));
    let values = tensor.values().typed::<f64>().unwrap();
    let row = |two: &[i64]| values[two[0] as usize..two[1] as usize].iter().sum();
    pos.windows(2).map(row).collect()
}

#[test]
fn what_others_write_is_copied_before_it_is_checked() {
    let [pos, crd] = right();
    let mut memory = (pos.clone(), crd.clone(), vec![1.0; SIZES[2]]);
    let foreign = Foreign {
        pos: memory.0.as_mut_ptr(),
        crd: memory.1.as_mut_ptr(),
        values: memory.2.as_mut_ptr(),
    };
    assert_eq!(sums(&foreign.taken().unwrap()), vec![10.0; SIZES[0]]);
    let done = AtomicBool::new(false);
    let wrong = [vec![u32::MAX; pos.len()], vec![u32::MAX; crd.len()]];
    let taken = thread::scope(|scope| {
        scope.spawn(|| {
            let foreign = &foreign;
            while !done.load(Relaxed) {
                for [pos, crd] in [&wrong, &[pos.clone(), crd.clone()]] {
                    Foreign::write(foreign.crd, crd);
                    Foreign::write(foreign.pos, pos);
                    Foreign::write(foreign.values, &vec![2.0; SIZES[2]]);
                }
            }
            Foreign::write(foreign.pos, &wrong[0]);
        });
        let taken: Vec<_> = (0..2000).map(|_| foreign.taken()).collect();
        done.store(true, Relaxed);
        taken
    });
    for tensor in taken.iter().flatten() {
        let wanted = sums(tensor);
        let found = einsum("y(i) = sum(j, A(i,j))").arg("A", tensor).run().unwrap();
        assert_eq!(found.values().typed::<f64>().unwrap()[..], wanted);
    }
    assert!(matches!(foreign.taken(), Err(Error::Level { .. } | Error::Claim { .. })));
    drop(memory);
}
