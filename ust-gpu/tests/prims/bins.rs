//! Numbers by their size.

use ust_level_api::IndexKind;

use crate::common::{LENGTHS, gpus, random, stored};

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
                let there = ust_gpu::prims::Column::new(&there, kind, length).unwrap();
                let found = gpu.prims.bins(there).unwrap();
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
