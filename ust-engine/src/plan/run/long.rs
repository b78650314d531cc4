//! Rows so long that several threads share them: each takes some of the entries. Where such a row forms sums, each
//! thread forms its own, and these are added in the order of the entries, so that the result has the same bits on every
//! run with as many threads.

use std::iter;
use std::sync::{Arc, Mutex, OnceLock};

use ust_kernels::pool::locked;
use ust_level_api::Dtype;
use ust_level_api::ir::cancel;
use ust_level_api::ir::interp::{Memory, Param, Program};

use super::{Bindings, Compiled, Parts};
use crate::error::Error;
use crate::expr::control::Run;
use crate::plan::frame::{Params, Sizes};
use crate::provider::Executable;
use crate::provider::plan::storing;
use crate::schedule::piece::{Pieces, pieces};
use crate::storage::memory::Budget;
use crate::storage::{StoredElement, Tensor, Values};
use crate::tuning::{LONG_ROW_MIN_ENTRIES, LONG_ROW_SHARE};

/// Code for pieces of rows.
#[derive(Debug)]
pub(super) struct Long {
    pieces: Pieces,
    /// Stores the first entry of a row and the end of its entries.
    entries: Program,
    /// Stores the number of sums of a piece.
    block: Program,
    /// The machine code; compiled at first need. `None` if the executable of the loops cannot compile it.
    code: OnceLock<Option<Code>>,
    /// How the rows of the last structure are shared.
    last: Mutex<Option<Last>>,
}

/// How the rows of a structure are shared. `None` if none is long.
#[derive(Debug)]
struct Last {
    structure: Vec<u64>,
    cuts: Option<Arc<Cuts>>,
}

#[derive(Debug)]
struct Code {
    pieces: Box<dyn Executable>,
    adding: Option<Box<dyn Executable>>,
}

/// How rows are shared.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cuts {
    /// For each thread, intervals of the other rows.
    groups: Vec<Vec<(i64, i64)>>,
    /// The row of each piece.
    rows: Vec<i64>,
    /// The first entry of each piece and the end of its entries.
    bounds: Vec<i64>,
    /// For each thread, the first of its pieces and the end of them.
    shares: Vec<(i64, i64)>,
}

/// The rows of a run.
struct Rows<'a> {
    /// The range of rows.
    range: (i64, i64),
    /// The first entry of a row, and the end of its entries.
    entries: &'a dyn Fn(i64) -> Result<(i64, i64), Error>,
}

impl Rows<'_> {
    /// Number of rows and entries before a row.
    fn before(&self, row: i64) -> Result<i64, Error> {
        let (lo, hi) = self.range;
        let (first, _) = (self.entries)(lo)?;
        let entries = if row < hi { (self.entries)(row)?.0 } else { (self.entries)(hi - 1)?.1 };
        Ok((row - lo) + (entries - first))
    }

    /// The first row in an interval that has so many rows and entries before it, or the end of the interval.
    fn find(&self, (mut from, mut to): (i64, i64), wanted: i64) -> Result<i64, Error> {
        while from < to {
            let middle = from + (to - from) / 2;
            if self.before(middle)? < wanted { from = middle + 1 } else { to = middle }
        }
        Ok(from)
    }

    /// Whether no part has much more than its share, so that nothing is gained by cutting rows.
    fn are_even(
        &self,
        parts: impl Iterator<Item = (i64, i64)>,
        threads: usize,
    ) -> Result<bool, Error> {
        let share = self.before(self.range.1)? as f64 / threads as f64;
        for (from, to) in parts {
            let items = self.before(to)? - self.before(from)?;
            if items as f64 > (1.0 + LONG_ROW_SHARE) * share {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows that have more than a share of the work of a thread.
    fn long(&self, threads: i64) -> Result<Vec<i64>, Error> {
        let all = self.before(self.range.1)?;
        let least = (all as f64 / threads as f64 * LONG_ROW_SHARE) as i64;
        let mut found: Vec<i64> = Vec::new();
        // A row that is longer has at least one of these numbers of items before its end.
        let steps = if least < LONG_ROW_MIN_ENTRIES { 0 } else { all / least };
        for step in 1..=steps {
            let row = self.find(self.range, step * least + 1)? - 1;
            let (first, end) = (self.entries)(row)?;
            if end - first > least && found.last() != Some(&row) {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// How `threads` threads share the rows. `None` if no row is long.
    fn cuts(&self, threads: usize) -> Result<Option<Cuts>, Error> {
        let long = self.long(threads as i64)?;
        if long.is_empty() {
            return Ok(None);
        }
        let mut cuts = Cuts::default();
        self.cut_others(&long, threads, &mut cuts)?;
        self.cut_long(&long, threads, &mut cuts)?;
        Ok(Some(cuts))
    }

    /// Cuts the rows that are not long.
    fn cut_others(&self, long: &[i64], threads: usize, cuts: &mut Cuts) -> Result<(), Error> {
        let (lo, hi) = self.range;
        let starts = iter::once(lo).chain(long.iter().map(|row| row + 1));
        let between: Vec<(i64, i64)> = starts.zip(long.iter().copied().chain([hi])).collect();
        let mut all = 0;
        for &(from, to) in &between {
            all += self.before(to)? - self.before(from)?;
        }
        cuts.groups = vec![Vec::new(); threads];
        let (mut group, mut done) = (0, 0);
        for (mut from, to) in between {
            while from < to {
                let until = all * (group as i64 + 1) / threads as i64;
                if done >= until && group + 1 < threads {
                    group += 1;
                    continue;
                }
                let begin = self.before(from)?;
                let end = match group + 1 < threads {
                    true => self.find((from + 1, to), begin + (until - done))?,
                    false => to,
                };
                cuts.groups[group].push((from, end));
                done += self.before(end)? - begin;
                from = end;
            }
        }
        Ok(())
    }

    /// Cuts the entries of long rows.
    fn cut_long(&self, long: &[i64], threads: usize, cuts: &mut Cuts) -> Result<(), Error> {
        let entries: Result<Vec<(i64, i64)>, Error> =
            long.iter().map(|&row| (self.entries)(row)).collect();
        let entries = entries?;
        let all: i64 = entries.iter().map(|(first, end)| end - first).sum();
        let mut rows = long.iter().zip(entries);
        let mut row = rows.next();
        let mut done = 0;
        for thread in 1..=threads as i64 {
            let begin = cuts.rows.len() as i64;
            let until = all * thread / threads as i64;
            while let Some((&of, (first, end))) = row.filter(|_| done < until) {
                let stop = end.min(first + (until - done));
                cuts.rows.push(of);
                cuts.bounds.extend([first, stop]);
                done += stop - first;
                row = if stop < end {
                    Some((row.expect("it is there").0, (stop, end)))
                } else {
                    rows.next()
                };
            }
            cuts.shares.push((begin, cuts.rows.len() as i64));
        }
        Ok(())
    }
}

impl Compiled {
    /// How threads share rows some of which are long. `None` if none is, or if the loops have no rows of which
    /// threads can have pieces.
    pub(super) fn long_rows(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        groups: &[Parts],
        how: Run,
    ) -> Result<Option<Shared<'_>>, Error> {
        let range = match (
            groups.first().and_then(|first| first.first()),
            groups.last().and_then(|last| last.last()),
        ) {
            (Some(first), Some(last)) => (first.0, last.1),
            _ => return Ok(None),
        };
        // Sums of half precision would be rounded more than once.
        let is_half = matches!(self.planned.rest.dtype(), Dtype::F16 | Dtype::Bf16);
        if groups.len() < 2 || how.cancels || self.strict || self.planned.onto || is_half {
            return Ok(None);
        }
        let Some(long) = self.long.get_or_init(|| self.make_long()) else { return Ok(None) };
        let ids = tensors.iter().map(|tensor| tensor.kept_of_levels().id());
        let numbers = [groups.len() as u64, range.0 as u64, range.1 as u64];
        let structure: Vec<u64> = numbers.into_iter().chain(ids).collect();
        let known = || {
            let last = locked(&long.last);
            last.as_ref().filter(|last| last.structure == structure).map(|last| last.cuts.clone())
        };
        let cuts = match known() {
            Some(cuts) => cuts,
            None => {
                let cuts = self.find_cuts(long, tensors, sizes, range, groups)?;
                *locked(&long.last) = Some(Last { structure, cuts: cuts.clone() });
                cuts
            }
        };
        let code = || long.code.get_or_init(|| self.compile_long(&long.pieces)).as_ref();
        Ok(cuts.and_then(|cuts| Some(Shared { compiled: self, long, code: code()?, cuts })))
    }

    fn find_cuts(
        &self,
        long: &Long,
        tensors: &[&Tensor],
        sizes: &Sizes,
        range: (i64, i64),
        groups: &[Parts],
    ) -> Result<Option<Arc<Cuts>>, Error> {
        let entries = |row: i64| {
            let params = self.params(tensors, sizes, (row, row + 1), 0);
            let [first, end] = self.stored(&long.entries, tensors, &params)?;
            Ok((first, end))
        };
        let (rows, threads) = (Rows { range, entries: &entries }, groups.len());
        let parts = groups.iter().flat_map(|group| group.iter().copied());
        match range.0 >= range.1 || rows.are_even(parts, threads)? {
            true => Ok(None),
            false => Ok(rows.cuts(threads)?.map(Arc::new)),
        }
    }

    fn make_long(&self) -> Option<Long> {
        let (function, facts) = (&self.planned.loops.function, &self.planned.loops.facts);
        let pieces = pieces(function, facts, self.planned.rest)?;
        let program = |values| Program::compile(&storing(values, function)).ok();
        Some(Long {
            entries: program(pieces.entries.to_vec())?,
            block: program(vec![pieces.block.clone()])?,
            pieces,
            code: OnceLock::new(),
            last: Mutex::new(None),
        })
    }

    fn compile_long(&self, pieces: &Pieces) -> Option<Code> {
        let compile = |function| self.chosen.executable.compile_also(function)?.ok();
        let adding = match &pieces.adding {
            Some(adding) => Some(compile(adding)?),
            None => None,
        };
        Some(Code { pieces: compile(&pieces.function)?, adding })
    }

    /// What a program stores, given the arrays of tensors.
    fn stored<const N: usize>(
        &self,
        program: &Program,
        tensors: &[&Tensor],
        params: &[Param],
    ) -> Result<[i64; N], Error> {
        let mut found = [0_i64; N];
        let mut memory = Bindings::new();
        self.inputs(tensors, &mut memory);
        memory.push(Memory::indices_mut(&mut found[..]));
        program.run(params, &mut memory)?;
        drop(memory);
        Ok(found)
    }
}

/// A run whose threads share long rows.
pub(super) struct Shared<'a> {
    compiled: &'a Compiled,
    long: &'a Long,
    code: &'a Code,
    cuts: Arc<Cuts>,
}

impl Shared<'_> {
    /// Runs the loops on memory that was prepared. False, and nothing runs, if the budget has no room for sums.
    pub(super) fn fill<T: StoredElement>(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        (out, budget): (&mut [T], &Budget),
    ) -> Result<bool, Error> {
        let Self { compiled, long, code, cuts } = self;
        let params = |part: (i64, i64)| compiled.params(tensors, sizes, part, 0);
        let block: [i64; 1] = compiled.stored(&long.block, tensors, &params((0, 0)))?;
        let count = cuts.rows.len() * block[0].max(0) as usize;
        if !budget.take_all((count * size_of::<T>()) as u64) {
            return Ok(false);
        }
        let (mut rows, mut bounds) = (cuts.rows.clone(), cuts.bounds.clone());
        let mut sums = Values::unspecified(T::DTYPE, count);
        let mut tables = compiled.tables(tensors, budget, 1)?;
        let check = || Ok(cancel::check()?);
        let each = |groups: &[Vec<(i64, i64)>]| -> Vec<Vec<Params>> {
            groups.iter().map(|parts| parts.iter().map(|&part| params(part)).collect()).collect()
        };
        let mut memory = compiled.bindings(tensors, T::memory_mut(out), &mut tables);
        run(&*compiled.chosen.executable, &each(&cuts.groups), &mut memory, &check)?;
        memory.push(Memory::indices_mut(&mut rows));
        memory.push(T::memory_mut(sums.typed_mut::<T>()?));
        memory.push(Memory::indices_mut(&mut bounds));
        let shares =
            cuts.shares.iter().map(|&(first, end)| (first..end).map(|at| (at, at + 1)).collect());
        run(&*code.pieces, &each(&shares.collect::<Vec<_>>()), &mut memory, &check)?;
        if let Some(adding) = &code.adding {
            adding.run(&params((0, cuts.rows.len() as i64)), &mut memory)?;
        }
        Ok(true)
    }
}

fn run(
    executable: &dyn Executable,
    groups: &[Vec<Params>],
    memory: &mut [Memory<'_>],
    check: &(dyn Fn() -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let groups: Vec<Vec<&[Param]>> =
        groups.iter().map(|group| group.iter().map(|one| &one[..]).collect()).collect();
    executable.run_apart(&groups, memory, check)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How threads share rows with so many entries.
    fn shared(lengths: &[i64], threads: usize) -> Option<Cuts> {
        let ends = |row: i64| lengths[..row as usize].iter().sum::<i64>();
        let entries = |row: i64| Ok((ends(row), ends(row + 1)));
        Rows { range: (0, lengths.len() as i64), entries: &entries }.cuts(threads).unwrap()
    }

    /// The rows and entries that each thread has, each once.
    fn loads(lengths: &[i64], threads: usize) -> Option<Vec<i64>> {
        let cuts = shared(lengths, threads)?;
        let ends = |row: i64| lengths[..row as usize].iter().sum::<i64>();
        let mut seen = vec![0; ends(lengths.len() as i64) as usize];
        let mut loads = vec![0; threads];
        for (load, parts) in loads.iter_mut().zip(&cuts.groups) {
            for &(from, to) in parts {
                assert!(from < to, "{cuts:?}");
                assert!((from..to).all(|row| !cuts.rows.contains(&row)), "{cuts:?}");
                seen[ends(from) as usize..ends(to) as usize].iter_mut().for_each(|n| *n += 1);
                *load += to - from + ends(to) - ends(from);
            }
        }
        assert_eq!(cuts.shares.len(), threads);
        let all = cuts.rows.len() as i64;
        let firsts = cuts.shares.iter().map(|share| share.0).chain([all]);
        assert!(
            firsts
                .clone()
                .zip(firsts.skip(1))
                .zip(&cuts.shares)
                .all(|(pair, share)| pair == *share)
        );
        for (load, &(first, end)) in loads.iter_mut().zip(&cuts.shares) {
            for piece in first as usize..end as usize {
                let [from, to] = [cuts.bounds[2 * piece], cuts.bounds[2 * piece + 1]];
                let row = cuts.rows[piece];
                assert!(ends(row) <= from && from < to && to <= ends(row + 1), "{cuts:?}");
                seen[from as usize..to as usize].iter_mut().for_each(|n| *n += 1);
                *load += to - from;
            }
        }
        assert!(seen.iter().all(|n| *n == 1), "{cuts:?}");
        assert!(cuts.rows.is_sorted());
        Some(loads)
    }

    #[test]
    fn each_entry_is_in_one_part_and_parts_are_alike() {
        let mut rows = vec![40; 2000];
        for threads in 1..6 {
            assert_eq!(loads(&rows, threads), None, "no row is long");
        }
        for (at, length) in [(0, 90_000), (1, 19_000), (700, 90_000), (1999, 40_000)] {
            rows[at] = length;
            for threads in 2..6 {
                let loads = loads(&rows, threads).unwrap();
                let fair = (rows.iter().sum::<i64>() + 2000) / threads as i64;
                let most = loads.iter().max().unwrap();
                assert!(*most <= fair + fair / 2, "{loads:?}, {fair}");
            }
        }
        assert!(loads(&[80_000], 4).unwrap().iter().all(|load| *load == 20_000));
        assert_eq!(loads(&[100, 3_000], 4), None, "a thread has it soon");
    }
}
