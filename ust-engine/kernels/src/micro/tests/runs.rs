//! Kernels that sum rows of runs.

use super::*;

macro_rules! tests {
    () => {
        type Dots<P, C> = unsafe extern "C" fn(
            *const C,
            *const P,
            *const T,
            *const T,
            isize,
            isize,
            isize,
        ) -> T;
        type Runs<P, C> = unsafe extern "C" fn(
            *const P,
            *const C,
            *const P,
            *const T,
            *const T,
            *mut T,
            isize,
            isize,
            *const P,
            isize,
        );

        type Shared<C> = unsafe extern "C" fn(
            *const C,
            *const C,
            *const T,
            *const T,
            isize,
            isize,
            isize,
        ) -> T;

        #[test]
        fn runs_with_one_value() {
            let random = &mut random();
            for set in instruction_sets() {
                for round in 0..40 {
                    let has_begin = round % 2 == 0;
                    // Lengths around those of vectors; gaps only where runs have beginnings of their own.
                    let (mut begin, mut end, mut at) = (Vec::new(), Vec::new(), 3);
                    for _ in 0..random.below(9) {
                        let bound = [2, 10, 40, 90][random.below(4)];
                        begin.push(at + if has_begin { random.below(3) } else { 0 });
                        at = begin[begin.len() - 1] + random.below(bound);
                        end.push(at);
                    }
                    let (mut a, x) = (numbers(random, end.len() + 1), numbers(random, at + 1));
                    if round % 5 == 0 {
                        a[0] = [T::INFINITY, T::NAN][round % 2];
                    }
                    let lo = usize::from(end.len() > 4);
                    let terms: Vec<T> = (lo..end.len())
                        .flat_map(|s| (begin[s]..end[s]).map(move |j| (s, j)))
                        .map(|(s, j)| a[s] * x[j])
                        .collect();
                    let first = begin.get(lo).copied().unwrap_or(0) as isize;
                    macro_rules! call {
                        ($index:ty, $kind:ident) => {{
                            let as_index = |of: &[usize]| of.iter().map(|&v| v as $index).collect::<Vec<_>>();
                            let (begin, end) = (as_index(&begin), as_index(&end));
                            let begin = if has_begin { begin.as_ptr() } else { std::ptr::null() };
                            // SAFETY: the signature is the one that is documented; all indices lie within what is
                            // given.
                            let found = unsafe {
                                let of = Loop::SharedDots(IndexKind::$kind);
                                let run: Shared<$index> = std::mem::transmute(kernel(set, of, false));
                                run(begin, end.as_ptr(), a.as_ptr(), x.as_ptr(), lo as isize, end.len() as isize, first)
                            };
                            let (sum, size) = terms.iter().fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()));
                            if T::is_finite(sum) {
                                close(found, sum, size);
                            } else {
                                assert!(found == sum || (found.is_nan() && sum.is_nan()), "{found} {sum}");
                            }
                        }};
                    }
                    call!(u16, U16);
                    call!(u32, U32);
                    call!(i32, I32);
                    call!(i64, I64);
                }
            }
        }

        type SharedRows = unsafe extern "C" fn(
            *const u32,
            *const u16,
            *const u16,
            *const T,
            *const T,
            *mut T,
            isize,
            isize,
            *const u32,
            isize,
            isize,
        );

        #[test]
        fn rows_of_runs_with_one_value() {
            const ROWS: usize = 12;
            let random = &mut random();
            for set in instruction_sets() {
                for round in 0..60 {
                    let [has_begin, turned, many] = [1, 2, 4].map(|bit| round & bit != 0);
                    // With many runs, rows are differences of sums; a value or an element that is not finite is none.
                    let (width, each) = if many { (20, 9) } else { (400, 3) };
                    let (mut pos, mut begin, mut end) = (vec![0_u32], Vec::new(), Vec::new());
                    for _ in 0..ROWS {
                        let mut at = 2;
                        for _ in 0..if many { each } else { random.below(each) } {
                            begin.push((at + if has_begin { random.below(2) } else { 0 }).min(width) as u16);
                            at = (usize::from(begin[begin.len() - 1]) + random.below(width / each * 2)).min(width);
                            end.push(at as u16);
                        }
                        pos.push(end.len() as u32);
                    }
                    let (mut a, mut x) = (numbers(random, end.len() + 1), numbers(random, width));
                    match round % 5 {
                        0 => a[end.len() / 2] = T::INFINITY,
                        1 => x[width / 2] = T::NAN,
                        2 => x[3] = 1e9,
                        _ => {}
                    }
                    let places: Vec<u32> = (0..ROWS as u32).rev().collect();
                    let or_null = |is_null, of: &[u16]| if is_null { std::ptr::null() } else { of.as_ptr() };
                    let mut out = [T::NEG_INFINITY; ROWS];
                    // SAFETY: the signature is the one that is documented; all indices lie within what is given.
                    unsafe {
                        let of = Loop::SharedRows(IndexKind::U32, IndexKind::U16);
                        let run: SharedRows = std::mem::transmute(kernel(set, of, false));
                        let places = if turned { places.as_ptr() } else { std::ptr::null() };
                        let begins = or_null(!has_begin, &begin);
                        let (a, x) = (a.as_ptr(), x.as_ptr());
                        run(
                            pos.as_ptr(), begins, end.as_ptr(), a, x, out.as_mut_ptr(), 1, ROWS as isize, places, 2,
                            width as isize,
                        );
                    }
                    if turned {
                        out.reverse();
                    }
                    assert!(out[0] == T::NEG_INFINITY);
                    for row in 1..ROWS {
                        let (mut sum, mut size) = (0.0, 0.0);
                        for s in pos[row] as usize..pos[row + 1] as usize {
                            for j in begin[s]..end[s] {
                                let term = a[s] * x[usize::from(j)];
                                (sum, size) = (sum + term, size + term.abs());
                            }
                        }
                        let found = out[row];
                        if T::is_finite(sum) {
                            // Both sums are rounded.
                            close(found, sum, 4.0 * size);
                        } else {
                            assert!(found == sum || (found.is_nan() && sum.is_nan()), "{found} {sum}");
                        }
                    }
                }
            }
        }

        #[test]
        fn rows_of_runs() {
            const ROWS: usize = 60;
            let random = &mut random();
            for (set, exact) in instruction_sets().into_iter().flat_map(|l| [(l, true), (l, false)]) {
                for way in 0..8 {
                    let [is_one, is_end, turned] = [1, 2, 4].map(|bit| way & bit != 0);
                    // Runs of no entry, of few, of many; of rows without a run. Some begin and end where `x` does.
                    let (mut pos, mut ofs, mut first) = (vec![0], vec![0], Vec::new());
                    for row in 0..ROWS {
                        for _ in 0..if is_one { 1 } else { random.below(5) } {
                            let bound = [1, 6, 20, 200][random.below(4)];
                            let n = if row == 9 { 200 } else { random.below(bound) };
                            let rest = 200 - n;
                            first.push([0, rest, random.below(rest + 1)][random.below(3)]);
                            ofs.push(ofs[ofs.len() - 1] + n);
                        }
                        pos.push(first.len());
                    }
                    let (a, x) = (numbers(random, ofs[first.len()]), numbers(random, 200));
                    let count = |s: usize| ofs[s + 1] - ofs[s];
                    let bounds: Vec<usize> = (0..first.len())
                        .map(|s| if is_end { first[s] + count(s) } else { first[s] })
                        .collect();
                    let places: Vec<usize> = (0..ROWS).rev().collect();
                    let mut out = [[T::NAN; ROWS]; 5];
                    macro_rules! call {
                        ($of_pos:ty, $index:ty, $kinds:expr, $out:expr) => {
                            let as_pos =
                                |of: &[usize]| of.iter().map(|&v| v as $of_pos).collect::<Vec<_>>();
                            let [pos, ofs, places] = [&pos, &ofs, &places].map(|of| as_pos(of));
                            let bounds: Vec<$index> =
                                bounds.iter().map(|&bound| bound as $index).collect();
                            let or_null = |of: &Vec<$of_pos>, is_null| match is_null {
                                true => std::ptr::null(),
                                false => of.as_ptr(),
                            };
                            // SAFETY: the signature is the one that is documented; all indices lie within what is
                            // given.
                            unsafe {
                                let runs: Runs<$of_pos, $index> =
                                    std::mem::transmute(kernel(set, Loop::Runs($kinds.0, $kinds.1), exact));
                                runs(
                                    or_null(&pos, is_one),
                                    bounds.as_ptr(),
                                    ofs.as_ptr(),
                                    a.as_ptr(),
                                    x.as_ptr(),
                                    $out.as_mut_ptr(),
                                    3,
                                    ROWS as isize,
                                    or_null(&places, !turned),
                                    is_end.into(),
                                );
                                // The sum of a row alone.
                                let dots = Loop::RunDots($kinds.0, $kinds.1);
                                let dots = (!exact).then(|| kernel(set, dots, exact));
                                let dots: Option<Dots<$of_pos, $index>> = std::mem::transmute(dots.unwrap_or(0));
                                let (bounds, ofs) = (bounds.as_ptr(), ofs.as_ptr());
                                for (row, dots) in (3..ROWS).filter_map(|row| Some((row, dots?))) {
                                    let [lo, hi] = [pos[row], pos[row + 1]].map(|at| at as isize);
                                    let found =
                                        dots(bounds, ofs, a.as_ptr(), x.as_ptr(), lo, hi, is_end.into());
                                    assert_eq!(found, $out[if turned { ROWS - 1 - row } else { row }]);
                                }
                            }
                        };
                    }
                    use IndexKind::{I32, I64, U8, U16, U32};
                    let [b, w, u, i, l] = &mut out;
                    call!(u32, u8, (U32, U8), b);
                    call!(u32, u16, (U32, U16), w);
                    call!(u32, u32, (U32, U32), u);
                    call!(i32, i32, (I32, I32), i);
                    call!(i64, i64, (I64, I64), l);
                    for mut out in out {
                        if turned {
                            out.reverse();
                        }
                        assert!(out[..3].iter().all(|v| v.is_nan()));
                        for (row, &found) in out.iter().enumerate().skip(3) {
                            let terms: Vec<T> = (pos[row]..pos[row + 1])
                                .flat_map(|s| (0..count(s)).map(move |k| (s, k)))
                                .map(|(s, k)| a[ofs[s] + k] * x[first[s] + k])
                                .collect();
                            if exact {
                                assert_eq!(found, terms.iter().fold(0.0, |sum, term| sum + term));
                                continue;
                            }
                            let size = terms.iter().map(|t| t.abs()).sum::<T>();
                            let sum = terms.iter().map(|&t| t as f64).sum::<f64>();
                            close(found, sum as T, 8.0 * size);
                        }
                    }
                }
            }
        }

        /// Numbers beside a run have no influence on its sum.
        #[test]
        fn runs_of_every_length_between_what_is_no_number() {
            let random = &mut random();
            for (set, exact) in instruction_sets().into_iter().flat_map(|l| [(l, true), (l, false)]) {
                for n in 0..200 {
                    let mut around = || {
                        let before = random.below(9);
                        let mut all = vec![T::NAN; before];
                        all.extend(numbers(random, n));
                        all.extend([T::NAN; 70]);
                        (before, all)
                    };
                    let ((from, a), (first, x)) = (around(), around());
                    let (ofs, mut out) = ([from as i64, (from + n) as i64], [T::NAN; 2]);
                    let bounds = [first as i64];
                    // SAFETY: as above.
                    unsafe {
                        let wanted = Loop::Runs(IndexKind::I64, IndexKind::I64);
                        let runs: Runs<i64, i64> = std::mem::transmute(kernel(set, wanted, exact));
                        let (a, x, null) = (a.as_ptr(), x.as_ptr(), std::ptr::null());
                        runs(null, bounds.as_ptr(), ofs.as_ptr(), a, x, out.as_mut_ptr(), 0, 1, null, 0);
                    }
                    let terms = (0..n).map(|k| a[from + k] as f64 * x[first + k] as f64);
                    close(out[0], terms.sum::<f64>() as T, n as T);
                    assert!(out[1].is_nan());
                }
            }
        }
    };
}

for_each_number!(tests);
