//! The virtual device, and numbers on their way there and back.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use ust_cuda::{CudaError, Device, Memory, emulator};
use ust_gpu::prims::{Column, Indices, Misfit, Primitives};
use ust_level_api::IndexKind;

/// Lengths where something begins: warps, blocks, tiles of the sort and of the scan, and several of them.
pub(crate) const LENGTHS: [usize; 20] = [
    0, 1, 2, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 2303, 2304, 2305, 4095, 4096, 4097, 6144,
    7000,
];

/// Primitives on the virtual device.
pub(crate) struct Gpu {
    pub(crate) prims: Primitives,
    pub(crate) misfit: Misfit,
}

/// The virtual device; says so where there is no compiler to make one.
pub(crate) fn gpu() -> Option<Gpu> {
    static INSTALLED: OnceLock<Result<Device, CudaError>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");
        // SAFETY: every test comes here first, and waits here for the first one.
        unsafe { std::env::set_var("UST_CACHE_DIR", folder) };
        emulator::install()?;
        Device::open(0)
    });
    match installed {
        Ok(device) => {
            let prims = Primitives::new(&device.stream().unwrap());
            let misfit = prims.misfit().unwrap();
            Some(Gpu { prims, misfit })
        }
        Err(CudaError::NoEmulator(why))
            if why.starts_with("no C++ compiler") || !cfg!(target_os = "linux") =>
        {
            eprintln!("SKIPPED: {why}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// The virtual device, with as many blocks as work is made for, and with so few that each has several tiles.
pub(crate) fn gpus() -> Vec<Gpu> {
    let few = |Gpu { prims, misfit }| Gpu {
        prims: prims.with_most_blocks(NonZeroUsize::new(2).unwrap()),
        misfit,
    };
    gpu().into_iter().chain(gpu().map(few)).collect()
}

impl Gpu {
    pub(crate) fn upload<T: Pod>(&self, numbers: &[T]) -> Memory {
        self.prims.stream().upload(cast_slice(numbers)).unwrap()
    }

    pub(crate) fn read<T: Pod>(&self, memory: &Memory) -> Vec<T> {
        let mut numbers = vec![T::zeroed(); memory.len() / size_of::<T>()];
        self.prims.stream().read(memory, 0, cast_slice_mut(&mut numbers)).unwrap();
        numbers
    }

    /// Indices as the numbers that they are.
    pub(crate) fn indices(&self, indices: &Indices) -> Vec<i64> {
        let kind = indices.kind();
        let (width, others) = (kind.bytes(1), 64 - kind.bits());
        let number = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..width].copy_from_slice(bytes);
            let number = i64::from_le_bytes(word);
            if kind.signed() { number << others >> others } else { number }
        };
        self.read::<u8>(indices.memory()).chunks(width).map(number).collect()
    }

    /// The first element that did not fit.
    pub(crate) fn first_misfit(&self) -> Option<u64> {
        self.misfit.first(self.prims.stream()).unwrap()
    }
}

/// Numbers as indices of a kind, cut to its width.
pub(crate) fn stored(kind: IndexKind, numbers: &[i64]) -> Vec<u8> {
    let width = kind.bytes(1);
    numbers.iter().flat_map(|number| number.to_le_bytes()[..width].to_vec()).collect()
}

pub(crate) fn column(memory: &Memory, kind: IndexKind) -> Column<'_> {
    Column::new(memory, kind, memory.len() / kind.bytes(1)).unwrap()
}

/// Numbers below a bound that look random.
pub(crate) fn random(seed: u64, length: usize, below: u64) -> Vec<i64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    };
    (0..length).map(|_| (next() % below) as i64).collect()
}
