//! Accesses to written index arrays of other kinds than i64, and to those that grow.

use super::bind::Written;
use super::error::Fault;
use super::memory::{IndicesMut, Memory};
use crate::{BinOp, IndexKind};

/// Loads an index; `None` beyond the end.
pub(super) type IndexLoad = fn(&mut Written<'_>, usize) -> Option<i64>;
/// Stores an index, or combines one into an element.
pub(super) type IndexStore = fn(&mut Written<'_>, usize, i64) -> Result<(), Fault>;

/// A type that indices are stored in.
trait Index: Copy + TryFrom<i64> {
    fn of<'a>(indices: IndicesMut<'a>) -> Option<&'a mut [Self]>;
    /// The index as an `int`; an unsigned one above `i64::MAX` wraps.
    fn wide(self) -> i64;
}

/// The indices of kind `T`. The kind was compared with the declaration before, so `None` does not
/// occur.
fn slice<'a, T: Index>(written: &'a mut Written<'_>) -> Option<&'a mut [T]> {
    match written {
        Written::Indices(slice) => T::of(IndicesMut::I64(slice)),
        Written::Narrow(indices) => T::of(indices.reborrow()),
        Written::Grow(grows) => match grows.memory() {
            Memory::IndicesMut(indices) => T::of(indices),
            _ => None,
        },
        Written::Values(_) | Written::Nothing => None,
    }
}

fn load<T: Index>(written: &mut Written<'_>, at: usize) -> Option<i64> {
    slice::<T>(written)?.get(at).map(|&index| index.wide())
}

fn store<T: Index>(written: &mut Written<'_>, at: usize, value: i64) -> Result<(), Fault> {
    let element = slice::<T>(written).and_then(|s| s.get_mut(at)).ok_or(Fault::Bounds)?;
    *element = T::try_from(value).map_err(|_| Fault::Fit(value))?;
    Ok(())
}

/// The functions of one kind.
struct Ops {
    load: IndexLoad,
    store: IndexStore,
    add: IndexStore,
    mul: IndexStore,
    min: IndexStore,
    max: IndexStore,
    bit_and: IndexStore,
}

macro_rules! reduce {
    ($f:expr) => {
        |written, at, value| {
            let element =
                slice::<Self>(written).and_then(|s| s.get_mut(at)).ok_or(Fault::Bounds)?;
            let combined = ($f)(element.wide(), value);
            *element = Self::try_from(combined).map_err(|_| Fault::Fit(combined))?;
            Ok(())
        }
    };
}

trait Functions: Index {
    const OPS: &'static Ops = &Ops {
        load: load::<Self>,
        store: store::<Self>,
        add: reduce!(i64::wrapping_add),
        mul: reduce!(i64::wrapping_mul),
        min: reduce!(Ord::min),
        max: reduce!(Ord::max),
        bit_and: reduce!(|a, b| a & b),
    };
}
impl<T: Index> Functions for T {}

macro_rules! kinds {
    ($($variant:ident($ty:ty)),*) => {
        $(
            impl Index for $ty {
                fn of<'a>(indices: IndicesMut<'a>) -> Option<&'a mut [Self]> {
                    match indices { IndicesMut::$variant(slice) => Some(slice), _ => None }
                }
                #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
                fn wide(self) -> i64 { self as i64 }
            }
        )*

        fn ops(kind: IndexKind) -> &'static Ops {
            match kind {
                $(IndexKind::$variant => <$ty>::OPS,)*
                IndexKind::U2 => unreachable!("validated: packed indices are not written"),
            }
        }
    };
}
kinds!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64));

/// The function that loads an index of a kind.
pub(super) fn loads(kind: IndexKind) -> IndexLoad {
    ops(kind).load
}

/// The function that stores an index of a kind, or combines it with an operator.
pub(super) fn stores(kind: IndexKind, op: Option<BinOp>) -> IndexStore {
    let ops = ops(kind);
    match op {
        None => ops.store,
        Some(BinOp::Add) => ops.add,
        Some(BinOp::Mul) => ops.mul,
        Some(BinOp::Min) => ops.min,
        Some(BinOp::Max) => ops.max,
        Some(BinOp::BitAnd) => ops.bit_and,
        Some(_) => unreachable!("validated: a reduction"),
    }
}

/// Sorts the elements `lo..hi` of indices of kind i64.
#[cold]
#[inline(never)]
pub(super) fn sort(written: &mut Written<'_>, lo: i64, hi: i64) -> Result<(), Fault> {
    if lo >= hi {
        return Ok(());
    }
    let range = usize::try_from(lo).ok().zip(usize::try_from(hi).ok());
    let sorted = slice::<i64>(written).zip(range).and_then(|(s, (lo, hi))| s.get_mut(lo..hi));
    sorted.ok_or(Fault::Bounds)?.sort_unstable();
    Ok(())
}

/// Extends an array to at least this length, and returns its new length.
#[cold]
#[inline(never)]
pub(super) fn reserve(written: &mut Written<'_>, len: i64) -> Result<i64, Fault> {
    match written {
        Written::Grow(grows) => {
            // A negative length asks for no elements.
            let wanted = usize::try_from(len.max(0)).map_err(|_| Fault::Memory)?;
            if grows.reserve(wanted) { Ok(grows.len() as i64) } else { Err(Fault::Memory) }
        }
        _ => Err(Fault::Memory),
    }
}
