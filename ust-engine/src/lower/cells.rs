//! Storage into a place for every element: values go where they belong, and nothing is written down
//! in between.

use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::ir::{Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Buffer, Scalar, WalkKind};

use super::emit;
use super::native::Code;
use super::nest::{Operand, Reach};
use super::unpack::{cuts, outermost};
use crate::error::Error;
use crate::format::Bound;
use crate::pool::threads;
use crate::tensor::{StoredElement, Tensor, Values};
use crate::with_values;

/// Fewer values than this are not cut into pieces.
const FEW: usize = 1 << 15;
/// Places that are filled, and then written to, at a time: they stay in the second cache.
const PIECE: u64 = 1 << 15;
/// Groups of pieces for each thread.
const GROUPS: usize = 4;

/// A piece: bounds of the outermost loop's cursor, and of the places that are filled before.
type Piece = [i64; 4];

/// The values of a tensor as a format stores them all of whose levels are full, in so many places;
/// the rest holds `fill`. `None` where one value can stand for several elements. No two entries of
/// the tensor have the same coordinates. In parallel where there are threads. Cost: O(places).
///
/// # Errors
/// [`Error::Run`] for arrays that break their level's rules.
pub(crate) fn cells(
    tensor: &Tensor,
    bound: &Bound,
    length: usize,
    fill: Scalar,
) -> Result<Option<Values>, Error> {
    let mut b = Builder::new("cells");
    let operand = Operand::declare(&mut b, "A", tensor);
    let (function, repeats) = lower(b, &operand, tensor, bound, fill);
    if repeats {
        return Ok(None);
    }
    let code = Code::trusting(&function, tensor.nse())?;
    let by_rows = by_rows(tensor, bound, length)?;
    let fills = by_rows.is_some();
    let groups = match by_rows {
        Some(groups) => groups,
        None => match cuts(tensor, Reach::Inside, 1)?.windows(2) {
            pairs if pairs.len() == 0 => vec![vec![[i64::MIN, i64::MAX, 0, 0]]],
            pairs => pairs.map(|pair| vec![[pair[0], pair[1], 0, 0]]).collect(),
        },
    };
    let levels = bound.levels().iter();
    let own = levels.flat_map(|level| [level.size as i64, level.lower]).map(Param::Int);
    let sizes = operand.size_arguments(tensor).into_iter().map(Param::Int);
    let sizes: Vec<Param> = sizes.chain(own).collect();
    let params = |piece: &Piece| sizes.iter().copied().chain(piece.map(Param::Int)).collect();
    let groups: Vec<Vec<Vec<Param>>> =
        groups.iter().map(|group| group.iter().map(params).collect()).collect();
    let values = with_values!(tensor.values(), from => {
        placed(from, tensor, (length, fill, fills), &code, &groups)?
    });
    Ok(Some(values))
}

/// Pieces of rows, and groups of them: where the outermost loop runs over coordinates of the first
/// level wanted.
fn by_rows(
    tensor: &Tensor,
    bound: &Bound,
    length: usize,
) -> Result<Option<Vec<Vec<Piece>>>, Error> {
    let (from, to) = (tensor.bound(), bound);
    let first = from.levels().first().zip(to.levels().first());
    let Some((own, wanted)) = first.filter(|_| tensor.nse() >= FEW && tensor.view().is_whole())
    else {
        return Ok(None);
    };
    let alike = own.size == wanted.size
        && own.lower == wanted.lower
        && from.format().levels()[0].expr == to.format().levels()[0].expr
        && from.format().descriptions()[0].walk == WalkKind::Coordinate;
    if !alike || outermost(tensor, Reach::Inside)?.is_none() {
        return Ok(None);
    }
    let row = length as u64 / wanted.size.max(1);
    let rows = (PIECE / row.max(1)).max(1);
    let count = wanted.size.div_ceil(rows);
    let piece = |at: u64| -> Piece {
        let [lo, hi] = [at * rows, ((at + 1) * rows).min(wanted.size)];
        let crd = |row: u64| wanted.lower.saturating_add_unsigned(row);
        [crd(lo), crd(hi), (lo * row) as i64, (hi * row) as i64]
    };
    let pieces: Vec<Piece> = (0..count).map(piece).collect();
    let groups = (threads(length) * GROUPS).min(pieces.len()).max(1);
    Ok(Some(pieces.chunks(pieces.len().div_ceil(groups).max(1)).map(<[_]>::to_vec).collect()))
}

fn placed<T: StoredElement>(
    from: &Buffer<T>,
    tensor: &Tensor,
    (length, fill, fills): (usize, Scalar, bool),
    code: &Code,
    groups: &[Vec<Vec<Param>>],
) -> Result<Values, Error> {
    // Every place of each piece is filled where pieces are.
    let mut values = match fills {
        true => Values::unspecified(fill.dtype(), length),
        false => Values::filled(fill, length),
    };
    let mut memory: Vec<Memory<'_>> = Vec::new();
    memory.extend(tensor.levels().iter().flat_map(|level| &level.0).map(Memory::Index));
    memory.push(T::memory_of(from));
    memory.push(T::memory(values.typed_mut::<T>()?));
    code.run_apart(groups, &mut memory)?;
    drop(memory);
    Ok(values)
}

/// Emits the loop that fills places, and those that write values to theirs. Says whether values are
/// repeated.
fn lower(
    mut b: Builder,
    operand: &Operand,
    tensor: &Tensor,
    bound: &Bound,
    fill: Scalar,
) -> (Function, bool) {
    let mut int = |text: String| b.param(&text, Ty::Int);
    let levels: Vec<(Expr, Expr)> = (0..bound.levels().len())
        .map(|at| (int(format!("size{at}")), int(format!("lower{at}"))))
        .collect();
    let [from, to, first, last] = ["from", "to", "first", "last"].map(|text| int(text.to_owned()));
    let dtype = Elem::Value(tensor.dtype());
    let (values, out) = (b.array("values", dtype, false), b.array("out", dtype, true));
    b.for_("at", first, last, |b, at| b.store(out, at, Expr::Const(fill)));
    let walked = operand.walk_piece(&mut b, Reach::Inside, (from, to), &mut |b, leaf| {
        let exprs = bound.format().levels().iter().zip(&levels);
        let place = exprs.fold(None, |above: Option<Expr>, (level, (size, lower))| {
            let crd = emit(&level.expr, &leaf.dims) - lower.clone();
            Some(above.map_or(crd.clone(), |above| above * size.clone() + crd))
        });
        let value = b.load(values, leaf.value());
        b.store(out, place.unwrap_or(Expr::Int(0)), value);
    });
    (b.finish(), walked.repeats)
}
