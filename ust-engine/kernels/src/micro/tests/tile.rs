//! Kernels for small blocks.

use super::*;

macro_rules! tests {
    () => {
        #[test]
        fn blocks_times_blocks() {
            type Product = unsafe extern "C" fn(
                *mut T,
                *const T,
                *const T,
                isize,
                isize,
                isize,
                isize,
                isize,
                isize,
            );
            let random = &mut random();
            for set in instruction_sets() {
                for (width, exact) in [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16]
                    .into_iter()
                    .flat_map(|w| [(w, true), (w, false)])
                {
                    let address = kernel(set, Loop::Tile(width), exact);
                    let width = width as usize;
                    let [rows, sums] = [1, 1].map(|least| least + random.below(9));
                    let [of_c, of_b] = [0, 0].map(|_| width + random.below(3));
                    let right = 1 + random.below(3);
                    let down = random.below(2) + right * sums;
                    let a = numbers(random, rows * down);
                    let b = numbers(random, (sums - 1) * of_b + width);
                    let before = numbers(random, (rows - 1) * of_c + width);
                    let mut c = before.clone();
                    // SAFETY: the signature is that which is documented.
                    unsafe {
                        let f: Product = std::mem::transmute(address);
                        f(
                            c.as_mut_ptr(),
                            a.as_ptr(),
                            b.as_ptr(),
                            of_c as isize,
                            down as isize,
                            right as isize,
                            of_b as isize,
                            rows as isize,
                            sums as isize,
                        );
                    }
                    let mut expected = before;
                    for (i, j) in (0..rows).flat_map(|i| (0..sums).map(move |j| (i, j))) {
                        for k in 0..width {
                            expected[i * of_c + k] += a[i * down + j * right] * b[j * of_b + k];
                        }
                    }
                    for (found, expected) in c.into_iter().zip(expected) {
                        if exact {
                            assert_eq!(found, expected);
                        } else {
                            close(found, expected, sums as T);
                        }
                    }
                }
            }
        }

        #[test]
        fn rows_for_all_places_of_a_block() {
            type Dots = unsafe extern "C" fn(
                *mut T,
                *const T,
                *const T,
                *const T,
                isize,
                isize,
                isize,
                isize,
                usize,
                usize,
                usize,
                *const T,
                usize,
            );
            let random = &mut random();
            for (set, width) in instruction_sets()
                .into_iter()
                .flat_map(|l| (0..40).chain([64, 130, 200]).map(move |w| (l, w)))
            {
                let [rows, columns] = [1, 1].map(|least| least + random.below(9));
                let (down, right) = match random.below(2) {
                    0 => (columns, 1),
                    _ => (1, rows),
                };
                let [of_a, of_b] = [0, 0].map(|_| width + random.below(3));
                let [a, b] = [(rows, of_a), (columns, of_b)]
                    .map(|(count, stride)| numbers(random, (count - 1) * stride + width));
                let m = numbers(random, rows * columns);
                let mut out = vec![T::NAN; rows * columns];
                let next = if width % 2 == 0 { std::ptr::null() } else { b.as_ptr() };
                // SAFETY: the signature is that which is documented.
                unsafe {
                    let f: Dots = std::mem::transmute(kernel(set, Loop::Dots, false));
                    f(
                        out.as_mut_ptr(),
                        m.as_ptr(),
                        a.as_ptr(),
                        b.as_ptr(),
                        down as isize,
                        right as isize,
                        of_a as isize,
                        of_b as isize,
                        rows,
                        columns,
                        width,
                        next,
                        1 << 20,
                    );
                }
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let at = i * down + j * right;
                    let sum = (0..width).map(|k| a[i * of_a + k] * b[j * of_b + k]).sum::<T>();
                    close(out[at], m[at] * sum, width as T);
                }
            }
        }
    };
}
for_each_number!(tests);
