//! Every kernel of every instruction set of this machine against plain loops, for all lengths up to
//! 200.

// One macro for f32 and f64.
#![allow(clippy::cast_lossless)]

use ust_level_api::{Dtype, IndexKind};

use super::{Loop, address_at, gather};
use crate::kernels::vector::{self, Gathering, Level, gathering};

/// Instruction sets, and when to gather with them.
fn levels() -> Vec<(Level, Gathering)> {
    let mut levels: Vec<_> =
        vector::levels().into_iter().map(|level| (level, Gathering::Never)).collect();
    #[cfg(target_arch = "x86_64")]
    if gathering() != Gathering::Never {
        levels.extend([Gathering::Far, Gathering::Always].map(|when| (vector::level(), when)));
    }
    levels
}

/// Sums of an odd constant, mixed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 33) % bound as u64) as usize
    }

    fn number(&mut self) -> f64 {
        self.below(2001) as f64 / 1000.0 - 1.0
    }
}

macro_rules! tests {
    ($ty:ident, $dtype:expr, $tolerance:literal) => {
        mod $ty {
            use super::*;
            type T = $ty;

            fn random() -> Random {
                Random(20_261_121)
            }

            fn numbers(random: &mut Random, n: usize) -> Vec<T> {
                (0..n).map(|_| random.number() as T).collect()
            }

            fn kernel(level: (Level, Gathering), wanted: Loop, exact: bool) -> usize {
                address_at(level.0, level.1, wanted, $dtype, exact).unwrap()
            }

            fn close(found: T, expected: T, size: T) {
                let error = (found - expected).abs();
                assert!(error <= $tolerance * size.max(1.0), "{found} {expected}");
            }

            #[test]
            fn rows_of_every_length() {
                let random = &mut random();
                for (level, exact) in levels().into_iter().flat_map(|l| [(l, true), (l, false)]) {
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
                                    let rows = kernel(level, Loop::Rows(pos, crd), exact);
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
                    gather::far(pos.as_ptr(), crd.as_ptr(), size_of::<T>(), lo as isize, hi as isize)
                };
                assert!(of(&anywhere, 0, rows), "far apart");
                assert!(!of(&alike, 0, rows) && !of(&anywhere, 0, 20_000), "near, or few");
                for crd in [&anywhere, &alike] {
                    for level in levels() {
                        let mut out = vec![T::NAN; rows];
                        let kernel = kernel(level, Loop::Rows(IndexKind::U32, IndexKind::U32), false);
                        unsafe {
                            let kernel: Rows = std::mem::transmute(kernel);
                            let (pos, crd, a, x) =
                                (pos.as_ptr(), crd.as_ptr(), a.as_ptr(), x.as_ptr());
                            kernel(pos, crd, a, x, out.as_mut_ptr(), 0, rows as isize, std::ptr::null());
                        }
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
            fn rows_are_added_as_far_as_there_is_room() {
                type Union = unsafe extern "C" fn(
                    *const u32, *const u16, *const T, *const u32, *const u16, *const T, *mut u16,
                    *mut T, isize, *mut i64, isize, isize, *mut isize,
                ) -> isize;
                let random = &mut random();
                let rows = 40;
                let mut matrix = || {
                    let (mut pos, mut crd) = (vec![0_u32], Vec::new());
                    for row in 0..rows {
                        let keep = random.below(30);
                        crd.extend((0..99_u16).filter(|_| row % 3 == 0 || random.below(40) < keep));
                        pos.push(crd.len() as u32);
                    }
                    let values = numbers(random, crd.len());
                    (pos, crd, values)
                };
                let (a, b) = (matrix(), matrix());
                let wanted = Loop::Union(IndexKind::U32, IndexKind::U16);
                let kernel = kernel(levels()[0], wanted, true);
                let kernel: Union = unsafe { std::mem::transmute(kernel) };
                let (mut i, mut end, mut starts) = (0, 0_isize, vec![-1; rows]);
                let total = a.1.len() + b.1.len();
                let (mut crd, mut out) = (vec![u16::MAX; total], vec![T::NAN; total]);
                let mut room = 0;
                while i < rows as isize {
                    let before = (i, end);
                    i = unsafe {
                        kernel(
                            a.0.as_ptr(), a.1.as_ptr(), a.2.as_ptr(), b.0.as_ptr(), b.1.as_ptr(),
                            b.2.as_ptr(), crd.as_mut_ptr(), out.as_mut_ptr(), room,
                            starts[i as usize..].as_mut_ptr(), i, rows as isize, &raw mut end,
                        )
                    };
                    assert!(end <= room && i >= before.0 && (i > before.0 || end == before.1));
                    assert!(crd[room as usize..].iter().all(|&j| j == u16::MAX), "written behind");
                    room = (room + 61).min(total as isize);
                }
                let mut expected = Vec::new();
                for row in 0..rows {
                    assert_eq!(starts[row], expected.len() as i64);
                    let mut sum = std::collections::BTreeMap::<u16, T>::new();
                    for (pos, crd, values) in [&a, &b] {
                        for p in pos[row] as usize..pos[row + 1] as usize {
                            *sum.entry(crd[p]).or_default() += values[p];
                        }
                    }
                    expected.extend(sum);
                }
                let found: Vec<(u16, T)> =
                    crd.into_iter().zip(out).take(end as usize).collect();
                assert_eq!(found, expected);
            }

            #[test]
            fn entries_that_go_to_the_next_free_place() {
                type Scatter<I> = unsafe extern "C" fn(
                    *const I, usize, usize, *mut u32, usize, *mut I, i64, *const T, *mut T, usize,
                );
                let random = &mut random();
                // Outputs that the caches hold, and such as are asked for ahead; keys far apart, and
                // side by side.
                for (count, total, keys) in
                    [(1, 8, 3), (100, 400, 50), (300, 1 << 21, 5000), (40, 1 << 21, 40)]
                {
                    let rest = count + random.below(100);
                    // Nobody has checked what is behind the row.
                    let crd: Vec<i64> = (0..rest)
                        .map(|p| match p < count {
                            true if keys == count => p as i64,
                            true => random.below(keys) as i64,
                            false => [-1, 3, i64::from(i32::MAX)][p % 3],
                        })
                        .collect();
                    let from = numbers(random, count);
                    let starts: Vec<u32> = (0..keys).map(|k| (k * (total / keys)) as u32).collect();
                    let mut expected = (starts.clone(), vec![-1_i64; total], vec![T::NAN; total]);
                    for p in 0..count {
                        let next = &mut expected.0[crd[p] as usize];
                        expected.1[*next as usize] = 77;
                        expected.2[*next as usize] = from[p];
                        *next += 1;
                    }
                    macro_rules! check {
                        ($kind:ident, $index:ty) => {
                            let crd: Vec<$index> = crd.iter().map(|&c| c as $index).collect();
                            let mut next = starts.clone();
                            let (mut column, mut out) = (vec![-1_i64 as $index; total], vec![T::NAN; total]);
                            // SAFETY: the signature is the one that is documented; each key has more
                            // places than it has entries.
                            unsafe {
                                let f: Scatter<$index> = std::mem::transmute(kernel(
                                    (Level::Portable, Gathering::Never), Loop::Scatter(IndexKind::$kind), true,
                                ));
                                f(
                                    crd.as_ptr(), rest, count, next.as_mut_ptr(), keys,
                                    column.as_mut_ptr(), 77, from.as_ptr(), out.as_mut_ptr(), total,
                                );
                            }
                            assert_eq!(next, expected.0);
                            assert!(column.iter().zip(&expected.1).all(|(&c, &e)| c == e as $index));
                            let same = |(a, b): (&T, &T)| a.to_bits() == b.to_bits();
                            assert!(out.iter().zip(&expected.2).all(same));
                        };
                    }
                    check!(U32, u32);
                    check!(I32, i32);
                    check!(I64, i64);
                }
            }

            #[test]
            fn dot_products() {
                let random = &mut random();
                for level in levels() {
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
                                std::mem::transmute(kernel(level, Loop::Dot, false));
                            close(dot(a.as_ptr(), x[offset..].as_ptr(), n), exact as T, n as T);
                            let kernel = |kind| kernel(level, Loop::GatherDot(kind), false);
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
                for level in levels() {
                    for n in 0..200 {
                        for exact in [true, false] {
                            let tolerance = if exact { 0.0 } else { $tolerance };
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
                                    std::mem::transmute(kernel(level, Loop::Axpy, exact));
                                f(scaled.as_mut_ptr(), x.as_ptr(), n, s);
                                let f: unsafe extern "C" fn(*mut T, *const T, *const T, usize) =
                                    std::mem::transmute(kernel(level, Loop::MultiplyAdd, exact));
                                f(multiplied.as_mut_ptr(), a.as_ptr(), x.as_ptr(), n);
                                let f: unsafe extern "C" fn(*mut T, usize, T) =
                                    std::mem::transmute(kernel(level, Loop::Fill, exact));
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

            #[test]
            fn rows() {
                let random = &mut random();
                for level in levels() {
                    for width in 0..200 {
                        for exact in [true, false] {
                            let (count, rows) = (random.below(12), 7);
                            let stride = width + random.below(3);
                            let b = numbers(random, rows * stride + width);
                            let a = numbers(random, count);
                            let crd: Vec<i32> =
                                (0..count).map(|_| random.below(rows) as i32).collect();
                            let before = numbers(random, width);
                            let mut c = before.clone();
                            c.push(T::NAN);
                            // SAFETY: the signature is that which is documented.
                            unsafe {
                                let f: unsafe extern "C" fn(
                                    *mut T,
                                    *const T,
                                    *const i32,
                                    *const T,
                                    usize,
                                    usize,
                                    isize,
                                ) = std::mem::transmute(kernel(
                                    level,
                                    Loop::Row(IndexKind::I32),
                                    exact,
                                ));
                                f(
                                    c.as_mut_ptr(),
                                    a.as_ptr(),
                                    crd.as_ptr(),
                                    b.as_ptr(),
                                    count,
                                    width,
                                    stride as isize,
                                );
                            }
                            for j in 0..width {
                                let mut sum = before[j];
                                for p in 0..count {
                                    sum += a[p] * b[crd[p] as usize * stride + j];
                                }
                                if exact {
                                    assert_eq!(c[j], sum);
                                } else {
                                    close(c[j], sum, count as T);
                                }
                            }
                            assert!(c[width].is_nan());
                        }
                    }
                }
            }

            #[test]
            fn products_of_rows_where_there_is_an_entry() {
                type Sampled = unsafe extern "C" fn(
                    *mut T, *const T, *const T, *const T, *const u32, isize, *const u32, isize,
                    usize, usize, usize, usize,
                );
                let random = &mut random();
                for level in levels() {
                    for width in (0..70).chain([128, 200]) {
                        for count in (0..20).chain([33]) {
                            let [moves, large, ends] = [0, 1, 2].map(|_| random.below(2) == 1);
                            let (stride, pitch) = (width + random.below(3), width + random.below(3));
                            let a = numbers(random, 7 * pitch + width);
                            let b = numbers(random, 9 * stride + width);
                            let m = numbers(random, count);
                            let rows: Vec<u32> = (0..count).map(|_| random.below(7) as u32).collect();
                            // What follows the entries is asked for, and may be anything.
                            let room = if ends { count } else { count + 40 };
                            let crd: Vec<u32> = (0..room)
                                .map(|p| if p < count { random.below(9) as u32 } else { u32::MAX })
                                .collect();
                            let mut out = vec![T::NAN; count + 1];
                            // SAFETY: the signature is that which is documented, all rows lie in `a`
                            // and `b`.
                            unsafe {
                                let f: Sampled = std::mem::transmute(kernel(
                                    level, Loop::Sampled(IndexKind::U32), false,
                                ));
                                f(
                                    out.as_mut_ptr(), m.as_ptr(), a.as_ptr(), b.as_ptr(),
                                    if moves { rows.as_ptr() } else { std::ptr::null() },
                                    pitch as isize, crd.as_ptr(), stride as isize, count, width,
                                    room, if large { usize::MAX } else { b.len() },
                                );
                            }
                            for p in 0..count {
                                let row = if moves { rows[p] as usize * pitch } else { 0 };
                                let column = crd[p] as usize * stride;
                                let sum: T = (0..width).map(|k| a[row + k] * b[column + k]).sum();
                                close(out[p], m[p] * sum, width as T);
                            }
                            assert!(out[count].is_nan());
                        }
                    }
                }
            }

            #[test]
            fn rows_times_a_matrix() {
                type Products = unsafe extern "C" fn(
                    *const u32, *const u32, *const T, *const T, *mut T,
                    isize, isize, usize, isize, isize, usize, usize, usize,
                );
                let random = &mut random();
                let pos = [2_u32, 2, 7, 8, 8, 40, 41];
                let (rows, columns) = (pos.len() - 1, 9);
                for level in levels() {
                    for width in (0..80).chain([128, 200]) {
                        for way in 0..8 {
                            let [exact, clear, large] = [1, 2, 4].map(|bit| way & bit != 0);
                            let (stride, pitch) = (width + random.below(3), width.next_multiple_of(16));
                            let b = numbers(random, columns * stride + width);
                            let a = numbers(random, 41);
                            let crd: Vec<u32> = (0..41).map(|_| random.below(columns) as u32).collect();
                            let mut memory = numbers(random, rows * pitch + 64);
                            // Only what is aligned is written around the caches.
                            let first = memory.as_ptr().align_offset(16) + width % 2;
                            let before = memory.clone();
                            let total = if large { usize::MAX } else { memory.len() };
                            // SAFETY: the signature is that which is documented, and all rows lie in
                            // `memory`.
                            unsafe {
                                let f: Products = std::mem::transmute(kernel(
                                    level, Loop::Products(IndexKind::U32), exact,
                                ));
                                let c = memory.as_mut_ptr().add(first);
                                f(
                                    pos.as_ptr(), crd.as_ptr(), a.as_ptr(), b.as_ptr(), c, 1,
                                    rows as isize, width, stride as isize, pitch as isize,
                                    clear.into(), total, total,
                                );
                            }
                            let mut expected = before;
                            for i in 1..rows {
                                for j in 0..width {
                                    let to = &mut expected[first + i * pitch + j];
                                    let mut sum = if clear { 0.0 } else { *to };
                                    for p in pos[i] as usize..pos[i + 1] as usize {
                                        sum += a[p] * b[crd[p] as usize * stride + j];
                                    }
                                    *to = sum;
                                }
                            }
                            for (found, expected) in memory.into_iter().zip(expected) {
                                if exact {
                                    assert_eq!(found, expected);
                                } else {
                                    close(found, expected, 40.0);
                                }
                            }
                        }
                    }
                }
            }
        }
    };
}
tests!(f32, Dtype::F32, 1e-6);
tests!(f64, Dtype::F64, 1e-15);
