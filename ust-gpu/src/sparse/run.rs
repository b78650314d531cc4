//! Runs products on tensors.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ust_cuda::sparse::{self, Dense, Matrix, Number, Order, Sparse, Vector};
use ust_cuda::{CudaError, Grid, Memory, Source};
use ust_engine::ops::Operator;
use ust_engine::provider::{Call, Cuts, Executable};
use ust_engine::{Error, Tensor};
use ust_level_api::{IndexColumn, IndexKind};

use super::operands::Running;
use super::recognise::{Product, Stored, Task};
use crate::cache;
use crate::convert::combined;
use crate::gpu::Gpu;
use crate::place::{self, Held};
use crate::product::Full;
use crate::room::Room;
use crate::there::{self, Levels, Operands, device};
use crate::tuning::BLOCK_THREADS;

/// Products that were prepared.
static PREPARED: AtomicUsize = AtomicUsize::new(0);

/// Number of products that this process let cuSPARSE prepare: one for each matrix that comes after another one,
/// and for each kernel. A product of two sparse matrices is not prepared.
#[must_use]
pub fn prepared() -> usize {
    PREPARED.load(Ordering::Relaxed)
}

/// A product, which runs on tensors.
pub(super) struct Multiplier {
    task: Task,
    /// What the library prepared for the last sparse matrix; nothing while it runs.
    prepared: Mutex<Option<Prepared>>,
}

struct Prepared {
    /// The matrix that it was prepared for.
    levels: Weak<Levels>,
    /// The extents of all index variables.
    extents: Vec<usize>,
    product: sparse::Product,
}

/// The library's product of operands on the device.
#[allow(unsafe_code)]
fn multiply(product: &mut sparse::Product, values: [u64; 3]) -> Result<(), Error> {
    // SAFETY: level arrays passed the checks of their levels, and values are as many as they say. Whoever
    // keeps the memory frees it in the order of the stream.
    unsafe { product.run(values) }.map_err(device)
}

/// Lets the library look at a matrix before its first product.
#[allow(unsafe_code)]
fn look(product: &mut sparse::Product) -> Result<(), Error> {
    // SAFETY: as above. A product is used with the matrix that it was prepared for.
    unsafe { product.preprocess() }.map_err(device)
}

/// The library's product of two sparse matrices.
#[allow(unsafe_code)]
fn multiply_sparse(library: &Sparse, a: &Matrix, b: &Matrix) -> Result<sparse::Rows, Error> {
    // SAFETY: as above.
    cache::with_room(|| unsafe { library.spgemm(a, b) }).map_err(device)
}

impl Multiplier {
    pub(super) fn new(task: Task) -> Self {
        Self { task, prepared: Mutex::default() }
    }

    fn run_there(&self, call: &Call<'_>) -> Result<Tensor, Error> {
        if call.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let gpu = &Gpu::current().map_err(device)?;
        let library = &super::library(gpu).map_err(device)?;
        let Task { number, result, ref product } = self.task;
        let stream = library.stream();
        let operands = Operands::new(call, stream)?;
        let Operands { levels, values } = &operands;
        let room = Room::new(call);
        let run = Running { call, room, library, gpu, stream, levels, values, number, result };
        operands.between(stream, || match product {
            Product::Times { a, transposed, b, c } => self.times(&run, a, *transposed, b, c),
            Product::Sampled { a, b, c } => self.sampled(&run, a, b, c),
            Product::Sparse { a, b } => run.sparse(a, b),
        })
    }

    /// Runs what was prepared for these levels, or prepares it first.
    fn run_prepared(
        &self,
        run: &Running<'_>,
        levels: &Arc<Levels>,
        values: [u64; 3],
        prepare: impl FnOnce() -> Result<sparse::Product, Error>,
    ) -> Result<(), Error> {
        let lock = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let suits = |one: &Prepared| {
            let stream = one.product.stream().handle() == run.stream.handle();
            let levels = one.levels.ptr_eq(&Arc::downgrade(levels));
            stream && levels && one.extents == run.call.extents()
        };
        let kept = lock().take().filter(suits);
        let mut prepared = match kept {
            Some(kept) => kept,
            None => {
                let mut product = prepare()?;
                look(&mut product)?;
                PREPARED.fetch_add(1, Ordering::Relaxed);
                let extents = run.call.extents().to_vec();
                Prepared { levels: Arc::downgrade(levels), extents, product }
            }
        };
        multiply(&mut prepared.product, values)?;
        *lock() = Some(prepared);
        Ok(())
    }

    fn times(
        &self,
        run: &Running<'_>,
        a: &Stored,
        transposed: bool,
        b: &Full,
        c: &Full,
    ) -> Result<Tensor, Error> {
        let count = run.count()?;
        if run.is_empty(a) || count == 0 || run.call.operands()[b.operand].nse() == 0 {
            return run.zeros(count);
        }
        let there = run.sparse_operand(a)?;
        let (rows, inner) = match transposed {
            true => (there.matrix.columns, there.matrix.rows),
            false => (there.matrix.rows, there.matrix.columns),
        };
        let b = run.dense_operand(b, inner)?;
        let width = run.extent(c.indices[1]);
        // Whole blocks may reach beyond the result.
        let own = run.extent(c.indices[0]);
        let each = run.result.bytes();
        let bytes = rows.checked_mul(width).and_then(|all| all.checked_mul(each));
        let bytes = bytes.ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        run.room.take(bytes as u64)?;
        let result = there::alloc(bytes, run.stream).map_err(device)?;
        let of_c = Dense::new(rows, width, c.order, run.result, result.address());
        let values = [there.matrix.values, b.matrix.values, result.address()];
        self.run_prepared(run, &there.levels, values, || {
            let made = cache::with_room(|| match c.indices[1] {
                None => {
                    let vector = |of: &Dense| Vector {
                        length: of.rows,
                        number: of.number,
                        values: of.values,
                    };
                    run.library.spmv(&there.matrix, transposed, &vector(&b.matrix), &vector(&of_c))
                }
                Some(_) => run.library.spmm(&there.matrix, transposed, &b.matrix, &of_c),
            });
            made.map_err(device)
        })?;
        let result = match c.order {
            Order::Columns if own < rows && width > 1 => {
                run.room.take((count * each) as u64)?;
                let cut = there::alloc(count * each, run.stream).map_err(device)?;
                run.copy_lines(each, (&result, rows), (&cut, own), own, width)?;
                cut
            }
            // The first numbers are the result.
            _ => result,
        };
        there::stays(run.call, result, run.gpu)
    }

    fn sampled(&self, run: &Running<'_>, a: &Full, b: &Full, c: &Stored) -> Result<Tensor, Error> {
        let count = run.count()?;
        if count == 0 || run.call.operands()[a.operand].nse() == 0 {
            return run.zeros(count);
        }
        let there = run.sparse_operand(c)?;
        let (rows, columns) = (there.matrix.rows, there.matrix.columns);
        let (a, b) = (run.dense_operand(a, rows)?, run.dense_operand(b, run.extent(a.indices[1]))?);
        debug_assert_eq!(b.matrix.columns, columns);
        let result = run.cleared(count, run.result.bytes())?;
        let values = [a.matrix.values, b.matrix.values, result.address()];
        let matrix = Matrix { values: result.address(), ..there.matrix };
        self.run_prepared(run, &there.levels, values, || {
            cache::with_room(|| run.library.sddmm(&a.matrix, &b.matrix, &matrix)).map_err(device)
        })?;
        Self::scale(run, &result, there.matrix.values, count)?;
        there::stays(run.call, result, run.gpu)
    }

    /// Multiplies numbers by others.
    fn scale(run: &Running<'_>, to: &Memory, by: u64, count: usize) -> Result<(), Error> {
        // The device keeps what it compiled.
        let source = Source::new(scaling(run.number));
        let module = run.stream.device().module(&source).map_err(device)?;
        let kernel = module.kernel("scale").map_err(device)?;
        let blocks = (count as u64).div_ceil(BLOCK_THREADS).min(i32::MAX as u64);
        let grid = Grid::new(blocks as u32, BLOCK_THREADS as u32);
        let words = [to.address(), by, count as u64];
        crate::run_kernel(&kernel, grid, &words, run.stream).map_err(device)
    }
}

/// The text of the kernel that scales numbers of a type.
fn scaling(number: Number) -> String {
    let (name, product) = match number {
        Number::F32 => ("float", "a * b"),
        Number::F64 => ("double", "a * b"),
        Number::Complex64 => {
            ("float2", "make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)")
        }
        _ => ("double2", "make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)"),
    };
    format!(
        r#"extern "C" __global__ void scale({name}* to, const {name}* by, long long count) {{
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {{
    {name} a = to[i], b = by[i];
    to[i] = {product};
  }}
}}
"#
    )
}

impl Running<'_> {
    fn sparse(&self, a: &Stored, b: &Stored) -> Result<Tensor, Error> {
        let zero = self.call.dtype().zero();
        if self.is_empty(a) || self.is_empty(b) {
            let none = || IndexColumn::from(Vec::<u32>::new());
            let values = ust_engine::Values::filled(zero, 0);
            return self.call.in_rows(vec![none(), none()], values);
        }
        let (a, b) = (self.sparse_operand(a)?, self.sparse_operand(b)?);
        let rows = multiply_sparse(self.library, &a.matrix, &b.matrix)?;
        let bytes = rows.stored.saturating_mul(self.number.bytes() + a.matrix.index.bytes());
        self.room.take(bytes as u64)?;
        let (gpu, stored, dtype) = (self.gpu, rows.stored, self.call.dtype());
        let held = |memory, len| Held { memory: Arc::new(memory), kind: IndexKind::U32, len };
        let starts = held(rows.starts, a.matrix.rows + 1);
        let columns = held(rows.columns, stored);
        let memory = Arc::new(rows.values);
        let made = || -> Result<_, CudaError> {
            let rows = place::expanded(starts, stored, gpu)?;
            let parents = place::held(&rows, gpu)?;
            let sorted = gpu.primitives().ascends(parents.column()?, columns.column()?)?;
            Ok((sorted, vec![rows, place::column(&columns, gpu)]))
        };
        let (sorted, mut columns) = made().map_err(device)?;
        let mut values = place::values(dtype, &memory, stored, gpu);
        if !sorted
            && let Some(made) = combined(self.call, &columns, &memory, &Operator::Add, 1, gpu)?
        {
            (columns, values) = made;
        }
        let result = self.call.in_rows(columns, values)?;
        there::levels(&result, self.stream)?;
        there::values(&result, self.stream)?;
        Ok(result)
    }
}

impl fmt::Debug for Multiplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Executable for Multiplier {
    fn call(&self, call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        Some(self.run_there(call))
    }

    fn cuts(&self) -> Cuts {
        Cuts::Never
    }

    fn describe(&self) -> String {
        let what = match &self.task.product {
            Product::Times { c, transposed, .. } => match (c.indices[1], transposed) {
                (None, false) => "SpMV",
                (None, true) => "SpMV with the transpose",
                (Some(_), false) => "SpMM",
                (Some(_), true) => "SpMM with the transpose",
            },
            Product::Sampled { .. } => "SDDMM",
            Product::Sparse { .. } => "SpGEMM",
        };
        format!("cuSPARSE, {what}")
    }
}
