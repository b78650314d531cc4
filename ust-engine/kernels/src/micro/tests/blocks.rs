//! Kernels that process four entries at a time, on rows of dense blocks.

use super::*;
use crate::vector::{Index, Several};

#[test]
fn what_follows_and_what_only_seems_to() {
    fn each<I: Index>(from: impl Fn(u64) -> I, last: u64) {
        let follow = |numbers: [u64; 4]| {
            let numbers = numbers.map(&from);
            // SAFETY: there are four.
            unsafe { Several::follow(numbers.as_ptr()) }
        };
        for first in [0, 1, 5, last - 4, last - 3] {
            assert!(follow([first, first + 1, first + 2, first + 3]), "{first}");
        }
        for other in [[1, 2, 3, 5], [1, 2, 4, 4], [1, 3, 3, 4], [4, 3, 2, 1], [7, 7, 7, 7]] {
            assert!(!follow(other), "{other:?}");
        }
        for numbers in [[last, 0, 1, 2], [last - 1, last, 0, 1], [last - 2, last - 1, last, 0]] {
            assert!(!follow(numbers), "{numbers:?}");
        }
    }
    each(|v| v as u8, u8::MAX.into());
    each(|v| v as u16, u16::MAX.into());
    each(|v| v as u32, u32::MAX.into());
    each(|v| v as i64, i64::MAX as u64);
    let round = [i32::MAX, i32::MIN, i32::MIN + 1, i32::MIN + 2];
    // SAFETY: as above.
    unsafe {
        assert!(!Several::follow(round.as_ptr()));
        assert!(Several::follow([-2_i32, -1, 0, 1].as_ptr()));
    }
}

/// Rows of blocks, three or four rows high and four or eight columns wide, with strays between them: where
/// they begin, and their columns.
fn blocks(random: &mut Random, rows: usize, columns: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut pos, mut crd) = (vec![0_u32], Vec::new());
    while pos.len() <= rows {
        let starts: Vec<usize> = (0..random.below(5)).map(|_| random.below(columns - 8)).collect();
        let widths: Vec<usize> = starts.iter().map(|_| 4 + 4 * random.below(2)).collect();
        for _ in 0..3 + random.below(2) {
            for (&start, &width) in starts.iter().zip(&widths) {
                // Columns in any order, and twice, are columns, too.
                if random.below(20) == 0 {
                    crd.extend((0..random.below(6)).map(|_| random.below(columns) as u32));
                }
                crd.extend((start..start + width).map(|c| c as u32));
            }
            pos.push(crd.len() as u32);
        }
    }
    pos.truncate(rows + 1);
    crd.truncate(pos[rows] as usize);
    (pos, crd)
}

macro_rules! tests {
    () => {
        #[test]
        fn rows_of_blocks() {
            type Rows = unsafe extern "C" fn(
                *const u32,
                *const u32,
                *const T,
                *const T,
                *mut T,
                isize,
                isize,
                *const u32,
            );
            let random = &mut random();
            let (rows, extent) = (30_000, 5_000);
            let (pos, crd) = blocks(random, rows, extent);
            let (a, x) = (numbers(random, crd.len()), numbers(random, rows.max(extent)));
            let last = rows as isize;
            // SAFETY: rows are as said.
            unsafe {
                assert!(row_sample::in_blocks(pos.as_ptr(), crd.as_ptr(), 0, last));
                assert!(!row_sample::in_blocks(pos.as_ptr(), crd.as_ptr(), 0, 60), "few");
            }
            let turned: Vec<u32> = (0..rows as u32).rev().collect();
            // SAFETY: the signature is the one that is documented; all indices lie within what is given.
            let run = |kernel: usize, out: &mut [T], places: *const u32| unsafe {
                let kernel: Rows = std::mem::transmute(kernel);
                let (pos, crd, a, x) = (pos.as_ptr(), crd.as_ptr(), a.as_ptr(), x.as_ptr());
                kernel(pos, crd, a, x, out.as_mut_ptr(), 0, last, places);
            };
            for set in instruction_sets() {
                let summed = kernel(set, Loop::Rows(IndexKind::U32, IndexKind::U32), false);
                let mut out = vec![T::NAN; rows];
                run(summed, &mut out, std::ptr::null());
                let mut placed = vec![T::NAN; rows];
                run(summed, &mut placed, turned.as_ptr());
                placed.reverse();
                assert_eq!(out, placed);
                for (row, &found) in out.iter().enumerate() {
                    let range = pos[row] as usize..pos[row + 1] as usize;
                    let terms = range.map(|p| a[p] as f64 * x[crd[p] as usize] as f64);
                    close(found, terms.sum::<f64>() as T, 60.0);
                }
                for places in [std::ptr::null(), turned.as_ptr()] {
                    let before = numbers(random, extent);
                    let mut out = before.clone();
                    run(kernel(set, Loop::Spread(IndexKind::U32), true), &mut out, places);
                    let mut wanted = before;
                    for row in 0..rows {
                        let place = if places.is_null() { row } else { rows - 1 - row };
                        for p in pos[row] as usize..pos[row + 1] as usize {
                            wanted[crd[p] as usize] += a[p] * x[place];
                        }
                    }
                    assert_eq!(out, wanted, "each sum in its order");
                }
            }
            // One long row among empty ones, none of them in the sample.
            let mut pos = vec![0; rows + 1];
            pos[rows..].fill(crd.len() as u32);
            // SAFETY: as above.
            assert!(!unsafe { row_sample::in_blocks(pos.as_ptr(), crd.as_ptr(), 0, last) });
            // A band: fours, but of each row others.
            let pos: Vec<u32> = (0..=rows as u32).map(|row| 9 * row).collect();
            let crd: Vec<u32> = (0..rows as u32).flat_map(|row| row..row + 9).collect();
            // SAFETY: as above.
            assert!(!unsafe { row_sample::in_blocks(pos.as_ptr(), crd.as_ptr(), 0, last) });
        }
    };
}
for_each_number!(tests);
