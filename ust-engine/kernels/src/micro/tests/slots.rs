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
    };
}
for_each_number!(tests);
