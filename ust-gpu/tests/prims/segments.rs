//! Positions to coordinates and back, and numbers about arrays of indices.

use proptest::prelude::*;
use ust_cuda::CudaError;
use ust_gpu::prims::SegmentLengths;
use ust_level_api::IndexKind;

use crate::common::{Gpu, LENGTHS, column, gpu, gpus, random, stored};

/// The segments of all positions, and where segments begin: some are empty, one may be long.
fn segments(seed: u64, count: usize, below: u64, long: usize) -> (Vec<i64>, Vec<i64>) {
    let mut lengths = random(seed, count, below);
    if let Some(one) = lengths.get_mut(count / 2) {
        *one += long as i64;
    }
    let (mut numbers, mut pos) = (Vec::new(), vec![0]);
    for (number, length) in lengths.iter().enumerate() {
        numbers.extend((0..*length).map(|_| number as i64));
        pos.push(numbers.len() as i64);
    }
    (numbers, pos)
}

fn check(gpu: &Gpu, (numbers, pos): &(Vec<i64>, Vec<i64>), kind: IndexKind, lowest: i64) {
    let there = gpu.upload(&stored(kind, pos));
    let found = gpu.prims.expand(column(&there, kind), numbers.len(), IndexKind::U32).unwrap();
    assert_eq!(gpu.indices(&found), *numbers, "{} segments", pos.len() - 1);
    let sorted: Vec<i64> = numbers.iter().map(|number| lowest + number).collect();
    let sorted = gpu.upload(&sorted);
    let sorted = column(&sorted, IndexKind::I64);
    let back = gpu.prims.positions(sorted, lowest, pos.len() - 1, kind).unwrap();
    assert_eq!(gpu.indices(&back), *pos, "{} segments", pos.len() - 1);
    let lengths = gpu.prims.segment_lengths(column(&there, kind)).unwrap();
    let longest = pos.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0) as u64;
    let mean = numbers.len() as f64 / (pos.len() - 1).max(1) as f64;
    assert_eq!(lengths, SegmentLengths { longest, mean });
}

#[test]
fn positions_of_every_number_of_segments() {
    for gpu in gpus() {
        for count in LENGTHS {
            check(&gpu, &segments(1, count, 3, 0), IndexKind::U32, 0);
            check(&gpu, &segments(2, count, 2, 3000), IndexKind::I64, -1000);
        }
    }
}

#[test]
fn what_no_segment_has_is_refused() {
    let Some(gpu) = gpu() else { return };
    let pos = gpu.upload(&[0_u32, 300]);
    let at = |length| ust_gpu::prims::Column::new(&pos, IndexKind::U32, length).unwrap();
    let refused = |result: Result<(), CudaError>| {
        assert!(matches!(result, Err(CudaError::Argument(_))), "{result:?}");
    };
    refused(gpu.prims.expand(at(1), 300, IndexKind::U32).map(drop));
    refused(gpu.prims.expand(at(0), 0, IndexKind::U32).map(drop));
    refused(gpu.prims.segment_lengths(at(0)).map(drop));
    let coordinates = gpu.upload(&[0_u8; 300]);
    let coordinates = column(&coordinates, IndexKind::U8);
    refused(gpu.prims.positions(coordinates, 0, 1, IndexKind::U8).map(drop));
}

#[test]
fn extremes_of_every_kind() {
    for gpu in gpus() {
        for kind in [IndexKind::U8, IndexKind::U32, IndexKind::I16, IndexKind::I32, IndexKind::I64]
        {
            let (lo, hi) = kind.range();
            for ends in [vec![], vec![lo], vec![hi], vec![lo, hi]] {
                let mut numbers: Vec<i64> = random(3, 3000, 100);
                numbers.extend(&ends);
                let there = gpu.upload(&stored(kind, &numbers));
                let found = gpu.prims.extremes(column(&there, kind)).unwrap();
                let (least, most) = (numbers.iter().min().unwrap(), numbers.iter().max().unwrap());
                assert_eq!(found, Some(*least..=*most), "{kind}");
            }
        }
        let none = gpu.upload::<u32>(&[]);
        assert_eq!(gpu.prims.extremes(column(&none, IndexKind::U32)).unwrap(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn positions_are_those_of_a_loop(
        count in 0_usize..3000,
        below in 1_u64..6,
        long in 0_usize..5000,
        lowest in -10_i64..10,
        seed: u64,
    ) {
        for gpu in gpus() {
            check(&gpu, &segments(seed, count, below, long), IndexKind::U32, lowest);
        }
    }
}
