//! The oracle: a plain evaluation at every coordinate, with which every back end is compared.
//!
//! Nothing here plans or walks a level: operands are read element by element, and the expression is
//! evaluated at every combination of its indices. There is one exception. In a reduction over many
//! coordinates at which no operand stores an element, the term has one value at all of them. It is
//! evaluated once, and combined with itself by doubling; unlike a multiplication, that needs no count,
//! which might overflow.

use std::collections::{BTreeSet, HashMap};

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{Builder, Elem, Expr, Ty};
use ust_level_api::scalar::Complex;
use ust_level_api::{Dtype, Scalar, with_dtype};

use super::Einsum;
use crate::error::Error;
use crate::expr::term::{Assignment, Term};
use crate::expr::{OpError, Operator};
use crate::storage::{Tensor, Values};
use crate::tuning::ORACLE_PLAIN_COORDINATES;

/// Number of evaluations that [`evaluate`] takes, at most.
///
/// # Errors
/// As [`evaluate`].
pub fn cost(call: &Einsum) -> Result<u64, OpError> {
    let (assignment, tensors) = call.checked()?;
    let each = assignment.indices.iter().enumerate().map(|(v, index)| {
        let uses = assignment.uses.iter().filter(|one| one.indices.contains(&v));
        let stored = uses.fold(1 + ORACLE_PLAIN_COORDINATES, |sum, one| {
            sum.saturating_add(tensors[one.operand].nse())
        });
        let is_free = assignment.result.indices.contains(&v);
        let is_free = is_free || assignment.body.coordinates().contains(&v);
        let visited = if is_free { index.extent } else { index.extent.min(stored) };
        visited.max(1) as u64
    });
    Ok(each.fold(1, u64::saturating_mul))
}

/// Evaluates an expression at every coordinate, one after another. The result is dense. For an update,
/// it is the right-hand side, without the old value.
///
/// Cost: about a microsecond for each combination of coordinates. Of an index that is reduced over, only
/// coordinates at which an operand stores an element count.
///
/// # Errors
/// As [`Einsum::run`].
pub fn evaluate(call: &Einsum) -> Result<Tensor, OpError> {
    let (assignment, tensors) = call.checked()?;
    Ok(evaluate_assignment(&assignment, &tensors)?)
}

/// As [`evaluate`], but an unstored zero annihilates: times infinity, or divided by 0, it is 0. Where the
/// two evaluations differ, the result depends on which elements the operands store, padding included, and
/// back ends may return either.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_stored(call: &Einsum) -> Result<Tensor, OpError> {
    let (assignment, tensors) = call.checked()?;
    Ok(evaluate_as(&assignment, &tensors, true)?)
}

/// Evaluates a checked assignment at every coordinate. `tensors` are its operands, in order.
///
/// # Errors
/// [`Error::TooLarge`] for a dense result that is implausible.
pub fn evaluate_assignment(assignment: &Assignment, tensors: &[Tensor]) -> Result<Tensor, Error> {
    evaluate_as(assignment, tensors, false)
}

fn evaluate_as(
    assignment: &Assignment,
    tensors: &[Tensor],
    annihilates: bool,
) -> Result<Tensor, Error> {
    let operands: Vec<Operand> = tensors
        .iter()
        .zip(&assignment.operands)
        .map(|(tensor, input)| Operand::new(tensor, input.fill))
        .collect::<Result<_, _>>()?;
    let mut stored = vec![BTreeSet::new(); assignment.indices.len()];
    for one in &assignment.uses {
        for coordinates in operands[one.operand].entries.keys() {
            for (&v, &at) in one.indices.iter().zip(coordinates) {
                stored[v].insert(at);
            }
        }
    }
    let mut oracle = Oracle { assignment, operands, stored, annihilates, programs: HashMap::new() };
    let result = &assignment.result;
    let shape: Vec<usize> = result.indices.iter().map(|&v| assignment.indices[v].extent).collect();
    let mut values = Vec::new();
    let mut at = vec![0; assignment.indices.len()];
    let mut each = Vec::new();
    everywhere(assignment, &result.indices, &mut at, &mut |at| each.push(at.to_vec()));
    for mut at in each {
        let outside = match &assignment.body {
            Term::Reduce { op, .. } => op.identity(result.dtype).unwrap_or(result.dtype.zero()),
            _ => result.zero.unwrap_or(result.dtype.zero()),
        };
        let value = match &assignment.mask {
            Some(mask) => {
                let stored = oracle.is_stored(mask.at, &at)
                    && (mask.structural || !is_zero(oracle.element(mask.at, &at)));
                match stored == mask.complement {
                    true => outside,
                    false => oracle.value(&assignment.body, &mut at)?,
                }
            }
            None => oracle.value(&assignment.body, &mut at)?,
        };
        values.push(oracle.cast(value, result.dtype)?);
    }
    let stored = with_dtype!(result.dtype, T => {
        let typed: Vec<T> = values.iter().filter_map(|s| <T as ust_level_api::Element>::from_scalar(*s)).collect();
        Values::from(typed)
    });
    let format = ust_format::Format::full(shape.len())?;
    Tensor::from_parts(
        &format,
        &shape,
        crate::storage::Parts::new(vec![Vec::new(); format.level_count()], stored),
    )
}

/// Whether two results are equal up to rounding: relative to the larger, or absolutely near zero.
#[must_use]
pub fn close(a: Scalar, b: Scalar) -> bool {
    let tolerance = match a.dtype() {
        Dtype::F16 => 2e-2,
        Dtype::Bf16 => 1e-1,
        Dtype::F32 | Dtype::Complex64 => 2e-4,
        Dtype::F64 | Dtype::Complex128 => 1e-9,
        _ => return a.same(&b),
    };
    let parts = |s: Scalar| match s.cast(Dtype::Complex128) {
        Ok(Scalar::Complex128(Complex { re, im })) => (re, im),
        _ => (f64::NAN, f64::NAN),
    };
    let near = |a: f64, b: f64| {
        a == b
            || (a.is_nan() && b.is_nan())
            || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
    };
    let ((ar, ai), (br, bi)) = (parts(a), parts(b));
    a.dtype() == b.dtype() && near(ar, br) && near(ai, bi)
}

fn is_zero(value: Scalar) -> bool {
    value.same(&value.dtype().zero())
}

/// The elements of an operand.
struct Operand {
    entries: HashMap<Vec<usize>, Scalar>,
    fill: Scalar,
}

impl Operand {
    fn new(tensor: &Tensor, fill: Scalar) -> Result<Self, Error> {
        let coo = tensor.to_coo()?;
        let mut entries = HashMap::new();
        for at in 0..coo.len() {
            let coordinates = coo.coordinates(at);
            let value = tensor.get(&coordinates)?;
            entries.insert(coordinates, value);
        }
        Ok(Self { entries, fill })
    }
}

struct Oracle<'a> {
    assignment: &'a Assignment,
    operands: Vec<Operand>,
    /// For each index, the coordinates at which an operand stores an element.
    stored: Vec<BTreeSet<usize>>,
    /// Whether an unstored zero annihilates.
    annihilates: bool,
    programs: HashMap<(String, Vec<Dtype>, Dtype), Program>,
}

impl Oracle<'_> {
    fn coordinates(&self, at: usize, index: &[usize]) -> (usize, Vec<usize>) {
        let one = &self.assignment.uses[at];
        (one.operand, one.indices.iter().map(|&v| index[v]).collect())
    }

    fn is_stored(&self, at: usize, index: &[usize]) -> bool {
        let (operand, coordinates) = self.coordinates(at, index);
        self.operands[operand].entries.contains_key(&coordinates)
    }

    /// Whether a term depends only on unstored elements and constants.
    fn is_absent(&self, term: &Term, index: &[usize]) -> bool {
        match term {
            Term::Const(_) | Term::Places(..) | Term::Present(_) => true,
            Term::Index(_) => false,
            Term::Element(at) => !self.is_stored(*at, index),
            Term::Call { args, .. } => args.iter().all(|arg| self.is_absent(arg, index)),
            Term::Stored { arg, .. } => self.is_absent(arg, index),
            Term::Reduce { .. } => false,
        }
    }

    fn element(&self, at: usize, index: &[usize]) -> Scalar {
        let (operand, coordinates) = self.coordinates(at, index);
        let operand = &self.operands[operand];
        operand.entries.get(&coordinates).copied().unwrap_or(operand.fill)
    }

    fn value(&mut self, term: &Term, index: &mut Vec<usize>) -> Result<Scalar, Error> {
        Ok(match term {
            Term::Const(value) => *value,
            Term::Element(at) => self.element(*at, index),
            Term::Present(at) => Scalar::Bool(self.is_stored(*at, index)),
            Term::Index(v) => Scalar::I64(index[*v] as i64),
            Term::Places(..) => unreachable!("places are counted by plans alone"),
            Term::Call { op, args, dtype } => {
                let values: Vec<Scalar> =
                    args.iter().map(|arg| self.value(arg, index)).collect::<Result<_, _>>()?;
                let mut each = args.iter().zip(&values).enumerate();
                let nothing = each.find_map(|(at, (arg, &value))| {
                    let absent = self.annihilates && self.is_absent(arg, index);
                    op.annihilates(at, value, *dtype).filter(|_| absent)
                });
                nothing.map_or_else(|| self.apply(op, &values, *dtype), Ok)?
            }
            Term::Stored { op, arg, dtype } => {
                let value = self.value(arg, index)?;
                match arg.reduces() || arg.uses().iter().any(|&at| self.is_stored(at, index)) {
                    true => self.apply(op, &[value], *dtype)?,
                    false => self.cast(value, *dtype)?,
                }
            }
            Term::Reduce { op, indices, body } => {
                let of = self.assignment.dtype(body);
                let dtype = op.accumulator(of);
                let identity = op.identity(dtype).unwrap_or(dtype.zero());
                let sum =
                    self.combined(&(op, dtype, body), indices, identity, &mut index.clone())?;
                self.cast(sum, of)?
            }
        })
    }

    /// The value combined so far, combined further with a body at all values of some indices.
    fn combined(
        &mut self,
        reduction: &(&Operator, Dtype, &Term),
        indices: &[usize],
        mut sum: Scalar,
        index: &mut Vec<usize>,
    ) -> Result<Scalar, Error> {
        let &(op, dtype, body) = reduction;
        let Some((&v, rest)) = indices.split_first() else {
            let value = self.value(body, index)?;
            let value = self.cast(value, dtype)?;
            return self.apply(op, &[sum, value], dtype);
        };
        let extent = self.assignment.indices[v].extent;
        let alike = match body.coordinates().contains(&v) {
            true => 0,
            false => extent - self.stored[v].len(),
        };
        let each: Vec<usize> = match alike > ORACLE_PLAIN_COORDINATES {
            true => self.stored[v].iter().copied().collect(),
            false => (0..extent).collect(),
        };
        for at in &each {
            index[v] = *at;
            sum = self.combined(reduction, rest, sum, index)?;
        }
        if each.len() < extent {
            index[v] = (0..extent).find(|at| !self.stored[v].contains(at)).unwrap_or_default();
            let identity = op.identity(dtype).unwrap_or(dtype.zero());
            let one = self.combined(reduction, rest, identity, index)?;
            let all = self.repeated(op, one, alike)?;
            sum = self.apply(op, &[sum, all], dtype)?;
        }
        Ok(sum)
    }

    /// A value combined with itself `times` times. `times` is at least 1.
    fn repeated(&mut self, op: &Operator, value: Scalar, times: usize) -> Result<Scalar, Error> {
        if times == 1 {
            return Ok(value);
        }
        let half = self.repeated(op, value, times / 2)?;
        let both = self.apply(op, &[half, half], value.dtype())?;
        match times % 2 {
            0 => Ok(both),
            _ => self.apply(op, &[both, value], value.dtype()),
        }
    }

    fn cast(&mut self, value: Scalar, to: Dtype) -> Result<Scalar, Error> {
        match value.dtype() == to {
            true => Ok(value),
            false => self.apply(&Operator::Cast, &[value], to),
        }
    }

    fn apply(&mut self, op: &Operator, args: &[Scalar], to: Dtype) -> Result<Scalar, Error> {
        let dtypes: Vec<Dtype> = args.iter().map(Scalar::dtype).collect();
        let key = (op.key(), dtypes.clone(), to);
        if !self.programs.contains_key(&key) {
            let mut b = Builder::new("apply");
            let params: Vec<Expr> = dtypes
                .iter()
                .enumerate()
                .map(|(at, &dtype)| b.param(&format!("a{at}"), Ty::Val(dtype)))
                .collect();
            let out = b.array("out", Elem::Value(to), true);
            let of = dtypes.last().copied().unwrap_or(to);
            b.store(out, Expr::Int(0), op.emit(params, of, to));
            self.programs.insert(key.clone(), Program::compile(&b.finish())?);
        }
        let params: Vec<Param> = args.iter().map(|&a| Param::Val(a)).collect();
        let mut out = Values::filled(to.zero(), 1);
        with_dtype!(to, T => {
            let out = out.typed_mut::<T>()?;
            self.programs[&key].run(&params, &mut [Memory::values_mut(out)])?;
        });
        Ok(out.get(0).expect("one element"))
    }
}

/// Calls `f` at every combination of some indices.
fn everywhere(
    assignment: &Assignment,
    indices: &[usize],
    at: &mut Vec<usize>,
    f: &mut dyn FnMut(&[usize]),
) {
    let Some((&v, rest)) = indices.split_first() else { return f(at) };
    for value in 0..assignment.indices[v].extent {
        at[v] = value;
        everywhere(assignment, rest, at, f);
    }
}
