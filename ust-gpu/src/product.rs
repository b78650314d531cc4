//! What back ends of NVIDIA's libraries have in common: which plans are sums of products, and dense operands.

use ust_cuda::sparse::{Number, Order};
use ust_engine::Dtype;
use ust_engine::ops::{Operator, term::Term};
use ust_engine::provider::product::in_full;
use ust_engine::provider::{Access, Plan};

/// Why a library does not have a plan.
pub(crate) type Why = &'static str;

/// A dense operand, or the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    /// The number of the operand. Of no meaning for the result.
    pub(crate) operand: usize,
    /// The index variables of rows and columns. A vector has no second one: it is one column.
    pub(crate) indices: [Option<usize>; 2],
    pub(crate) order: Order,
}

/// Whether the term is the product of all operands.
pub(crate) fn is_product(plan: &Plan<'_>) -> bool {
    is_product_in(plan, None)
}

/// Whether the term is the product of all operands, each cast to a dtype before.
pub(crate) fn is_product_in(plan: &Plan<'_>, dtype: Option<Dtype>) -> bool {
    fn collect(term: &Term, to: Option<Dtype>, found: &mut Vec<usize>) -> bool {
        match (term, to) {
            (Term::Element(at), None) => {
                found.push(*at);
                true
            }
            (Term::Call { op: Operator::Cast, args, dtype }, Some(to)) => {
                *dtype == to && args.iter().all(|arg| collect(arg, None, found))
            }
            (Term::Call { op: Operator::Mul, args, .. }, _) => {
                args.iter().all(|arg| collect(arg, to, found))
            }
            _ => false,
        }
    }
    let mut found = Vec::new();
    let all = collect(plan.body, dtype, &mut found);
    found.sort_unstable();
    all && found.into_iter().eq(0..plan.operands.len())
}

/// The type of the operands' numbers, and of the result's.
pub(crate) fn numbers(plan: &Plan<'_>) -> Result<[Number; 2], Why> {
    let number = |dtype: Dtype| match dtype {
        Dtype::F16 => Ok(Number::F16),
        Dtype::Bf16 => Ok(Number::Bf16),
        Dtype::F32 => Ok(Number::F32),
        Dtype::F64 => Ok(Number::F64),
        Dtype::Complex64 => Ok(Number::Complex64),
        Dtype::Complex128 => Ok(Number::Complex128),
        _ => Err("it takes floating-point and complex numbers"),
    };
    let (own, result) = (plan.operands[0].dtype, plan.result.dtype);
    let numbers = [number(own)?, number(result)?];
    let summed = is_narrow(numbers[0]) && numbers[1] == Number::F32;
    match are_plain(plan) && (own == result || summed) {
        true => Ok(numbers),
        false => Err(PLAIN),
    }
}

pub(crate) const PLAIN: Why = "it takes tensors of one dtype, with fill value 0";

/// Whether all operands have one dtype, and all fill values are 0.
pub(crate) fn are_plain(plan: &Plan<'_>) -> bool {
    let is_zero = |of: &Access<'_>| of.fill.same(&of.dtype.zero());
    let plain = |of: &Access<'_>| of.dtype == plan.operands[0].dtype && is_zero(of);
    plan.operands.iter().all(plain) && is_zero(&plan.result)
}

pub(crate) fn is_narrow(number: Number) -> bool {
    matches!(number, Number::F16 | Number::Bf16)
}

/// A tensor in full as a matrix with these index variables.
pub(crate) fn full(
    access: &Access<'_>,
    operand: usize,
    rows: usize,
    columns: Option<usize>,
) -> Option<Full> {
    let levels = in_full(access)?;
    let order = match (&levels[..], columns) {
        (&[one], None) if one == rows => Order::Columns,
        (&[first, second], Some(columns)) if [first, second] == [rows, columns] => Order::Rows,
        (&[first, second], Some(columns)) if [first, second] == [columns, rows] => Order::Columns,
        _ => return None,
    };
    Some(Full { operand, indices: [Some(rows), columns], order })
}
