//! The instruction sets of this machine, and tasks that run with one of them.

use super::{Number, Vector};

/// The instruction sets that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionSet {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The best instruction set of this machine. Cost after the first call: a few loads.
pub(crate) fn instruction_set() -> InstructionSet {
    #[cfg(target_arch = "x86_64")]
    {
        let counts = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("popcnt");
        let has_vectors = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        if has_vectors && counts {
            return match is_x86_feature_detected!("avx512f") {
                true => InstructionSet::Avx512,
                false => InstructionSet::Avx2,
            };
        }
    }
    InstructionSet::Portable
}

/// When a gather instruction of eight numbers beats eight loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathering {
    /// Never, or the machine has no such instruction.
    Never,
    /// For numbers far apart in the last cache, since more accesses are under way at a time. A gather from
    /// a nearer cache, or from memory, is slower than loads.
    #[cfg(target_arch = "x86_64")]
    Far,
    /// Always, as on processors with half-precision arithmetic: products with sparse rows take half the
    /// time there.
    #[cfg(target_arch = "x86_64")]
    Always,
}

/// When a gather instruction pays on this machine.
pub(crate) fn gathering() -> Gathering {
    #[cfg(target_arch = "x86_64")]
    if instruction_set() == InstructionSet::Avx512
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
    {
        return match is_x86_feature_detected!("avx512fp16") {
            true => Gathering::Always,
            false => Gathering::Far,
        };
    }
    Gathering::Never
}

/// Work that is written once for the vectors of all instruction sets.
pub(crate) trait Task<T: Number> {
    /// Runs with vectors `V`, always inlined into a function that enables their instructions.
    ///
    /// # Safety
    /// As of [`Vector`].
    unsafe fn run<V: Vector<Lane = T>>(self);
}

/// Runs a task with an instruction set of this machine.
pub(crate) fn perform<T: Number>(set: InstructionSet, task: impl Task<T>) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx2,fma")]
    fn avx512<T: Number>(task: impl Task<T>) {
        // SAFETY: the machine has the instructions.
        unsafe { task.run::<T::Avx512>() }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<T: Number>(task: impl Task<T>) {
        // SAFETY: the machine has the instructions.
        unsafe { task.run::<T::Avx2>() }
    }
    match set {
        // SAFETY, of both: the machine has the instructions.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => unsafe { avx512(task) },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => unsafe { avx2(task) },
        // SAFETY: every machine has it.
        InstructionSet::Portable => unsafe { task.run::<T::Portable>() },
    }
}

/// All instruction sets of this machine.
#[cfg(test)]
pub(crate) fn instruction_sets() -> Vec<InstructionSet> {
    let mut sets = vec![InstructionSet::Portable];
    #[cfg(target_arch = "x86_64")]
    {
        if instruction_set() != InstructionSet::Portable {
            sets.push(InstructionSet::Avx2);
        }
        if instruction_set() == InstructionSet::Avx512 {
            sets.push(InstructionSet::Avx512);
        }
    }
    assert!(sets.contains(&instruction_set()));
    sets
}
