//! Memory, order and caches, on the virtual device.

mod common;
#[path = "shared/memory.rs"]
mod memory;
mod virtual_device;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use common::{Run, read};
use ust_cuda::{CudaError, Device, Source, emulator};
use virtual_device::device;

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
