//! Kernels run on the virtual device as they would on another.

mod common;

use common::{Run, bytes_of, device, read};
use ust_cuda::{CudaError, Grid, Source};

#[test]
fn a_kernel_adds_vectors() {
    let Some(device) = device() else { return };
    let text = r#"
        extern "C" __global__ void k(float* z, const float* x, const float* y, long long n) {
          long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) z[i] = x[i] + y[i];
        }"#;
    let run = Run::new(&device, text);
    let n = 1000;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let y: Vec<f32> = (0..n).map(|i| (2 * i) as f32).collect();
    let (x, y) =
        (run.stream.upload(&bytes_of(&x)).unwrap(), run.stream.upload(&bytes_of(&y)).unwrap());
    let z = run.stream.alloc(4 * n).unwrap();
    run.run(8, 128, &[z.address(), x.address(), y.address(), n as u64]).unwrap();
    let want: Vec<f32> = (0..n).map(|i| (3 * i) as f32).collect();
    assert_eq!(read::<f32>(&run.stream, &z), want);
    assert_eq!(run.kernel.parameters(), Some(4));
}

#[test]
fn lanes_sum_by_shuffles() {
    let Some(device) = device() else { return };
    let text = r#"
        extern "C" __global__ void k(double* sums, const double* x) {
          int t = blockIdx.x * blockDim.x + threadIdx.x;
          double v = x[t];
          for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
          double first = __shfl_sync(0xffffffffu, v, 0, 8);
          unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x & 1);
          int down = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);
          int up = __shfl_up_sync(0xffffffffu, (int)threadIdx.x, 1);
          int lane = threadIdx.x % 32, base = threadIdx.x - lane;
          bool fine = first == v && odd == 0xaaaaaaaau && down == (lane == 31 ? base + 31 : base + lane + 1)
                   && up == (lane == 0 ? base : base + lane - 1)
                   && __reduce_add_sync(0xffffffffu, lane) == 496 && __any_sync(0xffffffffu, lane == 3)
                   && !__all_sync(0xffffffffu, lane == 3);
          if (lane == 0) sums[t / 32] = fine ? v : -1;
        }"#;
    let run = Run::new(&device, text);
    let x: Vec<f64> = (0..256).map(f64::from).collect();
    let x = run.stream.upload(&bytes_of(&x)).unwrap();
    let sums = run.stream.alloc(8 * 8).unwrap();
    run.run(2, 128, &[sums.address(), x.address()]).unwrap();
    let want: Vec<f64> = (0..8).map(|w| f64::from((32 * w..32 * w + 32).sum::<i32>())).collect();
    assert_eq!(read::<f64>(&run.stream, &sums), want);
}

#[test]
fn blocks_share_memory_and_meet() {
    let Some(device) = device() else { return };
    // Static and dynamic shared memory, more than a kernel has unasked.
    let text = r#"
        extern "C" __global__ void k(int* out, const int* x) {
          __shared__ int all[256];
          extern __shared__ int more[];
          int t = threadIdx.x;
          all[t] = x[blockIdx.x * 256 + t];
          more[t + 16000] = 2 * t;
          __syncthreads();
          for (int step = 128; step > 0; step /= 2) {
            if (t < step) all[t] += all[t + step];
            __syncthreads();
          }
          if (t == 0) out[blockIdx.x] = all[0] + more[16255];
        }"#;
    let run = Run::new(&device, text);
    assert_eq!(run.kernel.resources().shared, 1024);
    let x: Vec<i32> = (0..1024).collect();
    let x = run.stream.upload(&bytes_of(&x)).unwrap();
    let out = run.stream.alloc(16).unwrap();
    run.run_shared(4, 256, 65536, &[out.address(), x.address()]).unwrap();
    let want: Vec<i32> = (0..4).map(|b| (256 * b..256 * b + 256).sum::<i32>() + 510).collect();
    assert_eq!(read::<i32>(&run.stream, &out), want);
}

#[test]
fn atomic_operations_of_all_threads_count() {
    let Some(device) = device() else { return };
    let text = r#"
        extern "C" __global__ void k(unsigned long long* count, float* sum, int* most, unsigned short* half) {
          int t = blockIdx.x * blockDim.x + threadIdx.x;
          atomicAdd(count, 1ull);
          atomicAdd(sum, 0.5f);
          atomicMax(most, t);
          unsigned short seen, old = *(volatile unsigned short*)half;
          do { seen = old; old = atomicCAS(half, seen, (unsigned short)(seen + 1)); } while (old != seen);
        }"#;
    let run = Run::new(&device, text);
    let memory: Vec<_> = (0..4).map(|_| run.stream.upload(&[0; 8]).unwrap()).collect();
    let arguments: Vec<u64> = memory.iter().map(ust_cuda::Memory::address).collect();
    run.run(3, 64, &arguments).unwrap();
    assert_eq!(read::<u64>(&run.stream, &memory[0]), [192]);
    assert_eq!(read::<f32>(&run.stream, &memory[1])[0], 96.0);
    assert_eq!(read::<i32>(&run.stream, &memory[2])[0], 191);
    assert_eq!(read::<u16>(&run.stream, &memory[3])[0], 192);
}

#[test]
fn a_prelude_and_three_dimensions() {
    let Some(device) = device() else { return };
    let text = r#"
        typedef long long i64;
        template <class T> __device__ __forceinline__ T twice(T v) { return v + v; }
        __constant__ float weights[3] = {1, 10, 100};
        // ---- end of the prelude
        extern "C" __global__ void __launch_bounds__(64) k(i64* out) {
          i64 t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
          i64 b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * (i64)blockIdx.z);
          out[b * 24 + t] = twice(b * 24 + t) + (i64)weights[threadIdx.y];
        }"#;
    let run = Run::new(&device, text);
    assert_eq!(run.kernel.resources().threads, 64);
    let out = run.stream.alloc(8 * 24 * 30).unwrap();
    let grid = Grid { blocks: [2, 3, 5], threads: [2, 3, 4], shared: 0 };
    // SAFETY: as `Run::run`.
    unsafe { run.stream.launch(&run.kernel, grid, &[out.address()]).unwrap() };
    let want: Vec<i64> =
        (0..720).map(|i| 2 * i + [1, 10, 100][usize::try_from(i / 2 % 3).unwrap()]).collect();
    assert_eq!(read::<i64>(&run.stream, &out), want);
}

#[test]
fn mathematics_is_there() {
    let Some(device) = device() else { return };
    let text = r#"
        extern "C" __global__ void k(double* out) {
          double s, c; sincos(0.5, &s, &c);
          float4 v = make_float4(1, 2, 3, 4);
          int i = 0;
          out[i++] = erf(erfinv(0.3)); out[i++] = erf((double)erfinvf(0.9f)); out[i++] = s * s + c * c;
          out[i++] = fma(2.0, 3.0, 1.0); out[i++] = rsqrtf(4.0f); out[i++] = copysign(3.0, -0.0);
          out[i++] = signbit(-0.0f); out[i++] = hypot(3.0, 4.0); out[i++] = fmin(1.0, 2.0) + max(3, 4);
          out[i++] = __popc(0xffu) + __popcll(~0ull) + __clz(1) + __clzll(1) + __ffs(8);
          out[i++] = __brev(1) == 0x80000000u && __umulhi(~0u, 2u) == 1 && __umul64hi(~0ull, 2ull) == 1;
          out[i++] = __uint_as_float(__float_as_uint(1.5f)) + __longlong_as_double(__double_as_longlong(2.0));
          out[i++] = v.w + sizeof(double2) + alignof(float4);
          out[i++] = isnan(0.0 / 0.0) && isinf(1e308 * 10);
        }"#;
    let run = Run::new(&device, text);
    let out = run.stream.alloc(8 * 14).unwrap();
    run.run(1, 1, &[out.address()]).unwrap();
    let got = read::<f64>(&run.stream, &out);
    let want = [0.3, 0.9, 1.0, 7.0, 0.5, -3.0, 1.0, 5.0, 5.0, 170.0, 1.0, 3.5, 36.0, 1.0];
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() < 1e-6, "{i}: {got} instead of {want}");
    }
}

#[test]
fn a_text_that_does_not_compile_says_why() {
    let Some(device) = device() else { return };
    let text = "// a comment\nextern \"C\" __global__ void k(int* p) { p[0] = missing; }";
    match device.module(&Source::new(text)) {
        Err(CudaError::Compile { log, .. }) => {
            assert!(log.contains("kernel.cu:2") && log.contains("missing"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    let unknown = Source::new("").option("--no-such-option");
    assert!(matches!(device.module(&unknown), Err(CudaError::Compile { .. })));
}

#[test]
fn launches_that_no_device_runs_are_refused() {
    let Some(device) = device() else { return };
    let text = "extern \"C\" __global__ void __launch_bounds__(128) k(int* p, long long n) { }";
    let run = Run::new(&device, text);
    let refused = |result: Result<(), CudaError>, name: &str| match result {
        Err(CudaError::Driver { name: got, .. }) => assert_eq!(got, name),
        other => panic!("{other:?}"),
    };
    refused(run.run(0, 1, &[0, 0]), "CUDA_ERROR_INVALID_VALUE");
    refused(run.run(1, 0, &[0, 0]), "CUDA_ERROR_INVALID_VALUE");
    refused(run.run(1, 1025, &[0, 0]), "CUDA_ERROR_INVALID_VALUE");
    refused(run.run(1, 256, &[0, 0]), "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    refused(run.run_shared(1, 1, 300 << 10, &[0, 0]), "CUDA_ERROR_INVALID_VALUE");
    assert!(matches!(run.run(1, 1, &[0]), Err(CudaError::Argument(_))));
    assert!(matches!(run.run(1, 1, &[0, 0, 0]), Err(CudaError::Argument(_))));
    run.run(1, 128, &[0, 0]).unwrap();
    let module = device.module(&Source::new(text)).unwrap();
    assert!(matches!(module.kernel("other"), Err(CudaError::Argument(_))));
    let narrow = Source::new("extern \"C\" __global__ void k(int n) { }");
    assert!(matches!(device.module(&narrow).unwrap().kernel("k"), Err(CudaError::Argument(_))));
}
