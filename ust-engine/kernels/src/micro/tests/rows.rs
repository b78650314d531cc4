//! Kernels for sparse rows times dense matrices, and kernels that move or add entries by coordinate.

use super::*;

macro_rules! tests {
    () => {
        #[test]
        fn rows() {
            let random = &mut random();
            for set in instruction_sets() {
                for width in 0..200 {
                    for exact in [true, false] {
                        let (count, rows) = (random.below(12), 7);
                        let stride = width + random.below(3);
                        let b = numbers(random, rows * stride + width);
                        let a = numbers(random, count);
                        let crd: Vec<i32> = (0..count).map(|_| random.below(rows) as i32).collect();
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
                                set,
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
        fn rows_times_a_matrix() {
            type Products = unsafe extern "C" fn(
                *const u32,
                *const u32,
                *const T,
                *const T,
                *mut T,
                isize,
                isize,
                usize,
                isize,
                isize,
                usize,
                usize,
                usize,
            );
            let random = &mut random();
            let pos = [2_u32, 2, 7, 8, 8, 40, 41];
            let (rows, columns) = (pos.len() - 1, 9);
            for set in instruction_sets() {
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
                                set,
                                Loop::Products(IndexKind::U32),
                                exact,
                            ));
                            let c = memory.as_mut_ptr().add(first);
                            f(
                                pos.as_ptr(),
                                crd.as_ptr(),
                                a.as_ptr(),
                                b.as_ptr(),
                                c,
                                1,
                                rows as isize,
                                width,
                                stride as isize,
                                pitch as isize,
                                clear.into(),
                                total,
                                total,
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

        #[test]
        fn products_of_rows_where_there_is_an_entry() {
            type Sampled = unsafe extern "C" fn(
                *mut T,
                *const T,
                *const T,
                *const T,
                *const u32,
                isize,
                *const u32,
                isize,
                usize,
                usize,
                usize,
                usize,
            );
            let random = &mut random();
            for set in instruction_sets() {
                for width in (0..70).chain([128, 200]) {
                    for count in (0..20).chain([33]) {
                        let [moves, large, ends, alone] = [0, 1, 2, 3].map(|_| random.below(2) == 1);
                        let (stride, pitch) = (width + random.below(3), width + random.below(3));
                        let a = numbers(random, 7 * pitch + width);
                        let b = numbers(random, 9 * stride + width);
                        let m = numbers(random, count);
                        let rows: Vec<u32> = (0..count).map(|_| random.below(7) as u32).collect();
                        // Coordinates behind the entries are prefetched, and may be anything.
                        let room = if ends { count } else { count + 40 };
                        let crd: Vec<u32> = (0..room)
                            .map(|p| if p < count { random.below(9) as u32 } else { u32::MAX })
                            .collect();
                        let mut out = vec![T::NAN; count + 1];
                        // SAFETY: the signature is that which is documented, all rows lie in `a`
                        // and `b`.
                        unsafe {
                            let f: Sampled = std::mem::transmute(kernel(
                                set,
                                Loop::Sampled(IndexKind::U32),
                                false,
                            ));
                            f(
                                out.as_mut_ptr(),
                                if alone { std::ptr::null() } else { m.as_ptr() },
                                a.as_ptr(),
                                b.as_ptr(),
                                if moves { rows.as_ptr() } else { std::ptr::null() },
                                pitch as isize,
                                crd.as_ptr(),
                                stride as isize,
                                count,
                                width,
                                room,
                                if large { usize::MAX } else { b.len() },
                            );
                        }
                        for p in 0..count {
                            let row = if moves { rows[p] as usize * pitch } else { 0 };
                            let column = crd[p] as usize * stride;
                            let sum: T = (0..width).map(|k| a[row + k] * b[column + k]).sum();
                            let scale = if alone { 1.0 } else { m[p] };
                            close(out[p], scale * sum, width as T);
                        }
                        assert!(out[count].is_nan());
                    }
                }
            }
        }

        #[test]
        fn rows_are_added_as_far_as_there_is_room() {
            type Union = unsafe extern "C" fn(
                *const u32,
                *const u16,
                *const T,
                *const u32,
                *const u16,
                *const T,
                *mut u16,
                *mut T,
                isize,
                *mut i64,
                isize,
                isize,
                *mut isize,
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
            let kernel = kernel(instruction_sets()[0], wanted, true);
            let kernel: Union = unsafe { std::mem::transmute(kernel) };
            let (mut i, mut end, mut starts) = (0, 0_isize, vec![-1; rows]);
            let total = a.1.len() + b.1.len();
            let (mut crd, mut out) = (vec![u16::MAX; total], vec![T::NAN; total]);
            let mut room = 0;
            while i < rows as isize {
                let before = (i, end);
                i = unsafe {
                    kernel(
                        a.0.as_ptr(),
                        a.1.as_ptr(),
                        a.2.as_ptr(),
                        b.0.as_ptr(),
                        b.1.as_ptr(),
                        b.2.as_ptr(),
                        crd.as_mut_ptr(),
                        out.as_mut_ptr(),
                        room,
                        starts[i as usize..].as_mut_ptr(),
                        i,
                        rows as isize,
                        &raw mut end,
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
            let found: Vec<(u16, T)> = crd.into_iter().zip(out).take(end as usize).collect();
            assert_eq!(found, expected);
        }

        #[test]
        fn rows_that_are_counted_and_moved() {
            type Count<I> = unsafe extern "C" fn(*const I, *const I, *mut u32, isize, isize);
            type Scatter<I> = unsafe extern "C" fn(
                *const I, *const I, *mut u32, *mut I, i64, *const T, *mut T, isize, isize, usize,
            );
            let random = &mut random();
            // Outputs that the caches hold, and larger ones, which are prefetched; few rows, and many; keys
            // all over the place, and near those of the row before.
            for (rows, keys, near) in
                [(3, 9, false), (200, 5000, true), (9000, 4000, false), (30_000, 30_000, true)]
            {
                let (mut pos, mut crd) = (vec![0_i64], Vec::new());
                for row in 0..rows {
                    crd.extend((0..random.below(20)).map(|k| match near {
                        true => (row + k) as i64 % keys as i64,
                        false => random.below(keys) as i64,
                    }));
                    pos.push(crd.len() as i64);
                }
                let total = crd.len();
                let from = numbers(random, total);
                let (lo, hi) = (1, rows - 1);
                let moved = pos[lo] as usize..pos[hi] as usize;
                let mut counts = vec![7; keys];
                moved.clone().for_each(|p| counts[crd[p] as usize] += 1);
                let starts: Vec<u32> = counts
                    .iter()
                    .scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count - 7)))
                    .collect();
                let mut expected = (starts.clone(), vec![-1_i64; total], vec![T::NAN; total]);
                for row in lo..hi {
                    for p in pos[row] as usize..pos[row + 1] as usize {
                        let next = &mut expected.0[crd[p] as usize];
                        expected.1[*next as usize] = row as i64 + 5;
                        expected.2[*next as usize] = from[p];
                        *next += 1;
                    }
                }
                macro_rules! check {
                    ($kind:ident, $index:ty) => {
                        let [pos, crd]: [Vec<$index>; 2] =
                            [&pos, &crd].map(|v| v.iter().map(|&v| v as $index).collect());
                        let (mut found, mut next) = (vec![7; keys], starts.clone());
                        let (mut column, mut out) = (vec![-1_i64 as $index; total], vec![T::NAN; total]);
                        let of = |wanted| kernel((InstructionSet::Portable, Gathering::Never), wanted, true);
                        let (pos, crd) = (pos.as_ptr(), crd.as_ptr());
                        let (lo, hi) = (lo as isize, hi as isize);
                        // SAFETY: the signatures are those that are documented; each key has as many
                        // places as it has entries.
                        unsafe {
                            let f: Count<$index> =
                                std::mem::transmute(of(Loop::Count(IndexKind::$kind)));
                            f(pos, crd, found.as_mut_ptr(), lo, hi);
                            let f: Scatter<$index> =
                                std::mem::transmute(of(Loop::ScatterRows(IndexKind::$kind)));
                            f(
                                pos, crd, next.as_mut_ptr(), column.as_mut_ptr(), 5, from.as_ptr(),
                                out.as_mut_ptr(), lo, hi, total,
                            );
                        }
                        assert_eq!((&found, &next), (&counts, &expected.0));
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
        fn entries_that_go_to_the_next_free_place() {
            type Scatter<I> = unsafe extern "C" fn(
                *const I,
                usize,
                usize,
                *mut u32,
                usize,
                *mut I,
                i64,
                *const T,
                *mut T,
                usize,
            );
            let random = &mut random();
            // Outputs that the caches hold, and larger ones, which are prefetched; keys far apart, and
            // side by side.
            for (count, total, keys) in
                [(1, 8, 3), (100, 400, 50), (300, 1 << 21, 5000), (40, 1 << 21, 40)]
            {
                let rest = count + random.below(100);
                // Coordinates behind the row are unchecked.
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
                        let (mut column, mut out) =
                            (vec![-1_i64 as $index; total], vec![T::NAN; total]);
                        // SAFETY: the signature is the one that is documented; each key has more
                        // places than it has entries.
                        unsafe {
                            let f: Scatter<$index> = std::mem::transmute(kernel(
                                (InstructionSet::Portable, Gathering::Never),
                                Loop::Scatter(IndexKind::$kind),
                                true,
                            ));
                            f(
                                crd.as_ptr(),
                                rest,
                                count,
                                next.as_mut_ptr(),
                                keys,
                                column.as_mut_ptr(),
                                77,
                                from.as_ptr(),
                                out.as_mut_ptr(),
                                total,
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
    };
}
for_each_number!(tests);
