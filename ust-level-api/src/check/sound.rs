//! Whether rules hold, without a word on where they do not: loops over words as they are stored, which compilers make
//! vector instructions of. Whoever finds that a rule is broken looks again, one coordinate after another.

use std::ops::Range;

use num_traits::{AsPrimitive, ToPrimitive};

use super::Rules;
use crate::ir::parallel;
use crate::{IndexArray, Pos, with_indices};

/// Words that one thread looks at, at a time. What they count has 32 bits.
const BLOCK: usize = 1 << 16;

/// Words under one parent that low bits tell apart nearly always, and the number of those bits.
const SHORT: usize = 32;
const LOW: usize = 13;

/// A word of an array of indices.
trait Word: Copy + Ord + ToPrimitive + AsPrimitive<i64> + Sync {}
impl<T: Copy + Ord + ToPrimitive + AsPrimitive<i64> + Sync> Word for T {}

/// Whether the coordinates of all segments, which lie within the array, obey the rules. `None`: look one by one.
pub(super) fn obey(crd: &IndexArray, rules: &Rules, segments: &[Range<Pos>]) -> Option<bool> {
    with_indices!(crd, words => Some(words_obey(words, rules, segments)), packed(_two) => None)
}

/// Whether no word is less than the one before it, and the last one fits an `i64`. `None`: look one by one.
pub(super) fn ascend(pos: &IndexArray) -> Option<bool> {
    fn of<T: Word>(words: &[T]) -> bool {
        let fits = words.last().is_none_or(|last| last.to_i64().is_some());
        fits && by_blocks(words.len(), &|block| Some(descents(words, &block, false))) == Some(0)
    }
    with_indices!(pos, words => Some(of(words)), packed(_two) => None)
}

fn words_obey<T: Word>(words: &[T], rules: &Rules, segments: &[Range<Pos>]) -> bool {
    let mut seen = Seen::new(rules, segments);
    let mut rest = segments;
    while let Some(first) = rest.first() {
        // Adjacent segments are looked at together.
        let count = 1 + rest.windows(2).take_while(|pair| pair[0].end == pair[1].start).count();
        let (together, others) = rest.split_at(count);
        let start = first.start as usize;
        let run = &words[start..together[count - 1].end as usize];
        if !run_obeys(run, start, rules, together, &mut seen) {
            return false;
        }
        rest = others;
    }
    true
}

/// Whether the words of each segment lie within bounds, and are in order and distinct, as far as the rules ask for it.
/// The first word stands at `start`.
fn run_obeys<T: Word>(
    words: &[T],
    start: usize,
    rules: &Rules,
    segments: &[Range<Pos>],
    seen: &mut Seen,
) -> bool {
    let Some(breaks) = breaks(words, rules) else { return false };
    if !rules.ordered && !rules.unique {
        return true;
    }
    // Between segments, words may descend.
    let (mut between, mut last) = (0, 0);
    for segment in segments {
        let at = segment.start as usize - start;
        if at > last && at < words.len() {
            let (a, b) = (words[at - 1], words[at]);
            between += u64::from(if rules.unique { a >= b } else { a > b });
            last = at;
        }
    }
    if breaks == between {
        return true;
    }
    let own =
        |segment: &Range<Pos>| &words[segment.start as usize - start..segment.end as usize - start];
    !rules.ordered && segments.iter().all(|segment| seen.distinct(own(segment)))
}

/// How many words do not ascend, where the rules ask for that. `None` if some lie outside the bounds.
fn breaks<T: Word>(words: &[T], rules: &Rules) -> Option<u64> {
    by_blocks(words.len(), &|block| {
        let own = &words[block.clone()];
        let least = own.iter().fold(own[0], |least, &word| least.min(word));
        let most = own.iter().fold(own[0], |most, &word| most.max(word));
        let inside = |word: T| word.to_i64().is_some_and(|word| rules.bounds.contains(&word));
        let counts = rules.ordered || rules.unique;
        let count = || if counts { descents(words, &block, rules.unique) } else { 0 };
        (inside(least) && inside(most)).then(count)
    })
}

/// How many words of a block are less than the one before, or, where words have to be distinct, no more than that.
fn descents<T: Word>(words: &[T], block: &Range<usize>, distinct: bool) -> u64 {
    let from = block.start.saturating_sub(1);
    let pairs = words[from..block.end - 1].iter().zip(&words[from + 1..block.end]);
    let count = match distinct {
        true => pairs.fold(0_u32, |sum, (a, b)| sum + u32::from(a >= b)),
        false => pairs.fold(0_u32, |sum, (a, b)| sum + u32::from(a > b)),
    };
    count.into()
}

/// The sum of what blocks of so many words count. None of them is empty.
fn by_blocks(len: usize, count: &(dyn Fn(Range<usize>) -> Option<u64> + Sync)) -> Option<u64> {
    let block = |at: usize| count(at * BLOCK..len.min((at + 1) * BLOCK));
    match len.div_ceil(BLOCK) {
        0 => Some(0),
        1 => block(0),
        blocks => parallel::map(blocks, block).into_iter().sum(),
    }
}

/// The coordinates that were met under one parent.
struct Seen {
    /// The least coordinate.
    lower: i64,
    /// A bit for each coordinate, if these are not far more than the words that are looked at.
    bits: Option<usize>,
    marks: Vec<u64>,
    /// A byte for each coordinate, without regard to all but its lowest bits: the number of the last segment that has
    /// it. For short segments: it stays in a cache.
    low: [u8; 1 << LOW],
    /// The number of the segment, from 1 on.
    number: u8,
    sorted: Vec<i64>,
}

impl Seen {
    /// For words that obey the bounds of the rules.
    fn new(rules: &Rules, segments: &[Range<Pos>]) -> Self {
        let words: u64 = segments.iter().map(|segment| segment.end - segment.start).sum();
        let size = rules.bounds.end.abs_diff(rules.bounds.start);
        let bits = (size / 256 <= words).then(|| usize::try_from(size).ok()).flatten();
        Self {
            lower: rules.bounds.start,
            bits,
            marks: Vec::new(),
            low: [0; 1 << LOW],
            number: 0,
            sorted: Vec::new(),
        }
    }

    fn distinct<T: Word>(&mut self, words: &[T]) -> bool {
        if words.len() <= SHORT {
            if self.number == u8::MAX {
                (self.low, self.number) = ([0; 1 << LOW], 0);
            }
            self.number += 1;
            let mut twice = false;
            for word in words {
                let last = &mut self.low[word.as_() as usize % (1 << LOW)];
                twice |= *last == self.number;
                *last = self.number;
            }
            if !twice {
                return true;
            }
        }
        if let Some(bits) = self.bits {
            self.marks.resize(bits.div_ceil(64), 0);
            let place = |word: &T| {
                let at = (word.as_() - self.lower) as usize;
                (at / 64, 1 << (at % 64))
            };
            let mut twice = 0;
            for (at, bit) in words.iter().map(place) {
                twice |= self.marks[at] & bit;
                self.marks[at] |= bit;
            }
            words.iter().map(place).for_each(|(at, _)| self.marks[at] = 0);
            return twice == 0;
        }
        self.sorted.clear();
        self.sorted.extend(words.iter().map(|word| word.as_()));
        self.sorted.sort_unstable();
        self.sorted.windows(2).all(|pair| pair[0] != pair[1])
    }
}
