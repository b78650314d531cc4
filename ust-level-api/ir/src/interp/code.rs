//! The instructions.
//!
//! There are two register files: one for `int` and `bool` (0 and 1), one for `val`. All operands
//! are registers; constants and array lengths are put into registers before a run starts. The
//! operand `d` receives the result.

use super::func::{OfInt, ToInt};
use super::index::{IndexLoad, IndexStore};
use super::number::{Binary, Compare, Divide, Load, LoadWritten, Store, Unary};
use crate::IndexKind;

/// A register; the instruction decides in which file.
pub(super) type Reg = u16;
/// The number of an array.
pub(super) type Array = u16;
/// The number of an instruction (while compiling: of a label).
pub(super) type Target = u32;

/// An index: a register plus a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) reg: Reg,
    pub(super) offset: i32,
}

/// An instruction. 16 bytes, so that code stays dense.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    // On `int` and `bool`.
    Move {
        d: Reg,
        a: Reg,
    },
    Neg {
        d: Reg,
        a: Reg,
    },
    Not {
        d: Reg,
        a: Reg,
    },
    CountOnes {
        d: Reg,
        a: Reg,
    },
    TrailingZeros {
        d: Reg,
        a: Reg,
    },
    Add {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Sub {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Mul {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    FloorDiv {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Mod {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Min {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Max {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    BitAnd {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    BitOr {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Shr {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Eq {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Ne {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Lt {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Le {
        d: Reg,
        a: Reg,
        b: Reg,
    },

    // Loads of indices, by kind; then accesses to written arrays.
    LoadU2 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadU8 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadU16 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadU32 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadU64 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadI8 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadI16 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadI32 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadI64 {
        d: Reg,
        array: Array,
        at: At,
    },
    LoadWritten {
        d: Reg,
        array: Array,
        at: At,
    },
    Store {
        array: Array,
        at: At,
        value: Reg,
    },
    ReduceAdd {
        array: Array,
        at: At,
        value: Reg,
    },
    ReduceMul {
        array: Array,
        at: At,
        value: Reg,
    },
    ReduceMin {
        array: Array,
        at: At,
        value: Reg,
    },
    ReduceMax {
        array: Array,
        at: At,
        value: Reg,
    },
    ReduceBitAnd {
        array: Array,
        at: At,
        value: Reg,
    },

    // Written index arrays of other kinds than i64, or that grow.
    IndexLoad {
        f: IndexLoad,
        d: Reg,
        array: Array,
        at: Reg,
    },
    /// Stores, or combines into an element.
    IndexStore {
        f: IndexStore,
        array: Array,
        at: Reg,
        value: Reg,
    },
    Sort {
        array: Array,
        lo: Reg,
        hi: Reg,
    },
    /// `d` receives the new length.
    Reserve {
        d: Reg,
        array: Array,
        len: Reg,
    },

    // On `val`, of any dtype. `At` is always a register of the other file.
    ValMove {
        d: Reg,
        a: Reg,
    },
    ValUnary {
        f: Unary,
        d: Reg,
        a: Reg,
    },
    ValBinary {
        f: Binary,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    ValDivide {
        f: Divide,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    /// `d` is in the other file.
    ValCompare {
        f: Compare,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    ValLoad {
        f: Load,
        d: Reg,
        array: Array,
        at: Reg,
    },
    ValLoadWritten {
        f: LoadWritten,
        d: Reg,
        array: Array,
        at: Reg,
    },
    /// Stores, or combines into an element.
    ValStore {
        f: Store,
        array: Array,
        at: Reg,
        value: Reg,
    },

    // On `val` in arrays that grow.
    GrowLoad {
        f: LoadWritten,
        d: Reg,
        array: Array,
        at: Reg,
    },
    GrowStore {
        f: Store,
        array: Array,
        at: Reg,
        value: Reg,
    },

    // Conversions between the files.
    ValToInt {
        f: ToInt,
        d: Reg,
        a: Reg,
    },
    IntToVal {
        f: OfInt,
        d: Reg,
        a: Reg,
    },

    // On `val` of the most common dtypes.
    AddF64 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    SubF64 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    MulF64 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    LoadF64 {
        d: Reg,
        array: Array,
        at: At,
    },
    StoreF64 {
        array: Array,
        at: At,
        value: Reg,
    },
    ReduceAddF64 {
        array: Array,
        at: At,
        value: Reg,
    },
    AddF32 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    SubF32 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    MulF32 {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    LoadF32 {
        d: Reg,
        array: Array,
        at: At,
    },
    StoreF32 {
        array: Array,
        at: At,
        value: Reg,
    },
    ReduceAddF32 {
        array: Array,
        at: At,
        value: Reg,
    },

    // Jumps.
    Jump {
        to: Target,
    },
    JumpIf {
        a: Reg,
        to: Target,
    },
    JumpUnless {
        a: Reg,
        to: Target,
    },
    JumpEq {
        a: Reg,
        b: Reg,
        to: Target,
    },
    JumpNe {
        a: Reg,
        b: Reg,
        to: Target,
    },
    JumpLt {
        a: Reg,
        b: Reg,
        to: Target,
    },
    JumpLe {
        a: Reg,
        b: Reg,
        to: Target,
    },
    /// Counts an iteration of a `while`.
    Round,
    /// Counts an iteration of a `for`, adds one to `a`, and jumps if it is still less than `b`.
    Next {
        a: Reg,
        b: Reg,
        to: Target,
    },
    End,
}

impl Op {
    /// Loads an index of a kind.
    pub(super) fn load(kind: IndexKind, d: Reg, array: Array, at: At) -> Self {
        match kind {
            IndexKind::U2 => Op::LoadU2 { d, array, at },
            IndexKind::U8 => Op::LoadU8 { d, array, at },
            IndexKind::U16 => Op::LoadU16 { d, array, at },
            IndexKind::U32 => Op::LoadU32 { d, array, at },
            IndexKind::U64 => Op::LoadU64 { d, array, at },
            IndexKind::I8 => Op::LoadI8 { d, array, at },
            IndexKind::I16 => Op::LoadI16 { d, array, at },
            IndexKind::I32 => Op::LoadI32 { d, array, at },
            IndexKind::I64 => Op::LoadI64 { d, array, at },
        }
    }

    /// The target of a jump.
    pub(super) fn target_mut(&mut self) -> Option<&mut Target> {
        match self {
            Op::Jump { to }
            | Op::JumpIf { to, .. }
            | Op::JumpUnless { to, .. }
            | Op::JumpEq { to, .. }
            | Op::JumpNe { to, .. }
            | Op::JumpLt { to, .. }
            | Op::JumpLe { to, .. }
            | Op::Next { to, .. } => Some(to),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<Op>() <= 16);
