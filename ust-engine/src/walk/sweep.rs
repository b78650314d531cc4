//! Storage to columns that are sorted by a dimension, where the entries of each coordinate are
//! found without a search. Examples: the rows of a matrix in DIA or BSR.
//!
//! The outer loop runs over the coordinates of the dimension. For each coordinate, a walk visits
//! its entries: levels that depend on the dimension are entered at one cursor instead of being
//! walked. A single thread writes entries in this order at once. Several threads count the entries
//! of their pieces first.

use ust_format::IndexExpr;
use ust_kernels::pool::threads;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::ir::{Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Buffer, IndexKind, Interval, WalkKind};

use super::emit;
use super::find::is_entry;
use super::native::Code;
use super::nest::{Leaf, Operand};
use super::scatter::{Key, Scattered};
use super::unpack::ColumnBuffer;
use crate::error::Error;
use crate::storage::{StoredElement, Tensor};
use crate::tuning::{ENTRIES_PER_LOOK, SWEEP_MAX_PARENTS};
use crate::with_values;

/// The entries of a tensor, sorted by a key, without padding: the same result as from
/// [`scatter`](super::scatter::scatter). `None` where the key is not a dimension that [`sweep_dim`]
/// accepts, or where a value can be visited more than once. Cost: O(positions visited).
///
/// # Errors
/// As [`scatter`](super::scatter::scatter).
pub(crate) fn sweep(
    tensor: &Tensor,
    key: Key<'_>,
    columns: &[(IndexExpr, IndexKind)],
) -> Result<Option<Scattered>, Error> {
    let Some(dim) = sweep_dim(tensor, key) else { return Ok(None) };
    let sweep = Sweep { tensor, dim, keys: key.domain.size as i64, columns };
    with_values!(tensor.values(), from => sweep.run(from))
}

/// The dimension that is the key. `None` where the key is another expression, or where a walk for
/// each coordinate would visit many more positions than are stored.
pub(crate) fn sweep_dim(tensor: &Tensor, key: Key<'_>) -> Option<usize> {
    let format = tensor.format();
    let IndexExpr::Var(dim) = *key.expr else { return None };
    if !tensor.view().is_whole() || !format.is_unique() || key.domain.lower != 0 {
        return None;
    }
    let bounds = super::bounds::Bounds::new(format);
    let factors = bounds.factors(dim)?;
    let deepest = factors.iter().rposition(|&factor| factor != 0)?;
    let levels = || format.descriptions().iter().zip(tensor.bound().levels());
    let full = levels()
        .skip(deepest)
        .all(|(level, _)| level.walk == WalkKind::Coordinate && level.props.full);
    if !full || factors[deepest].abs() != 1 {
        return None;
    }
    let size = |domain: &ust_format::LevelDomain| usize::try_from(domain.size).ok();
    let below = levels()
        .skip(deepest)
        .try_fold(1_usize, |all, (_, domain)| all.checked_mul(size(domain)?))?;
    let entered = levels()
        .zip(factors)
        .take(deepest)
        .filter(|((level, _), factor)| level.walk == WalkKind::Coordinate && **factor != 0)
        .try_fold(1_usize, |all, ((_, domain), _)| all.checked_mul(size(domain)?))?;
    let parents = (tensor.nse() / below.max(1)).div_ceil(entered.max(1));
    let visits = parents.checked_mul(usize::try_from(key.domain.size).ok()?)?;
    (parents <= SWEEP_MAX_PARENTS && visits <= tensor.nse().saturating_mul(2)).then_some(dim)
}

struct Sweep<'a> {
    tensor: &'a Tensor,
    dim: usize,
    /// Number of coordinates of that dimension.
    keys: i64,
    columns: &'a [(IndexExpr, IndexKind)],
}

/// What the loop body does with each visited value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Counts entries.
    Count,
    /// Writes entries to the rows of their piece.
    Move,
    /// Writes every value to the next row, and advances the row only for an entry: padding is
    /// overwritten. There is no branch. For a single piece only, because the last padding is
    /// written behind the entries.
    Advance,
}

impl Sweep<'_> {
    fn run<T: StoredElement>(&self, from: &Buffer<T>) -> Result<Option<Scattered>, Error> {
        let entries = self.tensor.nse();
        let count = match threads(entries) {
            1 => 1,
            threads => (threads * entries.div_ceil(threads * ENTRIES_PER_LOOK)) as i64,
        };
        let count = count.clamp(1, self.keys.max(1));
        let cut = |piece: i64| self.keys / count * piece + self.keys % count * piece / count;
        let pieces: Vec<[i64; 2]> = (0..count).map(|at| [cut(at), cut(at + 1)]).collect();
        // The first row of each piece before a run, and the end of its rows after the run.
        let mut rows = vec![0_i64; pieces.len()];
        let (mut most, mut task) = (self.tensor.nse(), Task::Advance);
        if count > 1 {
            let own = vec![T::memory(from), Memory::indices_mut(&mut rows[..])];
            if !self.execute(Task::Count, &pieces, &vec![0; pieces.len()], own)? {
                return Ok(None);
            }
            (most, task) = (0, Task::Move);
            for rows in &mut rows {
                (*rows, most) = (most as i64, most + *rows as usize);
            }
        }
        let begin = rows.clone();
        let mut starts = Buffer::<u32>::unspecified(self.keys as usize + 1);
        let mut columns: Vec<ColumnBuffer> =
            self.columns.iter().map(|&(_, kind)| ColumnBuffer::unspecified(kind, most)).collect();
        let mut to = Buffer::<T>::unspecified(most);
        let mut own = vec![T::memory(from), Memory::indices_mut(&mut rows[..])];
        own.extend([Memory::indices_mut(starts.make_mut()), T::memory_mut(to.make_mut())]);
        own.extend(columns.iter_mut().map(ColumnBuffer::memory));
        if !self.execute(task, &pieces, &begin, own)? {
            return Ok(None);
        }
        let total = rows.last().map_or(0, |&end| end as usize);
        starts.make_mut()[self.keys as usize] = total as u32;
        to.truncate(total);
        let columns = columns.into_iter().map(|column| column.done(total)).collect();
        Ok(Some(Scattered { starts, columns, values: T::wrap(to) }))
    }

    /// Runs the loops over pieces of the keys. `begin` is the first row of each piece. Does nothing
    /// and returns false where a value can be visited more than once.
    fn execute(
        &self,
        task: Task,
        pieces: &[[i64; 2]],
        begin: &[i64],
        own: Vec<Memory<'_>>,
    ) -> Result<bool, Error> {
        let (function, operand, repeats) = self.lower(task);
        if repeats {
            return Ok(false);
        }
        let code = Code::trusting(&function, self.tensor.nse())?;
        let sizes = operand.size_arguments(self.tensor).into_iter();
        let sizes: Vec<Param> = sizes.map(Param::Int).collect();
        let groups: Vec<Vec<Vec<Param>>> = pieces
            .iter()
            .zip(begin)
            .enumerate()
            .map(|(piece, (&[from, to], &begin))| {
                let own = [from, to, begin, piece as i64].map(Param::Int);
                vec![sizes.iter().copied().chain(own).collect()]
            })
            .collect();
        let arrays = self.tensor.index_arrays().map(Memory::Index);
        let mut memory: Vec<Memory<'_>> = arrays.chain(own).collect();
        code.run_apart(&groups, &mut memory)?;
        Ok(true)
    }

    /// Emits the loops. The last result says whether a value can be visited more than once.
    fn lower(&self, task: Task) -> (Function, Operand, bool) {
        let mut b = Builder::new("sweep");
        let operand = Operand::declare(&mut b, "A", &self.tensor.outline());
        let (from, to) = (b.param("from", Ty::Int), b.param("to", Ty::Int));
        let (begin, piece) = (b.param("begin", Ty::Int), b.param("piece", Ty::Int));
        let dtype = Elem::Value(self.tensor.dtype());
        let values = b.array("values", dtype, false);
        let rows = b.array("rows", Elem::Index(IndexKind::I64), true);
        let moved = (task != Task::Count).then(|| {
            let starts = b.array("starts", Elem::Index(IndexKind::U32), true);
            let out = b.array("out", dtype, true);
            let named = self.columns.iter().enumerate();
            let columns: Vec<_> = named
                .map(|(at, &(_, kind))| b.array(&format!("column{at}"), Elem::Index(kind), true))
                .collect();
            (starts, out, columns)
        });
        let padding = self.tensor.has_padding().then(|| self.tensor.fill());
        let row = b.var("row", begin);
        let mut each = |b: &mut Builder, leaf: &Leaf| {
            let value = b.load(values, leaf.value());
            let value = b.bind("value", value);
            let entry = is_entry(value.clone(), padding);
            let write = |b: &mut Builder| {
                let Some((_, out, columns)) = &moved else { return };
                for (&column, (expr, _)) in columns.iter().zip(self.columns) {
                    b.store(column, row.into(), emit(expr, &leaf.dims));
                }
                b.store(*out, row.into(), value.clone());
            };
            if task == Task::Move {
                return b.if_(entry, |b| {
                    write(b);
                    b.assign(row, Expr::from(row) + 1);
                });
            }
            write(b);
            b.assign(row, Expr::from(row) + entry.select(1, 0));
        };
        let mut repeats = false;
        match &moved {
            // Counts need no order of keys: one walk is enough.
            None => {
                let all = Interval { lo: from, hi: to };
                repeats |= operand.walk_at(&mut b, (self.dim, all), &mut each).repeats;
            }
            Some((starts, ..)) => b.for_("key", from, to, |b, key| {
                b.store(*starts, key.clone(), row.into());
                let one = (self.dim, Interval::one(key));
                repeats |= operand.walk_at(b, one, &mut each).repeats;
            }),
        }
        b.store(rows, piece, row.into());
        (b.finish(), operand, repeats)
    }
}
