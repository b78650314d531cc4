//! Time per instruction. Nothing is asserted on it: run in release with
//! `--ignored --nocapture` and read.

use std::time::{Duration, Instant};

use super::kernels::{Csr, spmv, unpack};
use super::*;
use crate::Function;

const ROWS: usize = 100_000;
const PER_ROW: usize = 16;

fn time(function: &Function, memory: &mut [Memory<'_>]) {
    let program = Program::compile(function).unwrap();
    let params = [(ROWS as i64).into()];
    let executed = program.execute::<true>(&params, memory, Limits::default()).unwrap();
    let best = (0..10)
        .map(|_| {
            let start = Instant::now();
            program.run(&params, memory).unwrap();
            start.elapsed()
        })
        .min()
        .unwrap_or(Duration::MAX);
    let nanoseconds = best.as_nanos() as f64;
    println!(
        "{}: {:.2} ns per instruction, {:.2} ns per entry ({executed} instructions)",
        function.name,
        nanoseconds / executed as f64,
        nanoseconds / (ROWS * PER_ROW) as f64,
    );
    assert!(executed > (ROWS * PER_ROW) as u64);
}

#[test]
#[ignore = "prints times; for release builds"]
fn time_per_instruction() {
    let a = Csr::new(ROWS, PER_ROW);
    let x = vec![1.0; ROWS];
    let mut y = vec![0.0; ROWS];
    time(
        &spmv(),
        &mut [
            Memory::Index(&a.pos),
            Memory::Index(&a.crd),
            Memory::values(&a.values),
            Memory::values(&x),
            Memory::values_mut(&mut y),
        ],
    );
    let [mut rows, mut columns, mut positions] = [(); 3].map(|()| vec![0_i64; ROWS * PER_ROW]);
    time(
        &unpack(),
        &mut [
            Memory::Index(&a.pos),
            Memory::Index(&a.crd),
            Memory::indices_mut(&mut rows),
            Memory::indices_mut(&mut columns),
            Memory::indices_mut(&mut positions),
        ],
    );
}
