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
use ust_engine::Error;
use ust_engine::provider::{Executable, Offer, Plan, Provider, Registration};
use ust_level_api::inventory;

use crate::gpu::Gpu;
use crate::handles::Handles;

/// The library, on a stream.
fn library(gpu: &Gpu) -> Result<Sparse, CudaError> {
    static LAST: Handles<Sparse> = Handles::new();
    LAST.of(gpu.stream(), Sparse::stream, Sparse::new)
}

const NAME: &str = "cusparse";

struct Library;

inventory::submit!(Registration(&Library));

impl Provider for Library {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "products of sparse matrices by NVIDIA's cuSPARSE, on the first GPU"
    }

    fn offer_unasked(&self, _plan: &Plan<'_>) -> Offer {
        Offer::OnRequest("a library of others".to_owned())
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match (Task::of(plan), Gpu::current().and_then(|gpu| library(&gpu))) {
            (Err(why), _) => Offer::Refused(why.to_owned()),
            (_, Err(error)) => Offer::Refused(error.to_string()),
            (Ok(_), Ok(_)) => {
                Offer::OnRequest("tensors would have to be copied to the device".to_owned())
            }
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let refused = |why: &str| Error::Refused { backend: NAME, reason: why.to_owned() };
        Ok(Box::new(Multiplier::new(Task::of(plan).map_err(refused)?)))
    }
}
