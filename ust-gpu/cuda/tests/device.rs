//! Memory, order and caches, on the virtual device.

mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use common::{Run, bytes_of, device, read};
use ust_cuda::{CudaError, Device, Memory, Source, emulator};

/// Tests that need the device's whole memory run one after another.
static ALONE: Mutex<()> = Mutex::new(());
/// The virtual device's memory, unless a test changes it.
const MEMORY: usize = 2 << 30;

#[test]
fn the_device_says_what_it_is() {
    let Some(device) = device() else { return };
    let info = device.info();
    assert_eq!((Device::count().unwrap(), device.ordinal()), (1, 0));
    assert_eq!(
        (info.name.as_str(), info.capability, info.multiprocessors),
        ("UST emulator", (9, 0), 4)
    );
    assert_eq!(
        (info.architecture().as_str(), info.shared, info.driver),
        ("sm_90", 227 << 10, 13000)
    );
    assert!(matches!(Device::open(1), Err(CudaError::NoDevice { ordinal: 1, count: 1 })));
    // Who comes late is refused; who comes again is not.
    assert!(emulator::install().is_ok());
}

#[test]
fn bytes_go_and_come_back() {
    let Some(device) = device() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stream = device.stream().unwrap();
    // Direct, through one piece of pinned memory, and through many.
    for bytes in [1, 255, 64 << 10, (64 << 10) + 1, 4 << 20, (4 << 20) + 1, (17 << 20) + 3] {
        let sent: Vec<u8> =
            (0..bytes).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let memory = stream.upload(&sent).unwrap();
        assert_eq!(read::<u8>(&stream, &memory), sent, "{bytes} bytes");
        let half = sent.len() / 2;
        let mut part = vec![0; sent.len() - half];
        stream.read(&memory, half, &mut part).unwrap();
        assert_eq!(part, sent[half..]);
        stream.write(&memory, half, &sent[..sent.len() - half]).unwrap();
        stream.read(&memory, half, &mut part).unwrap();
        assert_eq!(part, sent[..sent.len() - half]);
    }
}

#[test]
fn no_bytes_are_fine_everywhere() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let nothing = stream.upload(&[]).unwrap();
    assert_eq!((nothing.len(), nothing.is_empty(), nothing.address()), (0, true, 0));
    stream.write(&nothing, 0, &[]).unwrap();
    stream.read(&nothing, 0, &mut []).unwrap();
    stream.zero(&nothing).unwrap();
    stream.fill(&nothing, 0, 0, &[1, 2, 3, 4]).unwrap();
    stream.copy(&nothing, 0, &nothing, 0, 0).unwrap();
    let some = stream.upload(&[1]).unwrap();
    stream.copy(&nothing, 0, &some, 1, 0).unwrap();
}

#[test]
fn bytes_are_filled_and_copied() {
    let Some(device) = device() else { return };
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let memory = stream.alloc(16).unwrap();
    stream.zero(&memory).unwrap();
    stream.fill(&memory, 0, 2, &[9]).unwrap();
    stream.fill(&memory, 4, 4, &[1, 2]).unwrap();
    stream.fill(&memory, 8, 8, &[3, 4, 5, 6]).unwrap();
    let want = [9, 9, 0, 0, 1, 2, 1, 2, 3, 4, 5, 6, 3, 4, 5, 6];
    assert_eq!(read::<u8>(&stream, &memory), want);
    // On another stream than the memory's.
    let copy = other.alloc(8).unwrap();
    other.copy(&memory, 4, &copy, 1, 7).unwrap();
    other.fill(&copy, 0, 1, &[7]).unwrap();
    assert_eq!(read::<u8>(&stream, &copy), [7, 1, 2, 1, 2, 3, 4, 5]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let memory = stream.upload(&[0; 8]).unwrap();
    let refused =
        |result: Result<(), CudaError>| assert!(matches!(result, Err(CudaError::Argument(_))));
    refused(stream.write(&memory, 5, &[0; 4]));
    refused(stream.write(&memory, usize::MAX, &[0; 4]));
    refused(stream.read(&memory, 9, &mut []));
    refused(stream.fill(&memory, 2, 4, &[0; 4]));
    refused(stream.fill(&memory, 0, 6, &[0; 4]));
    refused(stream.fill(&memory, 0, 6, &[0; 3]));
    refused(stream.fill(&memory, 0, 6, &[]));
    refused(stream.copy(&memory, 0, &memory, 2, 4));
}

#[test]
fn memory_that_others_own_is_kept_by_its_view() {
    let Some(device) = device() else { return };
    let stream = device.stream().unwrap();
    let owner: Arc<Memory> = Arc::new(stream.upload(&[1, 2, 3, 4]).unwrap());
    // SAFETY: the owner is given along.
    let view = unsafe { Memory::view(&device, owner.address() + 1, 2, owner.clone()) };
    assert_eq!(Arc::strong_count(&owner), 2);
    assert!(view.stream().is_none());
    assert_eq!(read::<u8>(&stream, &view), [2, 3]);
    drop(view);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn a_full_device_says_so_and_stays_usable() {
    let Some(device) = device() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stream = device.stream().unwrap();
    let free = |device: &Device| device.memory().unwrap().0;
    let before = free(&device);
    let taken = MEMORY - before;
    emulator::set_memory(taken + (10 << 20));
    let six = stream.alloc(6 << 20).unwrap();
    match stream.alloc(6 << 20) {
        Err(CudaError::OutOfMemory { bytes }) => assert_eq!(bytes, 6 << 20),
        other => panic!("{other:?}"),
    }
    // The pool keeps what is freed, which is in the way of another size, until it is given back.
    drop(six);
    assert!(free(&device) <= 4 << 20);
    let eight = stream.upload(&vec![7; 8 << 20]).unwrap();
    assert!(read::<u8>(&stream, &eight).iter().all(|&byte| byte == 7));
    emulator::set_memory(MEMORY);
}

#[test]
fn streams_wait_for_each_other() {
    let Some(device) = device() else { return };
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    let begin = one.record().unwrap();
    let memory = one.upload(&bytes_of(&[1_i32, 2, 3])).unwrap();
    let end = one.record().unwrap();
    two.wait(&end).unwrap();
    two.wait_for(&one).unwrap();
    let text = "extern \"C\" __global__ void k(int* m) { m[threadIdx.x] *= 2; }";
    let run = Run { stream: two.clone(), ..Run::new(&device, text) };
    run.run(1, 3, &[memory.address()]).unwrap();
    one.wait_for(&two).unwrap();
    assert_eq!(read::<i32>(&one, &memory), [2, 4, 6]);
    assert!(begin.elapsed(&end).unwrap() >= 0.0);
    end.synchronize().unwrap();
}

#[test]
fn a_failure_is_told_to_streams_that_wait_for_it() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, "extern \"C\" __global__ void k(int* m) { m[0] = 1; }");
    let (other, memory) = (device.stream().unwrap(), run.stream.upload(&[0; 2]).unwrap());
    let grid = ust_cuda::Grid::new(1, 1);
    // SAFETY: the virtual device looks at every access.
    unsafe { run.stream.launch(&run.kernel, grid, &[memory.address()]).unwrap() };
    let mut bytes = [0; 2];
    assert!(other.read(&memory, 0, &mut bytes).is_err());
    assert!(run.stream.synchronize().is_err());
}

#[test]
fn threads_use_the_device_together() {
    let Some(device) = device() else { return };
    std::thread::scope(|scope| {
        for thread in 0..4_i32 {
            let device = &device;
            scope.spawn(move || {
                let text =
                    "extern \"C\" __global__ void k(int* m, long long v) { m[threadIdx.x] += v; }";
                let run = Run::new(device, text);
                let memory = run.stream.upload(&bytes_of(&[0_i32; 32])).unwrap();
                for _ in 0..20 {
                    run.run(1, 32, &[memory.address(), thread.unsigned_abs().into()]).unwrap();
                }
                assert_eq!(read::<i32>(&run.stream, &memory), [20 * thread; 32]);
            });
        }
    });
}

/// A text that no other test and no earlier process had.
fn new_text() -> String {
    let number = std::process::id();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    format!("// {number} {now}\nextern \"C\" __global__ void k(int* m) {{ m[0] = 1; }}")
}

/// The files on disk, the newest last.
fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("UST_CACHE_DIR").unwrap()).join("cuda");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "cubin")).collect()
}

#[test]
fn what_is_compiled_is_kept_in_memory_and_on_disk() {
    let Some(device) = device() else { return };
    let source = Source::new(new_text());
    let seconds = |device: &Device| {
        let start = Instant::now();
        let run = device.module(&source).unwrap();
        run.kernel("k").unwrap();
        start.elapsed().as_secs_f64()
    };
    let before = files();
    let first = seconds(&device);
    let new: Vec<PathBuf> = files().into_iter().filter(|path| !before.contains(path)).collect();
    let again = seconds(&device);
    // Another handle has a memory of its own, so this comes from disk.
    let disk = seconds(&Device::open(0).unwrap());
    println!("compiled {first:.3} s, in memory {again:.6} s, from disk {disk:.6} s");
    assert!(!new.is_empty());
    // A file that is damaged is not used, and replaced. Others may be written at the same time.
    for path in &new {
        let good = fs::read(path).unwrap();
        let mut bad = good.clone();
        *bad.last_mut().unwrap() ^= 1;
        fs::write(path, &bad).unwrap();
    }
    seconds(&Device::open(0).unwrap());
    let run = Run { stream: device.stream().unwrap(), ..Run::new(&device, &source.text) };
    let memory = run.stream.alloc(4).unwrap();
    run.run(1, 1, &[memory.address()]).unwrap();
    assert_eq!(read::<i32>(&run.stream, &memory), [1]);
    // Other options are other machine code.
    let other = Source::new(source.text.clone()).option("--fmad=false");
    assert_ne!(
        format!("{:?}", device.module(&other).unwrap()),
        format!("{:?}", device.module(&source).unwrap())
    );
}

#[test]
fn a_kernel_outlives_the_handles_it_came_from() {
    let Some(device) = device() else { return };
    let run = Run::new(&device, &new_text());
    let memory = run.stream.alloc(4).unwrap();
    drop(device);
    run.run(1, 1, &[memory.address()]).unwrap();
    assert_eq!(read::<i32>(&run.stream, &memory), [1]);
}
