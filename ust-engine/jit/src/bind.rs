//! The table of arguments that machine code reads, filled from the parameters and arrays of a call.
//!
//! The table is an array of words: [`HEADER`] words for the call itself, address and length of each
//! array, then the parameters, one word each, two for complex numbers.

use ust_ir::interp::{IndicesMut, Memory, Param, RunError, ValuesMut, ValuesRef};
use ust_ir::scalar::{Dtype, Scalar};
use ust_ir::{ArrayDecl, Elem, Ty, VarDecl, for_each_dtype, with_indices};

/// Words before the arrays: the context of shims, and the details of an error.
pub(super) const HEADER: usize = 4;
/// The word that holds the address of the [`Context`](super::shims::Context).
pub(super) const CONTEXT: usize = 0;
/// The word to which machine code writes an index when it ends early.
pub(super) const INDEX: usize = 1;
/// The word to which machine code writes a length or value when it ends early.
pub(super) const DETAIL: usize = 2;

/// The word where parameter `at` starts. For the number of parameters: the length of the table.
pub(super) fn param_word(arrays: usize, params: &[VarDecl], at: usize) -> usize {
    HEADER + 2 * arrays + params[..at].iter().map(|p| words(p.ty)).sum::<usize>()
}

fn words(ty: Ty) -> usize {
    match ty {
        Ty::Val(dtype) if dtype.is_complex() => 2,
        _ => 1,
    }
}

/// Checks the memory bound to an array against the declaration, and writes its address and length to two
/// words.
#[inline]
pub(super) fn place(
    decl: &ArrayDecl,
    memory: &mut Memory<'_>,
    to: &mut [u64],
) -> Result<(), RunError> {
    let given = memory.elem();
    if given != decl.elem {
        return Err(wrong_kind(decl, given));
    }
    if decl.grows && !matches!(memory, Memory::Grow(_)) {
        return Err(RunError::FixedLength { array: decl.name.clone() });
    }
    if decl.written && !memory.is_mut() {
        return Err(RunError::ReadOnly { array: decl.name.clone() });
    }
    let (address, len) = match memory {
        Memory::Index(array) => with_indices!(
            array,
            slice => (slice.as_ptr() as u64, slice.len()),
            packed(two_bits) => (two_bits.bytes().as_ptr() as u64, two_bits.len())
        ),
        Memory::Indices(slice) => (slice.as_ptr() as u64, slice.len()),
        Memory::IndicesMut(indices) => indices_mut(indices),
        Memory::Values(values) => values_ref(values),
        Memory::ValuesMut(values) => values_mut(values),
        Memory::Grow(grows) => (grows.as_mut_ptr() as u64, grows.len()),
    };
    // Word by word: to combine both words in a register first would delay the store.
    to[0] = address;
    to[1] = len as u64;
    Ok(())
}

#[cold]
fn wrong_kind(decl: &ArrayDecl, given: Elem) -> RunError {
    RunError::MemoryKind { array: decl.name.clone(), expected: decl.elem, given }
}

macro_rules! index_kinds {
    ($($variant:ident),*) => {
        fn indices_mut(indices: &mut IndicesMut<'_>) -> (u64, usize) {
            match indices {
                $(IndicesMut::$variant(slice) => (slice.as_mut_ptr() as u64, slice.len()),)*
            }
        }
    };
}
index_kinds!(U8, U16, U32, U64, I8, I16, I32, I64);

macro_rules! dtypes {
    ($(($variant:ident, $ty:ty, $name:literal, $kind:ident),)*) => {
        fn values_ref(values: &ValuesRef<'_>) -> (u64, usize) {
            match values {
                $(ValuesRef::$variant(slice) => (slice.as_ptr() as u64, slice.len()),)*
            }
        }

        fn values_mut(values: &mut ValuesMut<'_>) -> (u64, usize) {
            match values {
                $(ValuesMut::$variant(slice) => (slice.as_mut_ptr() as u64, slice.len()),)*
            }
        }
    };
}
for_each_dtype!(dtypes);

/// Checks a parameter against its declaration, and writes it as one word or two. Gives their number.
#[inline]
pub(super) fn param(decl: &VarDecl, param: &Param, to: &mut [u64]) -> Result<usize, RunError> {
    match param {
        Param::Int(value) if decl.ty == Ty::Int => to[0] = *value as u64,
        Param::Bool(value) if decl.ty == Ty::Bool => to[0] = (*value).into(),
        Param::Val(scalar) if decl.ty == Ty::Val(scalar.dtype()) => {
            let given = &bits(*scalar)[..words(decl.ty)];
            to[..given.len()].copy_from_slice(given);
            return Ok(given.len());
        }
        _ => {
            let (name, expected, given) = (decl.name.clone(), decl.ty, param.ty());
            return Err(RunError::ParamType { name, expected, given });
        }
    }
    Ok(1)
}

/// The bits of a number in a register: f16 and bf16 as f32.
// Integers are sign-extended; machine code reads the bits of their own width alone.
#[allow(clippy::cast_lossless)]
pub(super) fn bits(scalar: Scalar) -> [u64; 2] {
    let one = match scalar {
        Scalar::Bool(v) => v as u64,
        Scalar::I8(v) => v as u64,
        Scalar::I16(v) => v as u64,
        Scalar::I32(v) => v as u64,
        Scalar::I64(v) => v as u64,
        Scalar::U8(v) => v as u64,
        Scalar::U16(v) => v as u64,
        Scalar::U32(v) => v as u64,
        Scalar::U64(v) => v,
        Scalar::F16(v) => v.to_f32().to_bits() as u64,
        Scalar::Bf16(v) => v.to_f32().to_bits() as u64,
        Scalar::F32(v) => v.to_bits() as u64,
        Scalar::F64(v) => v.to_bits(),
        Scalar::Complex64(v) => return [v.re.to_bits() as u64, v.im.to_bits() as u64],
        Scalar::Complex128(v) => return [v.re.to_bits(), v.im.to_bits()],
    };
    [one, 0]
}

/// Whether the dtype is computed in f32 and rounded when stored.
pub(super) fn is_half(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16)
}
