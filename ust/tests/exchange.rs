//! Tensors on a GPU whose arrays go to other programs and come from them, on a virtual one.
#![cfg(feature = "gpu")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ust::gpu::cuda::dlpack::{Array, Element, Managed, Unversioned, Versioned, from_raw, into_raw};
use ust::gpu::cuda::{CudaError, Memory};
use ust::gpu::{DeviceArray, DeviceParts, DeviceTensor, Exchange, Gpu, emulator};
use ust::level_api::Role;
use ust::{Dtype, Error, IndexKind, Tensor, einsum};

fn gpu() -> Option<Gpu> {
    // SAFETY: every test comes here first, and `install` is called by one at a time.
    unsafe {
        std::env::set_var("UST_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    }
    match emulator::install() {
        Ok(()) => Some(Gpu::open(0).unwrap()),
        Err(error) => {
            assert!(matches!(error, CudaError::NoEmulator(_)), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn tensor(format: &str, input: &str, dtype: Dtype) -> Tensor {
    let coo = ust::generate::generate(input).unwrap();
    Tensor::from_coo(&coo, format).unwrap().cast_lossy(dtype)
}

/// The same array, given to a consumer as a structure of `DLPack` and taken from a producer as such.
fn passed<M: Managed + 'static>(gpu: &Gpu, array: Array) -> Array {
    let address = array.memory.address();
    let raw: *mut M = into_raw(array).unwrap();
    // SAFETY: the structure was made above; streams wait for each other here.
    let taken = unsafe { from_raw(raw, gpu.device()) }.unwrap();
    assert_eq!(taken.memory.address(), address);
    taken
}

/// All arrays, passed on in another order.
fn through<M: Managed + 'static>(gpu: &Gpu, exchange: Exchange) -> Exchange {
    let mut exchange = exchange;
    for arrays in &mut exchange.levels {
        *arrays = std::mem::take(arrays)
            .into_iter()
            .map(|mut one| {
                one.array = passed::<M>(gpu, one.array);
                one
            })
            .rev()
            .collect();
    }
    exchange.values = passed::<M>(gpu, exchange.values);
    exchange
}

const MATRIX: &str = "random(24x32, nnz=150, seed=7)";

#[test]
fn whole_tensors_go_and_come_as_dlpack() {
    let Some(gpu) = gpu() else { return };
    let formats = [
        ("CSR", MATRIX),
        ("CSC", MATRIX),
        ("COO", MATRIX),
        ("DCSR", MATRIX),
        ("DIA-I", MATRIX),
        ("BSR(4,4)", MATRIX),
        ("Dense", MATRIX),
        ("(i, j) -> (i : dense, j : compressed), posWidth = 64, crdWidth = 16", MATRIX),
        ("(i, j) -> (i : dense, j / 4 : dense, j % 4 : block2_4)", "pruned24(24x32)"),
        ("CSF", "random(9x8x7, nnz=90, seed=2)"),
    ];
    for (format, input) in formats {
        let host = tensor(format, input, Dtype::F64);
        for unversioned in [false, true] {
            let there = gpu.upload(&host).unwrap();
            let exchange = there.to_dlpack().unwrap();
            assert!(exchange.values.read_only);
            drop(there);
            let exchange = match unversioned {
                true => through::<Unversioned>(&gpu, exchange),
                false => through::<Versioned>(&gpu, exchange),
            };
            let back = DeviceTensor::from_dlpack(&gpu, exchange).unwrap();
            assert_eq!(back.download().unwrap(), host, "{format}");
        }
        // Without a check nothing is copied, and nothing is fetched before somebody looks at it.
        let exchange = gpu.upload(&host).unwrap().to_dlpack().unwrap();
        let own = host.format().clone();
        let parts = exchange.into_parts(&own).unwrap();
        // SAFETY: they are the arrays of a tensor.
        let there =
            unsafe { DeviceTensor::from_parts_unchecked(&gpu, &own, host.shape(), parts) }.unwrap();
        let text = if host.rank() == 3 { "y(i) = A(i,j,k)" } else { "y(i) = A(i,j)" };
        let y = gpu.einsum(text).arg("A", &there).run().unwrap().download().unwrap();
        let expected = einsum(text).arg("A", &host).run().unwrap();
        let numbers = |y: &Tensor| y.values().typed::<f64>().unwrap().to_vec();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(numbers(&y).iter().zip(&numbers(&expected)).all(near), "{format}");
        assert_eq!(there.download().unwrap(), host, "{format}");
    }
}

#[test]
fn every_dtype_goes_and_comes() {
    let Some(gpu) = gpu() else { return };
    let elements = [
        (Dtype::Bool, 6, 8),
        (Dtype::I8, 0, 8),
        (Dtype::U16, 1, 16),
        (Dtype::I64, 0, 64),
        (Dtype::F16, 2, 16),
        (Dtype::Bf16, 4, 16),
        (Dtype::F32, 2, 32),
        (Dtype::Complex64, 5, 64),
        (Dtype::Complex128, 5, 128),
    ];
    for (dtype, code, bits) in elements {
        let host = tensor("CSR", MATRIX, dtype);
        let exchange = gpu.upload(&host).unwrap().to_dlpack().unwrap();
        assert_eq!(exchange.values.element, Element::new(code, bits), "{dtype}");
        let exchange = through::<Versioned>(&gpu, exchange);
        let back = DeviceTensor::from_dlpack(&gpu, exchange).unwrap();
        assert_eq!(back.dtype(), dtype);
        assert_eq!(back.download().unwrap(), host, "{dtype}");
    }
}

#[test]
fn what_comes_is_checked() {
    let Some(gpu) = gpu() else { return };
    let host = tensor("CSR", MATRIX, Dtype::F32);
    let refused = |change: fn(&mut Exchange)| {
        let mut exchange = gpu.upload(&host).unwrap().to_dlpack().unwrap();
        change(&mut exchange);
        DeviceTensor::from_dlpack(&gpu, exchange).unwrap_err()
    };
    let is_of_parts = |error: Error| assert!(matches!(error, Error::Parts(_)), "{error}");
    is_of_parts(refused(|one| one.fill = Dtype::F64.zero()));
    is_of_parts(refused(|one| one.levels[1][0].name = "crd".to_owned()));
    is_of_parts(refused(|one| one.levels[1][0].role = Role::Coordinate));
    is_of_parts(refused(|one| drop(one.levels[1].pop())));
    is_of_parts(refused(|one| drop(one.levels.pop())));
    is_of_parts(refused(|one| one.levels[1][1].kind = IndexKind::I32));
    is_of_parts(refused(|one| one.levels[1][1].len += 1));
    let error = refused(|one| one.shape = vec![24, 3]);
    assert!(matches!(error, Error::Level { .. }), "{error}");
    assert!(matches!(refused(|one| one.format = "none".to_owned()), Error::Format { .. }));
}

/// Counts how often it is dropped.
struct Owner {
    dropped: Arc<AtomicUsize>,
    _memory: Memory,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn owners_are_kept_until_the_last_use() {
    let Some(gpu) = gpu() else { return };
    let bytes =
        |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
    let values = bytes(&[1.5_f32, 2.0, 4.0].map(f32::to_bits));
    let dropped = Arc::new(AtomicUsize::new(0));
    let view = |bytes: &[u8]| {
        let memory = gpu.stream().upload(bytes).unwrap();
        gpu.synchronize().unwrap();
        let (address, length) = (memory.address(), memory.len());
        let owner = Arc::new(Owner { dropped: Arc::clone(&dropped), _memory: memory });
        // SAFETY: the owner keeps the memory.
        unsafe { Memory::view(gpu.device(), address, length, owner) }
    };
    let indices = |words: &[u32]| DeviceArray {
        of: IndexKind::U32,
        len: words.len(),
        memory: view(&bytes(words)),
    };
    let parts = DeviceParts {
        levels: vec![vec![], vec![indices(&[0, 2, 3]), indices(&[0, 3, 1])]],
        values: DeviceArray { of: Dtype::F32, len: 3, memory: view(&values) },
        fill: None,
    };
    let format = "CSR".parse().unwrap();
    // SAFETY: they are the arrays of a matrix of 2 rows and 4 columns.
    let a = unsafe { DeviceTensor::from_parts_unchecked(&gpu, &format, &[2, 4], parts) }.unwrap();
    let other = gpu.with_new_stream().unwrap();
    let sums = gpu.einsum("y(i) = A(i,j)").arg("A", &a).run().unwrap();
    let beside = other.einsum("y(j) = A(i,j)").arg("A", &a).run().unwrap();
    // A tensor of the same pattern keeps the levels.
    let twice = gpu.einsum("B(i,j) = 2 * A(i,j)").arg("A", &a).format("CSR").run().unwrap();
    drop(a);
    assert_eq!(sums.download().unwrap().values().typed::<f32>().unwrap(), [3.5, 4.0]);
    assert_eq!(beside.download().unwrap().values().typed::<f32>().unwrap(), [1.5, 4.0, 0.0, 2.0]);
    assert_eq!(twice.download().unwrap().values().typed::<f32>().unwrap(), [3.0, 4.0, 8.0]);
    drop((sums, beside, twice));
    ust::ops::clear_kernels();
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
    gpu.synchronize().unwrap();
    other.synchronize().unwrap();
}
