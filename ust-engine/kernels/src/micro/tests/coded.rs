//! Kernels that decode coordinates. What stands beside entries, in `x` and behind the values, is no number.

use super::*;

macro_rules! tests {
    () => {
        type Ones<P> =
            unsafe extern "C" fn(*const u32, *const P, *const T, *const T, isize, isize, isize) -> T;
        type Gaps = unsafe extern "C" fn(*const T, *const u8, *const T, usize, usize) -> T;

        /// Checks the sum of products.
        fn same(found: T, terms: &[T]) {
            let size = terms.iter().map(|term| term.abs()).sum::<T>();
            let sum = terms.iter().map(|&term| term as f64).sum::<f64>();
            close(found, sum as T, 8.0 * size);
        }

        /// A vector with numbers at these places, and none elsewhere.
        fn at_places(random: &mut Random, places: &[usize], n: usize) -> Vec<T> {
            let mut x = vec![T::NAN; n];
            x.iter_mut().skip(1).step_by(3).for_each(|beside| *beside = T::INFINITY);
            places.iter().for_each(|&place| x[place] = random.number() as T);
            x
        }

        #[test]
        fn words_of_ones() {
            const WORDS: usize = 12;
            let random = &mut random();
            for round in 0..200 {
                let word = |random: &mut Random| match (round + random.below(9)) % 9 {
                    0 => 0,
                    1 => u32::MAX,
                    2 => 1 << random.below(32),
                    3 => u32::MAX >> random.below(32),
                    4 => u32::MAX << random.below(32),
                    _ => random.below(1 << 32) as u32 & random.below(1 << 32) as u32,
                };
                let bits: Vec<u32> = (0..WORDS).map(|_| word(random)).collect();
                // Values of words need not stand side by side.
                let (mut ofs, mut a) = (Vec::new(), Vec::new());
                let mut entries = Vec::new();
                for (at, &ones) in bits.iter().enumerate() {
                    a.extend(vec![T::NAN; random.below(3)]);
                    ofs.push(a.len());
                    let places = (0..32).filter(|place| ones >> place & 1 == 1);
                    entries.push(places.map(|place| 32 * at + place).collect::<Vec<usize>>());
                    a.extend(numbers(random, ones.count_ones() as usize));
                }
                let x = at_places(random, &entries.concat(), 32 * WORDS);
                for set in instruction_sets() {
                    let (lo, hi) = (round % 3, WORDS - round % 2);
                    let terms: Vec<T> = (lo..hi)
                        .flat_map(|word| entries[word].iter().enumerate().map(move |(k, &place)| (word, k, place)))
                        .map(|(word, k, place)| a[ofs[word] + k] * x[place])
                        .collect();
                    macro_rules! call {
                        ($of:ty, $kind:ident) => {
                            let ofs: Vec<$of> = ofs.iter().map(|&at| at as $of).collect();
                            // Whether whole vectors of values may be read or not.
                            for room in [a.len(), 0] {
                                // SAFETY: the signature is the one that is documented; all indices lie within what is
                                // given.
                                let found = unsafe {
                                    let wanted = Loop::OneDots(IndexKind::$kind);
                                    let f: Ones<$of> = std::mem::transmute(kernel(set, wanted, false));
                                    let (lo, hi, room) = (lo as isize, hi as isize, room as isize);
                                    f(bits.as_ptr(), ofs.as_ptr(), a.as_ptr(), x.as_ptr(), lo, hi, room)
                                };
                                same(found, &terms);
                            }
                        };
                    }
                    call!(u16, U16);
                    call!(u32, U32);
                    call!(i32, I32);
                    call!(i64, I64);
                }
            }
        }

        #[test]
        fn rows_of_gaps() {
            let random = &mut random();
            for bits in [4, 8] {
                for n in (0..150).chain([1000]) {
                    // The first number, which may stand anywhere in a byte.
                    let at = random.below(17);
                    let most = (1_usize << bits) - 1;
                    let few = n % 4 == 0;
                    let number = |random: &mut Random| match few {
                        true => most.min(random.below(3)),
                        false => most - random.below(most + 1) * random.below(2),
                    };
                    let all: Vec<usize> = (0..at + n).map(|_| number(random)).collect();
                    let mut packed = vec![0_u8; ((at + n) * bits).div_ceil(8)];
                    for (place, number) in all.iter().enumerate() {
                        for bit in 0..bits {
                            let to = place * bits + bit;
                            packed[to / 8] |= ((number >> bit & 1) << (to % 8)) as u8;
                        }
                    }
                    let mut next = 0;
                    let places = all[at..].iter().map(|number| {
                        next += number + 1;
                        next - 1
                    });
                    let places: Vec<usize> = places.collect();
                    let mut a = numbers(random, n);
                    let x = at_places(random, &places, next + 40);
                    let terms: Vec<T> = a.iter().zip(&places).map(|(a, &place)| a * x[place]).collect();
                    a.push(T::NAN);
                    for set in instruction_sets() {
                        // SAFETY: as above.
                        let found = unsafe {
                            let wanted = Loop::GapDots(bits as u8);
                            let f: Gaps = std::mem::transmute(kernel(set, wanted, false));
                            f(a.as_ptr(), packed.as_ptr(), x.as_ptr(), at, n)
                        };
                        same(found, &terms);
                    }
                }
            }
        }
    };
}

for_each_number!(tests);
