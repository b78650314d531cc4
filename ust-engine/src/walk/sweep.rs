//! Storage into columns in the order of a dimension, where what stands at each of its coordinates is
//! found without a search: the rows of diagonals and of blocks.
//!
//! A walk for each coordinate, from the first to the last, enters the levels that depend on it at the
//! one place that they have for it. Nothing is counted before where one thread does it all.

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
use super::unpack::Column32;
use crate::error::Error;
use crate::storage::{StoredElement, Tensor};
use crate::with_values;

/// Parents at most that are visited for a coordinate: what each has there lies apart from the rest.
const PARENTS: usize = 1 << 10;

/// The entries of a tensor by a key, padding left out, as [`scatter`](super::scatter::scatter) gives
/// them. `None` where a coordinate has no place of its own, or levels above would be walked too often.
/// Cost: O(places visited).
///
/// # Errors
/// As there.
pub(crate) fn sweep(
    tensor: &Tensor,
    key: Key<'_>,
    columns: &[(IndexExpr, IndexKind)],
) -> Result<Option<Scattered>, Error> {
    let Some(dim) = sweep_dim(tensor, key) else { return Ok(None) };
    let sweep = Sweep { tensor, dim, keys: key.domain.size as i64, columns };
    with_values!(tensor.values(), from => sweep.run(from))
}

/// The dimension that the key is, where a walk at each of its coordinates visits little more than
/// what is stored.
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
    (parents <= PARENTS && visits <= tensor.nse().saturating_mul(2)).then_some(dim)
}

struct Sweep<'a> {
    tensor: &'a Tensor,
    dim: usize,
    /// Coordinates of that dimension.
    keys: i64,
    columns: &'a [(IndexExpr, IndexKind)],
}

/// What is done about each entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Count,
    /// Written to where the entries of a piece go.
    Move,
    /// Written, whatever it is, and passed if it is an entry: of the only piece there is.
    Pass,
}

impl Sweep<'_> {
    fn run<T: StoredElement>(&self, from: &Buffer<T>) -> Result<Option<Scattered>, Error> {
        let count = (threads(self.tensor.nse()) as i64).clamp(1, self.keys.max(1));
        let cut = |piece: i64| self.keys / count * piece + self.keys % count * piece / count;
        let pieces: Vec<[i64; 2]> = (0..count).map(|at| [cut(at), cut(at + 1)]).collect();
        // For each piece, where its entries begin and, once it is done, where they end.
        let mut rows = vec![0_i64; pieces.len()];
        let (mut most, mut task) = (self.tensor.nse(), Task::Pass);
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
        let mut columns: Vec<Column32> =
            self.columns.iter().map(|&(_, kind)| Column32::unspecified(kind, most)).collect();
        let mut to = Buffer::<T>::unspecified(most);
        let mut own = vec![T::memory(from), Memory::indices_mut(&mut rows[..])];
        own.extend([Memory::indices_mut(starts.make_mut()), T::memory_mut(to.make_mut())]);
        own.extend(columns.iter_mut().map(Column32::memory));
        if !self.execute(task, &pieces, &begin, own)? {
            return Ok(None);
        }
        let total = rows.last().map_or(0, |&end| end as usize);
        starts.make_mut()[self.keys as usize] = total as u32;
        to.truncate(total);
        let columns = columns.into_iter().map(|column| column.done(total)).collect();
        Ok(Some(Scattered { starts, columns, values: T::wrap(to) }))
    }

    /// Runs the loops over pieces of the keys, given where the entries of each begin. Says no, and
    /// does nothing, where values are repeated.
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
        let levels = self.tensor.levels().iter().flat_map(|level| &level.0);
        let mut memory: Vec<Memory<'_>> = levels.map(Memory::Index).chain(own).collect();
        code.run_apart(&groups, &mut memory)?;
        Ok(true)
    }

    /// Emits the loops. Says whether values are repeated.
    fn lower(&self, task: Task) -> (Function, Operand, bool) {
        let mut b = Builder::new("sweep");
        let operand = Operand::declare(&mut b, "A", self.tensor);
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
            // No branch that could be mispredicted.
            write(b);
            b.assign(row, Expr::from(row) + entry.select(1, 0));
        };
        let mut repeats = false;
        match &moved {
            // Counted in whatever order they stand in.
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
