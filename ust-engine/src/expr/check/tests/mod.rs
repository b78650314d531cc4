//! Checked expressions, as text: `name(indices)`, numbers with their dtype, operators as
//! functions, reductions as `op{indices}(...)`, casts as `dtype(...)`.

mod dtypes;
mod errors;
mod meaning;
mod semirings;

use ust_level_api::{Dtype, Scalar};

use super::{CheckOptions, GivenInput};
use crate::expr::operator::Operator;
use crate::expr::term::{Assignment, Term};
use crate::expr::{Expression, OpError};

/// Tensors by their first letter: `A`..`D` are matrices of f64, 3 x 4, 4 x 3 where they end in
/// `t`; `x` has 4 elements, `b` has 3, `s` is a scalar. A dtype may follow after `_`.
fn given(name: &str) -> Option<(Vec<usize>, Dtype)> {
    let (letter, dtype) = name.split_once('_').unwrap_or((name, "f64"));
    let shape = match letter {
        "A" | "B" | "C" | "M" => vec![3, 4],
        "At" | "Bt" => vec![4, 3],
        "S" => vec![3, 3],
        "T" => vec![3, 4, 5],
        "x" | "z" => vec![4],
        "b" | "c" => vec![3],
        "s" | "t" => vec![],
        _ => return None,
    };
    Some((shape, dtype.parse().ok()?))
}

fn check_with(text: &str, options: &CheckOptions) -> Result<Assignment, OpError> {
    let expression = Expression::parse(text)?;
    let mut operands = expression.operands();
    // In an expression with an error, the name of an operand may not look like one.
    operands.extend(["b", "s", "t"].map(str::to_owned));
    let known: Vec<_> = operands.iter().filter_map(|name| Some((name, given(name)?))).collect();
    let inputs: Vec<GivenInput<'_>> = known
        .iter()
        .map(|(name, (shape, dtype))| GivenInput {
            name,
            shape,
            dtype: *dtype,
            fill: dtype.zero(),
            full: shape.len() < 2,
        })
        .collect();
    expression.check(&inputs, options)
}

fn check(text: &str) -> Assignment {
    check_with(text, &CheckOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn body(text: &str) -> String {
    let checked = check(text);
    show(&checked, &checked.body)
}

fn show(checked: &Assignment, term: &Term) -> String {
    let names = |indices: &[usize]| {
        let names: Vec<&str> = indices.iter().map(|&at| &*checked.indices[at].name).collect();
        names.join(",")
    };
    match term {
        Term::Const(value) => format!("{value}{}", value.dtype()),
        Term::Element(at) => {
            let used = &checked.uses[*at];
            format!("{}({})", checked.operands[used.operand].name, names(&used.indices))
        }
        Term::Present(at) => {
            format!("present({})", checked.operands[checked.uses[*at].operand].name)
        }
        Term::Index(at) => checked.indices[*at].name.clone(),
        Term::Places(indices, dtype) => format!("places({}: {dtype})", names(indices)),
        Term::Call { op: Operator::Cast, args, dtype } => {
            format!("{dtype}({})", show(checked, &args[0]))
        }
        Term::Call { op, args, .. } => {
            let args: Vec<String> = args.iter().map(|arg| show(checked, arg)).collect();
            format!("{}({})", op.name(), args.join(", "))
        }
        Term::Stored { op, arg, .. } => format!("{}[stored]({})", op.name(), show(checked, arg)),
        Term::Reduce { op, indices, body } => {
            format!("{}{{{}}}({})", op.name(), names(indices), show(checked, body))
        }
    }
}

fn is_error(result: Result<Assignment, OpError>, column: usize, width: usize, part: &str) {
    let error = result.expect_err(part);
    let OpError::Text { column: found, width: wide, .. } = &error else { panic!("{error}") };
    assert_eq!((*found, *wide), (column, width), "{error}");
    assert!(error.to_string().contains(part), "{error}\n{part}");
}

fn dtype_of(text: &str) -> Dtype {
    check(text).result.dtype
}

fn zero(dtype: Dtype) -> Scalar {
    dtype.zero()
}
