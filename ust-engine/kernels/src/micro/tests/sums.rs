//! Kernels that sum sparse rows, and kernels over contiguous vectors.

use super::*;

macro_rules! tests {
    () => {
        #[test]
        fn rows_of_every_length() {
            let random = &mut random();
            for (set, exact) in instruction_sets().into_iter().flat_map(|l| [(l, true), (l, false)]) {
                // Every other row is short.
                let lengths: Vec<usize> =
                    (0..80).map(|i| if i % 2 == 0 { (i * 7) % 80 } else { i / 2 % 9 }).collect();
                let mut pos = vec![0_i64];
                for n in lengths {
                    pos.push(pos[pos.len() - 1] + n as i64);
                }
                let total = pos[80] as usize;
                let (a, x) = (numbers(random, total), numbers(random, 256));
                let crd: Vec<i64> = (0..total).map(|_| random.below(256) as i64).collect();
                let bytes: Vec<u8> = crd.iter().map(|&c| c as u8).collect();
                let words: Vec<u16> = crd.iter().map(|&c| c as u16).collect();
                let narrow: [Vec<u32>; 2] =
                    [&pos, &crd].map(|v| v.iter().map(|&v| v as u32).collect());
                let signed: [Vec<i32>; 2] =
                    [&pos, &crd].map(|v| v.iter().map(|&v| v as i32).collect());
                let places: Vec<i64> = (0..80).rev().collect();
                let narrow_places: Vec<u32> = (0..80).rev().collect();
                let signed_places: Vec<i32> = (0..80).rev().collect();
                for turned in [false, true] {
                    let mut out = [[T::NAN; 80]; 5];
                    macro_rules! call {
                        ($kinds:expr, $of_pos:ty, $index:ty, $pos:expr, $crd:expr, $places:expr, $out:expr) => {
                            // SAFETY: the signature is the one that is documented; all indices
                            // lie within what is given.
                            unsafe {
                                type Rows = unsafe extern "C" fn(
                                    *const $of_pos,
                                    *const $index,
                                    *const T,
                                    *const T,
                                    *mut T,
                                    isize,
                                    isize,
                                    *const $of_pos,
                                );
                                let (pos, crd) = $kinds;
                                let rows = kernel(set, Loop::Rows(pos, crd), exact);
                                let rows: Rows = std::mem::transmute(rows);
                                let (a, x) = (a.as_ptr(), x.as_ptr());
                                let places = if turned { $places.as_ptr() } else { std::ptr::null() };
                                rows($pos, $crd, a, x, $out.as_mut_ptr(), 3, 80, places);
                            }
                        };
                    }
                    let [b, w, u, i, l] = &mut out;
                    let starts = narrow[0].as_ptr();
                    use IndexKind::{I32, I64, U8, U16, U32};
                    call!((U32, U8), u32, u8, starts, bytes.as_ptr(), narrow_places, b);
                    call!((U32, U16), u32, u16, starts, words.as_ptr(), narrow_places, w);
                    call!((U32, U32), u32, u32, starts, narrow[1].as_ptr(), narrow_places, u);
                    let starts = signed[0].as_ptr();
                    call!((I32, I32), i32, i32, starts, signed[1].as_ptr(), signed_places, i);
                    call!((I64, I64), i64, i64, pos.as_ptr(), crd.as_ptr(), places, l);
                    for mut out in out {
                        if turned {
                            out.reverse();
                        }
                        assert!(out[..3].iter().all(|v| v.is_nan()));
                        for (row, &found) in out.iter().enumerate().skip(3) {
                            let range = pos[row] as usize..pos[row + 1] as usize;
                            let terms =
                                range.map(|p| (a[p] as f64) * x[crd[p] as usize] as f64);
                            let terms: Vec<f64> = terms.collect();
                            let size = terms.iter().map(|t| t.abs()).sum::<f64>();
                            close(found, terms.iter().sum::<f64>() as T, size as T);
                        }
                    }
                }
            }
        }

        #[test]
        fn rows_that_read_far_apart() {
            type Rows = unsafe extern "C" fn(
                *const u32, *const u32, *const T, *const T, *mut T, isize, isize, *const u32,
            );
            let random = &mut random();
            let (rows, extent) = (40_000, 1 << 19);
            let mut pos = vec![0_u32];
            for row in 0..rows {
                pos.push(pos[row] + random.below(24) as u32);
            }
            let n = pos[rows] as usize;
            let (a, x) = (numbers(random, n), numbers(random, extent));
            let anywhere: Vec<u32> = (0..n).map(|_| random.below(extent) as u32).collect();
            // The same entries, at the same columns in each row.
            let alike: Vec<u32> = pos
                .windows(2)
                .flat_map(|row| (0..row[1] - row[0]).map(|k| k * (extent as u32 / 24)))
                .collect();
            let of = |crd: &[u32], lo: usize, hi: usize| unsafe {
                row_sample::far(pos.as_ptr(), crd.as_ptr(), size_of::<T>(), lo as isize, hi as isize)
            };
            assert!(of(&anywhere, 0, rows), "far apart");
            assert!(!of(&alike, 0, rows) && !of(&anywhere, 0, 20_000), "near, or few");
            assert!(unsafe { row_sample::uneven(pos.as_ptr(), 0, rows as isize) });
            let in_blocks = |crd: &[u32]| unsafe {
                row_sample::in_blocks(pos.as_ptr(), crd.as_ptr(), 0, rows as isize)
            };
            assert!(!in_blocks(&anywhere) && !in_blocks(&alike));
            // Every other row is of numbers that leave a trace wherever they are added.
            let mut traced = a.clone();
            for row in (1..rows).step_by(2) {
                traced[pos[row] as usize..pos[row + 1] as usize].fill(T::INFINITY);
            }
            for crd in [&anywhere, &alike] {
                for set in instruction_sets() {
                    let kernel = kernel(set, Loop::Rows(IndexKind::U32, IndexKind::U32), false);
                    let run = |a: &[T]| unsafe {
                        let mut out = vec![T::NAN; rows];
                        let kernel: Rows = std::mem::transmute(kernel);
                        let (pos, crd, a, x) =
                            (pos.as_ptr(), crd.as_ptr(), a.as_ptr(), x.as_ptr());
                        kernel(pos, crd, a, x, out.as_mut_ptr(), 0, rows as isize, std::ptr::null());
                        out
                    };
                    let (out, beside) = (run(&a), run(&traced));
                    assert!((0..rows).step_by(2).all(|row| out[row] == beside[row]));
                    for (row, &found) in out.iter().enumerate() {
                        let range = pos[row] as usize..pos[row + 1] as usize;
                        let terms = range.map(|p| a[p] as f64 * x[crd[p] as usize] as f64);
                        let expected = terms.sum::<f64>();
                        close(found, expected as T, 24.0);
                    }
                }
            }
        }

        #[test]
        fn rows_of_equal_values() {
            type Rows = unsafe extern "C" fn(
                *const u32, *const u32, *const T, *const T, *mut T, isize, isize, *const u32,
            );
            let random = &mut random();
            let extent = 1 << 19;
            // Rows of many lengths, of blocks, and few.
            for (rows, most) in [(40_000, 24), (20_000, 8), (60, 90)] {
                let mut pos = vec![0_u32];
                for row in 0..rows {
                    let length = if most == 8 { 8 } else { random.below(most) };
                    pos.push(pos[row] + length as u32);
                }
                let n = pos[rows] as usize;
                let crd: Vec<u32> = match most {
                    8 => (0..n).map(|p| (p / 4 * 97 % extent * 4 % (extent - 4) + p % 4) as u32).collect(),
                    _ => (0..n).map(|_| random.below(extent) as u32).collect(),
                };
                let (one, x) = (numbers(random, 1), numbers(random, extent));
                let each = vec![one[0]; n];
                for (set, exact) in instruction_sets().into_iter().flat_map(|l| [(l, true), (l, false)]) {
                    let run = |wanted: fn(IndexKind, IndexKind) -> Loop, a: &[T]| unsafe {
                        let mut out = vec![T::NAN; rows];
                        let kernel = kernel(set, wanted(IndexKind::U32, IndexKind::U32), exact);
                        let kernel: Rows = std::mem::transmute(kernel);
                        let (pos, crd, a, x) = (pos.as_ptr(), crd.as_ptr(), a.as_ptr(), x.as_ptr());
                        kernel(pos, crd, a, x, out.as_mut_ptr(), 0, rows as isize, std::ptr::null());
                        out
                    };
                    let (iso, expected) = (run(Loop::IsoRows, &one), run(Loop::Rows, &each));
                    assert!(!exact || iso == expected);
                    for (found, expected) in iso.into_iter().zip(expected) {
                        close(found, expected, 24.0);
                    }
                }
            }
        }

        #[test]
        fn dot_products() {
            let random = &mut random();
            for set in instruction_sets() {
                for n in 0..200 {
                    let offset = random.below(8);
                    let (a, x) = (numbers(random, n + offset), numbers(random, n + 300));
                    let crd: Vec<u32> = (0..n).map(|_| random.below(n + 300) as u32).collect();
                    let signed: Vec<i64> = crd.iter().map(|&c| i64::from(c) - 50).collect();
                    let narrow: Vec<i32> = signed.iter().map(|&c| c as i32).collect();
                    let a = &a[offset..];
                    let exact: f64 = (0..n).map(|p| a[p] as f64 * x[p + offset] as f64).sum();
                    let gathered: f64 =
                        (0..n).map(|p| a[p] as f64 * x[crd[p] as usize] as f64).sum();
                    // SAFETY: the signatures are those that are documented; all indices lie
                    // within `x`.
                    unsafe {
                        let dot: unsafe extern "C" fn(*const T, *const T, usize) -> T =
                            std::mem::transmute(kernel(set, Loop::Dot, false));
                        close(dot(a.as_ptr(), x[offset..].as_ptr(), n), exact as T, n as T);
                        let total: unsafe extern "C" fn(*const T, usize) -> T =
                            std::mem::transmute(kernel(set, Loop::Total, false));
                        let sum: f64 = a.iter().map(|&a| a as f64).sum();
                        close(total(a.as_ptr(), n), sum as T, n as T);
                        let kernel = |kind| kernel(set, Loop::GatherDot(kind), false);
                            type Gather<I> =
                                unsafe extern "C" fn(*const T, *const I, *const T, usize) -> T;
                            let bytes: Vec<u8> = crd.iter().map(|&c| c as u8).collect();
                            let words: Vec<u16> = crd.iter().map(|&c| c as u16).collect();
                            let f: Gather<u8> = std::mem::transmute(kernel(IndexKind::U8));
                            let found = f(a.as_ptr(), bytes.as_ptr(), x.as_ptr(), n);
                            let near = (0..n).map(|p| a[p] as f64 * x[usize::from(bytes[p])] as f64);
                            close(found, near.sum::<f64>() as T, n as T);
                            let f: Gather<u16> = std::mem::transmute(kernel(IndexKind::U16));
                            let found = f(a.as_ptr(), words.as_ptr(), x.as_ptr(), n);
                            close(found, gathered as T, n as T);
                            let f: Gather<u32> = std::mem::transmute(kernel(IndexKind::U32));
                            let found = f(a.as_ptr(), crd.as_ptr(), x.as_ptr(), n);
                            close(found, gathered as T, n as T);
                            let f: Gather<i32> = std::mem::transmute(kernel(IndexKind::I32));
                            let found = f(a.as_ptr(), narrow.as_ptr(), x[50..].as_ptr(), n);
                            close(found, gathered as T, n as T);
                            let f: Gather<i64> = std::mem::transmute(kernel(IndexKind::I64));
                            let found = f(a.as_ptr(), signed.as_ptr(), x[50..].as_ptr(), n);
                            close(found, gathered as T, n as T);
                    }
                }
            }
        }

        #[test]
        fn sums_into_memory() {
            let random = &mut random();
            for set in instruction_sets() {
                for n in 0..200 {
                    for exact in [true, false] {
                        let tolerance = if exact { 0.0 } else { TOLERANCE };
                        let (y, a) = (numbers(random, n), numbers(random, n + 3));
                        let (x, s) = (numbers(random, n + 5), random.number() as T);
                        let (a, x) = (&a[3..], &x[5..]);
                        let (mut scaled, mut multiplied) = (y.clone(), y.clone());
                        let mut filled = vec![T::NAN; n];
                        // Behind the end, where nothing is written.
                        scaled.push(T::NAN);
                        multiplied.push(T::NAN);
                        filled.push(T::NAN);
                        // SAFETY: the signatures are those that are documented.
                        unsafe {
                            let f: unsafe extern "C" fn(*mut T, *const T, usize, T) =
                                std::mem::transmute(kernel(set, Loop::Axpy, exact));
                            f(scaled.as_mut_ptr(), x.as_ptr(), n, s);
                            let f: unsafe extern "C" fn(*mut T, *const T, *const T, usize) =
                                std::mem::transmute(kernel(set, Loop::MultiplyAdd, exact));
                            f(multiplied.as_mut_ptr(), a.as_ptr(), x.as_ptr(), n);
                            let f: unsafe extern "C" fn(*mut T, usize, T) =
                                std::mem::transmute(kernel(set, Loop::Fill, exact));
                            f(filled.as_mut_ptr(), n, s);
                        }
                        assert!(filled[..n].iter().all(|&v| v == s) && filled[n].is_nan());
                        for at in 0..n {
                            let expected = y[at] + s * x[at];
                            assert!((scaled[at] - expected).abs() <= tolerance);
                            let expected = y[at] + a[at] * x[at];
                            assert!((multiplied[at] - expected).abs() <= tolerance);
                        }
                        assert!(scaled[n].is_nan() && multiplied[n].is_nan());
                    }
                }
            }
        }
    };
}
for_each_number!(tests);
