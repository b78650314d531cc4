//! Sorting the coordinates of one row of a result: dozens to thousands of numbers, for each row.

use std::cell::RefCell;

use crate::tuning::{ROW_DIGIT_BITS, ROW_MAX_DIGITS, ROW_MIN_BITMAP, ROW_MIN_DIGITS};

/// Memory that a thread keeps.
#[derive(Default)]
struct Scratch {
    /// A bitmap of the numbers. All 0 between two calls.
    bits: Vec<u64>,
    copy: Vec<i64>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Sorts numbers. If they are distinct and lie close together, as the coordinates of a row do, each sets a
/// bit in a bitmap, which is then read from its start: O(length), without comparisons.
pub fn sort_few(numbers: &mut [i64]) {
    let n = numbers.len();
    if n < ROW_MIN_BITMAP || u32::try_from(n).is_err() {
        return numbers.sort_unstable();
    }
    let first = numbers[0];
    let ends = numbers.iter().fold((first, first), |(lo, hi), &v| (lo.min(v), hi.max(v)));
    let (lo, range) = (ends.0, ends.1.wrapping_sub(ends.0) as u64);
    SCRATCH.with_borrow_mut(|scratch| {
        // At most one word of the bitmap for two numbers.
        if range < 32 * n as u64 && scratch.by_bits(numbers, lo, range) {
            return;
        }
        match n >= ROW_MIN_DIGITS && range < 1 << (ROW_MAX_DIGITS * ROW_DIGIT_BITS) {
            true => scratch.by_digits(numbers, lo, range),
            false => numbers.sort_unstable(),
        }
    });
}

impl Scratch {
    /// Sorts distinct numbers. Returns false, and leaves them as they are, where two are equal.
    fn by_bits(&mut self, numbers: &mut [i64], lo: i64, range: u64) -> bool {
        let words = (range / 64) as usize + 1;
        if self.bits.len() < words {
            self.bits.resize(words, 0);
        }
        let bits = &mut self.bits[..words];
        let mut twice = 0;
        for &number in &*numbers {
            let at = number.wrapping_sub(lo) as u64;
            let word = &mut bits[(at / 64) as usize];
            let bit = 1 << (at % 64);
            twice |= *word & bit;
            *word |= bit;
        }
        if twice != 0 {
            bits.fill(0);
            return false;
        }
        let mut sorted = numbers.iter_mut();
        for (word, base) in bits.iter_mut().zip((0_i64..).step_by(64)) {
            let mut rest = std::mem::take(word);
            while rest != 0 {
                let number = lo.wrapping_add(base + i64::from(rest.trailing_zeros()));
                *sorted.next().expect("a bit for each number") = number;
                rest &= rest - 1;
            }
        }
        true
    }

    /// Sorts numbers digit by digit, from the lowest.
    fn by_digits(&mut self, numbers: &mut [i64], lo: i64, range: u64) {
        const VALUES: usize = 1 << ROW_DIGIT_BITS;
        let digits = (64 - range.leading_zeros()).div_ceil(ROW_DIGIT_BITS) as usize;
        let digit = |number: i64, pass: usize| {
            (number.wrapping_sub(lo) >> (pass as u32 * ROW_DIGIT_BITS)) as usize & (VALUES - 1)
        };
        let mut counts = [[0_u32; VALUES]; ROW_MAX_DIGITS as usize];
        for &number in &*numbers {
            for (pass, counts) in counts[..digits].iter_mut().enumerate() {
                counts[digit(number, pass)] += 1;
            }
        }
        self.copy.clear();
        self.copy.extend_from_slice(numbers);
        let (mut from, mut to) = (&mut self.copy[..], &mut *numbers);
        for (pass, counts) in counts[..digits].iter_mut().enumerate() {
            super::sort::starts(counts);
            for &number in &*from {
                let slot = &mut counts[digit(number, pass)];
                to[*slot as usize] = number;
                *slot += 1;
            }
            (from, to) = (to, from);
        }
        // After an even number of passes, the sorted numbers are in the copy.
        if digits.is_multiple_of(2) {
            numbers.copy_from_slice(&self.copy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_however_many_and_far_apart() {
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
            (state >> 20) as i64
        };
        for n in [0, 1, 31, 32, 100, 255, 256, 5000] {
            for range in [1, 50, 4000, 1 << 20, 1 << 32, 1 << 40] {
                for lo in [0, -70_000, i64::MAX - (1 << 40), i64::MIN] {
                    let mut numbers: Vec<i64> = (0..n).map(|_| lo + next() % range).collect();
                    if range > n && n % 2 == 0 {
                        numbers.sort_unstable();
                        numbers.dedup();
                        numbers.reverse();
                    }
                    let mut expected = numbers.clone();
                    expected.sort_unstable();
                    sort_few(&mut numbers);
                    assert_eq!(numbers, expected, "{n} numbers, {range} apart, from {lo}");
                }
            }
        }
        let mut ends: Vec<i64> = (0..40).flat_map(|k| [i64::MAX - k, i64::MIN + k]).collect();
        sort_few(&mut ends);
        assert!(ends.is_sorted());
    }
}
