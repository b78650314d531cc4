//! Values in other dtypes, on a device.

use ust_engine::ops::{OpError, einsum};
use ust_engine::tensor::{Parts, Values};
use ust_engine::{Backend, Error, Format, Tensor};
use ust_level_api::Dtype;

use crate::gpu::Gpu;
use crate::provider::CUDA;
use crate::{place, there};

/// The values of a tensor in another dtype: those of a vector, which an expression casts.
pub(crate) fn cast(tensor: &Tensor, to: Dtype, gpu: &Gpu) -> Result<Values, Error> {
    let there = there::values(tensor, gpu.stream())?;
    let (format, length) = (Format::full(1)?, tensor.nse());
    let values = place::values(tensor.dtype(), &there.0, length, gpu);
    let parts = Parts::new(vec![Vec::new()], values);
    let vector = Tensor::from_parts(&format, &[length], parts)?;
    let call = einsum(&format!("y(i) = {to}(x(i))")).arg("x", &vector).format(&format);
    let call = call.backend(Backend::Named(CUDA));
    match gpu.current_in(|| call.run()) {
        Ok(made) => Ok(made.values().clone()),
        Err(OpError::Tensor(error)) => Err(error),
        Err(error) => Err(Error::Unsupported(error.to_string())),
    }
}
