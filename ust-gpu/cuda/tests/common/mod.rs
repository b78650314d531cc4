//! What tests do with any device.
#![allow(dead_code)]

use ust_cuda::{CudaError, Device, Grid, Kernel, Source, Stream};

/// Something to launch.
pub(crate) struct Run {
    pub(crate) stream: Stream,
    pub(crate) kernel: Kernel,
}

impl Run {
    /// The kernel `k` of a text.
    pub(crate) fn new(device: &Device, text: &str) -> Self {
        let kernel = device.module(&Source::new(text)).unwrap().kernel("k").unwrap();
        Self { stream: device.stream().unwrap(), kernel }
    }

    /// Runs it, and waits.
    pub(crate) fn run(
        &self,
        blocks: u32,
        threads: u32,
        arguments: &[u64],
    ) -> Result<(), CudaError> {
        self.run_shared(blocks, threads, 0, arguments)
    }

    pub(crate) fn run_shared(
        &self,
        blocks: u32,
        threads: u32,
        shared: u32,
        arguments: &[u64],
    ) -> Result<(), CudaError> {
        let grid = Grid { shared, ..Grid::new(blocks, threads) };
        // SAFETY: the virtual device looks at every access, and at the number of arguments.
        unsafe { self.stream.launch(&self.kernel, grid, arguments)? };
        self.stream.synchronize()
    }
}

pub(crate) fn bytes_of<T: Copy>(values: &[T]) -> Vec<u8> {
    // SAFETY: numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), std::mem::size_of_val(values)) }
        .to_vec()
}

pub(crate) fn read<T: Copy + Default>(stream: &Stream, memory: &ust_cuda::Memory) -> Vec<T> {
    let mut values = vec![T::default(); memory.len() / size_of::<T>()];
    // SAFETY: numbers without padding, of which every bit pattern is one.
    let bytes = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), memory.len()) };
    stream.read(memory, 0, bytes).unwrap();
    values
}
