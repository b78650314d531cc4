//! Kernels that sum rows that stand side by side.

use super::*;

macro_rules! tests {
    () => {
        type Slots<C> =
            unsafe extern "C" fn(*mut T, *const T, *const C, *const T, usize, usize, usize);

        #[test]
        fn slots_of_rows() {
            let random = &mut random();
            let mut sizes: Vec<(usize, usize)> =
                (0..12).flat_map(|slots| [0, 1, 7, 33].map(|rows| (slots, rows))).collect();
            sizes.extend([(5, 1023), (6, 1024), (9, 2500)]);
            for (slots, rows) in sizes {
                let stride = rows + random.below(3);
                let (a, x) = (numbers(random, slots * stride), numbers(random, 50));
                let crd: Vec<u32> = (0..slots * stride).map(|_| random.below(50) as u32).collect();
                let before = numbers(random, rows + 1);
                let mut wanted = before.clone();
                for at in (0..slots).flat_map(|p| (0..rows).map(move |row| (row, p * stride + row)))
                {
                    wanted[at.0] += a[at.1] * x[crd[at.1] as usize];
                }
                for (set, exact) in
                    instruction_sets().into_iter().flat_map(|l| [(l, true), (l, false)])
                {
                    let mut y = before.clone();
                    // SAFETY: the signature is the one that is documented; all indices lie within what is given.
                    unsafe {
                        let f: Slots<u32> =
                            std::mem::transmute(kernel(set, Loop::Slots(IndexKind::U32), exact));
                        let (to, a, x) = (y.as_mut_ptr(), a.as_ptr(), x.as_ptr());
                        f(to, a, crd.as_ptr(), x, slots, rows, stride);
                    }
                    for (row, (&found, &wanted)) in y.iter().zip(&wanted).enumerate() {
                        match exact || row == rows {
                            true => assert_eq!(found, wanted, "{slots} slots of {rows} rows"),
                            false => close(found, wanted, slots as T),
                        }
                    }
                }
            }
        }

        type Slices = unsafe extern "C" fn(
            *const u32,
            *const u32,
            *const T,
            *const T,
            *mut T,
            usize,
            usize,
            usize,
            isize,
        );

        #[test]
        fn slices_of_rows() {
            let random = &mut random();
            for size in [1_usize, 4, 7, 8, 16, 32, 40] {
                for rows in [0, 1, size, 3 * size + 1, 6 * size - 1, 6 * size] {
                    let slices = rows.div_ceil(size);
                    let mut pos = vec![0_u32];
                    for slice in 0..slices {
                        pos.push(pos[slice] + random.below(11) as u32);
                    }
                    let len = pos[slices] as usize * size;
                    let (a, x) = (numbers(random, len), numbers(random, 50));
                    let crd: Vec<u32> = (0..len).map(|_| random.below(50) as u32).collect();
                    let before = numbers(random, rows + 1);
                    let lo = slices.min(random.below(3));
                    let mut wanted = before.clone();
                    for row in lo * size..rows {
                        for slot in pos[row / size]..pos[row / size + 1] {
                            let at = slot as usize * size + row % size;
                            wanted[row] += a[at] * x[crd[at] as usize];
                        }
                    }
                    for (set, exact) in
                        instruction_sets().into_iter().flat_map(|l| [(l, true), (l, false)])
                    {
                        let mut y = before.clone();
                        let wished = Loop::Slices(IndexKind::U32, IndexKind::U32);
                        // SAFETY: the signature is the one that is documented; all indices lie within what is given.
                        unsafe {
                            let f: Slices = std::mem::transmute(kernel(set, wished, exact));
                            let (pos, crd, n) = (pos.as_ptr(), crd.as_ptr(), rows as isize);
                            let to = y.as_mut_ptr();
                            f(pos, crd, a.as_ptr(), x.as_ptr(), to, lo, slices, size, n);
                        }
                        for (row, (&found, &wanted)) in y.iter().zip(&wanted).enumerate() {
                            match exact || row == rows {
                                true => assert_eq!(found, wanted, "row {row}, slices of {size}"),
                                false => close(found, wanted, 11 as T),
                            }
                        }
                    }
                }
            }
        }
    };
}
for_each_number!(tests);
