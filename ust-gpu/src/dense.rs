//! `cublaslt`: products of dense matrices by NVIDIA's library, on the first device.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use ust_cuda::blas::{self, Blas};
use ust_cuda::sparse::{Dense, Number};
use ust_cuda::{CudaError, Memory};
use ust_engine::ops::Operator;
use ust_engine::provider::product::in_full;
use ust_engine::provider::{Call, Cuts, Executable, Plan, Registration};
use ust_engine::{Error, Tensor};
use ust_level_api::inventory;

use crate::cache;
use crate::gpu::Gpu;
use crate::library::{Handles, Library};
use crate::product::{Full, Why, full, is_product, numbers};
use crate::room::Room;
use crate::there::{self, Operands, device};
use crate::tuning::BLAS_WORKSPACE;

/// The library, on a stream.
fn library(gpu: &Gpu) -> Result<Blas, CudaError> {
    static LAST: Handles<Blas> = Handles::new();
    LAST.of(gpu.stream(), Blas::stream, Blas::new)
}

/// `c = a b` of tensors in full.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// Of the operands.
    number: Number,
    /// Of the result.
    result: Number,
    a: Full,
    b: Full,
    c: Full,
}

const PRODUCTS: Why = "it multiplies a dense matrix by a vector or a dense matrix";

impl Task {
    /// The task of a plan, or why there is none.
    fn of(plan: &Plan<'_>) -> Result<Self, Why> {
        let Some((Operator::Add, &[summed])) = plan.reduce else { return Err(PRODUCTS) };
        let [first, second] = &plan.operands[..] else { return Err(PRODUCTS) };
        if !is_product(plan) {
            return Err(PRODUCTS);
        }
        if plan.strict {
            return Err("it sums in another order than the loops");
        }
        let [number, result] = numbers(plan)?;
        // The rows of the result are its first level, so that it is stored by rows.
        let (rows, columns) = match in_full(&plan.result).as_deref() {
            Some(&[rows]) => (rows, None),
            Some(&[rows, columns]) if rows != columns => (rows, Some(columns)),
            _ => return Err(PRODUCTS),
        };
        let factors = |(a, at_a), (b, at_b)| {
            full(a, at_a, rows, Some(summed)).zip(full(b, at_b, summed, columns))
        };
        let (one, other) = ((first, 0), (second, 1));
        let found = factors(one, other).or_else(|| factors(other, one));
        let ((a, b), c) = found.zip(full(&plan.result, 0, rows, columns)).ok_or(PRODUCTS)?;
        Ok(Self { number, result, a, b, c })
    }
}

/// A product, which runs on tensors.
struct Multiplier {
    task: Task,
    /// What the library prepared last; nothing while it runs.
    prepared: Mutex<Option<Prepared>>,
}

struct Prepared {
    /// The extents of all index variables.
    extents: Vec<usize>,
    /// What the addresses of all matrices are multiples of.
    alignments: [u32; 3],
    product: blas::Product,
}

/// The library's product of operands on the device.
#[allow(unsafe_code)]
fn multiply(product: &mut blas::Product, values: [u64; 3]) -> Result<(), Error> {
    // SAFETY: values are as many as the extents say. Whoever keeps the memory frees it in the order of the stream.
    unsafe { product.run(values) }.map_err(device)
}

impl Multiplier {
    fn run_there(&self, call: &Call<'_>) -> Result<Tensor, Error> {
        if call.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let gpu = &Gpu::current().map_err(device)?;
        let library = library(gpu).map_err(device)?;
        let stream = library.stream();
        let operands = Operands::new(call, stream)?;
        let count = call.value_count();
        let bytes = count.and_then(|count| count.checked_mul(self.task.result.bytes()));
        let bytes = bytes.ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        Room::new(call).take(bytes as u64)?;
        operands.between(stream, || {
            let memory = there::alloc(bytes, stream).map_err(device)?;
            if call.extents().contains(&0) {
                stream.zero(&memory).map_err(device)?;
            } else {
                self.multiply(call, &library, &operands, &memory)?;
            }
            there::stays(call, memory, gpu)
        })
    }

    /// Runs what was prepared for such operands, or prepares it first.
    fn multiply(
        &self,
        call: &Call<'_>,
        library: &Blas,
        operands: &Operands,
        result: &Memory,
    ) -> Result<(), Error> {
        let Task { number, result: of_result, a, b, c } = self.task;
        let values = [a, b].map(|of| operands.values[of.operand].0.address());
        let values = [values[0], values[1], result.address()];
        let alignments = values.map(blas::alignment);
        let lock = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let suits = |one: &Prepared| {
            let stream = one.product.stream().handle() == library.stream().handle();
            stream && one.extents == call.extents() && one.alignments == alignments
        };
        let kept = lock().take().filter(suits);
        let mut prepared = match kept {
            Some(kept) => kept,
            None => {
                let extent = |index: Option<usize>| index.map_or(1, |at| call.extents()[at]);
                let matrix = |of: Full, number: Number, address: u64| {
                    let [rows, columns] = of.indices.map(extent);
                    Dense::new(rows, columns, of.order, number, address)
                };
                let [a, b, c] = [
                    matrix(a, number, values[0]),
                    matrix(b, number, values[1]),
                    matrix(c, of_result, values[2]),
                ];
                let made = cache::with_room(|| library.product(&a, &b, &c, BLAS_WORKSPACE));
                let product = made.map_err(device)?;
                Prepared { extents: call.extents().to_vec(), alignments, product }
            }
        };
        multiply(&mut prepared.product, values)?;
        *lock() = Some(prepared);
        Ok(())
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
        let what = match self.task.c.indices[1] {
            None => "a dense matrix times a vector",
            Some(_) => "a dense matrix times a dense matrix",
        };
        format!("cuBLASLt, {what}")
    }
}

static LIBRARY: Library<Task> = Library {
    name: "cublaslt",
    summary: "products of dense matrices by NVIDIA's cuBLASLt, on the first GPU",
    task: Task::of,
    look: |gpu| library(gpu).map(drop),
    executable: |task| Box::new(Multiplier { task, prepared: Mutex::default() }),
};

inventory::submit!(Registration(&LIBRARY));
