//! `cusparselt`: products of 2:4 matrices and dense matrices by NVIDIA's library, on the first device.
//!
//! The library compresses a matrix itself, from one with all of its zeros: the layout of what it makes is known to
//! itself only. What it made of the last matrix is kept for the next run. It rounds each sum of halves to 16 bits. Sums
//! of integers of 8 bits have 32 bits, of which the lower 8 are kept if the result has 8.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ust_cuda::sparse::{Dense, Number, Order};
use ust_cuda::sparse_lt::{self, SparseLt};
use ust_cuda::{CudaError, Grid, Memory, Source};
use ust_engine::ops::Operator;
use ust_engine::provider::product::in_full;
use ust_engine::provider::{Call, Cuts, Executable, Plan, Registration};
use ust_engine::{Dtype, Error, Tensor};
use ust_level_api::{IndexKind, inventory};

use crate::cache;
use crate::gpu::Gpu;
use crate::library::{Handles, Library};
use crate::prelude::{self, Sections};
use crate::product::{
    Full, PLAIN, Why, are_plain, full, is_narrow, is_product, is_product_in, numbers,
};
use crate::room::Room;
use crate::semi_structured::{Groups, dimensions};
use crate::there::{self, Levels, Operands, ValuesThere, device};
use crate::tuning::BLOCK_THREADS;

/// The library, on a stream.
fn library(gpu: &Gpu) -> Result<SparseLt, CudaError> {
    static LAST: Handles<SparseLt> = Handles::new();
    LAST.of(gpu.stream(), SparseLt::stream, SparseLt::new)
}

/// `c = a b` of a 2:4 matrix and tensors in full.
#[derive(Clone, Copy, Debug)]
struct Task {
    number: Number,
    /// In which the library stores sums.
    stored: Number,
    /// Of the result: that of the operands, or the one in which their sums are formed.
    result: Number,
    /// The number of the operand that is a 2:4 matrix.
    a: usize,
    /// The index variables of its rows and columns.
    indices: [usize; 2],
    b: Full,
    c: Full,
}

const PRODUCTS: Why = "it multiplies a matrix that stores two of every four neighbours in a row, by row, by a \
     dense matrix, and sums over its columns";

impl Task {
    /// The task of a plan, or why there is none.
    fn of(plan: &Plan<'_>) -> Result<Self, Why> {
        let Some((Operator::Add, &[summed])) = plan.reduce else { return Err(PRODUCTS) };
        if plan.operands.len() != 2 {
            return Err(PRODUCTS);
        }
        let integers = plan.operands[0].dtype == Dtype::I8;
        let [number, stored, result] = if integers { integers_of(plan)? } else { halves_of(plan)? };
        let is_full = |at: &usize| in_full(&plan.operands[*at]).is_some();
        let [b] = (0..2).filter(is_full).collect::<Vec<_>>()[..] else { return Err(PRODUCTS) };
        let access = &plan.operands[1 - b];
        let groups = Groups::of(access.dtype).map_err(|_| PRODUCTS)?;
        let found = dimensions(access.format, groups).map_err(|_| PRODUCTS)?;
        let [row, column] = found.map(|dim| access.indices[dim]);
        let other = plan.operands[b].indices.iter().copied().find(|&index| index != summed);
        let other = other.filter(|&other| column == summed && row != summed && other != row);
        let other = Some(other.ok_or(PRODUCTS)?);
        let dense = full(&plan.operands[b], b, summed, other);
        let (b, c) = dense.zip(full(&plan.result, 0, row, other)).ok_or(PRODUCTS)?;
        if integers && b.order != Order::Columns {
            return Err("of integers, the dense matrix has those side by side that are summed");
        }
        Ok(Self { number, stored, result, a: 1 - b.operand, indices: [row, column], b, c })
    }
}

/// The types of operands of 16 bits, of what the library stores, and of the result.
fn halves_of(plan: &Plan<'_>) -> Result<[Number; 3], Why> {
    if !is_product(plan) {
        return Err(PRODUCTS);
    }
    if plan.strict {
        return Err("it sums in another order than the loops");
    }
    let [number, result] = numbers(plan)?;
    match is_narrow(number) {
        true => Ok([number, number, result]),
        false => Err("it takes numbers of 16 bits, and integers of 8"),
    }
}

/// The same of integers of 8 bits. Their sums have the same bits in any order.
fn integers_of(plan: &Plan<'_>) -> Result<[Number; 3], Why> {
    let result = match plan.result.dtype {
        Dtype::I8 if is_product(plan) => Number::I8,
        Dtype::I32 if is_product_in(plan, Some(Dtype::I32)) => Number::I32,
        Dtype::I8 | Dtype::I32 => return Err(PRODUCTS),
        _ => return Err("it sums integers of 8 bits in 8 or 32 bits"),
    };
    if are_plain(plan) { Ok([Number::I8, Number::I32, result]) } else { Err(PLAIN) }
}

/// A product, which runs on tensors.
struct Multiplier {
    task: Task,
    /// What the library made last; nothing while it runs.
    prepared: Mutex<Option<Prepared>>,
}

struct Prepared {
    /// The extents of all index variables.
    extents: Vec<usize>,
    product: sparse_lt::Product,
    /// The matrix that was compressed.
    compressed: (Weak<Levels>, Weak<ValuesThere>),
}

/// Lets the library compress a matrix with all of its zeros.
#[allow(unsafe_code)]
fn compress(product: &mut sparse_lt::Product, dense: &Memory) -> Result<(), Error> {
    // SAFETY: the memory has all elements of the matrix. It was allocated for the stream, and is freed in its order.
    cache::with_room(|| unsafe { product.compress(dense.address()) }).map_err(device)
}

/// The library's product of operands on the device.
#[allow(unsafe_code)]
fn multiply(product: &mut sparse_lt::Product, values: [u64; 2]) -> Result<(), Error> {
    // SAFETY: a matrix was compressed. Values are as many as the extents say. Whoever keeps the memory frees it in the
    // order of the stream.
    unsafe { product.run(values) }.map_err(device)
}

/// A run.
struct Running<'a> {
    call: &'a Call<'a>,
    library: &'a SparseLt,
    operands: &'a Operands,
    room: Room,
}

impl Running<'_> {
    fn matrix(&self, of: Full, number: Number, address: u64) -> Dense {
        let [rows, columns] = of.indices.map(|index| index.map_or(1, |at| self.call.extents()[at]));
        Dense::new(rows, columns, of.order, number, address)
    }

    /// A 2:4 matrix with all of its zeros.
    fn with_zeros(&self, a: usize) -> Result<Memory, Error> {
        let tensor = self.call.operands()[a];
        let stream = self.library.stream();
        let bytes = tensor.nse().checked_mul(2 * tensor.dtype().bytes());
        let bytes = bytes.ok_or_else(|| Error::TooLarge("a matrix with its zeros".to_owned()))?;
        self.room.has(bytes as u64)?;
        let to = there::alloc(bytes, stream).map_err(device)?;
        let text = spreading(tensor.levels()[2].0[0].kind(), tensor.dtype().bytes());
        let values = self.operands.values[a].0.address();
        let places = self.operands.levels[a].0[2][0].address();
        self.launch(&text, "spread", &[values, places, to.address()], tensor.nse() / 2)?;
        Ok(to)
    }

    /// What the library stored, in the type of the result.
    fn cast(&self, from: &Memory, count: usize, task: &Task) -> Result<Memory, Error> {
        let to = self.alloc(count, task.result)?;
        self.launch(&casting(task.stored), "cast", &[from.address(), to.address()], count)?;
        Ok(to)
    }

    fn alloc(&self, count: usize, number: Number) -> Result<Memory, Error> {
        let bytes = count.checked_mul(number.bytes());
        let bytes = bytes.ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        self.room.take(bytes as u64)?;
        there::alloc(bytes, self.library.stream()).map_err(device)
    }

    /// Runs a kernel with these addresses on so many things.
    fn launch(&self, text: &str, name: &str, addresses: &[u64], count: usize) -> Result<(), Error> {
        let stream = self.library.stream();
        // The device keeps what it compiled.
        let module = stream.device().module(&Source::new(text));
        let kernel = module.and_then(|module| module.kernel(name)).map_err(device)?;
        let blocks = (count as u64).div_ceil(BLOCK_THREADS).min(i32::MAX as u64);
        let grid = Grid::new(blocks as u32, BLOCK_THREADS as u32);
        let words: Vec<u64> = addresses.iter().copied().chain([count as u64]).collect();
        crate::run_kernel(&kernel, grid, &words, stream).map_err(device)
    }

    /// Whether the library has a product of such extents.
    fn check(&self, task: &Task) -> Result<(), Error> {
        let extents = self.call.extents();
        let [rows, inner] = task.indices.map(|index| extents[index]);
        let columns = task.c.indices[1].map_or(1, |index| extents[index]);
        let [sparse, dense] = sparse_lt::multiples(task.number);
        let whole = rows.is_multiple_of(sparse)
            && inner.is_multiple_of(sparse)
            && columns.is_multiple_of(dense);
        let expected = if !whole {
            format!(
                "cuSPARSELt takes rows and columns of the sparse matrix that are multiples of {sparse}, and \
                 columns of the dense one that are multiples of {dense}"
            )
        } else if task.number == Number::I8 && inner > MOST_INTEGERS {
            format!("sums of at most {MOST_INTEGERS} neighbours in a row fit 32 bits")
        } else {
            return Ok(());
        };
        Err(Error::Shape { found: vec![rows, inner, columns], expected })
    }
}

impl Multiplier {
    fn run_there(&self, call: &Call<'_>) -> Result<Tensor, Error> {
        if call.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let gpu = &Gpu::current().map_err(device)?;
        let library = &library(gpu).map_err(device)?;
        let stream = library.stream();
        let operands = &Operands::new(call, stream)?;
        let running = Running { call, library, operands, room: Room::new(call) };
        running.check(&self.task)?;
        let count = call.value_count().ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        operands.between(stream, || {
            let memory = running.alloc(count, self.task.stored)?;
            match call.extents().contains(&0) {
                true => stream.zero(&memory).map_err(device)?,
                false => self.multiply(&running, &memory)?,
            }
            let memory = match self.task.result == self.task.stored {
                true => memory,
                false => running.cast(&memory, count, &self.task)?,
            };
            there::stays(call, memory, gpu)
        })
    }

    /// Runs what was prepared for such operands, or prepares it first.
    fn multiply(&self, running: &Running<'_>, result: &Memory) -> Result<(), Error> {
        let Task { number, stored, a, b, c, .. } = self.task;
        let Running { call, library, operands, .. } = running;
        let values = [operands.values[b.operand].0.address(), result.address()];
        if values.iter().any(|address| !address.is_multiple_of(16)) {
            return Err(Error::Unsupported(
                "cuSPARSELt takes arrays at multiples of 16 bytes: copy the dense matrix"
                    .to_owned(),
            ));
        }
        let lock = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let suits = |one: &Prepared| {
            let stream = one.product.stream().handle() == library.stream().handle();
            stream && one.extents == call.extents()
        };
        let kept = lock().take().filter(suits);
        let mut prepared = match kept {
            Some(kept) => kept,
            None => {
                let [rows, columns] = self.task.indices.map(|index| call.extents()[index]);
                let a = Dense::new(rows, columns, Order::Rows, number, 0);
                let [b, c] = [(b, number, values[0]), (c, stored, values[1])]
                    .map(|(of, number, address)| running.matrix(of, number, address));
                let made = cache::with_room(|| library.product(&a, &b, &c));
                let (extents, compressed) = (call.extents().to_vec(), Default::default());
                Prepared { extents, product: made.map_err(device)?, compressed }
            }
        };
        let own = (Arc::downgrade(&operands.levels[a]), Arc::downgrade(&operands.values[a]));
        let (levels, of_values) = &prepared.compressed;
        // Others may write into memory of their own.
        let of_others = operands.values[a].0.stream().is_none();
        if of_others || !levels.ptr_eq(&own.0) || !of_values.ptr_eq(&own.1) {
            compress(&mut prepared.product, &running.with_zeros(a)?)?;
            prepared.compressed = own;
        }
        multiply(&mut prepared.product, values)?;
        *lock() = Some(prepared);
        Ok(())
    }
}

/// Neighbours in a row of which half are products of integers of 8 bits: their sum fits 32 bits.
const MOST_INTEGERS: usize = 2 * ((1 << 17) - 1);

/// The text of the kernel that writes groups of numbers of so many bytes with their zeros.
fn spreading(kind: IndexKind, bytes: usize) -> String {
    let value = if bytes == 1 { "unsigned char" } else { "unsigned short" };
    let (name, place) = match kind {
        IndexKind::U2 => ("unsigned char", "crd[at / 4] >> at % 4 * 2"),
        IndexKind::U8 | IndexKind::I8 => ("unsigned char", "crd[at]"),
        IndexKind::U16 | IndexKind::I16 => ("unsigned short", "crd[at]"),
        IndexKind::U32 | IndexKind::I32 => ("unsigned int", "crd[at]"),
        _ => ("unsigned long long", "crd[at]"),
    };
    format!(
        r#"extern "C" __global__ void spread(const {value}* values, const {name}* crd, {value}* to,
                                  long long groups) {{
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long group = (long long)blockIdx.x * blockDim.x + threadIdx.x; group < groups; group += step) {{
    {value} four[4] = {{0, 0, 0, 0}};
    for (long long at = 2 * group; at < 2 * group + 2; at++) four[({place}) & 3] = values[at];
    for (int i = 0; i < 4; i++) to[4 * group + i] = four[i];
  }}
}}
"#
    )
}

/// The text of the kernel that stores numbers of 16 bits in 32, or the lower 8 bits of integers.
fn casting(number: Number) -> String {
    let (dtype, name, value) = match number {
        Number::F16 => (Dtype::F16, "f16", "float"),
        Number::Bf16 => (Dtype::Bf16, "bf16", "float"),
        _ => (Dtype::I32, "int", "signed char"),
    };
    let load = match dtype {
        Dtype::I32 => "(signed char)from[i]".to_owned(),
        _ => format!("ust_storage<{name}>::get(from[i])"),
    };
    let mut text = prelude::text(Sections::of(dtype));
    text += &format!(
        r#"extern "C" __global__ void cast(const {name}* from, {value}* to, long long count) {{
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = {load};
}}
"#
    );
    text
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
        "cuSPARSELt, two of every four times a dense matrix".to_owned()
    }
}

static LIBRARY: Library<Task> = Library {
    name: "cusparselt",
    summary: "products of 2:4 matrices and dense matrices by NVIDIA's cuSPARSELt, on the first GPU",
    task: Task::of,
    look: |gpu| library(gpu).map(drop),
    executable: |task| Box::new(Multiplier { task, prepared: Mutex::default() }),
};

inventory::submit!(Registration(&LIBRARY));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_takes_the_kernels() {
        if let Err(error) = ust_cuda::compiler_version() {
            eprintln!("SKIPPED: {error}");
            return;
        }
        let kinds = [IndexKind::U2, IndexKind::U8, IndexKind::I16, IndexKind::U32, IndexKind::I64];
        let texts = kinds.into_iter().flat_map(|kind| [1, 2].map(|bytes| spreading(kind, bytes)));
        for text in texts.chain([Number::F16, Number::Bf16, Number::I32].map(casting)) {
            let made = ust_cuda::compile(&text, &[], "sm_90");
            assert!(made.is_ok(), "{made:?}\n{text}");
        }
    }
}
