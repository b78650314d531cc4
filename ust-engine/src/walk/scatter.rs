//! Storage to columns that are sorted by a key: a counting sort whose loops are walks of the format.
//!
//! The first walk counts the entries of each key. The second walk writes each entry to the next
//! free row of its key. No column holds unsorted entries. Entries with the same key keep their
//! storage order. Example: CSR to CSC, where the key is the column.

use std::mem;

use ust_format::{IndexExpr, LevelDomain};
use ust_kernels::pool::{pays, threads};
use ust_level_api::ir::idiom::Declared;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::ir::parallel;
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Buffer, IndexArray, IndexColumn, IndexKind};

use super::balance::{groups, outermost};
use super::emit;
use super::native::Code;
use super::nest::{Operand, Reach};
use super::unpack::ColumnBuffer;
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};
use crate::tuning::{KEY_SAMPLE_COUNTERS, KEY_SAMPLED_ENTRIES, SCATTER_ENTRY_NS};
use crate::with_values;

/// The entries of a tensor in the order of a key.
pub(crate) struct Scattered {
    /// The first entry of each key, and the number of entries at the end.
    pub(crate) starts: Buffer<u32>,
    /// The columns that the caller asked for.
    pub(crate) columns: Vec<IndexColumn>,
    /// The value of each entry.
    pub(crate) values: Values,
}

/// A sort key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    /// An expression over the dimensions.
    pub(crate) expr: &'a IndexExpr,
    /// The values of the expression.
    pub(crate) domain: LevelDomain,
}

/// Sorts the entries of a tensor by a key, stably, and writes the given columns. `keep` is 1 for
/// each stored value that is an entry; without it, all are. `None` where a value can be visited
/// more than once. Parallel. Cost: O(positions visited + keys x threads).
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
    // Each group has a counter for every key. There are at most twice as many counters as entries.
    let most = (2 * tensor.nse() / keys.max(1)).max(1);
    let groups = groups_of(tensor, most)?;
    // The leading 0 is the start of the first key: with one group, this becomes the result's `starts`.
    let mut next = Buffer::<u32>::zeroed(groups.len() * keys + 1);
    let job = Job { tensor, key, columns, keep, groups: &groups };
    if !job.run(false, next.make_mut(), |_| {})? {
        return Ok(None);
    }
    // With one group, the moves advance each start to the end of its key, which is the start of the
    // next key.
    let mut starts = Buffer::<u32>::unspecified(if groups.len() == 1 { 0 } else { keys + 1 });
    let total = counts_to_starts(&mut next.make_mut()[1..], keys, starts.make_mut());
    let total = total as usize;
    let mut made: Vec<ColumnBuffer> =
        columns.iter().map(|&(_, kind)| ColumnBuffer::unspecified(kind, total)).collect();
    let values = match tensor.iso_value() {
        Some(value) => {
            job.run(true, next.make_mut(), |memory| {
                memory.extend(made.iter_mut().map(ColumnBuffer::memory));
            })?;
            Values::iso(value, total)
        }
        None => with_values!(tensor.values(), from => {
            job.values(from, total, next.make_mut(), &mut made)?
        }),
    };
    let starts = match groups.len() {
        1 => next,
        _ => {
            starts.make_mut()[keys] = total as u32;
            starts
        }
    };
    let columns = made.into_iter().map(|column| column.done(total)).collect();
    Ok(Some(Scattered { starts, columns, values }))
}

/// Replaces the count of each piece and key by the row of the first entry of that piece and key: an
/// exclusive prefix sum. Rows are ordered by key, and by piece within a key. Also writes the first
/// row of each key to `starts`, as far as it is long enough. Returns the number of entries.
///
/// Example of two pieces and two keys: the counts `[2, 1]` and `[3, 4]` become `[0, 5]` and `[2, 6]`.
fn counts_to_starts(counts: &mut [u32], keys: usize, starts: &mut [u32]) -> u32 {
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
    // Entries before the keys of each thread. A single thread needs no count.
    let counts: Vec<u32> = match parts.len() {
        0..=1 => vec![0],
        _ => parallel::map(parts.len(), |at| parts[at].count()),
    };
    let before = counts.iter().scan(0, |all, count| Some(mem::replace(all, *all + count)));
    let before: Vec<u32> = before.collect();
    let parts = parts.into_iter().zip(before);
    let ends = parallel::map_items(parts, |_, (keys, before)| keys.begin(before));
    ends.last().copied().unwrap_or(0)
}

/// The consecutive keys that one thread handles.
struct Keys<'a> {
    /// For each piece of the outermost loop, the counts of these keys.
    pieces: Vec<&'a mut [u32]>,
    /// The first row of each key, or empty where the caller does not need it.
    starts: &'a mut [u32],
}

impl Keys<'_> {
    fn count(&self) -> u32 {
        self.pieces.iter().flat_map(|own| own.iter()).sum()
    }

    /// Replaces counts by rows, the first of which is `before`. Returns the row after the last entry.
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

/// Cuts the outermost loop into at most `most` groups of pieces for threads. One group where threads would
/// take longer to wake up, twice, than they save.
fn groups_of(tensor: &Tensor, most: usize) -> Result<Vec<Vec<[i64; 2]>>, Error> {
    let count = match pays(SCATTER_ENTRY_NS * tensor.nse() as f64) {
        true => threads(tensor.nse()).min(most),
        false => 1,
    };
    groups(tensor, Reach::Inside, count)
}

/// Whether neighbouring entries mostly have different keys. Then each entry is written to a cache
/// line that no other entry needs soon. Decided by two samples of the outermost loop. Cost:
/// O(entries of the samples + counters).
///
/// # Errors
/// As [`scatter`].
pub(crate) fn is_wide(tensor: &Tensor, key: Key<'_>) -> Result<bool, Error> {
    let Some([lo, hi]) = outermost(tensor, Reach::Inside)? else { return Ok(false) };
    let whole = i128::from(hi) - i128::from(lo);
    let length = (whole * i128::from(KEY_SAMPLED_ENTRIES) / tensor.nse().max(1) as i128).max(1);
    let size = key.domain.size.min(KEY_SAMPLE_COUNTERS);
    let few = key.expr.clone().modulo(size as i64);
    let key = match size == key.domain.size {
        true => key,
        false => Key { expr: &few, domain: LevelDomain { lower: 0, size } },
    };
    let mut counts = Buffer::<u32>::zeroed(size as usize + 1);
    for part in [1, 2] {
        let from = lo + (whole * part / 3) as i64;
        let groups = [vec![[from, from.saturating_add(length as i64).min(hi)]]];
        let job = Job { tensor, key, columns: &[], keep: None, groups: &groups };
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
    /// Groups of pieces of the outermost loop: intervals of its cursor.
    groups: &'a [Vec<[i64; 2]>],
}

impl Job<'_> {
    fn values<T: StoredElement>(
        &self,
        from: &Buffer<T>,
        total: usize,
        next: &mut [u32],
        made: &mut [ColumnBuffer],
    ) -> Result<Values, Error> {
        let mut to = Buffer::<T>::unspecified(total);
        let (read, written) = (T::memory(from), T::memory_mut(to.make_mut()));
        let others = made.iter_mut().map(ColumnBuffer::memory);
        let own: Vec<Memory<'_>> = [read, written].into_iter().chain(others).collect();
        self.run(true, next, |memory| memory.extend(own))?;
        Ok(T::wrap(to))
    }

    /// Counts entries, or moves them. Does nothing and returns false where a value can be visited
    /// more than once.
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
            .groups
            .iter()
            .enumerate()
            .map(|(number, group)| {
                let base = 1 + number as i64 * self.key.domain.size as i64;
                let piece = |&[from, to]: &[i64; 2]| {
                    let own = [from, to, base - self.key.domain.lower].map(Param::Int);
                    sizes.iter().copied().chain(own).collect()
                };
                group.iter().map(piece).collect()
            })
            .collect();
        let mut memory: Vec<Memory<'_>> = Vec::new();
        memory.extend(self.tensor.index_arrays().map(Memory::Index));
        memory.extend(self.keep.map(Memory::Index));
        memory.push(Memory::indices_mut(next));
        outputs(&mut memory);
        code.run_apart(&groups, &mut memory)?;
        Ok(true)
    }

    /// Emits the loops that count entries, or those that move them. The last result says whether a
    /// value can be visited more than once.
    fn lower(&self, moves: bool) -> (Function, Operand, bool) {
        let mut b = Builder::new(if moves { "scatter" } else { "count" });
        let operand = Operand::declare(&mut b, "A", &self.tensor.outline());
        let piece = (b.param("from", Ty::Int), b.param("to", Ty::Int));
        let base = b.param("base", Ty::Int);
        let kept = self.keep.map(|_| b.array("keep", Elem::Index(IndexKind::U8), false));
        let next = b.array("next", Elem::Index(IndexKind::U32), true);
        let dtype = Elem::Value(self.tensor.dtype());
        let moved = moves.then(|| {
            let values = (!self.tensor.is_iso())
                .then(|| (b.array("values", dtype, false), b.array("out", dtype, true)));
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
                b.store(next, slot.clone(), at.clone() + 1);
                let mut moves: Vec<(ArrayId, Expr)> = Vec::new();
                if let Some((values, columns)) = &moved {
                    let numbers = self.columns.iter().map(|(expr, _)| emit(expr, &leaf.dims));
                    moves.extend(columns.iter().copied().zip(numbers));
                    if let Some((from, to)) = values {
                        moves.push((*to, b.load(*from, leaf.value())));
                    }
                }
                for (array, value) in &moves {
                    b.store(*array, at.clone(), value.clone());
                }
                b.declare(Declared::Placed(next, slot, moves));
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
        // Few keys, which one thread handles, and many.
        for (keys, pieces) in [(0, 1), (1, 1), (5, 1), (5, 3), (30_000, 1), (30_001, 2), (9_999, 7)]
        {
            let count = |at: usize| (at.wrapping_mul(0x9e37_79b9) >> 7) as u32 % 4;
            let counts: Vec<u32> = (0..keys * pieces).map(count).collect();
            for room in [0, keys + 1] {
                let (mut made, mut starts) = (counts.clone(), vec![u32::MAX; room]);
                let all = counts_to_starts(&mut made, keys, &mut starts);
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
