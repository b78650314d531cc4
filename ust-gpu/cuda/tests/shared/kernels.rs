//! Kernels, on any device.

use ust_cuda::{Grid, Source};

use crate::common::{Run, bytes_of, read};
use crate::{device, texts};

#[test]
fn a_kernel_adds_vectors() {
    let Some(device) = device() else { return };
    let text = texts::ADD;
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
    let text = texts::SHUFFLES;
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
    let text = texts::SHARED;
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
    let text = texts::ATOMICS;
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
    let text = texts::PRELUDE;
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
    let text = texts::MATHEMATICS;
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
fn all_words_of_cuda_are_there() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, texts::WORDS);
    let memory: Vec<_> = (0..6).map(|_| run.stream.upload(&[0; 80]).unwrap()).collect();
    let arguments: Vec<u64> = memory.iter().map(ust_cuda::Memory::address).collect();
    run.run(1, 32, &arguments).unwrap();
    // Votes, odd lanes, any and all, half a warp, 32 + 3 + 31 + 6 + 31 + 0, -32 - 31 + 31, and a shuffle.
    let want = [311.0, 4_294_967_295.0 / 3.0 * 2.0, 2.0, 65535.0, 103.0, -32.0, 1.0];
    assert_eq!(read::<f64>(&run.stream, &memory[0])[2..9], want);
    assert_eq!(read::<i32>(&run.stream, &memory[1])[0], 3);
    assert_eq!(read::<u32>(&run.stream, &memory[2])[..2], [3, 4]);
    assert_eq!(read::<u64>(&run.stream, &memory[3])[0], 3);
}

#[test]
fn options_reach_the_compiler() {
    let Some(device) = device() else { return };
    let text = "// ---- end of the prelude\nextern \"C\" __global__ void k(int* m) { m[0] = N; }";
    for n in [5, 6] {
        let source = Source::new(text).option(format!("-DN={n}")).option("--fmad=false");
        let kernel = device.module(&source).unwrap().kernel("k").unwrap();
        let run = Run { stream: device.stream().unwrap(), kernel };
        let memory = run.stream.alloc(4).unwrap();
        run.run(1, 1, &[memory.address()]).unwrap();
        assert_eq!(read::<i32>(&run.stream, &memory), [n]);
    }
}
