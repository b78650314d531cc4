//! Memory of other streams, and memory that runs out.

use ust_cuda::CudaError;
use ust_gpu::prims::Primitives;
use ust_level_api::IndexKind;

use crate::common::{column, gpu, random};

#[test]
fn memory_of_another_stream_is_waited_for_and_can_be_freed_at_once() {
    let Some(gpu) = gpu() else { return };
    let other = Primitives::new(&gpu.prims.stream().device().stream().unwrap());
    let counts = random(1, 6000, 5);
    let sums = {
        // Uploaded and summed there; freed there before this stream has run.
        let there = other.stream().upload(bytemuck::cast_slice(&counts)).unwrap();
        let misfit = other.misfit().unwrap();
        let counts = column(&there, IndexKind::I64);
        let sums = other.scan(counts, IndexKind::I64, &misfit).unwrap();
        gpu.prims.convert(sums.column(), IndexKind::U32, &gpu.misfit).unwrap()
    };
    assert_eq!(gpu.indices(&sums).last(), Some(&counts.iter().sum()));
}

#[test]
fn memory_that_runs_out_is_an_error_and_loses_nothing() {
    let Some(gpu) = gpu() else { return };
    let pos = gpu.upload(&[0_i64, 1 << 45]);
    let pos = column(&pos, IndexKind::I64);
    let refused = gpu.prims.expand(pos, 1 << 45, IndexKind::U32);
    assert!(matches!(refused, Err(CudaError::OutOfMemory { .. })), "{refused:?}");
    let refused = gpu.prims.iota(usize::MAX >> 2, IndexKind::U64);
    assert!(matches!(refused, Err(CudaError::OutOfMemory { .. })), "{refused:?}");
    let lengths = gpu.prims.segment_lengths(pos).unwrap();
    assert_eq!(lengths.longest, 1 << 45);
}
