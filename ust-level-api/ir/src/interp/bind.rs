//! Binds the caller's memory: the kinds of arrays are compared with their declarations once, and
//! arrays become plain slices, which the instructions use.

use super::grow::Growable;
use super::memory::{IndicesMut, Memory, Param, ValuesMut, ValuesRef};
use super::number::{Raw, raw};
use super::{Program, RunError};
use crate::{IndexArray, VarDecl};

/// An array that is not written.
pub(super) enum Read<'a> {
    /// The array is written.
    Nothing,
    U2(&'a [u8], usize),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    Values(ValuesRef<'a>),
}

/// An array that is written.
pub(super) enum Written<'a> {
    /// The array is not written.
    Nothing,
    /// Indices of kind i64.
    Indices(&'a mut [i64]),
    /// Indices of any other kind.
    Narrow(IndicesMut<'a>),
    Values(ValuesMut<'a>),
    Grow(&'a mut (dyn Growable + 'static)),
}

/// The arrays of a run. Each has its number as index in both lists, and is bound in one of them.
pub(super) struct Arrays<'a> {
    pub(super) read: Vec<Read<'a>>,
    pub(super) written: Vec<Written<'a>>,
}

/// Binds memory to the arrays of a program.
pub(super) fn bind<'a>(
    program: &Program,
    memory: &'a mut [Memory<'_>],
) -> Result<Arrays<'a>, RunError> {
    if memory.len() != program.arrays.len() {
        let (expected, given) = (program.arrays.len(), memory.len());
        return Err(RunError::MemoryCount { function: program.name.clone(), expected, given });
    }
    let mut arrays = Arrays {
        read: Vec::with_capacity(memory.len()),
        written: Vec::with_capacity(memory.len()),
    };
    for (decl, memory) in program.arrays.iter().zip(memory) {
        let given = memory.elem();
        if given != decl.elem {
            let (array, expected) = (decl.name.clone(), decl.elem);
            return Err(RunError::MemoryKind { array, expected, given });
        }
        let fixed = match memory {
            Memory::Grow(grows) => {
                if decl.grows {
                    arrays.read.push(Read::Nothing);
                    arrays.written.push(Written::Grow(&mut **grows));
                    continue;
                }
                // An array that is not declared to grow has a fixed length.
                grows.memory()
            }
            memory => memory.reborrow(),
        };
        if decl.grows {
            return Err(RunError::FixedLength { array: decl.name.clone() });
        }
        let (read, written) = match (decl.written, fixed) {
            (true, Memory::IndicesMut(IndicesMut::I64(slice))) => {
                (Read::Nothing, Written::Indices(slice))
            }
            (true, Memory::IndicesMut(indices)) => (Read::Nothing, Written::Narrow(indices)),
            (true, Memory::ValuesMut(values)) => (Read::Nothing, Written::Values(values)),
            (true, _) => return Err(RunError::ReadOnly { array: decl.name.clone() }),
            (false, memory) => (read(memory), Written::Nothing),
        };
        arrays.read.push(read);
        arrays.written.push(written);
    }
    Ok(arrays)
}

fn read(memory: Memory<'_>) -> Read<'_> {
    match memory {
        Memory::Index(array) => indices(array),
        Memory::Indices(slice) => Read::I64(slice),
        Memory::IndicesMut(indices) => match indices {
            IndicesMut::U8(slice) => Read::U8(slice),
            IndicesMut::U16(slice) => Read::U16(slice),
            IndicesMut::U32(slice) => Read::U32(slice),
            IndicesMut::U64(slice) => Read::U64(slice),
            IndicesMut::I8(slice) => Read::I8(slice),
            IndicesMut::I16(slice) => Read::I16(slice),
            IndicesMut::I32(slice) => Read::I32(slice),
            IndicesMut::I64(slice) => Read::I64(slice),
        },
        Memory::Values(values) => Read::Values(values),
        Memory::ValuesMut(values) => Read::Values(values.into_ref()),
        // A growable's memory is never [`Memory::Grow`].
        Memory::Grow(_) => Read::Nothing,
    }
}

fn indices(array: &IndexArray) -> Read<'_> {
    match array {
        IndexArray::U2(packed) => Read::U2(packed.bytes(), packed.len()),
        IndexArray::U8(slice) => Read::U8(slice),
        IndexArray::U16(slice) => Read::U16(slice),
        IndexArray::U32(slice) => Read::U32(slice),
        IndexArray::U64(slice) => Read::U64(slice),
        IndexArray::I8(slice) => Read::I8(slice),
        IndexArray::I16(slice) => Read::I16(slice),
        IndexArray::I32(slice) => Read::I32(slice),
        IndexArray::I64(slice) => Read::I64(slice),
    }
}

/// Puts parameters into the registers of their variables, the first registers.
pub(super) fn set_params(
    program: &Program,
    params: &[Param],
    ints: &mut [i64],
    vals: &mut [Raw],
) -> Result<(), RunError> {
    if params.len() != program.params.len() {
        let (expected, given) = (program.params.len(), params.len());
        return Err(RunError::ParamCount { function: program.name.clone(), expected, given });
    }
    for (at, (VarDecl { name, ty }, param)) in program.params.iter().zip(params).enumerate() {
        if param.ty() != *ty {
            let (name, expected, given) = (name.clone(), *ty, param.ty());
            return Err(RunError::ParamType { name, expected, given });
        }
        match *param {
            Param::Int(value) => ints[at] = value,
            Param::Bool(value) => ints[at] = value.into(),
            Param::Val(value) => vals[at] = raw(value),
        }
    }
    Ok(())
}
