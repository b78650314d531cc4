//! Finds the ends of tokens ahead of reading them, so that the search for the next token does not wait
//! for the last one to be read.

use ust_kernels::text::{Instructions, PART, Reading, gaps, prefetch_after, with_best};

/// Bytes that are scanned at a time.
const SCAN_BYTES: usize = 4096;
/// Distance of the prefetch ahead of the scan.
const PREFETCH_BYTES: usize = 2 * SCAN_BYTES;
/// Ends that are stored without a branch between them.
const ENDS_PER_STEP: usize = 8;

/// The tokens of a text: runs of bytes other than blanks, line ends and control characters.
pub(super) struct Tokens<'a> {
    text: &'a [u8],
    /// The number of bytes that were scanned.
    scanned: usize,
    /// Whether the last of these bytes belongs to a token.
    in_token: bool,
    /// Offsets of the ends of tokens. The first `found` elements are valid.
    ends: Vec<usize>,
    found: usize,
    /// The index of the first end that the reader has not passed.
    next: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, scanned: 0, in_token: false, ends: Vec::new(), found: 0, next: 0 }
    }

    /// The ends of at least `words` tokens that end after byte `at`; `None` if the text has fewer. Each
    /// end is the offset of the byte after the token: a token at the very end of the text does not
    /// count. `at` never decreases from call to call.
    #[inline(always)]
    pub(super) fn ends(&mut self, at: usize, words: usize) -> Option<&[usize]> {
        loop {
            let known = &self.ends[..self.found];
            while known.get(self.next).is_some_and(|&end| end <= at) {
                self.next += 1;
            }
            if self.found - self.next >= words {
                return Some(&self.ends[self.next..self.found]);
            }
            if self.scanned == self.text.len() {
                return None;
            }
            with_best(Scan(self));
        }
    }

    /// Passes `words` tokens of those found: later calls of [`Self::ends`] skip them at once.
    #[inline(always)]
    pub(super) fn pass(&mut self, words: usize) {
        self.next += words;
    }

    #[inline(always)]
    fn scan(&mut self) {
        self.ends.copy_within(self.next..self.found, 0);
        (self.found, self.next) = (self.found - self.next, 0);
        let rest = &self.text[self.scanned..];
        let ahead = &rest[..rest.len().min(SCAN_BYTES)];
        // At most every other byte ends a token. One part more, since slots are filled beyond the last
        // end.
        self.ends.resize((self.found + SCAN_BYTES / 2 + PART).max(self.ends.len()), 0);
        let mut base = self.scanned;
        for part in ahead.chunks(PART) {
            prefetch_after(part, PREFETCH_BYTES);
            let gaps = match part.as_array() {
                Some(part) => gaps(part),
                None => {
                    let mut whole = [b'.'; PART];
                    whole[..part.len()].copy_from_slice(part);
                    gaps(&whole)
                }
            };
            let before = (!gaps << 1) | u64::from(self.in_token);
            let mut ends = gaps & before;
            let slots = self.ends[self.found..].first_chunk_mut::<PART>().expect("room behind");
            self.found += ends.count_ones() as usize;
            // If lines are much alike, the number of steps is always the same, and the branch is
            // predicted. Elements written beyond the last end are overwritten later.
            for slots in slots.chunks_exact_mut(ENDS_PER_STEP) {
                for slot in slots {
                    *slot = base + ends.trailing_zeros() as usize;
                    ends &= ends.wrapping_sub(1);
                }
                if ends == 0 {
                    break;
                }
            }
            self.in_token = gaps >> (part.len() - 1) & 1 == 0;
            base += part.len();
        }
        self.scanned = base;
    }
}

struct Scan<'t, 'a>(&'t mut Tokens<'a>);

impl Reading for Scan<'_, '_> {
    type Read = ();

    #[inline(always)]
    fn read(self, _: impl Instructions) {
        self.0.scan();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_they_stand() {
        let (mut state, scan) = (7_u64, SCAN_BYTES);
        for length in [0, 1, 7, 8, 63, 64, 65, 500, scan - 1, scan, scan + 1, 3 * scan + 5] {
            for words in [2, 9, 300] {
                let text: Vec<u8> = (0..length)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        match (state >> 40) % words {
                            0 => [b' ', b'\n', b'\t', b'\r', 0, 31][(state >> 50) as usize % 6],
                            _ => [b'!', b'7', 127, 128, 255][(state >> 50) as usize % 5],
                        }
                    })
                    .collect();
                let gap = |at: usize| text[at] <= b' ';
                let expected: Vec<usize> =
                    (1..length).filter(|&at| gap(at) && !gap(at - 1)).collect();
                let mut tokens = Tokens::new(&text);
                let mut at = 0;
                for &end in &expected {
                    assert_eq!(tokens.ends(at, 1).unwrap()[0], end);
                    at = end;
                }
                assert_eq!(tokens.ends(at, 1), None);
                // Three tokens at once, from any byte on.
                let mut tokens = Tokens::new(&text);
                for at in (0..length).step_by(7) {
                    let all = &expected[expected.partition_point(|&end| end <= at)..];
                    match tokens.ends(at, 3) {
                        Some(found) => assert_eq!(found[..3], all[..3]),
                        None => assert!(all.len() < 3),
                    }
                }
            }
        }
    }
}
