//! Compiled kernels against plain Rust loops, one thread: sparse matrix times vector and times 32
//! columns, from loop IR written by hand.
//!
//! `cargo run --release -p ust-benches --bin jit_probe [-- code]` prints least times and ratios, and
//! with `code` the machine code too.

use std::hint::black_box;
use std::time::Instant;

use ust::jit::{Kernel, Options};
use ust::level_api::ir::interp::Memory;
use ust::level_api::ir::{BinOp, Builder, Elem, Expr, Function, Ty};
use ust::{Buffer, Dtype, IndexArray, IndexKind, Scalar};

/// A matrix in CSR.
struct Matrix {
    pos: IndexArray,
    crd: IndexArray,
    values: Vec<f64>,
    rows: usize,
    columns: usize,
}

impl Matrix {
    fn new(columns: usize, lines: impl Iterator<Item = Vec<u32>>) -> Self {
        let (mut pos, mut crd) = (vec![0_u32], Vec::new());
        for line in lines {
            crd.extend(line);
            pos.push(crd.len() as u32);
        }
        let values = (0..crd.len()).map(|at| (at % 17) as f64 - 8.0).collect();
        let rows = pos.len() - 1;
        let (pos, crd) = (Buffer::from(pos).into(), Buffer::from(crd).into());
        Self { pos, crd, values, rows, columns }
    }

    fn indices(&self) -> (&[u32], &[u32]) {
        match (&self.pos, &self.crd) {
            (IndexArray::U32(pos), IndexArray::U32(crd)) => (pos, crd),
            _ => unreachable!("made of u32"),
        }
    }
}

fn random(size: usize, each: usize) -> Matrix {
    let mut state = 42_u64;
    let line = |_| {
        let column = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % size as u64) as u32
        };
        let mut line: Vec<u32> = (0..each).map(column).collect();
        line.sort_unstable();
        line
    };
    Matrix::new(size, (0..size).map(line))
}

fn stencil(side: usize) -> Matrix {
    let line = |at: usize| {
        let (i, j) = (at / side, at % side);
        let near = [
            (i > 0).then(|| at - side),
            (j > 0).then(|| at - 1),
            Some(at),
            (j + 1 < side).then_some(at + 1),
            (i + 1 < side).then_some(at + side),
        ];
        near.into_iter().flatten().map(|at| at as u32).collect()
    };
    Matrix::new(side * side, (0..side * side).map(line))
}

fn arrays(b: &mut Builder) -> [ust::level_api::ir::ArrayId; 5] {
    let number = Elem::Value(Dtype::F64);
    [
        b.index_array("pos", IndexKind::U32),
        b.index_array("crd", IndexKind::U32),
        b.array("values", number, false),
        b.array("x", number, false),
        b.array("y", number, true),
    ]
}

fn times_vector() -> Function {
    let mut b = Builder::new("spmv");
    let rows = b.param("rows", Ty::Int);
    let [pos, crd, values, x, y] = arrays(&mut b);
    b.for_("i", 0.into(), rows, |b, i| {
        let sum = b.var("sum", Expr::Const(Scalar::F64(0.0)));
        let (lo, hi) = (b.load(pos, i.clone()), b.load(pos, i.clone() + 1));
        b.for_("p", lo, hi, |b, p| {
            let column = b.load(crd, p.clone());
            let term = b.load(values, p) * b.load(x, column);
            b.assign(sum, Expr::from(sum) + term);
        });
        b.store(y, i, sum.into());
    });
    b.finish()
}

fn times_matrix() -> Function {
    let mut b = Builder::new("spmm");
    let (rows, n) = (b.param("rows", Ty::Int), b.param("n", Ty::Int));
    let [pos, crd, values, x, y] = arrays(&mut b);
    b.for_("i", 0.into(), rows, |b, i| {
        let (lo, hi) = (b.load(pos, i.clone()), b.load(pos, i.clone() + 1));
        b.for_("p", lo, hi, |b, p| {
            let factor = b.load(values, p.clone());
            let factor = b.bind("factor", factor);
            let k = b.load(crd, p);
            let k = b.bind("k", k);
            b.for_("j", 0.into(), n.clone(), |b, j| {
                let term = factor.clone() * b.load(x, k.clone() * n.clone() + j.clone());
                b.reduce(BinOp::Add, y, i.clone() * n.clone() + j, term);
            });
        });
    });
    b.finish()
}

/// Least seconds of a call of each, called in turns.
fn least(mut runs: [&mut dyn FnMut(); 3]) -> [f64; 3] {
    let mut least = [f64::INFINITY; 3];
    for _ in 0..25 {
        for (least, run) in least.iter_mut().zip(&mut runs) {
            let start = Instant::now();
            run();
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    least
}

/// The loop that is compared with: one check is left inside, of the column.
#[inline(never)]
fn plain_vector(matrix: &Matrix, x: &[f64], y: &mut [f64]) {
    let (pos, crd) = matrix.indices();
    for (i, y) in y.iter_mut().enumerate() {
        let row = pos[i] as usize..pos[i + 1] as usize;
        let mut sum = 0.0;
        for (value, &column) in matrix.values[row.clone()].iter().zip(&crd[row]) {
            sum += value * x[column as usize];
        }
        *y = sum;
    }
}

/// The loop that is compared with; the columns are sliced, so that it is free of checks inside.
#[inline(never)]
fn plain_matrix(matrix: &Matrix, x: &[f64], y: &mut [f64], n: usize) {
    let (pos, crd) = matrix.indices();
    for (i, line) in y.chunks_exact_mut(n).enumerate() {
        #[allow(clippy::needless_range_loop)] // The loop as the field writes it.
        for p in pos[i] as usize..pos[i + 1] as usize {
            let factor = matrix.values[p];
            let k = crd[p] as usize;
            for (y, x) in line.iter_mut().zip(&x[k * n..k * n + n]) {
                *y += factor * x;
            }
        }
    }
}

fn compare(name: &str, matrix: &Matrix, columns: usize, function: &Function, code: bool) {
    let x: Vec<f64> = (0..matrix.columns * columns).map(|at| (at % 13) as f64 - 6.0).collect();
    let size = matrix.rows * columns;
    let mut expected = vec![0.0; size];
    let mut plain = || {
        let y = black_box(&mut expected[..]);
        if columns == 1 {
            plain_vector(matrix, &x, y);
        } else {
            y.fill(0.0);
            plain_matrix(matrix, &x, y, columns);
        }
    };
    let kernels = [true, false].map(|strict| {
        Kernel::compile(function, &Options { checked: false, strict }).expect("valid IR")
    });
    let all = [(matrix.rows as i64).into(), (columns as i64).into()];
    let params = if columns == 1 { &all[..1] } else { &all[..] };
    let mut found = [vec![f64::NAN; size], vec![f64::NAN; size]];
    let run = |kernel: &Kernel, y: &mut [f64]| {
        if columns > 1 {
            y.fill(0.0);
        }
        let mut memory = [
            Memory::Index(&matrix.pos),
            Memory::Index(&matrix.crd),
            Memory::values(&matrix.values),
            Memory::values(&x),
            Memory::values_mut(y),
        ];
        kernel.run(params, black_box(&mut memory)).expect("it runs");
    };
    let [strict, fast] = &mut found;
    let times =
        least([&mut plain, &mut || run(&kernels[0], strict), &mut || run(&kernels[1], fast)]);
    println!("{name}: plain Rust {:.3} ms", times[0] * 1e3);
    for (at, kind) in ["strict", "fast"].iter().enumerate() {
        // Whole numbers: sums are exact in every order.
        assert_eq!(found[at], expected);
        println!(
            "  {kind:6} {:.3} ms, ratio {:.2}, compiled in {:.2} ms, {} bytes",
            times[at + 1] * 1e3,
            times[at + 1] / times[0],
            kernels[at].compile_time().as_secs_f64() * 1e3,
            kernels[at].code().len()
        );
        if code {
            println!("{}", kernels[at].disassembly());
        }
    }
}

fn main() {
    let code = std::env::args().any(|arg| arg == "code");
    let (vector, matrix) = (times_vector(), times_matrix());
    compare("stencil 400x400", &stencil(400), 1, &vector, code);
    compare("random 1e6, 16 a row", &random(1_000_000, 16), 1, &vector, false);
    compare("20000 rows, 16 a row, 32 columns", &random(20_000, 16), 32, &matrix, code);
    let empty = Matrix::new(1, std::iter::empty());
    let kernel =
        Kernel::compile(&vector, &Options { checked: false, strict: true }).expect("valid");
    let mut call = || {
        for _ in 0..1000 {
            let mut memory = [
                Memory::Index(&empty.pos),
                Memory::Index(&empty.crd),
                Memory::values(&empty.values),
                Memory::values(&[0.0_f64]),
                Memory::values_mut::<f64>(&mut []),
            ];
            kernel.run(&[0.into()], black_box(&mut memory)).expect("it runs");
        }
    };
    let times = least([&mut call, &mut || (), &mut || ()]);
    println!("a call with five arrays: {:.0} ns", times[0] * 1e6);
}
