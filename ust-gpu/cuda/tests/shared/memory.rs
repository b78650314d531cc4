//! Memory and order, on any device.

use std::sync::Arc;

use ust_cuda::{CudaError, Memory};

use crate::common::{Run, bytes_of, read};
use crate::device;

#[test]
fn bytes_go_and_come_back() {
    let Some(device) = device() else { return };
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
