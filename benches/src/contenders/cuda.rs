//! This project on a GPU: operands are there, and results stay there.

use ust::gpu::{DeviceTensor, Gpu, Kernel, emulator};

use crate::gpu::{Fallible, elapsed, prepared};
use crate::matrix::case::Case;
use crate::matrix::contender::{Contender, Prepared, Rows, Runner, Surroundings};

/// The name of the contender.
pub(crate) const NAME: &str = "ust-cuda";

inventory::submit! { Contender {
    name: NAME, about: "this project's kernels on the first GPU, where one can be opened", prepare,
}}

/// Why a virtual GPU is not timed.
pub(crate) const VIRTUAL: &str =
    "on a virtual GPU: its result is right, and its time means nothing";

fn prepare(case: &Case<'_>, around: &Surroundings) -> Prepared {
    let (Some(gpu), Some(text)) = (&around.gpu, case.expression()) else { return Ok(None) };
    let ready = || {
        let upload = |(name, tensor): &(String, _)| Ok((name.clone(), gpu.upload(tensor)?));
        let operands = case.operands.iter().map(upload).collect::<Fallible<Vec<_>>>()?;
        let call = gpu.einsum(text);
        let call = match &case.target {
            Some(format) => call.format(format),
            None => call.format(format!("Dense({})", case.shape.len())),
        };
        let (kernel, operands) = prepared(call, &operands)?;
        Ok(Work { gpu: gpu.clone(), kernel, operands, result: None })
    };
    let ready: Fallible<Work> = ready();
    Ok(Some(Box::new(ready.map_err(|error| error.to_string())?)))
}

struct Work {
    gpu: Gpu,
    kernel: Kernel,
    operands: Vec<DeviceTensor>,
    result: Option<DeviceTensor>,
}

impl Work {
    fn run(&mut self) -> Fallible<()> {
        // What a call made is gone before the next one makes it again.
        self.result = None;
        self.result = Some(self.kernel.run(&self.operands.iter().collect::<Vec<_>>())?);
        Ok(())
    }
}

impl Runner for Work {
    fn time(&mut self, calls: usize) -> Result<f64, String> {
        if emulator::is_installed() {
            return Err(VIRTUAL.to_owned());
        }
        let gpu = self.gpu.clone();
        let work = || (0..calls).try_for_each(|_| self.run());
        elapsed(&gpu, work).map_err(|error| error.to_string())
    }

    fn outcome(&mut self) -> Result<Vec<f64>, String> {
        self.run().map_err(|error| error.to_string())?;
        let result = self.result.as_ref().ok_or("no result")?;
        Rows::of_tensor(&result.download().map_err(|error| error.to_string())?)
    }

    fn result_bytes(&self) -> Option<usize> {
        self.result.as_ref().map(DeviceTensor::bytes)
    }
}
