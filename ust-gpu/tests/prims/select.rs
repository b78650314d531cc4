//! Runs of equal coordinates, and elements chosen by flags.

use proptest::prelude::*;
use ust_cuda::CudaError;
use ust_level_api::IndexKind;

use crate::common::{Gpu, LENGTHS, column, gpu, gpus, random, stored};

/// Sorted columns of a number of entries, few of them different.
fn sorted(seed: u64, length: usize, columns: usize, below: u64) -> Vec<Vec<i64>> {
    let each: Vec<Vec<i64>> =
        (0..columns as u64).map(|at| random(seed ^ (at << 50), length, below)).collect();
    let mut entries: Vec<Vec<i64>> =
        (0..length).map(|at| each.iter().map(|column| column[at]).collect()).collect();
    entries.sort();
    (0..columns).map(|at| entries.iter().map(|entry| entry[at]).collect()).collect()
}

/// The entries that differ from the one before.
fn starts(columns: &[Vec<i64>]) -> Vec<i64> {
    let differs = |at: &usize| *at == 0 || columns.iter().any(|each| each[*at] != each[at - 1]);
    (0..columns[0].len()).filter(differs).map(|at| at as i64).collect()
}

fn check(gpu: &Gpu, columns: &[Vec<i64>], kind: IndexKind) {
    let length = columns[0].len();
    let memories: Vec<_> = columns.iter().map(|each| gpu.upload(&stored(kind, each))).collect();
    let there: Vec<_> = memories.iter().map(|memory| column(memory, kind)).collect();
    let runs = gpu.prims.runs(&there).unwrap();
    let mut expected = starts(columns);
    assert_eq!((runs.len(), runs.count()), (length, expected.len()));
    for (memory, each) in memories.iter().zip(columns) {
        let chosen = gpu.prims.compact(&runs, memory, kind.bytes(1)).unwrap();
        let wanted: Vec<i64> = expected.iter().map(|&at| each[at as usize]).collect();
        assert_eq!(gpu.read::<u8>(&chosen), stored(kind, &wanted), "{length} entries");
    }
    expected.push(length as i64);
    for to in [IndexKind::U32, IndexKind::I64] {
        let found = gpu.prims.starts(&runs, to).unwrap();
        assert_eq!(gpu.indices(&found), expected, "{length} entries");
    }
}

#[test]
fn runs_of_every_length() {
    for gpu in gpus() {
        for length in LENGTHS {
            check(&gpu, &sorted(1, length, 1, 1 + length as u64 / 3), IndexKind::U32);
            check(&gpu, &sorted(2, length, 3, 4), IndexKind::I64);
        }
    }
}

#[test]
fn runs_of_columns_that_do_not_belong_together_are_refused() {
    let Some(gpu) = gpu() else { return };
    let (two, three) = (gpu.upload(&[1_u32; 2]), gpu.upload(&[1_u32; 3]));
    let columns = [column(&two, IndexKind::U32), column(&three, IndexKind::U32)];
    for wrong in [&columns[..], &[]] {
        let refused = gpu.prims.runs(wrong);
        assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
    }
    let runs = gpu.prims.runs(&columns[1..]).unwrap();
    let refused = gpu.prims.compact(&runs, &two, 4);
    assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
    let long = gpu.upload(&vec![1_u8; 300]);
    let runs = gpu.prims.runs(&[column(&long, IndexKind::U8)]).unwrap();
    let refused = gpu.prims.starts(&runs, IndexKind::U8);
    assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
}

#[test]
fn elements_of_every_width_are_chosen_by_flags_other_than_zero() {
    for gpu in gpus() {
        for (length, below) in [(0, 2), (1, 1), (900, 1), (5000, 3)] {
            let flags = random(3, length, below);
            let there = gpu.upload(&flags);
            let selection = gpu.prims.select(column(&there, IndexKind::I64)).unwrap();
            for width in [1, 2, 4, 8, 16] {
                let bytes: Vec<u8> =
                    random(4, length * width, 256).iter().map(|&byte| byte as u8).collect();
                let from = gpu.upload(&bytes);
                let found = gpu.prims.compact(&selection, &from, width).unwrap();
                let kept = bytes.chunks(width).zip(&flags).filter(|(_, flag)| **flag != 0);
                let expected: Vec<u8> = kept.flat_map(|(element, _)| element.to_vec()).collect();
                assert_eq!(gpu.read::<u8>(&found), expected, "{length} of {width}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn runs_are_those_of_a_loop(
        length in 0_usize..4000,
        columns in 1_usize..4,
        below in 1_u64..40,
        seed: u64,
    ) {
        for gpu in gpus() {
            check(&gpu, &sorted(seed, length, columns, below), IndexKind::I32);
        }
    }
}
