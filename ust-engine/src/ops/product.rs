//! The loops of a product: one factor is walked, the others are looked up.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{ArrayId, BinOp, Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Dtype, with_dtype};

use super::{Access, Expression, OpError};
use crate::error::Error;
use crate::format::Format;
use crate::lower::nest::{Operand, Reach};
use crate::tensor::{Tensor, Values};

/// A result, and what it took.
#[derive(Debug)]
pub struct Evaluation {
    /// The result, dense and row-major.
    pub result: Tensor,
    /// Time to convert operands, to lower and to compile.
    pub prepared_in: Duration,
    /// Time to run.
    pub run_in: Duration,
    /// The code that ran.
    pub function: Function,
}

/// Evaluates a product of tensors, given by name.
///
/// The first factor with the most dimensions that is not stored in full is walked in its own
/// format; every other factor is looked up in a dense copy. The dtype of the result is that of the
/// factors where they agree, else the widest of their kind. Sums of f16 and bf16 are formed in f32.
///
/// # Errors
/// [`OpError::Text`] points at a factor that was not given, has another rank, or whose extents
/// contradict another's; [`OpError::Tensor`] where a conversion or the dense result fails.
pub fn evaluate(
    expression: &Expression,
    tensors: &HashMap<String, Tensor>,
) -> Result<Evaluation, OpError> {
    let start = Instant::now();
    let factors = lookup(expression, tensors)?;
    let extents = extents(expression, &factors)?;
    let dtype = common_dtype(factors.iter().map(|t| t.dtype()));
    let summed_in = match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        other => other,
    };
    let walked = pick(&factors);
    let operands: Vec<Tensor> = factors
        .iter()
        .enumerate()
        .map(|(at, tensor)| {
            let tensor = tensor.cast(summed_in)?;
            let skips_zeros = tensor.fill().same(&summed_in.zero());
            match at == walked && skips_zeros {
                true => Ok(tensor),
                false => Ok(tensor.convert(&row_major(tensor.rank())?)?),
            }
        })
        .collect::<Result<_, Error>>()?;

    let (function, walked_operand, size_order) =
        lower(expression, &operands, walked, summed_in, &extents);
    let program = Program::compile(&function).map_err(Error::from)?;
    let shape: Vec<usize> = expression.result.indices.iter().map(|i| extents[i]).collect();
    let format = row_major(shape.len())?;
    let zeros = Tensor::zeros(&shape, &format, summed_in)?;
    let prepared_in = start.elapsed();

    let mut values = Values::from(&zeros);
    drop(zeros);
    let start = Instant::now();
    let mut params = walked_operand.size_arguments(&operands[walked]);
    params.extend(size_order.iter().map(|index| extents[index] as i64));
    let params: Vec<Param> = params.into_iter().map(Param::Int).collect();
    with_dtype!(summed_in, T => {
        let mut memory: Vec<Memory<'_>> =
            operands[walked].levels().iter().flat_map(|l| &l.0).map(Memory::Index).collect();
        for operand in &operands {
            memory.push(Memory::values(operand.values().typed::<T>()?));
        }
        memory.push(Memory::values_mut(values.typed_mut::<T>()?));
        program.run(&params, &mut memory).map_err(Error::from)?;
    });
    let run_in = start.elapsed();
    let parts = crate::tensor::Parts::new(vec![Vec::new(); format.level_count()], values);
    let result = Tensor::from_parts(&format, &shape, parts)?.cast(dtype)?;
    Ok(Evaluation { result, prepared_in, run_in, function })
}

fn lookup<'a>(
    expression: &Expression,
    tensors: &'a HashMap<String, Tensor>,
) -> Result<Vec<&'a Tensor>, OpError> {
    let find = |access: &Access| {
        let Some(tensor) = tensors.get(&access.name) else {
            let mut known: Vec<&str> = tensors.keys().map(String::as_str).collect();
            known.sort_unstable();
            let message = format!("no tensor `{}` was given", access.name);
            let help = match known.is_empty() {
                true => "give it as NAME=TENSOR".to_owned(),
                false => format!("given: {}", known.join(", ")),
            };
            return Err(expression.error(&access.span, message, Some(help)));
        };
        if tensor.rank() != access.indices.len() {
            let message = format!(
                "`{}` has {} dimensions, and {} indices stand here",
                access.name,
                tensor.rank(),
                access.indices.len()
            );
            return Err(expression.error(&access.span, message, None));
        }
        Ok(tensor)
    };
    expression.factors.iter().map(find).collect()
}

/// The extent of each index, the same in every factor.
fn extents(
    expression: &Expression,
    factors: &[&Tensor],
) -> Result<HashMap<String, usize>, OpError> {
    let mut extents: HashMap<String, (usize, &str)> = HashMap::new();
    for (access, tensor) in expression.factors.iter().zip(factors) {
        for (index, &extent) in access.indices.iter().zip(tensor.shape()) {
            let (known, owner) = *extents.entry(index.clone()).or_insert((extent, &access.name));
            if known != extent {
                let message = format!(
                    "the index `{index}` has extent {extent} in `{}`, and {known} in `{owner}`",
                    access.name
                );
                return Err(expression.error(&access.span, message, None));
            }
        }
    }
    Ok(extents.into_iter().map(|(index, (extent, _))| (index, extent)).collect())
}

/// The factor to walk.
fn pick(factors: &[&Tensor]) -> usize {
    let weight = |tensor: &Tensor| (tensor.format().tail() > 0, tensor.rank());
    let mut best = 0;
    for at in 1..factors.len() {
        if weight(factors[at]) > weight(factors[best]) {
            best = at;
        }
    }
    best
}

/// The dtype in which values of several dtypes meet.
fn common_dtype(mut dtypes: impl Iterator<Item = Dtype>) -> Dtype {
    let first = dtypes.next().unwrap_or(Dtype::F64);
    dtypes.fold(first, |a, b| match () {
        () if a == b => a,
        () if a.is_complex() || b.is_complex() => Dtype::Complex128,
        () if a.is_float() || b.is_float() => Dtype::F64,
        () => Dtype::I64,
    })
}

fn row_major(rank: usize) -> Result<Format, Error> {
    let name = if rank == 0 { "Scalar" } else { "Dense" };
    Ok(Format::resolve(name, Some(rank))?)
}

/// Emits the loops. Gives the function, the walked operand, and the indices whose extents follow
/// its sizes among the parameters.
fn lower(
    expression: &Expression,
    operands: &[Tensor],
    walked: usize,
    dtype: Dtype,
    extents: &HashMap<String, usize>,
) -> (Function, Operand, Vec<String>) {
    let mut b = Builder::new("product");
    let access = &expression.factors[walked];
    let operand = Operand::declare(&mut b, &access.name, &operands[walked]);
    let mut order: Vec<String> = extents.keys().cloned().collect();
    order.sort();
    let sizes: HashMap<String, Expr> = order
        .iter()
        .map(|index| (index.clone(), b.param(&format!("n_{index}"), Ty::Int)))
        .collect();
    let values: Vec<ArrayId> = expression
        .factors
        .iter()
        .map(|f| b.array(&format!("{}_val", f.name), Elem::Value(dtype), false))
        .collect();
    let result = b.array(&format!("{}_val", expression.result.name), Elem::Value(dtype), true);
    let free: Vec<String> = order.iter().filter(|i| !access.indices.contains(i)).cloned().collect();
    let nest = Nest { expression, walked, values, result, sizes, free };
    operand.walk(&mut b, Reach::Inside, &mut |b, leaf| {
        let mut bound: HashMap<&str, Expr> = HashMap::new();
        let mut same = Expr::Bool(true);
        for (index, coordinate) in access.indices.iter().zip(&leaf.dims) {
            match bound.get(index.as_str()) {
                Some(before) => same = same.and(before.clone().equals(coordinate.clone())),
                None => drop(bound.insert(index, coordinate.clone())),
            }
        }
        b.if_(same, |b| nest.inner(b, bound, 0, &leaf.value()));
    });
    (b.finish(), operand, order)
}

struct Nest<'a> {
    expression: &'a Expression,
    walked: usize,
    values: Vec<ArrayId>,
    result: ArrayId,
    sizes: HashMap<String, Expr>,
    /// Indices that the walked factor does not have.
    free: Vec<String>,
}

impl Nest<'_> {
    fn inner<'b>(
        &'b self,
        b: &mut Builder,
        bound: HashMap<&'b str, Expr>,
        depth: usize,
        walked_pos: &Expr,
    ) {
        if let Some(index) = self.free.get(depth) {
            return b.for_(index, Expr::Int(0), self.sizes[index].clone(), |b, coordinate| {
                let mut bound = bound;
                bound.insert(index, coordinate);
                self.inner(b, bound, depth + 1, walked_pos);
            });
        }
        let place = |access: &Access| {
            access.indices.iter().fold(Expr::Int(0), |place, index| {
                place * self.sizes[index].clone() + bound[index.as_str()].clone()
            })
        };
        let mut product: Option<Expr> = None;
        for (at, factor) in self.expression.factors.iter().enumerate() {
            let pos = if at == self.walked { walked_pos.clone() } else { place(factor) };
            let value = b.load(self.values[at], pos);
            product = Some(match product {
                None => value,
                Some(before) => before * value,
            });
        }
        let product = product.expect("an expression has a factor");
        b.reduce(BinOp::Add, self.result, place(&self.expression.result), product);
    }
}
