//! Kernels run on the virtual device as they would on another.

mod common;
#[path = "shared/kernels.rs"]
mod kernels;
mod texts;
mod virtual_device;

use common::Run;
use ust_cuda::{CudaError, Source};
use virtual_device::device;

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

#[test]
fn kernels_are_found_however_they_are_written() {
    let Some(device) = device() else { return };
    let text = r#"
        // extern "C" __global__ void in_a_comment(int* m) {}
        #define KERNEL(name) \
          extern "C" __global__ void name(int* m)
        extern "C" __global__ void k(int* m);
        template <class T> __global__ void of_types(T* m) { *m = 1; }
        __global__ void of_cpp(int* m) { *m = 2; }
        __device__ const char* words() { return "extern \"C\" __global__ void in_a_string(int* m)"; }
        extern "C" __global__
        void __launch_bounds__(32 * (1 + 1), 4)
        k(int* m) { *m = 3; }
        extern "C" { __global__ void other(int* m) { *m = 4; } }"#;
    let module = device.module(&Source::new(text)).unwrap();
    assert_eq!(module.kernel("k").unwrap().resources().threads, 64);
    assert!(module.kernel("other").is_ok());
    for name in ["in_a_comment", "name", "of_types", "of_cpp", "in_a_string"] {
        assert!(matches!(module.kernel(name), Err(CudaError::Argument(_))), "{name}");
    }
}
