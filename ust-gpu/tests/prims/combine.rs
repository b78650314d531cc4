//! Values of a run combined into one.

use std::fmt::Debug;

use bytemuck::Pod;
use proptest::prelude::*;
use ust_cuda::{CudaError, emulator};
use ust_gpu::prelude::Sections;
use ust_gpu::prims::{Combination, Selection};
use ust_level_api::ir::scalar::{Complex, bf16, f16};
use ust_level_api::{Dtype, IndexKind};

use crate::common::{Gpu, LENGTHS, column, gpu, gpus, random};

/// Runs that begin where flags are.
fn runs(gpu: &Gpu, flags: &[i64]) -> Selection {
    let there = gpu.upload(flags);
    gpu.prims.select(column(&there, IndexKind::I64)).unwrap()
}

/// Flags of runs of about so many entries, the first one set.
fn flags(seed: u64, length: usize, each: u64) -> Vec<i64> {
    let mut flags: Vec<i64> =
        random(seed, length, each).iter().map(|&number| i64::from(number == 0)).collect();
    if let Some(first) = flags.first_mut() {
        *first = 1;
    }
    flags
}

/// What a loop makes of the runs.
fn combined<T: Copy>(flags: &[i64], values: &[T], f: impl Fn(T, T) -> T) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for (flag, value) in flags.iter().zip(values) {
        match all.last_mut() {
            Some(last) if *flag == 0 => *last = f(*last, *value),
            None if *flag == 0 => {}
            _ => all.push(*value),
        }
    }
    all
}

fn check<T: Pod + PartialEq + Debug>(
    gpu: &Gpu,
    flags: &[i64],
    (values, dtype): (&[T], Dtype),
    operator: &Combination,
    f: impl Fn(T, T) -> T,
) {
    let there = gpu.upload(values);
    let found = gpu.prims.combine(&runs(gpu, flags), &there, dtype, operator).unwrap();
    let (found, expected) = (gpu.read::<T>(&found), combined(flags, values, f));
    if found != expected {
        let at = (0..expected.len()).find(|&at| found[at] != expected[at]);
        panic!("{operator:?} of {} values of {dtype}: run {at:?} is wrong", values.len());
    }
}

/// Maps `m x + c` of 32 bits, first `a` and then `b`: associative, and not commutative.
fn then(a: u64, b: u64) -> u64 {
    let ([ma, mb], [ca, cb]) = ([a, b].map(|map| map as u32), [a, b].map(|map| (map >> 32) as u32));
    let (m, c) = (mb.wrapping_mul(ma), mb.wrapping_mul(ca).wrapping_add(cb));
    u64::from(c) << 32 | u64::from(m)
}

const THEN: &str = "u32 m = (u32)b * (u32)a, c = (u32)b * (u32)(a >> 32) + (u32)(b >> 32);
    return (u64)c << 32 | m;";

fn maps(seed: u64, length: usize) -> Vec<u64> {
    random(seed, length, 1 << 54).iter().map(|&map| (map as u64).wrapping_mul(1025) | 1).collect()
}

#[test]
fn operators_of_users_are_applied_in_order_however_runs_lie() {
    for gpu in gpus() {
        let operator = Combination::Text(THEN.to_owned(), Sections::NONE);
        for length in LENGTHS {
            let maps = maps(1, length);
            // Runs of one entry, of a few, longer than pieces, and one alone.
            for each in [1, 5, 2000, u64::MAX] {
                check(&gpu, &flags(2, length, each), (&maps, Dtype::U64), &operator, then);
            }
        }
    }
}

#[test]
fn runs_that_go_on_over_more_pieces_than_a_block_has_threads() {
    let Some(gpu) = gpu() else { return };
    let operator = Combination::Text(THEN.to_owned(), Sections::NONE);
    let length = 2304 * 258;
    let flags: Vec<i64> = (0..length).map(|at| i64::from(at % 400_000 == 0)).collect();
    check(&gpu, &flags, (&maps(10, length), Dtype::U64), &operator, then);
}

#[test]
fn values_before_the_first_run_are_left_out() {
    for gpu in gpus() {
        let values = random(3, 7000, 100);
        for first in [1, 2303, 2304, 2305, 6999] {
            let flags: Vec<i64> =
                (0..7000).map(|at| i64::from(at == first || at == 6999)).collect();
            check(&gpu, &flags, (&values, Dtype::I64), &Combination::Add, |a, b| a + b);
        }
        check(&gpu, &[0; 3000], (&values, Dtype::I64), &Combination::Add, |a, b| a + b);
    }
}

#[test]
fn integers_of_every_width_and_every_operator() {
    let Some(gpu) = gpu() else { return };
    use Combination::{Add, And, Max, Min, Mul, Or};
    let flags = flags(4, 2500, 20);
    let bits = random(5, 2500, 1 << 55);
    // Each operator is compiled for each dtype: some of all pairs will do.
    macro_rules! of {
        ($ty:ty, $dtype:ident, $($operator:ident $f:expr),*) => {{
            let numbers: Vec<$ty> = bits.iter().map(|&bits| bits.wrapping_mul(257) as $ty).collect();
            $(check(&gpu, &flags, (&numbers, Dtype::$dtype), &$operator, $f);)*
        }};
    }
    of!(i8, I8, Add i8::wrapping_add, Min i8::min);
    of!(u16, U16, Mul u16::wrapping_mul, Or |a, b| a | b);
    of!(i32, I32, Add i32::wrapping_add, Max i32::max, And |a, b| a & b);
    of!(u64, U64, Mul u64::wrapping_mul, Max u64::max, Min u64::min);
    let truths: Vec<u8> = bits.iter().map(|bits| u8::from(bits % 9 == 0)).collect();
    check(&gpu, &flags, (&truths, Dtype::Bool), &Add, |a, b| a | b);
    check(&gpu, &flags, (&truths, Dtype::Bool), &And, |a, b| a & b);
}

#[test]
fn whole_numbers_of_every_floating_type() {
    let Some(gpu) = gpu() else { return };
    use Combination::{Add, Max, Min, Mul};
    // Sums below 256, so that none is rounded.
    let flags = flags(6, 3000, 12);
    let small: Vec<f32> = random(7, 3000, 5).iter().map(|&number| number as f32 - 1.0).collect();
    let halves: Vec<f16> = small.iter().map(|&number| f16::from_f32(number)).collect();
    let of_halves =
        |f: fn(f32, f32) -> f32| move |a: f16, b: f16| f16::from_f32(f(a.to_f32(), b.to_f32()));
    check(&gpu, &flags, (&halves, Dtype::F16), &Add, of_halves(|a, b| a + b));
    check(&gpu, &flags, (&halves, Dtype::F16), &Max, of_halves(f32::max));
    let halves: Vec<bf16> = small.iter().map(|&number| bf16::from_f32(number)).collect();
    let sum = |a: bf16, b: bf16| bf16::from_f32(a.to_f32() + b.to_f32());
    check(&gpu, &flags, (&halves, Dtype::Bf16), &Add, sum);
    check(&gpu, &flags, (&small, Dtype::F32), &Min, f32::min);
    let doubles: Vec<f64> = small.iter().map(|&number| number.into()).collect();
    check(&gpu, &flags, (&doubles, Dtype::F64), &Add, |a, b| a + b);
    let pairs: Vec<Complex<f64>> = doubles.iter().map(|&re| Complex::new(re, 2.0 - re)).collect();
    check(&gpu, &flags, (&pairs, Dtype::Complex128), &Add, |a, b| a + b);
    let turn =
        |re: &f32| if *re > 0.0 { Complex::new(0.0_f32, 1.0) } else { Complex::new(-1.0, 0.0) };
    let turns: Vec<Complex<f32>> = small.iter().map(turn).collect();
    check(&gpu, &flags, (&turns, Dtype::Complex64), &Mul, |a, b| a * b);
}

#[test]
fn sums_have_the_same_bits_whatever_the_order_of_threads() {
    let Some(gpu) = gpu() else { return };
    let values: Vec<f32> = random(8, 7000, 1 << 40).iter().map(|&n| n as f32 * 1e-9).collect();
    let (there, runs) = (gpu.upload(&values), runs(&gpu, &flags(9, 7000, 3000)));
    let sums = |seed| {
        emulator::set_seed(seed);
        let sums = gpu.prims.combine(&runs, &there, Dtype::F32, &Combination::Add).unwrap();
        gpu.read::<u32>(&sums)
    };
    let first = sums(1);
    assert!((2..5).all(|seed| sums(seed) == first));
}

#[test]
fn operators_that_a_dtype_does_not_have_are_refused() {
    let Some(gpu) = gpu() else { return };
    let (values, runs) = (gpu.upload(&[0_u64; 4]), runs(&gpu, &[1; 4]));
    let refused = |dtype, operator| {
        let refused = gpu.prims.combine(&runs, &values, dtype, &operator);
        assert!(matches!(refused, Err(CudaError::Argument(_))), "{refused:?}");
    };
    refused(Dtype::F32, Combination::And);
    refused(Dtype::Bf16, Combination::Or);
    refused(Dtype::Complex64, Combination::Min);
    // Too few values.
    refused(Dtype::Complex128, Combination::Add);
    let wrong = Combination::Text("return missing;".to_owned(), Sections::NONE);
    let refused = gpu.prims.combine(&runs, &values, Dtype::U64, &wrong);
    assert!(matches!(refused, Err(CudaError::Compile { .. })), "{refused:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn runs_are_combined_as_by_a_loop(length in 0_usize..9000, each in 1_u64..5000, seed: u64) {
        for gpu in gpus() {
            let operator = Combination::Text(THEN.to_owned(), Sections::NONE);
            let maps = maps(seed, length);
            check(&gpu, &flags(!seed, length, each), (&maps, Dtype::U64), &operator, then);
        }
    }
}
