//! Numbers by their size.

use std::num::NonZeroU64;

use ust_cuda::CudaError;
use ust_gpu::prims::{Column, Least};
use ust_level_api::IndexKind;

use crate::common::{LENGTHS, column, gpus, random, stored};

/// The bin of a number.
fn bin(number: i64) -> usize {
    match number {
        ..=0 => 0,
        number => 1 + (0..64).find(|&k| number as u64 <= 1 << k).unwrap(),
    }
}

#[test]
fn numbers_of_every_size_are_in_their_bins() {
    let ends = [0, 1, 2, 3, 4, 5, 8, 9, 1 << 31, (1 << 31) + 1, 1 << 62, i64::MAX, -1, i64::MIN];
    for gpu in gpus() {
        for length in LENGTHS {
            for kind in [IndexKind::I64, IndexKind::U32] {
                let mut numbers = random(length as u64, length, 5_000);
                if kind == IndexKind::I64 {
                    numbers.iter_mut().zip(ends).for_each(|(number, end)| *number = end);
                }
                let there = gpu.upload(&stored(kind, &numbers));
                let there = Column::new(&there, kind, length).unwrap();
                let found = gpu.prims.bins(there, None).unwrap();
                let mut places: Vec<i64> = (0..length as i64).collect();
                places.sort_by_key(|&place| bin(numbers[place as usize]));
                assert_eq!(gpu.indices(&found.order), places, "{length} {kind}");
                let below = |bins: usize| numbers.iter().filter(|&&one| bin(one) < bins).count();
                assert_eq!(
                    found.starts,
                    (0..=65).map(below).collect::<Vec<_>>(),
                    "{length} {kind}"
                );
            }
        }
    }
}

#[test]
fn numbers_count_as_at_least_what_others_say() {
    for gpu in gpus() {
        let (numbers, others) = (random(1, 700, 300), random(2, 700, 9_000));
        let [there, beside] = [&numbers, &others].map(|all| gpu.upload(all));
        let [there, beside] = [&there, &beside].map(|all| column(all, IndexKind::I64));
        let least = Least { others: beside, divisor: NonZeroU64::new(32).unwrap(), most: 200 };
        let found = gpu.prims.bins(there, Some(least)).unwrap();
        let counted = |at: usize| numbers[at].max((others[at] / 32).min(200));
        let mut places: Vec<i64> = (0..700).collect();
        places.sort_by_key(|&place| bin(counted(place as usize)));
        assert_eq!(gpu.indices(&found.order), places);
        let fewer = gpu.upload(&numbers[1..]);
        let refused = gpu.prims.bins(column(&fewer, IndexKind::I64), Some(least));
        assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
    }
}
