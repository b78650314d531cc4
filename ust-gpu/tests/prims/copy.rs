//! Elements moved to other places, and indices made and changed.

use ust_cuda::CudaError;
use ust_level_api::IndexKind;

use crate::common::{LENGTHS, column, gpu, gpus, random, stored};

/// A permutation that looks random.
fn permutation(length: usize) -> Vec<i64> {
    let mut places: Vec<i64> = (0..length as i64).collect();
    places.sort_by_cached_key(|&place| random(place as u64, 1, 1 << 40)[0]);
    places
}

#[test]
fn gathered_and_scattered_elements_of_every_width() {
    for gpu in gpus() {
        for length in [0, 1, 33, 1025, 5000] {
            let places = permutation(length);
            for width in [1, 2, 4, 8, 16] {
                let kind = if width < 4 { IndexKind::U32 } else { IndexKind::I64 };
                let there = gpu.upload(&stored(kind, &places));
                let bytes: Vec<u8> =
                    random(7, length * width, 256).iter().map(|&byte| byte as u8).collect();
                let elements: Vec<&[u8]> = bytes.chunks(width).collect();
                let from = gpu.upload(&bytes);
                let gathered =
                    gpu.prims.gather(&from, width, column(&there, kind), &gpu.misfit).unwrap();
                let expected: Vec<u8> =
                    places.iter().flat_map(|&place| elements[place as usize].to_vec()).collect();
                assert_eq!(gpu.read::<u8>(&gathered), expected, "{length} of {width}");
                let back = gpu.upload(&vec![0_u8; bytes.len()]);
                gpu.prims
                    .scatter(&gathered, width, column(&there, kind), &back, &gpu.misfit)
                    .unwrap();
                assert_eq!(gpu.read::<u8>(&back), bytes, "{length} of {width}");
            }
        }
        assert_eq!(gpu.first_misfit(), None);
    }
}

#[test]
fn a_place_that_an_array_does_not_have_is_noted_and_touches_nothing() {
    let Some(gpu) = gpu() else { return };
    for wrong in [5, -1] {
        let misfit = gpu.prims.misfit().unwrap();
        let from = gpu.upload(&[10_i32, 11, 12, 13, 14]);
        let places = gpu.upload(&[0_i64, 4, wrong, 1, wrong]);
        let places = column(&places, IndexKind::I64);
        gpu.prims.gather(&from, 4, places, &misfit).unwrap();
        assert_eq!(misfit.first(gpu.prims.stream()).unwrap(), Some(2));
        let misfit = gpu.prims.misfit().unwrap();
        let to = gpu.upload(&[0_i32; 5]);
        gpu.prims.scatter(&from, 4, places, &to, &misfit).unwrap();
        assert_eq!(misfit.first(gpu.prims.stream()).unwrap(), Some(2));
        assert_eq!(gpu.read::<i32>(&to), [10, 13, 0, 0, 11]);
    }
}

#[test]
fn arguments_that_do_not_belong_together_are_refused() {
    let Some(gpu) = gpu() else { return };
    let (elements, places) = (gpu.upload(&[0_u8; 12]), gpu.upload(&[0_u32; 4]));
    let places = column(&places, IndexKind::U32);
    let refused = |result: Result<(), CudaError>| {
        assert!(matches!(result, Err(CudaError::Argument(_))), "{result:?}");
    };
    refused(gpu.prims.gather(&elements, 3, places, &gpu.misfit).map(drop));
    refused(gpu.prims.scatter(&elements, 4, places, &elements, &gpu.misfit));
    refused(gpu.prims.iota(257, IndexKind::U8).map(drop));
    refused(gpu.prims.iota(1, IndexKind::U2).map(drop));
    refused(gpu.prims.split(2, 257, IndexKind::U8).map(drop));
    let huge = gpu.prims.split(1 << 40, 1 << 40, IndexKind::I64).map(drop);
    assert!(matches!(huge, Err(CudaError::OutOfMemory { .. })), "{huge:?}");
    refused(gpu.prims.fill(&elements, &[0; 8]));
    refused(gpu.prims.fill(&elements, &[0; 3]));
    refused(ust_gpu::prims::Column::new(&elements, IndexKind::U32, 4).map(drop));
}

#[test]
fn indices_of_every_kind_become_those_of_another_or_are_noted() {
    let Some(gpu) = gpu() else { return };
    use IndexKind::{I16, I32, I64, U8, U16, U32, U64};
    let table = [
        (U32, I64, vec![0, 7, u32::MAX.into()], None),
        (I64, U32, vec![0, u32::MAX.into(), 1 << 32, -1], Some(2)),
        (I64, U32, vec![0, -1, 1 << 32], Some(1)),
        (I64, U64, vec![3, i64::MAX, -1], Some(2)),
        (U64, I64, vec![0, i64::MAX, i64::MIN], Some(2)),
        (I32, U32, vec![5, i32::MIN.into()], Some(1)),
        (U32, I32, vec![5, 1 << 31], Some(1)),
        (I64, U8, vec![255, 256], Some(1)),
        (I64, I16, vec![-32768, 32767], None),
        (U16, U8, vec![1, 2, 3], None),
    ];
    for (from, to, numbers, expected) in table {
        let misfit = gpu.prims.misfit().unwrap();
        let memory = gpu.upload(&stored(from, &numbers));
        let found = gpu.prims.convert(column(&memory, from), to, &misfit).unwrap();
        assert_eq!(misfit.first(gpu.prims.stream()).unwrap(), expected, "{from} to {to}");
        if expected.is_none() {
            assert_eq!(gpu.indices(&found), numbers, "{from} to {to}");
        }
    }
}

#[test]
fn numbers_in_order_and_patterns() {
    for gpu in gpus() {
        for length in LENGTHS {
            for kind in [IndexKind::U32, IndexKind::I64] {
                let found = gpu.indices(&gpu.prims.iota(length, kind).unwrap());
                assert!(found.into_iter().eq(0..length as i64), "{length} {kind}");
            }
        }
        for (count, block) in [(0, 3), (1, 1), (700, 5), (3, 1000)] {
            let [blocks, offsets] = gpu.prims.split(count, block, IndexKind::U32).unwrap();
            let all = 0..(count * block) as i64;
            let (of, at) = (gpu.indices(&blocks), gpu.indices(&offsets));
            assert!(of.into_iter().eq(all.clone().map(|i| i / block as i64)), "{count} {block}");
            assert!(at.into_iter().eq(all.map(|i| i % block as i64)), "{count} {block}");
        }
        for (width, length) in [(1, 7), (2, 9), (4, 0), (8, 0), (8, 1000), (16, 1), (16, 333)] {
            let pattern: Vec<u8> = (1..=width as u8).collect();
            let memory = gpu.upload(&vec![0_u8; width * length]);
            gpu.prims.fill(&memory, &pattern).unwrap();
            assert_eq!(gpu.read::<u8>(&memory), pattern.repeat(length), "{width} {length}");
        }
    }
}
