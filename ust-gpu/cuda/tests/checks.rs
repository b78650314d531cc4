//! The virtual device finds what is wrong with kernels, and nothing where nothing is wrong.

mod common;
mod virtual_device;

use common::{Run, bytes_of, read};
use ust_cuda::{CudaError, Device};
use virtual_device::device;

/// Runs the kernel `k` with one buffer of 64 `int`s, all 0, and its length.
fn run(device: &Device, blocks: u32, threads: u32, body: &str) -> Result<Vec<i32>, CudaError> {
    let text = format!("extern \"C\" __global__ void k(int* m, long long n) {{\n{body}\n}}");
    let run = Run::new(device, &text);
    let memory = run.stream.upload(&bytes_of(&[0_i32; 64])).unwrap();
    run.run(blocks, threads, &[memory.address(), 64])?;
    Ok(read(&run.stream, &memory))
}

/// Expects that a kernel fails, with a message that has these words in it.
fn fails(blocks: u32, threads: u32, body: &str, words: &[&str]) {
    let Some(device) = device() else { return };
    told(run(&device, blocks, threads, body), words);
    // The device stays usable.
    run(&device, 1, 1, "m[0] = 1;").unwrap();
}

fn told<T: std::fmt::Debug>(result: Result<T, CudaError>, words: &[&str]) {
    match result {
        Err(CudaError::KernelFailed { kernels, message }) => {
            assert_eq!(kernels, "k");
            for word in words {
                assert!(message.contains(word), "no `{word}` in: {message}");
            }
        }
        other => panic!("instead of {words:?}: {other:?}"),
    }
}

/// Expects that a kernel runs.
fn runs(blocks: u32, threads: u32, body: &str) {
    let Some(device) = device() else { return };
    run(&device, blocks, threads, body).unwrap_or_else(|e| panic!("{body}\n{e}"));
}

#[test]
fn accesses_out_of_bounds() {
    fails(1, 1, "m[64] = 1;", &["writes 4 bytes at byte 256 of allocation", "out of bounds"]);
    fails(1, 1, "m[0] = m[n];", &["reads 4 bytes at byte 256", "out of bounds"]);
    fails(1, 1, "m[-1] = 1;", &["writes 4 bytes at", "out of bounds"]);
    fails(1, 1, "m[n << 20] = 1;", &["writes 4 bytes at"]);
    fails(
        1,
        1,
        "int* p = nullptr; p[n] = 1;",
        &["writes 4 bytes at 0x100, where no allocation is"],
    );
    let half_outside =
        "typedef long long T __attribute__((aligned(4))); *(T*)((char*)m + 252) = n;";
    fails(1, 1, half_outside, &["writes 8 bytes at byte 252", "out of bounds"]);
    fails(
        1,
        1,
        "atomicAdd(m + 64, 1);",
        &["an atomic operation on 4 bytes at byte 256", "out of bounds"],
    );
    fails(2, 32, "m[blockIdx.x * 33 + threadIdx.x] = 1;", &["block 1 thread 31"]);
    fails(
        1,
        32,
        "__shared__ int s[32]; int* p = s; p[threadIdx.x + n] = 1; m[0] = s[n - 64];",
        &["writes 4 bytes"],
    );
    fails(
        1,
        1,
        "static const int t[2] = {3, 4}; const int* volatile q = t; ((int*)q)[1] = 1; m[0] = t[n % 2];",
        &["which is constant"],
    );
}

#[test]
fn the_line_is_told() {
    // Where binutils are, as they are with g++.
    if std::process::Command::new("addr2line").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no addr2line");
        return;
    }
    fails(1, 1, "m[0] = 1;\nm[1] = 2;\nm[n] = 3;\n", &["at kernel.cu:4"]);
    fails(1, 1, "m[0] = 1;\natomicAdd(m + n, 2);\n", &["at kernel.cu:3"]);
    fails(
        1,
        32,
        "if (threadIdx.x == 0) return;\nm[0] =\n __shfl_sync(~0u, 1, 0);",
        &["at kernel.cu:4"],
    );
    let Some(device) = device() else { return };
    let text = "\n__device__ __forceinline__ void set(int* m) {\n m[0] = 1; }\n// ---- end of the prelude\n\n\
                extern \"C\" __global__ void k(int* m) { set(m + 4); }";
    let run = Run::new(&device, text);
    let memory = run.stream.alloc(16).unwrap();
    told(run.run(1, 1, &[memory.address()]), &["at prelude:3 from kernel.cu:6"]);
}

#[test]
fn accesses_that_are_not_aligned() {
    fails(1, 1, "*(int*)((char*)m + 2) = 1;", &["byte 2 of allocation", "not aligned"]);
    let several = "struct alignas(16) V { int at[4]; }; V v = *(V*)(m + 1); m[0] = v.at[n & 3];";
    fails(1, 1, several, &["byte 4 of allocation", "not aligned to 16 bytes"]);
    // The host's compiler writes one number after another.
    let several = "struct alignas(16) V { int at[4]; }; *(V*)(m + 1) = V{n, n, 0, n};";
    fails(1, 1, several, &["byte 4 of allocation", "not aligned to 16 bytes"]);
}

#[test]
fn memory_that_was_freed() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, "extern \"C\" __global__ void k(int* m) { m[threadIdx.x] += 1; }");
    let memory = run.stream.upload(&[0; 128]).unwrap();
    let address = memory.address();
    run.run(1, 32, &[address]).unwrap();
    drop(memory);
    told(run.run(1, 32, &[address]), &["of allocation", "(128 bytes), which was freed"]);
}

#[test]
fn bytes_that_nobody_wrote() {
    let Some(device) = device() else { return };
    let text = "extern \"C\" __global__ void k(int* to, const int* from) { to[threadIdx.x] = from[threadIdx.x]; }";
    let run = Run::new(&device, text);
    let (to, from) = (run.stream.alloc(256).unwrap(), run.stream.alloc(256).unwrap());
    told(run.run(1, 64, &[to.address(), from.address()]), &["but nobody wrote byte"]);
    run.stream.fill(&from, 0, 252, &[7]).unwrap();
    run.run(1, 63, &[to.address(), from.address()]).unwrap();
    told(
        run.run(1, 64, &[to.address(), from.address()]),
        &["reads 4 bytes at byte 252", "byte 252"],
    );
    run.stream.write(&from, 252, &[1, 2, 3]).unwrap();
    told(run.run(1, 64, &[to.address(), from.address()]), &["nobody wrote byte 255"]);
    // A copy knows what was written, and what is downloaded has a mark where nobody did.
    let copy = run.stream.alloc(256).unwrap();
    run.stream.copy(&from, 0, &copy, 0, 256).unwrap();
    told(run.run(1, 64, &[to.address(), copy.address()]), &["nobody wrote byte 255"]);
    assert_eq!(read::<u8>(&run.stream, &copy)[250..], [7, 7, 1, 2, 3, 0xa5]);
    fails(
        1,
        32,
        "__shared__ int s[32]; m[threadIdx.x] = s[threadIdx.x];",
        &["reads", "nobody wrote"],
    );
}

#[test]
fn shared_memory_begins_anew_in_each_block() {
    let body = "__shared__ int s[1]; if (blockIdx.x == 0) s[0] = 1; m[blockIdx.x] = s[0];";
    fails(2, 1, body, &["block 1 thread 0", "nobody wrote"]);
}

#[test]
fn races_between_blocks() {
    fails(2, 1, "m[0] = 1;", &["a race: writes 4 bytes at byte 0", "wrote"]);
    fails(2, 1, "m[1 + blockIdx.x] = m[0]; if (blockIdx.x) m[0] = 5;", &["a race"]);
    fails(2, 32, "m[threadIdx.x] = 1; __syncthreads();", &["a race"]);
    // Readers of an earlier barrier are not forgotten.
    fails(2, 2, "int v = m[0]; __syncthreads(); if (blockIdx.x) m[0] = v;", &["a race"]);
    runs(2, 32, "m[blockIdx.x * 32 + threadIdx.x] = m[blockIdx.x * 32 + threadIdx.x] + 1;");
    runs(9, 64, "long long sum = 0; for (int i = 0; i < n; i++) sum += m[i];");
}

#[test]
fn races_between_lanes() {
    let exchange = |barrier: &str| {
        format!(
            "m[threadIdx.x] = threadIdx.x; {barrier} int v = m[threadIdx.x ^ 1]; {barrier} m[threadIdx.x] = v;"
        )
    };
    fails(1, 32, &exchange(""), &["a race"]);
    runs(1, 32, &exchange("__syncwarp();"));
    runs(1, 64, &exchange("__syncthreads();"));
    // A shuffle makes lanes wait, and promises nothing about memory.
    fails(1, 32, &exchange("__shfl_sync(~0u, 0, 0);"), &["a race"]);
    // A barrier of a part of the lanes orders this part.
    runs(1, 32, &exchange("__syncwarp(3u << threadIdx.x / 2 * 2);"));
    let halves = "m[threadIdx.x] = 1; __syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u);";
    runs(1, 32, &format!("{halves} m[threadIdx.x + 32] = m[threadIdx.x ^ 15];"));
    fails(1, 32, &format!("{halves} m[threadIdx.x + 32] = m[threadIdx.x ^ 16];"), &["a race"]);
    // And what follows from two barriers of parts.
    let chain = "if (threadIdx.x == 0) m[0] = 7; if (threadIdx.x < 2) __syncwarp(3u); \
                 if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(6u);";
    runs(1, 32, &format!("{chain} if (threadIdx.x == 2) m[1] = m[0];"));
    fails(1, 32, &format!("{chain} if (threadIdx.x == 3) m[1] = m[0];"), &["a race"]);
}

#[test]
fn races_between_warps() {
    let exchange = |barrier: &str| {
        format!(
            "m[threadIdx.x] = threadIdx.x; {barrier} int v = m[threadIdx.x ^ 32]; {barrier} m[threadIdx.x] = v;"
        )
    };
    fails(1, 64, &exchange("__syncwarp();"), &["a race"]);
    runs(1, 64, &exchange("__syncthreads();"));
    fails(
        1,
        64,
        "__shared__ int s; s = 1; __syncthreads(); m[threadIdx.x] = s;",
        &["a race", "shared"],
    );
}

#[test]
fn many_readers_and_a_writer() {
    // All lanes read; one writes, with and without a barrier before.
    let one =
        |barrier: &str| format!("int v = m[0]; {barrier} if (threadIdx.x == 5) m[0] = v + 1;");
    fails(1, 32, &one(""), &["a race", "read"]);
    runs(1, 32, &one("__syncwarp();"));
    fails(1, 64, &one("__syncwarp();"), &["a race", "read"]);
    runs(1, 64, &one("__syncthreads();"));
    // The one lane that did not come to the barrier is not forgotten among the others.
    let but_one = "int v = m[0]; if (threadIdx.x != 9) __syncwarp(~(1u << 9)); if (threadIdx.x == 5) m[0] = v + 1;";
    fails(1, 32, but_one, &["a race"]);
    let but_one = "int v = threadIdx.x == 9 ? 0 : m[0]; if (threadIdx.x != 9) __syncwarp(~(1u << 9)); if (threadIdx.x == 5) m[0] = v + 1;";
    runs(1, 32, but_one);
}

#[test]
fn readers_of_one_half_are_not_those_of_the_other() {
    // Lanes 0 and 1 read both halves, lane 2 the lower one; lane 3 waits for 0 and 1.
    let body = |half: usize| {
        format!(
            "int t = threadIdx.x; long long v = t < 2 ? *(long long*)m : 0; if (t < 3) __syncwarp(7u); \
             int u = t == 2 ? m[0] : 0; if (t != 2) __syncwarp(11u); if (t == 3) m[{half}] = 5; \
             m[8 + t] = v + u;"
        )
    };
    runs(1, 4, &body(1));
    fails(1, 4, &body(0), &["a race", "thread 2"]);
}

#[test]
fn a_missing_atomic() {
    fails(2, 32, "m[0] += 1;", &["a race"]);
    runs(2, 32, "atomicAdd(m, 1);");
    fails(2, 1, "if (blockIdx.x) atomicAdd(m, 1); else m[0] = 1;", &["a race", "atomic operation"]);
    fails(2, 1, "if (blockIdx.x) atomicAdd(m, 1); else m[1] = m[0];", &["a race"]);
    runs(1, 32, "atomicAdd(m, 1); __syncwarp(); m[threadIdx.x + 1] = m[0];");
    // A volatile read is like an atomic one; a volatile write is seen by it.
    runs(2, 32, "if (*(volatile int*)m < 40) atomicAdd(m, 1);");
    runs(2, 32, "*(volatile int*)m = 1;");
    fails(2, 1, "if (blockIdx.x) m[1] = *(volatile int*)m; else m[0] = 1;", &["a race"]);
}

#[test]
fn neighbours_of_narrow_elements_do_not_race() {
    runs(2, 32, "((char*)m)[blockIdx.x * 32 + threadIdx.x] = 1;");
    runs(2, 32, "((short*)m)[blockIdx.x * 32 + threadIdx.x] = 1;");
    fails(
        2,
        32,
        "((short*)m)[blockIdx.x * 31 + threadIdx.x] = 1;",
        &["a race: writes 2 bytes at byte 62"],
    );
    // Wide accesses first, then narrow ones.
    runs(
        1,
        32,
        "((longlong2*)m)[threadIdx.x % 2 ? 0 : 1].x; __syncthreads(); ((char*)m)[threadIdx.x] = 1;",
    );
    fails(2, 1, "if (blockIdx.x) *(long long*)m = n; else ((char*)m)[7] = 1;", &["a race"]);
}

#[test]
fn barriers_that_are_never_met() {
    fails(1, 64, "if (threadIdx.x < 40) __syncthreads();", &["never met", "40 of 64 threads"]);
    fails(1, 32, "if (threadIdx.x < 16) __syncwarp();", &["of the mask has exited"]);
    fails(
        1,
        32,
        "if (threadIdx.x) m[0] = __shfl_sync(~0u, 1, 0);",
        &["lane 0 of the mask has exited"],
    );
    fails(1, 32, "if (threadIdx.x < 16) __syncwarp(); else __syncthreads();", &["never met"]);
    fails(
        1,
        32,
        "if (threadIdx.x < 16) __syncwarp(); else __ballot_sync(~0u, 1);",
        &["something else"],
    );
    fails(
        1,
        32,
        "if (threadIdx.x < 16) m[threadIdx.x] = __shfl_sync(0xffffu, 1, 20);",
        &["lane 20"],
    );
    fails(1, 32, "__syncwarp(1u);", &["a mask without itself"]);
    // Lanes that the block does not have are no lanes.
    runs(1, 20, "__syncwarp(); m[threadIdx.x] = __shfl_xor_sync(~0u, 1, 1);");
    runs(1, 1, "__syncthreads(); __syncwarp();");
}

#[test]
fn indices_of_arrays() {
    let body = "int a[4] = {1, 2, 3, 4}; m[0] = a[n % 4]; m[1] = a[n % 4 + 4];";
    fails(1, 1, body, &["kernel.cu:2: index 4 of an array, out of bounds"]);
    // The array behind is not taken for this one.
    let body = "__shared__ int a[32], b[32]; a[threadIdx.x] = b[threadIdx.x] = 1; m[0] = a[n - 20] + b[n - 64];";
    fails(1, 32, body, &["index 44 of an array"]);
}

#[test]
fn bytes_in_bulk() {
    fails(1, 1, "memset(m, 0, n * 4 + 1);", &["writes 257 bytes at byte 0", "out of bounds"]);
    fails(1, 1, "memcpy(m + 32, m, 132);", &["writes 132 bytes at byte 128", "out of bounds"]);
    fails(2, 1, "memcpy(m, m + 32, 32);", &["a race: writes 32 bytes"]);
    let body = "struct S { int all[40]; }; S* s = (S*)m; S v = s[n / 64]; v.all[3]++; s[0] = v;";
    fails(1, 1, body, &["reads 160 bytes at byte 160", "out of bounds"]);
}

#[test]
fn division_by_zero() {
    fails(1, 1, "m[0] = 7 / m[1];", &["kernel.cu:2: an integer divided by zero"]);
    fails(1, 1, "m[0] = n % m[1];", &["an integer divided by zero"]);
}

#[test]
fn traps() {
    fails(1, 1, "if (n == 64) __trap();", &["__trap()"]);
    fails(1, 1, "assert(n == 63);", &["an assertion failed: n == 63"]);
}

#[test]
fn a_failure_is_told_once_where_the_host_waits() {
    let Some(device) = device() else { return };
    let run =
        Run::new(&device, "extern \"C\" __global__ void k(int* m, long long i) { m[i] = 1; }");
    let memory = run.stream.upload(&[0; 16]).unwrap();
    let grid = ust_cuda::Grid::new(1, 1);
    // SAFETY: the virtual device looks at every access.
    unsafe {
        run.stream.launch(&run.kernel, grid, &[memory.address(), 4]).unwrap();
        run.stream.launch(&run.kernel, grid, &[memory.address(), 0]).unwrap();
    }
    let mut bytes = [1; 16];
    match run.stream.read(&memory, 0, &mut bytes) {
        Err(CudaError::KernelFailed { kernels, message }) => {
            assert_eq!(kernels, "k, k");
            assert!(message.contains("out of bounds") && message.contains("seed"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    // What came behind the failure was not done; the stream goes on.
    run.stream.read(&memory, 0, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 16]);
    run.run(1, 1, &[memory.address(), 0]).unwrap();
}

#[test]
fn memory_of_others_is_given_back_when_its_last_use_is_done() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, "extern \"C\" __global__ void k(int* m) { m[threadIdx.x] += 1; }");
    let owner = device.stream().unwrap();
    let memory = std::sync::Arc::new(owner.upload(&[0; 128]).unwrap());
    owner.synchronize().unwrap();
    // SAFETY: the owner is given along.
    let view = unsafe { ust_cuda::Memory::view(&device, memory.address(), 128, memory.clone()) };
    drop(memory);
    let grid = ust_cuda::Grid::new(1, 32);
    // SAFETY: the virtual device looks at every access.
    unsafe { run.stream.launch(&run.kernel, grid, &[view.address()]).unwrap() };
    // Its owner frees it in a stream that knows nothing of the launch.
    drop(view);
    owner.synchronize().unwrap();
    run.stream.synchronize().unwrap();
}

#[test]
fn memory_of_others_is_given_back_when_the_streams_that_used_it_are_done() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, "extern \"C\" __global__ void k(int* m) { m[threadIdx.x] += 1; }");
    let [owner, other] = [(); 2].map(|()| device.stream().unwrap());
    let memory = std::sync::Arc::new(owner.upload(&[0; 128]).unwrap());
    owner.synchronize().unwrap();
    let grid = ust_cuda::Grid::new(1, 32);
    // SAFETY: the owner is given along.
    let view = unsafe { ust_cuda::Memory::view(&device, memory.address(), 128, memory.clone()) };
    // SAFETY: the virtual device looks at every access.
    unsafe { run.stream.launch(&run.kernel, grid, &[view.address()]).unwrap() };
    view.used_in(&run.stream);
    let copy = other.alloc(128).unwrap();
    other.wait_for(&run.stream).unwrap();
    other.copy(&view, 0, &copy, 0, 128).unwrap();
    drop(memory);
    drop(view);
    for stream in [&owner, &run.stream, &other] {
        stream.synchronize().unwrap();
    }
}

#[test]
fn streams_that_do_not_wait() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, "extern \"C\" __global__ void k(int* m) { m[threadIdx.x] += 1; }");
    let other = device.stream().unwrap();
    let memory = other.upload(&[0; 128]).unwrap();
    told(
        run.run(1, 32, &[memory.address()]),
        &["a copy from the host on stream", "has not waited"],
    );
    run.stream.wait_for(&other).unwrap();
    run.run(1, 32, &[memory.address()]).unwrap();
    // The host has waited for this stream, and so has what it gives to the other.
    other.zero(&memory).unwrap();
    run.stream.wait_for(&other).unwrap();
    let grid = ust_cuda::Grid::new(1, 32);
    // SAFETY: the virtual device looks at every access.
    unsafe { run.stream.launch(&run.kernel, grid, &[memory.address()]).unwrap() };
    // Freed in the order of a stream that knows nothing of the launch.
    drop(memory);
    match other.synchronize() {
        Err(CudaError::KernelFailed { message, .. }) => {
            assert!(message.contains("freed too early") && message.contains("`k`"), "{message}");
        }
        result => panic!("{result:?}"),
    }
    run.stream.synchronize().unwrap();
}

#[test]
fn streams_read_the_same_memory_together() {
    let Some(device) = device() else { return };
    let text = "extern \"C\" __global__ void k(int* to, const int* from) { to[threadIdx.x] = from[threadIdx.x]; }";
    let owner = device.stream().unwrap();
    let from = owner.upload(&[1; 128]).unwrap();
    let runs: Vec<Run> = (0..3).map(|_| Run::new(&device, text)).collect();
    for run in &runs {
        run.stream.wait_for(&owner).unwrap();
        let to = run.stream.alloc(128).unwrap();
        run.run(1, 32, &[to.address(), from.address()]).unwrap();
        assert_eq!(read::<u8>(&run.stream, &to), [1; 128]);
    }
}
