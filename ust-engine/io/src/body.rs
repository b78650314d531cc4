//! Reading entries, one a line, as Matrix Market and FROSTT store them.
//!
//! The text is cut at line ends into chunks, which are read in parallel. A first pass counts the lines
//! of each chunk. So the second pass knows which part of the columns each chunk fills. If a chunk turns
//! out to have fewer entries than lines (there are comments or blank lines), the lines with an entry
//! are counted, and the entries are read again.

use std::ops::Range;

use bytemuck::Zeroable;
use ust_kernels::text::{Instructions, Reading, with_best};
use ust_level_api::buffer::Plain;
use ust_level_api::column::IndexWord;
use ust_level_api::ir::parallel;
use ust_level_api::{Buffer, Element, IndexColumn};

use super::number;
use super::plain::{Plainly, plain_whole, two_whole};
use super::progress::Progress;
use super::text::{Fault, Line, Lines};
use super::tokens::Tokens;
use super::words::Words;

/// The fewest bytes of a chunk: reading them takes several times as long as waking a thread.
const CHUNK: usize = 1 << 16;
/// The most bytes of a chunk, but for its last line; and the wanted number of chunks, within these
/// bounds.
const LARGE: usize = 1 << 20;
const CHUNKS: usize = 64;

/// The part of a text that holds the entries, one a line.
pub(super) struct Body<'a> {
    text: &'a [u8],
    comments: &'static [u8],
    declared: Option<usize>,
    words: Words,
    chunks: Vec<Range<usize>>,
    /// The number of lines of each chunk, as `counted` says: of all, or of those with an entry.
    counts: Vec<usize>,
    counted: Counted,
}

/// The lines that were counted.
#[derive(Clone, Copy, PartialEq)]
enum Counted {
    /// All lines: at least as many as there are entries.
    All,
    /// The lines with an entry.
    Entries,
}

/// The entries of a text: coordinates, in columns as narrow as the extents allow, and values.
pub(super) struct Read<T: Plain> {
    pub(super) crd: Vec<IndexColumn>,
    pub(super) values: Buffer<T>,
}

impl<'a> Body<'a> {
    /// The body, from byte `start` to the end of the text. It has `declared` entries, if the file
    /// declares a number, with tokens as `words` says. Cost: one pass, in parallel.
    ///
    /// # Errors
    /// A number of entries other than the declared one. If the number of lines is the declared one, but
    /// some have no entry, [`Body::parse`] reports it. A line with a wrong number of tokens is reported
    /// first, since it may be the cause.
    pub(super) fn new(
        text: &'a [u8],
        start: usize,
        comments: &'static [u8],
        declared: Option<usize>,
        words: Words,
    ) -> Result<Self, Fault> {
        let chunks = cut(text, start);
        let lines = |chunk: &Range<usize>| {
            let part = &text[chunk.clone()];
            memchr::memchr_iter(b'\n', part).count() + usize::from(part.last() != Some(&b'\n'))
        };
        let counts = parallel::map_items(&chunks, |_, chunk| lines(chunk));
        let body = Self { text, comments, declared, words, chunks, counts, counted: Counted::All };
        match declared {
            Some(declared) if declared != body.len() => body.counted(),
            _ => Ok(body),
        }
    }

    /// The same body, with the lines counted that have an entry. Cost: one pass.
    fn counted(&self) -> Result<Self, Fault> {
        let entries =
            |chunk: &Range<usize>| Lines::new(self.text, chunk.clone(), self.comments).count();
        let counts = parallel::map_items(&self.chunks, |_, chunk| entries(chunk));
        let chunks = self.chunks.clone();
        let body = Self { chunks, counts, counted: Counted::Entries, ..*self };
        body.expect()?;
        Ok(body)
    }

    /// Number of lines counted.
    fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The byte at which an entry starts.
    pub(super) fn entry(&self, mut entry: usize) -> usize {
        for (chunk, &count) in self.chunks.iter().zip(&self.counts) {
            if entry < count {
                let mut lines = Lines::new(self.text, chunk.clone(), self.comments);
                let line = lines.nth(entry).and_then(|mut line| line.token());
                return line.map_or(chunk.start, |token| token.at);
            }
            entry -= count;
        }
        self.text.len()
    }

    /// Compares the number of entries with the declared one.
    fn expect(&self) -> Result<(), Fault> {
        let found = self.len();
        let declared = self.declared.unwrap_or(found);
        if found != declared {
            self.check_words()?;
        }
        if found > declared {
            let reason = format!("more entries than the {declared} that the header declares");
            return Err(Fault::new(self.entry(declared), reason));
        }
        if found < declared {
            let reason = format!(
                "the file ends after {found} of the {declared} entries that its header declares"
            );
            return Err(Fault::new(self.text.len(), reason));
        }
        Ok(())
    }

    /// Reads every entry: a coordinate for each extent, then the value, then the end of the line.
    /// `plain` is the fast path: it reads the value of an ordinary line. If the line or its value is
    /// unusual, `value` reads it, or reports the fault.
    pub(super) fn parse<T: Element + Zeroable>(
        &self,
        extents: &[u64],
        value: impl Fn(&mut Line<'_>) -> Result<T, Fault> + Sync,
        plain: &impl Plainly<T>,
        progress: &Progress,
    ) -> Result<Read<T>, Fault> {
        let narrow = extents.iter().all(|&extent| extent <= 1 << 32);
        let read = if narrow { Self::read::<T, u32, _, _> } else { Self::read::<T, i64, _, _> };
        if self.counted == Counted::All && self.holds_words() {
            let columns = read(self, extents, &value, plain, progress)?;
            if let Some(columns) = columns {
                return Ok(columns);
            }
        }
        let body = self.counted()?;
        // Checked before memory is allocated.
        if !body.holds_words() {
            body.check_words()?;
        }
        Ok(read(&body, extents, &value, plain, progress)?.expect("entries were counted"))
    }

    /// Reads every entry, as [`Body::parse`] does. `None` if there are fewer entries than counted
    /// lines.
    fn read<T: Element + Zeroable, W: IndexWord, V, P>(
        &self,
        extents: &[u64],
        value: &V,
        plain: &P,
        progress: &Progress,
    ) -> Result<Option<Read<T>>, Fault>
    where
        V: Fn(&mut Line<'_>) -> Result<T, Fault> + Sync,
        P: Plainly<T>,
    {
        let entries = self.len();
        let mut crd: Vec<Buffer<W>> =
            extents.iter().map(|_| Buffer::unspecified(entries)).collect();
        let mut values = Buffer::<T>::unspecified(entries);
        let mut columns: Vec<Vec<&mut [W]>> = self.counts.iter().map(|_| Vec::new()).collect();
        for column in &mut crd {
            for (part, columns) in parts(column.make_mut(), &self.counts).zip(&mut columns) {
                columns.push(part);
            }
        }
        let targets: Vec<_> =
            columns.into_iter().zip(parts(values.make_mut(), &self.counts)).collect();
        let results: Vec<Result<bool, Fault>> =
            parallel::map_items(targets, |number, (crd, values)| {
                let chunk = self.chunks[number].clone();
                let (body, bytes) = (self, chunk.len());
                let read = with_best(Chunk { body, chunk, extents, value, plain, crd, values });
                progress.advance(bytes);
                read
            });
        // Checked before faults in entries: a wrong number of entries is reported first.
        if results.contains(&Ok(false)) {
            return Ok(None);
        }
        results.into_iter().collect::<Result<Vec<bool>, Fault>>()?;
        Ok(Some(Read { crd: crd.into_iter().map(W::column).collect(), values }))
    }

    /// Whether the text is long enough for the coordinates of every entry.
    fn holds_words(&self) -> bool {
        let needed = (self.len() as u128) * (self.words.rank as u128) * 2;
        needed <= self.chunks.iter().map(Range::len).sum::<usize>() as u128
    }

    /// Refuses the first line with more or fewer tokens than an entry has. Cost: one pass.
    fn check_words(&self) -> Result<(), Fault> {
        let lines = |chunk: &Range<usize>| Lines::new(self.text, chunk.clone(), self.comments);
        let fault = self.chunks.iter().flat_map(lines).find_map(|line| self.words.fault(&line));
        fault.map_or(Ok(()), Err)
    }
}

/// The work of reading a chunk.
struct Chunk<'a, T, W, V, P> {
    body: &'a Body<'a>,
    chunk: Range<usize>,
    extents: &'a [u64],
    value: &'a V,
    plain: &'a P,
    /// For each dimension, the part of its column that the chunk fills.
    crd: Vec<&'a mut [W]>,
    values: &'a mut [T],
}

impl<T, W, V, P> Reading for Chunk<'_, T, W, V, P>
where
    T: Copy,
    W: IndexWord,
    V: Fn(&mut Line<'_>) -> Result<T, Fault>,
    P: Plainly<T>,
{
    /// Whether the chunk has an entry for each element of `values`.
    type Read = Result<bool, Fault>;

    #[inline(always)]
    fn read(self, with: impl Instructions) -> Result<bool, Fault> {
        let Self { body, chunk, extents, value, plain, mut crd, values } = self;
        let words = extents.len() + usize::from(P::WORD);
        let text = &body.text[chunk.clone()];
        let mut tokens = Tokens::new(text);
        let mut at = chunk.start;
        for (entry, to) in values.iter_mut().enumerate() {
            let start = at - chunk.start;
            // No closure: it might not be inlined, and would then be compiled for another instruction
            // set.
            let line = match tokens.ends(start, words) {
                Some(ends) => {
                    plain_line(with, text, start, &ends[..words], extents, &mut crd, entry, plain)
                }
                None => None,
            };
            if let Some((read, end)) = line {
                (*to, at) = (read, chunk.start + end);
                tokens.pass(words);
                continue;
            }
            let mut lines = Lines::new(body.text, at..chunk.end, body.comments);
            let Some(line) = lines.next() else { return Ok(false) };
            at = lines.at();
            *to = close_line(line.clone(), extents, &mut crd, entry, value)
                .map_err(|fault| body.words.fault(&line).unwrap_or(fault))?;
        }
        Ok(true)
    }
}

/// The slow path: reads any line, or reports its fault.
fn close_line<T, W: IndexWord>(
    mut line: Line<'_>,
    extents: &[u64],
    crd: &mut [&mut [W]],
    entry: usize,
    value: &impl Fn(&mut Line<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    for (dim, (column, &extent)) in crd.iter_mut().zip(extents).enumerate() {
        let token = line.expect("coordinates")?;
        column[entry] = W::truncated(number::coordinate(token, dim, extent)?);
    }
    let read = value(&mut line)?;
    line.finish()?;
    Ok(read)
}

/// The fast path: reads the line that begins at `start`, whose tokens end at `ends`. Returns the value,
/// and the byte at which the next line begins. `None` if the line has anything but valid coordinates, a
/// value that `plain` accepts, and blanks.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn plain_line<T, W: IndexWord>(
    with: impl Instructions,
    text: &[u8],
    start: usize,
    ends: &[usize],
    extents: &[u64],
    crd: &mut [&mut [W]],
    entry: usize,
    plain: &impl Plainly<T>,
) -> Option<(T, usize)> {
    let blanks = |mut at: usize| {
        while matches!(text.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    };
    // The byte at which the next token begins: mostly, one blank stands before it.
    let next = |end: usize| match text.get(end..).and_then(|rest| rest.first_chunk()) {
        Some(&[b' ', first]) if first > b' ' => end + 1,
        _ => blanks(end),
    };
    let mut at = start;
    // The first two coordinates are read together.
    let mut done = 0;
    if let ([first, second, ..], [rows, columns, ..], &[end, last, ..]) = (&mut *crd, extents, ends)
        && let Some(both) = two_whole(with, text, &[start..end, next(end)..last])
    {
        let [i, j] = both.map(|coordinate| coordinate.wrapping_sub(1));
        if i >= *rows || j >= *columns {
            return None;
        }
        (first[entry], second[entry]) = (W::truncated(i as i64), W::truncated(j as i64));
        (at, done) = (last, 2);
    }
    for ((column, &extent), &end) in crd.iter_mut().zip(extents).zip(ends).skip(done) {
        let coordinate = plain_whole(text, blanks(at)..end)?.wrapping_sub(1);
        if coordinate >= extent {
            return None;
        }
        column[entry] = W::truncated(coordinate as i64);
        at = end;
    }
    let word = match ends.get(crd.len()) {
        Some(&end) => next(at)..end,
        None => at..at,
    };
    at = word.end;
    let value = plain.value(with, text, word)?;
    if text.get(at) != Some(&b'\n') {
        at = blanks(at);
        at += usize::from(text.get(at) == Some(&b'\r'));
    }
    (text.get(at) == Some(&b'\n')).then_some((value, at + 1))
}

/// The slice cut into consecutive parts of the given lengths.
fn parts<'a, T>(slice: &'a mut [T], lengths: &'a [usize]) -> impl Iterator<Item = &'a mut [T]> {
    let mut rest = slice;
    lengths.iter().map(move |&len| {
        let (part, tail) = std::mem::take(&mut rest).split_at_mut(len);
        rest = tail;
        part
    })
}

/// Cuts the text from `start` on into chunks of [`CHUNK`] to [`LARGE`] bytes, extended to line ends.
fn cut(text: &[u8], start: usize) -> Vec<Range<usize>> {
    let bytes = (text.len() / CHUNKS).clamp(CHUNK, LARGE);
    let mut chunks = Vec::new();
    let mut at = start;
    while at < text.len() {
        let least = (at + bytes).min(text.len());
        let end =
            text[least..].iter().position(|&b| b == b'\n').map_or(text.len(), |n| least + n + 1);
        chunks.push(at..end);
        at = end;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::super::plain::Reals;
    use super::*;
    use std::path::Path;

    fn real(rank: usize) -> Words {
        Words { rank, value: &["value"], of: "an entry" }
    }

    #[test]
    fn chunks_cover_the_text_and_end_at_line_ends() {
        let line = b"1 2 3.5\n";
        let text = line.repeat(3 * CHUNK / line.len() + 5);
        let chunks = cut(&text, 8);
        assert!(chunks.len() >= 3);
        assert_eq!(chunks[0].start, 8);
        assert_eq!(chunks.last().unwrap().end, text.len());
        for pair in chunks.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
            assert_eq!(text[pair[0].end - 1], b'\n');
        }
    }

    #[test]
    fn entries_of_several_chunks_come_in_order_and_faults_name_the_first() {
        let mut text = String::new();
        let entries = 2 * CHUNK / 10;
        for k in 0..entries {
            text.push_str(&format!("{} {k}.0\n", k % 100 + 1));
        }
        let body = Body::new(text.as_bytes(), 0, b"#", None, real(1)).unwrap();
        assert!(body.chunks.len() > 1);
        let value = |line: &mut Line<'_>| number::real(line.expect("value")?);
        let columns = body.parse(&[100], value, &Reals, &Progress::none()).unwrap();
        for k in 0..entries {
            assert_eq!((columns.crd[0].at(k), columns.values[k]), ((k % 100) as i64, k as f64));
        }
        let broken = text.replacen("\n50 49.0\n", "\n50 x\n", 1).replace(" 99999.0\n", " y\n");
        let fault = Body::new(broken.as_bytes(), 0, b"#", None, real(1))
            .unwrap()
            .parse(&[100], value, &Reals, &Progress::none())
            .err()
            .unwrap();
        let error = fault.locate(Path::new("t"), broken.as_bytes());
        assert_eq!(error.to_string(), "t:50:4: `x` is no real number");
    }

    #[test]
    fn lines_without_an_entry_are_found_out() {
        let value = |line: &mut Line<'_>| number::real(line.expect("value")?);
        let read = |text: &str, declared| {
            let body = Body::new(text.as_bytes(), 0, b"#", declared, real(1))?;
            body.parse(&[9], value, &Reals, &Progress::none())
        };
        let text = "1 1.5\n\n# one\n2 2.5\n \n3 -1\n\n";
        for declared in [None, Some(3)] {
            let columns = read(text, declared).unwrap();
            assert_eq!(columns.crd, [[0, 1, 2]]);
            assert_eq!(columns.values[..], [1.5, 2.5, -1.0]);
        }
        for declared in [2, 4, 7, 8] {
            let fault = read(text, Some(declared)).err().unwrap();
            let word = if declared == 2 { "more entries than" } else { "the file ends after 3 of" };
            assert!(fault.reason.contains(word), "{fault:?}");
        }
    }

    #[test]
    fn short_lines_after_a_wide_one_take_no_memory() {
        let text = format!("{}1.5\n{}", "1 ".repeat(1 << 16), "1\n".repeat(1 << 16));
        let extents = vec![i64::MAX as u64; 1 << 16];
        let value = |line: &mut Line<'_>| number::real(line.expect("value")?);
        let fault = Body::new(text.as_bytes(), 0, b"#", None, real(1 << 16)).unwrap().parse(
            &extents,
            value,
            &Reals,
            &Progress::none(),
        );
        let error = fault.err().unwrap().locate(Path::new("t"), text.as_bytes());
        assert_eq!(
            error.to_string(),
            "t:2:2: the line ends before its coordinates: it has 1 word, an entry has 65537"
        );
    }

    #[test]
    fn a_line_of_another_number_of_words_comes_before_what_follows_from_it() {
        let value = |line: &mut Line<'_>| number::real(line.expect("value")?);
        for (text, declared, expected) in [
            ("1 1.5\n2 3 2.5\n", Some(3), "t:2:5: `2.5` is one word too many in this line"),
            ("1 1.5\n2\n2.5\n", Some(2), "t:2:2: the line ends before its value"),
            ("1 1.5\n2.5\n3 1\n", None, "t:2:4: the line ends before its value"),
            ("1 1.5\nx\n", None, "t:2:2: the line ends before its value"),
            ("1 1.5\n2.5 1\n", None, "t:2:1: `2.5` is no coordinate"),
        ] {
            let body = Body::new(text.as_bytes(), 0, b"#", declared, real(1));
            let read = body.and_then(|body| body.parse(&[9], value, &Reals, &Progress::none()));
            let error = read.err().unwrap().locate(Path::new("t"), text.as_bytes()).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
