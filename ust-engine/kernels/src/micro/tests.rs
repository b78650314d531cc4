//! Every kernel of every instruction set of this machine against plain loops, for all lengths up to
//! 200.

// One macro for f32 and f64.
#![allow(clippy::cast_lossless)]

use ust_ir::{Dtype, IndexKind};

use super::{Loop, address_at, row_sample};
use crate::vector::{self, Gathering, InstructionSet, gathering};

/// Instruction sets, each with when to use the gather instruction.
fn instruction_sets() -> Vec<(InstructionSet, Gathering)> {
    let mut sets: Vec<_> =
        vector::instruction_sets().into_iter().map(|set| (set, Gathering::Never)).collect();
    #[cfg(target_arch = "x86_64")]
    if gathering() != Gathering::Never {
        sets.extend(
            [Gathering::Far, Gathering::Always].map(|when| (vector::instruction_set(), when)),
        );
    }
    sets
}

/// Sums of an odd constant, mixed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 33) % bound as u64) as usize
    }

    fn number(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }
}

/// The tests of a macro, for each type of number, with what they share.
macro_rules! for_each_number {
    ($tests:ident) => {
        for_each_number!($tests, f32, Dtype::F32, 1e-6);
        for_each_number!($tests, f64, Dtype::F64, 1e-15);
    };
    ($tests:ident, $ty:ident, $dtype:expr, $tolerance:literal) => {
        mod $ty {
            use super::*;
            type T = $ty;

            const TOLERANCE: T = $tolerance;

            fn random() -> Random {
                Random(20_261_121)
            }

            fn numbers(random: &mut Random, n: usize) -> Vec<T> {
                (0..n).map(|_| random.number() as T).collect()
            }

            fn kernel(set: (InstructionSet, Gathering), wanted: Loop, exact: bool) -> usize {
                address_at(set.0, set.1, wanted, $dtype, exact).unwrap()
            }

            fn close(found: T, expected: T, size: T) {
                let error = (found - expected).abs();
                assert!(error <= TOLERANCE * size.max(1.0), "{found} {expected}");
            }

            $tests!();
        }
    };
}

mod blocks;
mod coded;
mod rows;
mod runs;
mod slots;
mod sums;
mod tile;
