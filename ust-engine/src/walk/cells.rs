//! Values written straight from the storage of a source to their positions in a target. No column
//! of coordinates is written.
//!
//! In a target whose levels are all full, the coordinates give the position of a value. In a target
//! with trailing dense blocks, the coordinates at the trailing full levels give the offset within a
//! block, and the coordinates at the levels above identify the block. These are combined to one
//! number, the key. A table gives the block of each key, which is small enough where blocks are
//! few, such as diagonals. One walk marks the keys that have a block ([`keys`]), another writes the
//! values ([`cells`]).

use ust_format::{Bound, IndexExpr, LevelDomain};
use ust_kernels::pool::threads;
use ust_level_api::ir::interp::{Memory, Param, ValueElement};
use ust_level_api::ir::{Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Buffer, IndexArray, IndexKind, Scalar, WalkKind};

use super::balance::{groups, outermost};
use super::emit;
use super::find::is_entry;
use super::native::Code;
use super::nest::{Operand, Reach};
use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};
use crate::tuning::{
    CELLS_GROUPS_PER_THREAD, CELLS_MIN_BLOCK_POSITIONS, CELLS_MIN_VALUES, CELLS_PIECE_POSITIONS,
    MARKS_PER_VALUE,
};
use crate::with_values;

/// A piece: the interval of the outermost loop's cursor, and the interval of offsets within each
/// block that is set to the fill value first.
type Piece = [i64; 4];

/// The blocks of a target.
pub(crate) struct Blocks {
    /// For each key that has a block, the position of its first value.
    pub(crate) starts: IndexArray,
    /// Number of blocks.
    pub(crate) count: u64,
}

/// The coordinates at some levels combined to one number, in lexicographic order.
struct Combined {
    /// For each level, its expression, size and lowest coordinate.
    levels: Vec<(IndexExpr, Expr, Expr)>,
}

impl Combined {
    /// Declares the sizes and lowest coordinates of levels as parameters.
    fn declare(b: &mut Builder, levels: &[(IndexExpr, LevelDomain)], name: &str) -> Self {
        let mut int = |text: String| b.param(&text, Ty::Int);
        let named = levels.iter().enumerate().map(|(at, (expr, _))| {
            (expr.clone(), int(format!("size_{name}{at}")), int(format!("lower_{name}{at}")))
        });
        Self { levels: named.collect() }
    }

    /// The arguments for the parameters that [`Combined::declare`] declares.
    fn arguments(levels: &[(IndexExpr, LevelDomain)]) -> impl Iterator<Item = Param> {
        let all = levels.iter().flat_map(|(_, domain)| [domain.size as i64, domain.lower]);
        all.map(Param::Int)
    }

    fn of(&self, dims: &[Expr]) -> Expr {
        let number = self.levels.iter().fold(None, |above: Option<Expr>, (expr, size, lower)| {
            let crd = emit(expr, dims) - lower.clone();
            Some(above.map_or(crd.clone(), |above| above * size.clone() + crd))
        });
        number.unwrap_or(Expr::Int(0))
    }
}

/// The levels above the trailing full levels, and the trailing full levels.
fn split_at_tail(bound: &Bound) -> [Vec<(IndexExpr, LevelDomain)>; 2] {
    let levels = bound.format().levels().iter().zip(bound.levels());
    let mut above: Vec<_> = levels.map(|(level, &domain)| (level.expr.clone(), domain)).collect();
    let below = above.split_off(bound.format().tail());
    [above, below]
}

/// The distinct keys of a tensor's entries at the target levels above the trailing full levels, in
/// ascending order. Keys are below `range`. With `guarded`, values equal to the fill value are left
/// out. `None` where one value can stand for several elements. Parallel. Cost: O(positions visited
/// + range x threads).
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules.
pub(crate) fn keys(
    tensor: &Tensor,
    bound: &Bound,
    range: usize,
    guarded: bool,
) -> Result<Option<Vec<usize>>, Error> {
    let mut b = Builder::new("keys");
    let operand = Operand::declare(&mut b, "A", &tensor.outline());
    let [above, _] = split_at_tail(bound);
    let key = Combined::declare(&mut b, &above, "key");
    let [from, to, base] = ["from", "to", "base"].map(|text| b.param(text, Ty::Int));
    let values = b.array("values", Elem::Value(tensor.dtype()), false);
    let marks = b.array("marks", Elem::Index(IndexKind::U8), true);
    let walked = operand.walk_piece(&mut b, Reach::Inside, (from, to), &mut |b, leaf| {
        let wanted = match guarded {
            true => is_entry(b.load(values, leaf.value()), Some(tensor.fill())),
            false => Expr::Bool(true),
        };
        b.if_(wanted, |b| b.store(marks, base.clone() + key.of(&leaf.dims), Expr::Int(1)));
    });
    if walked.repeats {
        return Ok(None);
    }
    let code = Code::trusting(&b.finish(), tensor.nse())?;
    // Each thread has its own marks.
    let threads = threads(tensor.nse());
    let fits = threads.saturating_mul(range) <= MARKS_PER_VALUE * tensor.nse();
    let pieces = groups(tensor, Reach::Inside, if fits { threads } else { 1 })?;
    let sizes = operand.size_arguments(tensor).into_iter().map(Param::Int);
    let sizes: Vec<Param> = sizes.chain(Combined::arguments(&above)).collect();
    let runs: Vec<Vec<Vec<Param>>> = pieces
        .iter()
        .enumerate()
        .map(|(at, group)| {
            let piece = |&[from, to]: &[i64; 2]| {
                let own = [from, to, (at * range) as i64].map(Param::Int);
                sizes.iter().copied().chain(own).collect()
            };
            group.iter().map(piece).collect()
        })
        .collect();
    let mut found = Buffer::<u8>::zeroed(pieces.len() * range);
    with_values!(tensor.values(), from => {
        let mut memory: Vec<Memory<'_>> = arrays(tensor).collect();
        memory.extend([ValueElement::memory(from), Memory::indices_mut(found.make_mut())]);
        code.run_apart(&runs, &mut memory)?;
    });
    Ok(Some(marked(&found, range)))
}

/// The numbers below `range` that any thread has marked.
fn marked(marks: &[u8], range: usize) -> Vec<usize> {
    let mut keys = Vec::new();
    for first in (0..range).step_by(64) {
        let some = first..(first + 64).min(range);
        let mut any = [0; 64];
        for part in marks.chunks_exact(range) {
            any.iter_mut().zip(&part[some.clone()]).for_each(|(any, mark)| *any |= mark);
        }
        if any != [0; 64] {
            keys.extend(some.zip(any).filter(|(_, mark)| *mark != 0).map(|(key, _)| key));
        }
    }
    keys
}

fn arrays(tensor: &Tensor) -> impl Iterator<Item = Memory<'_>> {
    tensor.index_arrays().map(Memory::Index)
}

/// The `length` values of the target: each value of the tensor at its position, and `fill`
/// elsewhere. Without `blocks`, all levels of the target are full. With `blocks`, values equal to
/// `fill` are left out, because they may have no block; the second result says whether there were
/// any. `None` where one value can stand for several elements. All entries of the tensor have
/// different coordinates. Parallel. Cost: O(positions).
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules.
pub(crate) fn cells(
    tensor: &Tensor,
    bound: &Bound,
    length: usize,
    fill: Scalar,
    blocks: Option<&Blocks>,
) -> Result<Option<(Values, bool)>, Error> {
    let mut b = Builder::new("cells");
    let operand = Operand::declare(&mut b, "A", &tensor.outline());
    let [above, below] = split_at_tail(bound);
    let (function, repeats) = lower(b, &operand, tensor, [&above, &below], fill, blocks);
    if repeats {
        return Ok(None);
    }
    let code = Code::trusting(&function, tensor.nse())?;
    let count = blocks.map_or(1, |blocks| blocks.count);
    let by_rows = by_rows(tensor, &below, count)?;
    let fills = by_rows.is_some();
    let groups = match by_rows {
        Some(groups) => groups,
        None => {
            let groups = groups(tensor, Reach::Inside, threads(tensor.nse()))?.into_iter();
            let piece = |[from, to]: [i64; 2]| [from, to, 0, 0];
            groups.map(|group| group.into_iter().map(piece).collect()).collect()
        }
    };
    let sizes = operand.size_arguments(tensor).into_iter().map(Param::Int);
    let sizes = sizes.chain(Combined::arguments(&above)).chain(Combined::arguments(&below));
    let block: i64 = below.iter().map(|(_, domain)| domain.size as i64).product();
    let sizes: Vec<Param> = sizes.chain([count as i64, block].map(Param::Int)).collect();
    let groups: Vec<Vec<Vec<Param>>> = groups
        .iter()
        .enumerate()
        .map(|(number, group)| {
            let all = |&[from, to, first, last]: &Piece| {
                let own = [from, to, first, last, number as i64].map(Param::Int);
                sizes.iter().copied().chain(own).collect()
            };
            group.iter().map(all).collect()
        })
        .collect();
    // For each group, 1 where a value was left out.
    let mut left = vec![0_i64; groups.len()];
    let values = with_values!(tensor.values(), from => {
        let how = (length, fill, fills);
        placed(from, tensor, how, blocks, &code, &groups, &mut left)?
    });
    Ok(Some((values, left.contains(&1))))
}

/// Cuts the conversion into pieces of rows, and the pieces into groups for threads. `None` unless
/// the outermost loop runs over the coordinates of the first level within a block: then each piece
/// sets its own rows of all blocks to the fill value, just before it writes to them.
fn by_rows(
    tensor: &Tensor,
    block: &[(IndexExpr, LevelDomain)],
    count: u64,
) -> Result<Option<Vec<Vec<Piece>>>, Error> {
    let (from, first) = (tensor.bound(), block.first());
    let first = from.levels().first().zip(first);
    let Some((own, (expr, wanted))) =
        first.filter(|_| tensor.nse() >= CELLS_MIN_VALUES && tensor.view().is_whole())
    else {
        return Ok(None);
    };
    let same_rows = own.size == wanted.size
        && own.lower == wanted.lower
        && from.format().levels()[0].expr == *expr
        && from.format().descriptions()[0].walk == WalkKind::Coordinate;
    if !same_rows || outermost(tensor, Reach::Inside)?.is_none() {
        return Ok(None);
    }
    let row: u64 = block[1..].iter().map(|(_, domain)| domain.size).product();
    let rows = match (CELLS_PIECE_POSITIONS / (row.max(1) * count.max(1)), count) {
        (rows, 1) => rows.max(1),
        // Many blocks: a piece that fits the cache has too few rows of each block.
        (rows, _) if rows * row < CELLS_MIN_BLOCK_POSITIONS => return Ok(None),
        (rows, _) => rows,
    };
    let pieces = wanted.size.div_ceil(rows);
    let piece = |at: u64| -> Piece {
        let [lo, hi] = [at * rows, ((at + 1) * rows).min(wanted.size)];
        let crd = |row: u64| wanted.lower.saturating_add_unsigned(row);
        [crd(lo), crd(hi), (lo * row) as i64, (hi * row) as i64]
    };
    let pieces: Vec<Piece> = (0..pieces).map(piece).collect();
    let groups = (threads(tensor.nse()) * CELLS_GROUPS_PER_THREAD).min(pieces.len()).max(1);
    Ok(Some(pieces.chunks(pieces.len().div_ceil(groups).max(1)).map(<[_]>::to_vec).collect()))
}

fn placed<T: StoredElement>(
    from: &Buffer<T>,
    tensor: &Tensor,
    (length, fill, fills): (usize, Scalar, bool),
    blocks: Option<&Blocks>,
    code: &Code,
    groups: &[Vec<Vec<Param>>],
    left: &mut [i64],
) -> Result<Values, Error> {
    // Pieces of rows set all positions to the fill value themselves.
    let mut values = match fills {
        true => Values::unspecified(fill.dtype(), length),
        false => Values::filled(fill, length),
    };
    let mut memory: Vec<Memory<'_>> = arrays(tensor).collect();
    memory.push(T::memory(from));
    memory.push(T::memory_mut(values.typed_mut::<T>()?));
    memory.push(Memory::indices_mut(left));
    memory.extend(blocks.map(|blocks| Memory::Index(&blocks.starts)));
    code.run_apart(groups, &mut memory)?;
    drop(memory);
    Ok(values)
}

/// Emits the loop that sets positions to the fill value, and the loops that write values to their
/// positions. The last result says whether a value can be visited more than once.
fn lower(
    mut b: Builder,
    operand: &Operand,
    tensor: &Tensor,
    [above, below]: [&[(IndexExpr, LevelDomain)]; 2],
    fill: Scalar,
    blocks: Option<&Blocks>,
) -> (Function, bool) {
    let key = Combined::declare(&mut b, above, "key");
    let offset = Combined::declare(&mut b, below, "offset");
    let mut int = |text: &str| b.param(text, Ty::Int);
    let [count, block] = ["count", "block"].map(&mut int);
    let [from, to, first, last, number] = ["from", "to", "first", "last", "number"].map(int);
    let dtype = Elem::Value(tensor.dtype());
    let (values, out) = (b.array("values", dtype, false), b.array("out", dtype, true));
    let left = b.array("left", Elem::Index(IndexKind::I64), true);
    let starts = blocks.map(|_| b.array("starts", Elem::Index(IndexKind::I64), false));
    let filled = |b: &mut Builder, first: Expr, last: Expr| {
        b.for_("at", first, last, |b, at| b.store(out, at, Expr::Const(fill)));
    };
    match blocks {
        None => filled(&mut b, first, last),
        Some(_) => b.for_("each", Expr::Int(0), count, |b, each| {
            let start = b.bind("start", each * block.clone());
            filled(b, start.clone() + first.clone(), start + last.clone());
        }),
    }
    let walked = operand.walk_piece(&mut b, Reach::Inside, (from, to), &mut |b, leaf| {
        let value = b.load(values, leaf.value());
        let Some(starts) = starts else {
            return b.store(out, offset.of(&leaf.dims), value);
        };
        let value = b.bind("value", value);
        b.if_else(
            is_entry(value.clone(), Some(fill)),
            |b| {
                let start = b.load(starts, key.of(&leaf.dims));
                b.store(out, start + offset.of(&leaf.dims), value);
            },
            |b| b.store(left, number.clone(), Expr::Int(1)),
        );
    });
    (b.finish(), walked.repeats)
}
