//! Sums of all elements before each.

use proptest::prelude::*;
use ust_level_api::IndexKind;

use crate::common::{Gpu, LENGTHS, column, gpu, gpus, random, stored};

/// The sums before each, and of all.
fn sums(counts: &[i64]) -> Vec<i64> {
    let mut sums = vec![0];
    sums.extend(counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    }));
    sums
}

fn check(gpu: &Gpu, counts: &[i64], from: IndexKind, to: IndexKind) {
    let memory = gpu.upload(&stored(from, counts));
    let found = gpu.prims.scan(column(&memory, from), to, &gpu.misfit).unwrap();
    let (found, expected) = (gpu.indices(&found), sums(counts));
    if found != expected {
        let at = (0..expected.len()).find(|&i| found.get(i) != expected.get(i));
        panic!("{} counts of {from} as {to}: the first wrong sum is {at:?}", counts.len());
    }
    assert_eq!(gpu.first_misfit(), None);
}

#[test]
fn sums_of_every_length() {
    for gpu in gpus() {
        for length in LENGTHS {
            let counts = random(length as u64, length, 9);
            check(&gpu, &counts, IndexKind::I64, IndexKind::I64);
            check(&gpu, &counts, IndexKind::U32, IndexKind::U32);
        }
    }
}

#[test]
fn sums_of_many_counts() {
    let Some(gpu) = gpu() else { return };
    let counts = random(5, 100_000, 1 << 31);
    check(&gpu, &counts, IndexKind::U32, IndexKind::I64);
}

#[test]
fn a_sum_that_the_kind_cannot_hold_is_noted_by_the_first_ones_number() {
    let Some(gpu) = gpu() else { return };
    let mut counts = vec![0_i64; 5000];
    counts[3000] = 1 << 31;
    counts[4000] = 1 << 31;
    let memory = gpu.upload(&counts);
    gpu.prims.scan(column(&memory, IndexKind::I64), IndexKind::U32, &gpu.misfit).unwrap();
    assert_eq!(gpu.first_misfit(), Some(4001));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sums_are_those_of_a_loop(length in 0_usize..9000, below in 1_u64..1000, seed: u64) {
        for gpu in gpus() {
            check(&gpu, &random(seed, length, below), IndexKind::U32, IndexKind::I64);
        }
    }
}
