//! Keys and coordinates in order.

use std::ops::RangeInclusive;

use proptest::prelude::*;
use ust_cuda::CudaError;
use ust_level_api::IndexKind;

use crate::common::{Gpu, LENGTHS, column, gpu, gpus, random, stored};

/// The numbers of keys, those of the lowest first, and of equal ones that of the first.
fn order(keys: &[i64]) -> Vec<i64> {
    let mut order: Vec<i64> = (0..keys.len() as i64).collect();
    order.sort_by_key(|&at| keys[at as usize]);
    order
}

fn check(gpu: &Gpu, keys: &[i64], kind: IndexKind, bits: u32) {
    let memory = gpu.upload(&stored(kind, keys));
    let (sorted, numbers) = gpu.prims.sort(column(&memory, kind), 0..bits, None).unwrap();
    let expected = order(keys);
    assert_eq!(gpu.indices(&numbers), expected, "{} keys of {kind}", keys.len());
    let expected: Vec<i64> = expected.iter().map(|&at| keys[at as usize]).collect();
    assert_eq!(gpu.indices(&sorted), expected, "{} keys of {kind}", keys.len());
}

#[test]
fn keys_of_every_length_are_sorted_and_equal_ones_keep_their_order() {
    for gpu in gpus() {
        for length in LENGTHS {
            check(&gpu, &random(1, length, 300), IndexKind::U32, 9);
            check(&gpu, &random(2, length, 7), IndexKind::U64, 3);
        }
    }
}

#[test]
fn many_keys() {
    let Some(gpu) = gpu() else { return };
    check(&gpu, &random(3, 100_000, 1 << 16), IndexKind::U32, 16);
}

#[test]
fn keys_of_every_kind_with_negative_ones_first() {
    let Some(gpu) = gpu() else { return };
    let middle: Vec<i64> =
        random(4, 700, 1 << 55).iter().map(|key| key.wrapping_mul(257)).collect();
    for kind in [
        IndexKind::U8,
        IndexKind::U16,
        IndexKind::U32,
        IndexKind::U64,
        IndexKind::I8,
        IndexKind::I16,
        IndexKind::I32,
        IndexKind::I64,
    ] {
        let (lo, hi) = kind.range();
        let mut keys = vec![hi, lo, hi - 1, lo + 1, 0, 1];
        let others = 64 - kind.bits();
        keys.extend(middle.iter().map(|key| match kind.signed() {
            true => key << others >> others,
            false => key & hi,
        }));
        check(&gpu, &keys, kind, kind.bits());
    }
}

#[test]
fn other_bits_than_the_asked_ones_are_not_looked_at() {
    let Some(gpu) = gpu() else { return };
    let keys = random(6, 3000, 1 << 32);
    let memory = gpu.upload(&keys);
    for bits in [4..15, 0..0, 31..32] {
        let seen: Vec<i64> =
            keys.iter().map(|key| (key >> bits.start) & ((1 << bits.len()) - 1)).collect();
        let (_, found) =
            gpu.prims.sort(column(&memory, IndexKind::I64), bits.clone(), None).unwrap();
        assert_eq!(gpu.indices(&found), order(&seen), "{bits:?}");
    }
}

#[test]
fn what_is_carried_comes_along_and_the_arguments_stay() {
    let Some(gpu) = gpu() else { return };
    let (keys, carried) = (random(8, 2500, 1 << 20), random(9, 2500, 1 << 50));
    let (there, with) = (gpu.upload(&keys), gpu.upload(&carried));
    let with = column(&with, IndexKind::I64);
    let (_, found) = gpu.prims.sort(column(&there, IndexKind::I64), 0..20, Some(with)).unwrap();
    let expected: Vec<i64> = order(&keys).iter().map(|&at| carried[at as usize]).collect();
    assert_eq!(gpu.indices(&found), expected);
    assert_eq!(gpu.read::<i64>(&there), keys);
    let narrow = gpu.upload(&vec![0_u16; 2500]);
    for wrong in [column(&narrow, IndexKind::U16), column(&narrow, IndexKind::U32)] {
        let refused = gpu.prims.sort(column(&there, IndexKind::I64), 0..20, Some(wrong));
        assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
    }
    let refused = gpu.prims.sort(column(&there, IndexKind::I64), 60..65, None);
    assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
}

/// Columns of coordinates in a range, each of a kind.
fn check_columns(gpu: &Gpu, length: usize, seed: u64, given: &[(IndexKind, RangeInclusive<i64>)]) {
    let coordinates: Vec<Vec<i64>> = given
        .iter()
        .zip(seed..)
        .map(|((_, range), seed)| {
            // Few different ones, at both ends.
            let each = random(seed, length, 6);
            let at = |few: &i64| match few {
                0..3 => range.start() + few.min(&range.end().wrapping_sub(*range.start()).abs()),
                _ => (range.end() - (few - 3)).max(*range.start()),
            };
            each.iter().map(at).collect()
        })
        .collect();
    let memories: Vec<_> = given
        .iter()
        .zip(&coordinates)
        .map(|((kind, _), coordinates)| gpu.upload(&stored(*kind, coordinates)))
        .collect();
    let columns: Vec<_> = given
        .iter()
        .zip(&memories)
        .map(|((kind, range), memory)| (column(memory, *kind), range.clone()))
        .collect();
    let found = gpu.prims.sort_columns(&columns).unwrap();
    let mut expected: Vec<i64> = (0..length as i64).collect();
    expected
        .sort_by_key(|&at| coordinates.iter().map(|each| each[at as usize]).collect::<Vec<_>>());
    assert_eq!(gpu.indices(&found), expected, "{length} entries of {given:?}");
}

#[test]
fn entries_are_ordered_by_their_first_coordinate_first() {
    let Some(gpu) = gpu() else { return };
    use IndexKind::{I32, I64, U32};
    // One key of 32 bits; one of 64; several keys, also where a column fills one.
    let table: [&[(IndexKind, RangeInclusive<i64>)]; 7] = [
        &[(U32, 0..=99)],
        &[(U32, 0..=999), (I32, -500..=500), (I64, 7..=7)],
        &[(I64, 0..=(1 << 40)), (U32, 0..=100_000)],
        &[(U32, 0..=u32::MAX.into()), (U32, 3..=u32::MAX.into())],
        &[(I64, i64::MIN..=i64::MAX), (I64, 0..=1)],
        &[(I64, 0..=(1 << 39)), (I64, -5..=(1 << 39)), (I32, 0..=9), (U32, 5..=5)],
        &[(U32, 5..=5), (I64, -1..=-1)],
    ];
    for given in table {
        for length in [0, 1, 2, 700] {
            check_columns(&gpu, length, 11, given);
        }
    }
    assert!(matches!(gpu.prims.sort_columns(&[]), Err(CudaError::Argument(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn keys_are_sorted_as_by_a_stable_sort(length in 0_usize..6000, bits in 1_u32..24, seed: u64) {
        for gpu in gpus() {
            check(&gpu, &random(seed, length, 1 << bits), IndexKind::U32, bits);
        }
    }

    #[test]
    fn entries_are_sorted_as_by_a_stable_sort(
        length in 0_usize..1500,
        ends in proptest::collection::vec((-1000_i64..1000, 0_u32..50), 1..4),
        seed: u64,
    ) {
        if let Some(gpu) = gpu() {
            let given: Vec<_> =
                ends.iter().map(|&(lo, bits)| (IndexKind::I64, lo..=lo + (1 << bits) - 1)).collect();
            check_columns(&gpu, length, seed >> 1, &given);
        }
    }
}
