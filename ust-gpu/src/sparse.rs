//! `cusparse`: products of sparse matrices by NVIDIA's library, on the first device.
//!
//! Plans are recognised by what they compute, and by the shapes of their levels (`recognise.rs`). They run on
//! arrays that lie on the device (`operands.rs`), and keep what the library prepared for a matrix (`run.rs`).

mod operands;
mod recognise;
mod run;

use recognise::Task;
use run::Multiplier;
pub use run::prepared;
use ust_cuda::CudaError;
use ust_cuda::sparse::Sparse;
use ust_engine::provider::Registration;
use ust_level_api::inventory;

use crate::gpu::Gpu;
use crate::library::{Handles, Library};

/// The library, on a stream.
fn library(gpu: &Gpu) -> Result<Sparse, CudaError> {
    static LAST: Handles<Sparse> = Handles::new();
    LAST.of(gpu.stream(), Sparse::stream, Sparse::new)
}

static LIBRARY: Library<Task> = Library {
    name: "cusparse",
    summary: "products of sparse matrices by NVIDIA's cuSPARSE, on the first GPU",
    task: Task::of,
    look: |gpu| library(gpu).map(drop),
    executable: |task| Box::new(Multiplier::new(task)),
};

inventory::submit!(Registration(&LIBRARY));
