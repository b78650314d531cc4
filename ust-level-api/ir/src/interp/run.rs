//! The loop that executes instructions.

use super::bind::{self, Read, Written};
use super::code::{At, Op};
use super::error::Fault;
use super::memory::{Memory, Param, ValuesMut, ValuesRef};
use super::number::{Number, Raw};
use super::{Limits, Program, RunError, index};
use crate::{ArrayDecl, Elem, floor_div, floor_mod};

impl Program {
    /// Executes the function: `params` in the order of its parameters, `memory` in the order of its
    /// arrays.
    ///
    /// # Errors
    /// [`RunError`]; earlier stores are not undone.
    pub fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), RunError> {
        self.run_with(params, memory, Limits::default())
    }

    /// [`Program::run`] with limits, for functions that may not terminate.
    ///
    /// # Errors
    /// [`RunError`]; earlier stores are not undone.
    pub fn run_with(
        &self,
        params: &[Param],
        memory: &mut [Memory<'_>],
        limits: Limits,
    ) -> Result<(), RunError> {
        self.execute::<false>(params, memory, limits).map(|_| ())
    }

    /// Runs. If `COUNT` is set, returns the number of executed instructions.
    pub(super) fn execute<const COUNT: bool>(
        &self,
        params: &[Param],
        memory: &mut [Memory<'_>],
        limits: Limits,
    ) -> Result<u64, RunError> {
        let lengths: Vec<usize> = memory.iter().map(Memory::len).collect();
        let mut machine = Machine {
            ints: self.ints.clone(),
            vals: self.vals.clone(),
            arrays: bind::bind(self, memory)?,
            steps: limits.max_steps,
            executed: 0,
        };
        bind::set_params(self, params, &mut machine.ints, &mut machine.vals)?;
        for &(reg, array) in &self.lengths {
            // The length of a slice fits an i64.
            machine.ints[reg as usize] = lengths[array as usize] as i64;
        }
        let (at, fault) = match machine.run::<COUNT>(&self.code) {
            Ok(()) => return Ok(machine.executed),
            Err(stop) => stop,
        };
        Err(match fault {
            Fault::Steps => {
                RunError::StepLimit { function: self.name.clone(), max_steps: limits.max_steps }
            }
            Fault::Zero => {
                let found = self.divisions.binary_search_by_key(&at, |(place, _)| *place);
                let expr =
                    found.map_or_else(|_| self.name.clone(), |i| self.divisions[i].1.clone());
                RunError::DivisionByZero { expr }
            }
            Fault::Bounds => {
                let (array, index) = machine.access(self.code[at]);
                let array = array as usize;
                let name = self.arrays[array].name.clone();
                let len = match &machine.arrays.written[array] {
                    Written::Grow(grows) => grows.len(),
                    _ => lengths[array],
                };
                RunError::OutOfBounds { array: name, index, len }
            }
            Fault::Fit(value) => {
                let (array, index) = machine.access(self.code[at]);
                let ArrayDecl { name, elem, .. } = &self.arrays[array as usize];
                let Elem::Index(kind) = *elem else {
                    unreachable!("only indices are refused by their size")
                };
                RunError::DoesNotFit { array: name.clone(), index, value, kind }
            }
            Fault::Memory => {
                let (array, len) = machine.access(self.code[at]);
                let array = self.arrays[array as usize].name.clone();
                RunError::OutOfMemory { array, len }
            }
        })
    }
}

struct Machine<'a> {
    ints: Vec<i64>,
    vals: Vec<Raw>,
    arrays: bind::Arrays<'a>,
    steps: u64,
    executed: u64,
}

/// An index as `usize`. A negative one becomes larger than the length of any slice.
#[inline]
fn place(index: i64) -> usize {
    usize::try_from(index as u64).unwrap_or(usize::MAX)
}

impl Machine<'_> {
    /// The array and the index of a memory access, or the length of a reservation.
    fn access(&self, op: Op) -> (u16, i64) {
        let (array, at) = match op {
            Op::LoadU2 { array, at, .. }
            | Op::LoadU8 { array, at, .. }
            | Op::LoadU16 { array, at, .. }
            | Op::LoadU32 { array, at, .. }
            | Op::LoadU64 { array, at, .. }
            | Op::LoadI8 { array, at, .. }
            | Op::LoadI16 { array, at, .. }
            | Op::LoadI32 { array, at, .. }
            | Op::LoadI64 { array, at, .. }
            | Op::LoadWritten { array, at, .. }
            | Op::Store { array, at, .. }
            | Op::ReduceAdd { array, at, .. }
            | Op::ReduceMul { array, at, .. }
            | Op::ReduceMin { array, at, .. }
            | Op::ReduceMax { array, at, .. }
            | Op::ReduceBitAnd { array, at, .. }
            | Op::LoadF64 { array, at, .. }
            | Op::StoreF64 { array, at, .. }
            | Op::ReduceAddF64 { array, at, .. }
            | Op::LoadF32 { array, at, .. }
            | Op::StoreF32 { array, at, .. }
            | Op::ReduceAddF32 { array, at, .. } => (array, at),
            Op::ValLoad { array, at, .. }
            | Op::ValLoadWritten { array, at, .. }
            | Op::ValStore { array, at, .. }
            | Op::IndexLoad { array, at, .. }
            | Op::IndexStore { array, at, .. }
            | Op::GrowLoad { array, at, .. }
            | Op::GrowStore { array, at, .. }
            | Op::Reserve { array, len: at, .. } => (array, At { reg: at, offset: 0 }),
            // The first index out of bounds.
            Op::Sort { array, lo, hi } => {
                let at = if self.ints[lo as usize] < 0 { lo } else { hi };
                let offset = if at == hi { -1 } else { 0 };
                (array, At { reg: at, offset })
            }
            _ => unreachable!("only instructions that access memory are out of bounds"),
        };
        (array, self.ints[at.reg as usize].wrapping_add(at.offset.into()))
    }

    /// Executes until the end, or until an instruction fails. The error is its number and its
    /// fault.
    // One macro serves all kinds of indices, so some casts are not needed for every kind.
    #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
    fn run<const COUNT: bool>(&mut self, code: &[Op]) -> Result<(), (usize, Fault)> {
        let ints = self.ints.as_mut_slice();
        let vals = self.vals.as_mut_slice();
        let read = self.arrays.read.as_slice();
        let written = self.arrays.written.as_mut_slice();
        let mut steps = self.steps;
        let mut executed = 0_u64;
        let mut pc = 0;

        macro_rules! int {
            ($reg:expr) => {
                ints[$reg as usize]
            };
        }
        macro_rules! val {
            ($reg:expr) => {
                vals[$reg as usize]
            };
        }
        // The failing instruction is the one before `pc`.
        macro_rules! or {
            ($option:expr, $fault:ident) => {
                match $option {
                    Some(value) => value,
                    None => return Err((pc - 1, Fault::$fault)),
                }
            };
        }
        macro_rules! place {
            ($at:expr) => {
                place(int!($at.reg).wrapping_add($at.offset.into()))
            };
        }
        macro_rules! binary {
            ($d:expr, $a:expr, $b:expr, $f:expr) => {
                int!($d) = $f(int!($a), int!($b))
            };
        }
        macro_rules! jump {
            ($holds:expr, $to:expr) => {
                if $holds {
                    pc = $to as usize;
                }
            };
        }
        macro_rules! round {
            () => {
                steps = or!(steps.checked_sub(1), Steps)
            };
        }
        macro_rules! load {
            ($kind:ident, $d:expr, $array:expr, $at:expr) => {{
                let element = match &read[$array as usize] {
                    Read::$kind(slice) => slice.get(place!($at)),
                    _ => None,
                };
                int!($d) = *or!(element, Bounds) as i64;
            }};
        }
        macro_rules! element {
            ($array:expr, $at:expr) => {{
                let at = place!($at);
                let element = match &mut written[$array as usize] {
                    Written::Indices(slice) => slice.get_mut(at),
                    _ => None,
                };
                or!(element, Bounds)
            }};
        }
        macro_rules! values {
            ($array:expr) => {
                match &mut written[$array as usize] {
                    Written::Values(values) => Some(values),
                    _ => None,
                }
            };
        }
        macro_rules! succeed {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(fault) => return Err((pc - 1, fault)),
                }
            };
        }
        macro_rules! grown {
            ($array:expr, |$values:ident| $access:expr) => {
                match &mut written[$array as usize] {
                    Written::Grow(grows) => match &mut grows.memory() {
                        Memory::ValuesMut($values) => $access,
                        _ => None,
                    },
                    _ => None,
                }
            };
        }
        macro_rules! number {
            ($ty:ty, $reg:expr) => {
                <$ty>::from_raw(val!($reg))
            };
        }
        macro_rules! load_number {
            ($variant:ident, $d:expr, $array:expr, $at:expr) => {{
                let element = match &read[$array as usize] {
                    Read::Values(ValuesRef::$variant(slice)) => slice.get(place!($at)),
                    _ => None,
                };
                val!($d) = or!(element, Bounds).to_raw();
            }};
        }
        macro_rules! element_number {
            ($variant:ident, $array:expr, $at:expr) => {{
                let at = place!($at);
                let element = match &mut written[$array as usize] {
                    Written::Values(ValuesMut::$variant(slice)) => slice.get_mut(at),
                    _ => None,
                };
                or!(element, Bounds)
            }};
        }

        loop {
            let op = code[pc];
            pc += 1;
            if COUNT {
                executed += 1;
            }
            match op {
                Op::Move { d, a } => int!(d) = int!(a),
                Op::Neg { d, a } => int!(d) = int!(a).wrapping_neg(),
                Op::Not { d, a } => int!(d) = int!(a) ^ 1,
                Op::CountOnes { d, a } => int!(d) = i64::from(int!(a).count_ones()),
                Op::TrailingZeros { d, a } => int!(d) = i64::from(int!(a).trailing_zeros()),
                Op::Add { d, a, b } => binary!(d, a, b, i64::wrapping_add),
                Op::Sub { d, a, b } => binary!(d, a, b, i64::wrapping_sub),
                Op::Mul { d, a, b } => binary!(d, a, b, i64::wrapping_mul),
                Op::FloorDiv { d, a, b } => {
                    let divisor = or!(Some(int!(b)).filter(|&b| b != 0), Zero);
                    int!(d) = floor_div(int!(a), divisor);
                }
                Op::Mod { d, a, b } => {
                    let divisor = or!(Some(int!(b)).filter(|&b| b != 0), Zero);
                    int!(d) = floor_mod(int!(a), divisor);
                }
                Op::Min { d, a, b } => binary!(d, a, b, Ord::min),
                Op::Max { d, a, b } => binary!(d, a, b, Ord::max),
                Op::BitAnd { d, a, b } => binary!(d, a, b, |a, b| a & b),
                Op::BitOr { d, a, b } => binary!(d, a, b, |a, b| a | b),
                Op::Shr { d, a, b } => binary!(d, a, b, |a, b| a >> (b & 63)),
                Op::Eq { d, a, b } => binary!(d, a, b, |a, b| i64::from(a == b)),
                Op::Ne { d, a, b } => binary!(d, a, b, |a, b| i64::from(a != b)),
                Op::Lt { d, a, b } => binary!(d, a, b, |a, b| i64::from(a < b)),
                Op::Le { d, a, b } => binary!(d, a, b, |a, b| i64::from(a <= b)),

                Op::LoadU2 { d, array, at } => {
                    let index = match &read[array as usize] {
                        Read::U2(bytes, len) => {
                            let at = place!(at);
                            let byte = bytes.get(at / 4).filter(|_| at < *len);
                            byte.map(|byte| byte >> (at % 4 * 2) & 3)
                        }
                        _ => None,
                    };
                    int!(d) = or!(index, Bounds).into();
                }
                Op::LoadU8 { d, array, at } => load!(U8, d, array, at),
                Op::LoadU16 { d, array, at } => load!(U16, d, array, at),
                Op::LoadU32 { d, array, at } => load!(U32, d, array, at),
                Op::LoadU64 { d, array, at } => load!(U64, d, array, at),
                Op::LoadI8 { d, array, at } => load!(I8, d, array, at),
                Op::LoadI16 { d, array, at } => load!(I16, d, array, at),
                Op::LoadI32 { d, array, at } => load!(I32, d, array, at),
                Op::LoadI64 { d, array, at } => load!(I64, d, array, at),
                Op::LoadWritten { d, array, at } => int!(d) = *element!(array, at),
                Op::Store { array, at, value } => *element!(array, at) = int!(value),
                Op::ReduceAdd { array, at, value } => {
                    let element = element!(array, at);
                    *element = element.wrapping_add(int!(value));
                }
                Op::ReduceMul { array, at, value } => {
                    let element = element!(array, at);
                    *element = element.wrapping_mul(int!(value));
                }
                Op::ReduceMin { array, at, value } => {
                    let element = element!(array, at);
                    *element = Ord::min(*element, int!(value));
                }
                Op::ReduceMax { array, at, value } => {
                    let element = element!(array, at);
                    *element = Ord::max(*element, int!(value));
                }
                Op::ReduceBitAnd { array, at, value } => *element!(array, at) &= int!(value),

                Op::IndexLoad { f, d, array, at } => {
                    int!(d) = or!(f(&mut written[array as usize], place(int!(at))), Bounds);
                }
                Op::IndexStore { f, array, at, value } => {
                    succeed!(f(&mut written[array as usize], place(int!(at)), int!(value)));
                }
                Op::Sort { array, lo, hi } => {
                    succeed!(index::sort(&mut written[array as usize], int!(lo), int!(hi)));
                }
                Op::Reserve { d, array, len } => {
                    int!(d) = succeed!(index::reserve(&mut written[array as usize], int!(len)));
                }

                Op::ValMove { d, a } => val!(d) = val!(a),
                Op::ValUnary { f, d, a } => val!(d) = f(val!(a)),
                Op::ValBinary { f, d, a, b } => val!(d) = f(val!(a), val!(b)),
                Op::ValDivide { f, d, a, b } => val!(d) = or!(f(val!(a), val!(b)), Zero),
                Op::ValCompare { f, d, a, b } => int!(d) = f(val!(a), val!(b)).into(),
                Op::ValLoad { f, d, array, at } => {
                    let element = match &read[array as usize] {
                        Read::Values(values) => f(values, place(int!(at))),
                        _ => None,
                    };
                    val!(d) = or!(element, Bounds);
                }
                Op::ValLoadWritten { f, d, array, at } => {
                    let at = place(int!(at));
                    val!(d) = or!(values!(array).and_then(|values| f(values, at)), Bounds);
                }
                Op::ValStore { f, array, at, value } => {
                    let (at, value) = (place(int!(at)), val!(value));
                    or!(values!(array).and_then(|values| f(values, at, value)), Bounds);
                }

                Op::GrowLoad { f, d, array, at } => {
                    let at = place(int!(at));
                    val!(d) = or!(grown!(array, |values| f(values, at)), Bounds);
                }
                Op::GrowStore { f, array, at, value } => {
                    let (at, value) = (place(int!(at)), val!(value));
                    or!(grown!(array, |values| f(values, at, value)), Bounds);
                }
                Op::ValToInt { f, d, a } => int!(d) = f(val!(a)),
                Op::IntToVal { f, d, a } => val!(d) = f(int!(a)),

                Op::AddF64 { d, a, b } => val!(d) = (number!(f64, a) + number!(f64, b)).to_raw(),
                Op::SubF64 { d, a, b } => val!(d) = (number!(f64, a) - number!(f64, b)).to_raw(),
                Op::MulF64 { d, a, b } => val!(d) = (number!(f64, a) * number!(f64, b)).to_raw(),
                Op::LoadF64 { d, array, at } => load_number!(F64, d, array, at),
                Op::StoreF64 { array, at, value } => {
                    *element_number!(F64, array, at) = number!(f64, value);
                }
                Op::ReduceAddF64 { array, at, value } => {
                    *element_number!(F64, array, at) += number!(f64, value);
                }
                Op::AddF32 { d, a, b } => val!(d) = (number!(f32, a) + number!(f32, b)).to_raw(),
                Op::SubF32 { d, a, b } => val!(d) = (number!(f32, a) - number!(f32, b)).to_raw(),
                Op::MulF32 { d, a, b } => val!(d) = (number!(f32, a) * number!(f32, b)).to_raw(),
                Op::LoadF32 { d, array, at } => load_number!(F32, d, array, at),
                Op::StoreF32 { array, at, value } => {
                    *element_number!(F32, array, at) = number!(f32, value);
                }
                Op::ReduceAddF32 { array, at, value } => {
                    *element_number!(F32, array, at) += number!(f32, value);
                }

                Op::Jump { to } => pc = to as usize,
                Op::JumpIf { a, to } => jump!(int!(a) != 0, to),
                Op::JumpUnless { a, to } => jump!(int!(a) == 0, to),
                Op::JumpEq { a, b, to } => jump!(int!(a) == int!(b), to),
                Op::JumpNe { a, b, to } => jump!(int!(a) != int!(b), to),
                Op::JumpLt { a, b, to } => jump!(int!(a) < int!(b), to),
                Op::JumpLe { a, b, to } => jump!(int!(a) <= int!(b), to),
                Op::Round => round!(),
                Op::Next { a, b, to } => {
                    round!();
                    // It is below the bound, so adding 1 does not overflow.
                    let next = int!(a) + 1;
                    int!(a) = next;
                    jump!(next < int!(b), to);
                }
                Op::End => {
                    self.executed = executed;
                    return Ok(());
                }
            }
        }
    }
}
