//! Where the words of a text end, found before any of them is read: what a word says does not have to be
//! waited for to find the next.

use ust_kernels::text::{Instructions, PART, Reading, gaps, prefetch_after, with_best};

/// Bytes looked at before words are read.
const AHEAD: usize = 4096;
/// How far ahead of them bytes are asked for.
const PREFETCH_BYTES: usize = 2 * AHEAD;
/// Ends written down together.
const STEPS: usize = 8;

/// The words of a text: what stands between blanks, line ends and control characters.
pub(super) struct Tokens<'a> {
    text: &'a [u8],
    /// Bytes that were looked at.
    seen: usize,
    /// Whether the last of them belongs to a word.
    inside: bool,
    /// Where words end; the first `found` of them are known.
    ends: Vec<usize>,
    found: usize,
    /// The first of them that is not behind.
    next: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, seen: 0, inside: false, ends: Vec::new(), found: 0, next: 0 }
    }

    /// Where the words that end behind `at` end, of at least so many; `None` where the text has fewer.
    /// Behind each of them is a byte. `at` is never smaller than before.
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
            if self.seen == self.text.len() {
                return None;
            }
            with_best(LookAhead(self));
        }
    }

    /// So many words of those found are behind: they need not be looked at again.
    #[inline(always)]
    pub(super) fn pass(&mut self, words: usize) {
        self.next += words;
    }

    #[inline(always)]
    fn look_ahead(&mut self) {
        self.ends.copy_within(self.next..self.found, 0);
        (self.found, self.next) = (self.found - self.next, 0);
        let rest = &self.text[self.seen..];
        let ahead = &rest[..rest.len().min(AHEAD)];
        // An end for every other byte, and room behind.
        self.ends.resize((self.found + AHEAD / 2 + PART).max(self.ends.len()), 0);
        let mut base = self.seen;
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
            let before = (!gaps << 1) | u64::from(self.inside);
            let mut ends = gaps & before;
            let slots = self.ends[self.found..].first_chunk_mut::<PART>().expect("room behind");
            self.found += ends.count_ones() as usize;
            // Always the same number of steps, where lines are much alike: no branch that could be
            // mispredicted. What is written behind the last end is overwritten.
            for slots in slots.chunks_exact_mut(STEPS) {
                for slot in slots {
                    *slot = base + ends.trailing_zeros() as usize;
                    ends &= ends.wrapping_sub(1);
                }
                if ends == 0 {
                    break;
                }
            }
            self.inside = gaps >> (part.len() - 1) & 1 == 0;
            base += part.len();
        }
        self.seen = base;
    }
}

struct LookAhead<'t, 'a>(&'t mut Tokens<'a>);

impl Reading for LookAhead<'_, '_> {
    type Read = ();

    #[inline(always)]
    fn read(self, _: impl Instructions) {
        self.0.look_ahead();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_they_stand() {
        let mut state = 7_u64;
        for length in [0, 1, 7, 8, 63, 64, 65, 500, AHEAD - 1, AHEAD, AHEAD + 1, 3 * AHEAD + 5] {
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
                // Several at once, from anywhere.
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
