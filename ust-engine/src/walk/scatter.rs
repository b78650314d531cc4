//! Storage into columns in the order of a key: a counting sort whose loops are those of the format.
//!
//! Two walks over the tensor, and no column in between: the first counts the entries of each key,
//! the second writes each entry to its place. Entries with the same key keep the order in which the
//! format stores them. This is how a matrix is transposed.

use std::mem;

use rayon::prelude::*;
use ust_format::{IndexExpr, LevelDomain};
use ust_kernels::pool::{pays, threads};
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::ir::{Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Buffer, IndexArray, IndexColumn, IndexKind};

use super::balance::{cuts, outermost};
use super::emit;
use super::native::Code;
use super::nest::{Operand, Reach};
use super::unpack::Column32;
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};
use crate::with_values;

/// The entries of a tensor in the order of a key.
pub(crate) struct Scattered {
    /// For each key, its first entry; and once more at the end, the number of entries.
    pub(crate) starts: Buffer<u32>,
    /// What was asked for of each entry.
    pub(crate) columns: Vec<IndexColumn>,
    /// The value of each entry.
    pub(crate) values: Values,
}

/// What entries are sorted by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    /// Over the dimensions.
    pub(crate) expr: &'a IndexExpr,
    /// Its numbers.
    pub(crate) domain: LevelDomain,
}

/// Sorts the entries of a tensor by a key, stably, and writes columns of them. `keep` says for each
/// stored value whether it is wanted; without it, all are. `None` where one value can stand for
/// several entries. In parallel where there are threads. Cost: O(places visited + keys x threads).
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules.
pub(crate) fn scatter(
    tensor: &Tensor,
    key: Key<'_>,
    columns: &[(IndexExpr, IndexKind)],
    keep: Option<&IndexArray>,
) -> Result<Option<Scattered>, Error> {
    let keys = key.domain.size as usize;
    // Each piece counts every key: all counts together are to be about as many as the entries.
    let most = (2 * tensor.nse() / keys.max(1)).max(1);
    let pieces = pieces(tensor, most)?;
    // Before the counts of the first piece stands a 0: together they become where keys begin.
    let mut next = Buffer::<u32>::zeroed(pieces.len() * keys + 1);
    let job = Job { tensor, key, columns, keep, pieces: &pieces };
    if !job.run(false, next.make_mut(), |_| {})? {
        return Ok(None);
    }
    // Those of the only piece become where keys end once all entries are moved.
    let mut starts = Buffer::<u32>::unspecified(if pieces.len() == 1 { 0 } else { keys + 1 });
    let total = begin(&mut next.make_mut()[1..], keys, starts.make_mut());
    let total = total as usize;
    let mut made: Vec<Column32> =
        columns.iter().map(|&(_, kind)| Column32::unspecified(kind, total)).collect();
    let values = with_values!(tensor.values(), from => {
        job.values(from, total, next.make_mut(), &mut made)?
    });
    let starts = match pieces.len() {
        1 => next,
        _ => {
            starts.make_mut()[keys] = total as u32;
            starts
        }
    };
    let columns = made.into_iter().map(|column| column.done(total)).collect();
    Ok(Some(Scattered { starts, columns, values }))
}

/// Makes how many entries each piece has of each key the place of the first of them: by keys, and by
/// pieces for each. Writes where each key begins, where there is room for that. Gives how many entries
/// there are.
fn begin(counts: &mut [u32], keys: usize, starts: &mut [u32]) -> u32 {
    let some = keys.div_ceil(threads(counts.len())).max(1);
    let mut starts = starts.chunks_mut(some);
    let mut parts: Vec<Keys<'_>> = Vec::new();
    parts.resize_with(keys.div_ceil(some), || Keys {
        pieces: Vec::new(),
        starts: starts.next().unwrap_or_default(),
    });
    for piece in counts.chunks_mut(keys.max(1)) {
        parts.iter_mut().zip(piece.chunks_mut(some)).for_each(|(keys, own)| keys.pieces.push(own));
    }
    // One thread has nothing before it.
    let counts: Vec<u32> = match parts.len() {
        0..=1 => vec![0],
        _ => parts.par_iter().map(Keys::count).collect(),
    };
    let before = counts.iter().scan(0, |all, count| Some(mem::replace(all, *all + count)));
    let before: Vec<u32> = before.collect();
    let ends = parts.into_par_iter().zip(before).map(|(keys, before)| keys.begin(before));
    ends.collect::<Vec<u32>>().last().copied().unwrap_or(0)
}

/// Keys that follow each other: those of a thread.
struct Keys<'a> {
    /// For each piece of the entries, how many it has of each key.
    pieces: Vec<&'a mut [u32]>,
    /// Where each key begins, as far as that is to be told.
    starts: &'a mut [u32],
}

impl Keys<'_> {
    fn count(&self) -> u32 {
        self.pieces.iter().flat_map(|own| own.iter()).sum()
    }

    /// Makes counts places, behind so many entries. Gives how many there are then.
    fn begin(mut self, before: u32) -> u32 {
        let mut next = before;
        for at in 0..self.pieces.first().map_or(0, |own| own.len()) {
            if let Some(start) = self.starts.get_mut(at) {
                *start = next;
            }
            for piece in &mut self.pieces {
                next += mem::replace(&mut piece[at], next);
            }
        }
        next
    }
}

/// Nanoseconds that it takes to count an entry, or to move it, about, while it is in cache.
const EACH: f64 = 2.0;

/// Pieces of the outermost loop for threads, so many at most. One where threads would take longer to
/// wake up, for the counts and again for the moves, than they save.
fn pieces(tensor: &Tensor, most: usize) -> Result<Vec<[i64; 2]>, Error> {
    let cuts = match pays(EACH * tensor.nse() as f64) {
        true => cuts(tensor, Reach::Inside, 1)?,
        false => Vec::new(),
    };
    let step = cuts.len().saturating_sub(1).div_ceil(most).max(1);
    let mut ends: Vec<i64> = cuts.iter().copied().step_by(step).collect();
    ends.extend(cuts.last().filter(|last| ends.last() != Some(last)));
    Ok(match ends.len() {
        0..=2 => vec![[i64::MIN, i64::MAX]],
        _ => ends.windows(2).map(|pair| [pair[0], pair[1]]).collect(),
    })
}

/// Entries that are looked at to see how far apart keys lie.
const SAMPLE: i64 = 1 << 15;

/// Keys that are told apart there, at most: of those that are so many more, few are taken for one.
const TOLD_APART: u64 = 1 << 18;

/// Whether entries that follow each other mostly have keys of their own: then each goes to a cache
/// line that no other needs soon, however many the cache holds. Looks at two samples of the outermost
/// loop. Cost: of those, and of the keys told apart.
///
/// # Errors
/// As [`scatter`].
pub(crate) fn is_wide(tensor: &Tensor, key: Key<'_>) -> Result<bool, Error> {
    let Some([lo, hi]) = outermost(tensor, Reach::Inside)? else { return Ok(false) };
    let whole = i128::from(hi) - i128::from(lo);
    let length = (whole * i128::from(SAMPLE) / tensor.nse().max(1) as i128).max(1);
    let size = key.domain.size.min(TOLD_APART);
    let few = key.expr.clone().modulo(size as i64);
    let key = match size == key.domain.size {
        true => key,
        false => Key { expr: &few, domain: LevelDomain { lower: 0, size } },
    };
    let mut counts = Buffer::<u32>::zeroed(size as usize + 1);
    for part in [1, 2] {
        let from = lo + (whole * part / 3) as i64;
        let pieces = [[from, from.saturating_add(length as i64).min(hi)]];
        let job = Job { tensor, key, columns: &[], keep: None, pieces: &pieces };
        if !job.run(false, counts.make_mut(), |_| {})? {
            return Ok(false);
        }
    }
    let each = counts.iter().map(|&count| [u64::from(count > 0), u64::from(count)]);
    let [distinct, entries] = each.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
    Ok(2 * distinct > entries)
}

struct Job<'a> {
    tensor: &'a Tensor,
    key: Key<'a>,
    columns: &'a [(IndexExpr, IndexKind)],
    keep: Option<&'a IndexArray>,
    /// Those of the outermost loop.
    pieces: &'a [[i64; 2]],
}

impl Job<'_> {
    fn values<T: StoredElement>(
        &self,
        from: &Buffer<T>,
        total: usize,
        next: &mut [u32],
        made: &mut [Column32],
    ) -> Result<Values, Error> {
        let mut to = Buffer::<T>::unspecified(total);
        let (read, written) = (T::memory(from), T::memory_mut(to.make_mut()));
        let others = made.iter_mut().map(Column32::memory);
        let own: Vec<Memory<'_>> = [read, written].into_iter().chain(others).collect();
        self.run(true, next, |memory| memory.extend(own))?;
        Ok(T::wrap(to))
    }

    /// Counts entries, or moves them. Says no, and does nothing, where values are repeated.
    fn run<'m>(
        &'m self,
        moves: bool,
        next: &'m mut [u32],
        outputs: impl FnOnce(&mut Vec<Memory<'m>>),
    ) -> Result<bool, Error> {
        let (function, operand, repeats) = self.lower(moves);
        if repeats {
            return Ok(false);
        }
        let code = Code::trusting(&function, self.tensor.nse())?;
        let sizes = operand.size_arguments(self.tensor).into_iter().map(Param::Int);
        let sizes: Vec<Param> = sizes.collect();
        let groups: Vec<Vec<Vec<Param>>> = self
            .pieces
            .iter()
            .enumerate()
            .map(|(number, &[from, to])| {
                let base = 1 + number as i64 * self.key.domain.size as i64;
                let own = [from, to, base - self.key.domain.lower].map(Param::Int);
                vec![sizes.iter().copied().chain(own).collect()]
            })
            .collect();
        let mut memory: Vec<Memory<'_>> = Vec::new();
        memory.extend(self.tensor.levels().iter().flat_map(|level| &level.0).map(Memory::Index));
        memory.extend(self.keep.map(Memory::Index));
        memory.push(Memory::indices_mut(next));
        outputs(&mut memory);
        code.run_apart(&groups, &mut memory)?;
        Ok(true)
    }

    /// Emits the loops that count, or those that move. Says whether values are repeated.
    fn lower(&self, moves: bool) -> (Function, Operand, bool) {
        let mut b = Builder::new(if moves { "scatter" } else { "count" });
        let operand = Operand::declare(&mut b, "A", self.tensor);
        let piece = (b.param("from", Ty::Int), b.param("to", Ty::Int));
        let base = b.param("base", Ty::Int);
        let kept = self.keep.map(|_| b.array("keep", Elem::Index(IndexKind::U8), false));
        let next = b.array("next", Elem::Index(IndexKind::U32), true);
        let dtype = Elem::Value(self.tensor.dtype());
        let moved = moves.then(|| {
            let values = (b.array("values", dtype, false), b.array("out", dtype, true));
            let columns: Vec<_> = self
                .columns
                .iter()
                .enumerate()
                .map(|(at, &(_, kind))| b.array(&format!("column{at}"), Elem::Index(kind), true))
                .collect();
            (values, columns)
        });
        let walked = operand.walk_piece(&mut b, Reach::Inside, piece, &mut |b, leaf| {
            let wanted = kept
                .map_or(Expr::Bool(true), |keep| b.load(keep, leaf.value()).equals(Expr::Int(1)));
            b.if_(wanted, |b| {
                let slot = b.bind("slot", base.clone() + emit(self.key.expr, &leaf.dims));
                let at = b.load(next, slot.clone());
                let at = b.bind("at", at);
                b.store(next, slot, at.clone() + 1);
                let Some(((from, to), columns)) = &moved else { return };
                for (&column, (expr, _)) in columns.iter().zip(self.columns) {
                    b.store(column, at.clone(), emit(expr, &leaf.dims));
                }
                let value = b.load(*from, leaf.value());
                b.store(*to, at, value);
            });
        });
        (b.finish(), operand, walked.repeats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other_by_keys_and_pieces() {
        // Few keys, which one thread does, and many.
        for (keys, pieces) in [(0, 1), (1, 1), (5, 1), (5, 3), (30_000, 1), (30_001, 2), (9_999, 7)]
        {
            let count = |at: usize| (at.wrapping_mul(0x9e37_79b9) >> 7) as u32 % 4;
            let counts: Vec<u32> = (0..keys * pieces).map(count).collect();
            for room in [0, keys + 1] {
                let (mut made, mut starts) = (counts.clone(), vec![u32::MAX; room]);
                let all = begin(&mut made, keys, &mut starts);
                let (mut next, mut begins) = (0, Vec::new());
                for key in 0..keys {
                    begins.push(next);
                    for at in (0..pieces).map(|piece| piece * keys + key) {
                        assert_eq!(made[at], next, "{keys} {pieces}");
                        next += counts[at];
                    }
                }
                assert!(room == 0 || starts[..keys] == begins, "{keys} {pieces}");
                assert_eq!(all, next);
            }
        }
    }
}
